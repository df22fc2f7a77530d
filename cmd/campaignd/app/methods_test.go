package app

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/duel"
)

// program runs the program in this process and returns what it printed.
func program(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = Run(t.Context(), Builtin(), args, strings.NewReader(""), &out, &err)
	return out.String(), err.String(), code
}

// Every example is a campaign that can be run, and has an explanation in words
// without a gap.
func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatalf("only %d examples, %v", len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == "lab.yaml" {
			continue
		}
		stdout, stderr, code := program(t, "validate", file)
		if code != exitOK || !strings.Contains(stdout, "is valid.") {
			t.Errorf("%s: exit code %d\n%s", file, code, stderr)
		}
		for _, gap := range []string{"?\n", "%!", "<nil>", " 0 experiments"} {
			if strings.Contains(stdout, gap) {
				t.Errorf("%s is explained with %q:\n%s", file, gap, stdout)
			}
		}
	}
}

// The table of methods in docs/tour.md is what the program knows of.
func TestTourListsTheMethods(t *testing.T) {
	tour := must.Get(os.ReadFile("../../../docs/tour.md"))(t)
	table, _, _ := program(t, "methods", "--markdown")
	if !strings.Contains(string(tour), "<!-- campaignd methods --markdown -->\n"+table+"<!-- end -->") {
		t.Errorf("docs/tour.md does not hold the table that `campaignd methods --markdown` prints:\n%s", table)
	}
}

// What `methods NAME` writes out can be put into a campaign file, and means there
// what the name means.
func TestMethodsCanBeWrittenOut(t *testing.T) {
	const campaign = `name: x
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
objective: {name: value, goal: minimize}
experts: [{name: ada, simulated: {task: branin}}]
`
	const traded = `name: x
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
quantities: [{name: value}, {name: other}]
objective: {tradeoff: [{minimize: value}, {minimize: other}]}
`
	const preferred = `name: x
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
quantities: [{name: value}, {name: other}]
objective: {preference: {over: [value, other]}}
experts: [{name: ada, simulated: {utility: [{quantity: value, from: 6, to: 12}]}}]
`
	for _, m := range view.Methods(Builtin()) {
		stdout, _, code := program(t, "methods", m.Name)
		_, written, ok := strings.Cut(stdout, "\npolicy:")
		if code != exitOK || !ok {
			t.Errorf("%s: %s", m.Name, stdout)
			continue
		}
		ends := "budget: {experiments: 9}\ninstrument: {simulated: branin}\n"
		if !m.Instrument {
			ends = "budget: {comparisons: 9}\n"
		}
		campaign := campaign
		const several = "budget: {experiments: 9}\ninstrument: {process: [./pump]}\n"
		switch method, _ := Builtin().Methods.Method(m.Name); {
		case method.Tradeoff:
			campaign, ends = traded, several
		case method.Preference:
			campaign, ends = preferred, several
		}
		long, err := campaignfile.Parse(Builtin(), "long.yaml", []byte(campaign+ends+"policy:"+written))
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		short, err := campaignfile.Parse(Builtin(), "short.yaml", []byte(campaign+ends+"policy: "+m.Name+"\n"))
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if !reflect.DeepEqual(long.Definition.Policy, short.Definition.Policy) {
			t.Errorf("%s written out means\n%+v, and by its name\n%+v", m.Name, long.Definition.Policy, short.Definition.Policy)
		}
	}
	for _, m := range Builtin().Methods.Methods() { // the list is shared: nobody may complete it in place
		if d := m.Policy.Duel; d.Name == duel.MRLPFName && d != (duel.MRLPF{}.Choice()) {
			t.Errorf("the list itself holds %s", d.Settings())
		}
	}
	if _, _, code := program(t, "methods", "magic"); code != exitInput {
		t.Errorf("an unknown method ends with %d", code)
	}
}
