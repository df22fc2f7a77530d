package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/checkpoint"
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/internal/wholefile"
)

// checkpointed is what `checkpoint --json` prints.
type checkpointed struct {
	Origin string          `json:"origin"`
	Events events.Position `json:"events"`
	Root   string          `json:"root"`
	// SignedBy is the name of the key; empty where nobody has signed.
	SignedBy string `json:"signed_by,omitempty"`
	// Text is the checkpoint, or the proof that was asked for.
	Text string `json:"text"`
	// Proved is the event of a proof of inclusion, From the number of events of
	// the earlier checkpoint of a proof of consistency.
	Proved *events.Position `json:"proved,omitempty"`
	From   *int64           `json:"from,omitempty"`

	id string // the log's name without that of a key
}

func (a *app) checkpointCommand() *cobra.Command {
	var key, prove, from, output, sign string
	cmd := &cobra.Command{
		Use:   "checkpoint [TARGET]",
		Short: "Write down what the log holds now, for a later audit; prove an event",
		Long: `Print a checkpoint: three lines with the name of the log, the number of its events
and the root hash over all of them, signed with your key where you have one. Keep
it where whoever can write to the store cannot: in a notebook, a mail, a repository.
Then ` + "`campaignd audit --since FILE`" + ` finds whether anything before it was changed,
removed or replaced by an older copy, which nothing in the store itself can show.

--new-key makes your key pair, once. The private key stays with you, outside every
store; what is printed is the verifier key, to be given to whoever checks.

--prove and --from write proofs instead, which ` + "`campaignd verify`" + ` checks without the
store: that an event is in the log, and that the log has only grown since an
earlier checkpoint. --prove takes an experiment, a question or a decision (its
result, answer or record), or a position.

The files have the forms of transparency logs: C2SP tlog-checkpoint, signed-note,
tlog-proof, and what a tlog-witness takes.`,
		Example: `  campaignd checkpoint --new-key lab.example.org
  campaignd checkpoint electrolyte.campaign > electrolyte.checkpoint
  campaignd checkpoint electrolyte.campaign --prove e7 > e7.tlog-proof
  campaignd checkpoint electrolyte.campaign --from electrolyte.checkpoint -o growth.proof`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if key != "" {
				if len(args) > 0 || prove != "" || from != "" {
					return badInput("--new-key goes alone: the key is yours, not a store's")
				}
				return a.makeKey(key)
			}
			if prove != "" && from != "" {
				return badInput("--prove and --from write different files: ask for one at a time")
			}
			t, err := a.optionalTarget(args)
			if err != nil {
				return err
			}
			c, err := a.checkpoint(cmd.Context(), t, sign, prove, from)
			if err != nil {
				return err
			}
			if c.SignedBy == "" {
				a.remark("Not signed: there is no key. `campaignd checkpoint --new-key NAME` makes one; until then it is worth what the place is where you keep it.")
			}
			switch {
			case output != "":
				if err := wholefile.Replace(output, []byte(c.Text), 0o644); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(c)
				}
				a.printf("Wrote %s\n", output)
			case a.json:
				return a.printJSON(c)
			default:
				fmt.Fprint(a.stdout, c.Text)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "new-key", "", "make your key pair, under this `name` (usually a domain of the lab), and print the verifier key")
	cmd.Flags().StringVar(&sign, "sign-with", "", "sign with the private key in this `file` instead of yours")
	cmd.Flags().StringVar(&prove, "prove", "", "prove that an `event` is in the log: e7, q3, d12 or a position")
	cmd.Flags().StringVar(&from, "from", "", "prove that the log has only grown since the checkpoint in this `file`")
	cmd.Flags().StringVarP(&output, "output", "o", "", "the `file` to write, instead of standard output")
	return cmd
}

// keyMade is what `checkpoint --new-key --json` prints.
type keyMade struct {
	Verifier string `json:"verifier"`
	Private  string `json:"private"`
}

func (a *app) makeKey(name string) error {
	path, public, err := newKey(name)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(keyMade{Verifier: public, Private: path})
	}
	a.printf("%s\n", public)
	a.remark("This is the verifier key: give it to whoever is to check your checkpoints, and have them keep it.\n"+
		"The private key is in %s. Back it up; whoever has it can sign in your name.", path)
	return nil
}

// checkpoint makes a checkpoint of a store, or a proof with one.
func (a *app) checkpoint(ctx context.Context, t target, sign, prove, from string) (*checkpointed, error) {
	key, err := signer(sign)
	if err != nil {
		return nil, err
	}
	s, err := a.openDirectly(t.store)
	if err != nil {
		return nil, err
	}
	defer s.close()
	log := s.own
	c, err := takeCheckpoint(ctx, log, key)
	if err != nil {
		return nil, err
	}
	switch {
	case prove != "":
		p, err := a.eventToProve(ctx, t, log, prove)
		if err != nil {
			return nil, err
		}
		return c, c.prove(ctx, log, p)
	case from != "":
		return c, c.extend(log, from)
	}
	return c, nil
}

