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
	"github.com/spf13/pflag"
	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
)

// checkpointCommand is `campaignd checkpoint`: checkpoints, proofs, and the key
// that signs them.
//
// What is printed is the file itself, so that > writes it whole; remarks go to
// standard error.
var checkpointCommand = command{
	name: "checkpoint",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var o checkpointing
		flags.StringVar(&o.key, "new-key", "",
			"make your key pair, under this `name` (usually a domain of the lab), and print the verifier key")
		flags.StringVar(&o.sign, "sign-with", "", "sign with the private key in this `file` instead of yours")
		flags.StringVar(&o.prove, "prove", "", "prove that an `event` is in the log: e7, q3, d12 or a position")
		flags.StringVar(&o.from, "from", "", "prove that the log has only grown since the checkpoint in this `file`")
		flags.StringVarP(&o.output, "output", "o", "", "the `file` to write, instead of standard output")
		return func(c *call, args []string) error {
			o.call = c
			return o.run(args)
		}
	},
}

// checkpointing is one call of `campaignd checkpoint`.
type checkpointing struct {
	*call
	key, prove, from, output, sign string
}

func (a *checkpointing) run(args []string) error {
	if a.key != "" {
		if len(args) > 0 || a.prove != "" || a.from != "" {
			return badInput("--new-key goes alone: the key is yours, not a store's")
		}
		return a.makeKey()
	}
	if a.prove != "" && a.from != "" {
		return badInput("--prove and --from write different files: ask for one at a time")
	}
	t, err := a.optionalTarget(args)
	if err != nil {
		return err
	}
	var made *attest.Checkpoint
	switch {
	case t.remote && a.sign != "":
		return badInput("--sign-with signs here, and a server signs with its own key")
	case t.remote:
		made, err = a.checkpointRemote(t)
	default:
		made, err = a.checkpoint(t)
	}
	if err != nil {
		return err
	}
	return a.write(made, t)
}

// write writes a checkpoint to a file, or to standard output.
func (a *checkpointing) write(made *attest.Checkpoint, t target) error {
	switch {
	case made.SignedBy != "":
	case t.remote:
		a.remark("Not signed: the server has no key. It is worth what the place is where you keep it.")
	default:
		a.remark("Not signed: there is no key. `campaignd checkpoint --new-key NAME` makes one; " +
			"until then it is worth what the place is where you keep it.")
	}
	if a.output != "" {
		if err := wholefile.Replace(a.output, []byte(made.Text), 0o644); err != nil {
			return err
		}
	}
	return a.present(made, func() {
		if a.output != "" {
			a.printf("Wrote %s\n", a.output)
		} else {
			fmt.Fprint(a.stdout, made.Text)
		}
	})
}

// keyMade is the document of `checkpoint --new-key --json`. Private is the path
// of the private key, never the key itself.
type keyMade struct {
	Verifier string `json:"verifier"`
	Private  string `json:"private"`
}

// makeKey makes the user's key pair and prints the verifier key. The verifier key alone goes to
// standard output: that one is handed on.
func (a *checkpointing) makeKey() error {
	path, public, err := newKey(a.key)
	if err != nil {
		return err
	}
	return a.present(keyMade{Verifier: public, Private: path}, func() {
		a.printf("%s\n", public)
		a.remark("This is the verifier key: give it to the people who check your checkpoints, and have "+
			"them keep it.\nThe private key is in %s. Back it up; everyone who has it can sign in your name.", path)
	})
}

// checkpoint makes a checkpoint of a store as it is on disk, or a proof with one. The key is read
// first: a bad one is found before the log is hashed.
//
// The log is read as it is on the disk, so that a process that runs the campaign has no part in the
// result.
func (a *checkpointing) checkpoint(t target) (*attest.Checkpoint, error) {
	key, err := signer(a.sign)
	if err != nil {
		return nil, err
	}
	log, err := openCopy(t.store)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c, err := attest.TakeCheckpoint(a.ctx, log, key)
	switch {
	case err != nil:
		return nil, err
	case a.prove != "":
		return c, a.proof(t, log, c)
	case a.from != "":
		return c, extend(a.ctx, log, c, a.from)
	}
	return c, nil
}

// proof adds to a checkpoint the proof that the event a person names is in the
// log.
//
// An experiment stands for the event with its result, a question for its answer,
// a decision for its record; attest.Find knows which.
func (a *checkpointing) proof(t target, log events.Store, c *attest.Checkpoint) error {
	name := t.campaign
	// A position is one of the whole log, whichever streams it has.
	if _, err := strconv.ParseUint(a.prove, 10, 63); name == "" && err != nil {
		if name, err = onlyOf(log.Campaigns(a.ctx)); err != nil {
			return err
		}
	}
	e, err := attest.Find(a.ctx, log, name, a.prove)
	if err != nil {
		return fmt.Errorf("--prove %s: %w", a.prove, err)
	}
	a.remark("Proved is %s, at position %d.", e.Kind, e.Position)
	return c.Prove(a.ctx, log, e.Position)
}

