// Package keep keeps the bytes of the files that an instrument names by path, for every driver whose
// device leaves files in a folder.
package keep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/store"
)

// Files are those below a folder, and where their bytes are kept. Without a store they are checked,
// and not kept.
type Files struct {
	Folder string
	Store  filestore.Files
}

// Open returns the files of a folder, kept in the store of an address; empty for none.
func Open(folder, address string) (Files, error) {
	if address == "" {
		return Files{Folder: folder}, nil
	}
	files, err := store.OpenFiles(address)
	return Files{Folder: folder, Store: files}, err
}

// Close closes the store.
func (f Files) Close() error {
	if f.Store == nil {
		return nil
	}
	return f.Store.Close()
}

// Keep returns the files with the bytes of each that is named by path on the disk. A file that
// cannot be kept leads to a remark, and costs nothing else. It fails only where ctx ends.
func (f Files) Keep(ctx context.Context, named []instruments.File) (kept []instruments.File, remarks []string, err error) {
	for _, file := range named {
		whole, err := f.keep(ctx, file)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			remarks = append(remarks, fmt.Sprintf("%s, a file that the instrument named, is not kept: %s",
				program.Clip([]byte(file.Path)), program.Clip([]byte(err.Error()))))
			continue
		}
		kept = append(kept, whole)
	}
	return kept, remarks, nil
}

// keep keeps the bytes of a file that is named by path, and completes its description. One that is
// named by URI stays as it is.
func (f Files) keep(ctx context.Context, file instruments.File) (instruments.File, error) {
	file.Name = cmp.Or(file.Name, events.FileName(cmp.Or(file.Path, file.URI)))
	file.MediaType = cmp.Or(file.MediaType, events.MediaTypeOf(file.Name))
	if file.Path == "" {
		return file, nil
	}
	content, err := f.open(file.Path)
	if err != nil {
		return file, err
	}
	defer content.Close()
	if f.Store == nil {
		return file, nil // a check: that it can be read is all that is wanted
	}
	kept, err := f.Store.Put(ctx, content)
	if err != nil {
		return file, err
	}
	if file.Digest != "" && file.Digest != kept.Digest {
		return file, fmt.Errorf("its digest is %s, and the program said %s", kept.Digest, file.Digest)
	}
	file.Path = ""
	file.Digest = kept.Digest
	file.Size = kept.Size
	return file, nil
}

// open opens a file in the folder. A path out of it is refused, however it is written and whatever
// link it follows; so is anything but a regular file, before it is opened, since opening a pipe
// waits.
func (f Files) open(path string) (io.ReadCloser, error) {
	if filepath.IsAbs(path) {
		within, err := filepath.Rel(f.Folder, path)
		if err != nil {
			return nil, err
		}
		path = within
	}
	if !filepath.IsLocal(path) {
		return nil, fmt.Errorf("it does not lie in %s, where the instrument works", f.Folder)
	}
	root, err := os.OpenRoot(f.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("it is not there")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	return root.Open(path)
}
