package campaignfile

import (
	"github.com/campaignd/campaignd/events/definition"
)

// check is a row of the tables below: a part of the definition, where it applies, and its check.
type check struct {
	// applies reports whether the campaign has the part; nil for any campaign.
	applies func(*definition.Campaign) bool
	// needs is the part's condition on a campaign. Without it the part is refused at its place
	// and not checked.
	needs need
	at    path
	check func(*validator)
}

// need is a condition on a campaign, with the fault of a part that lacks it.
type need struct {
	met             func(*definition.Campaign) bool
	problem, advice string
}

// measured needs an instrument: experts who compare leave nothing to measure.
func measured(advice string) need {
	return need{(*definition.Campaign).Measures,
		"nothing is measured where experts' comparisons are the objective", advice}
}

// declared needs quantities with names.
var declared = need{(*definition.Campaign).Several,
	"the quantities are not declared", "declare each: quantities: [{name: …, unit: …}]"}

// alone checks that an objective of several quantities has nothing of a quantity's own.
func alone(problem, advice string) func(*validator) {
	return func(v *validator) {
		if o := v.def.Objective; noiseGiven(o) || o.Min != nil || o.Max != nil || o.Unit != "" {
			v.report(at("objective"), problem, advice)
		}
	}
}

// run makes the checks of a table in order.
func (v *validator) run(checks []check) {
	for _, c := range checks {
		switch {
		case c.applies != nil && !c.applies(&v.def):
		case c.needs.met != nil && !c.needs.met(&v.def):
			v.report(c.at, c.needs.problem, c.needs.advice)
		default:
			c.check(v)
		}
	}
}

// Kinds of campaigns, for the tables.
var (
	measures = (*definition.Campaign).Measures
	compares = func(def *definition.Campaign) bool { return !def.Measures() }
	trades   = func(def *definition.Campaign) bool { return len(def.Objective.Tradeoff) > 0 }
	prefers  = func(def *definition.Campaign) bool { return def.Objective.Preference != nil }
	desires  = func(def *definition.Campaign) bool { return len(def.Objective.Desirability) > 0 }
	proceeds = func(def *definition.Campaign) bool {
		return len(def.Procedure)+len(def.Instruments)+len(def.Places) > 0 || !def.Batch.IsZero()
	}
	priced = func(def *definition.Campaign) bool { return !def.Cost.IsZero() }
)

// described are the checks of the parameters and of the objective, before those of the space.
var described = []check{
	{check: (*validator).parameters},
	{check: (*validator).constraints},
	{check: (*validator).excluded},
	{check: (*validator).objective},
	{applies: func(def *definition.Campaign) bool { return def.Objective.Formula != "" },
		check: (*validator).formula},
	{applies: (*definition.Campaign).Several, at: at("quantities"),
		needs: measured("leave quantities out"), check: (*validator).quantities},
	{check: outcomes},
	{applies: prefers, check: preferenceAlone},
	{applies: prefers, at: at("objective", "preference", "over"), needs: declared,
		check: (*validator).preference},
	{check: (*validator).better},
	{applies: desires, check: alone("a desirability is a pure number from 0 to 1",
		"leave unit, noise, min and max out; say them of its quantities")},
	{applies: desires, check: (*validator).desirability},
	{applies: trades, check: alone("a trade-off has no unit, noise and range of its own",
		"say them of its quantities")},
	{applies: trades, at: at("objective", "tradeoff"), needs: declared, check: (*validator).tradeoff},
	{check: outcomeConstraints},
	{check: (*validator).steps},
}

// planned are the checks of the campaign's course and end, and of its instrument and experts.
var planned = []check{
	{check: (*validator).initial},
	{applies: measures, check: rules},
	{applies: compares, check: (*validator).duel},
	{check: unpriced},
	{applies: priced, at: at("cost"), needs: measured("leave it out"), check: (*validator).cost},
	{applies: func(def *definition.Campaign) bool { return !def.Fidelity.IsZero() },
		at: at("fidelity"), needs: measured("leave it out"), check: (*validator).fidelity},
	{applies: measures, check: (*validator).budget}, // of comparisons: by duel
	{check: (*validator).stop},
	{applies: proceeds, at: at("procedure"), check: (*validator).procedure,
		needs: measured("leave procedure and instruments out, or choose a policy that measures, such as lcb or cobol")},
	{applies: func(def *definition.Campaign) bool {
		return !proceeds(def) && (def.Measures() || !def.Driver().IsZero())
	},
		at: at("instrument"), check: (*validator).instrument,
		needs: measured("remove the instrument, or choose a policy that measures, such as lcb or cobol")},
	{applies: func(def *definition.Campaign) bool { return len(def.Stocks) > 0 || drawn(def) },
		at: at("stocks"), needs: measured("leave them out"), check: (*validator).stocks},
	{applies: func(def *definition.Campaign) bool { return len(def.ReferenceExperiments) > 0 },
		at: at("reference_experiments"), needs: measured("leave them out"), check: (*validator).references},
	{check: (*validator).experts},
}
