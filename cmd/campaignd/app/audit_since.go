package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/checkpoint"
	"github.com/campaignd/campaignd/internal/format"
)

// sinceCheckpoint is what an earlier checkpoint says of a log.
type sinceCheckpoint struct {
	File   string          `json:"file"`
	Events events.Position `json:"events"`
	// SignedBy are the keys whose signatures were checked, Unchecked the others.
	SignedBy  []string `json:"signed_by,omitempty"`
	Unchecked []string `json:"unchecked,omitempty"`
	// Problem says what speaks against the log having grown from it; empty where it has.
	Problem string `json:"problem,omitempty"`
}

// extends reports whether the log has grown from every earlier checkpoint.
func (r *audited) extends() bool {
	return !slices.ContainsFunc(r.Since, func(c sinceCheckpoint) bool { return c.Problem != "" })
}

// readCheckpoints reads the checkpoints of an audit, the oldest first.
func readCheckpoints(files []string, known []note.Verifier, mustSign bool) (kept []checkpointFile, err error) {
	for _, file := range files {
		c, err := readCheckpoint(file, known)
		if err != nil {
			return nil, inputError{err}
		}
		if mustSign && len(c.Signed) == 0 {
			return nil, badInput("%s is not signed by one of the keys: it shows nothing", file)
		}
		kept = append(kept, c)
	}
	slices.SortStableFunc(kept, func(a, b checkpointFile) int { return cmp.Compare(a.Tree.N, b.Tree.N) })
	return kept, nil
}

// compare compares the log with each earlier checkpoint. The place of a change is
// between the last one that holds and the first that does not.
func (r *audited) compare(ctx context.Context, s *session, since []checkpointFile) error {
	if len(since) == 0 {
		return nil
	}
	id, err := identity(ctx, s.log)
	if err != nil {
		return err
	}
	holds := int64(0)
	for _, old := range since {
		problem, err := compareCheckpoint(s.own, id, old.Checkpoint)
		if err != nil {
			return err
		}
		same := checkpoint.SameLog(id, old.Origin)
		switch {
		case problem == "":
			holds = old.Tree.N
		case same && holds > 0 && old.Tree.N <= int64(r.Events):
			problem += fmt.Sprintf(". The first %d events are as they were: look among positions %d to %d", holds, holds+1, old.Tree.N)
		}
		r.Since = append(r.Since, sinceCheckpoint{
			File: old.File, Events: events.Position(old.Tree.N), SignedBy: old.Signed, Unchecked: old.Unchecked, Problem: problem,
		})
	}
	return nil
}

// vouch adds a checkpoint of a log that was found in order.
func (a *app) vouch(ctx context.Context, s *session, r *audited) error {
	c, err := a.checkpointOf(ctx, s.own)
	if err != nil {
		return err
	}
	r.Checkpoint = c.Text
	return nil
}

func (a *app) printSince(r *audited) {
	for _, c := range r.Since {
		how := signedBy(c.SignedBy, c.Unchecked)
		if c.Problem != "" {
			a.printf("NOT THE LOG OF %s (%s):\n  %s\n", c.File, how, c.Problem)
			continue
		}
		a.printf("The log has only grown since %s, of %s (%s).\n", c.File, format.Count(int(c.Events), "event"), how)
	}
}
