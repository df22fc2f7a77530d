// Package seek is the objective of a set of quantities, and the constraints on them, as
// functions of their models: one quantity, a formula or a desirability of several, a front, or
// an expert's preference. Acquisitions, draws and hypervolumes of them are here; packages next
// and bope decide which of those chooses an experiment.
package seek

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/num/jet"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Problem is the objective of a campaign of several quantities, and the constraints on them, as
// functions of their models: the quantities that have one are the first arguments of each
// function, then come the numeric parameters, then the values at the reference composition. Its
// functions are workspaces: one goroutine at a time uses it and the results of its methods.
type Problem struct {
	// Quantities names the quantities that the objective or a constraint depends on, in the
	// order of the definition; Models are theirs, none of them nil.
	Quantities []string
	Models     []*quantity.Model
	// Aims are the objectives of a trade-off; none where one value is sought.
	Aims []Aim
	// Compared are the quantities among which an expert has preferences; none where
	// something else is sought.
	Compared []Aim
	// Waiting lists the constraints that cannot be judged yet, and why.
	Waiting []Waiting
	// Spreads keeps the spread that the model of a constant objective has, as decisions
	// of version 2 did.
	Spreads bool

	def         *definition.Campaign
	space       *space.Space
	problem     composite.Problem // its objective is nil where a trade-off is sought, or a quantity of its own
	constraints []definition.OutcomeConstraint
	required    []int // indices of the constraints that are judged
	axes        axes
	fixed       []float64 // the values at the reference composition
	informed    *informed // nil where no answer moves the objective
}

// Waiting is a constraint on outcomes that is not judged yet.
type Waiting struct{ Require, Because string }

// Aim is an objective of a trade-off, or a quantity that an expert compares; the
// latter has no goal.
type Aim struct {
	definition.Objective
	// Worst is as in [definition.Aim].
	Worst *float64
	// Model is the place of its model among the problem's; -1 where the quantity
	// follows from the parameters.
	Model int
	// function computes it; nil for a quantity that is modelled.
	function composite.Function
}

// NewProblem returns the problem of a campaign whose sought quantity has the given model; nil
// without constraints on other quantities if the objective is one quantity, or is computed from
// too many (see [computed.ByModels]). A constraint on a quantity without a model waits for one.
// It fails if the definition cannot be read, or if an objective has no model.
func NewProblem(
	s *campaign.State, sp *space.Space, models quantity.Models,
) (*Problem, error) {
	def := s.Definition
	o := def.Sought()
	if len(def.ConstraintsOnOutcomes) == 0 && !computed.ByModels(def) && def.Single() {
		return nil, nil
	}
	return newProblem(s, sp, models, o, def.ConstraintsOnOutcomes)
}

// newProblem is the problem of an objective, of none where that is zero, under
// constraints.
func newProblem(
	s *campaign.State, sp *space.Space, models quantity.Models,
	o definition.Objective, constraints []definition.OutcomeConstraint,
) (*Problem, error) {
	p := &Problem{def: s.Definition, space: sp, constraints: constraints}
	p.problem.Maximize = o.Goal == definition.Maximize
	b := builder{Problem: p, state: s, models: models}
	if err := b.build(o); err != nil {
		return nil, err
	}
	return p, nil
}

// builder makes a problem.
type builder struct {
	*Problem
	state      *campaign.State
	models     quantity.Models
	references []string // names after "reference."
	inline     map[string]*formula.Formula
}

func (b *builder) build(o definition.Objective) error {
	b.axes = axesOf(b.def, b.space)
	b.inline = make(map[string]*formula.Formula)
	for i := range b.def.Quantities {
		q := &b.def.Quantities[i]
		if q.From == "" {
			continue
		}
		f, err := formula.Of(q.From)
		if err != nil {
			return fmt.Errorf("the quantity %s: %w", q.Name, err)
		}
		b.inline[q.Name] = f
		if b.inline[formula.Reference+"."+q.Name], err = f.Inline(b.atReference(f)); err != nil {
			return fmt.Errorf("the quantity %s: %w", q.Name, err)
		}
	}
	goal, err := b.goalOf(o)
	if err != nil {
		return err
	}
	required, err := b.formulas()
	if err != nil {
		return err
	}
	b.choose(goal, required)
	return b.bind(goal, required)
}

