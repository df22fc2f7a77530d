package trust

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/special"
)

// Evidence is the evidence from an expert's labels so far: the posterior probabilities that
// they agree with the objective, are unrelated to it, or contradict it. They add up to 1.
type Evidence struct {
	Helps, Guesses, Misleads float64
}

// Before any label each of the three is as likely as another.
const prior = 1. / 3

// slopes are the strengths, in logits per standard deviation of the measurements, that an
// informative expert may have, each as likely as another: the labeler of Xu et al. 2024
// (Example 2.2) with a = 1 has 1 to 1.5 on the electrolyte, Ackley's and Hölder's function,
// with a = 2 twice that.
var slopes = []float64{0.5, 1, 1.5, 2, 3}

// interceptSD is the standard deviation of how strict an expert may be, in
// logits, with mean 0. Examples have an intercept of their own: they may have
// been chosen to balance accepts and rejects.
const interceptSD = 3

// ErrEvidence is returned where the labels cannot be weighed: the model's
// posterior at their compositions is not finite.
var ErrEvidence = errors.New("the labels cannot be compared with what was measured")

// Weigh compares labels with the objective's model at the labeled compositions; joint is its
// posterior there, standardized, smaller being better. reject[i] is label i, example[i] whether
// it was given as an example before anything was asked.
//
// A label is a draw from P(reject) = S(b₀ + b·f(x)), S the logistic function.
// The expert helps if b > 0, guesses if b = 0 and misleads if b < 0. The
// probability of all labels under each b integrates over f and b₀ by Laplace's
// approximation (Rasmussen and Williams 2006, Eq. 3.32). So a label tells
// little where the model knows little, labels side by side tell little more
// than one, and an expert who is strict or lenient throughout shows nothing by
// it. Eleven fits of n labels cost 1 ms at
// n = 50, 4.5 ms at 100.
func Weigh(joint *gp.Joint, reject, example []bool) (Evidence, error) {
	if len(joint.Mean) != len(reject) || len(reject) != len(example) {
		panic("trust: a label has a composition, an answer and an origin")
	}
	l := newLaplace(joint, reject, example)
	guesses, err := l.logMarginal(0)
	if err != nil {
		return Evidence{}, err
	}
	// The mean likelihood over the slopes of one sign against that of a
	// guesser.
	ratio := func(sign float64) (float64, error) {
		sum := 0.0
		for _, slope := range slopes {
			value, err := l.logMarginal(sign * slope)
			if err != nil {
				return 0, err
			}
			sum += math.Exp(min(value-guesses, 600))
		}
		return sum / float64(len(slopes)), nil
	}
	helps, err := ratio(1)
	if err != nil {
		return Evidence{}, err
	}
	misleads, err := ratio(-1)
	if err != nil {
		return Evidence{}, err
	}
	total := prior*helps + prior + prior*misleads
	return Evidence{
		Helps: prior * helps / total, Guesses: prior / total, Misleads: prior * misleads / total,
	}, nil
}

// laplace approximates the probability of labels. The latent variables are u =
// b₀ + b·f at the labeled compositions, normal with mean m and covariance K.
type laplace struct {
	joint           *gp.Joint
	reject, example []bool

	n                             int
	k, b                          []float64 // K and I + W½KW½, n×n, row-major
	m, a, u, w, g, rhs, c, at, ut []float64 // of length n; u = m + K·a
}

func newLaplace(joint *gp.Joint, reject, example []bool) *laplace {
	n := len(reject)
	l := &laplace{
		joint: joint, reject: reject, example: example, n: n, k: make([]float64, n*n),
		b: make([]float64, n*n),
	}
	for _, v := range []*[]float64{&l.m, &l.a, &l.u, &l.w, &l.g, &l.rhs, &l.c, &l.at, &l.ut} {
		*v = make([]float64, n)
	}
	return l
}

const (
	newtonSteps = 50
	newtonGain  = 1e-9 // of the log posterior, below which the mode is reached
	leastStep   = 1e-4
)

// logMarginal returns log P(labels | b) (Rasmussen and Williams 2006, Alg. 3.1,
// with a mean and with steps halved until the posterior grows).
func (l *laplace) logMarginal(slope float64) (float64, error) {
	n := l.n
	if n == 0 {
		return 0, nil
	}
	for i := range n {
		l.m[i], l.a[i] = slope*l.joint.Mean[i], 0
		l.u[i] = l.m[i]
		for j := range n {
			l.k[i*n+j] = slope * slope * l.joint.Cov[i*n+j]
			if l.example[i] == l.example[j] {
				l.k[i*n+j] += interceptSD * interceptSD
			}
		}
	}
	K := blas64.Symmetric{N: n, Stride: n, Data: l.k, Uplo: blas.Upper}
	B := blas64.Symmetric{N: n, Stride: n, Data: l.b, Uplo: blas.Upper}
	value, logDet := l.logPosterior(l.a, l.u), 0.0
	for range newtonSteps {
		for i, u := range l.u {
			p := special.Logistic(u)
			l.w[i] = max(p*(1-p), 1e-12)
			l.g[i] = -p
			if l.reject[i] {
				l.g[i] = 1 - p
			}
			l.rhs[i] = l.w[i]*(u-l.m[i]) + l.g[i]
		}
		for i := range n {
			for j := i; j < n; j++ {
				l.b[i*n+j] = math.Sqrt(l.w[i]) * l.k[i*n+j] * math.Sqrt(l.w[j])
			}
			l.b[i*n+i]++
		}
		factor, ok := lapack64.Potrf(B)
		if !ok {
			return 0, ErrEvidence
		}
		logDet = 0
		for i := range n {
			logDet += 2 * math.Log(l.b[i*n+i])
		}
		blas64.Symv(1, K, vector(l.rhs), 0, vector(l.c))
		for i := range l.c {
			l.c[i] *= math.Sqrt(l.w[i])
		}
		lapack64.Potrs(factor, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: l.c})
		for i := range l.c {
			l.c[i] = l.rhs[i] - math.Sqrt(l.w[i])*l.c[i] // the full step's a
		}
		gain := l.advance(K, &value)
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return 0, ErrEvidence
		}
		if gain < newtonGain {
			break
		}
	}
	return value - logDet/2, nil
}

// advance moves a towards c, as far as that raises the log posterior, and returns the gain.
func (l *laplace) advance(K blas64.Symmetric, value *float64) (gain float64) {
	for step := 1.0; step >= leastStep; step /= 2 {
		for i := range l.at {
			l.at[i] = l.a[i] + step*(l.c[i]-l.a[i])
		}
		copy(l.ut, l.m)
		blas64.Symv(1, K, vector(l.at), 1, vector(l.ut))
		if next := l.logPosterior(l.at, l.ut); !(next < *value) {
			gain = next - *value
			l.a, l.at, l.u, l.ut, *value = l.at, l.a, l.ut, l.u, next
			return gain
		}
	}
	return 0
}

// logPosterior returns log P(labels | u) − ½(u − m)ᵀK⁻¹(u − m).
func (l *laplace) logPosterior(a, u []float64) (value float64) {
	for i := range u {
		rejects := u[i]
		if !l.reject[i] {
			rejects = -rejects
		}
		value += special.LogLogistic(rejects) - a[i]*(u[i]-l.m[i])/2
	}
	return value
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
