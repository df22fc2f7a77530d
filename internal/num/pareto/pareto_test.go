package pareto

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// within fails the test where got is not within the tolerance of want.
func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.17g, want %.17g", what, got, want)
	}
}

// Oracle l: fronts, hypervolumes and improvements, each by three other implementations; reference points.
func TestOracle(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/oracles/l_hypervolume.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle l is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Results struct {
			Cases []struct {
				Name         string
				Y, Front     [][]float64
				Ref          []float64
				NotDominated []int `json:"not_dominated"`
				Hypervolume  float64
				Tests        []struct {
					Y           []float64
					Improvement float64
				}
			}
			ReferencePoints []struct {
				Y        [][]float64
				Inferred []float64
			} `json:"reference_points"`
		}
	}
	must.Do(t, json.Unmarshal(data, &oracle))
	if len(oracle.Results.Cases) == 0 || len(oracle.Results.ReferencePoints) == 0 {
		t.Fatal("the oracle holds no case")
	}
	for _, c := range oracle.Results.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if got := NonDominated(c.Y); !slices.Equal(got, c.NotDominated) {
				t.Errorf("not dominated are %v, want %v", got, c.NotDominated)
			}
			if got := Front(c.Y, c.Ref); !slices.EqualFunc(got, c.Front, slices.Equal) {
				t.Errorf("the front is %v, want %v", got, c.Front)
			}
			scale := max(1, c.Hypervolume)
			within(t, "the hypervolume", Hypervolume(c.Y, c.Ref), c.Hypervolume, 1e-12*scale)
			cells := NewCells(c.Y, c.Ref)
			for _, test := range c.Tests {
				within(t, fmt.Sprint("the improvement of ", test.Y), Improvement(test.Y, c.Y, c.Ref), test.Improvement, 1e-11*scale)
				within(t, fmt.Sprint("by cells that of ", test.Y), cellsWithin(cells, test.Y), test.Improvement, 1e-11*scale)
			}
		})
	}
	for _, c := range oracle.Results.ReferencePoints {
		nan := []float64{math.NaN(), math.NaN()}
		got := Reference(c.Y, nan, []float64{0, 0})
		for k, want := range c.Inferred {
			within(t, "the reference", got[k], want, 1e-12)
		}
	}
}

// cellsWithin returns the volume of the cells up to a point.
func cellsWithin(c *Cells, y []float64) (sum float64) {
	m := len(y)
	for i := range c.Len() {
		volume := 1.0
		for k := range m {
			high := y[k]
			if at := int(c.Upper[i*m+k]); at < len(c.Corners[k]) {
				high = min(high, c.Corners[k][at])
			}
			volume *= max(high-c.Corners[k][c.Lower[i*m+k]], 0)
		}
		sum += volume
	}
	return sum
}

// someFront draws points and a reference. Coarse values make ties, in one objective and in all.
func someFront(t *rapid.T) (points [][]float64, reference []float64) {
	m := rapid.IntRange(1, 4).Draw(t, "m")
	n := rapid.IntRange(0, 9).Draw(t, "n")
	coarse := rapid.Bool().Draw(t, "coarse")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	for range n {
		p := make([]float64, m)
		for k := range p {
			p[k] = rng.Float64()
			if coarse {
				p[k] = float64(rng.IntN(4)) / 4
			}
		}
		points = append(points, p)
	}
	for range m {
		reference = append(reference, 0.1*rng.Float64())
	}
	return points, reference
}

// Law: the hypervolume is that of a union of boxes, by inclusion and exclusion.
func TestHypervolumeIsThatOfAUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, reference := someFront(t)
		want := 0.0
		for set := 1; set < 1<<len(points); set++ {
			volume := -1.0
			for k, r := range reference {
				least := math.Inf(1)
				for i, p := range points {
					if set>>i&1 == 1 {
						least = min(least, p[k])
					}
				}
				volume *= max(least-r, 0)
			}
			for s := set; s > 0; s &= s - 1 {
				volume = -volume
			}
			want += volume
		}
		if got := Hypervolume(points, reference); math.Abs(got-want) > 1e-13 {
			t.Fatalf("the hypervolume is %v, want %v", got, want)
		}
	})
}

