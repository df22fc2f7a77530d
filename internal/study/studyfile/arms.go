package studyfile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// policies checks every policy and panel by itself, on a task that has everything, and finds the
// arms.
//
// The reference task keeps faults of a policy from being reported once for each task; faults that
// depend on the task show when its campaigns are composed.
func (r *reader) policies() {
	f := r.file
	for _, t := range f.Tasks {
		for _, name := range slices.Sorted(maps.Keys(t.policies)) {
			if !slices.ContainsFunc(f.Policies, func(p Policy) bool { return p.Name == name }) {
				r.report(t.policies[name], "the study has no policy %q that could be another on this task",
					name).Remedy =
					"choose from " + names(f.Policies, func(p Policy) string { return p.Name })
			}
		}
	}
	for i := range f.Panels {
		f.checkPanel(r, &f.Panels[i])
	}
	if slices.ContainsFunc(r.faults, func(f yamltree.Fault) bool { return f.Path.Within(yamltree.Path{"experts"}) }) {
		return // a policy without its experts would be at fault for their sake
	}
	if r.arms != nil {
		r.list(r.arm)(r.arms)
	} else {
		for i := range f.Policies {
			r.armsOf(&f.Policies[i])
		}
	}
	if len(r.faults) == 0 && len(f.Arms) == 0 {
		r.report(r.arms, "there is nothing to compare")
	}
}

// armsOf adds the arms of a policy if the file does not list any: one without experts for a policy
// that needs none, else one with each panel. So a policy that ignores experts is not run once for
// each panel. A policy needs an expert if its campaign is faulty without one, so that no list of
// such policies is needed.
func (r *reader) armsOf(p *Policy) {
	f := r.file
	alone := f.reference(&Arm{Policy: p, Panel: &f.Panels[0], node: p.node})
	if len(alone) == 0 {
		f.Arms = append(f.Arms, Arm{Name: p.Name, Policy: p, Panel: &f.Panels[0], node: p.node})
		return
	}
	if len(f.Panels) == 1 {
		r.faults = append(r.faults, alone...)
		return
	}
	for i := 1; i < len(f.Panels); i++ {
		arm := Arm{Name: p.Name + "/" + f.Panels[i].Name, Policy: p, Panel: &f.Panels[i], node: p.node}
		r.faults = append(r.faults, f.reference(&arm)...)
		f.Arms = append(f.Arms, arm)
	}
}

// arm reads an entry of the list of arms.
func (r *reader) arm(n *yamltree.Node) {
	f := r.file
	arm := Arm{node: n, Panel: &f.Panels[0]}
	var policy, expert string
	ok := r.mapping(n,
		field{"policy", func(n *yamltree.Node) {
			r.text(&policy)(n)
			if i := slices.IndexFunc(f.Policies, func(p Policy) bool { return p.Name == policy }); i >= 0 {
				arm.Policy = &f.Policies[i]
			} else if policy != "" {
				r.report(n, "there is no policy %q", policy).
					Remedy = "choose from " + names(f.Policies, func(p Policy) string { return p.Name })
			}
		}},
		field{"expert", func(n *yamltree.Node) {
			r.text(&expert)(n)
			if i := slices.IndexFunc(f.Panels, func(p Panel) bool { return p.Name == expert }); i >= 0 {
				arm.Panel = &f.Panels[i]
			} else if expert != "" {
				r.report(n, "unknown panel of experts %q", expert).
					Remedy = "choose from " + names(f.Panels, func(p Panel) string { return p.Name })
			}
		}},
		field{"name", r.text(&arm.Name)},
		field{"base", func(n *yamltree.Node) { arm.base = r.section(n) }},
	)
	if !ok {
		return
	}
	if policy == "" {
		r.report(n, "the arm names no policy").
			Remedy = "write {policy: NAME, expert: NAME}; without expert nobody is asked"
		return
	}
	if arm.Name == "" {
		arm.Name = policy
		if expert != "" && expert != NoExpert {
			arm.Name += "/" + expert
		}
	}
	if slices.ContainsFunc(f.Arms, func(a Arm) bool { return a.Name == arm.Name }) {
		r.report(n, "another arm is called %q too",
			arm.Name).Remedy = "give each arm a name of its own with name:"
	}
	f.Arms = append(f.Arms, arm)
}

