package disk

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Kind says what an operation does.
type Kind uint8

// The operations.
const (
	Create   Kind = iota + 1 // of a file that was not there
	Write                    // of Data at Offset
	Truncate                 // to Offset
	Sync
	Delete // Offset 1: and the directory was synced
	Mark   // of the test itself: Offset is its number
)

// Op is an operation on a file.
type Op struct {
	Kind   Kind
	Path   string
	Offset int64
	Data   []byte
}

// Codes of SQLite with which operations fail.
const (
	Full       = sqlite3.SQLITE_FULL
	WriteError = sqlite3.SQLITE_IOERR_WRITE
	SyncError  = sqlite3.SQLITE_IOERR_FSYNC
)

// Disk is a VFS. It lasts as long as the process.
type Disk struct {
	name string
	mu   sync.Mutex
	log  []Op
	note bool
	fail func(Op) int
}

// layer is what all disks share: SQLite's own VFS, and who has which file open.
// Its functions have no other way to learn whose file they are called for.
var layer struct {
	mu      sync.Mutex
	base    *sqlite3.Tsqlite3_vfs
	disks   map[uintptr]*Disk // by their VFS
	files   map[uintptr]*file // by SQLite's file
	methods map[uintptr]*sqlite3.Tsqlite3_io_methods
}

// file is an open file.
type file struct {
	disk *Disk
	path string
	real *sqlite3.Tsqlite3_io_methods
}

var count atomic.Int64

// New registers a disk with SQLite.
func New() *Disk {
	tls := libc.NewTLS()
	layer.mu.Lock()
	defer layer.mu.Unlock()
	if layer.base == nil {
		layer.base = at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
		layer.disks, layer.files = make(map[uintptr]*Disk), make(map[uintptr]*file)
		layer.methods = make(map[uintptr]*sqlite3.Tsqlite3_io_methods)
	}
	d := &Disk{name: fmt.Sprintf("disk%d", count.Add(1))}
	name, err := libc.CString(d.name)
	place := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*layer.base)))
	if err != nil || place == 0 {
		panic("disk: out of memory")
	}
	vfs := at[sqlite3.Tsqlite3_vfs](place)
	*vfs = *layer.base
	vfs.FpNext, vfs.FzName = 0, name
	vfs.FxOpen, vfs.FxDelete = pointer(&opener), pointer(&deleter)
	layer.disks[place] = d
	if rc := sqlite3.Xsqlite3_vfs_register(tls, place, 0); rc != sqlite3.SQLITE_OK {
		panic(fmt.Sprintf("disk: register: %d", rc))
	}
	return d
}

// Name is what a data source names the disk by: vfs=NAME.
func (d *Disk) Name() string { return d.name }

// Note begins the log anew.
func (d *Disk) Note() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log, d.note = nil, true
}

// Log returns what was noted so far.
func (d *Disk) Log() []Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log[:len(d.log):len(d.log)]
}

// Mark notes that the test got as far as n.
func (d *Disk) Mark(n int64) { d.add(Op{Kind: Mark, Offset: n}) }

// Fail asks f about each operation before it is done: if it returns a code of
// SQLite, that is what SQLite is told, and nothing is done. Nil: all succeed.
func (d *Disk) Fail(f func(Op) (code int)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = f
}

func (d *Disk) add(op Op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.note {
		d.log = append(d.log, op)
	}
}

// try asks whether an operation fails.
func (d *Disk) try(op Op) int32 {
	d.mu.Lock()
	f := d.fail
	d.mu.Unlock()
	if f == nil {
		return sqlite3.SQLITE_OK
	}
	return int32(f(op))
}

// do lets an operation fail, or does and notes it.
func (d *Disk) do(op Op, really func() int32) int32 {
	if rc := d.try(op); rc != sqlite3.SQLITE_OK {
		return rc
	}
	rc := really()
	if rc == sqlite3.SQLITE_OK {
		d.add(op)
	}
	return rc
}
