package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// resumeCommand is `campaignd resume`.
func (a *app) resumeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "resume [TARGET]",
		Short: "End a pause",
		Long: `End a pause. Where the campaign leaves an instrument alone for a while that has
put experiments off or failed, it tries again at once.`,
		Example: `  campaignd resume electrolyte.campaign --reason "the bottle is connected"`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.optionalTarget(args)
			if err != nil {
				return err
			}
			return a.request(cmd.Context(), t,
				engine.Request{Resume: &events.CampaignResumed{Reason: reason}})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}
