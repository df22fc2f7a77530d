package app

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
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
	var reason, voided string
	var repeat bool
	cmd := &cobra.Command{
		Use:   "resolve [TARGET] EXPERIMENTS measured|failed|infeasible|not-performed",
		Short: "Resolve an experiment whose outcome is unknown",
		Long: `Resolve an experiment whose outcome is unknown: campaignd was killed or lost the
instrument while it was under way, and the instrument cannot say whether it took
place. Nothing is dispatched until a person has looked. Say

  measured       it took place, and this is the result (--value)
  failed         it took place, and gave no result
  infeasible     it took place, and showed that the composition cannot be made or measured
  not-performed  it did not take place

Several are settled in one act, all of them or none: e1-e24, or e1,e3-e5. What
was measured is settled one by one, each with its value.

The instrument is told that it shall never begin the command any more, and before it has
answered it gets nothing else: it may still hold what it has not read. What it did
meanwhile overtakes what was said here. --voided power says that the device was without
power, so that no answer is needed.

What was resolved wrongly is corrected with ` + "`campaignd correct`" + `.`,
		Example: `  campaignd resolve e7 measured --value 13.1 --reason "read from the display"
  campaignd resolve e8 measured --value 12.9 --sd 0.2 --further viscosity=3.1mPas
  campaignd resolve electrolyte.campaign e7 not-performed --repeat --reason "the vial is still full"
  campaignd resolve e1-e24 failed --reason "the plate fell"`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, args, err := a.targetAndArgs(args, 2)
			if err != nil {
				return err
			}
			resolution := events.Resolution(args[1])
			if !slices.Contains(outcomes, resolution) {
				return badInput("%q is not a resolution: say measured, failed, infeasible or not-performed",
					resolution)
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
	cmd.Flags().StringVar(&reason, "reason", "", "how you know, for the record")
	return cmd
}
