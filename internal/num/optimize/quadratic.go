package optimize

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// errSubproblem reports a quadratic program that rounding kept from being
// solved; the caller resets its Hessian.
var errSubproblem = errors.New("quadratic subproblem could not be solved")

// solver holds the workspace of the dual active-set method of Goldfarb and
// Idnani (Mathematical Programming 27, 1983, §3–4) for
//
//	minimize ½ pᵀHp + gᵀp   subject to   normal_i·(x + p) = rhs_i (i < meq),  ≥ rhs_i (others),
//
// with H positive definite. It starts from the unconstrained minimum and adds
// violated constraints one at a time, keeping the multipliers of the active
// ones non-negative; so it needs no feasible start, and where it cannot go on
// it holds a proof that the constraints contradict each other.
type solver struct {
	r *Region
	n int

	p       []float64 // the step, the solution
	u       []float64 // multipliers of active
	active  []int     // constraint indices in the order of R's columns
	flipped []bool    // active[k] is an equality used as -normal·x = -rhs

	// With N the active normals and H = LLᵀ: Jᵀ N = [R; 0]. jt holds Jᵀ by
	// rows; R is upper triangular, column k at rt[k*n:], so that both are
	// walked along memory.
	jt, rt  []float64
	d, z, w []float64

	inactive  []bool // by constraint: may still be added
	redundant []bool // by constraint: dependent on the active ones and consistent with them
	slack     []float64
	scale     float64 // magnitude of the numbers at hand, for tolerances
	conflicts float64 // a contradiction below this, relative to scale, is overlooked
}

// All memory is made here: a search solves hundreds of these.
func newSolver(r *Region) *solver {
	n, m := r.n, len(r.cons)
	return &solver{
		r: r, n: n,
		p: make([]float64, n), u: make([]float64, n+1),
		active: make([]int, 0, n+1), flipped: make([]bool, n+1),
		jt: make([]float64, n*n), rt: make([]float64, n*n),
		d: make([]float64, n), z: make([]float64, n), w: make([]float64, n),
		inactive: make([]bool, m), redundant: make([]bool, m), slack: make([]float64, m),
		conflicts: conflictTol,
	}
}

// project is Region.Project. The second pass, from a point that is feasible but
// for rounding, removes the rounding.
func (s *solver) project(dst, x []float64) error {
	s.r.check(x)
	s.r.check(dst)
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: the point %v is not finite", ErrConstraint, x)
		}
	}
	copy(dst, x)
	identity := make([]float64, s.n*s.n)
	for i := range s.n {
		identity[i*s.n+i] = 1
	}
	zero := make([]float64, s.n)
	for range 2 {
		if err := s.solve(identity, zero, dst); err != nil {
			return err
		}
		s.advance(dst, dst, 1)
	}
	return nil
}

// advance sets dst = x + t·p. A full step lands exactly on the bounds that are
// active.
func (s *solver) advance(dst, x []float64, t float64) {
	for j, v := range s.p {
		dst[j] = x[j] + t*v
	}
	if t == 1 {
		for _, i := range s.active {
			if c := &s.r.cons[i]; c.coord >= 0 {
				dst[c.coord] = c.sign * c.rhs
			}
		}
	}
	s.r.clip(dst)
}

// solve finds the step p from x for the Hessian h (n×n row-major, lower
// triangle read) and the gradient g. It fails with an *InfeasibleError, or
// errSubproblem if h is not numerically positive definite or rounding makes the
// method cycle. Where nothing is violated any more the step is refined once,
// and looked at again. 50 rounds for each variable and constraint are far more
// than ever needed; past them the method cycles.
func (s *solver) solve(h, g, x []float64) error {
	n := s.n
	if !s.factor(h) {
		return errSubproblem
	}
	s.active = s.active[:0]
	s.scale = s.r.scale
	for _, v := range x {
		s.scale = max(s.scale, math.Abs(v))
	}
	for i := range s.r.cons {
		c := &s.r.cons[i]
		s.slack[i] = c.rhs - c.dot(x)
		s.inactive[i], s.redundant[i] = true, false
	}
	// p = -H⁻¹g = -J Jᵀ g.
	clear(s.p)
	for k := range n {
		row := s.jt[k*n : k*n+n]
		axpy(s.p, -dot(row, g), row)
	}
	limit := 50 * (n + len(s.r.cons))
	refined := false
	for range limit {
		i := s.mostViolated(x)
		if i < 0 {
			if refined {
				return nil
			}
			s.refine()
			refined = true
			continue
		}
		refined = false
		if err := s.add(i); err != nil {
			return err
		}
	}
	return errSubproblem
}

