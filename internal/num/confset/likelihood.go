package confset

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// likelihood is the log-likelihood ℓ(z) of all answers as a concave function of
// n latent values z of the belief.
//
// There is a value for each distinct point: g there, if a label is at the point
// or connected with it by a chain of comparisons. Otherwise only differences to
// the point's fellows matter to ℓ, and the value is g(point) − g(reference),
// with one of them, which has no value, as their common reference. So no
// direction of z is without effect on ℓ, a comparison with the reference is a
// label of a value, and comparisons of points that nothing else connects, like
// plain labels, leave the Hessian of ℓ diagonal.
type likelihood struct {
	points           [][]float64 // of the n values, in the order of first mention, then the references
	base             []int       // n: the value's reference among the points, −1 for none
	rejects, accepts []float64   // n: labels of the value, or comparisons with the reference
	own              []float64   // n: size of the curvature at the value, like link.size
	links            []link      // pairs of values in one comparison
	duels            []duel
	choices          []selection
}

// link are two values i < j in one comparison.
type link struct {
	i, j int
	size float64 // of the curvature, as the number of even comparisons of two that would give it
}

// duel sums up the comparisons of two values, as labels of the difference z_i − z_j.
type duel struct {
	link             int
	rejects, accepts float64
}

// selection is the choice of the first of three or more points; −1 stands for
// the reference, whose value is 0. Their probabilities are proportional to
// e^{−z}.
type selection struct {
	among []int
	links []int // between among[a] and among[b], a < b, in order of b, then a; −1 where one is the reference
}

func (l *likelihood) size() int { return len(l.base) }

// coupled reports whether the Hessian of ℓ has entries off the diagonal.
func (l *likelihood) coupled() bool { return len(l.links) > 0 }

// linked returns the index of the link between two values, which it makes if it
// must.
func (l *likelihood) linked(i, j int) int {
	if i > j {
		i, j = j, i
	}
	at := slices.IndexFunc(l.links, func(k link) bool { return k.i == i && k.j == j })
	if at < 0 {
		at = len(l.links)
		l.links = append(l.links, link{i: i, j: j})
	}
	return at
}

// choose adds the choice of the first of some values, −1 for the reference.
func (l *likelihood) choose(among []int) {
	if len(among) > 2 {
		s := selection{among: among}
		for b, j := range among {
			for _, i := range among[:b] {
				at := -1
				size := 4 / float64(len(among)*len(among)) // an even choice has p_i·p_j = 1/k²
				switch {
				case i < 0:
					l.own[j] += size
				case j < 0:
					l.own[i] += size
				default:
					at = l.linked(i, j)
					l.links[at].size += size
				}
				s.links = append(s.links, at)
			}
		}
		l.choices = append(l.choices, s)
		return
	}
	better, worse := among[0], among[1]
	switch {
	case worse < 0:
		l.accepts[better]++
		l.own[better]++
		return
	case better < 0:
		l.rejects[worse]++
		l.own[worse]++
		return
	}
	at := l.linked(better, worse)
	l.links[at].size++
	d := slices.IndexFunc(l.duels, func(d duel) bool { return d.link == at })
	if d < 0 {
		d = len(l.duels)
		l.duels = append(l.duels, duel{link: at})
	}
	if better < worse {
		l.duels[d].accepts++
	} else {
		l.duels[d].rejects++
	}
}

// logistic returns rejects·ln S(z) + accepts·ln S(−z) and its derivative.
func logistic(rejects, accepts, z float64) (value, slope float64) {
	e := math.Exp(-math.Abs(z))
	likely, unlikely := 1/(1+e), e/(1+e) // S(|z|) and S(−|z|)
	value = -(rejects + accepts) * math.Log1p(e)
	if z > 0 {
		return value - accepts*math.Abs(z), rejects*unlikely - accepts*likely
	}
	return value - rejects*math.Abs(z), rejects*likely - accepts*unlikely
}

// spread is S(z)·S(−z), the curvature of one logistic term.
func spread(z float64) float64 {
	e := math.Exp(-math.Abs(z))
	return e / ((1 + e) * (1 + e))
}

// logLik returns ln P(the first is chosen) = −ln Σ_j e^{z_first − z_j}, to full
// relative precision where P is nearly 1.
func (s *selection) logLik(z []float64) float64 {
	first := at(z, s.among[0])
	var most float64 // the greatest exponent, of the first or of another
	best := 0
	for k, j := range s.among {
		if d := first - at(z, j); d > most {
			most, best = d, k
		}
	}
	var others float64
	for k, j := range s.among {
		if k != best {
			others += math.Exp(first - at(z, j) - most)
		}
	}
	return -most - math.Log1p(others)
}

// at is z_i, and 0 for the reference.
func at(z []float64, i int) float64 {
	if i < 0 {
		return 0
	}
	return z[i]
}

