package policies_test

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/policytest"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// fidelities are campaigns with cheaper experiments, by the names of their recordings: by hours between bounds, by
// listed ones of which the least matters, in steps and with failures, and by sources; of several quantities of which a front,
// or one under a bound, is sought.
var fidelities = map[string]string{
	"fidelity-hours": `
  - {name: hours, unit: h, min: 1, max: 24}
fidelity: {parameter: hours, target: 24}
cost: {of: 1 + hours, unit: h}
budget: {experiments: 40, cost: 250}
instrument: {simulated: {task: electrolyte-hours, noise: 0.05}}
`,
	"fidelity-values": `
  - {name: hours, unit: h, values: [1, 4, 12, 24]}
fidelity: {parameter: hours, target: 24}
cost: {of: 0.5 + hours}
budget: {experiments: 16}
instrument: {steps: {lipf6: 0.05}, simulated: {task: electrolyte-hours, noise: 0.05, failure_rate: 0.1}}
`,
	"fidelity-sources": `
fidelity: {sources: [{name: simulation, cost: 0.1}, {name: cell, cost: 1}], unit: d}
budget: {experiments: 40, cost: 10}
instrument: {simulated: {task: electrolyte-sources, noise: 0.05}}
`,
	"fidelity-front": `
  - {name: hours, unit: h, min: 1, max: 24}
quantities: [{name: conductivity, unit: mS/cm}, {name: viscosity, unit: mPa·s, scale: log}]
objective: {tradeoff: [{maximize: conductivity, worst: 6}, {minimize: viscosity}]}
fidelity: {parameter: hours, target: 24}
cost: {of: 1 + hours, unit: h}
budget: {experiments: 40, cost: 350}
instrument: {simulated: {task: electrolyte-hours, noise: 0.05}}
`,
	"fidelity-bound": `
  - {name: hours, unit: h, min: 1, max: 24}
quantities: [{name: conductivity, unit: mS/cm}, {name: viscosity, unit: mPa·s, scale: log}]
objective: {maximize: conductivity}
constraints_on_outcomes: [viscosity <= 1.6]
fidelity: {parameter: hours, target: 24}
cost: {of: 1 + hours, unit: h}
budget: {experiments: 40, cost: 350}
instrument: {simulated: {task: electrolyte-hours, noise: 0.05}}
`,
}

// cheaper is a campaign with cheaper experiments.
func cheaper(t *testing.T, further string, changes ...func(*definition.Campaign)) definition.Campaign {
	t.Helper()
	objective := "objective: {maximize: conductivity, unit: mS/cm}\n"
	if strings.Contains(further, "objective:") {
		objective = ""
	}
	f := must.Get(campaignfile.Parse(builtin.Registry(), "fidelity.yaml", []byte(`name: fidelity
seed: 5
`+objective+`initial: {experiments: 6}
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}`+further)))(t)
	for _, change := range changes {
		change(&f.Definition)
	}
	return f.Definition
}

// Law: as TestRecordedDecisions, of campaigns with cheaper experiments: their decisions stay.
func TestRecordedFidelities(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("recorded on amd64; other processors round sums of products otherwise")
	}
	for name, text := range fidelities {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			recordCourse(t, &got, cheaper(t, text))
			compareRecording(t, name, got.String())
		})
	}
}

// together is the covariance of two experiments by a fit, standardized: of points of the cube, the first three coordinates
// of which are the composition, at fidelities from 0 to 1, or of sources by their numbers.
func together(f events.ObjectiveFit, x, y []float64, s, u float64) float64 {
	squares := 0.0
	for j := range 3 {
		squares += (x[j] - y[j]) * (x[j] - y[j]) / (f.Lengthscales[j] * f.Lengthscales[j])
	}
	factor := f.OutputScale * (f.Fidelity.C + math.Pow((1-s)*(1-u), 1+f.Fidelity.Delta))
	if w := f.Fidelity.W; w != nil {
		factor = 0
		for k := range min(len(w[int(s)]), len(w[int(u)])) {
			factor += w[int(s)][k] * w[int(u)][k]
		}
	}
	return factor * math.Exp(-squares/2)
}

