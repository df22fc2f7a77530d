package formula

import "math"

// Range is a closed interval of values. A side without a bound is infinite.
type Range struct{ Lower, Upper float64 }

// Empty reports whether the range holds no value.
func (r Range) Empty() bool { return !(r.Lower <= r.Upper) }

var (
	// everything is the range without bounds.
	everything = Range{math.Inf(-1), math.Inf(1)}
	// nothing is the range of an expression that has no value anywhere.
	nothing = Range{math.Inf(1), math.Inf(-1)}
)

// Range returns a range that holds every finite value of the formula where each name
// has a finite value in its own, by interval arithmetic with outward rounding (Moore
// 1966, §3). It is close where each name stands once, and may be too wide
// otherwise: x − x of x in [0, 1] is in [−1, 1]. Where an expression has no value,
// as √−1, none is reported, and an empty range where it has none anywhere. A name
// that is not in the map may have any value.
func (f *Formula) Range(of map[string]Range) Range { return f.root.over(f.ranges(of)) }

// ranges are those of the formula's names, in their order.
func (f *Formula) ranges(of map[string]Range) []Range {
	ranges := make([]Range, len(f.names))
	for i, n := range f.names {
		ranges[i] = everything
		if r, ok := of[n]; ok {
			ranges[i] = r
		}
	}
	return ranges
}

// over evaluates an expression over ranges of the formula's names.
func (n *node) over(names []Range) Range {
	switch n.op {
	case number:
		return Range{n.value, n.value}
	case name:
		return names[n.name]
	}
	of := make([]Range, len(n.args))
	for i, a := range n.args {
		if of[i] = a.over(names); of[i].Empty() && (n.op != choose || i < 2) {
			return nothing
		}
	}
	if n.op == choose {
		return overChoice(n.compare, of)
	}
	out := of[0]
	if len(of) == 1 {
		return overOne(n.op, out)
	}
	for _, r := range of[1:] {
		out = overTwo(n.op, out, r)
	}
	return out
}

// outward rounds both ends away from the values between them. Two steps cover the error of the
// library's functions, which is below one unit in the last place. An infinite range stays so:
// overflow is monotone.
func outward(r Range) Range {
	for range 2 {
		if !math.IsInf(r.Lower, 1) {
			r.Lower = math.Nextafter(r.Lower, math.Inf(-1))
		}
		if !math.IsInf(r.Upper, -1) {
			r.Upper = math.Nextafter(r.Upper, math.Inf(1))
		}
	}
	return r
}

// sum is the range of a sum between two ends. An end that is a NaN is of ∞ − ∞: there
// one of the two is infinite all over, and so is every sum that has a value.
func sum(lower, upper float64) Range {
	if math.IsNaN(lower) {
		lower = math.Inf(1)
	}
	if math.IsNaN(upper) {
		upper = math.Inf(-1)
	}
	return outward(Range{lower, upper})
}

// widened makes a range wider by a share, less than 1, of its ends. An end that
// overflowed may not have done so but for the error.
func widened(r Range, share float64) Range {
	r.Lower, r.Upper = min(r.Lower, math.MaxFloat64), max(r.Upper, -math.MaxFloat64)
	return outward(Range{
		r.Lower * (1 - math.Copysign(share, r.Lower)),
		r.Upper * (1 + math.Copysign(share, r.Upper)),
	})
}

// union returns the least range that holds two.
func union(a, b Range) Range { return Range{min(a.Lower, b.Lower), max(a.Upper, b.Upper)} }

// corners returns the range of a function of two values that is monotone in each:
// it has its extremes at the ends of both. A NaN is of 0·∞ or ∞/∞, which finite
// values bring no further from 0 than those at the other ends do.
func corners(a, b Range, f func(x, y float64) float64) Range {
	out := nothing
	for _, x := range []float64{a.Lower, a.Upper} {
		for _, y := range []float64{b.Lower, b.Upper} {
			v := f(x, y)
			if math.IsNaN(v) {
				v = 0
			}
			out = union(out, Range{v, v})
		}
	}
	return out
}

