package engine

import (
	"cmp"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Outside is a measured composition that the campaign could not ask for as it is
// now: it is in the models, and no best, on no front and reaches no target. It is
// named where it would otherwise lead: with a better value than the best, of a
// trade-off where nothing compared is at least as good in every objective, of a
// preference always.
type Outside struct {
	Experiment string           `json:"experiment"`
	Parameters definition.Point `json:"parameters"`
	// Values are what was measured of what is sought: one value, or those of the
	// objectives of a trade-off.
	Values []definition.Quantity `json:"values,omitempty"`
	// Why says why the campaign could not ask for it: a bound, a constraint, an
	// exclusion.
	Why string `json:"why"`
}

// outsideOf lists experiments outside the space that would lead, given the best measured
// within: the best first for a single objective, otherwise in order of request.
func outsideOf(s *campaign.State, best *Best) (all []Outside) {
	def := s.Definition
	sought := sought(s)
	for _, id := range s.Outside {
		x := s.Experiment(id)
		o := Outside{Experiment: x.ID, Parameters: x.Measurement.Actual, Why: x.Outside}
		leads := x.Status == campaign.Measured && !x.Excluded && s.AtTarget(x)
		switch {
		case def.Tradeoff() != nil:
			var traded bool
			o.Values, traded = tradedBy(s, x)
			leads = leads && traded && !s.Breaks(x) && !dominated(s, o.Values)
		case def.Single():
			value, ok := s.Value(x)
			o.Values = []definition.Quantity{value}
			leads = leads && ok && s.Counts(x) && !s.Breaks(x) && (best == nil || sought.Better(value.Value, best.Value))
		}
		if leads {
			all = append(all, o)
		}
	}
	if def.Single() {
		slices.SortStableFunc(all, func(a, b Outside) int {
			return int(sought.Sign()) * cmp.Compare(a.Values[0].Value, b.Values[0].Value)
		})
	}
	return all
}

// tradedBy are the values that an experiment gave of the objectives of a
// trade-off; ok is false where one is missing or left out.
func tradedBy(s *campaign.State, x *campaign.Experiment) (values []definition.Quantity, ok bool) {
	for _, a := range s.Definition.Tradeoff() {
		value, measured := s.Quantity(x, a.Name)
		if !measured || !x.Counts(a.Name) {
			return nil, false
		}
		values = append(values, value)
	}
	return values, true
}

// dominated reports whether something compared is at least as good as some values
// in every objective of a trade-off.
func dominated(s *campaign.State, values []definition.Quantity) bool {
	for x := range among(s) {
		if x.Status != campaign.Measured || x.Outside != "" || x.Excluded || !s.AtTarget(x) || s.Breaks(x) {
			continue
		}
		own, ok := tradedBy(s, x)
		for k, a := range s.Definition.Tradeoff() {
			ok = ok && !s.Definition.ObjectiveOf(a).Better(values[k].Value, own[k].Value)
		}
		if ok {
			return true
		}
	}
	return false
}
