package channel

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/special"
)

// variant is one value of a channel's unknowns.
type variant struct {
	slope, noise float64 // noise is NaN for choices
	prejudiced   bool
	prior        float64
}

// rows are the utilities that the answers of a channel speak of, one after the
// other: u_k = slope·f(x_k) + extra_k. extra and smooth are n×n, by rows.
type rows struct {
	points []int     // of each row
	extra  []float64 // covariance of what does not depend on f, without prejudice
	smooth []float64 // that of the prejudice
	// The answers: reject and labels first, orders (of rows, from the best)
	// after them; or numbers.
	reject  []bool
	orders  [][]int
	numbers []float64
}

// variants returns the grid of a channel and the rows of its answers.
func (a Answers) variants(points [][]float64, cfg Config) ([]variant, *rows) {
	if len(a.Estimates) > 0 {
		if len(a.Labels)+len(a.Orders) > 0 {
			panic("channel: estimates and choices are different channels")
		}
		return estimateVariants(cfg), a.estimates(points)
	}
	r := &rows{}
	for _, l := range a.Labels {
		r.points, r.reject = append(r.points, l.Point), append(r.reject, l.Reject)
	}
	for _, order := range a.Orders {
		var at []int
		for _, p := range order {
			at = append(at, len(r.points))
			r.points = append(r.points, p)
		}
		r.orders = append(r.orders, at)
	}
	n := len(r.points)
	r.extra = make([]float64, n*n)
	for i, l := range a.Labels {
		for j, m := range a.Labels {
			if l.Group == m.Group {
				r.extra[i*n+j] = interceptSD * interceptSD
			}
		}
	}
	for i := range n {
		r.extra[i*n+i] += nugget
	}
	r.smooth = prejudice(points, r.points, choicePrejudiceSD)
	return choiceVariants(cfg), r
}

// prejudice is the covariance of a prejudice of the given standard deviation at
// the points of some rows. A Gaussian kernel with one lengthscale: what an
// expert is wrong about is not known to prefer a parameter.
func prejudice(points [][]float64, rows []int, sd float64) []float64 {
	n := len(rows)
	cov := make([]float64, n*n)
	for i, a := range rows {
		for j, b := range rows {
			s := 0.0
			for k, x := range points[a] {
				s += (x - points[b][k]) * (x - points[b][k])
			}
			cov[i*n+j] = sd * sd * math.Exp(-s/(2*prejudiceLength*prejudiceLength))
		}
	}
	return cov
}

// choiceVariants and estimateVariants are the grids of the two kinds.
func choiceVariants(cfg Config) []variant {
	return variants(cfg, choiceSlopes, []float64{math.NaN()})
}

func estimateVariants(cfg Config) []variant {
	return variants(cfg, estimateSlopes, estimateNoise)
}

// variants is the grid of a channel: each slope on either side, each noise,
// with a prejudice and without.
func variants(cfg Config, slopes, noises []float64) (list []variant) {
	for _, prejudiced := range []bool{false, true} {
		if prejudiced && cfg.Honest {
			break
		}
		share := 1 / float64(len(noises))
		if !cfg.Honest {
			share /= 2
		}
		for _, noise := range noises {
			list = append(list, variant{0, noise, prejudiced, cfg.Guess * share})
			for _, a := range slopes {
				each := share / float64(len(slopes))
				list = append(list,
					variant{a, noise, prejudiced, (1 - cfg.Guess - cfg.Against) * each},
					variant{-a, noise, prejudiced, cfg.Against * each})
			}
		}
	}
	return list
}

// estimates returns the rows of numbers, standardized. Their own mean and spread are taken out,
// since an expert's scale says nothing; the intercept takes up the rest of a shift.
func (a Answers) estimates(points [][]float64) *rows {
	n := len(a.Estimates)
	r := &rows{extra: make([]float64, n*n)}
	mean, square := 0.0, 0.0
	for _, e := range a.Estimates {
		mean += e.Value / float64(n)
	}
	for _, e := range a.Estimates {
		square += (e.Value - mean) * (e.Value - mean)
	}
	sd := math.Sqrt(square / float64(max(1, n-1)))
	if !(sd > 1e-12*math.Abs(mean)) {
		sd = 1 // all are equal
	}
	for i, e := range a.Estimates {
		r.points, r.numbers = append(r.points, e.Point), append(r.numbers, (e.Value-mean)/sd)
		for j := range n {
			r.extra[i*n+j] = interceptSD * interceptSD
		}
	}
	r.smooth = prejudice(points, r.points, prejudiceSD)
	return r
}

// solution is the posterior update by the answers under one variant, at all points.
type solution struct {
	gain, reduce []float64
	logEvidence  float64
}

