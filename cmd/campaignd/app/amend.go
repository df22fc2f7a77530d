package app

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// errSame is returned by the builder of the request where the file says nothing new: then there is
// no event to record.
var errSame = errors.New("nothing differs")

// amendCommand is `campaignd amend`.
//
// The file is the whole definition, as it is wanted from now on, and not a list of changes: so the
// file and the campaign agree afterwards.
//
// Nothing to change does not count as a failure, so that a script may amend with the same file
// again.
var amendCommand = command{
	name: "amend",
	args: cobra.ExactArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var reason string
		flags.StringVar(&reason, "reason", "", forTheRecord)
		return func(c *call, args []string) error {
			t, err := c.fileTarget(args[0], "amend takes the campaign file with the changes")
			if err != nil {
				return err
			}
			// Set by the builder of the request below, and used for the remark
			// at the end.
			spent, budget := 0, 0
			err = c.requestWith(c.ctx, t, func(state *campaign.State) (engine.Request, error) {
				// Against the state of this moment: another amendment may have
				// come in since the file was read.
				def, err := c.wantedDefinition(c.ctx, t, state)
				if err != nil {
					return engine.Request{}, err
				}
				changes, err := campaignfile.Amend(c.registry, *state.Definition, def)
				if err != nil {
					return engine.Request{}, inputError{err}
				}
				if len(changes) == 0 {
					return engine.Request{}, errSame
				}
				spent, budget = state.Spent(), def.Budget.Experiments
				return engine.Request{Amend: &events.CampaignAmended{
					Definition: def, Changes: changes, Reason: reason, Source: t.file.Source,
				}}, nil
			})
			if errors.Is(err, errSame) {
				return c.present(recorded{}, func() {
					c.printf("%s says what the campaign in %s says already; nothing was changed.\n", t.path, c.where(t))
				})
			}
			// An amended campaign whose budget is spent looks as if it went on.
			if err == nil && budget > 0 && spent >= budget && !c.json {
				c.printf("%s were run already, of the %d it may have now: nothing more is measured, "+
					"and the next `campaignd run %s` completes it.\n", format.Count(spent, "experiment"), budget, t)
			}
			return err
		}
	},
}
