package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/diagnose"
	"github.com/campaignd/campaignd/internal/view"
)

// diagnoseCommand is `campaignd diagnose`. It fits the models as the next
// decision would, and records nothing. The exit code does not follow the
// verdict, since a doubtful model is no failure of the command.
func (a *app) diagnoseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diagnose [TARGET]",
		Short: "Say how far the model and the experts can be trusted, and what to do about it",
		Long: `Say how far the model of the objective can be trusted. Every composition is
predicted from all others and compared with what was measured: how close, and
how often within the intervals that should hold it. Measurements that contradict
all others, noise that repetitions do not bear out, lengthscales at their
bounds and a search that ended early are named, each with what to do next. The
labels of each expert are compared with what was measured.

The verdict is good, doubtful, unusable, or untested where there is too little
to judge by. Nothing is changed; the exit code is 0 whatever the verdict.`,
		Example: `  campaignd diagnose
  campaignd diagnose electrolyte.campaign --json | jq .verdict`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, s, err := a.openToRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.Close()
			core, err := s.core(cmd.Context())
			if err != nil {
				return err
			}
			read, err := core.Read(cmd.Context())
			if err != nil {
				return err
			}
			v, err := read.View(cmd.Context())
			if err != nil {
				return err
			}
			d, err := diagnose.Run(cmd.Context(), v)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(d)
			}
			return view.WriteDiagnosis(a.stdout, d, func(f diagnose.Finding) string {
				return a.about.advice(f.Next, f.Remedies)
			})
		},
	}
}