// solve conditions on the answers under a variant: f at the p points has the
// given mean and covariance. It costs a factorization of n rows, and n² for the
// way to the points.
func (r *rows) solve(v *variant, mean, cov []float64, p int) (solution, error) {
	n := len(r.points)
	if n == 0 {
		return solution{make([]float64, p), make([]float64, p*p), 0}, nil
	}
	k, m := make([]float64, n*n), make([]float64, n)
	for i, a := range r.points {
		m[i] = v.slope * mean[a]
		for j, b := range r.points {
			k[i*n+j] = r.extra[i*n+j] + v.slope*v.slope*cov[a*p+b]
			if v.prejudiced {
				k[i*n+j] += r.smooth[i*n+j]
			}
		}
	}
	var s site
	var err error
	if r.numbers != nil {
		s, err = normal(r.numbers, m, k, v.noise)
	} else {
		s, err = r.laplace(m, k)
	}
	if err != nil {
		return solution{}, err
	}
	// From the rows to the points: u is slope·f, and a point may have several
	// rows.
	out := solution{make([]float64, p), make([]float64, p*p), s.logEvidence}
	for i, a := range r.points {
		out.gain[a] += v.slope * s.gain[i]
		for j, b := range r.points {
			out.reduce[a*p+b] += v.slope * v.slope * s.reduce[i*n+j]
		}
	}
	return out, nil
}

// site is an update at the rows themselves. gain and reduce are by row: the
// mean of u moves by K·gain and its covariance by −K·reduce·K.
type site struct {
	gain, reduce []float64
	logEvidence  float64
}

// normal conditions u ~ N(m, K) on numbers with noise: R = (K + σ²I)⁻¹, g = R(e
// − m). k is overwritten by its factor.
func normal(numbers, m, k []float64, noise float64) (site, error) {
	n := len(m)
	s := site{gain: make([]float64, n)}
	for i := range n {
		k[i*n+i] += noise * noise
		s.gain[i] = numbers[i] - m[i]
	}
	factor, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: k, Uplo: blas.Lower})
	if !ok {
		return s, ErrAnswers
	}
	for i := range n {
		s.logEvidence -= math.Log(k[i*n+i]) + math.Log(2*math.Pi)/2
	}
	s.reduce = make([]float64, n*n)
	for i := range n {
		s.reduce[i*n+i] = 1
	}
	lapack64.Potrs(factor, blas64.General{Rows: n, Cols: n, Stride: n, Data: s.reduce})
	rest := append([]float64(nil), s.gain...)
	lapack64.Potrs(factor, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: s.gain})
	s.logEvidence -= blas64.Dot(vector(rest), vector(s.gain)) / 2
	if math.IsNaN(s.logEvidence) || math.IsInf(s.logEvidence, 0) {
		return s, ErrAnswers
	}
	return s, nil
}

const (
	newtonSteps = 50
	newtonGain  = 1e-8 // of the log posterior, below which the mode is reached
	leastStep   = 1e-4
)

// laplace conditions u ~ N(m, K) on labels and orders at the mode of their
// posterior: Newton's steps a ← (I + WK)⁻¹(W(u − m) + ∇), u = m + Ka, halved
// until the posterior does not fall (Rasmussen and Williams 2006, Alg. 3.1, in
// the form in which W need not be regular). At the mode R = (I + WK)⁻¹W. W is a
// block for each order and need not be regular, since only differences of
// utilities count in one; hence LU of I + WK instead of a root of W.
func (r *rows) laplace(m, k []float64) (site, error) {
	n := len(m)
	K := blas64.General{Rows: n, Cols: n, Stride: n, Data: k}
	a, u := make([]float64, n), append([]float64(nil), m...)
	at, ut := make([]float64, n), make([]float64, n)
	grad := make([]float64, n)
	w := make([]float64, n*n)
	b := make([]float64, n*n)
	rest := make([]float64, n)
	pivots := make([]int, n)
	W := blas64.General{Rows: n, Cols: n, Stride: n, Data: w}
	B := blas64.General{Rows: n, Cols: n, Stride: n, Data: b}
	// factor sets B to the factors of I + WK at u.
	factor := func() bool {
		r.curvature(u, grad, w)
		clear(b)
		for i := range n {
			b[i*n+i] = 1
		}
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, W, K, 1, B)
		return lapack64.Getrf(B, pivots)
	}
	posterior := func(a, u []float64) float64 {
		value := r.logLikelihood(u)
		for i, v := range a {
			value -= v * (u[i] - m[i]) / 2
		}
		return value
	}
	value := posterior(a, u)
	for range newtonSteps {
		if !factor() {
			return site{}, ErrAnswers
		}
		for i := range rest {
			rest[i] = u[i] - m[i]
		}
		full := append([]float64(nil), grad...)
		blas64.Gemv(blas.NoTrans, 1, W, vector(rest), 1, vector(full))
		lapack64.Getrs(blas.NoTrans, B, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: full}, pivots)
		gain := 0.0
		for step := 1.0; step >= leastStep; step /= 2 {
			for i := range at {
				at[i] = a[i] + step*(full[i]-a[i])
			}
			copy(ut, m)
			blas64.Gemv(blas.NoTrans, 1, K, vector(at), 1, vector(ut))
			if next := posterior(at, ut); !(next < value) {
				gain = next - value
				a, at, u, ut, value = at, a, ut, u, next
				break
			}
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return site{}, ErrAnswers
		}
		if gain < newtonGain {
			break
		}
	}
	if !factor() {
		return site{}, ErrAnswers
	}
	s := site{gain: append([]float64(nil), grad...), reduce: append([]float64(nil), w...),
		logEvidence: value}
	for i := range n {
		s.logEvidence -= math.Log(math.Abs(b[i*n+i])) / 2
	}
	lapack64.Getrs(blas.NoTrans, B, blas64.General{Rows: n, Cols: n, Stride: n, Data: s.reduce},
		pivots)
	// The posterior is skewed: its mean lies farther from the prior than its
	// mode. To first order it is shifted by −½Ct, with C the covariance K(I +
	// WK)⁻¹ and t the third derivatives contracted with C (Lindley 1980).
	c := append([]float64(nil), k...)
	lapack64.Getrs(blas.Trans, B, blas64.General{Rows: n, Cols: n, Stride: n, Data: c}, pivots)
	skew := r.skewness(u, c)
	lapack64.Getrs(blas.NoTrans, B, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: skew}, pivots)
	blas64.Axpy(-0.5, vector(skew), vector(s.gain))
	for i := range n {
		for j := range i {
			mid := (s.reduce[i*n+j] + s.reduce[j*n+i]) / 2
			s.reduce[i*n+j], s.reduce[j*n+i] = mid, mid
		}
	}
	return s, nil
}

