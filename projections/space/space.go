// Package space is the design space of a campaign: which compositions may be
// measured, how a composition becomes a point of the unit cube that models and
// searches work in, and how a point of the cube becomes a composition again.
//
// # Encoding
//
// A numeric parameter is one coordinate, affine from its bounds to [0, 1]
// (discrete values: from the least to the greatest). A categorical parameter
// without descriptors is one coordinate for each category, one-hot; with
// descriptors it is one coordinate for each descriptor, in alphabetical order,
// scaled to [0, 1] over the categories. Coordinates follow the order of the
// campaign's parameters.
//
// # The relaxed space and the real one
//
// A search wants a convex set: [Space.Region] is the polytope of bounds and
// linear constraints, with categories, discrete values and dosing steps relaxed
// to intervals and without excluded regions. [Space.Cells] cuts excluded
// regions out of it and fixes categories, as a list of convex pieces.
// [Space.Snap] takes a point of the cube to the nearest composition that may
// really be measured.
//
// # Exactness
//
// Bounds, discrete values, dosing steps, categories, candidates and excluded
// regions hold exactly: a dosed value is the float64 nearest to the decimal
// number k·step. A linear constraint all of whose parameters come in steps or
// discrete values holds in decimal arithmetic (0.1 + 0.2 + 0.7 is 1). One that
// involves a continuous parameter holds to [Tolerance], relative to the
// magnitude of its terms.
//
// A Space is immutable and safe for concurrent use. Everything it returns is a
// function of the definition, the arguments and the seed.
package space

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/optimize"
)

// Tolerance is how far a linear constraint with a continuous parameter may be
// off, relative to the magnitude of its terms: the sum of |coefficient·value|,
// |coefficient|·range of the parameter, and the right-hand side. Numbers that a
// person or an instrument wrote in decimals are compared with the same tolerance.
const Tolerance = 1e-9

// maxFinite is the greatest number of combinations of discrete values that is
// enumerated. A decision tries every composition of a list, so that this bounds
// its time.
const maxFinite = 10_000

// ErrOutside is wrapped by the errors of [Space.Contains] and [Space.Encode]
// about a point that does not belong to the space.
var ErrOutside = errors.New("outside the design space")

// Space is the design space of one definition.
//
// list is nil without a short list; encoded is as long as list.
type Space struct {
	axes    []axis
	dim     int
	numeric []int // indices of numeric axes
	rows    []row
	regions []region

	nodes int // limit of a search by Snap

	listed  bool               // only the listed compositions may be measured
	list    []definition.Point // what may be measured, where that is a short list
	encoded [][]float64        // list, encoded

	polytope optimize.Polytope
	relaxed  *optimize.Region
	walk     *walk // how to walk through the relaxed numeric space; nil for a box without exclusions
}

// New prepares the design space of a definition: its parameters, constraints,
// candidates, excluded regions and the steps the instrument can dose in. Steps
// apply to continuous parameters and not to listed candidates. Constraints on
// outcomes that are linear ones of the parameters are among the constraints.
//
// It fails with an *[InfeasibleError] where no composition satisfies
// everything, and with another error for a definition that cannot be read (a
// parameter of no kind, a constraint on an unknown or categorical one);
// campaignfile.Validate reports such faults with their place in the file.
func New(def definition.Campaign) (*Space, error) { return NewContext(context.Background(), def) }

// NewContext is [New] for a caller who may leave: hundreds of constraints take minutes. It
// fails with the error of ctx once that is done, and has then prepared nothing.
func NewContext(ctx context.Context, def definition.Campaign) (*Space, error) {
	s, err := build(def, nil)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		var infeasible *InfeasibleError
		if errors.As(err, &infeasible) && infeasible.Conflict == nil {
			if infeasible.Conflict = conflict(ctx, def); ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		return nil, err
	}
	return s, nil
}

// build reads the definition. It leaves out the parts in without: see conflict. Candidates outside
// the bounds and constraints are dropped here and not refused: an exclusion that came later rules
// some of them out.
func build(def definition.Campaign, without map[part]bool) (*Space, error) {
	s := &Space{listed: len(def.Candidates) > 0, nodes: maxNodes}
	for i, p := range def.Parameters {
		step := 0.0
		if !s.listed && !without[part{partSteps, i}] {
			step = def.Steps()[p.Name]
		}
		a, err := newAxis(p, step)
		if err != nil {
			return nil, err
		}
		if without[part{partSteps, i}] {
			a.grid = nil
		}
		a.at = s.dim
		s.dim += a.width
		if !a.categorical() {
			s.numeric = append(s.numeric, i)
		}
		s.axes = append(s.axes, a)
	}
	if len(s.axes) == 0 {
		return nil, errors.New("a design space needs at least one parameter")
	}
	for i, c := range constraints(&def) {
		if without[part{partConstraint, i}] {
			continue
		}
		r, err := s.newRow(c, i)
		if err != nil {
			return nil, err
		}
		s.rows = append(s.rows, r)
	}
	for i, e := range def.Excluded {
		if without[part{partRegion, i}] {
			continue
		}
		r, err := s.newRegion(e, i)
		if err != nil {
			return nil, err
		}
		s.regions = append(s.regions, r)
	}
	for _, p := range def.Candidates {
		if s.check(p) == nil {
			s.list = append(s.list, p)
		}
	}
	return s, nil
}

// constraints are the linear ones of a definition: those that it gives, and those on
// outcomes that follow from the parameters.
func constraints(def *definition.Campaign) []definition.Constraint {
	return slices.Concat(def.Constraints, computed.OnParameters(def))
}

