package space

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// axis is one parameter and its place in an encoded composition.
type axis struct {
	name, unit string
	at, width  int // first coordinate and number of coordinates

	// Numeric: the bounds, the length that becomes 1, and the allowed values
	// (nil: all between the bounds).
	lo, hi, scale float64
	grid          *grid

	// Categorical: names, and the coordinates of each.
	categories []string
	codes      [][]float64
	oneHot     bool
}

// newAxis reads a parameter. A step of 0 leaves it continuous; values are
// sorted, and those that stand twice count once. A parameter with one value has
// a length of 1 and not 0, so that its coordinate is 0 and no division fails.
func newAxis(p definition.Parameter, step float64) (axis, error) {
	a := axis{name: p.Name, unit: p.Unit, width: 1}
	switch {
	case len(p.Categories) > 0:
		return a.withCategories(p.Categories)
	case len(p.Values) > 0:
		values := slices.Clone(p.Values)
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return a, fmt.Errorf("parameter %q has the value %v: values must be finite", p.Name, v)
			}
		}
		slices.Sort(values)
		values = slices.Compact(values)
		a.lo, a.hi = values[0], values[len(values)-1]
		a.grid = &grid{values: values}
	case p.Min != nil && p.Max != nil:
		a.lo, a.hi = *p.Min, *p.Max
		if !(a.lo <= a.hi) || math.IsInf(a.lo, 0) || math.IsInf(a.hi, 0) {
			return a, fmt.Errorf("parameter %q has bounds %v to %v: they must be finite and ordered",
				p.Name, a.lo, a.hi)
		}
		if step > 0 {
			g, ok := stepGrid(a.lo, a.hi, step)
			if !ok {
				return a, &InfeasibleError{Conflict: []string{
					fmt.Sprintf("the bounds of %q (%s to %s)", p.Name, format.Setting(a.lo),
						format.Setting(a.hi)),
					fmt.Sprintf("the dosing steps of %q (multiples of %s)", p.Name, format.Setting(step)),
				}}
			}
			a.grid = g
		}
	default:
		return a, fmt.Errorf("parameter %q has neither min and max, values nor categories", p.Name)
	}
	a.scale = a.hi - a.lo
	if a.scale == 0 {
		a.scale = 1
	}
	return a, nil
}

// withCategories gives each category its code: one-hot without descriptors,
// which makes all categories equally far apart, otherwise the descriptors, which
// say how alike they are. A descriptor that is the same for all is 0.
// Descriptors are in alphabetical order, since a map has none, and scaled to
// [0, 1] like numbers, so that none counts more by its unit.
func (a axis) withCategories(categories []definition.CategoryDef) (axis, error) {
	var descriptors []string
	for name := range categories[0].Descriptors {
		descriptors = append(descriptors, name)
	}
	slices.Sort(descriptors)
	a.oneHot = len(descriptors) == 0
	a.width = len(descriptors)
	if a.oneHot {
		a.width = len(categories)
	}
	for i, c := range categories {
		a.categories = append(a.categories, c.Name)
		code := make([]float64, a.width)
		if a.oneHot {
			code[i] = 1
		}
		for j, name := range descriptors {
			v, ok := c.Descriptors[name]
			if !ok || len(c.Descriptors) != len(descriptors) {
				return a, fmt.Errorf("category %q of parameter %q must have the descriptors %q",
					c.Name, a.name, descriptors)
			}
			code[j] = v
		}
		a.codes = append(a.codes, code)
	}
	if a.oneHot {
		return a, nil
	}
	for j := range a.width {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, code := range a.codes {
			lo, hi = min(lo, code[j]), max(hi, code[j])
		}
		for _, code := range a.codes {
			if hi > lo {
				code[j] = (code[j] - lo) / (hi - lo)
			} else {
				code[j] = 0
			}
		}
	}
	return a, nil
}

