package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
)

// Chains of an audit.
const (
	chainOK     = "ok"
	chainBroken = "broken"
)

// auditMismatch is a mismatch with the campaign it is in.
type auditMismatch struct {
	Campaign string `json:"campaign"`
	engine.Mismatch
}

// audited is what `audit --json` prints.
type audited struct {
	// Events counts the events of the store.
	Events events.Position `json:"events"`
	// Decisions and Fits count what was recorded, Reproduced and
	// FitsReproduced what came out the same when it was made again.
	Decisions  int `json:"decisions"`
	Reproduced int `json:"reproduced"`
	// OtherVersion counts decisions that this version does not make again.
	OtherVersion   int             `json:"other_version,omitempty"`
	Fits           int             `json:"fits"`
	FitsReproduced int             `json:"fits_reproduced"`
	Mismatches     []auditMismatch `json:"mismatches"`
	// Remarks are what an honest log can hold and an auditor should have seen.
	Remarks []auditMismatch `json:"remarks,omitempty"`
	// Builds are the programs that made the decisions and fits. Excepted counts
	// the decisions of another version that --except leaves out.
	Builds   []engine.BuildShare `json:"builds,omitempty"`
	Excepted int                 `json:"excepted,omitempty"`
	// Chain is "ok" where every event is there, as it was acknowledged, and
	// in its place; Faults say what is not, and what is lost.
	Chain  string   `json:"chain"`
	Faults []string `json:"faults"`
	Notes  []string `json:"notes,omitempty"`
	// Root is the root hash of the events.
	Root string `json:"root,omitempty"`
	// Checkpoint is the text of one of the log as it is now, signed where the user
	// has a key; empty where something failed, since nobody is to vouch for that.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Since is what the earlier checkpoints say.
	Since []sinceCheckpoint `json:"since,omitempty"`
	// Comparison is "exact" where everything was compared bit for bit, and
	// "tolerance" where some of it comes from another build.
	Comparison string   `json:"comparison"`
	Build      string   `json:"build"`
	Campaigns  []string `json:"campaigns"`
	Store      string   `json:"store"`
}

func (r *audited) passed() bool {
	return r.Chain == chainOK && len(r.Mismatches) == 0 && r.OtherVersion == r.Excepted && r.extends()
}

func (a *app) auditCommand() *cobra.Command {
	var since, keys, except []string
	cmd := &cobra.Command{
		Use:   "audit [TARGET]",
		Short: "Check that nothing was changed, and make every decision and fit again",
		Long: fmt.Sprintf(`Check every byte of the log (checksums, order, the Merkle tree and its head), then
make every recorded fit and decision again from the events before it and compare:
bit for bit where this is the build that made it, to a relative tolerance of %g
elsewhere. What people, instruments and experts said is held to what they were asked,
to who can have said it and when, and to the definition. Exits 1 where anything fails,
and where another version made decisions that this one cannot make again: audit
those with the campaignd that made them (the output names its revision), and leave
them out here with --except. Remarks do not fail: an honest log can hold them. The
store is not changed.

A store that was rewritten whole, or replaced by an older copy, is consistent in
itself. --since finds that: it takes a checkpoint that was kept elsewhere (see
`+"`campaignd checkpoint`"+`) and checks that the log has only grown since. With several
checkpoints, the place is narrowed down to the events between two of them.`, engine.AuditTolerance),
		Example: `  campaignd audit electrolyte.campaign
  campaignd audit electrolyte.campaign --since may.checkpoint --key lab.pub
  campaignd audit electrolyte.campaign --except 1f2e3d4c5b6a
  campaignd audit electrolyte.campaign --json | jq .reproduced`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.optionalTarget(args)
			if err != nil {
				return err
			}
			known, err := verifiers(keys)
			if err != nil {
				return err
			}
			kept, err := readCheckpoints(since, known, len(keys) > 0)
			if err != nil {
				return err
			}
			report, err := a.audit(cmd.Context(), t, kept, except)
			if err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(report)
			} else {
				a.printAudit(report)
			}
			if err == nil && !report.passed() {
				err = errReported
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&since, "since", nil, "a `file` with an earlier checkpoint, which the log must extend; may be repeated")
	cmd.Flags().StringArrayVar(&keys, "key", nil, "a verifier `key`, or a file with one: then the checkpoints must be signed; may be repeated")
	cmd.Flags().StringSliceVar(&except, "except", nil, "leave out the decisions of the campaignd of this revision (or version), audited with that one")
	return cmd
}

