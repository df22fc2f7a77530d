package answers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/channel"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/projections/quantity"
)

// learned holds the posteriors given the answers about each value. The values are independent,
// as their models are: answers about one quantity move no other.
type learned struct {
	apart  bool // whether experts are asked for single quantities
	tells  bool // as in policy
	sought string
	said   []taught
	// models are those of the quantities, with the answers where there are any.
	models quantity.Models
}

// taught is the posterior of one value given the answers about it.
type taught struct {
	heard
	model     *quantity.Model // of the measurements
	posterior *channel.Posterior
}

// learn conditions the model of each value on the answers about it. Answers about a quantity
// without a model wait for one. Nothing is kept between decisions: the posteriors follow from
// the log each time.
func (p *policy) learn(
	ctx context.Context, said []heard, models quantity.Models,
) (*learned, error) {
	l := &learned{apart: byQuantities(&p.def), tells: p.tells, sought: p.def.Sought().Name, models: slices.Clone(models)}
	for _, h := range said {
		at := models.At(cmp.Or(h.quantity, l.sought))
		if at < 0 {
			continue
		}
		model := models[at].Model
		// An expert who is asked for single quantities may have no answer about the whole,
		// whose model then stays that of the measurements.
		if model == nil || l.apart && len(h.channels) == 0 {
			continue
		}
		posterior, err := h.learn(ctx, model, p.config)
		if err != nil {
			return nil, err
		}
		l.said = append(l.said, taught{h, model, posterior})
		l.models[at].Model = model.Given(posterior.Objective)
	}
	return l, nil
}

// silent reports whether nothing was said.
func silent(said []heard) bool {
	return !slices.ContainsFunc(said, func(h heard) bool { return len(h.channels) > 0 })
}

// whole returns the answers about the objective as a whole.
func (l *learned) whole() heard {
	for _, t := range l.said {
		if t.quantity == "" {
			return t.heard
		}
	}
	return heard{}
}

// learn returns the posterior of a value and of each channel's slope, given the model
// of its measurements and everything that was said.
func (h heard) learn(
	ctx context.Context, m *quantity.Model, cfg channel.Config,
) (*channel.Posterior, error) {
	var all []channel.Answers
	for _, c := range h.channels {
		all = append(all, c.answers)
	}
	return channel.Condition(ctx, m.GP(), h.points, all, cfg)
}

// weighed is the record of each channel's evidence: the probabilities that it helps and
// misleads, and the worth of an answer. It goes into the event of the decision, so that pages
// need not compute it again.
func (l *learned) weighed() (all []events.AnswersWeighed) {
	for _, t := range l.said {
		for i, c := range t.channels {
			quantity := t.quantity
			if l.apart && quantity == "" && c.kind == kindEstimates {
				quantity = l.sought
			}
			helps, misleads := channel.Sides(t.posterior.Slopes[i])
			all = append(all, events.AnswersWeighed{
				Expert: c.expert, Kind: c.kind, Quantity: quantity, Answers: c.count, Helps: helps, Misleads: misleads,
				Worth: channel.Worth(t.posterior.Slopes[i], t.model.Fit.Noise),
			})
		}
	}
	return all
}

// predict adds the prediction with the answers to the latest candidate. The candidates are
// cloned, since the slice may be shared with an earlier decision value.
func (l *learned) predict(
	s *step.Step, d *policies.Decision, informed *quantity.Model, r search.Result,
) error {
	d.Candidates = slices.Clone(d.Candidates)
	c := &d.Candidates[len(d.Candidates)-1]
	prediction := informed.PredictAt(r.X)
	c.Informed = &prediction
	if !l.apart && !l.tells {
		return nil
	}
	outlook, err := s.OutlookWith(l.models.With(informed), l.tells)
	if err != nil || outlook == nil {
		return err
	}
	at := outlook.At(r.X)
	c.InformedOutcomes, c.InformedFeasible = at.Quantities, at.Feasible
	if at.Value != nil {
		c.Informed = at.Value
	}
	return nil
}

