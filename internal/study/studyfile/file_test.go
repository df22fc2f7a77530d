package studyfile_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/duel"
)

// Law: the studies that come with campaignd can be read, in every size.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../../examples/studies/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, path := range paths {
		for _, size := range []string{"", "quick"} {
			if _, err := studyfile.Read(path, studyfile.Options{Size: size}); err != nil {
				t.Errorf("size %q: %v", size, err)
			}
		}
	}
}

// Law: campaigns that the studies of experts and of tails compare begin with the same experiments, whatever experts say
// before.
func TestComparedCampaignsBeginAlike(t *testing.T) {
	for _, name := range []string{"worth-asking", "weights", "tails"} {
		f := must.Get(studyfile.Read("../../../examples/studies/"+name+".yaml", studyfile.Options{}))(t)
		for i := range f.Tasks {
			task := &f.Tasks[i]
			for j := range f.Arms {
				def, faults := f.Definition(task, &f.Arms[j], sections(t, task.Function))
				if in := def.Initial; len(faults) > 0 || *in.Experiments != 3 || in.Design != definition.DesignSobol {
					t.Errorf("%s, %s, %s: %d of %s, %v", name, task.Name, f.Arms[j].Name, *in.Experiments, in.Design, faults)
				}
			}
		}
	}
}

const good = `name: test
seeds: {first: 5, count: 3}
experiments: 8
tasks: [branin, {task: electrolyte, noise: 0.27}]
policies:
  vanilla: {next: lcb}
  cobol: {next: lcb, trust: cobol}
experts:
  none: []
  expert: [{simulated: {accuracy: 2}}]
  adversary: [{name: eve, simulated: {accuracy: -2}}]
sizes:
  quick: {seeds: 2, experiments: 5, tasks: [branin], arms: [vanilla, cobol/adversary]}
`

func parse(t *testing.T, text string, options studyfile.Options) *studyfile.File {
	t.Helper()
	return must.Get(studyfile.Parse("test.yaml", []byte(text), options))(t)
}

// sections are those of a campaign on a test problem.
func sections(t *testing.T, function string) *yamltree.Node {
	t.Helper()
	return must.Get(studyfile.FunctionSections(function))(t)
}

func arms(f *studyfile.File) string {
	var names []string
	for _, a := range f.Arms {
		names = append(names, a.Name)
	}
	return strings.Join(names, " ")
}

// Law: a policy that can do without experts is run without them, any other with
// each panel; the order is the file's.
func TestArms(t *testing.T) {
	f := parse(t, good, studyfile.Options{})
	if got := arms(f); got != "vanilla cobol/expert cobol/adversary" {
		t.Errorf("arms %s", got)
	}
	listed := good + `arms:
  - {policy: cobol, expert: adversary}
  - {policy: vanilla, expert: none}
  - {name: known, policy: vanilla, base: {model: {kernel: matern52}}}
baseline: vanilla/none
`
	f = parse(t, strings.Replace(listed, "arms: [vanilla, cobol/adversary]", "arms: [vanilla]", 1), studyfile.Options{})
	if got := arms(f); got != "cobol/adversary vanilla known" || f.Baseline != 1 {
		t.Errorf("arms %s, baseline %d", got, f.Baseline)
	}
	def, faults := f.Definition(&f.Tasks[0], &f.Arms[2], sections(t, "branin"))
	if len(faults) > 0 || def.Model.Kernel != "matern52" {
		t.Errorf("an arm's own model: %v, %v", def.Model, faults)
	}
}