// takeCheckpoint makes a checkpoint of a log, after checking every byte of it:
// nobody is to vouch for what is damaged.
func takeCheckpoint(ctx context.Context, log *pebblelog.Log, key note.Signer) (*checkpointed, error) {
	report, err := log.Verify(ctx)
	if err != nil {
		return nil, err
	}
	if !report.Sound() {
		return nil, storeError{fmt.Errorf("%w, so that no checkpoint is made of it: %v (campaignd audit shows all)", events.ErrDamaged, report.Faults[0])}
	}
	id, err := identity(ctx, log)
	if err != nil {
		return nil, err
	}
	c := &checkpointed{id: id, Origin: id, Events: report.Events, Root: report.Root.String()}
	if key != nil {
		c.SignedBy, c.Origin = key.Name(), key.Name()+"/"+id
	}
	text, err := checkpoint.Write(c.Origin, tlog.Tree{N: int64(report.Events), Hash: report.Root}, key)
	c.Text = string(text)
	return c, err
}

// identity is the name of a log in nobody's name.
func identity(ctx context.Context, log events.Log) (string, error) {
	for e, err := range log.Read(ctx, 0) {
		if err != nil {
			return "", err
		}
		return checkpoint.Origin("", e)
	}
	return "", badStore("the store holds no campaign yet; `campaignd run FILE` starts one")
}

// prove turns the checkpoint into a proof that holds the event at a position.
func (c *checkpointed) prove(ctx context.Context, log *pebblelog.Log, p events.Position) error {
	hashes, err := log.ProveEvent(p, int64(c.Events))
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
		proof := checkpoint.Inclusion{Index: int64(p) - 1, Record: record, Hashes: hashes, Checkpoint: []byte(c.Text)}
		c.Text, c.Proved = string(proof.Text()), &p
		return nil
	}
	return fmt.Errorf("%w: there is no event at position %d", events.ErrDamaged, p)
}

// extend turns the checkpoint into a proof that the log extends an earlier one.
func (c *checkpointed) extend(log *pebblelog.Log, file string) error {
	old, err := readCheckpoint(file, nil)
	if err != nil {
		return err
	}
	if problem, err := compareCheckpoint(log, c.id, old.Checkpoint); problem != "" || err != nil {
		return errors.Join(err, fmt.Errorf("%w%s: %s", errNo, file, problem))
	}
	hashes, err := log.ProveExtends(old.Tree.N, int64(c.Events))
	if err != nil {
		return err
	}
	proof := checkpoint.Consistency{Old: old.Tree.N, Hashes: hashes, Checkpoint: []byte(c.Text)}
	c.Text, c.From = string(proof.Text()), &old.Tree.N
	return nil
}

// eventToProve returns the position of what a person wants proved.
func (a *app) eventToProve(ctx context.Context, t target, log *pebblelog.Log, what string) (events.Position, error) {
	if n, err := strconv.ParseUint(what, 10, 63); err == nil {
		if n == 0 || events.Position(n) > log.Last() {
			return 0, badInput("--prove %s: the log has the positions 1 to %d", what, log.Last())
		}
		return events.Position(n), nil
	}
	name := t.campaign
	if name == "" {
		var err error
		if name, err = onlyCampaign(ctx, log); err != nil {
			return 0, err
		}
	}
	var found events.Event
	for e, err := range log.ReadCampaign(ctx, name, 0) {
		if err != nil {
			return 0, err
		}
		// The newest is proved, unless a result, an answer or a decision came before.
		if events.CloudEventAttributes(e)["subject"] == what && (answers(e.Kind) || !answers(found.Kind)) {
			found = e
		}
	}
	if found.Position == 0 {
		return 0, badInput("--prove %s: the campaign %s has no event about it; name an experiment (e7), a question (q3), a decision (d12) or a position", what, name)
	}
	a.remark("Proved is %s, at position %d.", found.Kind, found.Position)
	return found.Position, nil
}

// answers reports whether an event is what its subject is there for.
func answers(kind events.Kind) bool {
	switch kind {
	case events.KindExperimentMeasured, events.KindQuestionAnswered, events.KindDecisionMade:
		return true
	}
	return false
}

// checkpointFile is a checkpoint with the file it was read from.
type checkpointFile struct {
	File string
	checkpoint.Checkpoint
}

