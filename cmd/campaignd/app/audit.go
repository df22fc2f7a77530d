package app

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/policies"
)

// audited is the document of `audit --json`.
//
// Fields are only added: scripts of auditors read it.
type audited struct {
	*attest.Audit
	// Build is the program that audited: this one, or the server.
	Build string `json:"build"`
	Store string `json:"store"`
}

// auditCommand is `campaignd audit`.
//
// An audit that does not pass is an answer and not an error: it is printed
// whole, and the exit code is 1. Usage and stores that cannot be read have
// codes of their own (exit.go).
var auditCommand = command{
	name: "audit",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var o auditing
		flags.StringArrayVar(&o.since, "since", nil,
			"a `file` with an earlier checkpoint, which the log must extend; may be repeated")
		flags.StringArrayVar(&o.keys, "key", nil,
			"a verifier `key`, or a file with one: then the checkpoints must be signed; may be repeated")
		flags.BoolVar(&o.files, "files", false, "compare the bytes of attached files with the log, too")
		flags.BoolVar(&o.programs, "programs", false,
			"start the programs that the log names as methods, and have those that say that they are deterministic answer again; "+
				"only for a store that you trust")
		flags.StringSliceVar(&o.except, "except", nil,
			"leave out the decisions of the campaignd of this revision (or version), audited with that one")
		return func(c *call, args []string) error {
			o.call = c
			return o.run(args)
		}
	},
}

// auditing is one call of `campaignd audit`.
type auditing struct {
	*call
	since, keys, except []string
	files, programs     bool
	draws               *attest.Draws // of a folder
}

func (a *auditing) run(args []string) error {
	if a.programs && a.server != "" {
		return badInput("--programs starts programs on this machine: audit a store here, not that of a server")
	}
	if len(args) == 1 && a.server == "" {
		if stores := storesIn(args[0]); stores != nil {
			if a.programs {
				return badInput("--programs is for one store at a time: name it")
			}
			return a.auditFolder(args[0], stores)
		}
	}
	t, err := a.optionalTarget(args)
	if err != nil {
		return err
	}
	known, err := verifiers(a.keys)
	if err != nil {
		return err
	}
	kept, err := readCheckpoints(a.since, known, len(a.keys) > 0)
	if err != nil {
		return err
	}
	var report *audited
	if t.remote {
		report, err = a.auditRemote(t)
	} else {
		report, err = a.audit(t, kept)
	}
	if err != nil {
		return err
	}
	err = a.present(report, func() { report.print(a.app) })
	// The answer is "no", and it has been printed.
	if err == nil && !report.Passed() {
		err = errReported
	}
	return err
}

