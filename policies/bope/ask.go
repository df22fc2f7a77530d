package bope

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/bope"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
)

const (
	// enough measured outcomes are compared among themselves in the first sitting.
	enough = 4
	// imagined is the number of unmeasured compositions that stand for the attainable outcomes.
	imagined = 64
)

// ask puts a pair of outcomes to the expert, or says why not: no one can be asked, they were
// asked before this experiment, they did not answer, or no comparison is worth asking.
func (b *sitting) ask(d policies.Decision) (policies.Decision, because, error) {
	if b.policy.ask == nil {
		return d, because{policies.RuleNever, ""}, nil
	}
	last, first := b.lastInTurn(), *b.policy.ask.First
	sat := answered(b.View.Campaign)
	switch {
	case last != nil && last.Status != campaign.Answered:
		return d, because{policies.RuleNoAnswer, fmt.Sprintf("%s is not answered (%s): the campaign goes on by what is known. ",
			last.ID, last.Status)}, nil
	case last != nil && sat >= first:
		return d, because{RulePreferred, ""}, nil
	case b.QuestionsSpent():
		return d, because{policies.RuleLabelBudget, fmt.Sprintf("No one is asked, since %s. ",
			turn.WhyNotAsked(b.View.Campaign, &b.policy.def))}, nil
	}
	shown, pair, ok, err := b.pair(sat < first)
	if err != nil {
		return d, because{}, err
	}
	if !ok {
		return d, because{RuleSettled, "There is no pair of outcomes to ask about. "}, nil
	}
	name := b.View.Campaign.Definition.Experts[b.Expert()].Name
	if sat < first {
		return b.put(d, shown, pair, RuleSitting, fmt.Sprintf("Comparison %d of %d in the first sitting of %s: "+
			"of all pairs the one whose better outcome is expected to be worth most.", sat+1, first, name)), because{}, nil
	}
	least := *b.policy.ask.Worth * math.Sqrt(b.known.OutputScale)
	worth := events.Test{
		Name: "handover: what a comparison is expected to gain, in the unit of utility",
		Left: pair.Gain, Relation: ">", Right: least, Holds: pair.Gain > least,
	}
	d.Tests = append(d.Tests, worth)
	if !worth.Holds {
		return d, because{RuleSettled, "No comparison is worth asking. "}, nil
	}
	return b.put(d, shown, pair, policies.RuleAsk,
		"The pair whose better outcome is expected to be worth most: it may change what is best."), because{}, nil
}

// put asks about a pair, in an order by chance.
func (b *sitting) put(d policies.Decision, shown []option, pair bope.Pair, rule, reason string) policies.Decision {
	for _, i := range []int{pair.First, pair.Second} {
		mean, sd := b.preferences.Utility.Posterior(shown[i].y)
		o := shown[i].Outcome
		d.Candidates = append(d.Candidates, events.Candidate{
			Parameters: shown[i].parameters, Outcome: &o, Score: &events.Score{Mean: mean, SD: sd},
		})
	}
	d = step.Shuffled(d)
	d.Candidates[0].Name, d.Candidates[1].Name = duel.First, duel.Second
	name := b.View.Campaign.Definition.Experts[b.Expert()].Name
	return d.Ask(events.FormOutcomes, name, rule, reason, "Which of the two outcomes would you rather have?")
}

// option is an outcome that may be shown.
type option struct {
	events.Outcome
	parameters definition.Point
	y          []float64 // standardized
}

// pair is the pair with the greatest EUBO among the outcomes that may be asked
// about: those measured, and those expected of compositions at random. In a first
// sitting it is among those measured, where they are enough and have a pair left.
func (b *sitting) pair(first bool) (shown []option, pair bope.Pair, ok bool, err error) {
	for _, c := range seek.CompleteOutcomes(b.View.Campaign) {
		if y := b.known.Point(c.Quantities); y != nil {
			shown = append(shown, option{c.Outcome, c.Parameters, y})
		}
	}
	if first && len(shown) >= enough {
		if pair, ok = b.bestOf(shown); ok {
			return shown, pair, true, nil
		}
	}
	expected, err := b.imagine()
	if err != nil {
		return nil, pair, false, err
	}
	shown = append(shown, expected...)
	pair, ok = b.bestOf(shown)
	return shown, pair, ok, nil
}

// bestOf is the pair with the greatest EUBO among some outcomes.
func (b *sitting) bestOf(shown []option) (bope.Pair, bool) {
	points := make([][]float64, len(shown))
	for i := range shown {
		points[i] = shown[i].y
	}
	return bope.BestPair(b.preferences.Utility.Joint(points), b.open(shown))
}

// imagine returns the outcomes that are expected of compositions at random.
func (b *sitting) imagine() (all []option, err error) {
	points, err := b.View.Space.Sample(imagined, b.Seed())
	if err != nil {
		return nil, err
	}
	predictor, err := b.problem.NewPredictor()
	if err != nil {
		return nil, err
	}
	for _, point := range points {
		x, err := b.View.Space.Encode(point)
		if err != nil {
			return nil, err
		}
		o := b.problem.Outcome(predictor.At(x))
		if y := b.known.Point(o.Quantities); y != nil {
			all = append(all, option{o, point, y})
		}
	}
	return all, nil
}

// open says which pairs may be asked about: none that the expert has answered, even if they
// could not tell, and none whose answer follows from the definition, one outcome being at least
// as good as the other in every quantity.
func (b *sitting) open(shown []option) func(i, j int) bool {
	type pair struct{ first, second string }
	asked := make(map[pair]bool)
	for i := range b.View.Campaign.Questions {
		q := &b.View.Campaign.Questions[i]
		if q.Form == events.FormOutcomes && q.Status == campaign.Answered {
			a, c := q.Options[0].Outcome.Experiment, q.Options[1].Outcome.Experiment
			asked[pair{a, c}], asked[pair{c, a}] = true, true
		}
	}
	return func(i, j int) bool {
		a, c := shown[i].Experiment, shown[j].Experiment
		known := a != "" && c != "" && asked[pair{a, c}]
		return !known && !b.asGood(shown[i].y, shown[j].y) && !b.asGood(shown[j].y, shown[i].y)
	}
}

// asGood reports whether an outcome is as good as another in every quantity, or
// better, whatever the expert prefers.
func (b *sitting) asGood(y, than []float64) bool {
	for j, better := range b.known.Better {
		if difference := y[j] - than[j]; difference != 0 && !(float64(better)*difference > 0) {
			return false
		}
	}
	return true
}
