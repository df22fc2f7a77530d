package confset

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

type oracleBounds struct {
	Upper  []float64
	Lower  []float64
	MLEAtT []float64 `json:"mle_at_T"`
}

// Oracle d: B = 1, 2, 4 with margins 0.01 and 0.5, to its stated tolerances (ℓ 1e-9, Z 1e-6, bounds
// 1e-7).
func TestOracle(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/oracles/d_cobol_confidence_set.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle d is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Inputs struct {
			X, T        [][]float64
			Y, Ell      []float64
			Outputscale float64
			Jitter      float64
		}
		Results map[string]struct {
			LogLik float64   `json:"LL_max"`
			Z      []float64 `json:"Z_mle"`
			Mu     float64
			Narrow oracleBounds `json:"alpha1_0.01"`
			Wide   oracleBounds `json:"alpha1_0.5"`
		}
	}
	must.Do(t, json.Unmarshal(data, &oracle))
	in := oracle.Inputs
	k := must.Get(kernel.New("rbf", in.Ell, in.Outputscale))(t)
	labels := Labels{X: in.X}
	for _, y := range in.Y {
		labels.Reject = append(labels.Reject, y == 1)
	}
	near := func(what string, got, want, tol float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tol) {
			t.Errorf("%s = %.12g, want %.12g (off by %.1e)", what, got, want, got-want)
		}
	}
	for name, norm := range map[string]float64{"B1": 1, "B2": 2, "B4": 4} {
		want, ok := oracle.Results[name]
		if !ok {
			t.Fatalf("the oracle lacks %s", name)
		}
		fit := must.Get(MLE(labels, k, norm, in.Jitter))(t)
		near(name+" log-likelihood", fit.LogLik, want.LogLik, 1e-9)
		near(name+" multiplier", fit.Multiplier, want.Mu, 1e-6)
		for i := range want.Z {
			near(name+" Z", fit.Z[i], want.Z[i], 1e-6)
		}
		for alpha, bounds := range map[float64]oracleBounds{0.01: want.Narrow, 0.5: want.Wide} {
			set := must.Get(NewSet(labels, k, norm, alpha, in.Jitter))(t)
			for i, x := range in.T {
				lower, upper, err := set.Bounds(x)
				if err != nil {
					t.Errorf("%s, α₁ = %g, point %d: %v", name, alpha, i, err)
					continue
				}
				near(name+" lower", lower, bounds.Lower[i], 1e-7)
				near(name+" upper", upper, bounds.Upper[i], 1e-7)
				near(name+" MLE", set.MLEAt(x, nil), bounds.MLEAtT[i], 1e-6)
			}
		}
	}
}
