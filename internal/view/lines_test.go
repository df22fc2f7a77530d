package view

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: a policy is named by its rules, one that only compares by its one rule.
func TestPolicyInWords(t *testing.T) {
	compares := events.PolicyRef{Duel: "random", Version: 2}
	if got := Policy(compares); got != "duel random, version 2" {
		t.Errorf("one that compares is named %q", got)
	}
	measures := events.PolicyRef{Next: "logei", Trust: "cobol", Handover: "always", Version: 3}
	if got := Policy(measures); got != "next logei, trust cobol, handover always, version 3" {
		t.Errorf("one that measures is named %q", got)
	}
}

// Law: of the noise it is said who knows it: the definition, the instrument, or
// the fit alone.
func TestNoiseInWords(t *testing.T) {
	given := definition.Objective{Unit: "mS/cm", Noise: ptr(0.5)}
	open := definition.Objective{Unit: "mS/cm"}
	for _, c := range []struct {
		sought definition.Objective
		fit    events.ObjectiveFit
		want   string
	}{
		{given, events.ObjectiveFit{Noise: 4, Scale: 2}, "(given)"},
		{open, events.ObjectiveFit{Scale: 2}, "as the instrument says"},
		{open, events.ObjectiveFit{Noise: 4, Scale: 2}, "4.00"},
		{open, events.ObjectiveFit{Noise: 4, Scale: 2}, "(inferred)"},
	} {
		if got := noiseText(c.sought, modelled{unit: c.sought.Unit}, &c.fit); !strings.Contains(got, c.want) {
			t.Errorf("%+v is %q, want %q", c.fit, got, c.want)
		}
	}
}

// Law: a change of something in a list calls it by its name, and by its number
// where it has none.
func TestChangesInWords(t *testing.T) {
	def := &definition.Campaign{
		Parameters:  []definition.Parameter{{Name: "ec"}},
		Constraints: []definition.Constraint{{Name: "whole"}},
		Excluded:    []definition.Region{{Name: "burns"}},
		Experts:     []definition.Expert{{Name: "ada"}, {Name: "bob"}},
	}
	for path, want := range map[string]string{
		"/parameters/0/max":     "parameters.ec.max: 1 → 2",
		"/constraints/0/equals": "constraints.whole.equals: 1 → 2",
		"/excluded/0/where":     "excluded.burns.where: 1 → 2",
		"/experts/1/time":       "experts.bob.time: 1 → 2",
		"/experts/2/time":       "experts.2.time: 1 → 2",
		"/budget/experiments":   "budget.experiments: 1 → 2",
	} {
		if got := Change(def, events.Change{Path: path, From: "1", To: "2"}); got != want {
			t.Errorf("%s is written %q, want %q", path, got, want)
		}
	}
}

// Law: a correction says what an experiment had ended with, what it ended with
// really, and whether it counts.
func TestCorrectionsInWords(t *testing.T) {
	story := NewStory(salty)
	for _, c := range []struct {
		payload events.ExperimentCorrected
		want    string
	}{
		{events.ExperimentCorrected{Experiment: "e7", Was: "failed", Outcome: "aborted"},
			"ada corrected e7 from failed to aborted"},
		{events.ExperimentCorrected{Experiment: "e7", Was: "failed", Outcome: "aborted", Excluded: true},
			"ada corrected e7 from failed to aborted, and excluded it"},
		{events.ExperimentCorrected{Experiment: "e7", Was: "failed", Outcome: "failed", Excluded: true},
			"ada excluded e7 (failed)"},
		{events.ExperimentCorrected{Experiment: "e7", Was: "failed", Outcome: "failed"},
			"ada corrected e7, which counts (failed)"},
	} {
		if got := tell(story, "person:ada", &c.payload); got != c.want {
			t.Errorf("%+v is told as\n%q, want\n%q", c.payload, got, c.want)
		}
	}
}

// Law: a review is told once, although decisions repeat it until there is
// another.
func TestReviewsAreToldOnce(t *testing.T) {
	story := NewStory(salty)
	decided := func(question string) int {
		d := &events.DecisionMade{Decision: "d1", Review: &events.ChoiceReview{Question: question}}
		return len(story.Tell(events.Event{Kind: events.KindDecisionMade, Actor: "engine"}, d))
	}
	first := decided("q1")
	again := decided("q1")
	if first != again+1 {
		t.Errorf("the first decision has %d lines, the next with the same review %d", first, again)
	}
	if other := decided("q2"); other != first {
		t.Errorf("a decision with another review has %d lines, not %d", other, first)
	}
}

// Law: the settings that have no default are listed, those of what a rule is
// built on too.
func TestOpenSettingsInWords(t *testing.T) {
	type Inner struct {
		Depth *int `json:"depth,omitempty"`
	}
	settings := struct {
		Inner
		Width  *int `json:"width,omitempty"`
		Height *int `json:"height,omitempty"`
	}{Height: ptr(1)}
	got := unset(reflect.ValueOf(settings), "policy.next.x")
	if want := []string{"policy.next.x.depth", "policy.next.x.width"}; !slices.Equal(got, want) {
		t.Errorf("open are %q, want %q", got, want)
	}
}

// Law: several standard deviations are told by the smallest and the largest.
func TestSpreadInWords(t *testing.T) {
	if got := spread([]float64{0.2, 0.1, 0.4}); got != judged(0.1)+" to "+judged(0.4) || got == "" {
		t.Errorf("they are %q", got)
	}
}
