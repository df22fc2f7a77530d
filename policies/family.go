package policies

import (
	"context"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/next"
)

// Part is one of the choices that a policy is composed of. A campaign that
// measures chooses a rule for next, trust and handover; one that only compares
// chooses a rule for duel.
type Part string

const (
	Next     Part = "next"     // which composition is measured
	Trust    Part = "trust"    // how an expert's belief bends that choice
	Handover Part = "handover" // whether the expert is asked first
	Duel     Part = "duel"     // what an expert compares, where nothing is measured
)

// Names of the rules that do nothing in their part.
const (
	None  = "none"  // of trust: no expert's belief is used
	Never = "never" // of handover: no expert is asked
)

// Family is a package of policies that are built alike: a row of the program's
// table. It owns rules (the choices of campaign files), names some compositions
// of them (methods), and makes the policy of each composition that one of its
// rules leads.
type Family struct {
	// Name for messages, for example "cobol".
	Name string
	// Version, from 1, is raised whenever the same view and seed could lead to
	// another decision, or the policy needs other models than before. It is
	// recorded with each decision, and an audit does not make those of another
	// version again, but for Earlier.
	Version int
	// Earlier are the versions before whose decisions the family still makes, given
	// the view that they were made from: an audit makes those again.
	Earlier map[int]func(View) View
	// Module is the path of the Go module that the family's package belongs to,
	// ModuleVersion the module's version, empty where it is not known. The
	// program fills them in.
	Module, ModuleVersion string
	// Rules it owns. No two families own the same.
	Rules []Rule
	// Methods are its compositions that have a name of their own.
	Methods []Method
	// New returns the policy of a complete definition whose composition the
	// family leads. rule is its rule of next, of whatever family; nil where that
	// searches no model.
	New func(def definition.Campaign, rule next.Rule) (Policy, error)
}

// Rule is one choice that a campaign file can name in a part of the policy, as
// in `trust: cobol`.
type Rule struct {
	Part Part
	// Name as it stands in a campaign file.
	Name string
	// Settings returns a new value of the rule's settings, with none of them
	// set, to be decoded into. Those of a rule of next that searches a model of the
	// objective are a [next.Rule]: they say what else it can do.
	Settings func() definition.Settings
	// Tradeoff, Preference and Fidelity mark a rule of next that works where several quantities
	// are traded off, where an expert's preference among outcomes is the objective, and where
	// cheaper experiments tell less.
	Tradeoff, Preference, Fidelity bool
}

// Searched returns a rule of next that searches a model, without its settings; nil of any other.
func (r Rule) Searched() next.Rule {
	if r.Part != Next {
		return nil
	}
	searched, _ := r.Settings().(next.Rule)
	return searched
}

// Method is a policy by one name: `policy: coexbo`.
type Method struct {
	// Name as it stands in a campaign file.
	Name string
	// Summary describes it in a line. Source cites its origin; empty for common knowledge in
	// the field.
	Summary, Source string
	// Asks describes the question to an expert, in words; empty where none is asked.
	Asks string
	// Form is that of the questions in the course of a campaign; empty where
	// experts are asked before the first experiment only.
	Form events.Form
	// Tradeoff marks a method of campaigns that trade several quantities off
	// against each other.
	Tradeoff bool
	// Preference marks a method of campaigns whose objective is an expert's preference among
	// outcomes.
	Preference bool
	// Policy is the composition the name stands for, defaults left out.
	Policy definition.Policy
}

// Registry is the table of families. The order of rows is that of lists and
// messages.
type Registry []Family

// New returns the policy of a complete definition, made by the family that owns
// the leading rule ([Lead]). The error names a rule that this program does not
// have: the log of another program may hold it.
func (r Registry) New(def definition.Campaign) (Policy, error) {
	for _, part := range Parts(def.Policy) {
		c := Choice(&def.Policy, part)
		if _, known := r.Rule(part, c.Name); !known {
			return nil, fmt.Errorf(
				"this campaignd has no rule %q of policy.%s; it has %v", c.Name, part,
				r.RuleNames(part),
			)
		}
	}
	rule, err := r.Searched(def.Policy)
	if err != nil {
		return nil, err
	}
	leader, _ := r.leader(def.Policy)
	return leader.New(def, rule)
}

// Searched returns the rule of next that searches a model, as a policy has it; nil of any other.
func (r Registry) Searched(p definition.Policy) (next.Rule, error) {
	row, _ := r.Rule(Next, p.Next.Name)
	rule := row.Searched()
	if rule == nil {
		return nil, nil
	}
	if err := p.Next.Decode(rule); err != nil {
		return nil, err
	}
	if s, ok := rule.(next.Missing); ok {
		return rule, s.Missing()
	}
	return rule, nil
}

// leader returns the family that owns the leading rule of a composition; false
// where this program has no such family.
func (r Registry) leader(p definition.Policy) (Family, bool) {
	part := Lead(p)
	name := Choice(&p, part).Name
	owns := func(rule Rule) bool { return rule.Part == part && rule.Name == name }
	i := slices.IndexFunc(r, func(f Family) bool { return slices.ContainsFunc(f.Rules, owns) })
	if i < 0 {
		return Family{}, false
	}
	return r[i], true
}