// factor sets jt = L⁻¹ for h = LLᵀ (so that J = L⁻ᵀ) and reports whether h is positive definite.
// Rounding leaves 1e-14 of the diagonal of a pivot that is 0.
func (s *solver) factor(h []float64) bool {
	n, l := s.n, s.rt // R is not needed before the first constraint
	for i := range n {
		for j := 0; j <= i; j++ {
			v := h[i*n+j] - dot(l[i*n:i*n+j], l[j*n:j*n+j])
			if i > j {
				l[i*n+j] = v / l[j*n+j]
				continue
			}
			if !(v > 1e-14*math.Abs(h[i*n+i])) || math.IsInf(v, 0) {
				return false
			}
			l[i*n+i] = math.Sqrt(v)
		}
	}
	clear(s.jt)
	for i := range n {
		row := s.jt[i*n : i*n+n]
		for k := range i {
			axpy(row, -l[i*n+k], s.jt[k*n:k*n+n])
		}
		row[i] = 1
		for j := 0; j <= i; j++ {
			row[j] /= l[i*n+i]
		}
	}
	return true
}

// mostViolated returns the next equality, then the inequality most violated at x + p, or -1 if none
// is left. Equalities come first and stay active for good, so that their multipliers may have
// either sign.
func (s *solver) mostViolated(x []float64) int {
	for i := range s.r.meq {
		if s.inactive[i] {
			return i
		}
	}
	worst, at := feasTol*s.scale, -1
	for i := s.r.meq; i < len(s.r.cons); i++ {
		if !s.inactive[i] {
			continue
		}
		if v := s.slack[i] - s.r.cons[i].dot(s.p); v > worst {
			worst, at = v, i
		}
	}
	return at
}

// add makes constraint i active, dropping active inequalities whose multiplier
// would turn negative. t1 is the longest step that the duals allow, t2 the one
// that reaches the constraint; the shorter is taken, and where it is t1 the
// constraint that stops it is dropped (Goldfarb and Idnani 1983, §3).
func (s *solver) add(i int) error {
	n, c := s.n, &s.r.cons[i]
	violation := s.slack[i] - c.dot(s.p)
	sign := 1.0
	if i < s.r.meq && violation < 0 {
		sign, violation = -1, -violation
	}
	var mult float64
	for range 2*n + 2 {
		q := len(s.active)
		// d = Jᵀ·normal; the primal step direction z = J₂d₂; in w the dual one R⁻¹d₁.
		for k := range n {
			if c.coord >= 0 {
				s.d[k] = sign * c.sign * s.jt[k*n+c.coord]
			} else {
				s.d[k] = sign * dot(c.normal, s.jt[k*n:k*n+n])
			}
		}
		clear(s.z)
		var d2 float64
		for k := q; k < n; k++ {
			axpy(s.z, s.d[k], s.jt[k*n:k*n+n])
			d2 += s.d[k] * s.d[k]
		}
		dependent := d2 <= 1e-22*dot(s.d, s.d)
		copy(s.w, s.d[:q])
		for k := q - 1; k >= 0; k-- {
			s.w[k] /= s.rt[k*n+k]
			axpy(s.w[:k], -s.w[k], s.rt[k*n:k*n+k])
		}

		// The longest dual step that keeps the multipliers of the active
		// inequalities non-negative.
		t1, drop := math.Inf(1), -1
		for k := range q {
			if s.active[k] >= s.r.meq && s.w[k] > 1e-14 {
				if t := s.u[k] / s.w[k]; t < t1 {
					t1, drop = t, k
				}
			}
		}
		t2 := math.Inf(1)
		if !dependent {
			t2 = max(violation, 0) / d2 // zᵀ·normal = ‖d₂‖²
		}
		t := min(t1, t2)
		if math.IsInf(t, 1) {
			if violation > s.conflicts*s.scale {
				return s.conflict(i)
			}
			s.redundant[i], s.inactive[i] = true, false
			return nil
		}
		for k := range q {
			s.u[k] -= t * s.w[k]
		}
		mult += t
		if !dependent {
			axpy(s.p, t, s.z)
			violation -= t * d2
		}
		if t == t2 {
			s.attach(i, sign < 0, mult)
			return nil
		}
		s.detach(drop)
	}
	return errSubproblem
}

