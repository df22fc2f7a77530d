package engine

import (
	"iter"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// underway are the statuses of an experiment that its instrument works on.
var underway = []campaign.ExperimentStatus{campaign.Dispatched, campaign.Started}

// among yields the experiments with one of some statuses, in the order of their
// requests; without statuses all of them.
func among(s *campaign.State, statuses ...campaign.ExperimentStatus) iter.Seq[*campaign.Experiment] {
	return func(yield func(*campaign.Experiment) bool) {
		for i := range s.Experiments {
			x := &s.Experiments[i]
			if (statuses == nil || slices.Contains(statuses, x.Status)) && !yield(x) {
				return
			}
		}
	}
}

// firstWith returns the first experiment with one of some statuses, nil without one.
func firstWith(s *campaign.State, statuses ...campaign.ExperimentStatus) *campaign.Experiment {
	for x := range among(s, statuses...) {
		return x
	}
	return nil
}

// open yields the questions that are to be answered, in the order of their numbers.
func open(s *campaign.State) iter.Seq[*campaign.Question] {
	return func(yield func(*campaign.Question) bool) {
		for i := range s.Questions {
			if q := &s.Questions[i]; q.Status == campaign.Asked && !yield(q) {
				return
			}
		}
	}
}

// cancelled returns the events by which experiments are called off before they are
// performed, and questions before they are answered: those for which a reason is
// given.
func cancelled(
	s *campaign.State, experiment func(*campaign.Experiment) string, question func(*campaign.Question) string,
) (payloads []events.Payload) {
	for x := range among(s, campaign.Requested) {
		if reason := experiment(x); reason != "" {
			payloads = append(payloads, &events.ExperimentCancelled{Experiment: x.ID, Reason: reason})
		}
	}
	for q := range open(s) {
		if reason := question(q); reason != "" {
			payloads = append(payloads, noLongerNeeded(q, reason))
		}
	}
	return payloads
}
