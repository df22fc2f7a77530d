package attest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/checkpoint"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/registry"
)

// Chains of an audit.
const (
	ChainSound  = "ok"
	ChainBroken = "broken"
)

// Mismatch is a mismatch with the campaign it is in.
type Mismatch struct {
	Campaign string `json:"campaign"`
	decisions.Mismatch
}

// Audit is what an audit of a store found.
type Audit struct {
	// Events counts the events of the store.
	Events events.Position `json:"events"`
	// Counts count what was recorded, and what came out the same when it was
	// made again.
	decisions.Counts
	Mismatches []Mismatch `json:"mismatches"`
	// Remarks are what an honest log can hold and an auditor should have seen.
	Remarks []Mismatch `json:"remarks,omitempty"`
	// Excepted counts the records of another version that were to be left out.
	Excepted int `json:"excepted,omitempty"`
	// Chain is "ok" where every event is there, as it was acknowledged, and in
	// its place; Faults say what is not, and what is lost.
	Chain  string   `json:"chain"`
	Faults []string `json:"faults"`
	Notes  []string `json:"notes,omitempty"`
	// Root is the root hash of the events.
	Root string `json:"root,omitempty"`
	// Checkpoint is the text of one of the log as it is now, signed where the
	// user has a key; empty where something failed, since a signature would
	// vouch for that.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Attached is what became of the files that the log names; nil where they
	// were not looked at.
	Attached *Attached `json:"attached,omitempty"`
	// Since is what the earlier checkpoints say.
	Since []Since `json:"since,omitempty"`
	// Lab says that it is the log of a lab, in which there are no decisions to
	// be made again.
	Lab bool `json:"lab,omitempty"`
	// Comparison is "exact" where everything was compared bit for bit, and
	// "tolerance" where some of it comes from another build.
	Comparison string   `json:"comparison"`
	Campaigns  []string `json:"campaigns"`
}

// Passed reports whether nothing speaks against the store.
//
// What another version of a method made cannot be made again here; it fails the
// audit unless a person has excepted it by name, so that leaving something out
// is a decision that stands in the command. Remarks and notes do not count: an
// honest log can hold them.
func (r *Audit) Passed() bool {
	return r.Chain == ChainSound && len(r.Mismatches) == 0 && r.OtherVersion == r.Excepted && r.extends() &&
		r.Attached.passed()
}

// Since is what an earlier checkpoint says of a log.
type Since struct {
	File   string          `json:"file"`
	Events events.Position `json:"events"`
	// SignedBy are the keys whose signatures were checked, Unchecked the
	// others.
	SignedBy  []string `json:"signed_by,omitempty"`
	Unchecked []string `json:"unchecked,omitempty"`
	// Problem says what speaks against the log having grown from it; empty
	// where it has.
	Problem string `json:"problem,omitempty"`
}

// extends reports whether the log has grown from every earlier checkpoint.
func (r *Audit) extends() bool {
	return !slices.ContainsFunc(r.Since, func(c Since) bool { return c.Problem != "" })
}

// Earlier is a checkpoint that was kept, with the file it was read from. The
// file is only for messages.
type Earlier struct {
	File string
	checkpoint.Checkpoint
}

// Options say what is audited, and by whom.
type Options struct {
	// Registry holds what definitions may name.
	Registry registry.Registry
	// Build is the program that audits: what it made itself is compared bit for
	// bit.
	Build events.Build
	// Campaign is the one whose decisions are made again; empty for all.
	Campaign string
	// Since are the checkpoints that the log must extend, the oldest first.
	Since []Earlier
	// Files, if set, are those of the store: the bytes of each that the log names
	// are compared with its digest.
	Files filestore.Files
	// Programs, if set, has programs that say that they are deterministic answer
	// again. It starts what the log names: only of a log that is trusted.
	Programs decisions.Programs
	// Except names builds, by their revision or version, whose decisions are
	// left out.
	Except []string
}

// Run audits a log on disk. Where its bytes are not those that were written,
// that is all that is said: what does not read cannot be made again. The
// checkpoint is left to the caller, who may have a key.
//
// The order is that of trust: bytes first, then what earlier checkpoints say,
// then what can be computed again from bytes that are sound.
func Run(ctx context.Context, log events.Store, o Options) (*Audit, error) {
	r := NewAudit()
	err := r.verify(ctx, log)
	if err != nil {
		return nil, err
	}
	if r.Chain == ChainBroken {
		return r, nil
	}
	if err = r.compare(ctx, log, o.Since); err != nil {
		return nil, err
	}
	if r.Lab, err = isLab(ctx, log); err != nil || r.Lab {
		return r, err
	}
	if o.Files != nil {
		if r.Attached, err = checkFiles(ctx, log, o.Files, o.Campaign); err != nil {
			return nil, err
		}
	}
	names, err := log.Campaigns(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if o.Campaign != "" && name != o.Campaign {
			continue
		}
		if err := r.campaign(ctx, log, name, o); err != nil {
			return nil, err
		}
	}
	if o.Campaign != "" && len(r.Campaigns) == 0 {
		return nil, fmt.Errorf("%w: %q", engine.ErrNoCampaign, o.Campaign)
	}
	return r, nil
}

