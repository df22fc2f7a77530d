package confset_test

import (
	"fmt"

	"github.com/campaignd/campaignd/internal/num/confset"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// One expert rejected a point, preferred another to it, and ranked three: one set holds what they
// may believe. The smaller the score, the better; above 0 the expert rather rejects.
func ExampleNewSet() {
	k, err := kernel.New("rbf", []float64{0.3}, 1)
	if err != nil {
		panic(err)
	}
	said := confset.Feedback{
		Labels:   confset.Labels{X: [][]float64{{0.9}}, Reject: []bool{true}},
		Pairs:    []confset.Pair{{Better: []float64{0.5}, Worse: []float64{0.9}}},
		Rankings: []confset.Ranking{{Order: [][]float64{{0.2}, {0.5}}, Rest: [][]float64{{0.7}}}},
	}
	set, err := confset.NewSet(said, k, 4, confset.Margin(0.01, said.Answers()), confset.DefaultJitter)
	if err != nil {
		panic(err)
	}
	for _, x := range []float64{0.2, 0.5, 0.9} {
		lower, upper, err := set.Bounds([]float64{x})
		if err != nil {
			panic(err)
		}
		fmt.Printf("at %.1f the score is between %.1f and %.1f\n", x, lower, upper)
	}
	// Output:
	// at 0.2 the score is between -2.8 and -1.4
	// at 0.5 the score is between -0.6 and 0.9
	// at 0.9 the score is between 2.6 and 3.6
}
