package policies_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

var record = flag.Bool("record", false, "record the decisions of every method anew")

// world is a campaign in which every method is recorded: the parts of a campaign
// file that are there for all, and those of campaigns that measure, or that
// only compare.
type world struct{ all, measuring, comparing string }

// worlds have, between them, failures, outliers, a dose step, a list of values,
// constraints, both goals and noise. One thing is under way at a time, so that the
// log does not depend on who was faster.
var worlds = []world{{`
name: branin
seed: 1
parameters:
  - {name: x1, min: -5, max: 10}
  - {name: x2, min: 0, max: 15}
objective: {name: value, goal: minimize}
experts:
  - {name: ada, simulated: {task: branin, accuracy: 2}}
`, `
initial: {experiments: 3, comparisons: 12}
budget: {experiments: 9}
instrument: {simulated: {task: branin}}
`, `
budget: {comparisons: 20}
`}, {`
name: electrolyte
seed: 2
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
objective: {name: conductivity, unit: mS/cm, goal: maximize, noise: 0.27}
experts:
  - {name: ada, simulated: {task: electrolyte, accuracy: 1}}
`, `
initial: {experiments: 4, comparisons: 8}
budget: {experiments: 10}
instrument:
  steps: {lipf6: 0.05}
  simulated: {task: electrolyte, noise: 0.27, failure_rate: 0.15, outlier_rate: 0.1}
`, `
initial: {comparisons: 6}
budget: {comparisons: 18}
`}, {`
name: mixture
seed: 3
parameters:
  - {name: ec, unit: kg/kg, min: 0.2, max: 0.5}
  - {name: dmc, unit: kg/kg, min: 0, max: 0.6}
  - {name: emc, unit: kg/kg, min: 0, max: 0.6}
  - {name: fec, unit: kg/kg, values: [0, 0.05, 0.1]}
constraints:
  - {terms: {ec: 1, dmc: 1, emc: 1, fec: 1}, equals: 1}
objective: {name: conductivity, unit: mS/cm, goal: maximize}
experts:
  - {name: ada, simulated: {task: mixture4, accuracy: 1}}
`, `
initial: {experiments: 3, comparisons: 6}
budget: {experiments: 8}
instrument: {simulated: {task: mixture4}}
`, `
budget: {comparisons: 16}
`}}

// recorded are the policies whose decisions are recorded: every method by its
// name, and the forms of feedback of Xu et al. 2024, App. H.
func recorded() map[string]string {
	all := make(map[string]string)
	for _, m := range builtin.Registry().Methods.Methods() {
		if !m.Tradeoff && !m.Preference { // these have campaigns of their own
			all[m.Name] = "policy: " + m.Name + "\n"
		}
	}
	for _, form := range []string{"comparison", "ranking", "pinpoint"} {
		for _, trust := range []string{"cobol", "cobohl", "hcei"} {
			all[trust+"-"+form] = fmt.Sprintf("policy: {trust: {%s: {feedback: %s}}}\n", trust, form)
		}
	}
	all["cobol-paper"] = "policy: {trust: {cobol: {paper: true}}}\n"
	all["cobol-window"] = "policy: {trust: {cobol: {window: 5}}}\n"
	all["rahbo-ep"] = "policy: rahbo\nmodel: {utility: {posterior: ep}}\n"
	all["rahbo-hallucinate"] = "policy: rahbo\nmodel: {utility: {posterior: hallucinate}}\n"
	all["lcb-growing"] = "policy: {next: {lcb: {beta_rule: growing}}}\n"
	all["lcb-outliers"] = "policy: lcb\noutliers: {action: flag, threshold: 2}\nmodel: {feasibility: false}\n"
	return all
}

// electrolytes are campaigns of several quantities, with failures, noise, and a dose step.
const electrolytes = `
name: electrolyte
seed: 4
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
quantities:
  - {name: conductivity, unit: mS/cm}
  - {name: viscosity, unit: mPa·s, scale: log}
  - {name: cost, from: 12*lipf6*ec}
initial: {experiments: 5}
budget: {experiments: 11}
instrument:
  steps: {lipf6: 0.05}
  simulated: {task: electrolyte, noise: 0.27, failure_rate: 0.1}
`

