package tasks

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// rkhsLevels are the values that the functions of an RKHS come near to, at
// equidistant places from 0 to 1.
var rkhsLevels = []float64{-0.5, 0, 0.5, 1, 0.7, 0.2, 0.2, 0.5, 0.95, 0.7}

// rkhs returns the utility of Kayal et al. 2025, §5, in the RKHS of a kernel
// with lengthscale 0.1 on [0, 1]: the kernel ridge regression
//
//	f(x) = k(x, X) (K + λI)⁻¹ y,  λ = 0.05,
//
// of ten values y at ten places X. It has two optima of nearly the same value,
// and is to be maximized. Comparisons there are won with the probability S(5(f
// − f')).
func rkhs(family, words string, best, worst Extreme) Task {
	const ridge = 0.05
	k, err := kernel.New(family, []float64{0.1}, 1)
	if err != nil {
		panic("tasks: " + err.Error()) // the names below are kernels
	}
	n := len(rkhsLevels)
	places := make([][]float64, n)
	for i := range places {
		places[i] = []float64{float64(i) / float64(n-1)}
	}
	gram := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			gram.SetSym(i, j, k.Eval(places[i], places[j]))
		}
		gram.SetSym(i, i, gram.At(i, i)+ridge)
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		panic("tasks: a kernel matrix with a ridge is not positive definite")
	}
	var weights mat.VecDense
	if err := factor.SolveVecTo(&weights, mat.NewVecDense(n, rkhsLevels)); err != nil {
		panic("tasks: " + err.Error()) // with the ridge it is well conditioned
	}
	return Task{
		Name:        "rkhs1-" + family,
		Description: fmt.Sprintf("a function on [0, 1] of the RKHS of a %s kernel (Kayal et al. 2025, §5)", words),
		Parameters:  []definition.Parameter{parameter("x", "", 0, 1, "")},
		Objective:   definition.Objective{Name: "utility", Goal: definition.Maximize},
		Best:        best,
		Worst:       worst,
		value: func(x []float64) float64 {
			var sum float64
			for i, place := range places {
				sum += k.Eval(x, place) * weights.AtVec(i)
			}
			return sum
		},
	}
}

func rkhsRBF() Task {
	return rkhs("rbf", "squared-exponential",
		Extreme{At: []float64{0.35248052}, Value: 0.973315356979},
		Extreme{At: []float64{0}, Value: -0.468963725744})
}

func rkhsMatern52() Task {
	return rkhs("matern52", "Matérn 5/2", Extreme{At: []float64{0.34415840}, Value: 0.968670883309},
		Extreme{At: []float64{0}, Value: -0.47250956007})
}

func rkhsMatern32() Task {
	return rkhs("matern32", "Matérn 3/2", Extreme{At: []float64{0.33878142}, Value: 0.965365347243},
		Extreme{At: []float64{0}, Value: -0.473107929138})
}
