package engine

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// nextInitial collects the experts' initial answers, and runs the initial design.
//
// Experts come before the design, one after the other in the definition's order.
// The design does not wait for people's answers: it runs while their questions
// are open, and nextDecision waits for them.
func nextInitial(c Now) (Step, error) {
	for _, expert := range c.Definition.Experts {
		step, sitting, err := nextEstimates(c, expert)
		if step != nil || err != nil {
			return step, err
		}
		if sitting && !together(c.Definition, expert) {
			continue
		}
		for _, next := range []func(Now, definition.Expert) (Step, error){nextLabel, nextComparison} {
			if step, err := next(c, expert); step != nil || err != nil {
				return step, err
			}
		}
	}
	if c.Count(campaign.Unresolved) > 0 || underWay(c.State) >= c.Definition.Parallel {
		return nil, nil
	}
	return nextDesign(c)
}

// together reports whether an expert's initial questions are open all at once:
// people choose when they answer which. Campaigns that were begun before there
// was a [definition.Initial.Wait] ask for one answer after the other.
func together(def *definition.Campaign, expert definition.Expert) bool {
	return expert.Asked() && def.Initial.Wait != nil
}

// isInitial reports whether a question was asked before the policy took over.
func isInitial(q *campaign.Question) bool { return q.Decision == "" && !q.Volunteered }

// initialAnswers counts an expert's initial questions of a form, and reports whether one is
// being asked.
func initialAnswers(s *campaign.State, expert string, form events.Form) (have int, open bool) {
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Expert == expert && q.Form == form && q.Decision == "" {
			have++
			open = open || q.Status == campaign.Asked
		}
	}
	return have, open
}

// nextLabel collects an expert's initial labels: examples of a simulated one,
// questions to a person.
//
// All compositions are sampled at once from one seed, and the next of them is taken: so they do
// not depend on the order of answers.
func nextLabel(c Now, expert definition.Expert) (Step, error) {
	def := c.Definition
	have, open := initialAnswers(c.State, expert.Name, events.FormLabel)
	want := *def.Initial.Labels
	if have >= want || open && !together(def, expert) {
		return nil, nil
	}
	if !expert.Asked() {
		return examples(c, Examples{
			Expert: expert.Name, N: want - have, Balanced: *def.Initial.Balanced,
		}), nil
	}
	points, err := c.space.Sample(want, seedFor(def.Seed, "initial labels", expert.Name))
	if err != nil {
		return nil, err
	}
	return record(put(c, events.QuestionAsked{
		Form: events.FormLabel, Expert: expert.Name, Options: optionsAt(points[have : have+1]),
		Explanation: fmt.Sprintf(
			"Initial question %d of %d, at a random composition: would it be worth an experiment?",
			have+1, want,
		),
	}))
}

// examples asks an expert for examples, or waits for those already requested. The step is
// repeated until w.Prompted says that the expert has been asked: then it is a wait during which
// nothing else begins.
func examples(c Now, wanted Examples) Step {
	if c.Prompted != wanted.Expert {
		return wanted
	}
	return Wait{For: wanted.Expert + " to give examples", Until: Deadline(c), Pending: true}
}

// nextComparison collects an expert's initial comparisons. In a campaign
// without measurements they are part of the campaign: every expert is asked,
// about compositions spread evenly (Sinaga et al. 2026, App. G).
//
// The policy's needs determine the number of options of a comparison; it is two otherwise.
func nextComparison(c Now, expert definition.Expert) (Step, error) {
	def := c.Definition
	have, open := initialAnswers(c.State, expert.Name, events.FormComparison)
	want, size := *def.Initial.Comparisons, 2
	if have >= want || open && !together(def, expert) {
		return nil, nil
	}
	if needs := c.policy.Needs(); needs.Compared > 0 {
		size = needs.Compared
	} else if needs.Belief != nil && needs.Belief.Options != nil {
		size = *needs.Belief.Options
	}
	if !expert.Asked() && def.Measures() {
		return examples(c, Examples{Expert: expert.Name, N: want - have, Options: size}), nil
	}
	points, err := initialOptions(c, expert.Name, have, want, size)
	if err != nil || points == nil {
		return nil, err
	}
	return record(put(c, events.QuestionAsked{
		Form: events.FormComparison, Expert: expert.Name, Options: optionsAt(points),
		Explanation: fmt.Sprintf("Initial comparison %d of %d.", have+1, want),
	}))
}

// initialOptions returns the compositions of the next of an expert's initial
// comparisons, who has been asked have of want; none where the space has too
// few to compare.
func initialOptions(c Now, expert string, have, want, size int) (options []definition.Point, err error) {
	seed := seedFor(c.Definition.Seed, "initial comparisons", expert)
	list, finite := c.space.Finite()
	var points []definition.Point
	switch {
	case finite && len(list) < 2:
		return nil, nil
	case finite && len(list) < size*want: // nothing is asked again before all has been asked
		return leastCompared(c, list, expert, size, seed)
	case !c.Definition.Measures():
		points, err = c.space.Design(definition.DesignSobol, size*want, seed)
	case finite:
		points, err = c.space.Design(definition.DesignRandom, size*want, seed)
	default:
		points, err = c.space.Sample(size*want, seed)
	}
	if err != nil || len(points) < 2 {
		return nil, err
	}
	for i := range size {
		options = append(options, points[(size*have+i)%len(points)])
	}
	return options, nil
}

