package diagnose

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// replicated is a bench with compositions measured once and three times.
func replicated(t testing.TB) *bench {
	def, truth := electrolyte(t, 3)
	b := newBench(t, def)
	p := b.points(10)
	p = append(p, p[0], p[4], p[0])
	return b.measure(p, func(i int, p definition.Point) float64 { return truth(p) + 0.1*float64(i%3) }).fit(nil)
}

// A row is a composition with all its repetitions, measured at their mean, and R²
// is that of its definition.
func TestRows(t *testing.T) {
	v := replicated(t).view()
	check, err := leaveOneOut(t.Context(), v.Campaign.Definition, v.Objective())
	if err != nil || len(check.Rows) != 10 {
		t.Fatalf("%d rows, %v", len(check.Rows), err)
	}
	first := check.Rows[0]
	if !slices.Equal(first.Experiments, []string{"e1", "e11", "e13"}) ||
		!slices.Equal(check.Rows[4].Experiments, []string{"e5", "e12"}) {
		t.Errorf("the rows hold %v and %v", first.Experiments, check.Rows[4].Experiments)
	}
	mean := 0.0
	for _, o := range v.Objective().Observations {
		if slices.Contains(first.Experiments, o.Experiment) {
			mean += o.Value / 3
		}
	}
	if math.Abs(first.Measured-mean) > 1e-9 {
		t.Errorf("the first row was measured at %v, the mean is %v", first.Measured, mean)
	}
	residual, total, average := 0.0, 0.0, 0.0
	for _, r := range check.Rows {
		average += r.Measured / 10
	}
	for _, r := range check.Rows {
		residual += (r.Measured - r.Predicted) * (r.Measured - r.Predicted)
		total += (r.Measured - average) * (r.Measured - average)
	}
	if math.Abs(*check.R2-(1-residual/total)) > 1e-9 {
		t.Errorf("R² = %v, want %v", *check.R2, 1-residual/total)
	}
}

// Each composition is predicted as a model made without it, at hyperparameters
// fitted without its tenth, predicts it: by brute force. Where people are told how sure the model is for hyperparameters
// that are not known, that is what is checked.
func TestBlindIsBruteForce(t *testing.T) {
	for _, intervals := range []string{"", definition.IntervalsFitted, definition.IntervalsMarginal} {
		v := replicated(t).view()
		m, def := v.Objective(), v.Campaign.Definition
		def.Model.Intervals = intervals
		check, err := leaveOneOut(t.Context(), def, m)
		if err != nil || !check.Refitted {
			t.Fatal(err)
		}
		all, rows := sampleOf(def, m), rowsOf(m)
		for i, row := range check.Rows {
			var part, own []int
			for k, r := range rows {
				if r%folds == i%folds {
					part = append(part, k)
				}
				if r == i {
					own = append(own, k)
				}
			}
			fitted := must.Get(all.without(part).fit(t.Context(), def.Model, m.Fit))(t)
			predict := func(h gp.Hyper) (mean, variance float64) {
				rest := must.Get(gp.New(fitted.data(all.without(own)), def.Model.Kernel, h))(t)
				mean, sd := rest.Posterior(m.X[own[0]])
				return mean, sd*sd + h.Noise/float64(len(own))
			}
			mean, variance := predict(fitted.gp.Hyper())
			if intervals == definition.IntervalsMarginal {
				around, err := gp.Around(t.Context(), fitted.data(all.without(part)), gp.FitConfig{}, fitted.gp.Hyper())
				if err != nil || len(around) != 8 {
					t.Fatal(len(around), err)
				}
				variance = 0
				for _, h := range around {
					there, spread := predict(h)
					variance += (spread + (there-mean)*(there-mean)) / 8
				}
				variance *= 1 + 5./float64(len(check.Rows)) // four hyperparameters and the mean
			}
			sd := fitted.scale * math.Sqrt(variance)
			if mean = fitted.shift + fitted.scale*mean; math.Abs(mean-row.Predicted) > 1e-6 || math.Abs(sd-row.SD) > 1e-6 {
				t.Errorf("%q: row %d is predicted %v ± %v, by brute force %v ± %v", intervals, i, row.Predicted, row.SD, mean, sd)
			}
		}
	}
}

