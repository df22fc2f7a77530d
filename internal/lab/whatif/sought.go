package whatif

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Sought holds another objective and other constraints on outcomes, in the words of a campaign
// file. The zero value keeps those of the campaign.
type Sought struct {
	// Require are bounds on outcomes, "viscosity <= 4". One takes the place, and the
	// confidence, of those on the same side of the same quantity; where there are
	// none it is one more.
	Require []string `json:"require,omitempty"`
	// WithoutConstraints are bounds on outcomes that are left out, as the campaign
	// has them: "viscosity <= 5".
	WithoutConstraints []string `json:"without_constraints,omitempty"`
	// Worst are the worst values of interest of objectives of a trade-off, in their
	// units.
	Worst map[string]float64 `json:"worst,omitempty"`
	// Weight are the weights of quantities in a desirability.
	Weight map[string]float64 `json:"weight,omitempty"`
	// Maximize or Minimize is a quantity or a formula that is sought in place of the
	// objective.
	Maximize string `json:"maximize,omitempty"`
	Minimize string `json:"minimize,omitempty"`
	// File, if set, is a campaign file that says all of it: whatever an amendment
	// could change counts. What else is asked for changes that.
	File *campaignfile.File `json:"-"`
}

// IsZero reports whether nothing else is sought or required.
func (w Sought) IsZero() bool {
	return len(w.Require) == 0 && len(w.WithoutConstraints) == 0 && len(w.Worst) == 0 && len(w.Weight) == 0 &&
		w.Maximize == "" && w.Minimize == "" && w.File == nil
}

// words describe the other objective and constraints, as parts of [Question.Words].
func (w Sought) words() (parts []string) {
	if w.File != nil {
		parts = append(parts, "by another campaign file")
	}
	if w.Maximize != "" {
		parts = append(parts, "maximizing "+w.Maximize)
	}
	if w.Minimize != "" {
		parts = append(parts, "minimizing "+w.Minimize)
	}
	for _, r := range w.Require {
		parts = append(parts, "with "+r)
	}
	for _, r := range w.WithoutConstraints {
		parts = append(parts, "without "+r)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Worst)) {
		parts = append(parts, fmt.Sprintf("with %s at worst %s", name, format.Setting(w.Worst[name])))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Weight)) {
		parts = append(parts, fmt.Sprintf("with the weight %s of %s", format.Setting(w.Weight[name]), name))
	}
	return parts
}

// refused is the error for a definition that cannot be imagined, with places and remedies.
func refused(list []campaignfile.Refusal) error {
	return problem.New(problem.NotPossible, "%w", &campaignfile.AmendError{Refused: list, Imagined: true})
}

// in returns a campaign's definition with the other objective and constraints, not yet
// completed; s is the campaign when the decision was made. The error wraps a [problem.Error],
// and lists all that an amendment would refuse.
func (w Sought) in(reg registry.Registry, s *campaign.State) (definition.Campaign, error) {
	def := *s.Definition
	if w.File != nil {
		wanted := w.File.Definition
		if driver, _ := reg.DriverOf(&wanted); driver.Listed && wanted.Candidates == nil {
			wanted.Candidates = def.Candidates // nothing is opened for a what-if
		}
		meant, err := campaignfile.Meant(reg, def, s.Source, wanted)
		if err != nil {
			return def, err
		}
		def = w.File.Begun(reg, meant, def)
	}
	e := editor{def: withoutDefaults(reg, def, *s.Definition)}
	e.seek(w)
	e.require(w)
	e.each(w.Worst, "objective.tradeoff", "objective of a trade-off", "a worst value", e.worst)
	e.each(w.Weight, "objective.desirability", "part of a desirability", "a weight", e.weight)
	if e.refused != nil {
		return def, refused(e.refused)
	}
	changed := campaignfile.CompleteBegun(reg, e.def, *s.Definition)
	if list := campaignfile.Forbidden(reg, *s.Definition, changed); list != nil {
		return def, refused(list)
	}
	return changed, nil
}

