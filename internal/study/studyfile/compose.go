package studyfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	humansimulated "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/tasks"
)

// Definition returns the campaign of an arm on a task, complete but for its
// seed. given holds the sections of a campaign file that the task brings
// (name, parameters, objective, instrument and so on) as definition.Campaign encodes
// them; the study's own sections go over them. Faults are those of the campaign
// file that results, at the places of the study they come from; nil for none.
func (f *File) Definition(t *Task, a *Arm, given map[string]any) (definition.Campaign, []Fault) {
	given, err := plain(given)
	if err != nil {
		return definition.Campaign{}, []Fault{a.node.fault(err.Error(), "")}
	}
	def, faults := f.compose(t, a, given).read()
	if len(faults) == 0 {
		return def, t.unanchored(def)
	}
	// A policy that only compares has no instrument: whether it is one, the
	// campaign file decides.
	c := f.compose(t, a, given)
	c.withoutInstrument(f, t)
	if def, fewer := c.read(); len(fewer) == 0 {
		return def, t.unanchored(def)
	} else if len(fewer) < len(faults) {
		return def, fewer
	}
	return definition.Campaign{}, faults
}

// unanchored reports anchored experts who have no anchors on the task.
func (t *Task) unanchored(def definition.Campaign) (faults []Fault) {
	for _, e := range def.Experts {
		if t.node == nil || e.Channel.Name != humansimulated.Name || len(e.Anchors) > 0 {
			continue
		}
		if s, err := humansimulated.SettingsOf(e); err == nil && s.Anchored {
			faults = append(faults, t.node.fault(e.Name+" is anchored and has no anchors on this task", "list compositions in the task: {task: …, anchors: [{x1: 0.5, x2: 0.4}]}"))
		}
	}
	return faults
}

// plain returns sections as encoding/json reads them, numbers with all digits.
func plain(sections map[string]any) (map[string]any, error) {
	text, err := json.Marshal(sections)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out map[string]any
	return out, decoder.Decode(&out)
}

// withoutInstrument turns a campaign into one whose objective is what experts
// prefer: nothing measures, and the budget is of comparisons. Simulated experts
// know the task's function.
func (c *composition) withoutInstrument(f *File, t *Task) {
	delete(c.doc, "instrument")
	budget, _ := c.doc["budget"].(map[string]any)
	if budget = maps.Clone(budget); budget == nil {
		budget = map[string]any{}
	}
	n := cmp.Or(t.Comparisons, f.Comparisons, t.Experiments, f.Experiments)
	if n > 0 {
		budget["comparisons"] = n
	} else {
		budget["comparisons"] = budget["experiments"]
	}
	delete(budget, "experiments")
	c.doc["budget"] = budget
	experts, _ := c.doc["experts"].([]any)
	for _, e := range experts {
		expert, _ := e.(map[string]any)
		settings, given := expert["simulated"]
		simulated, isMap := settings.(map[string]any)
		if !given || settings != nil && !isMap || t.Function == "" {
			continue
		}
		simulated = maps.Clone(simulated)
		if simulated == nil {
			simulated = map[string]any{}
		}
		if simulated["task"] == nil {
			simulated["task"] = t.Function
		}
		expert["simulated"] = simulated
	}
}

// FunctionSections returns what a test problem says of a campaign on it.
func FunctionSections(name string) map[string]any {
	task, _ := tasks.Lookup(name)
	sections := map[string]any{
		"parameters": task.Parameters, "objective": task.Objective,
		"instrument": definition.Instrument{Driver: simulated.Choose(simulated.Settings{Task: name})},
	}
	if task.Constraints != nil {
		sections["constraints"] = task.Constraints
	}
	return sections
}

// composition is a campaign file in the making, and where each section is from.
type composition struct {
	file   *File
	doc    map[string]any
	origin map[string]*node
	// whole is where faults of sections that nobody wrote are reported.
	whole *node
}

