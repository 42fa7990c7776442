package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

type archiveCmd struct {
	Check  archiveCheckCmd  `cmd:"" help:"Read everything and say what is damaged."`
	Search archiveSearchCmd `cmd:"" help:"Find items by the words in their titles and texts."`
	Export archiveExportCmd `cmd:"" help:"Write everything into one file: items, their versions, and what proves them."`
	Import archiveImportCmd `cmd:"" help:"Merge an exported file into the archive."`
}

// archiveFlags say which archive is meant.
type archiveFlags struct {
	Data string `help:"Directory of the proxy. Default: as feedtree proxy has it." type:"path" placeholder:"DIR"`
	File string `help:"The archive's file itself, in the place of --data." type:"path" placeholder:"FILE" env:"-"`
}

func (f archiveFlags) path() (string, error) {
	if f.File != "" {
		return f.File, nil
	}
	data, err := f.dir()
	return filepath.Join(data, archiveName), err
}

func (f archiveFlags) dir() (string, error) {
	if f.Data != "" {
		return f.Data, nil
	}
	return defaultData()
}

// look opens the archive to be read, beside a proxy that may run.
func (f archiveFlags) look() (*archive.Archive, error) {
	path, err := f.path()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no archive %s: name its directory with --data or its file with --file", path)
	}
	return archive.OpenReading(path)
}

// change opens the archive to be written, alone.
func (f archiveFlags) change() (*archive.Archive, io.Closer, error) {
	if f.File != "" {
		a, err := archive.Open(f.File)
		return a, a, err
	}
	dir, err := f.dir()
	if err != nil {
		return nil, nil, err
	}
	data, err := openData(dir)
	if err != nil {
		return nil, nil, err
	}
	return data.archive, data, nil
}

type archiveCheckCmd struct {
	archiveFlags
	Reindex bool `help:"Make the index of words anew. No proxy may run with it." env:"-"`
}

// Help teaches the command.
func (archiveCheckCmd) Help() string {
	return `Holds each record against its checksum, the indexes against the records, and the file's structure against what SQLite knows of it. A proxy may run meanwhile. Exits with 1 if anything is damaged.

Damaged records are never served: the proxy fetches their items again. To be rid of them at once, export the archive, move its file away, and import the export.`
}

// Run checks, and says what was found.
func (c archiveCheckCmd) Run(ctx context.Context, t terminal) (err error) {
	if c.Reindex {
		a, opened, err := c.change()
		if err != nil {
			return err
		}
		return errors.Join(a.Reindex(ctx), opened.Close())
	}
	a, err := c.look()
	if err != nil {
		return err
	}
	defer closing(&err, a.Close)
	bar := newBar(t.Err)
	found, err := a.Check(ctx, func(done float64) { bar.show("checking", done) })
	bar.clear()
	for _, d := range found {
		fmt.Fprintln(t.Out, oneLine(d.String()))
	}
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%d places are damaged; save the rest with: feedtree archive export", len(found))
	}
	if err != nil {
		return err
	}
	feeds, err := a.Feeds(ctx)
	items := 0
	for _, f := range feeds {
		n, countErr := a.Count(ctx, f.URL)
		items, err = items+n, errors.Join(err, countErr)
	}
	fmt.Fprintf(t.Out, "sound: %d items of %d feeds\n", items, len(feeds))
	return err
}

type archiveSearchCmd struct {
	Words []string `arg:"" help:"What to look for. A last word with * behind it stands for all that begin so."`
	archiveFlags
	Limit int  `help:"Most items shown." default:"20" env:"-"`
	JSON  bool `name:"json" help:"Print one JSON object a line." env:"-"`
}

// Help teaches the command.
func (archiveSearchCmd) Help() string {
	return `Shows items that have all the words, the newest first, without regard to case and accents. A proxy may run meanwhile.

Examples:

    feedtree archive search push feeds
    feedtree archive search --json 'micro*' | jq -r .link

"revoked" is called what a key signed after it was revoked: the page does not show it.`
}

// foundItem is an item as a line of JSON.
type foundItem struct {
	Feed      string     `json:"feed"`
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Link      string     `json:"link"`
	Snippet   string     `json:"snippet"`
	Published *time.Time `json:"published"`
	Trust     string     `json:"trust"`
}

// Run searches.
func (c archiveSearchCmd) Run(ctx context.Context, t terminal) (err error) {
	a, err := c.look()
	if err != nil {
		return err
	}
	defer closing(&err, a.Close)
	hits, err := a.Search(ctx, strings.Join(c.Words, " "), c.Limit)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(t.Out)
	lines.SetEscapeHTML(false)
	feeds, err := a.Feeds(ctx)
	if err != nil {
		return err
	}
	for _, h := range hits {
		found := describeHit(h)
		of := slices.IndexFunc(feeds, func(f store.Feed) bool { return f.URL == h.Item.Feed })
		if of >= 0 && feedtree.Revoked(feeds[of], h.Item) {
			found.Trust = "revoked" // as its page does not show it at all
		}
		if !c.JSON {
			_, err = fmt.Fprintf(t.Out, "%s  %-12s %s\n    %s\n    %s\n", dayOf(found.Published), found.Trust, oneLine(found.Title), oneLine(found.Link), oneLine(marked(h, t.Out)))
		} else {
			err = lines.Encode(found)
		}
		if err != nil {
			return err
		}
	}
	if len(hits) == 0 {
		fmt.Fprintln(t.Err, "nothing found")
	}
	return nil
}

