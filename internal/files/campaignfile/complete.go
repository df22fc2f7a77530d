package campaignfile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// Defaults that the doc comments of events/definition promise; docs and schemas
// repeat them. They are recorded with each campaign, so that changing one here
// changes no campaign that has begun.
const (
	defaultSeed        = 1
	defaultReplicates  = 1
	defaultImprovement = 0.1
	defaultGrowth      = 0.01

	defaultOutlierThreshold = 4

	defaultTries = 2 // of a repeatable stage

	// Rule of trust where experts can help and a policy names none: of the methods
	// with an expert it did best (docs/results.md). Without one: next.Default.
	defaultTrust = "answers"
	// Those of a preference.
	defaultPreference = "eiuu"
	defaultComparing  = "outcomes"

	defaultStallAfter  = definition.Duration(10 * time.Minute)
	defaultGiveUpAfter = definition.Duration(24 * time.Hour)
)

// Complete returns the definition with every default written out; of a complete definition it
// returns an equal one. It does not change def, and shares only unchanged parts with it. def
// may be faulty: its faults stay, and [Validate] reports them.
//
// The order matters. Drivers and channels come first, because rules ask whether experts are
// people; then the policy, because it determines the experts' initial questions; then the
// initial design.
//
// Everything behind it (engine, policies, audit) reads a complete definition and
// has no defaults of its own.
func Complete(reg registry.Registry, def definition.Campaign) definition.Campaign {
	definition.Default(&def.Seed, defaultSeed)
	definition.Default(&def.Replicates, defaultReplicates)
	definition.Default(&def.Parallel, def.Batch.Size())
	definition.Default(&def.Model.Kernel, "rbf")
	completeFidelity(&def)
	completeFormula(&def)
	completeOutcomes(&def)
	completePreference(&def)
	if def.Measures() {
		definition.DefaultTo(&def.Model.Feasibility, true)
		tails := definition.TailsCompress
		if def.SeveralMatter() {
			tails = definition.TailsKeep // quantities are compared in their own units
		}
		definition.Default(&def.Model.Tails, tails)
		intervals := definition.IntervalsMarginal
		if !def.Fidelity.IsZero() {
			intervals = definition.IntervalsFitted // how fidelities go together is not varied
		}
		definition.Default(&def.Model.Intervals, intervals)
		definition.Default(&def.Outliers.Action, definition.OutlierRepeat)
		definition.DefaultTo(&def.Outliers.Threshold, defaultOutlierThreshold)
		if len(def.Procedure) == 0 {
			completeInstrument(reg, &def)
			def.Instrument.Draws = completeDraws(&def, def.Instrument.Draws)
		} else {
			completeProcedure(reg, &def)
		}
	}
	completeExperts(reg, &def)
	completePolicy(reg, &def)
	def.Initial = completeInitial(def)
	if def.Stop.Window > 0 {
		definition.DefaultTo(&def.Stop.Improvement, defaultImprovement)
	}
	if def.Stop.Hypervolume.Window > 0 {
		definition.DefaultTo(&def.Stop.Hypervolume.Improvement, defaultGrowth)
	}
	return def
}

// completeFidelity declares the choice between sources, where the file leaves it to them, and
// the cost of each. The target of sources is the last if none is named.
func completeFidelity(def *definition.Campaign) {
	f := &def.Fidelity
	if len(f.Sources) == 0 {
		return
	}
	definition.Default(&f.Parameter, definition.DefaultSource)
	if f.Target == nil {
		last := definition.Category(f.Sources[len(f.Sources)-1].Name)
		f.Target = &last
	}
	if !slices.ContainsFunc(def.Parameters, func(p definition.Parameter) bool { return p.Name == f.Parameter }) {
		p := definition.Parameter{Name: f.Parameter}
		for _, s := range f.Sources {
			p.Categories = append(p.Categories, definition.CategoryDef{Name: s.Name})
		}
		def.Parameters = append(slices.Clip(def.Parameters), p)
	}
	if def.Cost.IsZero() {
		def.Cost = definition.Cost{Of: f.Parameter, Unit: f.Unit}
	}
}

