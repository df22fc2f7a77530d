package campaign

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Act is a command to an instrument of a procedure, for one experiment of a batch or several.
type Act struct {
	ID    string `json:"id"`
	Batch string `json:"batch"`
	Stage string `json:"stage"`
	// Resource is the campaign's name of the instrument.
	Resource    string   `json:"resource"`
	Experiments []string `json:"experiments"`
	Command     Command  `json:"command"`
	// Status is the outcome; empty before it.
	Status events.ActStatus `json:"status,omitempty"`
	// Cause is the reason for a missing result, or for an unknown fate.
	Cause string         `json:"cause,omitempty"`
	Gave  []events.Given `json:"gave,omitempty"`
	// EndedAt is when it ended.
	EndedAt time.Time `json:"ended_at,omitzero"`
	// LastEvent is the ID of the latest event about it, Trace that event's trace.
	LastEvent string `json:"last_event"`
	Trace     string `json:"trace,omitempty"`
}

// Open reports whether the outcome of the act is still to come.
func (a *Act) Open() bool { return a.Status == "" }

// Serves reports whether the act is for an experiment.
func (a *Act) Serves(experiment string) bool { return slices.Contains(a.Experiments, experiment) }

// Batch are experiments that go through the procedure together: matter that is one thing.
type Batch struct {
	ID string `json:"id"`
	// Experiments are in the order of their positions.
	Experiments []string `json:"experiments"`
	// Procedure is that of the definition when it was planned: what stands in the oven goes on by it.
	Procedure []definition.Stage `json:"procedure"`
	// Acts are the batch's, in order.
	Acts []string `json:"acts,omitempty"`
	// Places are those that the batch occupies.
	Places []string `json:"places,omitempty"`
	// Over is set where nothing more is done with it, Scrapped where a person has taken it out.
	Over      bool      `json:"over,omitempty"`
	Scrapped  bool      `json:"scrapped,omitempty"`
	PlannedAt time.Time `json:"planned_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	LastEvent string    `json:"last_event"`
	Trace     string    `json:"trace,omitempty"`
}

// Act returns the act with the given identifier, or nil.
func (s *State) Act(id string) *Act {
	if n := events.ActNumber(id); 1 <= n && n <= len(s.Acts) {
		return &s.Acts[n-1]
	}
	return nil
}

// Batch returns the batch with the given identifier, or nil.
func (s *State) Batch(id string) *Batch {
	if n := events.BatchNumber(id); 1 <= n && n <= len(s.Batches) {
		return &s.Batches[n-1]
	}
	return nil
}

// ActsOf yields the acts of a batch, in order.
func (s *State) ActsOf(b *Batch) iter.Seq[*Act] {
	return func(yield func(*Act) bool) {
		for _, id := range b.Acts {
			if !yield(s.Act(id)) {
				return
			}
		}
	}
}

// ActsFor yields the acts that serve an experiment, in order.
func (s *State) ActsFor(x *Experiment) iter.Seq[*Act] {
	return func(yield func(*Act) bool) {
		b := s.Batch(x.Batch)
		if b == nil {
			return
		}
		for a := range s.ActsOf(b) {
			if a.Serves(x.ID) && !yield(a) {
				return
			}
		}
	}
}

// Progress says how far an experiment has come with a stage.
type Progress string

const (
	StageAhead   Progress = ""          // it is to be done
	StageUnder   Progress = "under way" // an act of it is open
	StageDone    Progress = "done"
	StageFailed  Progress = "failed"  // and is not tried again
	StageDropped Progress = "dropped" // the experiment has ended, and does not need it
)

// Progress returns how far an experiment of the batch has come with a stage, and the act that this is
// known from; nil where none is.
//
// An act that was put off or called off is as if it had never been: the next one counts. A stage fails
// an experiment once it has failed as often as it may be tried, or once it has shown that the
// composition cannot be made.
func (s *State) Progress(b *Batch, stage *definition.Stage, experiment string) (Progress, *Act) {
	if stage == nil {
		return StageAhead, nil // of a damaged log, whose procedure does not have it
	}
	failed := 0
	var last *Act
	for a := range s.ActsOf(b) {
		if a.Stage != stage.Name || !a.Serves(experiment) {
			continue
		}
		if last = a; a.Open() {
			return StageUnder, a
		}
		switch a.For(experiment).Status {
		case events.ActDone:
			return StageDone, a
		case events.ActInfeasible:
			return StageFailed, a
		case events.ActFailed:
			if failed++; failed >= stage.Tried() {
				return StageFailed, a
			}
		}
	}
	if x := s.Experiment(experiment); !stage.Always && (x == nil || !x.Status.Open()) {
		return StageDropped, last
	}
	return StageAhead, last
}

// For is the outcome of an act that has ended for one of its experiments.
func (a *Act) For(experiment string) events.Given {
	if a.Status != events.ActDone {
		return events.Given{Experiment: experiment, Status: a.Status, Cause: a.Cause}
	}
	return events.Of(a.Gave, experiment)
}

// UnderWay reports whether an act of the batch is open.
func (s *State) UnderWay(b *Batch) bool {
	for a := range s.ActsOf(b) {
		if a.Open() {
			return true
		}
	}
	return false
}

// Occupants counts the batches that occupy a place, or are about to.
func (s *State) Occupants(place string) (n int) {
	for i := range s.Batches {
		if s.Occupies(&s.Batches[i], place) {
			n++
		}
	}
	return n
}

// Occupies reports whether a batch occupies a place, or is about to: an act that brings it there is open.
func (s *State) Occupies(b *Batch, place string) bool {
	return !b.Over && (slices.Contains(b.Places, place) || s.taking(b, place))
}

// taking reports whether an open act of the batch takes a place.
func (s *State) taking(b *Batch, place string) bool {
	for a := range s.ActsOf(b) {
		if a.Open() && b.Stage(a.Stage).Holds == place {
			return true
		}
	}
	return false
}

// Stage returns the stage of a name in the batch's procedure.
func (b *Batch) Stage(name string) *definition.Stage {
	i := slices.IndexFunc(b.Procedure, func(s definition.Stage) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Procedure[i]
}

// procedural reports whether experiments go through a procedure.
func (s *State) procedural() bool { return s.Definition != nil && len(s.Definition.Procedure) > 0 }

// plan folds the intent to take experiments through the procedure together.
func (s *State) plan(e events.Event, p *events.BatchPlanned) (problem string) {
	if next := events.BatchID(len(s.Batches) + 1); p.Batch != next {
		return fmt.Sprintf("batch %s is out of order, %s was next", p.Batch, next)
	}
	if !s.procedural() || len(p.Experiments) == 0 {
		return "the campaign has no procedure, or the batch no experiments"
	}
	for i, id := range p.Experiments {
		if x := s.Experiment(id); x == nil || x.Status != Requested || slices.Contains(p.Experiments[:i], id) {
			return fmt.Sprintf("%s is not an experiment that waits for a batch", id)
		}
	}
	for _, id := range p.Experiments {
		x := s.Experiment(id)
		x.Batch = p.Batch
		x.Status, x.Command.Fate = Started, Begun
		x.Command.DispatchedAt = e.Time
		x.LastEvent, x.Trace = e.ID, e.Trace
	}
	s.Batches = append(s.Batches, Batch{
		ID: p.Batch, Experiments: p.Experiments, Procedure: s.Definition.Procedure,
		PlannedAt: e.Time, LastEvent: e.ID, Trace: e.Trace,
	})
	return ""
}

// endBatch folds that nothing more is done with a batch.
func (s *State) endBatch(e events.Event, p *events.BatchEnded) (problem string) {
	b := s.Batch(p.Batch)
	switch {
	case b == nil:
		return fmt.Sprintf("batch %s does not exist", p.Batch)
	case b.Over:
		return fmt.Sprintf("batch %s has ended before", b.ID)
	case s.UnderWay(b):
		return fmt.Sprintf("an act of batch %s is open", b.ID)
	}
	b.Over, b.Scrapped = true, p.Scrapped
	b.Places = nil
	b.EndedAt = e.Time
	b.LastEvent, b.Trace = e.ID, e.Trace
	return ""
}

// dispatchAct folds that an act was handed to an instrument.
func (s *State) dispatchAct(e events.Event, p *events.ActDispatched) (problem string) {
	if next := events.ActID(len(s.Acts) + 1); p.Act != next {
		return fmt.Sprintf("act %s is out of order, %s was next", p.Act, next)
	}
	b := s.Batch(p.Batch)
	if b == nil || b.Over {
		return fmt.Sprintf("batch %s is not under way", p.Batch)
	}
	stage := b.Stage(p.Stage)
	if stage == nil || len(p.Experiments) == 0 {
		return fmt.Sprintf("the procedure of batch %s has no stage %q, or it is for no experiment", b.ID, p.Stage)
	}
	for _, id := range p.Experiments {
		if !slices.Contains(b.Experiments, id) {
			return fmt.Sprintf("%s is not of batch %s", id, b.ID)
		}
	}
	if problem := s.Early(b, stage, p.Experiments, e.Time); problem != "" {
		return problem
	}
	if problem := drawable(s, p.Drawn); problem != "" {
		return problem
	}
	use(s, p.Drawn)
	s.Acts = append(s.Acts, Act{
		ID: p.Act, Batch: p.Batch, Stage: p.Stage, Resource: stage.On, Experiments: p.Experiments,
		Command: Command{
			ID: p.Command, Fate: Sent, Instrument: p.Instrument, Identity: p.Identity,
			Real: !e.Simulated, DispatchedAt: e.Time, Drawn: p.Drawn,
		},
		LastEvent: e.ID, Trace: e.Trace,
	})
	b.Acts = append(slices.Clip(b.Acts), p.Act)
	return ""
}

// Early reports why an act of a stage could not begin for experiments, or "": each stage before it has
// to be done, and its time to have come, and nothing else may be under way for them there.
func (s *State) Early(
	b *Batch, stage *definition.Stage, experiments []string, now time.Time,
) (problem string) {
	for _, x := range experiments {
		if how, _ := s.Progress(b, stage, x); how != StageAhead {
			return fmt.Sprintf("stage %s of %s is %s", stage.Name, x, how)
		}
		for _, edge := range stage.After {
			before := b.Stage(edge.Stage)
			how, last := s.Progress(b, before, x)
			switch {
			case stage.Always:
				if how == StageAhead || how == StageUnder {
					return fmt.Sprintf("stage %s of %s is not over", before.Name, x)
				}
			case how != StageDone:
				return fmt.Sprintf("stage %s of %s is not done", before.Name, x)
			case now.Before(last.EndedAt.Add(time.Duration(edge.From))):
				return fmt.Sprintf("stage %s of %s has ended too short a time ago", before.Name, x)
			case edge.Until > 0 && now.After(last.EndedAt.Add(time.Duration(edge.Until))):
				return fmt.Sprintf("stage %s of %s has ended too long ago", before.Name, x)
			}
		}
	}
	switch {
	case stage.Always && s.UnderWay(b):
		return fmt.Sprintf("an act of batch %s is open", b.ID)
	case stage.Holds != "" && !slices.Contains(b.Places, stage.Holds) &&
		s.Occupants(stage.Holds) >= s.Definition.Room(stage.Holds):
		return fmt.Sprintf("the place %s is full", stage.Holds)
	}
	return ""
}

// acts is the state machine of acts: the fates of a command in which a kind of event may come, and
// what it changes.
var acts = map[events.Kind]struct {
	from []Fate
	then func(*State, *Act, events.Event, events.Payload) (problem string)
}{
	events.KindActAccepted: {[]Fate{Sent},
		of(func(_ *State, a *Act, _ events.Event, _ *events.ActAccepted) string {
			a.Command.Fate = Begun
			return ""
		})},
	events.KindActEnded: {[]Fate{Sent, Begun, Unknown},
		of(func(s *State, a *Act, e events.Event, p *events.ActEnded) string {
			return s.endAct(a, e, p.Status, p.Gave, p.Cause)
		})},
	events.KindActUnresolved: {[]Fate{Sent, Begun},
		of(func(_ *State, a *Act, _ events.Event, p *events.ActUnresolved) string {
			a.Command.Fate = Unknown
			a.Command.Stalled = false
			a.Cause = p.Cause
			return ""
		})},
	events.KindActResolved: {[]Fate{Sent, Begun, Unknown},
		of(func(s *State, a *Act, e events.Event, p *events.ActResolved) string {
			return s.endAct(a, e, p.Status, p.Gave, p.Reason)
		})},
	events.KindInstrumentStalled: {[]Fate{Sent, Begun},
		of(func(_ *State, a *Act, _ events.Event, _ *events.InstrumentStalled) string {
			a.Command.Stalled = true
			return ""
		})},
	events.KindInstrumentSignalled: {[]Fate{Sent, Begun, Unknown},
		of(func(_ *State, a *Act, e events.Event, p *events.InstrumentSignalled) string {
			a.Command.signalled(e, p)
			return ""
		})},
	events.KindCancellationOrdered: {given,
		of(func(_ *State, a *Act, e events.Event, p *events.CancellationOrdered) string {
			a.Command.CallOff = ordered(a.Command.CallOff, e, p, !a.Open())
			return ""
		})},
	events.KindCancellationAnswered: {given,
		of(func(_ *State, a *Act, e events.Event, p *events.CancellationAnswered) string {
			if p.By != events.VoidedByPower && !a.Command.BeingCalledOff() {
				return fmt.Sprintf("act %s is not being called off", a.ID)
			}
			a.Command.CallOff = answered(a.Command.CallOff, e, p, !a.Open())
			if a.Command.CallOff.acted(p) && (a.Command.Fate == Unknown || a.Status == events.ActDeferred) {
				a.Command.CallOff.Overtaken = a.Status == events.ActDeferred
				a.Command.Fate = Begun
				a.Command.RecalledAt = e.Time
				a.Status, a.Cause = "", ""
				a.EndedAt = time.Time{}
			} else if p.Again && a.Status == events.ActDeferred {
				a.Command.CallOff.Overtaken = true
				a.Command.Fate = Unknown
				a.Status, a.Cause = "", LookAgain
				a.EndedAt = time.Time{}
			}
			return ""
		})},
	events.KindInstrumentAnswered: {given,
		of(func(s *State, a *Act, _ events.Event, p *events.InstrumentAnswered) string {
			said := events.ActStatus(p.Answer)
			calledOff := said == events.ActDeferred || said == events.ActCancelled
			switch {
			case a.Command.BeingCalledOff():
				a.Command.CallOff = performed(a.Command.CallOff, !calledOff)
			case a.Open() || said == a.Status || calledOff:
			default:
				s.Contradicted = a.ID
			}
			return ""
		})},
}

// of types a row of the table of acts.
func of[P events.Payload](
	f func(*State, *Act, events.Event, P) string,
) func(*State, *Act, events.Event, events.Payload) string {
	return func(s *State, a *Act, e events.Event, p events.Payload) string { return f(s, a, e, p.(P)) }
}

// aboutAct folds an event about an act.
func aboutAct(s *State, e events.Event, payload events.Payload) (problem string) {
	a := s.Act(payload.Subject())
	row, ok := acts[events.KindOf(payload)]
	switch {
	case !ok:
		return "what it changes is not known"
	case a == nil:
		return fmt.Sprintf("act %s does not exist", payload.Subject())
	case !slices.Contains(row.from, a.Command.Fate):
		return fmt.Sprintf("the command of act %s is %s", a.ID, a.Command.Fate)
	}
	if p, commanded := payload.(events.Commanded); commanded && p.CommandID() != a.Command.ID {
		return fmt.Sprintf("it is about the command %q, that of act %s is %q", p.CommandID(), a.ID, a.Command.ID)
	}
	if problem := row.then(s, a, e, payload); problem != "" {
		return problem
	}
	a.LastEvent, a.Trace = e.ID, e.Trace
	return ""
}

// endAct folds the outcome of an act. A place is taken, and left, by an act that is done.
func (s *State) endAct(
	a *Act, e events.Event, status events.ActStatus, gave []events.Given, cause string,
) (problem string) {
	for i, g := range gave {
		twice := slices.ContainsFunc(gave[:i], func(o events.Given) bool { return o.Experiment == g.Experiment })
		if !a.Serves(g.Experiment) || twice {
			return fmt.Sprintf("it gives something for %s, which act %s does not serve, or twice", g.Experiment, a.ID)
		}
	}
	a.Status, a.Gave, a.Cause = status, gave, cause
	a.Command.Fate = Over
	a.Command.Stalled = false
	a.EndedAt = e.Time
	a.Command.overByOutcome(e)
	b := s.Batch(a.Batch)
	stage := b.Stage(a.Stage)
	if status != events.ActDone {
		return ""
	}
	places := slices.DeleteFunc(slices.Clone(b.Places), func(p string) bool { return p == stage.Frees })
	if stage.Holds != "" && !slices.Contains(places, stage.Holds) {
		places = append(places, stage.Holds)
	}
	b.Places = places
	return ""
}
