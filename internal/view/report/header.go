package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// statusText is the state of the campaign in a sentence, and why it ended or paused. A running
// campaign's sentence counts the events it waits for.
//
// The reasons of an end are constants in the log, whose words may change here without any log being
// read differently.
func statusText(h *history) string {
	s := h.state
	switch s.Status {
	case campaign.Completed:
		reasons := map[string]string{
			events.CompletedBudget:     "the budget of experiments is spent",
			events.CompletedTime:       "the budget of time is spent",
			events.CompletedTarget:     "the target is reached",
			events.CompletedConverged:  "no further improvement was seen",
			events.CompletedExhausted:  "every candidate has been measured or excluded",
			events.CompletedIdentified: "the best composition is identified",
		}
		if !h.measures {
			reasons[events.CompletedBudget] = "the budget of comparisons is spent"
		}
		// A reason that a newer program recorded is printed as it is.
		reason := reasons[s.Reason]
		if reason == "" {
			reason = s.Reason
		}
		text := "Completed: " + reason + "."
		if h.completed != "" {
			text += " " + h.completed
		}
		return text
	case campaign.Stopped:
		return strings.TrimSuffix("Stopped by a person: "+s.Reason, ": ")
	case campaign.Paused:
		return strings.TrimSuffix("Paused: "+s.Reason, ": ")
	}
	text := "Running"
	var open []string
	now := view.CampaignOf(h.core, view.Shown{}, "")
	n := len(now.UnderWay)
	if now.Batches == nil {
		n -= len(now.Unresolved) // of experiments
	}
	if n > 0 {
		open = append(open, format.Count(n, "experiment")+" under way")
	}
	if n := len(now.Questions); n > 0 {
		open = append(open, format.Count(n, "question")+" open")
	}
	if open != nil {
		text += ": " + strings.Join(open, ", ")
	}
	return text
}

// worldOf says whether the results are of a simulated or of the real world, and the class that the
// style sheet colors it by. Measurements decide; before the first one, the definition and the
// dispatched commands do. Nothing is called real before an instrument or a person was involved.
//
// A mixture is named before anything else: a report that calls a campaign real because its last
// measurement was would be dangerous.
func worldOf(h *history) (text, class string) {
	if !h.measures { // only the experts' answers have a world
		switch {
		case len(h.simulatedExpert) > 0 && h.peopleAnswered:
			return "SIMULATED AND REAL MIXED", "mixed"
		case len(h.simulatedExpert) > 0:
			return "SIMULATED", "simulated"
		case h.peopleAnswered:
			return "REAL", "real"
		}
		return "NOTHING COMPARED YET", "unknown"
	}
	switch {
	case h.simulated > 0 && h.real > 0:
		return "SIMULATED AND REAL MIXED", "mixed"
	case h.simulated > 0, h.real == 0 && h.core.Registry().Simulates(h.def),
		h.real == 0 && h.dispatched && h.dispatchSimulated:
		return "SIMULATED", "simulated"
	case h.real > 0, h.dispatched, h.def.ByHand():
		return "REAL", "real"
	}
	return "NOTHING MEASURED YET", "unknown"
}