// prepare computes what searches and designs need, and finds out whether there
// is any composition at all. The relaxation is tried first: where it is empty
// the optimizer names the conflict at once. Only a contradiction of steps or
// regions needs the search.
func (s *Space) prepare(ctx context.Context) error {
	s.polytope = s.relax()
	relaxed, err := optimize.NewRegion(s.polytope)
	if err != nil {
		return s.explain(err)
	}
	s.relaxed = relaxed

	if s.listed {
		if len(s.list) == 0 {
			return &InfeasibleError{Candidates: true}
		}
	} else if list, ok := s.enumerate(); ok {
		s.list = list
		if len(list) == 0 {
			return &InfeasibleError{}
		}
	} else if err := s.feasible(); err != nil {
		return err
	}
	for _, p := range s.list {
		x, err := s.Encode(p)
		if err != nil {
			return err
		}
		s.encoded = append(s.encoded, x)
	}
	if s.list == nil && (len(s.rows) > 0 || len(s.regions) > 0) {
		s.walk, err = s.newWalk(ctx)
	}
	return err
}

// relax returns the polytope of the relaxed space in encoded coordinates.
// Descriptors are relaxed to the box around the categories, which is larger
// than their hull; Snap makes up for it.
func (s *Space) relax() optimize.Polytope {
	p := optimize.Polytope{Lower: make([]float64, s.dim), Upper: make([]float64, s.dim)}
	for i := range s.axes {
		a := &s.axes[i]
		if !a.categorical() {
			p.Lower[a.at], p.Upper[a.at] = a.encode(a.first()), a.encode(a.last())
			continue
		}
		for j := range a.width {
			p.Upper[a.at+j] = 1
		}
		if a.oneHot {
			one := make([]float64, s.dim)
			for j := range a.width {
				one[a.at+j] = 1
			}
			p.A, p.B = append(p.A, one), append(p.B, 1)
		}
	}
	for _, r := range s.rows {
		coef, rhs := s.encodeRow(r, s.dim, func(i int) int { return s.axes[i].at })
		switch {
		case r.sense == equals:
			p.A, p.B = append(p.A, coef), append(p.B, rhs)
		default:
			p.C, p.D = append(p.C, coef), append(p.D, rhs)
		}
	}
	return p
}

// Dim returns the number of coordinates of an encoded composition.
func (s *Space) Dim() int { return s.dim }

// Parameters returns the names of the parameters in the campaign's order.
func (s *Space) Parameters() []string {
	names := make([]string, len(s.axes))
	for i := range s.axes {
		names[i] = s.axes[i].name
	}
	return names
}

// Coordinates returns the coordinates of each parameter of an encoded
// composition, in the order of [Space.Parameters].
func (s *Space) Coordinates() [][]int {
	groups := make([][]int, len(s.axes))
	for i, a := range s.axes {
		for k := range a.width {
			groups[i] = append(groups[i], a.at+k)
		}
	}
	return groups
}

// Span returns the length, in its unit, that becomes 1 in the coordinate of the
// i-th parameter, which must be a number.
func (s *Space) Span(i int) float64 { return s.axes[i].scale }

// Box reports whether the space is the whole unit cube: every parameter
// continuous, nothing constrained, excluded or listed. Dosing steps do not
// count.
func (s *Space) Box() bool {
	if s.listed || len(s.rows) > 0 || len(s.regions) > 0 {
		return false
	}
	for _, a := range s.axes {
		if a.categories != nil || a.grid != nil && s.list != nil {
			return false
		}
	}
	return true
}

// Polytope returns the relaxed space in encoded coordinates: bounds, one-hot
// sums, the campaign's equalities and inequalities. See the package
// documentation for what it leaves out.
func (s *Space) Polytope() (lower, upper []float64, a [][]float64, b []float64, c [][]float64, d []float64) {
	p := s.relax()
	return p.Lower, p.Upper, p.A, p.B, p.C, p.D
}

// Region returns the relaxed space of [Space.Polytope], prepared for searching.
func (s *Space) Region() *optimize.Region { return s.relaxed }

// Finite returns every composition of the space, in a fixed order, where that
// is a list: given candidates, or at most 10,000 combinations of discrete
// values, dosing steps and categories. The caller must not change the points.
func (s *Space) Finite() ([]definition.Point, bool) {
	return slices.Clone(s.list), s.list != nil
}

// Contains returns nil if p may be measured, and otherwise an error that wraps
// [ErrOutside] and says why not, in the user's units. Candidates are compared
// to rounding, since a composition comes back through JSON and an instrument.
func (s *Space) Contains(p definition.Point) error {
	if err := s.check(p); err != nil {
		return err
	}
	if !s.listed {
		return nil
	}
	x, err := s.Encode(p)
	if err != nil {
		return err
	}
	for _, y := range s.encoded {
		if squaredDistance(x, y) <= Tolerance*Tolerance {
			return nil
		}
	}
	return fmt.Errorf("%w: %s is not one of the %d candidates", ErrOutside, s.Format(p), len(s.list))
}

// check is Contains without the list of candidates. The first fault found is
// the one that is named: kind, bound and step of each parameter first, then
// unknown parameters, constraints, regions.
func (s *Space) check(p definition.Point) error {
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
		if err := a.check(x[i]); err != nil {
			return err
		}
	}
	if err := s.unknown(p); err != nil {
		return err
	}
	for i := range s.rows {
		if r := &s.rows[i]; !r.holds(x) {
			return fmt.Errorf("%w: %s: the sum is %s", ErrOutside, r.describe(s), format.Setting(r.sum(x)))
		}
	}
	if r := s.excluding(p); r != nil {
		return fmt.Errorf("%w: %s lies in %s", ErrOutside, s.Format(p), r.describe())
	}
	return nil
}
