package composite

import "github.com/campaignd/campaignd/internal/num/jet"

// Known returns a function of the parameters alone, which come after so many
// quantities among its arguments, as a function of the parameters with its
// gradient: where grad is not nil it is filled. It is a workspace: one goroutine
// uses it at a time.
func Known(f Function, quantities, parameters int) func(at, grad []float64) float64 {
	s := jet.NewSpace(0, parameters)
	jets := make([]jet.Jet, quantities+parameters)
	for i := range parameters {
		jets[quantities+i] = s.New()
	}
	arguments := make([]float64, quantities+parameters)
	return func(at, grad []float64) float64 {
		if grad == nil {
			copy(arguments[quantities:], at)
			return f.Value(arguments)
		}
		for i, x := range at {
			s.Linear(jets[quantities+i], i, x, 1)
		}
		j := f.Jet(s, jets)
		copy(grad, s.Gradient(j))
		return j.Value()
	}
}
