package tasks

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// Tradeoff is a test problem with several objectives. Its objective is a hypervolume: the volume
// between the worst values of interest and the values that one of the results equals or beats.
type Tradeoff struct {
	// Name of the problem, for example "branin-currin".
	Name string
	// Description in a sentence, with the source.
	Description string
	// Parameters in order, with units and bounds; all are numbers.
	Parameters []definition.Parameter
	// Objectives in order, two to four.
	Objectives []Outcome
	// Slacks are the names of the constraints' slacks. A composition is feasible
	// where none of them is below 0. Nil: all are feasible.
	Slacks []string
	// Hypervolume is the greatest one, in the product of the objectives' units.
	// Where the front has no closed form it is that of many points found by others
	// and a lower bound; the problem's comment says so.
	Hypervolume float64

	values func(x []float64) []float64
}

// Outcome is an objective of a [Tradeoff].
type Outcome struct {
	// Name and Unit of the quantity.
	Name, Unit string
	// Goal is [definition.Maximize] or [definition.Minimize].
	Goal string
	// Worst is the value from which on a result is of interest, in Unit: the
	// coordinate of the hypervolume's reference point.
	Worst float64
	// Known says that the quantity follows from the composition and is never
	// measured.
	Known bool
}

// Values returns the noiseless quantities at p: the objectives in their units, in order and as they
// are (never negated), then the slacks. The error wraps [ErrPoint] and describes the fault of p.
func (t Tradeoff) Values(p definition.Point) ([]float64, error) {
	x, err := coordinates(t.Parameters, nil, p)
	if err != nil {
		return nil, fmt.Errorf("problem %s: %w", t.Name, err)
	}
	return t.values(x), nil
}

// Feasible reports whether none of the slacks among values, which are those of
// [Tradeoff.Values], is below 0.
func (t Tradeoff) Feasible(values []float64) bool {
	return !slices.ContainsFunc(values[len(t.Objectives):], func(s float64) bool { return s < 0 })
}

// Point names the coordinates x, given in the problem's order and units. It
// panics if their number is not that of the parameters.
func (t Tradeoff) Point(x []float64) definition.Point { return point(t.Name, t.Parameters, x) }

// At returns the composition at u, whose entries are shares of the parameters'
// ranges, in the unit cube. It panics if their number is not that of the
// parameters.
func (t Tradeoff) At(u []float64) definition.Point {
	x := slices.Clone(u)
	for i := range min(len(x), len(t.Parameters)) {
		lower, upper := *t.Parameters[i].Min, *t.Parameters[i].Max
		x[i] = lower + u[i]*(upper-lower)
	}
	return t.Point(x)
}

// TradeoffNames returns the names of all problems with several objectives,
// sorted.
func TradeoffNames() []string {
	names := make([]string, 0, len(tradeoffs))
	for _, problem := range tradeoffs {
		names = append(names, problem().Name)
	}
	slices.Sort(names)
	return names
}

// LookupTradeoff returns the problem of that name. The caller may change it.
func LookupTradeoff(name string) (Tradeoff, bool) {
	for _, problem := range tradeoffs {
		if t := problem(); t.Name == name {
			return t, true
		}
	}
	return Tradeoff{}, false
}

// tradeoffs is the table of problems. Each entry builds one anew, so that no
// caller can change another's.
var tradeoffs = []func() Tradeoff{
	braninCurrin, constrainedBraninCurrin,
	func() Tradeoff { return dtlz2(6, 2) },
	func() Tradeoff { return dtlz2(6, 3) },
	func() Tradeoff { return dtlz2(6, 4) },
	c2dtlz2, zdt1, zdt3,
	vehicleSafety, carSideImpact, penicillin, electrolyteTradeoff, electrolyteHoursTradeoff,
}

// minimized returns a problem with parameters x1 … xd in [0, 1] and objectives
// f1 … fm to be minimized, without units, one for each of the worst values.
func minimized(
	name, description string, d int, worst []float64, values func([]float64) []float64,
) Tradeoff {
	t := Tradeoff{Name: name, Description: description, values: values}
	for i := range d {
		t.Parameters = append(t.Parameters, parameter(fmt.Sprintf("x%d", i+1), "", 0, 1, ""))
	}
	for k, w := range worst {
		t.Objectives = append(t.Objectives,
			Outcome{Name: fmt.Sprintf("f%d", k+1), Goal: definition.Minimize, Worst: w})
	}
	return t
}

// braninCurrin is Branin's function on the unit square and Currin's. The
// hypervolume is that of a front found by NSGA-II.
func braninCurrin() Tradeoff {
	t := minimized("branin-currin", "the functions of Branin (1972) and Currin et al. (1991), "+
		"as in Daulton et al. 2020, App. D", 2, []float64{18, 6},
		func(x []float64) []float64 {
			return []float64{braninAt([]float64{15*x[0] - 5, 15 * x[1]}), currin(x)}
		})
	t.Objectives[0].Name, t.Objectives[1].Name = "branin", "currin"
	t.Hypervolume = 59.36011874867746
	return t
}

// currin is the function of Currin, Mitchell, Morris and Ylvisaker 1991, §5, on
// the unit square. At x2 = 0 it has its limit.
func currin(x []float64) float64 {
	u := x[0]
	return (1 - math.Exp(-1/(2*x[1]))) *
		(2300*u*u*u + 1900*u*u + 2092*u + 60) / (100*u*u*u + 500*u*u + 4*u + 20)
}

