package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// verifyCommand is `campaignd verify`.
//
// It opens no store and asks no server, and can be run by someone who has neither. Its judgement of
// a file follows from the files and from the known keys.
var verifyCommand = command{
	name: "verify",
	args: cobra.MinimumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var keys []string
		flags.StringArrayVar(&keys, "key", nil, "a verifier `key`, or a file with one; may be repeated")
		return func(c *call, args []string) error {
			known, err := verifiers(keys)
			if err != nil {
				return err
			}
			var texts []attest.Text
			for _, path := range args {
				text, err := readAll(path)
				if err != nil {
					return inputError{err}
				}
				texts = append(texts, attest.Text{File: path, Bytes: text})
			}
			v := attest.VerifyFiles(texts, known, len(keys) > 0)
			for _, f := range v.Files {
				if f.Unknown {
					f.Problem += ": give it with --key"
				}
			}
			err = c.present(v, func() { printVerified(c.app, v) })
			if err == nil && !v.Hold() {
				err = errReported
			}
			return err
		}
	},
}

// printVerified prints a line for each file, and at the end each pair of checkpoints that
// contradict each other. A proof names its log, by origin, size and root: two proofs of different
// logs both hold.
func printVerified(a *app, v *attest.Files) {
	for _, f := range v.Files {
		if f.Problem != "" {
			a.printf("%s: DOES NOT HOLD: %s\n", f.File,
				strings.TrimPrefix(f.Problem, "checkpoint: invalid: "))
			continue
		}
		of := fmt.Sprintf("%s, %s, root hash %s; %s",
			f.Origin, format.Count(int(f.Events), "event"), f.Root, signedBy(f.SignedBy, f.Unchecked))
		switch f.What {
		case "inclusion":
			a.printf("%s: position %d of the log is this event.\n  %s\n  %s\n", f.File, f.Position,
				f.Event, of)
		case "consistency":
			a.printf("%s: the log has only grown since it had %s.\n  %s\n",
				f.File, format.Count(int(f.Grown), "event"), of)
		default:
			a.printf("%s: %s\n", f.File, of)
		}
	}
	for _, fork := range v.Forks {
		a.printf("FORK: %s\n", fork)
	}
}