// refine moves p on the active constraints again, along their own normals in
// the metric of H. The way to the solution may have been long, and rounding
// grows with its length.
func (s *solver) refine() {
	n := s.n
	for k, a := range s.active {
		c := &s.r.cons[a]
		y := s.slack[a] - c.dot(s.p)
		if s.flipped[k] {
			y = -y
		}
		s.w[k] = (y - dot(s.w[:k], s.rt[k*n:k*n+k])) / s.rt[k*n+k] // Rᵀy = residual, column by column
	}
	for k := range s.active {
		axpy(s.p, s.w[k], s.jt[k*n:k*n+n])
	}
}

// conflict reports constraint i together with the active ones that imply its
// opposite: its normal is the combination w of theirs, with no positive weight
// on an inequality (Farkas).
func (s *solver) conflict(i int) error {
	e := &InfeasibleError{}
	name := func(i int) {
		id := s.r.cons[i].id
		e.Conflict = append(e.Conflict, id)
		if i < s.r.meq && id.Kind == LowerBound { // a fixed coordinate
			e.Conflict = append(e.Conflict, Constraint{UpperBound, id.Index})
		}
	}
	for k, a := range s.active {
		if math.Abs(s.w[k]) > 1e-9 {
			name(a)
		}
	}
	name(i)
	slices.SortFunc(e.Conflict, func(a, b Constraint) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Index, b.Index))
	})
	return e
}

// attach appends constraint i, whose Jᵀ·normal is in d, to the active set:
// Givens rotations of J zero d below row q.
func (s *solver) attach(i int, flipped bool, mult float64) {
	n, q := s.n, len(s.active)
	for k := n - 1; k > q; k-- {
		cs, sn, r := givens(s.d[k-1], s.d[k])
		s.d[k-1], s.d[k] = r, 0
		rotate(s.jt[(k-1)*n:k*n], s.jt[k*n:(k+1)*n], cs, sn)
	}
	copy(s.rt[q*n:q*n+q+1], s.d[:q+1])
	s.active = append(s.active, i)
	s.u[q], s.flipped[q] = mult, flipped
	s.inactive[i] = false
}

// detach removes the k-th active constraint: R loses a column and rotations
// make it triangular again. Dropping keeps the order of the others, and so the
// bits of what follows.
func (s *solver) detach(k int) {
	n, q := s.n, len(s.active)
	s.inactive[s.active[k]] = true
	for c := k + 1; c < q; c++ {
		copy(s.rt[(c-1)*n:(c-1)*n+c+1], s.rt[c*n:c*n+c+1])
		s.u[c-1], s.flipped[c-1] = s.u[c], s.flipped[c]
	}
	s.active = append(s.active[:k], s.active[k+1:]...)
	// What depended on the dropped constraint has to be looked at again.
	for i := s.r.meq; i < len(s.r.cons); i++ {
		if s.redundant[i] {
			s.redundant[i], s.inactive[i] = false, true
		}
	}
	for c := k; c < q-1; c++ {
		cs, sn, r := givens(s.rt[c*n+c], s.rt[c*n+c+1])
		s.rt[c*n+c], s.rt[c*n+c+1] = r, 0
		for e := c + 1; e < q-1; e++ {
			a, b := s.rt[e*n+c], s.rt[e*n+c+1]
			s.rt[e*n+c], s.rt[e*n+c+1] = cs*a+sn*b, cs*b-sn*a
		}
		rotate(s.jt[c*n:(c+1)*n], s.jt[(c+1)*n:(c+2)*n], cs, sn)
	}
}

// givens returns the rotation (c, s) with c·a + s·b = r and c·b − s·a = 0.
func givens(a, b float64) (c, s, r float64) {
	if b == 0 {
		return 1, 0, a
	}
	r = math.Hypot(a, b)
	return a / r, b / r, r
}

// rotate applies a rotation to two rows.
func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, a := range x {
		b := y[i]
		x[i], y[i] = c*a+s*b, c*b-s*a
	}
}

// axpy adds a·x to dst.
func axpy(dst []float64, a float64, x []float64) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += a * v
	}
}
