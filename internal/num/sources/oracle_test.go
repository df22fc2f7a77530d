package sources

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var ctx = context.Background()

// oracle reads an oracle's file into v, or skips the test.
func oracle(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile("../../../../shared/oracles/" + name + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("oracle %s is not beside this checkout", name)
	} else if err != nil {
		t.Fatal(err)
	}
	must.Do(t, json.Unmarshal(data, v))
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.17g, want %.17g", what, got, want)
	}
}

// Oracle q: three correlated sources with missing values; means, covariances and evidence to 1e-9, the tolerance the
// file states.
func TestICMOracle(t *testing.T) {
	var o struct {
		Inputs struct {
			X     [][]float64
			Rows  [][2]int `json:"rows_point_quantity"`
			Y     []float64
			Ell   []float64
			W, B  [][]float64
			Noise []float64
			Mean  float64
			Xs    [][]float64
		}
		Results struct {
			Mean       []float64 `json:"mean_by_point_then_quantity"`
			Covariance [][]float64
			Evidence   float64 `json:"log_marginal_likelihood"`
		}
	}
	oracle(t, "q_icm", &o)
	in, want := o.Inputs, o.Results
	data := Data{Y: in.Y}
	for _, row := range in.Rows {
		data.X, data.Source = append(data.X, in.X[row[0]]), append(data.Source, float64(row[1]))
	}
	h := ICM{Lengthscales: in.Ell, Noise: in.Noise, Mean: in.Mean}
	for s, row := range in.W {
		h.W = append(h.W, row[:s+1])
	}
	for s, row := range h.B() {
		for u, v := range row {
			near(t, "B", v, in.B[s][u], 1e-12)
		}
	}
	value := must.Get(h.LogMarginal(ctx, data, nil))(t)
	near(t, "evidence", value, want.Evidence, 1e-9)
	g := must.Get(h.Posterior(ctx, data))(t)
	var points [][]float64
	for _, x := range in.Xs {
		for s := range in.Noise {
			points = append(points, Join(x, float64(s)))
		}
	}
	joint := g.Joint(points)
	if len(want.Mean) != len(points) {
		t.Fatalf("%d predictions in the file, %d here", len(want.Mean), len(points))
	}
	for i := range points {
		near(t, "mean", joint.Mean[i], want.Mean[i], 1e-9)
		for k := range points {
			near(t, "covariance", joint.Cov[i*len(points)+k], want.Covariance[i][k], 1e-9)
		}
		mean, sd := g.Posterior(points[i])
		near(t, "mean", mean, want.Mean[i], 1e-9)
		near(t, "variance", sd*sd, want.Covariance[i][i], 1e-9)
	}
}

// Oracle r: the posterior of fidelities to 1e-9 and information per cost to 1e-9 relative, the
// tolerances the file states.
func TestFidelityOracle(t *testing.T) {
	var o struct {
		Inputs struct {
			X                         [][]float64 `json:"X_with_fidelity"`
			Y, Ell                    []float64
			C, Delta, S2, Noise, Mean float64
			Set                       [][]float64 `json:"target_set"`
			Query                     [][]float64
		}
		Results struct {
			Mean        []float64
			Covariance  [][]float64
			Information []struct {
				X, Fidelity, Gain, Cost float64
				PerCost                 float64 `json:"log_gain_per_cost"`
			}
		}
	}
	oracle(t, "r_cost_fidelity", &o)
	in, want := o.Inputs, o.Results
	of := func(sign float64) *gp.GP {
		var data Data
		for i, x := range in.X {
			data.X, data.Source = append(data.X, x[:1]), append(data.Source, x[1])
			data.Y = append(data.Y, sign*in.Y[i])
		}
		g := must.Get(Fidelity{
			Lengthscales: in.Ell, OutputScale: in.S2, C: in.C, Delta: in.Delta, Noise: in.Noise, Mean: sign * in.Mean,
		}.Posterior(ctx, data))(t)
		return g
	}
	g := of(1)
	joint := g.Joint(in.Query)
	for i := range in.Query {
		near(t, "mean", joint.Mean[i], want.Mean[i], 1e-9)
		for j := range in.Query {
			near(t, "covariance", joint.Cov[i*len(in.Query)+j], want.Covariance[i][j], 1e-9)
		}
	}
	if len(want.Information) == 0 {
		t.Fatal("the oracle lacks cases")
	}
	for _, c := range want.Information {
		ways := []Way{{Source: c.Fidelity, Noise: in.Noise, Cost: c.Cost}}
		near(t, "information", math.Exp(LogInformation(g, []float64{c.X}, Target, ways)[0]), c.Gain, 1e-9*c.Gain)
		_, values := Choose(g, []float64{c.X}, Target, ways, 1)
		near(t, "information per cost", values[0], c.PerCost, 1e-9)
	}
}
