package cobol_test

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
)

// completed is a campaign whose policy has every default, by the rules of the family and in
// their order.
func completed(t *testing.T, p definition.Policy) (definition.Campaign, definition.Settings, definition.Settings) {
	t.Helper()
	def := definition.Campaign{Policy: p, Experts: []definition.Expert{{Name: "ada", Belief: &definition.StatedBelief{
		Mean: definition.Point{"x": definition.Number(1)}, SD: map[string]float64{"x": 1},
	}}}}
	trust := complete(t, &def, policies.Trust)
	if def.Policy.Next.IsZero() {
		def.Policy.Next = next.LCB{}.Choice()
	}
	if def.Policy.Handover.IsZero() {
		def.Policy.Handover = definition.NewChoice(policies.Never, nil)
	}
	handover := complete(t, &def, policies.Handover)
	return def, trust, handover
}

func complete(t *testing.T, def *definition.Campaign, part policies.Part) definition.Settings {
	t.Helper()
	settings := must.Get(builtin.Registry().Methods.Settings(def.Policy, part))(t)
	settings.Complete(def)
	choice := policies.Choice(&def.Policy, part)
	*choice = definition.NewChoice(choice.Name, settings)
	return settings
}

func fed(feedback string) belief.Settings { return belief.Settings{Feedback: feedback} }

// Law: what a file leaves out has the default that the settings document. The paper's rules
// ask wherever a belief is wide, without a gate; where a belief is stated nobody is asked.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		name                 string
		trust                definition.Choice
		asks, matters, gates bool
		next                 string
	}{
		{"ours", cobol.COBOL{}.Choice(), true, true, true, next.LCBName},
		{"the paper's", cobol.COBOL{Paper: true}.Choice(), true, false, false, next.LCBName},
		{"cobohl", cobol.COBOHL{}.Choice(), true, true, true, next.LCBName},
		{"hcei", cobol.HCEI{}.Choice(), true, true, true, next.LogEIName},
		{"a stated belief", cobol.COBOL{Settings: fed(belief.FeedbackGaussian)}.Choice(), false, false, false, next.LCBName},
	} {
		def, _, _ := completed(t, definition.Policy{Trust: c.trust})
		if s, ok := cobol.SettingsOf(def.Policy); ok && (*s.Lambda0 != 1 || *s.Zeta != 0.02 || *s.Eta != 3) {
			t.Errorf("%s: λ₀ %v, ζ %v, η %v", c.name, *s.Lambda0, *s.Zeta, *s.Eta)
		}
		if def.Policy.Next.Name != c.next {
			t.Errorf("%s: next is %s, want %s", c.name, def.Policy.Next.Name, c.next)
		}
		w, asks := cobol.WidthOf(def.Policy)
		if asks != c.asks || asks && (*w.Threshold != 0.1 || *w.MaxPerExperiment != 10 || *w.OnlyIfDecisive != c.matters || *w.Gate != c.gates) {
			t.Errorf("%s: it asks %v, by %+v", c.name, asks, w)
		}
	}
	alone := definition.Campaign{Policy: definition.Policy{Trust: cobol.COBOL{}.Choice()}}
	complete(t, &alone, policies.Trust)
	if !alone.Policy.Handover.IsZero() {
		t.Errorf("without experts it asks by %s", alone.Policy.Handover.Name)
	}
}

