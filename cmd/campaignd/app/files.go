package app

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// filesListed is the document of `files --json`.
type filesListed struct {
	Files []campaign.File `json:"files"`
}

// filesCommand is `campaignd files`.
var filesCommand = command{
	name: "files",
	args: cobra.MaximumNArgs(2),
	new: func(flags *pflag.FlagSet) runner {
		var o filesAsked
		flags.StringVar(&o.get, "get", "", "write the bytes of this `file`, as in f3")
		flags.StringVarP(&o.output, "output", "o", "", "with --get: the `path` to write to (default: standard output)")
		flags.BoolVar(&o.all, "all", false, "list those that were withdrawn, too")
		flags.BoolVar(&o.clean, "clean", false, "remove what no event names")
		return func(c *call, args []string) (err error) {
			o.call = c
			if args, o.experiment, err = lastExperiment(c, args); err != nil {
				return err
			}
			if o.clean {
				t, err := c.optionalTarget(args)
				if err != nil {
					return err
				}
				return o.cleanFiles(t)
			}
			return c.reading(args, func(_ target, s *session, core *engine.Core) error {
				if o.get != "" {
					return o.getFile(s, core.State())
				}
				if o.experiment != "" {
					if err := known(core.State(), o.experiment); err != nil {
						return err
					}
				}
				return o.list(core.State())
			})
		}
	},
}

// filesAsked is one call of `campaignd files`.
type filesAsked struct {
	*call
	experiment, get, output string
	all, clean              bool
}

// list prints the files of an experiment, or of all.
func (a *filesAsked) list(s *campaign.State) error {
	listed := filesListed{Files: []campaign.File{}}
	for _, f := range s.Files {
		if (a.all || !f.Withdrawn) && (a.experiment == "" || f.Experiment == a.experiment) {
			listed.Files = append(listed.Files, f)
		}
	}
	if a.json {
		return a.printJSON(listed)
	}
	if len(listed.Files) == 0 {
		a.printf("No file is attached; `campaignd attach` adds one.\n")
	}
	for _, f := range listed.Files {
		of := f.Experiment
		if of == "" {
			of = "the campaign"
		}
		line := view.AttachmentText(f.ID, f.Attachment) + ", of " + of + ", by " + events.ActorName(f.Actor)
		if f.Withdrawn {
			line += "; withdrawn: " + f.Reason
		}
		if f.Comment != "" {
			line += ": " + f.Comment
		}
		a.printf("%s\n", line)
	}
	return nil
}

// getFile writes the bytes of a file to a path, whole or not at all, or to
// standard output.
func (a *filesAsked) getFile(s *session, state *campaign.State) error {
	if err := knownFile(state, a.get); err != nil {
		return err
	}
	f := state.File(a.get)
	if !f.Kept() {
		return badInput("%s is not kept here: it stays at %s", a.get, f.URI)
	}
	content, err := s.OpenFile(a.ctx, s.name, f)
	if err != nil {
		return err
	}
	defer content.Close()
	write := func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	}
	if a.output == "" {
		return write(a.stdout)
	}
	return wholefile.Write(a.output, 0o644, write)
}

// cleanFiles removes the files that no event of a store names. It holds the store, so that no event
// names one meanwhile.
func (a *filesAsked) cleanFiles(t target) error {
	if t.remote {
		return badInput("--clean works on a store of this machine, and --server names the server %s", a.server)
	}
	if err := holdsCampaigns(t); err != nil {
		return err
	}
	local, err := a.openLocal(a.ctx, t.store, lab.LocalOptions{MustExist: true})
	if err != nil {
		return err
	}
	defer local.Close()
	files, err := store.OpenFiles(t.store)
	if err != nil {
		return storeError{err}
	}
	defer files.Close()
	unnamed, err := attest.UnnamedFiles(a.ctx, local.Log(), files)
	if err != nil {
		return err
	}
	if err := files.Remove(a.ctx, unnamed); err != nil {
		return storeError{err}
	}
	var size int64
	for _, u := range unnamed {
		size += u.Size
	}
	a.printf("Removed %s that no event names, %s.\n", format.Count(len(unnamed), "file"), format.Bytes(size))
	return nil
}
