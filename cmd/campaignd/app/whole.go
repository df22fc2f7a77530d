package app

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeWhole writes a file; one that is there stays as it is until the new one is
// whole.
func writeWhole(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// replaceFile is writeWhole of what is at hand.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	return writeWhole(path, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