// withoutDefaults leaves out settings whose defaults depend on the objective, so that they
// follow another one as well: the policy, and how models take far values.
func withoutDefaults(reg registry.Registry, def, begun definition.Campaign) definition.Campaign {
	bare := def
	bare.Policy, bare.Model.Tails = definition.Policy{}, ""
	usual := campaignfile.CompleteBegun(reg, bare, begun)
	changed := def
	changed.Policy = usual.Policy
	if campaignfile.Diff(def, changed) == nil {
		def.Policy = definition.Policy{}
	}
	if def.Model.Tails == usual.Model.Tails {
		def.Model.Tails = ""
	}
	return def
}

// editor changes a definition, and collects the refusals.
type editor struct {
	def     definition.Campaign
	refused []campaignfile.Refusal
}

func (e *editor) refuse(place, reason string, args ...any) {
	e.refused = append(e.refused, campaignfile.Refusal{Place: place, Reason: fmt.Sprintf(reason, args...)})
}

// seek changes the objective.
func (e *editor) seek(w Sought) {
	of, goal := w.Maximize, definition.Maximize
	switch {
	case w.Maximize != "" && w.Minimize != "":
		e.refuse("objective", "one quantity or formula is sought: say what is maximized or what is minimized")
		return
	case w.Minimize != "":
		of, goal = w.Minimize, definition.Minimize
	case of == "":
		return
	}
	of = strings.TrimSpace(of)
	switch sought := e.def.Sought(); {
	case e.def.Single() && of == sought.Name:
		same := e.def.Objective
		same.Goal = goal
		e.def.Objective = same
	case e.def.Quantity(of) != nil:
		e.def.Objective = definition.Objective{Name: of, Goal: goal}
	case name.MatchString(of):
		e.refuse("objective", "%s is not a quantity of the campaign; it has %s", of, e.quantities())
	default:
		e.def.Objective = definition.Objective{Name: of, Goal: goal, Formula: of}
	}
}

// name is a name of a formula that stands alone.
var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// quantities names those of the campaign.
func (e *editor) quantities() string {
	var names []string
	for _, q := range e.def.Quantities {
		names = append(names, q.Name)
	}
	if e.def.Quantity(e.def.Sought().Name) != nil && !slices.Contains(names, e.def.Sought().Name) {
		names = append([]string{e.def.Sought().Name}, names...)
	}
	return format.List(names...)
}

const constraints = "constraints_on_outcomes"

// require changes the bounds on outcomes: first those that are left out go, then
// each new one takes its place.
func (e *editor) require(w Sought) {
	if len(w.Require)+len(w.WithoutConstraints) == 0 {
		return
	}
	kept := slices.Clone(e.def.ConstraintsOnOutcomes)
	for _, text := range w.WithoutConstraints {
		r := e.relation(text)
		if r == nil {
			continue
		}
		is := func(c definition.OutcomeConstraint) bool { return canonical(c.Require) == r.String() }
		if !slices.ContainsFunc(e.def.ConstraintsOnOutcomes, is) {
			e.refuse(constraints, "%s is none of the campaign at that decision; %s", r, e.bounds())
		}
		kept = slices.DeleteFunc(kept, is)
	}
	for _, text := range w.Require {
		if r := e.relation(text); r != nil {
			kept = placed(kept, r)
		}
	}
	e.def.ConstraintsOnOutcomes = kept
}

// bounds names the campaign's constraints.
func (e *editor) bounds() string {
	var all []string
	for _, c := range e.def.ConstraintsOnOutcomes {
		all = append(all, c.Require)
	}
	if all == nil {
		return "it had none"
	}
	return "it had " + format.List(all...)
}

// canonical returns a relation's canonical text; unreadable text unchanged.
func canonical(require string) string {
	if r, err := formula.ParseRelation(require); err == nil {
		return r.String()
	}
	return require
}

