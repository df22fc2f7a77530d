package whatif_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// several is a campaign on the simulated electrolyte with two quantities and a price, which has been run.
const several = `
name: bench
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
quantities:
  - {name: conductivity, unit: mS/cm, min: 0, max: 30}
  - {name: viscosity, unit: mPa·s, scale: log}
  - {name: price, unit: EUR/kg, from: 4.5*lipf6 + 1.5*ec + 2 - dmc}
objective: %s
initial: {experiments: 4}
budget: {experiments: 9}
instrument: {simulated: {task: electrolyte, noise: 0.14, noises: {viscosity: 0.05}}}
%s
`

var tradeoff = fmt.Sprintf(several, "{tradeoff: [{maximize: conductivity, worst: 6}, {minimize: viscosity}, {minimize: price, worst: 7}]}",
	"constraints_on_outcomes: [viscosity <= 5]")

func now(t *testing.T, in whatif.Input) *engine.Core {
	t.Helper()
	return must.Get(engine.Load(t.Context(), in.Registry, in.Log, in.Campaign))(t)
}

// Law: where nothing is otherwise, said with an empty question or with the same bounds and worst values again, a
// campaign of several quantities decides the same, bit for bit, measures the same, and both courses are judged alike.
func TestNothingOtherwiseOfSeveral(t *testing.T) {
	for source, again := range map[string]whatif.Sought{
		tradeoff: {Require: []string{"viscosity<=5.0"}, Worst: map[string]float64{"price": 7}},
		fmt.Sprintf(several, "{maximize: conductivity}", "constraints_on_outcomes: [viscosity <= 3, price <= 6]"):                      {Require: []string{"price <= 6"}, Maximize: "conductivity"},
		fmt.Sprintf(several, "{maximize: conductivity/sqrt(viscosity)}", ""):                                                           {Maximize: "conductivity / sqrt(viscosity)"},
		fmt.Sprintf(several, "{desirability: [{quantity: conductivity, from: 6, to: 12}, {quantity: viscosity, from: 6, to: 2}]}", ""): {Weight: map[string]float64{"viscosity": 1}},
	} {
		in := run(t, source)
		before := in.Log.Last()
		for n := 1; n <= now(t, in).State().Decisions; n += 3 {
			for i, sought := range []whatif.Sought{{}, again, {}} {
				most := 50 - 24*i // which is 2 at last
				a := work(t, in, whatif.Question{Decision: events.DecisionID(n), Sought: sought, Experiments: most})
				a.Real = a.Real[:min(most, len(a.Real))]
				real, imagined := *a.Decided, *a.Suggested
				imagined.At, imagined.Build = real.At, real.Build
				if !reflect.DeepEqual(real, imagined) {
					t.Errorf("%+v from d%d: %+v became %+v", sought, n, real, imagined)
				}
				if got, want := content(a.Imagined), content(a.Real); !slices.Equal(got, want) || a.Changes != nil {
					t.Errorf("from d%d: imagined\n%v\nand really\n%v, otherwise %v", n, got, want, a.Changes)
				}
				if len(a.Judged) != 1 {
					t.Fatalf("it is judged %d times", len(a.Judged))
				}
				j := a.Judged[0]
				really, _ := json.Marshal(bare(j.Really))
				other, _ := json.Marshal(bare(j.Imagined))
				if string(really) != string(other) || j.Difference != nil && *j.Difference != 0 || j.Really.Found == nil {
					t.Errorf("from d%d: judged\n%s and\n%s", n, really, other)
				}
			}
		}
		if in.Log.Last() != before {
			t.Errorf("the log grew from %d to %d events", before, in.Log.Last())
		}
	}
}

// bare is a course without where its results come from.
func bare(c whatif.Course) whatif.Course {
	if c.Found != nil {
		found := *c.Found
		found.From, found.Was, c.Found = "", "", &found
	}
	return c
}

