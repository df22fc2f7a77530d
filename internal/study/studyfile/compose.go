package studyfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	humansimulated "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// Definition returns the campaign of an arm on a task, complete but for its
// seed. given is a mapping of the sections of a campaign file that the task
// provides (name, parameters, objective, instrument and so on), as
// [yamltree.FromValue] makes them from parts of a [definition.Campaign]; the
// study's own sections override them. Faults are those of the resulting
// campaign file, at the places of the study that they come from; nil for none.
//
// The campaign is composed as a campaign file and read by package campaignfile,
// so that it means exactly what such a file means, with the same defaults and
// faults.
func (f *File) Definition(t *Task, a *Arm, given *yamltree.Node) (definition.Campaign, []yamltree.Fault) {
	c := f.compose(t, a, given)
	def, faults := c.read()
	if len(faults) == 0 {
		return def, t.unanchored(def)
	}
	// A policy that only compares has no instrument; reading the campaign file
	// shows whether it is one.
	c.withoutInstrument(f, t)
	compared, fewer := c.read()
	if len(fewer) == 0 {
		return compared, t.unanchored(compared)
	}
	if unread, others, ok := c.withUnreadAnchors(); ok {
		return unread, others
	}
	if len(fewer) < len(faults) {
		faults = fewer
	}
	return definition.Campaign{}, faults
}

// withUnreadAnchors reads a campaign whose policy reads no anchors, such as those of a finite set
// and random ones. A campaign file refuses anchors there; in a study they also determine how
// noisily anchored experts compare, for any policy. ok is false for other campaigns.
func (c *composition) withUnreadAnchors() (def definition.Campaign, faults []yamltree.Fault, ok bool) {
	plain := *c
	plain.eachExpert(func(_ int, expert *yamltree.Node) *yamltree.Node {
		if simulated := expert.Field("simulated"); isAnchored(expert) && given(expert, "anchors") {
			ok = true
			return expert.Without("anchors").With("simulated", simulated.Without("anchored"))
		}
		return expert
	})
	if !ok {
		return def, nil, false
	}
	def, faults = plain.read()
	if len(faults) > 0 || def.Measures() || def.Model.Utility != (definition.Utility{}) {
		return definition.Campaign{}, nil, false
	}
	reading := *c
	reading.set("policy", yamltree.Text(anchorReader))
	anchored, faults := reading.read()
	def.Experts = anchored.Experts
	return def, faults, true
}

// anchorReader is a policy that reads anchors.
const anchorReader = "eubo"

// unanchored reports anchored experts who have no anchors on the task.
func (t *Task) unanchored(def definition.Campaign) (faults []yamltree.Fault) {
	for _, e := range def.Experts {
		if t.node == nil || e.Channel.Name != humansimulated.Name || len(e.Anchors) > 0 {
			continue
		}
		if s, err := humansimulated.SettingsOf(e); err == nil && s.Anchored {
			faults = append(faults, t.node.Fault(e.Name+" is anchored and has no anchors on this task",
				"list compositions in the task: {task: …, anchors: [{x1: 0.5, x2: 0.4}]}"))
		}
	}
	return faults
}

// FunctionSections returns the sections of a campaign file that a test problem
// determines, with one objective or with several. A study puts an instrument of its
// own in the place of that of several.
func FunctionSections(name string) (*yamltree.Node, error) {
	type sections struct {
		Parameters            []definition.Parameter         `json:"parameters"`
		Constraints           []definition.Constraint        `json:"constraints,omitempty"`
		Quantities            []definition.QuantityDef       `json:"quantities,omitempty"`
		Objective             definition.Objective           `json:"objective"`
		ConstraintsOnOutcomes []definition.OutcomeConstraint `json:"constraints_on_outcomes,omitempty"`
		Instrument            definition.Instrument          `json:"instrument"`
	}
	if task, ok := tasks.Lookup(name); ok {
		return yamltree.FromValue(sections{
			Parameters:  task.Parameters,
			Constraints: task.Constraints,
			Objective:   task.Objective,
			Instrument:  definition.Instrument{Driver: simulated.Choose(simulated.Settings{Task: name})},
		})
	}
	problem, _ := tasks.LookupTradeoff(name)
	s := sections{
		Parameters: problem.Parameters,
		Quantities: QuantitiesOf(problem, nil),
		Instrument: definition.Instrument{Driver: process.Choose(process.Settings{Command: []string{name}})},
	}
	first := problem.Objectives[0]
	s.Objective = definition.Objective{Name: first.Name, Goal: first.Goal} // as of any trade-off
	for _, o := range problem.Objectives {
		s.Objective.Tradeoff = append(s.Objective.Tradeoff,
			definition.Aim{Name: o.Name, Goal: o.Goal, Worst: &o.Worst})
	}
	for _, name := range problem.Slacks {
		s.ConstraintsOnOutcomes = append(s.ConstraintsOnOutcomes,
			definition.OutcomeConstraint{Require: KeepsSlack(name)})
	}
	return yamltree.FromValue(s)
}

