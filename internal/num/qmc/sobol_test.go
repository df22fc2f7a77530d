package qmc

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// The first ten points in three dimensions, as Joe and Kuo publish them with their generator.
func TestPublishedPoints(t *testing.T) {
	want := [][]float64{
		{0, 0, 0}, {0.5, 0.5, 0.5}, {0.75, 0.25, 0.25}, {0.25, 0.75, 0.75}, {0.375, 0.375, 0.625},
		{0.875, 0.875, 0.125}, {0.625, 0.125, 0.875}, {0.125, 0.625, 0.375}, {0.1875, 0.3125, 0.9375},
		{0.6875, 0.8125, 0.4375},
	}
	s := must.Get(New(3))(t)
	for i, got := range s.Points(len(want)) {
		if !slices.Equal(got, want[i]) {
			t.Errorf("point %d = %v, want %v", i, got, want[i])
		}
	}
}

// sequences returns the plain sequence in dim dimensions and a scrambled one.
func sequences(t *testing.T, dim int, seed uint64) map[string]*Sobol {
	t.Helper()
	plain := must.Get(New(dim))(t)
	scrambled := must.Get(NewScrambled(dim, seed))(t)
	return map[string]*Sobol{"plain": plain, "scrambled": scrambled}
}

// Every coordinate is a (0, 1)-sequence in base 2: each block of 2^m points from a multiple of 2^m
// on has exactly one point in each of the 2^m equal intervals, plain and scrambled, in all
// dimensions of the table.
func TestEveryCoordinateIsANet(t *testing.T) {
	for name, s := range sequences(t, MaxDim, 7) {
		for m := 0; m <= 9; m++ {
			n := 1 << m
			for _, start := range []int{0, 5 * n} {
				s.Seek(uint32(start))
				block := s.Points(n)
				for j := range MaxDim {
					seen := make([]bool, n)
					for _, p := range block {
						cell := int(p[j] * float64(n))
						if seen[cell] {
							t.Fatalf("%s: two of points %d…%d in interval %d of %d of coordinate %d",
								name, start, start+n-1, cell, n, j)
						}
						seen[cell] = true
					}
				}
			}
		}
	}
}

// The first two coordinates are a (0, m, 2)-net (t = 0) in every prefix of 2^m points: each
// elementary rectangle of area 2^−m holds exactly one. Coordinates two and three have t = 1 (the
// degrees of their polynomials, less one, summed: Sobol 1967): rectangles of area 2^(1−m) hold
// exactly two.
func TestPlaneProjectionsAreNets(t *testing.T) {
	for name, s := range sequences(t, 3, 11) {
		for _, c := range []struct{ a, b, t int }{{0, 1, 0}, {1, 2, 1}} {
			for m := c.t; m <= 10; m++ {
				s.Seek(0)
				points := s.Points(1 << m)
				for wide := 0; wide <= m-c.t; wide++ {
					high := m - c.t - wide
					count := make(map[[2]int]int)
					for _, p := range points {
						count[[2]int{int(math.Ldexp(p[c.a], wide)), int(math.Ldexp(p[c.b], high))}]++
					}
					if len(count) != 1<<(m-c.t) {
						t.Fatalf("%s, coordinates %d and %d: 2^%d points reach %d of the 2^%d rectangles of 2^-%d × 2^-%d",
							name, c.a, c.b, m, len(count), m-c.t, wide, high)
					}
					for cell, k := range count {
						if k != 1<<c.t {
							t.Fatalf("%s, coordinates %d and %d: rectangle %v holds %d points", name, c.a, c.b, cell, k)
						}
					}
				}
			}
		}
	}
}

// A point is a function of dimension, seed and index: Seek, At and Next agree.
func TestSeekIsNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 6).Draw(t, "dim")
		seed := rapid.Uint64().Draw(t, "seed")
		index := rapid.IntRange(0, 300).Draw(t, "index")
		a, _ := NewScrambled(dim, seed)
		b, _ := NewScrambled(dim, seed)
		rows := a.Points(index + 2)
		got := make([]float64, dim)
		b.At(uint32(index), got)
		if !slices.Equal(got, rows[index]) {
			t.Fatalf("At(%d) = %v, the walk gives %v", index, got, rows[index])
		}
		b.Next(got)
		if !slices.Equal(got, rows[index+1]) {
			t.Fatalf("after At(%d) comes %v, the walk gives %v", index, got, rows[index+1])
		}
		for _, p := range rows {
			for _, x := range p {
				if !(x >= 0 && x < 1) {
					t.Fatalf("coordinate %v outside [0, 1)", x)
				}
			}
		}
	})
}

// Scrambling changes the points with the seed, and over seeds each point is uniform: the mean of
// the first point over 4,000 seeds is within 5 standard errors of ½, and so is the mean of its
// square of ⅓.
func TestScrambleIsUniform(t *testing.T) {
	const seeds = 4000
	var sum, square float64
	p := make([]float64, 1)
	for seed := range uint64(seeds) {
		s, _ := NewScrambled(1, seed)
		s.Next(p)
		sum += p[0]
		square += p[0] * p[0]
	}
	if d := math.Abs(sum/seeds - 0.5); d > 5*math.Sqrt(1.0/12/seeds) {
		t.Errorf("mean is off by %v", d)
	}
	if d := math.Abs(square/seeds - 1.0/3); d > 5*math.Sqrt(4.0/45/seeds) {
		t.Errorf("mean square is off by %v", d)
	}
}

// A fixed value for ever: a campaign's initial design must not move when this package is edited.
func TestScrambledPointsNeverChange(t *testing.T) {
	s, _ := NewScrambled(2, 42)
	got := fmt.Sprintf("%x", s.Points(2))
	const want = "[[0x1.f7bfd656f9898p-02 0x1.762f1115cb874p-02] [0x1.6e70cc9966a19p-01 0x1.91b270260a3edp-01]]"
	if got != want {
		t.Errorf("points %s, want %s", got, want)
	}
}

func TestDimension(t *testing.T) {
	for _, dim := range []int{-1, 0, MaxDim + 1} {
		if _, err := NewScrambled(dim, 1); !errors.Is(err, ErrDimension) {
			t.Errorf("%d dimensions: %v", dim, err)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, dim := range []int{4, 21} {
		b.Run(fmt.Sprintf("d=%d", dim), func(b *testing.B) {
			s, _ := NewScrambled(dim, 1)
			p := make([]float64, dim)
			b.ReportAllocs()
			for i := range b.N {
				if i%(1<<20) == 0 {
					s.Seek(0)
				}
				s.Next(p)
			}
		})
	}
}
