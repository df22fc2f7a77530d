package instrumenttest

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// reading is a value measured at one of two compositions, 0 and 1.
type reading struct {
	own    int // the composition it was measured at
	before int // the composition of the run before; -1 where that was another one
	// follows says that no other command was started since the reading before it,
	// and start numbers its command.
	follows bool
	start   int
	left    float64 // of the run before, see carried
	value   float64
}

// origin is the composition that the values of readings depend on.
type origin int

const (
	unsure    origin = iota // nothing yet
	ofOwn                   // the composition they were measured at
	ofBefore                // that of the run before
	ofNothing               // they are all equal
)

const (
	// ownLevel is the level of the F test by which values of two compositions
	// are distinguished.
	ownLevel = 0.01
	// staleLevel is that of the test by which they follow the run before, taken
	// after each reading from the fifth on, at most 12 times. An honest
	// instrument is accused less than once in 500 checks, whatever its noise:
	// at most 25 times in 20,000 simulated checks with normal noise, heavy
	// tails and values of a few levels.
	staleLevel = 1e-4
	// tiedReadings is how many readings are needed to accuse an instrument that
	// gives the same value, bit for bit, at both compositions. Coarse values
	// tie by chance, and the F test does not hold for them: two levels follow
	// the run before in all of 13 readings once in 4,000 checks.
	tiedReadings = 13
)

// origins judges readings in the order in which they were taken.
//
// Two models are compared by the variation that they leave unexplained: a mean for each composition
// (own), and a mean for each composition of the run before. The value is its own composition's
// where F = SSB/(SSW/(n−2)) has a tail probability below ownLevel and the other model leaves more.
// It is that of the run before where adding that composition to a linear model of the own one has a
// partial F with 1 and n−3 degrees of freedom below staleLevel, and adding the own composition to
// that of the run before explains nothing (Draper and Smith 1998, Applied Regression Analysis,
// §6.1).
func origins(readings []reading) origin {
	first := readings[0].value
	if !slices.ContainsFunc(readings, func(r reading) bool { return r.value != first }) {
		return ofNothing
	}
	known := slices.DeleteFunc(slices.Clone(readings), func(r reading) bool { return r.before < 0 })
	own := func(r reading) []float64 { return []float64{1, float64(r.own)} }
	before := func(r reading) []float64 { return []float64{1, float64(r.before)} }
	both := func(r reading) []float64 { return []float64{1, float64(r.own), float64(r.before)} }
	alone := func(reading) []float64 { return []float64{1} }

	byOwn := unexplained(known, own)
	byBefore := unexplained(known, before)
	within := unexplained(readings, own)
	between := unexplained(readings, alone) - within
	if tailF(between, within, len(readings)-2) < ownLevel && byOwn <= byBefore {
		return ofOwn
	}
	rest := unexplained(known, both)
	free := len(known) - 3
	stale := tailF(byOwn-rest, rest, free) < staleLevel && tailF(byBefore-rest, rest, free) > ownLevel
	if stale && (!tied(readings) || len(known) >= tiedReadings) {
		return ofBefore
	}
	return unsure
}

// swapped returns the readings whose values are, bit for bit, those of the reading
// before at another composition. There are none where other values tie, too, where
// only one composition is left, or where an instrument with a few values does not
// tell the compositions apart.
func swapped(readings []reading) (which []int) {
	var kept []reading
	out := make([]bool, len(readings))
	for i, r := range readings {
		if i > 0 && !out[i-1] && r.follows && r.own != readings[i-1].own &&
			r.value == readings[i-1].value {
			out[i] = true
			which = append(which, i)
			continue
		}
		kept = append(kept, r)
	}
	other := func(r reading) bool { return r.own != kept[0].own }
	if tied(kept) || !slices.ContainsFunc(kept, other) || coarse(kept) && !apart(kept) {
		return nil
	}
	return which
}

// coarse reports whether of the repeats at one composition some are the same, bit
// for bit, and some are not: the instrument has a few values.
func coarse(readings []reading) bool {
	same := false
	differ := false
	for i, a := range readings {
		for _, b := range readings[:i] {
			if a.own == b.own {
				same = same || a.value == b.value
				differ = differ || a.value != b.value
			}
		}
	}
	return same && differ
}

// apart reports whether more lies between the values of any two compositions than
// among those of one.
func apart(readings []reading) bool {
	least, most := map[int]float64{}, map[int]float64{}
	for _, r := range readings {
		if _, seen := least[r.own]; !seen {
			least[r.own], most[r.own] = r.value, r.value
		}
		least[r.own], most[r.own] = min(least[r.own], r.value), max(most[r.own], r.value)
	}
	for a := range least {
		for b := range least {
			if a != b && max(least[a]-most[b], least[b]-most[a]) <= most[a]-least[a] {
				return false
			}
		}
	}
	return true
}