// QuantitiesOf returns the quantities of a test problem with several objectives, these and its
// slacks, with the known noises.
func QuantitiesOf(problem tasks.Tradeoff, noises map[string]float64) []definition.QuantityDef {
	var list []definition.QuantityDef
	add := func(q definition.QuantityDef) {
		if sd, ok := noises[q.Name]; ok {
			q.Noise = &sd
		}
		list = append(list, q)
	}
	for _, o := range problem.Objectives {
		add(definition.QuantityDef{Name: o.Name, Unit: o.Unit})
	}
	for _, name := range problem.Slacks {
		add(definition.QuantityDef{Name: name})
	}
	return list
}

// KeepsSlack is the bound on a slack of a test problem, as a campaign file has it.
func KeepsSlack(name string) string { return name + " >= 0" }

// composition is a campaign file that is being composed. Its methods replace
// doc, which is never changed itself.
type composition struct {
	registry registry.Registry
	// doc has the sections. Each remembers where in the study it was written,
	// if it was.
	doc *yamltree.Node
	// whole is where faults of sections that the study does not contain are
	// reported.
	whole *yamltree.Node
}

// compose puts the sections together, later ones over earlier ones: the task's own parts, the
// task's sections, the bases of study, task and arm, the budget, the policy and the panel.
func (f *File) compose(t *Task, a *Arm, given *yamltree.Node) *composition {
	c := &composition{registry: f.Registry, doc: given, whole: a.node}
	if t.node != nil {
		c.whole = t.node
	}
	if c.doc.Field("name") == nil { // simulated noise and answers depend on it
		name := "study"
		if nameForm.MatchString(t.Name) {
			name = t.Name
		}
		c.doc = c.doc.With("name", yamltree.Text(name))
	}
	for _, name := range slices.Sorted(maps.Keys(t.sections)) {
		if name != "columns" { // part of the instrument
			c.set(name, t.sections[name])
		}
	}
	bases := merge(merge(f.base, t.base, 1), a.base, 1)
	for _, name := range bases.Keys() {
		c.set(name, bases.Field(name))
	}
	if n := cmp.Or(t.Experiments, f.Experiments); n > 0 {
		c.doc = c.doc.With("budget", c.doc.Field("budget").With("experiments", yamltree.Int(n)))
	}
	policy := a.Policy.node
	if here := t.policies[a.Policy.Name]; here != nil {
		policy = here
	}
	c.set("policy", policy)
	if len(a.Panel.node.Items) > 0 {
		c.set("experts", a.Panel.node)
		c.eachExpert(nameExpert)
		c.eachExpert(t.anchor)
	}
	return c
}

// merge returns a mapping with the additions of another one, which wins on common keys; so do
// mappings in them, as many levels deep. Other keys stay: an arm that asks for labels begins with
// the experiments that the study's base names.
func merge(n, more *yamltree.Node, levels int) *yamltree.Node {
	for _, key := range more.Keys() {
		value := more.Field(key)
		if before := n.Field(key); levels > 0 && before.IsMapping() && value.IsMapping() {
			value = merge(before, value, levels-1)
		}
		n = n.With(key, value)
	}
	return n
}

// set puts a section of the study into the campaign; an empty one removes it.
func (c *composition) set(name string, n *yamltree.Node) {
	if n.IsNull() {
		c.doc = c.doc.Without(name)
		return
	}
	c.doc = c.doc.With(name, n)
}

// eachExpert replaces each expert that is a mapping by the result of change.
func (c *composition) eachExpert(change func(i int, expert *yamltree.Node) *yamltree.Node) {
	experts := c.doc.Field("experts")
	if !experts.IsList() {
		return
	}
	items := slices.Clone(experts.Items)
	for i, expert := range items {
		if expert.IsMapping() {
			items[i] = change(i, expert)
		}
	}
	c.doc = c.doc.With("experts", experts.WithItems(items))
}

// nameExpert names an expert without a name: "expert", "expert2", …
func nameExpert(i int, expert *yamltree.Node) *yamltree.Node {
	if given(expert, "name") {
		return expert
	}
	name := "expert"
	if i > 0 {
		name = fmt.Sprint("expert", i+1)
	}
	return expert.With("name", yamltree.Text(name))
}

