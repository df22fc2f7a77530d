package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/report"
)

// reported is what `report --json` prints.
type reported struct {
	Campaign string `json:"campaign"`
	Report   string `json:"report"`
}

func (a *app) reportCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "report [TARGET]",
		Short: "Write report.html again: one self-contained file for people",
		Example: `  campaignd report electrolyte.campaign
  campaignd report --output group-meeting.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, s, err := a.openToRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.close()
			if output == "" {
				output = reportPath(t.store, s.name)
			}
			text := ""
			if s.own != nil {
				text = a.checkpointText(cmd.Context(), s.own)
			}
			if err := writeReport(cmd.Context(), s.log, s.name, t.store, output, text); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(reported{Campaign: s.name, Report: output})
			}
			a.printf("Wrote %s\n", output)
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the `file` to write (default: report.html beside the store)")
	return cmd
}

// reportPath is where a campaign's report is: report.html beside the store. A
// report of another campaign that is there stays: this one is then called after
// its store, "electrolyte.report.html".
func reportPath(store, name string) string {
	store = filepath.Clean(store)
	path := filepath.Join(filepath.Dir(store), "report.html")
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
	return strings.TrimSuffix(store, storeEnding) + ".report.html"
}

// writeReport writes the report of a campaign, with a checkpoint of its log. A file that is there stays as
// it is until the new one is whole.
func writeReport(ctx context.Context, log events.Log, name, store, path, checkpoint string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*.html")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	if err := report.Write(ctx, w, report.Input{Log: log, Campaign: name, Store: shellArg(store), Checkpoint: checkpoint}); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
