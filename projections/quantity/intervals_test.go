package quantity_test

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/quantity"
)

// wave is a campaign with so many results of a curve, fitted.
func wave(t *testing.T, intervals string, n int) *quantity.Model {
	t.Helper()
	def := line(definition.Maximize)
	def.Model.Intervals = intervals
	f := begin(t, def)
	for i := range n {
		x := 10 * float64(i) / float64(n-1)
		f.apply(measured(i+1, at(x), 3+x*(7-x)+float64(i*i%5)))
	}
	fit := fitted("rbf", 5, 12, 0.05, 0.2, 1, 0.3)
	if n < 20 {
		found := must.Get(f.Fit(t.Context(), 1))(t)
		fit = &events.ModelFitted{Model: events.ModelObjective, Objective: &found}
	}
	f.apply(fit)
	return must.Get(f.Model(t.Context()))(t)
}

// Law: intervals are a matter of what people are told. All that decisions read is bit for bit the same; so are expected
// values. A definition that does not say, as those of before, tells what it always told. A marginal standard deviation
// is that of the process for hyperparameters around the fitted ones, beside experiments under way, too; where more than
// measurements is known, as much greater as without. Many measurements say what the hyperparameters are.
func TestIntervals(t *testing.T) {
	absent, fixed, marginal := wave(t, "", 12), wave(t, definition.IntervalsFitted, 12), wave(t, definition.IntervalsMarginal, 12)
	data := gp.Data{X: marginal.X, Y: marginal.Z}
	around := must.Get(gp.Around(t.Context(), data, gp.FitConfig{}, marginal.GP().Hyper()))(t)
	under := [][]float64{{0.95}}
	underWay := func(m *quantity.Model) *quantity.Model {
		m = must.Get(m.Fantasize(t.Context(), under))(t)
		return m
	}
	for name, m := range map[string]struct{ absent, fixed, marginal *quantity.Model }{
		"measured":  {absent, fixed, marginal},
		"under way": {underWay(absent), underWay(fixed), underWay(marginal)},
	} {
		oracle := must.Get(m.marginal.GP().Marginal(t.Context(), around))(t)
		beside := m.marginal.Given(m.marginal.GP().Condition([][]float64{{0.1}}, []float64{0.2}, []float64{0.5}))
		for _, x := range [][]float64{{0.02}, {0.5}, {0.97}} {
			mean, sd := m.absent.Posterior(x)
			for _, other := range []*quantity.Model{m.fixed, m.marginal} {
				if gotMean, gotSD := other.Posterior(x); gotMean != mean || gotSD != sd {
					t.Errorf("%s: the posterior at %v is %v ± %v, and was %v ± %v", name, x, gotMean, gotSD, mean, sd)
				}
			}
			before, same, wide := m.absent.PredictAt(x), m.fixed.PredictAt(x), m.marginal.PredictAt(x)
			if before != same || before.SD != sd*m.absent.Fit.Scale {
				t.Errorf("%s: told %+v at %v, and %+v before", name, same, x, before)
			}
			if _, want := oracle.Posterior(x); wide.Mean != before.Mean || wide.SD != want*m.marginal.Fit.Scale || wide.SD <= before.SD {
				t.Errorf("%s: told %+v at %v, want ± %v; at the fitted hyperparameters %+v", name, wide, x, want*m.marginal.Fit.Scale, before)
			}
			_, known := beside.Posterior(x)
			if _, told := beside.Marginal(x); !near(told/known, wide.SD/before.SD) {
				t.Errorf("%s: what is known beside at %v is ± %v, told ± %v; without by %v", name, x, known, told, wide.SD/before.SD)
			}
		}
	}
	few, many := wave(t, definition.IntervalsMarginal, 200), wave(t, definition.IntervalsMarginal, 201)
	if x := []float64{0.5}; few.PredictAt(x).SD <= wave(t, "", 200).PredictAt(x).SD || many.PredictAt(x) != wave(t, "", 201).PredictAt(x) {
		t.Error("the hyperparameters are open after more than 200 measurements, or known after as many")
	}
}
