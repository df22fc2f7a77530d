package pref_test

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/num/reliability"
)

// Somebody likes designs near 0.6 and judges best around 0.5. Map their noise, gather their duels,
// fit, and ask.
func Example() {
	ctx := context.Background()
	noise, err := reliability.NewMap([][]float64{{0.45}, {0.5}, {0.6}}, reliability.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var winners, losers [][]float64
	for _, duel := range [][2]float64{{0.5, 0.1}, {0.6, 0.2}, {0.6, 0.9}, {0.7, 0.95}, {0.5, 0.3}, {0.6, 0.45}} {
		winners, losers = append(winners, []float64{duel[0]}), append(losers, []float64{duel[1]})
	}
	duels, err := pref.NewDuels(winners, losers, func(x []float64) float64 { return noise.At(x, nil) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fit, err := pref.Fit(ctx, duels, pref.FitConfig{Link: pref.Probit, Kernel: "rbf", Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	k, err := fit.Hyper.Kernel("rbf", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	laplace, err := pref.Laplace(ctx, duels, pref.Probit, k, pref.LaplaceConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	x, y := []float64{0.6}, []float64{0.2}
	p := laplace.Posterior.WinProbability(pref.Probit, x, y, noise.At(x, nil), noise.At(y, nil))
	fmt.Printf("0.6 beats 0.2 with probability %.2f\n", p)
	// Output: 0.6 beats 0.2 with probability 0.87
}
