package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/study/simulate"
)

// merging is the flags of one `campaignd simulate merge`.
type merging struct {
	simulation
	// folders are those that were named, besides the study's own.
	folders []string
	// incomplete is set where the results so far are to be compared.
	incomplete bool
}

// mergeCommand is `campaignd simulate merge`.
var mergeCommand = command{
	name: "merge",
	args: cobra.MinimumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var m merging
		m.chosen(flags)
		flags.BoolVar(&m.incomplete, "incomplete", false, "compare the campaigns that are there, although some are missing")
		return func(c *call, args []string) error {
			m.app = c.app
			m.path = args[0]
			m.folders = args[1:]
			return m.run(c.ctx)
		}
	},
}

// run unites the results and compares them.
func (m *merging) run(ctx context.Context) error {
	study, err := m.open(ctx)
	if err != nil {
		return err
	}
	// Shards of the study's own folder always count: those that a message wants run again are found
	// there.
	folders, err := simulate.FoldersOfShards(m.out)
	var refused *simulate.RefusedError
	if none := errors.As(err, &refused); err != nil && (!none || len(m.folders) == 0) {
		return notOpened(err)
	}
	for _, path := range m.folders {
		found, err := simulate.FoldersOfShards(path)
		if err != nil {
			return notOpened(err)
		}
		folders = append(folders, found...)
	}
	results, err := simulate.OpenResults(m.out)
	if err != nil {
		return notOpened(err)
	}
	defer results.Close()
	merged, err := study.Merge(results, m.out, folders, m.incomplete)
	var missing *simulate.MissingError
	switch {
	case errors.As(err, &refused):
		return linesError{inputError{fmt.Errorf("these results cannot be merged:\n%w", err)}}
	case errors.As(err, &missing) && !m.incomplete:
		return linesError{fmt.Errorf("%w, and nothing was merged; wait for shards that still run, or run them again:\n%s",
			err, m.toRun(study, missing))}
	case err != nil && missing == nil:
		return err
	}
	if merged.Others > 0 {
		m.remark("%s of campaigns that the study does not have are left out.", format.Count(merged.Others, "result"))
	}
	did := fmt.Sprintf("%s from %s, %d of them new", format.Count(merged.Held, "campaign"),
		format.Count(merged.Folders, "folder"), merged.Added)
	if err := m.compare(study, results, studied{Merged: merged.Added}, did); err != nil {
		return err
	}
	if missing != nil {
		return m.afterwards(fmt.Errorf("%w, and the others are compared without their seeds:\n%s", missing,
			m.toRun(study, missing)))
	}
	return nil
}

// mostMissing is how many missing campaigns of a shard are named.
const mostMissing = 3

// toRun lists the missing campaigns by shard, with the commands that run them.
func (m *merging) toRun(study *simulate.Study, missing *simulate.MissingError) string {
	named := func(units []simulate.Unit) string {
		var names []string
		for _, u := range units[:min(mostMissing, len(units))] {
			names = append(names, study.Named(u))
		}
		text := strings.Join(names, "; ")
		if more := len(units) - mostMissing; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		return text
	}
	var lines []string
	if missing.Of == 0 {
		lines = append(lines, "  "+named(missing.Units))
	} else {
		shards, units := missing.ByShard()
		for _, sh := range shards {
			whole := "missing"
			if n := len(study.Part(sh).Units); n > len(units[sh]) {
				whole = fmt.Sprintf("%d of %d missing", len(units[sh]), n)
			}
			lines = append(lines, fmt.Sprintf("  shard %s, %s: %s", sh, whole, named(units[sh])),
				fmt.Sprintf("    %s --shard %s", m.into("campaignd simulate"), sh))
		}
	}
	lines = append(lines, fmt.Sprintf("  or all of them here: merge with --incomplete, and %s",
		m.into("campaignd simulate")))
	return strings.Join(lines, "\n")
}
