package engine

import (
	"fmt"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// forms describe the engine's treatment of each form of question. put returns what a decision
// shows with such a question: its compositions, and those the campaign would take instead. next
// is set if the answer is the next composition to measure: once the campaign has decided
// without it, it is useless. scaled is set if the answer consists of numbers, which need a
// scale, and of one for each composition, which takes time.
var forms = map[events.Form]struct {
	put          func(d *events.DecisionMade) (about []events.Option, suggestion *events.Option)
	next, scaled bool
}{
	events.FormLabel:      {put: putChosen},
	events.FormComparison: {put: putAll},
	events.FormPinpoint:   {put: putSuggestion, next: true},
	events.FormEstimate:   {put: putAll, scaled: true},
	events.FormOutcomes:   {put: putAll},
}

// putChosen puts a question about the one candidate that the decision chose, with the belief
// about it.
func putChosen(d *events.DecisionMade) (about []events.Option, suggestion *events.Option) {
	x := d.Candidate(d.Chosen)
	if x == nil {
		panic("engine: the decision asks about a candidate that it does not name")
	}
	about = append(about, option(*x))
	about[0].Belief = x.Belief
	return about, nil
}

// putAll is about all candidates in the order of the decision; a reviewer may
// show them in another one.
func putAll(d *events.DecisionMade) (about []events.Option, suggestion *events.Option) {
	for _, x := range d.Candidates {
		about = append(about, option(x))
	}
	return about, nil
}

// putSuggestion is about no composition: the expert is to name one, and sees the
// campaign's own.
func putSuggestion(d *events.DecisionMade) (about []events.Option, suggestion *events.Option) {
	if len(d.Candidates) == 0 {
		return nil, nil
	}
	first := option(d.Candidates[0])
	return nil, &first
}

// option is a candidate of a decision as an expert sees it.
func option(x events.Candidate) events.Option {
	return events.Option{
		Candidate: x.Name, Parameters: x.Parameters, Prediction: x.Prediction, Outcome: x.Outcome,
	}
}

// Withdrawn is the event of a question that could not be put. It reveals nothing of the
// expert's opinion.
func Withdrawn(q *campaign.Question, reason string) events.Payload {
	return &events.QuestionWithdrawn{Question: q.ID, Reason: reason}
}

// noLongerNeeded withdraws a question that the campaign itself has no more use
// for: it counts against no budget.
func noLongerNeeded(q *campaign.Question, reason string) events.Payload {
	return &events.QuestionWithdrawn{Question: q.ID, Reason: reason, Moot: true}
}

// outside returns an error for a question that can no longer be asked, since one of its
// compositions lies outside the space.
func outside(c Now, q *campaign.Question) error {
	if q.Form == events.FormOutcomes {
		return nil // what an experiment gives can be judged, wherever it was made
	}
	for i := range q.Options {
		if err := c.space.Contains(q.Options[i].Parameters); err != nil {
			return err
		}
	}
	return nil
}

// Posed returns a question as its reviewer sees it.
//
// It holds all that an answer needs, since a channel sees neither log nor state: units, steps,
// the scale and the allowed compositions, which are those of the space at this moment.
func Posed(c Now, q *campaign.Question) humans.Question {
	question := humans.Question{
		ID: c.Name + "/" + q.ID, Campaign: c.Name, Expert: q.Expert, Form: q.Form,
		Parameters: c.Definition.Parameters, Steps: c.Definition.Steps(), Excluded: c.Bounded().Excluded,
		Options: q.Options, Scale: q.Scale, Suggestion: q.Suggestion, Objective: c.Definition.Objective,
		Explanation: q.Explanation, Attributions: q.Attributions, Asked: q.AskedAt, Expires: q.Expires,
	}
	if q.Form == events.FormPinpoint {
		question.Allowed = c.space.Contains
	}
	if e := c.Definition.Expert(q.Expert); e != nil && e.Program {
		question.View, question.Shown = Shown(c.State)
	}
	return question
}

// answered turns a reply to an open question into events. The error tells the person who gave
// the reply what to correct.
func answered(c Now, q *campaign.Question, r humans.Reply) ([]events.Payload, error) {
	if err := admit(c, q, r); err != nil {
		return nil, err
	}
	payloads := []events.Payload{&events.QuestionAnswered{
		Question: q.ID, Form: q.Form, Expert: q.Expert, Options: q.Points(), Scale: q.Scale,
		Outcomes: q.Outcomes(), Answer: r.Answer, Comment: r.Comment, Took: r.Took, Shown: r.Shown, Program: r.Program,
	}}
	return withExclusion(c, payloads, q, r)
}

// admit validates a reply to a question. It stands between every channel and the log, for
// channels can be written elsewhere.
func admit(c Now, q *campaign.Question, r humans.Reply) error {
	if err := r.Check(q.Form, len(q.Options), q.Scale); err != nil {
		return err
	}
	if err := wasThere(c.State, r.Shown); err != nil {
		return err
	}
	if r.Answer.Point == nil {
		return nil
	}
	return c.space.Contains(r.Answer.Point)
}

// wasThere refuses a record of what was shown with a question if it names an event or an
// experiment that the campaign does not have.
func wasThere(s *campaign.State, shown *events.Shown) error {
	if shown == nil {
		return nil
	}
	if shown.At > s.Sequence {
		return notPossible("event %d cannot have been shown: the last one is %d", shown.At, s.Sequence)
	}
	if len(shown.Nearest) > events.MostEstimates {
		return notPossible("shown.nearest has %d entries; the limit is %d", len(shown.Nearest), events.MostEstimates)
	}
	for _, id := range append([]string{shown.Best}, shown.Nearest...) {
		if id != "" && s.Experiment(id) == nil {
			return notPossible("%q cannot have been shown: there is no such experiment", id)
		}
	}
	return nil
}

// withExclusion adds the exclusion that a reply asks for. An exclusion is a fact
// of its own in the same batch, so that it can be lifted without touching the
// answer.
func withExclusion(
	c Now, payloads []events.Payload, q *campaign.Question, r humans.Reply,
) ([]events.Payload, error) {
	if !r.Exclude {
		return payloads, nil
	}
	reason := r.Comment
	if reason == "" {
		reason = fmt.Sprintf("%s refused it when asked (%s)", q.Expert, q.ID)
	}
	excluded, err := exclusion(c, q.Composition(), nil, q.ID, reason)
	if err != nil {
		return nil, err
	}
	return append(payloads, excluded), nil
}

// superseded turns a changed reply to an answered question into events.
//
// Only the differences are recorded; a reply that repeats the answer and asks for an exclusion
// records the exclusion alone.
func superseded(c Now, q *campaign.Question, r humans.Reply) ([]events.Payload, error) {
	if err := r.Check(q.Form, len(q.Options), q.Scale); err != nil {
		return nil, asProblem(q, err)
	}
	if forms[q.Form].next {
		if err := takenUp(c.State, q); err != nil {
			return nil, err
		}
	}
	if err := admit(c, q, r); err != nil {
		return nil, asProblem(q, err)
	}
	var payloads []events.Payload
	switch changed := !r.Answer.Equal(q.Answer); {
	case changed:
		payloads = append(payloads, &events.QuestionSuperseded{
			Question: q.ID, Form: q.Form, Expert: q.Expert, Supersedes: q.Source,
			Options: q.Points(), Scale: q.Scale, Outcomes: q.Outcomes(), Answer: r.Answer, Reason: r.Comment,
			Took: r.Took, Shown: r.Shown,
		})
	case q.Form == events.FormLabel && !r.Exclude:
		return nil, conflict(q.ID, "%s says %s already", q.ID, q.Answer)
	case !r.Exclude:
		return nil, conflict(q.ID, "%s says that already", q.ID)
	}
	return withExclusion(c, payloads, q, r)
}

// contested turns a reply by a person who did not know the answer that counts
// into the event that keeps it as well.
//
// It counts for nothing until a person who sees both answers changes the one
// that counts. The same answer of one actor is kept once.
func contested(c Now, q *campaign.Question, r humans.Reply, actor string) ([]events.Payload, error) {
	if err := admit(c, q, r); err != nil {
		return nil, asProblem(q, err)
	}
	for _, aside := range q.Aside {
		if !aside.Replaced && aside.Actor == actor && aside.Answer.Equal(r.Answer) {
			return nil, conflict(q.ID, "the log holds that answer to %s already, as contested", q.ID)
		}
	}
	return []events.Payload{&events.QuestionContested{
		Question: q.ID, Form: q.Form, Expert: q.Expert, Counts: q.Source, Options: q.Points(), Scale: q.Scale,
		Outcomes: q.Outcomes(), Answer: r.Answer, Exclude: r.Exclude, Comment: r.Comment, Took: r.Took, Shown: r.Shown,
	}}, nil
}

// takenUp refuses to change an answer that a decision has already taken up as the next
// composition.
func takenUp(s *campaign.State, q *campaign.Question) error {
	if !s.DecidedSince(q) {
		return nil
	}
	if x := s.RanIn(q.Turn); x != nil {
		return conflict(q.ID, "the answer to %s has been taken up in %s", q.ID, x.ID).With(problem.Remedy{
			Text: "call that off, or correct it", Action: problem.Correct, Subject: x.ID,
			Ways: []string{string(events.ResolvedNotPerformed), problem.WayExclude, problem.WayActual},
		})
	}
	return conflict(q.ID, "the answer to %s has been taken up: later decisions rest on it", q.ID)
}

// Answer is an expert's answer to a question, first or changed.
type Answer struct {
	Question string `json:"question"`
	// Saw is the ID of the event in which the answer stood that the person saw
	// when they gave theirs, empty where they saw none. If another person has
	// answered since, this answer is recorded as contested. Nil: it counts,
	// whatever was recorded since.
	Saw *string `json:"saw,omitempty"`
	humans.Reply
}

// record records an answer of an actor. If another one was recorded that they
// did not know, theirs is recorded as contested; their own earlier answer they
// know.
//
// "Can't tell" is taken also where another answer would come too late: it names
// no composition that could be measured. Only a withdrawn question takes
// nothing.
func (a *Answer) record(c Now, by *Request) ([]events.Payload, error) {
	q := c.Question(a.Question)
	if q == nil {
		return nil, notFound(a.Question, "there is no question %s", a.Question)
	}
	if q.Status == campaign.Answered {
		if a.Saw != nil && *a.Saw != q.Source && events.ActorName(q.AnsweredBy) != events.ActorName(by.Actor) {
			return contested(c, q, a.Reply, by.Actor)
		}
		return superseded(c, q, a.Reply)
	}
	err := Answerable(c.State, q)
	if err != nil && (!a.Reply.Answer.Unsure() || q.Status == campaign.Withdrawn) {
		return nil, err
	}
	payloads, err := answered(c, q, a.Reply)
	if err != nil {
		return nil, asProblem(q, err)
	}
	return payloads, nil
}

// Answerable says why an answer to an unanswered question would be useless; nil if it would be
// of use. A judgment that comes after the question has expired is accepted: the models learn
// from it. A composition is for the next measurement, and too late once the campaign has
// decided without it. A withdrawn question needs no answer any more.
func Answerable(s *campaign.State, q *campaign.Question) error {
	switch {
	case q.Status == campaign.Withdrawn:
		return conflict(q.ID, "%s was withdrawn, and takes no answer any more", q.ID)
	case q.Status == campaign.Expired && forms[q.Form].next && s.DecidedSince(q):
		late := conflict(q.ID, "%s expired, and the campaign has gone on without:"+
			" a composition can be named when you are asked next", q.ID)
		return late.With(TellOf(s.Definition, "to have it now, measure it on your own and tell its result", ""))
	}
	return nil
}

// ask is the event by which a decision's question is put in a world.
func ask(c Now, d *events.DecisionMade, explanation string) events.Payload {
	about, suggestion := forms[d.Form].put(d)
	return put(c, events.QuestionAsked{
		Form: d.Form, Expert: d.Expert, Options: about, Scale: scale(c.State, d.Form), Suggestion: suggestion,
		Explanation: explanation, Attributions: d.Attributions, Decision: d.Decision, Standard: asked(d),
	})
}

// put completes a question that is put in a world. Its number is the next one, as
// a batch asks no other.
func put(c Now, q events.QuestionAsked) *events.QuestionAsked {
	q.Question, q.ByHand = events.QuestionID(len(c.Questions)+1), &c.ByHand
	q.Expires = Expiry(c, &q)
	return &q
}

// optionsAt are compositions as an expert sees them of whom nothing else is asked.
func optionsAt(points []definition.Point) []events.Option {
	options := make([]events.Option, len(points))
	for i, p := range points {
		options[i].Parameters = p
	}
	return options
}

// asked returns the standardization of the outcomes that a decision asks about; nil for other
// questions.
func asked(d *events.DecisionMade) []events.OutcomeScale {
	if d.Form != events.FormOutcomes {
		return nil
	}
	return d.Standard
}

// scale is that of the numbers that answer a form; nil for forms that have
// none.
func scale(s *campaign.State, form events.Form) *events.Scale {
	if !forms[form].scaled {
		return nil
	}
	def := s.Definition
	return events.ScaleOf(def.Objective, def.Initial.Marks)
}

// Expiry returns the time at which a question to an expert, asked in this world, expires, or
// zero. Where people run the experiments no instrument stands idle: questions have no deadline
// there unless the definition gives one. An expert who gives a number for each composition has
// the usual time for each, and half of it for each number of a table with several columns.
// Initial questions that are open together are answered one after the other, each in the usual
// time, and the campaign waits for them no longer than its definition says.
//
// An audit asks it again with the world of the event (internal/attest/decisions,
// checkExpiry), so it may read nothing but the state and w.
func Expiry(c Now, q *events.QuestionAsked) time.Time {
	def := c.Definition
	e := def.Expert(q.Expert)
	if e == nil {
		return time.Time{}
	}
	within := time.Duration(e.AnswerWithin)
	if e.AnswerWithin == definition.DefaultAnswerWithin {
		switch {
		case c.ByHand:
			return time.Time{}
		case forms[q.Form].scaled:
			within = q.Scale.Time(len(q.Options), within)
		}
	}
	var wait time.Duration
	initial := q.Decision == "" && together(def, *e)
	if initial && def.Measures() {
		wait = time.Duration(*def.Initial.Wait)
	}
	var expires time.Time
	switch {
	case within > 0 && initial:
		expires = lastInitial(c.State, q.Expert, c.Now).Add(within)
		if latest := c.Now.Add(max(wait, within)); wait > 0 && expires.After(latest) {
			expires = latest
		}
	case within > 0:
		expires = c.Now.Add(within)
	case wait > 0:
		expires = c.Now.Add(wait)
	default:
		return time.Time{}
	}
	return expires.UTC().Truncate(time.Microsecond)
}

// lastInitial returns when the last of an expert's open initial questions
// expires, or now. Each initial question is due after the ones before it, since
// one person answers them all.
func lastInitial(s *campaign.State, expert string, now time.Time) time.Time {
	last := now
	questions := s.Questions
	for i := range questions {
		q := &questions[i]
		if q.Expert == expert && q.Status == campaign.Asked && isInitial(q) && q.Expires.After(last) {
			last = q.Expires
		}
	}
	return last
}

// Anchors are compositions at which an expert trusts their own judgment.
type Anchors struct {
	Expert  string             `json:"expert" minLength:"1" doc:"Whose judgment it is."`
	Points  []definition.Point `json:"points" required:"false" maxItems:"1000" doc:"Compositions."`
	Instead bool               `json:"instead,omitempty" doc:"Instead of those that were named so before; without points they are only taken back."`
	Reason  string             `json:"reason,omitempty" doc:"Why, for the record."`
}

// check returns an error that names the missing part.
func (a *Anchors) check() error {
	if len(a.Points) == 0 && !a.Instead {
		return invalid("name the compositions, or those to be replaced")
	}
	for i, point := range a.Points {
		if err := CheckComposition(fmt.Sprintf("points[%d]", i), point); err != nil {
			return err
		}
	}
	return nil
}

// record checks the compositions at which an expert says they trust their own
// judgment.
func (a *Anchors) record(c Now, _ *Request) ([]events.Payload, error) {
	if c.policy.Needs().Preference.Form != events.PreferenceUtility {
		return nil, notPossible("no rule of this campaign's policy reads anchors")
	}
	if c.Definition.Expert(a.Expert) == nil {
		return nil, notFound(a.Expert, "there is no expert %q", a.Expert)
	}
	for i, point := range a.Points {
		if _, err := c.space.Encode(point); err != nil {
			return nil, notPossible("anchor %d: %w", i+1, err)
		}
	}
	return []events.Payload{(*events.AnchorsDeclared)(a)}, nil
}
