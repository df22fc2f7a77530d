// Package attest proves facts about a store, as data: that its log is sound and every decision in
// it can be made again, that it has only grown since a checkpoint of it was stored elsewhere, that
// an event is in it. It only reads; the command line and the server show the results.
package attest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/checkpoint"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Checkpoint is a checkpoint of a log, or a proof that ends in one.
type Checkpoint struct {
	Origin string          `json:"origin"`
	Events events.Position `json:"events"`
	Root   string          `json:"root"`
	// SignedBy is the name of the key; empty where it is not signed.
	SignedBy string `json:"signed_by,omitempty"`
	// Text is the checkpoint, or the requested proof.
	Text string `json:"text"`
	// Proved is the event of a proof of inclusion, From the number of events of
	// the earlier checkpoint of a proof of consistency.
	Proved *events.Position `json:"proved,omitempty"`
	From   *int64           `json:"from,omitempty"`

	id string // the log's name without that of a key
}

// TakeCheckpoint makes a checkpoint of a log, after checking every byte of it: a checkpoint of a
// damaged log would vouch for it. Without a key it is not signed.
func TakeCheckpoint(ctx context.Context, log events.Store, key note.Signer) (*Checkpoint, error) {
	report, err := log.Verify(ctx)
	if err != nil {
		return nil, err
	}
	if !report.Sound() {
		return nil, problem.New(problem.Damaged, "%w, so that no checkpoint is made of it: %v",
			events.ErrDamaged, report.Faults[0])
	}
	id, err := Identity(ctx, log)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{id: id, Origin: id, Events: report.Events, Root: report.Root.String()}
	if key != nil {
		c.SignedBy, c.Origin = key.Name(), key.Name()+"/"+id
	}
	head := tlog.Tree{N: int64(report.Events), Hash: report.Root}
	text, err := checkpoint.Write(c.Origin, head, key)
	c.Text = string(text)
	return c, err
}

// Identity returns the name of a log, without that of a key. It follows from the first event, so
// that a recreated store has another one, under whatever path it lies.
func Identity(ctx context.Context, log events.Log) (string, error) {
	for e, err := range log.Read(ctx, 0) {
		if err != nil {
			return "", err
		}
		return checkpoint.Origin("", e)
	}
	remedy := problem.Remedy{Action: problem.Start, Text: "start one"}
	return "", problem.New(problem.NotFound, "the store holds no campaign yet").With(remedy)
}

// Prove turns the checkpoint into a proof that the log holds the event at a position. The proof
// contains the event's record itself: its verifier needs nothing else.
//
// The event must precede the checkpoint: later ones cannot be proved.
func (c *Checkpoint) Prove(ctx context.Context, log events.Store, p events.Position) error {
	hashes, err := log.ProveEvent(ctx, p, int64(c.Events))
	if err != nil {
		return err
	}
	for e, err := range log.Read(ctx, p-1) {
		if err != nil {
			return err
		}
		record, err := events.AppendRecord(nil, e)
		if err != nil {
			return err
		}
		proof := checkpoint.Inclusion{
			Index:      int64(p) - 1,
			Record:     record,
			Hashes:     hashes,
			Checkpoint: []byte(c.Text),
		}
		c.Text, c.Proved = string(proof.Text()), &p
		return nil
	}
	return fmt.Errorf("%w: position %d has no event", events.ErrDamaged, p)
}

// Extend turns the checkpoint into a proof that the log extends an earlier one, or returns the
// problem.
func (c *Checkpoint) Extend(
	ctx context.Context, log events.Store, old checkpoint.Checkpoint,
) (problem string, err error) {
	problem, err = c.Contradicts(ctx, log, old)
	if problem != "" || err != nil {
		return problem, err
	}
	hashes, err := log.ProveExtends(ctx, old.Tree.N, int64(c.Events))
	if err != nil {
		return "", err
	}
	proof := checkpoint.Consistency{Old: old.Tree.N, Hashes: hashes, Checkpoint: []byte(c.Text)}
	c.Text, c.From = string(proof.Text()), &old.Tree.N
	return "", nil
}

// Contradicts returns the evidence against the log of this checkpoint having grown from an earlier
// one; empty without any.
func (c *Checkpoint) Contradicts(
	ctx context.Context, log events.Store, old checkpoint.Checkpoint,
) (string, error) {
	return contradiction(ctx, log, c.id, old)
}

