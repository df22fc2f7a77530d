package space

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/optimize"
)

// sense is how a constraint compares its sum.
type sense uint8

const (
	equals sense = iota
	atMost
	atLeast
)

// row is a linear constraint in the user's units: Σ coefficient·x, compared
// with rhs. Lists by axes are as long as axes.
type row struct {
	name  string
	index int       // in the definition
	axes  []int     // increasing
	coef  []float64 // by axes
	sense sense
	rhs   float64
	reach float64 // Σ |coefficient|·range: how far the sum can move
	exact bool    // every parameter has a grid: checked in decimal arithmetic
	whole float64 // see denominator
}

// newRow reads a constraint. Terms are in the order of the parameters, so that
// each sum is added up in one order. Whether the row can be held exactly is
// found here, once.
func (s *Space) newRow(c definition.Constraint, index int) (row, error) {
	r := row{name: c.Name, index: index, exact: true}
	for i := range s.axes {
		coef, ok := c.Terms[s.axes[i].name]
		if !ok {
			continue
		}
		if s.axes[i].categorical() {
			return r, fmt.Errorf("constraint %q: %q is categorical and has no number",
				c.Name, s.axes[i].name)
		}
		if math.IsNaN(coef) || math.IsInf(coef, 0) {
			return r, fmt.Errorf("constraint %q: the coefficient of %q is not finite",
				c.Name, s.axes[i].name)
		}
		r.axes, r.coef = append(r.axes, i), append(r.coef, coef)
		r.reach += math.Abs(coef) * s.axes[i].scale
		r.exact = r.exact && s.axes[i].grid != nil
	}
	if len(r.axes) != len(c.Terms) || len(r.axes) == 0 {
		return r, fmt.Errorf("constraint %q names a parameter that does not exist", c.Name)
	}
	switch {
	case c.Equals != nil:
		r.sense, r.rhs = equals, *c.Equals
	case c.AtMost != nil:
		r.sense, r.rhs = atMost, *c.AtMost
	case c.AtLeast != nil:
		r.sense, r.rhs = atLeast, *c.AtLeast
	default:
		return r, fmt.Errorf("constraint %q compares with nothing", c.Name)
	}
	if math.IsNaN(r.rhs) || math.IsInf(r.rhs, 0) {
		return r, fmt.Errorf("constraint %q compares with %v", c.Name, r.rhs)
	}
	r.whole = s.denominator(&r)
	return r, nil
}

// denominator returns the least number that makes an integer of each term,
// whatever the value or dosing step, and of the right-hand side. It is 0 where
// those would be too large for rounding to tell them apart, and where a
// parameter is continuous. Each product coefficient·value is then a whole
// number after one rounding, which a comparison in floats gets right.
func (s *Space) denominator(r *row) float64 {
	const tooLarge = 1 << 48 // each term is rounded a few times, by less than 2⁻⁵² of it
	if !r.exact {
		return 0
	}
	all := []*big.Rat{decimal(r.rhs)}
	magnitude := math.Abs(r.rhs)
	for k, i := range r.axes {
		g, coef := s.axes[i].grid, decimal(r.coef[k])
		magnitude += math.Abs(r.coef[k]) * max(math.Abs(s.axes[i].first()), math.Abs(s.axes[i].last()))
		if g.values == nil {
			all = append(all, coef.Mul(coef, g.exact))
		}
		for _, v := range g.values {
			all = append(all, new(big.Rat).Mul(coef, decimal(v)))
		}
	}
	d, _ := new(big.Float).SetInt(denominator(all)).Float64()
	if !(d*magnitude < tooLarge) {
		return 0
	}
	return d
}

// sum returns Σ coefficient·x, x by axis. The order is fixed, so that the same
// composition has the same sum in each process.
func (r *row) sum(x []float64) float64 {
	var sum float64
	for k, i := range r.axes {
		sum += r.coef[k] * x[i]
	}
	return sum
}

