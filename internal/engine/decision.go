package engine

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// nextDecision fits models whose data have changed and decides, while there is room for another
// experiment and no answer is awaited.
//
// The order matters. A person's matters come first, since a wait for them shows their options.
// Decisions are numbered, and a decision's seed follows from its number.
func nextDecision(c Now) (Step, error) {
	if x := firstWith(c.State, campaign.Unresolved); x != nil {
		return Wait{
			For:      fmt.Sprintf("a person: the fate of %s is unknown", x.ID),
			Remedies: []problem.Remedy{settle(x.ID)},
			Until:    Deadline(c),
		}, nil
	}
	if q := awaited(c.State); q != nil {
		return Wait{For: q.Expert + " to answer " + q.ID + andMore(c.State, q), Until: Deadline(c)}, nil
	}
	if open := underWay(c.State); open > 0 &&
		(open >= c.Definition.Parallel || c.Left() <= 0 || initialOpen(c.State)) {
		return nextWork(c), nil
	}
	if last, err := lastUnderWay(c); last || err != nil {
		return nextWork(c), err
	}
	if c.Left() <= 0 {
		if wait := lastArrivals(c); wait != nil {
			return wait, nil
		}
	}
	if fit, ok := nextFit(c); ok {
		return fit, nil
	}
	if c.Left() > 0 || !c.Definition.Measures() {
		if step := timeIsUp(c); step != nil {
			return step, nil
		}
	}
	if consult, _, ok := Consultation(c); ok {
		if c.Consulting == consult {
			return Wait{For: "the program to propose the next experiment", Until: Deadline(c), Pending: true}, nil
		}
		return consult, nil
	}
	id := events.DecisionID(c.Decisions + 1)
	return Decide{Decision: id, Seed: seedFor(c.Definition.Seed, "decision", id)}, nil
}

// nextWork waits for experiments that are under way; in a campaign with a procedure those that wait
// for a batch begin first, where no others can join them.
func nextWork(c Now) Step {
	if step := lastBatch(c); step != nil {
		return step
	}
	return waitForWork(c)
}

// awaited returns an open question that blocks the next decision until it is answered, or nil:
// the campaign may go on by itself for a while, if its definition says so.
func awaited(s *campaign.State) *campaign.Question {
	for q := range open(s) {
		if !goesOnBeside(s, q) {
			return q
		}
	}
	return nil
}

// andMore counts the other awaited questions of an expert, in words: " and 29 more".
func andMore(s *campaign.State, first *campaign.Question) string {
	more := 0
	for q := range open(s) {
		if q != first && q.Expert == first.Expert && !goesOnBeside(s, q) {
			more++
		}
	}
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", more)
}

// goesOnBeside reports whether another experiment may be decided on while a question is open.
// It may not if the answer is the next composition to measure, nor if there is nothing to
// measure, nor while the campaign waits for the first answers.
//
// The bound is the expert's Meanwhile: so many experiments of the policy may be
// requested after the question. Those of people and imports do not count.
func goesOnBeside(s *campaign.State, q *campaign.Question) bool {
	if forms[q.Form].next || !s.Definition.Measures() {
		return false
	}
	if wait := s.Definition.Initial.Wait; wait != nil && *wait > 0 && isInitial(q) {
		return false // no budget is spent on what the first answers might say better
	}
	begun := 0
	for _, x := range s.Experiments[min(q.Experiments, len(s.Experiments)):] {
		if x.Origin == events.OriginPolicy {
			begun++
		}
	}
	e := s.Definition.Expert(q.Expert)
	return e != nil && e.Meanwhile != nil && begun < *e.Meanwhile
}

// lastUnderWay reports whether experiments are under way in a finite space in which every
// composition is, or where each is tried once has been tried: the next step then depends on how
// they end. An experiment counts as under way until its value of the objective arrives.
//
// Otherwise a policy would find no candidate left and end the campaign as
// exhausted, though one that is under way may yet be put off.
func lastUnderWay(c Now) (bool, error) {
	points, finite := c.space.Finite()
	if !finite || underWay(c.State) == 0 && c.AllAwaited() == nil {
		return false, nil
	}
	once := len(c.Definition.Candidates) > 0
	taken := make(map[string]bool)
	for x := range among(c.State) {
		if x.Reference() || !x.Status.Open() && !c.AwaitsSought(x) && (!once || x.Status.CalledOff()) {
			continue
		}
		key, err := c.space.Key(x.Parameters)
		if err != nil {
			return false, err
		}
		taken[key] = true
	}
	if len(taken) < len(points) {
		return false, nil
	}
	for _, p := range points {
		key, err := c.space.Key(p)
		if err != nil || !taken[key] {
			return false, err
		}
	}
	return true, nil
}

// underWay counts the experiments whose result is awaited.
func underWay(s *campaign.State) int {
	return s.Count(campaign.Requested, campaign.Dispatched, campaign.Started)
}

// initialOpen reports whether an experiment of the initial design is under way:
// the policy takes over once the whole of it is known.
func initialOpen(s *campaign.State) bool {
	for x := range among(s) {
		if x.Origin == events.OriginInitial && x.Status.Open() {
			return true
		}
	}
	return false
}

// nextFit is the fit that the policy wants before it decides, if any.
//
// The objective comes first: a belief shares its kernel. Fits are lazy: they are
// wanted here, where a decision follows, and at the end (nextEnd), not after
// each event.
func nextFit(c Now) (Fit, bool) {
	for _, q := range c.quantities.All() {
		if q.Stale() && c.policy.Needs().Objective {
			return fitOf(c.State, q.Fits(), q.Revision()), true
		}
	}
	for _, expert := range c.Definition.Experts {
		if c.objective.Fitted() && c.policy.Needs().Belief != nil && c.belief.Stale(expert.Name) {
			return fitOf(c.State, events.ModelName{Model: events.ModelBelief, Expert: expert.Name}, c.belief.Revision(expert.Name)), true
		}
		if c.preference.Stale(expert.Name) {
			return fitOf(c.State, events.ModelName{Model: events.ModelPreference, Expert: expert.Name}, c.preference.Revision(expert.Name)), true
		}
	}
	return Fit{}, false
}

// fitOf is the fit of a model to its present data. The revision counts changes of
// those: a fit to the same ones has the same seed, in any process.
func fitOf(s *campaign.State, model events.ModelName, revision int) Fit {
	purpose := []any{"fit " + model.Model}
	if model.Model != events.ModelObjective {
		purpose = append(purpose, model.Expert+model.Quantity)
	}
	return Fit{ModelName: model, Seed: seedFor(s.Definition.Seed, append(purpose, revision)...)}
}
