package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// concludedAct returns the events for an instrument's answer to the command of an act, as [Concluded]
// does for an experiment's.
func concludedAct(
	c Now, a *campaign.Act, o instruments.Outcome, failed error, from instruments.Description,
) []events.Payload {
	if failed != nil {
		if !a.Command.UnderWay() {
			return nil // that the line is gone says nothing new
		}
		o = instruments.Outcome{Status: instruments.Unknown, Cause: failed.Error()}
	}
	o = o.Recordable()
	known := o.Status == instruments.Done || isKnown(o.Status)
	switch {
	case !a.Open() && known:
		return []events.Payload{&events.InstrumentAnswered{
			Act: a.ID, Command: a.Command.ID, Instrument: a.Command.Instrument,
			Answer: string(actStatus(o.Status)), Text: late(o),
		}}
	case !known && !a.Command.UnderWay():
		if o.Cause == "" {
			return nil
		}
		return []events.Payload{lateNote(a.ID, o)}
	case !known:
		return []events.Payload{UnresolvedFor(c.Order(a.ID), unknownCause(o))}
	}
	ended := &events.ActEnded{
		Act: a.ID, Command: a.Command.ID, Instrument: a.Command.Instrument,
		Status: actStatus(o.Status), Cause: o.Cause, Rejected: o.Rejected,
	}
	if ended.Status == events.ActDone {
		ended.Cause = ""
		ended.Gave = gave(c.State, a, o, from)
	}
	payloads := []events.Payload{ended}
	return append(payloads, filesOf(c.State, a.Experiments[0], o)...)
}

// recordableCause is a cause that the log can hold.
func recordableCause(text string) string {
	return instruments.Outcome{Cause: text}.Recordable().Cause
}

// actStatus is the outcome of an act by the status that its instrument gave.
func actStatus(s instruments.Status) events.ActStatus {
	switch s {
	case instruments.Measured, instruments.Done:
		return events.ActDone
	case instruments.Infeasible:
		return events.ActInfeasible
	case instruments.Deferred:
		return events.ActDeferred
	case instruments.Cancelled:
		return events.ActCancelled
	}
	return events.ActFailed
}

// gave are the results of an act that is done, for each of its experiments. A stage that is to give quantities
// has failed for an experiment without any.
func gave(
	s *campaign.State, a *campaign.Act, o instruments.Outcome, from instruments.Description,
) (all []events.Given) {
	stage := s.Batch(a.Batch).Stage(a.Stage)
	reported := o.Gave
	if o.Measurement != nil && len(a.Experiments) == 1 {
		reported = append(slices.Clone(reported), events.Given{Experiment: a.Experiments[0], Measurement: o.Measurement})
	}
	for _, id := range a.Experiments {
		said := events.Of(reported, id)
		given := events.Given{Experiment: id, Cause: recordableCause(said.Cause)}
		switch said.Status {
		case events.ActDone:
			if given = admittedBy(s, stage, id, said.Measurement, from); given.Status == "" && given.Measurement == nil {
				continue
			}
		case events.ActInfeasible:
			given.Status = events.ActInfeasible
		default:
			given.Status = events.ActFailed
		}
		all = append(all, given)
	}
	return all
}

// admittedBy is the result of a stage for an experiment, as it enters the campaign. A stage that gives
// nothing may still say which composition it made.
func admittedBy(
	s *campaign.State, stage *definition.Stage, id string, reported *events.Measurement, from instruments.Description,
) events.Given {
	given := events.Given{Experiment: id}
	failed := func(cause string) events.Given {
		given.Status, given.Cause = events.ActFailed, recordableCause(cause)
		return given
	}
	if reported == nil {
		if len(stage.Gives) > 0 {
			return failed("the instrument gave nothing")
		}
		return given
	}
	tidied, _ := tidyMeasurement(*reported)
	said := tidied.Actual != nil && CheckComposition("actual", tidied.Actual) == nil
	tidied.Actual = made(s, id, tidied.Actual)
	if len(stage.Gives) == 0 {
		if said {
			given.Measurement = &events.Measurement{Actual: tidied.Actual}
		}
		return given
	}
	m, err := instruments.Admit(*s.Definition.Giving(stage.Gives), tidied)
	if err != nil {
		return failed(err.Error() + "; it gave " + verbatim(reported))
	}
	definition.Default(&m.Identity, from.Identity)
	given.Measurement = &m
	return given
}

// made is the composition of an experiment as an instrument reports it, which may have been sent a part
// of it, and further settings.
func made(s *campaign.State, id string, reported definition.Point) definition.Point {
	all := maps.Clone(s.Experiment(id).Parameters)
	for name, value := range reported {
		if _, varied := all[name]; varied {
			all[name] = value
		}
	}
	return all
}

