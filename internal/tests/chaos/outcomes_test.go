package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/bope"
	"github.com/campaignd/campaignd/policies/next"
)

// seeker draws what a campaign seeks of several quantities, and what it requires of them.
type seeker struct {
	*rand.Rand
	def *definition.Campaign
}

// quantities are those that can be declared: all but the price are between 1 and 6, as devices and
// clerks report them, and the yield is between 0 and 100.
func quantities() map[string]definition.QuantityDef {
	return map[string]definition.QuantityDef{
		"yield":     {Name: "yield", Unit: "%", Min: number(-500), Max: number(200)},
		"viscosity": {Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog},
		"ph":        {Name: "ph", Min: number(0), Max: number(14)},
		"color":     {Name: "color"},
		"price":     {Name: "price", Unit: "EUR/kg", From: prices[0]},
	}
}

// prices are what the price can follow from: all are finite but the last, which is not where there is no x.
var prices = []string{"12 - 5 * exp(-x)", "2 + 3 * x ^ 2", "abs(x - 0.7) + 1", "1 + 1 / x"}

// declare declares a quantity, unless it is declared; what follows from the parameters can be declared later.
func (s seeker) declare(names ...string) {
	for _, name := range names {
		if slices.ContainsFunc(s.def.Quantities, func(q definition.QuantityDef) bool { return q.Name == name }) {
			continue
		}
		q := quantities()[name]
		if q.From != "" {
			q.From = prices[s.IntN(len(prices))]
		}
		s.def.Quantities = append(s.def.Quantities, q)
	}
}

// one of the texts.
func (s seeker) one(texts ...string) string { return texts[s.IntN(len(texts))] }

func (s seeker) goal() string { return s.one(definition.Maximize, definition.Minimize) }

// seek sets what is sought, with a policy that can seek it.
func (s seeker) seek() {
	s.declare("yield")
	kinds := []func(){s.quantity, s.formula, s.desirability, s.tradeoff, s.tradeoff}
	kinds[s.IntN(len(kinds))]()
	p := &s.def.Policy
	if p.Next.Name == bope.EIUUName {
		p.Next, p.Handover = next.LogNEI{}.Choice(), definition.Choice{}
	}
	for i := range s.def.Quantities {
		s.def.Quantities[i].Better = ""
	}
	switch {
	case s.def.Tradeoff() != nil && !trades(p.Next):
		p.Next = []definition.Choice{next.LogNEHVI{}.Choice(), next.Sobol{}.Choice()}[min(1, s.IntN(6)/5)]
	case s.def.Tradeoff() == nil && p.Next.Name == next.LogNEHVIName:
		p.Next = []definition.Choice{next.LogNEI{}.Choice(), next.LogEI{}.Choice(), next.Thompson{}.Choice()}[max(0, s.IntN(5)-2)]
	case p.Next.Name == next.LogNEIName: // by the quantities of a formula
		p.Next = next.LogNEI{}.Choice()
	}
	if s.def.Tradeoff() != nil {
		p.Trust, p.Handover = definition.NewChoice(policies.None, nil), definition.Choice{}
		s.def.Initial.Labels, s.def.Initial.Comparisons, s.def.Initial.Estimates, s.def.Initial.Marks = nil, nil, nil, false
		s.def.Stop.Target, s.def.Stop.Window, s.def.Stop.Improvement = nil, 0, nil
	}
	s.complete()
}

// complete is after each change: quantities are compared in their own units.
func (s seeker) complete() {
	if !s.def.Single() || len(s.def.ConstraintsOnOutcomes) > 0 {
		s.def.Model.Tails = ""
	}
	*s.def = campaignfile.Complete(builtin.Registry(), *s.def)
}

// adjust changes what is sought of the quantities: a weight and an end of a desirability, a worst value of a trade-off.
func (s seeker) adjust() {
	o := &s.def.Objective
	for i := range o.Desirability {
		d := &o.Desirability[i]
		if d.Weight = number(0.5 + 3*s.Float64()); s.IntN(2) == 0 {
			d.From = number(*d.From * (0.95 + 0.1*s.Float64()))
		}
	}
	for i := range o.Tradeoff {
		if o.Tradeoff[i].Worst = nil; s.IntN(2) == 0 {
			o.Tradeoff[i].Worst = s.worst(o.Tradeoff[i].Name)
		}
	}
}

func (s seeker) quantity() {
	name := s.one("yield", "yield", "viscosity", "ph")
	s.declare(name)
	s.def.Objective = definition.Objective{Name: name, Goal: s.goal()}
}