// sourceOf is the fidelity of a composition from 0 to 1, or the number of its source.
func sourceOf(p definition.Point) float64 {
	switch p["source"].Name() {
	case "cell":
		return 1
	case "simulation":
		return 0
	}
	hours, _ := p["hours"].Float()
	return (hours - 1) / 23
}

// informing is the information in nats of a composition at a fidelity on its value at the target, worked out from the
// measurements by elimination.
func informing(m *quantity.Model, x []float64, s float64) float64 {
	noise := func(s float64) float64 {
		if m.Fit.Fidelity.Noise != nil {
			return m.Fit.Fidelity.Noise[int(s)]
		}
		return m.Fit.Noise
	}
	n := len(m.X)
	// The measurements and, as the last two, the target and the way: what is left of these once the others are eliminated
	// is their posterior covariance.
	points, sources := append(m.X[:n:n], x, x), make([]float64, n+2)
	for i, o := range m.Observations {
		sources[i] = sourceOf(o.Point)
	}
	sources[n], sources[n+1] = 1, s
	a := make([][]float64, n+2)
	for i := range a {
		a[i] = make([]float64, n+2)
		for j := range a[i] {
			a[i][j] = together(m.Fit, points[i], points[j], sources[i], sources[j])
		}
		if i < n {
			a[i][i] += noise(sources[i])
		}
	}
	for k := range n {
		for i := k + 1; i < n+2; i++ {
			for j := n + 1; j >= k; j-- {
				a[i][j] -= a[i][k] / a[k][k] * a[k][j]
			}
		}
	}
	target, way := a[n][n], a[n+1][n+1]+noise(s)
	return -0.5 * math.Log(1-a[n][n+1]*a[n+1][n]/(target*way))
}

// Law: a composition is measured where ln G − α ln c is greatest, with the information G on its value at the target, the
// cost c, and the share α of the budget of cost that is left, ½ without one. It is measured at the target at least every
// fifth time, as the last of the budget, and where a cheaper experiment would leave too little for the target.
func TestFidelityIsChosenByInformationPerCost(t *testing.T) {
	for name, text := range fidelities {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := cheaper(t, text)
			rules := map[string]int{}
			eachView(t, def, func(v policies.View, d policies.Decision) {
				if d.Action != events.ActionRun || v.Objective() == nil {
					return
				}
				c := d.Candidate()
				spent, cheap := v.Campaign.Cost(), 0
				for i := range v.Campaign.Experiments {
					if cheap++; sourceOf(v.Campaign.Experiments[i].Parameters) == 1 {
						cheap = 0
					}
				}
				x := must.Get(v.Space.Encode(c.Parameters))(t)
				ways := c.Fidelity.Ways
				best, at, target := 0.0, -1, ways[len(ways)-1]
				for i, w := range ways {
					p := definition.Point{def.Fidelity.Parameter: w.Value}
					want := informing(v.Objective(), x, sourceOf(p))
					if m := v.Models.Of("viscosity"); m != nil {
						want += informing(m, x, sourceOf(p))
					}
					if !(math.Abs(w.Information-want) <= 1e-6*want) {
						t.Errorf("%s: %v tells %v, want %v", d.Chosen, w.Value, w.Information, want)
					}
					if i < len(ways)-1 && w.Cost+target.Cost > spent.Left() {
						t.Errorf("%v leaves too little for the target", w.Value)
					}
					if value := want / w.Cost; value > best {
						best, at = value, i
					}
				}
				rules[c.Fidelity.Rule]++
				switch {
				case cheap >= 4 || len(v.Campaign.Experiments)+1 == def.Budget.Experiments:
					if sourceOf(c.Parameters) != 1 || c.Fidelity.Rule == events.FidelityInformation {
						t.Errorf("after %d cheaper ones %v is measured, by %s", cheap, c.Parameters, c.Fidelity.Rule)
					}
				case c.Parameters[def.Fidelity.Parameter] != ways[at].Value:
					t.Errorf("%v is measured, want %v: %s", c.Parameters, ways[at].Value, d.Reason)
				case at < len(ways)-1:
					rules["cheaper"]++
					if !strings.Contains(d.Reason, " of what ") {
						t.Errorf("it does not say why it is cheaper: %s", d.Reason)
					}
				}
			})
			if rules[events.FidelityInformation] < 3 || rules["cheaper"]+rules[events.FidelityLast] == 0 {
				t.Errorf("hardly anything was tested: %v", rules)
			}
		})
	}
}

