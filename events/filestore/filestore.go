package filestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
)

// Folder is the folder of the files in that of a store.
const Folder = "files"

// incoming is the folder of files that are being written.
const incoming = "incoming"

// Store keeps the files of a store in the folder of the store:
//
//	files/ab/ab12…   the bytes whose SHA-256 is ab12…, 64 hexadecimal digits
//	files/incoming/  files that are being written
//
// [Store.Put] streams the bytes into incoming, syncs the file, renames it to its place and syncs
// the folders: it appears whole, and two that put the same bytes write the same file. A crash
// leaves something in incoming, or a file that no event names.
type Store struct {
	fs     vfs.FS
	store  string // the folder of the events
	folder string // that of the files
	// step, where set, is called between the steps of a Put: tests stop there.
	step func(string)
}

// Of returns the files of the store in a folder. It opens nothing: the folder of
// files is made when the first is put.
func Of(folder string) *Store { return on(vfs.Default, folder) }

var _ Files = (*Store)(nil)

func on(fsys vfs.FS, store string) *Store {
	return &Store{fs: fsys, store: store, folder: fsys.PathJoin(store, Folder), step: func(string) {}}
}

// Put implements [Files].
func (s *Store) Put(ctx context.Context, r io.Reader) (kept Kept, err error) {
	if err := s.makeFolders(); err != nil {
		return Kept{}, roomOr(err)
	}
	name := s.fs.PathJoin(s.folder, incoming, rand.Text())
	kept, err = s.write(ctx, name, r)
	if err == nil {
		err = s.place(ctx, name, kept)
	}
	if err != nil {
		_ = s.fs.Remove(name) // it may have its place already, or not be there
		return Kept{}, roomOr(err)
	}
	return kept, nil
}

// write copies a reader to a new file, and syncs it.
func (s *Store) write(ctx context.Context, name string, r io.Reader) (kept Kept, err error) {
	f, err := s.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return Kept{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.step("created")
	if kept, err = Copy(ctx, f, r); err != nil {
		return Kept{}, err
	}
	s.step("written")
	if err := errors.Join(s.chmod(name, 0o666), f.Sync()); err != nil {
		return Kept{}, err
	}
	s.step("synced")
	return kept, nil
}

// place gives a file that was written its name, unless the same bytes have it
// already. Its folder is synced in both cases: who gave the name may not have
// come so far.
func (s *Store) place(ctx context.Context, name string, kept Kept) error {
	shard, file := s.pathOf(kept.Digest)
	if err := s.makeDir(shard, s.folder); err != nil {
		return err
	}
	state, err := s.State(ctx, kept.Digest, kept.Size)
	if err != nil {
		return err
	}
	if state == Sound {
		err = s.fs.Remove(name)
	} else {
		err = s.fs.Rename(name, file)
	}
	if err != nil {
		return err
	}
	s.step("renamed")
	if err := s.syncDir(shard); err != nil {
		return err
	}
	s.step("placed")
	return nil
}

// pathOf is where the bytes of a digest are.
func (s *Store) pathOf(digest string) (shard, file string) {
	hex := events.HashIn(digest)
	if hex == "" {
		hex = "no digest" // no file has that name
	}
	shard = s.fs.PathJoin(s.folder, hex[:2])
	return shard, s.fs.PathJoin(shard, hex)
}

// Open implements [Files].
func (s *Store) Open(ctx context.Context, digest string, size int64) (io.ReadCloser, error) {
	_, file := s.pathOf(digest)
	f, err := s.fs.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrMissing, digest)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (info.IsDir() || info.Size() != size) {
		err = fmt.Errorf("%w: it has %d bytes and had %d", ErrAltered, info.Size(), size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return newReader(ctx, f, digest, size), nil
}

// State implements [Files].
func (s *Store) State(ctx context.Context, digest string, size int64) (State, error) {
	return StateOf(ctx, s, digest, size)
}

// Unnamed implements [Files].
func (s *Store) Unnamed(_ context.Context, named func(digest string) bool) ([]Unnamed, error) {
	shards, err := s.list(s.folder)
	if err != nil {
		return nil, err
	}
	var found []Unnamed
	for _, shard := range shards {
		dir := s.fs.PathJoin(s.folder, shard)
		names, err := s.list(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if shard != incoming && len(name) > 2 && name[:2] == shard && named(digestOfName(name)) {
				continue
			}
			info, err := s.fs.Stat(s.fs.PathJoin(dir, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue // it has been placed, or removed, meanwhile
			}
			if err != nil {
				return nil, err
			}
			found = append(found, Unnamed{s.fs.PathJoin(Folder, shard, name), info.Size()})
		}
	}
	return found, nil
}

// digestOfName is the digest of the bytes in a file of that name.
func digestOfName(name string) string { return "sha256:" + name }

// list returns the names in a folder in order; none where the folder is missing.
func (s *Store) list(dir string) ([]string, error) {
	names, err := s.fs.List(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}

// Remove implements [Files].
func (s *Store) Remove(_ context.Context, found []Unnamed) error {
	for _, u := range found {
		if err := s.fs.Remove(s.fs.PathJoin(s.store, u.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close implements [Files]: nothing is open.
func (s *Store) Close() error { return nil }

// makeFolders makes the folders that each Put needs; that of the store must be
// there.
func (s *Store) makeFolders() error {
	if _, err := s.fs.Stat(s.store); err != nil {
		return err
	}
	if err := s.makeDir(s.folder, s.store); err != nil {
		return err
	}
	return s.makeDir(s.fs.PathJoin(s.folder, incoming), s.folder)
}

// makeDir makes a folder in another, which is synced whether or not the folder
// was there: who made it may not have come so far.
func (s *Store) makeDir(dir, in string) error {
	_, err := s.fs.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.fs.MkdirAll(dir, 0o700); err == nil {
			err = s.chmod(dir, 0o777)
		}
	}
	if err != nil {
		return err
	}
	return s.syncDir(in)
}

// chmod gives a new file or folder the permissions of the store's folder, but for those outside of
// a mask: a reader of the events may read the files.
func (s *Store) chmod(name string, mask fs.FileMode) error {
	if s.fs != vfs.Default || runtime.GOOS == "windows" {
		return nil
	}
	info, err := os.Stat(s.store)
	if err != nil {
		return err
	}
	return os.Chmod(filepath.FromSlash(name), info.Mode().Perm()&mask)
}

// syncDir makes the names in a folder durable.
func (s *Store) syncDir(dir string) error {
	d, err := s.fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// roomOr is an error as one of a full disk, where it is that.
func roomOr(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return err
}
