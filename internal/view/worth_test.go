package view_test

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/answers"
)

// What an expert's answers are worth is said in words: in which direction they are taken, and of which kind where there
// are several.
func TestTrustInWords(t *testing.T) {
	said := view.TrustIn([]policies.Help{
		{Expert: "ada", Kind: "choices", Labels: 9, Helps: 0.7, Misleads: 0.1, Worth: 0.4},
		{Expert: "bo", Kind: "estimates", Labels: 20, Helps: 0.001, Misleads: 0.998, Worth: 0.65},
		{Expert: "bo", Kind: "choices", Labels: 3, Helps: 0.3, Misleads: 0.2, Worth: 0.05},
		{Expert: "cy", Helps: 0.4, Misleads: 0.1},
		{Expert: "dee", Kind: "marks", Labels: 5}, // all weight is on guessing
	}, nil)
	want := []string{
		"ada's word is worth 0.40 of a measurement: 70 % that it goes with the measurements",
		"bo's word in estimates is turned over, and then worth 0.65 of a measurement: over 99 % that it goes against the measurements",
		"bo's word in choices is worth 0.050 of a measurement: 50 % that it says nothing about measurements",
		"cy has judged nothing yet",
		"dee's word is worth 0 of a measurement: over 99 % that it says nothing about measurements",
	}
	if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A decision for which answers were measurements says what they are worth, what each model expects, and which of them
// moved it or that they did not; and where nobody is asked, why.
func TestDecisionByAnswers(t *testing.T) {
	def := must.Get(studytest.Define("branin", 4, 8, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy = definition.Policy{Trust: answers.Answers{}.Choice(), Handover: answers.Worth{Least: ptr(50.0)}.Choice()}
		def.Initial.Labels, def.Initial.Estimates = ptr(0), ptr(12)
		studytest.SimulatedExpert(def, 0, func(s *simulated.Settings) { s.Correlation = ptr(0.9) })
	}))(t)
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
	aided, named := 0, 0
	for i := range core.State().Decisions {
		d := must.Get(recordOf(t, log, core).Decision(t.Context(), log, events.DecisionID(i+1)))(t)
		if d.Decision.Action != events.ActionRun || d.Decision.Chosen != policies.Aided {
			continue
		}
		aided++
		var b strings.Builder
		must.Do(t, d.Write(&b, how))
		for _, want := range []string{"of a measurement: ", "(12 answers)", "with the experts' answers", "of the model that proposed it", "Nobody is asked: "} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s does not say %q:\n%s", d.Decision.Decision, want, b.String())
			}
		}
		if strings.Contains(b.String(), " of ada's q1 (") {
			named++
		}
	}
	if aided < 3 || named == 0 {
		t.Errorf("%d decisions follow answers, and %d say which", aided, named)
	}
	// What is predicted is said of both models. At what was measured, answers that agree with the objective leave less
	// unknown.
	predictor := must.Get(view.NewPredictor(t.Context(), core))(t)
	for _, x := range core.State().Experiments {
		p, err := predictor.Predict(t.Context(), x.Parameters)
		if err != nil || p.WithAnswers == nil || p.WithAnswers.SD > *p.SD || p.WithAnswers.Mean == *p.Mean {
			t.Errorf("at %s: %+v, %v", x.ID, p, err)
		}
		var b strings.Builder
		if err := view.WritePredictions(&b, core.State().Definition, []view.Prediction{p}); err != nil || !strings.Contains(b.String(), "with the answers") {
			t.Errorf("%v: %s", err, b.String())
		}
	}
	_, text := status(t, core, "")
	for _, want := range []string{"estimates    of 12 compositions", "with estimates right in ", "trust        ada's word is "} {
		if !strings.Contains(text, want) {
			t.Errorf("the status does not say %q:\n%s", want, text)
		}
	}
}
