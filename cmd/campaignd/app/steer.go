package app

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// steering is a runner whose request consists of a reason.
func steering(request func(reason string) engine.Request) func(*pflag.FlagSet) runner {
	return func(flags *pflag.FlagSet) runner {
		reason := flags.String("reason", "", forTheRecord)
		return asking(0, func([]string) engine.Request { return request(*reason) })
	}
}

var pauseCommand = command{
	name: "pause",
	args: cobra.MaximumNArgs(1),
	new: steering(func(reason string) engine.Request {
		return engine.Request{Pause: &events.CampaignPaused{Reason: reason}}
	}),
}

var resumeCommand = command{
	name: "resume",
	args: cobra.MaximumNArgs(1),
	new: steering(func(reason string) engine.Request {
		return engine.Request{Resume: &events.CampaignResumed{Reason: reason}}
	}),
}

var stopCommand = command{
	name: "stop",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		now := flags.Bool("now", false, "call off experiments under way, too")
		return steering(func(reason string) engine.Request {
			if *now {
				return engine.Request{Abort: &engine.Abort{Stop: true, Reason: reason}}
			}
			return engine.Request{Stop: &events.CampaignStopped{Reason: reason}}
		})(flags)
	},
}