// holds says whether x, by axis, satisfies the constraint: see Tolerance. The
// magnitude is that of all that is added up: rounding grows with it. Equality
// within the tolerance counts for all three senses: a mixture that sums to 1 +
// 1e-16 is one that sums to 1.
func (r *row) holds(x []float64) bool {
	magnitude := math.Abs(r.rhs) + r.reach
	for k, i := range r.axes {
		magnitude += math.Abs(r.coef[k] * x[i])
	}
	sum := r.sum(x)
	if near(sum, r.rhs, magnitude) {
		return true
	}
	return (r.sense == atMost && sum < r.rhs) || (r.sense == atLeast && sum > r.rhs)
}

// holdsExactly is holds in decimal arithmetic, for numbers that are values or
// dosing steps. With a denominator it is integer arithmetic in floats, which is
// exact below 2⁵³ and needs no big numbers. The right-hand side is rounded as
// the terms are, and comes first, so that the sum ends at 0 where both sides
// agree.
func (r *row) holdsExactly(x []float64) bool {
	if r.whole > 0 {
		sum := -math.Round(r.rhs * r.whole)
		for k, i := range r.axes {
			sum += math.Round(r.coef[k] * x[i] * r.whole)
		}
		return sum == 0 || (r.sense == atMost && sum < 0) || (r.sense == atLeast && sum > 0)
	}
	return r.holdsInDecimals(x)
}

// holdsInDecimals is holdsExactly where the integers would be too large.
func (r *row) holdsInDecimals(x []float64) bool {
	sum := new(big.Rat)
	for k, i := range r.axes {
		sum.Add(sum, new(big.Rat).Mul(decimal(r.coef[k]), decimal(x[i])))
	}
	cmp := sum.Cmp(decimal(r.rhs))
	return cmp == 0 || (r.sense == atMost && cmp < 0) || (r.sense == atLeast && cmp > 0)
}

// encodeRow returns the constraint on encoded coordinates, as coefficients·u =
// rhs or ≤ rhs; at gives the coordinate of an axis. ≥ becomes ≤ by turning all
// signs. With x = lo + scale·u a coefficient is stretched by the scale, and lo
// goes to the other side.
func (s *Space) encodeRow(r row, dim int, at func(axis int) int) (coef []float64, rhs float64) {
	coef, rhs = make([]float64, dim), r.rhs
	for k, i := range r.axes {
		a := &s.axes[i]
		coef[at(i)] = r.coef[k] * a.scale
		rhs -= r.coef[k] * a.lo
	}
	if r.sense == atLeast {
		for j := range coef {
			coef[j] = -coef[j]
		}
		rhs = -rhs
	}
	return coef, rhs
}

// left writes the sum of a constraint: ec + 2 dmc.
func (r *row) left(s *Space) string {
	var b strings.Builder
	for k, i := range r.axes {
		c := r.coef[k]
		switch {
		case k > 0 && c < 0:
			b.WriteString(" - ")
		case k > 0:
			b.WriteString(" + ")
		case c < 0:
			b.WriteString("-")
		}
		if math.Abs(c) != 1 {
			b.WriteString(format.Setting(math.Abs(c)) + " ")
		}
		b.WriteString(s.axes[i].name)
	}
	return b.String()
}

// describe writes the constraint for a message: constraint "sum" (ec + 2 dmc =
// 1).
func (r *row) describe(s *Space) string {
	text := r.left(s) + [...]string{" = ", " ≤ ", " ≥ "}[r.sense] + format.Setting(r.rhs)
	if r.name == "" {
		return "the constraint " + text
	}
	return fmt.Sprintf("constraint %q (%s)", r.name, text)
}

// InfeasibleError reports a space without any composition.
type InfeasibleError struct {
	// Conflict names constraints, bounds, dosing steps and excluded regions
	// that cannot hold together, in words; without any one of them the others
	// can.
	Conflict []string
	// Candidates is true where the space is a list and none of its compositions
	// satisfies the rest of the definition.
	Candidates bool
}

// Error names the conflict where it is known.
func (e *InfeasibleError) Error() string {
	switch {
	case e.Candidates:
		return "none of the candidates is within the bounds, satisfies the constraints and lies outside the excluded regions"
	case len(e.Conflict) == 0:
		return "no composition satisfies all bounds, constraints, dosing steps and exclusions together"
	}
	return "no composition satisfies these together: " + strings.Join(e.Conflict, "; ") +
		". Relax one of them"
}