// completeFormula writes the formula that is sought in its canonical form, and
// the unit that follows from those of its names. One that cannot be read is left
// for Validate.
func completeFormula(def *definition.Campaign) {
	o := &def.Objective
	f, err := formula.Parse(o.Formula)
	if o.Formula == "" || err != nil {
		return
	}
	if o.Name == "" || o.Name == o.Formula {
		o.Name = f.String()
	}
	o.Formula = f.String()
	if unit, err := f.Units(unitsOf(def)); err == nil {
		o.Unit = unit.String()
	}
}

// completePreference names a preference by the first of its quantities that is
// measured, in the direction in which that is better.
func completePreference(def *definition.Campaign) {
	for _, name := range def.Preferred() {
		q := def.Quantity(name)
		if q == nil || q.From != "" {
			continue
		}
		def.Objective.Name, def.Objective.Goal = name, definition.Maximize
		if q.Better == definition.BetterLower {
			def.Objective.Goal = definition.Minimize
		}
		return
	}
}

// completeOutcomes writes formulas in their canonical form: those that quantities follow from,
// constraints, with their confidence, the cost, and bounds of the target. Unreadable ones are
// left for Validate.
func completeOutcomes(def *definition.Campaign) {
	def.Quantities = slices.Clone(def.Quantities)
	for i := range def.Quantities {
		q := &def.Quantities[i]
		if f, err := formula.Parse(q.From); q.From != "" && err == nil {
			q.From = f.String()
		}
	}
	def.ConstraintsOnOutcomes = slices.Clone(def.ConstraintsOnOutcomes)
	for i := range def.ConstraintsOnOutcomes {
		c := &def.ConstraintsOnOutcomes[i]
		if r, err := formula.ParseRelation(c.Require); err == nil {
			c.Require = r.String()
		}
		definition.DefaultTo(&c.Confidence, definition.DefaultConfidence)
	}
	completeBounds(def)
	if f, err := formula.Parse(def.Cost.Of); def.Cost.Of != "" && err == nil {
		def.Cost.Of = f.String()
	}
	if q := def.Quantity(def.Cost.Of); q != nil {
		definition.Default(&def.Cost.Unit, q.Unit)
	}
	def.Stop.Reach = slices.Clone(def.Stop.Reach)
	for i, bound := range def.Stop.Reach {
		if r, err := formula.ParseRelation(bound); err == nil {
			def.Stop.Reach[i] = r.String()
		}
	}
}

// completeBounds has bounds on one measured quantity judged as one interval, and bounds
// on the one that is sought within its improvement.
func completeBounds(def *definition.Campaign) {
	bounded := func(c definition.OutcomeConstraint) string {
		r, err := formula.ParseRelation(c.Require)
		if err != nil {
			return ""
		}
		name, _, ok := r.Bound()
		if q := def.Quantity(name); !ok || q == nil || q.From != "" {
			return ""
		}
		return name
	}
	count := make(map[string]int)
	for _, c := range def.ConstraintsOnOutcomes {
		count[bounded(c)]++
	}
	if def.Single() && !def.Objective.Computed() {
		count[def.Objective.Name]++
	}
	for i := range def.ConstraintsOnOutcomes {
		c := &def.ConstraintsOnOutcomes[i]
		if name := bounded(*c); name != "" && count[name] > 1 {
			c.Exact = true
		}
	}
}

// unitsOf are the units of the names that a formula may use.
func unitsOf(def *definition.Campaign) map[string]string {
	units := make(map[string]string)
	for _, p := range def.Parameters {
		units[p.Name] = p.Unit
	}
	for _, q := range def.Quantities {
		units[q.Name] = q.Unit
	}
	if _, declared := units[def.Objective.Name]; !declared && !def.Objective.Computed() {
		units[def.Objective.Name] = def.Objective.Unit
	}
	for _, name := range slices.Collect(maps.Keys(units)) {
		units[formula.Reference+"."+name] = units[name]
	}
	return units
}

// completeInstrument has the driver complete its settings. Times after which an
// instrument counts as stalled do not apply to a person. An unknown driver is
// left for Validate to name.
func completeInstrument(reg registry.Registry, def *definition.Campaign) {
	driver, known := reg.DriverOf(def)
	if !known {
		return
	}
	in := &def.Instrument
	in.ByHand = driver.ByHand
	if !in.ByHand {
		definition.Default(&in.StallAfter, defaultStallAfter)
		definition.Default(&in.GiveUpAfter, defaultGiveUpAfter)
	}
	in.Driver = completeChoice(in.Driver, driver.Settings(), def)
}

