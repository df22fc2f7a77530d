package preference_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/copeland"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the score of a composition is the chance to be preferred to another one of the
// space. Where the space is the whole cube it is integrated exactly: it is that against a
// fine grid of opponents. Where it is not, it is estimated, and no opponent lies outside.
// 256 compositions and their scores stand for the space.
func TestScoreIsAgainstTheSpace(t *testing.T) {
	whole, half, list := defined(t, "coexbo"), defined(t, "coexbo"), defined(t, "coexbo")
	half.Excluded = []definition.Region{{Name: "left", Where: map[string]definition.RegionSide{"a": {Max: ptr(0.5)}}}}
	list.Candidates = []definition.Point{at(0.9, 0.1), at(0.8, 0.9)}
	const n = 40
	var everywhere, right [][]float64 // the middles of small squares
	for i := range n {
		for j := range n {
			x := []float64{(float64(i) + 0.5) / n, (float64(j) + 0.5) / n}
			everywhere = append(everywhere, x)
			if x[0] > 0.5 {
				right = append(right, x)
			}
		}
	}
	lengthscales := []float64{0.4, 0.5}
	fit := events.PreferenceFit{
		Form: events.PreferenceChoice, Kernel: "rbf", Lengthscales: lengthscales, OutputScale: 2, AlphaEps: 0.1,
		Score:  &events.StageFit{Lengthscales: lengthscales, OutputScale: 0.1, Noise: 1e-3},
		Spread: &events.StageFit{Lengthscales: lengthscales, OutputScale: 0.01, Noise: 1e-3},
	}
	stage := func(s *events.StageFit) copeland.Hyper {
		return copeland.Hyper{Lengthscales: s.Lengthscales, OutputScale: s.OutputScale, Noise: s.Noise}
	}
	hyper := copeland.ModelHyper{Score: stage(fit.Score), Variance: stage(fit.Spread), Spread: copeland.Expected}
	for _, c := range []struct {
		name      string
		def       definition.Campaign
		opponents [][]float64
		within    float64
	}{
		{"the whole cube", whole, everywhere, 1e-4}, // the error of the grid
		{"half of it", half, right, 0.01},           // that of 256 compositions drawn at random
		{"a list", list, [][]float64{{0.9, 0.1}, {0.8, 0.9}}, 0.01},
	} {
		p := projection(t, "coexbo")
		for _, payload := range []events.Payload{
			&events.CampaignDefined{Definition: c.def},
			answered(1, "ada", []int{0, 1}), answered(2, "ada", []int{0, 1}), answered(4, "ada", []int{1, 0}), answered(7, "ada", []int{1, 0}),
			&events.ModelFitted{Model: events.ModelPreference, Expert: "ada", Preference: &fit},
		} {
			must.Do(t, p.Apply(events.Event{}, payload))
		}
		m, err := p.Model(t.Context(), "ada")
		if err != nil || m == nil {
			t.Fatal(m, err)
		}
		measure := must.Get(copeland.NewPoints(c.opponents, nil))(t)
		direct := must.Get(copeland.New(m.Choice, measure, hyper))(t)
		for i, x := range m.Sample {
			if got, _ := m.Score.NewPredictor().At(x, nil, nil); got != m.Sampled[i] {
				t.Errorf("%s: the score of the sampled %v is %v, kept as %v", c.name, x, got, m.Sampled[i])
			}
		}
		if len(m.Sample) != 256 || len(m.Sampled) != 256 {
			t.Errorf("%s: %d compositions stand for the space, with %d scores", c.name, len(m.Sample), len(m.Sampled))
		}
		for _, x := range [][]float64{{0.1, 0.2}, {0.5, 0.9}, {0.93, 0.4}, {0.8, 0.1}} {
			got, _ := m.Score.NewPredictor().At(x, nil, nil)
			want, _ := direct.NewPredictor().At(x, nil, nil)
			if !(math.Abs(got-want) <= c.within) {
				t.Errorf("%s: the score at %v is %v, against opponents in it %v", c.name, x, got, want)
			}
		}
	}
}
