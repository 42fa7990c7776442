package disk

import (
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// This file speaks the language of the transpiled SQLite: pointers are numbers of
// memory that Go does not manage, and a function is a pointer to its descriptor.

type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	closeFunc    = func(tls *libc.TLS, file uintptr) int32
	writeFunc    = func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc     = func(tls *libc.TLS, file uintptr, flags int32) int32
	accessFunc   = func(tls *libc.TLS, vfs, name uintptr, flags int32, result uintptr) int32
)

// What SQLite calls. They are variables so that their descriptors have addresses.
var (
	opener    openFunc     = open
	deleter   deleteFunc   = remove
	closer    closeFunc    = shut
	writer    writeFunc    = write
	truncater truncateFunc = truncate
	syncer    syncFunc     = flush
)

// at views memory of SQLite as a T.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// pointer returns a function as SQLite holds it.
func pointer[F any](f *F) uintptr { return *(*uintptr)(unsafe.Pointer(f)) }

// function is the inverse of pointer.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }

func open(tls *libc.TLS, vfs, name, pFile uintptr, flags int32, outFlags uintptr) int32 {
	layer.mu.Lock()
	base, d := layer.base, layer.disks[vfs]
	layer.mu.Unlock()
	created := name != 0 && flags&sqlite3.SQLITE_OPEN_CREATE != 0 && !exists(tls, vfs, name)
	rc := function[openFunc](base.FxOpen)(tls, vfs, name, pFile, flags, outFlags)
	methods := at[sqlite3.Tsqlite3_file](pFile)
	if rc != sqlite3.SQLITE_OK || methods.FpMethods == 0 || name == 0 || flags&sqlite3.SQLITE_OPEN_DELETEONCLOSE != 0 {
		return rc
	}
	layer.mu.Lock()
	defer layer.mu.Unlock()
	f := &file{disk: d, path: libc.GoString(name), real: at[sqlite3.Tsqlite3_io_methods](methods.FpMethods)}
	ours := layer.methods[methods.FpMethods]
	if ours == nil {
		ours = at[sqlite3.Tsqlite3_io_methods](libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*ours))))
		*ours = *f.real
		ours.FxClose, ours.FxWrite = pointer(&closer), pointer(&writer)
		ours.FxTruncate, ours.FxSync = pointer(&truncater), pointer(&syncer)
		layer.methods[methods.FpMethods] = ours
	}
	methods.FpMethods = uintptr(unsafe.Pointer(ours))
	layer.files[pFile] = f
	if created {
		d.add(Op{Kind: Create, Path: f.path})
	}
	return rc
}

func exists(tls *libc.TLS, vfs, name uintptr) bool {
	result := libc.Xmalloc(tls, 4)
	defer libc.Xfree(tls, result)
	*at[int32](result) = 0
	function[accessFunc](layer.base.FxAccess)(tls, vfs, name, sqlite3.SQLITE_ACCESS_EXISTS, result)
	return *at[int32](result) != 0
}

func remove(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32 {
	layer.mu.Lock()
	base, d := layer.base, layer.disks[vfs]
	layer.mu.Unlock()
	return d.do(Op{Kind: Delete, Path: libc.GoString(name), Offset: int64(syncDir)}, func() int32 {
		return function[deleteFunc](base.FxDelete)(tls, vfs, name, syncDir)
	})
}

func of(pFile uintptr) *file {
	layer.mu.Lock()
	defer layer.mu.Unlock()
	return layer.files[pFile]
}

func shut(tls *libc.TLS, pFile uintptr) int32 {
	f := of(pFile)
	layer.mu.Lock()
	delete(layer.files, pFile)
	layer.mu.Unlock()
	return function[closeFunc](f.real.FxClose)(tls, pFile)
}

func write(tls *libc.TLS, pFile, data uintptr, n int32, offset int64) int32 {
	f := of(pFile)
	op := Op{Kind: Write, Path: f.path, Offset: offset, Data: append([]byte(nil), unsafe.Slice(at[byte](data), n)...)}
	return f.disk.do(op, func() int32 { return function[writeFunc](f.real.FxWrite)(tls, pFile, data, n, offset) })
}

func truncate(tls *libc.TLS, pFile uintptr, size int64) int32 {
	f := of(pFile)
	return f.disk.do(Op{Kind: Truncate, Path: f.path, Offset: size}, func() int32 {
		return function[truncateFunc](f.real.FxTruncate)(tls, pFile, size)
	})
}

func flush(tls *libc.TLS, pFile uintptr, flags int32) int32 {
	f := of(pFile)
	return f.disk.do(Op{Kind: Sync, Path: f.path}, func() int32 { return function[syncFunc](f.real.FxSync)(tls, pFile, flags) })
}
