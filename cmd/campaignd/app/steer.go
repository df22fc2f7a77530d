package app

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// steering is a runner whose request is no more than a reason.
func steering(request func(reason string) engine.Request) func(*pflag.FlagSet) runner {
	return func(flags *pflag.FlagSet) runner {
		reason := flags.String("reason", "", forTheRecord)
		return asking(0, func([]string) engine.Request { return request(*reason) })
	}
}

var pauseCommand = command{
	use:   "pause [TARGET]",
	short: "Start nothing new until the campaign is resumed; what is under way goes on",
	example: `  campaignd pause electrolyte.campaign --reason "new bottle of EC"
  campaignd resume electrolyte.campaign`,
	args: cobra.MaximumNArgs(1),
	new: steering(func(reason string) engine.Request {
		return engine.Request{Pause: &events.CampaignPaused{Reason: reason}}
	}),
}

var resumeCommand = command{
	use:   "resume [TARGET]",
	short: "End a pause",
	long: `End a pause. Where the campaign leaves an instrument alone for a while that has
put experiments off or failed, it tries again at once.`,
	example: `  campaignd resume electrolyte.campaign --reason "the bottle is connected"`,
	args:    cobra.MaximumNArgs(1),
	new: steering(func(reason string) engine.Request {
		return engine.Request{Resume: &events.CampaignResumed{Reason: reason}}
	}),
}

var stopCommand = command{
	use:   "stop [TARGET]",
	short: "End the campaign for good; what is under way is awaited, or with --now called off",
	long: `End the campaign for good. What an instrument is doing is awaited and recorded;
nothing new is started. With --now it is called off: the instrument is ordered to stop.
To leave a run and go on later, press Ctrl-C instead, or use ` + "`campaignd pause`" + `;
to stop a device and go on later, ` + "`campaignd abort`" + `.

` + safety,
	example: `  campaignd stop electrolyte.campaign --reason "good enough for the paper"
  campaignd stop electrolyte.campaign --now --reason "the solvent leaks"`,
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		now := flags.Bool("now", false, "call off what is under way, too")
		return steering(func(reason string) engine.Request {
			if *now {
				return engine.Request{Abort: &engine.Abort{Stop: true, Reason: reason}}
			}
			return engine.Request{Stop: &events.CampaignStopped{Reason: reason}}
		})(flags)
	},
}
