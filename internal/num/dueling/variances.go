package dueling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Variances is σ_t of Kayal et al. 2025, Eq. 10, over a subset of the
// candidates:
//
//	σ_t²(z) = 𝕜(z, z) − 𝕜_t(z)ᵀ(𝕂_t + λκI)⁻¹𝕜_t(z),
//
// the posterior variance of f(x) − f(x') for a Gaussian process f with kernel
// k, given differences with noise of variance λκ. It keeps the posterior
// covariance C of f over the subset. A comparison of x and x' with v = C(·, x)
// − C(·, x') turns it into
//
//	C − v vᵀ/(v_x − v_x' + λκ),
//
// in |M|² multiplications; whatever the outcome. In the same pass it finds the
// pair of greatest σ.
//
// Drift: an update adds a rounding error of a few units in the last place of
// k(x, x) to an entry, and the later updates do not enlarge it (they are
// contractions), so after n of them a variance is within about n·1e-16·k(x, x)
// of Eq. 10. The test asks for 1e-12 after 2,000. MR-LPF starts every round
// from the kernel, so that no error outlives its round.
type Variances struct {
	candidates *Candidates
	noise      float64
	members    []int       // candidates by place; the first kept ones may be proposed
	kept       int         // members[:kept]
	place      map[int]int // of a candidate in members
	cov        []float64   // lower triangle of C, row-major with stride len(members)
	diag       []float64   // of C
	column     []float64   // v, scratch
	peak       []float64   // peak[a]: greatest variance of a pair (a, b), b < a
}

func newVariances(c *Candidates, members []int, kept int, noise float64) *Variances {
	n := len(members)
	v := &Variances{
		candidates: c,
		noise:      noise,
		members:    members,
		kept:       kept,
		place:      make(map[int]int, n),
		cov:        make([]float64, n*n),
		diag:       make([]float64, n),
		column:     make([]float64, n),
		peak:       make([]float64, n),
	}
	for a, i := range members {
		v.place[i] = a
		row := c.row(i)
		for b, j := range members[:a+1] {
			v.cov[a*n+b] = row[j]
		}
		v.diag[a] = row[i]
	}
	clear(v.column)
	v.update(0)
	return v
}

// Observe takes a comparison of the pair into account, whatever its outcome.
// Both must be among the candidates that v covers; it panics otherwise.
func (v *Variances) Observe(p Pair) { v.observe(p, v.noise) }

// observe is Observe with noise of its own variance.
func (v *Variances) observe(p Pair, noise float64) {
	i, iok := v.place[p.First]
	j, jok := v.place[p.Second]
	if !iok || !jok {
		panic(fmt.Sprintf("dueling: pair (%d, %d) is not covered by these variances", p.First, p.Second))
	}
	for a := range v.column {
		v.column[a] = v.at(a, i) - v.at(a, j)
	}
	v.update(1 / (v.column[i] - v.column[j] + noise))
}

// covers reports whether Observe accepts the pair.
func (v *Variances) covers(p Pair) bool {
	_, i := v.place[p.First]
	_, j := v.place[p.Second]
	return i && j
}

func (v *Variances) at(a, b int) float64 {
	if a < b {
		a, b = b, a
	}
	return v.cov[a*len(v.members)+b]
}

// update subtracts scale·column·columnᵀ and renews the peaks, one pass over the
// triangle in fixed order.
func (v *Variances) update(scale float64) {
	n := len(v.members)
	diag, column := v.diag, v.column
	for a, c := range column {
		diag[a] -= scale * c * c
	}
	for a := range n {
		row := v.cov[a*n : a*n+a]
		own, ca := diag[a], -scale*column[a]
		col, dia := column[:len(row)], diag[:len(row)]
		greatest := math.Inf(-1)
		for b, x := range row {
			x += ca * col[b]
			row[b] = x
			if s := dia[b] - 2*x; s > greatest {
				greatest = s
			}
		}
		v.cov[a*n+a] = own
		v.peak[a] = greatest + own
	}
}

// SD returns σ(x_i, x_j) for two candidates that v covers; it panics for
// others.
func (v *Variances) SD(i, j int) float64 {
	a, aok := v.place[i]
	b, bok := v.place[j]
	if !aok || !bok {
		panic(fmt.Sprintf("dueling: pair (%d, %d) is not covered by these variances", i, j))
	}
	return v.sd(a, b)
}

func (v *Variances) sd(a, b int) float64 {
	if a == b {
		return 0
	}
	return math.Sqrt(math.Max(0, v.diag[a]+v.diag[b]-2*v.at(a, b)))
}

// tieTolerance is the difference of variances, relative to k(x, x), below which
// pairs count as equally uncertain: far above rounding, so that rounding does
// not choose, and far below anything that matters.
const tieTolerance = 1e-11

// Widest returns the pair of distinct kept candidates with the greatest σ, and
// σ. random decides among equals (to 1e-11 of k(x, x) in variance), all with
// the same probability, and which of the two comes first. It panics where fewer
// than two candidates are kept.
func (v *Variances) Widest(random *rand.Rand) (Pair, float64) {
	if v.kept < 2 {
		panic("dueling: a pair needs two kept candidates")
	}
	n := len(v.members)
	limit := slices.Max(v.peak[1:v.kept]) - tieTolerance*v.candidates.scale()
	// ties calls yield with every pair at the limit until it returns false.
	ties := func(yield func(a, b int) bool) {
		for a := 1; a < v.kept; a++ {
			if v.peak[a] < limit {
				continue
			}
			for b, x := range v.cov[a*n : a*n+a] {
				if v.diag[b]-2*x+v.diag[a] >= limit && !yield(a, b) {
					return
				}
			}
		}
	}
	var count int
	ties(func(int, int) bool { count++; return true })
	chosen := random.IntN(count)
	var pair Pair
	var sd float64
	ties(func(a, b int) bool {
		if chosen > 0 {
			chosen--
			return true
		}
		pair, sd = Pair{v.members[a], v.members[b]}, v.sd(a, b)
		return false
	})
	if random.IntN(2) == 0 {
		pair.First, pair.Second = pair.Second, pair.First
	}
	return pair, sd
}

// clone returns a copy that can be updated on its own.
func (v *Variances) clone() *Variances {
	w := *v
	w.cov = slices.Clone(v.cov)
	w.diag = slices.Clone(v.diag)
	w.peak = slices.Clone(v.peak)
	w.column = make([]float64, len(v.column))
	return &w
}
