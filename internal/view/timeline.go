package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Timeline is a campaign event by event, as its readers see it: the words for each event, and the
// data that belong to one event, so that the state after the last one does not hold them. It must
// be given all events in order.
type Timeline struct {
	// Lines are the events, by their sequence: that of event 1 first.
	Lines []Line
	// Before is, for each experiment as they were requested, the last event
	// before its request.
	Before []events.Sequence
	// Signs are the last signs of each device.
	Signs map[Device]Signs

	// SentTo are the devices that experiments were sent to last.
	SentTo map[string]Device

	methods   policies.Registry
	story     *Story
	decisions []Decided // d1 first
}

// Line is an event in words. It is the event's place and time with its words,
// since an entry alone has neither.
type Line struct {
	Sequence events.Sequence
	Position events.Position
	Time     time.Time
	Entry
}

// Words describe the event in a line, without the commands of a terminal.
func (l Line) Words() string {
	l.Remedy = nil
	return l.Line(nil)
}

// Decided is the part of the decision behind an experiment that a list of experiments shows.
type Decided struct {
	Reason string
	// Gist is the reason in a few words, its difference from others first; it may be empty.
	Gist string
	// Prediction is that of the chosen candidate, nil without a model.
	Prediction *events.Prediction
	// Noise is the standard deviation of one measurement of the objective, as the fit inferred it; 0
	// without a fit.
	Noise float64
	// Outcomes and Feasible are the predictions of several quantities there, and how probably the
	// constraints would be kept.
	Outcomes []events.QuantityPrediction
	Feasible *events.Feasible
	// Review is its look back at an earlier choice, nil for none.
	Review *events.ChoiceReview
}

// Device is an instrument: its name, and which one it is. A device that was
// exchanged under the same name is another one, where the driver gives an
// identity.
type Device struct{ Name, Identity string }

// Sign is an entry of the log about a device: a sign of life, or an error.
type Sign struct {
	At         time.Time
	Experiment string
	Text       string
}

// Signs are the last ones of a device.
type Signs struct {
	Heard Sign // from the device itself
	Error Sign
}

// NewTimeline returns the timeline of a campaign before its first event.
func NewTimeline(methods policies.Registry) *Timeline {
	return &Timeline{
		methods: methods, story: NewStory(nil), Signs: make(map[Device]Signs), SentTo: make(map[string]Device),
	}
}

// Take takes the next event and returns its line.
//
// Only the part of a decision that lists show is kept: the decision itself is long, and is read
// from the log when it is looked at.
func (t *Timeline) Take(e events.Event, payload events.Payload) Line {
	line := Line{e.Sequence, e.Position, e.Time, t.story.Entry(e, payload)}
	t.Lines = append(t.Lines, line)
	switch p := payload.(type) {
	case *events.DecisionMade:
		d := Decided{Reason: Compared(p.Reason), Gist: gistOf(t.methods, p), Review: p.Review}
		if chosen := p.Candidate(p.Chosen); chosen != nil {
			d.Prediction = chosen.Prediction
			d.Outcomes = chosen.Outcomes
			d.Feasible = chosen.Feasible
		}
		if p.Objective != nil {
			d.Noise = p.Objective.Scale * math.Sqrt(p.Objective.Noise)
		}
		t.decisions = append(t.decisions, d)
	case *events.ExperimentRequested:
		t.Before = append(t.Before, e.Sequence-1)
	}
	t.sign(e, payload)
	return line
}

// sign notes an event's news of a device. Only the device itself gives a sign of life: a person may
// report a result for it.
//
// A failure is both: the device has answered, and something went wrong. Silence and an unknown fate
// are errors alone. The device is that to which the experiment was sent, since later events name
// the experiment.
func (t *Timeline) sign(e events.Event, payload events.Payload) {
	var heard, wrong string
	switch p := payload.(type) {
	case *events.ExperimentDispatched:
		t.SentTo[p.Experiment] = Device{p.Instrument, p.Identity}
		return
	case *events.ActDispatched:
		t.SentTo[p.Act] = Device{p.Instrument, p.Identity}
		return
	case *events.ExperimentStarted, *events.ActAccepted:
		heard = "has begun"
	case *events.InstrumentSignalled:
		heard = "is at work"
	case *events.ExperimentMeasured:
		heard = "measured"
	case *events.ExperimentFailed:
		heard, wrong = "failed", p.Cause
	case *events.ExperimentInfeasible:
		heard, wrong = "cannot be made or measured", p.Cause
	case *events.ExperimentDeferred:
		heard, wrong = "did not take place", p.Cause
	case *events.ExperimentUnresolved:
		wrong = p.Cause
	case *events.ActEnded:
		heard = actOutcome(p.Status)
		if p.Status != events.ActDone {
			wrong = p.Cause
		}
	case *events.ActUnresolved:
		wrong = p.Cause
	case *events.InstrumentStalled:
		waited := time.Duration(p.Waited * float64(time.Second))
		wrong = fmt.Sprintf("silent for %s", format.Duration(waited))
	default:
		return
	}
	about := payload.Subject()
	device := t.SentTo[about]
	s := t.Signs[device]
	if heard != "" && strings.HasPrefix(e.Actor, "instrument:") {
		s.Heard = Sign{e.Time, about, about + " " + heard}
	}
	if wrong != "" {
		s.Error = Sign{e.Time, about, wrong}
	}
	t.Signs[device] = s
}

