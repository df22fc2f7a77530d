package acquisition

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/campaignd/campaignd/internal/num/special"
)

// Knowledge is the knowledge gradient over a finite set: by how much the least
// posterior mean of n designs is expected to fall with one more measurement, which
// may be elsewhere, or of another fidelity. With a_i the means, and b_i the
// standard deviation, with its sign, by which the measurement moves each of them,
//
//	KG = min_i a_i − E[min_i(a_i + b_i·Z)],   Z ~ N(0, 1)
//
// (Frazier, Powell and Dayanik 2009, Eq. 13). For MINIMIZATION of the objective;
// the acquisition is maximized. It is a workspace: one goroutine uses it at a time.
type Knowledge struct {
	order  []int     // all, by slope
	hull   []int     // the lines of the hull, by slope
	breaks []float64 // where each of these but the last ends, in Z
	logs   []float64 // ln of what each break adds to KG
}

// NewKnowledge returns a workspace for n designs.
func NewKnowledge(n int) *Knowledge {
	return &Knowledge{
		order: make([]int, n), hull: make([]int, 0, n), breaks: make([]float64, n), logs: make([]float64, n),
	}
}

// Log returns ln KG, exactly and without underflow, in O(n log n). It is −Inf where
// all b_i are equal: nothing is learned of which is best.
//
// Since Z and −Z have one distribution, KG = E max_i(−a_i + b_i·Z) − max_i(−a_i):
// the upper hull of lines, which with slopes rising from line to line and breaks
// c_j between them gives KG = Σ_j (b_{j+1} − b_j)·h(−|c_j|), h as in [EI] (Frazier,
// Powell and Dayanik 2009, Eq. 14).
func (k *Knowledge) Log(a, b []float64) float64 {
	k.setHull(a, b)
	last := len(k.hull) - 1
	for j, i := range k.hull[:last] {
		logH, _ := special.LogH(-math.Abs(k.breaks[j]))
		k.logs[j] = math.Log(b[k.hull[j+1]]-b[i]) + logH
	}
	if last == 0 {
		return math.Inf(-1)
	}
	return floats.LogSumExp(k.logs[:last])
}

// LogGrad is Log and fills dst, n values, with its derivatives by b. That by b_i is
// E[Z; i is the best]/KG, the difference of φ at the two breaks of a line: 0 for
// one that is not of the hull.
func (k *Knowledge) LogGrad(dst, a, b []float64) float64 {
	value := k.Log(a, b)
	clear(dst)
	if math.IsInf(value, -1) {
		return value
	}
	for j, i := range k.hull[:len(k.hull)-1] {
		density := math.Exp(special.LogNormalPDF(k.breaks[j]) - value)
		dst[i] -= density
		dst[k.hull[j+1]] += density
	}
	return value
}

// setHull sets the upper hull of the lines −a_i + b_i·z, in the order of their
// slopes, and where each of its lines but the last ends. Of equal lines it has the
// first.
func (k *Knowledge) setHull(a, b []float64) {
	if len(a) != len(k.order) || len(b) != len(a) || len(a) == 0 {
		panic("acquisition: a knowledge gradient over no designs, or others")
	}
	for i := range k.order {
		k.order[i] = i
	}
	slices.SortFunc(k.order, func(i, j int) int {
		return cmp.Or(cmp.Compare(b[i], b[j]), cmp.Compare(a[i], a[j]), cmp.Compare(i, j))
	})
	k.hull = k.hull[:0]
	for _, i := range k.order {
		if n := len(k.hull); n > 0 && b[k.hull[n-1]] == b[i] { // parallel, and not above
			continue
		}
		for len(k.hull) > 0 {
			n := len(k.hull)
			top := k.hull[n-1]
			// Where this line crosses the last of the hull.
			k.breaks[n-1] = (a[i] - a[top]) / (b[i] - b[top])
			if n == 1 || k.breaks[n-1] > k.breaks[n-2] {
				break
			}
			k.hull = k.hull[:n-1] // the last is nowhere above the others
		}
		k.hull = append(k.hull, i)
	}
}
