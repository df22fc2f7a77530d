package handover

import "github.com/campaignd/campaignd/events"

// Schedule determines the expert's part in one step of a campaign in which trust has to be
// earned. It depends on the share of the campaign that is over, on whose turn it is, and on the
// evidence from the expert's labels (trust.Weigh).
//
//  1. In the first fifth the expert is judged. Before each experiment the model's own
//     composition is put to them, and measured whatever the answer, so that the measurement
//     shows whether they were right. The campaign is, bit for bit, the one without an expert.
//  2. Then, until seven tenths are over, every second experiment may be one that the expert
//     accepted, as long as their labels go with the measurements ([Opens]). The experiments
//     between are the model's, and still put to the expert until half of the campaign is over
//     or the labels speak clearly against them ([AsksAgain]).
//  3. The last three tenths are the model's alone, and no expert is asked.
//
// Why: a label is evidence about its expert only if its composition is measured, and experts
// who are followed before anything speaks for them decide in which basin a campaign settles.
// docs/results-journal.md has the figures, and the alternatives that were tried.
type Schedule struct {
	// Chosen counts the experiments that the policy has chosen, Budget those it
	// may.
	Chosen, Budget int
	// Experts take turns, an experiment each.
	Experts int
}

// Shares of a campaign, and of an expert's turns.
const (
	judgedUntil = 0.2 // the model's own compositions are run
	askedUntil  = 0.5 // the model's own compositions are put to the expert
	handedOver  = 0.7 // no expert is asked any more
	turns       = 2   // of so many turns of an expert one may be aided
)

// Thresholds of the probability that an expert's labels help, which is ⅓ before
// any label: opens asks for a little more, so that a word that says nothing
// earns nothing (docs/results-journal.md).
const (
	opens     = 0.4
	asksAgain = 0.05
)

func (s Schedule) share() float64 {
	if s.Budget <= 0 {
		return 1
	}
	return float64(s.Chosen) / float64(s.Budget)
}

// Over reports whether the campaign has been handed over to the model.
func (s Schedule) Over() bool { return s.share() >= handedOver }

// Aided reports whether the experiment of this step may be one that the expert
// accepts.
func (s Schedule) Aided() bool {
	return s.share() >= judgedUntil && !s.Over() && s.Chosen/max(1, s.Experts)%turns == 0
}

// Judged reports whether the model's own composition is put to an expert, if
// the step is not aided.
func (s Schedule) Judged() bool { return s.share() < askedUntil }

// Opens reports whether an expert whose labels help with the given probability
// may choose.
func Opens(helps float64) (bool, events.Test) {
	t := events.Test{Name: "trust: probability that the expert's labels go with what is measured",
		Left: helps, Relation: ">=", Right: opens, Holds: helps >= opens}
	return t.Holds, t
}

// AsksAgain reports whether it is still worth learning more about such an
// expert.
func AsksAgain(helps float64) (bool, events.Test) {
	t := events.Test{Name: "trust: probability below which the expert is no longer asked",
		Left: helps, Relation: ">=", Right: asksAgain, Holds: helps >= asksAgain}
	return t.Holds, t
}
