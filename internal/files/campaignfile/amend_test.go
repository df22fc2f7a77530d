package campaignfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const running = `
name: running
parameters:
  - {name: ec, unit: kg/kg, min: 0.1, max: 0.6}
  - {name: dmc, unit: kg/kg, min: 0, max: 0.9}
  - {name: salt, categories: [LiPF6, LiFSI]}
  - {name: kind, categories: [a, b, c]}
  - {name: solvent, categories: [{name: THF, descriptors: {polarity: 1}}, {name: DMF, descriptors: {polarity: 2}}]}
  - {name: time, unit: h, values: [1, 2, 4]}
  - {name: rate, min: 1, max: 9}
constraints:
  - {name: fractions, terms: {ec: 1, dmc: 1}, equals: 1}
excluded:
  - {name: corrodes, where: {salt: {is: LiFSI}, ec: {min: 0.5}}}
objective: {name: conductivity, unit: mS/cm, goal: maximize}
budget: {experiments: 25}
instrument: {manual: {}, steps: {ec: 0.01, dmc: 0.01}}
experts: [{name: ada, terminal: {}}]
`

// What a running campaign allows is an amendment that lists each change;
// everything else is refused with its field.
func TestAmend(t *testing.T) {
	tests := []struct {
		name     string
		old, new string   // replaced in the file
		changes  []string // paths
		refused  string   // the field, "" if allowed
		because  string
		unread   bool // the file itself has a fault
	}{
		{name: "nothing", old: "running", new: "running"},
		{name: "more budget", old: "{experiments: 25}", new: "{experiments: 40, time: 36h}",
			changes: []string{"/budget/experiments", "/budget/time"}},
		{name: "a tighter bound", old: "min: 0.1", new: "min: 0.2", changes: []string{"/parameters/0/min"}},
		{name: "a looser bound", old: "max: 0.6", new: "max: 0.7", changes: []string{"/parameters/0/max"}},
		{name: "a list instead of bounds", old: "{name: rate, min: 1, max: 9}", new: "{name: rate, values: [1, 9]}",
			refused: `parameters[6] "rate"`, because: "stays one"},
		{name: "a further excluded region", old: "excluded:",
			new: "excluded:\n  - {where: {ec: {max: 0.15}}}",
			changes: []string{"/excluded/0/name", "/excluded/0/where/ec/max", "/excluded/0/where/ec/min",
				"/excluded/0/where/salt", "/excluded/1"}},
		{name: "an excluded region less",
			old: "excluded:\n  - {name: corrodes, where: {salt: {is: LiFSI}, ec: {min: 0.5}}}\n", new: "",
			refused: `excluded[0] "corrodes"`, because: "stays"},
		{name: "a looser region", old: "ec: {min: 0.5}", new: "ec: {min: 0.55}", refused: `excluded[0] "corrodes"`,
			because: "stays"},
		{name: "another policy", old: "budget:", new: "policy: {next: logei}\nbudget:",
			changes: []string{"/policy/next/logei", "/policy/next/lognei"}},
		{name: "choices instead of estimates", old: "budget:", new: "policy: coexbo\nbudget:",
			changes: []string{"/initial/comparisons", "/initial/estimates", "/policy/handover/choose", "/policy/handover/never",
				"/policy/next/lcb", "/policy/next/lognei", "/policy/trust/answers", "/policy/trust/coexbo"}},
		{name: "experts ignored, and so no initial estimates", old: "budget:", new: "policy: {trust: none}\nbudget:",
			changes: []string{"/initial/estimates", "/policy/trust/answers", "/policy/trust/none"}},
		{name: "a stopping rule", old: "budget:", new: "stop: {target: 12}\nbudget:", changes: []string{"/stop"}},
		{name: "another kernel", old: "budget:", new: "model: {kernel: matern52}\nbudget:",
			changes: []string{"/model/kernel"}},
		{name: "more patience with people", old: "terminal: {}", new: "terminal: {}, answer_within: 10m",
			changes: []string{"/experts/0/answer_within"}},
		{name: "more patience at first", old: "budget:", new: "initial: {wait: 1w}\nbudget:",
			changes: []string{"/initial/wait"}},
		{name: "instrument timing", old: "manual: {},", new: "manual: {}, stall_after: 1h,",
			changes: []string{"/instrument/stall_after"}},
		{name: "other steps", old: "ec: 0.01", new: "ec: 0.02", refused: "instrument",
			because: "one instrument"},
		{name: "more estimates after all", old: "budget:", new: "initial: {estimates: 30}\nbudget:", refused: "initial",
			because: "made already"},
		{name: "another seed", old: "budget:", new: "seed: 7\nbudget:", refused: "seed", because: "decision"},
		{name: "another goal", old: "maximize", new: "minimize", refused: "objective", because: "measurements"},
		{name: "another constraint", old: "equals: 1", new: "equals: 0.9", refused: `constraints[0] "fractions"`,
			because: "change bounds"},
		{name: "further categories", old: "[LiPF6, LiFSI]", new: "[LiBOB, LiPF6, LiFSI, LiTFSI]",
			changes: []string{"/parameters/2/categories/0", "/parameters/2/categories/3"}},
		{name: "a category less", old: "[LiPF6, LiFSI]", new: "[LiFSI, LiTFSI]", refused: `parameters[2] "salt"`, because: "stay as they are"},
		{name: "a category left out", old: "[a, b, c]", new: "[a, c]", refused: `parameters[3] "kind"`, because: "exclude a region"},
		{name: "categories in another order", old: "[LiPF6, LiFSI]", new: "[LiFSI, LiPF6]", refused: `parameters[2] "salt"`, because: "in their order"},
		{name: "other descriptors", old: "polarity: 2", new: "polarity: 3", refused: `parameters[4] "solvent"`, because: "stay as they are"},
		{name: "a category with descriptors", old: "polarity: 2}}]", new: "polarity: 2}}, {name: DMSO, descriptors: {polarity: 4}}]",
			changes: []string{"/parameters/4/categories/2"}},
		{name: "a category without the others' descriptors", old: "polarity: 2}}]", new: "polarity: 2}}, DMSO]", unread: true},
		{name: "further values", old: "[1, 2, 4]", new: "[1, 2, 3, 4]", changes: []string{"/parameters/5/values/2"}},
		{name: "a value less", old: "[1, 2, 4]", new: "[1, 4]", refused: `parameters[5] "time"`, because: "exclude a region"},
		{name: "another unit", old: "kg/kg", new: "g/g", refused: `parameters[0] "ec"`, because: "parameters"},
		{name: "another initial design", old: "budget:", new: "initial: {design: random}\nbudget:",
			refused: "initial", because: "already"},
		{name: "another expert", old: "name: ada", new: "name: bob", refused: `experts[0] "ada"`, because: "experts"},
		{name: "replicates", old: "budget:", new: "replicates: 2\nbudget:", refused: "replicates",
			because: "repeated"},
		{name: "another name", old: "name: running", new: "name: walking", refused: "name", because: "identity"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			from := parsed(t, running)
			file, err := Parse(builtin.Registry(), "running.yaml", []byte(strings.Replace(running, test.old, test.new, 1)))
			if test.unread {
				if err == nil {
					t.Error("it is read")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			to := file.Begun(builtin.Registry(), file.Definition, from)
			changes, err := Amend(builtin.Registry(), from, to)
			if test.refused == "" {
				if err != nil {
					t.Fatal(err)
				}
				var paths []string
				for _, c := range changes {
					paths = append(paths, c.Path)
				}
				if diff := cmp.Diff(test.changes, paths); diff != "" {
					t.Errorf("changes (-want +got):\n%s", diff)
				}
				return
			}
			var refusal *AmendError
			if !errors.As(err, &refusal) || changes != nil {
				t.Fatalf("changes %v, error %v, want an AmendError", changes, err)
			}
			if r := refusal.Refused[0]; r.Place != test.refused || !strings.Contains(r.Reason, test.because) {
				t.Errorf("refused %s because %q, want %s because of %q", r.Place, r.Reason, test.refused, test.because)
			}
		})
	}
}

// begun is what a file says of a campaign that has begun.
func begun(t *testing.T, text string, from definition.Campaign) definition.Campaign {
	t.Helper()
	file := must.Get(Parse(builtin.Registry(), "running.yaml", []byte(text)))(t)
	return file.Begun(builtin.Registry(), file.Definition, from)
}

// A refused amendment reads like this.
func TestAmendMessage(t *testing.T) {
	text := strings.NewReplacer("maximize", "minimize", "[a, b, c]", "[b, a, c]", "[1, 2, 4]", "[2, 4]", "experiments: 25",
		"experiments: 30").Replace(running)
	from := parsed(t, running)
	_, err := Amend(builtin.Registry(), from, begun(t, text, from))
	if err == nil {
		t.Fatal("it was allowed")
	}
	golden(t, "testdata/amend.txt", err.Error()+"\n")
}

// Diff names each change at the deepest field that differs.
func TestDiff(t *testing.T) {
	to := strings.NewReplacer("experiments: 25", "experiments: 30", "min: 0.1", "min: 0.12").Replace(running)
	want := []events.Change{
		{Path: "/budget/experiments", From: "25", To: "30"},
		{Path: "/parameters/0/min", From: "0.1", To: "0.12"},
	}
	from := parsed(t, running)
	if diff := cmp.Diff(want, Diff(from, begun(t, to, from))); diff != "" {
		t.Error(diff)
	}
}

// A program that turns out to need a variable can get it: nothing of that is part
// of what was measured.
func TestAmendEnvironment(t *testing.T) {
	with := func(environment string) definition.Campaign {
		return parsed(t, strings.Replace(running, "manual: {},", "process: {command: [sh]"+environment+"},", 1))
	}
	for _, change := range [][2]string{{"", ", environment: [A]"},
		{", environment: [A]", ", environment: [B, C]"}, {", environment: [A]", ""}} {
		if changes, err := Amend(builtin.Registry(), with(change[0]), with(change[1])); err != nil ||
			len(changes) == 0 {
			t.Errorf("from %q to %q: %v, %v", change[0], change[1], changes, err)
		}
	}
	if _, err := Amend(builtin.Registry(), with(""), with(", env: {A: b}")); err == nil {
		t.Error("a setting of the program was changed")
	}
}
