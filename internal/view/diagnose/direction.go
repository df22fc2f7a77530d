package diagnose

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/space"
)

// Frame is the unit cube of the models, parameter by parameter. Coordinates are
// in the order of the parameters; a category takes as many as it has descriptors
// or, without, as there are categories.
type Frame struct {
	def   *definition.Campaign
	at    []int     // first coordinate of each parameter
	width []int     // number of its coordinates
	low   []float64 // numeric parameters: value at 0, in the user's unit
	scale []float64 // and the length that becomes 1; 0 for categories

	lower, upper []float64 // the relaxed space: bounds,
	a            [][]float64
	c            [][]float64 // inequalities c·x ≤ d
	d            []float64
}

// NewFrame returns the frame of a definition and its space.
func NewFrame(def *definition.Campaign, s *space.Space) *Frame {
	f := &Frame{def: def}
	at := 0
	for _, p := range def.Parameters {
		width := 1
		low := 0.0
		scale := 0.0
		switch {
		case len(p.Categories) > 0:
			if width = len(p.Categories[0].Descriptors); width == 0 {
				width = len(p.Categories)
			}
		default:
			low, scale = bounds(p)
		}
		f.at, f.width = append(f.at, at), append(f.width, width)
		f.low, f.scale = append(f.low, low), append(f.scale, scale)
		at += width
	}
	f.lower, f.upper, f.a, _, f.c, f.d = s.Polytope()
	return f
}

// bounds returns the value of a numeric parameter at 0 and the length that
// becomes 1; see package space.
func bounds(p definition.Parameter) (low, scale float64) {
	if len(p.Values) > 0 {
		low, high := p.Values[0], p.Values[0]
		for _, v := range p.Values {
			low, high = min(low, v), max(high, v)
		}
		return low, max(high-low, 0)
	}
	return *p.Min, *p.Max - *p.Min
}

// Movable reports whether the i-th parameter is numeric and has more than one value.
func (f *Frame) Movable(i int) bool { return f.scale[i] > 0 }

// Range returns the length, in its unit, that is the whole range of a numeric
// parameter: 1 in the unit cube. It is 0 for a categorical one.
func (f *Frame) Range(i int) float64 { return f.scale[i] }

// Low returns the value of a numeric parameter at 0 in the unit cube.
func (f *Frame) Low(i int) float64 { return f.low[i] }

// Coordinate returns the first coordinate of the i-th parameter in the unit
// cube.
func (f *Frame) Coordinate(i int) int { return f.at[i] }

// Value returns the value of a numeric parameter at x, in its unit.
func (f *Frame) Value(i int, x []float64) float64 { return f.low[i] + f.scale[i]*x[f.at[i]] }

// Exchange is how the other parameters give way when one is varied.
type Exchange int

const (
	Freely         Exchange = iota // they stay where they are
	Proportionally                 // the other components of a mixture keep their ratio
	Least                          // they move as little as the constraints allow
)

// Direction returns the direction in the unit cube in which parameter i moves by its whole range,
// the parameters in fixed stay, and all equality constraints remain satisfied. ok is false if the
// constraints leave no such direction.
//
// In a mixture (one equality over i, none of whose other parameters is bound by a further equality)
// the others keep the ratio they have at x, as in Cox's direction (Cox 1971, Biometrika 58:155); a
// component that is alone at x gives equally to all others. Under several equalities the direction
// of least length is taken.
func (f *Frame) Direction(x []float64, i int, fixed ...int) (dir []float64, how Exchange, ok bool) {
	if !f.Movable(i) {
		return nil, Freely, false
	}
	held := map[int]bool{i: true}
	for _, k := range fixed {
		held[k] = true
	}
	dir = make([]float64, len(x))
	dir[f.at[i]] = 1
	var rows []definition.Constraint
	for _, c := range f.def.Constraints {
		if c.Equals != nil && c.Terms[f.def.Parameters[i].Name] != 0 {
			rows = append(rows, c)
		}
	}
	switch {
	case len(rows) == 0:
		return dir, Freely, true
	case len(rows) > 1 || f.shared(rows[0]):
		return f.leastDirection(x, i, fixed)
	}
	var others []int
	rest := 0.0
	for k, p := range f.def.Parameters {
		if coef := rows[0].Terms[p.Name]; coef != 0 && !held[k] && f.Movable(k) {
			others = append(others, k)
			rest += coef * f.Value(k, x)
		}
	}
	if len(others) == 0 {
		return nil, Freely, false
	}
	gives := rows[0].Terms[f.def.Parameters[i].Name] * f.scale[i]
	for _, k := range others {
		coef := rows[0].Terms[f.def.Parameters[k].Name]
		if math.Abs(rest) > 1e-9*math.Abs(gives) {
			dir[f.at[k]] = -gives * f.Value(k, x) / rest / f.scale[k]
		} else {
			dir[f.at[k]] = -gives / (coef * float64(len(others))) / f.scale[k]
		}
	}
	return dir, Proportionally, true
}

