package optimize

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Func is a smooth function to minimize: it returns f(x) and, if grad is not
// nil, fills it with ∇f(x). It must not keep or change x. A NaN or +Inf says
// that f is not defined at x: a search does not go there.
type Func func(x, grad []float64) float64

// Config tunes a local search. The zero value means the defaults.
type Config struct {
	// MaxIterations limits the quadratic subproblems; default 200.
	MaxIterations int
	// FTol stops the search when the decrease still to be had, as the quadratic
	// model predicts it, is at most FTol·max(1, |f|); default 1e-12.
	FTol float64
	// FirstStep is the length of the first trial step; default a tenth of the
	// region's diagonal.
	FirstStep float64
}

// withDefaults replaces zeros, with lengths of the region's size.
func (c Config) withDefaults(r *Region) Config {
	if c.MaxIterations == 0 {
		c.MaxIterations = 200
	}
	if c.FTol == 0 {
		c.FTol = 1e-12
	}
	if c.FirstStep == 0 {
		c.FirstStep = 0.1 * r.size
	}
	return c
}

// Status says why a local search ended.
type Status string

// The ends of a search. Only Converged claims a stationary point; the others
// still hold the best point visited.
const (
	Converged      Status = "converged"       // the predicted decrease is below FTol
	Stalled        Status = "stalled"         // no decrease along a descent direction: rounding, or a wrong gradient
	IterationLimit Status = "iteration_limit" // MaxIterations spent
)

// Result is the outcome of a local search.
type Result struct {
	X []float64 // feasible; never worse than the start
	F float64
	// KKT is ‖x − P(x − ∇f(x))‖∞ with P the projection on the region: 0 exactly
	// at a stationary point.
	KKT         float64
	Status      Status
	Iterations  int
	Evaluations int
}

// ErrStart reports that f is not finite at the start.
var ErrStart = errors.New("the function is not finite at the start of the search")

// Minimize searches a local minimum of f over the region from x0, which is
// projected on the region first if it lies outside. Every point at which f is
// evaluated satisfies the bounds exactly and the other constraints to about
// 1e-12.
//
// Method: sequential quadratic programming with Powell's damped BFGS update
// (Nocedal and Wright 2006, Procedure 18.2) and a backtracking line search on f
// alone.
//
// It fails with ErrStart, ErrConstraint (x0 not finite), or the context's
// error, wrapped: a cancelled search has no result.
func Minimize(ctx context.Context, f Func, region *Region, x0 []float64, cfg Config) (Result, error) {
	m := newMinimizer(f, region, cfg)
	return m.run(ctx, x0)
}

// minimizer is the memory of one search at a time: a search after another uses
// it again.
type minimizer struct {
	f   Func
	r   *Region
	cfg Config
	qp  *solver

	x, g       []float64 // current point and gradient
	y, gy      []float64 // trial point and gradient
	h          []float64 // n×n BFGS matrix
	hs, dx, dg []float64
	evals      int
}

// newMinimizer makes all the memory that searches need.
func newMinimizer(f Func, r *Region, cfg Config) *minimizer {
	n := r.n
	vec := func() []float64 { return make([]float64, n) }
	qp := newSolver(r)
	// The region is not empty, so a contradiction can only come from an
	// ill-conditioned Hessian: better to forget that.
	qp.conflicts = max(10*feasTol, 2*r.slop/r.scale)
	return &minimizer{
		f:   f,
		r:   r,
		cfg: cfg.withDefaults(r),
		qp:  qp,
		x:   vec(),
		g:   vec(),
		y:   vec(),
		gy:  vec(),
		h:   make([]float64, n*n),
		hs:  vec(),
		dx:  vec(),
		dg:  vec(),
	}
}

// eval is f, with +Inf for a value or gradient that is not finite: the line search then backs off.
func (m *minimizer) eval(x, g []float64) float64 {
	m.evals++
	v := m.f(x, g)
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	for _, c := range g {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return math.Inf(1)
		}
	}
	return v
}

// run searches from x0 to the end.
func (m *minimizer) run(ctx context.Context, x0 []float64) (Result, error) {
	s, err := m.begin(x0)
	if err != nil {
		return Result{}, err
	}
	if err := s.Advance(ctx, m.cfg.MaxIterations); err != nil {
		return Result{}, err
	}
	return s.Result(), nil
}

// Search is a local search that can be held and resumed, as [Minimize] makes
// it: searches that are advanced in turns can be compared, and those given up
// that come to nothing.
type Search struct {
	m      *minimizer
	fx     float64
	fresh  bool // no curvature has been learned since the last reset
	doubts int  // how often convergence may be doubted
	status Status
	did    int
}

// NewSearch returns the search from x0, after evaluating f there and no more. It fails as Minimize
// does.
func NewSearch(f Func, region *Region, x0 []float64, cfg Config) (*Search, error) {
	return newMinimizer(f, region, cfg).begin(x0)
}

// begin puts the search at x0. A point within rounding of the region is clipped
// and not projected, so that it keeps its bits.
func (m *minimizer) begin(x0 []float64) (*Search, error) {
	m.r.check(x0)
	copy(m.x, x0)
	if m.r.Violation(m.x) <= feasTol*m.r.scale {
		m.r.clip(m.x)
	} else {
		if err := m.r.Project(m.x, m.x); err != nil {
			return nil, fmt.Errorf("start of the search: %w", err)
		}
	}
	m.evals = 0
	fx := m.eval(m.x, m.g)
	if math.IsInf(fx, 0) {
		return nil, fmt.Errorf("%w: f(%v) = %v", ErrStart, m.x, fx)
	}
	return &Search{m: m, fx: fx, fresh: m.reset(), doubts: 2, status: IterationLimit}, nil
}

