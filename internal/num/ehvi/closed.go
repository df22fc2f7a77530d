package ehvi

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/internal/num/special"
)

// Limit is a bound against the direction of an objective: a point counts only where it is at most
// At. The zero value bounds nothing.
type Limit struct {
	Bounded bool
	At      float64
}

// Closed is the expected hypervolume improvement on one front. With outcomes Y_k ~ N(μ_k, σ_k²),
// independent, it is a sum over the cells of the region that the front does not cover,
//
//	EHVI = Σ_c Π_k Ψ_k(l_ck, u_ck),   Ψ_k(l, u) = ∫_l^u P(Y_k ≥ t) dt = G_k(l) − G_k(u),
//
// with G_k(t) = E(Y_k − t)⁺ = σ_k·h((μ_k − t)/σ_k), and G_k(∞) = 0 (Emmerich et al. 2011; Yang et
// al. 2019, §4). Where objective k is limited to c, P(t ≤ Y_k ≤ c) takes the place of P(Y_k ≥ t),
// and G_k(t) = E[(Y_k − t)⁺; Y_k ≤ c], 0 from c on.
//
// Between bounds that lie close together values of G cancel. That does no harm: with a point all
// greater points belong to the region, so Π_k G_k(l_ck) is at most EHVI, and a cell loses
// 1e-16 of that.
//
// It is a workspace: one goroutine uses it at a time.
type Closed struct {
	region region
	limits []Limit
	*work
}

// NewClosed returns the improvement on a front beyond a reference point. Points
// that are covered, or not beyond the reference, change nothing. limits are nil,
// or one of each objective, above the reference.
func NewClosed(front [][]float64, reference []float64, limits []Limit) *Closed {
	c := &Closed{region: newRegion(front, reference), limits: limits}
	if limits == nil {
		c.limits = make([]Limit, len(reference))
	}
	c.work = newWork(len(reference), len(c.region.corners))
	return c
}

// LogGrad is Log, and fills dMean and dSD with its derivatives by the means and
// the standard deviations.
func (c *Closed) LogGrad(mean, sd, dMean, dSD []float64) float64 {
	value := c.log(&c.region, c.limits, mean, sd, true)
	copy(dMean, c.dMean)
	copy(dSD, c.dSD)
	return value + sumLog(sd)
}

// sumLog returns Σ ln σ_k.
func sumLog(sd []float64) (sum float64) {
	for _, v := range sd {
		sum += math.Log(v)
	}
	return sum
}

// region is the space that a front does not cover, beyond the reference, cut into cells. Corners of
// all objectives stand one after the other; behind those of each is a place for infinity, where
// every value computed at a corner is 0.
type region struct {
	corners []float64
	from    []int   // where the corners of each objective begin, and the end
	cells   []int32 // of each cell the places of both bounds, by objective
	front   [][]float64
}

func newRegion(points [][]float64, reference []float64) region {
	m := len(reference)
	r := region{front: pareto.Front(points, reference), from: make([]int, m+1)}
	cells := pareto.NewCells(r.front, reference)
	for k, corners := range cells.Corners {
		r.corners = append(append(r.corners, corners...), 0)
		r.from[k+1] = len(r.corners)
	}
	r.cells = make([]int32, 0, 2*len(cells.Lower))
	for i, lower := range cells.Lower {
		from := int32(r.from[i%m])
		r.cells = append(r.cells, from+lower, from+cells.Upper[i])
	}
	return r
}

// work is the workspace of evaluations beyond fronts of up to so many corners.
type work struct {
	z    []float64 // (μ − t)/σ at each corner
	edge []side    // G at each corner, relative to G at the reference

	bound []float64 // (μ − c)/σ of each objective with a limit, else −∞
	base  []float64 // ln G/σ at the reference
	side  []side    // Ψ of one cell in each objective, in the same unit

	dMean, dSD []float64 // of the last evaluation
}

// side is G at a corner, or Ψ of a cell in one objective, with σ times its
// derivatives by μ and σ, all three in the same unit. On the far path value is
// the logarithm, and the derivatives are those of it, times σ.
type side struct{ value, byMean, bySD float64 }

func (s side) less(t side) side {
	return side{s.value - t.value, s.byMean - t.byMean, s.bySD - t.bySD}
}

func newWork(m, corners int) *work {
	return &work{
		z: make([]float64, corners), edge: make([]side, corners),
		bound: make([]float64, m), base: make([]float64, m), side: make([]side, m),
		dMean: make([]float64, m), dSD: make([]float64, m),
	}
}

const (
	// underflows is the bound below which a sum of products is computed in logarithms instead.
	underflows = 1e-250
	// certain is where 1 − Φ(z) is lost in a sum with 1.
	certain = 8.5
)