// audit audits a store as it is on disk, whether or not a process runs it. One
// that passes is given a checkpoint, to be kept for a later audit.
//
// No lock is taken, and a run that goes on meanwhile adds events that this audit
// does not see.
func (a *auditing) audit(t target, since []attest.Earlier) (*audited, error) {
	done := func(r *attest.Audit) *audited {
		return &audited{Audit: r, Build: thisBuild().String(), Store: t.store}
	}
	log, err := openCopy(t.store)
	// A log that is too damaged to open is a result of the audit, and not a
	// failure to make one.
	if errors.Is(err, events.ErrDamaged) {
		r := attest.NewAudit()
		r.Chain, r.Faults = attest.ChainBroken, append(r.Faults, damageInWords(err))
		return done(r), nil
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	a.remarkMarks(a.ctx, t.store)
	o := attest.Options{
		Registry: a.registry,
		Build:    thisBuild().Build,
		Campaign: t.campaign,
		Since:    since,
		Except:   a.except,
		Draws:    a.draws,
	}
	if a.files {
		opened, err := store.OpenFiles(t.store)
		if err != nil {
			return nil, storeError{err}
		}
		defer opened.Close()
		o.Files = opened
	}
	if a.programs {
		o.Programs = func(def definition.Campaign) (methods.Method, error) {
			return equip.OpenMethod(a.registry, def, filepath.Dir(t.store), nil)
		}
	}
	r, err := attest.Run(a.ctx, log, o)
	if err != nil {
		return nil, err
	}
	if r.Passed() && r.Events > 0 {
		c, err := a.checkpointOf(a.ctx, log)
		if err != nil {
			return nil, err
		}
		r.Checkpoint = c.Text
	}
	return done(r), nil
}

// print prints the result of an audit: the log itself first, then the checkpoints, then the
// computations made again.
//
// Faults are in capitals, so that they cannot be overlooked in a long output; a fact that an
// auditor should only know is a note. Nothing of a damaged log is printed after the checkpoints:
// the rest was not computed.
func (r *audited) print(a *app) {
	if r.Chain == attest.ChainSound {
		a.printf("The log is sound: %s, each with its checksum and in its place; root hash %s.\n",
			format.Count(int(r.Events), "event"), r.Root)
	} else {
		a.printf("THE LOG IS DAMAGED:\n")
		for _, f := range r.Faults {
			a.printf("  %s\n", f)
		}
	}
	for _, note := range r.Notes {
		a.printf("Note: %s.\n", note)
	}
	r.printSince(a)
	if r.Chain != attest.ChainSound {
		a.printf("Decisions were not made again, since not everything they were made from can " +
			"be read.\n")
		return
	}
	if r.Lab {
		a.printf("It is a lab's log: there is no decision and no fit in it to be made again.\n")
		if r.Takes > 0 && len(r.Mismatches) == 0 {
			a.printf("Of %s from stocks of the lab none took what another had.\n", format.Count(r.Takes, "take"))
		}
		for _, m := range r.Mismatches {
			a.printf("  MISMATCH in %s, %s: %s\n", m.Campaign, m.Subject, m.Problem)
		}
	} else {
		r.printRepeated(a)
	}
	r.printAttached(a)
	// An audit alone cannot see a log that was rewritten whole.
	if r.Checkpoint != "" {
		a.printf(
			"A store that was cut short or rewritten whole looks sound, too: keep this checkpoint elsewhere, and compare later with --since.\n",
		)
		a.print("  " + strings.ReplaceAll(strings.TrimSpace(r.Checkpoint), "\n", "\n  "))
	}
}

// printAttached prints the state of the files. Each that is not sound has a line with the one word,
// so that a script can look for it.
func (r *audited) printAttached(a *app) {
	found := r.Attached
	if found == nil {
		return
	}
	a.printf("Of %s that the log names, %d are sound, %d missing, %d altered and %d elsewhere.\n",
		format.Count(found.Sound+found.Missing+found.Altered+found.Elsewhere, "file"),
		found.Sound, found.Missing, found.Altered, found.Elsewhere)
	for _, f := range found.Files {
		state := string(f.State)
		if f.State != filestore.Elsewhere {
			state = strings.ToUpper(state)
		}
		of, at := cmp.Or(f.Experiment, f.Campaign), ""
		if f.URI != "" {
			at = ", at " + f.URI
		}
		a.printf("  %s: %s, %s, of %s%s\n", state, f.File, f.Name, of, at)
	}
	if found.Unnamed > 0 {
		a.printf("Note: %s, %s, that no event names: rests of attachments that were cut off. `campaignd files --clean` "+
			"removes them.\n", format.Count(found.Unnamed, "file"), format.Bytes(found.UnnamedSize))
	}
}

// printRepeated says how many decisions and fits came out the same when they
// were made again, and which did not. Remarks and mismatches name the position
// in the log, by which `campaignd events --after` shows the event.
func (r *audited) printRepeated(a *app) {
	how := "bit for bit"
	if r.Comparison != "exact" {
		how = fmt.Sprintf("to a relative tolerance of %g, since some come from another build "+
			"than this one (%s)",
			decisions.Tolerance, r.Build)
	}
	var again []string
	if r.Decisions > 0 {
		again = append(again, fmt.Sprintf("%d of %s",
			r.Reproduced, format.Count(r.Decisions, "decision")))
	}
	if r.Fits > 0 {
		again = append(again, fmt.Sprintf("%d of %s",
			r.FitsReproduced, format.Count(r.Fits, "fit")))
	}
	if again == nil {
		a.printf("No decision and no fit has been made yet: there is nothing to make again.\n")
	} else {
		a.printf("%s came out the same when made again, compared %s.\n",
			strings.Join(again, " and "), how)
	}
	r.printPrograms(a)
	r.printBuilds(a)
	for _, m := range r.Remarks {
		a.printf("  Remark at position %d, %s: %s\n", m.Position, m.Subject, m.Problem)
	}
	for _, m := range r.Mismatches {
		a.printf("  MISMATCH at position %d, %s: %s\n", m.Position, m.Subject, m.Problem)
	}
}

// printPrograms prints the outcome for the answers of programs. They are not made again unless the
// user asked for it: the reader of the line must learn which checks were left out.
func (r *audited) printPrograms(a *app) {
	if n := r.Proposals; n > 0 {
		a.printf("%s of a program that is the method: each was shown what the log said; recorded, %s.\n",
			format.Count(n, "answer"), again(r.ProposalsAgain, n))
	}
	if n := r.ProgramAnswers; n > 0 {
		a.printf("%s of programs in an expert's place: each was shown what the log said; recorded, not made again.\n",
			format.Count(n, "answer"))
	}
}

// again says how many of so many answers were made again.
func again(made, of int) string {
	switch made {
	case 0:
		return "not made again"
	case of:
		return "and made again by the program, bit for bit"
	}
	return fmt.Sprintf("%d of them made again by the program, bit for bit", made)
}

// printBuilds says which programs made the decisions, if it was not this one alone, and which of
// them this one cannot make again.
//
// Only decisions that no --except has named make the audit incomplete. The line about them ends
// with the very flag that leaves them out, so that it can be copied once they have been audited
// elsewhere.
func (r *audited) printBuilds(a *app) {
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
				other = fmt.Sprintf("; %s of another version of policies or models, not made "+
					"again here",
					format.Count(b.OtherVersion, "record"))
			}
			a.printf("  %s by campaignd %s%s\n", strings.Join(made, " and "), build{b.Build}, other)
		}
	}
	for _, u := range r.Unmade {
		a.printf("  %s\n", unmadeText(u))
	}
	if left := r.OtherVersion - r.Excepted; left > 0 {
		var names []string
		for _, b := range r.Builds {
			if name := attest.NameOf(b.Build); b.OtherVersion > 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		a.printf("INCOMPLETE: this version cannot make %s of another one again. "+
			"Audit with the campaignd that made them, named above; then leave them out here: --except %s\n",
			format.Count(left, "record"), strings.Join(names, ","))
	} else if r.Excepted > 0 {
		a.printf("%s of another version were left out, as asked.\n",
			format.Count(r.Excepted, "record"))
	}
}

