package gp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// spd returns a symmetric positive definite matrix with the given stride.
func spd(n, stride int) []float64 {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	a := make([]float64, n*stride)
	for i := range n {
		for k := range i + 1 {
			a[i*stride+k] = math.Exp(-math.Abs(float64(i-k))/9) * (1 + 1e-3*rng.Float64())
		}
		a[i*stride+i] += 0.5
	}
	return a
}

// Law: the factor, its inverse and the inverse are what LAPACK's routines give: the factor bit for
// bit, the inverses to the rounding of sums in another order.
func TestPanelsAreLAPACK(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 33, 63, 64, 65, 127, 128, 129, 200, direct - 1, direct, direct + 1, direct + 65} {
		for _, stride := range []int{n, n + 7} {
			a := spd(n, stride)
			b := slices.Clone(a)
			same := func(what string, tolerance float64) {
				t.Helper()
				for i := range a {
					if d := math.Abs(a[i] - b[i]); !(d <= tolerance) {
						t.Fatalf("%s, n = %d, stride %d: element %d is %v, LAPACK has %v",
							what, n, stride, i, a[i], b[i])
					}
				}
			}
			if ok, err := (triangle{n, stride, a}).potrf(t.Context()); !ok || err != nil {
				t.Fatalf("n = %d: %v %v", n, ok, err)
			}
			lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: stride, Data: b})
			same("the factor", 0)
			c, d := slices.Clone(a), slices.Clone(b)
			must.Do(t, (triangle{n, stride, a}).trtri(t.Context()))
			lapack64.Trtri(lower(b, n, stride))
			same("its inverse", 1e-13)
			a, b = c, d
			must.Do(t, (triangle{n, stride, a}).potri(t.Context()))
			lapack64.Potri(lower(b, n, stride))
			same("the inverse", 1e-13)
		}
	}
}

// lookAt is a context that is done from its n-th look on.
type lookAt struct {
	context.Context
	left *int
}

func (c lookAt) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Law: a fit that is called off in the middle of an evaluation is an error, never
// the result of a shorter search.
func TestFitCalledOffAnywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var data Data
	for range 150 {
		x := []float64{rng.Float64(), rng.Float64()}
		data.X, data.Y = append(data.X, x), append(data.Y, math.Sin(5*x[0])+x[1])
	}
	looks := math.MaxInt
	cfg := FitConfig{Seed: 1, Starts: 2, Searches: 1}
	whole := must.Get(Fit(lookAt{t.Context(), &looks}, data, cfg))(t)
	n := math.MaxInt - looks
	if n < 3*whole.Evaluations {
		t.Fatalf("%d evaluations looked at the context %d times", whole.Evaluations, n)
	}
	for k := 0; k < n; k += 1 + n/40 {
		left := k
		if _, err := Fit(lookAt{t.Context(), &left}, data, cfg); !errors.Is(err, context.Canceled) {
			t.Fatalf("called off at look %d of %d it gave %v", k, n, err)
		}
	}
	left := n - 1
	if _, err := Fit(lookAt{t.Context(), &left}, data, cfg); err == nil {
		t.Fatal("called off at the last look it succeeded")
	}
}

// Law: an evaluation for a search that was called off fills no matrix.
func TestNothingIsFilledForASearchThatWasCalledOff(t *testing.T) {
	l := newLikelihood(merge(Data{X: [][]float64{{0}, {0.5}, {1}}, Y: []float64{0, 1, 0}}), kernel.RBF)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.eval(ctx, Hyper{
		Lengthscales: []float64{1},
		OutputScale:  1,
		Noise:        0.1,
	}, true, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if slices.ContainsFunc(l.rho, func(v float64) bool { return v != 0 }) {
		t.Errorf("it filled %v", l.rho)
	}
}
