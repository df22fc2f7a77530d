package optimize

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var inf = math.Inf(1)

func mustRegion(t testing.TB, p Polytope) *Region {
	t.Helper()
	return must.Get(NewRegion(p))(t)
}

func constant(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// TestProjectKnown compares projections with answers worked out by hand.
func TestProjectKnown(t *testing.T) {
	third := 1.0 / 3
	for _, c := range []struct {
		name    string
		p       Polytope
		x, want []float64
	}{
		{"box", Box([]float64{0, 0}, []float64{1, 1}), []float64{2, -3}, []float64{1, 0}},
		{"inside stays", Box([]float64{0, 0}, []float64{1, 1}), []float64{.3, .4}, []float64{.3, .4}},
		{"simplex from the origin",
			Polytope{Lower: constant(3, 0), Upper: constant(3, 1), A: [][]float64{{1, 1, 1}}, B: []float64{1}},
			[]float64{0, 0, 0}, []float64{third, third, third}},
		{"simplex vertex",
			Polytope{Lower: constant(3, 0), Upper: constant(3, 1), A: [][]float64{{1, 1, 1}}, B: []float64{1}},
			[]float64{5, 0, -5}, []float64{1, 0, 0}},
		{"half plane without bounds",
			Polytope{Lower: constant(2, -inf), Upper: constant(2, inf), C: [][]float64{{3, 4}}, D: []float64{5}},
			[]float64{3, 4}, []float64{.6, .8}},
		{"fixed coordinate",
			Polytope{Lower: []float64{.5, 0}, Upper: []float64{.5, 1}, C: [][]float64{{1, 1}}, D: []float64{1}},
			[]float64{0, 2}, []float64{.5, .5}},
		{"the same equality thrice", Polytope{Lower: constant(2, 0), Upper: constant(2, 1),
			A: [][]float64{{1, 1}, {2, 2}, {-1, -1}}, B: []float64{1, 2, -1}}, []float64{1, 1}, []float64{.5, .5}},
		{"an equality as two inequalities", Polytope{Lower: constant(2, 0), Upper: constant(2, 1),
			C: [][]float64{{1, 1}, {-1, -1}}, D: []float64{1, -1}}, []float64{1, 1}, []float64{.5, .5}},
		{"a single point",
			Polytope{Lower: constant(2, 0), Upper: constant(2, 1), C: [][]float64{{1, 1}}, D: []float64{0}},
			[]float64{1, 1}, []float64{0, 0}},
		{"a vertex where four constraints meet", Polytope{Lower: constant(2, 0), Upper: constant(2, 1),
			C: [][]float64{{1, 1}, {1, 2}}, D: []float64{2, 3}}, []float64{7, 8}, []float64{1, 1}},
	} {
		r := mustRegion(t, c.p)
		got := make([]float64, len(c.x))
		must.Do(t, r.Project(got, c.x))
		for j := range got {
			if math.Abs(got[j]-c.want[j]) > 1e-15 {
				t.Errorf("%s: projection of %v is %v, want %v", c.name, c.x, got, c.want)
				break
			}
		}
	}
}

// TestInfeasibleNamesTheConflict: the error holds exactly the constraints that contradict each
// other.
func TestInfeasibleNamesTheConflict(t *testing.T) {
	box3 := func(p Polytope) Polytope { p.Lower, p.Upper = constant(3, 0), constant(3, 1); return p }
	for _, c := range []struct {
		name string
		p    Polytope
		want []Constraint
	}{
		{"crossed bounds", Box([]float64{0, 2}, []float64{1, 1}), []Constraint{{LowerBound, 1}, {UpperBound, 1}}},
		{"mixture whose upper bounds sum to less than one",
			Polytope{Lower: constant(3, 0), Upper: []float64{.3, .3, .3}, A: [][]float64{{1, 1, 1}}, B: []float64{1}},
			[]Constraint{{UpperBound, 0}, {UpperBound, 1}, {UpperBound, 2}, {Equality, 0}}},
		{"contradicting equalities", box3(Polytope{A: [][]float64{{1, 0, 0}, {1, 1, 1}, {2, 2, 2}}, B: []float64{.5, 1, 3}}),
			[]Constraint{{Equality, 1}, {Equality, 2}}},
		{"contradicting inequalities, a third is innocent",
			box3(Polytope{C: [][]float64{{1, 1, 0}, {0, 0, 1}, {-1, -1, 0}}, D: []float64{.5, .5, -.6}}),
			[]Constraint{{Inequality, 0}, {Inequality, 2}}},
		{"fixed coordinate against an inequality",
			Polytope{Lower: []float64{.5, 0}, Upper: []float64{.5, 1}, C: [][]float64{{1, 0}}, D: []float64{.4}},
			[]Constraint{{LowerBound, 0}, {UpperBound, 0}, {Inequality, 0}}},
		{"an empty row that asks for something",
			box3(Polytope{C: [][]float64{{0, 0, 0}}, D: []float64{-1}}), []Constraint{{Inequality, 0}}},
	} {
		_, err := NewRegion(c.p)
		var e *InfeasibleError
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v", c.name, err)
			continue
		}
		if !slices.Equal(e.Conflict, c.want) {
			t.Errorf("%s: conflict %v, want %v", c.name, e.Conflict, c.want)
		}
	}
	if _, err := NewRegion(Box([]float64{math.NaN()}, []float64{1})); !errors.Is(err, ErrConstraint) {
		t.Errorf("a NaN bound: %v", err)
	}
}