// unmadeText says why decisions were not made again: another version of their family of methods, a
// family or module that this program has not, or a record that does not say which it was. Only the
// differences are named: a family's module is left out where it is that of the program itself.
func unmadeText(u decisions.Unmade) string {
	made := format.Count(u.Decisions, "decision")
	if u.Family == "" && u.Version == u.Here {
		return made + " by an earlier program, which did not record what tells its methods from this one's, come out " +
			"otherwise here: neither confirmed nor refuted"
	}
	by := func(family, module string) string {
		text := cmp.Or(family, "the method")
		if module != "" && (u.Module != u.HereModule || module != policies.Module) {
			text += " of " + module
		}
		return text
	}
	here := ""
	if u.Family != "" && (u.Family != u.HereFamily ||
		cmp.Or(u.Module, policies.Module) != cmp.Or(u.HereModule, policies.Module)) {
		here = " of " + by(u.HereFamily, u.HereModule)
	}
	return fmt.Sprintf("%s made by version %d of %s, this is version %d%s: not made again",
		made, u.Version, by(u.Family, u.Module), u.Here, here)
}

// readCheckpoints reads the checkpoints of an audit and sorts them, the one of the fewest events
// first. With mustSign each must be signed by a known key. The order narrows a place down: the
// first that the log does not extend and the last that it does bound it.
func readCheckpoints(
	files []string, known []note.Verifier, mustSign bool,
) (kept []attest.Earlier, err error) {
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
	slices.SortStableFunc(kept, func(a, b attest.Earlier) int { return cmp.Compare(a.Tree.N, b.Tree.N) })
	return kept, nil
}

// printSince says for each earlier checkpoint whether the log extends it. An unsigned checkpoint
// counts as well, and the line says what it is worth. It comes before the computations made again:
// a log that is another one makes the rest worthless.
func (r *audited) printSince(a *app) {
	for _, c := range r.Since {
		how := signedBy(c.SignedBy, c.Unchecked)
		if c.Problem != "" {
			a.printf("NOT THE LOG OF %s (%s):\n  %s\n", c.File, how, c.Problem)
			continue
		}
		a.printf("The log has only grown since %s, of %s (%s).\n",
			c.File, format.Count(int(c.Events), "event"), how)
	}
}
