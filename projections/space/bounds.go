package space

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Bounds say which measured compositions a campaign could ask for as it is
// defined now: see [Bounds.Outside]. They are immutable, and cheaper than a
// [Space], which also knows how to search.
type Bounds struct{ space *Space }

// NewBounds returns those of a definition. It fails where [New] cannot read the
// definition.
func NewBounds(def definition.Campaign) (*Bounds, error) {
	s, err := build(def, nil)
	if err != nil {
		return nil, err
	}
	return &Bounds{s}, nil
}

// Nearby is how far the composition made may be from the requested one, as a share of a parameter's
// range, and still count as that composition. That leaves room for the errors of weighing and
// dispensing.
const Nearby = 0.05

// rounding is how far two numbers that are meant to be the same may be apart, as
// a share of a parameter's range: files and devices have six digits or so.
const rounding = 1e-6

// Outside says in words why the campaign could not ask for a measured composition now; "" where it
// could. Rows that were imported from elsewhere, and compositions that an amendment or an exclusion
// has put outside, stay data of the models, but take no part in comparisons: the best would
// otherwise be one that must not be made. astray says that it could ask for the requested
// composition, and something else was made.
//
// Where a composition was requested, the request decides, since no device makes exactly what it is
// asked for: a composition belongs to the space if the requested one does and the one made is
// [Nearby]. At a bound of 80 C, 80.3 C is the same composition, and four weighed fractions never
// sum to 1 exactly. Excluded regions must not be entered: a composition made in one lies outside
// whatever was requested, but for the rounding of floats.
//
// All others, imported ones among them, count where they were made: within bounds, lists of values
// and inequalities but for rounding, and on an equality but for [Slack], since printed fractions
// sum to 0.999. Steps say how something is dosed, and exclude nothing that was measured.
func (b *Bounds) Outside(asked, made definition.Point) (why string, astray bool) {
	s := b.space
	share := s.apart(asked, made)
	fine := s.belongs(asked) == nil
	if fine && (share <= margin/2 || share <= Nearby && s.excluding(made) == nil) {
		return "", false
	}
	if err := s.belongs(made); err != nil {
		return strings.TrimPrefix(err.Error(), ErrOutside.Error()+": "), fine
	}
	return "", false
}

// Belongs reports whether a composition is one that could be asked for, with the
// tolerances of [Bounds.Outside]: of an experiment that was asked for before an
// amendment.
func (s *Space) Belongs(p definition.Point) bool { return s.belongs(p) == nil }

// belongs is [Space.Contains] with these tolerances.
func (s *Space) belongs(p definition.Point) error {
	x := make([]float64, len(s.axes)) // numbers by axis
	for i := range s.axes {
		a := &s.axes[i]
		v, err := a.value(p)
		if err != nil {
			return err
		}
		if a.categorical() {
			continue
		}
		x[i], _ = v.Float()
		if err := a.check(a.nearest(x[i])); err != nil {
			return err
		}
	}
	for i := range s.rows {
		if r := &s.rows[i]; !r.keptBy(x) {
			return fmt.Errorf("%w: %s: the sum is %s", ErrOutside, r.describe(s), format.Setting(r.sum(x)))
		}
	}
	if r := s.excluding(p); r != nil {
		return fmt.Errorf("%w: %s lies in %s", ErrOutside, s.Format(p), r.describe())
	}
	if !s.listed {
		return nil
	}
	for _, candidate := range s.list {
		if s.apart(candidate, p) <= rounding {
			return nil
		}
	}
	return fmt.Errorf("%w: %s is not one of the %d candidates", ErrOutside, s.Format(p), len(s.list))
}

// keptBy is holds with the tolerances of measurements: rounding, and for an equality [Slack].
func (r *row) keptBy(x []float64) bool {
	if r.sense == equals {
		return r.nearly(x)
	}
	return r.holds(x) || math.Abs(r.sum(x)-r.rhs) <= rounding*r.reach
}

// nearest is the allowed value next to a number that differs from it by rounding
// alone, or between two multiples of a dosing step; otherwise the number itself.
func (a *axis) nearest(x float64) float64 {
	clamped := min(max(x, a.lo), a.hi)
	if math.Abs(clamped-x) > rounding*a.scale {
		return x
	}
	if a.grid == nil {
		return clamped
	}
	v := a.grid.value(a.grid.nearest(clamped))
	if a.grid.values != nil && math.Abs(v-x) > rounding*a.scale {
		return x
	}
	return v
}

// apart is the greatest distance of two compositions in any parameter, as a share
// of its range; infinite where a category differs.
func (s *Space) apart(p, q definition.Point) (share float64) {
	for i := range s.axes {
		a := &s.axes[i]
		x, numeric := p[a.name].Float()
		y, both := q[a.name].Float()
		switch {
		case !numeric && !both && p[a.name] == q[a.name]:
		case !numeric || !both:
			return math.Inf(1)
		default:
			share = max(share, math.Abs(x-y)/a.scale)
		}
	}
	return share
}
