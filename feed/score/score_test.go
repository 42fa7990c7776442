package score_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/score"
	"github.com/feedtree/feedtree/internal/fuzz"
)

// One line of each format says who asked for what when.
func TestParse(t *testing.T) {
	at := time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		line            string
		host, uri, from string
		agent           string
		status          int
		full            bool
	}{
		"combined": {`192.0.2.7 - - [02/Nov/2026:03:04:05 +0000] "GET /feed.xml?a=b HTTP/1.1" 304 0 "-" "Reader/1.0 (+https://r.example)"`,
			"", "/feed.xml?a=b", "192.0.2.7", "Reader/1.0 (+https://r.example)", 304, false},
		"combined, another zone": {`192.0.2.7 - frank [02/Nov/2026:05:04:05 +0200] "GET /feed.xml HTTP/2.0" 200 5120 "https://x.example/" "R"`,
			"", "/feed.xml", "192.0.2.7", "R", 200, false},
		"with the virtual host": {`News.Example:443 2001:db8::1 - - [02/Nov/2026:03:04:05 +0000] "GET /f HTTP/1.1" 200 - "-" "a \"quoted\" name"`,
			"news.example:443", "/f", "2001:db8::1", `a "quoted" name`, 200, false},
		"common": {`192.0.2.7 - - [02/Nov/2026:03:04:05 +0000] "GET /f HTTP/1.0" 200 17`, "", "/f", "192.0.2.7", "", 200, false},
		"more behind it": {`192.0.2.7 - - [02/Nov/2026:03:04:05 +0000] "GET /f HTTP/1.0" 200 17 "-" "R" "-" 0.003`,
			"", "/f", "192.0.2.7", "R", 200, false},
		"Caddy": {`{"level":"info","ts":1793588645,"request":{"remote_ip":"192.0.2.7","client_ip":"192.0.2.8","method":"GET","host":"News.example","uri":"/f","headers":{"User-Agent":["R"]}},"status":200,"size":9,"resp_headers":{"Etag":["\"1\""]}}`,
			"news.example", "/f", "192.0.2.8", "R", 200, true},
		"Caddy, ISO time, no headers": {`{"ts":"2026-11-02T03:04:05Z","request":{"remote_ip":"192.0.2.7","method":"GET","host":"n","uri":"/f"},"status":200}`,
			"n", "/f", "192.0.2.7", "", 200, false},
	} {
		e, err := score.Parse(c.line)
		if err != nil || !e.Time.Equal(at) || e.Host != c.host || e.URI != c.uri || e.Client != c.from || e.Method != "GET" ||
			e.Request.Get("User-Agent") != c.agent || e.Status != c.status || e.Full != c.full {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	for _, bad := range []string{"", "hello", "{}", `{"ts":1,"request":{}}`, `{"ts":"x","request":{"uri":"/"}}`, "{", `a - - [never] "GET / HTTP/1.1" 200 1`} {
		if _, err := score.Parse(bad); !errors.Is(err, score.ErrLine) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestReadGoesOnAfterABadLine(t *testing.T) {
	log := "nonsense\n\n" + strings.Repeat("x", 3<<20) + "\n" + `1.2.3.4 - - [02/Nov/2026:03:04:05 +0000] "GET /f HTTP/1.1" 200 1 "-" "-"`
	good, bad := 0, ""
	for _, err := range score.Read(strings.NewReader(log)) {
		if err != nil {
			bad += err.Error()[:7]
		} else {
			good++
		}
	}
	if good != 1 || bad != "line 1:line 3:" {
		t.Errorf("%d good lines, bad ones %q", good, bad)
	}
}

const agent = "Reader/1.0 (+https://reader.example)"

// request is one in a log: at a minute, with headers "Name: value", answered with
// a status and headers.
type request struct {
	minute   float64
	uri      string
	sent     []string
	status   int
	answered []string
}

func judge(requests []request) score.Card {
	var j score.Judge
	for _, r := range requests {
		e := score.Entry{
			Time:   time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.minute * float64(time.Minute))),
			Client: "192.0.2.7", Method: "GET", Host: "news.example", URI: r.uri, Status: r.status, Full: true,
			Request: map[string][]string{"User-Agent": {agent}, "Accept-Encoding": {"gzip"}}, Response: map[string][]string{},
		}
		for _, line := range r.sent {
			name, value, _ := strings.Cut(line, ": ")
			e.Request.Set(name, value)
		}
		for _, line := range r.answered {
			name, value, _ := strings.Cut(line, ": ")
			e.Response.Set(name, value)
		}
		j.Add(e)
	}
	return j.Cards()[0]
}

// Each criterion, as feeds.md §1 has it, with what just passes and what just fails.
func TestCriteria(t *testing.T) {
	const f = "/feed.xml"
	tag := []string{`ETag: "1"`}
	match := []string{`If-None-Match: "1"`}
	first := request{0, f, nil, 200, tag}
	many := func(n int) (list []request) {
		for round := range 2 {
			for i := range n {
				list = append(list, request{float64(round)*1500 + float64(i)*0.01, fmt.Sprint("/", i), nil, 200, nil})
			}
		}
		return list
	}
	for name, c := range map[string]struct {
		log  []request
		fail []score.Criterion
	}{
		"a good client":                {[]request{first, {60, f, match, 304, nil}, {120, f, match, 200, []string{`ETag: "2"`}}, {180, f, []string{`If-None-Match: "2"`}, 304, nil}}, nil},
		"made up":                      {[]request{first, {60, f, []string{`If-None-Match: 1`}, 200, tag}}, []score.Criterion{score.Verbatim}},
		"only one of two":              {[]request{{0, f, nil, 200, []string{`ETag: "1"`, "Last-Modified: x"}}, {60, f, match, 304, nil}}, []score.Criterion{score.Verbatim}},
		"both, and neither is a date":  {[]request{{0, f, nil, 200, []string{`ETag: 1`, "Last-Modified: x"}}, {60, f, []string{"If-None-Match: 1", "If-Modified-Since: x"}, 304, nil}}, nil},
		"known from before the log":    {[]request{{0, f, match, 304, nil}, {60, f, match, 304, nil}}, nil},
		"an old one":                   {[]request{first, {60, f, match, 200, []string{`ETag: "2"`}}, {120, f, match, 200, []string{`ETag: "2"`}}}, []score.Criterion{score.Renewed}},
		"not that of the 304":          {[]request{first, {60, f, match, 304, []string{`ETag: "2"`}}, {120, f, match, 304, nil}}, []score.Criterion{score.Renewed}},
		"an origin that gives no more": {[]request{first, {60, f, match, 200, nil}, {120, f, match, 200, nil}}, []score.Criterion{score.Renewed}},
		"a page in its place":          {[]request{first, {60, f, match, 200, []string{"Content-Type: text/html"}}, {120, f, match, 304, nil}}, nil},
		"59 minutes are early":         {[]request{first, {59, f, match, 304, nil}}, []score.Criterion{score.Spaced}},
		"an hour, by a second":         {[]request{first, {59.98, f, match, 304, nil}}, nil},
		"unconditional, 23 hours":      {[]request{{0, f, nil, 200, nil}, {23 * 60, f, nil, 200, nil}}, []score.Criterion{score.Spaced}},
		"unconditional, a day":         {[]request{{0, f, nil, 200, nil}, {24 * 60, f, nil, 200, nil}}, nil},
		"unconditional, when stale":    {[]request{{0, f, nil, 200, []string{"Cache-Control: max-age=7200"}}, {121, f, nil, 200, nil}}, nil},
		"after a failure":              {[]request{{0, f, nil, 500, nil}, {61, f, nil, 200, nil}}, nil},
		"forgotten":                    {[]request{first, {24 * 61, f, nil, 200, tag}}, []score.Criterion{score.Remembered}},
		"eleven at once":               {many(11), []score.Criterion{score.Remembered}},
		"ten at once":                  {many(10), nil},
		"before max-age":               {[]request{{0, f, nil, 200, []string{`ETag: "1"`, "Cache-Control: max-age=7200"}}, {119, f, match, 304, nil}}, []score.Criterion{score.Obedient}},
		"after it, less its age":       {[]request{{0, f, nil, 200, []string{`ETag: "1"`, "Cache-Control: max-age=7200", "Age: 600"}}, {110, f, match, 304, nil}}, nil},
		"a max-age of a year":          {[]request{{0, f, nil, 200, []string{`ETag: "1"`, "Cache-Control: max-age=31536000"}}, {24 * 60, f, match, 304, nil}}, nil},
		"before Expires":               {[]request{{0, f, nil, 200, []string{`ETag: "1"`, "Expires: Sun, 01 Nov 2026 02:00:00 GMT"}}, {119, f, match, 304, nil}}, []score.Criterion{score.Obedient}},
		"before Retry-After":           {[]request{{0, f, nil, 429, []string{"Retry-After: 7200"}}, {119, f, nil, 200, nil}}, []score.Criterion{score.Obedient}},
		"before its date":              {[]request{{0, f, nil, 503, []string{"Retry-After: Sun, 01 Nov 2026 02:00:00 GMT"}}, {119, f, nil, 200, nil}}, []score.Criterion{score.Obedient}},
		"after its date":               {[]request{{0, f, nil, 503, []string{"Retry-After: Sun, 01 Nov 2026 02:00:00 GMT"}}, {120, f, nil, 200, nil}}, nil},
		"another feed after a 429":     {[]request{{0, f, nil, 429, []string{"Retry-After: 7200"}}, {60, "/other", nil, 200, nil}}, []score.Criterion{score.Obedient}},
		"another feed after a 503":     {[]request{{0, f, nil, 503, []string{"Retry-After: 7200"}}, {60, "/other", nil, 200, nil}}, nil},
		"a 304 again":                  {[]request{{0, f, match, 304, nil}, {0.5, f, match, 304, nil}}, []score.Criterion{score.Obedient}},
		"what is gone":                 {[]request{{0, f, nil, 410, nil}, {5000, f, nil, 410, nil}}, []score.Criterion{score.Obedient}},
		"two to subscribe":             {[]request{first, {0.1, f, match, 304, nil}}, []score.Criterion{score.Single}},
		"a cookie":                     {[]request{{0, f, []string{"Cookie: a=b"}, 200, nil}}, []score.Criterion{score.Plain}},
		"a referrer":                   {[]request{{0, f, []string{"Referer: http://x.example"}, 200, nil}}, []score.Criterion{score.Plain}},
		"past the cache":               {[]request{{0, f + "?_=17", nil, 200, nil}}, []score.Criterion{score.Plain}},
		"counted":                      {[]request{{0, f + "?utm_source=r", nil, 200, nil}}, []score.Criterion{score.Plain}},
		"a query of its own":           {[]request{{0, f + "?tag=go", nil, 200, nil}}, nil},
		"the same, past the cache":     {[]request{first, {30, f + "?_=17", match, 304, nil}}, []score.Criterion{score.Plain, score.Spaced}},
		"no name":                      {[]request{{0, f, []string{"User-Agent: "}, 200, nil}}, []score.Criterion{score.Named}},
		"a name without a version":     {[]request{{0, f, []string{"User-Agent: reader (https://reader.example)"}, 200, nil}}, []score.Criterion{score.Named}},
		"a name without a contact":     {[]request{{0, f, []string{"User-Agent: Mozilla/5.0 (X11; Linux)"}, 200, nil}}, []score.Criterion{score.Named}},
		"a mail address is a contact":  {[]request{{0, f, []string{"User-Agent: Reader/1 (me@reader.example)"}, 200, nil}}, nil},
		"without compression":          {[]request{{0, f, []string{"Accept-Encoding: identity"}, 200, nil}}, []score.Criterion{score.Named}},
	} {
		card := judge(c.log)
		want := map[score.Criterion]bool{}
		for _, f := range c.fail {
			want[f] = true
		}
		for i, v := range card.Verdicts {
			if which := score.Criterion(i); want[which] != (v.Outcome == score.Fail) || v.Outcome == score.Unknown {
				t.Errorf("%s: %v is %v: %s", name, which, v.Outcome, v.Why)
			}
		}
	}
}

// The combined format has no validators: what they would show is not known, and
// not taken for good.
func TestCombinedLeavesOpen(t *testing.T) {
	var j score.Judge
	for _, hour := range []string{"01", "02", "03"} {
		e, err := score.Parse(`192.0.2.7 - - [02/Nov/2026:` + hour + `:04:05 +0000] "GET /f HTTP/1.1" 304 0 "-" "` + agent + `"`)
		if err != nil {
			t.Fatal(err)
		}
		j.Add(e)
	}
	for i, v := range j.Cards()[0].Verdicts {
		want := score.Unknown
		if score.Criterion(i) == score.Single {
			want = score.Pass
		}
		if v.Outcome != want || v.Why == "" && want == score.Unknown {
			t.Errorf("%v: %v, %q", score.Criterion(i), v.Outcome, v.Why)
		}
	}
}

func TestClientsAreApart(t *testing.T) {
	var j score.Judge
	for _, who := range []string{`192.0.2.7|Reader/1.0`, `192.0.2.7|Reader/1.1`, `192.0.2.7|Other/1`, `192.0.2.8|Reader/1.0`} {
		from, agent, _ := strings.Cut(who, "|")
		e, err := score.Parse(from + ` - - [02/Nov/2026:03:04:05 +0000] "GET /f HTTP/1.1" 200 10 "-" "` + agent + `"`)
		if err != nil {
			t.Fatal(err)
		}
		j.Add(e)
	}
	cards := j.Cards()
	if len(cards) != 3 || cards[0].Requests != 2 || cards[0].Agent != "Reader/1.1" || cards[0].Bytes != 20 {
		t.Errorf("%+v", cards)
	}
}

// The table has a row for each client, and says why.
func TestWrite(t *testing.T) {
	card := judge([]request{{0, "/feed.xml", []string{"Cookie: a", "User-Agent: evil\x1b[2J/1 (http://x.example)"}, 200, nil}})
	var out strings.Builder
	if err := score.Write(&out, []score.Card{card}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"7 of 8", "FAIL plain: 2026-11-01 00:00:00 news.example/feed.xml: a cookie is sent", "192.0.2.7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("a stranger moves the cursor:\n%q", out.String())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"ts":1,"request":{"uri":"/","headers":{"a":["b"]}},"resp_headers":{"Cache-Control":["max-age=9"],"Retry-After":["1"]},"status":429}`)
	f.Add(`a b c [02/Nov/2026:03:04:05 +0000] "GET /f?_=%zz HTTP/1.1" 200 10 "-" "x"`)
	fuzz.Hold(f, func(t *testing.T, line string) {
		e, err := score.Parse(line)
		if err != nil {
			return
		}
		var j score.Judge
		e.Method = "GET"
		j.Add(e)
		j.Add(e)
		if len(j.Cards()) != 1 {
			t.Error("one entry, but not one client")
		}
	})
}

// What an access log of two days says about the one client in it.
func Example() {
	const log = `192.0.2.7 - - [02/Nov/2026:03:00:00 +0000] "GET /feed.xml HTTP/1.1" 200 5120 "-" "Go-http-client/1.1"
192.0.2.7 - - [02/Nov/2026:03:10:00 +0000] "GET /feed.xml HTTP/1.1" 429 0 "-" "Go-http-client/1.1"
192.0.2.7 - - [02/Nov/2026:03:11:00 +0000] "GET /feed.xml HTTP/1.1" 429 0 "-" "Go-http-client/1.1"`
	var judge score.Judge
	for entry, err := range score.Read(strings.NewReader(log)) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		judge.Add(entry)
	}
	for _, card := range judge.Cards() {
		for i, v := range card.Verdicts {
			if v.Outcome == score.Fail {
				fmt.Println(score.Criterion(i), "-", v.Why)
			}
		}
	}
	// Output:
	// spaced - 2026-11-02 03:10:00 /feed.xml: asked again after 10m0s
	// obedient - 2026-11-02 03:11:00 /feed.xml: asked again 1m0s after a 429, before it may
	// named - 2026-11-02 03:00:00 /feed.xml: User-Agent without a contact: Go-http-client/1.1
}
