package dueling

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Errors of the package; match with errors.Is.
var (
	// ErrCandidates reports a set of candidates that cannot be compared: fewer
	// than two, a coordinate that is not a finite number, or the same point
	// twice.
	ErrCandidates = errors.New("bad candidates")
	// ErrComparison reports a comparison of a candidate that is not there, or
	// of a candidate with itself.
	ErrComparison = errors.New("bad comparison")
	// ErrSetting reports a setting outside its range.
	ErrSetting = errors.New("bad setting")
	// ErrNotConverged reports a fit whose residual stayed above its tolerance.
	// A larger λ makes the problem easier.
	ErrNotConverged = errors.New("the fit to the comparisons did not converge")
)

// Candidates is a finite set of n points with a kernel, and the n×n kernel
// matrix. A candidate is named by its index. It is immutable and safe for
// concurrent use.
type Candidates struct {
	n    int
	gram []float64 // k(x_i, x_j), row-major, both triangles
}

// NewCandidates returns the points as candidates under k. The points, of
// k.Dim() coordinates each, are not kept. It takes n² kernel values: 8 MB for
// 1,000 candidates. It fails with ErrCandidates; a point of another length is a
// programmer's mistake and panics.
func NewCandidates(k kernel.Kernel, points [][]float64) (*Candidates, error) {
	n := len(points)
	if n < 2 {
		return nil, fmt.Errorf("%w: %d given, at least two are needed for a comparison", ErrCandidates, n)
	}
	order := make([]int, n)
	for i, x := range points {
		order[i] = i
		for j, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%w: coordinate %d of candidate %d is %v", ErrCandidates, j, i, v)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(points[a], points[b]) })
	for i := range n - 1 {
		if a, b := order[i], order[i+1]; slices.Equal(points[a], points[b]) {
			return nil, fmt.Errorf("%w: candidates %d and %d are the same point; leave one out",
				ErrCandidates, a, b)
		}
	}
	c := &Candidates{n: n, gram: make([]float64, n*n)}
	k.Gram(c.gram, points)
	return c, nil
}

// Len returns the number of candidates n.
func (c *Candidates) Len() int { return c.n }

// Kernel returns the dueling kernel 𝕜((i, i'), (j, j')) of two pairs of
// candidates (Kayal et al. 2025, Eq. 4).
func (c *Candidates) Kernel(a, b Pair) float64 {
	first, second := c.row(a.First), c.row(a.Second)
	return (first[b.First] - second[b.First]) + (second[b.Second] - first[b.Second])
}

func (c *Candidates) row(i int) []float64 { return c.gram[i*c.n : i*c.n+c.n] }

// scale returns k(x, x), the same for every candidate.
func (c *Candidates) scale() float64 { return c.gram[0] }

// Pair names two candidates by index.
type Pair struct {
	First, Second int
}

// Comparison is a pair with its answer.
type Comparison struct {
	Pair
	// Outcome is the score of the first: 1 where it won, 0 where the second did, ½ where neither
	// was preferred. All losses take it as the y of Eq. 7–9.
	Outcome float64
}

// check reports whether the comparison can be recorded.
func (c *Candidates) check(x Comparison) error {
	for _, i := range []int{x.First, x.Second} {
		if i < 0 || i >= c.n {
			return fmt.Errorf("%w: candidate %d, there are %d, counted from 0", ErrComparison, i, c.n)
		}
	}
	if !(x.Outcome == 0 || x.Outcome == 0.5 || x.Outcome == 1) {
		return fmt.Errorf("%w: outcome %v, it must be 1 (first won), 0 (second won) or 0.5 (no difference)",
			ErrComparison, x.Outcome)
	}
	return nil
}

// tally counts comparisons by distinct pair, in the order of first appearance,
// each pair with its smaller index first.
type tally struct {
	pairs  []Pair
	counts []float64 // comparisons of the pair
	wins   []float64 // of its first, ½ for each one that was undecided
	total  float64   // comparisons in all
	at     map[Pair]int
}

// add counts a comparison and returns the index of its pair and +1, or −1 where
// the pair was reversed.
func (t *tally) add(x Comparison) (at int, sign float64) {
	p, score := x.Pair, x.Outcome
	sign = 1
	if p.First > p.Second {
		p = Pair{p.Second, p.First}
		score = 1 - score
		sign = -1
	}
	at, ok := t.at[p]
	if !ok {
		if t.at == nil {
			t.at = map[Pair]int{}
		}
		at = len(t.pairs)
		t.at[p] = at
		t.pairs = append(t.pairs, p)
		t.counts = append(t.counts, 0)
		t.wins = append(t.wins, 0)
	}
	t.counts[at]++
	t.wins[at] += score
	t.total++
	return at, sign
}
