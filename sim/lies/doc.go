// Package lies plays volunteers that say of a feed what its origin never answered,
// and counts what others come to believe. Statements are weighed by feed/witness and
// polls dealt by feed/schedule, as in the program.
//
// # Worlds
//
// In the worlds of the few, liars are fewer than K by network or by parent, or of no
// network that anybody knows; they have any number of keys, take a new one when one
// is caught, and say what they like under true validators and invented ones. One
// node hears them and honest volunteers, and now and then asks itself. Counted is
// how many of the items that never were it shows as corroborated: none.
//
// In the worlds of the many, K to K+2 of 22 nodes lie together, each from a network
// and under a parent of its own, and whatever one tells first the others confirm at
// their next poll. Some take turns as everybody does, some claim every turn before
// anybody else and ask whatever is claimed by others, some tell their outcomes early.
// A node that never asks itself is shown the lie as corroborated, until somebody
// who is none of them asks. Counted are the polls until then.
//
// The origin posts, edits, drops what is old off the end and in some worlds answers
// by region.
package lies
