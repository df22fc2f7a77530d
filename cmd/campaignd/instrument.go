package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/space"
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
	var allowReal, allowOutOfLimits bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Put an instrument through what crashes and networks do, before a real pump moves",
		Long: `Run the conformance suite on the instrument that FILE names: duplicate starts,
lost confirmations, restarts of campaignd in each phase, cancellations, wrong
limits. It uses compositions of the campaign's initial design.

On an instrument that is not simulated only its description is checked, unless
--allow-real consents to experiments. Exits 1 where a check fails.`,
		Example: `  campaignd instrument check examples/process.yaml
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
			env, err := a.checkEnv(cmd.Context(), t)
			if err != nil {
				return err
			}
			env.AllowRuns, env.AllowOutOfLimits, env.Patience = allowReal, allowOutOfLimits, patience
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
	cmd.Flags().BoolVar(&allowReal, "allow-real", false, "run experiments on an instrument that is not simulated")
	cmd.Flags().BoolVar(&allowOutOfLimits, "allow-out-of-limits", false, "also ask such an instrument for compositions just outside its limits")
	cmd.Flags().DurationVar(&patience, "patience", time.Minute, "the longest a measurement may take")
	return cmd
}

// checkEnv is how the suite gets at a file's instrument.
func (a *app) checkEnv(ctx context.Context, t target) (instrumenttest.Env, error) {
	if t.file.Definition.Policy.Duel.Set() {
		return instrumenttest.Env{}, badInput("%s has no instrument to check: its experts compare compositions, and nothing is measured", t.path)
	}
	def, err := listCandidates(ctx, t, t.file.Definition)
	if err != nil {
		return instrumenttest.Env{}, err
	}
	sp, err := space.New(def)
	if err != nil {
		return instrumenttest.Env{}, inputError{err}
	}
	points, err := sp.Design(def.Initial.Design, max(2, *def.Initial.Experiments), def.Seed)
	if err != nil {
		return instrumenttest.Env{}, inputError{err}
	}
	lines := console.NewLines(a.stdin, a.stderr, isTerminal(a.stdin))
	outside := outside{base: t.base, prompter: lines, logf: func(format string, args ...any) { a.remark("%s", fmt.Sprintf(format, args...)) }}
	return instrumenttest.Env{
		Open:          func(context.Context) (instruments.Instrument, error) { return openInstrument(def, outside) },
		Definition:    def,
		Points:        points,
		AnswersUnseen: def.Instrument.Manual != nil, // a person may have performed what campaignd forgot
	}, nil
}
