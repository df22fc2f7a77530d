package campaignfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: by default an initial design shows the space as far as a quarter of the budget goes: two experiments for each
// parameter that is free, one for each category of which nothing else is known; three in any case, and as many as may be under way at once. What the
// file says stays. What a design cannot show is remarked upon, with what can be done.
func TestDefaultDesignShowsTheSpace(t *testing.T) {
	number := func(name string) string { return "  - {name: " + name + ", min: 0, max: 1}\n" }
	solvents := "  - {name: solvent, categories: [THF, MeCN, dioxane, DMF, toluene]}\n"
	known := "  - name: solvent\n    categories:\n"
	for i := range 9 {
		known += fmt.Sprintf("      - {name: s%d, descriptors: {polarity: %d}}\n", i, i)
	}
	ab, four := number("a")+number("b"), number("a")+number("b")+number("c")+number("d")
	for _, c := range []struct {
		name, parameters, further string
		budget, experiments       int
		design, remark            string
	}{
		{"one number", number("a"), "", 30, 3, "sobol", ""},
		{"four numbers", four, "", 32, 8, "sobol", ""},
		{"a quarter of the budget", four, "", 23, 5, "sobol", ""},
		{"three in any case", four, "", 4, 3, "sobol", ""},
		{"each composition twice", four, "replicates: 2", 40, 5, "sobol", ""},
		{"fractions", four, "constraints: [{terms: {a: 1, b: 1, c: 1, d: 1}, equals: 1}]", 30, 6, "sobol", ""},
		{"as many as may be under way at once", ab, "parallel: 24", 60, 24, "sobol", ""},
		{"no more than there may be", ab, "parallel: 24", 10, 10, "sobol", ""},
		{"each twice on a plate", ab, "parallel: 24\nreplicates: 2", 60, 12, "sobol", ""},
		{"choices", number("a") + solvents, "", 30, 5, "covering", ""},
		{"more numbers than choices", four + solvents, "", 40, 10, "covering", ""},
		{"choices that are described", number("a") + known, "", 30, 4, "covering", ""},
		{"too small a budget", number("a") + solvents, "", 8, 3, "covering",
			"3 initial experiments cannot show the 5 choices of solvent: raise the budget, or leave choices out"},
		{"more choices than can be shown", number("a") + number("b") + solvents, "", 18, 4, "covering",
			"4 initial experiments cannot show the 5 choices of solvent: raise initial.experiments to 5"},
		{"as the file says", number("a") + solvents, "initial: {experiments: 3}", 24, 3, "covering",
			"3 initial experiments cannot show the 5 choices of solvent: raise initial.experiments to 5"},
		{"a design of the file", ab + solvents, "initial: {design: random, experiments: 7}", 24, 7, "random", ""},
		{"points of the file", number("a") + solvents,
			"initial: {points: [{a: 0, solvent: THF}, {a: 1, solvent: THF}]}", 24, 2, "points",
			"1 initial experiment cannot show the 5 choices of solvent: raise initial.experiments to 5"},
	} {
		text := fmt.Sprintf("name: n\nparameters:\n%s%s\nobjective: {name: y, goal: minimize}\n"+
			"budget: {experiments: %d}\ninstrument: {manual: {}, steps: {a: 0.01}}\n", c.parameters, c.further, c.budget)
		f, err := Parse(builtin.Registry(), "n.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if in := f.Definition.Initial; *in.Experiments != c.experiments || in.Design != c.design {
			t.Errorf("%s: %d experiments by %s, want %d by %s", c.name, *in.Experiments, in.Design, c.experiments, c.design)
		}
		var said []string
		for _, remark := range Remarks(t.Context(), builtin.Registry(), f.Definition, ".") {
			if strings.Contains(remark, "cannot show") {
				said = append(said, remark)
			}
		}
		if got := strings.Join(said, "; "); got != c.remark {
			t.Errorf("%s is remarked upon with %q, want %q", c.name, got, c.remark)
		}
	}
}

