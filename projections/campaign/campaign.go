package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/space"
)

// Projection folds a campaign's events into a [State].
type Projection struct {
	state    State
	requests requests
	// bounds are those of the present space; nil where they must be made.
	bounds *space.Bounds
}

// snapshot is the content of a snapshot. The requests are not in State, since no reader asks for
// them.
type snapshot struct {
	*State
	Requests []keptRequest `json:"requests,omitempty"`
}

// New returns the projection of a campaign without events.
func New() *Projection { return new(Projection) }

// State returns the state. It must not be modified, and changes with the next
// Apply.
func (p *Projection) State() *State { return &p.state }

// Name implements projections.Projection.
func (p *Projection) Name() string { return "campaign" }

// Snapshot implements projections.Projection.
func (p *Projection) Snapshot() ([]byte, error) {
	return json.Marshal(snapshot{&p.state, p.requests.kept()})
}

// Restore implements projections.Projection. An unknown field is an error: the
// snapshot is of another build of the program.
func (p *Projection) Restore(text []byte) error {
	kept := snapshot{State: new(State)}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&kept)
	var requests requests
	if err == nil {
		requests, err = requestsOf(kept.Requests)
	}
	if err != nil {
		return fmt.Errorf("restore campaign: %w", err)
	}
	p.state, p.requests = *kept.State, requests
	p.state.bar()
	p.bounds = nil
	return nil
}

// Clone returns a projection with the same state, which each of the two changes
// from then on without the other. What the state points to belongs to events,
// and no event changes.
func (p *Projection) Clone() *Projection {
	own := &Projection{state: p.state, requests: maps.Clone(p.requests), bounds: p.bounds}
	s := &own.state
	s.Experiments = slices.Clone(s.Experiments)
	s.Batches, s.Acts = slices.Clone(s.Batches), slices.Clone(s.Acts)
	s.Questions = slices.Clone(s.Questions)
	for i := range s.Questions {
		s.Questions[i].Aside = slices.Clip(s.Questions[i].Aside) // so that appending copies
	}
	s.Exclusions = slices.Clone(s.Exclusions)
	s.Trust = slices.Clone(s.Trust)
	s.Proposals = slices.Clone(s.Proposals)
	s.Notes = slices.Clone(s.Notes)
	s.Files = slices.Clone(s.Files)
	s.Stocks = slices.Clone(s.Stocks)
	return own
}

// Apply implements projections.Projection. The request is checked before and
// noted after, so that an event that contradicts the state leaves both as they
// were.
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
	problem := p.requests.repeats(e)
	if problem == "" {
		problem = s.apply(e, payload)
	}
	if problem != "" {
		return &projections.InconsistentError{Kind: e.Kind, Sequence: e.Sequence, Problem: problem}
	}
	p.bound(payload)
	p.requests = p.requests.with(e)
	s.Sequence, s.LastEvent = e.Sequence, e.ID
	return nil
}

// apply folds one event and returns its fault, or "". It checks before it changes anything. A kind
// without a case and without a row is an error, and never passed over: the state would then no
// longer be that of the log.
func (s *State) apply(e events.Event, payload events.Payload) (problem string) {
	switch p := payload.(type) {
	case *events.CampaignDefined, *events.CampaignAmended, *events.CampaignPaused,
		*events.CampaignResumed, *events.CampaignStopped, *events.CampaignCompleted:
		s.applyCampaign(e, payload)
	case *events.RecoveryDone:
		s.Recoveries++
		for _, c := range p.Commands {
			if a := s.Act(c.Act); a != nil && a.Command.ID == c.Command {
				a.Command.RecalledAt = e.Time
			}
			if x := s.Experiment(c.Experiment); x != nil && x.Command.ID == c.Command {
				x.Command.RecalledAt = e.Time
			}
		}
		if p.Epoch != "" {
			s.Epoch = p.Epoch
		}
	case *events.NoteAdded:
		s.Notes = append(s.Notes, Note{Text: p.Text, About: p.About, Actor: e.Actor, Time: e.Time})
	case *events.FileAttached:
		return attach(s, e, p)
	case *events.FileWithdrawn:
		return withdrawFile(s, p)
	case *events.StockCounted:
		return counted(s, e, p)
	case *events.SafetyOrdered:
		return secure(s, e, p)
	case *events.SafetyAnswered:
		return secured(s, e, p)

	case *events.ExperimentRequested:
		return s.request(e, p)

	case *events.BatchPlanned:
		return s.plan(e, p)
	case *events.BatchEnded:
		return s.endBatch(e, p)
	case *events.ActDispatched:
		return s.dispatchAct(e, p)

	case *events.QuestionAsked, *events.QuestionAnswered, *events.QuestionSuperseded,
		*events.QuestionContested, *events.QuestionExpired, *events.QuestionWithdrawn:
		return s.applyQuestion(e, payload)

	case *events.RegionExcluded:
		return exclude(s, e, p)
	case *events.RegionAllowed:
		return allow(s, p)

	case *events.ModelFitted:
		s.Failure = ""
	case *events.ModelFitFailed:
		s.Failure = p.Cause
	case *events.DecisionMade:
		if next := events.DecisionID(s.Decisions + 1); p.Decision != next {
			return fmt.Sprintf("decision %s is out of order, %s was next", p.Decision, next)
		}
		s.Decisions++
		s.Proposals = nil
		gain(s, p)
	case *events.MethodAnswered:
		return propose(s, p)
	case *events.TrustAdjusted:
		return adjustTrust(s, p)

	case *events.AnchorsDeclared, *events.MeasurementsJudged:
		// They change models alone, which are other projections.

	default:
		return aboutExperiment(s, e, payload)
	}
	return ""
}

