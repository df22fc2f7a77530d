package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
)

// FileReport says what became of the attached files of a store that is copied.
// Bytes that several events name count once.
type FileReport struct {
	// Copied counts those that were copied, with their bytes, and Already those
	// that the destination had before.
	Copied, Already int
	Bytes           int64
	// Faulty are those whose bytes the source does not have, or has altered: of
	// these the copy has the event, as the source does, and no bytes.
	Faulty []FaultyFile
}

// FaultyFile is a file that could not be copied.
type FaultyFile struct {
	Campaign, File, Name, Digest string
	State                        filestore.State // missing or altered
}

// CopyFiles copies the bytes of every file that a log names, withdrawn ones
// included, and compares each with its digest on the way. What the destination
// has is read, and mended where it is altered.
func CopyFiles(ctx context.Context, log events.Log, from, to filestore.Files) (r FileReport, err error) {
	known := make(map[string]filestore.State) // by digest
	for e, err := range events.ReadKinds(ctx, log, "", events.KindFileAttached) {
		if err != nil {
			return r, fmt.Errorf("transfer: files: %w", err)
		}
		payload, err := events.Decode(e)
		if err != nil {
			return r, fmt.Errorf("transfer: files: %w", err)
		}
		f := payload.(*events.FileAttached)
		if !f.Kept() {
			continue
		}
		state, ok := known[f.Digest]
		if !ok {
			if state, err = r.copyFile(ctx, f, from, to); err != nil {
				return r, fmt.Errorf("transfer: the file %s of %s: %w", f.File, e.Campaign, err)
			}
			known[f.Digest] = state
		}
		if state != filestore.Sound {
			r.Faulty = append(r.Faulty, FaultyFile{e.Campaign, f.File, f.Name, f.Digest, state})
		}
	}
	return r, nil
}

// copyFile copies the bytes of a file, and returns their state in the source, or
// sound where the destination has them.
func (r *FileReport) copyFile(
	ctx context.Context, f *events.FileAttached, from, to filestore.Files,
) (filestore.State, error) {
	there, err := to.State(ctx, f.Digest, f.Size)
	if err != nil {
		return "", err
	}
	if there == filestore.Sound {
		r.Already++
		return there, nil
	}
	content, err := from.Open(ctx, f.Digest, f.Size)
	if err == nil {
		// The digest is compared while it is read, before the last byte.
		_, err = to.Put(ctx, content)
		err = errors.Join(err, content.Close())
	}
	switch {
	case errors.Is(err, filestore.ErrMissing):
		return filestore.Missing, nil
	case errors.Is(err, filestore.ErrAltered):
		return filestore.Altered, nil
	case err != nil:
		return "", err
	}
	r.Copied++
	r.Bytes += f.Size
	return filestore.Sound, nil
}
