package pref

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestLaplaceOracle compares with values computed independently in all three cases: the mode, the
// predictive distribution and the evidence to 1e-8 absolute, the evidence's gradient to 1e-5, the
// tolerances the file states.
func TestLaplaceOracle(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "oracles", "b_laplace_pref_gp.json"))
	if err != nil {
		t.Skip("the oracle file lies outside the repository and is not here: ", err)
	}
	var o struct {
		Inputs struct {
			Points     [][]float64
			TestPoints [][]float64 `json:"test_points"`
			Winner     []int       `json:"winner_idx"`
			Loser      []int       `json:"loser_idx"`
			Ell        []float64
			S2, SN2    float64
			Sig2       []float64
		}
		Results map[string]struct {
			Mode  []float64   `json:"f_map"`
			Mean  []float64   `json:"post_mean"`
			Var   []float64   `json:"post_var"`
			Cov   [][]float64 `json:"post_cov"`
			LogZ  float64     `json:"logZ_laplace"`
			DLogZ []float64   `json:"dlogZ_dlog_ell1_ell2_s2"`
		}
	}
	must.Do(t, json.Unmarshal(raw, &o))
	in := o.Inputs
	k := must.Get(kernel.New("rbf", in.Ell, in.S2))(t)
	constant := make([]float64, len(in.Points))
	for i := range constant {
		constant[i] = in.SN2
	}
	for _, c := range []struct {
		name  string
		link  Link
		noise []float64
	}{
		{"probit_homo", Probit, constant}, {"probit_hetero", Probit, in.Sig2}, {"logistic_hetero", Logistic, in.Sig2},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := o.Results[c.name]
			near := func(what string, got, want, tol float64) {
				t.Helper()
				if !(math.Abs(got-want) <= tol) {
					t.Errorf("%s = %.17g, want %.17g", what, got, want)
				}
			}
			duels := Duels{X: in.Points, Winner: in.Winner, Loser: in.Loser, Noise: c.noise}
			res := must.Get(Laplace(context.Background(), duels, c.link, k, LaplaceConfig{}))(t)
			for i, f := range res.Mode {
				near("mode", f, want.Mode[i], 1e-8)
			}
			near("log evidence", res.LogEvidence, want.LogZ, 1e-8)
			p, joint := res.Posterior.NewPredictor(), res.Posterior.Joint(in.TestPoints)
			for i, x := range in.TestPoints {
				mean, sd := p.Posterior(x)
				near("mean", mean, want.Mean[i], 1e-8)
				near("variance", sd*sd, want.Var[i], 1e-8)
				for j, y := range in.TestPoints {
					near("joint covariance", joint.Cov[i*len(in.TestPoints)+j], want.Cov[i][j], 1e-8)
					m := p.Pair(x, y)
					near("mean of a pair", m.MeanY, want.Mean[j], 1e-8)
					near("covariance of a pair", m.Cov, want.Cov[i][j], 1e-8)
				}
			}
			grad := make([]float64, 3)
			hyper := Hyper{Lengthscales: in.Ell, OutputScale: in.S2}
			value := must.Get(LogEvidence(context.Background(), duels, c.link, "rbf", hyper, grad))(t)
			near("log evidence", value, want.LogZ, 1e-8)
			for j, v := range grad {
				near("∂ log evidence", v, want.DLogZ[j], 1e-5)
			}
		})
	}
}
