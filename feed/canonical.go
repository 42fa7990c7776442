package feed

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxURL bounds the URLs of feeds; longer ones do not travel well anyway.
const maxURL = 2048

// ErrURL is wrapped by every error of Canonical.
var ErrURL = errors.New("not the URL of a feed")

// Canonical returns the one spelling of a feed's URL, of which the group is the
// hash. Whoever writes a node in another language must arrive at the same bytes:
// testdata/canonical.json has vectors.
//
//   - White space around the URL is taken off. Scheme http or https, in lower case.
//   - The host in lower case, international names as A-labels (UTS 46, not
//     transitional), an IPv6 address in its RFC 5952 form.
//   - No port if it is the scheme's own or empty. No fragment. An empty path is "/".
//   - In the path, percent-encodings of unreserved characters are decoded, the
//     others get upper-case digits, and characters that may not stand there are
//     encoded; a "%" that encodes nothing is itself encoded.
//   - The query stays as it is, save that characters that may not stand in a URL
//     are encoded. User and password stay, too; [Public] refuses them.
//
// All else is left alone: a trailing slash, the scheme, "www.", dot segments and
// the order of a query may mean something to the server.
func Canonical(rawurl string) (string, error) {
	s := strings.TrimSpace(rawurl)
	switch {
	case s == "":
		return "", fmt.Errorf("%w: it is empty", ErrURL)
	case len(s) > maxURL:
		return "", fmt.Errorf("%w: it has %d characters, and at most %d are taken; look for a shorter one on the site", ErrURL, len(s), maxURL)
	}
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] == 0x7f {
			return "", fmt.Errorf("%w: control character in %q", ErrURL, s)
		}
	}
	scheme, rest, ok := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("%w: %q does not begin with http:// or https://", ErrURL, s)
	}
	rest, _, _ = strings.Cut(rest, "#")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, err := canonicalAuthority(scheme, rest[:end])
	if err != nil {
		return "", fmt.Errorf("%w: %q: %v", ErrURL, s, err)
	}
	path, query, asks := strings.Cut(rest[end:], "?")
	if path == "" {
		path = "/"
	}
	out := scheme + "://" + authority + canonicalPath(path)
	if asks {
		out += "?" + canonicalQuery(query)
	}
	if len(out) > maxURL {
		return "", fmt.Errorf("%w: as it is sent it has %d characters, and at most %d are taken; look for a shorter one on the site", ErrURL, len(out), maxURL)
	}
	if _, err := url.Parse(out); err != nil {
		return "", fmt.Errorf("%w: %q: %v", ErrURL, s, err)
	}
	return out, nil
}

func canonicalAuthority(scheme, authority string) (string, error) {
	user, host := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, host = encode(authority[:at], userinfoChar, true)+"@", authority[at+1:]
	}
	port := ""
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host, port = host[:colon], host[colon+1:]
	}
	host, err := canonicalHost(host)
	if err != nil {
		return "", err
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '+' {
			return "", fmt.Errorf("port %q", port)
		}
		port = strconv.FormatUint(n, 10)
	}
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		port = ""
	}
	if port != "" {
		host += ":" + port
	}
	return user + host, nil
}

// lookup maps names as browsers do. Underscores are let through: real hosts have
// them.
var lookup = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
	idna.StrictDomainName(false), idna.CheckHyphens(false), idna.VerifyDNSLength(false))

func canonicalHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		inside, ok := strings.CutSuffix(host[1:], "]")
		ip, err := netip.ParseAddr(inside)
		if !ok || err != nil || !ip.Is6() || ip.Zone() != "" {
			return "", fmt.Errorf("host %q is no IPv6 address", host)
		}
		return "[" + ip.String() + "]", nil
	}
	plain, err := url.PathUnescape(host)
	if err != nil {
		return "", err
	}
	ascii, err := lookup.ToASCII(plain)
	if err != nil || !utf8.ValidString(plain) {
		return "", fmt.Errorf("host %q is no domain name", host)
	}
	if again, err := lookup.ToASCII(ascii); err != nil || again != ascii {
		return "", fmt.Errorf("host %q has no one spelling", host)
	}
	if ascii == "" || len(ascii) > 254 {
		return "", fmt.Errorf("host of %d bytes", len(ascii))
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(ascii, "."), ".") {
		if label == "" || len(label) > 63 {
			return "", fmt.Errorf("host %q has a part of %d bytes", host, len(label))
		}
	}
	for i := 0; i < len(ascii); i++ {
		c := ascii[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_') {
			return "", fmt.Errorf("host %q: character %q cannot stand in a name", host, c)
		}
	}
	return ascii, nil
}

func canonicalPath(path string) string   { return encode(path, pathChar, true) }
func canonicalQuery(query string) string { return encode(query, queryChar, false) }

const upperHex = "0123456789ABCDEF"

// encode percent-encodes all bytes but those allowed; normalise also gives the
// encodings that are there already their one form.
func encode(s string, allowed func(byte) bool, normalise bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && !normalise && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteString(s[i : i+3])
			i += 2
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			v, _ := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if d := byte(v); unreserved(d) {
				b.WriteByte(d)
			} else {
				b.Write([]byte{'%', upperHex[d>>4], upperHex[d&15]})
			}
			i += 2
		case c != '%' && allowed(c):
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// The character classes of RFC 3986.
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
func userinfoChar(c byte) bool { return unreserved(c) || strings.IndexByte("!$&'()*+,;=:", c) >= 0 }
func pathChar(c byte) bool     { return userinfoChar(c) || c == '@' || c == '/' }

// queryChar also lets stand what servers see unencoded every day.
func queryChar(c byte) bool { return pathChar(c) || strings.IndexByte("?[]|", c) >= 0 }
