package feed

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Public reports whether a canonical URL may be spoken of to strangers, and if not
// why, in words for people. Only public feeds enter the overlay: the others are
// served to their owner alone.
//
// The rule errs to the side of silence, and a user may override it:
//
//   - a user or password in the URL;
//   - a host that is loopback, private, link-local, or otherwise not of the open
//     internet by its address, by its name (localhost, .local, .lan, .internal,
//     .home.arpa and their like, .onion), or for want of a dot;
//   - a query parameter whose name says secret (token, key, auth, …) or whose
//     value looks like one, and path segments likewise.
//
// A name that resolves to a private address looks public here; whoever fetches it
// finds out.
func Public(canonicalURL string) (ok bool, why string) {
	u, err := url.Parse(canonicalURL)
	if err != nil || u.Host == "" {
		return false, "not a URL"
	}
	if u.User != nil {
		return false, "user or password in the URL"
	}
	if why := privateHost(strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")); why != "" {
		return false, why
	}
	if why := secretQuery(u.RawQuery); why != "" {
		return false, why
	}
	if why := secretPath(u.Path); why != "" {
		return false, why
	}
	return true, ""
}

// privateSuffixes are names that the public DNS does not have.
var privateSuffixes = []string{
	"localhost", "local", "lan", "internal", "home.arpa", "home", "corp", "intranet",
	"private", "localdomain", "onion", "i2p",
}

func privateHost(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		if !publicAddr(ip) {
			return "private address " + host
		}
		return ""
	}
	for _, suffix := range privateSuffixes {
		if host == suffix || strings.HasSuffix(host, "."+suffix) {
			return "private name ." + suffix
		}
	}
	dot := strings.LastIndexByte(host, '.')
	if dot < 0 {
		return "host without a domain"
	}
	// 127.1, 0x7f.0.0.1: some resolvers take these for addresses.
	if last := host[dot+1:]; last != "" && (isNumber(last) || strings.HasPrefix(last, "0x")) {
		return "host that is an address in disguise"
	}
	return ""
}

func isNumber(s string) bool { _, err := strconv.ParseUint(s, 10, 64); return err == nil }

// reserved are the blocks of the IANA special-purpose registries that
// [netip.Addr.IsPrivate] and its like do not name.
var reserved = func() []netip.Prefix {
	var list []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}()

func publicAddr(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// secretNames are query parameters that carry what only one person should know.
var secretNames = wordSet(`token access_token auth_token rss_token feed_token private_token user_token
	authtoken accesstoken feedtoken rsstoken auth authkey auth_key authorization
	key apikey api_key api-key feedkey feed_key rsskey rss_key userkey user_key rss_access_key
	secret client_secret password passwd passphrase pass pwd sig signature hmac x-amz-signature
	session sessionid session_id phpsessid sid jwt credential credentials code otp invite nonce private`)

// publicNames are parameters with long random values that are for everybody.
var publicNames = wordSet("channel_id playlist_id user_id podcast_id show_id show feed_id v list")

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

func secretQuery(query string) string {
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescapeQuery(name), unescapeQuery(value)
		name = strings.ToLower(strings.TrimSuffix(name, "[]"))
		switch {
		case publicNames[name]:
		case secretNames[name] && value != "":
			return "query parameter " + name + " that may be a secret"
		case looksSecret(value), value == "" && looksSecret(name):
			return "query that looks like a secret"
		}
	}
	return ""
}

func unescapeQuery(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

func secretPath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		low := strings.ToLower(s)
		if low == "public" {
			return "" // said to be so: hosts of podcasts put an id behind it
		}
		switch low {
		case "private", "secret", "token", "auth", "apikey", "api_key", "access_token":
			if i+1 < len(segments) && segments[i+1] != "" {
				return "path with /" + low + "/ in it"
			}
		}
		// A file's extension, or several, is no part of a secret.
		name, _, _ := strings.Cut(s, ".")
		if looksSecret(name) || looksSecret(s) {
			return "path that looks like a secret"
		}
	}
	return ""
}

var (
	uuidLike = regexp.MustCompile(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	hexLike  = regexp.MustCompile(`(?i)^[0-9a-f]{32,}$`)
	wordLike = regexp.MustCompile(`^[A-Za-z0-9_-]{20,}={0,2}$`)
)

// looksSecret tells a random string from words: a UUID, 32 or more hexadecimal
// digits, or 20 or more characters that change between small
// letters, capitals and digits as words do not.
func looksSecret(s string) bool {
	if uuidLike.MatchString(s) || hexLike.MatchString(s) {
		return true
	}
	if !wordLike.MatchString(s) {
		return false
	}
	changes, last := 0, 0
	var kinds [4]bool
	for i := 0; i < len(s); i++ {
		k := charKind(s[i])
		if k == 0 {
			continue
		}
		kinds[k] = true
		if last != 0 && k != last && !(last == 2 && k == 1) { // Capitalised is a word
			changes++
		}
		last = k
	}
	all := kinds[1] && kinds[2] && kinds[3]
	return all && changes*4 >= len(s) || kinds[3] && changes*3 >= len(s)
}

func charKind(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 1
	case c >= 'A' && c <= 'Z':
		return 2
	case c >= '0' && c <= '9':
		return 3
	}
	return 0
}
