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
	value  float64
}

// origin says what the values of readings depend on.
type origin int

const (
	unsure    origin = iota // nothing yet
	ofOwn                   // the composition they were measured at
	ofBefore                // that of the run before
	ofNothing               // they are all the same
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
// Two models are compared by what they leave unexplained: a mean for each
// composition (own), and a mean for each composition of the run before. The
// value is its own composition's where F = SSB/(SSW/(n−2)) has a tail
// probability below ownLevel and the other model leaves more. It is that of the
// run before where adding that composition to a linear model of the own one has
// a partial F with 1 and n−3 degrees of freedom below staleLevel, and adding
// the own composition to that of the run before explains nothing (Draper and
// Smith 1998, Applied Regression Analysis, §6.1).
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