// overChoice is of two sides that are compared, and of two values.
func overChoice(c comparison, of []Range) Range {
	switch one, other := taken(c, of[0], of[1]); {
	case one && other:
		return union(of[2], of[3])
	case one:
		return of[2]
	}
	return of[3]
}

// taken reports which of two branches may be chosen, for the ranges of both sides of a comparison.
func taken(c comparison, x, y Range) (one, other bool) {
	// What holds for the ends that make it least likely holds for all.
	worst := c.holds(x.Upper, y.Lower)
	best := c.holds(x.Lower, y.Upper)
	if c == ">" || c == ">=" {
		worst, best = best, worst
	}
	return best != no, worst != yes
}

func overOne(op operation, x Range) Range {
	positive := Range{max(x.Lower, 0), x.Upper}
	switch {
	case op == negate:
		return Range{-x.Upper, -x.Lower}
	case op == absolute:
		if x.Lower <= 0 && x.Upper >= 0 {
			return Range{0, max(-x.Lower, x.Upper)}
		}
		return Range{min(math.Abs(x.Lower), math.Abs(x.Upper)), max(math.Abs(x.Lower), math.Abs(x.Upper))}
	case op == exponential:
		r := outward(Range{math.Exp(x.Lower), math.Exp(x.Upper)})
		return Range{max(r.Lower, 0), r.Upper}
	case positive.Empty():
		return nothing
	case op == squareRoot:
		r := outward(Range{math.Sqrt(positive.Lower), math.Sqrt(positive.Upper)})
		return Range{max(r.Lower, 0), r.Upper}
	case op == naturalLog:
		return outward(Range{math.Log(positive.Lower), math.Log(positive.Upper)})
	}
	// Near 1 the library's decimal logarithm is a difference of numbers near 1.
	const difference = 1e-15
	r := outward(Range{math.Log10(positive.Lower), math.Log10(positive.Upper)})
	return Range{r.Lower - difference, r.Upper + difference}
}

func overTwo(op operation, x, y Range) Range {
	switch op {
	case add:
		return sum(x.Lower+y.Lower, x.Upper+y.Upper)
	case subtract:
		return sum(x.Lower-y.Upper, x.Upper-y.Lower)
	case minimum:
		return Range{min(x.Lower, y.Lower), min(x.Upper, y.Upper)}
	case maximum:
		return Range{max(x.Lower, y.Lower), max(x.Upper, y.Upper)}
	case multiply:
		return outward(corners(x, y, func(x, y float64) float64 { return x * y }))
	case divide:
		if y.Lower <= 0 && y.Upper >= 0 {
			return everything
		}
		return outward(corners(x, y, func(x, y float64) float64 { return x / y }))
	}
	return overPower(x, y)
}

// powerError bounds the relative error of the library's powers, which grows with
// the exponent.
func powerError(exponent float64) float64 { return 1e-12 * (1 + math.Abs(exponent)) }

func overPower(x, y Range) Range {
	most := max(math.Abs(y.Lower), math.Abs(y.Upper))
	if powerError(most) >= 1 {
		return everything
	}
	p := y.Lower
	several := y.Lower < y.Upper
	whole := !several && p == math.Trunc(p)
	switch {
	case whole && p >= 0 && x.Lower < 0:
		// Of a base that may be negative: even powers are those of its size.
		if math.Mod(p, 2) == 0 {
			return overPower(overOne(absolute, x), y)
		}
		r := Range{math.Pow(x.Lower, p), math.Pow(x.Upper, p)}
		return widened(r, powerError(p))
	case whole && p < 0 && x.Lower <= 0: // or −0
		return overTwo(divide, Range{1, 1}, overPower(x, Range{-p, -p}))
	case several && x.Lower < 0, several && x.Lower == 0 && y.Lower < 0, math.IsInf(x.Lower, -1):
		return everything // a negative base has values at whole exponents, −∞ at all
	case x.Upper < 0:
		return nothing
	}
	x.Lower = max(x.Lower, 0)
	if nearer := (Range{0.99 * y.Lower, 0.99 * y.Upper}); corners(x, nearer, math.Pow).Lower == math.Inf(1) {
		return Range{math.Inf(1), math.Inf(1)} // far beyond any error
	}
	return widened(corners(x, y, math.Pow), powerError(most))
}
