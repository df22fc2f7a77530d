package diagnose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// A model of data that are really drawn from its prior is good, on ten seeds.
func TestCalibratedDataGiveGood(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		// Hardly conditioned on anything: a draw from the prior.
		prior, err := gp.New(gp.Data{X: [][]float64{{0, 0}}, Y: []float64{0}, NoiseVar: []float64{1e9}}, "rbf",
			gp.Hyper{Lengthscales: []float64{0.5, 0.5}, OutputScale: 1, Noise: 1})
		if err != nil {
			t.Fatal(err)
		}
		f := prior.Path(rng)
		b := newBench(t, box(2, seed+1))
		b.measure(b.points(50),
			func(_ int, p definition.Point) float64 { return 50 + 4*f(at(p), nil) + 0.4*rng.NormFloat64() }).fit(nil)
		d := b.diagnosis()
		if d.Verdict != Good || len(d.Outliers) > 0 {
			t.Errorf("seed %d: the verdict is %s: %+v", seed, d.Verdict, d.Findings)
		}
		if *d.LeaveOneOut.R2 < 0.8 || !d.LeaveOneOut.Refitted {
			t.Errorf("seed %d: R² is %v", seed, *d.LeaveOneOut.R2)
		}
	}
}

// A model of pure noise is never good, however many lengthscales there are to
// find patterns with, and is told apart by what it predicts badly.
func TestPureNoiseGivesDoubt(t *testing.T) {
	for _, test := range []struct{ d, n int }{{1, 50}, {2, 20}, {4, 50}} {
		doubted := 0
		for seed := range uint64(10) {
			rng := rand.New(rand.NewPCG(seed, 5))
			b := newBench(t, box(test.d, seed+1))
			b.measure(b.points(test.n),
				func(int, definition.Point) float64 { return 50 + 4*rng.NormFloat64() }).fit(nil)
			if d := b.diagnosis(); d.Verdict.Troubled() && (found(d, LowR2) != nil || found(d, AllNoise) != nil) {
				doubted++
			}
		}
		if doubted < 9 { // by chance, one in about twenty looks like something
			t.Errorf("%d measurements of noise over %d parameters: doubted on %d of 10 seeds", test.n, test.d, doubted)
		}
	}
}

// One silently wrong run (0.05 instead of some 12 mS/cm) is named, and
// nothing else is; without it nothing is named.
func TestWrongRunIsNamed(t *testing.T) {
	for _, declared := range []bool{true, false} {
		for seed := range uint64(8) {
			rng := rand.New(rand.NewPCG(seed, 7))
			def, truth := electrolyte(t, seed+1)
			if declared {
				def.Objective.Noise = pointer(0.27)
			}
			wrong := rng.IntN(20)
			var right float64
			values := func(spoil bool) func(int, definition.Point) float64 {
				noise := rand.New(rand.NewPCG(seed, 8))
				return func(i int, p definition.Point) float64 {
					y := truth(p) + 0.27*noise.NormFloat64()
					if i == wrong && spoil {
						right = y
						return 0.05
					}
					return y
				}
			}
			b := newBench(t, def)
			d := b.measure(b.points(20), values(true)).fit(nil).diagnosis()
			id := "e" + strconv.Itoa(wrong+1)
			if len(d.Outliers) != 1 || d.Outliers[0].Experiment != id ||
				d.Verdict != Doubtful && d.Verdict != Unusable {
				t.Errorf("declared %v, seed %d: the wrong run is %s, named are %+v, the verdict is %s",
					declared, seed, id, d.Outliers, d.Verdict)
				continue
			}
			if o := d.Outliers[0]; math.Abs(o.Predicted-right) > 4*o.SD {
				t.Errorf("declared %v, seed %d: the others predict %v ± %v, it would have been %v",
					declared, seed, o.Predicted, o.SD, right)
			}
			f := found(d, Contradiction)
			leftOut := func(r problem.Remedy) bool {
				return r.Action == problem.Correct && r.Subject == id &&
					slices.Equal(r.Ways, []string{problem.WayExclude})
			}
			if !slices.ContainsFunc(f.Remedies, leftOut) || !slices.Equal(f.Experiments, []string{id}) {
				t.Errorf("the finding is %+v", f)
			}
			if *d.WithoutOutliers < 0.7 {
				t.Errorf("declared %v, seed %d: without it R² is %v", declared, seed, *d.WithoutOutliers)
			}
			// Excluding it, as the finding says, settles the matter.
			b.submit(engine.Request{Correct: &engine.Correct{Experiment: id, Exclude: true, Reason: "rinse"}}).fit(nil)
			if d := b.diagnosis(); len(d.Outliers) != 0 {
				t.Errorf("declared %v, seed %d: after the exclusion %+v is named", declared, seed, d.Outliers)
			}
		}
	}
}

