package view

import (
	"fmt"
	"maps"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/trust"
)

// Entry is an event in plain words.
type Entry struct {
	Kind events.Kind `json:"kind,omitempty"`
	// Subject is the experiment, question, decision or exclusion it is about,
	// if any.
	Subject string `json:"subject,omitempty"`
	// Who did it: a person, an expert, an instrument. It is empty where Text is
	// a whole sentence.
	Who string `json:"who,omitempty"`
	// Text says what happened, as it goes on after Who: "rejected q12 (salt
	// 1.00)".
	Text string `json:"text"`
	// ToldBy is the person who reported an expert's answer, if another one.
	ToldBy string `json:"told_by,omitempty"`
	// Reason is why, in the words of the person who did it.
	Reason string `json:"reason,omitempty"`
	// Account is the system's user who recorded it, where that has another
	// name.
	Account string `json:"account,omitempty"`
	// Remedy is the action for a person, nil for most events.
	Remedy *problem.Remedy `json:"remedy,omitempty"`
	// Routine marks entries that are shown only on request.
	Routine bool `json:"routine,omitempty"`
}

// Line is the entry in a line: "ada rejected q12 (salt 1.00): too viscous".
// Text by others is escaped, so that it cannot look like a line of its own.
func (e Entry) Line(how How) string {
	line := strings.TrimSpace(e.Who + " " + e.Text)
	if e.ToldBy != "" {
		line += ", reported by " + e.ToldBy
	}
	if e.Reason != "" {
		line += ": " + e.Reason
	}
	if e.Remedy != nil {
		line += ending(*e.Remedy, how)
	}
	if e.Account != "" {
		line += " [account " + e.Account + "]"
	}
	return plaintext.Line(line)
}

// ending is the part of an event's line that a remedy adds. Where the fate of an experiment is
// unknown, a look at the instrument comes before any command: the command records the findings.
func ending(r problem.Remedy, how How) string {
	if r.Action == problem.Resolve {
		return ". Look at the instrument, then `" + how(r) + "`"
	}
	return " (" + how(r) + ")"
}

// Story puts the events of one campaign into words. It must be given all of
// them in order, since it follows the definition, which says how compositions
// are written.
//
// The methods and functions in story_*.go put one kind of event into words each, and are found
// by tellings; words for the forms of questions are found by [forms].
type Story struct {
	def *definition.Campaign
	// initial are initial answers of an expert that no entry covers yet.
	initial initialAnswers
	// lost are experiments that no entry covers yet.
	lost losses
	// reviewed is the last question whose choice was looked back at.
	reviewed string
	// named is the composition that an expert named last, until it is decided
	// upon.
	named *events.QuestionAnswered
	// acts are those that were dispatched, by their identifiers.
	acts map[string]*events.ActDispatched
}

// NewStory returns a story that goes on in a campaign of that definition; nil
// where it begins with the campaign.
func NewStory(def *definition.Campaign) *Story { return &Story{def: def} }

// telling makes an entry of an event: its words. What follows from the envelope
// is added by [Story.Entry].
type telling func(*Story, events.Event, events.Payload) Entry

// tells makes a telling from a method for one type of payload.
func tells[P events.Payload](tell func(*Story, events.Event, P) Entry) telling {
	return func(s *Story, e events.Event, payload events.Payload) Entry {
		return tell(s, e, payload.(P))
	}
}

// says makes a telling from a function for one type of payload, whose words need the event alone.
func says[P events.Payload](tell func(events.Event, P) Entry) telling {
	return func(_ *Story, e events.Event, payload events.Payload) Entry { return tell(e, payload.(P)) }
}

// routine is a telling whose entries are shown only on request. They are the program's own acts all
// the time; among them a person would not find those of people and instruments.
func routine(tell telling) telling {
	return func(s *Story, e events.Event, payload events.Payload) Entry {
		entry := tell(s, e, payload)
		entry.Routine = true
		return entry
	}
}