// measuredByHand runs a campaign to its end, whose experiments a person measures.
func measuredByHand(t *testing.T, def definition.Campaign, measure func(campaign.Experiment) engine.Tell) (*memlog.Log, *engine.Core) {
	t.Helper()
	log, now := memlog.New(), study.Clock()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:study", now(), ""); err != nil {
		t.Fatal(err)
	}
	for {
		r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Now: now}
		suggestion := must.Get(r.Suggest(t.Context()))(t)
		if suggestion.Ended {
			return log, r.Core()
		}
		for _, x := range suggestion.Experiments {
			told := measure(x)
			told.Experiment = x.ID
			if _, err := engine.Submit(t.Context(), log, r.Core(), engine.Request{Actor: "person:ada", Tell: &told}, now()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Law: what is cheaper than the target is never the best, reaches no target and is not an improvement, however great its value
// is; the experiments of the initial design are at the target every second time.
func TestBestIsAtTheTarget(t *testing.T) {
	stop := 50.0
	def := cheaper(t, fidelities["fidelity-sources"], func(def *definition.Campaign) { def.Stop.Target = &stop })
	cheap, given := 0, 0
	log, core := measuredByHand(t, def, func(x campaign.Experiment) engine.Tell {
		lipf6, _ := x.Parameters["lipf6"].Float()
		value := 10 - (lipf6-1)*(lipf6-1)
		if sourceOf(x.Parameters) == 0 {
			value += 90
			cheap++
		}
		if given < 6 && (given%2 == 0) != (sourceOf(x.Parameters) == 1) {
			t.Errorf("experiment %d of the design is %v", given+1, x.Parameters["source"])
		}
		given++
		return engine.Tell{Value: new(value)}
	})
	reading := must.Get(core.Read(t.Context()))(t)
	summary := must.Get(reading.Summarize(t.Context()))(t)
	for what, source := range map[string]definition.Value{
		"measured": summary.BestMeasured.Parameters["source"], "by the model": summary.BestByModel.Parameters["source"],
	} {
		if source.Name() != "cell" {
			t.Errorf("the best %s is of %s", what, source)
		}
	}
	if s := core.State(); s.Reason == events.CompletedTarget || cheap < 4 || summary.Ways[0].Experiments != cheap ||
		math.Abs(summary.Ways[0].Cost-0.1*float64(cheap)) > 1e-9 || summary.Ways[0].Name != "simulation" {
		t.Errorf("after %d cheap ones it ended by %s: %+v", cheap, s.Reason, summary.Ways)
	}
	audited(t, log, def)
}

// Law: decisions, fits and judgments come out the same where several are under way, a value was corrected or left out, a
// source got dearer and an experiment has failed.
func TestFidelityIsAudited(t *testing.T) {
	def := cheaper(t, fidelities["fidelity-sources"], func(def *definition.Campaign) { def.Parallel = 3 })
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, def))(t)
	audited(t, log, def)
	request(t, log, def, engine.Request{Correct: &engine.Correct{Experiment: "e2", Value: new(7.5), Reason: "misread"}})
	request(t, log, def, engine.Request{Correct: &engine.Correct{Experiment: "e3", Exclude: true, Reason: "a bubble"}})
	dearer := def
	dearer.Fidelity.Sources = []definition.Source{{Name: "simulation", Cost: 0.2}, {Name: "cell", Cost: 1}}
	dearer.Budget.Cost = 14
	goesOnAs(t, log, def, dearer)
}

