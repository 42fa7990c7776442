package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// A bar shows the progress of what takes more than two seconds.
type bar struct {
	w     io.Writer
	live  bool // a terminal: the line is drawn over
	began time.Time
	next  time.Time
	drawn bool
}

const (
	barAfter = 2 * time.Second
	barWidth = 30
)

func newBar(w io.Writer) *bar {
	b := &bar{w: w, began: time.Now()}
	b.next = b.began.Add(barAfter)
	if f, ok := w.(*os.File); ok {
		b.live = term.IsTerminal(int(f.Fd()))
	}
	return b
}

// show draws the bar if it is time to: a few times a second on a terminal, and
// elsewhere a line now and then.
func (b *bar) show(stage string, done float64) {
	now := time.Now()
	if now.Before(b.next) {
		return
	}
	every, begin, end := 10*time.Second, "", "\n"
	if b.live {
		every, begin, end = 200*time.Millisecond, "\r\x1b[K", ""
	}
	b.next, b.drawn = now.Add(every), true
	full := min(max(int(done*barWidth), 0), barWidth)
	fmt.Fprintf(b.w, "%s[%s%s] %3.0f %% %s%s%s", begin, strings.Repeat("#", full), strings.Repeat(".", barWidth-full),
		100*done, stage, left(now.Sub(b.began), done), end)
}

// left estimates the time to come.
func left(past time.Duration, done float64) string {
	if done < 0.05 {
		return ""
	}
	return fmt.Sprintf(", %v to go", time.Duration(float64(past)*(1-done)/done).Round(time.Second))
}

// clear takes the bar away.
func (b *bar) clear() {
	if b.drawn && b.live {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
