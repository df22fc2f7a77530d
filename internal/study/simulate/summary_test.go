package simulate

import (
	"math"
	"slices"
	"testing"
)

func regrets(values ...float64) []*Result {
	var results []*Result
	for _, v := range values {
		results = append(results, &Result{Trajectory: Trajectory{{Regret: v}}})
	}
	return results
}

// Law: a paired difference is that of the seeds, with Student's interval.
//
//	seed          1    2    3    4    5
//	arm         1.0  2.0  1.5  4.0  0.5
//	baseline    2.0  2.5  1.0  5.0  2.0
//	difference −1.0 −0.5 +0.5 −1.0 −1.5
//
// mean −3.5/5 = −0.7; squared deviations 0.09 + 0.04 + 1.44 + 0.09 + 0.64 = 2.3;
// sd = √(2.3/4) = 0.758288; se = sd/√5 = 0.339116; t(0.975, 4) = 2.776445; half
// width 0.941538.
func TestPairedByHand(t *testing.T) {
	d := paired(regrets(1, 2, 1.5, 4, 0.5), regrets(2, 2.5, 1, 5, 2), func(r *Result) float64 { return last(r).Regret })
	for _, c := range []struct {
		what      string
		got, want float64
	}{{"mean", d.Mean, -0.7}, {"lower", d.Lower, -1.641538}, {"upper", d.Upper, 0.241538}} {
		if math.Abs(c.got-c.want) > 1e-6 {
			t.Errorf("%s %.7f, want %.7f", c.what, c.got, c.want)
		}
	}
	if d.Better != 4 || d.Worse != 1 {
		t.Errorf("%d better, %d worse", d.Better, d.Worse)
	}
	if m := mean([]float64{-1, -0.5, 0.5, -1, -1.5}); math.Abs(m.SE-0.339116) > 1e-6 || m.N != 5 {
		t.Errorf("%+v", m)
	}
}

// Law: one seed has no interval.
func TestPairedOfOne(t *testing.T) {
	d := paired(regrets(1), regrets(3), func(r *Result) float64 { return last(r).Regret })
	if d.Mean != -2 || !math.IsInf(d.Lower, -1) || !math.IsInf(d.Upper, 1) {
		t.Errorf("%+v", d)
	}
}

// Law: equal values share the mean of their ranks.
func TestRanks(t *testing.T) {
	for _, c := range []struct{ values, want []float64 }{
		{[]float64{3, 1, 2}, []float64{3, 1, 2}},
		{[]float64{0, 5, 0, 0}, []float64{2, 4, 2, 2}},
		{[]float64{1, 1, 0, 2}, []float64{2.5, 2.5, 1, 4}},
	} {
		if got := ranks(c.values); !slices.Equal(got, c.want) {
			t.Errorf("%v has ranks %v, want %v", c.values, got, c.want)
		}
	}
}

// Law: the first and the last fifth count the questions before those experiments
// of the policy's.
func TestFifths(t *testing.T) {
	r := &Result{}
	for _, asked := range []int{0, 0, 0, 2, 3, 3, 4, 4, 4, 4, 5, 5, 7} { // 3 initial, 10 of the policy
		r.Trajectory = append(r.Trajectory, Step{Asked: asked})
	}
	if first := askedBy(r, 3+2); first != 3 { // before experiments 4 and 5
		t.Errorf("first fifth %d", first)
	}
	if late := last(r).Asked - askedBy(r, 13-2); late != 2 { // before experiments 12 and 13
		t.Errorf("last fifth %d", late)
	}
}

// Law: the median experiment at which campaigns came near counts those that never
// did as later than all.
func TestUntil(t *testing.T) {
	run := func(regrets ...float64) *Result {
		r := &Result{}
		for _, v := range regrets {
			r.Trajectory = append(r.Trajectory, Step{Regret: v})
		}
		return r
	}
	a := ArmSummary{Results: []*Result{run(9, 1, 0), run(9, 9, 1), run(9, 9, 9)}}
	a.until(1)
	if a.Until != 3 || a.Reached != 2 {
		t.Errorf("until %g, %d reached", a.Until, a.Reached)
	}
	a.Reached = 0
	a.until(0)
	if !math.IsNaN(a.Until) || a.Reached != 1 {
		t.Errorf("until %g, %d reached", a.Until, a.Reached)
	}
}