// atReference maps the names of a formula to those at the reference composition.
func (b *builder) atReference(f *formula.Formula) map[string]*formula.Formula {
	of := make(map[string]*formula.Formula)
	for _, name := range f.Names() {
		if at, err := formula.Parse(formula.Reference + "." + name); err == nil {
			of[name] = at
		}
	}
	return of
}

// formulas reads the constraints, with quantities that follow from the parameters replaced by
// their formulas.
func (b *builder) formulas() (required []*formula.Formula, err error) {
	required = make([]*formula.Formula, len(b.constraints))
	for i, c := range b.constraints {
		r, err := formula.RelationOf(c.Require)
		if err == nil {
			required[i], err = r.Excess().Inline(b.inline)
		}
		if err != nil {
			return nil, fmt.Errorf("the constraint %s: %w", c.Require, err)
		}
	}
	return required, nil
}

// choose sets the quantities of the problem: those that something which can be
// judged depends on.
func (b *builder) choose(sought goal, required []*formula.Formula) {
	needed := make(map[string]bool)
	b.need(needed, sought.names())
	for i, f := range required {
		if because := b.lacks(f.Names()); because != "" {
			b.Waiting = append(b.Waiting, Waiting{b.constraints[i].Require, because})
			continue
		}
		b.required = append(b.required, i)
		b.need(needed, f.Names())
	}
	for _, q := range b.def.Declared() {
		if needed[q.Name] {
			b.Quantities = append(b.Quantities, q.Name)
			b.Models = append(b.Models, b.models.Of(q.Name))
		}
	}
}

// need notes the measured quantities among some names, and collects the values at
// the reference composition.
func (b *builder) need(needed map[string]bool, names []string) {
	for _, name := range names {
		if of, relative := strings.CutPrefix(name, formula.Reference+"."); relative {
			if !slices.Contains(b.references, of) {
				b.references = append(b.references, of)
			}
			continue
		}
		if q := b.def.Quantity(name); q != nil && q.From == "" {
			needed[name] = true
		}
	}
}

// lacks gives the reason that a constraint on some names cannot be judged yet; "" if it can.
func (b *builder) lacks(names []string) string {
	for _, name := range names {
		of, relative := strings.CutPrefix(name, formula.Reference+".")
		if q := b.def.Quantity(of); q != nil && b.models.Of(of) == nil {
			return "there is no model of " + of + " yet"
		}
		if relative && b.reference() == nil {
			return "there is no experiment " + b.def.Reference.Experiment + " yet to compare with"
		}
	}
	return ""
}

// reference is the reference composition, nil if it is not there yet: for a measured experiment
// the composition that was made; for another the requested one, which the models can predict
// too.
func (b *builder) reference() definition.Point {
	r := b.def.Reference
	if r.Composition != nil {
		return r.Composition
	}
	x := b.state.Experiment(r.Experiment)
	switch {
	case x == nil:
		return nil
	case x.Measurement != nil:
		return x.Measurement.Actual
	}
	return x.Parameters
}

// atReferenceValue is the value of a name at the reference composition: for a quantity its
// model's prediction.
func (b *builder) atReferenceValue(name string) (float64, error) {
	at := b.reference()
	if b.def.Quantity(name) == nil {
		value, _ := at[name].Float()
		return value, nil
	}
	u, err := b.space.Encode(at)
	if err != nil {
		return 0, fmt.Errorf("the reference: %w", err)
	}
	m := b.models.Of(name)
	mean, _ := m.Posterior(u)
	return m.Untransform(mean), nil
}

