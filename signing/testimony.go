package signing

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// A testimony, what a volunteer says of one answer of a feed's origin; all integers
// big endian, n being the number of items:
//
//	offset size
//	     0    1  version: 1
//	     1    1  flags: 1 strong, 2 partial, 4 brief
//	     2    2  status of the answer
//	     4    8  when it came, milliseconds since 1970-01-01T00:00:00Z
//	    12   32  parent: SHA-256("feedtree/parent/1" ‖ group ‖ public key), or zero
//	    44   32  validators: SHA-256("feedtree/validators/1" ‖ URL ‖ ETag ‖
//	             Last-Modified), each behind its length as 4 bytes, or zero
//	    76   32  SHA-256 of the document, decoded
//	   108    2  n, at most 512; 0 if brief
//	   110  48n  items, in ascending order of what names them, each once
//	   110   32  instead of them if brief: SHA-256("feedtree/items/1" ‖ items)
//
// An item:
//
//	 0   16  what names it: the beginning of SHA-256("feedtree/item-key/1" ‖ key)
//	16   32  SHA-256 of its content
//
// It is signed as a part of a payload: it is the whole payload of a volunteer's
// heartbeat of media Witness, and stands in front of the document of a volunteer's
// event whose coding is zstd, as a skippable frame (RFC 8878 §3.1.2) with the magic
// number 0x184D2A57, which whoever only wants the document passes over:
//
//	57 2A 4D 18  length of the testimony (4, little endian)  testimony  document
//
// Which feed it is about, who says so and when stands in the envelope's header.
const (
	MaxTestified = 512                             // items in a testimony
	maxTestimony = testimonyHead + MaxTestified*48 // bytes of one

	testimony        = "testimony"
	testimonyHead    = 110
	testimonyVersion = 1
	flagStrong       = 1
	flagPartial      = 2
	flagBrief        = 4

	validatorsDomain = "feedtree/validators/1"
	parentDomain     = "feedtree/parent/1"
	itemKeyDomain    = "feedtree/item-key/1"
	itemsDomain      = "feedtree/items/1"
)

var frameMagic = [4]byte{0x57, 0x2a, 0x4d, 0x18}

const frameHead = 8

// Testimony is what a volunteer says of one answer of a feed's origin: that the
// document with these validators and this hash held these items. It proves what its
// source said, not what the origin did: that takes others who say the same.
type Testimony struct {
	Status     uint16
	Strong     bool      // the answer had a strong entity tag: Validators stand for these bytes and no others
	Partial    bool      // more was seen than is listed, or other bytes than the origin's: nothing follows from what is not listed
	Taken      time.Time // when the answer came, to the millisecond
	Parent     [32]byte  // ParentHash of the source's parent in the tree; zero: none
	Validators [32]byte  // ValidatorsHash; zero: none
	Body       [32]byte  // SHA-256 of the document
	Items      []Testified
	List       [32]byte // ListHash of the items, which are left out because those who hear it know them; zero: they are listed
}

// Testified is one item of a testimony.
type Testified struct {
	Key  [16]byte // ItemKey
	Hash [32]byte // of the content
}