func (a *app) audit(ctx context.Context, t target, since []checkpointFile, except []string) (*audited, error) {
	r := &audited{Mismatches: []auditMismatch{}, Faults: []string{}, Campaigns: []string{}, Chain: chainOK, Comparison: "exact", Build: thisBuild().String(), Store: t.store}
	s, err := a.openDirectly(t.store) // a run goes on meanwhile
	if errors.Is(err, events.ErrDamaged) {
		r.Chain, r.Faults = chainBroken, append(r.Faults, damageInWords(err))
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.close()
	v, err := s.verify(ctx)
	if err != nil {
		return nil, err
	}
	r.setVerified(v)
	if r.Chain == chainBroken {
		return r, nil // what does not read cannot be made again
	}
	if err := r.compare(ctx, s, since); err != nil {
		return nil, err
	}
	names, err := campaigns(ctx, s.log)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if t.campaign != "" && name != t.campaign {
			continue
		}
		report, err := engine.Audit(ctx, a.registry, s.log, name, thisBuild().Build)
		if err != nil {
			return nil, err
		}
		r.Campaigns = append(r.Campaigns, name)
		r.Decisions += report.Decisions
		r.Reproduced += report.Reproduced
		r.OtherVersion += report.OtherVersion
		r.Fits += report.Fits
		r.FitsReproduced += report.FitsReproduced
		if !report.Exact {
			r.Comparison = "tolerance"
		}
		mismatches, remarks, err := auditDefinitions(ctx, a.registry, s.log, name, thisBuild().Build)
		if err != nil {
			return nil, err
		}
		for _, m := range append(report.Mismatches, mismatches...) {
			r.Mismatches = append(r.Mismatches, auditMismatch{Campaign: name, Mismatch: m})
		}
		for _, m := range append(report.Remarks, remarks...) {
			r.Remarks = append(r.Remarks, auditMismatch{Campaign: name, Mismatch: m})
		}
		r.addBuilds(report.Builds, except)
		if ahead := time.Until(report.Last); ahead > time.Minute {
			r.Notes = append(r.Notes, fmt.Sprintf("the last event of %s is dated %s, which is %s from now by this computer's clock", name, report.Last.Local().Format(time.DateTime), ahead.Round(time.Second)))
		}
	}
	if t.campaign != "" && len(r.Campaigns) == 0 {
		return nil, fmt.Errorf("%w: %q", engine.ErrNoCampaign, t.campaign)
	}
	if r.passed() && r.Events > 0 {
		err = a.vouch(ctx, s, r)
	}
	return r, err
}

// addBuilds counts what the programs made, and which of it is left out.
func (r *audited) addBuilds(shares []engine.BuildShare, except []string) {
	for _, share := range shares {
		if slices.ContainsFunc(except, func(name string) bool { return isNamed(share.Build, name) }) {
			r.Excepted += share.OtherVersion
		}
		i := slices.IndexFunc(r.Builds, func(b engine.BuildShare) bool { return b.Build == share.Build })
		if i < 0 {
			r.Builds = append(r.Builds, share)
			continue
		}
		b := &r.Builds[i]
		b.Decisions, b.Reproduced, b.OtherVersion, b.Fits = b.Decisions+share.Decisions, b.Reproduced+share.Reproduced, b.OtherVersion+share.OtherVersion, b.Fits+share.Fits
	}
}

