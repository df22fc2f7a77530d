package campaignfile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/space"
	"github.com/campaignd/campaignd/internal/tasks"
)

// Validate returns every fault in the sense of a completed definition (see
// [Complete]), in the order of its fields; none means that the campaign can be
// started. Types, names of fields and single numbers are the schema's business;
// files that the definition names are not opened.
func Validate(def events.Definition) []Fault {
	v := validator{def: def}
	v.parameters()
	v.constraints()
	v.excluded()
	v.objective()
	spatial := len(v.faults) // what follows needs a sound space
	v.steps()
	if len(v.faults) == spatial && spatial == 0 {
		v.space()
	}
	v.initial()
	v.policy()
	v.budget()
	v.stop()
	v.instrument()
	v.experts()
	return v.faults
}

type validator struct {
	def    events.Definition
	points *space.Space // without the list of candidates; nil where it is not sound
	faults []Fault
}

func (v *validator) report(p path, problem, advice string) {
	v.faults = append(v.faults, fault(p, problem, advice))
}

func finite(x *float64) bool { return x == nil || !(math.IsNaN(*x) || math.IsInf(*x, 0)) }

// parameter returns the parameter of that name, nil if there is none.
func (v *validator) parameter(name string) *events.Parameter {
	for i := range v.def.Parameters {
		if v.def.Parameters[i].Name == name {
			return &v.def.Parameters[i]
		}
	}
	return nil
}