// What is refitted starts from the very model of the campaign: its observations
// with their noise, declared, known to the instrument, or inferred.
func TestSampleIsTheModels(t *testing.T) {
	for _, noise := range []*float64{nil, pointer(0.3), pointer(0.0)} {
		def, truth := electrolyte(t, 3)
		def.Objective.Noise, def.Model.Intervals = noise, definition.IntervalsFitted
		b := newBench(t, def)
		v := b.measure(b.points(12), func(_ int, p definition.Point) float64 { return truth(p) }).fit(nil).view()
		f := v.Objective().Fit
		data := refit{shift: f.Shift, scale: f.Scale}.data(sampleOf(v.Campaign.Definition, v.Objective()))
		g := must.Get(gp.New(data, f.Kernel, gp.Hyper{
			Lengthscales: f.Lengthscales,
			OutputScale:  f.OutputScale,
			Noise:        f.Noise,
			Mean:         -f.Mean,
		}))(t)
		_, mean, sd := g.LeaveOneOut()
		left := leftOutOf(v.Objective())
		for i, row := range left.seen(v.Objective()).Rows {
			if got := f.Shift + f.Scale*mean[i]; math.Abs(got-row.Predicted) > 1e-9 ||
				math.Abs(f.Scale*sd[i]-row.SD) > 1e-9 {
				t.Errorf("row %d is %v ± %v in the model, %v ± %v here", i, row.Predicted, row.SD, got, f.Scale*sd[i])
			}
		}
	}
}

// The expected counts of a coverage hold with at least 95 % probability, and no
// narrower range around them does on either side.
func TestCoverage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &LeaveOneOut{}
		for range rapid.IntRange(3, 60).Draw(t, "rows") {
			l.Rows = append(l.Rows, Row{Z: rapid.Float64Range(-4, 4).Draw(t, "z")})
		}
		nominal := rapid.Float64Range(0.05, 0.95).Draw(t, "nominal")
		c := l.CoverageAt(nominal)
		n := len(l.Rows)
		pmf := make([]float64, n+1) // by the recursion of the definition
		for k := range pmf {
			pmf[k] = math.Exp(lchoose(n, k) + float64(k)*math.Log(nominal) + float64(n-k)*math.Log(1-nominal))
		}
		sum := func(from, to int) (s float64) {
			for k := max(from, 0); k <= min(to, n); k++ {
				s += pmf[k]
			}
			return s
		}
		if sum(c.Low, c.High) < 0.95-1e-9 || sum(0, c.Low) < 0.025-1e-9 || sum(c.High+1, n) > 0.025+1e-9 {
			t.Fatalf("%d to %d of %d are expected at %v, which has %v", c.Low, c.High, n, nominal, sum(c.Low, c.High))
		}
		if math.Abs(c.Fewer-sum(0, c.Within)) > 1e-9 || math.Abs(c.More-sum(c.Within, n)) > 1e-9 {
			t.Fatalf("%+v: the tails are %v and %v", c, sum(0, c.Within), sum(c.Within, n))
		}
	})
}

func lchoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// The rank correlation is that of the definition where no values are equal, 1
// for any increasing function and −1 for any decreasing one.
func TestRankCorrelation(t *testing.T) {
	x := []float64{3, 1, 4, 1.5, 9, 2.6}
	up, down := make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		up[i], down[i] = math.Exp(v), -v*v*v
	}
	if r := rankCorrelation(x, up); math.Abs(*r-1) > 1e-12 {
		t.Errorf("increasing: %v", *r)
	}
	if r := rankCorrelation(x, down); math.Abs(*r+1) > 1e-12 {
		t.Errorf("decreasing: %v", *r)
	}
	// 1 − 6Σd²/(n(n²−1)) of the ranks 1 2 3 4 5 and 2 1 4 3 5: Σd² = 4.
	if r := rankCorrelation([]float64{1, 2, 3, 4, 5}, []float64{2, 1, 4, 3, 5}); math.Abs(*r-0.8) > 1e-12 {
		t.Errorf("two exchanges: %v, want 0.8", *r)
	}
	if got := ranks([]float64{7, 7, 1}); !slices.Equal(got, []float64{1.5, 1.5, 0}) {
		t.Errorf("the ranks of 7 7 1 are %v", got)
	}
	if rankCorrelation(x, make([]float64, len(x))) != nil {
		t.Error("equal values have a rank correlation")
	}
}