// Law: what a whole course has come to is what the campaign's status says of it: the hypervolume and the compromise of
// its front, beyond the same worst values; the best that keeps the bounds.
func TestJudgedAsByStatus(t *testing.T) {
	in := run(t, tradeoff)
	summary := must.Get(now(t, in).Summarize(t.Context()))(t)
	a := work(t, in, whatif.Question{Decision: "d4", Method: "sobol", Experiments: 50})
	j, front := a.Judged[0], summary.Tradeoff
	if *j.Really.Hypervolume != front.Hypervolume || j.Really.Found.ID != front.Compromise.Experiment {
		t.Errorf("really %v with %s, and the status says %v with %s", *j.Really.Hypervolume, j.Really.Found.ID, front.Hypervolume, front.Compromise.Experiment)
	}
	for k, q := range j.Reference {
		if o := front.Objectives[k]; q.Value != o.Reference || q.Name != o.Quantity || q.Unit != o.Unit {
			t.Errorf("of interest from %+v on, and the status says %+v", q, o)
		}
	}
	if want := *j.Imagined.Hypervolume / *j.Really.Hypervolume - 1; math.Abs(*j.Difference-want) > 1e-12 {
		t.Errorf("the difference is %v, want %v", *j.Difference, want)
	}
	// A course that does not go by worst values covers as much beyond those that were inferred
	// for the real one as where they are given.
	in = run(t, strings.NewReplacer(", worst: 6", "", ", worst: 7", "", "constraints_on_outcomes: [viscosity <= 5]", "").Replace(tradeoff))
	inferred := work(t, in, whatif.Question{Decision: "d4", Method: "sobol", Experiments: 50}).Judged[0]
	worst := make(map[string]float64)
	for _, q := range inferred.Reference {
		worst[q.Name] = q.Value
	}
	a = work(t, in, whatif.Question{Decision: "d4", Method: "sobol", Experiments: 50, Sought: whatif.Sought{Worst: worst}})
	near := func(a, b *float64) bool { return math.Abs(*a-*b) <= 1e-9**a }
	if given := a.Judged[1]; !near(given.Really.Hypervolume, inferred.Really.Hypervolume) || !near(given.Imagined.Hypervolume, inferred.Imagined.Hypervolume) {
		t.Errorf("beyond %v: given %v and %v, inferred %v and %v", worst, *given.Really.Hypervolume, *given.Imagined.Hypervolume,
			*inferred.Really.Hypervolume, *inferred.Imagined.Hypervolume)
	}
	in = run(t, fmt.Sprintf(several, "{maximize: conductivity}", "constraints_on_outcomes: [viscosity <= 2]"))
	best := now(t, in).Counts().BestMeasured
	a = work(t, in, whatif.Question{Decision: "d3", Method: "sobol", Experiments: 50})
	if found := a.Judged[0].Really.Found; found.ID != best.Experiment || *found.Value != best.Value || found.Keeps != best.Keeps {
		t.Errorf("the best is %+v, and the status says %+v", found, best)
	}
}

// Law: a looser bound never lowers how many compositions keep it, nor what the front covers; each quantity is given of
// each experiment that was measured, with its unit.
func TestLooserBound(t *testing.T) {
	in := run(t, tradeoff)
	kept, covered := -1, -1.0
	for _, bound := range []float64{1.5, 2, 3, 4, 6, 9} {
		a := work(t, in, whatif.Question{Decision: "d5", Experiments: 2, Sought: whatif.Sought{
			Require: []string{fmt.Sprintf("viscosity <= %g", bound)}, Worst: map[string]float64{"viscosity": 20}}})
		if len(a.Judged) != 2 || a.Judged[1].By != whatif.ByImagined || len(a.Changed.ConstraintsOnOutcomes) != 1 {
			t.Fatalf("%g is judged %+v", bound, a.Judged)
		}
		j := a.Judged[1].Really
		if *j.Keep < kept || *j.Hypervolume < covered {
			t.Errorf("below %g are %d, which cover %v; below less %d, %v", bound, *j.Keep, *j.Hypervolume, kept, covered)
		}
		kept, covered = *j.Keep, *j.Hypervolume
		for _, x := range slices.Concat(a.Before, a.Real, a.Imagined) {
			var names []string
			for _, q := range x.Quantities {
				names = append(names, q.Name+" "+q.Unit)
				within := q.Value <= bound && x.KeepsImagined == "yes" || q.Value > bound && x.KeepsImagined == "no"
				if q.Name == "viscosity" && !within {
					t.Errorf("%s with %v below %g: %s", x.ID, q.Value, bound, x.KeepsImagined)
				}
			}
			if got := strings.Join(names, ", "); got != "conductivity mS/cm, viscosity mPa·s, price EUR/kg" {
				t.Errorf("%s has %s", x.ID, got)
			}
		}
	}
	if kept <= 0 {
		t.Error("no bound is kept")
	}
}

