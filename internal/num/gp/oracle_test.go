package gp

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestOracle compares with values computed independently, at 40 digits in part: posterior and log
// marginal likelihood to 1e-9 absolute, gradients to 1e-7 relative, the tolerances the file states.
func TestOracle(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "oracles", "a_exact_gp.json"))
	if err != nil {
		t.Skip("the oracle file lies outside the repository and is not here: ", err)
	}
	var o struct {
		Inputs struct {
			X, Xs           [][]float64
			Y, Ell          []float64
			S2, Noise, Mean float64
		}
		Results map[string]struct {
			PostMean []float64   `json:"post_mean"`
			PostVar  []float64   `json:"post_var_latent"`
			PostCov  [][]float64 `json:"post_cov"`
			LML      float64
			GradLML  []float64   `json:"grad_lml"`
			DmeanDx  [][]float64 `json:"dmean_dx"`
			DstdDx   [][]float64 `json:"dstd_dx"`
		}
	}
	must.Do(t, json.Unmarshal(raw, &o))
	in := o.Inputs
	h := Hyper{Lengthscales: in.Ell, OutputScale: in.S2, Noise: in.Noise, Mean: in.Mean}
	data := Data{X: in.X, Y: in.Y}
	for name, want := range o.Results {
		t.Run(name, func(t *testing.T) {
			abs := func(what string, got, want, tol float64) {
				t.Helper()
				if !(math.Abs(got-want) <= tol) {
					t.Errorf("%s = %.17g, want %.17g", what, got, want)
				}
			}
			g := must.Get(New(data, name, h))(t)
			p, joint := g.NewPredictor(), g.Joint(in.Xs)
			dmean, dsd := make([]float64, g.Dim()), make([]float64, g.Dim())
			for i, x := range in.Xs {
				mean, sd := p.Posterior(x)
				abs("mean", mean, want.PostMean[i], 1e-9)
				abs("variance", sd*sd, want.PostVar[i], 1e-9)
				mean, sd = p.PosteriorGrad(x, dmean, dsd)
				abs("mean", mean, want.PostMean[i], 1e-9)
				abs("variance", sd*sd, want.PostVar[i], 1e-9)
				for j := range dmean {
					abs("∂mean/∂x", dmean[j], want.DmeanDx[i][j], 1e-7*math.Abs(want.DmeanDx[i][j]))
					abs("∂sd/∂x", dsd[j], want.DstdDx[i][j], 1e-7*math.Abs(want.DstdDx[i][j]))
				}
				abs("joint mean", joint.Mean[i], want.PostMean[i], 1e-9)
				for k := range in.Xs {
					abs("covariance", joint.Cov[i*len(in.Xs)+k], want.PostCov[i][k], 1e-9)
				}
			}
			abs("log marginal likelihood", g.LogMarginal(), want.LML, 1e-9)
			grad := make([]float64, g.Dim()+3)
			lml := must.Get(LogMarginal(data, name, h, grad))(t)
			abs("log marginal likelihood", lml, want.LML, 1e-9)
			for j, v := range grad {
				abs("∂lml/∂θ", v, want.GradLML[j], 1e-7*math.Abs(want.GradLML[j]))
			}
		})
	}
}
