package sensitivity_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/internal/num/sensitivity"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// total computes the index of each coordinate of a function on the unit cube.
func total(t *testing.T, d, n int, f func(x []float64) float64) (indices []float64) {
	t.Helper()
	points := must.Get(qmc.NewScrambled(d, 1))(t)
	line := sensitivity.Gauss(12)
	along := make([][][]float64, d)
	for range n {
		x := make([]float64, d)
		points.Next(x)
		for i := range d {
			values := make([]float64, len(line.At))
			kept := x[i]
			for k, at := range line.At {
				x[i] = at
				values[k] = f(x)
			}
			x[i] = kept
			along[i] = append(along[i], values)
		}
	}
	for i := range d {
		indices = append(indices, sensitivity.Total(along[i], line))
	}
	return indices
}

// Law: total indices are those that are known in closed form: of Ishigami's function
// (Ishigami and Homma 1990; a = 7, b = 0.1) and of a linear one, for which they are the squares
// of its coefficients as shares. The tolerance is the error of 1,024 points.
func TestTotal(t *testing.T) {
	const a, b = 7.0, 0.1
	ishigami := func(u []float64) float64 {
		x, y, z := math.Pi*(2*u[0]-1), math.Pi*(2*u[1]-1), math.Pi*(2*u[2]-1)
		return math.Sin(x) + a*math.Pow(math.Sin(y), 2) + b*math.Pow(z, 4)*math.Sin(x)
	}
	pi4, pi8 := math.Pow(math.Pi, 4), math.Pow(math.Pi, 8)
	v1 := math.Pow(1+b*pi4/5, 2) / 2
	v2 := a * a / 8
	v13 := b * b * pi8 * (1.0/18 - 1.0/50)
	v := v1 + v2 + v13
	for _, c := range []struct {
		name string
		f    func(x []float64) float64
		want []float64
	}{
		{"ishigami", ishigami, []float64{(v1 + v13) / v, v2 / v, v13 / v, 0}},
		{"linear", func(x []float64) float64 { return 3*x[0] - 4*x[1] + 12 }, []float64{9.0 / 25, 16.0 / 25, 0}},
		{"constant", func([]float64) float64 { return 2 }, []float64{0, 0}},
	} {
		got := total(t, len(c.want), 1024, c.f)
		for i, want := range c.want {
			if math.Abs(got[i]-want) > 0.01 {
				t.Errorf("%s: the index of parameter %d is %.4f, want %.4f", c.name, i+1, got[i], want)
			}
		}
	}
}

// Law: a line of categories counts all the same, and Gauss's is exact for a cubic's variance.
func TestLines(t *testing.T) {
	if got := sensitivity.Even(3).Variance([]float64{1, 2, 6}); math.Abs(got-14.0/3) > 1e-12 {
		t.Errorf("the variance of 1, 2, 6 is %v", got)
	}
	line := sensitivity.Gauss(4)
	values := make([]float64, 4)
	for k, x := range line.At {
		values[k] = x * x * x
	}
	if got, want := line.Variance(values), 1.0/7-1.0/16; math.Abs(got-want) > 1e-12 {
		t.Errorf("the variance of x³ is %v, want %v", got, want)
	}
}
