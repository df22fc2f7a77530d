package shapley_test

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/internal/num/shapley"
)

// What made the prediction high: the first parameter, which rises, or the second, which does
// nothing.
func ExampleExplainer_Explain() {
	sequence, err := qmc.New(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	data := gp.Data{X: sequence.Points(16)}
	for _, x := range data.X {
		data.Y = append(data.Y, 4*x[0]-2)
	}
	model, err := gp.New(data, "rbf", gp.Hyper{Lengthscales: []float64{0.7, 5}, OutputScale: 1, Noise: 1e-3})
	if err != nil {
		fmt.Println(err)
		return
	}
	explainer, err := shapley.New(model, data.X, shapley.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := explainer.Explain(context.Background(), [][]float64{{0.9, 0.5}}, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	mean := out[0].Mean
	fmt.Printf("from %.1f to %.1f: first parameter %+.1f, second %+.1f\n",
		mean.Base, mean.Full, mean.Phi[0], mean.Phi[1])
	// Output: from -0.1 to 1.6: first parameter +1.7, second +0.0
}