// given reports whether a mapping has a key with a value.
func given(n *yamltree.Node, key string) bool {
	value := n.Field(key)
	return value != nil && !value.IsNull()
}

// anchor gives the task's anchors to an anchored expert without any: an expert of the study knows
// every task, and anchors are compositions of one.
func (t *Task) anchor(_ int, expert *yamltree.Node) *yamltree.Node {
	if t.anchors == nil || !withoutAnchors(expert) {
		return expert
	}
	return expert.With("anchors", t.anchors)
}

// withoutAnchors reports whether an expert is anchored and has no anchors.
func withoutAnchors(expert *yamltree.Node) bool {
	return isAnchored(expert) && !given(expert, "anchors")
}

// isAnchored reports whether an expert's judgment is noisy away from their anchors.
func isAnchored(expert *yamltree.Node) bool {
	anchored := expert.Field("simulated").Field("anchored")
	return anchored != nil && anchored.Value == true
}

// withoutInstrument turns a campaign into one whose objective is the experts' preference: nothing
// measures, and the budget is of comparisons. Simulated experts know the task's function.
func (c *composition) withoutInstrument(f *File, t *Task) {
	budget := c.doc.Field("budget")
	if n := cmp.Or(t.Comparisons, f.Comparisons, t.Experiments, f.Experiments); n > 0 {
		budget = budget.With("comparisons", yamltree.Int(n))
	} else if experiments := budget.Field("experiments"); experiments != nil {
		budget = budget.With("comparisons", experiments)
	}
	c.doc = c.doc.Without("instrument")
	if budget != nil {
		c.doc = c.doc.With("budget", budget.Without("experiments"))
	}
	if t.Function == "" {
		return
	}
	c.eachExpert(func(_ int, expert *yamltree.Node) *yamltree.Node {
		simulated := expert.Field("simulated")
		if simulated == nil || !simulated.IsNull() && !simulated.IsMapping() || given(simulated, "task") {
			return expert
		}
		return expert.With("simulated", simulated.With("task", yamltree.Text(t.Function)))
	})
}

// read reads the composition by package campaignfile.
//
// Parts that a campaign file refuses and a study allows are hidden before and restored after:
// experts who know the task instead of a test problem, and anchored ones whose anchors the task
// gives.
func (c *composition) read() (definition.Campaign, []yamltree.Fault) {
	changed := *c
	stood := changed.standIns()
	anchored := changed.hideAnchored()
	def, faults := campaignfile.Define(c.registry, changed.doc)
	if len(faults) > 0 {
		for i, f := range faults {
			faults[i] = c.located(f)
		}
		return definition.Campaign{}, faults
	}
	for _, i := range anchored {
		e := &def.Experts[i]
		s, err := humansimulated.SettingsOf(*e)
		if err != nil {
			return definition.Campaign{}, []yamltree.Fault{c.whole.Fault(err.Error(), "")}
		}
		s.Anchored = true
		e.Channel = humansimulated.Choose(s)
	}
	return stood.restored(def), nil
}

// located moves a fault outside the study's own text to the whole arm or task.
func (c *composition) located(f yamltree.Fault) yamltree.Fault {
	if f.Line > 0 {
		return f
	}
	if len(f.Path) > 0 {
		f.Message = f.Path.String() + ": " + f.Message
	}
	return c.whole.Fault(f.Message, f.Remedy)
}

// hideAnchored removes anchored from the experts who have no anchors, and
// returns who they are: a campaign file refuses them, but in a study the
// anchors belong to the task, and [Task.unanchored] checks them.
func (c *composition) hideAnchored() (hidden []int) {
	c.eachExpert(func(i int, expert *yamltree.Node) *yamltree.Node {
		if !withoutAnchors(expert) {
			return expert
		}
		hidden = append(hidden, i)
		return expert.With("simulated", expert.Field("simulated").Without("anchored"))
	})
	return hidden
}

// standIns are the simulated experts that are replaced by a person while the
// campaign is read.
type standIns struct {
	registry  registry.Registry
	simulated map[int]*humansimulated.Settings // by their place in the list
	balanced  *bool
}