// categorical reports whether the axis has categories instead of numbers.
func (a *axis) categorical() bool { return a.categories != nil }

// encode is the coordinate of a number; outside the bounds it lies outside [0,
// 1].
func (a *axis) encode(v float64) float64 { return (v - a.lo) / a.scale }

// decode is the inverse of encode, clamped; the ends of the unit interval are
// the bounds exactly. Rounding must not carry a number beyond a bound. The
// first case is written so that NaN falls into it.
func (a *axis) decode(u float64) float64 {
	switch {
	case !(u > 0):
		return a.lo
	case u >= 1:
		return a.hi
	}
	return min(max(a.lo+u*a.scale, a.lo), a.hi)
}

// first and last are the least and the greatest allowed value.
func (a *axis) first() float64 {
	if a.grid != nil {
		return a.grid.value(0)
	}
	return a.lo
}

// last is the greatest value that can be made: with a step that does not divide
// the range it is less than the bound.
func (a *axis) last() float64 {
	if a.grid != nil {
		return a.grid.value(a.grid.len() - 1)
	}
	return a.hi
}

// value returns the parameter's value in p, of the right kind. It does not look at bounds: a
// composition may have been made outside. check, for numbers, and the constraints do.
func (a *axis) value(p definition.Point) (definition.Value, error) {
	v, ok := p[a.name]
	if !ok {
		return v, fmt.Errorf("%w: parameter %q is missing", ErrOutside, a.name)
	}
	x, isNumber := v.Float()
	switch {
	case a.categorical() && isNumber:
		return v, fmt.Errorf("%w: %s is %v, and must be one of %s", ErrOutside, a.name, v,
			strings.Join(a.categories, ", "))
	case a.categorical() && a.category(v.Name()) < 0:
		return v, fmt.Errorf("%w: %s has no category %q; it has %s", ErrOutside, a.name, v.Name(),
			strings.Join(a.categories, ", "))
	case !a.categorical() && !isNumber:
		return v, fmt.Errorf("%w: %s is %q, and must be a number", ErrOutside, a.name, v.Name())
	case !a.categorical() && (math.IsNaN(x) || math.IsInf(x, 0)):
		return v, fmt.Errorf("%w: %s is %v, and must be finite", ErrOutside, a.name, v)
	}
	return v, nil
}

// check says whether a number is an allowed value.
func (a *axis) check(x float64) error {
	if x < a.lo || x > a.hi {
		return fmt.Errorf("%w: %s is %s, outside %s to %s", ErrOutside,
			a.name, format.SettingIn(x, a.unit), format.Setting(a.lo), format.SettingIn(a.hi, a.unit))
	}
	if a.grid == nil || a.grid.contains(x) {
		return nil
	}
	if a.grid.values != nil {
		return fmt.Errorf("%w: %s is %s, which is not one of its values %v", ErrOutside,
			a.name, format.SettingIn(x, a.unit), a.grid.values)
	}
	return fmt.Errorf("%w: %s is %s, which is not a multiple of its dosing step %s", ErrOutside,
		a.name, format.SettingIn(x, a.unit), format.SettingIn(a.grid.step, a.unit))
}

// category returns the index of a category, -1 for an unknown one.
func (a *axis) category(name string) int { return slices.Index(a.categories, name) }

// nearestCategory returns the category whose code is nearest to x among the
// allowed ones (nil: all), the first of equally near ones, -1 if none is
// allowed. The least distance begins at infinity and is compared by <, so that
// ties are decided by the order of the definition.
func (a *axis) nearestCategory(x []float64, allowed []bool) int {
	best, least := -1, math.Inf(1)
	for i, code := range a.codes {
		if allowed != nil && !allowed[i] {
			continue
		}
		if d := squaredDistance(code, x[a.at:a.at+a.width]); d < least {
			best, least = i, d
		}
	}
	return best
}

