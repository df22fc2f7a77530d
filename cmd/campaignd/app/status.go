package app

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/api"
	"github.com/campaignd/campaignd/projections/campaign"
)

// statusCommand is `campaignd status`.
//
// It only reads, and asks the process that runs the campaign for its activity; a store that no
// process has is looked at as it is.
var statusCommand = command{
	name: "status",
	args: cobra.MaximumNArgs(1),
	run: func(c *call, args []string) error {
		return c.reading(args, func(t target, s *session, core *engine.Core) error { return status(c, core, s, t) })
	},
}

// status prints the state of a campaign. The models are fitted here as the next decision would fit
// them, and nothing is recorded: the output does not wait for a run.
//
// The log's part comes from core, the activity of the process that runs it from its socket; the
// second may be a moment older.
func status(c *call, core *engine.Core, s *session, t target) error {
	st, err := view.StatusOf(c.ctx, core, core.Registry().Foregone(core.State().Definition, t.base))
	if err != nil {
		return err
	}
	// Asked after the models were fitted, which may take long: the process that runs the campaign
	// is as of now.
	run := lab.RunningIn(s, s.name)
	how := commandsOn(t)
	needs := append(st.NeedsPerson(how, run != nil), pauseInStatus(core.State(), c.about)...)
	if run != nil {
		needs = append(needs, view.NeedsInLab(run.WaitingFor, run.Remedies, how)...)
	}
	if c.json {
		return c.printJSON(api.Status{
			StatusDocument: st.Document(), NeedsPerson: needs, Run: run, Store: c.where(t),
		})
	}
	now := clock.Now()
	around := view.Around{
		Running:     runningText(run, now, c.about),
		NeedsPerson: needs,
		Store:       c.where(t),
		Now:         now,
	}
	return st.Write(c.stdout, around, how)
}

// runningText names the process that runs a campaign, and its activity; "" without one.
func runningText(run *lab.Running, now time.Time, about commands) string {
	if run == nil {
		return ""
	}
	text := fmt.Sprintf("by process %d since %s", run.PID, view.Clock(run.Since, now))
	switch {
	case run.WaitingFor != "":
		text += ", waiting for " + about.clause(run.WaitingFor, run.Remedies)
	case run.Computing != "":
		text += ", " + view.Computing(run.Computing, run.ComputingSince, now)
	}
	if run.Clock != "" {
		text += "; the clock of its machine was " + run.Clock + " meanwhile"
	}
	return text
}

// pauseInStatus says how a paused campaign goes on; nil for any other. Where the budget is spent,
// to resume it alone would end it: engine.AfterPause knows the step before.
func pauseInStatus(state *campaign.State, about commands) []string {
	if state.Status != campaign.Paused {
		return nil
	}
	return []string{about.clause("the campaign is paused", engine.AfterPause(state))}
}
