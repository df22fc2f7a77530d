package feasibility_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/feasibility"
)

// Law: a failure that a person excluded says nothing; a measurement counts where it
// was made, a failure where it was asked for. Both kinds of failure are counted.
func TestWhereAndWhatCounts(t *testing.T) {
	outcomes := map[campaign.ExperimentStatus][][2]float64{
		campaign.Measured: {{0.9, 0.9}}, campaign.Failed: {{0.2, 0.2}, {0.6, 0.1}}, campaign.Infeasible: {{0.5, 0.5}},
	}
	s, sp := square(t, outcomes)
	m, err := feasibility.New(t.Context(), s, sp)
	if err != nil || m.Failed != 2 || m.Infeasible != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	s.Experiments[1].Excluded = true // the failure at (0.2, 0.2)
	excluded, err := feasibility.New(t.Context(), s, sp)
	if err != nil || excluded.Failed != 1 || excluded.Infeasible != 1 {
		t.Fatalf("with a failure excluded: %+v, %v", excluded, err)
	}
	never := model(t, map[campaign.ExperimentStatus][][2]float64{campaign.Measured: {{0.9, 0.9}}, campaign.Failed: {{0.6, 0.1}}, campaign.Infeasible: {{0.5, 0.5}}})
	elsewhere, sp := square(t, map[campaign.ExperimentStatus][][2]float64{campaign.Measured: {{0.4, 0.6}}, campaign.Infeasible: {{0.5, 0.5}}})
	elsewhere.Experiments[0].Parameters, elsewhere.Experiments[1].Measurement = elsewhere.Experiments[1].Parameters, nil
	made := must.Get(feasibility.New(t.Context(), elsewhere, sp))(t)
	asked := model(t, map[campaign.ExperimentStatus][][2]float64{campaign.Measured: {{0.4, 0.6}}, campaign.Infeasible: {{0.5, 0.5}}})
	for _, x := range [][]float64{{0.2, 0.2}, {0.5, 0.5}, {0.4, 0.6}, {0.9, 0.1}} {
		if a, b := excluded.Probability(x), never.Probability(x); a != b {
			t.Errorf("at %v: %v with a failure excluded, %v without it", x, a, b)
		}
		if a, b := made.Probability(x), asked.Probability(x); a != b {
			t.Errorf("at %v: %v where it was made by a slip, %v where it was asked for", x, a, b)
		}
	}
}

// Law: one "can't" is an observation t = −(ψ-difference) of the log-odds by the
// moments of log-normal weights (Milios et al. 2018): with α_ε = 0.01 the variances
// are ln(1 + 1/1.01) and ln(1 + 1/0.01). P = S(μ/√(1 + π/8·σ²)) of the posterior of
// one observation; mirrored for a result, beside a failure far away.
func TestOneFailureByHand(t *testing.T) {
	const alpha, spread = 0.01, 9.0
	own, other := math.Log(1+1/(1+alpha)), math.Log(1+1/alpha)
	target := math.Log(1+alpha) - own/2 - (math.Log(alpha) - other/2)
	prior := math.Log(0.9/0.1) * math.Sqrt(1+math.Pi/8*spread)
	probability := func(noise float64) float64 {
		gain := spread / (spread + noise)
		mean, variance := prior+gain*(-target-prior), spread*(1-gain)
		return 1 / (1 + math.Exp(-mean/math.Sqrt(1+math.Pi/8*variance)))
	}
	at := [][2]float64{{0.3, 0.6}}
	for status, noise := range map[campaign.ExperimentStatus]float64{campaign.Infeasible: own + other, campaign.Failed: 4 * (own + other)} {
		got := model(t, map[campaign.ExperimentStatus][][2]float64{status: at}).Probability([]float64{0.3, 0.6})
		if want := probability(noise); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", status, got, want)
		}
	}
}

// Law: of many results those nearest to a failure count, 300 of them: what is far
// away changes nothing near a failure.
func TestTheNearestResultsCount(t *testing.T) {
	outcomes := map[campaign.ExperimentStatus][][2]float64{campaign.Infeasible: {{0, 0}}}
	for i := range 300 { // near the failure
		x := float64(i)
		outcomes[campaign.Measured] = append(outcomes[campaign.Measured], [2]float64{0.3 * math.Mod(0.618*x, 1), 0.3 * math.Mod(0.755*x, 1)})
	}
	few := model(t, outcomes)
	near := outcomes[campaign.Measured]
	outcomes[campaign.Measured] = nil
	for i := range 50 { // and far from it, measured first
		outcomes[campaign.Measured] = append(outcomes[campaign.Measured], [2]float64{0.8 + 0.004*float64(i), 0.9})
	}
	outcomes[campaign.Measured] = append(outcomes[campaign.Measured], near...)
	many := model(t, outcomes)
	for _, x := range [][]float64{{0.02, 0.02}, {0.2, 0.1}, {0.9, 0.9}} {
		if a, b := few.Probability(x), many.Probability(x); math.Abs(a-b) > 1e-9 {
			t.Errorf("at %v: %v of 300 results, %v of 350", x, a, b)
		}
	}
}
