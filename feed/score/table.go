package score

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Write writes scores as a table for people: a row for each client, and below it
// why criteria were failed, or cannot be judged.
func Write(w io.Writer, cards []Card) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "client\trequests\tfeeds\tbytes\tscore")
	for _, c := range Criteria {
		fmt.Fprint(t, "\t", c.Name)
	}
	fmt.Fprintln(t)
	for _, c := range cards {
		fmt.Fprintf(t, "%s %s\t%d\t%d\t%d\t%d of %d", c.Client, printable(c.Agent, 40), c.Requests, c.Documents, c.Bytes, c.Passed(), count)
		for _, v := range c.Verdicts {
			fmt.Fprint(t, "\t", v.Outcome)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range cards {
		if c.Passed() == int(count) {
			continue
		}
		fmt.Fprintf(w, "\n%s %s\n", c.Client, printable(c.Agent, 200))
		for i, v := range c.Verdicts {
			if v.Outcome == Pass {
				continue
			}
			times := ""
			if v.Faults > 1 {
				times = fmt.Sprintf(" (%d times)", v.Faults)
			}
			if _, err := fmt.Fprintf(w, "  %-4s %s: %s%s\n", v.Outcome, Criterion(i), printable(v.Why, 400), times); err != nil {
				return err
			}
		}
	}
	return nil
}

// printable keeps what strangers wrote into a log from moving the cursor.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
