package space

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Slack is how far a number that a person writes down may be beyond a bound, as a share of the
// range, or a sum off a constraint's value, as a share of its terms: weighed fractions are rounded.
// Rounding to three digits loses half a percent at most.
const Slack = 0.005

// Strays lists, in words, how a composition that a person names departs from those that the
// campaign can ask for: its bounds, discrete values, dosing steps and linear constraints, to within
// [Slack]. Where it was made it need not be one of the values or a multiple of a step: no
// instrument doses exactly. Excluded regions and the list of candidates say what shall not be made,
// not what cannot be, and are left out, as are the faults that [Space.Encode] refuses. They are
// words for a person who may have mistyped a digit, and do not refuse: a measurement stands.
func (s *Space) Strays(p definition.Point, made bool) []string {
	var strays []string
	x := make([]float64, len(s.axes)) // numbers by axis
	for i := range s.axes {
		a := &s.axes[i]
		v, err := a.value(p)
		if err != nil || a.categorical() {
			continue
		}
		x[i], _ = v.Float()
		written := a.name + " = " + format.SettingIn(x[i], a.unit)
		switch slack := Slack * a.scale; {
		case x[i] < a.lo-slack:
			strays = append(strays, fmt.Sprintf("%s is below %s", written, format.Setting(a.lo)))
		case x[i] > a.hi+slack:
			strays = append(strays, fmt.Sprintf("%s is above %s", written, format.Setting(a.hi)))
		case made || a.grid == nil || a.grid.contains(x[i]):
		case a.grid.values != nil:
			strays = append(strays, fmt.Sprintf("%s is none of %s", written, format.Settings(a.grid.values)))
		default:
			strays = append(strays, fmt.Sprintf("%s is not a multiple of its dosing step %s",
				written, format.SettingIn(a.grid.step, a.unit)))
		}
	}
	for i := range s.rows {
		r := &s.rows[i]
		if r.nearly(x) {
			continue
		}
		said := [...]string{"", "at most ", "at least "}[r.sense]
		strays = append(strays, fmt.Sprintf("%s = %s, the campaign says %s%s", r.left(s),
			format.Setting(r.sum(x)), said, format.Setting(r.rhs)))
	}
	return strays
}

// nearly is holds to within [Slack].
func (r *row) nearly(x []float64) bool {
	magnitude := math.Abs(r.rhs)
	for k, axis := range r.axes {
		magnitude = max(magnitude, math.Abs(r.coef[k]*x[axis]))
	}
	return r.holds(x) || math.Abs(r.sum(x)-r.rhs) <= Slack*magnitude+Tolerance
}