const (
	// carryLevel is the level of the tests by which values depend on the run before
	// as well: two, taken once.
	carryLevel = 5e-4
	// carryLeast is the least part of the difference between two compositions that is called
	// carried over. A campaign would not notice less.
	carryLeast = 0.02
)

// carried is the part of a value that stems from the run before; 0 without carry-over. In y = α +
// β·own + γ·left the partial F of γ with 1 and n−3 degrees of freedom has a tail probability below
// carryLevel (Draper and Smith 1998, §6.1). left is the composition of the run before, or its
// value, which holds in turn a part of the runs before it. The part is γ/(β+γ) then, or γ. Values
// that tie are too coarse for it.
func carried(readings []reading) (part float64) {
	if tied(readings) {
		return 0
	}
	least, greatest := readings[0].value, readings[0].value
	for _, r := range readings {
		least, greatest = min(least, r.value), max(greatest, r.value)
	}
	var compositions, values []reading
	for i, r := range readings {
		if r.before >= 0 {
			r.left = float64(r.before)
			compositions = append(compositions, r)
		}
		if i > 0 && r.follows {
			r.left = (readings[i-1].value - least) / (greatest - least)
			values = append(values, r)
		}
	}
	own := func(r reading) float64 { return float64(r.own) }
	left := func(r reading) float64 { return r.left }
	level := carryLevel
	for n, known := range [][]reading{compositions, values} {
		rest := unexplained(known, func(r reading) []float64 { return []float64{1, own(r), left(r)} })
		alone := unexplained(known, func(r reading) []float64 { return []float64{1, own(r)} })
		p := tailF(alone-rest, rest, len(known)-3)
		if p >= level {
			continue
		}
		level = p
		gamma := slope(known, left, own)
		part = gamma / (greatest - least)
		if n == 0 {
			part = gamma / (slope(known, own, left) + gamma)
		}
	}
	if math.Abs(part) < carryLeast {
		return 0
	}
	return part
}

// slope is the coefficient of x in a least-squares model of the values with a
// constant and z.
func slope(readings []reading, x, z func(reading) float64) float64 {
	column := func(of func(reading) float64) []float64 {
		c := make([]float64, len(readings))
		var sum float64
		for i, r := range readings {
			c[i] = of(r)
			sum += c[i]
		}
		for i := range c {
			c[i] -= sum / float64(len(c))
		}
		return c
	}
	xs, zs := column(x), column(z)
	if size := dot(zs, zs); size > 0 {
		subtract(xs, zs, dot(xs, zs)/size)
	}
	return dot(xs, column(func(r reading) float64 { return r.value })) / dot(xs, xs)
}

// tied reports whether the same value was measured at both compositions. Values
// are compared bit for bit: noise of an honest instrument with fine digits does
// not tie.
func tied(readings []reading) bool {
	for _, a := range readings {
		for _, b := range readings {
			if a.own != b.own && a.value == b.value {
				return true
			}
		}
	}
	return false
}

// tailF is the probability of a greater F with 1 and free degrees of freedom,
// where one term explains the sum of squares gained and rest is unexplained.
// Without noise everything is explained, and the tail is 0; without freedom
// nothing can be said, and it is 1.
func tailF(gained, rest float64, free int) float64 {
	switch {
	case free < 1 || gained <= 0:
		return 1
	case rest == 0:
		return 0
	}
	return distuv.F{D1: 1, D2: float64(free)}.Survival(gained * float64(free) / rest)
}

// unexplained is the sum of squares that least squares on the terms of each
// reading leave. Sums of squares below the rounding of the values are zero. It
// is orthogonalization and not the normal equations, which would lose half of
// the digits where values differ little from each other.
func unexplained(readings []reading, terms func(reading) []float64) float64 {
	// Gram-Schmidt: what remains of the values after each term.
	var size float64
	rest := make([]float64, len(readings))
	for i, r := range readings {
		rest[i] = r.value
		size = max(size, math.Abs(r.value))
	}
	if len(readings) == 0 {
		return 0
	}
	var basis [][]float64
	for k := range terms(readings[0]) {
		column := make([]float64, len(readings))
		for i, r := range readings {
			column[i] = terms(r)[k]
		}
		for _, b := range basis {
			subtract(column, b, dot(column, b))
		}
		norm := math.Sqrt(dot(column, column))
		if norm < 1e-6 {
			continue // it follows from the others
		}
		for i := range column {
			column[i] /= norm
		}
		basis = append(basis, column)
		subtract(rest, column, dot(rest, column))
	}
	sum := dot(rest, rest)
	if rounding := 1e-12 * size; sum < float64(len(readings))*rounding*rounding {
		return 0
	}
	return sum
}

// dot is the inner product.
func dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// subtract changes from in place.
func subtract(from, what []float64, times float64) {
	for i := range from {
		from[i] -= times * what[i]
	}
}
