package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/internal/view/report"
)

// reported is the document of `report --json`.
type reported struct {
	Campaign string `json:"campaign"`
	Report   string `json:"report"`
}

// reportCommand is `campaignd report`.
//
// A run writes the report by itself at its end; this is for a campaign that is still going on, or
// whose report was lost.
//
// The log is opened as it is on the disk, whether a process holds it or not, so that a run is not
// disturbed. The report of a campaign of a server is made by the server, from the files that it can
// read.
var reportCommand = command{
	name: "report",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var output string
		flags.StringVarP(&output, "output", "o", "", "the `file` to write (default: report.html next to the store, "+
			"and STORE.report.html where another campaign's is there)")
		return func(c *call, args []string) error {
			t, err := c.optionalTarget(args)
			if err != nil {
				return err
			}
			write := reportHere
			if t.remote {
				write = reportRemote
			}
			name, err := write(c, t, &output)
			if err != nil {
				return err
			}
			return c.present(reported{Campaign: name, Report: output}, func() { c.printf("Wrote %s\n", output) })
		}
	},
}

// reportHere writes the report of a store, and returns the campaign's name. Where
// no output is chosen it is kept next to the store.
func reportHere(c *call, t target, output *string) (name string, err error) {
	if err := holdsCampaigns(t); err != nil {
		return "", err
	}
	log, err := openCopy(t.store)
	if err != nil {
		return "", err
	}
	defer log.Close()
	if name = t.campaign; name == "" {
		if name, err = onlyOf(log.Campaigns(c.ctx)); err != nil {
			return "", err
		}
	}
	mode := fs.FileMode(0o644) // --output: a report to be given to others
	if *output == "" {
		*output, mode = reportPath(t.store, name), storeMode(t.store)
	}
	checkpoint := c.checkpointText(c.ctx, log)
	return name, c.writeReport(c.ctx, log, name, t.store, *output, checkpoint, mode)
}

// reportPath is the place of a campaign's report: report.html next to the store. Where that is the
// report of another campaign, by its title, it is left alone, and this one is named after its
// store: "electrolyte.report.html".
//
// report.html begins with its title; a page of another program is left alone as well.
func reportPath(address, name string) string {
	if store.InDatabase(address) {
		return name + ".report.html"
	}
	address = filepath.Clean(address)
	path := filepath.Join(filepath.Dir(address), "report.html")
	f, err := os.Open(path)
	if err != nil {
		return path
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	if title := fmt.Sprintf("<title>%s ", name); strings.Contains(string(head[:n]), title) {
		return path
	}
	return strings.TrimSuffix(address, store.Ending) + ".report.html"
}

// storeMode is the permissions of a file that a campaign leaves next to its store: readers of the
// store may read it, and no one else. A report has the content of the log, and so is as private.
func storeMode(store string) fs.FileMode {
	info, err := os.Stat(store)
	if err != nil {
		return 0o600
	}
	return info.Mode().Perm() & 0o666
}

// writeReport writes the report of a campaign, with a checkpoint of its log.
// The file is replaced as a whole: a reader never sees half of it. Advice in it
// names commands for this store.
func (a *app) writeReport(
	ctx context.Context, log events.Log, name, store, path, checkpoint string, mode fs.FileMode,
) error {
	return wholefile.Write(path, mode, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		in := report.Input{
			Registry:   a.registry,
			Log:        log,
			Campaign:   name,
			Store:      store,
			Folder:     filepath.Dir(store),
			Checkpoint: checkpoint,
			Advise:     commands{store: store}.advice,
		}
		if err := report.Write(ctx, w, in); err != nil {
			return err
		}
		return w.Flush()
	})
}