// Find returns the main event of a campaign about a subject: the result of an experiment, the
// answer to a question, a decision; else the newest event about it. Of several main events, such as
// a repeated measurement, it takes the newest. what may also be a position of the log: a number is
// always a position, since subjects begin with a letter.
func Find(ctx context.Context, log events.Store, campaign, what string) (events.Event, error) {
	var found events.Event
	if n, err := strconv.ParseUint(what, 10, 63); err == nil {
		for e, err := range log.Read(ctx, events.Position(max(n, 1)-1)) {
			if err != nil {
				return found, err
			}
			if n > 0 {
				return e, nil
			}
			break
		}
		return found, problem.New(problem.Invalid, "the log has no position %s: it has those "+
			"from 1 to %d",
			what, log.Last())
	}
	for e, err := range log.ReadCampaign(ctx, campaign, 0) {
		if err != nil {
			return found, err
		}
		about := events.CloudEventAttributes(e)["subject"] == what
		if about && (answers(e.Kind) || !answers(found.Kind)) {
			found = e
		}
	}
	if found.Position == 0 {
		return found, problem.New(problem.Invalid, "the campaign %s has no event about %s; "+
			"name an experiment (e7), a question (q3), a decision (d12) or a position", campaign, what)
	}
	return found, nil
}

// answers reports whether an event is the purpose of its subject. A proof about “e7” should show
// its result, and not the remark, or the file, that came last.
func answers(kind events.Kind) bool {
	switch kind {
	case events.KindExperimentMeasured, events.KindExperimentFailed, events.KindExperimentInfeasible,
		events.KindQuestionAnswered, events.KindDecisionMade:
		return true
	}
	return false
}

// ReadCheckpoint reads a checkpoint, or that of a proof. Signatures by known keys are checked. It
// does not check the proof itself: see [VerifyFiles].
func ReadCheckpoint(text []byte, known ...note.Verifier) (checkpoint.Checkpoint, error) {
	f, err := checkpoint.Decode(text)
	switch {
	case err != nil:
		return checkpoint.Checkpoint{}, err
	case f.Inclusion != nil:
		text = f.Inclusion.Checkpoint
	case f.Consistency != nil:
		text = f.Consistency.Checkpoint
	}
	return checkpoint.Read(text, known...)
}

// contradiction returns the evidence against a log, named id, having grown from an earlier
// checkpoint; empty without any.
//
// Cases without hashing come first: another log, a shorter one, one with a different beginning.
// They are distinguished since each calls for another reaction. An error means that the check
// failed, and says nothing against the log.
func contradiction(
	ctx context.Context, log events.Store, id string, old checkpoint.Checkpoint,
) (problem string, err error) {
	last := int64(log.Last())
	switch {
	case !checkpoint.SameLog(id, old.Origin):
		return fmt.Sprintf(
			"it is a checkpoint of %s, and this log is %s: another store, "+
				"or one that was begun anew",
			old.Origin,
			id,
		), nil
	case old.Tree.N > last:
		return fmt.Sprintf(
			"ROLLED BACK: it counts %d events and the log has %d: the last %d are gone. "+
				"The store was cut, or replaced by an older copy of it",
			old.Tree.N,
			last,
			old.Tree.N-last,
		), nil
	}
	err = log.VerifyExtends(ctx, old.Tree)
	if errors.Is(err, events.ErrNotExtended) {
		return fmt.Sprintf("REWRITTEN: the first %d events of the log are not those that it "+
			"was made of: at least one of them was changed, removed or replaced, "+
			"or the log went on from an older copy", old.Tree.N), nil
	}
	return "", err
}

// ProveIn takes a checkpoint of a campaign's store, and turns it into a proof that the log holds
// the main event about a subject of the campaign (see [Find]). It does not find events of other
// campaigns of the store: the caller may not be allowed to see those. A running campaign is not
// disturbed, since the store is opened as a reader.
func ProveIn(
	ctx context.Context, folder, campaign, what string, key note.Signer,
) (*Checkpoint, error) {
	log, err := OpenToRead(folder)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	e, err := Find(ctx, log, campaign, what)
	switch {
	case err != nil:
		return nil, err
	case e.Campaign != campaign:
		return nil, problem.New(problem.NotFound, "%s is of another campaign", what).About(what)
	}
	c, err := TakeCheckpoint(ctx, log, key)
	if err != nil {
		return nil, err
	}
	return c, c.Prove(ctx, log, e.Position)
}

// OpenToRead opens a store for reading, also while a process holds it. It keeps the code of the
// fault, so that a missing store and a damaged one stay different answers.
func OpenToRead(folder string) (events.Store, error) {
	log, err := store.Open(folder, store.Options{ReadOnly: true})
	if err != nil {
		return nil, problem.New(problem.CodeOf(err), "the store cannot be read beside its run: %w",
			err)
	}
	return log, nil
}
