package step

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/sources"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Where experiments can be cheaper and tell less, a composition is chosen by its prediction at
// the target, and then the way to measure it: that with the greatest
//
//	G / c,
//
// with the information G that the experiment gives on the composition's value at the target
// (package sources), of several quantities the sum over their models, and its cost c. That is a
// rate, however much of the budget is left; the remaining budget cools the cost in the choice
// of the composition (docs/results-journal.md). So a composition is measured cheaply until that
// tells nothing new, and then at the target. A cheaper way is taken only where the budget of
// cost has room for the target after it.

// At least one of dueEvery experiments is at the target: the information from cheaper ones has
// to be checked.
const dueEvery = 5

// waysOf returns the fidelities of experiments in the space of a campaign; nil if all tell the
// same.
func waysOf(v policies.View) (*space.Fidelity, error) {
	if v.Campaign.Definition.Fidelity.IsZero() {
		return nil, nil
	}
	return space.NewFidelity(v.Campaign.Bounded(), v.Space)
}

// searched is the space that is searched: that of compositions at the target where there
// are cheaper ways.
func (s *Step) searched() *space.Space {
	if s.ways != nil {
		return s.ways.Compositions
	}
	return s.View.Space
}

// sample draws compositions, at the target where there are cheaper ways.
func (s *Step) sample(n int, seed uint64) ([]definition.Point, error) {
	points, err := s.searched().Sample(n, seed)
	if s.ways != nil {
		for i, p := range points {
			points[i] = s.ways.Point(p, s.ways.Target())
		}
	}
	return points, err
}

// measuredIn decides in which way the composition of a decision is measured. It completes the
// campaign if none is worth its cost: the target costs more than is left.
func (s *Step) measuredIn(d policies.Decision) (policies.Decision, error) {
	c := d.Candidate()
	if s.ways == nil || s.weighing == nil || c == nil || d.Action != events.ActionRun {
		return d, nil
	}
	x, err := s.View.Space.Encode(c.Parameters)
	if err != nil {
		return d, err
	}
	choice := &events.FidelityChoice{
		Rule: events.FidelityInformation, Target: s.View.Objective().PredictAt(x),
	}
	target := s.ways.Target()
	dear := s.weighing.cost.At(x).Mean
	left := s.weighing.spent.Left()
	if dear > left {
		return d, nil // costs completes the campaign
	}
	var points [][]float64
	var costs []float64 // logarithms
	var values []int    // of the ways
	for way := range s.ways.Ways {
		y := s.ways.In(x, way)
		cost := s.weighing.cost.At(y).Mean
		allowed := s.View.Space.Contains(s.ways.Point(c.Parameters, way)) == nil
		if way != target && (!allowed || left-cost < dear) {
			continue
		}
		points, values = append(points, y), append(values, way)
		costs = append(costs, s.weighing.cost.Log(y, nil))
		choice.Ways = append(choice.Ways, events.FidelityWay{Value: s.ways.Ways[way], Cost: cost})
	}
	worth, ways := s.information(x, points, costs)
	for i, log := range worth {
		choice.Ways[i].Information = math.Exp(log)
	}
	chosen := sources.PerCost(worth, ways, 1)
	last := len(values) - 1 // the target
	switch {
	case s.View.Campaign.Spent()+1 >= s.Def.Budget.Experiments:
		choice.Rule, chosen = events.FidelityLast, last
	case s.cheapInARow() >= dueEvery-1:
		choice.Rule, chosen = events.FidelityDue, last
	case len(values) == 1:
		choice.Rule = events.FidelityLast
	}
	c.Fidelity = choice
	s.take(c, points[chosen], values[chosen])
	d.Reason += " " + s.whyIn(choice, chosen)
	return d, nil
}

// information returns ln of the information that each way gives on the values at a point at the
// target, the sum over the quantities by which the campaign is decided, and the ways, given the
// logarithms of their costs.
func (s *Step) information(x []float64, points [][]float64, costs []float64) (worth []float64, ways []sources.Way) {
	models := []*quantity.Model{s.View.Objective()}
	if s.several != nil {
		models = s.several.problem.Models
	}
	logs := make([][]float64, len(points)) // of each way, those of the quantities
	for _, m := range models {
		ways = ways[:0]
		for i, y := range points {
			ways = append(ways, sources.Way{Noise: m.NoiseVariance(y), Cost: math.Exp(costs[i])})
		}
		for i, log := range sources.LogInformationAt(m.GP(), x, points, ways) {
			logs[i] = append(logs[i], log)
		}
	}
	for _, of := range logs {
		worth = append(worth, floats.LogSumExp(of))
	}
	return worth, ways
}

// take makes a candidate the experiment in the given way: with the prediction of the result
// that this way gives.
func (s *Step) take(c *events.Candidate, x []float64, way int) {
	if way == s.ways.Target() {
		return
	}
	model := s.View.Objective()
	c.Parameters = s.ways.Point(c.Parameters, way)
	prediction := model.PredictAt(x)
	mean, sd := model.Posterior(x)
	optimistic, pessimistic := model.Untransform(mean-s.Beta*sd), model.Untransform(mean+s.Beta*sd)
	c.Prediction = &prediction
	c.Optimistic = &optimistic
	c.Pessimistic = &pessimistic
	if s.several != nil { // whether it keeps constraints is a matter of the target
		c.Outcomes = s.several.predictor.At(x).Quantities
	}
}

// cheapInARow is the number of experiments requested since the last one at the target. Imported
// experiments were not chosen.
func (s *Step) cheapInARow() (n int) {
	experiments := s.View.Campaign.Experiments
	for i := len(experiments) - 1; i >= 0; i-- {
		x := &experiments[i]
		if x.Status.CalledOff() || x.Origin == events.OriginImport {
			continue
		}
		if s.View.Campaign.Definition.AtTarget(x.Parameters) {
			return n
		}
		n++
	}
	return n
}

// whyIn says in a sentence why a composition is measured in a way.
func (s *Step) whyIn(c *events.FidelityChoice, chosen int) string {
	way, target := c.Ways[chosen], c.Ways[len(c.Ways)-1]
	in, at := s.wayText(way.Value), s.wayText(target.Value)
	switch {
	case c.Rule == events.FidelityDue:
		return fmt.Sprintf("It is measured at the target, %s, since the last %d experiments were cheaper ones.", at, dueEvery-1)
	case c.Rule == events.FidelityLast:
		return fmt.Sprintf("It is measured at the target, %s, since the budget has no room for a cheaper one before it.", at)
	case chosen == len(c.Ways)-1:
		return fmt.Sprintf("It is measured at the target, %s, which tells most for its cost.", at)
	}
	return fmt.Sprintf("It is measured at %s, since that tells %s of what %s would, for %s of its cost.",
		in, format.Percent(way.Information/target.Information), at, format.Percent(way.Cost/target.Cost))
}

// wayText names a way: "simulation", or "hours 21 h".
func (s *Step) wayText(way definition.Value) string {
	if way.Name() != "" {
		return way.Name()
	}
	name := s.Def.Fidelity.Parameter
	return format.WithUnit(name+" "+way.String(), s.unitOf(name))
}

// unitOf is the unit of a parameter.
func (s *Step) unitOf(name string) string {
	for _, p := range s.Def.Parameters {
		if p.Name == name {
			return p.Unit
		}
	}
	return ""
}
