package view_test

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/seek"
)

// Law: what is preferred says of each rank with which probability it comes before the
// next one, and which comparison would settle the first place; nothing is open from a
// probability of 0.9 on.
func TestPreferredInWords(t *testing.T) {
	def := &definition.Campaign{
		Parameters: []definition.Parameter{{Name: "salt", Min: new(float64), Max: new(float64)}},
		Objective:  definition.Objective{Preference: &definition.Preference{Over: []string{"flow"}}},
	}
	first, second := 0.53, 0.71
	c := view.Campaign{Definition: def, Summary: engine.Summary{Bests: engine.Bests{Ranking: []engine.Liked{
		{Experiment: "e13", Before: &first}, {Experiment: "e16", Before: &second}, {Experiment: "e2"},
	}}}}
	open := "whether e13 or e16 comes first is open, e13 with probability 0.53: a comparison of the two would say"
	if got := texts(c.Found()); !strings.Contains(got, open) || !strings.Contains(got, "preferred to e2 with probability 0.71") {
		t.Errorf("it says\n%s", got)
	}
	first = 0.9
	if got := texts(c.Found()); strings.Contains(got, "open") || !strings.Contains(got, "preferred to e16 with probability 0.90") {
		t.Errorf("where it is settled it says\n%s", got)
	}
}

// Law: of a front of one composition nothing is said of how far it goes, which would be
// all of the way to itself.
func TestOnlyOneOnFront(t *testing.T) {
	f := &seek.Front{Members: make([]seek.Member, 1), Compromise: &seek.Compromise{Experiment: "e5", Satisfaction: 1}}
	if got := view.Reaches(f); got != "it is the only composition on the front" {
		t.Errorf("it says %q", got)
	}
	f.Members = make([]seek.Member, 2)
	if got := view.Reaches(f); !strings.Contains(got, "at least 100 % of the way") {
		t.Errorf("of two it says %q", got)
	}
}
