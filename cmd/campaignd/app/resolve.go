package app

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/exchange"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// resolveCommand is `campaignd resolve`: what became of a command whose fate is
// unknown.
//
// A person tells the log what a machine did (law 3): no default, and no guess,
// is offered. The composition that was made and the experiment's name are looked
// at only with the campaign at hand; the engine checks the rest.
func (a *app) resolveCommand() *cobra.Command {
	var f measuredFlags
	var reason, voided, from string
	var repeat bool
	cmd := &cobra.Command{
		Use:   "resolve [TARGET] EXPERIMENTS measured|failed|infeasible|not-performed [--from TABLE.csv]",
		Short: "Resolve an experiment whose outcome is unknown",
		Long: `Resolve an experiment whose outcome is unknown: campaignd was killed or lost the
instrument while it was under way, and the instrument cannot say whether it took
place. Nothing is dispatched until a person has looked. Say

  measured       it took place, and this is the result (--value)
  failed         it took place, and gave no result
  infeasible     it took place, and showed that the composition cannot be made or measured
  not-performed  it did not take place

Several are settled in one act, all of them or none: e1-e24, or e1,e3-e5. Where each
became of something else, a table says so, as of a plate of which eleven wells are known:
a row for each with the columns

  experiment       its name
  outcome          one of the words above; or the values alone, of what was measured
  NAME, sd, …      the columns of a result, as campaignd import takes them
  reason           how you know, in place of --reason

Rows that say nothing leave their experiment alone. EXPERIMENTS with a word is then said of
those that the table leaves alone, and can be left out; --repeat holds for all that failed or
did not take place.

The instrument is ordered never to begin the command any more, and before it has
answered it gets nothing else: it may still hold what it has not read. What it did
meanwhile overtakes what was said here. --voided power says that the device was without
power, so that no answer is needed.

What was resolved wrongly is corrected with ` + "`campaignd correct`" + `.`,
		Example: `  campaignd resolve e7 measured --value 13.1 --reason "read from the display"
  campaignd resolve e8 measured --value 12.9 --sd 0.2 --further viscosity=3.1mPas
  campaignd resolve electrolyte.campaign e7 not-performed --repeat --reason "the vial is still full"
  campaignd resolve e1-e24 failed --reason "the plate fell"
  campaignd resolve --from plate.csv
  campaignd resolve e1-e24 not-performed --repeat --from plate.csv`,
		Args: cobra.RangeArgs(0, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from != "" {
				rest := engine.Resolve{
					Repeat: repeat, Reason: reason, Anyway: f.anyway, Voided: events.Voided(voided),
				}
				if f.any() {
					return badInput("with --from, the table has the values: leave --value and the like out")
				}
				return a.resolveFrom(cmd.Context(), args, from, rest)
			}
			if len(args) < 2 {
				return badInput("say of which experiments, and what became of them, or --from TABLE.csv")
			}
			t, args, err := a.targetAndArgs(args, 2)
			if err != nil {
				return err
			}
			resolution, err := resolutionOf(args[1])
			if err != nil {
				return err
			}
			r := &engine.Resolve{
				Experiment: args[0],
				Resolution: resolution,
				Repeat:     repeat,
				Reason:     reason,
				Anyway:     f.anyway,
				Voided:     events.Voided(voided),
			}
			if err := f.parse(&r.Value, &r.SD, &r.Quantities, &r.Further); err != nil {
				return err
			}
			if r.Missing, err = f.reasons(); err != nil {
				return err
			}
			return a.requestWith(cmd.Context(), t, func(state *campaign.State) (engine.Request, error) {
				if err := known(state, r.Experiment); err != nil {
					return engine.Request{}, err
				}
				var err error
				switch x := state.Experiment(r.Experiment); {
				case x != nil:
					r.Actual, err = f.made(state.Definition, x.Parameters)
				case f.actual != "":
					err = badInput("--actual is of one experiment")
				}
				return engine.Request{Resolve: r}, err
			})
		},
	}
	f.add(cmd.Flags(), "the measured `value`, in the objective's unit",
		", where it differs: `lipf6=1.08,ec=0.3`")
	cmd.Flags().BoolVar(&repeat, "repeat", false, "run the same composition again, as a new experiment")
	addVoided(cmd, &voided)
	cmd.Flags().StringVar(&from, "from", "", "what became of each, from a CSV `file`, or - for standard input")
	cmd.Flags().StringVar(&reason, "reason", "", "how you know, for the record")
	return cmd
}

// resolutionOf is the resolution that was typed.
func resolutionOf(text string) (events.Resolution, error) {
	resolution := events.Resolution(text)
	if !slices.Contains(outcomes, resolution) {
		return "", badInput("%q is not a resolution: say measured, failed, infeasible or not-performed", text)
	}
	return resolution, nil
}

// resolveFrom settles what a table says. args are those of the command: with a
// word for the experiments that the table leaves alone, or without.
//
// The table may be standard input: it is read once, also where the request has to
// be sent again.
func (a *app) resolveFrom(ctx context.Context, args []string, path string, rest engine.Resolve) error {
	if len(args) >= 2 {
		named := args[len(args)-2:]
		resolution, err := resolutionOf(named[1])
		if err != nil {
			return err
		}
		rest.Experiment, rest.Resolution = named[0], resolution
		args = args[:len(args)-2]
	}
	t, err := a.optionalTarget(args)
	if err != nil {
		return err
	}
	actor, err := a.actor()
	if err != nil {
		return err
	}
	return a.record(ctx, t, func(s *session) (engine.Request, error) {
		core, err := s.core(ctx)
		if err != nil {
			return engine.Request{}, err
		}
		if rest.Experiment != "" {
			if err := known(core.State(), rest.Experiment); err != nil {
				return engine.Request{}, err
			}
		}
		name, in, err := a.openTable(path)
		if err != nil {
			return engine.Request{}, err
		}
		defer in.Close()
		table := exchange.Resolving{
			Core: core, Actor: actor, Rest: rest,
			Clause: func(err error) string { return a.about.clause(err.Error(), problem.RemediesOf(err)) },
		}
		rows, err := table.Read(name, in)
		return engine.Request{Resolves: rows}, err
	})
}