func (f *File) compose(t *Task, a *Arm, given map[string]any) *composition {
	c := &composition{file: f, doc: maps.Clone(given), origin: map[string]*node{}, whole: a.node}
	if t.node != nil {
		c.whole = t.node
	}
	if _, named := c.doc["name"]; !named { // simulated noise and answers depend on it
		c.doc["name"] = "study"
		if nameForm.MatchString(t.Name) {
			c.doc["name"] = t.Name
		}
	}
	for name, n := range t.sections {
		if name != "columns" { // part of the instrument
			c.set(name, n)
		}
	}
	for _, base := range []*node{f.base, t.base, a.base} {
		if base == nil {
			continue
		}
		for _, name := range base.keys {
			c.set(name, base.fields[name])
		}
	}
	if n := max(t.Experiments, 0); n > 0 || f.Experiments > 0 {
		if n == 0 {
			n = f.Experiments
		}
		budget, _ := c.doc["budget"].(map[string]any)
		budget = maps.Clone(budget)
		if budget == nil {
			budget = map[string]any{}
		}
		budget["experiments"] = n
		c.doc["budget"] = budget
	}
	policy := a.Policy.node
	if here := t.policies[a.Policy.Name]; here != nil {
		policy = here
	}
	c.set("policy", policy)
	if len(a.Panel.node.items) > 0 {
		c.set("experts", a.Panel.node)
		c.doc["experts"] = nameExperts(c.doc["experts"])
		t.anchor(c.doc["experts"])
	}
	return c
}

// anchor gives the task's anchors to those experts who are anchored and have none:
// an expert of the study knows every task, and anchors are compositions of one.
func (t *Task) anchor(list any) {
	experts, _ := list.([]any)
	for _, e := range experts {
		expert, _ := e.(map[string]any)
		simulated, _ := expert["simulated"].(map[string]any)
		if simulated["anchored"] == true && expert["anchors"] == nil && t.anchors != nil {
			expert["anchors"] = t.anchors.plain()
		}
	}
}

// set puts a section of the study into the campaign; an empty one takes it out.
func (c *composition) set(name string, n *node) {
	value := n.plain()
	if value == nil {
		delete(c.doc, name)
		return
	}
	c.doc[name], c.origin[name] = value, n
}

// nameExperts names experts who have no name: "expert", "expert2", …
func nameExperts(list any) any {
	experts, _ := list.([]any)
	for i, e := range experts {
		if expert, ok := e.(map[string]any); ok && expert["name"] == nil {
			expert["name"] = "expert"
			if i > 0 {
				expert["name"] = fmt.Sprint("expert", i+1)
			}
		}
	}
	return list
}

// read has campaignfile read the composition.
func (c *composition) read() (definition.Campaign, []Fault) {
	restore := c.standIns()
	anchored := c.withoutAnchors()
	text, err := json.MarshalIndent(c.doc, "", " ")
	if err != nil {
		return definition.Campaign{}, []Fault{c.whole.fault(err.Error(), "")}
	}
	file, err := campaignfile.Parse(builtin.Registry(), c.file.Path, text)
	var faulty *campaignfile.Error
	if errors.As(err, &faulty) {
		var faults []Fault
		for _, fault := range faulty.Faults {
			faults = append(faults, c.locate(fault))
		}
		return definition.Campaign{}, faults
	}
	if err != nil {
		return definition.Campaign{}, []Fault{c.whole.fault(err.Error(), "")}
	}
	for _, i := range anchored {
		e := &file.Definition.Experts[i]
		s, err := humansimulated.SettingsOf(*e)
		if err != nil {
			return definition.Campaign{}, []Fault{c.whole.fault(err.Error(), "")}
		}
		s.Anchored = true
		e.Channel = humansimulated.Choose(s)
	}
	return restore(file.Definition), nil
}

// withoutAnchors takes anchored from the experts who have no anchors, and says who
// they are: a campaign file refuses them, and in a study anchors are the task's, which
// [Task.unanchored] checks.
func (c *composition) withoutAnchors() (anchored []int) {
	experts, _ := c.doc["experts"].([]any)
	for i, e := range experts {
		expert, _ := e.(map[string]any)
		simulated, _ := expert["simulated"].(map[string]any)
		if simulated["anchored"] != true || expert["anchors"] != nil {
			continue
		}
		simulated = maps.Clone(simulated)
		delete(simulated, "anchored")
		expert = maps.Clone(expert)
		expert["simulated"] = simulated
		experts[i], anchored = expert, append(anchored, i)
	}
	return anchored
}

