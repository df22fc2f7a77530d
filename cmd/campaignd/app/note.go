package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// noteCommand is `campaignd note`. A note decides nothing, and can be added to a
// campaign in any state.
func (a *app) noteCommand() *cobra.Command {
	var about string
	cmd := &cobra.Command{
		Use:   "note [TARGET] TEXT",
		Short: "Add a remark to the record",
		Example: `  campaignd note "the thermostat was off overnight"
  campaignd note electrolyte.campaign "bubbles in the cell" --about e7`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, args, err := a.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			r := engine.Request{Note: &engine.Note{Text: args[0], About: about}}
			if about == "" {
				return a.request(cmd.Context(), t, r)
			}
			return a.requestWith(cmd.Context(), t, func(state *campaign.State) (engine.Request, error) {
				return r, known(state, about)
			})
		},
	}
	cmd.Flags().StringVar(&about, "about", "", "an experiment, question or decision: `e7`")
	return cmd
}