// grid is the list of allowed values of a numeric parameter, in increasing
// order: given values, or the multiples of a step between two bounds.
type grid struct {
	values []float64 // given values

	step      float64
	exact     *big.Rat // the step as the decimal number that was written
	low, high int64    // multiples low … high
	num, den  float64  // the step as a fraction of two integers; den 0: they are too large
}

// stepGrid returns the multiples of step in [lo, hi], all three taken as the
// decimal numbers a person wrote; ok is false if there are none. In floating
// point 0.3/0.1 is a little less than 3: a grid that was built that way would
// lose its last step. 1e15 steps from 0 are near where float64 no longer holds
// every whole number (2⁵³ is 9e15).
func stepGrid(lo, hi, step float64) (g *grid, ok bool) {
	if !(step > 0) || math.IsInf(lo, 0) || math.IsInf(hi, 0) || math.Abs(lo/step) > 1e15 ||
		math.Abs(hi/step) > 1e15 || math.IsNaN(lo+hi) {
		return nil, false
	}
	g = &grid{step: step, exact: decimal(step)}
	g.high = floorRat(new(big.Rat).Quo(decimal(hi), g.exact))
	g.low = -floorRat(new(big.Rat).Neg(new(big.Rat).Quo(decimal(lo), g.exact)))
	if g.exact.Num().IsInt64() && g.exact.Denom().IsInt64() {
		g.num, _ = new(big.Float).SetInt(g.exact.Num()).Float64()
		g.den, _ = new(big.Float).SetInt(g.exact.Denom()).Float64()
		biggest := g.num * math.Max(math.Abs(float64(g.low)), math.Abs(float64(g.high)))
		// Whole numbers below 2⁵³ are exact in a float64.
		if biggest >= 1<<53 || g.den >= 1<<53 {
			g.den = 0
		}
	}
	return g, g.low <= g.high
}

// len is the number of values.
func (g *grid) len() int {
	if g.values != nil {
		return len(g.values)
	}
	return int(g.high - g.low + 1)
}

// value returns the i-th value, the float64 nearest to the decimal number.
func (g *grid) value(i int) float64 {
	if g.values != nil {
		return g.values[i]
	}
	k := g.low + int64(i)
	if g.den != 0 {
		// Both integers are exact, so that the quotient is rounded once.
		return float64(k) * g.num / g.den
	}
	v, _ := new(big.Rat).Mul(new(big.Rat).SetInt64(k), g.exact).Float64()
	return v
}

// floor returns the index of the greatest value at most x, -1 if all are greater. The division only
// guesses; the values themselves decide. They do so in at most a few steps, since the guess is off
// by rounding alone.
func (g *grid) floor(x float64) int {
	if g.values != nil {
		return sort.Search(len(g.values), func(i int) bool { return g.values[i] > x }) - 1
	}
	n := g.len()
	i := int(min(max(math.Floor(x/g.step)-float64(g.low), -1), float64(n-1)))
	for i+1 < n && g.value(i+1) <= x {
		i++
	}
	for i >= 0 && g.value(i) > x {
		i--
	}
	return i
}

// ceil returns the index of the least value at least x, len if all are less.
func (g *grid) ceil(x float64) int {
	i := g.floor(x)
	if i >= 0 && g.value(i) == x {
		return i
	}
	return i + 1
}

// nearest returns the index of the value nearest to x, the lower of two. The
// lower of two, on every axis, so that Snap and Round agree.
func (g *grid) nearest(x float64) int {
	i := g.floor(x)
	switch {
	case i < 0:
		return 0
	case i+1 == g.len() || x-g.value(i) <= g.value(i+1)-x:
		return i
	}
	return i + 1
}

// contains reports whether x is a value, up to the rounding of a number that was
// written in decimals. The step is in the bound for a value near 0, which has
// no magnitude of its own.
func (g *grid) contains(x float64) bool {
	v := g.value(g.nearest(x))
	return math.Abs(x-v) <= Tolerance*max(math.Abs(v), g.step)
}
