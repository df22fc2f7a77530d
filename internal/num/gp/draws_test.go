package gp

import (
	"math"
	"slices"
	"testing"
)

// Law: what independent normal values make has the mean and the covariance of the joint posterior, at all points,
// with those among them that others determine: they take no normal value, and no other value than theirs.
func TestDraws(t *testing.T) {
	g, _, _, points := worldOf(t, 12, 6, 2, 1)
	points = append(points, points[1], []float64{points[2][0] + 1e-9, points[2][1]})
	joint := g.Joint(points)
	order := []int{3, 1, 2, 6, 0, 7, 5}
	d := joint.Draws(order, 1e-11)
	if want := []int{3, 1, 2, 0, 5}; !slices.Equal(d.Free, want) {
		t.Fatalf("free are %v, want %v", d.Free, want)
	}
	size, n := len(points), len(order)
	z, values := make([]float64, len(d.Free)), make([]float64, n)
	d.Fill(values, z)
	for p, i := range order {
		closeTo(t, "a mean", values[p], joint.Mean[i], 0)
	}
	cov := make([]float64, n*n) // the sum over the normal values of what each moves
	for b := range z {
		clear(z)
		z[b] = 1
		d.Fill(values, z)
		for p, i := range order {
			for q, j := range order {
				cov[p*n+q] += (values[p] - joint.Mean[i]) * (values[q] - joint.Mean[j])
			}
		}
		free := d.AtFree(z)
		for a, i := range d.Free {
			if free[a] != values[slices.Index(order, i)] {
				t.Errorf("at the free point %d it is %v, and %v among all", i, free[a], values[slices.Index(order, i)])
			}
		}
	}
	for p, i := range order {
		for q, j := range order {
			closeTo(t, "a covariance", cov[p*n+q], joint.Cov[i*size+j], 1e-8)
		}
	}
	z[0], z[1], z[2] = 0.3, -1.2, 2
	d.Fill(values, z)
	if math.Abs(values[3]-values[1]) > 1e-9 || math.Abs(values[5]-values[2]) > 1e-5 {
		t.Errorf("equal points have the values %v", values)
	}
}
