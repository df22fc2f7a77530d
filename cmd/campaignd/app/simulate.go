package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/study/page"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/wholefile"
)

// studyEnding is the ending of the name of a study's folder.
const studyEnding = ".study"

// simulation is the flags of one `campaignd simulate`. The app is embedded for
// its streams, flags and registry.
type simulation struct {
	*app
	path string
	// size is the key of one of the file's sizes, empty for none of them.
	size string
	// seeds is --seeds as typed: a count or a range.
	seeds   string
	out     string
	workers int
}

// simulateCommand is `campaignd simulate`.
//
// It shares nothing with the stores of campaigns but reading them (openPast):
// campaigns of a study live in memory.
func (a *app) simulateCommand() *cobra.Command {
	s := simulation{app: a}
	cmd := &cobra.Command{
		Use:   "simulate STUDY",
		Short: "Compare policies on tasks, over many simulated campaigns",
		Long: `Run a study: the campaigns of every policy, with and without synthetic experts,
on every task, over common seeds; and say which serves best.

STUDY is a YAML file. Its policies and experts are written exactly as in a
campaign file. Its tasks are test functions, CSV tables, campaign files, or stores
of campaigns that have been run: what if there had been no expert, an adversary,
another policy? There the log answers where it holds the composition, and
elsewhere a surrogate fitted to all its measurements; the output says how often.

Arms are compared by simple regret: how much worse than the optimum the best
composition measured so far truly is. Of a trade-off, by what the compositions
measured so far leave uncovered of the greatest hypervolume, in per cent.
Compositions that truly break a bound on outcomes count for nothing.

Campaigns run in memory, on all cores. Each finished one is kept in the study's
folder, NAME.study next to the file: Ctrl-C leaves, the same command goes on, and
after a change of the file only what changed is run. At the end the folder holds

  report.html      regret curves, paired differences, labels, trust, ranks, times
  summary.csv      a row for each task and arm
  ratios.csv       the regret along the campaigns, over all tasks
  experiments.csv  a row for each experiment of each campaign
  times.csv        how long each suggestion took
  results.jsonl    what was kept of each campaign

All of them but the times follow from the study and its seeds, whatever the
number of workers.`,
		Example: `  campaignd simulate examples/studies/electrolyte.yaml --size quick
  campaignd simulate examples/studies/no-harm.yaml --seeds 1001-1060
  campaignd simulate whatif.yaml --out /tmp/whatif --workers 1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.path = args[0]
			return s.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&s.size, "size", "",
		"run this `size` of the study, one of those it names (default: as the file stands)")
	cmd.Flags().StringVar(&s.seeds, "seeds", "", "seeds instead of the file's: a `count`, or first-last")
	cmd.Flags().StringVarP(&s.out, "out", "o", "",
		"the study's `folder` (default NAME.study next to the file)")
	cmd.Flags().IntVar(&s.workers, "workers", runtime.GOMAXPROCS(0), "how many campaigns run at once")
	return cmd
}

// studied is the document of `simulate --json`. Its numbers are those of the
// page.
type studied struct {
	Study     string        `json:"study"`
	Folder    string        `json:"folder"`
	Report    string        `json:"report"`
	Campaigns int           `json:"campaigns"`
	Ran       int           `json:"ran"` // by this command; the others had been run
	Arms      []studiedArm  `json:"arms"`
	Ranks     []studiedRank `json:"ranks"`
}

// studiedRank is the mean rank of an arm over all tasks and seeds; 1 is best.
type studiedRank struct {
	Arm  string  `json:"arm"`
	Rank float64 `json:"rank"`
}

// studiedArm is an arm on a task: the mean simple regret over seeds in the
// objective's unit, with its standard error, and the paired difference to the
// baseline with its 95 % interval. Of a trade-off the regret is what is missing of
// the greatest hypervolume, in per cent, and Hypervolume what is covered. A number
// that does not exist is left out.
type studiedArm struct {
	Task        string             `json:"task"`
	Arm         string             `json:"arm"`
	Seeds       int                `json:"seeds"`
	Regret      float64            `json:"simple_regret"`
	SE          *float64           `json:"simple_regret_se,omitempty"`
	Difference  *studiedInterval   `json:"difference,omitempty"`
	Asked       float64            `json:"asked"`
	Rank        float64            `json:"rank"`
	Hypervolume *float64           `json:"hypervolume_percent,omitempty"`
	Store       *studiedProvenance `json:"store,omitempty"`
}

// studiedInterval is a mean and its interval; a bound is null where one seed
// gives none.
type studiedInterval struct {
	Mean  float64  `json:"mean"`
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
}

// studiedProvenance is which share of a store task's values came from its log.
type studiedProvenance struct {
	FromLog       float64 `json:"from_log"`
	FromSurrogate float64 `json:"from_surrogate"`
}

// run runs what is missing of the study, then writes and prints the comparison.
// Campaigns that failed make the command fail at the end, after the others are
// compared.
//
// Campaigns that an earlier command has run are taken from the study's folder,
// so that an interrupted study goes on where it was.
func (s *simulation) run(ctx context.Context) error {
	options := studyfile.Options{Registry: s.registry, Size: s.size}
	var err error
	if options.Seeds, err = parseSeeds(s.seeds); err != nil {
		return err
	}
	if s.workers < 1 {
		return badInput("--workers must be at least 1")
	}
	file, err := studyfile.Read(s.path, options)
	if err != nil {
		return inputError{err}
	}
	study, err := simulate.New(ctx, file, simulate.Environment{OpenStore: s.openPast})
	if err != nil {
		// A study that does not fit together is a mistake in its file, unless
		// the error says otherwise, as that of a store does.
		if exitCode(err) != exitFailed {
			return err
		}
		return inputError{err}
	}
	if s.out == "" {
		name := file.Name
		if s.size != "" {
			name += "." + s.size
		}
		s.out = filepath.Join(filepath.Dir(s.path), name+studyEnding)
	}
	results, err := simulate.OpenResults(s.out)
	if err != nil {
		if errors.Is(err, simulate.ErrInUse) {
			return badStore("%w", err)
		}
		return inputError{err}
	}
	defer results.Close()

	missing := len(study.Missing(results))
	progress := s.newProgress(study, missing)
	began := time.Now()
	err = study.Run(
		ctx,
		simulate.Run{Results: results, Workers: s.workers, Build: thisBuild().Build,
			Finished: progress.finished},
	)
	progress.close()
	var failed *simulate.FailedError
	if err != nil && !errors.As(err, &failed) {
		if errors.Is(err, errInterrupted) {
			s.remark("Interrupted. %d of %d campaigns are in %s. Go on with the same command.",
				len(study.Units)-len(study.Missing(results)), len(study.Units), s.out)
			return errors.Join(errReported, err)
		}
		return err
	}
	summary := study.Summarize(results)
	if written := s.write(study, summary); written != nil {
		return written
	}
	if s.json {
		if printed := s.printJSON(s.answer(study, summary, missing)); printed != nil {
			return printed
		}
	} else {
		s.table(study, summary)
		if missing > 0 {
			s.printf("\n%s in %s. ", format.Count(missing, "campaign"), time.Since(began).Round(time.Second))
		} else {
			s.printf("\nEvery campaign had been run before. ")
		}
		s.printf("Wrote %s\n", filepath.Join(s.out, "report.html"))
	}
	if err != nil {
		return linesError{fmt.Errorf("these campaigns failed, and the others are compared without their seeds:\n%w",
			err)}
	}
	return nil
}

// parseSeeds reads --seeds: "30" or "1001-1060". A count begins at 1. No text
// leaves the seeds of the file. A range lets a study be repeated on seeds that
// were not looked at before.
func parseSeeds(text string) (studyfile.Seeds, error) {
	if text == "" {
		return studyfile.Seeds{}, nil
	}
	if n, err := strconv.ParseUint(text, 10, 32); err == nil && n > 0 {
		return studyfile.Seeds{First: 1, Count: int(n)}, nil
	}
	if seeds, ok := studyfile.ParseRange(text); ok {
		return seeds, nil
	}
	return studyfile.Seeds{}, badInput(
		"--seeds %s: write a count, as in 30, or the first and the last, as in 1001-1060", text,
	)
}

// openPast opens the store of a campaign that was run, for a task that asks
// what had been otherwise. The last result closes it. A store with several
// campaigns needs the name.
func (a *app) openPast(ctx context.Context, path, campaign string) (events.Log, string, func() error, error) {
	s, err := a.openStore(ctx, target{store: path, campaign: campaign}, reading)
	if err != nil {
		return nil, "", nil, err
	}
	if campaign == "" {
		if campaign, err = onlyOf(lab.Campaigns(ctx, s)); err != nil {
			return nil, "", nil, errors.Join(err, s.Close())
		}
	}
	return s.Log(), campaign, s.Close, nil
}

// write writes the tables and the page into the study's folder, each as a
// whole. The date on the page and the times are all that does not follow from
// the study.
func (s *simulation) write(study *simulate.Study, summary simulate.Summary) error {
	input := page.Input{Study: study, Summary: summary, Command: s.command(), Date: time.Now()}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"summary.csv", summary.WriteSummary},
		{"ratios.csv", summary.WriteRatios},
		{"experiments.csv", summary.WriteExperiments},
		{"times.csv", summary.WriteTimes},
		{"report.html", func(w io.Writer) error { return page.Write(w, input) }},
	} {
		if err := wholefile.Write(filepath.Join(s.out, file.name), 0o644, file.write); err != nil {
			return fmt.Errorf("%s could not be written: %w", file.name, err)
		}
	}
	return nil
}

// command is the command line that runs the study again, for its page. --out
// and --workers change nothing of the results and are left out. They say where
// and how fast, and another reader's machine is another.
func (s *simulation) command() string {
	words := []string{"campaignd simulate", shellArg(s.path)}
	if s.size != "" {
		words = append(words, "--size", shellArg(s.size))
	}
	if s.seeds != "" {
		words = append(words, "--seeds", s.seeds)
	}
	return strings.Join(words, " ")
}
