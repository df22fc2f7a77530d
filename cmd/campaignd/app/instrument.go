package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/projections/space"
)

// instrumentCommand is `campaignd instrument`, with check as its only command.
var instrumentCommand = command{
	name:     "instrument",
	args:     cobra.NoArgs,
	commands: []command{instrumentCheckCommand},
	run: func(*call, []string) error {
		return badInput("say what to do with it: campaignd instrument check FILE")
	},
}

// checking is one call of `campaignd instrument check`. at holds
// compositions as typed; acts is a path. Each allow flag takes away a protection
// of something real.
type checking struct {
	*call
	at               []string
	acts             string
	instrument       string
	allowReal        bool
	allowOutOfLimits bool
	allowUnjudged    bool
	uncounted        bool
	noKill           bool
	readings         int
	patience         time.Duration
}

// instrumentCheckCommand is `campaignd instrument check`: the conformance suite of
// adapters/instruments/instrumenttest for an instrument of the user's own.
//
// It takes a campaign file and no store, since it is run before a campaign: the file names the
// instrument, the bounds, and the quantities to measure. A check that can break something real
// needs a flag of its own; without any, only the description is looked at.
var instrumentCheckCommand = command{
	name: "check",
	args: cobra.ExactArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var o checking
		flags.BoolVar(&o.allowReal, "allow-real", false,
			"run experiments on an instrument that is not simulated, and kill its program in the middle of some")
		flags.StringVar(&o.instrument, "instrument", "", "the `name` of the instrument, where the file has several")
		flags.BoolVar(&o.noKill, "no-kill", false, "do not kill the program of such an instrument")
		flags.StringArrayVar(&o.at, "at", nil,
			"measure at this `composition` (lipf6=1,dmc=0.5); may be given more than once")
		flags.StringVar(&o.acts, "acts", "",
			"count physical acts: the `file` to which the device's side appends a line for each")
		flags.BoolVar(&o.allowOutOfLimits, "allow-out-of-limits", false,
			"also ask such an instrument for compositions just outside its limits")
		flags.BoolVar(&o.allowUnjudged, "allow-unjudged", false,
			"exit 0 also where checks could not be judged")
		flags.BoolVar(&o.uncounted, "uncounted", false,
			"exit 0 also where acts were not counted (without --acts)")
		flags.IntVar(&o.readings, "readings", instrumenttest.Readings,
			fmt.Sprintf("how many `measurements` tell whose a value is, at least %d", instrumenttest.LeastReadings))
		flags.DurationVar(&o.patience, "patience", time.Minute,
			"the longest a measurement may take, and how long an instrument may defer")
		return func(c *call, args []string) error {
			o.call = c
			return o.run(args[0])
		}
	},
}

// run runs the suite and prints its report. The answer is "no" (exit code 1) where a check failed
// or, without --allow-unjudged, could not be judged. An uncounted pass has an exit code of its own:
// a script reads that and not the report.
//
// The lock comes before the first experiment and after everything that can be refused; a
// description alone needs none.
func (a *checking) run(file string) error {
	t, err := a.fileTarget(file, "the check takes a campaign file")
	if err != nil {
		return err
	}
	if a.readings < instrumenttest.LeastReadings {
		return badInput("--readings %d: it takes at least %d measurements", a.readings, instrumenttest.LeastReadings)
	}
	env, err := a.checkEnv(t)
	if err != nil {
		return err
	}
	if a.allowReal {
		release, err := a.lockForCheck(t, env)
		if err != nil {
			return err
		}
		defer release()
		a.remark("up to %d experiments on a device that is sound, more where some fail", instrumenttest.Experiments(env))
	}
	report, err := instrumenttest.Examine(a.ctx, env)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		err = report.WriteText(a.stdout)
	}
	unjudged := report.Unjudged()
	switch {
	case err != nil:
		return err
	case len(unjudged) > 0 && !report.Instrument.Simulated && !a.allowReal:
		a.remark("nothing but its description was checked: --allow-real consents to experiments on it")
	case len(unjudged) > 0 && !a.allowUnjudged:
		a.remark("what could not be judged is not passed: --at says where it can be measured, " +
			"--allow-unjudged lets it pass")
	}
	if len(report.Failed()) > 0 || len(unjudged) > 0 && !a.allowUnjudged {
		return errReported
	}
	if report.Uncounted() > 0 && !a.uncounted {
		a.remark("everything passed but what was not counted: " +
			"--acts FILE counts what the device did, --uncounted lets it pass")
		return errUncounted
	}
	return nil
}

// checkPoints is the least number of compositions at which the check may
// measure: where experiments fail at one, it goes on to the next. With as many,
// the attempts of a check are at different ones.
const checkPoints = 8

