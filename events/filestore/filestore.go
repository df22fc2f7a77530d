// Package filestore keeps the bytes of files next to the events of a store, each
// under the hash of its bytes.
//
// # Layout
//
// In the folder of a store:
//
//	files/ab/ab12…   the bytes whose SHA-256 is ab12…, 64 hexadecimal digits
//	files/incoming/  what is being written
//
// The log names a file by its digest and size (events.FileAttached), so that
// its Merkle tree covers the bytes, though it does not hold them. Two files of
// the same bytes are one. A file is never changed, and removed only where no
// event names it.
//
// # Durability
//
// [Store.Put] streams the bytes into incoming, hashes them on the way, syncs
// the file, renames it to its place and syncs the folders; only then does it
// return, and only then may an event name the file. So a crash at any moment
// leaves at most rubbish: something in incoming, or a file that no event names
// ([Store.Unnamed]). It never leaves an event whose file was not there.
//
// # Concurrency
//
// Any number of processes may put and read files of one store at the same time:
// a file appears whole, by a rename, and two that put the same bytes write the
// same file. Only who holds the store's lock may remove what no event names, and
// who records an event holds it too, and looks first whether the bytes are
// there ([Store.State]): so no file is removed between the two.
//
// # Reading
//
// A reader hashes what it passes on and fails before the last byte where it is
// not what was put ([ErrAltered]): no caller takes an altered file for a whole
// one.
package filestore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
)

// MaxSize is how many bytes a file has at most: 50 MiB.
const MaxSize = 50 << 20

// Folder is the folder of the files in that of a store.
const Folder = "files"

// incoming is the folder of what is being written.
const incoming = "incoming"

// bufferSize is how much of a file is in memory at a time, in bytes.
const bufferSize = 256 << 10

// buffers are those of files that were read before.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

var (
	// ErrEmpty is returned by Put where there are no bytes.
	ErrEmpty = errors.New("the file is empty")
	// ErrTooLarge is wrapped by the error of a Put of more than [MaxSize] bytes.
	ErrTooLarge = errors.New("the file is too large")
	// ErrNoRoom is wrapped by the error of a Put for which the disk has no room.
	ErrNoRoom = errors.New("the disk has no room for the file")
	// ErrMissing means that the bytes of a file are not there.
	ErrMissing = errors.New("the file is missing")
	// ErrAltered means that the bytes of a file are not those that were put.
	ErrAltered = errors.New("the file is altered")
)

// State is what became of a file that the log names. Each is one word, the same
// for people and for programs.
type State string

const (
	Sound     State = "sound"     // the bytes are those that were attached
	Missing   State = "missing"   // they are not there
	Altered   State = "altered"   // they are others
	Elsewhere State = "elsewhere" // they were never here: nothing was looked at
)

// Store keeps the files of one store. Its methods may be called from several
// goroutines.
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

func on(fsys vfs.FS, store string) *Store {
	return &Store{fs: fsys, store: store, folder: fsys.PathJoin(store, Folder), step: func(string) {}}
}

// Kept is what was put.
type Kept struct {
	Digest string // as [events.DigestOf] writes it
	Size   int64  // bytes
}

// Put keeps what a reader gives and returns its digest, once the bytes are
// durable. Memory does not grow with the size. It fails with [ErrEmpty], with an
// error that wraps [ErrTooLarge] or [ErrNoRoom], or with that of the reader or
// the disk; then nothing is kept. Bytes that are there already are compared and
// kept once; a file that was altered is mended.
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

