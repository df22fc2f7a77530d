package composite

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func bind(t *testing.T, text string, arguments ...string) Function {
	t.Helper()
	f := must.Get(formula.Parse(text))(t)
	return must.Get(f.Bind(arguments))(t)
}

// Law: the acquisition of a formula under constraints, of members, of quantities modelled by their
// logarithm, with parameters, has the value of its definition, and that one's derivatives. The
// reference was computed with 50 digits (testdata/gradients.py).
func TestAgainstHighPrecision(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/gradients.json"))(t)
	var o struct {
		Points [][]float64
		Scales []Scale
		Cases  []struct {
			Objective        string
			Maximize         bool
			Constraints      []string
			Best, SDs, BySDs []float64
			Means, ByMeans   [][]float64
			Parameter, Value float64
			ByParameter      float64
		}
	}
	must.Do(t, json.Unmarshal(data, &o))
	names := []string{"a", "b", "c", "p"}
	for _, c := range o.Cases {
		p := Problem{
			Quantities: o.Scales, Parameters: 1, Objective: bind(t, c.Objective, names...), Maximize: c.Maximize,
		}
		for _, text := range c.Constraints {
			p.Constraints = append(p.Constraints, bind(t, text, names...))
		}
		m := must.Get(New(p, len(c.Best)))(t)
		m.points, m.each = o.Points, len(o.Points)/len(c.Best)
		m.logs = m.logs[:len(o.Points)]
		same := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))) {
				t.Errorf("%s under %q: %s = %.17g, want %.17g", c.Objective, c.Constraints, what, got, want)
			}
		}
		var g Gradient
		at := Posterior{Means: c.Means, SDs: c.SDs, Parameters: []float64{c.Parameter}}
		value := m.LogEIGrad(at, c.Best, &g)
		same("value", value, c.Value)
		same("derivative by the parameter", g.Parameters[0], c.ByParameter)
		for k, byMeans := range c.ByMeans {
			same("derivative by a standard deviation", g.SDs[k], c.BySDs[k])
			for s, want := range byMeans {
				same("derivative by a mean", g.Means[k][s], want)
			}
		}
		if again := m.LogEI(at, c.Best); again != value {
			t.Errorf("%s: %v with derivatives, %v without", c.Objective, value, again)
		}
	}
}
