package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections"
)

// Projection folds a campaign's events into a [State].
type Projection struct {
	state State
}

// New returns the projection of a campaign without events.
func New() *Projection { return new(Projection) }

// State returns the state. It must not be modified, and changes with the next
// Apply.
func (p *Projection) State() *State { return &p.state }

// Name implements projections.Projection.
func (p *Projection) Name() string { return "campaign" }

// Snapshot implements projections.Projection.
func (p *Projection) Snapshot() ([]byte, error) { return json.Marshal(&p.state) }

// Restore implements projections.Projection.
func (p *Projection) Restore(snapshot []byte) error {
	var state State
	decoder := json.NewDecoder(bytes.NewReader(snapshot))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&state); err != nil {
		return fmt.Errorf("restore campaign: %w", err)
	}
	p.state = state
	return nil
}

// Apply implements projections.Projection.
func (p *Projection) Apply(e events.Event, payload events.Payload) error {
	s := &p.state
	if e.Sequence != s.Sequence+1 {
		return &projections.InconsistentError{Kind: e.Kind, Sequence: e.Sequence,
			Problem: fmt.Sprintf("it follows event %d", s.Sequence)}
	}
	if _, first := payload.(*events.CampaignDefined); first != (s.Status == Undefined) {
		problem := "the campaign is not defined yet"
		if first {
			problem = "the campaign is already defined"
		}
		return &projections.InconsistentError{Kind: e.Kind, Sequence: e.Sequence, Problem: problem}
	}
	if problem := s.apply(e, payload); problem != "" {
		return &projections.InconsistentError{Kind: e.Kind, Sequence: e.Sequence, Problem: problem}
	}
	s.Sequence, s.LastEvent = e.Sequence, e.ID
	return nil
}

// apply folds one event and returns what is wrong with it, or "". It checks
// before it changes anything.
func (s *State) apply(e events.Event, payload events.Payload) (problem string) {
	switch p := payload.(type) {
	case *events.CampaignDefined:
		s.Name = e.Campaign
		s.Status = Running
		s.DefinedAt = e.Time
		s.Definition = &p.Definition
		s.Source = p.Source
		s.DefinedBy = e.ID
		s.Instance, s.Trace = p.Instance, e.Trace
	case *events.CampaignAmended:
		s.Definition = &p.Definition
		s.Source = p.Source
		s.DefinedBy = e.ID
		if s.Status == Completed {
			s.Status = Running
			s.Reason = ""
			s.EndedAt = time.Time{}
		}
	case *events.CampaignPaused:
		s.Status, s.Reason = Paused, p.Reason
	case *events.CampaignResumed:
		s.Status = Running
		s.Reason = ""
		s.ResumedAt = len(s.Experiments)
		s.ResumedOn = e.Time
	case *events.CampaignStopped:
		s.Status = Stopped
		s.Reason = p.Reason
		s.EndedAt = e.Time
	case *events.CampaignCompleted:
		s.Status = Completed
		s.Reason = p.Reason
		s.EndedAt = e.Time
	case *events.RecoveryDone:
		s.Recoveries++
		if p.Epoch != "" {
			s.Epoch = p.Epoch
		}
	case *events.NoteAdded:
		s.Notes = append(s.Notes, Note{Text: p.Text, About: p.About, Actor: e.Actor, Time: e.Time})

	case *events.ExperimentRequested, *events.ExperimentDispatched, *events.ExperimentStarted,
		*events.ExperimentMeasured, *events.ExperimentFailed, *events.ExperimentCancelled,
		*events.ExperimentUnresolved, *events.ExperimentResolved, *events.MeasurementCorrected,
		*events.InstrumentStalled, *events.ExperimentInfeasible, *events.ExperimentDeferred,
		*events.MeasurementFlagged,
		*events.ExperimentCorrected:
		return s.applyExperiment(e, payload)

	case *events.QuestionAsked, *events.QuestionAnswered, *events.QuestionSuperseded,
		*events.QuestionContested, *events.QuestionExpired, *events.QuestionWithdrawn:
		return s.applyQuestion(e, payload)

	case *events.RegionExcluded:
		if next := events.ExclusionID(len(s.Exclusions) + 1); p.Exclusion != next {
			return fmt.Sprintf("exclusion %s is out of order, %s was next", p.Exclusion, next)
		}
		s.Exclusions = append(s.Exclusions, Exclusion{
			ID: p.Exclusion, Region: p.Region, About: p.About, Reason: p.Reason, Actor: e.Actor, Time: e.Time,
		})
	case *events.RegionAllowed:
		exclusion := s.exclusion(p.Exclusion)
		switch {
		case exclusion == nil:
			return fmt.Sprintf("there is no exclusion %s", p.Exclusion)
		case exclusion.Lifted:
			return fmt.Sprintf("%s was taken back before", p.Exclusion)
		}
		exclusion.Lifted = true

	case *events.ModelFitted:
		s.Failure = ""
	case *events.ModelFitFailed:
		s.Failure = p.Cause
	case *events.DecisionMade:
		if next := events.DecisionID(s.Decisions + 1); p.Decision != next {
			return fmt.Sprintf("decision %s is out of order, %s was next", p.Decision, next)
		}
		s.Decisions++
	case *events.TrustAdjusted:
		for i := range s.Trust {
			if s.Trust[i].Expert == p.Expert {
				if s.Trust[i].Lambda != p.From {
					return fmt.Sprintf(
						"it moves the trust in %s from %v, which was %v", p.Expert, p.From,
						s.Trust[i].Lambda,
					)
				}
				s.Trust[i].Lambda = p.To
				return ""
			}
		}
		s.Trust = append(s.Trust, Trust{Expert: p.Expert, Lambda: p.To})
	}
	return ""
}

