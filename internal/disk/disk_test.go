package disk_test

import (
	"bytes"
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/feedtree/feedtree/internal/disk"
)

// What SQLite did to its file, done again from the log, is the file.
func TestLogIsComplete(t *testing.T) {
	d := disk.New()
	path := filepath.Join(t.TempDir(), "a.db")
	d.Note()
	db, err := sql.Open("sqlite", "file://"+path+"?vfs="+d.Name()+"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{`CREATE TABLE t (b BLOB)`, `INSERT INTO t VALUES (randomblob(20000))`, `DELETE FROM t`, `INSERT INTO t VALUES (randomblob(9000))`} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	p := disk.NewPlatter(nil)
	syncs := 0
	for _, op := range d.Log() {
		p.Step(op)
		if op.Kind == disk.Sync {
			syncs++
		}
	}
	files := p.AfterPowerLoss(disk.None, nil)
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(files[path], want) {
		t.Errorf("from the log %d bytes, in the file %d, %v", len(files[path]), len(want), err)
	}
	if _, ok := files[path+"-wal"]; ok || syncs < 4 {
		t.Errorf("the WAL is left: %v; %d syncs of 4 transactions", ok, syncs)
	}
}

func op(kind disk.Kind, offset int64, data string) disk.Op {
	return disk.Op{Kind: kind, Path: "f", Offset: offset, Data: []byte(data)}
}

// What was synced stays; of the rest each loss leaves what it says.
func TestPowerLoss(t *testing.T) {
	p := disk.NewPlatter(map[string][]byte{"f": []byte("0123456789")})
	for _, o := range []disk.Op{op(disk.Write, 2, "AB"), op(disk.Sync, 0, ""), op(disk.Write, 0, "xy"), op(disk.Truncate, 8, "")} {
		p.Step(o)
	}
	if got := string(p.AfterPowerLoss(disk.All, nil)["f"]); got != "01AB456789" {
		t.Errorf("all is lost that was not synced: %q", got)
	}
	if got := string(p.AfterPowerLoss(disk.None, nil)["f"]); got != "xyAB4567" {
		t.Errorf("nothing is lost: %q", got)
	}
	found := map[string]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		found[string(p.AfterPowerLoss(disk.Parts, rng)["f"])] = true
	}
	for _, want := range []string{"01AB456789", "xyAB456789", "01AB4567", "xyAB4567"} {
		if !found[want] {
			t.Errorf("never %q in %v", want, found)
		}
	}
	p.Step(disk.Op{Kind: disk.Delete, Path: "f"})
	if _, ok := p.AfterPowerLoss(disk.All, nil)["f"]; !ok {
		t.Error("a deletion is certain before the directory was synced")
	}
	p.Step(disk.Op{Kind: disk.Create, Path: "synced"})
	p.Step(disk.Op{Kind: disk.Sync, Path: "synced"})
	if files := p.AfterPowerLoss(disk.All, nil); len(files) != 1 || files["synced"] != nil {
		t.Errorf("after the directory was synced: %v", files)
	}
	p.Step(disk.Op{Kind: disk.Create, Path: "new"})
	p.Step(disk.Op{Kind: disk.Write, Path: "new", Data: make([]byte, 2000)})
	if _, ok := p.AfterPowerLoss(disk.All, nil)["new"]; ok {
		t.Error("a file that was never synced is there")
	}
}

// An operation that fails is not done, and SQLite hears of it.
func TestFail(t *testing.T) {
	d := disk.New()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", "file://"+path+"?vfs="+d.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE t (n INTEGER)`); err != nil {
		t.Fatal(err)
	}
	d.Fail(func(disk.Op) int { return disk.Full })
	if _, err := db.Exec(`INSERT INTO t VALUES (1)`); err == nil {
		t.Error("a full disk took a row")
	}
	d.Fail(nil)
	var n int
	if _, err := db.Exec(`INSERT INTO t VALUES (2)`); err != nil {
		t.Error(err)
	}
	if err := db.QueryRow(`SELECT count(*) FROM t`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
}