// propose folds the answer of a program that is the campaign's method. It counts for the next
// decision, until that is made or the definition is amended.
func propose(s *State, p *events.MethodAnswered) (problem string) {
	switch {
	case p.Decision != events.DecisionID(s.Decisions+1):
		return fmt.Sprintf("it is about decision %s, %s was next",
			p.Decision, events.DecisionID(s.Decisions+1))
	case p.Attempt != len(s.Proposals)+1:
		return fmt.Sprintf("it is answer %d for %s, %d was next",
			p.Attempt, p.Decision, len(s.Proposals)+1)
	}
	s.Proposals = append(s.Proposals[:len(s.Proposals):len(s.Proposals)], *p)
	return ""
}

// gain notes the expected gain of a decision's experiment.
func gain(s *State, d *events.DecisionMade) {
	switch {
	case d.Action != events.ActionRun:
	case d.Tradeoff == nil || d.Tradeoff.Gain == nil:
		s.Gains = nil
	default:
		latest := s.Gains[max(0, len(s.Gains)+1-definition.GainTurns):]
		s.Gains = append(slices.Clone(latest), *d.Tradeoff.Gain)
	}
}

// applyCampaign folds an event about the campaign as a whole. Their order is checked where requests
// are taken, not here. An amendment lets a completed campaign go on, since it may have given it
// more to spend.
func (s *State) applyCampaign(e events.Event, payload events.Payload) {
	switch p := payload.(type) {
	case *events.CampaignDefined:
		s.Name = e.Campaign
		s.Status = Running
		s.DefinedAt = e.Time
		s.stockUp(nil, &p.Definition)
		s.Definition = &p.Definition
		s.Source = p.Source
		s.DefinedBy = e.ID
		s.Instance, s.Trace = p.Instance, e.Trace
	case *events.CampaignAmended:
		s.stockUp(s.Definition, &p.Definition)
		s.Definition = &p.Definition
		s.Source = p.Source
		s.DefinedBy = e.ID
		s.Gains, s.Proposals = nil, nil
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
		s.Contradicted = ""
		s.Safety = nil // whoever resumes it has looked
	case *events.CampaignStopped:
		s.Status = Stopped
		s.Reason = p.Reason
		s.EndedAt = e.Time
	case *events.CampaignCompleted:
		s.Status = Completed
		s.Reason = p.Reason
		s.EndedAt = e.Time
	}
}

// exclude folds a part of the space that is not to be tried.
func exclude(s *State, e events.Event, p *events.RegionExcluded) (problem string) {
	if next := events.ExclusionID(len(s.Exclusions) + 1); p.Exclusion != next {
		return fmt.Sprintf("exclusion %s is out of order, %s was next", p.Exclusion, next)
	}
	s.Exclusions = append(s.Exclusions, Exclusion{
		ID: p.Exclusion, Region: p.Region, About: p.About, Reason: p.Reason, Actor: e.Actor, Time: e.Time,
	})
	return ""
}

// allow folds the withdrawal of an exclusion. Its row stays: exclusions are
// numbered by their place in the list.
func allow(s *State, p *events.RegionAllowed) (problem string) {
	exclusion := s.exclusion(p.Exclusion)
	switch {
	case exclusion == nil:
		return fmt.Sprintf("there is no exclusion %s", p.Exclusion)
	case exclusion.Lifted:
		return fmt.Sprintf("%s was taken back before", p.Exclusion)
	}
	exclusion.Lifted = true
	return ""
}

// adjustTrust folds a change of the weight that an expert's belief has. The
// weight before is in the event, so that a log with one missing is found.
func adjustTrust(s *State, p *events.TrustAdjusted) (problem string) {
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
	return ""
}
