package ehvi

import (
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/gp"
)

// Objective is one of the quantities that a trade-off is between.
type Objective struct {
	// Model is the posterior of the quantity, of one member.
	Model *gp.Conditioned
	// Known is the quantity itself where it is not measured but follows from the
	// point, as a price does; Model is then nil. Where grad is not nil it fills
	// it with the gradient.
	Known func(x, grad []float64) float64
	// Minimized says that the quantity is to be small. Reference and Bound are
	// the quantity's own, whatever its direction.
	Minimized bool
	// Reference is the worst value that is still of interest.
	Reference float64
	// Bound, where Bounded, is a bound against the direction, better than the
	// reference: what lies beyond it does not count.
	Bounded bool
	Bound   float64
}

// sign is the factor that turns the quantity into one to be maximized.
func (o Objective) sign() float64 {
	if o.Minimized {
		return -1
	}
	return 1
}

// leastSD is the standard deviation, relative to the prior's, below which it counts as 0: a smaller
// one is rounding, and has no gradient. For known values it is the deviation in the quantity's
// unit.
const leastSD = 1e-7

// Noisy is the noisy expected hypervolume improvement at a point of the unit
// cube, as [Members] for posteriors of Gaussian processes. It is a workspace: one
// goroutine uses it at a time.
type Noisy struct {
	objectives []objective
	further    []*gp.Conditioned
	members    *Members
	points     [][]float64
	dim        int

	means, dMeans [][]float64 // of each objective, of all members
	sd, dSD       []float64   // of each objective
	part          []float64   // of a gradient
}

// objective is one of them, conditioned on the members' values.
type objective struct {
	Objective
	given     *gp.Conditioned
	predictor *gp.ConditionedPredictor
	least     float64   // standard deviation
	slope     []float64 // the gradient of the standard deviation; a known value has its own
	known     [1]float64
}

// prepare makes the workspace.
func (n *Noisy) prepare() {
	m := len(n.objectives)
	members := n.members.Len()
	dim := n.dim
	n.means, n.dMeans = make([][]float64, m), make([][]float64, m)
	n.sd, n.dSD = make([]float64, m), make([]float64, m)
	n.part = make([]float64, dim)
	for k := range n.objectives {
		o := &n.objectives[k]
		n.means[k], n.dMeans[k] = make([]float64, members), make([]float64, members)
		o.slope = make([]float64, dim)
		o.least = leastSD
		if o.given != nil {
			o.predictor = o.given.NewPredictor()
			o.least *= math.Sqrt(o.given.OutputScale())
		}
	}
}

// First returns the improvement on the first members alone, at least one, with a
// workspace of its own: a search may be screened with few members. Draws of the
// members are quasi-random, and so are those of the first 2^k.
func (n *Noisy) First(members int) *Noisy {
	out := *n
	out.members = n.members.First(min(members, n.members.Len()))
	out.objectives = slices.Clone(n.objectives)
	for k, o := range out.objectives {
		if o.given != nil {
			out.objectives[k].given = o.given.First(out.members.Len())
		}
	}
	out.further = slices.Clone(n.further)
	for k, given := range out.further {
		out.further[k] = given.First(out.members.Len())
	}
	out.prepare()
	return &out
}

// Members returns the number of members: 1 where nothing has been tried that may
// be of interest.
func (n *Noisy) Members() int { return n.members.Len() }

// Points returns the points at which members have values: those under way, and
// those measured that may be on the front.
func (n *Noisy) Points() [][]float64 { return n.points }

// Given returns the posterior of a quantity given the members' values: of an objective, nil where
// it is known, or of a further one, which come after those.
func (n *Noisy) Given(quantity int) *gp.Conditioned {
	if k := quantity - len(n.objectives); k >= 0 {
		return n.further[k]
	}
	return n.objectives[quantity].given
}

// Log returns ln NEHVI at x. It is finite.
func (n *Noisy) Log(x []float64) float64 { return n.LogWeighed(x, nil) }

// LogWeighed is Log with ln of a factor of each member's improvement: that of its
// probability to be feasible at x. Nil: of none.
func (n *Noisy) LogWeighed(x, factors []float64) float64 {
	for k := range n.objectives {
		o := &n.objectives[k]
		if o.predictor == nil {
			o.known[0] = o.Known(x, nil)
			n.take(k, o.known[:], 0)
			continue
		}
		means, sd := o.predictor.Means(x)
		n.take(k, means, sd)
	}
	value, _ := n.members.evaluate(n.means, n.sd, factors, false)
	return value
}

// LogGrad is Log and fills grad with the gradient.
func (n *Noisy) LogGrad(x, grad []float64) float64 { return n.LogWeighedGrad(x, nil, grad, nil) }

// LogWeighedGrad is LogWeighed and fills grad with the gradient for factors that do
// not depend on x, and shares, of each member and unless nil, with the derivatives by
// the factors.
func (n *Noisy) LogWeighedGrad(x, factors, grad, shares []float64) float64 {
	for k := range n.objectives {
		o := &n.objectives[k]
		if o.predictor == nil {
			o.known[0] = o.Known(x, o.slope)
			n.take(k, o.known[:], 0)
			continue
		}
		means, sd := o.predictor.MeansGrad(x, o.slope)
		n.take(k, means, sd)
	}
	value := n.members.weighedGrad(n.means, n.sd, factors, n.dMeans, n.dSD, shares)
	clear(grad)
	for k := range n.objectives {
		n.objectives[k].addGrad(grad, n.part, n.dMeans[k], n.dSD[k])
	}
	return value
}

// take sets the means of an objective, of all members or the one that is that of
// all, and its standard deviation.
func (n *Noisy) take(k int, means []float64, sd float64) {
	o := &n.objectives[k]
	sign := o.sign()
	for s := range n.means[k] {
		n.means[k][s] = sign * means[min(s, len(means)-1)]
	}
	n.sd[k] = math.Max(sd, o.least)
}

// addGrad adds what an objective contributes to a gradient, given the derivatives
// by its means and its standard deviation.
func (o *objective) addGrad(grad, part, dMeans []float64, dSD float64) {
	sign := o.sign()
	if o.predictor == nil {
		byMean := 0.0
		for _, v := range dMeans {
			byMean += v
		}
		for j, v := range o.slope {
			grad[j] += sign * byMean * v
		}
		return
	}
	o.predictor.WeighedGrad(part, dMeans)
	for j, v := range part {
		grad[j] += sign*v + dSD*o.slope[j]
	}
}
