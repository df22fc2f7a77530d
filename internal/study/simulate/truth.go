package simulate

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/space"
)

// Truth knows the noiseless value of every composition, and judges a campaign's measurements by it:
// see [Truth.nothing].
type Truth struct {
	// Value is the noiseless objective at a composition, in the objective's unit. It is safe for
	// concurrent use. For a trade-off it is the part of the greatest hypervolume that the
	// composition covers alone, in per cent. It is NaN where a formula has no value.
	Value func(definition.Point) (float64, error)
	// Sought is that objective.
	Sought definition.Objective
	// Best and Worst are the extremes over the space, according to its goal;
	// where outcomes are bounded, over the compositions that keep the bounds. Of
	// a trade-off they are 100 % and 0 %.
	Best, Worst float64
	// BestAt is where Best is attained, or one of the places; nil where that is
	// unknown.
	BestAt definition.Point
	// Front is the judge of a trade-off; nil for a single objective.
	Front *Front

	// quantities is the noiseless result of an experiment; nil if that is the objective alone. It
	// is safe for concurrent use.
	quantities quantities
	// keeps reports whether a composition keeps the bounds on outcomes by its noiseless quantities;
	// nil without bounds.
	keeps func(definition.Point) (bool, error)
	// required are those bounds.
	required []definition.OutcomeConstraint
	// measured are the names of the quantities that an expert may know.
	measured []string
}

// Regret returns how much worse a value is than the best, in the objective's
// unit: at least 0 for noiseless values, up to the rounding of Best.
func (t Truth) Regret(value float64) float64 {
	return t.Sought.Regret(value, t.Best)
}

// Words are the names of a truth's measures.
type Words struct {
	// Regret is the measure, Short that in a sentence and Column over a column,
	// Cumulative its sum.
	Regret, Short, Column, Cumulative string
	// Optimum is the reference at which it is 0.
	Optimum string
}

// Words returns the words of one value, or of a trade-off.
func (t Truth) Words() Words {
	if t.Front != nil {
		return Words{"missing hypervolume", "missing hypervolume", "missing", "missing hypervolume, added up", "greatest hypervolume"}
	}
	return Words{"simple regret", "regret", "regret", "cumulative regret", "optimum"}
}

// Rank returns ρ: the value at p scaled linearly so that the best is −3 and the
// worst 3 (Xu et al. 2024, Example 2.2).
func (t Truth) Rank(p definition.Point) (float64, error) {
	v, err := t.Value(p)
	if err != nil {
		return math.NaN(), err
	}
	return t.rankOf(v), nil
}

// rankOf is the rank ρ of simulated experts: −3 for the best value of the space,
// 3 for the worst.
func (t Truth) rankOf(value float64) float64 {
	if t.Best == t.Worst {
		return 0
	}
	return min(max(-3+6*(value-t.Best)/(t.Worst-t.Best), -3), 3)
}

// counts returns the value at a composition, and whether it counts: it has one,
// and keeps the bounds on outcomes.
func (t Truth) counts(p definition.Point) (value float64, ok bool, err error) {
	value, err = t.Value(p)
	if err != nil || math.IsNaN(value) {
		return math.NaN(), false, err
	}
	if t.keeps == nil {
		return value, true, nil
	}
	ok, err = t.keeps(p)
	return value, ok, err
}

// At returns the value and the regret of a composition that is measured. One
// that does not count has the regret of the worst.
func (t Truth) At(p definition.Point) (value, regret float64, err error) {
	value, ok, err := t.counts(p)
	if math.IsNaN(value) {
		value = t.Worst
	}
	if !ok {
		return value, t.Regret(t.Worst), err
	}
	return value, t.Regret(value), err
}

// found is the result of a campaign so far: the joint worth of its measured compositions. For one
// value that is the best of theirs, for a trade-off the hypervolume that they cover.
type found struct {
	truth Truth
	// value is that worth, in the unit of the objective; the worst value of the space at first.
	value float64
	// scores are those of a trade-off that count.
	scores [][]float64
}

// nothing is the result before the first measurement.
func (t Truth) nothing() *found { return &found{truth: t, value: t.Worst} }

// add counts a composition that was measured, whose value and regret are those of
// [Truth.at].
func (f *found) add(p definition.Point, value, regret float64) error {
	if front := f.truth.Front; front != nil {
		scores, err := front.scores(p)
		if err != nil || scores == nil {
			return err
		}
		f.scores = append(f.scores, scores)
		f.value = front.covered(f.scores)
		return nil
	}
	if regret < f.truth.Regret(f.value) {
		f.value = value
	}
	return nil
}

// knowing returns the experts of a definition, who know the truth; those who name a test problem
// know that instead. A person cannot take part in a study.
func (t Truth) knowing(def definition.Campaign) (map[string]humans.Reviewer, error) {
	sp, err := space.New(def)
	if err != nil {
		return nil, err
	}
	sample := func(n int, seed uint64) []definition.Point {
		points, _ := sp.Sample(n, seed) // none: the expert reports it
		return points
	}
	knows := humansim.Knowledge{
		Value: t.Value, Sought: t.Sought, Best: t.Best, Worst: t.Worst, BestAt: t.BestAt,
		Quantities: t.byName(),
	}
	reviewers := make(map[string]humans.Reviewer, len(def.Experts))
	for _, e := range def.Experts {
		if e.Channel.Name != humansim.Name {
			return nil, fmt.Errorf("%s is a person, and a study asks nobody: give the expert simulated: {}", e.Name)
		}
		settings, err := humansim.SettingsOf(e)
		if err != nil {
			return nil, err
		}
		var reviewer *humansim.Reviewer
		switch {
		case settings.Task != "":
			reviewer, err = humansim.New(e, def, sample)
		default:
			reviewer, err = humansim.Knowing(e, def, knows, sample)
		}
		if err != nil {
			return nil, err
		}
		reviewers[e.Name] = reviewer
	}
	return reviewers, nil
}

// byName returns the noiseless values of each measured quantity; nil for the objective alone.
func (t Truth) byName() map[string]func(definition.Point) (float64, error) {
	if t.quantities == nil {
		return nil
	}
	all := make(map[string]func(definition.Point) (float64, error), len(t.measured))
	for _, name := range t.measured {
		all[name] = func(p definition.Point) (float64, error) {
			m, err := t.quantities(p)
			if err != nil {
				return math.NaN(), err
			}
			q, ok := m.Of(name)
			if !ok {
				return math.NaN(), fmt.Errorf("%s has no value", name)
			}
			return q.Value, nil
		}
	}
	return all
}

// quantities returns the noiseless result of an experiment at a composition.
type quantities func(definition.Point) (events.Measurement, error)
