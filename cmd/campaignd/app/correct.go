package app

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
)

// correctable are the outcomes that a correction names by a flag of their own.
var correctable = []events.Resolution{
	events.ResolvedMeasured,
	events.ResolvedFailed,
	events.ResolvedInfeasible,
	events.ResolvedNotPerformed,
}

func (a *app) correctCommand() *cobra.Command {
	var value, sd, actual, reason string
	var further []string
	var exclude, include, anyway bool
	said := make(map[events.Resolution]*bool) // outcome to whether its flag is there
	cmd := &cobra.Command{
		Use:   "correct [TARGET] EXPERIMENT | QUESTION ANSWER",
		Short: "Correct or exclude an outcome, or change an answer",
		Long: `Say that an experiment ended otherwise than the record has it, or change an answer
to a question. The earlier event stays in the record; the new one says who, why,
and what it replaces. What is not named stays as it is.

Every outcome can become every other, and back: a measurement a failure, a failure
a measurement (--value). --not-performed gives the budget back; a campaign that had
completed because its budget was spent then goes on with the next run. --exclude
leaves a measurement out of the model of the objective, and a failure out of that
of what is feasible. An experiment that nobody has performed yet is called off
with --not-performed.`,
		Example: `  campaignd correct e7 --value 13.1 --reason "misread the display"
  campaignd correct e7 --actual lipf6=1.08 --reason "weighed again"
  campaignd correct e7 --further viscosity=3.1mPas --reason "another spindle"
  campaignd correct e7 --exclude --reason "bubbles in the cell"
  campaignd correct e8 --failed --reason "the cell was short-circuited"
  campaignd correct e9 --value 12.4 --reason "it did not leak"
  campaignd correct e9 --not-performed --reason "another vial was measured"
  campaignd correct electrolyte.campaign q3 accept --reason "looked again"
  campaignd correct q13 A --reason "mixed them up"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := subject(args); n >= 0 && strings.HasPrefix(args[n], "q") {
				other := ""
				cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
					if f.Changed && f.Name != "reason" {
						other = f.Name
					}
				})
				if other != "" {
					return badInput("%s is a question: say what its answer is now; --%s is about an experiment",
						args[n], other)
				}
				return a.answer(cmd.Context(), args, n, reason)
			}
			if len(args) > 2 {
				return badInput("correct takes an experiment, or a question and its answer; usage: %s",
					cmd.UseLine())
			}
			t, args, err := a.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			if exclude && (include || value != "") {
				return badInput("--exclude takes the measurement out: it goes with neither --include nor --value")
			}
			v, err := optionalNumber("--value", value)
			if err != nil {
				return err
			}
			deviation, err := optionalNumber("--sd", sd)
			if err != nil {
				return err
			}
			quantities, err := parseFurther(further)
			if err != nil {
				return err
			}
			var outcome events.Resolution
			for _, o := range correctable {
				if *said[o] && outcome != "" {
					return badInput("--%s and --%s: an experiment ends in one way", outcome, o)
				} else if *said[o] {
					outcome = o
				}
			}
			if v != nil && outcome != "" && outcome != events.ResolvedMeasured {
				return badInput("an experiment that was %s has no value: give one of the two",
					view.Outcome(outcome))
			}
			id := args[0]
			return a.requestWith(cmd.Context(), t, func(s *session) (engine.Request, error) {
				core, err := s.core(cmd.Context())
				if err != nil {
					return engine.Request{}, err
				}
				state := core.State()
				if err := known(state, id); err != nil {
					return engine.Request{}, err
				}
				if strings.TrimSpace(reason) == "" {
					return engine.Request{}, badInput("a correction needs a reason: --reason \"why\"")
				}
				x := state.Experiment(id)
				if x == nil {
					return engine.Request{}, badInput(
						"%s is a decision: decisions are not corrected; correct what it was made from",
						id,
					)
				}
				point, err := parsePoint(state.Definition, "--actual", actual, false)
				if err != nil {
					return engine.Request{}, err
				}
				switch {
				case x.Measurement != nil:
					point = fill(point, x.Measurement.Actual)
				case x.Retracted != nil:
					point = fill(point, x.Retracted.Actual)
				default:
					point = fill(point, x.Parameters)
				}
				stays := x.Excluded && !include && v == nil && outcome == "" // as it was left out before
				return engine.Request{Correct: &engine.Correct{
					Experiment: id,
					Outcome:    outcome,
					Value:      v,
					SD:         deviation,
					Actual:     point,
					Further:    quantities,
					Exclude:    exclude || stays,
					Reason:     reason,
					Anyway:     anyway,
				}}, nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&value, "value", "", "it was measured, and this is the right `value`, in the objective's unit")
	flags.StringVar(&sd, "sd", "", "the standard deviation of the value")
	flags.StringVar(&actual, "actual", "",
		"the composition that was really made: `lipf6=1.08,ec=0.3`; what is not named stays")
	flags.StringArrayVar(&further, "further", nil, furtherHelp)
	for outcome, help := range map[events.Resolution]string{
		events.ResolvedMeasured:     "it was measured after all, with the result that was taken back",
		events.ResolvedFailed:       "it gave no result",
		events.ResolvedInfeasible:   "it showed that the composition cannot be made or measured",
		events.ResolvedNotPerformed: "it did not take place; its budget is free again",
	} {
		said[outcome] = flags.Bool(string(outcome), false, help)
	}
	flags.BoolVar(&exclude, "exclude", false, "leave the measurement, or the failure, out of the models")
	flags.BoolVar(&include, "include", false, "take in again what was excluded")
	flags.BoolVar(&anyway, "anyway", false, anywayHelp)
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is required")
	return cmd
}
