// Command feedtree runs the parts of FeedTree: a proxy for news readers, a
// publisher, a follower, and tools around them. Try feedtree --help.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
