package acquisition

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func relative(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

// Oracle h, to 1e-12 relative. Its EI is for maximization: negating mean and best turns it into
// ours.
func TestOracle(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/oracles/h_eubo_ei_logei.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle h is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Results struct {
			Eubo []struct{ M1, M2, V1, V2, Cov, Lam1, Lam2, Alpha, Eubo, Raeubo float64 }
			EI   []struct {
				Mu, Sigma, Best, EI float64
				LogEI               float64 `json:"log_ei"`
			}
		}
	}
	must.Do(t, json.Unmarshal(data, &oracle))
	if len(oracle.Results.EI) == 0 || len(oracle.Results.Eubo) == 0 {
		t.Fatal("the oracle holds no case")
	}
	for _, c := range oracle.Results.EI {
		relative(t, "EI", EI(nil, -c.Mu, c.Sigma, -c.Best, nil, nil), c.EI)
		relative(t, "log EI", LogEI(nil, -c.Mu, c.Sigma, -c.Best, nil, nil), c.LogEI)
	}
	for _, c := range oracle.Results.Eubo {
		v, _ := EUBO(c.M1, c.M2, c.V1, c.V2, c.Cov)
		relative(t, "EUBO", v, c.Eubo)
		// RAEUBO is EUBO of means that are lowered by the expert's own unreliability.
		v, _ = EUBO(c.M1-c.Alpha*c.Lam1, c.M2-c.Alpha*c.Lam2, c.V1, c.V2, c.Cov)
		relative(t, "RAEUBO", v, c.Raeubo)
	}
}

// Gradients agree with central differences, for a mean and sd that are linear in the design.
func TestGradients(t *testing.T) {
	type acquire = func(dst []float64, mean, sd float64, dMean, dSD []float64) float64
	for name, f := range map[string]acquire{
		"UCB": func(d []float64, m, s float64, dm, ds []float64) float64 { return UCB(d, m, s, 1.3, dm, ds) },
		"EI": func(d []float64, m, s float64, dm, ds []float64) float64 {
			return EI(d, m, s, 0.2, dm, ds)
		},
		"LogEI": func(d []float64, m, s float64, dm, ds []float64) float64 {
			return LogEI(d, m, s, 0.2, dm, ds)
		},
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			mean := rapid.Float64Range(-3, 3).Draw(t, "mean")
			sd := rapid.Float64Range(0.05, 2).Draw(t, "sd")
			dMean := []float64{rapid.Float64Range(-1, 1).Draw(t, "dMean"), 1}
			dSD := []float64{rapid.Float64Range(-1, 1).Draw(t, "dSD"), 0}
			got := make([]float64, 2)
			f(got, mean, sd, dMean, dSD)
			for j := range got {
				const h = 1e-5
				up := f(nil, mean+h*dMean[j], sd+h*dSD[j], nil, nil)
				down := f(nil, mean-h*dMean[j], sd-h*dSD[j], nil, nil)
				want := (up - down) / (2 * h)
				if math.Abs(got[j]-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("gradient %v, differences %v", got[j], want)
				}
			}
		}))
	}
}

// The expected maximum is symmetric, at least the larger mean, and its partials agree with
// differences.
func TestEUBO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m1, m2 := rapid.Float64Range(-3, 3).Draw(t, "m1"), rapid.Float64Range(-3, 3).Draw(t, "m2")
		s := rapid.Float64Range(0.1, 2).Draw(t, "s")
		v, p := EUBO(m1, m2, s*s, 0, 0)
		w, _ := EUBO(m2, m1, 0, s*s, 0)
		if v != w {
			t.Fatalf("not symmetric: %v, %v", v, w)
		}
		if v < math.Max(m1, m2) {
			t.Fatalf("E max = %v below the larger mean of %v, %v", v, m1, m2)
		}
		const h = 1e-5
		diff := func(a, b, c float64) float64 {
			up, _ := EUBO(m1+a*h, m2+b*h, (s+c*h)*(s+c*h), 0, 0)
			down, _ := EUBO(m1-a*h, m2-b*h, (s-c*h)*(s-c*h), 0, 0)
			return (up - down) / (2 * h)
		}
		for _, c := range [][2]float64{{p.Mean1, diff(1, 0, 0)}, {p.Mean2, diff(0, 1, 0)}, {p.SD, diff(0, 0, 1)}} {
			if math.Abs(c[0]-c[1]) > 1e-7 {
				t.Fatalf("partials %+v, differences %v", p, c[1])
			}
		}
	})
}

// Where nothing is uncertain the acquisitions are the plain values, not NaN.
func TestNoUncertainty(t *testing.T) {
	grad := []float64{math.NaN()}
	one := []float64{1}
	if v := EI(grad, 1, 0, 3, one, one); v != 2 || grad[0] != -1 {
		t.Errorf("EI = %v, gradient %v", v, grad)
	}
	if v := LogEI(grad, 3, 0, 1, one, one); !math.IsInf(v, -1) || grad[0] != 0 {
		t.Errorf("LogEI = %v, gradient %v", v, grad)
	}
	if v, p := EUBO(1, 1, 0.5, 0.5, 0.5); v != 1 || p.Mean1+p.Mean2 != 1 {
		t.Errorf("EUBO = %v, %+v", v, p)
	}
}

// Lemma 3.1 by hand: B = 1, σ = 1e-4, γ = 7, δ = 0.01 gives 1 + 1e-4·√(2(8 + ln 200)).
func TestBeta(t *testing.T) {
	relative(t, "β", Beta(1, 1e-4, 7, 0.01), 1+1e-4*math.Sqrt(2*(8+5.298317366548036)))
}

func TestGrowingBeta(t *testing.T) {
	if got, want := GrowingBeta(4, 7), 0.2*4*4.0; math.Abs(got-want) > 1e-14 {
		t.Errorf("β = %v, want %v", got, want)
	}
}
