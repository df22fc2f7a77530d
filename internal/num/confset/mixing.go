package confset

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// mixingDepth is how many past steps a mixing remembers; more gains hardly a
// round.
const mixingDepth = 5

// mixing accelerates a fixed-point iteration u ← T(u), and makes many converge
// that diverge by themselves, by Anderson's method in the form of Walker and Ni
// 2011 (Eq. 2.2): the residuals f = T(u) − u of the last points serve as
// secants of f, and the next point is where their linear model has the
// least |f|.
type mixing struct {
	known        int         // how many points were seen
	lastU, lastF []float64   // the last of them
	du, df       [][]float64 // differences of successive points, mixingDepth of them in turn
	f            []float64
	normal       []float64 // dfᵀdf
	gamma        []float64
}

func newMixing(n int) *mixing {
	m := &mixing{lastU: make([]float64, n), lastF: make([]float64, n), f: make([]float64, n),
		normal: make([]float64, mixingDepth*mixingDepth), gamma: make([]float64, mixingDepth)}
	for range mixingDepth {
		m.du = append(m.du, make([]float64, n))
		m.df = append(m.df, make([]float64, n))
	}
	return m
}

// next overwrites u with the point after u and T(u) = t.
func (m *mixing) next(u, t []float64) {
	floats.SubTo(m.f, t, u)
	if m.known > 0 {
		slot := (m.known - 1) % mixingDepth
		floats.SubTo(m.du[slot], u, m.lastU)
		floats.SubTo(m.df[slot], m.f, m.lastF)
	}
	copy(m.lastU, u)
	copy(m.lastF, m.f)
	k := min(m.known, mixingDepth)
	m.known++
	copy(u, t)
	if k == 0 {
		return
	}
	for i := range k {
		for j := range i + 1 {
			m.normal[i*mixingDepth+j] = floats.Dot(m.df[i], m.df[j])
		}
		m.normal[i*mixingDepth+i] *= 1 + 1e-12 // steps may be all but dependent
		m.gamma[i] = floats.Dot(m.df[i], m.f)
	}
	chol, ok := lapack64.Potrf(blas64.Symmetric{N: k, Stride: mixingDepth, Data: m.normal, Uplo: blas.Lower})
	if !ok {
		return
	}
	gamma := vector(m.gamma[:k])
	blas64.Trsv(blas.NoTrans, chol, gamma)
	blas64.Trsv(blas.Trans, chol, gamma)
	if !finite(m.gamma[:k]) {
		return
	}
	for i, g := range m.gamma[:k] {
		floats.AddScaled(u, -g, m.du[i])
		floats.AddScaled(u, -g, m.df[i])
	}
}

// intoBall shrinks u to the norm given if it is longer.
func intoBall(u []float64, norm float64) {
	if size := math.Sqrt(floats.Dot(u, u)); size > norm {
		floats.Scale(norm/size, u)
	}
}
