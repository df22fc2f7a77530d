package view

import (
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// acquired names what a rule of the policy's next part looks for.
var acquired = map[string]string{
	next.LCBName:      "best confidence bound",
	next.LogEIName:    "expected improvement",
	next.LogNEIName:   "expected improvement",
	next.LogNEHVIName: "hypervolume improvement",
	next.ThompsonName: "Thompson sample",
}

// ruled names what settled a decision where that is not what is looked for.
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

// gistOf says in a few words what tells a decision to measure from others: what settled
// it, then what was expected of it alone. Empty where neither is known; the reason is then
// all there is.
func gistOf(d *events.DecisionMade) string {
	gist, known := ruled[d.Rule]
	if !known {
		gist = acquired[d.Policy.Next]
	}
	chosen := d.Candidate(d.Chosen)
	if gist == "" || chosen == nil {
		return gist
	}
	if d.Rule == policies.RuleAnswers && chosen.Informed != nil && chosen.Prediction != nil {
		gist += answered(chosen.Informed.Mean-chosen.Prediction.Mean, chosen.Prediction.SD)
	}
	if f := chosen.Feasible; f != nil && f.Probability < 0.995 { // else it is as good as certain
		gist += ", feasible P " + format.Fixed(f.Probability, 2)
	}
	return gist
}

// answered says by how much experts' answers change what is expected, where that is worth
// a word: sd is how well it was known without them.
func answered(by, sd float64) string {
	if math.Abs(by) < 0.1*sd {
		return " with answers"
	}
	sign := "+"
	if by < 0 {
		sign = "−"
	}
	return ", answers " + sign + format.Significant(math.Abs(by), 2)
}
