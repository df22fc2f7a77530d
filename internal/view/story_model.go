package view

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// In this file are the events of models and decisions. All but a failed fit are routine:
// [Story.settled] says what a decision means for the story.
func modelFitted(_ events.Event, p *events.ModelFitted) Entry {
	return Entry{Text: Model(p.Of()) + " was fitted"}
}

func modelFitFailed(_ events.Event, p *events.ModelFitFailed) Entry {
	return Entry{Text: Model(p.Of()) + " could not be fitted", Reason: p.Cause}
}

func (s *Story) trustAdjusted(_ events.Event, p *events.TrustAdjusted) Entry {
	return Entry{Text: fmt.Sprintf("how much %s's belief counts in a choice (weight λ): %s → %s",
		p.Expert, format.Short(p.From), format.Short(p.To))}
}

func decisionMade(_ events.Event, p *events.DecisionMade) Entry {
	return Entry{Text: p.Decision, Reason: Compared(p.Reason)}
}

// Model names a model: "the belief of ada".
func Model(of events.ModelName) string {
	switch {
	case of.Model == events.ModelPreference:
		return "the model of what " + of.Expert + " prefers"
	case of.Expert != "":
		return "the belief of " + of.Expert
	case of.Quantity != "":
		return "the model of the " + of.Quantity
	}
	return "the model of the " + of.Model
}

// reviewText looks back at an expert's choice.
func reviewText(r *events.ChoiceReview) string {
	return fmt.Sprintf("%s's choice in %s was right with probability %.2f, now that %s is measured",
		r.Expert, r.Question, r.Probability, r.Experiment)
}
