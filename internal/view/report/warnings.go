package report

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// warning is something the reader must know before reading the results.
type warning struct {
	Grave bool // needs a person, or puts the results in doubt
	Text  string
	// Details are the single occurrences.
	Details []string
}

// warningsOf returns the warnings, the gravest first. store is the path for the commands in them.
//
// Within grave and light the order is that of this function: what stops the campaign, then what
// puts the model in doubt, then past events.
func warningsOf(h *history, store string) []warning {
	var grave, light []warning
	add := func(w warning) {
		if w.Grave {
			grave = append(grave, w)
		} else {
			light = append(light, w)
		}
	}
	for i := range h.state.Experiments {
		x := &h.state.Experiments[i]
		if x.Status == campaign.Unresolved {
			add(warning{
				Grave: true,
				Text: fmt.Sprintf("The fate of %s is unknown (%s). "+
					"A person must look, and settle it with: campaignd resolve %s %s measured|failed|not-performed",
					x.ID, x.Cause, quote(store), x.ID),
			})
		}
	}
	for _, d := range h.state.Drifts() {
		known := ""
		if d.Known {
			known = " A person knows of it."
		}
		add(warning{Grave: !d.Known, Text: fmt.Sprintf("%s, the last reference experiment %s, is outside the limits of its "+
			"control chart: the instrument may have drifted.%s", d.Experiment, d.Reference, known)})
	}
	if h.modelError != nil {
		add(warning{
			Grave: true,
			Text:  fmt.Sprintf("The model cannot be rebuilt, so nothing below rests on it: %v", h.modelError),
		})
	}
	if h.failure != "" {
		add(warning{
			Grave: true,
			Text:  fmt.Sprintf("The last fit of the objective failed, the model below is an older one: %s", h.failure),
		})
	}
	if d := &h.diagnosis; d.Verdict.Troubled() && h.modelError == nil {
		w := warning{Grave: true, Text: d.Headline + " See “How far the model can be trusted”."}
		for _, f := range d.Findings {
			if f.Level.Troubled() {
				w.Details = append(w.Details, f.Text)
			}
		}
		add(w)
	}
	failed := warning{}
	for i := range h.state.Experiments {
		if x := &h.state.Experiments[i]; x.Status == campaign.Failed {
			failed.Details = append(failed.Details, fmt.Sprintf("%s: %s", x.ID, x.Cause))
		}
	}
	if n := len(failed.Details); n > 0 {
		failed.Text = format.Count(n, "experiment") + " failed and gave no value."
		add(failed)
	}
	for _, w := range incidentWarnings(h) {
		add(w)
	}
	// Not grave: a campaign is made to go on without its experts.
	var expired int
	for i := range h.state.Questions {
		if h.state.Questions[i].Status == campaign.Expired {
			expired++
		}
	}
	if expired > 0 {
		add(warning{Text: format.Count(expired, "question") + " went unanswered; " +
			"the campaign went on without the expert each time."})
	}
	if len(h.builds) > 1 {
		w := warning{Text: "More than one build of campaignd worked on this campaign: " +
			"results are promised bit for bit only between equal builds."}
		for _, b := range h.builds {
			w.Details = append(w.Details, view.Build(b))
		}
		add(w)
	}
	if h.simulated > 0 && h.real > 0 {
		add(warning{
			Grave: true,
			Text: fmt.Sprintf("Simulated and real measurements are mixed: %d simulated, %d real.",
				h.simulated, h.real),
		})
	}
	return append(grave, light...)
}

// incidentWarnings gathers stalls, failed fits, unknown fates and take-overs, one warning for each
// sort. They are over, so none is grave.
//
// A fate that is unknown still has a grave warning of its own; this is the history of them all.
func incidentWarnings(h *history) []warning {
	var stalls, fits, fates, recoveries []string
	for _, i := range h.incidents {
		line := format.Time(i.Time) + ": " + i.Words()
		switch i.Kind {
		case events.KindInstrumentStalled:
			stalls = append(stalls, line)
		case events.KindModelFitFailed:
			fits = append(fits, line)
		case events.KindExperimentUnresolved, events.KindExperimentResolved:
			fates = append(fates, line)
		case events.KindRecoveryDone:
			recoveries = append(recoveries, line)
		}
	}
	var out []warning
	if n := len(stalls); n > 0 {
		out = append(out, warning{Text: fmt.Sprintf("The instrument stalled %s.", times(n)), Details: stalls})
	}
	if n := len(fits); n > 0 {
		out = append(out, warning{
			Text:    format.Count(n, "fit") + " failed; the campaign went on with the model it had.",
			Details: fits,
		})
	}
	if len(fates) > 0 {
		out = append(out, warning{Text: "The fate of experiments was unknown at times.", Details: fates})
	}
	if n := len(recoveries); n > 0 {
		out = append(out, warning{
			Text:    fmt.Sprintf("The campaign was interrupted and taken over %s.", times(n)),
			Details: recoveries,
		})
	}
	return out
}

// times writes how often something happened.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