func describeHit(h store.Hit) foundItem {
	found := foundItem{Feed: h.Item.Feed, Title: h.Title, Snippet: h.Snippet, Published: dateOrNull(h.Item.Published), Trust: h.Item.Trust.String()}
	if f, err := feed.Parse(h.Item.Doc, h.Item.ContentType); err == nil && len(f.Items) > 0 {
		found.ID, found.Link = f.Items[0].GUID, f.Items[0].Link
	}
	return found
}

func dayOf(t *time.Time) string {
	if t == nil {
		return "no date   "
	}
	return t.Local().Format("2006-01-02")
}

// marked is the snippet, with marks about what was looked for where a person reads it.
func marked(h store.Hit, w io.Writer) string {
	begin, end := "", ""
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		begin, end = "«", "»"
	}
	var b strings.Builder
	last := 0
	for _, m := range h.Marks {
		b.WriteString(h.Snippet[last:m[0]] + begin + h.Snippet[m[0]:m[1]] + end)
		last = m[1]
	}
	return b.String() + h.Snippet[last:]
}

type archiveExportCmd struct {
	To string `arg:"" help:"The file to write, or - for the standard output." placeholder:"FILE"`
	archiveFlags
}

// Help teaches the command.
func (archiveExportCmd) Help() string {
	return `Writes lines of JSON, compressed with zstd (zstd -dc FILE shows them): feeds with their pins, items with all versions, the signed envelopes that prove them, and how far one's own lines are. Keys are not in it. What is damaged is left out and counted. A proxy may run meanwhile.

Examples:

    feedtree archive export backup.ftarchive
    feedtree archive export - | ssh other feedtree archive import -`
}

// Run exports. The file appears when it is whole.
func (c archiveExportCmd) Run(ctx context.Context, t terminal, log *slog.Logger) (err error) {
	a, err := c.look()
	if err != nil {
		return err
	}
	defer closing(&err, a.Close)
	if c.To == "-" {
		held, err := a.Export(ctx, t.Out, nil)
		tellExported(log, "exported", held)
		return err
	}
	if _, err := os.Stat(c.To); err == nil {
		return fmt.Errorf("%s is there already: name another file, or remove it", c.To)
	}
	part, err := os.CreateTemp(filepath.Dir(c.To), ".feedtree-export-")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // it is gone if all went well
	bar := newBar(t.Err)
	held, err := a.Export(ctx, part, func(done float64) { bar.show("exporting", done) })
	bar.clear()
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), c.To); err != nil {
		return err
	}
	tellExported(log, "exported", held)
	return nil
}

type archiveImportCmd struct {
	From string `arg:"" help:"The file to read, or - for the standard input." placeholder:"FILE"`
	archiveFlags
}

// Help teaches the command.
func (archiveImportCmd) Help() string {
	return `Adds what the archive does not have. What it has stays, pins above all. What the file calls signed is signed here only if an envelope in it proves that. Importing the same file again changes nothing, and an import that was interrupted is completed by another. Stop the proxy first.`
}

// Run imports.
func (c archiveImportCmd) Run(ctx context.Context, t terminal, log *slog.Logger) (err error) {
	in, size := t.In, int64(0)
	if c.From != "-" {
		f, err := os.Open(c.From)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil {
			size = info.Size()
		}
		in = f
	}
	a, opened, err := c.change()
	if err != nil {
		return err
	}
	defer closing(&err, opened.Close)
	bar := newBar(t.Err)
	held, err := a.Import(ctx, &metered{r: bufio.NewReaderSize(in, 1<<20), size: size, bar: bar}, feedtree.Prove)
	bar.clear()
	if err != nil {
		return err
	}
	tellExported(log, "imported", held)
	return nil
}

// metered shows how much of a file was read.
type metered struct {
	r          io.Reader
	read, size int64
	bar        *bar
}

func (m *metered) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	if m.read += int64(n); m.size > 0 {
		m.bar.show("importing", float64(m.read)/float64(m.size))
	}
	return n, err
}

func tellExported(log *slog.Logger, what string, held archive.Exported) {
	log.Info(what, "feeds", held.Feeds, "items", held.Items, "envelopes", held.Envelopes, "others", held.Others)
	if held.Damaged > 0 {
		log.Warn("damaged records were left out: see `feedtree archive check`", "records", held.Damaged)
	}
	if held.Refused > 0 {
		log.Warn("envelopes were left out: what they say is not signed as they say; items that nothing proves are unconfirmed", "envelopes", held.Refused)
	}
}
