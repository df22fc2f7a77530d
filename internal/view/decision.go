package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Decision is the whole record of a decision: its candidates, its causes and its consequences.
type Decision struct {
	Decision *events.DecisionMade `json:"decision"`
	Position events.Position      `json:"position"`
	Time     time.Time            `json:"time"`
	// BestMeasured is the best measured composition when it was made, with a
	// plane only.
	BestMeasured *engine.Best `json:"best_measured,omitempty"`
	// Trust is how it moved the expert's dual variable, if it did.
	Trust *events.TrustAdjusted `json:"trust,omitempty"`
	// Asked is the question it put, with the answer. Chose is the decision that
	// took up a choice or a composition of the expert's own, Review how that choice looked once it was measured
	// (Adachi et al. 2024, Eq. 101).
	Asked  *campaign.Question   `json:"asked,omitempty"`
	Chose  string               `json:"chose,omitempty"`
	Review *events.ChoiceReview `json:"review,omitempty"`
	// Answered is the question whose answer it took up, itself asked by a
	// decision.
	Answered *campaign.Question `json:"answered,omitempty"`
	// Worth says for which quantity the chosen candidate is worth an experiment,
	// where several are sought.
	Worth *seek.Worth `json:"worth,omitempty"`
	// Quantities are the models of the quantities that it had, where several are
	// declared.
	Quantities []QuantityModel `json:"quantities,omitempty"`
	// Followed are the events about what it asked for, as CloudEvents.
	Followed []json.RawMessage `json:"followed"`
	// Acts are those of the experiments that it asked for, where these go through a procedure.
	Acts []ActRecord `json:"acts,omitempty"`

	// Definition is that of the campaign when it was made.
	Definition *definition.Campaign `json:"-"`
	// Story is Followed in words.
	Story []Line `json:"-"`
}

// DecisionBehind returns the decision that led to an experiment, a question or a decision of the
// campaign. Where no decision did, why is a sentence that says so. An identifier that names neither
// an experiment nor a question is returned as it is: its reader finds out whether such a decision
// exists.
func DecisionBehind(state *campaign.State, id string) (decision, why string) {
	if x := state.Experiment(id); x != nil {
		return x.Decision, map[events.Origin]string{
			events.OriginInitial:   "it belongs to the initial design",
			events.OriginPerson:    "a person chose it",
			events.OriginImport:    "it was measured elsewhere, and brought to the campaign",
			events.OriginReference: "it is a reference experiment",
		}[x.Origin]
	}
	if q := state.Question(id); q != nil {
		return q.Decision, "it is an initial " + wordsOf(q.Form).initial
	}
	return id, ""
}

// findDecision returns the log's content about a decision behind a sequence, and the sequence of
// its event; nil where no decision has that identifier. It reads on from there until it finds it,
// so that a caller that knows the event's place names the one before.
func findDecision(
	ctx context.Context, log events.Log, name, id string, after events.Sequence,
) (*events.DecisionMade, events.Sequence, error) {
	for e, err := range events.ReadCampaign(ctx, log, name, after) {
		if err != nil {
			return nil, 0, err
		}
		if e.Kind != events.KindDecisionMade {
			continue
		}
		payload, err := events.Decode(e)
		if err != nil {
			return nil, 0, err
		}
		if d := payload.(*events.DecisionMade); d.Decision == id {
			return d, e.Sequence, nil
		}
	}
	return nil, 0, nil
}

// Made returns the event of a decision, and its sequence. The record knows the
// places of the decisions, so that one event is read and not the log.
func (r *Record) Made(
	ctx context.Context, log events.Log, id string,
) (*events.DecisionMade, events.Sequence, error) {
	made, at, err := findDecision(ctx, log, r.name, id, max(r.decisionAt(id), 1)-1)
	if err == nil && made == nil {
		err = fmt.Errorf("the log of %s holds no decision %s", r.name, id)
	}
	return made, at, err
}

// Decision returns the log's record of a decision and its consequences: only the events from the
// decision on are read.
//
// Two states are needed: that before the decision, for its basis, and that at the end of the log,
// for the answers that came since.
func (r *Record) Decision(ctx context.Context, log events.Log, id string) (*Decision, error) {
	made, at, err := r.Made(ctx, log, id)
	if err != nil {
		return nil, err
	}
	now, err := r.Now(ctx, log)
	if err != nil {
		return nil, err
	}
	// The state just before the decision is its basis: the best by then, and the answer it took up.
	before, err := r.At(ctx, log, at-1)
	if err != nil {
		return nil, err
	}
	state := now.State()
	reader := decisionReader{
		id: id, state: state,
		story: NewStory(before.State().Definition),
		about: map[string]bool{id: true},
	}
	for e, err := range events.ReadCampaign(ctx, log, r.name, at-1) {
		if err != nil {
			return nil, err
		}
		if err := reader.read(e); err != nil {
			return nil, err
		}
	}
	d := &reader.d
	for i := range state.Questions {
		if q := &state.Questions[i]; q.Decision == id {
			d.Asked = q
		}
	}
	if took := tookUp(before.State(), made); took != nil {
		d.Answered = state.Question(took.ID)
	}
	if plane := made.Attributions; plane != nil && plane.Plane != nil {
		d.BestMeasured = before.Counts().BestMeasured
	}
	if d.Worth, err = worthOf(ctx, before, made); err != nil {
		return nil, err
	}
	if d.Quantities, err = quantityModels(ctx, before, made); err != nil || len(state.Acts) == 0 {
		return d, err
	}
	t, err := r.Timeline(ctx, log)
	if err != nil {
		return nil, err
	}
	d.Acts = t.ActRecords(state, func(yield func(*campaign.Act) bool) {
		for i := range state.Acts {
			a := &state.Acts[i]
			if slices.ContainsFunc(a.Experiments, func(x string) bool { return reader.about[x] }) && !yield(a) {
				return
			}
		}
	})
	return d, nil
}

