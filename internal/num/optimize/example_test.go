package optimize_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/internal/num/optimize"
)

// The point of a three-part mixture nearest to a wish, with at most half of the first two parts
// together.
func ExampleMinimize() {
	region, err := optimize.NewRegion(optimize.Polytope{
		Lower: []float64{0, 0, 0}, Upper: []float64{1, 1, 1},
		A: [][]float64{{1, 1, 1}}, B: []float64{1},
		C: [][]float64{{1, 1, 0}}, D: []float64{0.5},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	wish := []float64{0.6, 0.3, 0.1}
	f := func(x, grad []float64) (v float64) {
		for j := range x {
			u := x[j] - wish[j]
			v += u * u
			if grad != nil {
				grad[j] = 2 * u
			}
		}
		return v
	}
	res, err := optimize.Minimize(context.Background(), f, region, []float64{0, 0, 1}, optimize.Config{})
	fmt.Printf("%.2f %s %v\n", res.X, res.Status, err)
	// Output: [0.40 0.10 0.50] converged <nil>
}

// An empty region says which constraints contradict each other, and only those.
func ExampleNewRegion() {
	_, err := optimize.NewRegion(optimize.Polytope{
		Lower: []float64{0, 0.6, 0.5}, Upper: []float64{1, 1, 1},
		A: [][]float64{{1, 1, 1}}, B: []float64{1},
	})
	var empty *optimize.InfeasibleError
	fmt.Println(errors.As(err, &empty), err)
	// Output: true no point satisfies these constraints together: lower bound of x[0], lower bound of x[1], lower bound of x[2], equality 0
}
