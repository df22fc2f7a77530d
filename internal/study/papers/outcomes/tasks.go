// Package outcomes is the benchmark with several outcomes: its tasks, the starts
// and the noise that all optimizers share, and the campaigns that others have run
// of it (internal/study/peers/outcomes).
//
// A task's objectives are in the problem's units and as they are, never negated;
// each has its own goal. Points are in the unit cube, as shares of the
// parameters' ranges, in their order.
package outcomes

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// Task is a problem with noise and a budget.
type Task struct {
	// Name is that of the problem, with -noisy where the noise is not part of it.
	Name    string
	Problem tasks.Tradeoff
	// Initial experiments are the same for every arm, and Experiments is how many
	// there are with them.
	Initial, Experiments int
	// Seeds are 1 to this number.
	Seeds int
	// Noise is that of each objective; nil where nothing is noisy. Slacks have
	// none.
	Noise []Noise
	// Whole is one number that is sought in place of the front; nil where that is.
	Whole *Whole
}

// Whole is a number that is computed of the quantities of a problem, greater being
// better. In courses its greatest value so far, from 0 on, stands in the place of
// the hypervolume.
type Whole struct {
	// Objective and Require are how a campaign file says it.
	Objective definition.Objective
	Require   string
	// Of computes it from noiseless quantities. It is 0 where these do not keep what
	// is required, and greater than 0 where they do.
	Of func(values []float64) float64
	// Greatest is its greatest value in the space, which a local search has found, and
	// Best where that is, in the unit cube.
	Greatest float64
	Best     []float64
}

// Greatest is the greatest hypervolume, or the greatest value of the whole.
func (t Task) Greatest() float64 {
	if t.Whole != nil {
		return t.Whole.Greatest
	}
	return t.Problem.Hypervolume
}

// Noise is that of one quantity. At most one of the two is not 0.
type Noise struct {
	// SD is the standard deviation of a measurement, in the quantity's unit.
	SD float64
	// Share is the standard deviation as a share of the true value.
	Share float64
}

// At returns the standard deviation of a measurement where the truth is value,
// in its unit.
func (n Noise) At(value float64) float64 { return n.SD + n.Share*math.Abs(value) }

// Tasks returns the tasks in the order in which they are run.
func Tasks() []Task {
	return []Task{
		task("branin-currin", 10, 30, 30),
		task("dtlz2-2", 14, 50, 30),
		task("electrolyte", 8, 30, 60, Noise{SD: 0.14}, Noise{Share: 0.02}, Noise{}),
		// 1 % of each objective's range over the space.
		task("vehicle-safety", 12, 40, 30, Noise{SD: 0.4285}, Noise{SD: 0.0557}, Noise{SD: 0.00225}),
		task("penicillin", 16, 60, 20),
		task("c2-dtlz2", 10, 30, 30),
		task("constrained-branin-currin", 10, 30, 30),
		// The noise of Daulton et al. 2021, about 1 % of each range.
		noisy(task("branin-currin", 10, 30, 30, Noise{SD: 15.19}, Noise{SD: 0.63})),
		noisy(task("dtlz2-2", 14, 50, 30, slices.Repeat([]Noise{{SD: 0.05}}, 2)...)),
		task("zdt1", 14, 50, 20),
		task("zdt3", 14, 50, 20),
		task("dtlz2-3", 14, 50, 30),
		noisy(task("dtlz2-3", 14, 50, 30, slices.Repeat([]Noise{{SD: 0.05}}, 3)...)),
		task("car-side-impact", 16, 50, 20),
		task("dtlz2-4", 14, 50, 30),
		noisy(task("dtlz2-4", 14, 50, 30, slices.Repeat([]Noise{{SD: 0.05}}, 4)...)),
		whole("electrolyte-formula", fluidity()),
		whole("electrolyte-desirability", desirable()),
		whole("electrolyte-thin", thin()),
		whole("electrolyte-conducting", conducting()),
	}
}

// fluidity is a conductivity that counts less where the electrolyte is viscous.
func fluidity() Whole {
	return Whole{
		Objective: definition.Objective{
			Name: "fluidity", Goal: definition.Maximize, Formula: "conductivity / sqrt(viscosity)",
		},
		Of:       func(v []float64) float64 { return v[0] / math.Sqrt(v[1]) },
		Greatest: 9.117632289240005,
		Best:     []float64{0.2794240951538086, 0, 1},
	}
}

