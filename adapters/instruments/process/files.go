package process

import (
	"context"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/keep"
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
		files, remarks, err := keep.Files{Folder: i.host.Dir, Store: i.files}.Keep(ctx, o.Files)
		if err != nil {
			return instruments.Outcome{}, err
		}
		c.filed = &filing{files, remarks}
	}
	o.Files = c.filed.files
	o.Remarks = append(append([]string(nil), o.Remarks...), c.filed.remarks...)
	return o, nil
}