// outcomes are what campaigns of several quantities seek and require, by the names of their recordings.
var outcomes = map[string]string{
	"outcomes-tradeoff": "objective: {tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}\n",
	"outcomes-tradeoff-bounded": "objective: {tradeoff: [{minimize: cost, worst: 7}, {maximize: conductivity}, {minimize: viscosity}]}\n" +
		"constraints_on_outcomes: [conductivity <= 13, viscosity <= 9, conductivity/viscosity >= 0.5, viscosity <= 2*reference.viscosity]\n" +
		"reference: {experiment: e2}\n",
	"outcomes-constrained": "objective: {maximize: conductivity}\nconstraints_on_outcomes: [viscosity <= 4, conductivity <= 12]\n",
	"outcomes-interval": "objective: {maximize: conductivity}\n" +
		"constraints_on_outcomes: [viscosity <= 4, viscosity >= 2, conductivity <= 12, conductivity >= 6]\n",
	"outcomes-constrained-lcb":    "objective: {maximize: conductivity}\nconstraints_on_outcomes: [viscosity <= 4]\npolicy: lcb\n",
	"outcomes-formula":            "objective: {maximize: conductivity/sqrt(viscosity)}\nconstraints_on_outcomes: [cost*viscosity <= 20]\n",
	"outcomes-desirability":       "objective: {desirability: [{quantity: conductivity, from: 4, to: 12, weight: 2}, {quantity: viscosity, from: 1, best: [2, 3], to: 8}, {quantity: cost, from: 10, to: 1}]}\n",
	"outcomes-formula-by-answers": "objective: {maximize: conductivity/viscosity}\nexperts: [{name: ada, simulated: {task: electrolyte, accuracy: 1}}]\n",
	"outcomes-estimates":          "objective: {maximize: conductivity}\nconstraints_on_outcomes: [viscosity <= 3]\n" + adaKnows,
	"outcomes-estimates-formula": "objective: {maximize: conductivity/sqrt(viscosity)}\n" + adaKnows +
		"policy: {trust: answers, handover: worth}\n",
	"outcomes-estimates-tradeoff": "objective: {tradeoff: [{maximize: conductivity, worst: 6}, {minimize: viscosity}]}\n" + adaKnows,
}

// adaKnows is an expert who knows the viscosity, and guesses the conductivity.
const adaKnows = "experts: [{name: ada, quantities: [conductivity, viscosity], " +
	"simulated: {task: electrolyte, correlations: {viscosity: 0.9, conductivity: 0}}}]\n"

// Law: as TestRecordedDecisions, of campaigns that seek and require something of several quantities: their decisions
// stay, with what is expected of each quantity, of the value, of the constraints and of the front.
func TestRecordedOutcomes(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("recorded on amd64; other processors round sums of products otherwise")
	}
	for i, name := range slices.Sorted(maps.Keys(outcomes)) {
		if !draws.Whole() && !*record && i%2 == 1 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := campaignfile.Parse(builtin.Registry(), "campaign.yaml", []byte(electrolytes+outcomes[name]))
			if err != nil {
				t.Fatal(err)
			}
			// A setting that came later is absent from the campaigns of then.
			def := file.Definition
			for i := range def.ConstraintsOnOutcomes {
				def.ConstraintsOnOutcomes[i].Exact = name == "outcomes-interval"
			}
			var got strings.Builder
			recordCourse(t, &got, def)
			compareRecording(t, name, got.String())
		})
	}
}

// Law: no change of the program changes a decision. Every method made these
// decisions in these campaigns when they were recorded, and makes them still,
// bit for bit. Where a decision is to change, that is a new version of the
// policies, and a new recording:
//
//	go test ./policies -run Recorded -record
func TestRecordedDecisions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("recorded on amd64; other processors round sums of products otherwise")
	}
	policies := recorded()
	for n, name := range slices.Sorted(maps.Keys(policies)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all strings.Builder
			for i, world := range worlds {
				seed := fmt.Sprintf("== seed %d\n", i+1)
				if !draws.Whole() && !*record && n%len(worlds) != i { // each world, by some methods
					_, course, _ := strings.Cut(recording(t, name), seed)
					course, _, _ = strings.Cut(course, "== seed ")
					all.WriteString(seed + course)
					continue
				}
				all.WriteString(seed)
				recordDecisions(t, &all, world.file(policies[name]))
			}
			compareRecording(t, name, all.String())
		})
	}
}

// compareRecording compares a course with the one that was recorded, or records it.
func compareRecording(t *testing.T, name, got string) {
	t.Helper()
	if *record {
		must.Do(t, os.WriteFile(recordingFile(name), []byte(got), 0o666))
		return
	}
	differ(t, recording(t, name), got)
}

// recordingFile is the file of a recording.
func recordingFile(name string) string { return filepath.Join("testdata", "decisions", name+".txt") }

func recording(t *testing.T, name string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(recordingFile(name)))(t))
}

// differ reports the first line in which a campaign went another way.
func differ(t *testing.T, want, got string) {
	wanted, lines := strings.Split(want, "\n"), strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	for i, line := range lines {
		if i >= len(wanted) || line != wanted[i] {
			t.Fatalf("line %d\n  was recorded as %s\n  and is now      %s", i+1, wanted[min(i, len(wanted)-1)], line)
		}
	}
	if len(lines) < len(wanted)-1 {
		t.Fatalf("%d lines were recorded, there are %d", len(wanted), len(lines))
	}
}

// recordDecisions runs a campaign and writes what was asked of experts and
// instruments, and each decision. A decision's line ends with a digest of all
// that it weighed.
func recordDecisions(t *testing.T, w *strings.Builder, text string) {
	file := must.Get(campaignfile.Parse(builtin.Registry(), "campaign.yaml", []byte(text)))(t)
	// Settings that came later are absent from the campaigns of then.
	def := file.Definition
	def.Model.Tails, def.Model.Intervals = "", ""
	if def.Policy.Next.Name == next.LogNEIName {
		def.Policy.Next = next.LogNEI{}.Choice()
	}
	recordCourse(t, w, def)
}

