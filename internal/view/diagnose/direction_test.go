package diagnose

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events/definition"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/space"
)

func pointer[T any](x T) *T { return &x }

// mixture is the space of four components that sum to one.
func mixture() definition.Campaign {
	fraction := func(name string, low, high float64) definition.Parameter {
		return definition.Parameter{Name: name, Unit: "kg/kg", Min: &low, Max: &high}
	}
	return definition.Campaign{
		Parameters: []definition.Parameter{fraction("ec", 0.1, 0.6), fraction("dmc", 0, 0.8),
			fraction("emc", 0, 0.8), fraction("fec", 0, 0.15)},
		Constraints: []definition.Constraint{
			{Terms: map[string]float64{"ec": 1, "dmc": 1, "emc": 1, "fec": 1}, Equals: pointer(1.0)},
			{Terms: map[string]float64{"ec": 1, "fec": 1}, AtMost: pointer(0.55)},
		},
	}
}

// In a mixture, whatever is varied, the components go on summing to one, those
// not varied keep their ratio, and the reach ends where a bound or a constraint
// holds with equality.
func TestMixtureDirections(t *testing.T) {
	def := mixture()
	s := must.Get(space.New(def))(t)
	f := NewFrame(&def, s)
	points := must.Get(s.Sample(200, 7))(t)
	rapid.Check(t, func(t *rapid.T) {
		x := must.Get(s.Encode(points[rapid.IntRange(0, len(points)-1).Draw(t, "point")]))(t)
		i := rapid.IntRange(0, 3).Draw(t, "varied")
		var fixed []int
		if j := rapid.IntRange(0, 3).Draw(t, "fixed"); j != i {
			fixed = append(fixed, j)
		}
		dir, how, ok := f.Direction(x, i, fixed...)
		if !ok || how != Proportionally {
			t.Fatalf("no mixture direction along %d", i)
		}
		from, to := f.Reach(x, dir)
		if from > 0 || to < 0 {
			t.Fatalf("the reach is %v to %v", from, to)
		}
		for _, step := range []float64{from, 0.3 * from, 0.7 * to, to} {
			y := Along(x, dir, step)
			if !f.Feasible(y) {
				t.Fatalf("%v is outside at step %v", y, step)
			}
			sum := 0.0
			ratio := math.NaN()
			for k := range def.Parameters {
				sum += f.Value(k, y)
				switch {
				case slices.Contains(fixed, k):
					if y[k] != x[k] {
						t.Fatalf("the fixed parameter %d moved", k)
					}
				case k != i && f.Value(k, x) > 1e-6:
					r := f.Value(k, y) / f.Value(k, x)
					if !math.IsNaN(ratio) && math.Abs(r-ratio) > 1e-6 {
						t.Fatalf("the ratio of the others changed: %v and %v", r, ratio)
					}
					ratio = r
				}
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("the components sum to %v", sum)
			}
		}
		if f.Feasible(Along(x, dir, to+1e-4)) || f.Feasible(Along(x, dir, from-1e-4)) {
			t.Fatalf("one can go beyond %v to %v", from, to)
		}
	})
}

// Under two equalities that share a parameter the direction keeps both, and
// where they fix everything there is none.
func TestLeastDirection(t *testing.T) {
	def := mixture()
	def.Constraints[1] = definition.Constraint{
		Name:   "balance",
		Terms:  map[string]float64{"ec": 1, "dmc": -1},
		Equals: pointer(0.0),
	}
	s := must.Get(space.New(def))(t)
	f := NewFrame(&def, s)
	points := must.Get(s.Sample(1, 3))(t)
	x := must.Get(s.Encode(points[0]))(t)
	dir, how, ok := f.Direction(x, 0)
	if !ok || how != Least {
		t.Fatalf("no direction of least length")
	}
	y := Along(x, dir, 0.01)
	if sum := f.Value(0, y) + f.Value(1, y) + f.Value(2, y) + f.Value(3, y); math.Abs(sum-1) > 1e-9 ||
		math.Abs(f.Value(0, y)-f.Value(1, y)) > 1e-9 {
		t.Errorf("the constraints do not hold at %v", y)
	}
	if _, _, ok := f.Direction(x, 0, 1); ok {
		t.Error("ec was varied with dmc fixed, though they must be equal")
	}
}
