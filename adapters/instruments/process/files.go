package process

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
)

// KeepFiles has the instrument keep the bytes of the files that its program
// names by path. Without it such files are checked and not kept. It is called
// before anything else, and Close closes them.
func (i *Instrument) KeepFiles(files filestore.Files) { i.files = files }

// filing is the fate of the files of a command's outcome, worked out once.
type filing struct {
	files   []instruments.File
	remarks []string
}

// withFiles returns an outcome whose files are kept: the bytes of each that is named by path are on
// the disk when it returns. A file that cannot be kept leads to a remark, and costs nothing else.
// It fails only where ctx ends.
//
// Any number of callers may await one command: the first copies, and the others wait for it. A
// later answer of the program to the same question does not change the kept files.
func (i *Instrument) withFiles(
	ctx context.Context, c *command, o instruments.Outcome,
) (instruments.Outcome, error) {
	if len(o.Files) == 0 {
		return o, nil
	}
	select {
	case c.filing <- struct{}{}:
		defer func() { <-c.filing }()
	case <-ctx.Done():
		return instruments.Outcome{}, ctx.Err()
	}
	if c.filed == nil {
		var done filing
		for _, f := range o.Files {
			kept, err := i.keep(ctx, f)
			if ctx.Err() != nil {
				return instruments.Outcome{}, ctx.Err()
			}
			if err != nil {
				done.remarks = append(done.remarks, fmt.Sprintf(
					"%s, a file that the instrument named, is not kept: %s", program.Clip([]byte(f.Path)),
					program.Clip([]byte(err.Error()))))
				continue
			}
			done.files = append(done.files, kept)
		}
		c.filed = &done
	}
	o.Files = c.filed.files
	o.Remarks = append(append([]string(nil), o.Remarks...), c.filed.remarks...)
	return o, nil
}

// keep keeps the bytes of a file that is named by path, and completes its description. One that is
// named by URI stays as it is.
func (i *Instrument) keep(ctx context.Context, f instruments.File) (instruments.File, error) {
	f.Name = cmp.Or(f.Name, events.FileName(cmp.Or(f.Path, f.URI)))
	f.MediaType = cmp.Or(f.MediaType, events.MediaTypeOf(f.Name))
	if f.Path == "" {
		return f, nil
	}
	content, err := i.openOwn(f.Path)
	if err != nil {
		return f, err
	}
	defer content.Close()
	if i.files == nil {
		return f, nil // a check: that it can be read is all that is wanted
	}
	kept, err := i.files.Put(ctx, content)
	if err != nil {
		return f, err
	}
	if f.Digest != "" && f.Digest != kept.Digest {
		return f, fmt.Errorf("its digest is %s, and the program said %s", kept.Digest, f.Digest)
	}
	f.Path = ""
	f.Digest = kept.Digest
	f.Size = kept.Size
	return f, nil
}

// openOwn opens a file in the folder that the program works in. A path out of it is refused,
// however it is written and whatever link it follows; so is anything but a regular file, before it
// is opened, since opening a pipe waits.
func (i *Instrument) openOwn(path string) (io.ReadCloser, error) {
	if filepath.IsAbs(path) {
		within, err := filepath.Rel(i.host.Dir, path)
		if err != nil {
			return nil, err
		}
		path = within
	}
	if !filepath.IsLocal(path) {
		return nil, fmt.Errorf("it does not lie in %s, where the program works", i.host.Dir)
	}
	root, err := os.OpenRoot(i.host.Dir)
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
