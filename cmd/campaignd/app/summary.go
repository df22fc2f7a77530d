package app

import (
	"context"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
)

// result is what `run --json` prints.
type result struct {
	engine.Summary
	Store string `json:"store"`
}

// summarize prints how a campaign ended. undecided says of an expert's
// preference what speaks against calling it the best.
func (a *app) summarize(
	ctx context.Context,
	core *engine.Core,
	t target,
	report string,
	undecided map[string]string,
) error {
	summary, err := core.Summarize(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(result{Summary: summary, Store: a.where(t)})
	}
	s := core.State()
	row := func(what, how string) {
		lines := []string{how}
		if size := sizeOf(a.stdout); size != nil { // a terminal would break lines within words
			width, _ := size()
			lines = console.Wrap(how, max(width-16, 20))
		}
		for i, line := range lines {
			if i > 0 {
				what = ""
			}
			a.printf("  %-12s %s\n", what, line)
		}
	}
	a.printf("\nCampaign %s: %s\n\n", s.Name, view.Standing(s))
	for _, r := range view.Result(s, summary, undecided) {
		row(r.Name, r.Text)
	}
	if backtest := view.Backtest(core, core.Registry().Foregone(s.Definition, t.base)); backtest != "" {
		row("backtest", backtest)
	}
	row("store", a.where(t))
	if report != "" {
		row("report", report)
	}
	return nil
}