// extend adds to a checkpoint the proof that the log extends the checkpoint in a file. Where it
// does not, the answer is "no". The earlier checkpoint need not be signed: the proof shows the
// relation of the two, and not their makers.
func extend(ctx context.Context, log events.Store, c *attest.Checkpoint, file string) error {
	old, err := readCheckpoint(file, nil)
	if err != nil {
		return err
	}
	problem, err := c.Extend(ctx, log, old.Checkpoint)
	if problem != "" {
		return fmt.Errorf("%w%s: %s", errNo, file, problem)
	}
	return err
}

// readCheckpoint reads the checkpoint in a file, which may be a proof. Its signatures are checked
// with the known keys; those that cannot be checked are listed in it. An error of reading the file
// is returned as it is, so that a caller can distinguish a missing file from one without a
// checkpoint.
func readCheckpoint(file string, known []note.Verifier) (attest.Earlier, error) {
	text, err := readAll(file)
	if err != nil {
		return attest.Earlier{}, err
	}
	c, err := attest.ReadCheckpoint(text, known...)
	if err != nil {
		return attest.Earlier{}, badInput("%s: %w", file, err)
	}
	return attest.Earlier{File: file, Checkpoint: c}, nil
}

// checkpointTimeout is how long the command that is given a checkpoint may
// take: it holds up the end of a run.
const checkpointTimeout = time.Minute

// checkpointOf makes a checkpoint with the user's key. Where the key cannot be
// used the checkpoint is unsigned, with a remark: it is worth more than none.
func (a *app) checkpointOf(ctx context.Context, log events.Store) (*attest.Checkpoint, error) {
	key, err := signer("")
	if err != nil {
		a.remark("The checkpoint is not signed: %v", err)
	}
	return attest.TakeCheckpoint(ctx, log, key)
}

// checkpointText is the text of [app.checkpointOf], empty where it could not be made. A report is
// then written without it.
func (a *app) checkpointText(ctx context.Context, log events.Store) string {
	c, err := a.checkpointOf(ctx, log)
	if err != nil {
		return ""
	}
	return c.Text
}

// keeping says where the checkpoint of an ended campaign goes: into a file, and
// to a shell command on its standard input. The zero value keeps none.
type keeping struct{ file, command string }

// checkpointCommandVariable names the command for all runs of a user.
const checkpointCommandVariable = "CAMPAIGND_CHECKPOINT_COMMAND"

// handOver writes a checkpoint to the file and gives it to the command, whichever are set. If one
// fails the other is still tried.
//
// The command finds the checkpoint on standard input and its origin and size in the environment. It
// is the user's own, with the user's rights.
func (a *app) handOver(
	ctx context.Context, log events.Store, c *attest.Checkpoint, keep keeping,
) error {
	var errs []error
	if keep.file != "" {
		errs = append(errs, keepCheckpoint(ctx, log, c, keep.file))
	}
	if command := keep.command; command != "" {
		ctx, cancel := context.WithTimeout(ctx, checkpointTimeout)
		defer cancel()
		shell, flag := "sh", "-c"
		if runtime.GOOS == "windows" {
			shell, flag = "cmd", "/c"
		}
		cmd := exec.CommandContext(ctx, shell, flag, command)
		cmd.Stdin = strings.NewReader(c.Text)
		// The command's output is a remark of this one: standard output may be
		// the one JSON document.
		cmd.Stdout = a.stderr
		cmd.Stderr = a.stderr
		cmd.Env = append(os.Environ(), "CAMPAIGND_ORIGIN="+c.Origin,
			"CAMPAIGND_EVENTS="+strconv.FormatUint(uint64(c.Events), 10))
		// A child of the shell may keep its output open after the shell has
		// been killed; it is not waited for longer than this.
		cmd.WaitDelay = time.Second
		if err := cmd.Run(); err != nil {
			errs = append(errs, fmt.Errorf("the command %q: %w", command, err))
		}
	}
	return errors.Join(errs...)
}

// keepCheckpoint replaces an earlier checkpoint in a file, unless the earlier one contradicts the
// log: then that one is the evidence, and stays.
//
// A file without a checkpoint is not overwritten either: it may have been named by mistake.
func keepCheckpoint(
	ctx context.Context, log events.Store, c *attest.Checkpoint, file string,
) error {
	old, err := readCheckpoint(file, nil)
	switch {
	case err == nil:
		problem, err := c.Contradicts(ctx, log, old.Checkpoint)
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

// readAll reads a file, or a pipe, of at most 64 MiB, far above any that this
// program writes: a path given by mistake must not fill the memory.
func readAll(path string) ([]byte, error) {
	f, err := input.Open(path, 64<<20)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return input.Text(data), err // a shell of Windows may have written it
}
