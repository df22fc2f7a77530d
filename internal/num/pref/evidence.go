package pref

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Hyper are the hyperparameters of the utility's prior. They are recorded in
// events; the JSON names are part of that record.
type Hyper struct {
	// Lengthscales in the units of the designs, one per dimension.
	Lengthscales []float64 `json:"lengthscales"`
	// OutputScale is the prior variance of f. Duels tell only its ratio to the
	// noise.
	OutputScale float64 `json:"output_scale"`
	// Slope is the prior variance of the slope of f in each coordinate, as a multiple of
	// OutputScale: f has a linear part then (kernel.WithLinear), which is 0 at the origin. 0, the
	// usual, leaves it out.
	Slope float64 `json:"slope,omitempty"`
}

// ErrHyper reports lengthscales, bounds or settings of a fit that do not fit the duels or each
// other. Numbers that a kernel cannot have as hyperparameters are kernel.ErrHyperparameter.
var ErrHyper = errors.New("bad model hyperparameter")

// Kernel builds the kernel called name, of package kernel, for d dimensions. It
// fails with ErrHyper, kernel.ErrUnknown or kernel.ErrHyperparameter.
func (h Hyper) Kernel(name string, d int) (kernel.Kernel, error) {
	if len(h.Lengthscales) != d {
		return nil, fmt.Errorf("%w: %d lengthscales for %d dimensions", ErrHyper, len(h.Lengthscales), d)
	}
	k, err := kernel.New(name, h.Lengthscales, h.OutputScale)
	if err != nil {
		return nil, err
	}
	return kernel.WithLinear(k, h.Slope)
}

// evidence evaluates the evidence of one set of duels for many hyperparameters.
// What does not depend on them, the squared differences, is computed once, and
// each search for the mode starts from the last. Pairs i > j of designs are
// numbered i(i−1)/2 + j.
type evidence struct {
	*solver
	family kernel.Family
	d      int
	diff2  [][]float64 // by dimension: squared difference of every pair
	inner  []float64   // m×m: inner products of the designs, once there is a linear part

	rho, slopes []float64 // by pair: kernel and its derivative in the scaled squared distance
	c           []float64 // m×m: BᵀRB
	q, s2       []float64 // n
	w, p        []float64 // m
	steps       int       // Newton steps of all evaluations
}

// evidenceGradient is the derivative of the log evidence with respect to ln of
// the hyperparameters.
type evidenceGradient struct {
	lengthscales []float64
	outputScale  float64
}

func newEvidence(duels Duels, link Link, kernelName string) (*evidence, error) {
	if err := link.Validate(); err != nil {
		return nil, err
	}
	if err := duels.Validate(); err != nil {
		return nil, err
	}
	if duels.Len() == 0 {
		return nil, fmt.Errorf("%w: there are none, at least one is needed", ErrDuels)
	}
	family, err := kernel.ParseFamily(kernelName)
	if err != nil {
		return nil, err
	}
	d := len(duels.X[0])
	m := len(duels.X)
	n := duels.Len()
	pairs := m * (m - 1) / 2
	e := &evidence{
		solver: newSolver(duels, link), family: family, d: d, diff2: make([][]float64, d),
		rho: make([]float64, pairs), slopes: make([]float64, pairs), c: make([]float64, m*m),
		q: make([]float64, n), s2: make([]float64, n), w: make([]float64, m), p: make([]float64, m),
	}
	for t := range d {
		v := make([]float64, 0, pairs)
		for i, x := range duels.X {
			for _, y := range duels.X[:i] {
				v = append(v, (x[t]-y[t])*(x[t]-y[t]))
			}
		}
		e.diff2[t] = v
	}
	return e, nil
}

// forget makes the next evaluation independent of earlier ones.
func (e *evidence) forget() { clear(e.u) }

// eval returns the log evidence and, if g is not nil, its gradient. The
// hyperparameters are taken to be valid.
//
// With G = ½uuᵀ − ½R + sym(q uᵀ) every derivative is tr(G ∂A) = tr(BᵀGB ∂K).
// The last term is the movement of the mode, ∂z = (I − AR) ∂A u, times the
// derivative of −½ ln det(I + WA) in z,
//
//	s_i = ½ [(A⁻¹ + W)⁻¹]_ii ∂³log p/∂z_i³,    q = (I − RA) s.
func (e *evidence) eval(ctx context.Context, h Hyper, g *evidenceGradient) (float64, error) {
	e.fillKernel(h, g != nil)
	steps, err := e.solve(ctx, 0)
	e.steps += steps
	if err != nil {
		e.forget() // whatever u is now, it is not a good start
		return 0, fmt.Errorf("evidence of %d duels: %w", e.n, err)
	}
	value := e.logEvidence()
	if g == nil {
		return value, nil
	}

	n, m := e.n, e.m
	e.invert()
	var trace float64 // tr(RA)
	for i, b := range e.bound {
		e.s2[i] = 0.5 * b * e.link.skew(e.z[i], e.slope[i])
		trace += b
	}
	blas64.Gemv(blas.NoTrans, 1, square(e.cov, n), vector(e.s2), 0, vector(e.work))
	copy(e.q, e.s2)
	blas64.Gemv(blas.NoTrans, -1, square(e.factor, n), vector(e.work), 1, vector(e.q))
	g.outputScale = 0.5*dot(e.u, e.z) - 0.5*trace + dot(e.q, e.z) // ∂A/∂ln σ² = A, and z = Au

	e.congruence(e.c)
	e.transpose(e.w, e.u)
	e.transpose(e.p, e.q)
	// ∂K_ij/∂ln ℓ_t = −2 ρ'_ij (x_i − x_j)_t²/ℓ_t²; each pair counts twice.
	for i, at := 0, 0; i < m; i++ {
		wi, pi := e.w[i], e.p[i]
		row := e.c[i*m : i*m+i]
		out := e.slopes[at : at+i]
		for j, v := range out {
			out[j] = v * (wi*e.w[j] - row[j] + pi*e.w[j] + wi*e.p[j])
		}
		at += i
	}
	for t, v := range e.diff2 {
		g.lengthscales[t] = -2 / (h.Lengthscales[t] * h.Lengthscales[t]) * dot(e.slopes, v)
	}
	return value, nil
}

// fillKernel sets K and, on demand, slopes.
func (e *evidence) fillKernel(h Hyper, slopes bool) {
	s, m := e.slopes, e.m
	clear(s)
	for t, v := range e.diff2 {
		axpy(s, 1/(h.Lengthscales[t]*h.Lengthscales[t]), v)
	}
	if slopes {
		e.family.FillSlope(e.rho, e.slopes, s, h.OutputScale)
	} else {
		e.family.Fill(e.rho, s, h.OutputScale)
	}
	for i, at := 0, 0; i < m; i++ {
		for j, v := range e.rho[at : at+i] {
			e.k[i*m+j], e.k[j*m+i] = v, v
		}
		at += i
		e.k[i*m+i] = h.OutputScale
	}
	if h.Slope > 0 {
		axpy(e.k, h.Slope*h.OutputScale, e.products())
	}
}

// products returns the inner products of the designs, m×m.
func (e *evidence) products() []float64 {
	if e.inner == nil {
		e.inner = make([]float64, e.m*e.m)
		for i, x := range e.duels.X {
			for j, y := range e.duels.X {
				e.inner[i*e.m+j] = dot(x, y)
			}
		}
	}
	return e.inner
}
