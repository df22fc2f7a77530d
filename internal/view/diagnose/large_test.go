package diagnose

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/quantity"
)

// wavy is a function with noise.
func wavy(i int, p definition.Point) float64 {
	x := at(p)
	return math.Sin(6*x[0]) + x[1]*x[1] + 0.1*rand.New(rand.NewPCG(1, uint64(i))).NormFloat64()
}

// many is a campaign of so many measurements, fitted.
func many(t testing.TB, n int) policies.View {
	t.Helper()
	b := newBench(t, box(2, 1))
	return b.measure(b.points(n), wavy).fit(nil).view()
}

// Law: of an approximate model a sample of the compositions is left out, each as the
// process says, and the output says of how many it is drawn; its R² is that of all within
// a few hundredths. The fit is judged by the observations that it maximized, so that it is
// not stale while they are all there. No matrix of all observations is made.
func TestLargeIsSampled(t *testing.T) {
	const n = gp.Exactly + 500
	v := many(t, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := diagnosis(t, v)
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 8*n*n {
		t.Errorf("%d bytes are allocated; a matrix of all observations has %d", made, 8*n*n)
	}
	check := d.LeaveOneOut
	if len(check.Rows) != mostLeftOut || check.SampleOf != n || d.Fit.Compositions != n {
		t.Fatalf("%d rows, drawn of %d, of %d", len(check.Rows), check.SampleOf, d.Fit.Compositions)
	}
	y, mean, _ := v.Objective().GP().LeaveOneOut()
	rows := rowsOf(v.Objective())
	all := make([]float64, n)
	predicted := make([]float64, n)
	for i := range y {
		all[i], predicted[i] = v.Objective().Untransform(y[i]), v.Objective().Untransform(mean[i])
	}
	last := -1
	for _, r := range check.Rows {
		k := slices.IndexFunc(v.Objective().Observations, func(o quantity.Observation) bool {
			return o.Experiment == r.Experiments[0]
		})
		if k <= last {
			t.Errorf("%s comes out of order", r.Experiments[0])
		}
		last = k
		if row := rows[k]; r.Measured != all[row] || r.Predicted != predicted[row] {
			t.Errorf("%s is predicted as %v, the process says %v", r.Experiments[0], r.Predicted, predicted[row])
		}
	}
	if whole := r2(all, predicted); math.Abs(*whole-*check.R2) > 0.03 {
		t.Errorf("R² is %v of the sample, %v of all", *check.R2, *whole)
	}
	if d.Fit.Stale || d.Fit.Slope == nil || *d.Fit.Slope > steep {
		t.Errorf("the fit is of these observations: %+v", d.Fit)
	}
}

// polled is a context that is cancelled when it is asked for the n-th time.
type polled struct {
	context.Context
	left *int
}

func (p polled) Err() error {
	if *p.left--; *p.left < 0 {
		return context.Canceled
	}
	return nil
}

// Law: a diagnosis that is called off, wherever it is by then, ends with the context's
// error and says nothing.
func TestDiagnosisIsCalledOff(t *testing.T) {
	const all = 1 << 30
	for name, v := range map[string]policies.View{"few": many(t, 20), "more": many(t, 160)} {
		asked := all
		must.Get(Run(polled{t.Context(), &asked}, v))(t)
		times := all - asked
		for at := range 8 {
			left := at * (times - 1) / 7
			if d, err := Run(polled{t.Context(), &left}, v); !errors.Is(err, context.Canceled) || d.Verdict != "" {
				t.Errorf("%s, called off at %d of %d: %v, %q", name, at, 7, err, d.Verdict)
			}
		}
	}
}