// goesOnAs amends a campaign, has it go on, and audits it.
func goesOnAs(t *testing.T, log *memlog.Log, def, amended definition.Campaign) {
	t.Helper()
	changes := must.Get(campaignfile.Amend(builtin.Registry(), def, amended))(t)
	request(t, log, def, engine.Request{Amend: &events.CampaignAmended{Definition: amended, Changes: changes, Reason: "a licence"}})
	runner := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	before := len(runner.Core().State().Experiments)
	must.Do(t, runner.Run(t.Context()))
	if n := len(runner.Core().State().Experiments); n == before {
		t.Error("the amended campaign does not go on")
	}
	audited(t, log, def)
}

// Law: where several quantities decide, what is cheaper than the target is on no front and keeps no bound for the best;
// decisions come out the same with several under way, also once something else is sought by amendment.
func TestFidelityOfSeveralQuantities(t *testing.T) {
	for _, name := range []string{"fidelity-front", "fidelity-bound"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := cheaper(t, fidelities[name], func(def *definition.Campaign) { def.Parallel = 3 })
			log := memlog.New()
			core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
			cheap := 0
			for i := range core.State().Experiments {
				if sourceOf(core.State().Experiments[i].Parameters) < 1 {
					cheap++
				}
			}
			reading := must.Get(core.Read(t.Context()))(t)
			summary := must.Get(reading.Summarize(t.Context()))(t)
			var found []definition.Point
			if best := summary.BestByModel; best != nil {
				found = append(found, best.Parameters)
			}
			f := summary.Tradeoff
			if f != nil {
				for _, m := range slices.Concat(f.Members, f.Others) {
					found = append(found, m.Parameters)
				}
				for _, x := range f.Expected {
					found = append(found, x.Parameters)
				}
			}
			if cheap < 3 || len(found) == 0 {
				t.Errorf("hardly anything was tested: %d cheaper experiments, %d found", cheap, len(found))
			}
			for _, p := range found {
				if sourceOf(p) != 1 {
					t.Errorf("%v counts as a result", p)
				}
			}
			audited(t, log, def)
			other := cheaper(t, fidelities["fidelity-front"], func(to *definition.Campaign) {
				to.Name, to.Parallel, to.Budget.Cost = def.Name, 3, 420
			})
			if name == "fidelity-front" {
				other.Objective, other.Policy = def.Objective, def.Policy
				other.ConstraintsOnOutcomes = []definition.OutcomeConstraint{{Require: "viscosity <= 3"}}
			}
			goesOnAs(t, log, def, campaignfile.Complete(builtin.Registry(), other))
		})
	}
}

// Law: what is under way at a lower fidelity is nothing that the next experiment has to improve on, however good a value
// is expected of it: the least is sought, and what is cheaper gives far less.
func TestCheaperUnderWayIsNoResult(t *testing.T) {
	for _, name := range []string{"fidelity-front", "fidelity-bound"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(fidelities[name], "maximize: conductivity, worst: 6", "minimize: conductivity", 1)
			text = strings.Replace(text, "maximize: conductivity", "minimize: conductivity", 1)
			def := cheaper(t, text, func(def *definition.Campaign) {
				def.Parallel, def.Budget.Experiments = 3, 18
			})
			log, _ := measuredByHand(t, def, func(x campaign.Experiment) engine.Tell {
				lipf6, _ := x.Parameters["lipf6"].Float()
				return engine.Tell{Quantities: []definition.Quantity{
					{Name: "conductivity", Value: 10 + (lipf6-1)*(lipf6-1) - 90*(1-sourceOf(x.Parameters))},
					{Name: "viscosity", Value: 1 + 0.4*lipf6},
				}}
			})
			least, policy := math.Inf(1), policyOf(t, def) // of −ln of the improvement that is expected
			for view, seed := range viewsOf(t, log, engine.NewCore(builtin.Registry())) {
				d := policytest.Run(t, policy, view, seed)
				c := d.Candidate()
				if c == nil || c.Acquisition == nil {
					continue
				}
				for i := range view.Campaign.Experiments {
					if x := &view.Campaign.Experiments[i]; x.Status.Open() && sourceOf(x.Parameters) < 1 {
						least = min(least, *c.Acquisition)
					}
				}
			}
			if least > 1 {
				t.Errorf("with what is cheaper under way an improvement of exp(−%.2f) is expected at most", least)
			}
		})
	}
}