// Law: the initial design of a campaign that has begun is not part of an amendment where its file leaves it to
// campaignd, whatever campaignd would choose for it now; where the file names it, it is.
func TestABegunDesignStays(t *testing.T) {
	reg := builtin.Registry()
	const silent = "name: n\nparameters: [{name: a, min: 0, max: 1}, {name: b, min: 0, max: 1}, {name: c, categories: [p, q]}]\n" +
		"objective: {name: y, goal: minimize}\nbudget: {experiments: 8}\ninstrument: manual\n"
	begun := parsed(t, silent)
	three := 3 // as campaignd 0.1.0 chose it
	begun.Initial.Experiments, begun.Initial.Design = &three, "sobol"
	for _, c := range []struct {
		name, text string
		changes    []string
	}{
		{"the same file", silent, nil},
		{"a greater budget", strings.Replace(silent, "experiments: 8", "experiments: 40", 1), []string{"/budget/experiments"}},
		{"another design", silent + "initial: {experiments: 7, design: random}\n", []string{"/initial/design", "/initial/experiments"}},
		{"as many of another design", silent + "initial: {design: random}\n", []string{"/initial/design"}},
	} {
		f := must.Get(Parse(reg, "n.yaml", []byte(c.text)))(t)
		var paths []string
		for _, change := range Diff(begun, f.Begun(reg, f.Definition, begun)) {
			paths = append(paths, change.Path)
		}
		if fmt.Sprint(paths) != fmt.Sprint(c.changes) {
			t.Errorf("%s changes %v, want %v", c.name, paths, c.changes)
		}
	}
}

// Law: settings that came after a campaign had begun stay as they were for it, absent: its file is not an amendment as it
// is, another budget amends that alone, and what is amended is sound. Where the file names one, it is amended.
func TestLaterSettingsStayAbsent(t *testing.T) {
	reg := builtin.Registry()
	const text = "name: n\nparameters: [{name: a, min: 0, max: 1}]\nobjective: {name: y, goal: minimize}\n" +
		"budget: {experiments: 8}\ninstrument: manual\nexperts: [{name: ada, web: {}}]\npolicy: {next: lognei, trust: cobol}\n"
	whole := parsed(t, text)
	tree := plain(whole)
	for _, pointer := range []string{"/initial/wait", "/model/tails", "/model/intervals", "/policy/next/lognei/restarts"} {
		steps := strings.Split(pointer, "/")[1:]
		parent, name := steps[:len(steps)-1], steps[len(steps)-1]
		if _, has := under(tree, parent)[name]; !has {
			t.Fatalf("a campaign that begins now has no %s", pointer)
		}
		delete(under(tree, parent), name)
	}
	begun := must.Get(fromPlain(tree))(t)
	for _, c := range []struct {
		name, text string
		changes    []string
	}{
		{"the same file", text, nil},
		{"a greater budget", strings.Replace(text, "experiments: 8", "experiments: 9", 1), []string{"/budget/experiments"}},
		{"another kernel", text + "model: {kernel: matern52}\n", []string{"/model/kernel"}},
		{"a setting that came later", text + "model: {tails: keep}\n", []string{"/model/tails"}},
		{"another method", strings.Replace(text, "next: lognei", "next: logei", 1), []string{"/policy/next/logei", "/policy/next/lognei"}},
	} {
		for _, source := range []string{text, "a file of which nothing is known"} {
			f := must.Get(Parse(reg, "n.yaml", []byte(c.text)))(t)
			def := must.Get(Meant(reg, begun, source, f.Definition))(t)
			def = f.Begun(reg, def, begun)
			var paths []string
			for _, change := range Diff(begun, def) {
				paths = append(paths, change.Path)
			}
			if fmt.Sprint(paths) != fmt.Sprint(c.changes) {
				t.Errorf("%s changes %v, want %v", c.name, paths, c.changes)
			}
			if err := Sound(reg, begun, def); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	if kept := CompleteBegun(reg, begun, begun); len(Diff(begun, kept)) > 0 {
		t.Errorf("completed, it is another: %v", Diff(begun, kept))
	}
}