// recordCourse is recordDecisions of a definition.
func recordCourse(t *testing.T, w *strings.Builder, def definition.Campaign) {
	t.Helper()
	log := course(t, w, def)
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		if e.Kind != events.KindDecisionMade {
			continue
		}
		payload := must.Get(events.Decode(e))(t)
		d := payload.(*events.DecisionMade)
		fmt.Fprintf(w, "%s %s %s (%s) %s\n", d.Decision, action(d), d.Chosen, d.Rule, digest(d))
	}
}

// course runs a campaign and writes what was asked of experts and instruments.
func course(t *testing.T, w *strings.Builder, def definition.Campaign) events.Log {
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
	for i := range core.State().Questions {
		q := &core.State().Questions[i]
		fmt.Fprintf(w, "%s asks %s about%s\n", q.ID, q.Expert, compared(q))
	}
	for i := range core.State().Experiments {
		x := &core.State().Experiments[i]
		fmt.Fprintf(w, "%s measures %s\n", x.ID, point(x.Parameters))
	}
	return log
}

// Law: how sure people are told that the model is touches no decision: every method asks and measures the same, bit
// for bit.
func TestIntervalsTouchNoDecision(t *testing.T) {
	for _, name := range []string{"lognei", "thompson", "answers", "cobol", "hcei", "coexbo", "batch-ucb", "lcb-outliers"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := campaignfile.Parse(builtin.Registry(), "campaign.yaml", []byte(worlds[0].file(recorded()[name])))
			if err != nil {
				t.Fatal(err)
			}
			var fitted, marginal strings.Builder
			def := file.Definition
			def.Model.Intervals = definition.IntervalsFitted
			course(t, &fitted, def)
			def.Model.Intervals = definition.IntervalsMarginal
			course(t, &marginal, def)
			differ(t, fitted.String(), marginal.String())
		})
	}
}

// action names what a decision does, and what an expert is asked for.
func action(d *events.DecisionMade) string {
	switch d.Form {
	case events.FormComparison:
		return "compare"
	case events.FormPinpoint:
		return "pinpoint"
	}
	return string(d.Action)
}

// file returns the campaign file of a policy in the world.
func (w world) file(policy string) string {
	for _, m := range builtin.Registry().Methods.Methods() {
		if !m.Policy.Measures() && strings.HasPrefix(policy, "policy: "+m.Name+"\n") {
			return w.all + w.comparing + policy
		}
	}
	return w.all + w.measuring + policy
}

// compared writes the compositions that a question is about.
func compared(q *campaign.Question) string {
	var b strings.Builder
	if named := q.Answer.Point; named != nil {
		b.WriteString(" " + point(named))
	}
	for _, p := range q.Points() {
		b.WriteString(" " + point(p))
	}
	return b.String()
}

// point writes a composition with every digit, so that it differs where a bit does.
func point(p definition.Point) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		text := p[name].Name()
		if x, isNumber := p[name].Float(); isNumber {
			text = strconv.FormatFloat(x, 'g', -1, 64)
		}
		parts = append(parts, name+"="+text)
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// digest is a digest of all numbers that a decision weighed.
func digest(d *events.DecisionMade) string {
	h := sha256.New()
	number := func(name string, x *float64) {
		if x != nil {
			fmt.Fprintf(h, "%s %s\n", name, strconv.FormatFloat(*x, 'x', -1, 64))
		}
	}
	for _, c := range d.Candidates {
		fmt.Fprintf(h, "candidate %s %s\n", c.Name, point(c.Parameters))
		if c.Prediction != nil {
			number("mean", &c.Prediction.Mean)
			number("sd", &c.Prediction.SD)
		}
		number("optimistic", c.Optimistic)
		number("pessimistic", c.Pessimistic)
		number("acquisition", c.Acquisition)
		for _, q := range c.Outcomes {
			number(q.Quantity, &q.Mean)
			number(q.Quantity+" sd", &q.SD)
		}
		if c.Value != nil {
			number("value", &c.Value.Mean)
			number("value sd", &c.Value.SD)
		}
		if c.Feasible != nil {
			for _, kept := range c.Feasible.Constraints {
				number(kept.Require, &kept.Probability)
			}
			number("feasible", &c.Feasible.Probability)
		}
		if c.Belief != nil {
			number("lower", &c.Belief.Lower)
			number("upper", &c.Belief.Upper)
		}
		if c.Score != nil {
			number("score", &c.Score.Mean)
			number("score sd", &c.Score.SD)
		}
	}
	if d.Tradeoff != nil {
		fmt.Fprintf(h, "front %v of %d\n", d.Tradeoff.Front, d.Tradeoff.Members)
		for i := range d.Tradeoff.Reference {
			number("reference", &d.Tradeoff.Reference[i])
		}
		number("hypervolume", &d.Tradeoff.Hypervolume)
		number("gain", d.Tradeoff.Gain)
	}
	for _, test := range d.Tests {
		number(test.Relation, &test.Left)
		number("", &test.Right)
	}
	number("lambda", d.Lambda)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
