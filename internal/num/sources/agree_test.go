package sources

import (
	"math"
	"slices"
	"testing"
)

// Law: the derivatives of the agreement of sources are those of central differences, and it does not depend on how the
// sources are numbered.
func TestAgreement(t *testing.T) {
	c := newBetween(3)
	theta := []float64{0.8, -0.3, 0.5, 0.4, 0.7, 0.9}
	at := func(theta []float64) float64 {
		c.set(theta)
		return c.logAgreement(4, nil)
	}
	value := at(theta)
	grad := make([]float64, len(theta))
	if got := c.logAgreement(4, grad); got != value {
		t.Errorf("with derivatives it is %v, without %v", got, value)
	}
	for j := range theta {
		const step = 1e-6
		up, down := slices.Clone(theta), slices.Clone(theta)
		up[j] += step
		down[j] -= step
		near(t, "derivative", grad[j], (at(up)-at(down))/(2*step), 1e-6)
	}
	h := ICM{W: [][]float64{{0.8}, {-0.3, 0.5}, {0.4, 0.7, 0.9}}}
	want := 0.0
	for _, pair := range [][2]int{{2, 1}, {0, 2}, {1, 0}} {
		want += 4 * math.Log(1+h.Correlation(pair[0], pair[1]))
	}
	near(t, "agreement", value, want, 1e-6)
}
