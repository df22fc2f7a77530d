package campaignfile

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/coexbo"
)

// example is the definition of a campaign file that is given as an example.
func example(t *testing.T, name string) definition.Campaign {
	t.Helper()
	f := must.Get(Read(builtin.Registry(), filepath.Join("..", "..", "..", "examples", name)))(t)
	return f.Definition
}

// faultLines are the faults of a definition, a line each.
func faultLines(def definition.Campaign) (lines []string) {
	for _, f := range Validate(builtin.Registry(), def) {
		lines = append(lines, f.Path.String()+": "+f.Message+": "+f.Remedy)
	}
	return lines
}

// Law: what a campaign cannot be run with is refused at its place, with what to
// do; at the bound itself nothing is refused.
func TestBoundsOfDefinitions(t *testing.T) {
	experts := func(n int) func(*definition.Campaign) {
		return func(def *definition.Campaign) {
			def.Experts = slices.Repeat([]definition.Expert{{Name: "ada"}}, n)
		}
	}
	target := func(x float64) func(*definition.Campaign) {
		return func(def *definition.Campaign) {
			def.Objective.Min, def.Objective.Max, def.Stop.Target = new(1.0), new(20.0), &x
		}
	}
	for _, c := range []struct {
		name, file string
		change     func(*definition.Campaign)
		fault      string
		faulty     bool
	}{
		{"so many experts", "electrolyte.yaml", experts(1001),
			"experts: 1001 experts are more than the 1000 that are possible", true},
		{"nearly so many experts", "electrolyte.yaml", experts(1000), "experts are more than", false},
		{"no comparisons", "anchors.yaml", func(def *definition.Campaign) { def.Budget.Comparisons = 0 },
			"budget: it does not say how many comparisons there may be: add comparisons", true},
		{"comparisons", "anchors.yaml", func(*definition.Campaign) {}, "budget", false},
		{"a target below", "electrolyte.yaml", target(0.9), "stop.target: the target 0.9", true},
		{"a target at the least", "electrolyte.yaml", target(1), "stop.target", false},
		{"a target between", "electrolyte.yaml", target(7), "stop.target", false},
		{"a target at the most", "electrolyte.yaml", target(20), "stop.target", false},
		{"a target above", "electrolyte.yaml", target(21), "stop.target: the target 21", true},
	} {
		def := example(t, c.file)
		c.change(&def)
		lines := faultLines(def)
		found := slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, c.fault) ||
				!c.faulty && strings.Contains(line, c.fault)
		})
		if found != c.faulty {
			t.Errorf("%s: %q is a fault: %v, want %v: %q", c.name, c.fault, found, c.faulty, lines)
		}
	}
}

// Law: an amendment that changes nothing is none, even where the rules for new
// campaigns have become stricter since.
func TestNoAmendmentIsNotRefused(t *testing.T) {
	def := example(t, "electrolyte.yaml")
	def.Budget.Experiments = 0
	if len(faultLines(def)) == 0 {
		t.Fatal("the definition is sound")
	}
	if changes, err := Amend(builtin.Registry(), def, def); err != nil || len(changes) > 0 {
		t.Errorf("the same definition: %v, %v", changes, err)
	}
}

// Law: the noise of comparisons is explained as it is: less near anchors, less
// as the paper prints it, or the same everywhere.
func TestNoiseOfUtilities(t *testing.T) {
	def := example(t, "anchors.yaml")
	if len(def.Experts[0].Anchors) == 0 {
		t.Fatal("the example has no anchors")
	}
	explained := func(want string) {
		t.Helper()
		if got := utilityText(def); !strings.Contains(got, want) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	def.Model.Utility.Paper = false
	explained("of it at the densest anchor")
	def.Model.Utility.Paper = true
	explained("less by exp(−density) near them, as printed in Sinaga et al. 2026")
	for i := range def.Experts {
		def.Experts[i].Anchors = nil
	}
	explained("everywhere, as no expert has named anchors")
}

// Law: a rule that is written as an empty mapping is answered with the rules
// that there are.
func TestEmptyRule(t *testing.T) {
	text := "name: x\nparameters: [{name: ec, min: 0, max: 1}]\npolicy: {trust: {}}" + soundRest
	_, err := Parse(builtin.Registry(), "x.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), coexbo.Name) ||
		!strings.Contains(err.Error(), "policy") {
		t.Errorf("an empty rule: %v", err)
	}
}
