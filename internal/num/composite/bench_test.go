package composite_test

import (
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// bind returns a formula as a function.
func bind(t testing.TB, text string, arguments ...string) composite.Function {
	t.Helper()
	f := must.Get(formula.Parse(text))(t)
	return must.Get(f.Bind(arguments))(t)
}

// BenchmarkLogEI is one evaluation of the noisy expected improvement.
func BenchmarkLogEI(b *testing.B) {
	names := []string{"a", "b", "c", "d"}
	desired := must.Get(composite.NewDesirability([]composite.Goal{
		{Argument: 0, From: 0, To: 2, Weight: 2}, {Argument: 1, From: 1, To: 3}, {Argument: 2, From: 3, To: 1},
	}))(b)
	for _, c := range []struct {
		name        string
		objective   composite.Function
		constraints []composite.Function
	}{
		{"affine", bind(b, "2*a - 0.5*b + 1", names...), nil},
		{"ratio", bind(b, "a/sqrt(b)", names...), nil},
		{"ratio under a bound", bind(b, "a/sqrt(b)", names...), []composite.Function{bind(b, "b - 1.3", names...)}},
		{"product of four", bind(b, "a*b*sqrt(c)/d", names...), nil},
		{"desirability of three", desired, nil},
	} {
		for _, members := range []int{1, 64} {
			at := composite.Posterior{SDs: []float64{0.3, 0.4, 0.2, 0.5}}
			for range 4 {
				means := make([]float64, members)
				for s := range means {
					means[s] = 0.1 * float64(s%7)
				}
				at.Means = append(at.Means, means)
			}
			m := must.Get(composite.New(composite.Problem{
				Quantities: []composite.Scale{
					{Center: 1, Spread: 0.5}, {Spread: 0.3, Log: true}, {Center: 2, Spread: 0.4}, {Center: 1, Spread: 0.1},
				},
				Objective: c.objective, Constraints: c.constraints, Maximize: true,
			}, members))(b)
			best := make([]float64, members)
			for s := range best {
				best[s] = 1.5
			}
			b.Run(fmt.Sprintf("%s/members=%d/value", c.name, members), func(b *testing.B) {
				for b.Loop() {
					m.LogEI(at, best)
				}
			})
			var g composite.Gradient
			b.Run(fmt.Sprintf("%s/members=%d/gradient", c.name, members), func(b *testing.B) {
				for b.Loop() {
					m.LogEIGrad(at, best, &g)
				}
			})
		}
	}
}
