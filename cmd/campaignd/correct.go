package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/engine"
)

func (a *app) correctCommand() *cobra.Command {
	var value, actual, reason string
	var exclude, include bool
	cmd := &cobra.Command{
		Use:   "correct [TARGET] EXPERIMENT | QUESTION ANSWER",
		Short: "Correct or exclude a measurement, or change an answer",
		Long: `Correct or exclude a measurement, or change an answer to a question. The earlier
event stays in the record; the new one says who, why, and what it replaces.`,
		Example: `  campaignd correct e7 --value 13.1 --reason "misread the display"
  campaignd correct e7 --actual lipf6=1.08 --reason "weighed again"
  campaignd correct e7 --exclude --reason "bubbles in the cell"
  campaignd correct electrolyte.campaign q3 accept --reason "looked again"
  campaignd correct q13 A --reason "mixed them up"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := subject(args); n >= 0 && strings.HasPrefix(args[n], "q") {
				if exclude || include || value != "" || actual != "" {
					return badInput("%s is a question: say what its answer is now", args[n])
				}
				return a.answer(cmd.Context(), args, n, reason)
			}
			if len(args) > 2 {
				return badInput("correct takes an experiment, or a question and its answer; usage: %s", cmd.UseLine())
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
					return engine.Request{}, badInput("%s is a decision: decisions are not corrected; correct what it was made from", id)
				}
				point, err := parsePoint(state.Definition, "--actual", actual, false)
				if err != nil {
					return engine.Request{}, err
				}
				if point != nil && x.Measurement != nil {
					point = fill(point, x.Measurement.Actual)
				}
				return engine.Request{Correct: &engine.Correct{
					Experiment: id, Value: v, Actual: point, Exclude: exclude || x.Excluded && !include && v == nil, Reason: reason,
				}}, nil
			})
		},
	}
	cmd.Flags().StringVar(&value, "value", "", "the right `value`, in the objective's unit")
	cmd.Flags().StringVar(&actual, "actual", "", "the composition that was really made: `lipf6=1.08,ec=0.3`; what is not named stays")
	cmd.Flags().BoolVar(&exclude, "exclude", false, "take the measurement out of the models")
	cmd.Flags().BoolVar(&include, "include", false, "take an excluded measurement in again")
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is required")
	return cmd
}
