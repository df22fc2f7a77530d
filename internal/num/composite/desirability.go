package composite

import (
	"errors"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/jet"
	"github.com/campaignd/campaignd/internal/num/special"
)

// Goal is the worth of an argument: from From, where it is 0, it grows to 1 at To. Either may be
// the greater. With a second side it falls again, from 1 at Back to nothing at Gone, beyond To.
type Goal struct {
	Argument int
	From, To float64
	TwoSided bool
	Back     float64
	Gone     float64
	// Weight among the goals; 0 counts as 1.
	Weight float64
}

// sides returns the ends of the goal's ramps.
func (g Goal) sides() [][2]float64 {
	if g.TwoSided {
		return [][2]float64{{g.From, g.To}, {g.Gone, g.Back}}
	}
	return [][2]float64{{g.From, g.To}}
}

// Desirability is the weighted geometric mean of the worths of several goals, between 0 and 1, to
// be MAXIMIZED (Derringer and Suich 1980). It implements [Function].
//
// The ramp between nothing and 1 is smooth, with tails that never end,
//
//	r(u) = τ(softplus(u/τ) − softplus((u−1)/τ)),  u = (y − from)/(to − from),
//
// τ = 0.02, so that a search is led towards the goal from wherever it begins: computed as ln r,
// which does not underflow. A goal with two sides is the product of both ramps.
// [Desirability.Clipped] is the same with sharp ends.
type Desirability struct {
	goals []Goal
	total float64 // of the weights

	space                 *jet.Space
	term, sum, added, out jet.Jet
}

// ramp is τ, how much of a ramp its tails take.
const ramp = 0.02

var errGoal = errors.New("composite: no goal to be met")

// NewDesirability returns the desirability of some goals. It fails where one has no
// slope, a side in the wrong place, or a weight below 0.
func NewDesirability(goals []Goal) (*Desirability, error) {
	if len(goals) == 0 {
		return nil, fmt.Errorf("%w: at least one is needed", errGoal)
	}
	d := &Desirability{goals: goals}
	for i, g := range goals {
		if !g.ordered() {
			return nil, fmt.Errorf("%w: goal %d is %+v", errGoal, i, g)
		}
		if !(g.Weight >= 0) || math.IsInf(g.Weight, 0) {
			return nil, fmt.Errorf("%w: goal %d weighs %v", errGoal, i, g.Weight)
		}
		d.total += g.weight()
	}
	return d, nil
}

// ordered reports whether the ends of the ramps are finite and follow one another,
// in either direction.
func (g Goal) ordered() bool {
	direction := math.Copysign(1, g.To-g.From)
	rises := func(from, to float64) bool { return direction*(to-from) > 0 && !math.IsInf(to-from, 0) }
	return rises(g.From, g.To) &&
		(!g.TwoSided || rises(g.Back, g.Gone) && direction*(g.Back-g.To) >= 0)
}

func (g Goal) weight() float64 {
	if g.Weight == 0 {
		return 1
	}
	return g.Weight
}

// Uses implements [Function].
func (d *Desirability) Uses(argument int) bool {
	for _, g := range d.goals {
		if g.Argument == argument {
			return true
		}
	}
	return false
}

// Affine implements [Function].
func (d *Desirability) Affine(marked []bool) bool {
	for _, g := range d.goals {
		if marked[g.Argument] {
			return false
		}
	}
	return true
}

// Value implements [Function].
func (d *Desirability) Value(arguments []float64) float64 {
	sum := 0.0
	for _, g := range d.goals {
		for _, side := range g.sides() {
			sum += float64(g.weight() / d.total * logRamp(at(side, arguments[g.Argument])).value)
		}
	}
	return math.Exp(sum)
}

// at returns where on a ramp a value is.
func at(side [2]float64, y float64) float64 { return (y - side[0]) / (side[1] - side[0]) }

// Clipped returns the desirability with ramps that begin and end sharply, for people: 0 where a
// goal is missed altogether, 1 where all are met.
func (d *Desirability) Clipped(arguments []float64) float64 {
	sum := 0.0
	for _, g := range d.goals {
		for _, side := range g.sides() {
			u := min(max(at(side, arguments[g.Argument]), 0), 1)
			sum += float64(g.weight() / d.total * math.Log(u))
		}
	}
	return math.Exp(sum)
}

// Jet implements [Function].
func (d *Desirability) Jet(s *jet.Space, arguments []jet.Jet) jet.Jet {
	if d.space != s {
		d.space = s
		d.term = s.New()
		d.sum = s.New()
		d.added = s.New()
		d.out = s.New()
	}
	s.Constant(d.sum, 0)
	for _, g := range d.goals {
		y := arguments[g.Argument]
		for _, side := range g.sides() {
			r := logRamp(at(side, y.Value()))
			weight, slope := g.weight()/d.total, 1/(side[1]-side[0])
			s.Compose(d.term, y, weight*r.value, weight*r.first*slope, weight*r.second*slope*slope,
				weight*r.third*slope*slope*slope)
			s.Add(d.added, d.sum, d.term)
			d.sum, d.added = d.added, d.sum
		}
	}
	s.Exp(d.out, d.sum)
	return d.out
}

// derivatives are a value and the first three derivatives of a function.
type derivatives struct{ value, first, second, third float64 }

// logRamp returns ln r and its derivatives in u. With s = u/τ and T = 1/τ
//
//	r = τ·softplus(l),  l = s + ln(1 − e⁻ᵀ) − softplus(s − T),
//
// which neither cancels nor underflows. e⁻ᵀ is lost next to 1.
func logRamp(u float64) derivatives {
	const T = 1 / ramp
	s := u / ramp
	past := special.Logistic(s - T) // how far the ramp has ended
	left := special.Logistic(T - s)
	l := derivatives{
		value:  s - special.Log1pExp(s-T),
		first:  left / ramp,
		second: -past * left / (ramp * ramp),
		third:  -past * left * (left - past) / (ramp * ramp * ramp),
	}
	f := logSoftplus(l.value)
	square := l.first * l.first
	return derivatives{
		value:  math.Log(ramp) + f.value,
		first:  f.first * l.first,
		second: float64(f.second*square) + float64(f.first*l.second),
		third: float64(f.third*square*l.first) + float64(3*f.second*l.first*l.second) +
			float64(f.first*l.third),
	}
}

// logSoftplus returns ln softplus(x), x < 700, and its derivatives. Far below 0 it
// is x.
func logSoftplus(x float64) derivatives {
	if x < -37 { // e^x is lost next to 1
		return derivatives{value: x, first: 1}
	}
	a := special.Log1pExp(x)
	p, q := special.Logistic(x), special.Logistic(-x)
	first := p / a
	second := p * q / a
	third := second * (q - p)
	return derivatives{
		value:  math.Log(a),
		first:  first,
		second: second - first*first,
		third:  third - 3*first*second + 2*first*first*first,
	}
}