// checkEnv tells the suite how to open a file's instrument, at which compositions to measure, and
// what it may do to it. Compositions are those of --at, or of the campaign's initial design, filled
// up with a space-filling one.
//
// The seed of the design is the campaign's, so that a check that is repeated measures at the same
// compositions.
//
// Nothing is opened here: Open is called by the suite, for every restart.
func (a *checking) checkEnv(t target) (instrumenttest.Env, error) {
	if !t.file.Definition.Measures() {
		return instrumenttest.Env{}, badInput(
			"%s has no instrument to check: its experts compare compositions, and nothing is measured",
			t.path,
		)
	}
	def, err := a.listCandidates(a.ctx, t, t.file.Definition)
	if err == nil {
		def, err = a.checked(def)
	}
	if err != nil {
		return instrumenttest.Env{}, err
	}
	sp, err := space.New(def)
	if err != nil {
		return instrumenttest.Env{}, inputError{err}
	}
	var points []definition.Point
	for _, text := range a.at {
		point, err := parsePoint(&def, "--at", text, true)
		if err != nil {
			return instrumenttest.Env{}, err
		}
		if point == nil {
			return instrumenttest.Env{}, badInput("--at: name a composition, as in --at lipf6=1,dmc=0.5")
		}
		if err := sp.Contains(point); err != nil {
			return instrumenttest.Env{}, badInput("--at %s: %w", text, err)
		}
		points = append(points, point)
	}
	if points == nil {
		design := def.Initial.Design
		if design == definition.DesignPoints {
			points, design = append(points, def.Initial.Points...), definition.DesignSobol
		}
		if n := max(checkPoints, *def.Initial.Experiments) - len(points); n > 0 {
			more, err := sp.Design(design, n, def.Seed)
			if err != nil {
				return instrumenttest.Env{}, inputError{err}
			}
			points = append(points, more...)
		}
	}
	// The suite and the device's program must mean the same file, whatever
	// their working directories.
	var acts string
	var counting func() ([]instrumenttest.Act, error)
	if a.acts != "" {
		if acts, err = filepath.Abs(a.acts); err != nil {
			return instrumenttest.Env{}, inputError{err}
		}
		if info, err := os.Stat(filepath.Dir(acts)); err != nil || !info.IsDir() {
			return instrumenttest.Env{},
				badInput("--acts %s: there is no folder %s", a.acts, filepath.Dir(acts))
		}
		counting = instrumenttest.ActsIn(acts)
	}
	lines := console.NewLines(a.stdin, a.stderr, isTerminal(a.stdin))
	env := instruments.Environment{
		Folder:   t.base,
		Prompter: lines,
		Acts:     acts,
		Logf:     func(format string, args ...any) { a.remark("%s", fmt.Sprintf(format, args...)) },
	}
	return instrumenttest.Env{
		Open: func(ctx context.Context) (instruments.Instrument, error) {
			return equip.OpenInstrument(ctx, a.registry, def, env)
		},
		Definition:       def,
		Points:           points,
		Acts:             counting,
		AnswersUnseen:    def.ByHand(), // a person may have performed a forgotten command
		AllowRuns:        a.allowReal,
		NoKill:           a.noKill,
		AllowOutOfLimits: a.allowOutOfLimits,
		Readings:         a.readings,
		Patience:         a.patience,
	}, nil
}

// checked is the definition as the instrument that is checked knows it. Of several one is named. The suite
// measures, experiment by experiment.
func (a *checking) checked(def definition.Campaign) (definition.Campaign, error) {
	resources := def.Resources()
	name := a.instrument
	if len(resources) == 1 {
		definition.Default(&name, resources[0])
	}
	if !slices.Contains(resources, name) {
		if len(def.Instruments) == 0 {
			return def, badInput("--instrument %s: the file has one instrument, without a name", name)
		}
		return def, badInput("name one of the file's instruments with --instrument: %s", strings.Join(resources, ", "))
	}
	own := *def.For(name)
	switch {
	case len(def.Instruments) > 0 && own.Together() != nil:
		return own, badInput("%s carries out %s for a batch together, and the check goes experiment by experiment: "+
			"check its program with a campaign file of its own", name, own.Together().Name)
	case len(own.Procedure) > 0 && !slices.ContainsFunc(own.Procedure, func(s definition.Stage) bool { return len(s.Gives) > 0 }):
		return own, badInput("%s measures nothing, and the check goes by what is measured: "+
			"check its program with a campaign file of its own", name)
	}
	return own, nil
}

// lockForCheck takes the device for a check that moves it, so that no campaign uses it meanwhile.
// release gives it back. An instrument that several may use at once, such as a simulation, is not
// locked.
//
// The instrument is opened once to ask for its description, and closed again: the suite opens its
// own. The lock is the one that runs take.
func (a *checking) lockForCheck(t target, env instrumenttest.Env) (release func(), err error) {
	instrument, err := env.Open(a.ctx)
	if err != nil {
		return nil, err
	}
	d, err := instrument.Describe(a.ctx)
	err = errors.Join(err, equip.CloseInstrument(instrument))
	if err != nil || !engine.Exclusive(env.Definition, d) {
		return func() {}, err
	}
	return equip.TakeDevice(d, t.path, a.remark)
}