// why describes the effect of the answers, those about single quantities for each.
func (l *learned) why(
	ctx context.Context, s *step.Step, cfg channel.Config, aided, unaided []float64,
) (text string, err error) {
	for _, t := range l.said {
		if !l.apart {
			return t.why(ctx, t.posterior, s, cfg, aided, unaided)
		}
		if t.quantity == "" && s.Def.Sought().Computed() {
			continue
		}
		name, informed := cmp.Or(t.quantity, s.Def.Sought().Name), t.model.Given(t.posterior.Objective)
		with, without := informed.PredictAt(aided), t.model.PredictAt(aided)
		text += fmt.Sprintf(" With them %s is expected to be %s there, without %s.", name,
			format.WithUnit(format.Significant(with.Mean, 3), with.Unit),
			format.WithUnit(format.Significant(without.Mean, 3), without.Unit))
	}
	return text, nil
}

// whySo is the largest number of compositions whose answers are examined one by one for the
// explanation: each costs a computation of the posterior. leastShare is the least effect of an
// answer on the choice for it to be named, in standard deviations of the measurements.
const (
	whySo      = 4
	leastShare = 0.05
)

// why describes the effect of the answers on the predictions at the informed candidate and at
// the unaided one, and names the answers that speak most for the one or the other. An answer's
// part is the change of the difference between the two when the posterior is computed without
// it: the channels are learned anew, so an answer may speak by its evidence about its expert.
// Leaving out costs a computation each, so that only those are tried whose shares differ most
// between the two candidates.
func (h heard) why(
	ctx context.Context, p *channel.Posterior, s *step.Step, cfg channel.Config, aided, unaided []float64,
) (string, error) {
	here, there := p.Objective.Shares(aided), p.Objective.Shares(unaided)
	order, favor := make([]int, len(here)), make([]float64, len(here))
	moved, other := 0.0, 0.0
	for i := range here {
		order[i], favor[i] = i, there[i]-here[i] // smaller is better
		moved, other = moved+here[i], other+there[i]
	}
	if max(math.Abs(moved), math.Abs(other)) < leastShare {
		return " They hardly change what is expected of it, or of the unaided candidate; they make some of it better known.", nil
	}
	unit := s.Def.Sought().Unit
	change := func(z float64) string {
		by := s.Measured.Untransform(z) - s.Measured.Untransform(0)
		if by < 0 {
			return fmt.Sprintf("%s lower", amount(by, unit))
		}
		return fmt.Sprintf("%s higher", amount(by, unit))
	}
	text := fmt.Sprintf(
		" With them it is expected to be %s, and the unaided candidate %s.",
		change(moved),
		change(other),
	)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(favor[j]), math.Abs(favor[i])) })
	order = order[:min(whySo, len(order))]
	for _, i := range order {
		without, err := h.without(i).learn(ctx, s.Measured, cfg)
		if err != nil {
			return "", err
		}
		favor[i] = other - moved - (sum(without.Objective.Shares(unaided)) - sum(without.Objective.Shares(aided)))
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(favor[j]), math.Abs(favor[i])) })
	var parts []string
	for _, i := range order {
		if math.Abs(favor[i]) < leastShare {
			break
		}
		speaks := "for"
		if favor[i] < 0 {
			speaks = "against"
		}
		parts = append(parts, fmt.Sprintf("%s (%s %s it)",
			strings.Join(h.questions[i], ", "), amount(favor[i]*s.Measured.Fit.Scale, unit), speaks))
	}
	if len(parts) > 0 {
		text += fmt.Sprintf(" Between the two, most is said by %s.", format.List(parts...))
	}
	return text, nil
}

// sum adds in the order of the slice, which is part of the result's bits.
func sum(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// without returns all answers except those about one of the points. An order that contains it
// is left out as a whole. The points stay, so that their indices do.
func (h heard) without(point int) heard {
	less := heard{points: h.points, questions: h.questions}
	for _, c := range h.channels {
		var a channel.Answers
		for _, l := range c.answers.Labels {
			if l.Point != point {
				a.Labels = append(a.Labels, l)
			}
		}
		for _, order := range c.answers.Orders {
			if !slices.Contains(order, point) {
				a.Orders = append(a.Orders, order)
			}
		}
		for _, e := range c.answers.Estimates {
			if e.Point != point {
				a.Estimates = append(a.Estimates, e)
			}
		}
		c.answers = a
		less.channels = append(less.channels, c)
	}
	return less
}

// amount writes a difference of the objective, without its sign.
func amount(x float64, unit string) string {
	return format.WithUnit(format.Significant(math.Abs(x), 2), unit)
}
