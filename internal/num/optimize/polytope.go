// Package optimize minimizes smooth functions over polytopes
//
//	{ x ∈ R^n : lower ≤ x ≤ upper, A x = b, C x ≤ d },
//
// the shape of every design space here: bounds, mixtures that sum to one,
// linear process limits.
//
// There is one method for all of them, sequential quadratic programming. With
// linear constraints it is simple and strong: the quadratic subproblem is exact
// in the constraints, every point between two feasible points is feasible, so a
// line search on the objective alone keeps every iterate inside (Nocedal and
// Wright 2006, §18.1 and §16). The subproblem is solved by the dual active-set
// method of Goldfarb and Idnani (1983), which also projects a point on the
// polytope and, for an empty one, names the constraints that conflict.
//
// Everything is deterministic: fixed order in every sum, ties broken by
// position, no clock and no goroutine. Sampling takes a seed.
package optimize

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Polytope states linear constraints on x ∈ R^n, n = len(Lower).
//
// Coordinates should be of like magnitude (the unit cube is ideal): tolerances
// are relative to the largest finite number among the bounds.
type Polytope struct {
	// Lower and Upper are the bounds, n numbers each; an infinite one bounds nothing. Equal bounds
	// fix a coordinate.
	Lower, Upper []float64
	// A x = B: one row of n coefficients and one number per equality.
	A [][]float64
	B []float64
	// C x ≤ D: one row of n coefficients and one number per inequality.
	C [][]float64
	D []float64
}

// Box returns the polytope that has only bounds.
func Box(lower, upper []float64) Polytope { return Polytope{Lower: lower, Upper: upper} }

// Kind tells the four kinds of constraints apart.
type Kind uint8

// The kinds, in the order in which a Polytope states them.
const (
	LowerBound Kind = iota
	UpperBound
	Equality
	Inequality
)

// Constraint names one constraint of a Polytope.
type Constraint struct {
	Kind  Kind
	Index int // the coordinate of a bound, the row of an equality or inequality
}

// String names the constraint by its position, counted from 0.
func (c Constraint) String() string {
	switch c.Kind {
	case LowerBound:
		return fmt.Sprintf("lower bound of x[%d]", c.Index)
	case UpperBound:
		return fmt.Sprintf("upper bound of x[%d]", c.Index)
	case Equality:
		return fmt.Sprintf("equality %d", c.Index)
	default:
		return fmt.Sprintf("inequality %d", c.Index)
	}
}

// InfeasibleError reports constraints that no point satisfies together.
type InfeasibleError struct {
	// Conflict is a minimal set of constraints that contradict each other (up to rounding), by kind
	// and index: without any one of them the others agree. There may be other such sets.
	Conflict []Constraint
}

func (e *InfeasibleError) Error() string {
	names := make([]string, len(e.Conflict))
	for i, c := range e.Conflict {
		names[i] = c.String()
	}
	return "no point satisfies these constraints together: " + strings.Join(names, ", ")
}

// ErrConstraint reports a bound, coefficient or right-hand side that is not a
// usable number.
var ErrConstraint = errors.New("bad constraint")

// feasTol is how far, relative to the region's scale, a point may violate a
// constraint (with a row of unit length) and still count as satisfying it; a
// contradiction smaller than conflictTol counts as rounding of the user's
// decimals.
const (
	feasTol     = 1e-13
	conflictTol = 1e-9
)

// Region is a non-empty polytope, prepared for searching. It is immutable and
// safe for concurrent use.
type Region struct {
	n     int
	box   Polytope     // the bounds, for clipping
	cons  []constraint // equalities first, redundant ones left out
	meq   int          // number of equalities among cons
	scale float64      // magnitude of the numbers, for tolerances
	size  float64      // a typical length in the region, for first steps
	slop  float64      // how far constraints that contradict each other by rounding only have to be violated
}

// constraint is normal·x ≥ rhs, or = rhs for an equality. The normal has unit
// length; that of a bound is sign·e_coord. Bounds are not stored as dense
// normals: most rows of a design space are bounds, and a dot product with one
// is a single number.
type constraint struct {
	id     Constraint
	coord  int // -1 where normal is dense
	sign   float64
	normal []float64
	rhs    float64
}

// dot is normal·x.
func (c *constraint) dot(x []float64) float64 {
	if c.coord >= 0 {
		return c.sign * x[c.coord]
	}
	return dot(c.normal, x)
}

