package app

import (
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/bundle"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/projections/campaign"
)

// exportCommand is `campaignd export`.
//
// The two forms are for different readers: a table has the state that counts now, JSON Lines every
// event that ever happened.
var exportCommand = command{
	name: "export",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var o exporting
		flags.StringVar(&o.format, "format", "csv", "csv or jsonl")
		flags.StringVar(&o.whole, "bundle", "", "write everything, attached files included, into this `folder` or file.zip")
		flags.StringVar(&o.crate, "crate", "", "write everything as an RO-Crate into this `folder`, file.zip or file.eln")
		flags.StringVar(&o.to, "to", "", "move the store to this `address`: a folder, or postgres://USER@HOST/DATABASE/STORE")
		flags.BoolVar(&o.backup, "copy", false, "with --to: copy the store as it is now, and leave it")
		flags.StringVar(&o.license, "license", "", "with --crate: the `URI` of the license under which it is given away")
		return func(c *call, args []string) error {
			o.call = c
			return o.run(args)
		}
	},
}

// exporting is one call of `campaignd export`.
type exporting struct {
	*call
	format, whole, crate, license, to string
	backup                            bool
}

func (a *exporting) run(args []string) error {
	whole, formatted := a.whole+a.crate != "", a.cmd.Flags().Changed("format")
	switch {
	case a.license != "" && a.crate == "":
		return badInput("--license goes with --crate, which says it")
	case a.whole != "" && a.crate != "", whole && formatted:
		return badInput("give one of --format, --bundle and --crate")
	case a.backup && a.to == "":
		return badInput("--copy goes with --to, which says where")
	case a.to != "" && (whole || formatted):
		return badInput("--to takes everything as it is: give it without --format, --bundle and --crate")
	case a.to != "":
		t, err := a.optionalTarget(args)
		if err != nil {
			return err
		}
		return a.exportStore(t)
	case a.format != "csv" && a.format != "jsonl":
		return badInput("--format is csv or jsonl, not %q", a.format)
	}
	_, s, err := a.openToRead(a.ctx, args)
	if err != nil {
		return err
	}
	defer s.Close()
	if a.format == "jsonl" {
		return events.WriteCloudEvents(a.stdout, events.ReadCampaign(a.ctx, s.Log(), s.name, 0))
	}
	core, err := s.core(a.ctx)
	if err != nil {
		return err
	}
	if whole {
		return a.exportBundle(s, core.State())
	}
	return exchange.TableOf(core.State()).WriteCSV(a.stdout)
}

// exportBundle writes all data of a campaign, as a bundle or as an RO-Crate, into a folder or, by
// its ending, a zip archive.
func (a *exporting) exportBundle(s *session, state *campaign.State) (err error) {
	all := func() iter.Seq2[events.Event, error] { return events.ReadCampaign(a.ctx, s.Log(), s.name, 0) }
	source := bundle.Source{
		State: state,
		Log:   func(w io.Writer) error { return events.WriteCloudEvents(w, all()) },
		Open:  func(f *campaign.File) (io.ReadCloser, error) { return s.OpenFile(a.ctx, s.name, f) },
	}
	to, entries := a.whole, bundle.Entries(source)
	if a.crate != "" {
		said := bundle.Provenance{License: a.license, Version: thisBuild().Version}
		if err := said.Read(all()); err != nil {
			return err
		}
		to, entries = a.crate, bundle.Crate(source, said)
	}
	root := s.name
	if ending := filepath.Ext(to); ending == ".eln" {
		root = strings.TrimSuffix(filepath.Base(to), ending) // as the format of the consortium has it
	}
	switch filepath.Ext(to) {
	case ".zip", ".eln":
		err = wholefile.Write(to, 0o644, func(w io.Writer) error { return bundle.WriteZip(w, root, entries) })
	default:
		err = bundle.WriteFolder(to, entries)
	}
	if err != nil {
		return err
	}
	a.remark("Wrote %s: %s.", to, format.Count(len(entries), "file"))
	return nil
}
