package main

import (
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"
)

// logFlags say what is logged, and how.
type logFlags struct {
	LogLevel  slog.Level `help:"How much to log: debug, info, warn or error." default:"info"`
	LogFormat string     `help:"How: text or json, one line each. Under systemd, text leaves date and level to the journal." enum:"text,json" default:"text"`
}

// logger writes to w in the format asked for.
func (f logFlags) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.LogLevel}
	switch {
	case f.LogFormat == "json":
		return slog.New(slog.NewJSONHandler(w, options))
	case toJournal(w):
		return slog.New(toJournalLines(w, *options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// toJournal reports whether what is written to w ends up in systemd's journal.
func toJournal(w io.Writer) bool {
	if w != io.Writer(os.Stderr) {
		return false
	}
	is, err := journal.StderrIsJournalStream()
	return err == nil && is
}

// toJournalLines makes of slog's text what the journal takes: it has a clock of
// its own, and reads the level from <N> at the start of a line (sd-daemon(3)).
func toJournalLines(w io.Writer, options slog.HandlerOptions) slog.Handler {
	options.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.NewTextHandler(journalLines{w}, &options)
}

// journalLines replaces the level that each line begins with.
type journalLines struct{ w io.Writer }

var priorities = map[string]string{"DEBUG": "<7>", "INFO": "<6>", "WARN": "<4>", "ERROR": "<3>"}

// Write implements io.Writer. slog's handlers write a record at once.
func (j journalLines) Write(line []byte) (int, error) {
	level, rest, ok := strings.Cut(strings.TrimPrefix(string(line), "level="), " ")
	if prefix := priorities[level]; ok && prefix != "" {
		if _, err := io.WriteString(j.w, prefix+rest); err != nil {
			return 0, err
		}
		return len(line), nil
	}
	return j.w.Write(line)
}
