package bope

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Oracle p: utilities, EUBO of pairs to 1e-5 and EIUU of given normal values to 1e-4, the tolerances the file states.
// Its kernel has no linear part.
func TestOracle(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/oracles/p_preference.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle p_preference is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Inputs struct {
			Outcomes    [][]float64
			Comparisons [][2]int `json:"comparisons_winner_loser"`
			Ell         []float64
			S2          float64
			Yb          [][]float64
			ZUtility    [][]float64 `json:"z_utility"`
			Mu, SD      []float64
			ZOutcome    [][]float64 `json:"z_outcome"`
		}
		Results struct {
			Mode  []float64 `json:"f_map"`
			Pairs []struct {
				Y1, Y2, Mean []float64
				Cov          [][]float64
				EUBO         float64
			}
			Draws [][]float64 `json:"baseline_draws"`
			EIUU  float64
			Terms [][5]float64 `json:"eiuu_terms_r_s_mean_sd_ei"`
		}
	}
	must.Do(t, json.Unmarshal(data, &o))
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s is %.17g, want %.17g", what, got, want)
		}
	}
	in, want := o.Inputs, o.Results
	duels := pref.Duels{X: in.Outcomes, Noise: make([]float64, len(in.Outcomes))}
	for i := range duels.Noise {
		duels.Noise[i] = 1
	}
	for _, c := range in.Comparisons {
		duels.Winner, duels.Loser = append(duels.Winner, c[0]), append(duels.Loser, c[1])
	}
	k := must.Get(kernel.New("rbf", in.Ell, in.S2))(t)
	res := must.Get(pref.Laplace(context.Background(), duels, pref.Probit, k, pref.LaplaceConfig{}))(t)
	for i, f := range want.Mode {
		near("mode", res.Mode[i], f, 1e-5)
	}
	if len(want.Pairs) == 0 || len(want.Terms) != len(in.ZOutcome)*len(in.ZUtility) {
		t.Fatal("the oracle lacks cases")
	}
	for _, c := range want.Pairs {
		joint := res.Posterior.Joint([][]float64{c.Y1, c.Y2})
		pair, ok := BestPair(joint, nil)
		if !ok {
			t.Fatal("no pair")
		}
		near("EUBO", pair.EUBO, c.EUBO, 1e-5)
		near("gain", pair.Gain, c.EUBO-max(c.Mean[0], c.Mean[1]), 2e-5)
		for i := range 2 {
			near("mean", joint.Mean[i], c.Mean[i], 1e-5)
			for j := range 2 {
				near("covariance", joint.Cov[2*i+j], c.Cov[i][j], 1e-5)
			}
		}
	}

	e := must.Get(newEIUU(res.Posterior, in.Yb, in.ZUtility, in.ZOutcome))(t)
	near("EIUU", math.Exp(e.Log(in.Mu, in.SD)), want.EIUU, 1e-4)
	for _, term := range want.Terms {
		r, s := int(term[0]), int(term[1])
		means, sd := e.utility.Means(e.at(r, in.Mu, in.SD))
		near("mean of a term", means[s], term[2], 1e-4)
		near("sd of a term", sd, term[3], 1e-4)
		best := math.Inf(-1)
		for _, u := range want.Draws[s] {
			best = max(best, u)
		}
		near("a term", acquisition.UtilityEI(nil, means[s], sd, best, nil, nil), term[4], 1e-4)
	}
}
