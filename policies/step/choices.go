package step

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/projections"
)

// ChoiceGate goes on unaided if the expert's choices do not predict the measurements. The test
// is recorded whether it closes the gate or not.
func (s *Step) ChoiceGate(d policies.Decision, expert string) (policies.Decision, error) {
	mean, sd, err := s.choices(expert)
	if err != nil {
		return d, err
	}
	open, test := handover.OpenChoice(mean, sd)
	d.Tests = append(d.Tests, test)
	if !open {
		return d.Run(
			policies.Unaided,
			policies.RuleGate,
			fmt.Sprintf(
				"%s's choices do not predict what is measured (probability %.2f): the campaign goes on unaided.",
				expert,
				test.Left,
			),
		), nil
	}
	return d, nil
}

// choices returns, for each pairwise choice of the expert, the objective model's mean advantage
// of the chosen composition, and its standard deviation, in standardized units. They come from
// the joint posterior, since the two values at a pair are correlated.
func (s *Step) choices(expert string) (mean, sd []float64, err error) {
	for i := range s.View.Campaign.Questions {
		q := &s.View.Campaign.Questions[i]
		if q.Expert != expert || q.Form != events.FormComparison || len(q.Answer.Order) == 0 {
			continue
		}
		points := make([][]float64, len(q.Options))
		for k := range q.Options {
			if points[k], err = s.View.Space.Encode(q.Options[k].Parameters); err != nil {
				return nil, nil, err
			}
		}
		joint := s.View.Objective().GP().Joint(points)
		k := len(points)
		for _, pair := range (projections.Comparison{Options: q.Points(), Order: q.Answer.Order}).Pairs() {
			w, l := pair[0], pair[1]
			variance := joint.Cov[w*k+w] + joint.Cov[l*k+l] - 2*joint.Cov[w*k+l]
			mean = append(mean, joint.Mean[l]-joint.Mean[w]) // inside, smaller is better
			sd = append(sd, math.Sqrt(math.Max(variance, 0)))
		}
	}
	return mean, sd, nil
}

// Shuffled puts the candidates in an order by chance, so that none is favored
// by its place.
func Shuffled(d policies.Decision) policies.Decision {
	c := slices.Clone(d.Candidates)
	rand.New(rand.NewPCG(d.Seed, 0)).Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	d.Candidates = c
	return d
}
