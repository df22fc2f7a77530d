package engine

import (
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Suggestion is the next thing to do for a person who runs the experiments themselves.
type Suggestion struct {
	// Experiments are requested and not performed yet.
	Experiments []campaign.Experiment
	// Questions are open to people.
	Questions []campaign.Question
	// WaitingFor says what else the campaign waits for, where it has no
	// experiment to suggest.
	WaitingFor string
	// Remedies are what a person can do about it, where it is for a person.
	Remedies []problem.Remedy
	// Ended is true where the campaign is over.
	Ended bool
}

// SuggestionOf returns the next tasks of a person while the campaign waits as a step says. The
// lists are copies of entries, so that they may be kept while the campaign goes on.
func SuggestionOf(s *campaign.State, wait Wait) Suggestion {
	var suggestion Suggestion
	for x := range among(s) {
		if x.Status == campaign.Requested && s.Status != campaign.Paused {
			suggestion.Experiments = append(suggestion.Experiments, *x)
		}
	}
	for q := range open(s) {
		suggestion.Questions = append(suggestion.Questions, *q)
	}
	if suggestion.Experiments == nil {
		suggestion.WaitingFor, suggestion.Remedies = wait.For, wait.Remedies
	}
	return suggestion
}
