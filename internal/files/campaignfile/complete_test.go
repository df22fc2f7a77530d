package campaignfile

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/next"
)

// minimal is the least that a file can say.
const minimal = `
name: minimal
parameters: [{name: x, min: 0, max: 1}]
objective: {name: y, goal: minimize}
budget: {experiments: 20}
`

func parsed(t *testing.T, text string) definition.Campaign {
	t.Helper()
	f := must.Get(Parse(builtin.Registry(), "test.yaml", []byte(text)))(t)
	return f.Definition
}

// The defaults are those that the comments of package events promise.
func TestDefaults(t *testing.T) {
	def := parsed(t, minimal+`
instrument: {process: [./pump]}
experts: [{name: ada, terminal: {}}]
policy: {trust: cobol}
`)
	in := def.Initial
	lcb, bound := next.LCBOf(def.Policy)
	trust, trusted := cobol.SettingsOf(def.Policy)
	width, asked := cobol.WidthOf(def.Policy)
	if !bound || !trusted || !asked {
		t.Fatalf("policy %+v, want lcb and width with cobol", def.Policy)
	}
	tests := []struct {
		field     string
		got, want any
	}{
		{"seed", def.Seed, uint64(1)},
		{"replicates", def.Replicates, 1},
		{"model.kernel", def.Model.Kernel, "rbf"},
		{"initial.experiments", *in.Experiments, 3},
		{"initial.design", in.Design, "sobol"},
		{"initial.labels", *in.Labels, 10},
		{"initial.balanced", *in.Balanced, false},
		{"lcb.beta", *lcb.Beta, 1.0},
		{"lcb.beta_rule", lcb.BetaRule, "fixed"},
		{"cobol.lambda0", *trust.Lambda0, 1.0},
		{"cobol.zeta", *trust.Zeta, 0.02},
		{"cobol.eta", *trust.Eta, 3.0},
		{"cobol.confidence", *trust.Confidence, 0.1},
		{"cobol.max_norm", *trust.MaxNorm, 4.0},
		{"width.threshold", *width.Threshold, 0.1},
		{"width.per_experiment", *width.MaxPerExperiment, 10},
		{"width.where_it_matters", *width.OnlyIfDecisive, true},
		{"width.gate", *width.Gate, true},
		{"instrument.stall_after", time.Duration(def.Instrument.StallAfter), 10 * time.Minute},
		{"instrument.give_up_after", time.Duration(def.Instrument.GiveUpAfter), 24 * time.Hour},
		{"process.reply_within", time.Duration(program(t, def).ReplyWithin), 10 * time.Second},
		{"experts.answer_within", time.Duration(def.Experts[0].AnswerWithin), 2 * time.Minute},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s is %v, want %v", test.field, test.got, test.want)
		}
	}
}

// Some defaults depend on what else the file says.
func TestDefaultsThatDepend(t *testing.T) {
	alone := parsed(t, minimal+"instrument: manual")
	if alone.Policy.Trust.Name != "none" || alone.Policy.Handover.Name != "never" || *alone.Initial.Labels != 0 {
		t.Errorf("without experts: %+v, %d labels; want none, never and 0", alone.Policy, *alone.Initial.Labels)
	}
	if alone.Policy.Next.Name != next.LogNEIName {
		t.Errorf("without experts: next %s, want lognei", alone.Policy.Next.Name)
	}
	// With an expert, the rule of trust follows from how they are asked, where that is said.
	for policy, want := range map[string]string{
		"": "answers", "policy: {handover: worth}": "answers", "policy: {next: lcb}": "answers",
		"policy: {handover: width}": "cobol", "policy: {handover: choose}": "coexbo", "policy: {next: thompson}": "none",
	} {
		def := parsed(t, minimal+"instrument: manual\nexperts: [{name: ada, terminal: {}}]\n"+policy)
		if def.Policy.Trust.Name != want {
			t.Errorf("%q: trust %s, want %s", policy, def.Policy.Trust.Name, want)
		}
		if want == "answers" && *def.Initial.Estimates != 20 {
			t.Errorf("%q: %d estimates, want 20", policy, *def.Initial.Estimates)
		}
	}
	for rule, want := range map[string]string{
		"cobol": next.LCBName, "cobohl": next.LCBName, "hcei": next.LogEIName, "coexbo": next.LCBName, "pibo": next.LCBName, "none": next.LogNEIName,
	} {
		def := parsed(t, minimal+"instrument: manual\npolicy: {trust: "+rule+"}\nexperts: [{name: ada, terminal: {}}]")
		if def.Policy.Next.Name != want {
			t.Errorf("with trust %s: next %s, want %s", rule, def.Policy.Next.Name, want)
		}
	}
	if alone.Instrument.StallAfter != 0 || alone.Instrument.GiveUpAfter != 0 {
		t.Error("a person who measures has no time limit by default")
	}
	ada := "\nexperts: [{name: ada, terminal: {}}]"
	paper := parsed(t, minimal+"instrument: manual\npolicy: {trust: {cobol: {paper: true}}}"+ada)
	trust, _ := cobol.SettingsOf(paper.Policy)
	width, _ := cobol.WidthOf(paper.Policy)
	if trust.MaxNorm != nil || *trust.Confidence != 0.01 || *width.Gate || *width.OnlyIfDecisive {
		t.Error("the paper's rules have no norm limit, a confidence of 0.01, no gate, and ask everywhere")
	}
	random := parsed(t, minimal+"instrument: manual\npolicy: {next: random}"+ada)
	if random.Policy.Trust.Name != "none" || random.Policy.Handover.Name != "never" {
		t.Error("a choice without a model has nothing that a belief could bend")
	}
	points := parsed(t, minimal+"instrument: manual\ninitial: {points: [{x: 0}, {x: 1}]}\nstop: {window: 5}")
	if points.Initial.Design != definition.DesignPoints || *points.Initial.Experiments != 2 ||
		*points.Stop.Improvement != 0.1 {
		t.Errorf("given points: %+v, %+v", points.Initial, points.Stop)
	}
}

func program(t *testing.T, def definition.Campaign) process.Settings {
	t.Helper()
	return must.Get(process.SettingsOf(def))(t)
}