// TestDecimalsThatDoNotAddUp: bounds that meet a mixture's sum only up to the rounding of decimals
// are no contradiction.
func TestDecimalsThatDoNotAddUp(t *testing.T) {
	r := mustRegion(t, Polytope{
		Lower: []float64{.1, .2, .7},
		Upper: constant(3, 1),
		A:     [][]float64{{1, 1, 1}},
		B:     []float64{1},
	})
	x := make([]float64, 3)
	must.Do(t, r.Project(x, constant(3, .5)))
	if v := r.Violation(x); v > 1e-15 {
		t.Errorf("x = %v violates by %v", x, v)
	}
}

// drawPolytope draws a polytope that holds a known point z: random rows, some redundant, right-hand
// sides from z.
func drawPolytope(t *rapid.T) (Polytope, []float64) {
	n := rapid.IntRange(1, 7).Draw(t, "n")
	unit := rapid.Float64Range(0, 1)
	z := rapid.SliceOfN(unit, n, n).Draw(t, "z")
	p := Box(constant(n, 0), constant(n, 1))
	for j := range z {
		switch rapid.IntRange(0, 9).Draw(t, "bound") {
		case 0:
			p.Lower[j], p.Upper[j] = z[j], z[j]
		case 1:
			p.Lower[j] = z[j] // z on its bound
		case 2:
			p.Upper[j] = inf
		}
	}
	row := rapid.SliceOfN(rapid.SampledFrom([]float64{-2, -1, -0.5, 0, 0, 1, 1, 3}), n, n)
	for range rapid.IntRange(0, min(2, n-1)).Draw(t, "equalities") {
		a := row.Draw(t, "a")
		p.A, p.B = append(p.A, a), append(p.B, dot(a, z))
	}
	for range rapid.IntRange(0, 4).Draw(t, "inequalities") {
		c := row.Draw(t, "c")
		room := rapid.SampledFrom([]float64{0, 0, 0.1, 1}).Draw(t, "room") // 0: z on its face
		p.C, p.D = append(p.C, c), append(p.D, dot(c, z)+room)
	}
	return p, z
}

// TestProjectionIsNearest: the projection lies in the region, bounds exactly, and satisfies the
// variational inequality (x − Px)·(z − Px) ≤ 0 for the known point z of the region, which
// characterizes the nearest point.
func TestProjectionIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, z := drawPolytope(t)
		r, err := NewRegion(p)
		if err != nil {
			t.Fatalf("a polytope with a point in it is refused: %v", err)
		}
		n := len(z)
		x := rapid.SliceOfN(rapid.Float64Range(-2, 3), n, n).Draw(t, "x")
		y := make([]float64, n)
		must.Do(t, r.Project(y, x))
		if v := r.Violation(y); v > 1e-12 {
			t.Fatalf("violation %v", v)
		}
		var inner float64
		for j := range y {
			if y[j] < p.Lower[j] || y[j] > p.Upper[j] {
				t.Fatalf("y[%d] = %v leaves [%v, %v]", j, y[j], p.Lower[j], p.Upper[j])
			}
			inner += (x[j] - y[j]) * (z[j] - y[j])
		}
		if inner > 1e-9 {
			t.Fatalf("%v is not the nearest point to %v: z = %v lies on the near side by %v", y, x, z, inner)
		}
		// Projecting twice changes nothing but rounding.
		again := make([]float64, n)
		must.Do(t, r.Project(again, y))
		for j := range y {
			if math.Abs(again[j]-y[j]) > 1e-12 {
				t.Fatalf("projecting twice moves %v to %v", y, again)
			}
		}
	})
}
