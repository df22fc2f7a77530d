package pairgp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func readOracle(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := os.ReadFile("../../../../shared/oracles/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(name + " is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	must.Do(t, json.Unmarshal(raw, v))
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.15g, want %.15g (off by %.1e)", what, got, want, got-want)
	}
}

// Oracle k: the transformed labels, to its 1e-12.
func TestOracleLabels(t *testing.T) {
	var o struct {
		Inputs struct {
			Eps float64 `json:"alpha_eps"`
		}
		Results []struct {
			Label                 int
			Alpha, Sigma2, Target []float64
		}
	}
	readOracle(t, "k_dirichlet_labels.json", &o)
	for _, r := range o.Results {
		for class := range 2 {
			alpha, variance, target := Label(class == r.Label, o.Inputs.Eps)
			near(t, "α", alpha, r.Alpha[class], 1e-12)
			near(t, "variance", variance, r.Sigma2[class], 1e-12)
			near(t, "target", target, r.Target[class], 1e-12)
		}
	}
}

// Oracle e, block link: scores of a logistic preference between values of one Gaussian process,
// integrated over the opponent, to its 1e-8. It tests the closed forms of E[S(h)] and E[S(h)(1 −
// S(h))]. The probit column is the same with the link Φ, whose average is Φ(mean/√(1 + variance)).
func TestOracleLink(t *testing.T) {
	var o struct {
		Inputs struct {
			Link struct {
				Xf         [][]float64
				Yf         []float64
				Lf, Vf, Nf float64
				Xq         [][]float64
			}
		}
		Results struct {
			Link struct {
				Sigmoid   []float64 `json:"S_sigmoid"`
				Bernoulli []float64 `json:"S_g_times_1_minus_g"`
				Probit    []float64 `json:"S_probit"`
			}
		}
	}
	readOracle(t, "e_soft_copeland_bq.json", &o)
	in := o.Inputs.Link
	f := must.Get(gp.New(gp.Data{X: in.Xf, Y: in.Yf}, "rbf",
		gp.Hyper{Lengthscales: []float64{in.Lf}, OutputScale: in.Vf, Noise: in.Nf}))(t)
	for i, x := range in.Xq {
		// The integrand has a kink of the sd at x' = x: integrate on both sides of it.
		integral := func(value func(mean, variance float64) float64) float64 {
			inner := func(y float64) float64 {
				j := f.Joint([][]float64{x, {y}})
				return value(j.Mean[0]-j.Mean[1], max(j.Cov[0]+j.Cov[3]-2*j.Cov[1], 0))
			}
			return quad.Fixed(inner, 0, x[0], 60, nil, 0) + quad.Fixed(inner, x[0], 1, 60, nil, 0)
		}
		near(t, "logistic score", integral(func(m, v float64) float64 { p, _ := LogisticNormal(m, v); return p }),
			o.Results.Link.Sigmoid[i], 1e-8)
		near(t, "logistic spread", integral(func(m, v float64) float64 { _, b := LogisticNormal(m, v); return b }),
			o.Results.Link.Bernoulli[i], 1e-8)
		near(t, "probit score", integral(func(m, v float64) float64 { return special.NormalCDF(m / math.Sqrt(1+v)) }),
			o.Results.Link.Probit[i], 1e-8)
	}
}
