package main

import (
	"fmt"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// result is what `run --json` prints.
type result struct {
	engine.Summary
	Store string `json:"store"`
}

// summarize prints how a campaign ended.
func (a *app) summarize(core *engine.Core, t target, report string) error {
	summary, err := core.Summarize()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(result{Summary: summary, Store: t.store})
	}
	s := core.State()
	row := func(what, how string) { a.printf("  %-12s %s\n", what, how) }
	a.printf("\nCampaign %s: %s\n\n", s.Name, endedBecause(s))
	if best := summary.Best; best != nil {
		row("best", fmt.Sprintf("%s %s, in %s", s.Definition.Objective.Name, quantity(best.Value, best.Unit), best.Experiment))
		row("", compositionWithUnits(s.Definition, best.Parameters))
	} else {
		row("best", "nothing was measured")
	}
	row("experiments", fmt.Sprintf("%d of %d", summary.Experiments, s.Definition.Budget.Experiments))
	if len(s.Definition.Experts) > 0 {
		row("labels", fmt.Sprint(summary.Labels))
	}
	row("store", t.store)
	if report != "" {
		row("report", report)
	}
	return nil
}

// endedBecause says in a sentence how a campaign stands.
func endedBecause(s *campaign.State) string {
	because := ""
	if s.Reason != "" {
		because = " (" + s.Reason + ")"
	}
	switch s.Status {
	case campaign.Completed, campaign.Stopped, campaign.Paused:
		return string(s.Status) + because
	}
	return string(s.Status)
}
