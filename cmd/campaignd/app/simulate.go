package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/study/page"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// studyEnding is the ending of the name of a study's folder.
const studyEnding = ".study"

// simulation is the flags of one `campaignd simulate`. The app is embedded for
// its streams, flags and registry.
type simulation struct {
	*app
	path string
	// size is the key of one of the file's sizes, empty for the file as it is.
	size string
	// seeds is --seeds as typed: a count or a range.
	seeds   string
	out     string
	workers int
	// shard is --shard as typed, empty for the whole study.
	shard string
	// outGiven is set where --out chose the folder: then commands that a
	// message suggests repeat it.
	outGiven bool
}

// simulateCommand is `campaignd simulate`.
//
// It shares nothing with the stores of campaigns but reading them (openPast):
// campaigns of a study live in memory.
var simulateCommand = command{
	name:     "simulate",
	args:     cobra.ExactArgs(1),
	commands: []command{mergeCommand},
	new: func(flags *pflag.FlagSet) runner {
		var s simulation
		s.chosen(flags)
		flags.IntVar(&s.workers, "workers", runtime.GOMAXPROCS(0), "how many campaigns run at once")
		flags.StringVar(&s.shard, "shard", "",
			"run a `part` of the study: 2/4, or /4 with its number from an array's environment")
		return func(c *call, args []string) error {
			s.app, s.path = c.app, args[0]
			if s.shard == "" && c.cmd.Flags().Changed("shard") { // as of an unset variable
				return badInput("--shard is empty: write the shard and how many there are, as in 2/4")
			}
			return s.run(c.ctx)
		}
	},
}

// chosen are the flags that say which study is meant, and where its folder is.
func (s *simulation) chosen(flags *pflag.FlagSet) {
	flags.StringVar(&s.size, "size", "",
		"the `size` of the study, one of those it names (default: as the file stands)")
	flags.StringVar(&s.seeds, "seeds", "", "seeds instead of the file's: a `count`, or first-last")
	flags.StringVarP(&s.out, "out", "o", "", "the study's `folder` (default NAME.study next to the file)")
}

// studied is the document of `simulate --json`. Its numbers are those of the
// page.
type studied struct {
	Study     string        `json:"study"`
	Folder    string        `json:"folder"`
	Report    string        `json:"report"`
	Campaigns int           `json:"campaigns"`
	Ran       int           `json:"ran"`              // by this command; the others had been run
	Merged    int           `json:"merged,omitempty"` // by this command, from other folders
	Arms      []studiedArm  `json:"arms"`
	Ranks     []studiedRank `json:"ranks"`
}

// studiedRank is the mean rank of an arm over all tasks and seeds; 1 is best.
type studiedRank struct {
	Arm  string  `json:"arm"`
	Rank float64 `json:"rank"`
}

// studiedArm is an arm on a task: the mean simple regret over seeds in the objective's unit, with
// its standard error, and the paired difference to the baseline with its 95 % interval. In a
// trade-off the regret is the missing part of the greatest hypervolume, in per cent, and
// Hypervolume the covered part. A number that does not exist is left out.
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

// studiedInterval is a mean and its interval; a bound is null where a single seed gives no
// interval.
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

