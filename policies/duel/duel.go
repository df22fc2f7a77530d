// Package duel chooses which two compositions an expert compares in a campaign
// without measurements, where the expert's preferences are the objective.
//
// It models a utility u with P(x preferred to y) = s(u(x) − u(y)), with a
// logistic or probit link s. Some rules work on a finite set of candidates
// (Kayal et al. 2025, package internal/num/dueling): they keep the set of those
// that may be best, and compare the pair that is least known (mr-lpf), or a
// leader and its strongest rival (maxmin-lcb). The others use a Gaussian
// process of u with a noise of judgment ρ(x) that grows with the distance to
// anchors (Sinaga et al. 2026, packages internal/num/pref and pairgp), and
// maximize over pairs or points
//
//	EUBO    E max(u(x), u(y))
//	RAEUBO  E max(u(x) − αρ(x), u(y) − αρ(y))
//	ANPEI   EI(x) − γ ρ(x)            RAHBO   μ(x) + ησ(x) − γ ρ(x)
//
// where a rule for one point compares it with the last winner. Experts have a
// utility each, and the one who has compared least is next.
package duel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/space"
)

// Input is a rule's view of one expert.
type Input struct {
	Space *space.Space
	// Questions are the campaign's; the rule reads the comparisons that this expert answered.
	Questions []campaign.Question
	Expert    string
	// Model is the model of the expert's comparisons; nil before its first fit.
	Model *preference.Model
	// Trouble says why the model is missing or unusable; nil where the reason is not worth
	// saying.
	Trouble error
	Seed    uint64
}

// Proposal is the pair to compare, or the best composition where no more
// comparisons are needed.
type Proposal struct {
	// Candidates are the two compositions with their predictions.
	Candidates []events.Candidate
	// Identified is set where the best composition is known, Spent where the
	// rule has made all the comparisons that it was set up for. Then Candidates
	// holds the best composition alone.
	Identified, Spent bool
	// Reason says in a sentence why this pair.
	Reason string
	// Elimination is the progress of a rule on candidates; nil for others.
	Elimination *events.Elimination
}

// Rule is the rule of one definition. It caches its computations from an expert's comparisons,
// and repeats them if these have changed: that saves time, and decides nothing. Several
// goroutines may use it: readers of a campaign share the rule.
type Rule struct {
	def  definition.Campaign
	name string
	// candidates are the settings of a rule on candidates, nil for the others.
	candidates *Candidates
	// Weights of the acquisitions of a utility, those that the rule has.
	alpha, beta, gamma, eta float64

	mu       sync.Mutex
	machines map[string]*machine // by expert; without those that are in use
}

// New returns the rule that a complete definition names. Weights are read by
// name from the rule's settings, which have the same names in a campaign file.
func New(def definition.Campaign) (*Rule, error) {
	r := &Rule{def: def, name: def.Policy.Duel.Name, machines: make(map[string]*machine)}
	switch r.name {
	case MRLPFName, MaxMinLCBName:
		r.candidates = new(Candidates)
		if err := def.Policy.Duel.Decode(r.candidates); err != nil {
			return nil, err
		}
		return r, r.candidates.missing(r.name)
	case EUBOName, EIName, RandomName:
		return r, modeled(def.Model.Utility)
	}
	// The others have weights, which have names of their own.
	weights := map[string]map[string]*float64{
		RAEUBOName: {"alpha": &r.alpha},
		UCBName:    {"beta": &r.beta},
		ANPEIName:  {"gamma": &r.gamma},
		RAHBOName:  {"eta": &r.eta, "gamma": &r.gamma},
	}[r.name]
	if weights == nil {
		return nil, fmt.Errorf("there is no rule %q of comparisons", r.name)
	}
	var settings map[string]float64
	if err := def.Policy.Duel.Decode(&settings); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		value, there := settings[name]
		if err := policies.Has(r.name, name, there); err != nil {
			return nil, err
		}
		*weights[name] = value
	}
	return r, modeled(def.Model.Utility)
}

// modeled returns an error for a setting of the utility's model that a complete
// definition has and this one lacks.
func modeled(u definition.Utility) error {
	return cmp.Or(
		policies.Has("model.utility", "noise", u.Noise != nil),
		policies.Has("model.utility", "strength", u.Paper || u.Strength != nil),
		policies.Has("model.utility", "refit_every", u.RefitEvery != nil),
	)
}

