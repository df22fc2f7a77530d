package copeland_test

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/internal/num/copeland"
	"github.com/campaignd/campaignd/internal/num/pairgp"
)

// From choices between pairs to a score of single points: a person who always takes what is nearer
// to 0.7.
func Example() {
	ctx := context.Background()
	var choices []pairgp.Comparison
	for _, pair := range [][2]float64{{0.7, 0.1}, {0.6, 0.2}, {0.8, 0.4}, {0.75, 1}, {0.5, 0.3},
		{0.65, 0.95}, {0.5, 0}, {0.9, 0.25}} {
		choices = append(choices, pairgp.Comparison{Chosen: pair[:1], Other: pair[1:]})
	}
	fit, err := pairgp.Fit(ctx, choices, pairgp.FitConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	preference, err := pairgp.New(choices, fit.Hyper) // fit.Hyper is what an event would hold
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := copeland.Fit(ctx, preference, copeland.FitConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := copeland.New(preference, copeland.Box{}, second.Hyper())
	if err != nil {
		fmt.Println(err)
		return
	}
	p := scores.NewPredictor()
	for _, x := range []float64{0, 0.35, 0.7, 1} {
		score, _ := p.At([]float64{x}, nil, nil)
		fmt.Printf("%.2f is preferred to a random point with probability %.1f\n", x, score)
	}
	// Output:
	// 0.00 is preferred to a random point with probability 0.1
	// 0.35 is preferred to a random point with probability 0.3
	// 0.70 is preferred to a random point with probability 0.9
	// 1.00 is preferred to a random point with probability 0.5
}
