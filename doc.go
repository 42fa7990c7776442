// Package feedtree is a node of FeedTree: news feeds as push, over a network of
// their subscribers, with no operator.
package feedtree
