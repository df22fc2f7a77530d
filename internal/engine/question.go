package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/preference"
)

// expired is the event of a question that nobody answered in time.
func expired(q *campaign.Question) events.Payload {
	if q.Form == campaign.Label {
		return &events.LabelExpired{Question: q.ID}
	}
	return &events.QuestionExpired{Question: q.ID}
}

// withdrawn is the event of a question that could not be put.
func withdrawn(q *campaign.Question, reason string) events.Payload {
	if q.Form == campaign.Label {
		return &events.LabelWithdrawn{Question: q.ID, Reason: reason}
	}
	return &events.QuestionWithdrawn{Question: q.ID, Reason: reason}
}

// moot is the event of a question that is no longer needed.
func moot(q *campaign.Question, reason string) events.Payload {
	if q.Form == campaign.Label {
		return &events.LabelWithdrawn{Question: q.ID, Reason: reason, Moot: true}
	}
	return &events.QuestionWithdrawn{Question: q.ID, Reason: reason, Moot: true}
}

// outside says why a question can no longer be asked: a composition that it is
// about lies outside the space. A pinpoint is about none.
func (c *Core) outside(q *campaign.Question) error {
	switch q.Form {
	case campaign.Label:
		return c.space.Contains(q.Parameters)
	case campaign.Comparison:
		for i := range q.Options {
			if err := c.space.Contains(q.Options[i].Parameters); err != nil {
				return err
			}
		}
	}
	return nil
}

// asked is what a reviewer sees of a question.
func (c *Core) asked(q *campaign.Question) humans.Question {
	s := c.State()
	question := humans.Question{
		ID: s.Name + "/" + q.ID, Campaign: s.Name, Expert: q.Expert,
		Parameters: s.Definition.Parameters, Steps: s.Definition.Instrument.Steps, Point: q.Parameters,
		Options: q.Options, Objective: s.Definition.Objective, Prediction: q.Prediction, Belief: q.Belief,
		Explanation: q.Explanation, Attributions: q.Attributions, Asked: q.AskedAt, Expires: q.Expires,
	}
	switch q.Form {
	case campaign.Comparison:
		question.Form = humans.Comparison
	case campaign.Pinpoint:
		question.Form = humans.Pinpoint
		question.Allowed = c.space.Contains
		if q.Suggestion != nil {
			question.Point, question.Prediction = q.Suggestion.Parameters, q.Suggestion.Prediction
		}
	}
	return question
}

// formOf is a question's form in the words of package humans.
func formOf(q *campaign.Question) humans.Form {
	switch q.Form {
	case campaign.Comparison:
		return humans.Comparison
	case campaign.Pinpoint:
		return humans.Pinpoint
	}
	return humans.Label
}

// answered turns an answer to an open question into events. The error says what
// is wrong with the answer, to the person who gave it.
func (c *Core) answered(q *campaign.Question, a humans.Answer) ([]events.Payload, error) {
	if err := a.Check(formOf(q), len(q.Options)); err != nil {
		return nil, err
	}
	switch q.Form {
	case campaign.Comparison:
		return []events.Payload{&events.ComparisonGiven{Question: q.ID, Expert: q.Expert, Options: q.Points(), Order: a.Order, Comment: a.Comment}}, nil
	case campaign.Pinpoint:
		if a.Point != nil {
			if err := c.space.Contains(a.Point); err != nil {
				return nil, err
			}
		}
		return []events.Payload{&events.PinpointGiven{Question: q.ID, Expert: q.Expert, Parameters: a.Point, Comment: a.Comment}}, nil
	}
	given := &events.LabelGiven{Question: q.ID, Expert: q.Expert, Parameters: q.Parameters, Answer: a.Answer, Comment: a.Comment}
	if a.Answer != events.AnswerRefuse {
		return []events.Payload{given}, nil
	}
	given.Answer = events.AnswerReject
	refused, err := c.refusal(q.Parameters, nil, q.ID, refusalReason(q, a.Comment))
	if err != nil {
		return nil, err
	}
	return []events.Payload{given, refused}, nil
}

