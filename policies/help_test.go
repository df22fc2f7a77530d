package policies_test

import (
	"math"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what people are shown as trust is what the decisions went by, the
// probability that the labels help: it begins at a third, rises for an expert who is right,
// and falls for one who is wrong throughout, whatever their belief weighs.
func TestHelps(t *testing.T) {
	for name, accuracy := range map[string]float64{"right": 3, "wrong": -3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := must.Get(studytest.Define("electrolyte", 5, 24, studytest.WithExpert(accuracy)))(t)
			log := memlog.New()
			must.Get(studytest.Simulate(t.Context(), log, def))(t)
			core, compared := engine.NewCore(builtin.Registry()), 0
			for e, err := range log.Read(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if payload, _ := events.Decode(e); e.Kind == events.KindDecisionMade {
					for _, test := range payload.(*events.DecisionMade).Tests {
						if strings.HasPrefix(test.Name, "trust: probability that") {
							compared++
							helps, err := engine.Helps(t.Context(), core.At(engine.World{}))
							if err != nil || len(helps) != 1 || math.Abs(helps[0].Helps-test.Left) > 1e-9 {
								t.Errorf("%s went by %v, and %v is shown", payload.(*events.DecisionMade).Decision, test.Left, helps)
							}
						}
					}
				}
				must.Do(t, core.Apply(e))
			}
			summary, err := core.Summarize(t.Context())
			if err != nil || len(summary.Helps) != 1 || compared == 0 {
				t.Fatal(summary, err, compared)
			}
			h := summary.Helps[0]
			if h.Expert != "ada" || h.Labels == 0 || (accuracy > 0) != (h.Helps > 0.6) || (accuracy < 0) != (h.Misleads > 0.6) {
				t.Errorf("of the expert who is %s it is said %+v", name, h)
			}
		})
	}
	h := newHall(t, "cobol", 1, companies["nobody can tell"])
	helps, err := engine.Helps(t.Context(), h.runs(t).At(engine.World{}))
	if err != nil || len(helps) != 1 || helps[0].Labels != 0 || math.Abs(helps[0].Helps-1./3) > 1e-12 {
		t.Errorf("of an expert who has said nothing it is said %+v", helps)
	}
}