// constrainedBraninCurrin has the disk of Gelbart, Snoek and Adams 2014 around
// (2.5, 7.5), in Branin's own coordinates. The hypervolume is that of a front
// found by NSGA-II.
func constrainedBraninCurrin() Tradeoff {
	t := braninCurrin()
	t.Name = "constrained-branin-currin"
	t.Description += ", feasible within the disk of Gelbart et al. 2014"
	t.Objectives[0].Worst, t.Objectives[1].Worst = 80, 12
	t.Slacks = []string{"disk"}
	t.Hypervolume = 608.4004237022673
	unconstrained := t.values
	t.values = func(x []float64) []float64 {
		u, v := 15*x[0]-5-2.5, 15*x[1]-7.5
		return append(unconstrained(x), 50-u*u-v*v)
	}
	return t
}

// dtlz2 is DTLZ2 of Deb, Thiele, Laumanns and Zitzler 2005 in d dimensions with
// m objectives,
//
//	f_k = (1 + g) Π_{i ≤ m−k} cos(x_i π/2) · sin(x_{m−k+1} π/2), the sine absent for k = 1,
//	g = Σ_{i ≥ m} (x_i − 1/2)².
//
// The front is the part of the unit sphere with no negative coordinate, so that
// the greatest hypervolume is 1.1^m less that part of the ball.
func dtlz2(d, m int) Tradeoff {
	t := minimized(fmt.Sprintf("dtlz2-%d", m), fmt.Sprintf("DTLZ2 in %d dimensions with %d objectives "+
		"(Deb et al. 2005)", d, m), d, slices.Repeat([]float64{1.1}, m),
		func(x []float64) []float64 { return dtlz2At(x, m) })
	ball := math.Pow(math.Pi, float64(m)/2) / math.Gamma(float64(m)/2+1)
	t.Hypervolume = math.Pow(1.1, float64(m)) - math.Ldexp(ball, -m)
	return t
}

// dtlz2At returns the m objectives of [dtlz2].
func dtlz2At(x []float64, m int) []float64 {
	g := 0.0
	for _, v := range x[m-1:] {
		g += (v - 0.5) * (v - 0.5)
	}
	values := make([]float64, m)
	for k := range values {
		last := m - 1 - k
		values[k] = 1 + g
		for _, v := range x[:last] {
			values[k] *= math.Cos(v * math.Pi / 2)
		}
		if k > 0 {
			values[k] *= math.Sin(x[last] * math.Pi / 2)
		}
	}
	return values
}

// c2dtlz2 is DTLZ2 in 4 dimensions with 2 objectives and the constraint C2 of Jain and Deb 2014, of
// radius r = 0.2: feasible points lie near one of the front's ends or near its middle,
//
//	min(min_i (f_i − 1)² + Σ_{j≠i} (f_j² − r²), Σ_i ((f_i − 1/√m)² − r²)) ≤ 0,
//
// where BoTorch has r² within the sums, as here; the slack is the left side negated. The
// hypervolume is that of a front found by NSGA-II.
func c2dtlz2() Tradeoff {
	const m, r = 2, 0.2
	t := dtlz2(4, m)
	t.Name = "c2-dtlz2"
	t.Description = "C2-DTLZ2 in 4 dimensions with 2 objectives (Jain and Deb 2014)"
	t.Slacks = []string{"c2"}
	t.Hypervolume = 0.3996406303723544
	t.values = func(x []float64) []float64 {
		f := dtlz2At(x, m)
		middle := 0.0
		for _, v := range f {
			off := v - 1/math.Sqrt(m)
			middle += off*off - r*r
		}
		least := middle
		for i, v := range f {
			end := (v - 1) * (v - 1)
			for j, w := range f {
				if j != i {
					end += w*w - r*r
				}
			}
			least = min(least, end)
		}
		return append(f, -least)
	}
	return t
}

// zdtG is the distance of ZDT's problems from their fronts, 1 on them.
func zdtG(x []float64) float64 {
	var sum float64
	for _, v := range x[1:] {
		sum += v
	}
	return 1 + 9*sum/float64(len(x)-1)
}

// zdt1 is ZDT1 of Zitzler, Deb and Thiele 2000, with the front f2 = 1 − √f1. The
// reference point of Yang et al. 2019, (11, 11), would hide all differences
// behind a hypervolume of 120.
func zdt1() Tradeoff {
	t := minimized("zdt1", "ZDT1 in 6 dimensions (Zitzler et al. 2000)", 6, []float64{1.1, 1.1},
		func(x []float64) []float64 {
			g := zdtG(x)
			return []float64{x[0], g * (1 - math.Sqrt(x[0]/g))}
		})
	t.Hypervolume = 0.1 + 2./3 + 0.1*1.1
	return t
}

// zdt3 is ZDT3 of Zitzler, Deb and Thiele 2000, whose front has five parts, in
// the form of BoTorch: its second objective lacks the paper's factor g, which is
// 1 on the front. For the reference point see [zdt1]. The hypervolume is the
// integral over the front's parts.
func zdt3() Tradeoff {
	t := minimized("zdt3", "ZDT3 in 6 dimensions (Zitzler et al. 2000, in BoTorch's form)", 6,
		[]float64{1.1, 1.1},
		func(x []float64) []float64 {
			share := x[0] / zdtG(x)
			return []float64{x[0], 1 - math.Sqrt(share) - share*math.Sin(10*math.Pi*x[0])}
		})
	t.Hypervolume = 1.331762908657020
	return t
}
