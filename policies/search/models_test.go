package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// mixedSpace is a space with discrete parameters, and a way of its own to draw a composition.
type mixedSpace struct {
	name string
	def  definition.Campaign
	draw func(rng *rand.Rand) definition.Point
}

// categories are n categories without descriptors.
func categories(name string, n int) definition.Parameter {
	p := definition.Parameter{Name: name}
	for i := range n {
		p.Categories = append(p.Categories, definition.CategoryDef{Name: string(rune('a' + i))})
	}
	return p
}

func values(name string, list ...float64) definition.Parameter {
	return definition.Parameter{Name: name, Values: list}
}

// mixture is n fractions that sum to one, in equal parts of which the whole has the given number.
func mixture(n, parts int) definition.Campaign {
	sum := definition.Constraint{Terms: make(map[string]float64), Equals: ptr(1.0)}
	def := definition.Campaign{Instrument: definition.Instrument{Steps: make(map[string]float64)}}
	for i := range n {
		name := fmt.Sprintf("x%d", i+1)
		def.Parameters = append(def.Parameters, continuous(name, 0, 1))
		def.Instrument.Steps[name] = 1 / float64(parts)
		sum.Terms[name] = 1
	}
	def.Constraints = []definition.Constraint{sum}
	return def
}

// mixedSpaces are five spaces that are no lists.
func mixedSpaces() []mixedSpace {
	with := func(discrete ...definition.Parameter) definition.Campaign {
		return definition.Campaign{Parameters: append(discrete, continuous("x", 0, 1), continuous("y", 0, 1))}
	}
	steps := definition.Campaign{Instrument: definition.Instrument{Steps: make(map[string]float64)}}
	for i := range 5 {
		name := fmt.Sprintf("x%d", i+1)
		steps.Parameters = append(steps.Parameters, continuous(name, 0, 1))
		steps.Instrument.Steps[name] = 0.1
	}
	var list []mixedSpace
	for _, s := range []mixedSpace{
		{name: "3 binaries", def: with(values("k", 0, 1), values("l", 0, 1), values("m", 0, 1))},
		{name: "4×4 values", def: with(values("k", 0, 1, 2, 3), values("m", 1, 2, 5, 10))},
		{name: "6×6 categories", def: with(categories("k", 6), categories("m", 6))},
		{name: "steps", def: steps},
	} {
		s.draw = func(rng *rand.Rand) definition.Point { return drawApart(s.def, rng) }
		list = append(list, s)
	}
	stepped := mixture(4, 20)
	return append(list, mixedSpace{"stepped mixture", stepped, func(rng *rand.Rand) definition.Point {
		bars := rng.Perm(23)[:3] // among 20 parts: what lies between two bars is one component
		slices.Sort(bars)
		p, last := make(definition.Point), -1
		for i, bar := range append(bars, 23) {
			p[stepped.Parameters[i].Name] = definition.Number(float64(bar-last-1) / 20)
			last = bar
		}
		return p
	}})
}

// drawApart draws each parameter by itself; what comes in steps goes from 0 to 1.
func drawApart(def definition.Campaign, rng *rand.Rand) definition.Point {
	p := make(definition.Point)
	for _, a := range def.Parameters {
		switch step := def.Instrument.Steps[a.Name]; {
		case a.Categories != nil:
			p[a.Name] = definition.Category(a.Categories[rng.IntN(len(a.Categories))].Name)
		case a.Values != nil:
			p[a.Name] = definition.Number(a.Values[rng.IntN(len(a.Values))])
		case step > 0:
			n := int(math.Round(1 / step))
			p[a.Name] = definition.Number(float64(rng.IntN(n+1)) / float64(n))
		default:
			p[a.Name] = definition.Number(*a.Min + rng.Float64()*(*a.Max-*a.Min))
		}
	}
	return p
}

// compositions draws compositions, encoded.
func compositions(t testing.TB, m mixedSpace, sp *space.Space, n int, rng *rand.Rand) [][]float64 {
	t.Helper()
	list := make([][]float64, n)
	for i := range list {
		p := m.draw(rng)
		x := must.Get(sp.Encode(p))(t)
		must.Do(t, sp.Contains(p))
		list[i] = x
	}
	return list
}

// waves is about a draw from a Gaussian process with an RBF kernel of the given lengthscales
// and of output scale 1: a sum of 200 waves of random frequencies.
func waves(lengths []float64, rng *rand.Rand) func(x []float64) float64 {
	const n = 200
	var frequency [n][]float64
	var phase [n]float64
	for k := range n {
		phase[k] = 2 * math.Pi * rng.Float64()
		for _, l := range lengths {
			frequency[k] = append(frequency[k], rng.NormFloat64()/l)
		}
	}
	return func(x []float64) (sum float64) {
		for k := range n {
			angle := phase[k]
			for j, v := range x {
				angle += frequency[k][j] * v
			}
			sum += math.Sqrt(2.0/n) * math.Cos(angle)
		}
		return sum
	}
}

