package policies

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/coexbo"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/preference"
)

// bend runs the optimum of the acquisition that an expert's preferences bend, or
// lets the expert choose between it and the unaided one (Adachi et al. 2024,
// Alg. 1).
func (m *maker) bend(turn []campaign.Question, base next.Acquisition, unaided search.Result, taken map[string]bool) error {
	expert := m.def.Experts[m.expert()].Name
	if m.choose != nil {
		if done, err := m.beforeChoosing(turn, expert); done || err != nil {
			return err
		}
	}
	bent, err := m.second(base, unaided)
	if err != nil {
		return err
	}
	aided, err := m.candidate(bent, 2, taken, unaided.X)
	if errors.Is(err, search.ErrExhausted) {
		return m.run(Unaided, RuleUnaided, "It is the last composition that is left.")
	}
	if err != nil {
		return err
	}
	if err := m.add(Aided, aided); err != nil {
		return err
	}
	m.score(unaided, aided)
	switch {
	case m.choose == nil:
		return m.run(Aided, RuleNever, "It has the best acquisition once what the expert prefers is weighed in; the policy asks no one.")
	case search.Near(unaided.X, aided.X):
		return m.run(Unaided, RuleAgree, "The expert's preferences lead to the same composition: there is nothing to choose.")
	}
	if m.questionsSpent() {
		return m.run(Unaided, RuleLabelBudget, "The budget of questions is spent: the campaign goes on unaided.")
	}
	return m.offer(expert, unaided, aided)
}

// second is the acquisition of the second candidate.
func (m *maker) second(base next.Acquisition, unaided search.Result) (next.Acquisition, error) {
	if m.prior == nil { // batch rules: the next best once the first is expected
		if _, draws := m.next.(interface{ Draws() }); draws {
			return m.next.Acquisition(m.v.Objective, m.seed+secondDraw)
		}
		expecting, err := m.v.Objective.Expecting([][]float64{unaided.X})
		if err != nil {
			return nil, err
		}
		return m.next.Acquisition(expecting, m.seed)
	}
	prefs, err := m.preferences()
	if err != nil {
		return nil, err
	}
	objective := m.v.Objective
	if c := m.def.Policy.Trust.CoExBO; c != nil && c.Fantasy {
		if objective, err = objective.Expecting([][]float64{unaided.X}); err != nil {
			return nil, err
		}
	}
	return m.prior.Acquisition(objective, base, m.next.Name(), prefs, m.beta, m.chosen()+1)
}

// score adds what the expert's preferences say of the two candidates.
func (m *maker) score(unaided, aided search.Result) {
	prefs := m.v.Preferences[m.expert()]
	if m.prior == nil || prefs == nil || prefs.Score == nil {
		return
	}
	predictor := prefs.Score.NewPredictor()
	for i, x := range [][]float64{unaided.X, aided.X} {
		score, variance := predictor.At(x, nil, nil)
		m.d.Candidates[i].Score = &events.Score{Mean: score, SD: math.Sqrt(variance)}
	}
}

// secondDraw keeps the second draw of batch Thompson apart from the first.
const secondDraw = 0x5bd1e995

// preferences is the model of what the expert of this step prefers.
func (m *maker) preferences() (*preference.Model, error) {
	i := m.expert()
	prefs := m.v.Preferences[i]
	if prefs == nil || prefs.Score == nil {
		return nil, fmt.Errorf("%w: %w", errBelief, cmp.Or(m.v.PreferenceErrors[i], errNoFit))
	}
	fit := prefs.Fit
	m.d.Preference = &fit
	return prefs, nil
}

// takeChoice runs what the expert has just chosen, or the unaided candidate
// where they could not tell.
func (m *maker) takeChoice(turn []campaign.Question) (done bool, err error) {
	if len(turn) == 0 {
		return false, nil
	}
	q := &turn[len(turn)-1]
	if q.Form != events.FormComparison {
		return false, nil
	}
	option, rule := bestCandidate(q), RuleChosen
	reason := fmt.Sprintf("%s chose it (%s).", q.Expert, q.ID)
	if option == nil {
		rule = RuleNoAnswer
		reason = fmt.Sprintf("%s was %s without a choice: the unaided candidate is taken.", q.ID, q.Status)
		for i := range q.Options {
			if q.Options[i].Candidate == Unaided || option == nil {
				option = &q.Options[i]
			}
		}
	}
	if m.v.Space.Contains(option.Parameters) != nil {
		return false, nil // an amendment or a refusal has excluded it since
	}
	x, err := m.v.Space.Encode(option.Parameters)
	if err != nil {
		return false, err
	}
	if err := m.add(option.Candidate, search.Result{X: x, Point: option.Parameters, Value: math.NaN()}); err != nil && !errors.Is(err, errBelief) {
		return false, err
	}
	return true, m.run(option.Candidate, rule, reason)
}

