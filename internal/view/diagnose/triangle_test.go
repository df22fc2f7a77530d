package diagnose

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/space"
)

// Law: every mixture of a triangle sums to what the mixture does, its other components stay, a
// share of 0 is the lower bound of a component and of 1 all that those of the others leave, and
// what is measured is seen at its own shares.
func TestTriangle(t *testing.T) {
	def := mixture()
	def.Constraints[0].Terms["emc"] = 2 // counts twice
	s := must.Get(space.New(def))(t)
	f := NewFrame(&def, s)
	if got := f.Mixtures(); len(got) != 1 || len(got[0]) != 4 {
		t.Fatalf("the mixtures are %v", got)
	}
	points := must.Get(s.Sample(50, 7))(t)
	rapid.Check(t, func(t *rapid.T) {
		x := must.Get(s.Encode(rapid.SampledFrom(points).Draw(t, "point")))(t)
		of := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "components")
		held := of[3]
		tri, ok := f.Triangle(x, [3]int(of[:3]))
		if !ok {
			t.Fatal("no triangle")
		}
		a := rapid.Float64Range(0, 1).Draw(t, "a")
		b := (1 - a) * rapid.Float64Range(0, 1).Draw(t, "b")
		shares := [3]float64{a, b, 1 - a - b}
		y := tri.At(shares)
		sum := 0.0
		for k, p := range def.Parameters {
			sum += def.Constraints[0].Terms[p.Name] * f.Value(k, y)
		}
		if math.Abs(sum-1) > 1e-9 || y[held] != x[held] {
			t.Fatalf("%v sums to %g", y, sum)
		}
		back, ok := tri.Shares(y)
		for i, k := range tri.Components {
			if !ok || math.Abs(back[i]-shares[i]) > 1e-9 {
				t.Fatalf("%v is seen at %v", shares, back)
			}
			z := append([]float64(nil), y...) // less of all three: another one has made up for it
			for _, other := range tri.Components {
				z[f.at[other]] = (f.Value(other, y)*0.8 - f.low[other]) / f.scale[other]
			}
			if seen, ok := tri.Shares(z); !ok || math.Abs(seen[i]-shares[i]) > 1e-9 {
				t.Fatalf("in the same ratio %v is seen at %v", shares, seen)
			}
			var corner [3]float64
			corner[i] = 1
			if got := f.Value(k, tri.At(corner)); math.Abs(got-tri.High[i]) > 1e-9 {
				t.Fatalf("in its corner it is %g, not %g", got, tri.High[i])
			}
			if other := tri.Components[(i+1)%3]; math.Abs(f.Value(other, tri.At(corner))-*def.Parameters[other].Min) > 1e-9 {
				t.Fatal("in a corner another one is not at its bound")
			}
		}
	})
	if _, ok := f.Triangle(make([]float64, 4), [3]int{0, 1, 1}); ok {
		t.Error("a triangle of two components")
	}
}
