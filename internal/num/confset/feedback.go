package confset

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Errors of this package; match with errors.Is.
var (
	// ErrFeedback reports labels, pairs or rankings that cannot be used: a
	// coordinate that is not finite, the wrong number of them, a point compared
	// with itself, or a ranking of nothing.
	ErrFeedback = errors.New("unusable feedback")
	// ErrSetting reports a norm bound, likelihood margin or jitter outside its
	// range.
	ErrSetting = errors.New("setting out of range")
	// ErrPoint reports a point at which no bound can be computed because it is
	// not finite.
	ErrPoint = errors.New("the point is not finite")
	// ErrNotConverged reports a maximum-likelihood fit or a bound that no
	// method could solve to its tolerance.
	ErrNotConverged = errors.New("the belief model did not converge")
)

// Evidence is the data of a belief: Labels alone, or Feedback of several forms.
type Evidence interface {
	// Answers returns how many answers of the expert it holds, n of Margin.
	Answers() int
	// Points returns the points that were asked about, repeated ones repeated.
	Points() [][]float64

	likelihood(dim int) (*likelihood, error)
}

// Feedback holds one expert's answers in those forms of Xu et al. 2024, Appendix H, that enter the
// likelihood.
type Feedback struct {
	Labels   Labels
	Pairs    []Pair
	Rankings []Ranking
}

// Pair is a comparison of two points of d coordinates: P(Better ≻ Worse) =
// S(g(Worse) − g(Better)), the model of Bradley and Terry (Xu et al. 2024,
// Appendix H.2b), for the smaller g is the better one.
type Pair struct {
	Better, Worse []float64
}

// Ranking orders points of d coordinates, or the best few of them. Its likelihood is that of
// Plackett and Luce, a choice of the best, then of the best of the others, and so on:
//
//	P = Π_i e^{−g(Order_i)} / (Σ_{j ≥ i} e^{−g(Order_j)} + Σ_j e^{−g(Rest_j)}).
//
// For two points this is that of Pair. Unlike the product over all pairs, which Xu et al. 2024,
// Appendix H.2c, suggest, it is a probability of the expert's answer, which the confidence set
// needs to cover the truth; Comparisons gives theirs.
type Ranking struct {
	Order [][]float64 // best first, at least one
	Rest  [][]float64 // worse than all in Order, in no order among themselves; may be empty
}

// Comparisons returns the order that a ranking gives any two points, best first (Xu et al. 2024,
// Appendix H.2c). As independent pairs they count one answer several times: their confidence set is
// too narrow for an expert who ranks by Plackett and Luce, and the narrower the longer the ranking.
func (r Ranking) Comparisons() []Pair {
	var pairs []Pair
	for i, better := range r.Order {
		for _, worse := range slices.Concat(r.Order[i+1:], r.Rest) {
			pairs = append(pairs, Pair{Better: better, Worse: worse})
		}
	}
	return pairs
}

// choices returns the number of choices in a ranking: of each point in Order
// that had a rival.
func (r Ranking) choices() int {
	if len(r.Rest) == 0 {
		return len(r.Order) - 1
	}
	return len(r.Order)
}

// Answers returns the number of labels, pairs, and choices in rankings (a
// ranking of k points has k−1).
func (f Feedback) Answers() int {
	n := f.Labels.Answers() + len(f.Pairs)
	for _, r := range f.Rankings {
		n += r.choices()
	}
	return n
}

// Points returns the labeled points, then each pair's (better, worse), then
// each ranking's (Order, Rest).
func (f Feedback) Points() [][]float64 {
	points := slices.Clone(f.Labels.X)
	for _, p := range f.Pairs {
		points = append(points, p.Better, p.Worse)
	}
	for _, r := range f.Rankings {
		points = append(points, r.Order...)
		points = append(points, r.Rest...)
	}
	return points
}

