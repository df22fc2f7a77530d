package ehvi

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/internal/num/qmc"
)

// Effort of the noisy expected hypervolume improvement.
const (
	drawn    = 64  // members, where their number is not given
	baseline = 128 // measured points on which posteriors are conditioned, at most
	weighed  = 256 // measured points to choose them from, at most
	pruning  = 256 // draws by which they are chosen
)

// Tradeoff is the trade-off that a point is to improve.
type Tradeoff struct {
	// Objectives of the trade-off; one of them at least has a model.
	Objectives []Objective
	// Further are the posteriors of further quantities that decide whether a point is feasible, of
	// one member each. Members suppose values of these too: see [Noisy.Given].
	Further []*gp.Conditioned
	// Feasible reports whether a point counts, where the quantities have the
	// given values, in their own units: those of the objectives, then the
	// further ones; it keeps neither. Nil means that all do. What is beyond the
	// bound of an objective never does. It says what fronts are; how probably the new
	// point counts is for [Noisy.LogWeighed].
	Feasible func(x, values []float64) bool
	// Measured and UnderWay are points of the unit cube.
	Measured, UnderWay [][]float64
	// Members is the number of possible values of the points tried; a power of two is best, and 0
	// means 64.
	Members int
	// Seed is that of all draws. Equal trade-offs give equal bits.
	Seed uint64
}

// ErrReference reports an objective whose bound leaves nothing beyond its
// reference.
var ErrReference = errors.New("nothing lies between the reference and the bound of an objective")

// NewNoisy returns the improvement on the points tried. It draws values of all quantities, without
// noise, at the points under way and at those measured that may be on the front: beyond the
// reference, feasible and not dominated in one of 256 draws. Each member is a draw: its front is
// that of its feasible values, and its means those of the posteriors given its values at the points
// under way and at the 128 that are on the front most often. So a point that was measured or is
// under way promises no gain. Where no point may be on the front, and none is under way, there is
// one member, with an empty front and the posteriors as they are.
//
// A point at which other points determine a quantity takes its value from theirs, and that quantity
// is not conditioned on it: conditioning on a value that follows already makes a covariance
// singular, and means absurd.
//
// It fails with [ErrReference] or [gp.ErrNotPositiveDefinite].
func NewNoisy(t Tradeoff) (*Noisy, error) {
	reference, limits := make([]float64, len(t.Objectives)), make([]Limit, len(t.Objectives))
	for k, o := range t.Objectives {
		reference[k] = o.sign() * o.Reference
		limits[k] = Limit{Bounded: o.Bounded, At: o.sign() * o.Bound}
		if o.Bounded && !(limits[k].At > reference[k]) {
			return nil, fmt.Errorf("%w: objective %d, %v and %v", ErrReference, k, o.Reference, o.Bound)
		}
	}
	b := &builder{Tradeoff: t, reference: reference, limits: limits}
	for _, o := range t.Objectives {
		b.models = append(b.models, o.Model)
	}
	b.models = append(b.models, t.Further...)
	b.gather()
	return b.members(b.choose())
}

// builder makes the members.
type builder struct {
	Tradeoff
	reference []float64
	limits    []Limit
	models    []*gp.Conditioned // of all quantities, nil where one is known
	points    [][]float64       // tried: those measured that are weighed, then those under way
	measured  int               // how many are of the first kind
	joints    []*gp.Joint       // of each model at these points
}

// gather computes the joint posteriors at the points tried.
func (b *builder) gather() {
	underWay := distinct(b.UnderWay, nil)
	b.points = b.contenders(distinct(b.Measured, underWay))
	b.measured = len(b.points)
	b.points = append(b.points, underWay...)
	for _, model := range b.models {
		var joint *gp.Joint
		if model != nil {
			joint = model.Joint(b.points)
		}
		b.joints = append(b.joints, joint)
	}
}

// distinct returns the points that are not among the others, each once.
func distinct(points, others [][]float64) (found [][]float64) {
	for _, x := range points {
		same := func(y []float64) bool { return slices.Equal(x, y) }
		if !slices.ContainsFunc(others, same) && !slices.ContainsFunc(found, same) {
			found = append(found, x)
		}
	}
	return found
}

// contenders are the points that are weighed: where there are too many, those
// whose posterior means the fewest others dominate.
func (b *builder) contenders(points [][]float64) [][]float64 {
	if len(points) <= weighed {
		return points
	}
	means := make([][]float64, len(points))
	for i := range points {
		means[i] = make([]float64, len(b.Objectives))
	}
	for k, o := range b.Objectives {
		mean := func(x []float64) float64 { return o.Known(x, nil) }
		if o.Model != nil {
			mean = o.Model.NewPredictor().Mean
		}
		for i, x := range points {
			means[i][k] = o.sign() * mean(x)
		}
	}
	order, over := make([]int, len(points)), make([]int, len(points))
	for i := range points {
		order[i] = i
		for j := range points {
			if pareto.Dominates(means[j], means[i]) {
				over[i]++
			}
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(over[i], over[j]) })
	chosen := make([][]float64, weighed)
	for i := range chosen {
		chosen[i] = points[order[i]]
	}
	return chosen
}

// choose returns the points at which members have values, as indices, and how
// many of them, the first ones, posteriors are conditioned on: those measured
// that are on the front most often, those under way, and the others measured
// that may be on the front.
func (b *builder) choose() (chosen []int, conditioned int) {
	all := make([]int, len(b.points))
	for i := range all {
		all[i] = i
	}
	s := b.sample(all)
	rng := rand.New(rand.NewPCG(b.Seed, 0x65687669)) // the second word spells "ehvi": a stream of its own
	z := make([]float64, s.Dims)
	wins := make([]int, len(all))
	for range pruning {
		for i := range z {
			z[i] = rng.NormFloat64()
		}
		counting, values := s.draw(z)
		for _, i := range pareto.NonDominated(values) {
			wins[counting[i]]++
		}
	}
	winners := slices.DeleteFunc(slices.Clone(all[:b.measured]),
		func(i int) bool { return wins[i] == 0 })
	slices.SortStableFunc(winners, func(i, j int) int { return cmp.Compare(wins[j], wins[i]) })
	most := min(len(winners), baseline)
	return slices.Concat(winners[:most], all[b.measured:], winners[most:]),
		most + len(all) - b.measured
}

// members draws the members' values at the chosen points.
func (b *builder) members(chosen []int, conditioned int) (*Noisy, error) {
	s := b.sample(chosen)
	if len(chosen) == 0 {
		return s.suppose([][]float64{nil}, 0)
	}
	normals, err := qmc.Normals(min(s.Dims, qmc.MaxDim), cmp.Or(b.Members, drawn), b.Seed)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(b.Seed, 0x6d6f7265)) // "more": beyond the dimensions of the sequence
	for i := range normals {
		for len(normals[i]) < s.Dims {
			normals[i] = append(normals[i], rng.NormFloat64())
		}
	}
	return s.suppose(normals, conditioned)
}
