package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// lookAgain is how often a watched file is looked at, whatever the system tells of
// it: network file systems tell nothing, a directory that is made anew is another
// one, and what a symbolic link leads to is somewhere else.
const lookAgain = 2 * time.Second

// watcher tells when a file may have changed.
type watcher struct {
	path    string
	changes chan struct{} // one token: something changed
	events  *fsnotify.Watcher
	dir     fs.FileInfo // of the directory whose events are heard; nil: none
	file    fs.FileInfo // as last seen; nil: not there
	stop    chan struct{}
	stopped chan struct{}
}

// changesOf watches a file by the events of its directory, since most programs
// replace a file rather than write into it, and by looking at it now and then.
// Where there are no events, looking is all there is.
func changesOf(file string, every time.Duration, log *slog.Logger) (<-chan struct{}, func() error, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil, nil, fmt.Errorf("watching %s: %w", file, err)
	}
	w := &watcher{path: path, changes: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	if w.events, err = fsnotify.NewWatcher(); err == nil {
		err = w.listen()
	}
	if err != nil {
		log.Warn("the system does not tell of changes: the file is looked at instead", "file", file, "every", every, "error", err)
	}
	w.look()
	select {
	case <-w.changes: // it was there before
	default:
	}
	go w.run(every)
	return w.changes, w.end, nil
}

// end stops the watch, and closes its channel.
func (w *watcher) end() error {
	close(w.stop)
	<-w.stopped
	if w.events == nil {
		return nil
	}
	return w.events.Close()
}

func (w *watcher) run(every time.Duration) {
	defer close(w.stopped)
	defer close(w.changes)
	var events chan fsnotify.Event
	var errs chan error
	if w.events != nil {
		events, errs = w.events.Events, w.events.Errors
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case e := <-events:
			if filepath.Clean(e.Name) == w.path {
				w.tell()
			}
		case <-errs: // an overflow: look at the file
			w.tell()
		case <-tick.C:
			if w.events != nil {
				_ = w.listen() // it may come back; until then the file is looked at
			}
			w.look()
		}
	}
}

// listen hears of the directory that has the file's name now.
func (w *watcher) listen() error {
	dir := filepath.Dir(w.path)
	now, err := os.Stat(dir)
	if err != nil || w.dir != nil && os.SameFile(w.dir, now) {
		return err
	}
	if w.dir != nil {
		if err := w.events.Remove(dir); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
			return err
		}
		w.dir = nil
	}
	if err := w.events.Add(dir); err != nil {
		return err
	}
	w.dir = now
	return nil
}

// look tells of a file that is not the one last seen.
func (w *watcher) look() {
	now, err := os.Stat(w.path)
	if err != nil {
		w.file = nil
		return
	}
	if !sameVersion(w.file, now) {
		w.file = now
		w.tell()
	}
}

func (w *watcher) tell() {
	select {
	case w.changes <- struct{}{}:
	default: // a change is announced already
	}
}

// sameVersion reports whether nothing was written between two looks at a file.
func sameVersion(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
