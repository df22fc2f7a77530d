package main

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/format"
)

// formWords are the words for a form of question.
type formWords struct {
	// initial is what an expert gives unasked.
	initial string
	// decided says what a decision that asks does.
	decided func(d *events.DecisionMade) string
	// asks says what the expert is asked.
	asks func(n *narrator, p *events.QuestionAsked) string
	// does says what the expert does by an answer: "prefers B (…) to A (…) in q7".
	does func(n *narrator, question string, options []definition.Point, a events.Answer) string
}

var formsInWords = map[events.Form]formWords{
	events.FormLabel:      {"label", labelDecided, (*narrator).asksLabel, (*narrator).labels},
	events.FormComparison: {"comparison", comparisonDecided, (*narrator).asksComparison, (*narrator).compares},
	events.FormPinpoint:   {"composition", pinpointDecided, (*narrator).asksPinpoint, (*narrator).pinpoints},
}

func labelDecided(d *events.DecisionMade) string {
	return fmt.Sprintf("ask %s about the %s candidate", d.Expert, d.Chosen)
}

func (n *narrator) asksLabel(p *events.QuestionAsked) string {
	return fmt.Sprintf("%s asks %s about (%s)", p.Question, p.Expert, format.CompositionsOf(n.def).Line(p.Options[0].Parameters))
}

func (n *narrator) labels(question string, _ []definition.Point, a events.Answer) string {
	return said(a) + " " + question
}

// said turns an answer to a label into a verb.
func said(a events.Answer) string {
	switch a.Label {
	case events.LabelAccept:
		return "accepted"
	case events.LabelReject:
		return "rejected"
	}
	return "cannot tell about"
}

func comparisonDecided(d *events.DecisionMade) string {
	if len(d.Candidates) > 2 {
		return fmt.Sprintf("ask %s to rank %d candidates", d.Expert, len(d.Candidates))
	}
	return fmt.Sprintf("ask %s which of two candidates is better", d.Expert)
}

func (n *narrator) asksComparison(p *events.QuestionAsked) string {
	points := make([]definition.Point, len(p.Options))
	for i := range p.Options {
		points[i] = p.Options[i].Parameters
	}
	ask := "to compare"
	if len(points) > 2 {
		ask = "to rank"
	}
	return fmt.Sprintf("%s asks %s %s %s", p.Question, p.Expert, ask, n.options(points, nil, ", ", " and "))
}

func (n *narrator) compares(question string, options []definition.Point, a events.Answer) string {
	return n.placed(options, a.Order) + " in " + question
}

func pinpointDecided(d *events.DecisionMade) string {
	return fmt.Sprintf("ask %s for a composition of their own", d.Expert)
}

func (n *narrator) asksPinpoint(p *events.QuestionAsked) string {
	return fmt.Sprintf("%s asks %s what to measure next", p.Question, p.Expert)
}

func (n *narrator) pinpoints(question string, _ []definition.Point, a events.Answer) string {
	if a.Unsure() {
		return "has no suggestion for " + question
	}
	return fmt.Sprintf("wants (%s) measured (%s)", format.CompositionsOf(n.def).Line(a.Point), question)
}

// answered says what an expert answered.
func (n *narrator) answered(e events.Event, p *events.QuestionAnswered) string {
	line := p.Expert + " " + formsInWords[p.Form].does(n, p.Question, p.Options, p.Answer)
	if p.Form == events.FormLabel {
		line += fmt.Sprintf(" (%s)", format.CompositionsOf(n.def).Line(p.Options[0]))
	}
	return line + toldBy(e, p.Expert) + because(p.Comment)
}

// superseded says how an expert's answer was changed.
func (n *narrator) superseded(e events.Event, p *events.QuestionSuperseded) string {
	does := formsInWords[p.Form].does(n, p.Question, p.Options, p.Answer)
	return fmt.Sprintf("%s now %s%s%s", p.Expert, does, toldBy(e, p.Expert), because(p.Reason))
}

// because adds a reason, where one was given.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
