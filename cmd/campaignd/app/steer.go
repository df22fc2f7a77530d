package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// steering completes a command whose request needs no more than a reason.
func (a *app) steering(
	cmd *cobra.Command, request func(reason string) engine.Request,
) *cobra.Command {
	var reason string
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := a.optionalTarget(args)
		if err != nil {
			return err
		}
		return a.request(cmd.Context(), t, request(reason))
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

// pauseCommand is `campaignd pause`.
func (a *app) pauseCommand() *cobra.Command {
	return a.steering(&cobra.Command{
		Use:   "pause [TARGET]",
		Short: "Start nothing new until the campaign is resumed; what is under way goes on",
		Example: `  campaignd pause electrolyte.campaign --reason "new bottle of EC"
  campaignd resume electrolyte.campaign`,
	}, func(reason string) engine.Request {
		return engine.Request{Pause: &events.CampaignPaused{Reason: reason}}
	})
}

// resumeCommand is `campaignd resume`.
func (a *app) resumeCommand() *cobra.Command {
	return a.steering(&cobra.Command{
		Use:   "resume [TARGET]",
		Short: "End a pause",
		Long: `End a pause. Where the campaign leaves an instrument alone for a while that has
put experiments off or failed, it tries again at once.`,
		Example: `  campaignd resume electrolyte.campaign --reason "the bottle is connected"`,
	}, func(reason string) engine.Request {
		return engine.Request{Resume: &events.CampaignResumed{Reason: reason}}
	})
}

// stopCommand is `campaignd stop`.
func (a *app) stopCommand() *cobra.Command {
	var now bool
	cmd := a.steering(&cobra.Command{
		Use:   "stop [TARGET]",
		Short: "End the campaign for good; what is under way is awaited, or with --now called off",
		Long: `End the campaign for good. What an instrument is doing is awaited and recorded;
nothing new is started. With --now it is called off: the instrument is ordered to stop.
To leave a run and go on later, press Ctrl-C instead, or use ` + "`campaignd pause`" + `;
to stop a device and go on later, ` + "`campaignd abort`" + `.

` + safety,
		Example: `  campaignd stop electrolyte.campaign --reason "good enough for the paper"
  campaignd stop electrolyte.campaign --now --reason "the solvent leaks"`,
	}, func(reason string) engine.Request {
		if now {
			return engine.Request{Abort: &engine.Abort{Stop: true, Reason: reason}}
		}
		return engine.Request{Stop: &events.CampaignStopped{Reason: reason}}
	})
	cmd.Flags().BoolVar(&now, "now", false, "call off what is under way, too")
	return cmd
}