// isLab reports whether a log is that of a lab: its first event says so. An
// empty log is none: then there are no campaigns either, and nothing to be
// found.
func isLab(ctx context.Context, log events.Log) (bool, error) {
	for e, err := range log.Read(ctx, 0) {
		return e.Kind == events.KindLabBegun, err
	}
	return false, nil
}

// verify checks every byte of the log. Faults of the log are a result; only a
// log that cannot be read at all is an error.
//
// A store that is thoroughly damaged has a fault for each event; it names some
// and counts the rest.
func (r *Audit) verify(ctx context.Context, log events.Store) error {
	found, err := log.Verify(ctx)
	if err != nil {
		return err
	}
	r.Events = found.Events
	r.Root = found.Root.String()
	r.Notes = found.Notes
	for _, f := range found.Faults {
		r.Faults = append(r.Faults, f.String())
	}
	if found.More > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("and %d more faults", found.More))
	}
	if len(r.Faults) > 0 {
		r.Chain = ChainBroken
	}
	return nil
}

// NewAudit returns an audit that has found nothing yet.
func NewAudit() *Audit {
	return &Audit{
		Chain:      ChainSound,
		Comparison: "exact",
		Mismatches: []Mismatch{},
		Faults:     []string{},
		Campaigns:  []string{},
	}
}

// campaign makes the decisions and fits of a campaign again, and adds what was
// found. A last event in the future is a note: clocks differ, and a log that was
// dated ahead shows it here.
func (r *Audit) campaign(ctx context.Context, log events.Store, name string, o Options) error {
	report, err := decisions.Audit(ctx, o.Registry, log, name, o.Build, o.Programs)
	if err != nil {
		return err
	}
	r.Campaigns = append(r.Campaigns, name)
	r.count(report.Counts, o.Except)
	if !report.Exact {
		r.Comparison = "tolerance"
	}
	mismatches, remarks, err := checkDefinitions(ctx, o.Registry, log, name, o.Build)
	if err != nil {
		return err
	}
	for _, m := range append(report.Mismatches, mismatches...) {
		r.Mismatches = append(r.Mismatches, Mismatch{Campaign: name, Mismatch: m})
	}
	for _, m := range append(report.Remarks, remarks...) {
		r.Remarks = append(r.Remarks, Mismatch{Campaign: name, Mismatch: m})
	}
	if ahead := time.Until(report.Last); ahead > time.Minute {
		r.Notes = append(r.Notes,
			fmt.Sprintf("the last event of %s is dated %s, which is %s from now by this "+
				"computer's clock",
				name, report.Last.Local().Format(time.DateTime), ahead.Round(time.Second)))
	}
	return nil
}

// compare compares the log with each earlier checkpoint. The place of a change
// is between the last one that holds and the first that does not. All of them
// are compared, also after one that does not hold.
//
// The place is worth saying only for a checkpoint of this very log that it is
// long enough for: a log that was cut has no such place, and another log none
// at all.
func (r *Audit) compare(ctx context.Context, log events.Store, since []Earlier) error {
	if len(since) == 0 {
		return nil
	}
	id, err := Identity(ctx, log)
	if err != nil {
		return err
	}
	holds := int64(0)
	for _, old := range since {
		problem, err := contradiction(ctx, log, id, old.Checkpoint)
		if err != nil {
			return err
		}
		same := checkpoint.SameLog(id, old.Origin)
		switch {
		case problem == "":
			holds = old.Tree.N
		case same && holds > 0 && old.Tree.N <= int64(r.Events):
			problem += fmt.Sprintf(". The first %d events are as they were: look among "+
				"positions %d to %d",
				holds, holds+1, old.Tree.N)
		}
		r.Since = append(r.Since, Since{
			File:      old.File,
			Events:    events.Position(old.Tree.N),
			SignedBy:  old.Signed,
			Unchecked: old.Unchecked,
			Problem:   problem,
		})
	}
	return nil
}

// count adds what was made again, and counts which of it is left out. A build
// that is named twice is excepted once.
func (r *Audit) count(made decisions.Counts, except []string) {
	r.Add(made)
	for _, share := range made.Builds {
		named := func(name string) bool { return isNamed(share.Build, name) }
		if slices.ContainsFunc(except, named) {
			r.Excepted += share.OtherVersion
		}
	}
}

// NameOf is by what a person names a build in [Options.Except]: the first
// digits of its revision, or its version where it has none. Twelve digits are
// what other tools show of a commit, and tell the builds of a lab apart.
func NameOf(b events.Build) string {
	const digits = 12
	if b.Revision == "" {
		return b.Version
	}
	hash := strings.IndexByte(b.Revision, ':') + 1
	return b.Revision[:min(hash+digits, len(b.Revision))]
}

// isNamed reports whether a person means a build by a revision, or a beginning
// of one, or by a version. The empty name means no build, although every
// revision begins with it.
func isNamed(b events.Build, name string) bool {
	if name == "" {
		return false
	}
	return b.Version == name || strings.HasPrefix(b.Revision, name)
}
