package seek

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/jet"
	"github.com/campaignd/campaignd/projections/quantity"
)

// informed moves a computed objective by the answers about the whole, which enter no model of a
// quantity: they are data of a model of its values. With the means and standard deviations of
// that model without the answers, μ₀ and σ₀, and with them, μ₁ and σ₁, in the user's units, the
// objective g of the quantities is taken to be
//
//	μ₁(x) + ρ(x)·(g − μ₀(x)),   ρ = σ₁/σ₀.
//
// An approximation: the answers are weighed by one model and change another. It is exact
// at each composition where g is affine and all models have the same hyperparameters, as
// both then say the same of g. The shift and ρ are parameters of the function.
type informed struct {
	without, with quantity.Predictor
	scale         composite.Scale
	least         float64 // standard deviation of a known value
	// of the point that was last read:
	shift, ratio   float64
	dShift, dRatio []float64

	dMean0, dSD0, dMean1, dSD1 []float64
}

// Informed returns the problem when a model of the values of a computed objective knows more
// than its measurements.
func (p *Problem) Informed(m *quantity.Model) *Problem {
	without := m.Uninformed()
	d := p.space.Dim()
	out := *p
	out.informed = &informed{
		without: without.NewPredictor(), with: m.NewPredictor(), scale: m.Scale(),
		least:  leastSD * math.Sqrt(m.Fit.OutputScale),
		dShift: make([]float64, d), dRatio: make([]float64, d),
		dMean0: make([]float64, d), dSD0: make([]float64, d), dMean1: make([]float64, d), dSD1: make([]float64, d),
	}
	at := len(p.Quantities) + p.problem.Parameters
	out.problem.Parameters += 2
	out.problem.Objective = &moved{Function: p.problem.Objective, shift: at, ratio: at + 1}
	return &out
}

// IsInformed reports whether answers about the whole move the objective.
func (p *Problem) IsInformed() bool { return p.informed != nil }

// read works the shift and the ratio out at a point of the unit cube.
func (t *informed) read(x []float64) {
	mean0, sd0 := t.without.PosteriorGrad(x, t.dMean0, t.dSD0)
	mean1, sd1 := t.with.PosteriorGrad(x, t.dMean1, t.dSD1)
	mean0, mean1 = t.scale.Center+float64(t.scale.Spread*mean0), t.scale.Center+float64(t.scale.Spread*mean1)
	known := !(sd0 > t.least)
	t.ratio = 1
	if !known {
		t.ratio = sd1 / sd0
	}
	t.shift = mean1 - float64(t.ratio*mean0)
	for j := range t.dShift {
		t.dRatio[j] = 0
		if !known {
			t.dRatio[j] = (t.dSD1[j] - float64(t.ratio*t.dSD0[j])) / sd0
		}
		t.dShift[j] = float64(t.scale.Spread*(t.dMean1[j]-float64(t.ratio*t.dMean0[j]))) - float64(t.dRatio[j]*mean0)
	}
}

// addGrad adds the contribution of derivatives by the shift and by the ratio, times a factor,
// at the point that was last read.
func (t *informed) addGrad(grad []float64, byShift, byRatio, factor float64) {
	for j := range grad {
		grad[j] += float64(factor * (float64(byShift*t.dShift[j]) + float64(byRatio*t.dRatio[j])))
	}
}

// moved is shift + ratio·f. It is a workspace.
type moved struct {
	composite.Function
	shift, ratio int // arguments

	space         *jet.Space
	product, both jet.Jet
}

// Value implements [composite.Function].
func (m *moved) Value(arguments []float64) float64 {
	return arguments[m.shift] + float64(arguments[m.ratio]*m.Function.Value(arguments))
}

// Uses implements [composite.Function].
func (m *moved) Uses(argument int) bool {
	return argument == m.shift || argument == m.ratio || m.Function.Uses(argument)
}

// Jet implements [composite.Function].
func (m *moved) Jet(s *jet.Space, arguments []jet.Jet) jet.Jet {
	if m.space != s {
		m.space = s
		m.product = s.New()
		m.both = s.New()
	}
	s.Mul(m.product, arguments[m.ratio], m.Function.Jet(s, arguments))
	s.Add(m.both, m.product, arguments[m.shift])
	return m.both
}
