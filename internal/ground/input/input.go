// Package input reads the files that people name, within bounds: a device, a
// folder or an endless file is refused with a clear message, before it uses up
// memory or time.
package input

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Error is the reason why a file is not read.
type Error struct {
	Path, Problem string
}

func (e *Error) Error() string { return e.Path + " " + e.Problem }

// Path is a path that a file names, which is relative to a folder, mostly the file's own.
func Path(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// Read returns the contents of a regular file of at most the given number of
// bytes. If the file is larger or not a regular one, the error is an *[Error];
// otherwise it is the operating system's.
func Read(path string, most int64) ([]byte, error) {
	f, err := open(path, most, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Open opens a file that a person named on the command line: a regular one, or
// a pipe that another program writes. Reading more than the given number of
// bytes is an *[Error].
func Open(path string, most int64) (io.ReadCloser, error) { return open(path, most, true) }

func open(path string, most int64, pipe bool) (io.ReadCloser, error) {
	info, err := os.Stat(path) // before it is opened: opening a pipe waits for its writer
	if err != nil {
		return nil, err
	}
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return nil, &Error{path, "is a folder, not a file"}
	case mode.IsRegular() && info.Size() > most:
		return nil, tooLarge(path, most)
	case !mode.IsRegular() && !(pipe && mode&fs.ModeNamedPipe != 0):
		return nil, &Error{path, "is not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &file{f: f, path: path, most: most, left: most}, nil
}

func tooLarge(path string, most int64) error {
	return &Error{path, fmt.Sprintf("is larger than the %s that are read", size(most))}
}

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// file is an open file that is read up to a limit, even if it grows.
type file struct {
	f          *os.File
	path       string
	most, left int64
}

// Close implements io.Closer.
func (f *file) Close() error { return f.f.Close() }

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	if f.left < 0 {
		return 0, tooLarge(f.path, f.most)
	}
	if int64(len(p)) > f.left+1 {
		p = p[:f.left+1]
	}
	n, err := f.f.Read(p)
	if f.left -= int64(n); f.left < 0 {
		return n - 1, tooLarge(f.path, f.most)
	}
	return n, err
}
