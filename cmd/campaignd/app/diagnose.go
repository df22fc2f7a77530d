package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/diagnose"
)

// diagnoseCommand is `campaignd diagnose`. It fits the models as the next decision would, and
// records nothing. The exit code does not follow the verdict, since a doubtful model is not a
// failure of the command.
var diagnoseCommand = command{
	name: "diagnose",
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
