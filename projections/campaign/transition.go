package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
)

// The state machine of an experiment that was requested is two tables: [commands] has a row for
// each kind of event about its command, [transitions] for those about its outcome.
// Example_transitions draws them.

// Statuses that an event may find an experiment in.
var (
	// open: a person may tell the result of an experiment that no instrument
	// was given, and an instrument may answer after it was given up.
	open = []ExperimentStatus{Requested, Dispatched, Started, Unresolved}
	// ended: a correction replaces an outcome, so there has to be one.
	ended = []ExperimentStatus{Measured, Failed, Infeasible, Deferred, Cancelled}
	// settled are those that a person's word can lead to.
	settled = []ExperimentStatus{Measured, Failed, Infeasible, Cancelled}
)

// transition is the effect of one kind of event on the experiment it names: on its status, or on
// the fate of its command.
type transition[S ~string] struct {
	// from are the statuses in which it may come.
	from []S
	// to are the statuses that it leads to. Where there is one, that is it;
	// with none the status stays; of several, then chooses.
	to []S
	// check returns a further fault of the event, or "". The experiment is nil where its name is
	// unknown. A nil check finds none.
	check func(*State, *Experiment, events.Payload) (problem string)
	// then changes what else changes. Nil: nothing.
	then func(*State, *Experiment, events.Event, events.Payload)
}

// transitions is the state machine of outcomes, by the kind of event.
var transitions = map[events.Kind]transition[ExperimentStatus]{
	events.KindExperimentMeasured: {
		from: open, to: []ExperimentStatus{Measured},
		check: check(func(_ *State, x *Experiment, p *events.ExperimentMeasured) string {
			if x != nil && !maps.Equal(p.Requested, x.Parameters) {
				return fmt.Sprintf(
					"it measures %v, experiment %s asked for %v", p.Requested, x.ID, x.Parameters,
				)
			}
			return ""
		}),
		then: then(func(s *State, x *Experiment, e events.Event, p *events.ExperimentMeasured) {
			m := p.Measurement
			x.Measurement = &m
			x.Command.Instrument = p.Instrument
			x.Simulated = e.Simulated
			s.await(x)
		}),
	},
	events.KindQuantityArrived: {
		from:  []ExperimentStatus{Measured},
		check: check(arrivable), then: then(arrive),
	},
	events.KindExperimentFailed: {
		from: open, to: []ExperimentStatus{Failed},
		check: check(func(s *State, _ *Experiment, p *events.ExperimentFailed) string {
			if !s.GoesWith(events.ResolvedFailed, p.Measurement) {
				return "it has a measurement, and the campaign declares no quantities"
			}
			return ""
		}),
		then: then(func(_ *State, x *Experiment, e events.Event, p *events.ExperimentFailed) {
			x.Cause = Said(p.Cause)
			if p.Measurement != nil {
				x.Measurement = p.Measurement
				x.Command.Instrument = p.Instrument
				x.Simulated = e.Simulated
			}
		}),
	},
	events.KindExperimentInfeasible: {
		from: open, to: []ExperimentStatus{Infeasible},
		then: then(func(_ *State, x *Experiment, _ events.Event, p *events.ExperimentInfeasible) {
			x.Cause = Said(p.Cause)
		}),
	},
	events.KindExperimentDeferred: {
		from: open, to: []ExperimentStatus{Deferred},
		then: then(func(_ *State, x *Experiment, _ events.Event, p *events.ExperimentDeferred) {
			x.Cause = p.Cause
		}),
	},
	events.KindExperimentCancelled: {
		from: open, to: []ExperimentStatus{Cancelled},
		then: then(func(_ *State, x *Experiment, _ events.Event, p *events.ExperimentCancelled) {
			x.Cause = p.Reason
			x.Once = p.Once
		}),
	},
	events.KindExperimentResolved: {
		from: []ExperimentStatus{Unresolved}, to: settled,
		check: check(resolvable), then: then(resolve),
	},
	events.KindExperimentCorrected: {
		from: ended, to: settled,
		check: check(correctable), then: then(correct),
	},
	events.KindMeasurementFlagged: {
		from: []ExperimentStatus{Measured},
		then: then(func(_ *State, x *Experiment, _ events.Event, p *events.MeasurementFlagged) {
			x.Flag = p
			x.Elsewhere = x.Elsewhere || p.Verdict == events.VerdictElsewhere
			switch overturned := p.Verdict == events.VerdictOverturned; {
			case overturned && p.Quantity != "":
				x.Without = append(slices.Clone(x.Without), p.Quantity)
			case overturned:
				x.Excluded = true
			}
		}),
	},
	events.KindMeasurementCorrected: {
		from:  []ExperimentStatus{Measured},
		check: check(remeasurable), then: then(remeasure),
	},
}