// names returns the names of the parameters for which keep holds.
func (v *validator) names(keep func(events.Parameter) bool) []string {
	var names []string
	for _, p := range v.def.Parameters {
		if keep(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

func numeric(p events.Parameter) bool    { return p.Categories == nil }
func continuous(p events.Parameter) bool { return p.Categories == nil && p.Values == nil }
func anyKind(events.Parameter) bool      { return true }

func (v *validator) parameters() {
	first := map[string]int{}
	for i, p := range v.def.Parameters {
		here := at("parameters", i)
		if j, twice := first[p.Name]; twice {
			v.report(here.to("name"), fmt.Sprintf("parameter %d is called %q too", j+1, p.Name), "give each parameter a name of its own")
		} else {
			first[p.Name] = i
		}
		bounds, values, categories := p.Min != nil || p.Max != nil, p.Values != nil, p.Categories != nil
		switch {
		case count(bounds, values, categories) == 0:
			v.report(here, fmt.Sprintf("%q does not say what values it may have", p.Name), "give min and max, or values, or categories")
		case count(bounds, values, categories) > 1:
			v.report(here, fmt.Sprintf("%q is of more than one kind", p.Name), "keep either min and max, or values, or categories")
		case bounds:
			v.bounds(here, p)
		case values:
			v.values(here, p)
		default:
			v.categories(here, p)
		}
	}
}

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

func (v *validator) bounds(here path, p events.Parameter) {
	switch {
	case p.Min == nil:
		v.report(here, fmt.Sprintf("%q has a max and no min", p.Name), "give both")
	case p.Max == nil:
		v.report(here, fmt.Sprintf("%q has a min and no max", p.Name), "give both")
	case !finite(p.Min) || !finite(p.Max):
		v.report(here, fmt.Sprintf("the bounds of %q are not finite", p.Name), "")
	case *p.Min == *p.Max:
		v.report(here.to("max"), fmt.Sprintf("min and max of %q are both %s", p.Name, number(*p.Min)), "leave a parameter that does not vary out, or give it as values: ["+number(*p.Min)+"]")
	case *p.Min > *p.Max:
		v.report(here.to("max"), fmt.Sprintf("max %s is less than min %s", number(*p.Max), number(*p.Min)), "exchange them")
	}
}

func (v *validator) values(here path, p events.Parameter) {
	if len(p.Values) == 0 {
		v.report(here.to("values"), "the list is empty", "give the values that "+p.Name+" may have")
	}
	for i, x := range p.Values {
		if !finite(&x) {
			v.report(here.to("values", i), "the value is not finite", "")
		} else if slices.Contains(p.Values[:i], x) {
			v.report(here.to("values", i), fmt.Sprintf("%s stands here twice", number(x)), "remove one of them")
		}
	}
}

func (v *validator) categories(here path, p events.Parameter) {
	if len(p.Categories) < 2 {
		v.report(here.to("categories"), fmt.Sprintf("%q has %d categories, and needs at least two", p.Name, len(p.Categories)), "leave a parameter that does not vary out")
		return
	}
	descriptors := func(c events.CategoryDef) []string {
		var names []string
		for name := range c.Descriptors {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	want := descriptors(p.Categories[0])
	for i, c := range p.Categories {
		category := here.to("categories", i)
		if c.Name == "" {
			v.report(category, "a category has no name", "give it one")
		}
		if slices.ContainsFunc(p.Categories[:i], func(d events.CategoryDef) bool { return d.Name == c.Name }) {
			v.report(category, fmt.Sprintf("the category %q stands here twice", c.Name), "remove one of them")
		}
		if got := descriptors(c); !slices.Equal(got, want) {
			v.report(category, fmt.Sprintf("%q has the descriptors %q, and %q has %q", c.Name, got, p.Categories[0].Name, want), "give every category of the parameter the same descriptors, or none")
		}
		for _, name := range descriptors(c) {
			if x := c.Descriptors[name]; !finite(&x) {
				v.report(category.to("descriptors", name), "the descriptor is not finite", "")
			}
		}
	}
}

func (v *validator) constraints() {
	for i, c := range v.def.Constraints {
		here := at("constraints", i)
		if c.Name != "" && slices.ContainsFunc(v.def.Constraints[:i], func(d events.Constraint) bool { return d.Name == c.Name }) {
			v.report(here.to("name"), fmt.Sprintf("another constraint is called %q too", c.Name), "give each its own name, or none")
		}
		switch count(c.Equals != nil, c.AtMost != nil, c.AtLeast != nil) {
		case 0:
			v.report(here, "the sum is compared with nothing", "add equals, at_most or at_least")
		case 1:
		default:
			v.report(here, "the sum is compared more than once", "keep one of equals, at_most and at_least; write the others as constraints of their own")
		}
		if !finite(c.Equals) || !finite(c.AtMost) || !finite(c.AtLeast) {
			v.report(here, "the number that the sum is compared with is not finite", "")
		}
		if len(c.Terms) == 0 {
			v.report(here.to("terms"), "the constraint has no terms", "name parameters with their coefficients, for example terms: {ec: 1, dmc: 1}")
		}
		for _, name := range sortedKeys(c.Terms) {
			coefficient, term := c.Terms[name], here.to("terms", name)
			switch p := v.parameter(name); {
			case p == nil:
				v.report(term, fmt.Sprintf("there is no parameter %q", name), didYouMean(name, v.names(numeric)))
			case !numeric(*p):
				v.report(term, fmt.Sprintf("%q is categorical and has no number", name), "use an excluded region to forbid a category")
			case !finite(&coefficient):
				v.report(term, "the coefficient is not finite", "")
			case coefficient == 0:
				v.report(term, "the coefficient is 0 and has no effect", "remove the term")
			}
		}
	}
}

func (v *validator) excluded() {
	for i, r := range v.def.Excluded {
		here := at("excluded", i, "where")
		if len(r.Where) == 0 {
			v.report(here, "the region has no sides and would exclude everything", "name at least one parameter")
		}
		for _, name := range sortedKeys(r.Where) {
			s, side := r.Where[name], here.to(name)
			p := v.parameter(name)
			interval := s.Min != nil || s.Max != nil
			switch {
			case p == nil:
				v.report(side, fmt.Sprintf("there is no parameter %q", name), didYouMean(name, v.names(anyKind)))
			case !numeric(*p) && (interval || s.Is == ""):
				v.report(side, fmt.Sprintf("%q is categorical", name), "write is: and the name of a category")
			case !numeric(*p):
				var names []string
				for _, c := range p.Categories {
					names = append(names, c.Name)
				}
				if !slices.Contains(names, s.Is) {
					v.report(side.to("is"), fmt.Sprintf("%q has no category %q", name, s.Is), didYouMean(s.Is, names))
				}
			case s.Is != "" || !interval:
				v.report(side, fmt.Sprintf("%q is a number", name), "write min and max, or one of them")
			case !finite(s.Min) || !finite(s.Max):
				v.report(side, "the interval is not finite", "leave out the side that has no limit")
			case s.Min != nil && s.Max != nil && *s.Min > *s.Max:
				v.report(side, fmt.Sprintf("max %s is less than min %s", number(*s.Max), number(*s.Min)), "exchange them")
			}
		}
	}
}

func (v *validator) objective() {
	o := v.def.Objective
	if v.parameter(o.Name) != nil {
		v.report(at("objective", "name"), fmt.Sprintf("a parameter is called %q too", o.Name), "give the objective a name of its own")
	}
	if o.Min != nil && o.Max != nil && *o.Min >= *o.Max {
		v.report(at("objective", "max"), fmt.Sprintf("max %s is not greater than min %s", number(*o.Max), number(*o.Min)), "they bound plausible results: a measurement outside is refused")
	}
	if !finite(o.Noise) || !finite(o.Min) || !finite(o.Max) {
		v.report(at("objective"), "noise, min and max must be finite", "")
	}
	if o.Goal != events.Maximize && o.Goal != events.Minimize {
		v.report(at("objective", "goal"), fmt.Sprintf("the goal is %q", o.Goal), "write maximize or minimize")
	}
}

func (v *validator) steps() {
	in := v.def.Instrument
	if len(in.Steps) > 0 && (len(v.def.Candidates) > 0 || in.Table != nil) {
		v.report(at("instrument", "steps"), "candidates are measured as they are listed, not in steps", "remove steps")
		return
	}
	for _, name := range sortedKeys(in.Steps) {
		step, here := in.Steps[name], at("instrument", "steps", name)
		switch p := v.parameter(name); {
		case p == nil:
			v.report(here, fmt.Sprintf("there is no parameter %q", name), didYouMean(name, v.names(continuous)))
		case !continuous(*p):
			v.report(here, fmt.Sprintf("%q has its own list of values", name), "steps are for parameters with min and max")
		case !(step > 0) || !finite(&step):
			v.report(here, fmt.Sprintf("a step of %s is not possible", number(step)), "it must be more than 0")
		case p.Min != nil && p.Max != nil && step > *p.Max-*p.Min && *p.Max > *p.Min:
			v.report(here, fmt.Sprintf("the step %s is wider than the range of %q, %s to %s", withUnit(step, p.Unit), name, number(*p.Min), withUnit(*p.Max, p.Unit)), "it is in the parameter's unit")
		}
	}
}

// space checks that there is something to measure, and that given compositions
// may be measured.
func (v *validator) space() {
	free := v.def
	free.Candidates = nil
	s, err := space.New(free)
	if err != nil {
		where := at("parameters")
		switch {
		case len(v.def.Constraints) > 0:
			where = at("constraints")
		case len(v.def.Excluded) > 0:
			where = at("excluded")
		case len(v.def.Instrument.Steps) > 0:
			where = at("instrument", "steps")
		}
		var infeasible *space.InfeasibleError
		if errors.As(err, &infeasible) && infeasible.Conflict != nil {
			v.report(where, "no composition satisfies these together: "+strings.Join(infeasible.Conflict, "; "), "relax one of them")
		} else {
			v.report(where, err.Error(), "")
		}
		return
	}
	v.points = s
	for i, p := range v.def.Candidates {
		if err := s.Contains(p); err != nil {
			v.report(at("candidates", i), reason(err), "correct or remove the candidate")
		}
	}
	if len(v.def.Candidates) > 0 && v.def.Instrument.Table != nil {
		v.report(at("candidates"), "the rows of the instrument's table are the candidates", "remove candidates")
	}
}

// reason is an error of space.Contains without what every one begins with.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), space.ErrOutside.Error()+": ")
}

func (v *validator) initial() {
	in, here := v.def.Initial, at("initial")
	if in.Design == events.DesignPoints {
		if len(in.Points) == 0 {
			v.report(here.to("points"), `the design "points" has no points`, "list the compositions to begin with, or choose sobol or random")
		} else if in.Experiments != nil && *in.Experiments != len(in.Points) {
			v.report(here.to("experiments"), fmt.Sprintf("%d experiments are asked for, and %d points are given", *in.Experiments, len(in.Points)), "remove experiments")
		}
	} else if len(in.Points) > 0 {
		v.report(here.to("points"), fmt.Sprintf("the design %q chooses its own points", in.Design), "remove points, or write design: points")
	}
	if v.points != nil {
		for i, p := range in.Points {
			if err := v.points.Contains(p); err != nil {
				v.report(here.to("points", i), reason(err), "correct or remove the point")
			}
		}
	}
	if in.Labels == nil || *in.Labels == 0 {
		return
	}
	switch {
	case len(v.def.Experts) == 0:
		v.report(here.to("labels"), "there is no expert who could give labels", "add experts, or remove labels")
	case in.Balanced != nil && *in.Balanced:
		for _, e := range v.def.Experts {
			if e.Simulated == nil {
				v.report(here.to("balanced"), fmt.Sprintf("%s is a person: nobody knows beforehand what a person accepts", e.Name), "balanced is for simulated experts; remove it")
			}
		}
	}
}

func (v *validator) policy() {
	p := v.def.Policy
	n := p.Next
	if count(n.LCB != nil, n.LogEI != nil, n.Thompson != nil, n.Sobol != nil, n.Random != nil) != 1 {
		v.report(at("policy", "next"), "it must name exactly one rule", "choose one of lcb, logei, thompson, sobol, random")
	}
	if count(p.Trust.None != nil, p.Trust.COBOL != nil) != 1 {
		v.report(at("policy", "trust"), "it must name exactly one rule", "choose one of none, cobol")
	}
	if count(p.Handover.Never != nil, p.Handover.Width != nil) != 1 {
		v.report(at("policy", "handover"), "it must name exactly one rule", "choose one of never, width")
	}
	if p.Trust.COBOL != nil {
		if len(v.def.Experts) == 0 {
			v.report(at("policy", "trust"), "cobol trusts experts, and there are none", "add experts, or write trust: none")
		}
		if n.Sobol != nil || n.Random != nil {
			v.report(at("policy", "trust"), "cobol bends the choice of a model, and next has none", "choose next: lcb, logei or thompson, or trust: none")
		}
	}
	if p.Handover.Width != nil && p.Trust.COBOL == nil {
		v.report(at("policy", "handover"), "width asks where an expert's belief is wide, and trust reads no belief", "write trust: cobol, or handover: never")
	}
}

func (v *validator) budget() {
	b, in := v.def.Budget, v.def.Initial
	if in.Experiments != nil && *in.Experiments*v.def.Replicates > b.Experiments {
		p := at("budget", "experiments")
		text := fmt.Sprintf("%d experiments are fewer than the %d of the initial design", b.Experiments, *in.Experiments*v.def.Replicates)
		if v.def.Replicates > 1 {
			text += fmt.Sprintf(" (%d compositions, %d times each)", *in.Experiments, v.def.Replicates)
		}
		v.report(p, text, "raise the budget, or lower initial.experiments")
	}
	if b.Labels != nil && in.Labels != nil && *in.Labels*len(v.def.Experts) > *b.Labels {
		v.report(at("budget", "labels"), fmt.Sprintf("%d labels are fewer than the %d initial ones", *b.Labels, *in.Labels*len(v.def.Experts)), "raise the budget, or lower initial.labels")
	}
}

func (v *validator) stop() {
	s, o := v.def.Stop, v.def.Objective
	if s.Improvement != nil && s.Window == 0 {
		v.report(at("stop", "improvement"), "without a window the rule is off", "add window, the number of experiments without improvement")
	}
	if s.Target != nil && (o.Min != nil && *s.Target < *o.Min || o.Max != nil && *s.Target > *o.Max) {
		v.report(at("stop", "target"), fmt.Sprintf("the target %s lies outside the plausible results of the objective", withUnit(*s.Target, o.Unit)), "correct it, or objective.min and objective.max")
	}
}

func (v *validator) instrument() {
	in, here := v.def.Instrument, at("instrument")
	switch count(in.Simulated != nil, in.Table != nil, in.Manual != nil, in.Process != nil) {
	case 0:
		v.report(here, "it does not say what measures", "choose one of simulated, table, manual, process")
	case 1:
	default:
		v.report(here, "it names more than one instrument", "keep one of simulated, table, manual, process")
	}
	if in.GiveUpAfter > 0 && in.StallAfter > in.GiveUpAfter {
		v.report(here.to("give_up_after"), "it is shorter than stall_after", "a campaign first says that the instrument is silent, and gives up later")
	}
	if s := in.Simulated; s != nil && count(in.Table != nil, in.Manual != nil, in.Process != nil) == 0 {
		v.task(here.to("simulated", "task"), s.Task)
		if task, ok := tasks.Lookup(s.Task); ok {
			o := v.def.Objective
			if o.Name != task.Objective.Name {
				v.report(at("objective", "name"), fmt.Sprintf("the task %s measures %q, not %q", s.Task, task.Objective.Name, o.Name), "write name: "+task.Objective.Name)
			}
			if o.Unit != task.Objective.Unit {
				v.report(at("objective", "unit"), fmt.Sprintf("the task %s answers in %q, not in %q", s.Task, task.Objective.Unit, o.Unit), "write unit: "+task.Objective.Unit)
			}
			if o.Goal != task.Objective.Goal {
				v.report(at("objective", "goal"), fmt.Sprintf("the task %s is there to be %sd", s.Task, task.Objective.Goal), "write goal: "+task.Objective.Goal)
			}
		}
	}
	if t := in.Table; t != nil {
		known := append(v.names(anyKind), v.def.Objective.Name)
		for _, name := range sortedKeys(t.Columns) {
			if !slices.Contains(known, name) {
				v.report(here.to("table", "columns", name), fmt.Sprintf("%q is neither a parameter nor the objective", name), didYouMean(name, known))
			}
		}
	}
	if p := in.Process; p != nil && (len(p.Command) == 0 || p.Command[0] == "") {
		v.report(here.to("process", "command"), "there is no program to start", "give the program and its arguments as a list")
	}
}

// task checks that the campaign's parameters are those of a test problem, and
// its space within the problem's.
func (v *validator) task(here path, name string) {
	task, ok := tasks.Lookup(name)
	if !ok {
		if name != "" {
			v.report(here, fmt.Sprintf("there is no task %q", name), didYouMean(name, tasks.Names()))
		}
		return
	}
	var expected []string
	for _, p := range task.Parameters {
		expected = append(expected, p.Name)
	}
	for i, p := range v.def.Parameters {
		k := slices.Index(expected, p.Name)
		if k < 0 {
			v.report(at("parameters", i, "name"), fmt.Sprintf("the task %s has no parameter %q", name, p.Name), didYouMean(p.Name, expected))
			continue
		}
		want := task.Parameters[k]
		if !numeric(p) {
			v.report(at("parameters", i), fmt.Sprintf("in the task %s %q is a number", name, p.Name), "give it min and max, or values")
			continue
		}
		if p.Unit != want.Unit {
			v.report(at("parameters", i, "unit"), fmt.Sprintf("the task %s has %s in %q, not in %q", name, p.Name, want.Unit, p.Unit), unitAdvice(want.Unit))
		}
		outside := func(x *float64) bool { return x != nil && (*x < *want.Min || *x > *want.Max) }
		advice := fmt.Sprintf("the task %s has %s from %s to %s", name, p.Name, number(*want.Min), withUnit(*want.Max, want.Unit))
		if outside(p.Min) {
			v.report(at("parameters", i, "min"), fmt.Sprintf("%s is outside the task", number(*p.Min)), advice)
		}
		if outside(p.Max) {
			v.report(at("parameters", i, "max"), fmt.Sprintf("%s is outside the task", number(*p.Max)), advice)
		}
		for j, x := range p.Values {
			if outside(&x) {
				v.report(at("parameters", i, "values", j), fmt.Sprintf("%s is outside the task", number(x)), advice)
			}
		}
	}
	missing := slices.DeleteFunc(expected, func(name string) bool { return v.parameter(name) != nil })
	if len(missing) > 0 {
		v.report(at("parameters"), fmt.Sprintf("the task %s also needs %s", name, strings.Join(missing, ", ")), "add what is missing")
	}
	if len(v.faults) > 0 || v.points == nil {
		return
	}
	// Constraints of the task must follow from those of the campaign.
	sample, err := v.points.Sample(16, 1)
	if err != nil {
		v.report(at("constraints"), err.Error(), "")
		return
	}
	for _, p := range sample {
		if _, err := task.Value(p); err != nil {
			_, why, _ := strings.Cut(err.Error(), tasks.ErrPoint.Error()+": ")
			v.report(at("constraints"), fmt.Sprintf("the task %s has no value for every composition of this space: %s", name, why), "constrain the campaign as the task is: "+taskConstraints(task))
			return
		}
	}
}

// taskConstraints writes a task's constraints as a campaign file would.
func taskConstraints(task tasks.Task) string {
	var list []string
	for _, c := range task.Constraints {
		var terms []string
		for _, p := range task.Parameters {
			if coefficient, ok := c.Terms[p.Name]; ok {
				terms = append(terms, p.Name+": "+number(coefficient))
			}
		}
		sum := "{terms: {" + strings.Join(terms, ", ") + "}"
		for _, side := range []struct {
			name  string
			value *float64
		}{{"equals", c.Equals}, {"at_most", c.AtMost}, {"at_least", c.AtLeast}} {
			if side.value != nil {
				sum += ", " + side.name + ": " + number(*side.value)
			}
		}
		list = append(list, sum+"}")
	}
	return "constraints: [" + strings.Join(list, ", ") + "]"
}

func unitAdvice(unit string) string {
	if unit == "" {
		return "remove unit"
	}
	return "write unit: " + unit
}

func (v *validator) experts() {
	for i, e := range v.def.Experts {
		here := at("experts", i)
		if slices.ContainsFunc(v.def.Experts[:i], func(f events.Expert) bool { return f.Name == e.Name }) {
			v.report(here.to("name"), fmt.Sprintf("another expert is called %q too", e.Name), "give each expert a name of their own")
		}
		switch count(e.Simulated != nil, e.Terminal != nil) {
		case 0:
			v.report(here, fmt.Sprintf("it does not say how %s is asked", e.Name), "add terminal: {} for a person, or simulated: {}")
		case 2:
			v.report(here, fmt.Sprintf("%s is both simulated and a person", e.Name), "keep one of simulated and terminal")
		}
		s := e.Simulated
		if s == nil {
			continue
		}
		if s.Accuracy != nil && !finite(s.Accuracy) {
			v.report(here.to("simulated", "accuracy"), "it is not finite", "")
		}
		switch sim := v.def.Instrument.Simulated; {
		case s.Task == "":
			v.report(here.to("simulated"), fmt.Sprintf("%s does not know what the instrument measures", e.Name), "name the task that a simulated expert knows, for example task: electrolyte")
		case sim == nil || sim.Task != s.Task:
			v.task(here.to("simulated", "task"), s.Task)
		}
	}
}

func withUnit(x float64, unit string) string {
	if unit == "" {
		return number(x)
	}
	return number(x) + " " + unit
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
