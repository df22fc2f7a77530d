package dueling

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// machine is what MRLPF and MaxMinLCB have in common.
type machine interface {
	Observe(Comparison) error
	Next(context.Context, ...Pair) (Step, error)
	Best(context.Context) (int, error)
}

// result is a whole run of a machine on a task.
type result struct {
	history []Comparison
	end     Step
	regret  []float64 // of each step; after the best was identified, that of comparing it with itself
	safe    bool      // the optimum was kept to the end
	found   bool      // the best guess at the end is the optimum
}

// play runs the machine to its end, with answers drawn by the seed.
func play(m machine, task *Task, seed uint64) (result, error) {
	random := rand.New(rand.NewPCG(seed, 77))
	var r result
	for {
		s, err := m.Next(context.Background())
		if err != nil {
			return r, err
		}
		if s.Status != Ask {
			r.end, r.safe = s, slices.Contains(s.Kept, task.Best)
			break
		}
		r.history = append(r.history, task.Answer(random, s.Pair))
		r.regret = append(r.regret, task.Regret(s.Pair))
		if err := m.Observe(r.history[len(r.history)-1]); err != nil {
			return r, err
		}
	}
	best, err := m.Best(context.Background())
	r.found = best == task.Best
	return r, err
}

// regrets returns the cumulative regret at the horizon and the regret of the last step, a machine
// that was done earlier going on with its best.
func (r result) regrets(task *Task, horizon int) (cumulative, last float64) {
	for _, x := range r.regret {
		cumulative += x
		last = x
	}
	if missing := horizon - len(r.regret); missing > 0 && len(r.end.Kept) == 1 {
		best := r.end.Kept[0]
		last = task.Regret(Pair{best, best})
		cumulative += float64(missing) * last
	}
	return cumulative, last
}

// meanError returns the mean and its standard error.
func meanError(x []float64) (mean, standardError float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	var square float64
	for _, v := range x {
		square += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(square / float64(len(x)-1) / float64(len(x)))
}