// Values over several decades are no outliers: the logarithm explains them.
func TestLogarithm(t *testing.T) {
	b := newBench(t, box(2, 1))
	b.measure(b.points(30),
		func(_ int, p definition.Point) float64 { x := at(p); return math.Exp(8*x[0] - 3*x[1]) }).fit(nil)
	d := b.diagnosis()
	if found(d, Logarithm) == nil || len(d.Outliers) > 0 {
		t.Errorf("the findings are %+v", d.Findings)
	}
}

// A campaign without a model, with too few compositions, and with a model that
// cannot be built each say so, with what comes next.
func TestNothingToJudge(t *testing.T) {
	b := newBench(t, box(2, 1))
	if d := b.diagnosis(); d.Verdict != Untested || found(d, NoModel) == nil ||
		d.Findings[0].Remedies[0].Action != problem.Suggest {
		t.Errorf("without a model: %s, %+v", d.Verdict, d.Findings)
	}
	b.measure(b.points(5), func(i int, _ definition.Point) float64 { return float64(i) }).fit(nil)
	if d := b.diagnosis(); d.Verdict != Untested ||
		!strings.Contains(d.Findings[0].Next, "before there are 6 compositions") {
		t.Errorf("with 5 compositions: %s, %+v", d.Verdict, d.Findings)
	}
	b.fit(func(f *events.ObjectiveFit) { f.Noise = -1 })
	v := b.view()
	if d := diagnosis(t, v); v.ObjectiveError() == nil || d.Verdict != Unusable || d.Fit != nil ||
		found(d, BrokenModel) == nil {
		t.Errorf("with a broken model: %s, %+v", d.Verdict, d.Findings)
	}
}

// Equal measurements are nothing to model.
func TestEqualMeasurements(t *testing.T) {
	b := newBench(t, box(2, 1))
	d := b.measure(b.points(12), func(int, definition.Point) float64 { return 9 }).fit(nil).diagnosis()
	if d.Verdict != Unusable || found(d, EqualValues) == nil || d.LeaveOneOut.R2 != nil {
		t.Errorf("%s, %+v", d.Verdict, d.Findings)
	}
}

// A fit away from its maximum, and one older than the measurements, are told apart.
func TestFit(t *testing.T) {
	truth := func(_ int, p definition.Point) float64 { x := at(p); return math.Sin(5*x[0]) + x[1]*x[1] }
	made := func(change func(*events.ObjectiveFit)) *bench {
		b := newBench(t, box(2, 1))
		return b.measure(b.points(20), truth).fit(change)
	}
	b := made(nil)
	d := b.diagnosis()
	if d.Fit.Stale || d.Fit.Slope == nil || *d.Fit.Slope > 0.05 || found(d, NotConverged) != nil {
		t.Errorf("a fit of the engine: %+v", d.Fit)
	}
	if d := b.measure(b.points(21)[20:], truth).diagnosis(); !d.Fit.Stale || found(d, Stale) == nil ||
		!strings.Contains(found(d, Stale).Text, "1 measurement came") {
		t.Errorf("after another measurement: %+v, %+v", d.Fit, found(d, Stale))
	}
	spoil := func(f *events.ObjectiveFit) { f.Lengthscales = []float64{0.05, 3} }
	b = made(spoil)
	if d := b.diagnosis(); !d.Fit.Stale {
		t.Error("the recorded density is that of other hyperparameters, and nobody sees it")
	}
	density, _, ok := density(&b.def, b.view().Objective())
	if !ok {
		t.Fatal("no density")
	}
	d = made(func(f *events.ObjectiveFit) { spoil(f); f.LogPosterior = density }).diagnosis()
	if d.Fit.Stale || found(d, NotConverged) == nil {
		t.Errorf("a fit that ended early: %+v", d.Fit)
	}
}