// Ref names the composition of a complete definition, with family, version and
// module, as it is recorded with decisions. An audit makes only those decisions
// again whose reference is this program's.
func (r Registry) Ref(p definition.Policy) events.PolicyRef {
	leader, _ := r.leader(p)
	ref := events.PolicyRef{
		Next: p.Next.Name, Trust: p.Trust.Name, Handover: p.Handover.Name,
		Version: leader.Version, Family: leader.Name,
		Module: leader.Module, ModuleVersion: leader.ModuleVersion,
	}
	if !p.Measures() {
		ref.Next = None
		ref.Trust = None
		ref.Handover = Never
		ref.Duel = p.Duel.Name
	}
	return ref
}

// Makes reports whether the family that leads a composition makes the decisions of
// a version of itself.
func (r Registry) Makes(p definition.Policy, version int) bool {
	leader, _ := r.leader(p)
	return version == leader.Version || leader.Earlier[version] != nil
}

// View returns the view from which a version of the leading family decides, made
// of the campaign's view. The seed is the decision's; the only error is that of a
// cancelled context.
func (r Registry) View(ctx context.Context, p definition.Policy, version int, v View, seed uint64) (View, error) {
	leader, _ := r.leader(p)
	if earlier := leader.Earlier[version]; earlier != nil {
		return earlier(v), nil
	}
	return v.Inside(ctx, seed)
}

// Needs returns the needs of a definition's policy. A definition without a valid policy needs
// nothing: the error is reported where the policy is made.
func (r Registry) Needs(def definition.Campaign) Needs {
	p, err := r.New(def)
	if err != nil {
		return Needs{}
	}
	return p.Needs()
}

// Rule returns the rule of a name in a part.
func (r Registry) Rule(part Part, name string) (Rule, bool) {
	for _, f := range r {
		for _, rule := range f.Rules {
			if rule.Part == part && rule.Name == name {
				return rule, true
			}
		}
	}
	return Rule{}, false
}

// TrustOf returns the rule of trust that goes with a rule of handover where a
// file names only the latter: the first one of the same family. It is empty for
// a rule of no family, or of a family without a rule of trust.
func (r Registry) TrustOf(handover string) string {
	for _, f := range r {
		asks := func(x Rule) bool { return x.Part == Handover && x.Name == handover && x.Name != Never }
		if !slices.ContainsFunc(f.Rules, asks) {
			continue
		}
		trusts := func(x Rule) bool { return x.Part == Trust && x.Name != None }
		if i := slices.IndexFunc(f.Rules, trusts); i >= 0 {
			return f.Rules[i].Name
		}
	}
	return ""
}

// RuleNames lists the rules of a part.
func (r Registry) RuleNames(part Part) []string {
	var names []string
	for _, f := range r {
		for _, rule := range f.Rules {
			if rule.Part == part {
				names = append(names, rule.Name)
			}
		}
	}
	return names
}

// Check returns the faults of the rule that a complete definition chooses in a part, with its
// settings. Rules of trust and handover are held to the rule of next, too.
func (r Registry) Check(
	def *definition.Campaign, part Part, settings definition.Settings, here definition.Path,
) (faults []definition.Fault) {
	rule, _ := r.Rule(Next, def.Policy.Next.Name)
	if name := Choice(&def.Policy, part).Name; part == Trust && name != None {
		faults = checkTrust(def, name, rule.Searched() != nil)
	}
	faults = append(faults, settings.Check(def, here)...)
	if s, ok := settings.(Dependent); ok {
		faults = append(faults, s.CheckNext(def, here, rule)...)
	}
	return faults
}

// Settings returns the settings of the rule that a policy chooses in a part.
func (r Registry) Settings(p definition.Policy, part Part) (definition.Settings, error) {
	c := Choice(&p, part)
	rule, known := r.Rule(part, c.Name)
	if !known {
		return nil, fmt.Errorf("this campaignd has no rule %q of policy.%s", c.Name, part)
	}
	settings := rule.Settings()
	return settings, c.Decode(settings)
}

// Lead returns the part whose rule leads a composition, that is whose family
// makes its policy: the first of duel, trust other than "none", handover other
// than "never", and next. A family of trust or handover uses rules of next,
// never the other way round.
func Lead(p definition.Policy) Part {
	switch {
	case !p.Measures():
		return Duel
	case p.Trust.Name != None:
		return Trust
	case p.Handover.Name != Never:
		return Handover
	}
	return Next
}

// Parts returns the parts that a complete policy chooses a rule in.
func Parts(p definition.Policy) []Part {
	if !p.Measures() {
		return []Part{Duel}
	}
	return []Part{Next, Trust, Handover}
}

// Choice returns a policy's choice in a part, to be read or set.
func Choice(p *definition.Policy, part Part) *definition.Choice {
	switch part {
	case Next:
		return &p.Next
	case Trust:
		return &p.Trust
	case Handover:
		return &p.Handover
	}
	return &p.Duel
}

// Methods returns every method of every family.
func (r Registry) Methods() []Method {
	var all []Method
	for _, f := range r {
		all = append(all, f.Methods...)
	}
	return all
}

// Method returns the method of a name.
func (r Registry) Method(name string) (Method, bool) {
	for _, m := range r.Methods() {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}
