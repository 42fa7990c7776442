package feed

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// standInID is the id given to an item without one, where a format demands it. It
// is a UUID made of the item's key.
func (it Item) standInID() string {
	it.GUID = ""
	u := sha256.Sum256([]byte("feedtree/id/1\n" + it.Key()))
	u[6] = u[6]&0x0f | 0x80 // version 8: of our own making
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// dropStandIn takes away an id that stood in for a missing one.
func (it *Item) dropStandIn() {
	if strings.HasPrefix(it.GUID, "urn:uuid:") && it.GUID == it.standInID() {
		it.GUID, it.PermaLink = "", false
	}
}

// guidURN begins the id of an Atom entry whose GUID is no IRI, as Atom demands.
const guidURN = "urn:feedtree:guid:"

var absoluteIRI = regexp.MustCompile("^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$")

// atomID is the item's GUID as an IRI: itself in almost all feeds, else wrapped in
// a URN from which Parse takes it out again, byte for byte.
func (it Item) atomID() string {
	switch {
	case it.GUID == "":
		return it.standInID()
	case absoluteIRI.MatchString(it.GUID) && !strings.HasPrefix(it.GUID, guidURN):
		return it.GUID
	}
	return guidURN + url.PathEscape(it.GUID)
}

// fromAtomID is the inverse of atomID.
func (it *Item) fromAtomID(id string) {
	it.GUID = id
	if escaped, ok := strings.CutPrefix(id, guidURN); ok {
		if guid, err := url.PathUnescape(escaped); err == nil && guid != "" && guid == trimSpace(guid) {
			it.GUID = guid
		}
	}
}