// bind makes functions of the arguments of all that is sought and required.
func (b *builder) bind(sought goal, required []*formula.Formula) error {
	arguments := slices.Concat(b.Quantities, b.axes.names())
	for _, name := range b.references {
		value, err := b.atReferenceValue(name)
		if err != nil {
			return err
		}
		b.fixed = append(b.fixed, value)
		arguments = append(arguments, formula.Reference+"."+name)
	}
	p := &b.problem
	p.Parameters = len(arguments) - len(b.Quantities)
	for i, m := range b.Models {
		if m == nil {
			return fmt.Errorf("there is no model of %s yet", b.Quantities[i])
		}
		p.Quantities = append(p.Quantities, m.Scale())
	}
	for _, i := range b.required {
		if limit, ok := b.limit(i); ok {
			p.Constraints = append(p.Constraints, limit)
			continue
		}
		f, err := required[i].Bind(arguments)
		if err != nil {
			return fmt.Errorf("the constraint %s: %w", b.constraints[i].Require, err)
		}
		if slack := computed.Slack(b.def, b.constraints[i]); slack > 0 {
			p.Constraints = append(p.Constraints, &tolerant{Function: f, slack: slack})
			continue
		}
		p.Constraints = append(p.Constraints, f)
	}
	return sought.bind(b, arguments)
}

// tolerant is a constraint that may be off by as much as rounding does.
type tolerant struct {
	composite.Function
	slack float64

	space *jet.Space
	out   jet.Jet
}

// Value implements [composite.Function].
func (f *tolerant) Value(arguments []float64) float64 { return f.Function.Value(arguments) - f.slack }

// Jet implements [composite.Function].
func (f *tolerant) Jet(s *jet.Space, arguments []jet.Jet) jet.Jet {
	if f.space != s {
		f.space, f.out = s, s.New()
	}
	s.Shift(f.out, f.Function.Jet(s, arguments), -f.slack)
	return f.out
}

// limit is a constraint that bounds one measured quantity alone: of one whose model
// is of the logarithm a bound of that, if it is greater than 0.
func (b *builder) limit(constraint int) (limit *composite.Limit, ok bool) {
	relation, err := formula.RelationOf(b.constraints[constraint].Require)
	if err != nil {
		return nil, false
	}
	name, bound, ok := relation.Bound()
	k := slices.Index(b.Quantities, name)
	if !ok || k < 0 {
		return nil, false
	}
	limit = &composite.Limit{Argument: k, At: bound.Upper, Exact: b.constraints[constraint].Exact}
	if !finite(bound.Upper) {
		limit.At, limit.Least = bound.Lower, true
	}
	return limit, true
}

// Functions returns the objective and the constraints; a trade-off has no single objective.
// seed is for the points of the mixtures that are made of them.
func (p *Problem) Functions(seed uint64) composite.Problem {
	functions := p.problem
	functions.Seed = seed
	return functions
}

// ParametersAt fills dst with the arguments after the quantities at a point of the
// unit cube.
func (p *Problem) ParametersAt(dst, x []float64) {
	p.axes.at(dst, x)
	copy(dst[len(p.axes):], p.fixed)
	if t := p.informed; t != nil {
		t.read(x)
		n := len(p.axes) + len(p.fixed)
		dst[n], dst[n+1] = t.shift, t.ratio
	}
}

// AddGrad adds the contribution of derivatives by the parameters, times a factor, at the point
// of the last [Problem.ParametersAt], to a gradient in the unit cube.
func (p *Problem) AddGrad(grad, byParameter []float64, factor float64) {
	p.axes.addGrad(grad, byParameter, factor)
	if t := p.informed; t != nil {
		n := len(p.axes) + len(p.fixed)
		t.addGrad(grad, byParameter[n], byParameter[n+1], factor)
	}
}
