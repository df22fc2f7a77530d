package diagnose

import (
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// Triangle are the mixtures of three components; every other parameter is held. A mixture is three
// shares that sum to 1: 0 where a component's amount is its lower bound, and 1 where it takes
// everything above the lower bounds of the other two.
type Triangle struct {
	// Components are indices of parameters.
	Components [3]int
	// Low and High are the amounts at the shares 0 and 1, in the units of the
	// components.
	Low, High [3]float64

	frame  *Frame
	x      []float64
	coef   [3]float64 // of the sum
	amount float64    // the total of the three
}

// Mixtures are the components of the campaign's mixtures, as indices of parameters in their order:
// three or more numeric parameters with a fixed weighted sum, bound by no other equality.
func (f *Frame) Mixtures() (all [][]int) {
	for _, c := range f.def.Constraints {
		if components := f.components(c); len(components) >= 3 {
			all = append(all, components)
		}
	}
	return all
}

// components returns the components of a mixture; nil if a constraint describes none.
func (f *Frame) components(c definition.Constraint) (components []int) {
	if c.Equals == nil || f.shared(c) {
		return nil
	}
	for k, p := range f.def.Parameters {
		coef, in := c.Terms[p.Name]
		switch {
		case in && coef < 0:
			return nil
		case coef > 0 && f.Movable(k):
			components = append(components, k)
		}
	}
	return components
}

// Triangle returns the mixtures of three components of one mixture, through x, a point of the unit
// cube that is in the space. ok is false for other components, or if nothing is left for them to
// share.
func (f *Frame) Triangle(x []float64, components [3]int) (t Triangle, ok bool) {
	t = Triangle{Components: components, frame: f, x: x}
	for _, c := range f.def.Constraints {
		in := func(k int) bool { return slices.Contains(f.components(c), k) }
		if components[0] == components[1] || components[0] == components[2] || components[1] == components[2] ||
			!in(components[0]) || !in(components[1]) || !in(components[2]) {
			continue
		}
		rest := 0.0
		for i, k := range components {
			t.coef[i] = c.Terms[f.def.Parameters[k].Name]
			t.Low[i] = f.low[k]
			t.amount += t.coef[i] * f.Value(k, x)
			rest -= t.coef[i] * t.Low[i]
		}
		rest += t.amount
		for i := range components {
			t.High[i] = t.Low[i] + rest/t.coef[i]
		}
		return t, rest > 0
	}
	return t, false
}

// Weight is the coefficient of a component in the sum.
func (t Triangle) Weight(component int) float64 { return t.coef[component] }

// At is the point of the unit cube of a mixture.
func (t Triangle) At(shares [3]float64) []float64 {
	at := slices.Clone(t.x)
	for i, k := range t.Components {
		amount := t.Low[i] + shares[i]*(t.High[i]-t.Low[i])
		at[t.frame.at[k]] = (amount - t.frame.low[k]) / t.frame.scale[k]
	}
	return at
}

// Shares returns the shares of the three components at any point of the unit cube: in their ratio
// there. ok is false if it has none of them.
func (t Triangle) Shares(x []float64) (shares [3]float64, ok bool) {
	sum := 0.0
	for i, k := range t.Components {
		sum += t.coef[i] * t.frame.Value(k, x)
	}
	if !(sum > 0) {
		return shares, false
	}
	for i, k := range t.Components {
		amount := t.frame.Value(k, x) * t.amount / sum
		shares[i] = (amount - t.Low[i]) / (t.High[i] - t.Low[i])
	}
	return shares, true
}
