package bope_test

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/internal/num/bope"
	"github.com/campaignd/campaignd/internal/num/pref"
)

// Strength and price of four designs were measured, and are standardized. Two were compared; that a lower price
// is better was declared.
func Example() {
	outcomes := [][]float64{{1.2, 1}, {0.4, -0.3}, {-0.6, -1.2}, {-1, 0.5}}
	duels, err := pref.NewDuels(outcomes[1:2], outcomes[2:3], func([]float64) float64 { return 1 })
	if err != nil {
		panic(err)
	}
	better := []bope.Better{bope.Undeclared, bope.Smaller}
	best := [][]float64{outcomes[0], outcomes[2]} // in each quantity

	ctx := context.Background()
	fit, err := pref.Fit(ctx, bope.Declare(duels, best, better, 1), bope.FitConfig(1))
	if err != nil {
		panic(err)
	}
	k, err := fit.Hyper.Kernel("rbf", 2)
	if err != nil {
		panic(err)
	}
	utility, err := pref.EP(ctx, bope.Declare(duels, best, better, bope.Certain), pref.Probit, k, pref.EPConfig{})
	if err != nil {
		panic(err)
	}

	pair, _ := bope.BestPair(utility.Posterior.Joint(outcomes), nil)
	fmt.Printf("ask about %v and %v\n", outcomes[pair.First], outcomes[pair.Second])

	improvement, err := bope.NewEIUU(utility.Posterior, outcomes, 1)
	if err != nil {
		panic(err)
	}
	cheap := improvement.Log([]float64{0.8, -1}, []float64{0.3, 0.2})
	dear := improvement.Log([]float64{0.8, 1}, []float64{0.3, 0.2})
	fmt.Println("the cheaper design is worth more:", cheap > dear)
	// Output:
	// ask about [1.2 1] and [0.4 -0.3]
	// the cheaper design is worth more: true
}