// log returns ln EHVI/Π σ_k beyond a region, and where grad is true leaves the
// derivatives of ln EHVI in dMean and dSD.
func (w *work) log(r *region, limits []Limit, mean, sd []float64, grad bool) float64 {
	base := 0.0
	for k := range sd {
		w.place(r, k, limits[k], mean[k], sd[k])
		w.corners(r, k)
		base += w.base[k]
	}
	var sum float64
	if grad {
		sum = w.sumGrad(r)
	} else {
		sum = w.sum(r)
	}
	value := base + math.Log(sum)
	if !(sum > underflows) {
		value = w.far(r)
		sum = 1
	}
	if grad {
		for k, s := range sd {
			w.dMean[k] /= sum * s
			w.dSD[k] /= sum * s
		}
	}
	return value
}

// place computes z at the corners of objective k.
func (w *work) place(r *region, k int, limit Limit, mean, sd float64) {
	inverse := 1 / sd
	corners := r.corners[r.from[k] : r.from[k+1]-1]
	z := w.z[r.from[k]:][:len(corners)]
	for i, t := range corners {
		z[i] = (mean - t) * inverse
	}
	w.bound[k] = math.Inf(-1)
	if limit.Bounded {
		w.bound[k] = (mean - limit.At) / sd
	}
}

// corners computes G at the corners of objective k.
func (w *work) corners(r *region, k int) {
	from, end := r.from[k], r.from[k+1]-1
	z, edge := w.z[from:end], w.edge[from:end]
	w.edge[end] = side{} // infinity
	switch {
	case !math.IsInf(w.bound[k], -1):
		w.base[k] = limited(edge, z, w.bound[k])
	case z[0] < -1:
		w.base[k] = tail(edge, z)
	default:
		w.base[k] = middle(edge, z)
	}
}

// middle fills in h, Φ and φ, all divided by h(z_0), and returns ln h(z_0).
func middle(edge []side, z []float64) float64 {
	_, _, h := special.Normal(z[0])
	inverse := 1 / h
	for i, at := range z {
		if at > certain {
			edge[i] = side{at * inverse, inverse, 0}
			continue
		}
		pdf, cdf, h := special.Normal(at)
		edge[i] = side{h * inverse, cdf * inverse, pdf * inverse}
	}
	return math.Log(h)
}

// tail is middle where all z are below −0.67: by ratios to φ.
func tail(edge []side, z []float64) float64 {
	_, rest := special.Mills(-z[0])
	inverse := 1 / rest
	for i, at := range z {
		e := special.ExpNeg(-0.5*(at-z[0])*(at+z[0])) * inverse
		ratio, rest := special.Mills(-at)
		edge[i] = side{e * rest, e * ratio, e}
	}
	return special.LogNormalPDF(z[0]) + math.Log(rest)
}

// limited is middle for an objective with a limit.
func limited(edge []side, z []float64, bound float64) float64 {
	base := logLimited(z[0], bound).value
	for i, at := range z {
		s := logLimited(at, bound)
		value := math.Exp(s.value - base)
		edge[i] = side{value, value * s.byMean, value * s.bySD}
	}
	return base
}

// logLimited returns ln(G/σ) of an objective with a limit, −Inf from there on. It
// is the improvement of a value that is minimized, with mean 0 and standard
// deviation 1: z − Z for Z = (μ − Y)/σ.
func logLimited(z, bound float64) side {
	log, byMean, bySD := acquisition.LogCappedEI(0, 1, z, bound)
	return side{log, -byMean, bySD}
}

// sum returns EHVI, divided by Π G_k at the reference.
func (w *work) sum(r *region) (sum float64) {
	m := len(w.side)
	edge := w.edge
	for c := r.cells; len(c) > 0; c = c[2*m:] {
		product := 1.0
		for k := 0; k < 2*m; k += 2 {
			product *= edge[c[k]].value - edge[c[k+1]].value
		}
		sum += product
	}
	return sum
}

// sumGrad is sum, and leaves its derivatives, times σ, in dMean and dSD.
func (w *work) sumGrad(r *region) (sum float64) {
	m := len(w.side)
	clear(w.dMean)
	clear(w.dSD)
	edge := w.edge
	for c := r.cells; len(c) > 0; c = c[2*m:] {
		for k := range w.side {
			w.side[k] = edge[c[2*k]].less(edge[c[2*k+1]])
		}
		// Products of all sides but one: of those before it, then those behind.
		before := 1.0
		for k := range w.side {
			others := before
			for _, s := range w.side[k+1:] {
				others *= s.value
			}
			w.dMean[k] += others * w.side[k].byMean
			w.dSD[k] += others * w.side[k].bySD
			before *= w.side[k].value
		}
		sum += before
	}
	return sum
}