// formula is one of several quantities and of the parameters: affine, smooth, with an edge, and one that has no
// finite value at half of what is measured.
func (s seeker) formula() {
	s.declare("viscosity", "ph", "price")
	text := s.one("yield / viscosity", "yield * ph", "yield / sqrt(viscosity)", "2 * ph", "yield * max(ph, 4)",
		"yield * sqrt(ph - 3)", "yield / price", "ph ^ 2 * (1 + ph)", "ph < 3 ? yield : yield / ph", "yield * x", "ln(ph - 3)")
	s.def.Objective = definition.Objective{Name: text, Goal: s.goal(), Formula: text}
}

func (s seeker) desirability() {
	s.declare("viscosity", "ph", "price")
	worth := func(quantity string, from, to float64, best ...float64) definition.Desire {
		d := definition.Desire{Quantity: quantity, From: &from, To: &to, Best: best}
		if s.IntN(2) == 0 {
			d.Weight = number(0.5 + 3*s.Float64())
		}
		return d
	}
	all := []definition.Desire{
		worth("yield", 20+20*s.Float64(), 95), worth("viscosity", 5, 1), worth("ph", 0.5, 9, 3, 4), worth("price", 20, 2),
	}
	n := 1 + s.IntN(len(all))
	s.def.Objective = definition.Objective{Name: "desirability", Goal: definition.Maximize, Desirability: all[:n:n]}
}

// tradeoff has 2 to 4 aims, in any order, with worst values that some, all or no measurements are better than.
func (s seeker) tradeoff() {
	s.declare("viscosity", "ph", "price")
	var aims []definition.Aim
	names := []string{"yield", "viscosity", "ph", "price"}
	for _, i := range s.Perm(len(names))[:2+s.IntN(3)] {
		a := definition.Aim{Name: names[i], Goal: s.goal()}
		if s.IntN(3) == 0 {
			a.Worst = s.worst(a.Name)
		}
		aims = append(aims, a)
	}
	if s.IntN(2) == 0 && len(aims) == 4 {
		aims[3], aims[0] = aims[0], aims[3]
	}
	s.def.Objective = definition.Objective{Name: aims[0].Name, Goal: aims[0].Goal, Tradeoff: aims}
}

// preference is of one expert, over 2 to 4 quantities in any order, of some of which it is said which way they are better.
func (s seeker) preference() {
	s.declare("yield", "viscosity", "ph", "price")
	names := []string{"yield", "viscosity", "ph", "price"}
	s.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	over := names[:2+s.IntN(3)]
	for i := range s.def.Quantities {
		if q := &s.def.Quantities[i]; slices.Contains(over, q.Name) {
			q.Better = s.one("", definition.BetterHigher, definition.BetterLower)
		}
	}
	s.def.Objective = definition.Objective{Preference: &definition.Preference{Over: over}}
	s.def.Experts = s.def.Experts[:1]
	s.def.Initial.Labels, s.def.Initial.Comparisons = nil, nil
	s.def.Initial.Estimates, s.def.Initial.Marks = nil, false
}

// worst is a value of a quantity that may be the worst of interest.
func (s seeker) worst(name string) *float64 {
	if name == "yield" {
		return number(100 * s.Float64())
	}
	return number(0.5 + 6*s.Float64())
}

// require adds a constraint on outcomes: one that most, some or no measurements keep, in the objective's direction
// and against it, of a quantity or a formula, and relative to a reference.
func (s seeker) require() {
	s.declare("yield", "viscosity", "ph", "price")
	relative := []string{
		"viscosity <= 1.2 * reference.viscosity", "ph <= reference.ph + 1", "yield * ph >= 0.5 * reference.yield * reference.ph",
		"price * ph <= 2 * reference.price * reference.ph", "yield * x >= 0.9 * reference.yield * reference.x",
	}
	plain := []string{
		"viscosity <= 4", "viscosity >= 2", "ph >= 2", "ph <= 3.5", "yield >= 40", "yield <= 70", "2 * ph <= 11", "ph >= 13",
		"yield / viscosity >= 10", "ph * ph <= 20", "sqrt(ph - 3) <= 1", "price * ph <= 20", "ph * x <= 5", "viscosity <= 0.01",
	}
	c := definition.OutcomeConstraint{Require: s.one(plain...)}
	if s.IntN(3) == 0 {
		c.Require = s.one(relative...)
		if s.def.Reference.IsZero() {
			s.refer()
		}
	}
	if s.IntN(2) == 0 {
		c.Confidence = number(0.3 + 0.65*s.Float64())
	}
	s.def.ConstraintsOnOutcomes = append(s.def.ConstraintsOnOutcomes, c)
	s.complete()
}

// refer sets what constraints compare with: an experiment, which may not be there yet, or a composition.
func (s seeker) refer(points ...definition.Point) {
	s.def.Reference = definition.Reference{Experiment: events.ExperimentID(1 + s.IntN(9))}
	if len(points) > 0 && s.IntN(2) == 0 {
		s.def.Reference = definition.Reference{Composition: points[s.IntN(len(points))]}
	}
}