// Law: the base of a task adds to the study's, and that of an arm to both, section by section and key by key: an arm
// that asks for labels begins with the same experiments as the others.
func TestBases(t *testing.T) {
	f := parse(t, strings.Replace(good, "noise: 0.27}", "noise: 0.27, base: {initial: {balanced: false}, parallel: 2}}", 1)+`
base: {initial: {experiments: 5, design: random}, model: {kernel: matern52}, outliers: {action: repeat, threshold: 6}}
arms:
  - {policy: vanilla}
  - {policy: cobol, expert: adversary, base: {initial: {labels: 4, design: sobol}, model: {tails: keep}, outliers: {action: flag}}}
`, studyfile.Options{})
	def, faults := f.Definition(&f.Tasks[1], &f.Arms[1], sections(t, "electrolyte"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	in := def.Initial
	if *in.Experiments != 5 || *in.Labels != 4 || in.Design != "sobol" || *in.Balanced || def.Parallel != 2 ||
		def.Model.Kernel != "matern52" || def.Model.Tails != "keep" || def.Outliers.Action != "flag" || *def.Outliers.Threshold != 6 {
		t.Errorf("%+v, %+v, %+v", in, def.Model, def.Outliers)
	}
	def, faults = f.Definition(&f.Tasks[0], &f.Arms[0], sections(t, "branin"))
	if in = def.Initial; len(faults) > 0 || *in.Experiments != 5 || in.Design != "random" || *in.Labels != 0 || def.Parallel == 2 {
		t.Errorf("what a task and an arm add shows elsewhere: %+v, %v", in, faults)
	}
}

// Law: a size takes the place of what the file says; the command line's seeds that
// of both.
func TestSize(t *testing.T) {
	f := parse(t, good, studyfile.Options{Size: "quick"})
	if f.Seeds != (studyfile.Seeds{First: 5, Count: 2}) || f.Experiments != 5 || len(f.Tasks) != 1 ||
		arms(f) != "vanilla cobol/adversary" {
		t.Errorf("seeds %v, %d experiments, %d tasks, arms %s", f.Seeds, f.Experiments, len(f.Tasks), arms(f))
	}
	f = parse(t, good, studyfile.Options{Size: "quick", Seeds: studyfile.Seeds{First: 1001, Count: 4}})
	if f.Seeds != (studyfile.Seeds{First: 1001, Count: 4}) {
		t.Errorf("seeds %v", f.Seeds)
	}
}

// Law: each size is a part of the whole study, whatever other sizes stand before it.
func TestSizesAreIndependent(t *testing.T) {
	two := good + "  other: {tasks: [electrolyte], arms: [cobol/expert]}\n"
	parse(t, two, studyfile.Options{Size: "quick"})
	if f := parse(t, two, studyfile.Options{Size: "other"}); arms(f) != "cobol/expert" || f.Tasks[0].Name != "electrolyte" {
		t.Errorf("%d tasks, arms %s", len(f.Tasks), arms(f))
	}
}

// Law: a task may have a baseline of its own, among the arms of the chosen size; others have the study's.
func TestBaselineOfATask(t *testing.T) {
	own := strings.Replace(good, "noise: 0.27}", "noise: 0.27, baseline: cobol/adversary}", 1) + "baseline: cobol/expert\n"
	f := parse(t, own, studyfile.Options{})
	if f.Tasks[0].Baseline != 1 || f.Tasks[1].Baseline != 2 || f.Baseline != 1 {
		t.Errorf("baselines %d and %d, the study's %d", f.Tasks[0].Baseline, f.Tasks[1].Baseline, f.Baseline)
	}
	own = strings.Replace(strings.Replace(own, "baseline: cobol/expert\n", "", 1), "tasks: [branin]", "tasks: [electrolyte]", 1)
	f = parse(t, own, studyfile.Options{Size: "quick"})
	if f.Tasks[0].Baseline != 1 || f.Baseline != 0 {
		t.Errorf("baseline %d, the study's %d", f.Tasks[0].Baseline, f.Baseline)
	}
}

// Law: a policy or expert is exactly a section of a campaign file, with its
// defaults and its short forms.
func TestDefinition(t *testing.T) {
	f := parse(t, good, studyfile.Options{})
	def, faults := f.Definition(&f.Tasks[0], &f.Arms[1], sections(t, "branin"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	trust, trusted := cobol.SettingsOf(def.Policy)
	if def.Name != "branin" || def.Budget.Experiments != 8 || !trusted || *trust.Zeta != 0.02 ||
		len(def.Experts) != 1 || def.Experts[0].Name != "expert" || accuracy(t, def.Experts[0]) != 2 ||
		!*def.Initial.Balanced {
		t.Errorf("%+v", def)
	}
}

// Law: an expert on a table, which is not a test problem, is simulated all the same,
// with the defaults of a simulated expert.
func TestExpertOnTable(t *testing.T) {
	f := parse(t, `name: test
seeds: 2
experiments: 8
tasks:
  - table: rows.csv
    parameters: [{name: x, min: 0, max: 1}]
    objective: {name: y, goal: maximize}
policies: {cobol: {next: lcb, trust: cobol}}
experts: {good: [{simulated:}], sloppy: [{simulated: {unsure_rate: 0.5}}]}
`, studyfile.Options{})
	given, err := yamltree.FromValue(map[string]any{"instrument": map[string]any{"table": map[string]any{"file": "rows.csv"}}})
	if err != nil {
		t.Fatal(err)
	}
	for j, unsure := range []float64{0, 0.5} {
		def, faults := f.Definition(&f.Tasks[0], &f.Arms[j], given)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		e := def.Experts[0]
		settings := must.Get(humansim.SettingsOf(e))(t)
		if e.Channel.Name != humansim.Name || *settings.Accuracy != 1 || settings.UnsureRate != unsure ||
			e.AnswerWithin != 0 || !*def.Initial.Balanced {
			t.Errorf("%+v", e)
		}
	}
}

// Law: what only people read may be called anything; a campaign has a plain name all
// the same.
func TestNames(t *testing.T) {
	text := strings.NewReplacer("[branin, {task", "[{task: branin, name: 'noiseless, β = 1'}, {task",
		"tasks: [branin], ", "").Replace(good)
	f := parse(t, text, studyfile.Options{})
	def, faults := f.Definition(&f.Tasks[0], &f.Arms[0], sections(t, "branin"))
	if f.Tasks[0].Name != "noiseless, β = 1" || def.Name != "study" || len(faults) > 0 {
		t.Errorf("task %q, campaign %q, %v", f.Tasks[0].Name, def.Name, faults)
	}
}

// Law: every fault is reported, with its line and what to do; also those in what
// the study takes from a campaign file, which campaignfile finds.
func TestFaults(t *testing.T) {
	replace := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("%q is not in the study", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"unknown key", replace("seeds:", "seed:"),
			[]string{`test.yaml:2:1: seed: unknown key "seed"`, `did you mean "seeds"?`}},
		{"unknown task", replace("[branin,", "[brannin,"),
			[]string{`test.yaml:4:9: tasks[0]: there is no task "brannin"`, "the functions are ackley4"}},
		{"key of a policy", replace("{next: lcb, trust: cobol}", "{next: {lcb: {betaa: 2}}, trust: cobol}"),
			[]string{`test.yaml:7:24: policies.cobol.next.lcb.betaa: unknown key "betaa"`,
				`did you mean "beta"?`, "1 fault; nothing was run"}},
		{"rule of a policy", replace("{next: lcb}", "{next: lbc}"),
			[]string{`test.yaml:6:19: policies.vanilla.next: there is no rule "lbc"`}},
		{"expert", replace("accuracy: -2", "acuracy: -2"),
			[]string{`test.yaml:11:39: experts.adversary[0].simulated.acuracy: unknown key "acuracy"`,
				`did you mean "accuracy"?`}},
		{"a person", replace("[{simulated: {accuracy: 2}}]", "[{name: ada, terminal: {}}]"),
			[]string{"test.yaml:10:12: experts.expert[0]: this expert is not simulated, and a study asks nobody"}},
		{"no experts", replace("experts:\n  none: []\n  expert: [{simulated: {accuracy: 2}}]\n  adversary: [{name: eve, simulated: {accuracy: -2}}]\n", ""),
			[]string{"test.yaml:7:29: policies.cobol.trust: cobol trusts experts, and there are none"}},
		{"base", good + "base: {initial: {experimens: 3}, policy: {}}\n",
			[]string{`test.yaml:14:34: base.policy: "policy" cannot stand here`}},
		{"noises of one value", replace("noise: 0.27", "noises: {conductivity: 0.27}"),
			[]string{"tasks[1].noises: electrolyte gives one value", "write noise"}},
		{"noise of several", replace("[branin,", "[{task: zdt1, noise: 1},"),
			[]string{"tasks[0].noise: zdt1 gives several quantities", "write noises"}},
		{"failures of several", replace("[branin,", "[{task: zdt1, failure_rate: 0.1},"),
			[]string{"tasks[0]: experiments of zdt1, which gives several quantities, neither fail"}},
		{"noises of rows", replace("[branin,", "[{table: x.csv, noises: {y: 1}},"),
			[]string{"tasks[0].noises: the rows of a table are answered as they are", "remove noises"}},
		{"two kinds", replace("{task: electrolyte,", "{task: electrolyte, table: x.csv,"),
			[]string{"test.yaml:4:17: tasks[1]: it names 2 things to optimize", "give exactly one of"}},
		{"wrong type", replace("experiments: 8", "experiments: many"),
			[]string{"test.yaml:3:14: experiments: it must be a whole number, and this is text"}},
		{"baseline", good + "baseline: cobol\n",
			[]string{`test.yaml:14:11: baseline: there is no arm "cobol"`,
				"choose from vanilla, cobol/expert, cobol/adversary"}},
		{"a task's baseline", replace("noise: 0.27}", "noise: 0.27, baseline: cobol}"),
			[]string{`tasks[1].baseline: there is no arm "cobol"`, "choose from vanilla, cobol/expert, cobol/adversary"}},
		{"arm", good + "arms: [{policy: cobbler}]\n",
			[]string{`test.yaml:14:17: arms[0].policy: there is no policy "cobbler"`}},
		{"size", replace("arms: [vanilla,", "arms: [vanila,"), []string{`there is no arm "vanila"`}},
		{"misspelled and missing", replace("name: test", "nam: test"),
			[]string{`test.yaml:1:1: nam: unknown key "nam"`, `did you mean "name"?`, "1 fault; nothing was run"}},
		{"strange key", replace("name: test", "name: test\nfavorite: 7"),
			[]string{"the keys here are name, description, seeds,"}},
		{"huge number", replace("noise: 0.27", "noise: 1e400"),
			[]string{"test.yaml:4:44: tasks[1].noise: 1e400 is too large a number"}},
		{"all at once", replace("experiments: 8", "experiments: .inf\ncomparisons: '3'\nbaseline: !x y"), []string{
			"test.yaml:3:14: experiments: .inf is not a finite number",
			"test.yaml:4:14: comparisons: it must be a whole number, and this is text", "remove the quotes",
			"test.yaml:5:11: baseline: tags (!x) are not used here", "3 faults; nothing was run"}},
		{"no YAML", "name: [", []string{"test.yaml:1:", "this is not YAML"}},
		{"empty", "", []string{"test.yaml: the file is empty"}},
		{"twice", good + "name: again\n", []string{`the key "name" stands here twice`, "it is on line 1 already"}},
		{"table of an expert", replace("accuracy: 2", "table: rows.csv"),
			[]string{"experts.expert[0].simulated.table: in a study experts know what the task is about"}},
		{"surrogate", replace("{task: electrolyte, noise: 0.27}", "{table: rows.csv, surrogate: {neighbors: 0}}"),
			[]string{"tasks[1].surrogate.neighbors: 0 is too small"}},
		{"no surrogate", replace("{task: electrolyte,", "{table: rows.csv, surrogate: knn,"),
			[]string{"tasks[1].surrogate: it is not a surrogate of a table", "write gp for a Gaussian process"}},
		{"noise of rows", replace("{task: electrolyte,", "{table: rows.csv,"),
			[]string{"tasks[1].noise: the rows of a table are answered as they are", "add surrogate: gp"}},
		{"same task", replace("{task: electrolyte,", "{task: branin,"),
			[]string{`another task is called "branin" too`, "with name:"}},
	} {
		f, err := studyfile.Parse("test.yaml", []byte(c.text), studyfile.Options{})
		var faulty *yamltree.Error
		if !errors.As(err, &faulty) {
			t.Errorf("%s: %v, %v", c.name, f, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in\n%v", c.name, want, err)
			}
		}
	}
	if _, err := studyfile.Parse("test.yaml", []byte(good), studyfile.Options{Size: "huge"}); err == nil ||
		!strings.Contains(err.Error(), "choose from quick") {
		t.Errorf("an unknown size: %v", err)
	}
}

// Law: a policy that finds a front can be an arm, and so can an expert who estimates some quantities; on a task of one
// value either is at fault, in its own place.
func TestArmsOfAFront(t *testing.T) {
	text := strings.NewReplacer("[branin,", "[zdt1,", "{next: lcb}", "lognehvi",
		"{next: lcb, trust: cobol}", "{trust: answers}", "[{simulated: {accuracy: 2}}]",
		"[{simulated: {accuracy: 2}, quantities: [f1]}]", "tasks: [branin]", "tasks: [electrolyte]").Replace(good)
	f := parse(t, text, studyfile.Options{})
	if got := arms(f); got != "vanilla cobol/expert cobol/adversary" {
		t.Errorf("arms %s", got)
	}
	for j := range f.Arms[:2] {
		def, faults := f.Definition(&f.Tasks[0], &f.Arms[j], sections(t, "zdt1"))
		if len(faults) > 0 || len(def.Tradeoff()) != 2 {
			t.Errorf("%s seeks %+v: %v", f.Arms[j].Name, def.Objective, faults)
		}
		_, faults = f.Definition(&f.Tasks[1], &f.Arms[j], sections(t, "electrolyte"))
		if got := f.NewError(faults).Error(); len(faults) == 0 || !strings.Contains(got, []string{"policies.vanilla", "experts.expert[0]"}[j]) {
			t.Errorf("%s on one value: %s", f.Arms[j].Name, got)
		}
	}
}

// Law: what is wrong only on one task is reported at its place in the study.
func TestFaultsOfTask(t *testing.T) {
	text := strings.Replace(good, "experiments: 8", "experiments: 2\nbase: {initial: {experimens: 3}}", 1)
	f := parse(t, text, studyfile.Options{})
	_, faults := f.Definition(&f.Tasks[0], &f.Arms[0], sections(t, "branin"))
	got := f.NewError(append(faults, faults...)).Error()
	for _, want := range []string{`test.yaml:4:18: base.initial.experimens: unknown key`,
		"tasks[0]: budget.experiments: 2 experiments are fewer than the 3 of the initial design", "2 faults"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// Law: a number is read alike however it is written, as in a campaign file.
func TestNumbers(t *testing.T) {
	f := parse(t,
		strings.NewReplacer("experiments: 8", "experiments: 1e2", "noise: 0.27", "noise: 27e-2").Replace(good),
		studyfile.Options{})
	if f.Experiments != 100 || *f.Tasks[1].Noise != 0.27 {
		t.Errorf("%d experiments, noise %g", f.Experiments, *f.Tasks[1].Noise)
	}
}

// Law: what is wrong in the columns of a table is reported at its place.
func TestColumns(t *testing.T) {
	f := parse(t,
		"name: test\nseeds: 1\nexperiments: 8\ntasks: [{table: rows.csv, columns: {x: A, y: 3}}]\npolicies: {vanilla: {next: lcb}}\n",
		studyfile.Options{})
	in, faults := f.Tasks[0].TableInstrument()
	got := f.NewError(faults).Error()
	want := "test.yaml:4:46: tasks[0].columns.y: it must be text, and this is a number\n"
	if in.Columns["x"] != "A" || !strings.HasPrefix(got, want) || !strings.Contains(got, "goes in quotes") {
		t.Errorf("columns %v\n%s\nwant %s", in.Columns, got, want)
	}
}

// Law: a task may have a policy that reads otherwise on it, and the anchors of
// anchored experts who have none; those who know better keep theirs.
func TestTaskOfItsOwn(t *testing.T) {
	text := `name: test
seeds: 1
comparisons: 12
tasks:
  - {task: branin, anchors: [{x1: 1, x2: 2}], policies: {bold: {duel: {ucb: {beta: 3}}}}}
  - {task: holder2, anchors: [{x1: 3, x2: 4}]}
policies: {bold: utility-ucb}
experts:
  theirs: [{simulated: {anchored: true}}]
  own: [{simulated: {anchored: true, task: holder2}, anchors: [{x1: 5, x2: 6}]}]
`
	f := parse(t, text, studyfile.Options{})
	for _, c := range []struct {
		task, arm  int
		beta, x1   float64
		functioned string
	}{{0, 0, 3, 1, "branin"}, {1, 0, 2, 3, "holder2"}, {1, 1, 2, 5, "holder2"}} {
		def, faults := f.Definition(&f.Tasks[c.task], &f.Arms[c.arm], sections(t, c.functioned))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		var rule duel.UCB
		must.Do(t, def.Policy.Duel.Decode(&rule))
		if x1, _ := def.Experts[0].Anchors[0]["x1"].Float(); *rule.Beta != c.beta || x1 != c.x1 ||
			len(def.Experts[0].Anchors) != 1 {
			t.Errorf("%+v: β = %g, anchors %v", c, *rule.Beta, def.Experts[0].Anchors)
		}
	}
	for want, change := range map[string][2]string{
		"has no policy \"timid\"":     {"policies: {bold: {duel", "policies: {timid: {duel"},
		"anchors[0]":                  {"x1: 3, x2: 4", "x1: 3, x3: 4"},
		"has no anchors on this task": {", anchors: [{x1: 3, x2: 4}]", ""},
		"it must be a list":           {"[{x1: 3, x2: 4}]", "{x1: 3, x2: 4}"},
	} {
		f, err := studyfile.Parse("test.yaml", []byte(strings.Replace(text, change[0], change[1], 1)),
			studyfile.Options{})
		if err == nil {
			_, faults := f.Definition(&f.Tasks[1], &f.Arms[0], sections(t, "holder2"))
			err = f.NewError(faults)
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Law: who asks does not change how noisily anchored experts compare: they have the anchors of
// the task under rules that read none, too, and wrong anchors are a fault there as well.
func TestUnreadAnchors(t *testing.T) {
	const text = `name: test
seeds: 1
comparisons: 12
tasks: [{task: branin, anchors: [{x1: 1, x2: 2}]}]
policies: {EUBO: eubo, MR-LPF: mr-lpf, random: random-duels}
experts: {ada: [{simulated: {anchored: true}}]}
`
	f := parse(t, text, studyfile.Options{})
	reads, faults := f.Definition(&f.Tasks[0], &f.Arms[0], sections(t, "branin"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for j := range f.Arms[1:] {
		def, faults := f.Definition(&f.Tasks[0], &f.Arms[1+j], sections(t, "branin"))
		if len(faults) > 0 || !reflect.DeepEqual(def.Experts, reads.Experts) || def.Policy.Duel.Name == reads.Policy.Duel.Name {
			t.Errorf("%s: %+v, %v", f.Arms[1+j].Name, def, faults)
		}
	}
	f = parse(t, strings.Replace(text, "x2: 2", "x3: 2", 1), studyfile.Options{})
	_, faults = f.Definition(&f.Tasks[0], &f.Arms[1], sections(t, "branin"))
	if got := f.NewError(faults).Error(); !strings.Contains(got, "test.yaml:4:34: tasks[0].anchors[0]") {
		t.Errorf("an anchor elsewhere: %s", got)
	}
}

func accuracy(t *testing.T, e definition.Expert) float64 {
	t.Helper()
	settings := must.Get(humansim.SettingsOf(e))(t)
	return *settings.Accuracy
}