// write writes what a reader gives to a new file, and syncs it.
func (s *Store) write(ctx context.Context, name string, r io.Reader) (kept Kept, err error) {
	f, err := s.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return Kept{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.step("created")
	sum := sha256.New()
	kept.Size, err = copyBounded(ctx, f, sum, r)
	if err != nil {
		return Kept{}, err
	}
	s.step("written")
	if err := errors.Join(s.chmod(name, 0o666), f.Sync()); err != nil {
		return Kept{}, err
	}
	s.step("synced")
	kept.Digest = events.DigestOf([sha256.Size]byte(sum.Sum(nil)))
	return kept, nil
}

// copyBounded copies what there is, at most MaxSize bytes, to the file and to
// the hash, and returns how much it was.
func copyBounded(ctx context.Context, f io.Writer, sum hash.Hash, r io.Reader) (size int64, err error) {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		n, err := r.Read(buffer[:])
		if size += int64(n); size > MaxSize {
			return 0, fmt.Errorf("%w: it has more than the %d MB that are kept", ErrTooLarge, MaxSize>>20)
		}
		if n > 0 {
			sum.Write(buffer[:n]) // never fails
			if _, err := f.Write(buffer[:n]); err != nil {
				return 0, err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && size == 0:
			return 0, ErrEmpty
		case errors.Is(err, io.EOF):
			return size, nil
		case err != nil:
			return 0, err
		}
	}
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

// Open opens the bytes of a digest for reading. Where they are not there the
// error wraps [ErrMissing]; where they are others, Read fails with one that
// wraps [ErrAltered], before it has given the last of them.
func (s *Store) Open(digest string, size int64) (io.ReadCloser, error) {
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
	return newReader(f, digest, size), nil
}

// State reads the bytes of a digest and says what became of them: [Sound],
// [Missing] or [Altered]. An error is about the reading, and not about them.
func (s *Store) State(ctx context.Context, digest string, size int64) (State, error) {
	r, err := s.Open(digest, size)
	if err == nil {
		buffer := buffers.Get().(*[bufferSize]byte)
		_, err = io.CopyBuffer(writerOnly{io.Discard}, withContext{ctx, r}, buffer[:])
		buffers.Put(buffer)
		err = errors.Join(err, r.Close())
	}
	switch {
	case errors.Is(err, ErrMissing):
		return Missing, nil
	case errors.Is(err, ErrAltered):
		return Altered, nil
	case err != nil:
		return "", err
	}
	return Sound, nil
}

// Unnamed is something among the files that no event names.
type Unnamed struct {
	Path string // within the store
	Size int64
}

// Unnamed lists what no event names: files that were put and never attached
// because the process ended in between, and the rests of what was being
// written. named reports whether an event names a digest. While others put
// files, theirs can be among them.
func (s *Store) Unnamed(named func(digest string) bool) ([]Unnamed, error) {
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

// list returns the names in a folder in order; none where there is no folder.
func (s *Store) list(dir string) ([]string, error) {
	names, err := s.fs.List(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}

// Remove removes what [Store.Unnamed] has listed. The caller holds the store's
// lock from before that until after this.
func (s *Store) Remove(found []Unnamed) error {
	for _, u := range found {
		if err := s.fs.Remove(s.fs.PathJoin(s.store, u.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

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

// chmod gives what was made the permissions of the store's folder, but for those
// outside of a mask: who may read the events may read the files.
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

// reader reads a file and holds its last piece back until the hash is right.
type reader struct {
	f      io.Closer
	in     io.Reader
	sum    hash.Hash
	digest string
	left   int64
	err    error
}

// Checked returns a reader that gives the bytes of another and fails, with an
// error that wraps [ErrAltered] and before the last byte, where they are not
// those of a digest and a size.
func Checked(f io.ReadCloser, digest string, size int64) io.ReadCloser {
	return newReader(f, digest, size)
}

func newReader(f io.ReadCloser, digest string, size int64) *reader {
	return &reader{f: f, in: f, sum: sha256.New(), digest: digest, left: size}
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	if r.left == 0 {
		r.err = io.EOF
		return 0, r.err
	}
	n, err := r.in.Read(p[:min(int64(len(p)), r.left)])
	r.sum.Write(p[:n])
	r.left -= int64(n)
	if r.left == 0 {
		more, _ := io.ReadFull(r.in, make([]byte, 1))
		if more > 0 || events.DigestOf([sha256.Size]byte(r.sum.Sum(nil))) != r.digest {
			r.err = fmt.Errorf("%w: its bytes are not those of %s", ErrAltered, r.digest)
			return 0, r.err
		}
		return n, nil
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: it ends %d bytes early", ErrAltered, r.left)
		}
		r.err = err
		return 0, r.err
	}
	return n, nil
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.f.Close() }

// writerOnly hides what else a writer can do, so that a copy uses our buffer.
type writerOnly struct{ io.Writer }

// withContext is a reader that ends with a context.
type withContext struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (w withContext) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.r.Read(p)
}