// Repetitions that scatter more than the noise that was declared are named,
// those that agree with it are not.
func TestRepetitions(t *testing.T) {
	for _, sd := range []float64{0.2, 2} {
		def := box(1, 1)
		def.Objective.Noise = pointer(0.2)
		b := newBench(t, def)
		rng := rand.New(rand.NewPCG(1, 9))
		d := b.measure(slices.Concat(b.points(8), b.points(8)),
			func(_ int, p definition.Point) float64 { return 10*at(p)[0] + sd*rng.NormFloat64() }).fit(nil).diagnosis()
		r := d.Noise.Replicates
		if r.Freedom != 8 || !(r.Lower < sd && sd < r.Upper) || d.Noise.Source != NoiseDeclared {
			t.Errorf("sd %v: the noise is %+v, %+v", sd, d.Noise, r)
		}
		if f := found(d, Scatter); (f != nil) != (sd > 1) ||
			f != nil && (f.Level != Doubtful || !slices.Equal(f.Experiments, r.Widest[:])) {
			t.Errorf("sd %v: the finding is %+v", sd, f)
		}
	}
}

// Lengthscales are in the parameter's unit, and a parameter that does nothing
// is said to do nothing.
func TestParameters(t *testing.T) {
	b := newBench(t, box(2, 1))
	rng := rand.New(rand.NewPCG(1, 9))
	v := b.measure(b.points(40),
		func(_ int, p definition.Point) float64 { return math.Sin(6*at(p)[0]) + 0.05*rng.NormFloat64() }).fit(nil).view()
	d := diagnosis(t, v)
	x1, x2 := d.Parameters[0], d.Parameters[1]
	if x1.Reading != ReadingBends || *x1.Lengthscale != 10*v.Objective().Fit.Lengthscales[0] ||
		math.Abs(*x1.Effect-2) > 0.2 {
		t.Errorf("x1 is read as %+v", x1)
	}
	if x2.Reading != ReadingNone && x2.Reading != ReadingTrend || *x2.Effect > 0.1 {
		t.Errorf("x2 is read as %+v", x2)
	}
}

// Equal logs give equal diagnoses, byte for byte, and a diagnosis that is
// cancelled is an error.
func TestOf(t *testing.T) {
	made := func() *bench {
		def, truth := electrolyte(t, 1)
		b := newBench(t, def)
		return b.measure(b.points(15), func(_ int, p definition.Point) float64 { return truth(p) }).fit(nil)
	}
	first := must.Get(json.Marshal(made().diagnosis()))(t)
	second, err := json.Marshal(made().diagnosis())
	if err != nil || string(first) != string(second) {
		t.Errorf("two diagnoses of equal logs differ, %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, made().view()); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled diagnosis ends with %v", err)
	}
}

// BenchmarkOf is a whole diagnosis, as in status, of campaigns on the
// electrolyte with one wrong run among their measurements.
func BenchmarkOf(b *testing.B) {
	for _, n := range []int{25, 50, 100, 120, 150, 200, 400} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			def, truth := electrolyte(b, 1)
			c := newBench(b, def)
			rng := rand.New(rand.NewPCG(1, 1))
			v := c.measure(c.points(n), func(i int, p definition.Point) float64 {
				if i == 7 {
					return 0.05
				}
				return truth(p) + 0.27*rng.NormFloat64()
			}).fit(nil).view()
			for b.Loop() {
				must.Get(Run(b.Context(), v))(b)
			}
		})
	}
}