// Law: an improvement is the difference of two hypervolumes, and nothing for what is covered; what a point alone holds is the
// improvement that it is on the others.
func TestImprovementIsADifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, reference := someFront(t)
		if len(points) == 0 {
			return
		}
		all := Hypervolume(points, reference)
		shares := Shares(points, reference)
		if len(shares) != len(points) {
			t.Fatalf("%d shares of %d points", len(shares), len(points))
		}
		for i, share := range shares {
			others := slices.Concat(points[:i], points[i+1:])
			without := Hypervolume(others, reference)
			if got := Improvement(points[i], others, reference); math.Abs(got-(all-without)) > 1e-13 {
				t.Fatalf("the improvement is %v, want %v", got, all-without)
			}
			if all > 0 && math.Abs(share*all-(all-without)) > 1e-13 || all == 0 && share != 0 {
				t.Fatalf("the share is %v of %v, want %v", share, all, all-without)
			}
			if got := Improvement(points[i], points, reference); got != 0 {
				t.Fatalf("the improvement of a point that is there is %v", got)
			}
		}
	})
}

// Law: the cells are disjoint, and together they are the region beyond the reference that no point covers: whatever lies there is
// in one cell, else it is in none.
func TestCellsTileTheRegion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, reference := someFront(t)
		c := NewCells(points, reference)
		m := len(reference)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "at"), 1))
		for range 50 {
			y := make([]float64, m)
			for k := range y {
				y[k] = 1.2 * rng.Float64()
			}
			want := 0
			if Beyond(y, reference) && !slices.ContainsFunc(points, func(p []float64) bool { return covers(p, y) }) {
				want = 1
			}
			got := 0
			for i := range c.Len() {
				inside := 1
				for k := range m {
					high := int(c.Upper[i*m+k])
					if y[k] < c.Corners[k][c.Lower[i*m+k]] || high < len(c.Corners[k]) && y[k] >= c.Corners[k][high] {
						inside = 0
					}
				}
				got += inside
			}
			if got != want {
				t.Fatalf("%v lies in %d cells, want %d", y, got, want)
			}
		}
		for i, low := range c.Lower {
			if low >= c.Upper[i] {
				t.Fatalf("a cell is empty: %d to %d", low, c.Upper[i])
			}
		}
	})
}

// Law: a point that equals the reference in one objective is not beyond it; indices of what is not dominated ascend.
func TestOnTheReference(t *testing.T) {
	points := [][]float64{{1, 2}, {2, 1}, {2, 1}, {0, 9}, {1, 1}, {9, 0}}
	if got := Front(points, []float64{0, 0}); !slices.EqualFunc(got, [][]float64{{2, 1}, {1, 2}}, slices.Equal) {
		t.Errorf("the front is %v", got)
	}
	if got := NonDominated(points); !slices.Equal(got, []int{0, 1, 2, 3, 5}) {
		t.Errorf("not dominated are %v", got)
	}
	if got := Shares(points, []float64{5, 5}); !slices.Equal(got, make([]float64, 6)) {
		t.Errorf("of nothing they hold %v", got)
	}
}

// Law: which points are on a front, and how much they hold, does not depend on the order of points or objectives.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, reference := someFront(t)
		turned := make([][]float64, len(points))
		for i, p := range points {
			turned[len(points)-1-i] = slices.Clone(p)
		}
		if got, want := Front(turned, reference), Front(points, reference); !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("the front is %v, of the points in reverse %v", want, got)
		}
		for _, p := range turned {
			slices.Reverse(p)
		}
		back := slices.Clone(reference)
		slices.Reverse(back)
		if got, want := Hypervolume(turned, back), Hypervolume(points, reference); math.Abs(got-want) > 1e-14 {
			t.Fatalf("the hypervolume is %v, of the objectives in reverse %v", want, got)
		}
		least := slices.Repeat([]float64{math.Inf(-1)}, len(reference))
		beyond := Front(points, least)
		for i, p := range points {
			on := slices.Contains(NonDominated(points), i)
			if on != slices.ContainsFunc(beyond, func(f []float64) bool { return slices.Equal(f, p) }) {
				t.Fatalf("%v is not dominated: %v", p, on)
			}
		}
	})
}

