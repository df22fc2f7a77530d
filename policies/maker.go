package policies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/trust"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// maker holds what one decision of a model-based policy works on.
type maker struct {
	*Policy
	ctx  context.Context
	v    View
	seed uint64
	d    *Decision
	beta float64
	// avoid is what candidates keep away from.
	avoid avoidance
}

// decide follows Xu et al. 2024, Alg. 1; RuleX constants name the places where
// it ends.
func (m *maker) decide() error {
	var err error
	if m.beta, err = next.Beta(m.next, m.v.Objective); err != nil {
		return err
	}
	turn := m.turn()
	if !m.earns() {
		if done, err := m.takeAnswer(turn); done || err != nil {
			return err
		}
	}
	if done, err := m.takeChoice(turn); done || err != nil {
		return err
	}
	base, err := m.next.Acquisition(m.v.Objective, m.unaidedSeed())
	if err != nil {
		return err
	}
	taken, err := m.taken()
	if err != nil {
		return err
	}
	unaided, err := m.candidate(base, unaidedSearch, taken)
	if errors.Is(err, search.ErrExhausted) {
		exhausted(m.d)
		return nil
	}
	if err != nil {
		return err
	}
	if err := m.add(Unaided, unaided); err != nil && !errors.Is(err, errBelief) {
		return err
	}
	if m.earns() {
		if done, err := m.takeJudged(turn, unaided); done || err != nil {
			return err
		}
		if done, err := m.takeAnswer(turn); done || err != nil {
			return err
		}
	}
	tests := len(m.d.Tests)
	switch {
	case len(m.def.Experts) > 0 && m.def.Policy.Trust.Belief() != nil:
		err = m.aid(turn, base, unaided, taken)
	case len(m.def.Experts) > 0 && (m.prior != nil || m.choose != nil):
		err = m.bend(turn, base, unaided, taken)
	default:
		return m.run(Unaided, RuleUnaided, "It has "+m.next.Promise()+".")
	}
	if errors.Is(err, errBelief) {
		m.d.Candidates, m.d.Tests, m.d.Lambda, m.d.Trust = m.d.Candidates[:1], m.d.Tests[:tests], nil, nil
		return m.run(Unaided, RuleNoBelief, fmt.Sprintf("%v: the unaided candidate is taken.", err))
	}
	return err
}

// errBelief is wrapped by errors of an expert's belief: they cost the aid, not
// the decision.
var (
	errBelief = errors.New("the expert's belief cannot be used")
	errNoFit  = errors.New("it has not been fitted")
)

// aid lets an expert's belief bend the choice (Xu et al. 2024, Alg. 1 and 2).
func (m *maker) aid(turn []campaign.Question, base next.Acquisition, unaided search.Result, taken map[string]bool) error {
	expert := m.def.Experts[m.expert()].Name
	if m.feedback() == definition.FeedbackPinpoint {
		return m.pinpoint(turn, expert, unaided)
	}
	b := m.v.Beliefs[m.expert()]
	if b == nil {
		return fmt.Errorf("%w: %w", errBelief, cmp.Or(m.v.BeliefErrors[m.expert()], errNoFit))
	}
	if b.Fit != nil {
		fit := *b.Fit
		m.d.Belief = &fit
	}
	if m.handover != nil {
		if done, err := m.beforeAiding(turn, expert, b, unaided); done || err != nil {
			return err
		}
	}
	if m.earns() {
		base = next.Bound(m.v.Objective, -m.optimism())
	}
	aided, err := m.bent(expert, b, base, unaided, taken)
	if err != nil {
		return err
	}
	if aided.Point == nil {
		return m.run(Unaided, RuleRejects, "The expert would accept nothing: the unaided candidate is taken.")
	}
	if err := m.add(Aided, aided); err != nil {
		return err
	}
	interval := *m.d.Candidates[1].Belief
	if m.trust != nil {
		m.adjust(expert, m.lambda(expert), interval.Lower)
	}
	if harmful, err := m.harmful(unaided, aided); harmful || err != nil {
		return err
	}
	return m.handOver(turn, expert, unaided, aided, interval)
}

// feedback is what the policy's beliefs are built from.
func (m *maker) feedback() string { return m.def.Policy.Trust.Belief().Feedback }

// lambda is the expert's dual variable.
func (m *maker) lambda(expert string) float64 {
	if lambda, ok := m.v.Campaign.Lambda(expert); ok {
		return lambda
	}
	return m.trust.Lambda0
}

// acceptable is how far above 0 the lower belief bound of COBOHL's candidate
// may be, in logits, where a search meets its constraint only in the limit.
const acceptable = 1e-2

// penalties are the weights with which COBOHL's constraint is driven in, one search after
// the other.
var penalties = []float64{10, 1e3, 1e5}

