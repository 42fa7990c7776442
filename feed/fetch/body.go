package fetch

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	maxCodings = 2       // encodings one inside the other
	maxWindow  = 8 << 20 // memory that a zstd frame may ask for
)

// capped reads up to a limit and fails beyond it: what is too large is never
// taken for a whole.
type capped struct {
	from  io.Reader
	left  int64
	limit int64
	what  string
	read  int64
	fault error // the connection's, as against what a decoder makes of it
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, refusal(TooLarge, fmt.Errorf("more than %d bytes %s", c.limit, c.what))
	}
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.from.Read(p)
	c.left -= int64(n)
	c.read += int64(n)
	if err != nil && err != io.EOF {
		c.fault = err
	}
	if c.left < 0 {
		return 0, refusal(TooLarge, fmt.Errorf("more than %d bytes %s", c.limit, c.what))
	}
	return n, err
}

// readBody reads and decodes a body within its limits, and says how many bytes
// it had on the wire.
func readBody(response *http.Response, maxWire, maxDecoded int64) ([]byte, int64, error) {
	if response.ContentLength > maxWire {
		return nil, 0, refusal(TooLarge, fmt.Errorf("%d bytes, more than %d", response.ContentLength, maxWire))
	}
	wire := &capped{from: response.Body, left: maxWire, limit: maxWire, what: "on the wire"}
	decoded, closeAll, err := decode(wire, codings(response.Header))
	defer closeAll()
	var body bytes.Buffer
	if err == nil {
		_, err = io.Copy(&body, &capped{from: decoded, left: maxDecoded, limit: maxDecoded, what: "decoded"})
	}
	if err == nil {
		// A decoder may stop before the end of what was sent.
		_, err = io.Copy(io.Discard, wire)
	}
	if wire.fault != nil {
		err = wire.fault
	}
	if err != nil {
		return nil, wire.read, err
	}
	return body.Bytes(), wire.read, nil
}

// codings lists a body's encodings, the outermost first, and no more than are
// needed to see that there are too many.
func codings(h http.Header) []string {
	var list []string
	for _, value := range h.Values("Content-Encoding") {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			if name != "" && name != "identity" && len(list) <= maxCodings {
				list = slices.Insert(list, 0, name)
			}
		}
	}
	return list
}

// decode undoes encodings. Its errors, and those of the reader it returns, tell
// a broken encoding from a connection that broke.
func decode(wire io.Reader, names []string) (r io.Reader, closeAll func(), err error) {
	var open []io.Closer
	closeAll = func() {
		for _, c := range open {
			c.Close()
		}
	}
	if len(names) > maxCodings {
		return nil, closeAll, refusal(Encoding, fmt.Errorf("%d encodings one inside the other", len(names)))
	}
	r = wire
	for _, name := range names {
		decoder, err := decoderOf(name, bufio.NewReader(r))
		if err != nil {
			return nil, closeAll, broken(name, err)
		}
		if c, ok := decoder.(io.Closer); ok {
			open = append(open, c)
		}
		r = &named{decoder, name}
	}
	return r, closeAll, nil
}

// decoderOf returns a reader of what an encoding holds. Servers exist that say
// gzip and send plain text: what does not begin like the encoding is taken as
// it is.
func decoderOf(name string, from *bufio.Reader) (io.Reader, error) {
	start, err := from.Peek(4)
	if len(start) == 0 {
		if errors.Is(err, io.EOF) {
			return from, nil
		}
		return nil, err
	}
	switch name {
	case "gzip", "x-gzip":
		if len(start) < 2 || start[0] != 0x1f || start[1] != 0x8b {
			return from, nil
		}
		return gzip.NewReader(from)
	case "zstd":
		if !bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}) && !(len(start) == 4 && start[0]&0xf0 == 0x50 && bytes.Equal(start[1:], []byte{0x2a, 0x4d, 0x18})) {
			return from, nil
		}
		decoder, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return decoder.IOReadCloser(), nil
	case "deflate":
		// The standard means zlib, some servers send what is inside of it.
		if len(start) >= 2 && start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
			return zlib.NewReader(from)
		}
		return flate.NewReader(from), nil
	}
	return nil, fmt.Errorf("%q was not asked for", name)
}

// named gives a decoder's errors the name of the encoding.
type named struct {
	io.Reader
	name string
}

func (n *named) Read(p []byte) (int, error) {
	read, err := n.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = broken(n.name, err)
	}
	return read, err
}

// broken gives a decoder's error its reason. A limit inside stays what it is.
func broken(name string, err error) error {
	var failed *Error
	switch {
	case errors.As(err, &failed):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refusal(Truncated, err)
	}
	return refusal(Encoding, fmt.Errorf("%s: %w", name, err))
}
