package gp_test

import (
	"context"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/gp"
)

// Fit the hyperparameters, build the posterior, and ask it for a prediction with its gradient.
func Example() {
	var data gp.Data
	for i := range 13 {
		x := float64(i) / 12
		data.X, data.Y = append(data.X, []float64{x}), append(data.Y, math.Sin(6*x))
	}
	fit, err := gp.Fit(context.Background(), data, gp.FitConfig{Kernel: "rbf", Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := gp.New(data, "rbf", fit.Hyper)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := model.NewPredictor()
	dmean, dsd := make([]float64, 1), make([]float64, 1)
	mean, _ := p.PosteriorGrad([]float64{0.5}, dmean, dsd)
	fmt.Printf("f(0.5) ≈ %.2f with slope %.1f; the truth is %.2f and %.1f\n",
		mean, dmean[0], math.Sin(3), 6*math.Cos(3))
	// Output: f(0.5) ≈ 0.14 with slope -5.9; the truth is 0.14 and -5.9
}