// choose applies the size and finds the baseline.
//
// All sizes are checked, also unused ones, so that a fault does not wait for its first use.
func (r *reader) choose(root *yamltree.Node, options Options) {
	f := r.file
	var sizes []string
	chosen := false
	if r.sizes != nil {
		whole := *f // the whole of each size, also after one has been applied
		r.named(func(name string, n *yamltree.Node) {
			sizes = append(sizes, name)
			chosen = chosen || name == options.Size
			r.size(n, whole, name == options.Size, options)
		})(r.sizes)
	}
	if options.Size != "" && !chosen {
		r.report(root, "there is no size %q", options.Size).
			Remedy = "the file has " + strings.Join(append(sizes, "no other"), ", ")
		if len(sizes) > 0 {
			r.faults[len(r.faults)-1].Remedy = "choose from " + strings.Join(sizes, ", ")
		}
		r.faults[len(r.faults)-1].Path = yamltree.Path{"sizes"}
	}
	if f.Seeds.Count == 0 && len(r.faults) == 0 {
		r.report(root, "the study does not say how many seeds it has").
			Remedy = "write seeds: 20, or choose a size with --size"
	}
	for i := range f.Tasks {
		t := &f.Tasks[i]
		if cmp.Or(f.Experiments, t.Experiments, f.Comparisons, t.Comparisons) == 0 &&
			(t.Function != "" || t.Table != "") && len(r.faults) == 0 {
			r.report(t.node, "nobody says how many experiments %s has", t.Name).
				Remedy = "write experiments: 25 for the study, or for the task"
		}
	}
	if r.baseline != nil {
		f.Baseline = r.armNamed(r.baseline)
	}
	f.Tasks = slices.Clone(f.Tasks)
	for i := range f.Tasks {
		t := &f.Tasks[i]
		if t.Baseline = f.Baseline; t.baseline != nil {
			t.Baseline = r.armNamed(t.baseline)
		}
	}
}

// armNamed returns the index of the arm that n names, or −1. "cobol/none" stands for an arm without
// experts, too.
func (r *reader) armNamed(n *yamltree.Node) int {
	f, name := r.file, ""
	r.text(&name)(n)
	name = strings.TrimSuffix(name, "/"+NoExpert)
	i := slices.IndexFunc(f.Arms, func(a Arm) bool { return a.Name == name })
	if i < 0 && name != "" {
		r.report(n, "there is no arm %q", name).
			Remedy = "choose from " + names(f.Arms, func(a Arm) string { return a.Name })
	}
	return i
}

// size checks a size of the whole study and, where it is the chosen one,
// applies it.
//
// Seeds of the command line outrank those of the size. A budget of the size
// takes the place of the tasks' own.
func (r *reader) size(n *yamltree.Node, whole File, chosen bool, options Options) {
	f := r.file
	to := &whole
	if chosen {
		to = f
	}
	r.mapping(n,
		field{"seeds", func(n *yamltree.Node) {
			seeds := f.Seeds
			r.seeds(&seeds)(n)
			if options.Seeds.Count == 0 {
				to.Seeds = seeds
			}
		}},
		field{"experiments", r.whole(1, func(k int) {
			to.Experiments = k
			to.Tasks = slices.Clone(to.Tasks)
			for i := range to.Tasks {
				to.Tasks[i].Experiments = 0
			}
		})},
		field{"comparisons", r.whole(1, func(k int) {
			to.Comparisons = k
			to.Tasks = slices.Clone(to.Tasks)
			for i := range to.Tasks {
				to.Tasks[i].Comparisons = 0
			}
		})},
		field{"tasks", func(n *yamltree.Node) {
			to.Tasks = pick(r, n, "task", to.Tasks, func(t Task) string { return t.Name })
		}},
		field{"arms", func(n *yamltree.Node) {
			to.Arms = pick(r, n, "arm", to.Arms, func(a Arm) string { return a.Name })
		}},
	)
}

// pick returns those of all that a list names, in the order of all. The order of
// the study is kept, since colors follow it.
func pick[T any](r *reader, n *yamltree.Node, what string, all []T, name func(T) string) []T {
	wanted := map[string]bool{}
	r.list(func(n *yamltree.Node) {
		var text string
		r.text(&text)(n)
		if text != "" && !slices.ContainsFunc(all, func(t T) bool { return name(t) == text }) {
			r.report(n, "there is no %s %q", what, text).Remedy = "choose from " + names(all, name)
		}
		wanted[text] = true
	})(n)
	var kept []T
	for _, t := range all {
		if wanted[name(t)] {
			kept = append(kept, t)
		}
	}
	return kept
}

// names lists the choices, for messages.
func names[T any](all []T, name func(T) string) string {
	list := make([]string, len(all))
	for i, t := range all {
		list[i] = name(t)
	}
	return strings.Join(list, ", ")
}