// logLik returns ℓ(z).
func (l *likelihood) logLik(z []float64) float64 {
	var sum float64
	for i, zi := range z {
		value, _ := logistic(l.rejects[i], l.accepts[i], zi)
		sum += value
	}
	for _, d := range l.duels {
		k := l.links[d.link]
		value, _ := logistic(d.rejects, d.accepts, z[k.i]-z[k.j])
		sum += value
	}
	for k := range l.choices {
		s := &l.choices[k]
		sum += s.logLik(z)
	}
	return sum
}

// slope returns ℓ(z) and fills grad with its gradient.
func (l *likelihood) slope(grad, z []float64) float64 {
	var sum float64
	for i, zi := range z {
		value, g := logistic(l.rejects[i], l.accepts[i], zi)
		sum += value
		grad[i] = g
	}
	for _, d := range l.duels {
		k := l.links[d.link]
		value, g := logistic(d.rejects, d.accepts, z[k.i]-z[k.j])
		sum += value
		grad[k.i] += g
		grad[k.j] -= g
	}
	for k := range l.choices {
		s := &l.choices[k]
		value := s.logLik(z)
		sum += value
		first := at(z, s.among[0])
		var others float64 // P(another is chosen)
		for _, j := range s.among[1:] {
			p := math.Exp(value + first - at(z, j))
			others += p
			if j >= 0 {
				grad[j] += p
			}
		}
		if i := s.among[0]; i >= 0 {
			grad[i] -= others
		}
	}
	return sum
}

// curvature is a matrix W = −∇²ℓ as the Laplacian of a graph: uᵀWu = Σ_i
// own_i·u_i² + Σ_k mutual_k·(u_i − u_j)² over the values i and the links k =
// (i, j). All entries are positive or 0.
type curvature struct {
	links       []link
	own, mutual []float64
}

func (l *likelihood) newCurvature() *curvature {
	return &curvature{links: l.links, own: make([]float64, l.size()),
		mutual: make([]float64, len(l.links))}
}

// curvature fills w with −∇²ℓ(z).
func (l *likelihood) curvature(w *curvature, z []float64) {
	for i, zi := range z {
		w.own[i] = (l.rejects[i] + l.accepts[i]) * spread(zi)
	}
	clear(w.mutual)
	for _, d := range l.duels {
		k := l.links[d.link]
		w.mutual[d.link] += (d.rejects + d.accepts) * spread(z[k.i]-z[k.j])
	}
	// The covariance of a choice's indicators is −p_a·p_b.
	for k := range l.choices {
		s := &l.choices[k]
		total := s.logLik(z) + at(z, s.among[0]) // −ln Σ e^{−z}
		next := 0
		for b, j := range s.among {
			pb := math.Exp(total - at(z, j))
			for _, i := range s.among[:b] {
				both := pb * math.Exp(total-at(z, i))
				switch link := s.links[next]; {
				case link >= 0:
					w.mutual[link] += both
				case i >= 0:
					w.own[i] += both
				default:
					w.own[j] += both
				}
				next++
			}
		}
	}
}

// atLeast raises the entries of w to a share of their greatest possible values, about a quarter for
// every label or comparison.
func (l *likelihood) atLeast(w *curvature, share float64) {
	for i := range w.own {
		w.own[i] = math.Max(w.own[i], share*l.own[i])
	}
	for k := range w.mutual {
		w.mutual[k] = math.Max(w.mutual[k], share*l.links[k].size)
	}
}

// mul computes dst = W·x. dst must not be x.
func (w *curvature) mul(dst, x []float64) {
	floats.MulTo(dst, w.own, x)
	for k, e := range w.links {
		flow := w.mutual[k] * (x[e.i] - x[e.j])
		dst[e.i] += flow
		dst[e.j] -= flow
	}
}

// mulMatrix computes dst = factor·W·A for an n×n matrix A.
func (w *curvature) mulMatrix(dst []float64, factor float64, a []float64) {
	n := len(w.own)
	row := func(m []float64, i int) []float64 { return m[i*n : (i+1)*n] }
	for i, own := range w.own {
		floats.ScaleTo(row(dst, i), factor*own, row(a, i))
	}
	for k, e := range w.links {
		m := factor * w.mutual[k]
		to, from := row(dst, e.i), row(dst, e.j)
		ai, aj := row(a, e.i), row(a, e.j)
		for j := range to {
			flow := m * (ai[j] - aj[j])
			to[j] += flow
			from[j] -= flow
		}
	}
}

// congruence fills the lower triangle of h with factor·LᵀWL, using n×n values
// of scratch space.
func (w *curvature) congruence(h blas64.Symmetric, factor float64, root blas64.General, scratch []float64) {
	n := len(w.own)
	product := blas64.General{Rows: n, Cols: n, Stride: n, Data: scratch}
	if len(w.links) > 0 {
		w.mulMatrix(scratch, factor, root.Data)
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, root, product, 0,
			blas64.General{Rows: n, Cols: n, Stride: h.Stride, Data: h.Data})
		return
	}
	for i, own := range w.own {
		floats.ScaleTo(scratch[i*n:(i+1)*n], math.Sqrt(factor*own), root.Data[i*n:(i+1)*n])
	}
	blas64.Syrk(blas.Trans, 1, product, 0, h)
}