// factsOf are the lines under the title, as pairs of a name and a value.
//
// Nothing here is computed from the time of day: a report that is made again
// next year says the same.
func factsOf(h *history) [][2]string {
	s, def := h.state, h.def
	goal := h.sought.Goal + " " + format.HeadingOf(h.sought)
	if !def.Single() {
		goal = view.Seeks(def)
	}
	facts := [][2]string{
		{"goal", goal},
		{"instrument", instrumentOf(h)},
	}
	if !h.measures {
		facts = facts[:1] // nothing measures
	}
	var experts []string
	for _, e := range def.Experts {
		name := e.Name
		switch {
		case e.Program:
			name += " (a program)"
		case !e.Person || h.simulatedExpert[e.Name]:
			name += " (simulated)"
		}
		experts = append(experts, name)
	}
	if experts != nil {
		facts = append(facts, [2]string{"experts", strings.Join(experts, ", ")})
	}
	// A campaign that has ended is timed to its end: notes and corrections may
	// be recorded long afterwards.
	end, span := "last event", h.last.Time
	if !s.EndedAt.IsZero() {
		end, span = "ended", s.EndedAt
	}
	if def.Parallel > 1 {
		facts = append(facts, [2]string{"at the same time", format.Count(def.Parallel, "experiment")})
	}
	facts = append(facts, [2]string{"policy", policyOf(h)},
		[2]string{"began", format.Time(s.DefinedAt) + " UTC"},
		[2]string{end, fmt.Sprintf("%s UTC (%s)", format.Time(span), spanOf(h, span))},
		[2]string{"seed", fmt.Sprint(def.Seed)})
	if len(h.builds) > 0 {
		facts = append(facts, [2]string{"build", view.Build(h.builds[len(h.builds)-1])})
	}
	return facts
}

// spanOf is how long the campaign went on until a time, and how much of it lay
// between an end and its continuation, when it was not running. Without that
// subtraction a campaign that was continued after a year would have taken a
// year.
func spanOf(h *history, until time.Time) string {
	text := format.Duration(until.Sub(h.state.DefinedAt))
	if h.idle > 0 {
		text = format.Duration(until.Sub(h.state.DefinedAt)-h.idle) + ", and " + format.Duration(h.idle) +
			" between an end and its continuation"
	}
	return text
}

// instrumentOf names the instruments: each device by the identity that it reported with its
// measurements, else by its name in the events, else as the definition describes it. More than four
// are counted.
//
// The first loop runs before the second, so that a device that gave its identity at least once is
// not listed again under its bare name.
func instrumentOf(h *history) string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for i := range h.state.Experiments {
		x := &h.state.Experiments[i]
		if m := x.Measurement; m != nil && m.Identity != "" && m.Identity != x.Command.Instrument {
			full := x.Command.Instrument + " (" + m.Identity + ")"
			add(full)
			seen[x.Command.Instrument] = true
		}
	}
	for i := range h.state.Experiments { // devices that never reported an identity
		add(h.state.Experiments[i].Command.Instrument)
	}
	const most = 4
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	if names != nil {
		return strings.Join(names, ", ")
	}
	settings, err := h.core.Registry().InstrumentSettings(h.def)
	if err != nil {
		return "none"
	}
	return settings.Words(h.def)
}

// policyOf names the method, or each of them if amendments changed it: "lcb until
// e12, then logei". A campaign that was amended has results of several methods,
// and its report must not give them to the last.
func policyOf(h *history) string {
	text := ""
	for i, p := range h.policies {
		switch {
		case i == 0:
			text = p.text
		case p.before == 0:
			text = p.text // changed before anything was measured by it
		default:
			text += fmt.Sprintf(" until e%d, then %s", p.before, p.text)
		}
	}
	return text
}

// policyText names the method of a definition: its acquisition function, how it trusts experts, and
// when it asks them. It names the differences between methods; the campaign file stands in full at
// the end of the page.
func policyText(def definition.Campaign) string {
	p := def.Policy
	if !p.Measures() {
		return p.Duel.Name + ", comparisons alone"
	}
	text := p.Next.Name
	if lcb, ok := next.LCBOf(p); ok && lcb.Beta != nil && lcb.BetaRule == next.BetaFixed {
		text += ", β = " + format.Rounded(*lcb.Beta, 4)
	}
	if p.Trust.Name != policies.None {
		text += "; trust " + p.Trust.Name
		if b := belief.SettingsOf(p.Trust); b != nil && b.Feedback != belief.FeedbackLabel {
			text += " by " + b.Feedback
		}
	}
	switch w, asks := cobol.WidthOf(p); {
	case asks && w.Threshold != nil:
		text += "; asks where the belief is wider than " + format.Rounded(*w.Threshold, 4)
	case p.Handover.Name == coexbo.ChooseName:
		text += "; an expert chooses between two candidates"
	}
	return text
}
