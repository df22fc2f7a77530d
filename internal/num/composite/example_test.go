package composite_test

import (
	"fmt"

	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/formula"
)

// What a formula of two quantities is expected to gain at a design, under a constraint, and what its
// value may be there. The model of the viscosity is of its logarithm.
func Example() {
	arguments := []string{"conductivity", "viscosity"}
	ratio, err := formula.Parse("conductivity / sqrt(viscosity)")
	if err != nil {
		fmt.Println(err)
		return
	}
	thin, err := formula.ParseRelation("viscosity <= 5")
	if err != nil {
		fmt.Println(err)
		return
	}
	objective, err := ratio.Bind(arguments)
	if err != nil {
		fmt.Println(err)
		return
	}
	constraint, err := thin.Excess().Bind(arguments)
	if err != nil {
		fmt.Println(err)
		return
	}
	problem := composite.Problem{
		Quantities:  []composite.Scale{{Center: 9, Spread: 2}, {Center: 1.2, Spread: 0.5, Log: true}},
		Objective:   objective,
		Constraints: []composite.Function{constraint},
		Maximize:    true,
	}

	// One member: the models as they are. Of what was measured, 5.1 was the best.
	mixture, err := composite.New(problem, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := composite.Posterior{Means: [][]float64{{0.4}, {-0.2}}, SDs: []float64{0.3, 0.4}}
	var slope composite.Gradient
	log := mixture.LogEIGrad(at, []float64{5.1}, &slope)
	fmt.Printf("ln of the expected improvement %.2f, more for conductivity: %v, for viscosity: %v\n",
		log, slope.Means[0][0] > 0, slope.Means[1][0] > 0)
	p := mixture.Predict(at)
	fmt.Printf("%.1f ± %.1f, feasible with probability %.2f\n", p.Mean, p.SD, p.Feasible)
	// Output:
	// ln of the expected improvement -0.44, more for conductivity: true, for viscosity: false
	// 5.7 ± 0.7, feasible with probability 0.99
}