// shared reports whether a parameter of the constraint is bound by another
// equality as well.
func (f *Frame) shared(c definition.Constraint) bool {
	for _, p := range f.def.Parameters {
		n := 0
		for _, other := range f.def.Constraints {
			if other.Equals != nil && c.Terms[p.Name] != 0 && other.Terms[p.Name] != 0 {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// leastDirection returns the shortest direction that keeps all equalities,
// moves parameter i by 1 and leaves the fixed ones. The singular value
// decomposition gives the shortest solution also where rows depend on each
// other; the check afterwards finds rows that contradict each other.
func (f *Frame) leastDirection(x []float64, i int, fixed []int) ([]float64, Exchange, bool) {
	rows := append([][]float64(nil), f.a...)
	right := make([]float64, len(rows))
	unit := func(k int, value float64) {
		row := make([]float64, len(x))
		row[f.at[k]] = 1
		rows, right = append(rows, row), append(right, value)
	}
	unit(i, 1)
	for _, k := range fixed {
		unit(k, 0)
	}
	for k, p := range f.def.Parameters {
		if len(p.Categories) == 0 && !f.Movable(k) {
			unit(k, 0)
		}
	}
	m := mat.NewDense(len(rows), len(x), nil)
	for r, row := range rows {
		m.SetRow(r, row)
	}
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDThin) {
		return nil, Least, false
	}
	rank := svd.Rank(1e-10)
	if rank == 0 {
		return nil, Least, false
	}
	var solution mat.VecDense
	svd.SolveVecTo(&solution, mat.NewVecDense(len(right), right), rank)
	dir := make([]float64, len(x))
	for k := range dir {
		dir[k] = solution.AtVec(k)
	}
	for r, row := range rows {
		sum := -right[r]
		for k, v := range row {
			sum += v * dir[k]
		}
		if math.Abs(sum) > 1e-8 {
			return nil, Least, false
		}
	}
	return dir, Least, true
}

// Reach returns how far one can go from x along dir, backward and forward,
// within bounds and inequalities: from ≤ 0 ≤ to.
func (f *Frame) Reach(x, dir []float64) (from, to float64) {
	from, to = math.Inf(-1), math.Inf(1)
	limit := func(slope, slack float64) { // slope·t ≤ slack
		slack = max(slack, 0) // the actual composition may lie a little outside
		switch {
		case slope > 1e-12:
			to = min(to, slack/slope)
		case slope < -1e-12:
			from = max(from, slack/slope)
		}
	}
	for k, v := range dir {
		limit(v, f.upper[k]-x[k])
		limit(-v, x[k]-f.lower[k])
	}
	for r, row := range f.c {
		slope, slack := 0.0, f.d[r]
		for k, v := range row {
			slope, slack = slope+v*dir[k], slack-v*x[k]
		}
		limit(slope, slack)
	}
	if math.IsInf(from, 0) || math.IsInf(to, 0) {
		return 0, 0
	}
	return from, to
}

// Feasible reports whether x keeps bounds and inequalities, up to rounding. Equalities are not
// checked: the directions keep them.
func (f *Frame) Feasible(x []float64) bool {
	for k, v := range x {
		if v < f.lower[k]-1e-9 || v > f.upper[k]+1e-9 {
			return false
		}
	}
	for r, row := range f.c {
		sum := 0.0
		for k, v := range row {
			sum += v * x[k]
		}
		if sum > f.d[r]+1e-9 {
			return false
		}
	}
	return true
}

// Along returns x + t·dir.
func Along(x, dir []float64, t float64) []float64 {
	y := make([]float64, len(x))
	for k := range x {
		y[k] = x[k] + t*dir[k]
	}
	return y
}

// Shortest returns, for each parameter, the shortest lengthscale among its
// coordinates, as a share of its range.
func (f *Frame) Shortest(lengthscales []float64) []float64 {
	shortest := make([]float64, len(f.at))
	for i := range f.at {
		shortest[i] = math.Inf(1)
		for k := f.at[i]; k < f.at[i]+f.width[i] && k < len(lengthscales); k++ {
			shortest[i] = min(shortest[i], lengthscales[k])
		}
	}
	return shortest
}
