package view

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/builtin"
)

// Law: the gist of a decision begins with what is unusual about it, what settled it or what was
// expected of it alone; a rule or an acquisition that is not known leaves the reason as it is.
func TestGistTellsDecisionsApart(t *testing.T) {
	made := func(rule, next string, c events.Candidate) *events.DecisionMade {
		c.Name = "it"
		return &events.DecisionMade{
			Rule: rule, Policy: events.PolicyRef{Next: next}, Chosen: "it", Candidates: []events.Candidate{c},
		}
	}
	likely := func(p float64) events.Candidate { return events.Candidate{Feasible: &events.Feasible{Probability: p}} }
	expects := func(before, after float64) events.Candidate {
		return events.Candidate{Prediction: &events.Prediction{Mean: before, SD: 1}, Informed: &events.Prediction{Mean: after}}
	}
	for want, d := range map[string]*events.DecisionMade{
		"expected improvement":                       made("unaided", "logei", events.Candidate{}),
		"hypervolume improvement":                    made("unaided", "lognehvi", likely(0.999)),
		"feasible P 0.30, expected improvement":      made("unaided", "lognei", likely(0.3)),
		"restart: nothing improved, feasible P 0.50": made("restart", "lognei", likely(0.5)),
		"answers +0.72, expected improvement":        made("answers", "lognei", expects(10, 10.72)),
		"answers −1.5, expected improvement":         made("answers", "lognei", expects(10, 8.5)),
		"expected improvement with answers":          made("answers", "lognei", expects(10, 10.01)),
		"the model's own turn":                       made("model's turn", "lognei", expects(10, 20)),
		"":                                           made("a later rule", "a later acquisition", likely(0.3)),
	} {
		if got := gistOf(builtin.Registry().Methods, d); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
