// Package handover decides whether the expert is asked at all: the campaign is
// handed over to the model as soon as the expert's answers no longer matter.
package handover

import (
	"math"

	"github.com/campaignd/campaignd/events"
)

// Width asks where the belief is still wide (Xu et al. 2024, Alg. 1 line 8).
type Width struct {
	// Threshold is g_thr in logits, MaxPerExperiment the cap on questions before
	// one experiment.
	Threshold        float64
	MaxPerExperiment int
	// OnlyIfDecisive asks only where the answer could change the action, and
	// Gate only while the labels predict what is measured; with cobol the expert
	// has to earn it first (see [Schedule]).
	OnlyIfDecisive, Gate bool
}

// Verdict says what to do with an aided candidate.
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

// Prior of the gate: what is assumed of an expert before their labels are
// compared with measurements. Slopes are logits per standard deviation of the objective.
const (
	gateSlope   = 1.0 // a good expert's
	gateSlopeSD = 1.0
	gateShiftSD = 2.0
	// gateOpen is the least posterior probability of a positive slope at which
	// the expert is still asked.
	gateOpen = 0.5
)

// OpenGate compares the expert's labels with what the objective model says at
// the labeled compositions, and reports whether the labels predict it.
//
// The labels are regressed on the standardized posterior mean (smaller is
// better): P(reject) = S(b₀ + b₁·mean), with normal priors on b₀ and b₁ and
// Laplace's approximation of the posterior. The gate is open while P(b₁ > 0) ≥
// ½: an expert whose rejections do not go with bad results closes it. sd are
// the posterior standard deviations: a mean the model does not know yet is
// shrunk by 1/(1 + sd²) and so teaches little.
func OpenGate(mean, sd []float64, reject []bool) (open bool, test events.Test) {
	b0, b1 := 0.0, gateSlope
	var h00, h01, h11 float64
	for range 50 {
		g0, g1 := -b0/(gateShiftSD*gateShiftSD), -(b1-gateSlope)/(gateSlopeSD*gateSlopeSD)
		h00 = 1 / (gateShiftSD * gateShiftSD)
		h01 = 0
		h11 = 1 / (gateSlopeSD * gateSlopeSD)
		for i := range mean {
			z := mean[i] / (1 + sd[i]*sd[i])
			p := 1 / (1 + math.Exp(-(b0 + b1*z)))
			r := -p
			if reject[i] {
				r = 1 - p
			}
			g0, g1 = g0+r, g1+r*z
			v := p * (1 - p)
			h00 = h00 + v
			h01 = h01 + v*z
			h11 = h11 + v*z*z
		}
		det := h00*h11 - h01*h01
		d0, d1 := (h11*g0-h01*g1)/det, (h00*g1-h01*g0)/det
		b0, b1 = b0+d0, b1+d1
		if math.Abs(d0)+math.Abs(d1) < 1e-12 {
			break
		}
	}
	slopeSD := math.Sqrt(h00 / (h00*h11 - h01*h01))
	probability := 0.5 * math.Erfc(-b1/slopeSD/math.Sqrt2)
	test = events.Test{Name: "gate: probability that the expert's labels go with what is measured",
		Left: probability, Relation: ">=", Right: gateOpen, Holds: probability >= gateOpen}
	return test.Holds, test
}

// Choose puts two candidates to the expert (Adachi et al. 2024, Alg. 1).
type Choose struct {
	// Explain shows what the models base their view on, Gate asks only while the
	// choices predict what is measured.
	Explain, Gate bool
}

// OpenChoice compares the expert's choices with what the objective model says
// of the compositions, and reports whether the choices predict it.
//
// mean[i] is by how much the model holds the chosen composition of choice i
// better than the other, sd[i] the standard deviation of that. Choices are
// regressed on it as labels are in [OpenGate], without an intercept, since a
// choice has no side: P(choice) = S(b·z), z = mean/(1 + sd²). The gate is open while
// P(b > 0) ≥ ½.
func OpenChoice(mean, sd []float64) (open bool, test events.Test) {
	b, curvature := gateSlope, 0.0
	for range 50 {
		gradient := -(b - gateSlope) / (gateSlopeSD * gateSlopeSD)
		curvature = 1 / (gateSlopeSD * gateSlopeSD)
		for i := range mean {
			z := mean[i] / (1 + sd[i]*sd[i])
			p := 1 / (1 + math.Exp(-b*z))
			gradient += (1 - p) * z
			curvature += p * (1 - p) * z * z
		}
		step := gradient / curvature
		b += step
		if math.Abs(step) < 1e-12 {
			break
		}
	}
	probability := 0.5 * math.Erfc(-b*math.Sqrt(curvature)/math.Sqrt2)
	test = events.Test{Name: "gate: probability that the expert's choices go with what is measured",
		Left: probability, Relation: ">=", Right: gateOpen, Holds: probability >= gateOpen}
	return test.Holds, test
}