// settledAct is a person's word on an act: how it ended for each of its experiments, by one row for all of
// them or by several.
type settledAct struct {
	act    *campaign.Act
	given  map[string]events.Given // by experiment; the status is never empty
	reason string
	voided events.Voided
	row    int // the first that names it
}

// ofAct takes a row's word on an act for some of its experiments.
func (c *settling) ofAct(a *campaign.Act, experiments []string, r *Resolve, row int) error {
	if a.Command.Fate != campaign.Unknown && !c.byHand(a) {
		return conflict(a.ID, "%s is %s: only an act whose fate is unknown can be resolved", a.ID, a.Command.Fate)
	}
	given, err := r.given(c.Now, a, experiments)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.acts, func(s *settledAct) bool { return s.act == a })
	if i < 0 {
		i = len(c.acts)
		c.acts = append(c.acts, &settledAct{act: a, given: make(map[string]events.Given), row: row})
	}
	s := c.acts[i]
	definition.Default(&s.reason, r.Reason)
	definition.Default(&s.voided, r.Voided)
	for _, g := range given {
		if _, twice := s.given[g.Experiment]; twice {
			return conflict(g.Experiment, "%s of %s is in two rows", g.Experiment, a.ID)
		}
		s.given[g.Experiment] = g
	}
	return nil
}

// byHand reports whether a person carries an act out, and has not reported it yet.
func (c *settling) byHand(a *campaign.Act) bool {
	return a.Open() && c.Definition.At(a.Resource).ByHand
}

// settled returns the events for an act, with the order to call off a command that may still begin. A
// person who carries acts out has just reported what they did.
func (c *settling) settled(s *settledAct) ([]events.Payload, error) {
	a := s.act
	left := slices.DeleteFunc(slices.Clone(a.Experiments), func(id string) bool { _, said := s.given[id]; return said })
	if len(left) > 0 {
		return nil, notPossible("%s serves %s, too: say in the same request what became of that",
			a.ID, events.ExperimentList(left)).About(a.ID)
	}
	resolved := &events.ActResolved{Act: a.ID, Status: s.given[a.Experiments[0]].Status, Reason: s.reason}
	for _, id := range a.Experiments {
		if s.given[id].Status != resolved.Status {
			resolved.Status = events.ActDone // of some of them: each has its own outcome
		}
	}
	for _, id := range a.Experiments {
		g := s.given[id]
		if resolved.Status != events.ActDone || g.Status == events.ActDone && g.Measurement == nil {
			continue
		}
		if g.Status == events.ActDone {
			g.Status = ""
		}
		resolved.Gave = append(resolved.Gave, g)
	}
	payloads := []events.Payload{resolved}
	if !c.Definition.At(a.Resource).ByHand && !a.Command.AtRest() {
		payloads = append(payloads, (&Cancel{Voided: s.voided, Reason: s.reason}).order(c.Order(a.ID), ""))
	}
	return payloads, nil
}

// statusOf is the outcome of an act by a person's resolution.
var statusOf = map[events.Resolution]events.ActStatus{
	events.ResolvedMeasured:     events.ActDone,
	events.ResolvedDone:         events.ActDone,
	events.ResolvedFailed:       events.ActFailed,
	events.ResolvedInfeasible:   events.ActInfeasible,
	events.ResolvedNotPerformed: events.ActDeferred,
}

// given are the results of an act for some of its experiments, by a person's word. Where its stage gives
// quantities, an experiment for which it is done has values of its own.
func (r *Resolve) given(c Now, a *campaign.Act, experiments []string) (all []events.Given, err error) {
	stage, status := c.Batch(a.Batch).Stage(a.Stage), statusOf[r.Resolution]
	measures := status == events.ActDone && len(stage.Gives) > 0
	switch {
	case status == "":
		return nil, notPossible("%q is not a resolution of an act: it is done, failed, infeasible or not-performed", r.Resolution)
	case r.Repeat:
		return nil, notPossible("%s is tried again as often as its stage says: leave repeat out", a.ID).About(a.ID)
	case r.hasResult() && status == events.ActDone && !measures:
		return nil, notPossible("%s measures nothing: it has no value", stage.Name).About(a.ID)
	case r.hasResult() && !measures:
		return nil, notPossible("%s was %s: it has no value", a.ID, r.Resolution).About(a.ID)
	case measures && len(experiments) > 1:
		return nil, notPossible("%s measured %s, which have values each: give them in a table, "+
			"or say that it failed, or was not performed", a.ID, events.ExperimentList(experiments)).About(a.ID)
	}
	if measures && !r.hasResult() {
		return nil, notPossible("%s measures %s: it is not done without a value", stage.Name, strings.Join(stage.Gives, ", ")).
			About(a.ID).With(problem.Remedy{
			Text: "give its value", Action: problem.Complete, Ways: []string{problem.WayValue},
		})
	}
	if err := named(c.State, r.Quantities, r.Further); err != nil {
		return nil, err
	}
	for _, id := range experiments {
		given := events.Given{Experiment: id, Status: status}
		switch {
		case measures:
			given.Measurement, err = r.measurementBy(c, stage, id)
		case status == events.ActDone && r.Actual != nil && len(experiments) == 1:
			given.Measurement = &events.Measurement{Actual: made(c.State, id, r.Actual)}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, given)
	}
	return all, nil
}

