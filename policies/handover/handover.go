// Package handover decides whether the expert is asked at all: the campaign is
// handed over to the model as soon as the expert's answers no longer matter.
package handover

import (
	"github.com/campaignd/campaignd/events"
)

// Width asks where the belief is still wide (Xu et al. 2024, Alg. 1 line 8).
type Width struct {
	// Threshold is g_thr in logits, MaxPerExperiment the cap on questions
	// before one experiment.
	Threshold        float64
	MaxPerExperiment int
	// OnlyIfDecisive asks only where the answer could change the action, and Gate only while
	// the labels predict the measurements; with cobol the expert has to earn it first (see
	// [Schedule]).
	OnlyIfDecisive, Gate bool
}

// Verdict is the decision about an aided candidate.
type Verdict string

const (
	Ask      Verdict = "ask"            // put the question
	Sure     Verdict = "belief is sure" // run it unasked: the belief is narrow
	Accepted Verdict = "belief accepts" // run it unasked: the expert would accept
	Rejected Verdict = "belief rejects" // take the unaided candidate: the expert would reject
)

// Judge compares the belief's interval at the aided candidate with the rule.
func (w *Width) Judge(b events.Interval) (Verdict, []events.Test) {
	width := b.Upper - b.Lower
	wide := events.Test{Name: "handover: width of the belief against the threshold",
		Left: width, Relation: ">", Right: w.Threshold, Holds: width > w.Threshold}
	tests := []events.Test{wide}
	if !wide.Holds {
		return Sure, tests
	}
	if !w.OnlyIfDecisive {
		return Ask, tests
	}
	lower := events.Test{Name: "handover: the expert may accept (lower belief bound against 0)",
		Left: b.Lower, Relation: "<", Right: 0, Holds: b.Lower < 0}
	upper := events.Test{Name: "handover: the expert may reject (upper belief bound against 0)",
		Left: b.Upper, Relation: ">", Right: 0, Holds: b.Upper > 0}
	tests = append(tests, lower, upper)
	switch {
	case !lower.Holds:
		return Rejected, tests
	case !upper.Holds:
		return Accepted, tests
	}
	return Ask, tests
}

// Prior of the gate: the assumptions about an expert before their labels are compared with
// measurements. Slopes are logits per standard deviation of the objective.
const (
	gateSlope   = 1.0 // a good expert's
	gateSlopeSD = 1.0
	gateShiftSD = 2.0
	// gateOpen is the least posterior probability of a positive slope at which
	// the expert is still asked.
	gateOpen = 0.5
)

// OpenGate compares the expert's labels with the objective model's predictions at the labeled
// compositions, and reports whether the labels predict them.
//
// The labels are regressed on the standardized posterior mean (smaller is
// better): P(reject) = S(b₀ + b₁·mean), with normal priors on b₀ and b₁ and
// Laplace's approximation of the posterior. The gate is open while P(b₁ > 0) ≥
// ½: an expert whose rejections do not go with bad results closes it. sd are
// the posterior standard deviations: a mean the model does not know yet is
// shrunk by 1/(1 + sd²) and so teaches little.
func OpenGate(mean, sd []float64, reject []bool) (open bool, test events.Test) {
	r := regression{z: shrunk(mean, sd), yes: reject, shifted: true}
	test = events.Test{Name: "gate: probability that the expert's labels go with what is measured",
		Left: r.positive(), Relation: ">=", Right: gateOpen}
	test.Holds = test.Left >= gateOpen
	return test.Holds, test
}

// Choose puts two candidates to the expert (Adachi et al. 2024, Alg. 1).
type Choose struct {
	// Explain shows the basis of the models' predictions, Gate asks only while the choices
	// predict the measurements.
	Explain, Gate bool
}

// OpenChoice compares the expert's choices with the objective model's predictions for the
// compositions, and reports whether the choices predict them.
//
// mean[i] is the model's mean advantage of the chosen composition of choice i over the other,
// sd[i] its standard deviation. Choices are regressed on it as labels are in [OpenGate],
// without an intercept, since a choice has no side: P(choice) = S(b·z), z = mean/(1 + sd²). The
// gate is open while P(b > 0) ≥ ½.
func OpenChoice(mean, sd []float64) (open bool, test events.Test) {
	yes := make([]bool, len(mean))
	for i := range yes {
		yes[i] = true
	}
	r := regression{z: shrunk(mean, sd), yes: yes}
	test = events.Test{Name: "gate: probability that the expert's choices go with what is measured",
		Left: r.positive(), Relation: ">=", Right: gateOpen}
	test.Holds = test.Left >= gateOpen
	return test.Holds, test
}
