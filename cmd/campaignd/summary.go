package main

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// result is what `run --json` prints.
type result struct {
	engine.Summary
	Store string `json:"store"`
}

// summarize prints how a campaign ended. undecided says of an expert's preference what
// speaks against calling it the best.
func (a *app) summarize(core *engine.Core, t target, report string, undecided map[string]string) error {
	summary, err := core.Summarize()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(result{Summary: summary, Store: t.store})
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
	a.printf("\nCampaign %s: %s\n\n", s.Name, endedBecause(s))
	for _, found := range foundSoFar(s, summary) {
		row(found[0], found[1])
	}
	for _, best := range summary.Preferred {
		if text := undecided[best.Expert]; text != "" {
			row("", "but for "+best.Expert+" "+text)
		}
	}
	for _, spent := range effort(s, summary) {
		row(spent[0], spent[1])
	}
	for _, line := range trustInWords(summary.Helps, s.Trust) {
		row("trust", line)
	}
	row("store", t.store)
	if report != "" {
		row("report", report)
	}
	return nil
}

// foundSoFar says in rows what a campaign has found: the best composition, or,
// where nothing is measured, what each expert prefers.
func foundSoFar(s *campaign.State, summary engine.Summary) (rows [][2]string) {
	def := s.Definition
	if !def.Measures() {
		for _, best := range summary.Preferred {
			rows = append(rows, [2]string{"preferred", fmt.Sprintf("by %s: %s", best.Expert, format.CompositionsOf(def).LineWithUnits(best.Parameters))})
		}
		if rows == nil {
			rows = [][2]string{{"preferred", "nothing was compared"}}
		}
		return rows
	}
	best := summary.Best
	if best == nil {
		return [][2]string{{"best", "nothing was measured"}}
	}
	// The model's value is not the measured one, which holds noise: where they differ both are said.
	value := fmt.Sprintf("%s %s, in %s", def.Objective.Name, format.Quantity(best.Value, best.Unit), best.Experiment)
	if x := s.Experiment(best.Experiment); x != nil && x.Measurement != nil && format.Short(x.Measurement.Objective.Value) != format.Short(best.Value) {
		value = fmt.Sprintf("%s %s by the model, in %s, which measured %s", def.Objective.Name, format.Quantity(best.Value, best.Unit), best.Experiment,
			format.Short(x.Measurement.Objective.Value))
	}
	rows = [][2]string{{"best", value}, {"", format.CompositionsOf(def).LineWithUnits(best.Parameters)}}
	if further := furtherInWords(best.Further); len(further) > 0 {
		rows = append(rows, [2]string{"", "further " + strings.Join(further, ", ")})
	}
	return rows
}

// effort says in rows what a campaign has spent: experiments, and the answers of
// its experts, each form of them where there are any or the policy asks for it.
func effort(s *campaign.State, summary engine.Summary) (rows [][2]string) {
	def := s.Definition
	row := func(what, format string, args ...any) {
		rows = append(rows, [2]string{what, fmt.Sprintf(format, args...)})
	}
	if !def.Measures() {
		unanswered := ""
		if n := expired(s); n > 0 {
			unanswered = fmt.Sprintf(", %d of them unanswered", n)
		}
		row("comparisons", "%d of %d%s", compared(s), def.Budget.Comparisons, unanswered)
		return rows
	}
	row("experiments", "%d of %d", summary.Experiments, def.Budget.Experiments)
	if len(def.Experts) == 0 && summary.Labels == 0 {
		return rows
	}
	if summary.Labels > 0 || belief.Reads(def.Policy.Trust, belief.FeedbackLabel) {
		row("labels", "%d", summary.Labels)
	}
	if summary.Comparisons > 0 {
		initial := 0
		for i := range s.Questions {
			if q := &s.Questions[i]; q.Form == events.FormComparison && q.Decision == "" && len(q.Answer.Order) > 0 {
				initial++
			}
		}
		row("comparisons", "%d%s", summary.Comparisons, initially(initial, summary.Comparisons))
	}
	if n := pinpointed(s); n > 0 {
		row("named", "%s by experts", format.Count(n, "composition"))
	}
	return rows
}

func initially(n, all int) string {
	switch n {
	case 0:
		return ""
	case all:
		return ", all at first"
	}
	return fmt.Sprintf(", %d of them at first", n)
}

// compared counts the comparisons that were asked for and are over: what counts
// against the budget of a campaign that measures nothing.
func compared(s *campaign.State) (n int) {
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Form == events.FormComparison && !q.Volunteered && !q.Moot && q.Status != campaign.Asked {
			n++
		}
	}
	return n
}

// expired counts the questions that nobody has answered in time, nor since.
func expired(s *campaign.State) (n int) {
	for i := range s.Questions {
		if s.Questions[i].Status == campaign.Expired {
			n++
		}
	}
	return n
}

// pinpointed counts the compositions that experts named.
func pinpointed(s *campaign.State) (n int) {
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Form == events.FormPinpoint && q.Answer.Point != nil {
			n++
		}
	}
	return n
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
