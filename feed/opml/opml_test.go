package opml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const base = "http://127.0.0.1:8089"

// The real lists: see ../shared/data/README.md for how many feeds there are, and
// that 40 of the 59 files are not well-formed.
const realLists = "../../../shared/data/opml/*.opml"

func realFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(realLists)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if from := os.Getenv("FEEDTREE_DATA_DIR"); from != "" {
			files, _ = filepath.Glob(filepath.Join(from, "opml", "*.opml"))
		}
	}
	if len(files) == 0 {
		t.Skip("the real lists are not here")
	}
	return files
}

func read(t testing.TB, file string) *List {
	t.Helper()
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Parse(doc)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return l
}

func urls(l *List) []string {
	feeds, _ := l.Feeds()
	list := make([]string, len(feeds))
	for i, f := range feeds {
		list[i] = f.URL
	}
	return list
}

// wellFormed fails unless a strict reader takes the document.
func wellFormed(t testing.TB, doc []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(doc)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
	}
}

func isWellFormed(doc []byte) bool {
	for d := xml.NewDecoder(bytes.NewReader(doc)); ; {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func TestRealLists(t *testing.T) {
	files := realFiles(t)
	all, broken := map[string]bool{}, 0
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !isWellFormed(doc) {
			broken++
		}
		l := read(t, file)
		feeds, refused := l.Feeds()
		if len(refused) > 0 {
			t.Errorf("%s: refused %v", file, refused)
		}
		// Each element with an address is a feed: counted without any parser.
		if want := strings.Count(string(doc), "xmlUrl="); len(feeds) != want {
			t.Errorf("%s: %d feeds, want %d", file, len(feeds), want)
		}
		for _, f := range feeds {
			all[f.URL] = true
		}
		wrapped := Wrap(l, base)
		wellFormed(t, wrapped.Bytes())
		again, err := Parse(wrapped.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range urls(again) {
			if !strings.HasPrefix(u, base+"/feed/http") {
				t.Errorf("%s: wrapped as %s", file, u)
			}
		}
		if back := Unwrap(again, base); !slices.Equal(urls(back), urls(l)) || back.Title != l.Title {
			t.Errorf("%s: wrapped and unwrapped it has other feeds", file)
		}
	}
	if len(files) != 59 || len(all) != 781 || broken != 40 {
		t.Errorf("%d files with %d feeds, %d not well-formed; want 59, 781, 40", len(files), len(all), broken)
	}
}

func TestDamagedLists(t *testing.T) {
	for _, c := range []struct {
		file, title string
		feeds       []Feed
		refused     []Reason
	}{
		{"ampersands", "Q & A", []Feed{
			{"A & B", "https://a.example.org/feed?x=1&y=2", "", []string{"News & Views"}},
			{"C & D", "https://c.example.org/?copy=1&copy=2&lt=3&amp=4", "https://c.example.org/", []string{"News & Views"}},
			{"5 < 6 > 4", `https://d.example.org/it"s`, "", []string{"News & Views"}},
		}, nil},
		{"unclosed", "", []Feed{
			{"One", "https://one.example.org/feed.xml", "", []string{"Folder"}},
			{"Two", "https://two.example.org/feed.xml", "", []string{"Folder"}},
			{`Three "quoted" name`, "https://three.example.org/feed.xml", "", []string{"Folder"}},
			{"Four", "https://four.example.org/feed.xml", "", []string{"Folder"}},
		}, nil},
		{"cutoff", "", []Feed{{"One", "https://one.example.org/a", "", []string{"F"}}}, nil},
		{"markup", "", []Feed{
			{"One", "https://one.example.org/feed", "", nil},
			{"Two", "https://two.example.org/feed", "", nil},
			{"Three", "https://three.example.org/feed", "", nil},
			{"Four's", "https://four.example.org/feed", "", []string{"F"}},
		}, nil},
		{"latin1", "Café", []Feed{{"Straße", "https://bücher.example.org/feed", "", nil}}, nil},
		{"refused", "", []Feed{
			{"Spaces in the path", "https://ok.example.org/my feed.xml", "", nil},
			{"Feed scheme", "feed://ok.example.org/rss", "", nil},
		}, []Reason{Include, Include, NoURL, BadURL, BadURL}},
	} {
		t.Run(c.file, func(t *testing.T) {
			l := read(t, "testdata/"+c.file+".opml")
			feeds, refused := l.Feeds()
			if l.Title != c.title {
				t.Errorf("title %q", l.Title)
			}
			if !reflect.DeepEqual(feeds, c.feeds) {
				t.Errorf("feeds\n%v, want\n%v", feeds, c.feeds)
			}
			var reasons []Reason
			for _, r := range refused {
				reasons = append(reasons, r.Reason)
			}
			if !slices.Equal(reasons, c.refused) {
				t.Errorf("refused %v", refused)
			}
			if back := Unwrap(Wrap(l, base), base); !slices.Equal(urls(back), urls(l)) {
				t.Errorf("wrapped and unwrapped: %q", urls(back))
			}
			wellFormed(t, l.Bytes())
		})
	}
}

// What a reader put into its list beside the feeds is there when it comes back.
func TestOthersAttributesSurvive(t *testing.T) {
	out := string(Wrap(read(t, "testdata/unclosed.opml"), base).Bytes())
	for _, want := range []string{
		`xmlns:frss="https://freshrss.org/opml"`, `frss:cssFullContent="p.x"`, `fullText="yes"`, `<ownerName>Ann</ownerName>`,
		`XMLURL="http://127.0.0.1:8089/feed/https://two.example.org/feed.xml"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

func TestWhatIsNoList(t *testing.T) {
	for name, c := range map[string]struct {
		doc    string
		reason Reason
		says   string
	}{
		"HTML":            {"<!DOCTYPE html>\n<html><head><title>OPML</title></head><body><p>hello</body></html>", WebPage, "web page"},
		"part of a page":  {"<div>No such file</div>", WebPage, "web page"},
		"RSS":             {"<rss><channel><title>x</title></channel></rss>", IsFeed, "add its address"},
		"Atom":            {`<feed xmlns="http://www.w3.org/2005/Atom"></feed>`, IsFeed, "add its address"},
		"nothing":         {" \n", Empty, "empty"},
		"JSON":            {`{"feeds":[]}`, NotOPML, "feeds"},
		"something":       {"<library/>", NotOPML, "library"},
		"too much":        {strings.Repeat(" ", MaxBytes) + "<opml/>", TooLarge, "16 MiB"},
		"more than there": {"<opml><body>" + strings.Repeat("<outline/>", 50_001), TooLarge, "50000 outlines"},
	} {
		_, err := Parse([]byte(c.doc))
		var e *Error
		if !errors.As(err, &e) || e.Reason != c.reason || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if l, err := Parse([]byte("<opml><head/><body/></opml>")); err != nil || len(l.Outlines) != 0 {
		t.Errorf("a list without feeds: %v", err)
	}
}

// A hundred megabytes are refused after sixteen.
func TestReadIsBounded(t *testing.T) {
	r := &counting{r: io.LimitReader(zeros{}, 100<<20)}
	_, err := Read(r)
	var e *Error
	if !errors.As(err, &e) || e.Reason != TooLarge || r.n > MaxBytes+64<<10 {
		t.Errorf("%d bytes read: %v", r.n, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// Whoever nests outlines as deep as the file is long gets a list all the same.
func TestDepthIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("<opml><body>")
	for i := range 2000 {
		fmt.Fprintf(&b, `<outline text="%d"><outline xmlUrl="https://h%d.example.org/"/>`, i, i)
	}
	l, err := Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	feeds, _ := l.Feeds()
	if len(feeds) != 2000 {
		t.Errorf("%d feeds", len(feeds))
	}
	for _, f := range feeds {
		if len(f.Folder) > maxDepth {
			t.Fatalf("a folder of %d", len(f.Folder))
		}
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, c := range []struct{ url, says string }{
		{"https://example.org/" + strings.Repeat("x", 7980), "8000 characters"},
		{"https://my host.example.org/", "' '"},
		{"javascript:alert(1)", "http:// or https://"},
		{"/feed.xml", "http:// or https://"},
	} {
		_, refused := New("", []Feed{{Title: "T", URL: c.url}}).Feeds()
		if len(refused) != 1 || refused[0].Reason != BadURL || !strings.Contains(refused[0].Error(), c.says) ||
			!strings.Contains(refused[0].Error(), `"T"`) || len(refused[0].Error()) > 500 {
			t.Errorf("%.40s: %v", c.url, refused)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct{ from, base, to string }{
		{"https://example.org/a?b=c&d#e", base, base + "/feed/https://example.org/a?b=c&d#e"},
		{"https://bücher.example/ä b", base + "/", base + "/feed/https://bücher.example/ä b"},
		{base + "/atom/https://example.org/", base, base + "/atom/https://example.org/"},
		{"http://localhost:8089/feed/https://example.org/", base, "http://localhost:8089/feed/https://example.org/"},
		{"http://127.0.0.1:8090/feed/https://example.org/", base, base + "/feed/http://127.0.0.1:8090/feed/https://example.org/"},
		{"no address", base, "no address"},
		{"https://example.org/", "https://nas.example/feeds", "https://nas.example/feeds/feed/https://example.org/"},
	} {
		if got := urlOf(Wrap(New("", []Feed{{URL: c.from}}), c.base)); got != c.to {
			t.Errorf("%s wrapped: %s, want %s", c.from, got, c.to)
		}
	}
	for _, c := range []struct{ from, to string }{
		{base + "/rss/https://example.org/a", "https://example.org/a"},
		{"http://LocalHost:8089/json/https://example.org/a?x=http://y", "https://example.org/a?x=http://y"},
		{"http://[::1]:8089/feed/https:/example.org/a?x=http://y", "https://example.org/a?x=http://y"},
		{base + "/feed/https%3A%2F%2Fexample.org%2Fa%3Fb", "https://example.org/a?b"},
		{base + "/", base + "/"},
		{base + "/feed/nothing", base + "/feed/nothing"},
		{"https://other.example/feed/https://example.org/a", "https://other.example/feed/https://example.org/a"},
	} {
		if got := urlOf(Unwrap(New("", []Feed{{URL: c.from}}), base)); got != c.to {
			t.Errorf("%s unwrapped: %s, want %s", c.from, got, c.to)
		}
	}
}

func urlOf(l *List) string { return l.Outlines[0].Get("xmlUrl") }

func TestNewHasFolders(t *testing.T) {
	feeds := []Feed{
		{Title: "A", URL: "https://a.example/", Folder: []string{"X", "Y"}},
		{Title: "B <&>", URL: "https://b.example/?a&b", Site: "https://b.example/"},
		{Title: "C", URL: "https://c.example/", Folder: []string{"X"}},
	}
	l, err := Parse(New(`My "feeds"`, feeds).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, _ := l.Feeds()
	want := []Feed{feeds[0], feeds[2], feeds[1]}
	if !reflect.DeepEqual(got, want) || l.Title != `My "feeds"` || len(l.Outlines) != 2 {
		t.Errorf("%q %v", l.Title, got)
	}
}