// Law: a rule says for people what it does, with the settings that it has and without those
// that it does not use.
func TestWords(t *testing.T) {
	width := func(w cobol.Width) definition.Choice { return w.Choice() }
	for _, c := range []struct {
		name                    string
		policy                  definition.Policy
		trust, handover, silent []string // what both say, and neither
	}{
		{"ours", definition.Policy{Trust: cobol.COBOL{}.Choice()},
			[]string{"more than 3 times"}, []string{"wider than 0.1 logits", "could matter", "seven tenths", "at most 10 questions"}, []string{"as printed", "window"}},
		{"the paper's", definition.Policy{Trust: cobol.COBOL{Paper: true, Eta: ptr(5.0)}.Choice()},
			[]string{"Xu et al. 2024, as printed"}, []string{"wider than 0.1 logits"}, []string{"could matter", "seven tenths", "go with what is measured", "5 times"}},
		{"settings of its own", definition.Policy{Trust: cobol.COBOL{Eta: ptr(5.0), Settings: belief.Settings{Window: ptr(4)}}.Choice(),
			Handover: width(cobol.Width{Threshold: ptr(0.25), MaxPerExperiment: ptr(1), OnlyIfDecisive: ptr(false), Gate: ptr(false)})},
			[]string{"more than 5 times", "last 4 answers"}, []string{"wider than 0.25 logits", "at most 1 question before"}, []string{"could matter", "seven tenths", "go with what is measured"}},
		{"cobohl", definition.Policy{Trust: cobol.COBOHL{}.Choice()},
			[]string{"without a test of harm"}, []string{"could matter", "while their labels go with what is measured"}, []string{"seven tenths"}},
		{"hcei", definition.Policy{Trust: cobol.HCEI{}.Choice()},
			[]string{"expected improvement"}, []string{"while their labels go with what is measured"}, []string{"seven tenths"}},
		{"comparisons", definition.Policy{Trust: cobol.COBOHL{Settings: belief.Settings{Feedback: belief.FeedbackComparison, Options: ptr(5)}}.Choice()},
			[]string{"pairwise comparisons"}, []string{"orders the candidate", "while their order agrees"}, []string{"among", "logits"}},
		{"rankings", definition.Policy{Trust: cobol.COBOHL{Settings: belief.Settings{Feedback: belief.FeedbackRanking, Options: ptr(6)}}.Choice(),
			Handover: width(cobol.Width{Gate: ptr(false)})},
			[]string{"rankings"}, []string{"orders the candidate", "among 6"}, []string{"while", "logits"}},
		{"named compositions", definition.Policy{Trust: cobol.COBOL{Settings: fed(belief.FeedbackPinpoint)}.Choice()},
			[]string{"names the composition"}, []string{"names a composition", "three in a row"}, []string{"logits"}},
		{"named compositions without a gate", definition.Policy{Trust: cobol.COBOL{Settings: fed(belief.FeedbackPinpoint)}.Choice(), Handover: width(cobol.Width{Gate: ptr(false)})},
			nil, []string{"names a composition"}, []string{"three in a row"}},
	} {
		def, trust, handover := completed(t, c.policy)
		said := trust.Words(&def)
		asks := handover.Words(&def)
		for _, want := range c.trust {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q does not say %q", c.name, said, want)
			}
		}
		for _, want := range c.handover {
			if !strings.Contains(asks, want) {
				t.Errorf("%s: %q does not say %q", c.name, asks, want)
			}
		}
		for _, not := range c.silent {
			if strings.Contains(said+asks, not) {
				t.Errorf("%s: %q or %q says %q", c.name, said, asks, not)
			}
		}
	}
}

// Law: what makes no sense together is refused at the part that can be changed, with what to
// write there.
func TestChecks(t *testing.T) {
	never, stated := definition.NewChoice(policies.Never, nil), fed(belief.FeedbackGaussian)
	for _, c := range []struct {
		name   string
		policy definition.Policy
		at     string // of the one fault; empty: there is none
		remedy string
	}{
		{"cobol", definition.Policy{Trust: cobol.COBOL{}.Choice()}, "", ""},
		{"nobody is asked", definition.Policy{Trust: cobol.COBOL{}.Choice(), Handover: never}, "", ""},
		{"a choice is asked for", definition.Policy{Trust: cobol.COBOL{}.Choice(), Handover: coexbo.Choose{}.Choice()}, "handover", "handover: width"},
		{"a design leaves nothing to bend", definition.Policy{Trust: cobol.COBOHL{}.Choice(), Next: next.Sobol{}.Choice()}, "trust", "next: lognei"},
		{"a stated belief", definition.Policy{Trust: cobol.COBOL{Settings: stated}.Choice()}, "", ""},
		{"a stated belief that is asked for", definition.Policy{Trust: cobol.COBOL{Settings: stated}.Choice(), Handover: cobol.Width{}.Choice()},
			"handover", "handover: never"},
		{"hcei", definition.Policy{Trust: cobol.HCEI{}.Choice()}, "", ""},
		{"hcei by another rule", definition.Policy{Trust: cobol.HCEI{}.Choice(), Next: next.LCB{}.Choice()}, "next", "next: logei"},
	} {
		def, trust, _ := completed(t, c.policy)
		faults := builtin.Registry().Methods.Check(&def, policies.Trust, trust, definition.At("policy", "trust"))
		if c.at == "" {
			if len(faults) != 0 {
				t.Errorf("%s: %+v", c.name, faults)
			}
			continue
		}
		if len(faults) != 1 || faults[0].At.String() != definition.At("policy", c.at).String() || !strings.Contains(faults[0].Remedy, c.remedy) {
			t.Errorf("%s: %+v, want one at policy.%s: %s", c.name, faults, c.at, c.remedy)
		}
	}
	def, _, handover := completed(t, definition.Policy{Trust: definition.NewChoice(policies.None, nil), Handover: cobol.Width{}.Choice()})
	if faults := builtin.Registry().Methods.Check(&def, policies.Handover, handover, definition.At("policy", "handover")); len(faults) != 1 {
		t.Errorf("nobody's belief is read, and it asks where it is wide: %+v", faults)
	}
}
