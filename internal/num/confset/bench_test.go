package confset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// benchmarkLabels are n answers of an expert who tends to accept near 0.4 in four dimensions.
func benchmarkLabels(n int) (Labels, kernel.Kernel) {
	random := rand.New(rand.NewPCG(3, 1))
	k, err := kernel.New("rbf", []float64{0.5, 0.6, 0.7, 0.8}, 1)
	if err != nil {
		panic(err)
	}
	var l Labels
	for range n {
		x := []float64{random.Float64(), random.Float64(), random.Float64(), random.Float64()}
		far := 0.0
		for _, v := range x {
			far += (v - 0.4) * (v - 0.4)
		}
		l.X = append(l.X, x)
		l.Reject = append(l.Reject, random.Float64() < 1/(1+math.Exp(-8*(far-0.35))))
	}
	return l, k
}

// benchmarkPairs are n comparisons by the expert of benchmarkLabels, of scattered points or of each
// new one with the winner so far.
func benchmarkPairs(n int, chain bool) (Feedback, kernel.Kernel) {
	_, k := benchmarkLabels(1)
	random := rand.New(rand.NewPCG(4, 1))
	point := func() []float64 {
		return []float64{random.Float64(), random.Float64(), random.Float64(), random.Float64()}
	}
	g := func(x []float64) (far float64) {
		for _, v := range x {
			far += 8 * (v - 0.4) * (v - 0.4)
		}
		return far
	}
	var f Feedback
	best := point()
	for range n {
		if !chain {
			best = point()
		}
		order := rank(g, [][]float64{best, point()}, random)
		best = order[0]
		f.Pairs = append(f.Pairs, Pair{Better: order[0], Worse: order[1]})
	}
	return f, k
}

func randomPoints(n, d int) [][]float64 {
	random := rand.New(rand.NewPCG(9, 1))
	points := make([][]float64, n)
	for i := range points {
		points[i] = make([]float64, d)
		for j := range points[i] {
			points[i][j] = random.Float64()
		}
	}
	return points
}

func benchmarkSizes(b *testing.B, run func(b *testing.B, labels Labels, k kernel.Kernel)) {
	for _, n := range []int{20, 50, 100, 200} {
		b.Run(fmt.Sprintf("labels=%d", n), func(b *testing.B) {
			labels, k := benchmarkLabels(n)
			b.ReportAllocs()
			run(b, labels, k)
		})
	}
}

// benchmarkSets runs over the sizes with the default rule (B = 4, c = 0.01) and a wide one as the
// paper's rule reaches.
func benchmarkSets(b *testing.B, run func(b *testing.B, set *Set, points [][]float64)) {
	for _, rule := range []struct {
		name    string
		norm, c float64
	}{{"B=1", 1, 0.01}, {"B=4", 4, 0.01}, {"B=16,c=0.16", 16, 0.16}, {"B=32,c=0.32", 32, 0.32}} {
		b.Run(rule.name, func(b *testing.B) {
			benchmarkSizes(b, func(b *testing.B, labels Labels, k kernel.Kernel) {
				set := must.Get(NewSet(labels, k, rule.norm, Margin(rule.c, len(labels.X)), DefaultJitter))(b)
				points := randomPoints(64, 4)
				b.ResetTimer()
				run(b, set, points)
			})
		})
	}
}

// One lower bound with its gradient.
func BenchmarkLower(b *testing.B) {
	benchmarkSets(b, func(b *testing.B, set *Set, points [][]float64) {
		grad := make([]float64, 4)
		for i := range b.N {
			must.Get(set.Lower(points[i%len(points)], grad))(b)
		}
	})
}

// Both bounds at one point.
func BenchmarkBounds(b *testing.B) {
	benchmarkSets(b, func(b *testing.B, set *Set, points [][]float64) {
		for i := range b.N {
			if _, _, err := set.Bounds(points[i%len(points)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkMLE(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, labels Labels, k kernel.Kernel) {
		for range b.N {
			must.Get(MLE(labels, k, 4, DefaultJitter))(b)
		}
	})
}

func BenchmarkNewSet(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, labels Labels, k kernel.Kernel) {
		for range b.N {
			must.Get(NewSet(labels, k, 4, Margin(0.01, len(labels.X)), DefaultJitter))(b)
		}
	})
}

// Comparisons, with the default rule. Those of scattered points are labels of their differences, 2n
// points; those with the winner so far couple n+1 points.
func benchmarkComparisons(b *testing.B, run func(b *testing.B, f Feedback, k kernel.Kernel)) {
	for _, kind := range []string{"scattered", "winner"} {
		for _, n := range []int{50, 100, 200, 400} {
			b.Run(fmt.Sprintf("%s/pairs=%d", kind, n), func(b *testing.B) {
				f, k := benchmarkPairs(n, kind == "winner")
				b.ReportAllocs()
				b.ResetTimer()
				run(b, f, k)
			})
		}
	}
}

func BenchmarkNewSetPairs(b *testing.B) {
	benchmarkComparisons(b, func(b *testing.B, f Feedback, k kernel.Kernel) {
		for range b.N {
			must.Get(NewSet(f, k, 4, Margin(0.01, f.Answers()), DefaultJitter))(b)
		}
	})
}

func BenchmarkMLEPairs(b *testing.B) {
	benchmarkComparisons(b, func(b *testing.B, f Feedback, k kernel.Kernel) {
		for range b.N {
			must.Get(MLE(f, k, 4, DefaultJitter))(b)
		}
	})
}

// One lower bound with its gradient.
func BenchmarkLowerPairs(b *testing.B) {
	benchmarkComparisons(b, func(b *testing.B, f Feedback, k kernel.Kernel) {
		set := must.Get(NewSet(f, k, 4, Margin(0.01, f.Answers()), DefaultJitter))(b)
		points, grad := randomPoints(64, 4), make([]float64, 4)
		b.ResetTimer()
		for i := range b.N {
			must.Get(set.Lower(points[i%len(points)], grad))(b)
		}
	})
}