// Propose returns the pair that the expert compares next. It is deterministic in its input; a
// cancelled context is an error. The reason of the random pair that replaces it mentions
// trouble with a model. In a space of one composition no rule has anything to ask.
func (r *Rule) Propose(ctx context.Context, in Input) (Proposal, error) {
	if list, finite := in.Space.Finite(); finite && len(list) == 1 {
		return Proposal{
			Identified: true, Candidates: []events.Candidate{{Name: First, Parameters: list[0]}},
			Reason: "One composition is left.",
		}, nil
	}
	switch {
	case r.candidates != nil:
		return r.proposeCandidates(ctx, in)
	case r.name == RandomName, in.Model == nil || in.Model.Utility == nil:
		return r.proposeRandom(in)
	}
	p, err := r.proposeUtility(ctx, in)
	if err == nil || ctx.Err() != nil {
		return p, err
	}
	in.Trouble = err // a model that cannot be used must not stop the campaign
	return r.proposeRandom(in)
}

// Best returns the expert's preferred composition so far; ok is false if nothing is known.
func (r *Rule) Best(ctx context.Context, in Input) (best policies.Best, ok bool, err error) {
	if list, finite := in.Space.Finite(); finite && len(list) == 1 {
		return policies.Best{Expert: in.Expert, Parameters: list[0]}, true, nil
	}
	switch {
	case r.candidates != nil:
		return r.bestCandidate(ctx, in)
	case in.Model == nil || in.Model.Utility == nil:
		return r.mostWins(in)
	}
	return r.bestUtility(ctx, in)
}

// answered returns the expert's answered comparisons of two options, in the
// order of the log, "can't tell" included. Rankings of more than two are no
// duels, and are not read here.
func answered(in Input) (questions []*campaign.Question) {
	for i := range in.Questions {
		q := &in.Questions[i]
		if q.Expert == in.Expert && q.Form == events.FormComparison && q.Status == campaign.Answered &&
			len(q.Options) == 2 {
			questions = append(questions, q)
		}
	}
	return questions
}

// proposeRandom compares two random compositions, by the rule random, or where
// another rule has no model yet. Further tries have seeds of their own, next to
// the first, so that the same state draws the same pairs.
func (r *Rule) proposeRandom(in Input) (Proposal, error) {
	points, err := in.Space.Sample(2, in.Seed)
	if err != nil {
		return Proposal{}, err
	}
	for try := uint64(1); try < tries; try++ {
		if a, b, err := keys(in.Space, points); err != nil || a != b {
			break
		}
		if points, err = in.Space.Sample(2, in.Seed+try); err != nil {
			return Proposal{}, err
		}
	}
	reason := "Two compositions at random."
	if r.name != RandomName {
		reason += " There is no model of the utility"
		if in.Trouble != nil {
			reason += ": " + in.Trouble.Error()
		}
		reason += "."
	}
	return Proposal{
		Candidates: []events.Candidate{{Name: First, Parameters: points[0]}, {
			Name: Second, Parameters: points[1],
		}},
		Reason: reason,
	}, nil
}

// tries is the number of times that another pair is drawn if the two are equal, which happens
// in a space of few compositions.
const tries = 100

// keys are the identities of two compositions in the space.
func keys(sp *space.Space, points []definition.Point) (a, b string, err error) {
	if a, err = sp.Key(points[0]); err != nil {
		return "", "", err
	}
	b, err = sp.Key(points[1])
	return a, b, err
}

// Names of the two candidates of a duel.
const (
	First  = "first"
	Second = "second"
)

// mostWins is the composition with the most wins less losses, the earliest of
// equals: the best guess without a model. Answers of “can't tell” do not count.
// In the order in which they were first compared, so that ties do not hang on
// the order of a map.
func (r *Rule) mostWins(in Input) (best policies.Best, ok bool, err error) {
	score := make(map[string]float64)
	points := make(map[string]definition.Point)
	var order []string
	for _, q := range answered(in) {
		if len(q.Answer.Order) == 0 {
			continue
		}
		a, b, err := keys(in.Space, q.Points())
		if err != nil {
			return policies.Best{}, false, err
		}
		for i, key := range []string{a, b} {
			if _, seen := points[key]; !seen {
				points[key], order = q.Options[i].Parameters, append(order, key)
			}
			if q.Answer.Order[0] == i {
				score[key]++
			} else {
				score[key]--
			}
		}
	}
	for _, key := range order {
		if !ok || score[key] > best.Utility {
			best, ok = policies.Best{Expert: in.Expert, Parameters: points[key], Utility: score[key]}, true
		}
	}
	return best, ok, nil
}
