package policies

import (
	"fmt"
	"math/rand/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// bare decides for the rules that do not search a model of the objective: an
// expert names each composition, it is drawn from what they prefer, or they
// choose one of two at random. It reports whether it decided.
func (p *Policy) bare(v View, seed uint64, d *Decision) (done bool, err error) {
	n := p.def.Policy.Next
	m := &maker{Policy: p, v: v, seed: seed, d: d}
	switch {
	case n.Manual != nil:
		return true, m.manual()
	case n.Prior != nil:
		return m.samplePrior()
	case n.Random != nil && p.choose != nil:
		return true, m.twoAtRandom()
	}
	return false, nil
}

// manual runs what the expert names, and a composition at random where they
// name none.
func (m *maker) manual() error {
	turn := m.turn()
	if len(turn) == 0 && m.questionsSpent() {
		return m.atRandom(RuleLabelBudget, "The budget of questions is spent: a composition at random is taken.")
	}
	if len(turn) == 0 {
		m.d.ask(events.FormPinpoint, m.def.Experts[m.expert()].Name, RuleAsk)
		m.d.Reason = "The policy is to measure what the expert names."
		m.d.Explanation = "Which composition shall be measured next?"
		return nil
	}
	q := &turn[len(turn)-1]
	if q.Form == events.FormPinpoint && q.Status == campaign.Answered && q.Answer.Point != nil && m.v.Space.Contains(q.Answer.Point) == nil {
		return m.take(Named, q.Answer.Point, RulePinpointed, fmt.Sprintf("%s named it (%s).", q.Expert, q.ID))
	}
	return m.atRandom(RuleNoAnswer, fmt.Sprintf("%s was %s without a composition: one at random is taken.", q.ID, q.Status))
}

// atRandom runs a composition at random.
func (m *maker) atRandom(rule, reason string) error {
	points, err := m.v.Space.Sample(1, m.seed)
	if err != nil {
		return err
	}
	return m.take(Design, points[0], rule, reason)
}

// take runs a composition that no model was asked about.
func (m *maker) take(name string, point definition.Point, rule, reason string) error {
	m.d.Candidates = []events.Candidate{{Name: name, Parameters: point}}
	if m.v.Objective != nil {
		if prediction, err := m.v.Objective.Predict(point); err == nil {
			m.d.Candidates[0].Prediction = &prediction
		}
	}
	return m.run(name, rule, reason)
}

// priorDraws is how many compositions are drawn at most before one is accepted.
const priorDraws = 1000

// samplePrior accepts a composition at random with a probability in proportion
// to its score, so that it is a draw from the expert's prior.
func (m *maker) samplePrior() (done bool, err error) {
	prefs := m.v.Preferences[m.expert()]
	if prefs == nil || prefs.Score == nil {
		return false, nil // a design point until there is a model
	}
	fit := prefs.Fit
	m.d.Preference = &fit
	points, err := m.v.Space.Sample(priorDraws, m.seed)
	if err != nil {
		return false, err
	}
	greatest := 0.0
	for _, score := range prefs.Sampled {
		greatest = max(greatest, score)
	}
	predictor, chance := prefs.Score.NewPredictor(), rand.New(rand.NewPCG(m.seed, 1))
	chosen := points[0]
	for _, point := range points {
		x, err := m.v.Space.Encode(point)
		if err != nil {
			return false, err
		}
		if score, _ := predictor.At(x, nil, nil); chance.Float64()*greatest < score {
			chosen = point
			break
		}
	}
	return true, m.take(Sampled, chosen, RulePrior, fmt.Sprintf("A sample of what %s prefers.", prefs.Expert))
}

// twoAtRandom lets the expert choose between two compositions at random.
func (m *maker) twoAtRandom() error {
	turn := m.turn()
	if len(turn) > 0 {
		q := &turn[len(turn)-1]
		if option := q.Winner(); option != nil && m.v.Space.Contains(option.Parameters) == nil {
			return m.take(option.Candidate, option.Parameters, RuleChosen, fmt.Sprintf("%s chose it (%s).", q.Expert, q.ID))
		}
	}
	switch {
	case len(turn) > 0:
		return m.atRandom(RuleNoAnswer, "There was no choice: a composition at random is taken.")
	case m.questionsSpent():
		return m.atRandom(RuleLabelBudget, "The budget of questions is spent: a composition at random is taken.")
	}
	points, err := m.v.Space.Sample(2, m.seed)
	if err != nil {
		return err
	}
	for i, point := range points {
		m.d.Candidates = append(m.d.Candidates, events.Candidate{Name: []string{Unaided, Aided}[i], Parameters: point})
	}
	m.d.ask(events.FormComparison, m.def.Experts[m.expert()].Name, RuleAsk)
	m.d.Reason = "The expert chooses between two compositions at random."
	m.d.Explanation = "Which of the two shall be measured?"
	return nil
}