// bent searches for the aided candidate; without a point where COBOHL finds
// none that the expert may accept.
func (m *maker) bent(expert string, b *belief.Model, base next.Acquisition, unaided search.Result, taken map[string]bool) (aided search.Result, err error) {
	var failed error
	defer func() {
		if failed != nil {
			aided, err = search.Result{}, fmt.Errorf("%w: %w", errBelief, failed)
		}
	}()
	switch {
	case m.trust != nil:
		return m.candidate(m.trust.Acquisition(base, b, m.lambda(expert), &failed), 2, taken, unaided.X)
	case m.def.Policy.Trust.HCEI != nil:
		return m.candidate(trust.Weighed(base, b), 2, taken, unaided.X)
	}
	aided = unaided
	for _, weight := range penalties {
		if aided, err = m.candidate(trust.Constrained(base, b, weight, &failed), 2, taken, unaided.X, aided.X); err != nil {
			return aided, err
		}
	}
	lower, err := b.Lower(aided.X, nil)
	if err != nil {
		return search.Result{}, fmt.Errorf("%w: %w", errBelief, err)
	}
	if lower > acceptable {
		return search.Result{}, nil
	}
	aided.Value = base(aided.X, nil)
	return aided, nil
}

// harmful takes the unaided candidate where the aided one could do harm (Xu et
// al. 2024, Alg. 1 line 6). COBOHL makes no such test.
func (m *maker) harmful(unaided, aided search.Result) (bool, error) {
	if m.def.Policy.Trust.COBOHL != nil {
		return false, nil
	}
	worst, err := m.search(next.Bound(m.v.Objective, m.beta), 3, nil, unaided.X, aided.X)
	if err != nil {
		return false, err
	}
	_, sdUnaided := m.v.Objective.Posterior(unaided.X)
	meanAided, sdAided := m.v.Objective.Posterior(aided.X)
	eta := trust.DefaultEta
	if m.trust != nil {
		eta = m.trust.Eta
	}
	m.d.Tests = append(m.d.Tests, trust.NoHarm(meanAided-m.optimism()*sdAided, worst.Value, sdUnaided, sdAided, eta)...)
	if failed := firstFailed(m.d.Tests); failed != "" {
		return true, m.run(Unaided, RuleNoHarm, "The expert's candidate could do harm ("+failed+"): the unaided one is taken.")
	}
	return false, nil
}

// unaidedSearch is the salt of the search for the unaided candidate.
const unaidedSearch = 1

// search minimises an acquisition over the space. The salt keeps the searches
// of one decision apart.
func (m *maker) search(f next.Acquisition, salt uint64, skip map[string]bool, starts ...[]float64) (search.Result, error) {
	seed := m.seed + salt
	if salt == unaidedSearch {
		seed = m.unaidedSeed()
	}
	starts = append(starts, m.v.Objective.X...)
	return search.Minimize(m.ctx, m.v.Space, f, seed, starts, skip)
}

// unaidedSeed is the seed of the unaided candidate: that of the experiment, not
// of the decision, of which questions make more. So a question leaves the
// candidate where it is, and a campaign whose expert is never followed is, bit
// for bit, the campaign without one.
func (m *maker) unaidedSeed() uint64 {
	return rand.New(rand.NewPCG(m.def.Seed, uint64(m.number()))).Uint64()
}

// taken returns the compositions that have been requested, where the campaign
// has a list of candidates: each is tried once.
func (m *maker) taken() (map[string]bool, error) {
	if len(m.def.Candidates) == 0 {
		return nil, nil
	}
	return triedBy(m.v, func(x *campaign.Experiment) bool { return !x.Status.CalledOff() })
}

// add appends a candidate with what the models say about it. Where only the
// belief fails, which the error then wraps as errBelief, it is added without.
func (m *maker) add(name string, r search.Result) (err error) {
	c := events.Candidate{Name: name, Parameters: r.Point}
	mean, sd := m.v.Objective.Posterior(r.X)
	prediction := m.v.Objective.PredictAt(r.X)
	optimistic, pessimistic := m.v.Objective.Outside(mean-m.beta*sd), m.v.Objective.Outside(mean+m.beta*sd)
	c.Prediction, c.Optimistic, c.Pessimistic = &prediction, &optimistic, &pessimistic
	if !math.IsNaN(r.Value) {
		value := r.Value
		c.Acquisition = &value
	}
	if len(m.v.Beliefs) > 0 && m.v.Beliefs[m.expert()] != nil {
		lower, upper, failed := m.v.Beliefs[m.expert()].Bounds(r.X)
		if failed != nil {
			err = fmt.Errorf("%w: at the %s candidate: %w", errBelief, name, failed)
		} else {
			c.Belief = &events.Interval{Lower: lower, Upper: upper}
		}
	}
	m.d.Candidates = append(m.d.Candidates, c)
	return err
}

// adjust moves the dual variable.
func (m *maker) adjust(expert string, lambda, bound float64) {
	to := m.trust.Step(lambda, bound)
	m.d.Lambda = &to
	m.d.Trust = &events.TrustAdjusted{Expert: expert, From: lambda, To: to, Violation: bound}
}

func (m *maker) run(candidate, rule, reason string) error {
	m.d.Action, m.d.Chosen, m.d.Rule, m.d.Reason = events.ActionRun, candidate, rule, reason
	return nil
}

// firstFailed returns the name of the first test of the no-harm rule that does not hold.
func firstFailed(tests []events.Test) string {
	for _, t := range tests {
		if !t.Holds && strings.HasPrefix(t.Name, trust.NoHarmPrefix) {
			return strings.TrimPrefix(t.Name, trust.NoHarmPrefix)
		}
	}
	return ""
}
