package view

import (
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// ruled names the rule that settled a decision where an acquisition did not.
var ruled = map[string]string{
	policies.RuleDesign:     "design",
	policies.RuleRestart:    "restart: nothing improved",
	policies.RuleAccepted:   "accepted by the expert",
	policies.RuleChosen:     "chosen by the expert",
	policies.RulePinpointed: "named by the expert",
	policies.RulePrior:      "sample of the expert's prior",
	policies.RuleSure:       "the expert's belief",
	policies.RuleAccepts:    "the expert's belief",
	policies.RuleModelsTurn: "the model's own turn",
	policies.RuleHandedOver: "the model's own: handed over",
	policies.RuleGate:       "the model's own: answers do not fit",
	policies.RuleNoHarm:     "the model's own: advice could harm",
	policies.RuleRejects:    "the model's own: belief against it",
	policies.RuleNoAnswer:   "no answer",
	policies.RuleAgree:      "model and expert agree",
	policies.RuleProposed:   "proposed by the program",
	policies.RuleFallback:   "no proposal",
}

// gistOf says in a few words how a decision to measure differs from others: what settled it where
// that is unusual, the prediction, then the goal. Empty where neither rule nor acquisition is
// known; the reason then has to do.
func gistOf(methods policies.Registry, d *events.DecisionMade) string {
	settled, wanted := ruled[d.Rule], ""
	if settled == "" {
		rule, _ := methods.Rule(policies.Next, d.Policy.Next)
		acquisition, known := rule.Searched().(next.Brief)
		if !known {
			return ""
		}
		wanted = acquisition.Gist()
	}
	parts := []string{settled}
	if c := d.Candidate(d.Chosen); c != nil {
		if d.Rule == policies.RuleAnswers && c.Informed != nil && c.Prediction != nil {
			by := answered(c.Informed.Mean-c.Prediction.Mean, c.Prediction.SD)
			if parts = append(parts, by); by == "" {
				wanted += " with answers"
			}
		}
		if f := c.Feasible; f != nil && f.Probability < 0.995 { // else it is as good as certain
			parts = append(parts, "feasible P "+format.Fixed(f.Probability, 2))
		}
	}
	parts = slices.DeleteFunc(append(parts, wanted), func(part string) bool { return part == "" })
	return strings.Join(parts, ", ")
}

// answered says by how much experts' answers change a prediction; empty where the change is
// negligible: sd is how well it was known without them.
func answered(by, sd float64) string {
	if math.Abs(by) < 0.1*sd {
		return ""
	}
	sign := "+"
	if by < 0 {
		sign = "−"
	}
	return "answers " + sign + format.Significant(math.Abs(by), 2)
}