// refusalReason is the reason for a refusal that came as an answer.
func refusalReason(q *campaign.Question, comment string) string {
	if comment != "" {
		return comment
	}
	return fmt.Sprintf("%s refused it when asked (%s)", q.Expert, q.ID)
}

// superseded turns a changed answer to an answered question into events.
func (c *Core) superseded(q *campaign.Question, a *Answer) ([]events.Payload, error) {
	if err := a.given().Check(formOf(q), len(q.Options)); err != nil {
		return nil, refuse("%w", err)
	}
	switch q.Form {
	case campaign.Pinpoint:
		return c.supersededPinpoint(q, a)
	case campaign.Comparison:
		if fmt.Sprint(a.Order) == fmt.Sprint(q.Order) {
			return nil, refuse("%s says that already", q.ID)
		}
		return []events.Payload{&events.ComparisonSuperseded{
			Question: q.ID, Expert: q.Expert, Supersedes: q.Source, Options: q.Points(), Order: a.Order, Reason: a.Comment,
		}}, nil
	}
	var further []events.Payload
	answer := a.Answer
	if answer == events.AnswerRefuse {
		refused, err := c.refusal(q.Parameters, nil, q.ID, refusalReason(q, a.Comment))
		if err != nil {
			return nil, err
		}
		answer, further = events.AnswerReject, append(further, refused)
	}
	if q.Answer == answer {
		if further != nil {
			return further, nil
		}
		return nil, refuse("%s says %s already", q.ID, answer)
	}
	return append([]events.Payload{&events.LabelSuperseded{
		Question: q.ID, Expert: q.Expert, Supersedes: q.Source, Parameters: q.Parameters, Answer: answer, Reason: a.Comment,
	}}, further...), nil
}

// supersededPinpoint changes a composition of an expert's own, as long as no
// decision has taken it up.
func (c *Core) supersededPinpoint(q *campaign.Question, a *Answer) ([]events.Payload, error) {
	s := c.State()
	if projections.Number(q.Decision) < s.Decisions {
		for i := range s.Experiments {
			if x := &s.Experiments[i]; projections.Number(x.Decision) > projections.Number(q.Decision) {
				return nil, refuse("the answer to %s has been taken up in %s: call that off, or correct it, with `campaignd correct %s --not-performed`, --exclude or --actual", q.ID, x.ID, x.ID)
			}
		}
		return nil, refuse("the answer to %s has been taken up: later decisions rest on it", q.ID)
	}
	if a.Parameters != nil {
		if err := c.space.Contains(a.Parameters); err != nil {
			return nil, refuse("%w", err)
		}
	}
	if maps.Equal(a.Parameters, q.Parameters) {
		return nil, refuse("%s says that already", q.ID)
	}
	return []events.Payload{&events.PinpointSuperseded{
		Question: q.ID, Expert: q.Expert, Supersedes: q.Source, Parameters: a.Parameters, Reason: a.Comment,
	}}, nil
}

// given is the answer as a reviewer would give it.
func (a *Answer) given() humans.Answer {
	return humans.Answer{Answer: a.Answer, Order: a.Order, Point: a.Parameters, Comment: a.Comment}
}

func (c *Core) answer(a *Answer) ([]events.Payload, error) {
	q := c.State().Question(a.Question)
	if q == nil {
		return nil, refuse("there is no question %s", a.Question)
	}
	if q.Status == campaign.Answered {
		return c.superseded(q, a)
	}
	err := c.Answerable(q)
	if err != nil && (a.Parameters != nil || q.Status == campaign.Withdrawn) {
		return nil, refuse("%w", err)
	}
	payloads, err := c.answered(q, a.given())
	if err != nil {
		return nil, refuse("%w", err)
	}
	return payloads, nil
}