// lengthscales are between a quarter of the unit cube and all of it.
func lengthscales(dim int, rng *rand.Rand) []float64 {
	lengths := make([]float64, dim)
	for j := range lengths {
		lengths[j] = math.Exp(math.Log(0.25) + rng.Float64()*math.Log(4))
	}
	return lengths
}

// learned is the fitted model of n measurements of a random function.
func learned(t testing.TB, m mixedSpace, sp *space.Space, n int, rng *rand.Rand) *quantity.Model {
	t.Helper()
	f := waves(lengthscales(sp.Dim(), rng), rng)
	p := quantity.New()
	apply := func(payload events.Payload) {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	def := m.def
	def.Objective.Goal, def.Model.Kernel = definition.Minimize, "rbf"
	apply(&events.CampaignDefined{Definition: def})
	for i := range n {
		point := m.draw(rng)
		x := must.Get(sp.Encode(point))(t)
		apply(&events.ExperimentMeasured{Experiment: fmt.Sprint("e", i+1), Measurement: events.Measurement{
			Actual: point, Objective: definition.Quantity{Value: f(x) + 0.05*rng.NormFloat64()}}})
	}
	fit := must.Get(p.Fit(t.Context(), 1))(t)
	apply(&events.ModelFitted{Model: events.ModelObjective, Objective: &fit})
	return must.Get(p.Model(t.Context()))(t)
}

// acquisitions are the confidence bound with β = 2, LogEI and noisy LogEI.
func acquisitions(t testing.TB) []next.Rule {
	t.Helper()
	var rules []next.Rule
	for _, c := range []definition.Choice{next.LCB{Beta: ptr(2.0), BetaRule: next.BetaFixed}.Choice(), next.LogEI{}.Choice(), next.LogNEI{}.Choice()} {
		r := must.Get(builtin.Registry().Methods.Searched(policies.Alone(c)))(t)
		rules = append(rules, r)
	}
	return rules
}

// preferred is EUBO in the posterior of the utility of n comparisons, what a point is worth by
// itself, and the points that have been compared.
func preferred(
	t testing.TB, m mixedSpace, sp *space.Space, n int, rng *rand.Rand,
) (f search.PairAcquisition, screen func(x []float64) float64, compared [][]float64) {
	t.Helper()
	lengths := lengthscales(sp.Dim(), rng)
	utility := waves(lengths, rng)
	var winners, losers [][]float64
	for len(winners) < n {
		pair := compositions(t, m, sp, 2, rng)
		switch d := utility(pair[0]) - utility(pair[1]) + 0.1*rng.NormFloat64(); {
		case slices.Equal(pair[0], pair[1]):
		case d > 0:
			winners, losers = append(winners, pair[0]), append(losers, pair[1])
		default:
			winners, losers = append(winners, pair[1]), append(losers, pair[0])
		}
	}
	duels := must.Get(pref.NewDuels(winners, losers, func([]float64) float64 { return 0.1 }))(t)
	k := must.Get(kernel.New("rbf", lengths, 1))(t)
	r := must.Get(pref.Laplace(t.Context(), duels, pref.Probit, k, pref.LaplaceConfig{}))(t)
	q, g := r.Posterior.NewPredictor(), pref.NewPairGrad(sp.Dim())
	f = func(x, y, gradX, gradY []float64) float64 {
		if gradX == nil {
			m := q.Pair(x, y)
			value, _ := acquisition.EUBO(m.MeanX, m.MeanY, m.VarX, m.VarY, m.Cov)
			return -value
		}
		m := q.PairGrad(x, y, g)
		value, part := acquisition.EUBO(m.MeanX, m.MeanY, m.VarX, m.VarY, m.Cov)
		slope := 0.0 // in the variance of the difference
		if _, variance := m.Difference(); variance > 0 {
			slope = part.SD / (2 * math.Sqrt(variance))
		}
		for j := range gradX {
			gradX[j] = -(part.Mean1*g.MeanX[j] + slope*(g.VarX[j]-2*g.CovX[j]))
			gradY[j] = -(part.Mean2*g.MeanY[j] + slope*(g.VarY[j]-2*g.CovY[j]))
		}
		return -value
	}
	screen = func(x []float64) float64 {
		mean, sd := q.Posterior(x)
		return -(mean + sd)
	}
	return f, screen, duels.X
}
