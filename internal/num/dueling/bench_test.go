package dueling

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// benchTask is a random function on n scattered candidates of the square.
func benchTask(b *testing.B, n int) *Task {
	b.Helper()
	random := rand.New(rand.NewPCG(4, uint64(n)))
	points, at, values := make([][]float64, n), make([][]float64, 25), make([]float64, 25)
	for i := range points {
		points[i] = []float64{random.Float64(), random.Float64()}
	}
	for i := range at {
		at[i] = []float64{random.Float64(), random.Float64()}
		values[i] = 1.5*random.Float64() - 0.5
	}
	k := must.Get(kernel.New("matern52", []float64{0.2, 0.2}, 1))(b)
	return must.Get(RidgeTask(k, points, at, values, 5))(b)
}

// One step within a round: take an answer in, find the next pair. Nothing is eliminated.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{50, 100, 200, 400, 1000} {
		b.Run(fmt.Sprintf("candidates=%d", n), func(b *testing.B) {
			task := benchTask(b, n)
			random := rand.New(rand.NewPCG(1, 1))
			m := must.Get(NewMRLPF(task.Candidates, DefaultSettings(1<<40, 1)))(b)
			b.ReportAllocs()
			for b.Loop() {
				s := must.Get(m.Next(context.Background()))(b)
				must.Do(b, m.Observe(task.Answer(random, s.Pair)))
			}
		})
	}
}

// A whole run with the default settings.
func BenchmarkRun(b *testing.B) {
	for _, size := range []struct{ n, horizon int }{{100, 300}, {1000, 2000}} {
		b.Run(fmt.Sprintf("candidates=%d/T=%d", size.n, size.horizon), func(b *testing.B) {
			task := benchTask(b, size.n)
			for b.Loop() {
				m := must.Get(NewMRLPF(task.Candidates, DefaultSettings(size.horizon, 1)))(b)
				must.Get(play(m, task, 1))(b)
			}
		})
	}
}

// A fit to n comparisons of random pairs of 100 candidates, nearly all distinct: the hard case.
func BenchmarkFit(b *testing.B) {
	for _, loss := range []Loss{LossRKHS, LossTheta} {
		for _, n := range []int{50, 100, 200, 400} {
			b.Run(fmt.Sprintf("%s/comparisons=%d", loss, n), func(b *testing.B) {
				task := benchTask(b, 100)
				data := randomComparisons(task, n, 3)
				b.ReportAllocs()
				for b.Loop() {
					must.Get(Fit(context.Background(), task.Candidates, data, loss, 0.05))(b)
				}
			})
		}
	}
}

// A step of MaxMinLCB, which fits to all comparisons.
func BenchmarkMaxMinStep(b *testing.B) {
	for _, n := range []int{50, 100, 200, 400} {
		b.Run(fmt.Sprintf("candidates=100/comparisons=%d", n), func(b *testing.B) {
			task := benchTask(b, 100)
			data := randomComparisons(task, n, 3)
			m := must.Get(NewMaxMinLCB(task.Candidates, PaperSettings(1000, 1), data...))(b)
			for b.Loop() {
				m.fitted = nil
				must.Get(m.Next(context.Background()))(b)
			}
		})
	}
}

// The paper's experiment with MaxMinLCB: 60 runs for each kernel, the regrets as metrics. Run it
// with -benchtime=1x.
func BenchmarkPaperMaxMinLCB(b *testing.B) {
	for _, name := range paperTasks {
		b.Run(name, func(b *testing.B) {
			task := must.Get(PaperTask(name))(b)
			for b.Loop() {
				var regret, last []float64
				for seed := range uint64(60) {
					m := must.Get(NewMaxMinLCB(task.Candidates, PaperSettings(300, seed)))(b)
					r := must.Get(play(m, task, seed))(b)
					c, l := r.regrets(task, 300)
					regret, last = append(regret, c), append(last, l)
				}
				mean, se := meanError(regret)
				b.ReportMetric(mean, "regret")
				b.ReportMetric(se, "±regret")
				mean, se = meanError(last)
				b.ReportMetric(mean, "last")
				b.ReportMetric(se, "±last")
			}
		})
	}
}

func randomComparisons(task *Task, n int, seed uint64) []Comparison {
	random := rand.New(rand.NewPCG(seed, 8))
	var data []Comparison
	for len(data) < n {
		p := Pair{random.IntN(task.Candidates.Len()), random.IntN(task.Candidates.Len())}
		if p.First != p.Second {
			data = append(data, task.Answer(random, p))
		}
	}
	return data
}