// nextDesign requests the next experiment of the initial design. Experiments
// that were imported or run by hand serve as the design too; one that did not
// take place leaves its place to be taken again.
//
// done counts by composition and not by place, so that a design that names one
// composition twice runs it twice, and an amendment that reorders the points
// repeats none.
func nextDesign(c Now) (Step, error) {
	def := c.Definition
	done := make(map[string]int)
	known := 0
	runs := 0
	for x := range among(c.State) {
		switch {
		case x.Status.CalledOff():
		case x.Origin == events.OriginInitial && x.Replicate == 1:
			key, err := c.space.Key(x.Parameters)
			if err != nil {
				return nil, err
			}
			done[key]++
			runs++
		case x.Origin == events.OriginImport || x.Origin == events.OriginPerson:
			known++
		}
	}
	due, err := replicateDue(c)
	if err != nil || due != nil {
		return nil, err
	}
	if runs+known >= *def.Initial.Experiments || c.Left() <= 0 {
		return nil, nil
	}
	points, err := initialDesign(c)
	if err != nil {
		return nil, err
	}
	for _, point := range points {
		key, err := c.space.Key(point)
		if err != nil {
			return nil, err
		}
		if done[key] > 0 {
			done[key]--
			continue
		}
		if step := timeIsUp(c); step != nil {
			return step, nil
		}
		return record(&events.ExperimentRequested{
			Experiment: events.ExperimentID(len(c.Experiments) + 1), Parameters: point,
			Origin: events.OriginInitial, Replicate: 1,
		})
	}
	return nil, nil // a short list of candidates gives a short design
}

// Designed returns the compositions that the initial design has still to request, in their
// order, whatever the experiments' fates. Experiments that were imported or measured by hand
// serve as the design too. The core stays as it is.
func Designed(c *Core) (points []definition.Point, err error) {
	own := c.Clone()
	for {
		step, err := nextDesign(own.At(World{Now: own.last}))
		record, ok := step.(Record)
		if err != nil || !ok {
			return points, err
		}
		requested, ok := record.Payloads[0].(*events.ExperimentRequested)
		if !ok {
			return points, nil // the time is up
		}
		points = append(points, requested.Parameters)
		if err := own.imagine(own.last, "", requested); err != nil {
			return nil, err
		}
	}
}

// initialDesign returns the compositions of the initial design that may be measured. It is
// computed again each time: the same seed gives the same design, and nothing of it has to be
// kept.
func initialDesign(c Now) ([]definition.Point, error) {
	def := c.Definition
	if def.Initial.Design != definition.DesignPoints {
		ways, err := space.NewFidelity(c.Bounded(), c.space)
		if err != nil {
			return nil, err
		}
		design := c.space.Design
		if ways != nil {
			design = ways.Design
		}
		return design(def.Initial.Design, *def.Initial.Experiments, seedFor(def.Seed, "initial design"))
	}
	var points []definition.Point
	for _, point := range def.Initial.Points {
		if c.space.Contains(point) == nil { // an amendment or an exclusion may have excluded it
			points = append(points, point)
		}
	}
	return points, nil
}

// nextReplicate repeats a composition as often as the definition asks for.
func nextReplicate(c Now) (Step, error) {
	if c.Definition.Replicates == 1 || c.Left() <= 0 ||
		underWay(c.State) >= c.Definition.Parallel {
		return nil, nil
	}
	x, err := replicateDue(c)
	if x == nil || err != nil {
		return nil, err
	}
	if step := timeIsUp(c); step != nil {
		return step, nil
	}
	return record(Retry(c.State, x, x.Replicate+1))
}

// replicateDue returns the latest run of the first composition, of the design
// or of a decision, that has been measured less often than the definition asks
// for and is not being measured.
//
// A series consists of all runs of a decision, or of a composition of the design. The map is
// read by name alone, and order keeps the first appearance.
func replicateDue(c Now) (*campaign.Experiment, error) {
	if c.Definition.Replicates == 1 {
		return nil, nil
	}
	type series struct {
		last *campaign.Experiment
		// begun counts the runs that begin a series of their own, a composition
		// that stands in the design twice; runs all of them.
		begun, runs int
		open        bool
	}
	all := make(map[string]*series)
	var order []*series
	for x := range among(c.State) {
		if x.Status.CalledOff() || x.Origin != events.OriginInitial && x.Origin != events.OriginPolicy {
			continue
		}
		name := x.Decision
		if x.Origin == events.OriginInitial {
			key, err := c.space.Key(x.Parameters)
			if err != nil {
				return nil, err
			}
			name = "design " + key
		}
		in := all[name]
		if in == nil {
			in = &series{begun: 0}
			all[name], order = in, append(order, in)
		}
		if in.runs == 0 || x.Origin == events.OriginInitial && x.Replicate == 1 {
			in.begun++
		}
		in.runs++
		in.last, in.open = x, in.open || x.Status.Open()
	}
	for _, in := range order {
		if !in.open && in.runs < in.begun*c.Definition.Replicates &&
			c.space.Contains(in.last.Parameters) == nil {
			return in.last, nil
		}
	}
	return nil, nil
}
