// Package shewhart has the control chart for individual measurements.
//
// Source: D. C. Montgomery, Introduction to Statistical Quality Control, 7th ed., §6.4: the limits
// are x̄ ± 3·MR̄/d₂, where MR̄ is the mean of the moving ranges |xᵢ − xᵢ₋₁| and d₂ = 1.128 is the
// expected range of two values of a normal distribution of standard deviation 1.
package shewhart

import "math"

const (
	// Few is how many values there are before limits follow from them. Of a steady process the value
	// after 8 is outside by chance once in 32 times, that after [Enough] once in 95.
	Few = 8
	// Enough is how many values limits are made from: later ones leave them as they are.
	Enough = 20
)

// d2 is the mean of the range of two standard normal values, 2/√π.
var d2 = 2 / math.Sqrt(math.Pi)

// Limits of a value, in its unit. The center is in their middle.
type Limits struct{ Lower, Center, Upper float64 }

// Contain reports whether a value lies in the limits, or on one of them.
func (l *Limits) Contain(x float64) bool { return l.Lower <= x && x <= l.Upper }

// Individuals returns the limits of each value, from those before it: nil of the first [Few], and
// as long as all are equal, which tells nothing of their spread. What lay outside its limits makes
// no later ones, or a drift would widen them.
func Individuals(values []float64) []*Limits {
	limits := make([]*Limits, len(values))
	var sum, ranges, last float64
	n := 0
	for i, x := range values {
		if n >= Few && ranges > 0 {
			center, sigma := sum/float64(n), ranges/float64(n-1)/d2
			limits[i] = &Limits{center - 3*sigma, center, center + 3*sigma}
			if n == Enough || !limits[i].Contain(x) {
				continue
			}
		}
		if n > 0 {
			ranges += math.Abs(x - last)
		}
		sum += x
		last = x
		n++
	}
	return limits
}