// Law: what an amendment would refuse is refused, whole, with place and reason; nothing else is.
func TestRefusedAsByAmend(t *testing.T) {
	in := run(t, tradeoff)
	for _, change := range [][2]string{
		{"name: bench", "name: other"}, {"unit: EUR/kg", "unit: USD/kg"}, {"noise: 0.14", "noise: 0.2"},
		{"experiments: 4", "experiments: 5"}, {"worst: 6", "worst: -6"}, {"viscosity <= 5", "viscosity <= 4"},
	} {
		file, err := campaignfile.Parse(in.Registry, "changed.yaml", []byte(strings.Replace(tradeoff, change[0], change[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		_, want := campaignfile.Amend(in.Registry, *now(t, in).State().Definition, file.Definition)
		_, got := whatif.Work(t.Context(), in, whatif.Question{Decision: "d3", Experiments: 1, Sought: whatif.Sought{File: file}})
		var amend, imagine *campaignfile.AmendError
		if errors.As(want, &amend) != errors.As(got, &imagine) || amend != nil && !reflect.DeepEqual(amend.Refused, imagine.Refused) {
			t.Errorf("%s: an amendment %v, a what-if %v", change[1], want, got)
		}
	}
	for _, c := range []struct {
		sought whatif.Sought
		places string
	}{
		{whatif.Sought{Require: []string{"viscosity < 4"}}, "constraints_on_outcomes"},
		{whatif.Sought{Require: []string{"colour <= 4"}}, "constraints_on_outcomes[1].require"},
		{whatif.Sought{Require: []string{"viscosity >= 9"}, WithoutConstraints: []string{"viscosity <= 4"}}, "constraints_on_outcomes"},
		{whatif.Sought{Maximize: "colour", Worst: map[string]float64{"colour": 1}, Weight: map[string]float64{"price": 1}},
			"objective objective.tradeoff objective.desirability"},
		{whatif.Sought{Maximize: "price", Minimize: "viscosity"}, "objective"},
	} {
		_, err := whatif.Work(t.Context(), in, whatif.Question{Decision: "d3", Experiments: 1, Sought: c.sought})
		var imagine *campaignfile.AmendError
		if !errors.As(err, &imagine) || problem.CodeOf(err) != problem.NotPossible || strings.Contains(err.Error(), "changed") {
			t.Errorf("%+v: %v", c.sought, err)
			continue
		}
		var places []string
		for _, r := range imagine.Refused {
			places = append(places, r.Place)
			if r.Reason == "" {
				t.Errorf("%+v: no reason at %s", c.sought, r.Place)
			}
		}
		if got := strings.Join(places, " "); got != c.places {
			t.Errorf("%+v is refused at %s: %v", c.sought, got, err)
		}
	}
}

// Law: another objective brings what follows from it, as another file does: the rule that seeks it, and what models
// are of. Flags and a file with the same in it are imagined alike.
func TestAsByFile(t *testing.T) {
	formula := fmt.Sprintf(several, "{maximize: conductivity/sqrt(viscosity)}", "")
	for _, c := range []struct {
		source string
		sought whatif.Sought
		change [2]string
	}{
		{fmt.Sprintf(several, "{maximize: conductivity}", ""), whatif.Sought{Require: []string{"viscosity <= 4"}},
			[2]string{"initial:", "constraints_on_outcomes: [viscosity <= 4]\ninitial:"}},
		{formula, whatif.Sought{Maximize: "conductivity"}, [2]string{"conductivity/sqrt(viscosity)", "conductivity"}},
		{tradeoff, whatif.Sought{Require: []string{"viscosity <= 4"}}, [2]string{"viscosity <= 5", "viscosity <= 4"}},
		{tradeoff, whatif.Sought{WithoutConstraints: []string{"viscosity <= 5"}}, [2]string{"constraints_on_outcomes: [viscosity <= 5]", ""}},
		{tradeoff, whatif.Sought{Worst: map[string]float64{"conductivity": 8}}, [2]string{"worst: 6", "worst: 8"}},
		{tradeoff, whatif.Sought{Maximize: "conductivity / sqrt(viscosity)"}, [2]string{
			"tradeoff: [{maximize: conductivity, worst: 6}, {minimize: viscosity}, {minimize: price, worst: 7}]", "maximize: conductivity/sqrt(viscosity)"}},
	} {
		file, err := campaignfile.Parse(builtin.Registry(), "changed.yaml", []byte(strings.Replace(c.source, c.change[0], c.change[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		in := run(t, c.source)
		a := work(t, in, whatif.Question{Decision: "d5", Experiments: 2, Sought: c.sought})
		b := work(t, in, whatif.Question{Decision: "d5", Experiments: 2, Sought: whatif.Sought{File: file}})
		if changes := campaignfile.Diff(*a.Changed, *b.Changed); changes != nil || a.Changes == nil {
			t.Errorf("%+v is another file: %v", c.sought, changes)
		}
		if one, two := fmt.Sprint(content(a.Imagined)), fmt.Sprint(content(b.Imagined)); one != two {
			t.Errorf("%+v goes on\n%s\nand by a file\n%s", c.sought, one, two)
		}
	}
}

// Law: whatever is sought instead, the model of each quantity stands in for that quantity.
func TestEachByItsModel(t *testing.T) {
	in := run(t, fmt.Sprintf(several, "{maximize: conductivity}", "experts: [{name: bob, simulated: {accuracy: 2}}]"))
	in = byHand(t, in)
	v := must.Get(now(t, in).View(t.Context()))(t)
	a := work(t, in, whatif.Question{Decision: "d3", Method: "sobol", Sought: whatif.Sought{Minimize: "viscosity"}})
	for _, x := range a.Imagined {
		if x.From != whatif.FromModel {
			continue
		}
		conductivity := must.Get(v.Objective().Predict(x.Parameters))(t)
		viscosity := must.Get(v.Models.Of("viscosity").Predict(x.Parameters))(t)
		if x.Quantities[0].Value != conductivity.Mean || x.Quantities[1].Value != viscosity.Mean || *x.Value != viscosity.Mean {
			t.Errorf("%s: %+v, and the models say %v and %v", x.ID, x.Quantities, conductivity.Mean, viscosity.Mean)
		}
	}
}

// Law: constraints that were edited in a form are, once asked for, those of the campaign.
func TestConstrained(t *testing.T) {
	in := run(t, fmt.Sprintf(several, "{maximize: conductivity}", `constraints_on_outcomes: [viscosity <= 5, {require: price <= 6, confidence: 0.95}]`))
	s := now(t, in).State()
	for _, lines := range [][]string{
		{}, {"viscosity <= 5", "price <= 6"}, {"viscosity <= 4", "price<=6"}, {"price <= 7"}, {"viscosity >= 1", "viscosity <= 5"},
		{"conductivity / viscosity >= 2"},
	} {
		var w whatif.Sought
		w.Require, w.WithoutConstraints = whatif.Constrained(s.Definition, lines)
		changed := must.Get(whatif.Change(builtin.Registry(), s, whatif.Question{Sought: w}))(t)
		var got, want []string
		for _, c := range changed.ConstraintsOnOutcomes {
			got = append(got, strings.ReplaceAll(c.Require, " ", ""))
			if strings.HasPrefix(c.Require, "price") && *c.Confidence != 0.95 {
				t.Errorf("%v: the confidence of %s is %v", lines, c.Require, *c.Confidence)
			}
		}
		for _, line := range lines {
			want = append(want, strings.ReplaceAll(line, " ", ""))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%v gives %v", lines, got)
		}
	}
}

// Law: of a campaign of one number nothing more is said than that number.
func TestOneNumber(t *testing.T) {
	in := run(t, fmt.Sprintf(electrolyte, "lognei", 1, ""))
	a := work(t, in, whatif.Question{Decision: "d2", Method: "sobol", Experiments: 2})
	said := must.Get(json.Marshal(a))(t)
	for _, more := range []string{"quantities", "judged", "changes", "keeps", "require", "worst"} {
		if strings.Contains(string(said), `"`+more) {
			t.Errorf("it has %s: %s", more, said)
		}
	}
	var b strings.Builder
	if err := a.Write(&b); err != nil || !strings.Contains(b.String(), "Best after 6 experiments: really ") {
		t.Errorf("%v: %s", err, b.String())
	}
}
