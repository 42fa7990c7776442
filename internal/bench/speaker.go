package bench

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

// speaker makes items up. Its words are as often as those of a language are
// (Zipf-Mandelbrot), or follow each other as they do in real feeds.
type speaker struct {
	seed  uint64
	rng   *rand.Rand
	zipf  *rand.Zipf
	chain map[string][]string
	last  string
	known []string // of the chain
}

const vocabulary = 60_000

// newSpeaker reads the feeds below dir, if there is one named.
func newSpeaker(dir string, seed uint64) (*speaker, error) {
	s := &speaker{seed: seed}
	s.restart(0)
	if dir == "" {
		return s, nil
	}
	s.chain = make(map[string][]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		doc, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if f, err := feed.Parse(doc, ""); err == nil {
			for _, it := range f.Items {
				s.learn(it.Title + " " + it.Summary + " " + it.Content)
			}
		}
		return nil
	})
	if err == nil && len(s.known) == 0 {
		err = fmt.Errorf("no items in the feeds below %s", dir)
	}
	return s, err
}

func (s *speaker) learn(text string) {
	words := strings.Fields(text)
	for i, w := range words[:max(0, len(words)-1)] {
		if s.chain[w] == nil {
			s.known = append(s.known, w)
		}
		s.chain[w] = append(s.chain[w], words[i+1])
	}
}

// restart makes what is said next depend on n and the seed alone.
func (s *speaker) restart(n int) {
	s.rng = rand.New(rand.NewPCG(s.seed, uint64(n)))
	s.zipf = rand.NewZipf(s.rng, 1.15, 4, vocabulary-1)
}

func (s *speaker) word() string {
	if s.chain == nil {
		return spell(s.zipf.Uint64())
	}
	next := s.chain[s.last]
	if len(next) == 0 || s.rng.IntN(20) == 0 {
		s.last = s.known[s.rng.IntN(len(s.known))]
	} else {
		s.last = next[s.rng.IntN(len(next))]
	}
	return s.last
}

// spell gives the n-th most used word: the more it is used, the shorter it is.
func spell(n uint64) string {
	const first, second = "bcdfghjklmnprstvwz", "aeiou"
	var b strings.Builder
	for n++; n > 0; n /= uint64(len(first) * len(second)) {
		at := n % uint64(len(first)*len(second))
		b.WriteByte(first[at/uint64(len(second))])
		b.WriteByte(second[at%uint64(len(second))])
	}
	return b.String()
}

func (s *speaker) say(words int) string {
	said := make([]string, words)
	for i := range said {
		said[i] = s.word()
	}
	return strings.Join(said, " ")
}

// item is the n-th item, as a node would store it: a title, a few paragraphs, of
// lengths as different as those of feeds are (log-normal, the median 110 words).
func (s *speaker) item(url string, n int) store.Item {
	s.restart(n)
	at := time.Unix(1_700_000_000+int64(n)*30, 0).UTC()
	title := s.say(4 + s.rng.IntN(8))
	var text strings.Builder
	for left := int(math.Min(5000, 110*math.Exp(0.9*s.rng.NormFloat64()))) + 5; left > 0; left -= 60 {
		fmt.Fprintf(&text, "<p>%s</p>\n", s.say(min(left, 60)))
	}
	slug := strings.ReplaceAll(title, " ", "-")
	link := fmt.Sprintf("%s%d/%s", strings.TrimSuffix(url, "feed.xml"), n, strings.Trim(slug, "<>&"))
	doc := fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0">
<channel>
<title></title>
<link>%s</link>
<description></description>
<item>
  <title><![CDATA[%s]]></title>
  <link>%s</link>
  <guid isPermaLink="false">%[3]s</guid>
  <pubDate>%s</pubDate>
  <description><![CDATA[%s]]></description>
</item>
</channel>
</rss>
`, url, title, link, at.Format(time.RFC1123Z), text.String())
	return store.Item{
		Feed: url, Key: link, Hash: sha256.Sum256([]byte(doc)), Doc: []byte(doc), ContentType: "application/rss+xml",
		Trust: store.Fetched, Published: at, Received: at.Add(time.Minute),
	}
}

// two are two words of the title of an item.
func (s *speaker) two(n int) string {
	s.restart(n)
	words := strings.Fields(s.say(4 + s.rng.IntN(8)))
	return words[0] + " " + words[1+s.rng.IntN(len(words)-1)]
}
