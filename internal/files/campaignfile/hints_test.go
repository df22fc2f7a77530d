package campaignfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// What people write in place of what a campaign file knows is answered with what to write.
func TestHints(t *testing.T) {
	const parameters = "parameters: [{name: ec, min: 0, max: 1}, {name: dmc, min: 0, max: 1}, {name: salt, categories: [LiPF6, LiTFSI]}]"
	for text, want := range map[string]string{
		parameters + "\nexcluded: [{where: {salt: LiTFSI}}]":                                                      "write salt: {is: LiTFSI}",
		parameters + "\nexcluded: [{where: {salt: [LiTFSI]}}]":                                                    "a region holds one category: write salt: {is: …}",
		parameters + "\nexcluded: [{where: {ec: 0.5}}]":                                                           "write ec: {min: 0.5, max: 0.5}",
		parameters + "\nconstraints: [ec + dmc <= 0.12]":                                                          "write {terms: {ec: 1, dmc: 1}, at_most: 0.12}",
		parameters + "\nconstraints:\n  - 2 ec - 0.5*dmc >= -1e-2":                                                "write {terms: {ec: 2, dmc: -0.5}, at_least: -1e-2}",
		parameters + "\nconstraints: [ec = dmc]":                                                                  "write {terms: {ec: 1, dmc: 1}, at_most: 0.8} for ec + dmc ≤ 0.8",
		parameters + "\nconstraints: [ec + dmc = 1]":                                                              "write {terms: {ec: 1, dmc: 1}, equals: 1}",
		parameters + "\nconstraints: {ec: 1}":                                                                     "write each constraint after a dash",
		parameters + "\ninitial: {design: 3}":                                                                     "written experiments: 3",
		parameters + "\ninitial: {points: 5}":                                                                     "written experiments: 5",
		parameters + "\ninitial: {n: 5}":                                                                          "written experiments: 3",
		parameters + "\nobjectives: [{name: a}]":                                                                  "a campaign has one objective",
		"parameters: [{name: a, min: 0,15, max: 1}]":                                                              "write a number with a decimal point, as in 0.15",
		"parameters:\n  - name: a\n    min: 0,15\n    max: 1":                                                     "write 0.15, with a point",
		"parameters: [{name: a, type: integer, min: 0, max: 5}]":                                                  "values: [1, 2, 3]",
		"parameters: [{name: a, scale: log, min: 0, max: 5}]":                                                     "vary the exponent",
		"parameters: [{name: a, step: 0.1, min: 0, max: 5}]":                                                      "instrument: {steps: {NAME: 0.1}}",
		"parameters: [{name: 7, min: 0, max: 1}, {name: a, min: 0, max: 1}]\nexcluded: [{where: {zz: {min: 0}}}]": "choose from a",
	} {
		_, err := Parse(builtin.Registry(), "hint.yaml", []byte("name: hints\n"+text+soundRest))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%q is not in:\n%v", text, want, err)
		}
		if err != nil && (strings.Contains(err.Error(), ", \n") || strings.Contains(err.Error(), "choose from ,")) {
			t.Errorf("an empty name is proposed:\n%v", err)
		}
	}
}

// Law: a mapping in the place of something else than constraints is not taken
// for a constraint.
func TestNoHintOfConstraints(t *testing.T) {
	text := "name: hints\ndescription: {ec: 1}\nparameters: [{name: ec, min: 0, max: 1}]" + soundRest
	_, err := Parse(builtin.Registry(), "hint.yaml", []byte(text))
	if err == nil || strings.Contains(err.Error(), "after a dash") ||
		!strings.Contains(err.Error(), "description") {
		t.Errorf("a mapping for a description: %v", err)
	}
}

// What is possible and probably not meant is remarked on, and nothing else.
func TestRemarksOnTheWorld(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "there.py"), nil, 0o600))
	low, high, noise, small := 0.0, 100.0, 150.0, 1.5
	process := func(command ...string) definition.Campaign {
		return definition.Campaign{Instrument: definition.Instrument{Driver: process.Choose(process.Settings{Command: command})}}
	}
	for _, c := range []struct {
		def  definition.Campaign
		want string
	}{
		{process("sh", "there.py"), ""},
		{process("sh", "gone.py"), "there is no file gone.py in " + dir},
		{process("sh", "-c", "echo x.y"), ""},
		{process("./gone"), "there is no program ./gone here"},
		{process("no-such-program-anywhere"), "there is no program no-such-program-anywhere here"},
		{definition.Campaign{Objective: definition.Objective{Min: &low, Max: &high, Noise: &noise}},
			"a standard deviation of 150 drowns results between 0 and 100"},
		{definition.Campaign{Objective: definition.Objective{Min: &low, Max: &high, Noise: &small}}, ""},
	} {
		got := strings.Join(Remarks(t.Context(), builtin.Registry(), c.def, dir), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.def.Instrument.Driver, got, c.want)
		}
	}
}