// isNamed reports whether a person means a build by a revision, or a beginning of
// one, or by a version.
func isNamed(b events.Build, name string) bool {
	if name == "" {
		return false
	}
	return b.Version == name || strings.HasPrefix(b.Revision, name)
}

func (r *audited) setVerified(v control.Verified) {
	r.Events, r.Root, r.Notes = v.Events, v.Root, v.Notes
	if len(v.Faults) > 0 {
		r.Chain, r.Faults = chainBroken, v.Faults
	}
}

func (a *app) printAudit(r *audited) {
	if r.Chain == chainOK {
		a.printf("The log is sound: %s, each with its checksum and in its place; root hash %s.\n", format.Count(int(r.Events), "event"), r.Root)
	} else {
		a.printf("THE LOG IS DAMAGED:\n")
		for _, f := range r.Faults {
			a.printf("  %s\n", f)
		}
	}
	for _, note := range r.Notes {
		a.printf("Note: %s.\n", note)
	}
	a.printSince(r)
	if r.Chain != chainOK {
		a.printf("Decisions were not made again, since not everything they were made from can be read.\n")
		return
	}
	how := "bit for bit"
	if r.Comparison != "exact" {
		how = fmt.Sprintf("to a relative tolerance of %g, since some come from another build than this one (%s)", engine.AuditTolerance, r.Build)
	}
	var again []string
	if r.Decisions > 0 {
		again = append(again, fmt.Sprintf("%d of %s", r.Reproduced, format.Count(r.Decisions, "decision")))
	}
	if r.Fits > 0 {
		again = append(again, fmt.Sprintf("%d of %s", r.FitsReproduced, format.Count(r.Fits, "fit")))
	}
	if again == nil {
		a.printf("No decision and no fit has been made yet: there is nothing to make again.\n")
	} else {
		a.printf("%s came out the same when made again, compared %s.\n", strings.Join(again, " and "), how)
	}
	a.printBuilds(r)
	for _, m := range r.Remarks {
		a.printf("  Remark at position %d, %s: %s\n", m.Position, m.Subject, m.Problem)
	}
	for _, m := range r.Mismatches {
		a.printf("  MISMATCH at position %d, %s: %s\n", m.Position, m.Subject, m.Problem)
	}
	if r.Checkpoint != "" {
		a.printf("A store that was cut short or rewritten whole looks sound, too: keep this checkpoint elsewhere, and compare later with --since.\n")
		a.print("  " + strings.ReplaceAll(strings.TrimSpace(r.Checkpoint), "\n", "\n  "))
	}
}

// printBuilds says which program made what, where it was not this one alone, and
// which of it this one cannot make again.
func (a *app) printBuilds(r *audited) {
	if len(r.Builds) > 1 || len(r.Builds) == 1 && r.Builds[0].Build != thisBuild().Build {
		for _, b := range r.Builds {
			var made []string
			if b.Decisions > 0 {
				made = append(made, format.Count(b.Decisions, "decision"))
			}
			if b.Fits > 0 {
				made = append(made, format.Count(b.Fits, "fit"))
			}
			other := ""
			if b.OtherVersion > 0 {
				other = fmt.Sprintf("; %s of another version of the policies, not made again here", format.Count(b.OtherVersion, "decision"))
			}
			a.printf("  %s by campaignd %s%s\n", strings.Join(made, " and "), build{b.Build}, other)
		}
	}
	if left := r.OtherVersion - r.Excepted; left > 0 {
		var names []string
		for _, b := range r.Builds {
			if name := (build{b.Build}).name(); b.OtherVersion > 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		a.printf("INCOMPLETE: this version cannot make %s of another one again. Audit with the campaignd that made them, named above; then leave them out here: --except %s\n",
			format.Count(left, "decision"), strings.Join(names, ","))
	} else if r.Excepted > 0 {
		a.printf("%s of another version were left out, as asked.\n", format.Count(r.Excepted, "decision"))
	}
}
