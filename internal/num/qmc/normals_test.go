package qmc

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the draws are of independent standard normal values, quasi-random ones far nearer to that than chance, and
// equal seeds give equal draws.
func TestNormals(t *testing.T) {
	for _, c := range []struct {
		d      int
		within float64 // of the moments of 512 draws; by chance 0.1 and more
	}{{3, 0.02}, {MaxDim + 1, 0.25}} {
		rows := must.Get(Normals(c.d, 512, 7))(t)
		again := must.Get(Normals(c.d, 512, 7))(t)
		other := must.Get(Normals(c.d, 512, 8))(t)
		if rows[5][1] != again[5][1] || rows[5][1] == other[5][1] {
			t.Errorf("%d dimensions: %v, again %v, by another seed %v", c.d, rows[5][1], again[5][1], other[5][1])
		}
		var mean, square, product float64
		for _, z := range rows {
			mean += z[0] / 512
			square += z[1] * z[1] / 512
			product += z[1] * z[2] / 512
		}
		if math.Abs(mean) > c.within || math.Abs(square-1) > c.within || math.Abs(product) > c.within {
			t.Errorf("%d dimensions: the moments are %v, %v, %v", c.d, mean, square, product)
		}
	}
	if _, err := Normals(0, 1, 1); err == nil {
		t.Error("values of no dimension were drawn")
	}
}