// Answerable says why an answer to a question without one would be of no use; nil
// where it would be. A judgement that comes after the question has expired is: the models learn
// from it. A composition is what is to be measured next, and next is over once the
// campaign has decided without it. What was withdrawn nobody needs.
func (c *Core) Answerable(q *campaign.Question) error {
	switch {
	case q.Status == campaign.Withdrawn:
		return fmt.Errorf("%s was withdrawn, and takes no answer any more", q.ID)
	case q.Status == campaign.Expired && q.Form == campaign.Pinpoint && projections.Number(q.Decision) < c.State().Decisions:
		return fmt.Errorf("%s expired, and the campaign has gone on without: name the composition when you are asked next, "+
			"or measure it on your own and tell its result (campaignd tell --parameters … VALUE)", q.ID)
	}
	return nil
}

// ask is the event by which a decision's question is put. now dates its expiry.
func (c *Core) ask(d *events.DecisionMade, explanation string, now time.Time) events.Payload {
	s := c.State()
	id := campaign.QuestionID(len(s.Questions))
	expires := c.expiry(now, d.Expert)
	switch d.Action {
	case events.ActionCompare:
		return &events.ComparisonRequested{Question: id, Expert: d.Expert, Options: options(d.Candidates), Explanation: explanation,
			Attributions: d.Attributions, Decision: d.Decision, Expires: expires}
	case events.ActionPinpoint:
		pinpoint := &events.PinpointRequested{Question: id, Expert: d.Expert, Explanation: explanation, Decision: d.Decision, Expires: expires}
		if len(d.Candidates) > 0 {
			pinpoint.Suggestion = &options(d.Candidates[:1])[0]
		}
		return pinpoint
	}
	for i := range d.Candidates {
		if x := &d.Candidates[i]; x.Name == d.Chosen {
			return &events.LabelRequested{Question: id, Expert: d.Expert, Parameters: x.Parameters, Prediction: x.Prediction,
				Belief: x.Belief, Explanation: explanation, Decision: d.Decision, Expires: expires}
		}
	}
	panic("engine: the decision asks about a candidate that it does not name")
}

// options are the candidates of a decision as an expert sees them.
func options(candidates []events.Candidate) []events.Option {
	list := make([]events.Option, len(candidates))
	for i := range candidates {
		list[i] = events.Option{Candidate: candidates[i].Name, Parameters: candidates[i].Parameters, Prediction: candidates[i].Prediction}
	}
	return list
}

// expiry returns when a question to an expert asked now expires, or zero. Where
// people run the experiments there is no instrument that must not stand still,
// and they come back when they come back: nobody is hurried who is not to be.
func (c *Core) expiry(now time.Time, expert string) time.Time {
	return c.expiryIn(now, expert, c.byHand)
}

// expiryIn is expiry where people run the experiments, or where they do not.
func (c *Core) expiryIn(now time.Time, expert string, byHand bool) time.Time {
	for _, e := range c.State().Definition.Experts {
		if byHand && e.AnswerWithin == events.DefaultAnswerWithin {
			continue
		}
		if e.Name == expert && e.AnswerWithin > 0 {
			return now.Add(time.Duration(e.AnswerWithin)).UTC().Truncate(time.Microsecond)
		}
	}
	return time.Time{}
}

// anchor checks the compositions at which an expert says they trust their own
// judgement.
func (c *Core) anchor(a *events.AnchorsDeclared) ([]events.Payload, error) {
	def := c.State().Definition
	if preference.Form(def) != events.PreferenceUtility {
		return nil, refuse("no rule of this campaign's policy reads anchors")
	}
	if !slices.ContainsFunc(def.Experts, func(e events.Expert) bool { return e.Name == a.Expert }) {
		return nil, refuse("there is no expert %q", a.Expert)
	}
	if len(a.Points) == 0 && !a.Instead {
		return nil, refuse("name at least one composition")
	}
	for i, point := range a.Points {
		if _, err := c.space.Encode(point); err != nil {
			return nil, refuse("anchor %d: %w", i+1, err)
		}
	}
	return []events.Payload{a}, nil
}
