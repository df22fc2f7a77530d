package view

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// In this file are the events of questions and exclusions, then the words for each form, which
// [forms] refers to. questionAsked is routine: readers want to know the answer.
func (s *Story) questionAsked(_ events.Event, p *events.QuestionAsked) Entry {
	q := campaign.Question{Options: p.Options}
	asked := wordsOf(p.Form).asked(s, about{q.Points(), q.Outcomes()})
	return Entry{Text: fmt.Sprintf("%s asks %s %s", p.Question, ExpertName(s.def, p.Expert), asked)}
}

// The words for a label leave its composition out, which other forms name.
func (s *Story) questionAnswered(e events.Event, p *events.QuestionAnswered) Entry {
	text := wordsOf(p.Form).does(s, p.Question, about{p.Options, p.Outcomes}, p.Answer)
	if p.Form == events.FormLabel && len(p.Options) > 0 {
		text += " (" + s.line(p.Options[0]) + ")"
	}
	return Entry{
		Who: ExpertName(s.def, p.Expert), Text: text,
		ToldBy: toldBy(e, p.Expert), Reason: p.Comment,
		Routine: p.Volunteered,
	}
}

// It is the latest word of the expert, and reads as such.
func (s *Story) questionSuperseded(e events.Event, p *events.QuestionSuperseded) Entry {
	text := "now " + wordsOf(p.Form).does(s, p.Question, about{p.Options, p.Outcomes}, p.Answer)
	return Entry{Who: ExpertName(s.def, p.Expert), Text: text, ToldBy: toldBy(e, p.Expert), Reason: p.Reason}
}

// Such an answer was on its way when another one was recorded, which counts.
func (s *Story) questionContested(e events.Event, p *events.QuestionContested) Entry {
	text := wordsOf(p.Form).does(s, p.Question, about{p.Options, p.Outcomes}, p.Answer) + ", not knowing of the answer that counts"
	return Entry{Who: ExpertName(s.def, p.Expert), Text: text, ToldBy: toldBy(e, p.Expert), Reason: p.Comment}
}

// The campaign is its subject, since no one is to blame or to act.
func questionExpired(_ events.Event, p *events.QuestionExpired) Entry {
	return Entry{Text: p.Question + " was not answered in time; the campaign goes on without"}
}

func questionWithdrawn(_ events.Event, p *events.QuestionWithdrawn) Entry {
	return Entry{Text: p.Question + " is no longer asked", Reason: p.Reason}
}

func (s *Story) regionExcluded(e events.Event, p *events.RegionExcluded) Entry {
	text := fmt.Sprintf("excludes %s (%s)", s.compositions().Region(p.Region), p.Exclusion)
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}

func regionAllowed(e events.Event, p *events.RegionAllowed) Entry {
	return Entry{Who: doer(e), Text: "takes the exclusion " + p.Exclusion + " back", Reason: p.Reason}
}

// Each of the functions below fills a field of [formWords] for one form: asked…
// goes on after "q7 asks ada", the others after the expert's name.
func (s *Story) askedToLabel(of about) string {
	if len(of.points) == 0 { // a log from elsewhere may say anything
		return "about a composition"
	}
	return "about (" + s.line(of.points[0]) + ")"
}

// labels names the question alone; questionAnswered adds the composition.
func (s *Story) labels(question string, _ about, a events.Answer) string {
	switch a.Label {
	case events.LabelAccept:
		return "accepted " + question
	case events.LabelReject:
		return "rejected " + question
	}
	return "cannot tell about " + question
}

// The options have letters, as the expert saw them: the answer names them by
// these.
func (s *Story) askedToCompare(of about) string {
	options := format.List(optionTexts(s.def, of.points)...)
	if len(of.points) > 2 {
		return "to rank " + options
	}
	return "to compare " + options
}

func (s *Story) compares(question string, of about, a events.Answer) string {
	return ordered(optionTexts(s.def, of.points), a.Order) + " in " + question
}

func (s *Story) askedToPinpoint(about) string { return "what to measure next" }

// pinpoints names the composition, since the question has no options that could be looked up.
func (s *Story) pinpoints(question string, _ about, a events.Answer) string {
	if a.Unsure() {
		return "has no suggestion for " + question
	}
	return fmt.Sprintf("wants (%s) measured (%s)", s.line(a.Point), question)
}

func (s *Story) askedToEstimate(of about) string {
	return "what they expect of " + format.Count(len(of.points), "composition")
}

// It counts the estimates without their numbers: there may be dozens.
func (s *Story) estimates(question string, of about, a events.Answer) string {
	if a.Unsure() {
		return "cannot tell what to expect in " + question
	}
	options := make(map[int]bool)
	for _, e := range a.Estimates {
		options[e.Option] = true
	}
	return fmt.Sprintf("estimates %d of the %d compositions in %s", len(options), len(of.points), question)
}

// It is the outcomes that are compared: how they were made is in the question.
func (s *Story) askedToCompareOutcomes(of about) string {
	return "to compare the outcomes " + format.List(outcomeTexts(of.outcomes)...)
}

func (s *Story) comparesOutcomes(question string, of about, a events.Answer) string {
	return ordered(outcomeTexts(of.outcomes), a.Order) + " in " + question
}

// outcomeTexts names outcomes with their quantities.
func outcomeTexts(outcomes []events.Outcome) []string {
	texts := make([]string, len(outcomes))
	for i, o := range outcomes {
		texts[i] = humans.OptionName(i) + " (" + outcomeText(o) + ")"
	}
	return texts
}

// ordered describes an expert's comparison: "prefers B (…) to A (…)". Where the order is a single
// option, the others come after it in no order.
func ordered(options []string, order []int) string {
	if len(order) == 0 {
		return "cannot tell between " + format.List(options...)
	}
	placed := make([]string, len(order))
	for k, i := range order {
		placed[k] = humans.OptionName(i)
		if i < len(options) { // a log from elsewhere may say anything
			placed[k] = options[i]
		}
	}
	switch {
	case len(order) == 1:
		return "prefers " + placed[0] + " to the others"
	case len(order) == 2 && len(options) == 2:
		return "prefers " + placed[0] + " to " + placed[1]
	}
	return "ranks " + strings.Join(placed, ", then ")
}

// optionTexts names the options of a comparison with their compositions: "A (ec
// 0.34)". Without a definition, as at the beginning of a log that lacks it, the
// letters alone.
func optionTexts(def *definition.Campaign, points []definition.Point) []string {
	texts := make([]string, len(points))
	for i := range points {
		texts[i] = humans.OptionName(i)
	}
	if def == nil {
		return texts
	}
	write := format.CompositionsOf(def).Apart(points...)
	for i, point := range points {
		texts[i] += " (" + write.Line(point) + ")"
	}
	return texts
}
