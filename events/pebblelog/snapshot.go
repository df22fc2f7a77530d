package pebblelog

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
)

// snapshotFS shows a reader the files of a database as they were at one moment, though another
// process writes to them, and lets none of them be changed: so a reader needs no lock, and no right
// to write. It is a file system for the one database.
//
// A database is its newest manifest and the files that this names. Tables never change, and are
// held open, so that one that a compaction removes can still be read. The manifest, the write-ahead
// logs and other small files are copied. The manifest is read first and again in the end: if it is
// the same, nothing that it needs was removed in between. The write-ahead log goes on beyond the
// copy, which leaves out events from its end; those that HEAD knew before are there. Pebble's own
// read-only mode would fail on the live files: it reads a manifest and then the files that this
// named, when a writer may have removed some.
//
// names are all files of the snapshot; copies holds those that were copied, and tables, by path,
// those that are held open.
type snapshotFS struct {
	vfs.FS
	dir    string
	names  []string
	copies *vfs.MemFS
	tables map[string]vfs.File
}

// errChanging means that the files changed while they were looked at.
var errChanging = errors.New("the store is being written to, too fast to be read")

// takeSnapshot returns the files of the database in dir. It opens and copies in the order of the
// list; they are consistent because the manifest is the same before and after.
func takeSnapshot(fsys vfs.FS, dir string) (_ *snapshotFS, err error) {
	before, manifest, err := readManifest(fsys, dir)
	if err != nil {
		return nil, err
	}
	s := &snapshotFS{FS: fsys, dir: dir, copies: vfs.NewMem(), tables: make(map[string]vfs.File)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.copies.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	names, err := fsys.List(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == lockName { // closing it would let go of the lock, where this process holds it
			continue
		}
		switch err := s.take(name, before, manifest); {
		case errors.Is(err, fs.ErrNotExist):
			continue // removed meanwhile: it was not needed, or the manifest says so
		case err != nil:
			return nil, err
		}
		s.names = append(s.names, name)
	}
	after, again, err := readManifest(fsys, dir)
	if err != nil {
		return nil, err
	}
	if before != after || !bytes.Equal(manifest, again) {
		return nil, errChanging
	}
	return s, nil
}

// take copies a file, or holds it open. The manifest is written as it was read
// first, not read again: it may have grown since, by names of files that are
// not in the snapshot.
func (s *snapshotFS) take(name, manifestName string, manifest []byte) error {
	path := s.FS.PathJoin(s.dir, name)
	if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob") {
		f, err := s.FS.Open(path)
		if err == nil {
			s.tables[path] = f
		}
		return err
	}
	content := manifest
	if name != manifestName {
		var err error
		if content, err = readFile(s.FS, path); err != nil {
			return err
		}
	}
	return writeFile(s.copies, path, bytes.Clone(content)) // a Write may change what it is given
}

// manifestMarker begins the name of the file whose name ends in that of the
// manifest.
const manifestMarker = "marker.manifest."

// readManifest returns the database's newest manifest. Where it is missing, Pebble reports the
// fault. The marker with the greatest name is the newest: its number has six digits.
func readManifest(fsys vfs.FS, dir string) (name string, content []byte, err error) {
	names, err := fsys.List(dir)
	if err != nil {
		return "", nil, err
	}
	marker := ""
	for _, n := range names { // marker.manifest.000002.MANIFEST-000005
		if strings.HasPrefix(n, manifestMarker) && n > marker {
			marker = n
		}
	}
	if parts := strings.SplitN(marker, ".", 4); len(parts) == 4 {
		name = parts[3]
	}
	if !slices.Contains(names, name) {
		return "", nil, nil
	}
	content, err = readFile(fsys, fsys.PathJoin(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, errChanging
	}
	return name, content, err
}

// readFile reads a file whole.
func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(f)
	return content, errors.Join(err, f.Close())
}

// Close lets go of the tables.
func (s *snapshotFS) Close() error {
	var errs []error
	for _, f := range s.tables {
		errs = append(errs, f.Close())
	}
	s.tables = nil
	return errors.Join(errs...)
}

// Open opens a file of the snapshot, and no other.
func (s *snapshotFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if f, ok := s.tables[name]; ok {
		return &heldFile{File: f}, nil
	}
	return s.copies.Open(name)
}

// Stat implements vfs.FS.
func (s *snapshotFS) Stat(name string) (vfs.FileInfo, error) {
	if f, ok := s.tables[name]; ok {
		return f.Stat()
	}
	return s.copies.Stat(name)
}

// List implements vfs.FS. A reader sees the files of the snapshot's moment,
// whatever has come since.
func (s *snapshotFS) List(dir string) ([]string, error) {
	if dir != s.dir {
		return s.copies.List(dir)
	}
	return slices.Clone(s.names), nil
}

// Lock takes nothing: the files of a snapshot do not change.
func (s *snapshotFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// OpenDir implements vfs.FS.
func (s *snapshotFS) OpenDir(name string) (vfs.File, error) { return s.copies.OpenDir(name) }

// What would change the store is refused.

// refuseChange is the answer of every method that would write.
func refuseChange(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: events.ErrReadOnly}
}

// Create implements vfs.FS.
func (s *snapshotFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refuseChange("create", name)
}

// OpenReadWrite implements vfs.FS.
func (s *snapshotFS) OpenReadWrite(
	name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption,
) (vfs.File, error) {
	return nil, refuseChange("open for writing", name)
}

// ReuseForWrite implements vfs.FS.
func (s *snapshotFS) ReuseForWrite(_, name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refuseChange("create", name)
}

// Link implements vfs.FS.
func (s *snapshotFS) Link(_, name string) error { return refuseChange("link", name) }

// Remove implements vfs.FS.
func (s *snapshotFS) Remove(name string) error { return refuseChange("remove", name) }

// RemoveAll implements vfs.FS.
func (s *snapshotFS) RemoveAll(name string) error { return refuseChange("remove", name) }

// Rename implements vfs.FS.
func (s *snapshotFS) Rename(name, _ string) error { return refuseChange("rename", name) }

// MkdirAll implements vfs.FS.
func (s *snapshotFS) MkdirAll(dir string, _ os.FileMode) error { return refuseChange("mkdir", dir) }

// Unwrap implements vfs.FS. It returns nil, so that nothing writes past it.
func (s *snapshotFS) Unwrap() vfs.FS { return nil }

// heldFile is a table that the snapshot holds open, with a place of its own.
// Pebble opens a table several times, and each user reads on from its own
// place.
type heldFile struct {
	vfs.File
	at int64
}

// Read reads at an offset of its own, since the open file is shared by all
// readers of the snapshot.
func (f *heldFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	return n, err
}

// Close does nothing: the file is the snapshot's.
func (f *heldFile) Close() error { return nil }
