package app

import (
	"context"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
)

// result is the document of `run --json`.
type result struct {
	engine.Summary
	Store string `json:"store"`
}

// summarize prints how a campaign ended. report is the path of the report, empty without one.
// undecided is the reason, by an expert's name, not to call their preferred composition the best
// (see running.undecided).
func (a *app) summarize(
	ctx context.Context, core *engine.Core, t target, report string, undecided map[string]string,
) error {
	summary, err := core.Summarize(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(result{Summary: summary, Store: a.where(t)})
	}
	stands := view.Summarized(core, summary)
	// row prints one row of the summary: a name in 12 columns, and a text that is wrapped to the
	// rest of a terminal's width.
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
	a.printf("\nCampaign %s: %s\n\n", stands.Campaign, stands.StatusText())
	for _, r := range stands.Result(undecided) {
		row(r.Name, r.Text)
	}
	// Where a campaign ran on a table of known values, the best of them is
	// known too.
	if backtest := view.Backtest(core, core.Registry().Foregone(stands.Definition, t.base)); backtest != "" {
		row("backtest", backtest)
	}
	row("store", a.where(t))
	if report != "" {
		row("report", report)
	}
	return nil
}
