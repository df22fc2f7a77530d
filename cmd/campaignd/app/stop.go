package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// stopCommand is `campaignd stop`. A stopped campaign can never go on; its
// measurements can be taken over into another one.
func (a *app) stopCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "stop [TARGET]",
		Short: "End the campaign for good; what is under way is awaited",
		Long: `End the campaign for good. What an instrument is doing is awaited and recorded;
nothing new is started. To leave a run and go on later, press Ctrl-C instead, or
use ` + "`campaignd pause`" + `.`,
		Example: `  campaignd stop electrolyte.campaign --reason "good enough for the paper"`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.optionalTarget(args)
			if err != nil {
				return err
			}
			return a.request(cmd.Context(), t, engine.Request{Stop: &events.CampaignStopped{Reason: reason}})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}
