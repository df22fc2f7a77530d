package campaignfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/tasks"
)

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
			v.report(here, fmt.Sprintf("a step of %s is not possible", format.Setting(step)), "it must be more than 0")
		case p.Min != nil && p.Max != nil && step > *p.Max-*p.Min && *p.Max > *p.Min:
			v.report(here, fmt.Sprintf("the step %s is wider than the range of %q, %s to %s", format.SettingIn(step, p.Unit), name, format.Setting(*p.Min), format.SettingIn(*p.Max, p.Unit)), "it is in the parameter's unit")
		}
	}
}

func (v *validator) instrument() {
	in, here := v.def.Instrument, at("instrument")
	if v.def.Policy.Duel.Set() {
		if count(in.Simulated != nil, in.Table != nil, in.Manual != nil, in.Process != nil) > 0 {
			v.report(here, "nothing is measured where experts' comparisons are the objective", "remove the instrument, or choose a policy that measures, such as lcb or cobol")
		}
		return
	}
	switch count(in.Simulated != nil, in.Table != nil, in.Manual != nil, in.Process != nil) {
	case 0:
		v.report(here, "it does not say what measures", "choose one of simulated, table, manual, process; or a policy that learns from comparisons alone, such as mr-lpf")
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
	if p := in.Process; p != nil {
		v.process(here.to("process"), *p)
	}
}

func (v *validator) process(here path, p events.ProcessInstrument) {
	if len(p.Command) == 0 || p.Command[0] == "" {
		v.report(here.to("command"), "there is no program to start", "give the program and its arguments as a list")
	}
	for i, name := range p.Environment {
		switch _, set := p.Env[name]; {
		case strings.Contains(name, "="):
			v.report(here.to("environment", i), "it sets a variable, and what a campaign file says is recorded", "write only the name; a value that is no secret belongs under env")
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' }):
			v.report(here.to("environment", i), fmt.Sprintf("%q is not the name of a variable", name), "name each variable that the program is to get of campaignd's environment")
		case set:
			v.report(here.to("environment", i), fmt.Sprintf("%s is set under env as well", name), "keep one of the two")
		}
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
		advice := fmt.Sprintf("the task %s has %s from %s to %s", name, p.Name, format.Setting(*want.Min), format.SettingIn(*want.Max, want.Unit))
		if outside(p.Min) {
			v.report(at("parameters", i, "min"), fmt.Sprintf("%s is outside the task", format.Setting(*p.Min)), advice)
		}
		if outside(p.Max) {
			v.report(at("parameters", i, "max"), fmt.Sprintf("%s is outside the task", format.Setting(*p.Max)), advice)
		}
		for j, x := range p.Values {
			if outside(&x) {
				v.report(at("parameters", i, "values", j), fmt.Sprintf("%s is outside the task", format.Setting(x)), advice)
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
				terms = append(terms, p.Name+": "+format.Setting(coefficient))
			}
		}
		sum := "{terms: {" + strings.Join(terms, ", ") + "}"
		for _, side := range []struct {
			name  string
			value *float64
		}{{"equals", c.Equals}, {"at_most", c.AtMost}, {"at_least", c.AtLeast}} {
			if side.value != nil {
				sum += ", " + side.name + ": " + format.Setting(*side.value)
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
		v.anchors(here, e)
		v.statedBelief(here, e)
		s := e.Simulated
		if s == nil {
			continue
		}
		if s.Accuracy != nil && !finite(s.Accuracy) {
			v.report(here.to("simulated", "accuracy"), "it is not finite", "")
		}
		switch {
		case s.Anchored && s.ChoiceNoise != nil:
			v.report(here.to("simulated", "anchored"), "choice_noise already says how noisy comparisons are", "keep one of anchored and choice_noise")
		case s.Anchored && len(e.Anchors) == 0:
			v.report(here.to("simulated", "anchored"), e.Name+" has no anchors to be reliable at", "add anchors, or remove anchored")
		}
		switch sim := v.def.Instrument.Simulated; {
		case s.Task == "" && v.def.Policy.Duel.Set():
			v.report(here.to("simulated"), fmt.Sprintf("it does not say what %s judges by", e.Name), "name the task that a simulated expert knows, for example task: electrolyte")
		case s.Task == "":
			v.report(here.to("simulated"), fmt.Sprintf("%s does not know what the instrument measures", e.Name), "name the task that a simulated expert knows, for example task: electrolyte")
		case sim == nil || sim.Task != s.Task:
			v.task(here.to("simulated", "task"), s.Task)
		}
	}
}

// anchors checks the compositions that an expert trusts their judgement at.
func (v *validator) anchors(here path, e events.Expert) {
	if len(e.Anchors) > 0 && !usesUtility(v.def.Policy) {
		v.report(here.to("anchors"), "no rule of this policy reads anchors", "choose policy: raeubo, rahbo, anpei or another that models a utility, or remove anchors")
	}
	for i, p := range e.Anchors {
		if v.points == nil {
			return
		}
		if _, err := v.points.Encode(p); err != nil {
			v.report(here.to("anchors", i), reason(err), "correct or remove the anchor")
		}
	}
}

// statedBelief checks the normal distribution that an expert states.
func (v *validator) statedBelief(here path, e events.Expert) {
	if e.Belief == nil {
		return
	}
	here = here.to("belief")
	if b := v.def.Policy.Trust.Belief(); b == nil || b.Feedback != events.FeedbackGaussian {
		v.report(here, "no rule of this policy reads a stated belief", "write feedback: gaussian under policy.trust, or remove the belief")
	}
	if v.points != nil {
		if _, err := v.points.Encode(e.Belief.Mean); err != nil {
			v.report(here.to("mean"), reason(err), "correct it")
		}
	}
	for _, name := range sortedKeys(e.Belief.SD) {
		sd, p := e.Belief.SD[name], v.parameter(name)
		switch {
		case p == nil:
			v.report(here.to("sd", name), fmt.Sprintf("there is no parameter %q", name), didYouMean(name, v.names(numeric)))
		case !numeric(*p):
			v.report(here.to("sd", name), fmt.Sprintf("%q is categorical", name), "remove it")
		case !(sd > 0) || !finite(&sd):
			v.report(here.to("sd", name), "a standard deviation is a positive number", "correct it")
		}
	}
	for _, p := range v.def.Parameters {
		if _, ok := e.Belief.SD[p.Name]; numeric(p) && !ok {
			v.report(here.to("sd"), fmt.Sprintf("it says nothing of %q", p.Name), "give the standard deviation of each numeric parameter")
		}
	}
}