// Advance goes on for at most the given number of iterations, and never beyond
// Config.MaxIterations in all. It does nothing once the search has ended. It
// fails with the context's error, wrapped.
func (s *Search) Advance(ctx context.Context, iterations int) error {
	m := s.m
	last := min(s.did+iterations, m.cfg.MaxIterations)
	for s.status == IterationLimit && s.did < last {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("search cancelled after %d iterations: %w", s.did, context.Cause(ctx))
		}
		s.did++
		if m.qp.solve(m.h, m.g, m.x) != nil {
			s.stall()
			continue
		}
		slope := dot(m.g, m.qp.p)
		if tol := m.cfg.FTol * max(1, math.Abs(s.fx)); -slope <= tol {
			// Where f is not convex, damping can leave H far too large in some
			// direction, and the model then sees no decrease where there is
			// one. A gradient that is large for such a small decrease gives
			// that away.
			if kkt := m.kkt(); s.fresh || s.doubts == 0 || kkt*kkt <= 100*tol {
				s.status = Converged
				continue
			}
			s.doubts--
			s.fresh = m.reset()
			continue
		}
		fy, ok := m.lineSearch(s.fx, slope)
		if !ok {
			s.stall()
			continue
		}
		for j := range m.x {
			m.dx[j], m.dg[j] = m.y[j]-m.x[j], m.gy[j]-m.g[j]
		}
		m.update(s.fresh)
		s.fresh = false
		m.x, m.y = m.y, m.x
		m.g, m.gy = m.gy, m.g
		s.fx = fy
	}
	return nil
}

// stall forgets the curvature that led here, or ends the search where it has none to forget.
func (s *Search) stall() {
	if s.fresh {
		s.status = Stalled
		return
	}
	s.fresh = s.m.reset()
}

// Ended reports whether the search has converged, stalled or spent its
// iterations.
func (s *Search) Ended() bool {
	return s.status != IterationLimit || s.did >= s.m.cfg.MaxIterations
}

// Value is f at the best point so far, which Point is, in memory of the
// search's own.
func (s *Search) Value() float64   { return s.fx }
func (s *Search) Point() []float64 { return s.m.x }

// Result is the best so far, with its cost; its status is IterationLimit where the search has not
// ended.
func (s *Search) Result() Result {
	return Result{
		X: append([]float64(nil), s.m.x...), F: s.fx, KKT: s.m.kkt(),
		Status: s.status, Iterations: s.did, Evaluations: s.m.evals,
	}
}

// kkt returns Result.KKT at the current point; it uses y.
func (m *minimizer) kkt() (worst float64) {
	for j := range m.y {
		m.y[j] = m.x[j] - m.g[j]
	}
	if m.r.Project(m.y, m.y) != nil {
		return math.Inf(1) // the gradient is too large to say
	}
	for j, v := range m.y {
		worst = max(worst, math.Abs(v-m.x[j]))
	}
	return worst
}

// reset forgets the curvature: H becomes the multiple of the identity whose steepest-descent step
// has length FirstStep. It returns true, the new value of fresh.
func (m *minimizer) reset() bool {
	c := math.Sqrt(dot(m.g, m.g)) / m.cfg.FirstStep
	if c == 0 {
		c = 1
	}
	m.scaleIdentity(c)
	return true
}

// scaleIdentity sets H = c·I.
func (m *minimizer) scaleIdentity(c float64) {
	clear(m.h)
	for i := range m.r.n {
		m.h[i*m.r.n+i] = c
	}
}

// lineSearch finds y = x + t·p, t ≤ 1, with a sufficient decrease (Armijo, c₁ =
// 1e-4), and leaves f's gradient in gy. It shortens by quadratic interpolation.
// fy < fx is asked for besides: at the end of a search the sufficient decrease
// is lost in rounding.
func (m *minimizer) lineSearch(fx, slope float64) (float64, bool) {
	const (
		armijo = 1e-4
		trials = 30
	)
	t := 1.0
	for range trials {
		m.qp.advance(m.y, m.x, t)
		fy := m.eval(m.y, m.gy)
		if fy <= fx+armijo*t*slope && fy < fx {
			return fy, true
		}
		next := -slope * t * t / (2 * (fy - fx - slope*t)) // the minimum of the parabola; 0 or NaN where fy is infinite
		t = min(max(next, 0.1*t), 0.5*t)
		if math.IsNaN(next) {
			t *= 0.1
		}
	}
	return 0, false
}

// update makes H fit the change dg of the gradient over the step dx, damped so
// that H stays positive definite where f is not convex. With sy ≥ 0.2·shs after
// damping the update keeps H positive definite (Nocedal and Wright 2006,
// Procedure 18.2).
func (m *minimizer) update(first bool) {
	n := m.r.n
	sy := dot(m.dx, m.dg)
	if first && sy > 0 {
		// The curvature seen over the first step is a better scale than the
		// guess (Nocedal and Wright, Eq. 6.20).
		m.scaleIdentity(dot(m.dg, m.dg) / sy)
	}
	for i := range n {
		m.hs[i] = dot(m.h[i*n:i*n+n], m.dx)
	}
	shs := dot(m.dx, m.hs)
	if !(shs > 0) {
		return
	}
	if sy < 0.2*shs {
		theta := 0.8 * shs / (shs - sy)
		for i := range n {
			m.dg[i] = theta*m.dg[i] + (1-theta)*m.hs[i]
		}
		sy = dot(m.dx, m.dg)
	}
	for i := range n {
		for j := range n {
			m.h[i*n+j] += m.dg[i]*m.dg[j]/sy - m.hs[i]*m.hs[j]/shs
		}
	}
}
