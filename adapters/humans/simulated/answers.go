package simulated

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// ErrPinpoint is wrapped by the error of a pinpoint question where no
// composition of the space may be measured.
var ErrPinpoint = errors.New("no composition can be pinpointed")

// forms say how the expert answers a question of each form.
var forms = map[events.Form]func(*Reviewer, context.Context, humans.Question) (events.Answer, error){
	events.FormLabel: func(r *Reviewer, _ context.Context, q humans.Question) (a events.Answer, err error) {
		a.Label, err = r.label(answered(q.ID), q.ID, q.Options[0].Parameters)
		return a, err
	},
	events.FormComparison: func(r *Reviewer, _ context.Context, q humans.Question) (a events.Answer,
		err error) {
		a.Order, err = r.order(answered(q.ID), q.ID, points(q.Options))
		return a, err
	},
	events.FormPinpoint: func(r *Reviewer, ctx context.Context, q humans.Question) (a events.Answer,
		err error) {
		a.Point, err = r.pinpoint(ctx, q.ID, q.Allowed)
		return a, err
	},
	events.FormOutcomes: func(r *Reviewer, _ context.Context, q humans.Question) (a events.Answer,
		err error) {
		a.Order, err = r.outcomes(q)
		return a, err
	},
	events.FormEstimate: func(r *Reviewer, _ context.Context, q humans.Question) (a events.Answer,
		err error) {
		a.Estimates, err = r.estimates(q.ID, points(q.Options), *q.Scale)
		return a, err
	},
}

// answer answers a question of any form. An empty answer counts: “can't tell”. Whether they can is
// drawn before the answer and apart from it, so that another unsure_rate leaves the other answers
// as they are.
func (r *Reviewer) answer(ctx context.Context, q humans.Question) (events.Answer, error) {
	if err := q.Form.Check(len(q.Options), q.Scale); err != nil {
		return events.Answer{}, err
	}
	// Of many compositions the expert may be unsure of each.
	if q.Form != events.FormEstimate &&
		r.draw("unsure", q.ID, points(q.Options)...) < r.cfg.UnsureRate {
		return events.Answer{}, nil
	}
	return forms[q.Form](r, ctx, q)
}

// label accepts or rejects p, after n answers.
func (r *Reviewer) label(n int, id string, p definition.Point) (events.Label, error) {
	rank, err := r.rank(n, p)
	if err != nil {
		return "", err
	}
	if r.copies(n, id, p) {
		return r.first()
	}
	purpose, question := r.occasion("reject", -1, id)
	if r.draw(purpose, question, p) < 1/(1+math.Exp(-r.accurate(n)*rank-r.cfg.Strictness)) {
		return events.LabelReject, nil
	}
	return events.LabelAccept, nil
}

// order ranks options from best to worst, after n answers.
//
// Each option is liked by itself, with a draw of its own, and the order is that
// of the likings: so every pair is in order with the probability that the
// package promises, and an order does not depend on how many are shown. Who
// copies gives the order in which the options are shown.
func (r *Reviewer) order(n int, id string, options []definition.Point) ([]int, error) {
	liking := make([]float64, len(options))
	order := make([]int, len(options))
	for i, p := range options {
		purpose, question := r.occasion("option", i, id) // of the same composition twice either may come first
		var err error
		if liking[i], err = r.liking(purpose, question, n, p); err != nil {
			return nil, err
		}
		order[i] = i
	}
	if r.copies(n, id, options...) {
		return order, nil
	}
	sortByLiking(order, liking)
	return order, nil
}

// sortByLiking puts options in the order in which they are liked, the most first;
// equals stay as they are.
func sortByLiking(order []int, liking []float64) {
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case liking[i] > liking[j]:
			return -1
		case liking[i] < liking[j]:
			return 1
		}
		return 0
	})
}

// liking is how much the expert likes p when they compare it: with Gumbel noise
// on −aρ, the order of several is that of Plackett and Luce, and that of two
// the logistic choice.
func (r *Reviewer) liking(purpose, id string, n int, p definition.Point) (float64, error) {
	u := r.open(purpose, id, p)
	var sd float64
	switch {
	case r.cfg.ChoiceNoise != nil:
		sd = *r.cfg.ChoiceNoise
	case r.noise != nil:
		variance, err := r.noise(p)
		if err != nil {
			return math.NaN(), err
		}
		sd = math.Sqrt(variance)
	default:
		rank, err := r.rank(n, p)
		return -r.accurate(n)*rank - math.Log(-math.Log(u)), err
	}
	value, err := r.value(p)
	value += sd * math.Sqrt2 * math.Erfinv(2*u-1)
	if !r.upward {
		value = -value
	}
	return value, err
}

// maxPinpoint is how many compositions an expert considers before taking the best one.
const maxPinpoint = 20_000

// pinpoint draws a composition from the belief: it draws random compositions
// until the expert accepts one. If the expert accepts none of maxPinpoint, it
// is the one most likely to be accepted.
func (r *Reviewer) pinpoint(
	ctx context.Context, id string, allowed func(definition.Point) error,
) (definition.Point, error) {
	var best definition.Point
	least := math.Inf(1)
	for drawn := 0; drawn < maxPinpoint; drawn += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k, p := range r.sample(chunk, r.word("pinpoint sample", fmt.Sprint(id, " ", drawn/chunk))) {
			if allowed != nil && allowed(p) != nil {
				continue
			}
			n := answered(id)
			rank, err := r.rank(n, p)
			if err != nil {
				return nil, err
			}
			dislike := r.accurate(n) * rank // the logit of a rejection
			if r.draw("pinpoint", fmt.Sprint(id, " ", drawn+k), p) >= 1/(1+math.Exp(-dislike)) {
				return p, nil
			}
			if dislike < least {
				best, least = p, dislike
			}
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w: none of %d random ones may be measured", ErrPinpoint, maxPinpoint)
	}
	return best, nil
}

// points are the compositions of options. Predictions and beliefs that the
// campaign shows with them do not move a simulated expert.
func points(options []events.Option) []definition.Point {
	list := make([]definition.Point, len(options))
	for i, o := range options {
		list[i] = o.Parameters
	}
	return list
}