// explain turns the optimizer's account of a conflict into the user's words. A one-hot axis has an
// equation of its own, that its coordinates sum up to one: it is not part of the definition, and
// not named. eq and ineq list the rows in the order in which relax has added them, to which the
// indices of the conflict refer.
func (s *Space) explain(err error) error {
	var infeasible *optimize.InfeasibleError
	if !errors.As(err, &infeasible) {
		return err
	}
	owner := make([]int, s.dim) // axis of a coordinate
	for i := range s.axes {
		for j := range s.axes[i].width {
			owner[s.axes[i].at+j] = i
		}
	}
	var eq, ineq []*row
	for i := range s.axes {
		if s.axes[i].oneHot {
			eq = append(eq, nil)
		}
	}
	for i := range s.rows {
		if r := &s.rows[i]; r.sense == equals {
			eq = append(eq, r)
		} else {
			ineq = append(ineq, r)
		}
	}
	var rows, bounds []string
	for _, c := range infeasible.Conflict {
		switch c.Kind {
		case optimize.Equality:
			if r := eq[c.Index]; r != nil {
				rows = append(rows, r.describe(s))
			}
		case optimize.Inequality:
			rows = append(rows, ineq[c.Index].describe(s))
		case optimize.LowerBound:
			a := &s.axes[owner[c.Index]]
			bounds = append(bounds, fmt.Sprintf("%s ≥ %s", a.name, format.Setting(a.first())))
		case optimize.UpperBound:
			a := &s.axes[owner[c.Index]]
			bounds = append(bounds, fmt.Sprintf("%s ≤ %s", a.name, format.Setting(a.last())))
		}
	}
	slices.Sort(bounds)
	return &InfeasibleError{Conflict: append(rows, bounds...)}
}

// part is a part of a definition that can be left out to see whether it is to
// blame.
type part struct {
	kind  partKind
	index int
}

// partKind is a kind of part that can be left out of a definition to find a contradiction.
type partKind uint8

const (
	partRegion partKind = iota
	partSteps
	partConstraint
)

// conflict finds, for an infeasible definition whose relaxation is feasible, a minimal set of
// excluded regions, dosing steps or discrete values, and constraints that contradict each other:
// each is removed for good if the rest is found infeasible without it.
//
// It builds the space once for each part, which may take seconds: it is done only for a definition
// that is refused. A search that is given up proves nothing, so that its part stays among those
// that are named. Such a set is not unique: regions are tried first, steps next and constraints
// last, so that of several explanations one by constraints is preferred.
func conflict(ctx context.Context, def definition.Campaign) []string {
	var parts []part
	for i := range def.Excluded {
		parts = append(parts, part{partRegion, i})
	}
	for i, p := range def.Parameters {
		if len(p.Values) > 0 || def.Steps()[p.Name] > 0 {
			parts = append(parts, part{partSteps, i})
		}
	}
	for i := range constraints(&def) {
		parts = append(parts, part{partConstraint, i})
	}
	without := map[part]bool{}
	var guilty []part
	for _, p := range parts {
		if ctx.Err() != nil {
			return nil // it is not read
		}
		without[p] = true
		s, err := build(def, without)
		if err == nil {
			s.nodes = maxNodes / 20 // there are many parts to try
			err = s.prepare(ctx)
		}
		if err == nil || errors.Is(err, ErrUndecided) {
			delete(without, p)
			guilty = append(guilty, p)
		}
	}
	full, err := build(def, nil)
	if err != nil {
		return nil
	}
	var rows, words []string
	for _, p := range guilty {
		switch p.kind {
		case partRegion:
			words = append(words, full.regions[p.index].describe())
		case partConstraint:
			rows = append(rows, full.rows[p.index].describe(full))
		case partSteps:
			if a := &full.axes[p.index]; a.grid.values != nil {
				words = append(words, fmt.Sprintf("the values of %q (%v)", a.name, a.grid.values))
			} else {
				words = append(
					words,
					fmt.Sprintf(
						"the dosing steps of %q (multiples of %s)", a.name,
						format.Setting(a.grid.step),
					),
				)
			}
		}
	}
	return append(rows, words...)
}