// Decision returns the known data of a decision by its identifier; false for an unknown one.
func (t *Timeline) Decision(id string) (Decided, bool) {
	n := events.DecisionNumber(id)
	if n < 1 || n > len(t.decisions) {
		return Decided{}, false
	}
	return t.decisions[n-1], true
}

// Predicted returns the model's prediction of an experiment before it was measured; nil without a
// model. noise is the standard deviation of one measurement: as the measurement states it, else as
// the definition does, else as the fit inferred it.
func (t *Timeline) Predicted(s *campaign.State, x *campaign.Experiment) (p *events.Prediction, noise float64) {
	made, _ := t.Decision(x.Decision)
	if made.Prediction == nil {
		return nil, 0
	}
	measured, _ := s.Value(x)
	if given := cmp.Or(measured.SD, s.Definition.Sought().SD(measured.Value)); given != nil {
		return made.Prediction, *given
	}
	return made.Prediction, made.Noise
}

// Why says why an experiment was chosen, in a sentence: by its decision, or else where it comes from.
// The decision recorded it at the time: it is not an explanation found afterwards.
func (t *Timeline) Why(s *campaign.State, x *campaign.Experiment) string {
	if made, ok := t.Decision(x.Decision); ok {
		return made.Reason
	}
	_, why := DecisionBehind(s, x.ID)
	return Sentence(why)
}

// Review returns the last look back at the choice in a question, nil for none.
func (t *Timeline) Review(question string) *events.ChoiceReview {
	for _, d := range slices.Backward(t.decisions) {
		if d.Review != nil && d.Review.Question == question {
			return d.Review
		}
	}
	return nil
}

// Last returns the last events that are more than routine, the newest first. It
// goes backwards, so that a long campaign costs no more than a short one.
func (t *Timeline) Last(n int) (lines []Line) {
	for _, l := range slices.Backward(t.Lines) {
		if len(lines) == n {
			break
		}
		if !l.Routine {
			lines = append(lines, l)
		}
	}
	return lines
}

// Timeline returns the campaign event by event, up to the last event that was
// taken or further. It is the caller's. Only the events since the last call are
// read, until the record is put to rest: a snapshot holds no timeline, since few
// campaigns are looked at so closely.
//
// The record's lock is given up before the log is read, so that events are
// taken meanwhile; the other lock keeps two readers from bringing the timeline
// forward at once. What is returned shares the lines, which are only ever
// appended to, and has maps of its own.
func (r *Record) Timeline(ctx context.Context, log events.Log) (*Timeline, error) {
	r.mu.Lock()
	r.read = true
	last := r.sequence()
	r.mu.Unlock()
	r.reading.Lock()
	defer r.reading.Unlock()
	if r.timeline == nil {
		r.timeline = NewTimeline(r.registry.Methods)
	}
	t := r.timeline
	if known := events.Sequence(len(t.Lines)); last > known {
		for e, err := range events.ReadCampaign(ctx, log, r.name, known) {
			if err != nil {
				return nil, err
			}
			payload, err := events.Decode(e)
			if err != nil {
				return nil, err
			}
			t.Take(e, payload)
		}
	}
	own := *t
	own.Lines = slices.Clip(own.Lines)
	own.Before = slices.Clip(own.Before)
	own.decisions = slices.Clip(own.decisions)
	own.Signs = maps.Clone(own.Signs)
	own.SentTo = maps.Clone(own.SentTo)
	own.story = nil // it goes on with the record's
	return &own, nil
}
