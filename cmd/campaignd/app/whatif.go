package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/whatif"
)

// whatIfCommand is `campaignd whatif`.
//
// It reads the log alone: nothing of what it imagines is recorded anywhere.
func (a *app) whatIfCommand() *cobra.Command {
	var q whatif.Question
	cmd := &cobra.Command{
		Use:   "whatif [TARGET] DECISION",
		Short: "Imagine a campaign otherwise from a decision on",
		Long: `Imagine a campaign from one of its decisions on with another policy, or without an
expert: what would have been suggested from the same log, and how it might have gone
on. Instead of a decision (d12) an experiment (e7) or a question (q3) can be named.

Nothing is written, no instrument is driven and no person is asked. Where the log holds
a composition, its real result counts. Elsewhere the campaign's own instrument
answers where it is a simulation, and otherwise the mean of the campaign's model as
of now, fitted to all that was measured: a guess, and no evidence of what the lab
would have found. Simulated experts answer as ever; people answer what they have
answered, and can't tell the rest. What is printed says how much of it is which.

One course is no comparison of policies: campaignd simulate runs many.`,
		Example: `  campaignd whatif d4 --policy lognei
  campaignd whatif electrolyte.campaign e7 --without ada --experiments 10 --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isTarget(args[0]) {
				return a.forgotDecision(cmd.Context(), args[0])
			}
			if q.Method == "" && q.Without == "" {
				return badInput("say what is to be otherwise: --policy METHOD (campaignd methods lists them) or --without EXPERT")
			}
			t, args, err := a.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			s, err := a.open(cmd.Context(), t, reading)
			if err != nil {
				return err
			}
			defer s.Close()
			record, decision, err := behind(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			q.Decision = decision
			answer, err := whatif.Work(cmd.Context(), whatif.Input{
				Registry: a.registry, Log: s.Log(), Campaign: s.name, Record: record,
				Build: thisBuild().Build,
				Environment: instruments.Environment{Folder: t.base,
					Logf: func(format string, args ...any) { a.remark(format, args...) }},
			}, q)
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(answer)
			}
			return answer.Write(a.stdout)
		},
	}
	cmd.Flags().StringVar(&q.Method, "policy", "",
		"the `method` from there on, as campaignd methods lists them")
	cmd.Flags().StringVar(&q.Without, "without", "", "the `expert` who is left out, with all they have said")
	cmd.Flags().IntVar(&q.Experiments, "experiments", 0, fmt.Sprintf(
		"for how many `experiments` to go on, at most %d (default as many as were really run since, at least %d)", whatif.Most, whatif.Least))
	return cmd
}