// NewRegion checks the polytope and prepares it. It fails with ErrConstraint
// for a NaN or an infinite coefficient, and with an *InfeasibleError where
// nothing satisfies all constraints. Redundant constraints are welcome.
func NewRegion(p Polytope) (*Region, error) {
	n := len(p.Lower)
	if n == 0 || len(p.Upper) != n || len(p.A) != len(p.B) || len(p.C) != len(p.D) {
		panic("optimize: polytope has mismatched lengths or no dimension")
	}
	r := &Region{n: n}
	r.box.Lower = append([]float64(nil), p.Lower...)
	r.box.Upper = append([]float64(nil), p.Upper...)

	var ineq []constraint
	var width2 float64
	for j := range n {
		lo, up := p.Lower[j], p.Upper[j]
		if math.IsNaN(lo) || math.IsNaN(up) || math.IsInf(lo, 1) || math.IsInf(up, -1) {
			return nil, fmt.Errorf("%w: bounds [%v, %v] of x[%d]", ErrConstraint, lo, up, j)
		}
		if lo > up {
			return nil, &InfeasibleError{Conflict: []Constraint{{LowerBound, j}, {UpperBound, j}}}
		}
		loC := constraint{id: Constraint{LowerBound, j}, coord: j, sign: 1, rhs: lo}
		upC := constraint{id: Constraint{UpperBound, j}, coord: j, sign: -1, rhs: -up}
		if lo == up {
			r.cons = append(r.cons, loC)
			r.scale = max(r.scale, math.Abs(lo))
			continue
		}
		if !math.IsInf(lo, 0) {
			ineq = append(ineq, loC)
			r.scale = max(r.scale, math.Abs(lo))
		}
		if !math.IsInf(up, 0) {
			ineq = append(ineq, upC)
			r.scale = max(r.scale, math.Abs(up))
		}
		if w := up - lo; math.IsInf(w, 0) {
			width2++
		} else {
			width2 += w * w
		}
	}
	for i, row := range p.A {
		if err := r.addRow(&r.cons, Equality, i, row, p.B[i], 1); err != nil {
			return nil, err
		}
	}
	r.meq = len(r.cons)
	for i, row := range p.C {
		if err := r.addRow(&ineq, Inequality, i, row, p.D[i], -1); err != nil {
			return nil, err
		}
	}
	r.cons = append(r.cons, ineq...)
	if r.scale == 0 {
		r.scale = 1
	}
	r.size = math.Sqrt(width2)
	if r.size == 0 {
		r.size = r.scale
	}

	// One projection decides whether there is a point at all, and finds the
	// equalities that follow from others.
	s := newSolver(r)
	inside := make([]float64, n)
	if err := s.project(inside, inside); err != nil {
		return nil, err
	}
	r.slop = r.Violation(inside)
	keep := make([]constraint, 0, len(r.cons))
	meq := 0
	for i, c := range r.cons {
		if i < r.meq {
			if s.redundant[i] {
				continue
			}
			meq++
		}
		keep = append(keep, c)
	}
	r.cons, r.meq = keep, meq
	return r, nil
}

// addRow appends a constraint row·x = rhs or, for an inequality, row·x ≤ rhs to
// dst, with a normal of length 1 and the given sign. A row of zeros is left
// out, or contradicts itself.
func (r *Region) addRow(dst *[]constraint, kind Kind, i int, row []float64, rhs, sign float64) error {
	n := r.n
	if len(row) != n {
		panic(fmt.Sprintf("optimize: %v has %d coefficients, want %d", Constraint{kind, i}, len(row), n))
	}
	norm := math.Sqrt(dot(row, row))
	if math.IsNaN(norm) || math.IsInf(norm, 0) || math.IsNaN(rhs) || math.IsInf(rhs, 0) {
		return fmt.Errorf("%w: %v has coefficients %v and right-hand side %v",
			ErrConstraint, Constraint{kind, i}, row, rhs)
	}
	if norm == 0 { // 0 = b or 0 ≤ d: always true, or never
		if (kind == Equality && rhs != 0) || (kind == Inequality && rhs < 0) {
			return &InfeasibleError{Conflict: []Constraint{{kind, i}}}
		}
		return nil
	}
	c := constraint{id: Constraint{kind, i}, coord: -1, normal: make([]float64, n),
		rhs: sign * rhs / norm}
	for j, v := range row {
		c.normal[j] = sign * v / norm
	}
	r.scale = max(r.scale, math.Abs(c.rhs))
	*dst = append(*dst, c)
	return nil
}

// Dim returns n.
func (r *Region) Dim() int { return r.n }

// Violation returns the largest violation of any constraint at x, each row
// scaled to unit length; 0 if x is in the region, NaN if x has one.
func (r *Region) Violation(x []float64) float64 {
	r.check(x)
	var worst float64
	for i := range r.cons {
		c := &r.cons[i]
		v := c.rhs - c.dot(x)
		if i < r.meq {
			v = math.Abs(v)
		}
		if math.IsNaN(v) {
			return v
		}
		worst = max(worst, v)
	}
	return worst
}

// Project sets dst to the point of the region nearest to x in Euclidean
// distance. dst and x may be the same slice. The result satisfies bounds
// exactly and the other constraints to about 1e-15 of the region's scale. It
// fails with ErrConstraint if x is not finite.
func (r *Region) Project(dst, x []float64) error {
	return newSolver(r).project(dst, x)
}

// check panics on a point of another dimension: a mistake of the program.
func (r *Region) check(x []float64) {
	if len(x) != r.n {
		panic(fmt.Sprintf("optimize: point has %d coordinates, the region %d", len(x), r.n))
	}
}

// clip moves x, which violates bounds by rounding only, inside them exactly.
// Without this a mixture could end at −1e-17, which is outside its bounds.
func (r *Region) clip(x []float64) {
	for j := range x {
		x[j] = min(max(x[j], r.box.Lower[j]), r.box.Upper[j])
	}
}

// dot adds in the order of the coordinates, which is part of the result's bits.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s float64
	for i, v := range x {
		s += v * y[i]
	}
	return s
}
