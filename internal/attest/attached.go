package attest

import (
	"context"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
)

// Attached is an audit's result on the files that a log names, including withdrawn ones: their
// bytes stay.
type Attached struct {
	// Sound counts the files with the attached bytes, Missing and Altered the faulty ones, and
	// Elsewhere those that were never stored here and were not read.
	Sound     int `json:"sound"`
	Missing   int `json:"missing"`
	Altered   int `json:"altered"`
	Elsewhere int `json:"elsewhere"`
	// Files are all but the sound ones, in the order of the log.
	Files []AttachedFile `json:"files"`
	// Unnamed counts files that no event names: leftovers of attachments cut off before they were
	// recorded. UnnamedSize is their size in bytes.
	Unnamed     int   `json:"unnamed,omitempty"`
	UnnamedSize int64 `json:"unnamed_size,omitempty"`
}

// AttachedFile is a file that is not sound, or is not here.
type AttachedFile struct {
	Campaign   string          `json:"campaign"`
	File       string          `json:"file"`
	Experiment string          `json:"experiment,omitempty"`
	Name       string          `json:"name"`
	Digest     string          `json:"digest,omitempty"`
	Position   events.Position `json:"position"`
	// State is one word: missing, altered or elsewhere.
	State filestore.State `json:"state"`
	URI   string          `json:"uri,omitempty"`
}

// passed reports whether no file is missing or altered.
func (a *Attached) passed() bool { return a == nil || a.Missing == 0 && a.Altered == 0 }

// attached calls visit for each file that a log names, in its order.
func attached(ctx context.Context, log events.Log, visit func(events.Event, *events.FileAttached) error) error {
	for e, err := range events.ReadKinds(ctx, log, "", events.KindFileAttached) {
		if err != nil {
			return err
		}
		payload, err := events.Decode(e)
		if err != nil {
			return err
		}
		if err := visit(e, payload.(*events.FileAttached)); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// checkFiles reads the bytes of every file that a log names, of one campaign if given, and compares
// them with their digests. Bytes that several events name are read once.
func checkFiles(
	ctx context.Context, log events.Log, files filestore.Files, campaign string,
) (*Attached, error) {
	found := &Attached{Files: []AttachedFile{}}
	states := make(map[string]filestore.State) // by digest
	err := attached(ctx, log, func(e events.Event, p *events.FileAttached) (err error) {
		if campaign != "" && e.Campaign != campaign {
			return nil
		}
		state := filestore.Elsewhere
		if p.Kept() {
			known := false
			if state, known = states[p.Digest]; !known {
				if state, err = files.State(ctx, p.Digest, p.Size); err != nil {
					return err
				}
				states[p.Digest] = state
			}
		}
		found.count(state)
		if state != filestore.Sound {
			found.Files = append(found.Files, AttachedFile{
				Campaign: e.Campaign, File: p.File, Experiment: p.Experiment, Name: p.Name,
				Digest: p.Digest, Position: e.Position, State: state, URI: p.URI,
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	unnamed, err := UnnamedFiles(ctx, log, files)
	if err != nil {
		return nil, err
	}
	for _, u := range unnamed {
		found.Unnamed++
		found.UnnamedSize += u.Size
	}
	return found, nil
}

// count counts a file.
func (a *Attached) count(state filestore.State) {
	switch state {
	case filestore.Sound:
		a.Sound++
	case filestore.Missing:
		a.Missing++
	case filestore.Altered:
		a.Altered++
	case filestore.Elsewhere:
		a.Elsewhere++
	}
}

// UnnamedFiles lists the files of a store that no event names.
func UnnamedFiles(
	ctx context.Context, log events.Log, files filestore.Files,
) ([]filestore.Unnamed, error) {
	named := make(map[string]bool)
	err := attached(ctx, log, func(_ events.Event, p *events.FileAttached) error {
		if p.Kept() {
			named[p.Digest] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return files.Unnamed(ctx, func(digest string) bool { return named[digest] })
}