// completeProcedure completes the instruments of a procedure, each as if it were the only one, and
// the stages. What an instrument completes beside itself is left out: other instruments are in the
// same campaign.
func completeProcedure(reg registry.Registry, def *definition.Campaign) {
	def.Instruments = maps.Clone(def.Instruments)
	for name := range def.Instruments {
		own := def.For(name)
		completeInstrument(reg, own)
		def.Instruments[name] = own.Instrument
	}
	def.Procedure = slices.Clone(def.Procedure)
	for i := range def.Procedure {
		s := &def.Procedure[i]
		s.Draws = completeDraws(def, s.Draws)
		if s.Repeatable {
			definition.Default(&s.Tries, defaultTries)
		}
	}
}

// completeChoice has the owner of a choice write out the defaults. A choice
// whose settings cannot be read is returned unchanged; Validate reports it. The
// settings are made anew from the choice's JSON, so that def and the result
// share none.
func completeChoice(
	c definition.Choice, settings definition.Settings, def *definition.Campaign,
) definition.Choice {
	if c.Decode(settings) != nil {
		return c
	}
	settings.Complete(def)
	return definition.NewChoice(c.Name, settings)
}

// completeExperts has each channel complete its settings, and gives people
// their deadlines.
//
// A channel is Unhurried where a question can wait for days, as in a browser:
// there the campaign goes on by itself for a while instead of giving the
// question a deadline.
func completeExperts(reg registry.Registry, def *definition.Campaign) {
	def.Experts = slices.Clone(def.Experts)
	for i := range def.Experts {
		e := &def.Experts[i]
		channel, known := reg.Channel(e.Channel.Name)
		if !known {
			continue
		}
		e.Person, e.Program = channel.Person, channel.Program
		if e.Time > 0 {
			definition.Default(&e.AnswerTakes, definition.DefaultAnswerTakes)
		}
		e.Channel = completeChoice(e.Channel, channel.Settings(), def)
		// Where nothing is measured, there is nothing to learn from before the
		// experts answer.
		switch {
		case !e.Asked() || !def.Measures():
		case channel.Unhurried && e.Meanwhile == nil:
			meanwhile := definition.DefaultMeanwhile
			e.Meanwhile = &meanwhile
		case !channel.Unhurried:
			definition.Default(&e.AnswerWithin, definition.DefaultAnswerWithin)
		}
	}
}

// completePolicy completes the rules of a policy. The rule of trust comes
// first: it chooses next and handover where the file leaves them open.
//
// Each of the three rules sees the ones before it completed. A campaign of
// comparisons has one rule, duel, in their place.
func completePolicy(reg registry.Registry, def *definition.Campaign) {
	if !def.Measures() {
		completeRule(reg, def, policies.Duel)
		return
	}
	p := &def.Policy
	if def.Preferred() != nil {
		definition.Default(&p.Next, definition.NewChoice(defaultPreference, nil))
		definition.Default(&p.Trust, definition.NewChoice(policies.None, nil))
		if p.Next.Name == defaultPreference {
			definition.Default(&p.Handover, definition.NewChoice(defaultComparing, nil))
		}
	}
	if p.Trust.IsZero() {
		rule, known := reg.Methods.Rule(policies.Next, p.Next.Name)
		searched := rule.Searched()
		// An expert's answers do not enter a draw of the model.
		helped := p.Next.IsZero() || known && searched != nil && !next.Draws(searched)
		p.Trust = definition.NewChoice(policies.None, nil)
		// Trust helps only where next searches a model that an expert's belief
		// can bend.
		if len(def.Experts) > 0 && helped {
			asking := reg.Methods.TrustOf(p.Handover.Name)
			p.Trust = definition.NewChoice(cmp.Or(asking, defaultTrust), nil)
		}
	}
	completeRule(reg, def, policies.Trust)
	if p.Next.IsZero() {
		p.Next = definition.NewChoice(next.Default(def).Name, nil) // its settings by completeRule
	}
	completeRule(reg, def, policies.Next)
	if p.Handover.IsZero() {
		p.Handover = definition.NewChoice(policies.Never, nil)
	}
	completeRule(reg, def, policies.Handover)
}

