// Package filestore keeps the bytes of files that are attached to campaigns,
// each under the hash of its bytes.
//
// The log names a file by its digest and size (events.FileAttached), so that
// its Merkle tree covers the bytes, though it does not hold them. Two files of
// the same bytes are one. A file is never changed, and removed only where no
// event names it.
//
// The files lie where the events do: next to those of a store that is a folder
// ([Of]), and in the database of one that is in a database (events/pglog).
// [github.com/campaignd/campaignd/events/store.OpenFiles] knows which.
package filestore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/campaignd/campaignd/events"
)

// Files are the files of one store. Its methods may be called from several
// goroutines, and files of one store from several processes, of several
// machines where the store is in a database. Events/filestore/filestoretest has
// its laws as tests.
type Files interface {
	// Put stores the bytes of a reader and returns their digest, once they are durable: only then
	// may an event name them. Memory does not grow with the size.
	//
	// It fails with [ErrEmpty], with an error that wraps [ErrTooLarge] or [ErrNoRoom], with
	// [io/fs.ErrNotExist] where the store does not exist, or with the error of the reader or of the
	// storage. Then nothing is kept. A process that dies in between leaves at most files that
	// Unnamed lists, and never an event whose file is absent.
	//
	// Bytes that are already stored are compared and kept once; an altered file is mended.
	Put(ctx context.Context, r io.Reader) (Kept, error)
	// Open opens the bytes of a digest for reading, until the context ends. For missing bytes the
	// error wraps [ErrMissing]; for altered ones Open fails or Read does, with an error that wraps
	// [ErrAltered], before it has given the last of them: no caller takes an altered file for a
	// whole one.
	Open(ctx context.Context, digest string, size int64) (io.ReadCloser, error)
	// State reads the bytes of a digest and returns their condition: [Sound], [Missing] or
	// [Altered]. An error is about the reading, and not about them.
	State(ctx context.Context, digest string, size int64) (State, error)
	// Unnamed lists the files that no event names: those that were put and never attached because
	// the process ended in between, and the rests of unfinished puts. named reports whether an
	// event names a digest. While others put files, theirs can be among them.
	Unnamed(ctx context.Context, named func(digest string) bool) ([]Unnamed, error)
	// Remove removes what Unnamed has listed. The caller holds the store from
	// before that until after this; who holds it also looks whether the bytes are
	// there before it records an event that names them, so that no file is
	// removed between the two.
	Remove(ctx context.Context, found []Unnamed) error
	// Close releases the resources of the files.
	Close() error
}

// MaxSize is how many bytes a file has at most: 50 MiB.
const MaxSize = 50 << 20

var (
	// ErrEmpty is returned by Put for an empty file.
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

// State is the condition of a file that the log names. Each is one word, the same for people and
// for programs.
type State string

const (
	Sound     State = "sound"     // the bytes are those that were attached
	Missing   State = "missing"   // they are not there
	Altered   State = "altered"   // they are others
	Elsewhere State = "elsewhere" // they were never here: nothing was looked at
)

// Kept describes stored bytes.
type Kept struct {
	Digest string // as [events.DigestOf] writes it
	Size   int64  // bytes
}

// Unnamed is something among the files that no event names.
type Unnamed struct {
	Path string // within the store
	Size int64
}

// bufferSize is how much of a file is in memory at a time, in bytes.
const bufferSize = 256 << 10

// buffers are those of files that were read before.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Copy copies a reader's bytes, at most MaxSize, and describes them. It fails with the errors of
// [Files.Put].
func Copy(ctx context.Context, w io.Writer, r io.Reader) (Kept, error) {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	sum, size := sha256.New(), int64(0)
	for {
		if ctx.Err() != nil {
			return Kept{}, context.Cause(ctx)
		}
		n, err := r.Read(buffer[:])
		if size += int64(n); size > MaxSize {
			return Kept{}, fmt.Errorf("%w: it has more than the %d MB that are kept",
				ErrTooLarge, MaxSize>>20)
		}
		if n > 0 {
			sum.Write(buffer[:n]) // never fails
			if _, err := w.Write(buffer[:n]); err != nil {
				return Kept{}, err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && size == 0:
			return Kept{}, ErrEmpty
		case errors.Is(err, io.EOF):
			return Kept{events.DigestOf([sha256.Size]byte(sum.Sum(nil))), size}, nil
		case err != nil:
			return Kept{}, err
		}
	}
}

// StateOf is [Files.State], by what Open gives.
func StateOf(ctx context.Context, f Files, digest string, size int64) (State, error) {
	r, err := f.Open(ctx, digest, size)
	if err == nil {
		buffer := buffers.Get().(*[bufferSize]byte)
		_, err = io.CopyBuffer(writerOnly{io.Discard}, r, buffer[:])
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

// reader reads a file and holds its last piece back until the hash is right.
type reader struct {
	ctx    context.Context
	f      io.Closer
	in     io.Reader
	sum    hash.Hash
	digest string
	left   int64
	err    error
}

// Checked returns a reader that gives the bytes of another and fails, with an
// error that wraps [ErrAltered] and before the last byte, where they are not
// those of a digest and a size, or once the context has ended.
func Checked(ctx context.Context, f io.ReadCloser, digest string, size int64) io.ReadCloser {
	return newReader(ctx, f, digest, size)
}

func newReader(ctx context.Context, f io.ReadCloser, digest string, size int64) *reader {
	return &reader{ctx: ctx, f: f, in: f, sum: sha256.New(), digest: digest, left: size}
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
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