// outcomes makes a campaign one that seeks several quantities, or requires something of them.
func (w World) outcomes(def *definition.Campaign, method policies.Method) {
	r := w.chance("outcomes")
	s := seeker{r, def}
	trades := trades(method.Policy.Next) && needsNobody(method.Policy)
	switch kind := r.IntN(3); {
	case !method.Policy.Measures() || kind == 0 && !method.Tradeoff && !method.Preference:
		return
	case method.Preference:
		s.preference()
	case method.Tradeoff || trades && kind == 1:
		s.declare("yield")
		s.tradeoff()
		s.def.Experts, s.def.Initial.Labels, s.def.Initial.Comparisons = nil, nil, nil
		s.def.Initial.Estimates, s.def.Initial.Marks = nil, false
	default:
		s.declare("yield")
		[]func(){s.quantity, s.formula, s.desirability}[r.IntN(3)]()
	}
	s.complete()
	for range r.IntN(3) {
		before := *copied(s.def)
		s.require()
		contradicts := func(f yamltree.Fault) bool {
			return fmt.Sprint(f.Path[0]) == "constraints_on_outcomes" || fmt.Sprint(f.Path[0]) == "objective"
		}
		if slices.ContainsFunc(campaignfile.Validate(builtin.Registry(), *s.def), contradicts) {
			*s.def = before
		}
	}
}

// amendedOutcomes says how an amendment changed what is sought and required: these have to be covered.
var amendedOutcomes = []string{
	"objective is a quantity", "objective is a formula", "objective is a desirability", "objective is a tradeoff",
	"objective was a formula", "objective was a desirability", "objective was a tradeoff",
	"weight changed", "worst changed", "from changed", "aims changed",
	"constraint added", "constraint removed", "confidence changed", "require changed", "experiment changed", "composition changed",
}

// outcomeFacts are those of amendedOutcomes that hold of an amendment.
func outcomeFacts(a *events.CampaignAmended) (facts []string) {
	o := a.Definition.Objective
	for _, c := range a.Changes {
		steps := strings.Split(c.Path, "/")[1:]
		last := steps[len(steps)-1]
		switch {
		case steps[0] == "objective" && len(steps) == 2:
			switch {
			case len(o.Tradeoff) > 0:
				facts = append(facts, "objective is a tradeoff")
			case len(o.Desirability) > 0:
				facts = append(facts, "objective is a desirability")
			case o.Formula != "":
				facts = append(facts, "objective is a formula")
			default:
				facts = append(facts, "objective is a quantity")
			}
			if c.From != "" && c.To == "" {
				facts = append(facts, "objective was a "+last)
			}
		case steps[0] == "objective" && steps[1] == "tradeoff" && last != "worst":
			facts = append(facts, "aims changed")
		case steps[0] == "objective" || steps[0] == "reference":
			facts = append(facts, last+" changed")
			if steps[0] == "reference" && len(steps) > 1 {
				facts = append(facts, steps[1]+" changed")
			}
		case steps[0] == "constraints_on_outcomes" && len(steps) < 3 && c.From == "":
			facts = append(facts, "constraint added")
		case steps[0] == "constraints_on_outcomes" && len(steps) < 3:
			facts = append(facts, "constraint removed")
		case steps[0] == "constraints_on_outcomes":
			facts = append(facts, last+" changed")
		}
	}
	return facts
}

// Law: what worlds seek, and require of outcomes, a person can write.
func TestWorldsAreSound(t *testing.T) {
	kinds := make(map[string]int)
	for _, m := range builtin.Registry().Methods.Methods() {
		for seed := range uint64(60) {
			w := Draw(seed, m)
			for _, f := range campaignfile.Validate(builtin.Registry(), w.Definition) {
				if place := fmt.Sprint(f.Path[0]); place == "initial" || place == "budget" || place == "policy" && f.Path[1] == "handover" {
					continue // of people who are not there
				}
				t.Errorf("seed %d, %s: %s: %s; %s", seed, m.Name, f.Path, f.Message, f.Remedy)
			}
			o := w.Definition.Objective
			kinds[fmt.Sprintf("%d aims, formula %t, desirability %t, constraints %t", len(o.Tradeoff), o.Formula != "",
				len(o.Desirability) > 0, len(w.Definition.ConstraintsOnOutcomes) > 0)]++
		}
	}
	if len(kinds) < 12 {
		t.Errorf("there are but %v", kinds)
	}
}

// trades reports whether a rule of next works where several quantities are traded off.
func trades(c definition.Choice) bool {
	rule, _ := builtin.Registry().Methods.Rule(policies.Next, c.Name)
	return rule.Tradeoff
}
