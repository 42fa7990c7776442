package score

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Entry is one request as a server logged it.
type Entry struct {
	Time     time.Time
	Client   string // address
	Method   string
	Host     string // "" if the log does not say
	URI      string // path and query
	Status   int
	Bytes    int64
	Request  http.Header // what the log has of it
	Response http.Header
	Full     bool // the log has all headers
}

// ErrLine is in the errors that Read yields for lines it cannot read.
var ErrLine = errors.New("not a line of an access log")

const longestLine = 1 << 20

// Read yields the entries of a log. A line that is none is yielded as an error that
// wraps ErrLine, and reading goes on; any other error is the last.
func Read(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			line, err := readLine(lines)
			if err != nil && err != io.EOF {
				yield(Entry{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if text := strings.TrimSpace(line); text != "" {
				e, bad := Parse(text)
				if bad != nil {
					bad = fmt.Errorf("line %d: %w", n, bad)
				}
				if !yield(e, bad) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// readLine reads a line; of one that is too long only the beginning.
func readLine(r *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		if line.Len() < longestLine {
			line.Write(part)
		}
		if err != bufio.ErrBufferFull {
			return line.String(), err
		}
	}
}

// Parse reads one line.
func Parse(line string) (Entry, error) {
	if strings.HasPrefix(line, "{") {
		return parseJSON(line)
	}
	return parseCombined(line)
}

// combined is the log format of that name, with the virtual host before it or
// not, and with what some servers append to it.
var combined = regexp.MustCompile(`^(?:(\S+) )?(\S+) \S+ \S+ \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-)(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)")?`)

func parseCombined(line string) (Entry, error) {
	m := combined.FindStringSubmatch(line)
	if m == nil {
		return Entry{}, fmt.Errorf("%w: %.60q", ErrLine, line)
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[3])
	if err != nil {
		return Entry{}, fmt.Errorf("%w: time %q", ErrLine, m[3])
	}
	e := Entry{Time: at, Host: strings.ToLower(m[1]), Client: m[2], Request: http.Header{}, Response: http.Header{}}
	e.Method, e.URI, _ = strings.Cut(unescape(m[4]), " ")
	if end := strings.LastIndex(e.URI, " HTTP/"); end >= 0 {
		e.URI = e.URI[:end]
	}
	e.Status, _ = strconv.Atoi(m[5])
	e.Bytes, _ = strconv.ParseInt(m[6], 10, 64) // "-": none
	for name, value := range map[string]string{"Referer": m[7], "User-Agent": m[8]} {
		if value = unescape(value); value != "" && value != "-" {
			e.Request.Set(name, value)
		}
	}
	return e, nil
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s)
}

// jsonEntry is a line of Caddy's access log.
type jsonEntry struct {
	TS      json.RawMessage `json:"ts"` // seconds since 1970, or RFC 3339
	Request *struct {
		RemoteIP string      `json:"remote_ip"`
		ClientIP string      `json:"client_ip"`
		Method   string      `json:"method"`
		Host     string      `json:"host"`
		URI      string      `json:"uri"`
		Headers  http.Header `json:"headers"`
	} `json:"request"`
	Status   int         `json:"status"`
	Size     int64       `json:"size"`
	Response http.Header `json:"resp_headers"`
}

func parseJSON(line string) (Entry, error) {
	var j jsonEntry
	if err := json.Unmarshal([]byte(line), &j); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrLine, err)
	}
	at, err := parseTime(j.TS)
	if j.Request == nil || j.Request.URI == "" || err != nil {
		return Entry{}, fmt.Errorf("%w: JSON without the fields ts, request.uri: %.60q", ErrLine, line)
	}
	e := Entry{
		Time: at, Client: j.Request.ClientIP, Method: j.Request.Method, Host: strings.ToLower(j.Request.Host), URI: j.Request.URI,
		Status: j.Status, Bytes: j.Size, Request: canonical(j.Request.Headers), Response: canonical(j.Response),
		Full: j.Request.Headers != nil && j.Response != nil,
	}
	if e.Client == "" {
		e.Client = j.Request.RemoteIP
	}
	return e, nil
}

func parseTime(raw json.RawMessage) (time.Time, error) {
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err == nil {
		whole, part := math.Modf(seconds)
		return time.Unix(int64(whole), int64(part*1e9)).UTC(), nil
	}
	var at time.Time
	err := json.Unmarshal(raw, &at)
	return at, err
}

// canonical has the names of headers as http.Header looks them up.
func canonical(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		for _, v := range values {
			out.Add(name, v)
		}
	}
	return out
}