// readCheckpoint reads a checkpoint, or that of a proof.
func readCheckpoint(file string, known []note.Verifier) (c checkpointFile, err error) {
	msg, err := readAll(file)
	if err != nil {
		return c, err
	}
	f, err := checkpoint.Decode(msg)
	switch {
	case err != nil:
		return c, badInput("%s: %w", file, err)
	case f.Inclusion != nil:
		msg = f.Inclusion.Checkpoint
	case f.Consistency != nil:
		msg = f.Consistency.Checkpoint
	}
	c.File = file
	if c.Checkpoint, err = checkpoint.Read(msg, known...); err != nil {
		return c, badInput("%s: %w", file, err)
	}
	return c, nil
}

// compareCheckpoint says what speaks against a log, whose name is id, having grown
// from an earlier checkpoint; nothing where it has.
func compareCheckpoint(log *pebblelog.Log, id string, old checkpoint.Checkpoint) (problem string, err error) {
	last := int64(log.Last())
	switch {
	case !checkpoint.SameLog(id, old.Origin):
		return fmt.Sprintf("it is a checkpoint of %s, and this log is %s: another store, or one that was begun anew", old.Origin, id), nil
	case old.Tree.N > last:
		return fmt.Sprintf("ROLLED BACK: it counts %d events and the log has %d: the last %d are gone. The store was cut, or replaced by an older copy of it",
			old.Tree.N, last, old.Tree.N-last), nil
	}
	err = log.VerifyExtends(old.Tree)
	if errors.Is(err, pebblelog.ErrNotExtended) {
		return fmt.Sprintf("REWRITTEN: the first %d events of the log are not those that it was made of: "+
			"at least one of them was changed, removed or replaced, or the log went on from an older copy", old.Tree.N), nil
	}
	return "", err
}

// checkpointTimeout is how long a command that takes a checkpoint may take.
const checkpointTimeout = time.Minute

// checkpointOf makes a checkpoint with the user's key. Where the key cannot be
// used it is unsigned, and the person is told.
func (a *app) checkpointOf(ctx context.Context, log *pebblelog.Log) (*checkpointed, error) {
	key, err := signer("")
	if err != nil {
		a.remark("The checkpoint is not signed: %v", err)
	}
	return takeCheckpoint(ctx, log, key)
}

// checkpointText is the text of [app.checkpointOf], empty where there is none.
func (a *app) checkpointText(ctx context.Context, log *pebblelog.Log) string {
	c, err := a.checkpointOf(ctx, log)
	if err != nil {
		return ""
	}
	return c.Text
}

// keeping says what becomes of the checkpoint of an ended campaign: it is written to
// a file, and given to a shell command on its standard input.
type keeping struct{ file, command string }

// checkpointCommandVariable names the command for all runs of a user.
const checkpointCommandVariable = "CAMPAIGND_CHECKPOINT_COMMAND"

// handOver keeps a checkpoint.
func (a *app) handOver(ctx context.Context, log *pebblelog.Log, c *checkpointed, keep keeping) error {
	var errs []error
	if keep.file != "" {
		errs = append(errs, keepCheckpoint(log, c, keep.file))
	}
	if command := keep.command; command != "" {
		ctx, cancel := context.WithTimeout(ctx, checkpointTimeout)
		defer cancel()
		shell, flag := "sh", "-c"
		if runtime.GOOS == "windows" {
			shell, flag = "cmd", "/c"
		}
		cmd := exec.CommandContext(ctx, shell, flag, command)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.Text), a.stderr, a.stderr
		cmd.Env = append(os.Environ(), "CAMPAIGND_ORIGIN="+c.Origin, "CAMPAIGND_EVENTS="+strconv.FormatUint(uint64(c.Events), 10))
		cmd.WaitDelay = time.Second
		if err := cmd.Run(); err != nil {
			errs = append(errs, fmt.Errorf("the command %q: %w", command, err))
		}
	}
	return errors.Join(errs...)
}

// keepCheckpoint writes a checkpoint in place of an earlier one, unless that one
// shows that the log was tampered with: then it is what must be kept.
func keepCheckpoint(log *pebblelog.Log, c *checkpointed, file string) error {
	old, err := readCheckpoint(file, nil)
	switch {
	case err == nil:
		problem, err := compareCheckpoint(log, c.id, old.Checkpoint)
		if err != nil {
			return err
		}
		if problem != "" {
			return fmt.Errorf("%s stays as it was: %s", file, problem)
		}
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s stays as it was: %w", file, err)
	}
	return wholefile.Replace(file, []byte(c.Text), 0o644)
}

// readAll reads a file that is not longer than one of ours can be.
func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 64<<20+1))
}
