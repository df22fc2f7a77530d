package step

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/quantity"
)

// several holds a step's models and functions in a campaign with objectives or constraints on
// several quantities.
type several struct {
	problem   *seek.Problem
	predictor *seek.Predictor
	standing  *seek.Standing // of a trade-off
	// composed is the acquisition of the unaided candidate, once it was made.
	composed *next.Composed
}

// openSeveral reads the models of several quantities; none where the campaign is
// decided by that of one.
func (s *Step) openSeveral() (err error) {
	if !next.ByQuantities(s.Def) {
		return nil
	}
	p, err := seek.NewProblem(s.View.Campaign, s.View.Space, s.View.Models.With(s.Measured))
	if err != nil || p == nil {
		return err
	}
	p.Spreads = s.View.Version2
	s.several = &several{problem: p}
	if s.several.predictor, err = p.NewPredictor(); err != nil {
		return err
	}
	if p.Aims != nil {
		s.several.standing, err = p.Standing()
	}
	return err
}

// AcquisitionWith returns the rule's acquisition for other models. A rule that works on one
// model alone gets the probability that constraints are kept as well: to −log EI −ln P, and to
// a bound or a draw a barrier in standard deviations of the objective. If tell is set, the
// knowledge beyond its measurements in a computed objective's model moves its prediction from
// the models of the quantities.
func (s *Step) AcquisitionWith(models quantity.Models, tell bool) (next.Acquisition, error) {
	m := models.Objective()
	if s.several == nil {
		return s.Rule.Acquisition(m, s.unaidedSeed())
	}
	p, err := s.problemOf(models, tell)
	if err != nil {
		return nil, err
	}
	if rule, ok := s.Rule.(next.Composer); ok && rule.Composes(p, m) {
		composed, err := rule.Compose(next.Several{
			Problem: p, Objective: m, Standing: s.several.standing, Awaited: s.avoid.awaiting(p.Quantities),
			Seed: s.unaidedSeed(),
		})
		s.several.composed = &composed
		return composed.Acquisition, err
	}
	f, err := s.Rule.Acquisition(m, s.unaidedSeed())
	if err != nil || !p.Requires() {
		return f, err
	}
	kept, err := p.NegLogFeasible()
	return sum(f, kept), err
}

// OutlookWith evaluates the problem by other models; nil where the campaign is decided
// by the model of one. tell is as in [Step.AcquisitionWith].
func (s *Step) OutlookWith(models quantity.Models, tell bool) (*seek.Predictor, error) {
	if s.several == nil {
		return nil, nil
	}
	p, err := s.problemOf(models, tell)
	if err != nil {
		return nil, err
	}
	return p.NewPredictor()
}

// problemOf is the problem with other models; with shorter lengthscales of all where the
// objective's has them.
func (s *Step) problemOf(models quantity.Models, tell bool) (*seek.Problem, error) {
	measured, _ := models.Objective().Expected()
	rougher := models.Objective() == s.rougher
	models = models.With(measured)
	for i := range models {
		if i == 0 || models[i].Model == nil || !rougher {
			continue
		}
		var err error
		if models[i].Model, err = models[i].Model.Rougher(context.Background(), shorter); err != nil {
			return nil, err
		}
	}
	p, err := seek.NewProblem(s.View.Campaign, s.View.Space, models)
	if p != nil {
		p.Spreads = s.View.Version2
	}
	if err == nil && p != nil && tell && p.Computed() && measured.Informed() {
		p = p.Informed(measured)
	}
	return p, err
}

// best returns the best measured composition by the models that decide the campaign; nil
// without a model, without a measurement that is a result, and for a trade-off.
func best(def *definition.Campaign, v policies.View) (*seek.Best, error) {
	if next.ByQuantities(def) {
		if v.Version2 {
			return seek.MostProbable(v.Campaign, v.Space, v.Models)
		}
		return seek.BestOf(v.Campaign, v.Space, v.Models)
	}
	i, mean := v.Objective().Best()
	if i < 0 {
		return nil, nil
	}
	return &seek.Best{Index: i, Value: events.Prediction{Mean: mean}, Confident: true}, nil
}

// outlook adds the predictions of several quantities to a candidate.
func (s *Step) outlook(c *events.Candidate, x []float64) {
	if s.several == nil {
		return
	}
	out := s.several.predictor.At(x)
	c.Outcomes = out.Quantities
	c.Value = out.Value
	c.Feasible = out.Feasible
}

// traded adds the estimated front to a decision, and the candidate's expected contribution to
// it.
func (s *Step) traded(d policies.Decision) (policies.Decision, error) {
	if s.several == nil || s.several.standing == nil {
		return d, nil
	}
	d.Tradeoff = s.several.problem.Recorded(s.several.standing)
	if s.several.composed == nil {
		return d, nil
	}
	d.Tradeoff.Members = s.several.composed.Members
	c, covered := d.Candidate(), d.Tradeoff.Hypervolume
	if c == nil || c.Acquisition == nil || !(covered > 0) {
		return d, nil
	}
	negLog := *c.Acquisition
	if s.weighing != nil { // a gain is one whatever it costs
		x, err := s.View.Space.Encode(c.Parameters)
		if err != nil {
			return d, err
		}
		negLog -= s.weighing.added(x, nil)
	}
	gain := math.Exp(-negLog) * s.several.problem.Volume(s.several.standing) / covered
	d.Tradeoff.Gain = &gain
	return d, nil
}

// feasibly adds the probability that the chosen candidate keeps the constraints on outcomes,
// and lists those not judged yet.
func (s *Step) feasibly(d policies.Decision) policies.Decision {
	c := d.Candidate()
	if s.several == nil || c == nil || d.Action != events.ActionRun {
		return d
	}
	if c.Feasible != nil {
		d.Reason += fmt.Sprintf(" It keeps %s with probability %.2f.",
			requirements(c.Feasible.Constraints), c.Feasible.Probability)
		if c.InformedFeasible != nil {
			d.Reason += fmt.Sprintf(" With the experts' answers that is %.2f.", c.InformedFeasible.Probability)
		}
	}
	for _, w := range s.several.problem.Waiting {
		d.Reason += fmt.Sprintf(" Whether it keeps %s is not judged: %s.", w.Require, w.Because)
	}
	return d
}

// requirements lists constraints.
func requirements(kept []events.ConstraintKept) string {
	texts := make([]string, len(kept))
	for i, c := range kept {
		texts[i] = c.Require
	}
	return strings.Join(texts, " and ")
}
