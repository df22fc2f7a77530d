package app

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// safety is in the help of each command that stops a device.
const safety = "The hardware's own stop is the safety device: no program takes its place."

// cancelCommand is `campaignd cancel`.
var cancelCommand = command{
	name: "cancel",
	args: cobra.RangeArgs(1, 2),
	new: func(flags *pflag.FlagSet) runner {
		var r engine.Cancel
		flags.BoolVar(&r.EndProgram, "end-program", false, "end the instrument's program, where it does not answer")
		addVoided(flags, &r.Voided)
		flags.StringVar(&r.Reason, "reason", "", forTheRecord)
		return askingOf(1, func(s *campaign.State, args []string) (engine.Request, error) {
			r.Experiment = args[0]
			return engine.Request{Cancel: &r}, knownSubject(s, r.Experiment)
		})
	},
}

// addVoided adds the flag by which a person says that no answer is needed.
func addVoided(flags *pflag.FlagSet, voided *events.Voided) {
	flags.StringVar((*string)(voided), "voided", "",
		"why the instrument need not answer that it never begins it: `power`, the device was without")
}

// abortCommand is `campaignd abort`.
var abortCommand = command{
	name: "abort",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var device string
		var r engine.Abort
		flags.StringVar(&device, "device", "", "abort every campaign that uses this `device`")
		flags.StringVar(&r.Reason, "reason", "", forTheRecord)
		return func(c *call, args []string) error {
			if c.cmd.Flags().Changed("device") {
				abort := deviceAbort{call: c, device: device, order: engine.Request{Abort: &r}}
				return abort.run(strings.Join(args, ""))
			}
			return asking(0, func([]string) engine.Request { return engine.Request{Abort: &r} })(c, args)
		}
	},
}

// callsOff says how the commands that were just called off go on: when the instrument gets the
// order, and where its answer shows.
func (a *app) callsOff(ctx context.Context, s *session, t target, stored []events.Event) {
	ids := lab.CalledOff(stored)
	if len(ids) == 0 {
		return
	}
	instrument := "the instrument"
	goesOn := false
	// The run that took the request may have ended by now: this only helps the reader then.
	if core, err := s.core(ctx); err == nil {
		state := core.State()
		instrument = cmp.Or(state.Order(ids[0]).Instrument, instrument)
		goesOn = state.Status == campaign.Running && stored[0].Kind == events.KindCancellationOrdered
	}
	say := a.printf
	if a.json {
		say = a.remark
	}
	line := view.BeingCalledOff(ids)
	if lab.RunningIn(s, s.name) != nil {
		say("%s; %s shows when %s has answered.\n", line, a.commandsFor(t).command("status"), instrument)
		if goesOn {
			say("The campaign then goes on with its next experiment: %s keeps it still.\n",
				a.commandsFor(t).command("pause"))
		}
		return
	}
	say("%s: that is recorded, but no process drives the campaign, so that %s does not know of it yet.\n", line, instrument)
	say("It gets the order as soon as `%s` drives the campaign. Until then use the hardware's own stop.\n",
		commandsOn(t)(problem.Remedy{Action: problem.Run}))
}