// tellings has a row for every kind of event.
var tellings = map[events.Kind]telling{
	events.KindCampaignDefined:   tells((*Story).campaignDefined),
	events.KindCampaignAmended:   tells((*Story).campaignAmended),
	events.KindCampaignPaused:    says(campaignPaused),
	events.KindCampaignResumed:   says(campaignResumed),
	events.KindCampaignStopped:   says(campaignStopped),
	events.KindCampaignCompleted: says(campaignCompleted),
	events.KindRecoveryDone:      tells((*Story).recoveryDone),
	events.KindAnchorsDeclared:   says(anchorsDeclared),
	events.KindNoteAdded:         says(noteAdded),
	events.KindFileAttached:      says(fileAttached),
	events.KindFileWithdrawn:     says(fileWithdrawn),
	events.KindStockCounted:      says(stockCounted),

	events.KindQuestionAsked:      routine(tells((*Story).questionAsked)),
	events.KindQuestionAnswered:   tells((*Story).questionAnswered),
	events.KindQuestionSuperseded: tells((*Story).questionSuperseded),
	events.KindQuestionContested:  tells((*Story).questionContested),
	events.KindQuestionExpired:    says(questionExpired),
	events.KindQuestionWithdrawn:  says(questionWithdrawn),
	events.KindRegionExcluded:     tells((*Story).regionExcluded),
	events.KindRegionAllowed:      says(regionAllowed),

	events.KindExperimentRequested:  routine(tells((*Story).experimentRequested)),
	events.KindExperimentDispatched: routine(says(experimentDispatched)),
	events.KindExperimentStarted:    routine(says(experimentStarted)),
	events.KindExperimentMeasured:   tells((*Story).experimentMeasured),
	events.KindQuantityArrived:      says(quantityArrived),
	events.KindExperimentFailed:     tells((*Story).experimentFailed),
	events.KindExperimentInfeasible: says(experimentInfeasible),
	events.KindExperimentDeferred:   says(experimentDeferred),
	events.KindExperimentCancelled:  says(experimentCancelled),
	events.KindExperimentUnresolved: says(experimentUnresolved),
	events.KindExperimentResolved:   tells((*Story).experimentResolved),
	events.KindExperimentCorrected:  tells((*Story).experimentCorrected),
	events.KindCancellationOrdered:  tells((*Story).cancellationOrdered),
	events.KindCancellationAnswered: tells((*Story).cancellationAnswered),
	events.KindInstrumentAnswered:   tells((*Story).instrumentAnswered),
	events.KindSafetyOrdered:        says(safetyOrdered),
	events.KindSafetyAnswered:       says(safetyAnswered),
	events.KindMeasurementsJudged:   routine(says(measurementsJudged)),
	events.KindMeasurementFlagged:   says(measurementFlagged),
	events.KindMeasurementCorrected: tells((*Story).measurementCorrected),
	events.KindInstrumentStalled:    tells((*Story).instrumentStalled),
	events.KindInstrumentSignalled:  routine(tells((*Story).instrumentSignalled)),

	events.KindBatchPlanned:  routine(says(batchPlanned)),
	events.KindBatchEnded:    says(batchEnded),
	events.KindActDispatched: routine(tells((*Story).actDispatched)),
	events.KindActAccepted:   routine(tells((*Story).actAccepted)),
	events.KindActEnded:      tells((*Story).actEnded),
	events.KindActUnresolved: tells((*Story).actUnresolved),
	events.KindActResolved:   tells((*Story).actResolved),

	events.KindModelFitted:    routine(says(modelFitted)),
	events.KindModelFitFailed: says(modelFitFailed),
	events.KindTrustAdjusted:  routine(tells((*Story).trustAdjusted)),
	events.KindDecisionMade:   routine(says(decisionMade)),
	// What cannot be used is worth a line.
	events.KindMethodAnswered: tells((*Story).methodAnswered),
}

// Follow takes in an event without making an entry: later events may be written by its content.
// Only definitions and the dispatches of acts count: an entry never depends on other events before
// it. An act whose dispatch is not known is written by its identifier.
func (s *Story) Follow(payload events.Payload) {
	switch p := payload.(type) {
	case *events.CampaignDefined:
		s.def = &p.Definition
	case *events.CampaignAmended:
		s.def = &p.Definition
	case *events.ActDispatched:
		s.remember(p)
	}
}

// Entry returns the words for an event, independent of those before it. A kind without a row is
// written by its name, as routine: a missing row must not keep a log from being read.
func (s *Story) Entry(e events.Event, payload events.Payload) Entry {
	s.Follow(payload)
	tell, ok := tellings[events.KindOf(payload)]
	if !ok {
		return Entry{Kind: e.Kind, Text: string(e.Kind), Routine: true}
	}
	entry := tell(s, e, payload)
	entry.Kind = e.Kind
	entry.Subject = payload.Subject()
	entry.Account = e.ToldBy()
	return entry
}

// entries are an event's additions to the story, whatever is held back.
func (s *Story) entries(e events.Event, payload events.Payload) []Entry {
	entry := s.Entry(e, payload)
	initial, ok := initialAnswerOf(payload)
	var entries []Entry
	if s.initial.count > 0 && !(ok && s.initial.goesOnWith(initial)) {
		entries = append(entries, Entry{Who: s.initial.expert, Text: s.initial.text()})
		s.initial = initialAnswers{}
	}
	if ok {
		s.initial.add(initial)
		return entries
	}
	if !entry.Routine {
		entries = append(entries, entry)
	}
	switch p := payload.(type) {
	case *events.QuestionAnswered:
		if p.Form == events.FormPinpoint {
			s.named = p
		}
	case *events.DecisionMade:
		entries = append(entries, s.settled(p)...)
	}
	return entries
}