// logLikelihood returns the log probability of the answers given utilities.
// Each place of an order but the last is a choice among those that are left
// (Plackett and Luce), with −u as the worth.
func (r *rows) logLikelihood(u []float64) (value float64) {
	for i, reject := range r.reject {
		if reject {
			value += special.LogLogistic(u[i])
		} else {
			value += special.LogLogistic(-u[i])
		}
	}
	for _, order := range r.orders {
		for s := range order[:len(order)-1] {
			value -= u[order[s]] + logSum(u, order[s:])
		}
	}
	return value
}

// logSum returns ln Σ exp(−u) over rows. Relative to the least, so that no
// exponential overflows.
func logSum(u []float64, of []int) float64 {
	least := math.Inf(1)
	for _, i := range of {
		least = min(least, u[i])
	}
	sum := 0.0
	for _, i := range of {
		sum += math.Exp(least - u[i])
	}
	return math.Log(sum) - least
}

// curvature fills the gradient of the log likelihood and W, minus its second
// derivatives, n×n.
func (r *rows) curvature(u, grad, w []float64) {
	n := len(u)
	clear(grad)
	clear(w)
	for i, reject := range r.reject {
		p := special.Logistic(u[i])
		grad[i] = -p
		if reject {
			grad[i] = 1 - p
		}
		w[i*n+i] = p * (1 - p)
	}
	for _, order := range r.orders {
		for s := range order[:len(order)-1] {
			left := order[s:]
			total := logSum(u, left)
			grad[order[s]]--
			for _, i := range left {
				p := math.Exp(-u[i] - total)
				grad[i] += p
				w[i*n+i] += p
				for _, j := range left {
					w[i*n+j] -= p * math.Exp(-u[j]-total)
				}
			}
		}
	}
}

// skewness returns t_j = Σ_kl T_jkl C_kl, with T minus the third derivatives of
// the log likelihood and C the covariance of u, n×n.
func (r *rows) skewness(u, c []float64) []float64 {
	n := len(u)
	t := make([]float64, n)
	for i := range r.reject {
		p := special.Logistic(u[i])
		t[i] = p * (1 - p) * (1 - 2*p) * c[i*n+i]
	}
	for _, order := range r.orders {
		for s := range order[:len(order)-1] {
			left := order[s:]
			total := logSum(u, left)
			p, cp := make([]float64, len(left)), make([]float64, len(left))
			for a, i := range left {
				p[a] = math.Exp(-u[i] - total)
			}
			pcp := 0.0
			for a, i := range left {
				for b, j := range left {
					cp[a] += c[i*n+j] * p[b]
				}
				pcp += p[a] * cp[a]
			}
			// The third cumulants of who is chosen: E (x_j − p_j)·(x − p)ᵀC(x −
			// p), x being 1 for who is.
			mean := 0.0
			for a, i := range left {
				cp[a] = c[i*n+i] - 2*cp[a] + pcp
				mean += p[a] * cp[a]
			}
			for a, i := range left {
				t[i] -= p[a] * (cp[a] - mean)
			}
		}
	}
	return t
}