// desirable weighs conductivity twice, and viscosity and price once.
func desirable() Whole {
	ends := [][2]float64{{6, 14}, {5, 1}, {5, 2}}
	two := 2.0
	w := Whole{
		Objective: definition.Objective{Name: "desirability", Goal: definition.Maximize},
		Greatest:  0.6564024138040215,
		Best:      []float64{0.22184927761554715, 0.15250504805396006, 1},
	}
	for k, name := range []string{"conductivity", "viscosity", "price"} {
		desire := definition.Desire{Quantity: name, From: &ends[k][0], To: &ends[k][1]}
		if k == 0 {
			desire.Weight = &two
		}
		w.Objective.Desirability = append(w.Objective.Desirability, desire)
	}
	w.Of = func(v []float64) float64 {
		share := func(k int) float64 {
			return min(max((v[k]-ends[k][0])/(ends[k][1]-ends[k][0]), 0), 1)
		}
		return math.Sqrt(share(0) * math.Sqrt(share(1)*share(2)))
	}
	return w
}

// Lookup returns the task of that name.
func Lookup(name string) (Task, bool) {
	all := Tasks()
	i := slices.IndexFunc(all, func(t Task) bool { return t.Name == name })
	if i < 0 {
		return Task{}, false
	}
	return all[i], true
}

// task is one on the problem of that name. It panics where there is none.
func task(problem string, initial, further, seeds int, noise ...Noise) Task {
	p, ok := tasks.LookupTradeoff(problem)
	if !ok {
		panic("outcomes: there is no problem " + problem)
	}
	return Task{
		Name: problem, Problem: p,
		Initial: initial, Experiments: initial + further, Seeds: seeds, Noise: noise,
	}
}

// thin is the conductivity of what is hardly more viscous than the solvents are:
// 0.7 % of the space.
func thin() Whole {
	return Whole{
		Objective: definition.Objective{Name: "conductivity", Goal: definition.Maximize},
		Require:   "viscosity <= 1.2",
		Of: func(v []float64) float64 {
			if v[1] > 1.2 {
				return 0
			}
			return v[0]
		},
		Greatest: 7.537269406235588,
		Best:     []float64{0.06256284970961946, 0, 1},
	}
}

// conducting is by how much what conducts well, 4 % of the space, is less viscous
// than 5 mPa·s.
func conducting() Whole {
	return Whole{
		Objective: definition.Objective{Name: "viscosity", Goal: definition.Minimize},
		Require:   "conductivity >= 12.8",
		Of: func(v []float64) float64 {
			if v[0] < 12.8 {
				return 0
			}
			return 5 - v[1]
		},
		Greatest: 3.0182613294337566,
		Best:     []float64{0.30654589036568275, 0, 1},
	}
}

// whole seeks one number of the electrolyte's noisy quantities.
func whole(name string, w Whole) Task {
	t := task("electrolyte", 8, 25, 60, Noise{SD: 0.14}, Noise{Share: 0.02}, Noise{})
	t.Name, t.Whole = name, &w
	return t
}

// noisy marks a problem's variant with noise.
func noisy(t Task) Task {
	t.Name += "-noisy"
	return t
}

// Values returns the noiseless objectives and slacks at u, which is in the unit
// cube.
func (t Task) Values(u []float64) ([]float64, error) {
	return t.Problem.Values(t.Problem.At(u))
}

// Measured returns what experiment n of a seed reports where the truth is values.
// Experiments count from 1. The noise depends on the task, the seed, n and the
// quantity alone, so that two arms meet the same noise in their nth experiment.
func (t Task) Measured(seed, n int, values []float64) []float64 {
	measured := slices.Clone(values)
	for k, noise := range t.Noise {
		measured[k] += noise.At(values[k]) * Deviate(t.Name, seed, n, k+1)
	}
	return measured
}

// Deviate returns the standard normal deviate of quantity k, counted from 1, in
// experiment n of a seed: the normal quantile of
//
//	u = (b + 1/2) / 2^53,
//
// b the first 53 bits of the SHA-256 of "TASK SEED N K". Any language can make it.
func Deviate(task string, seed, n, k int) float64 {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %d", task, seed, n, k))
	u := math.Ldexp(float64(binary.BigEndian.Uint64(digest[:])>>11)+0.5, -53)
	return math.Sqrt2 * math.Erfinv(2*u-1)
}