// misdirected says how an event contradicts the experiment it names: by another
// command than the one that was dispatched, or another composition than the one
// that was asked for. Not every event repeats the command.
func (s *State) misdirected(payload events.Payload) (problem string) {
	var id, command string
	switch p := payload.(type) {
	case *events.ExperimentStarted:
		id, command = p.Experiment, p.Command
	case *events.ExperimentMeasured:
		id, command = p.Experiment, p.Command
		if x := s.Experiment(id); x != nil && !maps.Equal(p.Requested, x.Parameters) {
			return fmt.Sprintf("it measures %v, experiment %s asked for %v", p.Requested, id, x.Parameters)
		}
	case *events.ExperimentFailed:
		id, command = p.Experiment, p.Command
	case *events.ExperimentInfeasible:
		id, command = p.Experiment, p.Command
	case *events.ExperimentDeferred:
		id, command = p.Experiment, p.Command
	case *events.ExperimentCancelled:
		id, command = p.Experiment, p.Command
	case *events.ExperimentUnresolved:
		id, command = p.Experiment, p.Command
	case *events.InstrumentStalled:
		id, command = p.Experiment, p.Command
	}
	if x := s.Experiment(id); x != nil && command != "" && command != x.Command {
		return fmt.Sprintf("it is about the command %q, that of experiment %s is %q", command, id, x.Command)
	}
	return ""
}

