package ehvi

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// someMembers draws fronts of members around that of an outcome, and their means.
func someMembers(t *rapid.T) (fronts [][][]float64, means [][]float64, o outcome) {
	const members = 5
	o = someOutcome(t, place(t))
	means = make([][]float64, len(o.mean))
	shift := func(scale float64) float64 { return scale * rapid.Float64Range(-1, 1).Draw(t, "shift") }
	for range members {
		var front [][]float64
		for _, p := range o.front {
			moved := make([]float64, len(p))
			for k, v := range p {
				moved[k] = v + shift(0.3*o.sd[k])
			}
			front = append(front, moved)
		}
		fronts = append(fronts, front)
		for k, v := range o.mean {
			means[k] = append(means[k], v+shift(4*o.sd[k]))
		}
	}
	return fronts, means, o
}

// Law: it is the mean of the members' improvements, and its derivatives are those of that, however much the members differ; of the
// first members it is the mean of theirs. Those that are not computed are negligible.
func TestMembersAreTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fronts, means, o := someMembers(t)
		all := NewMembers(fronts, o.reference, o.limits)
		for _, n := range []int{len(fronts), 2, 1} {
			m := all.First(n)
			logs, greatest := make([]float64, n), math.Inf(-1)
			slopes, growths := make([][]float64, n), make([][]float64, n)
			for s := range logs {
				mean := make([]float64, len(o.mean))
				for k := range mean {
					mean[k] = means[k][s]
				}
				slopes[s], growths[s] = make([]float64, len(mean)), make([]float64, len(mean))
				logs[s] = NewClosed(fronts[s], o.reference, o.limits).LogGrad(mean, o.sd, slopes[s], growths[s])
				greatest = max(greatest, logs[s])
				most := sumLog(o.sd)
				inverse := make([]float64, len(mean))
				for k, v := range o.sd {
					inverse[k] = 1 / v
				}
				if most += m.regions[s].most(o.reference, mean, inverse); most < logs[s]-1e-9 {
					t.Fatalf("it is %v, and should not exceed %v", logs[s], most)
				}
			}
			sum := 0.0
			for _, v := range logs {
				if v > greatest-700 {
					sum += math.Exp(v - greatest)
				}
			}
			want := greatest + math.Log(sum/float64(n))
			if math.IsInf(greatest, -1) { // nothing is left within the limits
				want = greatest
			}
			dMeans, dSD := make([][]float64, len(o.mean)), make([]float64, len(o.mean))
			for k := range dMeans {
				dMeans[k] = make([]float64, n)
			}
			few := make([][]float64, len(means))
			for k := range few {
				few[k] = means[k][:n]
			}
			got := m.LogGrad(few, o.sd, dMeans, dSD)
			if plain := m.Log(few, o.sd); plain != got || m.Len() != n ||
				got != want && !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
				t.Fatalf("of %d members it is %v, without derivatives %v, want %v", n, got, plain, want)
			}
			rounding := 1e-9 + 1e-14*math.Abs(want) // of shares, which are exponentials of great logarithms
			for k := range dSD {
				growth := 0.0
				for s := range n {
					share := 0.0
					if logs[s] > want-700 {
						share = math.Exp(logs[s] - want - math.Log(float64(n)))
					}
					growth += share * growths[s][k]
					if slope := share * slopes[s][k]; math.Abs(dMeans[k][s]-slope) > rounding*(math.Abs(slope)+1/o.sd[k]) {
						t.Fatalf("by mean %d of member %d it changes by %v, want %v", k, s, dMeans[k][s], slope)
					}
				}
				if math.Abs(dSD[k]-growth) > rounding*(math.Abs(growth)+1/o.sd[k]) {
					t.Fatalf("by sd %d it changes by %v, want %v", k, dSD[k], growth)
				}
			}
		}
	})
}

// Law: members that are negligible next to another one are not computed, whether they lie far behind their front or far behind the
// reference.
func TestNegligibleMembers(t *testing.T) {
	front, reference := [][]float64{{6, 5}, {5, 6}}, []float64{0, 0}
	m := NewMembers([][][]float64{front, front, nil}, reference, nil)
	means := [][]float64{{2, 5.7, -4}, {2, 5.7, -4}}
	sd := []float64{0.2, 0.2}
	m.slopes[0], m.slopes[4] = 17, 17
	value := m.LogGrad(means, sd, [][]float64{make([]float64, 3), make([]float64, 3)}, make([]float64, 2))
	near(t, "it", value, NewClosed(front, reference, nil).Log([]float64{5.7, 5.7}, sd)-math.Log(3), 1e-14, 1)
	if m.slopes[0] != 17 || m.slopes[4] != 17 {
		t.Errorf("computed were %v", m.slopes)
	}
}
