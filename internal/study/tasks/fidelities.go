package tasks

import (
	"math"

	"github.com/campaignd/campaignd/events/definition"
)

// Tasks with a parameter by which an experiment would be cheaper and tells less: the value at its
// greatest number, or in its last category, is the objective, and equals that of the task of the
// same name without the parameter.

// braninFidelity is Branin's function with a fidelity, as BoTorch has it
// (AugmentedBranin): at a fidelity s the coefficient of x1² is less by 0.1(1 − s).
// Its optimum is 10/(8π) at every fidelity, elsewhere at each.
func braninFidelity() Task {
	t := branin()
	t.Name = "branin-fidelity"
	t.Description = "Branin's function with a fidelity, as BoTorch has it (AugmentedBranin)"
	t.Parameters = append(t.Parameters, parameter("fidelity", "", 0, 1, "1 is the function itself"))
	t.value = func(x []float64) float64 { return braninWith(5.1/(4*math.Pi*math.Pi)-0.1*(1-x[2]), x[:2]) }
	t.Best.At = append(t.Best.At, 1)
	t.Worst = Extreme{At: []float64{10, 15, 0}, Value: 485.813058775}
	return t
}

// hartmann6Fidelity is Hartmann's function in 6 dimensions with a fidelity, as BoTorch
// has it (AugmentedHartmann): the first of its four weights is less by 0.1(1 − s).
func hartmann6Fidelity() Task {
	t := hartmann6()
	t.Name = "hartmann6-fidelity"
	t.Description = "Hartmann's function in 6 dimensions with a fidelity, as BoTorch has it (AugmentedHartmann)"
	t.Parameters = append(t.Parameters, parameter("fidelity", "", 0, 1, "1 is the function itself"))
	t.value = func(x []float64) float64 {
		return -hartmannWith([4]float64{1 - 0.1*(1-x[6]), 1.2, 3, 3.2}, x[:6], hartmann6A, hartmann6P)
	}
	t.Best.At = append(t.Best.At, 1)
	t.Worst = Extreme{At: append(t.Worst.At, 0), Value: -2.78482255569e-8}
	return t
}

// electrolyteHours is synthetic: [electrolyte] read before a measuring cell is wetted. What is
// read is too little by a part that falls with the square of the time that is left, and is
// greater where there is more salt, so that the best composition moves.
func electrolyteHours() Task {
	t := electrolyte()
	t.Name = "electrolyte-hours"
	t.Description = "the electrolyte, read after so many hours, of which a cell takes 24 to be wetted: synthetic"
	t.Parameters = append(t.Parameters,
		parameter("hours", "h", 1, 24, "until the reading; wetted after 24"))
	settled := t.value
	t.value = func(x []float64) float64 {
		left := (24 - x[3]) / 23
		return settled(x[:3]) * (1 - 0.25*left*left*(0.4+x[0]/2.1))
	}
	t.Best.At = append(t.Best.At, 24)
	t.Worst = Extreme{At: []float64{2.1, 0.52, 0, 1}, Value: 3.34992510553}
	return t
}

// electrolyteSources is synthetic: [electrolyte] as it is measured in a cell, or
// computed by a simulation, whose conductivity is too little and whose best molality is
// too high.
func electrolyteSources() Task {
	t := electrolyte()
	t.Name = "electrolyte-sources"
	t.Description = "the electrolyte by a simulation, which is a little wrong, or in a cell: synthetic"
	t.Parameters = append(t.Parameters, definition.Parameter{
		Name:       definition.DefaultSource,
		Categories: []definition.CategoryDef{{Name: "simulation"}, {Name: "cell"}},
	})
	cell := t.value
	t.value = func(x []float64) float64 {
		if x[3] == 1 {
			return cell(x[:3])
		}
		return 0.9 * cell([]float64{0.92 * x[0], x[1], x[2]})
	}
	t.Best.At = append(t.Best.At, 1)
	t.Worst = Extreme{At: []float64{0.2, 0.3, 0, 0}, Value: 3.59959902251}
	return t
}

// electrolyteHoursTradeoff is synthetic: [electrolyteTradeoff] read before a measuring cell is
// wetted, as in [electrolyteHours]; an early reading of the viscosity is too high. So no early
// reading is beyond the front, and the hypervolume is the same.
func electrolyteHoursTradeoff() Tradeoff {
	settled, early := electrolyteTradeoff(), electrolyteHours()
	t := settled
	t.Name = early.Name
	t.Description = early.Description
	t.Parameters = early.Parameters
	t.values = func(x []float64) []float64 {
		left := (24 - x[3]) / 23
		values := settled.values(x[:3])
		values[0] = early.value(x)
		values[1] *= 1 + 0.2*left*left
		return values
	}
	return t
}
