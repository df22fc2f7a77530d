// Package trust lets an expert's belief bend the choice of the next
// composition, and refuses the bent choice where it could do harm.
package trust

import (
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
)

// COBOL is the primal-dual rule of Xu et al. 2024 (Alg. 1): the aided candidate
// minimises f̲(x) + λ·g̲(x), where g̲ is the lower bound of the expert's rejection
// score and λ the dual variable of the constraint g̲(x) ≤ 0.
type COBOL struct {
	// Lambda0 is λ at first, Zeta the step of λ, Eta the trust weight η.
	Lambda0, Zeta, Eta float64
}

// New returns the rule a definition names; nil for none.
func New(t definition.Trust) *COBOL {
	if t.COBOL == nil {
		return nil
	}
	return &COBOL{Lambda0: *t.COBOL.Lambda0, Zeta: *t.COBOL.Zeta, Eta: *t.COBOL.Eta}
}

// Acquisition returns f̲ + λ·g̲ for the objective's part f̲ (Xu et al. 2024,
// Prob. 5). A belief bound that could not be solved makes the function
// undefined (+Inf) there, so that a search does not go there; failed receives the error.
func (c *COBOL) Acquisition(objective next.Acquisition, b *belief.Model, lambda float64, failed *error) next.Acquisition {
	if lambda == 0 {
		return objective
	}
	var dBelief []float64
	return func(x, grad []float64) float64 {
		value := objective(x, grad)
		if grad != nil && dBelief == nil {
			dBelief = make([]float64, len(x))
		}
		bound, err := b.Lower(x, scratch(grad, dBelief))
		if err != nil {
			*failed = err
			return math.Inf(1)
		}
		for i := range grad {
			grad[i] += lambda * dBelief[i]
		}
		return value + lambda*bound
	}
}

// scratch passes the buffer on only where a gradient is wanted.
func scratch(grad, buffer []float64) []float64 {
	if grad == nil {
		return nil
	}
	return buffer
}

// Step returns the dual variable after an aided candidate with the lower
// belief bound g̲: λ ← max(0, λ + ζ·g̲) (Xu et al. 2024, §4).
func (c *COBOL) Step(lambda, bound float64) float64 { return max(0, lambda+c.Zeta*bound) }

// DefaultEta is η where a rule has no setting for it (Xu et al. 2024, Table 3).
const DefaultEta = 3.0

// Optimism widens the confidence bound of the aided candidate, in its search and
// in the no-harm test, for an expert who has earned it: f̲ = μ − 3βσ. With β = 1
// a campaign that has settled in a basin holds nothing else possible: the
// first no-harm test fails wherever an expert could help, and one who was
// followed only from the eleventh of 50 experiments on changed next to nothing, on
// Ackley 4 as on Hölder's table (docs/results.md).
const Optimism = 3

// NoHarmPrefix begins the names of the tests of [NoHarm].
const NoHarmPrefix = "no harm: "

// NoHarm compares the aided with the unaided candidate (Xu et al. 2024, Alg. 1
// line 6): the aided one must possibly be better than the optimum is in the
// worst case, and the model must not be more than η times as sure of it.
//
// optimistic is f̲ at the aided candidate, worst is min f̄ over the space, and
// the standard deviations are the objective's; all standardised. eta is η.
func NoHarm(optimistic, worst, sdUnaided, sdAided, eta float64) []events.Test {
	return []events.Test{
		{Name: NoHarmPrefix + "optimistic bound of the aided candidate against the least pessimistic bound",
			Left: optimistic, Relation: "<=", Right: worst, Holds: optimistic <= worst},
		{Name: NoHarmPrefix + "sd of the unaided candidate against eta times sd of the aided one",
			Left: sdUnaided, Relation: "<=", Right: eta * sdAided, Holds: sdUnaided <= eta*sdAided},
	}
}