// placed returns bounds with a new one in the place of those on the same side of
// the same quantity; where there are none it is the last.
func placed(all []definition.OutcomeConstraint, r *formula.Relation) (with []definition.OutcomeConstraint) {
	set := false
	for _, c := range all {
		old, err := formula.ParseRelation(c.Require)
		if err != nil || old.String() != r.String() && !sameSide(old, r) {
			with = append(with, c)
			continue
		}
		if !set {
			c.Require = r.String()
			with, set = append(with, c), true
		}
	}
	if !set {
		with = append(with, definition.OutcomeConstraint{Require: r.String()})
	}
	return with
}

// sameSide reports whether two relations bound the same quantity on the same side.
func sameSide(a, b *formula.Relation) bool {
	first, x, ok := a.Bound()
	second, y, also := b.Bound()
	return ok && also && first == second && math.IsInf(x.Lower, 0) == math.IsInf(y.Lower, 0)
}

// each sets a number of some quantities, in the order of their names.
func (e *editor) each(values map[string]float64, place, of, what string, set func(string, float64) bool) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !set(name, values[name]) {
			e.refuse(place, "%s is no %s, so that it has no %s; %s", name, of, strings.TrimPrefix(what, "a "), e.parts())
		}
	}
}

// parts names the quantities that have a worst value, or a weight.
func (e *editor) parts() string {
	var names []string
	for _, a := range e.def.Objective.Tradeoff {
		names = append(names, a.Name)
	}
	for _, d := range e.def.Objective.Desirability {
		names = append(names, d.Quantity)
	}
	if names == nil {
		return "the campaign seeks " + e.def.Sought().Name + " alone"
	}
	return "the objective is of " + format.List(names...)
}

// worst sets the worst value of interest of an objective of the trade-off.
func (e *editor) worst(name string, value float64) bool {
	all := slices.Clone(e.def.Objective.Tradeoff)
	at := slices.IndexFunc(all, func(a definition.Aim) bool { return a.Name == name })
	if at >= 0 {
		all[at].Worst, e.def.Objective.Tradeoff = &value, all
	}
	return at >= 0
}

// weight sets the weight of a quantity in the desirability.
func (e *editor) weight(name string, value float64) bool {
	all := slices.Clone(e.def.Objective.Desirability)
	at := slices.IndexFunc(all, func(d definition.Desire) bool { return d.Quantity == name })
	if at >= 0 && (all[at].Weight != nil || value != 1) { // where none is said it is 1
		all[at].Weight, e.def.Objective.Desirability = &value, all
	}
	return at >= 0
}

// Constrained are the constraints to require and those to leave out so that a campaign
// has the given ones and no others, as a form shows them to be edited.
func Constrained(def *definition.Campaign, wanted []string) (require, without []string) {
	has := func(list []string, text string) bool {
		return slices.ContainsFunc(list, func(other string) bool { return canonical(other) == canonical(text) })
	}
	var is []string
	for _, c := range def.ConstraintsOnOutcomes {
		is = append(is, c.Require)
	}
	for _, text := range wanted {
		if !has(is, text) {
			require = append(require, text)
		}
	}
	for _, text := range is {
		old, err := formula.ParseRelation(text)
		replaced := slices.ContainsFunc(require, func(by string) bool {
			r, fault := formula.ParseRelation(by)
			return err == nil && fault == nil && sameSide(old, r)
		})
		if !has(wanted, text) && !replaced {
			without = append(without, text)
		}
	}
	return require, without
}

// readable fails if a bound cannot be read in any campaign.
func (w Sought) readable() error {
	var e editor
	for _, text := range slices.Concat(w.Require, w.WithoutConstraints) {
		e.relation(text)
	}
	if e.refused != nil {
		return refused(e.refused)
	}
	return nil
}

// relation reads a bound on outcomes; nil for other text.
func (e *editor) relation(text string) *formula.Relation {
	r, err := formula.ParseRelation(text)
	if err != nil {
		e.refuse(constraints, "%q: %v", text, err)
	}
	return r
}