// bestCandidate returns the option that the expert placed highest of the two that
// the decision would run; the others of a ranking were measured before.
func bestCandidate(q *campaign.Question) *events.Option {
	for _, i := range q.Answer.Order {
		if c := q.Options[i].Candidate; c == Unaided || c == Aided {
			return &q.Options[i]
		}
	}
	return nil
}

// beforeChoosing closes the gate where the expert's choices do not go with what
// is measured.
func (m *maker) beforeChoosing(turn []campaign.Question, expert string) (done bool, err error) {
	if n := len(turn); n > 0 { // an answer that can no longer be taken
		return true, m.run(Unaided, RuleNoAnswer, fmt.Sprintf("The choice of %s can no longer be taken: the campaign goes on unaided.", turn[n-1].ID))
	}
	if !m.choose.Gate {
		return false, nil
	}
	return m.choiceGate(expert)
}

// choiceGate goes on unaided where the expert's choices do not predict what is
// measured.
func (m *maker) choiceGate(expert string) (done bool, err error) {
	mean, sd, err := m.choices(expert)
	if err != nil {
		return false, err
	}
	open, test := handover.OpenChoice(mean, sd)
	m.d.Tests = append(m.d.Tests, test)
	if !open {
		return true, m.run(Unaided, RuleGate, fmt.Sprintf("%s's choices do not predict what is measured (probability %.2f): the campaign goes on unaided.", expert, test.Left))
	}
	return false, nil
}

// choices returns, for each pairwise choice of the expert, by how much the
// objective model holds the chosen composition better, and the standard
// deviation of that, in standardised units.
func (m *maker) choices(expert string) (mean, sd []float64, err error) {
	for i := range m.v.Campaign.Questions {
		q := &m.v.Campaign.Questions[i]
		if q.Expert != expert || q.Form != events.FormComparison || len(q.Answer.Order) == 0 {
			continue
		}
		points := make([][]float64, len(q.Options))
		for k := range q.Options {
			if points[k], err = m.v.Space.Encode(q.Options[k].Parameters); err != nil {
				return nil, nil, err
			}
		}
		joint := m.v.Objective.GP().Joint(points)
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

// shuffle puts the candidates in an order by chance, so that none is favoured by
// its place.
func (m *maker) shuffle() {
	c := m.d.Candidates
	rand.New(rand.NewPCG(m.seed, 0)).Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
}

// offer asks the expert to choose.
func (m *maker) offer(expert string, unaided, aided search.Result) error {
	if m.choose.Explain {
		attributions, err := m.attribute(unaided, aided)
		if err != nil {
			return err
		}
		m.d.Attributions = attributions
	}
	m.shuffle()
	m.d.ask(events.FormComparison, expert, RuleAsk)
	m.d.Reason = fmt.Sprintf("%s chooses between the best bound and the best once what they prefer is weighed in.", expert)
	if m.prior == nil {
		m.d.Reason = fmt.Sprintf("%s chooses between the two best candidates.", expert)
	}
	best, mean := m.v.Objective.Best()
	m.d.Explanation = fmt.Sprintf("Which of the two shall be measured? The best so far is %s = %.4g %s (%s).",
		m.def.Objective.Name, mean, m.def.Objective.Unit, m.v.Objective.Observations[best].Experiment)
	if r := m.d.Review; r != nil && r.Expert == expert {
		m.d.Explanation += fmt.Sprintf(" Your choice in %s was right with probability %.2f, now that %s is measured.", r.Question, r.Probability, r.Experiment)
	}
	return nil
}

// review looks back at the choice that led to the latest measurement: how
// probable it is that it was right (Adachi et al. 2024, Eq. 101).
func (m *maker) review() error {
	s := m.v.Campaign
	last := len(s.Experiments) - 1
	for last >= 0 && s.Experiments[last].Measurement == nil {
		last--
	}
	if last < 0 || s.Experiments[last].Origin != events.OriginPolicy {
		return nil
	}
	turn := m.turnBefore(projections.Number(s.Experiments[last].Decision))
	for i := len(turn) - 1; i >= 0; i-- {
		q := &turn[i]
		if q.Form != events.FormComparison || len(q.Answer.Order) < 2 {
			continue
		}
		chosen, err := m.v.Space.Encode(q.Options[q.Answer.Order[0]].Parameters)
		if err != nil {
			return err
		}
		other, err := m.v.Space.Encode(q.Options[q.Answer.Order[1]].Parameters)
		if err != nil {
			return err
		}
		maximised, err := m.v.Objective.Maximised()
		if err != nil {
			return err
		}
		verdict := coexbo.ChoiceWasRight(maximised.Joint([][]float64{chosen, other}), m.v.Objective.Fit.Noise)
		m.d.Review = &events.ChoiceReview{Question: q.ID, Expert: q.Expert, Experiment: s.Experiments[last].ID, Probability: verdict.Probability}
		return nil
	}
	return nil
}