// run runs the missing campaigns of the study, then writes and prints the comparison; a shard alone
// is not compared. Campaigns that failed make the command fail at the end, after the others are
// compared.
//
// Campaigns that an earlier command has run are taken from the study's folder, so that an
// interrupted study goes on where it was.
func (s *simulation) run(ctx context.Context) error {
	if s.workers < 1 {
		return badInput("--workers must be at least 1")
	}
	shard, err := shardOf(s.shard, os.Getenv)
	if err != nil {
		return err
	}
	study, err := s.open(ctx)
	if err != nil {
		return err
	}
	var results *simulate.Results
	folder := s.out
	if shard != nil {
		s.shard, folder = shard.String(), shard.Folder(s.out)
		results, err = study.OpenShard(*shard, s.out, thisBuild().Build)
		study = study.Part(*shard)
	} else {
		if note := inArray(os.Getenv); note != "" {
			s.remark("%s", note)
		}
		results, err = simulate.OpenResults(s.out)
	}
	if err != nil {
		return notOpened(err)
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
	took := time.Since(began).Round(time.Second)
	did := "every campaign had been run before"
	ran := missing - len(study.Missing(results)) // others failed
	if missing > 0 {
		did = fmt.Sprintf("%s in %s", format.Count(ran, "campaign"), took)
	}
	var failed *simulate.FailedError
	if err != nil && !errors.As(err, &failed) {
		if errors.Is(err, errInterrupted) {
			s.remark("Interrupted. %d of %d campaigns are in %s. Go on with the same command.",
				len(study.Units)-len(study.Missing(results)), len(study.Units), folder)
			return errors.Join(errReported, err)
		}
		return err
	}
	if shard != nil {
		if printed := s.sharded(*shard, study, ran, did); printed != nil {
			return printed
		}
		if err != nil {
			return s.afterwards(fmt.Errorf("these campaigns failed:\n%w", err))
		}
		return nil
	}
	if written := s.compare(study, results, studied{Ran: ran}, did); written != nil {
		return written
	}
	if err != nil {
		return s.afterwards(fmt.Errorf("these campaigns failed, and the others are compared without their seeds:\n%w",
			err))
	}
	return nil
}

// afterwards is the error of several lines of a command that has printed its
// answer: with --json that was the one document.
func (s *simulation) afterwards(err error) error {
	if s.json {
		fmt.Fprintln(s.stderr, err)
		return errors.Join(errReported, err)
	}
	return linesError{err}
}

// open reads the study and chooses its folder.
func (s *simulation) open(ctx context.Context) (*simulate.Study, error) {
	options := studyfile.Options{Registry: s.registry, Size: s.size}
	var err error
	if options.Seeds, err = parseSeeds(s.seeds); err != nil {
		return nil, err
	}
	file, err := studyfile.Read(s.path, options)
	if err != nil {
		return nil, inputError{err}
	}
	study, err := simulate.New(ctx, file, simulate.Environment{OpenStore: s.openPast})
	if err != nil {
		// A study that does not fit together is a mistake in its file, unless
		// the error says otherwise, as that of a store does.
		if exitCode(err) != exitFailed {
			return nil, err
		}
		return nil, inputError{err}
	}
	if s.outGiven = s.out != ""; !s.outGiven {
		name := file.Name
		if s.size != "" {
			name += "." + s.size
		}
		s.out = filepath.Join(filepath.Dir(s.path), name+studyEnding)
	}
	return study, nil
}

// notOpened is the error of results that cannot be opened.
func notOpened(err error) error {
	var refused *simulate.RefusedError
	switch {
	case errors.Is(err, simulate.ErrInUse):
		return badStore("%w", err)
	case errors.As(err, &refused):
		return linesError{inputError{err}}
	}
	return inputError{err}
}

// compare writes the comparison into the study's folder and prints it. done is the command's work,
// as data and in words.
func (s *simulation) compare(study *simulate.Study, results *simulate.Results, done studied, did string) error {
	summary := study.Summarize(results)
	if err := s.write(study, summary); err != nil {
		return err
	}
	if s.json {
		return s.printJSON(s.answer(study, summary, done))
	}
	s.table(study, summary)
	s.printf("\n%s. Wrote %s\n", strings.ToUpper(did[:1])+did[1:], filepath.Join(s.out, "report.html"))
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

// openPast opens the store of a campaign that was run, for a task that asks for its imagined
// course. The last result closes it. A store with several campaigns needs the name.
func (s *simulation) openPast(ctx context.Context, path, campaign string) (events.Log, string, func() error, error) {
	past, err := s.openStore(ctx, target{store: path, campaign: campaign}, reading)
	if err != nil {
		return nil, "", nil, err
	}
	if campaign == "" {
		if campaign, err = onlyOf(lab.Campaigns(ctx, past)); err != nil {
			return nil, "", nil, errors.Join(err, past.Close())
		}
	}
	return past.Log(), campaign, past.Close, nil
}

// write writes the tables and the page into the study's folder, each as a whole. Only the date on
// the page and the times do not follow from the study.
func (s *simulation) write(study *simulate.Study, summary simulate.Summary) error {
	input := page.Input{Study: study, Summary: summary, Command: s.command(), Date: clock.Now()}
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
func (s *simulation) command() string { return s.words("campaignd simulate") }

// words is a command about the study as it was chosen.
func (s *simulation) words(command string) string {
	words := []string{command, shellArg(s.path)}
	if s.size != "" {
		words = append(words, "--size", shellArg(s.size))
	}
	if s.seeds != "" {
		words = append(words, "--seeds", s.seeds)
	}
	return strings.Join(words, " ")
}