// worthOf is the worth of a decision's choice, by the models that it was made from; nil where no
// model chose, or where a model cannot be used any more.
func worthOf(ctx context.Context, before *engine.Core, made *events.DecisionMade) (*seek.Worth, error) {
	at := slices.IndexFunc(made.Candidates, func(c events.Candidate) bool { return c.Name == made.Chosen })
	if at < 0 || made.Candidates[at].Acquisition == nil || made.Candidates[at].Outcomes == nil {
		return nil, nil
	}
	x, err := before.Space().Encode(made.Candidates[at].Parameters)
	if err != nil {
		return nil, nil
	}
	models, err := before.Quantities().Models(ctx)
	if err != nil || models.Failure() != nil {
		return nil, err
	}
	worth, err := seek.WorthOf(before.State(), before.Space(), models, x)
	if err != nil {
		return nil, nil
	}
	return worth, nil
}

// decisionReader gathers a decision while the log is read from it on: the event itself, and later
// ones about its experiment or question.
type decisionReader struct {
	id    string
	state *campaign.State // at the end
	story *Story
	// about are the decision, and the experiments and questions that followed
	// from it.
	about    map[string]bool
	d        Decision
	sequence events.Sequence // of the decision
}

// read takes an event. The first event that it gets is the decision itself;
// follows relies on that.
func (r *decisionReader) read(e events.Event) error {
	payload, err := events.Decode(e)
	if err != nil {
		return err
	}
	r.story.Follow(payload)
	if d, ok := payload.(*events.DecisionMade); ok && d.Decision == r.id {
		r.d.Decision = d
		r.d.Position = e.Position
		r.sequence = e.Sequence
		r.d.Time = e.Time
		r.d.Definition = r.story.def
		return nil
	}
	if !r.follows(e, payload) {
		return nil
	}
	text, err := events.MarshalCloudEvent(e)
	if err != nil {
		return err
	}
	r.d.Followed = append(r.d.Followed, text)
	line := Line{e.Sequence, e.Position, e.Time, r.story.Entry(e, payload)}
	r.d.Story = append(r.d.Story, line)
	return nil
}

// follows reports whether a later event is about the decision or about its experiment or question,
// and records its content. about grows as it reads, since these have identifiers of their own,
// under which later events speak of them.
func (r *decisionReader) follows(e events.Event, payload events.Payload) bool {
	switch p := payload.(type) {
	case *events.TrustAdjusted:
		if p.Decision == r.id {
			r.d.Trust = p
		}
		return p.Decision == r.id
	case *events.DecisionMade:
		return r.takesUp(p)
	case *events.ExperimentRequested:
		return r.asks(p.Decision, p.Experiment)
	case *events.QuestionAsked:
		return r.asks(p.Decision, p.Question)
	case *events.RegionExcluded:
		return r.about[p.About]
	case *events.CampaignCompleted:
		// The engine completes a campaign right after the decision to stop,
		// perhaps with one record between.
		return r.d.Decision.Action == events.ActionStop && e.Sequence <= r.sequence+2
	}
	return r.about[payload.Subject()]
}

// asks records an experiment or question that the decision, or the one that
// took up its answer, asked for.
func (r *decisionReader) asks(decision, id string) bool {
	if decision == "" || decision != r.id && decision != r.d.Chose {
		return false
	}
	r.about[id] = true
	return true
}

// takesUp records a later decision that took up the answer, or reviewed it once
// its composition was measured. It follows comparisons and compositions of an
// expert's own, and takes the first run that is decided with later events in
// view for the decision that took up the answer.
func (r *decisionReader) takesUp(later *events.DecisionMade) bool {
	form := r.d.Decision.Form
	if form != events.FormComparison && form != events.FormPinpoint {
		return false
	}
	if review := later.Review; review != nil && r.d.Review == nil {
		if q := r.state.Question(review.Question); q != nil && q.Decision == r.id {
			r.d.Review = review
		}
	}
	if r.d.Chose != "" || later.Action != events.ActionRun || later.At <= r.d.Decision.At {
		return false
	}
	r.d.Chose = later.Decision
	r.about[later.Decision] = true
	return true
}

// tookUp returns the question whose answer a decision took up: the last one
// that a decision asked, where the decision says that it was answered. The rules
// named here are those by which policies act on an answer; initial answers have
// no decision and are passed over.
func tookUp(before *campaign.State, d *events.DecisionMade) *campaign.Question {
	switch d.Rule {
	case policies.RuleChosen, policies.RulePinpointed, policies.RuleAccepted, policies.RuleNoAnswer:
	default:
		return nil
	}
	for i := len(before.Questions) - 1; i >= 0; i-- {
		if q := &before.Questions[i]; q.Decision != "" {
			return q
		}
	}
	return nil
}

// Letters maps candidates to the letters under which an expert saw them: empty
// where none was asked to compare them.
func (d *Decision) Letters() map[string]string {
	if d.Asked == nil {
		return nil
	}
	return Letters(d.Asked)
}

// Letters maps the candidates of a comparison to the letters under which its
// expert saw them.
func Letters(q *campaign.Question) map[string]string {
	letters := make(map[string]string, len(q.Options))
	for i, o := range q.Options {
		letters[o.Candidate] = humans.OptionName(i)
	}
	return letters
}
