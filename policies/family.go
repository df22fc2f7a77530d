package policies

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Part is one of the choices that a policy is composed of.
type Part string

const (
	Next     Part = "next"     // which composition is measured
	Trust    Part = "trust"    // how an expert's belief bends that choice
	Handover Part = "handover" // whether the expert is asked first
	Duel     Part = "duel"     // what an expert compares, where nothing is measured
)

// Names of the rules that do nothing in their part.
const (
	None  = "none"  // of trust: nobody's belief is used
	Never = "never" // of handover: nobody is asked
)

// Family is a package of policies: a row of the program's table.
type Family struct {
	// Name for messages, for example "cobol".
	Name string
	// Rules it owns. No two families own the same.
	Rules []Rule
	// Methods are its compositions that have a name of their own.
	Methods []Method
	// New returns the policy of a complete definition whose composition the family
	// leads, as a version of the policies decided.
	New func(def definition.Campaign, version int) (Policy, error)
}

// Rule is one choice that a campaign file can name in a part of the policy.
type Rule struct {
	Part Part
	// Name as it stands in a campaign file.
	Name string
}

// Method is a policy by one name: `policy: coexbo`.
type Method struct {
	// Name as it stands in a campaign file.
	Name string
	// Summary says in a line what it does, Source where it comes from; empty for what
	// everybody does.
	Summary, Source string
	// Asks is what an expert is asked for, empty where nobody is.
	Asks string
	// Policy is the composition the name stands for, defaults left out.
	Policy definition.Policy
}

// Registry is the table of families. The order of rows is that of lists and messages.
type Registry []Family

// New returns the policy of a complete definition.
func (r Registry) New(def definition.Campaign) (Policy, error) { return r.At(def, Version) }

// At returns the policy as a version of it decided, from Oldest to Version: what
// was decided stays what it was, and can be made again. Its family is the owner of the
// rule that leads the composition ([Lead]).
func (r Registry) At(def definition.Campaign, version int) (Policy, error) {
	lead := Lead(def.Policy)
	for _, f := range r {
		if slices.ContainsFunc(f.Rules, func(rule Rule) bool { return rule == lead }) {
			return f.New(def, version)
		}
	}
	return nil, fmt.Errorf("this campaignd has no rule %q of %s", lead.Name, lead.Part)
}

// Lead returns the rule that leads a composition: the first of duel, trust other than
// "none", handover other than "never", and next.
func Lead(p definition.Policy) Rule {
	ref := RefOf(p, Version)
	switch {
	case !p.Measures():
		return Rule{Duel, ref.Duel}
	case ref.Trust != None:
		return Rule{Trust, ref.Trust}
	case ref.Handover != Never:
		return Rule{Handover, ref.Handover}
	}
	return Rule{Next, ref.Next}
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

// RefOf names a composition as a version of the policies.
func RefOf(p definition.Policy, version int) events.PolicyRef {
	if !p.Measures() {
		return events.PolicyRef{Next: None, Trust: None, Handover: Never, Duel: chosen(p.Duel), Version: version}
	}
	ref := events.PolicyRef{Next: chosen(p.Next), Trust: chosen(p.Trust), Handover: chosen(p.Handover), Version: version}
	ref.Trust, ref.Handover = cmp.Or(ref.Trust, None), cmp.Or(ref.Handover, Never)
	return ref
}

// chosen is the name of the rule that a part of a policy chooses, empty where it
// chooses none.
func chosen(part any) string {
	v := reflect.ValueOf(part)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return ""
}