// ValidatorsHash stands for an origin's validators, byte for byte, and the URL that
// gave them. Whoever does not know the URL learns nothing from it.
func ValidatorsHash(url, etag, lastModified string) [32]byte {
	h := sha256.New()
	h.Write([]byte(validatorsDomain))
	for _, s := range []string{url, etag, lastModified} {
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return [32]byte(h.Sum(nil))
}

// ParentHash stands for a node's parent in a group's tree. It is the same for all
// children of one parent, and tells nobody who does not know the parent who it is.
func ParentHash(group [32]byte, parent PublicKey) [32]byte {
	b := append([]byte(parentDomain), group[:]...)
	return sha256.Sum256(append(b, parent[:]...))
}

// ItemKey names an item in a testimony by the key that identifies it in its feed.
func ItemKey(key string) [16]byte {
	sum := sha256.Sum256([]byte(itemKeyDomain + key))
	return [16]byte(sum[:16])
}

// ListHash stands for the items of a testimony, in their order.
func ListHash(items []Testified) [32]byte {
	return sha256.Sum256(appendItems([]byte(itemsDomain), items))
}

func appendItems(b []byte, items []Testified) []byte {
	for _, it := range items {
		b = append(append(b, it.Key[:]...), it.Hash[:]...)
	}
	return b
}

// Marshal returns the bytes to send. An error is the caller's mistake, an [*Error]
// naming what [ParseTestimony] would refuse.
func (s *Testimony) Marshal() ([]byte, error) {
	b := make([]byte, testimonyHead, testimonyHead+48*len(s.Items))
	b[0] = testimonyVersion
	if s.Strong {
		b[1] |= flagStrong
	}
	if s.Partial {
		b[1] |= flagPartial
	}
	binary.BigEndian.PutUint16(b[2:], s.Status)
	binary.BigEndian.PutUint64(b[4:], uint64(s.Taken.UnixMilli()))
	copy(b[12:], s.Parent[:])
	copy(b[44:], s.Validators[:])
	copy(b[76:], s.Body[:])
	binary.BigEndian.PutUint16(b[108:], uint16(min(len(s.Items), MaxTestified+1)))
	b = appendItems(b, s.Items)
	if s.List != [32]byte{} {
		b[1] |= flagBrief
		b = append(b, s.List[:]...)
	}
	if _, err := ParseTestimony(b); err != nil {
		return nil, err
	}
	return b, nil
}

// ParseTestimony reads a testimony, which must be the whole of b. Errors are
// [*Error].
func ParseTestimony(b []byte) (*Testimony, error) {
	if len(b) < testimonyHead {
		return nil, refuse(testimony, ReasonTruncated, "%d bytes, the least is %d", len(b), testimonyHead)
	}
	n := int(binary.BigEndian.Uint16(b[108:]))
	brief := b[1]&flagBrief != 0
	length := testimonyHead + 48*n
	if brief {
		length += sha256.Size
	}
	millis := binary.BigEndian.Uint64(b[4:])
	s := &Testimony{
		Status: binary.BigEndian.Uint16(b[2:]), Strong: b[1]&flagStrong != 0, Partial: b[1]&flagPartial != 0,
		Parent: [32]byte(b[12:]), Validators: [32]byte(b[44:]), Body: [32]byte(b[76:]),
	}
	switch {
	case b[0] != testimonyVersion:
		return nil, refuse(testimony, ReasonUnsupported, "version %d", b[0])
	case b[1]&^(flagStrong|flagPartial|flagBrief) != 0:
		return nil, refuse(testimony, ReasonUnsupported, "reserved flags %02x", b[1])
	case n > MaxTestified:
		return nil, refuse(testimony, ReasonTooLarge, "%d items, the most is %d", n, MaxTestified)
	case brief && n > 0:
		return nil, refuse(testimony, ReasonMalformed, "%d items, and the hash that stands for them", n)
	case len(b) < length:
		return nil, refuse(testimony, ReasonTruncated, "%d bytes for %d items", len(b), n)
	case len(b) > length:
		return nil, refuse(testimony, ReasonTrailing, "%d bytes after the items", len(b)-length)
	case brief && [32]byte(b[testimonyHead:]) == [32]byte{}:
		return nil, refuse(testimony, ReasonMalformed, "a hash of items that is none")
	case s.Status < 100 || s.Status > 599:
		return nil, refuse(testimony, ReasonMalformed, "status %d", s.Status)
	case s.Strong && s.Validators == [32]byte{}:
		return nil, refuse(testimony, ReasonMalformed, "a strong entity tag, and no validators")
	case millis == 0 || millis > maxMillis:
		return nil, refuse(testimony, ReasonMalformed, "time %d ms, want one after 1970 and before the year 10000", millis)
	}
	s.Taken = time.UnixMilli(int64(millis)).UTC()
	if brief {
		s.List = [32]byte(b[testimonyHead:])
	}
	for i := range n {
		at := testimonyHead + 48*i
		it := Testified{[16]byte(b[at:]), [32]byte(b[at+16:])}
		if i > 0 && bytes.Compare(s.Items[i-1].Key[:], it.Key[:]) >= 0 {
			return nil, refuse(testimony, ReasonMalformed, "item %d is not after the one before it", i)
		}
		s.Items = append(s.Items, it)
	}
	return s, nil
}

// Before returns the payload of an event: the testimony, and the document compressed
// with zstd. Those who know nothing of testimonies read the document.
func (s *Testimony) Before(document []byte) ([]byte, error) {
	b, err := s.Marshal()
	if err != nil {
		return nil, err
	}
	p := make([]byte, 0, frameHead+len(b)+len(document))
	p = append(p, frameMagic[:]...)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(b)))
	return append(append(p, b...), document...), nil
}

// Testimony returns what a volunteer's envelope testifies; nil if it does not. The
// error is an [*Error]: it does, and nobody can read it.
func (e *Envelope) Testimony() (*Testimony, error) {
	switch {
	case e.Role != Volunteer:
		return nil, nil
	case e.Kind == Heartbeat && e.Media == Witness:
		return ParseTestimony(e.Payload)
	case e.Kind == Event && e.Coding == Zstd && bytes.HasPrefix(e.Payload, frameMagic[:]):
		rest := e.Payload[len(frameMagic):]
		if len(rest) < 4 || uint64(len(rest)-4) < uint64(binary.LittleEndian.Uint32(rest)) {
			return nil, refuse(testimony, ReasonTruncated, "its frame ends beyond the payload")
		}
		return ParseTestimony(rest[4 : 4+binary.LittleEndian.Uint32(rest)])
	}
	return nil, nil
}
