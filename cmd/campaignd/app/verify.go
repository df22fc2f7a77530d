package app

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/checkpoint"
	"github.com/campaignd/campaignd/internal/format"
)

// verifiedFile is what `verify` found in one file.
type verifiedFile struct {
	File string `json:"file"`
	// What is "checkpoint", "inclusion" or "consistency".
	What   string `json:"what,omitempty"`
	Origin string `json:"origin,omitempty"`
	Events int64  `json:"events,omitempty"`
	Root   string `json:"root,omitempty"`
	// SignedBy are the keys whose signatures were checked, Unchecked the others.
	SignedBy  []string `json:"signed_by,omitempty"`
	Unchecked []string `json:"unchecked,omitempty"`
	// Event is the event that a proof of inclusion is about, as a CloudEvent.
	Event json.RawMessage `json:"event,omitempty"`
	// Problem is why the file proves nothing; empty where it holds.
	Problem string `json:"problem,omitempty"`

	decoded checkpoint.File
	head    checkpoint.Checkpoint
	event   events.Event
}

// verified is what `verify --json` prints.
type verified struct {
	Files []*verifiedFile `json:"files"`
	// Forks says which checkpoints contradict each other.
	Forks []string `json:"forks,omitempty"`
}

func (v *verified) holds() bool {
	for _, f := range v.Files {
		if f.Problem != "" {
			return false
		}
	}
	return len(v.Forks) == 0
}

func (a *app) verifyCommand() *cobra.Command {
	var keys []string
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check checkpoints and proofs, without any store",
		Long: `Check files that ` + "`campaignd checkpoint`" + ` wrote: signatures of checkpoints, proofs that
an event is in a log, and proofs that a log has only grown. No store is needed, and
nothing is believed but the keys: give those of the lab with --key; your own is
known.

A proof that a log has only grown needs the earlier checkpoint beside it. Where two
checkpoints of one log contradict each other, that is said. Exits 1 where anything
does not hold, or is signed by a key that is not known.`,
		Example: `  campaignd verify electrolyte.checkpoint --key lab.example.org+8d2f…
  campaignd verify e7.tlog-proof --key lab.pub
  campaignd verify electrolyte.checkpoint growth.proof --key lab.pub`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := verifiers(keys)
			if err != nil {
				return err
			}
			v, err := verifyFiles(args, known, len(keys) > 0)
			if err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(v)
			} else {
				a.printVerified(v)
			}
			if err == nil && !v.holds() {
				err = errReported
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&keys, "key", nil, "a verifier `key`, or a file with one; may be repeated")
	return cmd
}

// verifyFiles checks each file, and those that belong together. Where a key was
// given, what nobody has signed is refused.
func verifyFiles(paths []string, known []note.Verifier, mustSign bool) (*verified, error) {
	v := &verified{}
	for _, path := range paths {
		msg, err := readAll(path)
		if err != nil {
			return nil, inputError{err}
		}
		f := &verifiedFile{File: path}
		f.read(msg, known, mustSign)
		v.Files = append(v.Files, f)
	}
	for _, f := range v.Files {
		if f.Problem == "" && f.decoded.Consistency != nil {
			f.Problem = v.consistent(f)
		}
	}
	for i, f := range v.Files {
		for _, g := range v.Files[:i] {
			if f.Problem == "" && g.Problem == "" && f.head.Tree.N == g.head.Tree.N && f.head.Tree != g.head.Tree && checkpoint.SameLog(f.head.Origin, g.head.Origin) {
				v.Forks = append(v.Forks, fmt.Sprintf("%s and %s are both of %s with %d events, and differ: somebody keeps two logs under one name",
					g.File, f.File, f.head.Origin, f.head.Tree.N))
			}
		}
	}
	return v, nil
}

// read decodes a file and checks what can be checked of it alone.
func (f *verifiedFile) read(msg []byte, known []note.Verifier, mustSign bool) {
	var err error
	if f.decoded, err = checkpoint.Decode(msg); err != nil {
		f.Problem = err.Error()
		return
	}
	text := f.decoded.Checkpoint
	f.What = "checkpoint"
	switch {
	case f.decoded.Inclusion != nil:
		f.What, text = "inclusion", f.decoded.Inclusion.Checkpoint
	case f.decoded.Consistency != nil:
		f.What, text = "consistency", f.decoded.Consistency.Checkpoint
	}
	if f.head, err = checkpoint.Read(text, known...); err != nil {
		f.Problem = err.Error()
		return
	}
	f.Origin, f.Events, f.Root = f.head.Origin, f.head.Tree.N, f.head.Tree.Hash.String()
	f.SignedBy, f.Unchecked = f.head.Signed, f.head.Unchecked
	switch {
	case len(f.SignedBy) == 0 && len(f.Unchecked) > 0:
		f.Problem = fmt.Sprintf("it is signed in the name of %s, whose key is not known here: give it with --key", strings.Join(f.Unchecked, " and "))
	case len(f.SignedBy) == 0 && mustSign:
		f.Problem = "nobody has signed it"
	case f.decoded.Inclusion != nil:
		if f.event, err = f.decoded.Inclusion.Check(f.head.Tree); err == nil {
			f.Event, err = events.MarshalCloudEvent(f.event)
		}
		if err != nil {
			f.Problem = err.Error()
		}
	}
}

// consistent checks a proof of consistency with the earlier checkpoint that is
// among the files, and says what is wrong.
func (v *verified) consistent(f *verifiedFile) string {
	p := f.decoded.Consistency
	for _, g := range v.Files {
		if g == f || g.Problem != "" || g.head.Tree.N != p.Old || !checkpoint.SameLog(g.head.Origin, f.head.Origin) {
			continue
		}
		if err := p.Check(g.head.Tree, f.head.Tree); err != nil {
			return err.Error()
		}
		return ""
	}
	return fmt.Sprintf("it needs the earlier checkpoint, of %d events of %s, among the files", p.Old, f.head.Origin)
}

func (a *app) printVerified(v *verified) {
	for _, f := range v.Files {
		if f.Problem != "" {
			a.printf("%s: DOES NOT HOLD: %s\n", f.File, strings.TrimPrefix(f.Problem, "checkpoint: invalid: "))
			continue
		}
		of := fmt.Sprintf("%s, %s, root hash %s; %s", f.Origin, format.Count(int(f.Events), "event"), f.Root, signedBy(f.SignedBy, f.Unchecked))
		switch f.What {
		case "inclusion":
			a.printf("%s: position %d of the log is this event.\n  %s\n  %s\n", f.File, f.event.Position, f.Event, of)
		case "consistency":
			a.printf("%s: the log has only grown since it had %s.\n  %s\n", f.File, format.Count(int(f.decoded.Consistency.Old), "event"), of)
		default:
			a.printf("%s: %s\n", f.File, of)
		}
	}
	for _, fork := range v.Forks {
		a.printf("FORK: %s\n", fork)
	}
}
