package view

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
)

func (s *Story) labelRequested(_ events.Event, p *events.LabelRequested) Entry {
	return Entry{Text: fmt.Sprintf("%s asks %s about (%s)",
		p.Question, p.Expert, s.line(p.Parameters))}
}

func (s *Story) labelGiven(e events.Event, p *events.LabelGiven) Entry {
	text := said(p.Answer) + " " + p.Question
	if len(p.Parameters) > 0 {
		text += " (" + s.line(p.Parameters) + ")"
	}
	return Entry{Who: p.Expert, Text: text, ToldBy: toldBy(e, p.Expert), Reason: p.Comment}
}

func (s *Story) labelSuperseded(e events.Event, p *events.LabelSuperseded) Entry {
	text := "now " + said(p.Answer) + " " + p.Question
	return Entry{Who: p.Expert, Text: text, ToldBy: toldBy(e, p.Expert), Reason: p.Reason}
}

func (s *Story) labelExpired(_ events.Event, p *events.LabelExpired) Entry {
	return unanswered(p.Question)
}

func (s *Story) labelWithdrawn(_ events.Event, p *events.LabelWithdrawn) Entry {
	return Entry{Text: p.Question + " is no longer asked", Reason: p.Reason}
}

func (s *Story) questionExpired(_ events.Event, p *events.QuestionExpired) Entry {
	return unanswered(p.Question)
}

func (s *Story) questionWithdrawn(_ events.Event, p *events.QuestionWithdrawn) Entry {
	return Entry{Text: p.Question + " is no longer asked", Reason: p.Reason}
}

func unanswered(question string) Entry {
	return Entry{Text: "nobody answered " + question + " in time; the campaign goes on without"}
}

func (s *Story) comparisonRequested(_ events.Event, p *events.ComparisonRequested) Entry {
	points := make([]events.Point, len(p.Options))
	for i := range p.Options {
		points[i] = p.Options[i].Parameters
	}
	ask := "to compare"
	if len(points) > 2 {
		ask = "to rank"
	}
	options := format.List(optionTexts(s.def, points)...)
	return Entry{Text: fmt.Sprintf("%s asks %s %s %s", p.Question, p.Expert, ask, options)}
}

func (s *Story) comparisonGiven(e events.Event, p *events.ComparisonGiven) Entry {
	return Entry{
		Who: p.Expert, Text: ordered(s.def, p.Options, p.Order) + " in " + p.Question,
		ToldBy: toldBy(e, p.Expert), Reason: p.Comment,
		Routine: p.Volunteered,
	}
}

func (s *Story) comparisonSuperseded(e events.Event, p *events.ComparisonSuperseded) Entry {
	return Entry{
		Who: p.Expert, Text: "now " + ordered(s.def, p.Options, p.Order) + " in " + p.Question,
		ToldBy: toldBy(e, p.Expert), Reason: p.Reason,
	}
}

func (s *Story) pinpointRequested(_ events.Event, p *events.PinpointRequested) Entry {
	return Entry{Text: fmt.Sprintf("%s asks %s what to measure next", p.Question, p.Expert)}
}

func (s *Story) pinpointGiven(e events.Event, p *events.PinpointGiven) Entry {
	text := "has no suggestion for " + p.Question
	if p.Parameters != nil {
		text = fmt.Sprintf("wants (%s) measured (%s)", s.line(p.Parameters), p.Question)
	}
	return Entry{Who: p.Expert, Text: text, ToldBy: toldBy(e, p.Expert), Reason: p.Comment}
}

func (s *Story) pinpointSuperseded(e events.Event, p *events.PinpointSuperseded) Entry {
	text := "now has no suggestion for " + p.Question
	if p.Parameters != nil {
		text = fmt.Sprintf("now wants (%s) measured (%s)", s.line(p.Parameters), p.Question)
	}
	return Entry{Who: p.Expert, Text: text, ToldBy: toldBy(e, p.Expert), Reason: p.Reason}
}

func (s *Story) regionRefused(e events.Event, p *events.RegionRefused) Entry {
	text := fmt.Sprintf("refuses %s (%s)", s.compositions().Region(p.Region), p.Refusal)
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}

func (s *Story) regionAllowed(e events.Event, p *events.RegionAllowed) Entry {
	return Entry{Who: doer(e), Text: "takes the refusal " + p.Refusal + " back", Reason: p.Reason}
}

// said turns the answer to a label into a verb.
func said(answer string) string {
	switch answer {
	case events.AnswerAccept:
		return "accepted"
	case events.AnswerReject:
		return "rejected"
	case events.AnswerRefuse:
		return "ruled out"
	case events.AnswerUnsure:
		return "cannot tell about"
	}
	return answer
}

// ordered says what an expert did with a comparison: "prefers B (…) to A (…)". Where
// the order is a single option, the others come after it in no order.
func ordered(def *events.Definition, points []events.Point, order []int) string {
	options := optionTexts(def, points)
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
	case len(order) == 2 && len(points) == 2:
		return "prefers " + placed[0] + " to " + placed[1]
	}
	return "ranks " + strings.Join(placed, ", then ")
}

// optionTexts names the options of a comparison with their compositions: "A (ec 0.34)".
func optionTexts(def *events.Definition, points []events.Point) []string {
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
