package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/host"
	"github.com/campaignd/campaignd/projections/space"
)

func (a *app) instrumentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "instrument",
		Short:   "Check the instrument that a campaign file names",
		Example: `  campaignd instrument check examples/process.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return badInput("say what to do with it: campaignd instrument check FILE")
		},
	}
	cmd.AddCommand(a.instrumentCheckCommand())
	return cmd
}

func (a *app) instrumentCheckCommand() *cobra.Command {
	var allowReal, allowOutOfLimits, noKill bool
	var at []string
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Put an instrument through what crashes and networks do, before a real pump moves",
		Long: `Run the conformance suite on the instrument that FILE names: duplicate starts,
lost confirmations, restarts of campaignd in each phase, cancellations, wrong
limits; and the program behind a process instrument is killed after a measurement
and in the middle of one, to see what it still knows. Compositions are those of the
campaign's initial design, or those of --at.

On an instrument that is not simulated only its description is checked, unless
--allow-real consents to experiments, some of which are interrupted. With
--no-kill its program is not killed.

Experiments may fail: a check that comes upon a failed, infeasible, deferred or
refused one is made again elsewhere, and skipped where it could not be judged.
Exits 1 where a check fails.`,
		Example: `  campaignd instrument check examples/process.yaml
  campaignd instrument check examples/process.yaml --at lipf6=1,dmc=0.5
  campaignd instrument check robot.yaml --allow-real --patience 2h`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.target(args[0])
			if err != nil {
				return err
			}
			if t.file == nil {
				return badInput("%s is a store; the check takes a campaign file", args[0])
			}
			env, err := a.checkEnv(cmd.Context(), t, at)
			if err != nil {
				return err
			}
			env.AllowRuns = allowReal
			env.NoKill = noKill
			env.AllowOutOfLimits = allowOutOfLimits
			env.Patience = patience
			if allowReal {
				release, err := a.lockForCheck(cmd.Context(), t, env)
				if err != nil {
					return err
				}
				defer release()
			}
			report, err := instrumenttest.Examine(cmd.Context(), env)
			if err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(report)
			} else {
				err = report.WriteText(a.stdout)
			}
			if err == nil && len(report.Failed()) > 0 {
				err = errReported
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&allowReal, "allow-real", false,
		"run experiments on an instrument that is not simulated, and kill its program in the middle of some")
	cmd.Flags().BoolVar(&noKill, "no-kill", false, "do not kill the program of such an instrument")
	cmd.Flags().StringArrayVar(&at, "at", nil,
		"measure at this `composition` (lipf6=1,dmc=0.5); may be given more than once")
	cmd.Flags().BoolVar(&allowOutOfLimits, "allow-out-of-limits", false,
		"also ask such an instrument for compositions just outside its limits")
	cmd.Flags().DurationVar(&patience, "patience", time.Minute, "the longest a measurement may take")
	return cmd
}

// checkPoints is how many compositions of the initial design the check measures
// at, where experiments fail.
const checkPoints = 8

// checkEnv is how the suite gets at a file's instrument, and at which compositions.
func (a *app) checkEnv(ctx context.Context, t target, at []string) (instrumenttest.Env, error) {
	if !t.file.Definition.Measures() {
		return instrumenttest.Env{}, badInput(
			"%s has no instrument to check: its experts compare compositions, and nothing is measured",
			t.path,
		)
	}
	def, err := a.listCandidates(ctx, t, t.file.Definition)
	if err != nil {
		return instrumenttest.Env{}, err
	}
	sp, err := space.New(def)
	if err != nil {
		return instrumenttest.Env{}, inputError{err}
	}
	var points []definition.Point
	for _, text := range at {
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
	lines := console.NewLines(a.stdin, a.stderr, isTerminal(a.stdin))
	env := instruments.Environment{
		Folder:   t.base,
		Prompter: lines,
		Logf:     func(format string, args ...any) { a.remark("%s", fmt.Sprintf(format, args...)) },
	}
	return instrumenttest.Env{
		Open: func(ctx context.Context) (instruments.Instrument, error) {
			return host.OpenInstrument(ctx, a.registry, def, env)
		},
		Definition:    def,
		Points:        points,
		AnswersUnseen: def.Instrument.ByHand, // a person may have performed what campaignd forgot
	}, nil
}

// lockForCheck takes the device for a check that moves it.
func (a *app) lockForCheck(ctx context.Context, t target, env instrumenttest.Env) (release func(), err error) {
	instrument, err := env.Open(ctx)
	if err != nil {
		return nil, err
	}
	d, err := instrument.Describe(ctx)
	err = errors.Join(err, host.CloseInstrument(instrument))
	if err != nil || !engine.Exclusive(env.Definition, d) {
		return func() {}, err
	}
	return host.TakeDevice(d, t.path, a.remark)
}