// settled returns the earlier statements of experts that a decision settles. Decisions are routine,
// and most say nothing here; these are the ones that answer a question a reader of the story would
// have.
func (s *Story) settled(d *events.DecisionMade) (entries []Entry) {
	if d.Review != nil && d.Review.Question != s.reviewed {
		s.reviewed = d.Review.Question // decisions repeat it until a newer one comes
		entries = append(entries, Entry{Kind: events.KindDecisionMade, Subject: d.Decision,
			Text: reviewText(d.Review)})
	}
	if d.Rule == policies.RuleRestart { // its measurement would look like a mistake
		entries = append(entries, Entry{
			Kind:    events.KindDecisionMade,
			Subject: d.Decision,
			Text:    "nothing has improved for long: the next experiment is one where little is known",
		})
	}
	if s.named != nil && d.Action == events.ActionRun {
		if text := notTaken(s.named, d); text != "" {
			entries = append(entries, Entry{
				Kind:    events.KindDecisionMade,
				Subject: d.Decision,
				Text:    text,
				Remedy: &problem.Remedy{Text: "see what led to it", Action: problem.Explain,
					Subject: d.Decision},
			})
		}
		s.named = nil
	}
	return entries
}

// notTaken says why a composition that an expert named is not the measured one; "" where it is, or
// where they named none.
func notTaken(named *events.QuestionAnswered, d *events.DecisionMade) string {
	if named.Answer.Unsure() {
		return ""
	}
	if c := d.Candidate(d.Chosen); c != nil && maps.Equal(c.Parameters, named.Answer.Point) {
		return ""
	}
	why := strings.TrimSuffix(d.Reason, ".")
	// Backwards, so that the first test that failed is the one named.
	for i := len(d.Tests) - 1; i >= 0; i-- {
		t := d.Tests[i]
		switch name, harm := strings.CutPrefix(t.Name, trust.NoHarmPrefix); {
		case !harm || t.Holds:
		case strings.HasPrefix(name, "optimistic"):
			why = "the model expects less of it, even at its best, than it is sure to find elsewhere"
		default:
			why = "the model knows that place so well already that a measurement would teach little"
		}
	}
	return fmt.Sprintf("%s's composition (%s) is not measured next: %s",
		named.Expert, named.Question, why)
}

// compositions is the writer of the campaign's compositions. Without a
// definition it writes nothing of a composition, which a log that is cut at its
// beginning comes to.
func (s *Story) compositions() format.Compositions {
	if s.def == nil {
		return format.Compositions{}
	}
	return format.CompositionsOf(s.def)
}

func (s *Story) line(point definition.Point) string { return s.compositions().Line(point) }

// doer is the person, expert or instrument that an event names as its actor. A
// sentence begins with it.
func doer(e events.Event) string { return events.ActorName(e.Actor) }

// toldBy is the person who reported an expert's answer; empty if the expert
// did.
func toldBy(e events.Event, expert string) string {
	if name := doer(e); name != expert {
		return name
	}
	return ""
}

// initialAnswers counts the initial answers of an expert to questions of one
// form; accepted counts labels only. There may be dozens of them, and none says
// much alone.
type initialAnswers struct {
	expert          string
	form            events.Form
	count, accepted int
}

// initialAnswerOf returns an answer that an expert gave before the first
// decision.
func initialAnswerOf(payload events.Payload) (answer initialAnswers, ok bool) {
	p, ok := payload.(*events.QuestionAnswered)
	if !ok || !p.Volunteered {
		return initialAnswers{}, false
	}
	answer = initialAnswers{expert: p.Expert, form: p.Form, count: 1}
	if p.Answer.Label == events.LabelAccept {
		answer.accepted = 1
	}
	return answer, true
}

// goesOnWith reports whether another answer is of the same expert and form.
func (a initialAnswers) goesOnWith(other initialAnswers) bool {
	return a.expert == other.expert && a.form == other.form
}

func (a *initialAnswers) add(one initialAnswers) {
	a.expert, a.form = one.expert, one.form
	a.count += one.count
	a.accepted += one.accepted
}

// text says how many answers were given, and how labels came out.
func (a initialAnswers) text() string {
	text := "gave " + format.Count(a.count, "initial "+wordsOf(a.form).initial)
	if a.form == events.FormLabel {
		text += fmt.Sprintf(": %d accepted, %d rejected", a.accepted, a.count-a.accepted)
	}
	return text
}
