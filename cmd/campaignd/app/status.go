package app

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/diagnose"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// status is what `status --json` prints.
type status struct {
	*view.Status
	// NeedsPerson says what a person must do before the campaign goes on.
	NeedsPerson []string `json:"needs_person"`
	// Run is the process that runs the campaign, if there is one.
	Run   *control.Status `json:"run"`
	Store string          `json:"store"`
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [TARGET]",
		Short: "Say how a campaign stands and what it waits for",
		Example: `  campaignd status
  campaignd status examples/electrolyte.yaml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, s, err := a.openToRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.close()
			core, err := s.core(cmd.Context())
			if err != nil {
				return err
			}
			return a.status(cmd.Context(), core, s, t)
		},
	}
}

func (a *app) status(ctx context.Context, core *engine.Core, s *session, t target) error {
	diagnosis, err := diagnose.Run(ctx, core.View())
	if err != nil {
		return err
	}
	st, err := view.StatusOf(core, diagnosis)
	if err != nil {
		return err
	}
	var run *control.Status
	if s.owner != nil {
		if owner := s.owner.Status(); owner.Campaign == s.name {
			run = &owner
		}
	}
	how := commandsOn(t)
	needs := append(st.NeedsPerson(how), pauseInStatus(core.State(), a.about)...)
	if a.json {
		return a.printJSON(status{st, needs, run, t.store})
	}
	now := time.Now()
	around := view.Around{Running: runningText(run, now, a.about), NeedsPerson: needs, Store: t.store, Now: now}
	return st.Write(a.stdout, around, how)
}

// runningText says which process runs a campaign, and what it does; "" for none.
func runningText(run *control.Status, now time.Time, about commands) string {
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
	return text
}

// pauseInStatus says what a paused campaign waits for.
func pauseInStatus(state *campaign.State, about commands) []string {
	if state.Status != campaign.Paused {
		return nil
	}
	return []string{about.clause("the campaign is paused", engine.AfterPause(state))}
}