func (f Feedback) likelihood(dim int) (*likelihood, error) {
	c := collection{dim: dim}
	if err := c.label(f.Labels); err != nil {
		return nil, err
	}
	for i, p := range f.Pairs {
		if err := c.rank([][]float64{p.Better}, [][]float64{p.Worse}); err != nil {
			return nil, fmt.Errorf("pair %d: %w", i, err)
		}
	}
	for i, r := range f.Rankings {
		if len(r.Order) == 0 || r.choices() == 0 {
			return nil, fmt.Errorf("ranking %d: %w: it orders %d points before %d others",
				i, ErrFeedback, len(r.Order), len(r.Rest))
		}
		if err := c.rank(r.Order, r.Rest); err != nil {
			return nil, fmt.Errorf("ranking %d: %w", i, err)
		}
	}
	return c.likelihood(), nil
}

// collection gathers answers at distinct points.
type collection struct {
	dim              int
	points           [][]float64 // in the order of their first mention
	rejects, accepts []float64   // labels at each
	chosen           [][]int     // choices among two or more points: the first was chosen
}

// point returns the index of x among the distinct points.
func (c *collection) point(x []float64) (int, error) {
	if len(x) != c.dim {
		return 0, fmt.Errorf("%w: a point of %d coordinates where the kernel has %d", ErrFeedback,
			len(x), c.dim)
	}
	if !finite(x) {
		return 0, fmt.Errorf("%w: the point %v is not finite", ErrFeedback, x)
	}
	at := slices.IndexFunc(c.points, func(p []float64) bool { return slices.Equal(p, x) })
	if at < 0 {
		at = len(c.points)
		c.points = append(c.points, x)
		c.rejects = append(c.rejects, 0)
		c.accepts = append(c.accepts, 0)
	}
	return at, nil
}

// rank collects the choices of one ranking.
func (c *collection) rank(order, rest [][]float64) error {
	var all []int
	for _, x := range slices.Concat(order, rest) {
		at, err := c.point(x)
		if err != nil {
			return err
		}
		if slices.Contains(all, at) {
			return fmt.Errorf("%w: the point %v is compared with itself", ErrFeedback, x)
		}
		all = append(all, at)
	}
	for i := range order {
		if len(all)-i > 1 {
			c.chosen = append(c.chosen, all[i:])
		}
	}
	return nil
}

// likelihood chooses the latent values and states the answers in terms of them;
// see the type for how.
func (c *collection) likelihood() *likelihood {
	reference := c.references()
	l := &likelihood{}
	// The value or, negative, nothing, of each distinct point.
	value := make([]int, len(c.points))
	for i, x := range c.points {
		value[i] = -1
		if reference[i] != i {
			value[i] = len(l.points)
			l.points = append(l.points, x)
			l.rejects = append(l.rejects, c.rejects[i])
			l.accepts = append(l.accepts, c.accepts[i])
			l.own = append(l.own, c.rejects[i]+c.accepts[i])
		}
	}
	n := len(l.points)
	l.base = make([]int, n)
	position := make([]int, len(c.points)) // of the references in l.points
	for i, x := range c.points {
		if reference[i] == i {
			position[i] = len(l.points)
			l.points = append(l.points, x)
		}
	}
	for i, v := range value {
		if v >= 0 {
			l.base[v] = -1
			if reference[i] >= 0 {
				l.base[v] = position[reference[i]]
			}
		}
	}
	for _, chosen := range c.chosen {
		among := make([]int, len(chosen))
		for k, i := range chosen {
			among[k] = value[i]
		}
		l.choose(among)
	}
	return l
}

// references returns for each point that no label is connected with, by
// whatever chain of comparisons, the point of its connected part that was
// compared most; −1 for the others.
func (c *collection) references() []int {
	n := len(c.points)
	parent, compared := make([]int, n), make([]int, n)
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for _, chosen := range c.chosen {
		for _, i := range chosen {
			compared[i]++
			parent[find(i)] = find(chosen[0])
		}
	}
	labeled, most := make([]bool, n), make([]int, n)
	for i := range most {
		most[i] = -1
	}
	for i := range n {
		part := find(i)
		if c.rejects[i]+c.accepts[i] > 0 {
			labeled[part] = true
		}
		if most[part] < 0 || compared[i] > compared[most[part]] {
			most[part] = i
		}
	}
	reference := make([]int, n)
	for i := range n {
		reference[i] = -1
		if part := find(i); !labeled[part] {
			reference[i] = most[part]
		}
	}
	return reference
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
