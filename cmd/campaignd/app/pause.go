package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// pauseCommand is `campaignd pause`. It is recorded, unlike Ctrl-C, which ends
// only this process: a paused campaign stays paused for every process.
func (a *app) pauseCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "pause [TARGET]",
		Short: "Start nothing new until the campaign is resumed; what is under way goes on",
		Example: `  campaignd pause electrolyte.campaign --reason "new bottle of EC"
  campaignd resume electrolyte.campaign`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.optionalTarget(args)
			if err != nil {
				return err
			}
			return a.request(cmd.Context(), t, engine.Request{Pause: &events.CampaignPaused{Reason: reason}})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}
