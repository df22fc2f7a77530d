package lab

import (
	"context"
	"errors"
	"io"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// The bytes of a file come first, and the event that names them last: they are
// put by who has them, into the folder or the database of the store, and the
// process that holds the store looks for them before it records the request.

// keep keeps the bytes of a file in a store and completes the request that
// attaches it.
//
// Faults in the file's description are found before its bytes are read.
func keep(ctx context.Context, address string, r *engine.Request, content io.Reader) error {
	said := r.Attach.Attachment // but for what its bytes will say
	said.Digest, said.Size = events.DigestOf([32]byte{}), 1
	if fault := said.Fault(); fault != "" {
		return problem.New(problem.Invalid, "%s", fault)
	}
	files, err := store.OpenFiles(address)
	if err != nil {
		return err
	}
	defer files.Close()
	kept, err := files.Put(ctx, content)
	if err != nil {
		return fileProblem(err)
	}
	attach := *r.Attach
	attach.Digest, attach.Size = kept.Digest, kept.Size
	r.Attach = &attach
	return nil
}

// attachIn is [Store.Attach] of a store whose files this process reaches.
func attachIn(
	ctx context.Context, at Store, address, name string, r engine.Request, content io.Reader,
) ([]events.Event, error) {
	if err := keep(ctx, address, &r, content); err != nil {
		return nil, err
	}
	return at.Submit(ctx, name, r)
}

// openFileIn is [Store.OpenFile] of a store whose files this process reaches.
func openFileIn(ctx context.Context, address string, f *campaign.File) (io.ReadCloser, error) {
	files, err := store.OpenFiles(address)
	if err != nil {
		return nil, err
	}
	r, err := files.Open(ctx, f.Digest, f.Size)
	if err != nil {
		_ = files.Close() // the file's own fault counts
		return nil, fileProblem(err)
	}
	return openFile{r, files}, nil
}

// openFile is a file that is read, with all files of its store, which were
// opened for it.
type openFile struct {
	io.ReadCloser
	files io.Closer
}

// Close implements [io.Closer].
func (f openFile) Close() error { return errors.Join(f.ReadCloser.Close(), f.files.Close()) }

// fileProblem adds the remedy for a file that cannot be kept or read.
func fileProblem(err error) error {
	switch {
	case errors.Is(err, filestore.ErrTooLarge):
		return problem.New(problem.Invalid, "%w", err).
			With(problem.Remedy{Text: "leave it where it is, and attach its URI"})
	case errors.Is(err, filestore.ErrEmpty):
		return problem.New(problem.Invalid, "%w", err)
	case errors.Is(err, filestore.ErrNoRoom):
		return problem.New(problem.Unavailable, "%w", err).
			With(problem.Remedy{Text: "make room on the disk, and send it again"})
	case errors.Is(err, filestore.ErrMissing), errors.Is(err, filestore.ErrAltered):
		return problem.New(problem.Damaged, "%w", err).
			With(problem.Remedy{Text: "restore it from a copy, or attach the same bytes again"})
	}
	return err
}

// confirm refuses to record a file whose bytes are not kept here. The process that holds the
// store checks this, so that the bytes stay until the event is recorded.
func (h *Local) confirm(ctx context.Context, r engine.Request) error {
	if r.Attach == nil || !r.Attach.Kept() {
		return nil
	}
	files, err := store.OpenFiles(h.address)
	if err != nil {
		return err
	}
	defer files.Close()
	state, err := files.State(ctx, r.Attach.Digest, r.Attach.Size)
	if err != nil || state == filestore.Sound {
		return err
	}
	return problem.New(problem.NotPossible, "the bytes of %s are not in the store: the file is %s",
		r.Attach.Name, state).With(problem.Remedy{Text: "send them with the request"})
}

// Attach implements [Store].
func (h *Local) Attach(
	ctx context.Context, campaign string, r engine.Request, content io.Reader,
) ([]events.Event, error) {
	return attachIn(ctx, h, h.address, campaign, r, content)
}

// OpenFile implements [Store].
func (h *Local) OpenFile(ctx context.Context, _ string, f *campaign.File) (io.ReadCloser, error) {
	return openFileIn(ctx, h.address, f)
}

// Attach implements [Store]. The bytes go past the process that holds the store,
// which finds them where they are kept.
func (p *Peer) Attach(
	ctx context.Context, campaign string, r engine.Request, content io.Reader,
) ([]events.Event, error) {
	return attachIn(ctx, p, p.address, campaign, r, content)
}

// OpenFile implements [Store].
func (p *Peer) OpenFile(ctx context.Context, _ string, f *campaign.File) (io.ReadCloser, error) {
	return openFileIn(ctx, p.address, f)
}

// Attach implements [Store].
func (w *watched) Attach(
	ctx context.Context, campaign string, r engine.Request, content io.Reader,
) ([]events.Event, error) {
	return attachIn(ctx, w, w.address, campaign, r, content)
}

// Attach implements [Store]; it always fails, with [events.ErrReadOnly].
func (c *Copy) Attach(context.Context, string, engine.Request, io.Reader) ([]events.Event, error) {
	return nil, events.ErrReadOnly
}

// OpenFile implements [Store].
func (c *Copy) OpenFile(ctx context.Context, _ string, f *campaign.File) (io.ReadCloser, error) {
	return openFileIn(ctx, c.address, f)
}

// OpenFile implements [Store]: the server sends it, and its digest is compared
// here.
func (r *Remote) OpenFile(ctx context.Context, name string, f *campaign.File) (io.ReadCloser, error) {
	content, err := r.Client.OpenFile(ctx, name, f.ID)
	if err != nil {
		return nil, err
	}
	return filestore.Checked(ctx, content, f.Digest, f.Size), nil
}

// Keep keeps the bytes of a file with the campaign and returns the request that
// attaches it with their digest and size. Until that is submitted, nothing names
// the bytes.
func (c *Campaign) Keep(
	ctx context.Context, r engine.Request, content io.Reader,
) (engine.Request, error) {
	err := keep(ctx, c.store.path, &r, content)
	return r, err
}

// OpenFile opens a file of the campaign that is kept.
func (c *Campaign) OpenFile(ctx context.Context, f *campaign.File) (io.ReadCloser, error) {
	return openFileIn(ctx, c.store.path, f)
}
