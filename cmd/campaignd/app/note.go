package app

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// noteCommand is `campaignd note`. A note decides nothing, and can be added to a
// campaign in any state.
var noteCommand = command{
	name: "note",
	args: cobra.RangeArgs(1, 2),
	new: func(flags *pflag.FlagSet) runner {
		var r engine.Note
		flags.StringVar(&r.About, "about", "", "an experiment, question or decision: `e7`")
		text := func(args []string) engine.Request {
			r.Text = args[0]
			return engine.Request{Note: &r}
		}
		return func(c *call, args []string) error {
			if r.About == "" {
				return asking(1, text)(c, args)
			}
			return askingOf(1, func(s *campaign.State, args []string) (engine.Request, error) {
				return text(args), knownSubject(s, r.About)
			})(c, args)
		}
	},
}
