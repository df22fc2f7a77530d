// Package trust determines how far an expert is trusted: their belief's term in an acquisition,
// whether the composition it leads to could do harm, and the evidence from their labels so far.
package trust

import (
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
)

// COBOL is the primal-dual rule of Xu et al. 2024 (Alg. 1): the aided candidate
// minimizes f̲(x) + λ·g̲(x), where g̲ is the lower bound of the expert's
// rejection score and λ the dual variable of the constraint g̲(x) ≤ 0.
type COBOL struct {
	// Lambda0 is the initial λ, Zeta the step of λ, Eta the trust weight η.
	Lambda0, Zeta, Eta float64
}

// Augmented is an acquisition to which an expert's belief adds a term. Where a
// bound of the belief could not be solved it is +Inf, so that a search does not
// go there.
type Augmented struct {
	at  next.Acquisition
	err error
}

// At is the acquisition.
func (a *Augmented) At(x, grad []float64) float64 { return a.at(x, grad) }

// Err returns the error of the last bound that could not be solved, nil where
// all could.
func (a *Augmented) Err() error { return a.err }

// augment adds a term of the belief's lower bound g̲ to an acquisition: term
// returns its value and its derivative by g̲.
func augment(
	objective next.Acquisition, b *belief.Model, term func(bound float64) (value, slope float64),
) *Augmented {
	a := new(Augmented)
	var dBelief []float64
	a.at = func(x, grad []float64) float64 {
		value := objective(x, grad)
		if grad != nil && dBelief == nil {
			dBelief = make([]float64, len(x))
		}
		bound, err := b.Lower(x, scratch(grad, dBelief))
		if err != nil {
			a.err = err
			return math.Inf(1)
		}
		added, slope := term(bound)
		if slope != 0 {
			for i := range grad {
				grad[i] += slope * dBelief[i]
			}
		}
		return value + added
	}
	return a
}

// Augment returns f̲ + λ·g̲ for the objective's part f̲ (Xu et al. 2024, Prob.
// 5).
func (c *COBOL) Augment(objective next.Acquisition, b *belief.Model, lambda float64) *Augmented {
	if lambda == 0 {
		return &Augmented{at: objective}
	}
	return augment(objective, b, func(bound float64) (value, slope float64) { return lambda * bound, lambda })
}

// scratch passes the buffer on only where a gradient is wanted.
func scratch(grad, buffer []float64) []float64 {
	if grad == nil {
		return nil
	}
	return buffer
}

// Step returns the dual variable after an aided candidate with the lower belief
// bound g̲: λ ← max(0, λ + ζ·g̲) (Xu et al. 2024, §4).
func (c *COBOL) Step(lambda, bound float64) float64 { return max(0, lambda+c.Zeta*bound) }

// DefaultEta is η where a rule has no setting for it (Xu et al. 2024, Table 3).
const DefaultEta = 3.0

// Optimism widens the confidence bound of the aided candidate, in its search
// and in the no-harm test, for an expert who has earned it: f̲ = μ − 3βσ. With
// β = 1 a campaign that has settled in a basin considers nothing else possible:
// the first no-harm test fails wherever an expert could help, and one who was
// followed only from the eleventh of 50 experiments on changed next to nothing,
// on Ackley 4 as on Hölder's table (docs/results-journal.md).
const Optimism = 3

// NoHarmPrefix begins the names of the tests of [NoHarm].
const NoHarmPrefix = "no harm: "

// NoHarm compares the aided with the unaided candidate (Xu et al. 2024, Alg. 1
// line 6): the aided one must possibly be better than the optimum is in the
// worst case, and the model must not be more than η times as sure of it.
//
// optimistic is f̲ at the aided candidate, worst is min f̄ over the space, and
// the standard deviations are the objective's; all standardized. eta is η.
func NoHarm(optimistic, worst, sdUnaided, sdAided, eta float64) []events.Test {
	return []events.Test{
		{Name: NoHarmPrefix + "optimistic bound of the aided candidate against the least pessimistic bound",
			Left: optimistic, Relation: "<=", Right: worst, Holds: optimistic <= worst},
		{Name: NoHarmPrefix + "sd of the unaided candidate against eta times sd of the aided one",
			Left: sdUnaided, Relation: "<=", Right: eta * sdAided, Holds: sdUnaided <= eta*sdAided},
	}
}

// FirstFailed names the comparison of the first test of [NoHarm] that does not hold, empty if
// all hold.
func FirstFailed(tests []events.Test) string {
	for _, t := range tests {
		if name, ours := strings.CutPrefix(t.Name, NoHarmPrefix); ours && !t.Holds {
			return name
		}
	}
	return ""
}
