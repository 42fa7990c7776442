package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

// sd-daemon(3): a line that begins with <N> has syslog's priority N; 3 is an
// error, 4 a warning, 6 information. The journal dates lines itself.
func TestLinesForTheJournal(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(toJournalLines(&out, slog.HandlerOptions{Level: slog.LevelDebug})).With("feed", "x y")
	log.Error("three", "level", "attribute", "time", "told")
	log.Warn("four\nlines")
	log.Info("six")
	log.Debug("seven")
	want := `<3>msg=three feed="x y" level=attribute
<4>msg="four\nlines" feed="x y"
<6>msg=six feed="x y"
<7>msg=seven feed="x y"
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestLogFormats(t *testing.T) {
	var out bytes.Buffer
	logFlags{LogFormat: "json", LogLevel: slog.LevelInfo}.logger(&out).Info("ready", "page", "http://127.0.0.1/")
	var line struct{ Time, Level, Msg, Page string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Msg != "ready" || line.Page != "http://127.0.0.1/" || line.Time == "" {
		t.Errorf("json: %s (%v)", &out, err)
	}
	out.Reset()
	logFlags{LogFormat: "text", LogLevel: slog.LevelWarn}.logger(&out).Info("ready")
	if out.Len() != 0 {
		t.Errorf("at level warn: %s", &out)
	}
	logFlags{LogFormat: "text"}.logger(&out).Info("ready")
	if !strings.HasPrefix(out.String(), "time=") {
		t.Errorf("on a terminal: %s", &out)
	}
}
