package policies

import (
	"github.com/campaignd/campaignd/events"
)

// Decision is a policy's decision: its record (events.DecisionMade) without identifier,
// sequence and build, which the engine adds, and the change of trust in the expert.
//
// A decision is made step by step: it is passed by value from one function to the next; each
// adds candidates and tests, until one sets its Action. So a caller's copy never changes, and a
// function that gives up has changed nothing.
type Decision struct {
	events.DecisionMade
	// Trust is nil where the trust in the expert does not move.
	Trust *events.TrustAdjusted
	// Explanation is shown to the expert who is asked, in sentences.
	Explanation string
	// Completed is set where Action is "stop".
	Completed *events.CampaignCompleted
}

// Made reports whether the decision has an action, so that nothing is left to
// decide.
func (d Decision) Made() bool { return d.Action != "" }

// Candidate returns the chosen candidate, nil where none is chosen yet. It
// points into d.
func (d Decision) Candidate() *events.Candidate {
	return d.DecisionMade.Candidate(d.Chosen)
}

// Run is the decision to measure a candidate, by a rule and for a reason in
// sentences.
func (d Decision) Run(candidate, rule, reason string) Decision {
	d.Action = events.ActionRun
	d.Chosen = candidate
	d.Rule = rule
	d.Reason = reason
	return d
}

// Ask is the decision to put a question to an expert. reason is recorded for
// those who look back; explanation is shown to the expert.
func (d Decision) Ask(form events.Form, expert, rule, reason, explanation string) Decision {
	d.Action = events.ActionAsk
	d.Form = form
	d.Expert = expert
	d.Rule = rule
	d.Reason, d.Explanation = reason, explanation
	return d
}

// Stop is the decision to complete the campaign; completed is one of the
// Completed constants of package events.
func (d Decision) Stop(rule string, completed, detail string) Decision {
	d.Action = events.ActionStop
	d.Rule = rule
	d.Reason = detail
	d.Completed = &events.CampaignCompleted{Reason: completed, Detail: detail}
	return d
}

// Names of candidates. They stand in recorded events and never change.
const (
	Unaided = "unaided" // x_u, the optimum of the acquisition alone
	Aided   = "aided"   // x_c, the optimum with the expert's belief
	Design  = "design"  // a point of a space-filling design
	Named   = "named"   // a composition of the expert's own, which nothing is weighed against
	Sampled = "sampled" // a sample of what the expert prefers
	Queried = "queried" // what an expert is asked about and is not run for that
	// Proposed is the candidate of a program that is the campaign's method.
	Proposed = "proposed"
)

// Rules that settle a decision. They stand in recorded events and never change.
const (
	RuleBudget      = "budget"        // stop: the budget of experiments is spent
	RuleTarget      = "target"        // stop: the target is reached
	RuleConverged   = "converged"     // stop: no further improvement
	RuleExhausted   = "exhausted"     // stop: nothing is left to measure
	RuleDesign      = "design"        // a design, or no model yet
	RuleUnaided     = "unaided"       // no expert's belief is used
	RuleRestart     = "restart"       // as unaided; nothing has improved for long, so the model expects more elsewhere
	RuleAccepted    = "accepted"      // the expert accepted the aided candidate
	RuleNoAnswer    = "no answer"     // the expert could not tell, or did not answer
	RuleCap         = "cap"           // enough questions before this experiment
	RuleLabelBudget = "label budget"  // no questions are left, of whatever form
	RuleGate        = "gate"          // the expert's answers do not go with the measurements
	RuleNoHarm      = "no harm"       // the aided candidate could do harm
	RuleAskedBefore = "asked before"  // the expert has already judged this composition
	RuleSure        = "belief sure"   // the belief is narrow: asking is unnecessary
	RuleAccepts     = "belief accept" // the expert would accept
	RuleRejects     = "belief reject" // the expert would reject
	RuleAsk         = "ask"           // the expert is asked
	RuleNever       = "never"         // the policy asks no one
	RuleChosen      = "chosen"        // the expert chose the candidate
	RuleAgree       = "agree"         // both candidates are the same
	RulePrior       = "prior"         // a sample of the expert's prior
	RulePinpointed  = "pinpointed"    // the expert named the composition
	RuleCompare     = "compare"       // the expert compares, nothing is measured
	RuleIdentified  = "identified"    // stop: every expert's best candidate is identified
	RuleNoBelief    = "no belief"     // the expert's belief has no usable model
)

// RuleAnswers settles a decision for the best composition once experts' answers
// are counted as measurements.
const RuleAnswers = "answers"

// Rules that settle the decisions of a campaign whose method is a program.
const (
	RuleProposed = "proposed" // the program proposed it
	RuleFallback = "fallback" // the program proposed nothing usable: the campaign's own choice
)

// Rules that settle the decisions of a campaign in which an expert has to earn
// trust, besides RuleGate.
const (
	RuleJudge      = "judge"        // the unaided candidate is put to the expert, to judge them
	RuleJudged     = "judged"       // it is run, whatever the expert said
	RuleModelsTurn = "model's turn" // the expert is trusted, but this experiment is the model's
	RuleHandedOver = "handed over"  // the rest of the campaign is the model's
)
