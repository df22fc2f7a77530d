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
	"github.com/campaignd/campaignd/internal/files/registry"
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

// Audit is the result of an audit of a store.
type Audit struct {
	// Events counts the events of the store.
	Events events.Position `json:"events"`
	// Counts count the records, and those reproduced exactly.
	decisions.Counts
	Mismatches []Mismatch `json:"mismatches"`
	// Remarks are facts that are possible in an honest log and that an auditor should see.
	Remarks []Mismatch `json:"remarks,omitempty"`
	// Excepted counts the records of another version that were left out on request.
	Excepted int `json:"excepted,omitempty"`
	// Chain is "ok" if every event is present, as acknowledged, and in its place; otherwise Faults
	// list the damage and the losses.
	Chain  string   `json:"chain"`
	Faults []string `json:"faults"`
	Notes  []string `json:"notes,omitempty"`
	// Root is the root hash of the events.
	Root string `json:"root,omitempty"`
	// Checkpoint is the text of a checkpoint of the present log, signed if the user has a key;
	// empty after any failure, since a signature would vouch for the log.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Attached is the result for the files that the log names; nil if they were not checked.
	Attached *Attached `json:"attached,omitempty"`
	// Since is the comparison with earlier checkpoints.
	Since []Since `json:"since,omitempty"`
	// Lab is set for the log of a lab, which contains no decisions to be made again.
	Lab bool `json:"lab,omitempty"`
	// Takes counts the events by which campaigns took something from the lab's stocks.
	Takes int `json:"takes,omitempty"`
	// Comparison is "exact" if everything was compared bit for bit, and "tolerance" if some of it
	// comes from another build.
	Comparison string   `json:"comparison"`
	Campaigns  []string `json:"campaigns"`
}

// Passed reports whether nothing speaks against the store.
//
// Records of another version of a method cannot be made again here; they fail the audit unless a
// person has excepted that version by name, so that the command shows the decision to leave them
// out. Remarks and notes do not count: an honest log can hold them.
func (r *Audit) Passed() bool {
	return r.Chain == ChainSound && len(r.Mismatches) == 0 && r.OtherVersion == r.Excepted && r.extends() &&
		r.Attached.passed()
}

// Since is the comparison of a log with an earlier checkpoint.
type Since struct {
	File   string          `json:"file"`
	Events events.Position `json:"events"`
	// SignedBy are the keys with verified signatures, Unchecked the others.
	SignedBy  []string `json:"signed_by,omitempty"`
	Unchecked []string `json:"unchecked,omitempty"`
	// Problem is the evidence against the log having grown from the checkpoint; empty without any.
	Problem string `json:"problem,omitempty"`
}

// extends reports whether the log has grown from every earlier checkpoint.
func (r *Audit) extends() bool {
	return !slices.ContainsFunc(r.Since, func(c Since) bool { return c.Problem != "" })
}

// Earlier is a checkpoint that was kept, and the file it was read from. The file is only for
// messages.
type Earlier struct {
	File string
	checkpoint.Checkpoint
}

// Options are the scope of an audit, and its auditor.
type Options struct {
	// Registry holds what definitions may name.
	Registry registry.Registry
	// Build is the auditing program: its own records are compared bit for bit.
	Build events.Build
	// Campaign restricts the audit of decisions to one campaign; empty means all.
	Campaign string
	// Since are the checkpoints that the log must extend, the oldest first.
	Since []Earlier
	// Files, if set, are the store's files: the bytes of each file that the log names are compared
	// with its digest.
	Files filestore.Files
	// Programs, if set, asks programs that declare themselves deterministic again. It starts the
	// programs that the log names: use it only for a trusted log.
	Programs decisions.Programs
	// Draws, if set, collects the draws of campaigns from stocks of the lab, and is compared with the
	// takes in the lab's log.
	Draws *Draws
	// Except names builds, by their revision or version, whose decisions are
	// left out.
	Except []string
}

// Run audits a log on disk. If bytes differ from those written, the audit stops there: unreadable
// records cannot be made again. The checkpoint is left to the caller, who may have a key.
//
// The order is that of trust: first the bytes, then the earlier checkpoints, then the records that
// can be computed again from sound bytes.
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
	if r.Lab, err = isLab(ctx, log); err != nil {
		return r, err
	}
	if r.Lab {
		return r, r.lab(ctx, log, o.Draws)
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
		if o.Draws != nil {
			if err := o.Draws.collect(ctx, log, name); err != nil {
				return nil, err
			}
		}
	}
	if o.Campaign != "" && len(r.Campaigns) == 0 {
		return nil, fmt.Errorf("%w: %q", engine.ErrNoCampaign, o.Campaign)
	}
	return r, nil
}

// isLab reports whether a log is that of a lab: its first event says so. An empty log is not: it
// has no campaigns either, and nothing to be found.
func isLab(ctx context.Context, log events.Log) (bool, error) {
	for e, err := range log.Read(ctx, 0) {
		return e.Kind == events.KindLabBegun, err
	}
	return false, nil
}

// verify checks every byte of the log. Faults of the log are a result; only a log that cannot be
// read at all is an error.
//
// A thoroughly damaged store has a fault for each event; it names some and counts the rest.
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

// campaign makes the decisions and fits of a campaign again, and adds the findings. A last event in
// the future is a note: clocks differ, but a log that was dated ahead shows it here.
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

// compare compares the log with each earlier checkpoint. A change lies between the last one that
// holds and the first that does not. All of them are compared, even after a mismatch.
//
// The place is given only for a checkpoint of this very log within its length: a truncated log has
// no such place, and another log has no common one.
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

// count adds the results, and counts the records left out. A build that is named twice is excepted
// once.
func (r *Audit) count(made decisions.Counts, except []string) {
	r.Add(made)
	for _, share := range made.Builds {
		named := func(name string) bool { return isNamed(share.Build, name) }
		if slices.ContainsFunc(except, named) {
			r.Excepted += share.OtherVersion
		}
	}
}

// NameOf is the name of a build in [Options.Except]: the first digits of its revision, or its
// version without one. Other tools show twelve digits of a commit too, which distinguish the builds
// of a lab.
func NameOf(b events.Build) string {
	const digits = 12
	if b.Revision == "" {
		return b.Version
	}
	hash := strings.IndexByte(b.Revision, ':') + 1
	return b.Revision[:min(hash+digits, len(b.Revision))]
}

// isNamed reports whether a name means a build, by its revision, a prefix of that, or its version.
// The empty name means no build, although it is a prefix of every revision.
func isNamed(b events.Build, name string) bool {
	if name == "" {
		return false
	}
	return b.Version == name || strings.HasPrefix(b.Revision, name)
}