// standIns has a person stand in for each simulated expert who knows no test
// problem, while the campaign is read: a campaign file asks which problem such an
// expert knows, and in a study it is whatever the task is (a table, the surrogate
// of a store). restore puts the simulated experts back, with their defaults.
func (c *composition) standIns() (restore func(definition.Campaign) definition.Campaign) {
	restore = func(def definition.Campaign) definition.Campaign { return def }
	experts, _ := c.doc["experts"].([]any)
	instrument, _ := c.doc["instrument"].(map[string]any)
	if instrument["simulated"] != nil || len(experts) == 0 {
		return restore
	}
	simulated := make([]*humansimulated.Settings, len(experts))
	all := true
	for i, e := range experts {
		expert, _ := e.(map[string]any)
		settings, given := expert["simulated"]
		s := new(humansimulated.Settings)
		if text, err := json.Marshal(settings); !given || err != nil || json.Unmarshal(text, &s) != nil || s != nil && s.Task != "" {
			all = all && given
			continue
		}
		if s == nil { // simulated: without a value
			s = new(humansimulated.Settings)
		}
		simulated[i] = s
		person := maps.Clone(expert)
		delete(person, "simulated")
		person["terminal"] = map[string]any{}
		experts[i] = person
	}
	var balanced *bool
	if initial, ok := c.doc["initial"].(map[string]any); ok {
		if b, ok := initial["balanced"].(bool); ok {
			balanced = &b
			initial = maps.Clone(initial)
			delete(initial, "balanced")
			c.doc["initial"] = initial
		}
	}
	if balanced == nil {
		balanced = &all
	}
	return func(def definition.Campaign) definition.Campaign {
		def.Experts = slices.Clone(def.Experts)
		for i, s := range simulated {
			if s != nil {
				e := &def.Experts[i]
				e.Channel = humansimulated.Choose(*s)
				e.AnswerWithin = 0
			}
		}
		def.Initial.Balanced = balanced
		return campaignfile.Complete(builtin.Registry(), def)
	}
}

// step matches the first step of a field's path.
var step = regexp.MustCompile(`^(?:\.?([^.\[]+)|\[(\d+)\])`)

// locate turns a fault of the campaign into one of the study.
func (c *composition) locate(f campaignfile.Fault) Fault {
	match := step.FindStringSubmatch(f.Path)
	if match == nil || c.origin[match[1]] == nil {
		out := c.whole.fault(f.Problem, f.Advice)
		out.Path = strings.Trim(out.Path+": "+f.Path, ": ")
		return out
	}
	at := c.origin[match[1]]
	rest := f.Path[len(match[0]):]
	out := at.fault(f.Problem, f.Advice)
	out.Path = at.path + rest
	for rest != "" {
		match := step.FindStringSubmatch(rest)
		if match == nil {
			break
		}
		var next *node
		if match[1] != "" {
			next = at.fields[match[1]]
		} else if i := 0; at.isList {
			fmt.Sscan(match[2], &i)
			if i < len(at.items) {
				next = at.items[i]
			}
		}
		if next == nil {
			break
		}
		at, rest = next, rest[len(match[0]):]
		out.Line, out.Column = at.line, at.column
	}
	return out
}

// referenceTask has a simulated instrument, so that every policy and every
// simulated expert is at home on it.
const referenceTask = "ackley4"

// reference returns the faults of an arm on a task that has everything: the one
// that its experts say they know, if any.
func (f *File) reference(a *Arm) []Fault {
	task := referenceTask
	for _, expert := range a.Panel.node.items {
		if simulated := expert.fields["simulated"]; simulated != nil && simulated.fields["task"] != nil {
			if name, _ := simulated.fields["task"].value.(string); slices.Contains(tasks.Names(), name) {
				task = name
			}
		}
	}
	plain := &File{Path: f.Path, Experiments: 1000}
	_, faults := plain.Definition(&Task{Name: task, Function: task}, a, FunctionSections(task))
	return faults
}

// checkPanel checks experts by themselves.
func (f *File) checkPanel(r *reader, p *Panel) {
	if len(p.node.items) == 0 {
		return
	}
	for _, expert := range p.node.items {
		if _, simulated := expert.fields["simulated"]; expert.isMapping() && !simulated {
			r.report(expert, "this expert is not simulated, and a study asks nobody").Advice = "write {simulated: {accuracy: 1}}"
			return
		}
	}
	policy := Policy{Name: "reference", node: &node{fields: map[string]*node{}}}
	if slices.ContainsFunc(p.node.items, func(expert *node) bool { return expert.fields["anchors"] != nil }) {
		policy.node = &node{value: "eubo"} // one that reads anchors
	}
	r.faults = append(r.faults, f.reference(&Arm{Policy: &policy, Panel: p, node: p.node})...)
}

// TableInstrument returns what the table instrument of a table's task reads;
// File is as it stands in the study.
func (t *Task) TableInstrument() (table.Settings, error) {
	in := table.Settings{File: t.Table}
	if n := t.sections["columns"]; n != nil {
		if err := decode(n, &in.Columns); err != nil {
			return in, fmt.Errorf("columns: %w", err)
		}
	}
	return in, nil
}

func decode(n *node, to any) error {
	text, err := json.Marshal(n.plain())
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
