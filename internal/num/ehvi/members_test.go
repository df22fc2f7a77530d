package ehvi

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// someMembers draws fronts of members around that of an outcome, and their means.
func someMembers(t *rapid.T, far float64) (fronts [][][]float64, means [][]float64, o outcome) {
	const members = 5
	o = someOutcome(t, far)
	means = make([][]float64, len(o.mean))
	shift := func(scale float64) float64 { return scale * rapid.Float64Range(-1, 1).Draw(t, "shift") }
	for range members {
		var front [][]float64
		for _, p := range o.front {
			moved := make([]float64, len(p))
			for k, v := range p {
				moved[k] = v + shift(0.1)
			}
			front = append(front, moved)
		}
		fronts = append(fronts, front)
		for k, v := range o.mean {
			means[k] = append(means[k], v+shift(o.sd[k]*(1+far/10)))
		}
	}
	return fronts, means, o
}

// Law: it is the mean of the members' improvements, and its derivatives are those of that, however much the members differ; of the
// first members it is the mean of theirs. Those that are not computed are negligible.
func TestMembersAreTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		far := rapid.SampledFrom([]float64{0, 3, 40, 300}).Draw(t, "far")
		fronts, means, o := someMembers(t, far)
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
				sum += math.Exp(v - greatest)
			}
			want := greatest + math.Log(sum/float64(n))
			dMeans, dSD := make([][]float64, len(o.mean)), make([]float64, len(o.mean))
			for k := range dMeans {
				dMeans[k] = make([]float64, n)
			}
			few := make([][]float64, len(means))
			for k := range few {
				few[k] = means[k][:n]
			}
			got := m.LogGrad(few, o.sd, dMeans, dSD)
			if plain := m.Log(few, o.sd); plain != got || m.Len() != n || !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
				t.Fatalf("of %d members it is %v, without derivatives %v, want %v", n, got, plain, want)
			}
			for k := range dSD {
				growth := 0.0
				for s := range n {
					share := math.Exp(logs[s] - want - math.Log(float64(n)))
					growth += share * growths[s][k]
					if slope := share * slopes[s][k]; math.Abs(dMeans[k][s]-slope) > 1e-9*(math.Abs(slope)+1/o.sd[k]) {
						t.Fatalf("by mean %d of member %d it changes by %v, want %v", k, s, dMeans[k][s], slope)
					}
				}
				if math.Abs(dSD[k]-growth) > 1e-9*(math.Abs(growth)+1/o.sd[k]) {
					t.Fatalf("by sd %d it changes by %v, want %v", k, dSD[k], growth)
				}
			}
		}
	})
}

// Law: members next to which others are negligible are the only ones that are computed.
func TestNegligibleMembers(t *testing.T) {
	front := [][]float64{{1, 0.5}, {0.5, 1}}
	m := NewMembers([][][]float64{front, front, nil}, []float64{0, 0}, nil)
	means := [][]float64{{-3, 0.7, -40}, {-3, 0.7, -40}} // the first behind the front, the last behind the reference
	sd := []float64{0.2, 0.2}
	m.slopes[0], m.slopes[4] = 17, 17
	value := m.LogGrad(means, sd, [][]float64{make([]float64, 3), make([]float64, 3)}, make([]float64, 2))
	near(t, "it", value, NewClosed(front, []float64{0, 0}, nil).Log([]float64{0.7, 0.7}, sd)-math.Log(3), 1e-14, 1)
	if m.slopes[0] != 17 || m.slopes[4] != 17 {
		t.Errorf("computed were %v", m.slopes)
	}
}