// standIns replaces each simulated expert who knows no test problem by a person
// while the campaign is read: a campaign file requires a problem for such an
// expert, and in a study the expert knows the task (a table, the surrogate of a
// store).
func (c *composition) standIns() standIns {
	experts := c.doc.Field("experts")
	if given(c.doc.Field("instrument"), "simulated") || !experts.IsList() || len(experts.Items) == 0 {
		return standIns{}
	}
	s := standIns{registry: c.registry, simulated: map[int]*humansimulated.Settings{}}
	all := true // are simulated
	c.eachExpert(func(i int, expert *yamltree.Node) *yamltree.Node {
		settings := expert.Field("simulated")
		if settings == nil {
			all = false
			return expert
		}
		knows := new(humansimulated.Settings)
		if !settings.IsNull() && len(settings.Decode(knows)) > 0 || knows.Task != "" {
			return expert
		}
		s.simulated[i] = knows
		return expert.Without("simulated").With("terminal", yamltree.Mapping())
	})
	s.balanced = &all
	initial := c.doc.Field("initial")
	if balanced := initial.Field("balanced"); balanced != nil {
		if b, ok := balanced.Value.(bool); ok {
			s.balanced = &b
			c.doc = c.doc.With("initial", initial.Without("balanced"))
		}
	}
	return s
}

// restored puts the simulated experts back, with their defaults. Completing once
// more gives them the defaults that they would have had.
func (s standIns) restored(def definition.Campaign) definition.Campaign {
	if s.simulated == nil {
		return def
	}
	def.Experts = slices.Clone(def.Experts)
	for i, simulated := range s.simulated {
		e := &def.Experts[i]
		e.Channel = humansimulated.Choose(*simulated)
		e.AnswerWithin = 0
	}
	def.Initial.Balanced = s.balanced
	return campaignfile.Complete(s.registry, def)
}

// Tasks that every policy and every simulated expert can run on: referenceTask has one objective,
// referenceFront several.
const (
	referenceTask  = "ackley4"
	referenceFront = "branin-currin"
)

// reference returns the faults of an arm on a task that has everything: the
// task that its experts say they know, if any, else referenceTask. A policy that
// finds a front has none on referenceFront.
func (f *File) reference(a *Arm) []yamltree.Fault {
	task := referenceTask
	for _, expert := range a.Panel.node.Items {
		if named := expert.Field("simulated").Field("task"); named != nil {
			if name, _ := named.Value.(string); slices.Contains(tasks.Names(), name) {
				task = name
			}
		}
	}
	faults := f.onFunction(a, task)
	if len(faults) > 0 && len(f.onFunction(a, referenceFront)) == 0 {
		return nil
	}
	return faults
}

// onFunction returns the faults of an arm on a test problem.
func (f *File) onFunction(a *Arm, name string) []yamltree.Fault {
	given, err := FunctionSections(name)
	if err != nil {
		return []yamltree.Fault{a.node.Fault(err.Error(), "")}
	}
	plain := &File{Registry: f.Registry, Path: f.Path, Experiments: 1000}
	arm := *a
	arm.Panel = &Panel{Name: a.Panel.Name, node: withoutQuantities(a.Panel.node)}
	_, faults := plain.Definition(&Task{Name: name, Function: name}, &arm, given)
	return faults
}

// withoutQuantities removes the list of estimated quantities from experts: the quantities belong to
// a task, and are checked with it.
func withoutQuantities(experts *yamltree.Node) *yamltree.Node {
	items := slices.Clone(experts.Items)
	for i, expert := range items {
		if expert.IsMapping() {
			items[i] = expert.Without("quantities")
		}
	}
	return experts.WithItems(items)
}

// checkPanel checks a panel without a policy. A fault of an expert is reported
// once here, and not with every arm.
func (f *File) checkPanel(r *reader, p *Panel) {
	if len(p.node.Items) == 0 {
		return
	}
	for _, expert := range p.node.Items {
		if expert.IsMapping() && expert.Field("simulated") == nil {
			r.report(expert, "this expert is not simulated, and a study asks nobody").
				Remedy = "write {simulated: {accuracy: 1}}"
			return
		}
		if table := expert.Field("simulated").Field("table"); table != nil {
			r.report(table, "in a study experts know what the task is about").Remedy = "remove table"
			return
		}
	}
	policy := Policy{Name: "reference", node: yamltree.Mapping()}
	if slices.ContainsFunc(p.node.Items,
		func(expert *yamltree.Node) bool { return expert.Field("anchors") != nil }) {
		policy.node = yamltree.Text(anchorReader)
	}
	r.faults = append(r.faults, f.reference(&Arm{Policy: &policy, Panel: p, node: p.node})...)
}

// TableInstrument returns the settings of the table instrument of a table's
// task; File is as the study writes it.
func (t *Task) TableInstrument() (table.Settings, []yamltree.Fault) {
	in := table.Settings{File: t.Table}
	var faults []yamltree.Fault
	if n := t.sections["columns"]; n != nil {
		faults = n.Decode(&in.Columns)
	}
	return in, faults
}
