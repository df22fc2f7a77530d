package dueling

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestOracle compares with minimizers and deviations computed independently: h to 1e-8 and σ to
// 1e-10, the tolerances that the file states. It has a repeated pair and a pair of a point with
// itself.
func TestOracle(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "oracles", "c_duelling_logistic.json"))
	if err != nil {
		t.Skip("the oracle file lies outside the repository and is not here: ", err)
	}
	type fitted struct {
		Alpha []float64
		HTest []float64 `json:"h_test"`
		PTest []float64 `json:"p_test"`
	}
	var o struct {
		Inputs struct {
			Z, T        [][2]float64
			Y           []float64
			Lam, Length float64
		}
		Results map[string]struct {
			RKHS      fitted    `json:"rkhs_sum"`
			ThetaSum  fitted    `json:"theta2_sum"`
			ThetaMean fitted    `json:"theta2_mean"`
			Sigma1    []float64 `json:"sigma_kappa1"`
			Sigma4    []float64 `json:"sigma_kappa4"`
			Sigma6    []float64 `json:"sigma_kappa6"`
		}
	}
	must.Do(t, json.Unmarshal(raw, &o))
	// The points of all pairs are the candidates.
	in := o.Inputs
	var points [][]float64
	index := map[float64]int{}
	at := func(x float64) int {
		i, ok := index[x]
		if !ok {
			i = len(points)
			index[x] = i
			points = append(points, []float64{x})
		}
		return i
	}
	var data []Comparison
	for i, z := range in.Z {
		data = append(data, Comparison{Pair: Pair{at(z[0]), at(z[1])}, Outcome: in.Y[i]})
	}
	var pairs []Pair
	for _, z := range in.T {
		pairs = append(pairs, Pair{at(z[0]), at(z[1])})
	}
	near := func(t *testing.T, what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s = %.17g, want %.17g", what, got, want)
		}
	}
	names := map[string]string{"se": "rbf", "matern52": "matern52", "matern32": "matern32"}
	if len(o.Results) != len(names) {
		t.Fatalf("the oracle has %d kernels, want %d", len(o.Results), len(names))
	}
	for name, want := range o.Results {
		k := must.Get(kernel.New(names[name], []float64{in.Length}, 1))(t)
		c := must.Get(NewCandidates(k, points))(t)
		for loss, want := range map[Loss]fitted{
			LossRKHS:     want.RKHS,
			LossThetaSum: want.ThetaSum,
			LossTheta:    want.ThetaMean,
		} {
			t.Run(fmt.Sprintf("%s/%s", name, loss), func(t *testing.T) {
				m := must.Get(Fit(context.Background(), c, data, loss, in.Lam))(t)
				for i, p := range pairs {
					near(t, "h", m.H(p.First, p.Second), want.HTest[i], 1e-8)
					near(t, "probability", m.Probability(p.First, p.Second), want.PTest[i], 1e-8)
				}
				for i := range data {
					near(t, "θ", m.Theta[i], want.Alpha[i], 1e-7)
				}
			})
		}
		for kappa, want := range map[float64][]float64{1: want.Sigma1, 4: want.Sigma4, 6: want.Sigma6} {
			t.Run(fmt.Sprintf("%s/κ=%v", name, kappa), func(t *testing.T) {
				v := must.Get(NewVariances(c, every(c), in.Lam*kappa))(t)
				for _, x := range data {
					v.Observe(x.Pair)
				}
				for i, p := range pairs {
					near(t, "σ", v.SD(p.First, p.Second), want[i], 1e-10)
				}
			})
		}
	}
}

func every(c *Candidates) []int {
	all := make([]int, c.Len())
	for i := range all {
		all[i] = i
	}
	return all
}