// Law: a reference point lies behind the front by a tenth of its range, or of that of all points where the front has none; what
// is given stays, and points that miss it do not say what is inferred, unless all do.
func TestReference(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		what         string
		points       [][]float64
		worst, least []float64
		wanted       []float64
	}{
		{what: "one given", points: [][]float64{{1, 5}, {2, 4}, {4, 1}}, worst: []float64{nan, 3}, least: []float64{0, 0}, wanted: []float64{0.9, 3}},
		{what: "all given", points: [][]float64{{1, 5}}, worst: []float64{9, 3}, least: []float64{0, 0}, wanted: []float64{9, 3}},
		{what: "missed by all", points: [][]float64{{1, 5}, {2, 4}, {4, 1}}, worst: []float64{nan, 7}, least: []float64{0, 0}, wanted: []float64{0.7, 7}},
		{what: "one on the front", points: [][]float64{{1, 5}, {0, 3}}, worst: []float64{nan, nan}, least: []float64{0.5, 4}, wanted: []float64{0.9, 4.6}},
		{what: "flat", points: [][]float64{{1, 5}, {1, 5}, {0, 5}}, worst: []float64{nan, nan}, least: []float64{0.5, 0.3}, wanted: []float64{0.9, 4.97}},
	} {
		got := Reference(c.points, c.worst, c.least)
		for k, want := range c.wanted {
			within(t, fmt.Sprint(c.what, ": objective ", k), got[k], want, 1e-14)
		}
	}
}

// Law: the compromise has the greatest least satisfaction, by hand.
func TestCompromise(t *testing.T) {
	points := [][]float64{{10, 0}, {6, 3}, {4, 5}, {5, 4}, {5, 4}, {0, 10}}
	for _, c := range []struct {
		worst []float64
		index int
		least float64
	}{
		{[]float64{0, 0}, 2, 0.4},
		{[]float64{2, 0}, 3, 0.375},
		{[]float64{0, 10}, 0, 1},  // nothing is better than the worst of the second
		{[]float64{20, 20}, 0, 1}, // nor of any
		{[]float64{9, 5}, 0, -1},  // each misses something
	} {
		index, least := Compromise(points, c.worst)
		if index != c.index || math.Abs(least-c.least) > 1e-15 {
			t.Errorf("above %v it is the point %d with %v, want %d with %v", c.worst, index, least, c.index, c.least)
		}
	}
}

// Law: without ties there are n + 1 cells with two objectives, 2n + 1 with three.
func TestNumberOfCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	for m, per := range map[int]int{2: 1, 3: 2} {
		front := sphere(rng, 25, m)
		if c := NewCells(front, make([]float64, m)); c.Len() != per*len(front)+1 {
			t.Errorf("%d objectives: %d cells of %d points", m, c.Len(), len(front))
		}
	}
}

// sphere draws n points of the positive part of the unit sphere in m dimensions: a front.
func sphere(rng *rand.Rand, n, m int) [][]float64 {
	points := make([][]float64, n)
	for i := range points {
		points[i] = make([]float64, m)
		norm := 0.0
		for k := range m {
			points[i][k] = math.Abs(rng.NormFloat64())
			norm += points[i][k] * points[i][k]
		}
		for k := range m {
			points[i][k] /= math.Sqrt(norm)
		}
	}
	return points
}

func BenchmarkCells(b *testing.B) {
	for m := 2; m <= 4; m++ {
		for _, n := range []int{12, 24, 48} {
			b.Run(fmt.Sprintf("m=%d/n=%d", m, n), func(b *testing.B) {
				front := sphere(rand.New(rand.NewPCG(1, 0)), n, m)
				cells := 0
				for b.Loop() {
					cells = NewCells(front, make([]float64, m)).Len()
				}
				b.ReportMetric(float64(cells), "cells")
			})
		}
	}
}

func BenchmarkHypervolume(b *testing.B) {
	for m := 2; m <= 4; m++ {
		for _, n := range []int{20, 80} {
			b.Run(fmt.Sprintf("m=%d/n=%d", m, n), func(b *testing.B) {
				front := sphere(rand.New(rand.NewPCG(1, 0)), n, m)
				for b.Loop() {
					Hypervolume(front, make([]float64, m))
				}
			})
		}
	}
}