// measurementBy is a person's measurement for an experiment by a stage: of the quantities that it gives.
func (r *Resolve) measurementBy(c Now, stage *definition.Stage, experiment string) (*events.Measurement, error) {
	state := *c.State
	state.Definition = c.Definition.Giving(stage.Gives)
	c.State = &state
	return measurement(c, r.reported(c.Experiment(experiment)))
}

// actsOf are the acts of a procedure whose outcome a person can say for given experiments, with their
// share of them; none where the experiments are in no procedure.
func (c *settling) actsOf(list []*campaign.Experiment) (acts []*campaign.Act, shares map[*campaign.Act][]string, err error) {
	shares = make(map[*campaign.Act][]string)
	for _, x := range list {
		b := c.Batch(x.Batch)
		if b == nil {
			return nil, nil, nil
		}
		var of *campaign.Act
		for a := range c.ActsOf(b) {
			if !a.Serves(x.ID) || a.Command.Fate != campaign.Unknown && !c.byHand(a) {
				continue
			}
			if of != nil {
				return nil, nil, conflict(x.ID, "%s is in %s and %s: resolve these", x.ID, of.ID, a.ID)
			}
			of = a
		}
		if of == nil {
			return nil, nil, conflict(x.ID, "no act for %s has an unknown fate: there is nothing to resolve", x.ID)
		}
		if shares[of] == nil {
			acts = append(acts, of)
		}
		shares[of] = append(shares[of], x.ID)
	}
	return acts, shares, nil
}

// scrap takes a batch out of the procedure: its open experiments have failed, and its places are free.
func (r *Resolve) scrap(c Now, b *campaign.Batch) ([]events.Payload, error) {
	switch {
	case b.Over:
		return nil, conflict(b.ID, "%s has ended", b.ID)
	case r.Resolution != events.ResolvedFailed:
		return nil, notPossible("a batch as a whole can be given up alone: resolve it as failed").About(b.ID)
	case c.UnderWay(b):
		return nil, notNow(b.ID, "an act of %s is open: settle it first, or call it off", b.ID)
	}
	reason := r.Reason
	definition.Default(&reason, "a person took it out")
	var payloads []events.Payload
	for _, id := range b.Experiments {
		if c.Experiment(id).Status.Open() {
			payloads = append(payloads, &events.ExperimentFailed{Experiment: id, Instrument: "person", Cause: reason})
		}
	}
	return append(payloads, &events.BatchEnded{Batch: b.ID, Scrapped: true, Reason: r.Reason}), nil
}

// SimulatedBy reports whether the act of an instrument for an experiment was a simulation's.
func SimulatedBy(s *campaign.State, x *campaign.Experiment, instrument string) bool {
	b := s.Batch(x.Batch)
	if b == nil {
		return false
	}
	for a := range s.ActsOf(b) {
		if a.Serves(x.ID) && a.Command.Instrument == instrument && !a.Command.Real {
			return true
		}
	}
	return false
}

// NotDue says why an act could not begin, by the log alone; "" where it could.
func NotDue(c Now, next Due) string {
	b := c.Batch(next.Batch)
	if unresolved(c.State, b) {
		return fmt.Sprintf("the fate of an act of %s was unknown", b.ID)
	}
	for o := range c.Orders() {
		if o.Resource == next.Resource && holds(o.Command) {
			return fmt.Sprintf("%s holds %s: its fate was unknown", o.Subject, next.Resource)
		}
	}
	may := func(d Due) bool {
		return d.Stage == next.Stage && slices.Equal(d.Experiments, next.Experiments)
	}
	if !slices.ContainsFunc(due(c, b, c.Now), may) {
		return fmt.Sprintf("%s of %s was not due for %s", next.Stage, b.ID, events.ExperimentList(next.Experiments))
	}
	return ""
}