func (s *State) applyExperiment(e events.Event, payload events.Payload) (problem string) {
	if problem := s.misdirected(payload); problem != "" {
		return problem
	}
	// expect returns the named experiment if its status is one of the given,
	// and notes that the event is about it.
	expect := func(id string, statuses ...ExperimentStatus) *Experiment {
		x := s.Experiment(id)
		if x == nil {
			problem = fmt.Sprintf("there is no experiment %s", id)
			return nil
		}
		for _, status := range statuses {
			if x.Status == status {
				x.LastEvent, x.Trace = e.ID, e.Trace
				return x
			}
		}
		problem = fmt.Sprintf("experiment %s is %s", id, x.Status)
		return nil
	}
	end := func(x *Experiment, status ExperimentStatus, cause string) {
		x.Status = status
		x.Cause = cause
		x.Stalled = false
		x.EndedAt = e.Time
		x.Source = e.ID
	}
	// stands returns the named experiment if its outcome stands in the given event.
	stands := func(id, source string, statuses ...ExperimentStatus) *Experiment {
		if x := s.Experiment(id); x != nil && !x.Status.Open() && x.Source != source {
			problem = fmt.Sprintf(
				"it corrects event %s, but the result of %s stands in event %s", source, x.ID,
				x.Source,
			)
			return nil
		}
		return expect(id, statuses...)
	}

	switch p := payload.(type) {
	case *events.ExperimentRequested:
		if next := events.ExperimentID(len(s.Experiments) + 1); p.Experiment != next {
			return fmt.Sprintf("experiment %s is out of order, %s was next", p.Experiment, next)
		}
		turn := s.turnOf(p)
		s.Turns = max(s.Turns, turn)
		s.Experiments = append(s.Experiments, Experiment{
			ID: p.Experiment, Status: Requested, Parameters: p.Parameters, Origin: p.Origin,
			Decision: p.Decision, Turn: turn, Replicate: p.Replicate,
			RequestedAt: e.Time, LastEvent: e.ID, Trace: e.Trace,
		})
	case *events.ExperimentDispatched:
		if x := expect(p.Experiment, Requested); x != nil {
			x.Status = Dispatched
			x.Command = p.Command
			x.Instrument = p.Instrument
			x.Identity = p.Identity
			x.Real = !e.Simulated
			x.DispatchedAt = e.Time
		}
	case *events.ExperimentStarted:
		if x := expect(p.Experiment, Dispatched); x != nil {
			x.Status = Started
		}
	case *events.ExperimentMeasured:
		// A person may tell the result of an experiment no instrument was given,
		// and an instrument may answer after it was given up.
		if x := expect(p.Experiment, Requested, Dispatched, Started, Unresolved); x != nil {
			end(x, Measured, "")
			m := p.Measurement
			x.Measurement = &m
			x.Instrument = p.Instrument
			x.Simulated = e.Simulated
		}
	case *events.ExperimentFailed:
		if x := expect(p.Experiment, Requested, Dispatched, Started, Unresolved); x != nil {
			end(x, Failed, p.Cause)
		}
	case *events.ExperimentInfeasible:
		if x := expect(p.Experiment, Requested, Dispatched, Started, Unresolved); x != nil {
			end(x, Infeasible, p.Cause)
		}
	case *events.ExperimentDeferred:
		if x := expect(p.Experiment, Requested, Dispatched, Started, Unresolved); x != nil {
			end(x, Deferred, p.Cause)
		}
	case *events.MeasurementFlagged:
		if x := expect(p.Experiment, Measured); x != nil {
			x.Flag = p
			x.Elsewhere = x.Elsewhere || p.Verdict == events.VerdictElsewhere
			x.Excluded = x.Excluded || p.Verdict == events.VerdictOverturned
		}
	case *events.ExperimentCancelled:
		if x := expect(p.Experiment, Requested, Dispatched, Started, Unresolved); x != nil {
			end(x, Cancelled, p.Reason)
			x.Once = p.Once
		}
	case *events.ExperimentUnresolved:
		if x := expect(p.Experiment, Dispatched, Started); x != nil {
			x.Status = Unresolved
			x.Cause = p.Cause
			x.Stalled = false
		}
	case *events.ExperimentResolved:
		status, known := statusOf[p.Resolution]
		if !known {
			return fmt.Sprintf("%q is not a resolution", p.Resolution)
		}
		if (status == Measured) != (p.Measurement != nil) {
			return "its resolution and its measurement do not go together"
		}
		x := expect(p.Experiment, Unresolved)
		if x == nil {
			return problem
		}
		end(x, status, p.Reason)
		if status == Measured {
			x.Measurement, x.Cause = p.Measurement, ""
		}
	case *events.MeasurementCorrected:
		x := stands(p.Experiment, p.Corrects, Measured)
		if x == nil {
			return problem
		}
		corrected := *x.Measurement
		if p.New != nil {
			corrected.Objective = *p.New
		}
		if p.Actual != nil {
			corrected.Actual, x.Elsewhere = p.Actual, false
		}
		corrected.Further = Merge(corrected.Further, p.Further)
		x.Measurement = &corrected
		x.Source = e.ID
		x.Excluded = p.Excluded
		x.Flag = nil // a person's word is the last
	case *events.ExperimentCorrected:
		return s.correctOutcome(e, p)
	case *events.InstrumentStalled:
		if x := expect(p.Experiment, Dispatched, Started); x != nil {
			x.Stalled = true
		}
	}
	return problem
}
