// Command fidelity compares campaigns that may measure cheaply with campaigns that measure
// at the target alone, by the simple regret at the target for what has been spent:
//
//	GOMAXPROCS=1 go -C internal/study/papers run ./fidelity -seeds 12 -base 1 branin-fidelity hartmann6-fidelity
//
// An experiment at the fidelity s, from 0 to 1, costs base + s. Both arms seek by lognei,
// with the same budget of cost, and begin with as many experiments. Numbers are the
// mean over the seeds of log10 of the regret once a quarter, a half, three quarters and
// all of the budget is spent, and the paired difference with its standard error.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "fidelity:", err)
		os.Exit(1)
	}
}

// parts of the budget at which regret is compared.
var parts = []float64{0.25, 0.5, 0.75, 1}

func run(ctx context.Context) error {
	seeds := flag.Int("seeds", 12, "seeds of each task, from 1")
	base := flag.Float64("base", 1, "what an experiment costs at the least fidelity")
	experiments := flag.Int("experiments", 30, "how many experiments at the target the budget pays for")
	flag.Parse()
	for _, name := range flag.Args() {
		task, ok := tasks.Lookup(name)
		if !ok {
			return fmt.Errorf("there is no task %q", name)
		}
		var differences [][]float64
		var means [2][]float64
		for seed := 1; seed <= *seeds; seed++ {
			var arms [2][]float64
			for arm := range arms {
				course, err := campaign(ctx, task, uint64(seed), *base, *experiments, arm == 1)
				if err != nil {
					return err
				}
				arms[arm] = course
				means[arm] = add(means[arm], course)
			}
			differences = append(differences, add(slices.Clone(arms[0]), negated(arms[1])))
			fmt.Printf("%s, seed %d: with cheaper ones %.2f, at the target %.2f\n", name, seed, arms[0], arms[1])
		}
		fmt.Printf("\n%s, cost %g + fidelity, %d seeds, log10 of the regret at %v of the budget\n", name, *base, *seeds, parts)
		for i, arm := range []string{"with cheaper ones", "at the target"} {
			fmt.Printf("  %-18s %.2f\n", arm, scaled(means[i], 1/float64(*seeds)))
		}
		for i, part := range parts {
			mean, se := paired(differences, i)
			fmt.Printf("  difference at %3.0f %%: %+.2f ± %.2f\n", 100*part, mean, se)
		}
		fmt.Println()
	}
	return nil
}

// campaign runs one, and returns log10 of the regret at the parts of the budget.
func campaign(
	ctx context.Context, task tasks.Task, seed uint64, base float64, experiments int, target bool,
) ([]float64, error) {
	budget := (base + 1) * float64(experiments)
	def, err := studytest.Define(task.Name, seed, 10*experiments, func(def *definition.Campaign) {
		d := len(task.Parameters) - 1
		initial := 2 * d
		def.Initial.Experiments = &initial
		one := definition.Number(1)
		def.Cost.Of = fmt.Sprintf("%g + fidelity", base)
		def.Budget.Cost = budget
		def.Fidelity = definition.Fidelity{Parameter: "fidelity", Target: &one}
		def.Outliers.Action = definition.OutlierIgnore // there are none
		if target {
			def.Fidelity = definition.Fidelity{}
			def.Cost, def.Budget = definition.Cost{}, definition.Budget{Experiments: experiments}
			def.Parameters = slices.Clone(def.Parameters)
			def.Parameters[d] = definition.Parameter{Name: "fidelity", Values: []float64{1}}
		}
	})
	if err != nil {
		return nil, err
	}
	core, err := studytest.Simulate(ctx, memlog.New(), def)
	if err != nil {
		return nil, err
	}
	regrets := make([]float64, len(parts))
	for i := range regrets {
		regrets[i] = task.Regret(task.Worst.Value)
	}
	spent := 0.0
	for i := range core.State().Experiments {
		x := &core.State().Experiments[i]
		s, _ := x.Parameters["fidelity"].Float()
		spent += base + s
		value, err := task.Value(x.Parameters)
		if err != nil {
			return nil, err
		}
		for k, part := range parts {
			if s == 1 && spent <= part*budget*(1+1e-9) {
				regrets[k] = min(regrets[k], task.Regret(value))
			}
		}
	}
	for k, r := range regrets {
		regrets[k] = math.Log10(max(r, 1e-6))
	}
	return regrets, nil
}

// add returns the sum, of which a nil is as zeros.
func add(a, b []float64) []float64 {
	if a == nil {
		return slices.Clone(b)
	}
	for i, v := range b {
		a[i] += v
	}
	return a
}

func negated(a []float64) []float64 { return scaled(a, -1) }

func scaled(a []float64, by float64) []float64 {
	out := slices.Clone(a)
	for i := range out {
		out[i] *= by
	}
	return out
}

// paired is the mean of the i-th differences with its standard error.
func paired(differences [][]float64, i int) (mean, se float64) {
	n := float64(len(differences))
	for _, d := range differences {
		mean += d[i] / n
	}
	for _, d := range differences {
		se += (d[i] - mean) * (d[i] - mean)
	}
	return mean, math.Sqrt(se / (n - 1) / n)
}
