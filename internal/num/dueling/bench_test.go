package dueling

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/internal/num/kernel"
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
	k, err := kernel.New("matern52", []float64{0.2, 0.2}, 1)
	if err != nil {
		b.Fatal(err)
	}
	task, err := RidgeTask(k, points, at, values, 5)
	if err != nil {
		b.Fatal(err)
	}
	return task
}

// One step within a round: take an answer in, find the next pair. Nothing is eliminated.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{50, 100, 200, 400, 1000} {
		b.Run(fmt.Sprintf("candidates=%d", n), func(b *testing.B) {
			task := benchTask(b, n)
			random := rand.New(rand.NewPCG(1, 1))
			m, err := NewMRLPF(task.Candidates, DefaultSettings(1<<40, 1))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s, err := m.Next(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				if err := m.Observe(task.Answer(random, s.Pair)); err != nil {
					b.Fatal(err)
				}
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
				m, err := NewMRLPF(task.Candidates, DefaultSettings(size.horizon, 1))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := play(m, task, 1); err != nil {
					b.Fatal(err)
				}
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
					if _, err := Fit(context.Background(), task.Candidates, data, loss, 0.05); err != nil {
						b.Fatal(err)
					}
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
			m, err := NewMaxMinLCB(task.Candidates, PaperSettings(1000, 1), data...)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				m.fitted = nil
				if _, err := m.Next(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The paper's experiment with MaxMinLCB: 60 runs for each kernel, the regrets as metrics. Run it
// with -benchtime=1x.
func BenchmarkPaperMaxMinLCB(b *testing.B) {
	for _, name := range paperTasks {
		b.Run(name, func(b *testing.B) {
			task, err := PaperTask(name)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				var regret, last []float64
				for seed := range uint64(60) {
					m, err := NewMaxMinLCB(task.Candidates, PaperSettings(300, seed))
					if err != nil {
						b.Fatal(err)
					}
					r, err := play(m, task, seed)
					if err != nil {
						b.Fatal(err)
					}
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