// completeRule has the owner of the rule in a part complete its settings. It is
// completed before it is put back, since its owner reads the definition with
// the rule as the file has it.
func completeRule(reg registry.Registry, def *definition.Campaign, part policies.Part) {
	choice := policies.Choice(&def.Policy, part)
	rule, known := reg.Methods.Rule(part, choice.Name)
	if !known {
		return
	}
	completed := completeChoice(*choice, rule.Settings(), def)
	*choice = completed
}

// modelsUtility reports whether the policy of a completed definition models the
// utility of compositions. Only a campaign of comparisons can.
func modelsUtility(def definition.Campaign) bool {
	return !def.Measures() && def.Model.Utility != (definition.Utility{})
}

// completeInitial returns the initial design and initial questions with defaults. A space with
// categories begins with a design that covers them. A method's rules have set the counts of
// labels, comparisons and estimates that it needs before; a count left open is 0.
func completeInitial(def definition.Campaign) definition.Initial {
	in := def.Initial
	if len(in.Points) > 0 {
		definition.Default(&in.Design, definition.DesignPoints)
		definition.DefaultTo(&in.Experiments, len(in.Points))
	}
	if slices.ContainsFunc(def.Parameters, categorical) && def.Measures() {
		definition.Default(&in.Design, definition.DesignCovering)
	}
	definition.Default(&in.Design, definition.DesignSobol)
	definition.DefaultTo(&in.Experiments, defaultExperiments(def))

	asked := slices.ContainsFunc(def.Experts, func(e definition.Expert) bool { return e.Asked() })
	simulated := len(def.Experts) > 0 && !asked
	definition.DefaultTo(&in.Balanced, simulated)
	definition.DefaultTo(&in.Labels, 0)
	definition.DefaultTo(&in.Comparisons, 0)
	if asked {
		var wait definition.Duration // where nothing is measured there is nothing else to do
		if def.Measures() {
			wait = definition.DefaultInitialWait
		}
		definition.DefaultTo(&in.Wait, wait)
	}
	return in
}

// leastExperiments is the least default number of initial experiments.
// Otherwise they are at most one in largestPart of the budget: a model chooses
// better than a design.
const (
	leastExperiments = 3
	largestPart      = 4
)

// defaultExperiments is the number of initial experiments that show a space: two for each free
// parameter, and at least one for each category of a parameter whose categories are unrelated,
// as far as a part of the budget allows (docs/results-journal.md has the measurements). They
// are no fewer than may be under way at once: nothing is chosen by a model before they are
// known, and a plate whose other wells stay empty costs as much.
//
// The categories of a parameter count only as far as all of them fit: a design that shows some
// of them tells nothing about the others, and costs the rest of the budget. A change here is a
// change of a default: campaigns that have begun keep their recorded number.
func defaultExperiments(def definition.Campaign) int {
	if !def.Measures() {
		return 0
	}
	free := len(def.Parameters)
	for _, c := range def.Constraints {
		// Each equality takes away a degree of freedom.
		if c.Equals != nil {
			free--
		}
	}
	most := max(leastExperiments, def.Budget.Experiments/(largestPart*max(1, def.Replicates)))
	n := max(leastExperiments, min(2*free, most))
	for _, p := range def.Parameters {
		if k := unlike(p); k <= most { // more are not shown anyway
			n = max(n, k)
		}
	}
	// Each composition takes as many places as it is measured.
	replicates := max(1, def.Replicates)
	return max(n, min(def.Parallel, def.Budget.Experiments)/replicates)
}

// categorical reports whether a parameter has categories.
func categorical(p definition.Parameter) bool { return len(p.Categories) > 0 }

// unlike returns how many categories of a parameter have to be measured before
// a model knows anything of them: those without descriptors, which would tell
// how similar they are.
func unlike(p definition.Parameter) (n int) {
	for _, c := range p.Categories {
		if len(c.Descriptors) == 0 {
			n++
		}
	}
	return n
}
