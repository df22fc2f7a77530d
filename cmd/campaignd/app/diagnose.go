package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/diagnose"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
)

// diagnoseCommand is `campaignd diagnose`. It fits the models as the next
// decision would, and records nothing. The exit code does not follow the
// verdict, since a doubtful model is no failure of the command.
var diagnoseCommand = command{
	use:   "diagnose [TARGET]",
	short: "Say how far the model and the experts can be trusted, and what to do about it",
	long: `Say how far the model of the objective can be trusted. Every composition is
predicted from all others and compared with what was measured: how close, and
how often within the intervals that should hold it. Measurements that contradict
all others, noise that repetitions do not bear out, lengthscales at their
bounds and a search that ended early are named, each with what to do next. The
labels of each expert are compared with what was measured.

The verdict is good, doubtful, unusable, or untested where there is too little
to judge by. Nothing is changed; the exit code is 0 whatever the verdict.`,
	example: `  campaignd diagnose
  campaignd diagnose electrolyte.campaign --json | jq .verdict`,
	args: cobra.MaximumNArgs(1),
	run: func(c *call, args []string) error {
		return c.reading(args, func(_ target, _ *session, core *engine.Core) error {
			read, err := core.Read(c.ctx)
			if err != nil {
				return err
			}
			v, err := read.View(c.ctx)
			if err != nil {
				return err
			}
			d, err := diagnose.Run(c.ctx, v)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(d)
			}
			return view.WriteDiagnosis(c.stdout, d, func(f diagnose.Finding) string {
				return c.about.advice(f.Next, f.Remedies)
			})
		})
	},
}
