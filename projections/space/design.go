package space

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/qmc"
)

// Streams of random numbers, so that designs, samples and starts with the same
// seed have nothing in common.
const (
	// The numbers are the names in ASCII. They decide designs that are
	// recorded, and so never change.
	streamSample = 0x73616d706c65
	streamDesign = 0x64657369676e
	streamStarts = 0x737461727473
)

// Sample returns n compositions drawn at random, uniformly over the space as
// far as its steps allow: independent of each other, so that a space of few
// compositions repeats them. Equal arguments give equal samples. In a space
// with constraints the points of a walk are snapped, so that a composition
// whose surroundings are larger comes more often.
func (s *Space) Sample(n int, seed uint64) ([]definition.Point, error) {
	rng := rand.New(rand.NewPCG(seed, streamSample))
	points := make([]definition.Point, n)
	if s.list != nil {
		for i := range points {
			points[i] = s.list[rng.IntN(len(s.list))]
		}
		return points, nil
	}
	if s.walk == nil {
		u := make([]float64, len(s.axes))
		for i := range points {
			for j := range u {
				u[j] = rng.Float64()
			}
			points[i] = s.fromCube(u)
		}
		return points, nil
	}
	places, err := s.walk.draw(n, rng)
	if err != nil {
		return nil, err
	}
	for i, x := range places {
		if points[i], err = s.Snap(x); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// Design returns n different compositions for an initial design: fewer only
// where the space has fewer. A longer design with the same seed begins with the
// shorter one, so that a design can be continued.
//
// Kind [events.DesignRandom] draws at random. [events.DesignSobol] fills the
// space evenly. In a box that is a scrambled Sobol sequence, one coordinate for
// each parameter. Where constraints, exclusions or a list shape the space, a
// Sobol sequence would have to be bent or rejected; there it is kernel herding
// with the energy distance (Chen, Welling and Smola 2010; Mak and Joseph 2018,
// Eq. 3): from a random first point, each next one is the one of 1,024 uniform
// points that brings the design's energy distance to the uniform distribution
// down most. The first few points spread as the first points of a Sobol
// sequence do, and no part of a simplex is preferred.
//
// Kind [definition.DesignCovering] fills the space as Sobol does and holds
// every category at least once, or as many as it has points. How soon a
// category has to come depends on n, so that a longer design need not begin
// with the shorter one. A list that is shorter than n is given whole.
func (s *Space) Design(kind string, n int, seed uint64) ([]definition.Point, error) {
	rng := rand.New(rand.NewPCG(seed, streamDesign))
	d := designer{s: s, rng: rng, seen: map[string]bool{}}
	if kind == definition.DesignCovering {
		d.cover = newCover(s)
	}
	switch {
	case kind != definition.DesignSobol && kind != definition.DesignRandom &&
		kind != definition.DesignCovering:
		return nil, fmt.Errorf(
			"unknown design %q; choose %q, %q or %q", kind, definition.DesignCovering,
			definition.DesignSobol, definition.DesignRandom,
		)
	case s.list != nil:
		n = min(n, len(s.list))
		if kind == definition.DesignRandom {
			points := make([]definition.Point, n)
			for i, k := range rng.Perm(len(s.list))[:n] {
				points[i] = s.list[k]
			}
			return points, nil
		}
		return d.herd(n, s.encoded)
	case kind == definition.DesignRandom:
		return d.random(n)
	case s.walk == nil && len(s.axes) <= qmc.MaxDim:
		return d.sobol(n, seed)
	default:
		return d.herd(n, nil)
	}
}

// Starts returns n points of the relaxed space, encoded, from which to search
// for an optimum of an acquisition: evenly spread in a box, uniform otherwise,
// with every category pure and outside excluded regions. A list of candidates
// gives the candidates, at random. They need not be compositions: a search
// begins wherever the acquisition is smooth.
func (s *Space) Starts(n int, seed uint64) ([][]float64, error) {
	rng := rand.New(rand.NewPCG(seed, streamStarts))
	starts := make([][]float64, 0, n)
	switch {
	case s.list != nil:
		for range n {
			starts = append(starts, append([]float64(nil), s.encoded[rng.IntN(len(s.list))]...))
		}
		return starts, nil
	case s.walk != nil:
		return s.walk.draw(n, rng)
	case len(s.axes) > qmc.MaxDim:
		u := make([]float64, len(s.axes))
		for range n {
			for j := range u {
				u[j] = rng.Float64()
			}
			starts = append(starts, s.relaxedFromCube(u))
		}
		return starts, nil
	}
	sequence, err := qmc.NewScrambled(len(s.axes), rng.Uint64())
	if err != nil {
		return nil, err
	}
	for _, u := range sequence.Points(n) {
		starts = append(starts, s.relaxedFromCube(u))
	}
	return starts, nil
}

// fromCube maps a point of [0, 1)^(number of parameters) to a composition of a
// space without constraints: each value of a list with equal probability. One
// coordinate for each parameter, however many its code has: Sobol points are
// the more even the fewer their dimensions.
func (s *Space) fromCube(u []float64) definition.Point {
	values, categories := make([]float64, len(s.axes)), make([]int, len(s.axes))
	for i := range s.axes {
		a := &s.axes[i]
		switch {
		case a.categorical():
			categories[i] = level(u[i], len(a.categories))
		case a.grid != nil:
			values[i] = a.grid.value(level(u[i], a.grid.len()))
		default:
			values[i] = a.decode(u[i])
		}
	}
	return s.point(values, categories)
}

// relaxedFromCube is fromCube with numbers between their discrete values,
// encoded. Between the first and the last value that can be made, which may lie
// inside the bounds.
func (s *Space) relaxedFromCube(u []float64) []float64 {
	x := make([]float64, s.dim)
	for i := range s.axes {
		a := &s.axes[i]
		if a.categorical() {
			copy(x[a.at:], a.codes[level(u[i], len(a.categories))])
			continue
		}
		lo, hi := a.encode(a.first()), a.encode(a.last())
		x[a.at] = lo + u[i]*(hi-lo)
	}
	return x
}

// level is the index among n that u ∈ [0, 1] falls on. u = 1 itself, which
// rounding may give, is the last.
func level(u float64, n int) int { return min(int(u*float64(n)), n-1) }

// designer collects different compositions. It compares by key, so that two
// points which differ by rounding are one.
type designer struct {
	s      *Space
	rng    *rand.Rand
	seen   map[string]bool
	points []definition.Point
	places [][]float64 // points, encoded
	cover  *cover      // of a design that holds every category; nil for others
}

// add takes p unless it is a repeat.
func (d *designer) add(p definition.Point) (bool, error) {
	x, err := d.s.Encode(p)
	if err != nil {
		return false, err
	}
	if k := key(x); !d.seen[k] {
		d.seen[k] = true
		d.points, d.places = append(d.points, p), append(d.places, x)
		d.cover.take(x)
		return true, nil
	}
	return false, nil
}

// patience is how many repeats in a row end a design: a space with so many more
// compositions than fit into a list does not repeat itself that often, unless
// almost nothing satisfies its constraints. Each fresh composition starts the
// count anew.
const patience = 2000

// sobol takes the points of a scrambled sequence in their order and leaves out
// repeats. Leaving out repeats keeps the order of the sequence, so that a
// longer design begins with the shorter one.
func (d *designer) sobol(n int, seed uint64) ([]definition.Point, error) {
	sequence, err := qmc.NewScrambled(len(d.s.axes), seed)
	if err != nil {
		return nil, err
	}
	u := make([]float64, len(d.s.axes))
	for repeats := 0; len(d.points) < n && repeats < patience; {
		sequence.Next(u)
		fresh, err := d.add(d.cover.bend(d.s.fromCube(u), n-len(d.points)))
		if err != nil {
			return nil, err
		}
		if repeats++; fresh {
			repeats = 0
		}
	}
	return d.points, nil
}

// random draws compositions and leaves out repeats. Repeats count one by one,
// across blocks.
func (d *designer) random(n int) ([]definition.Point, error) {
	// Whole blocks, so that a longer design begins with the shorter one.
	const block = 64
	for repeats := 0; len(d.points) < n && repeats < patience; {
		points, err := d.s.Sample(block, d.rng.Uint64())
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			fresh, err := d.add(p)
			if err != nil {
				return nil, err
			}
			if repeats++; fresh {
				repeats = 0
			}
		}
	}
	return d.points[:min(n, len(d.points))], nil
}

// herd chooses from pools of uniform points, or from the given one. New pools
// are drawn when one is used up, so that a long design does not come from 1,024
// points alone. A quarter of a pool at most: among its last points there would
// be no choice left.
func (d *designer) herd(n int, given [][]float64) ([]definition.Point, error) {
	const block, used = 1024, 256 // points of a pool, and how many are chosen from it at most
	for len(d.points) < n {
		pool, most := given, len(given)
		if given == nil {
			var err error
			if pool, err = d.s.walk.draw(block, d.rng); err != nil {
				return nil, err
			}
			most = used
		}
		before := len(d.points)
		if err := d.choose(pool, min(n-before, most), n); err != nil {
			return nil, err
		}
		if given != nil || len(d.points) == before {
			break
		}
	}
	return d.points, nil
}

// choose adds up to n points of the pool to a design of whole points. With k
// points chosen, the next one maximizes −mean_y ‖x − y‖ + 1/(k+1) Σ ‖x − x_i‖
// over the pool, or over those of it that bring the most of the categories that
// are due.
//
// A pool point that snaps to a composition which the design has already is
// skipped. Of equal values the first of the pool is taken. Mean distances to
// the pool stand for those to the uniform distribution. 512 of its points
// suffice for that mean, and keep the cost of a list of 10,000 bounded.
func (d *designer) choose(pool [][]float64, n, whole int) error {
	mean := make([]float64, len(pool)) // mean distance to the pool, from at most 512 of its points
	stride := (len(pool) + 511) / 512
	away := make([]float64, len(pool)) // sum of distances to the design
	used := make([]bool, len(pool))
	for i, x := range pool {
		count := 0
		for j := 0; j < len(pool); j += stride {
			mean[i] += math.Sqrt(squaredDistance(x, pool[j]))
			count++
		}
		mean[i] /= float64(count)
		for _, y := range d.places {
			away[i] += math.Sqrt(squaredDistance(x, y))
		}
	}
	for chosen := 0; chosen < n; {
		best := -1
		value := math.Inf(-1)
		most := 0
		due := d.cover.due(whole - len(d.points))
		for i, x := range pool {
			if used[i] {
				continue
			}
			brings := d.cover.brings(x, due)
			v := away[i]/float64(len(d.places)+1) - mean[i]
			if brings > most || brings == most && v > value {
				best = i
				value = v
				most = brings
			}
		}
		// The first point is drawn: by the criterion it would be the middle of
		// the space in every campaign.
		if len(d.places) == 0 {
			best = d.rng.IntN(len(pool))
		}
		if best < 0 {
			return nil
		}
		used[best] = true
		p, err := d.s.Snap(pool[best])
		if err != nil {
			return err
		}
		fresh, err := d.add(p)
		if err != nil {
			return err
		}
		if !fresh {
			continue
		}
		chosen++
		y := d.places[len(d.places)-1]
		for i, x := range pool {
			away[i] += math.Sqrt(squaredDistance(x, y))
		}
	}
	return nil
}