// check and then give a row's functions the type of its payload.
func check[P events.Payload](
	f func(*State, *Experiment, P) string,
) func(*State, *Experiment, events.Payload) string {
	return func(s *State, x *Experiment, p events.Payload) string { return f(s, x, p.(P)) }
}

// The table is by kind and each kind has one type of payload, so that the
// assertion cannot fail.
func then[P events.Payload](
	f func(*State, *Experiment, events.Event, P),
) func(*State, *Experiment, events.Event, events.Payload) {
	return func(s *State, x *Experiment, e events.Event, p events.Payload) { f(s, x, e, p.(P)) }
}

// aboutExperiment folds an event about an experiment that was requested before, by the table that
// has its kind.
func aboutExperiment(s *State, e events.Event, payload events.Payload) (problem string) {
	kind := events.KindOf(payload)
	row, commanded := commands[kind]
	if _, ok := acts[kind]; ok && (!commanded || events.ActNumber(payload.Subject()) > 0) {
		return aboutAct(s, e, payload)
	}
	if commanded {
		return move(s, row, func(x *Experiment) *Fate { return &x.Command.Fate }, e, payload)
	}
	if row, ok := transitions[kind]; ok {
		return move(s, row, func(x *Experiment) *ExperimentStatus { return &x.Status }, e, payload)
	}
	return "what it changes is not known" // a kind that was added to the table of kinds, and not here
}

// move folds an event by its row of a table, about the part of an experiment that of returns. It
// checks everything before it changes anything. The row's own check comes before the status,
// because its message is more specific; it is given nil for an unknown experiment.
func move[S ~string](
	s *State, t transition[S], of func(*Experiment) *S, e events.Event, payload events.Payload,
) (problem string) {
	x := s.Experiment(payload.Subject())
	if problem := misdirected(x, payload); problem != "" {
		return problem
	}
	if t.check != nil {
		if problem := t.check(s, x, payload); problem != "" {
			return problem
		}
	}
	switch {
	case x == nil:
		return fmt.Sprintf("there is no experiment %s", payload.Subject())
	case !slices.Contains(t.from, *of(x)):
		return fmt.Sprintf("experiment %s is %s", x.ID, x.Status)
	}
	x.LastEvent, x.Trace = e.ID, e.Trace
	if len(t.to) == 1 {
		*of(x) = t.to[0]
	}
	if !x.Status.Open() && x.Command.Fate != Over {
		x.end(e)
	}
	if t.then != nil {
		t.then(s, x, e, payload)
	}
	if status, open := made[x.Command.Fate]; open {
		x.Status = status
	}
	return ""
}

// end notes in which event an experiment's outcome stands.
func (x *Experiment) end(e events.Event) {
	x.Cause = ""
	x.Command.Fate = Over
	x.Command.Stalled = false
	x.EndedAt = e.Time
	x.Source = e.ID
	x.Command.overByOutcome(e)
}

// misdirected says that an event is about another command than the one that was
// dispatched. Not every event names its command. A late answer to an earlier
// command of the same experiment must not settle it.
func misdirected(x *Experiment, payload events.Payload) (problem string) {
	p, ok := payload.(events.Commanded)
	if !ok || x == nil || p.CommandID() == "" || p.CommandID() == x.Command.ID {
		return ""
	}
	return fmt.Sprintf(
		"it is about the command %q, that of experiment %s is %q", p.CommandID(), x.ID, x.Command.ID,
	)
}

// request folds the intent to run an experiment.
func (s *State) request(e events.Event, p *events.ExperimentRequested) (problem string) {
	if next := events.ExperimentID(len(s.Experiments) + 1); p.Experiment != next {
		return fmt.Sprintf("experiment %s is out of order, %s was next", p.Experiment, next)
	}
	turn := s.turnOf(p)
	s.Turns = max(s.Turns, turn)
	s.Experiments = append(s.Experiments, Experiment{
		ID: p.Experiment, Status: Requested, Parameters: p.Parameters, Origin: p.Origin,
		Decision: p.Decision, Turn: turn, Replicate: p.Replicate,
		Excluded:    p.Origin == events.OriginReference,
		RequestedAt: e.Time, LastEvent: e.ID, Trace: e.Trace,
	})
	return ""
}

// Said is a cause as it is shown: an act without a reason leaves a colon at its end, as in "read (a7): ".
func Said(cause string) string { return strings.TrimSuffix(cause, ": ") }
