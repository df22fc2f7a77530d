package gp

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrData reports observations that no model can be built from; the text says
// which.
var ErrData = errors.New("unusable observations")

// Data are n observations in d dimensions. Nothing here changes them.
type Data struct {
	X [][]float64 // n points of d coordinates
	Y []float64   // n observed values
	// NoiseVar holds the known noise variance of each observation, positive, or
	// NaN where it is not known. Nil means none is known.
	NoiseVar []float64
}

// known returns the known noise variance of observation t, or 0.
func (d Data) known(t int) float64 {
	if d.NoiseVar == nil || math.IsNaN(d.NoiseVar[t]) {
		return 0
	}
	return d.NoiseVar[t]
}

// subset returns the observations at m of the given distinct points, which are
// in the order in which they first appear: at the first and at equal distances
// behind it.
func (d Data) subset(points [][]float64, m int) Data {
	spaced := make([][]float64, m)
	for k := range m {
		spaced[k] = points[k*len(points)/m]
	}
	return d.at(spaced)
}

// mostFitted is the greatest number of distinct points whose likelihood [Fit] maximizes,
// where its configuration names no other.
const mostFitted = 400

// Fitted returns the observations whose likelihood [Fit] maximizes by default: all of them
// up to 400 distinct points, beyond that those of its subset.
func (d Data) Fitted() Data {
	points := merge(d).x
	if len(points) <= mostFitted {
		return d
	}
	return d.subset(points, mostFitted)
}

// Nearest returns the observations at the m distinct points that are nearest to x, distances being
// in lengthscales, in their order: the basis of a prediction at x alone (the neighborhood of
// kriging; Emery 2009). All of them where there are no more.
func (d Data) Nearest(x, lengthscales []float64, m int) Data {
	points := merge(d).x
	if len(points) <= m {
		return d
	}
	distance := func(p []float64) (s float64) {
		for j, l := range lengthscales {
			t := (x[j] - p[j]) / l
			s += t * t
		}
		return s
	}
	slices.SortStableFunc(points,
		func(a, b []float64) int { return cmp.Compare(distance(a), distance(b)) })
	return d.at(points[:m])
}

// at returns the observations at the given points, in their order.
func (d Data) at(points [][]float64) (s Data) {
	chosen := make(map[string]bool, len(points)) // only looked up
	for _, x := range points {
		chosen[pointKey(x)] = true
	}
	for t, x := range d.X {
		if !chosen[pointKey(x)] {
			continue
		}
		s.X, s.Y = append(s.X, x), append(s.Y, d.Y[t])
		if d.NoiseVar != nil {
			s.NoiseVar = append(s.NoiseVar, d.NoiseVar[t])
		}
	}
	return s
}

// pointKey is equal for equal points.
func pointKey(x []float64) string {
	buf := make([]byte, 0, 8*len(x))
	for _, c := range x {
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(c+0)) // c+0 turns −0 into 0
	}
	return string(buf)
}

// validate panics on mismatched shapes and reports bad numbers with ErrData.
func (d Data) validate() error {
	if len(d.Y) != len(d.X) || (d.NoiseVar != nil && len(d.NoiseVar) != len(d.X)) {
		panic(fmt.Sprintf("gp: %d points, %d values, %d noise variances", len(d.X), len(d.Y),
			len(d.NoiseVar)))
	}
	if len(d.X) == 0 {
		return fmt.Errorf("%w: there are none, at least one is needed", ErrData)
	}
	for t, x := range d.X {
		if len(x) != len(d.X[0]) || len(x) == 0 {
			panic(fmt.Sprintf("gp: point %d has %d coordinates, point 0 has %d", t, len(x), len(d.X[0])))
		}
		for j, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: coordinate %d of point %d is %v", ErrData, j, t, v)
			}
		}
		if v := d.Y[t]; math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: value %d is %v", ErrData, t, v)
		}
		if d.NoiseVar != nil {
			if v := d.NoiseVar[t]; v <= 0 || math.IsInf(v, 1) {
				return fmt.Errorf("%w: known noise variance %d is %v, must be positive (or NaN for unknown)",
					ErrData, t, v)
			}
		}
	}
	return nil
}

// rows are the observations after merging. Row i stands for count[i]
// observations at x[i] with mean y[i]; its noise variance is known[i], or
// σ²/count[i] where known[i] is 0. Observations with known and with unknown
// noise at one point stay two rows: their weights in a common mean would depend
// on σ².
type rows struct {
	x     [][]float64
	y     []float64
	count []float64
	known []float64

	// What merging takes out of the log marginal likelihood: constant −
	// ½·spare·ln(2πσ²) − ½·squares/σ².
	constant float64 // known weights and counts
	spare    float64 // Σ (count − 1) over rows of unknown noise
	squares  float64 // Σ of squared deviations from their row's mean
}

// merge merges equal points, in the order in which they first appear.
func merge(d Data) rows {
	type key struct {
		x     string
		known bool
	}
	var r rows
	index := make(map[key]int, len(d.X)) // only looked up, never ranged over
	row := make([]int, len(d.X))
	var weight []float64 // Σ 1/v of known rows, the count of the others
	for t, x := range d.X {
		v := d.known(t)
		k := key{pointKey(x), v > 0}
		i, ok := index[k]
		if !ok {
			i = len(r.x)
			index[k] = i
			r.x = append(r.x, x)
			r.y = append(r.y, 0)
			r.count = append(r.count, 0)
			r.known = append(r.known, 0)
			weight = append(weight, 0)
		}
		w := 1.0
		if v > 0 {
			w = 1 / v
		}
		row[t] = i
		r.count[i]++
		weight[i] += w
		r.y[i] += w / weight[i] * (d.Y[t] - r.y[i]) // the running weighted mean
		if v > 0 {
			r.known[i] = 1 / weight[i]
		}
	}
	for t, i := range row {
		e := d.Y[t] - r.y[i]
		if v := d.known(t); v > 0 {
			r.constant -= 0.5*math.Log(2*math.Pi*v) + 0.5*e*e/v
		} else {
			r.squares += e * e
		}
	}
	for i, v := range r.known {
		if v > 0 {
			r.constant += 0.5 * math.Log(2*math.Pi*v)
		} else {
			r.spare += r.count[i] - 1
			r.constant -= 0.5 * math.Log(r.count[i])
		}
	}
	return r
}

// noise returns the noise variance of row i for the inferred variance σ².
func (r *rows) noise(i int, sigma2 float64) float64 {
	if r.known[i] > 0 {
		return r.known[i]
	}
	return sigma2 / r.count[i]
}

// within returns the log density of the scatter that merging took out, for the
// inferred variance σ², and its derivative with respect to ln σ². Adding it to
// the log density of the rows gives that of all observations.
func (r *rows) within(sigma2 float64) (value, slope float64) {
	value = r.constant - 0.5*r.spare*math.Log(2*math.Pi*sigma2) - 0.5*r.squares/sigma2
	return value, -0.5*r.spare + 0.5*r.squares/sigma2
}

// inferred reports whether any row's noise is σ².
func (r *rows) inferred() bool {
	for _, v := range r.known {
		if v == 0 {
			return true
		}
	}
	return false
}
