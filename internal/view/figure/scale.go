package figure

import (
	"math"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// Span is a range of numbers.
type Span struct{ Low, High float64 }

// SpanOf returns the range of values with a margin around them, as a share of it. Infinities and
// NaN are left out; a range without width gets one. Without any value it is 0 to 1, so that an axis
// can still be drawn.
func SpanOf(margin float64, values ...float64) Span {
	s := Span{math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.Low, s.High = min(s.Low, v), max(s.High, v)
		}
	}
	switch {
	case s.Low > s.High:
		s = Span{0, 1}
	case s.Low == s.High:
		pad := max(math.Abs(s.Low)*0.05, 1e-9)
		if s.Low == 0 {
			pad = 1
		}
		s = Span{s.Low - pad, s.High + pad}
	}
	pad := margin * (s.High - s.Low)
	return Span{s.Low - pad, s.High + pad}
}

// Limits sets the range of an axis to that of values, with a margin around it.
func Limits(axis *plot.Axis, margin float64, values ...float64) {
	s := SpanOf(margin, values...)
	axis.Min, axis.Max = s.Low, s.High
}

// To maps a number onto an axis, also beyond the ends: numbers outside are drawn outside.
func (s Span) To(v, from, to float64) float64 {
	return from + (v-s.Low)/(s.High-s.Low)*(to-from)
}

// Steps returns the stairs of values at 1, 2, …: a value holds until the next one. NaN are left
// out.
func Steps(values []float64) plot.XYs {
	var points plot.XYs
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		x := float64(i + 1)
		if n := len(points); n > 0 {
			points = append(points, plot.XY{X: x, Y: points[n-1].Y})
		}
		points = append(points, plot.XY{X: x, Y: v})
	}
	return points
}

// Ticks places about Want round numbers on an axis; Whole restricts them to
// integers.
type Ticks struct {
	Want  int
	Whole bool
}

// Ticks implements plot.Ticker.
//
// Steps are 1, 2 or 5 times a power of ten, the least that gives no more than Want. The decimals
// follow from the step and not from the numbers, so that all labels of an axis have as many.
func (t Ticks) Ticks(low, high float64) []plot.Tick {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(t.Want))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if span/(step*factor) <= float64(t.Want) {
			step *= factor
			break
		}
	}
	if t.Whole {
		step = max(1, math.Round(step))
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var out []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*span; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: Typeset(format.Fixed(k*step, decimals))})
	}
	return out
}

// LogTicks places the powers of ten on a logarithmic axis, and 2 and 5 times
// them where there are few.
type LogTicks struct{}

// Ticks implements plot.Ticker.
func (LogTicks) Ticks(low, high float64) []plot.Tick {
	if !(low > 0) || !(high > low) {
		return nil
	}
	from, to := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	factors := []float64{1}
	every := 1
	switch decades := math.Log10(high / low); {
	case decades < 2.5:
		factors = []float64{1, 2, 5}
	case decades > 7:
		every = int(math.Ceil(decades / 7))
	}
	var out []plot.Tick
	for e := from; e <= to; e += every {
		for _, f := range factors {
			x := f * math.Pow(10, float64(e))
			if x < low*(1-1e-9) || x > high*(1+1e-9) {
				continue
			}
			out = append(out, plot.Tick{Value: x, Label: Typeset(strconv.FormatFloat(x, 'g', 3, 64))})
		}
	}
	return out
}

// Minus is the typographic minus sign.
const Minus = "\u2212"

// Typeset turns the hyphen of a negative number, and of a negative exponent,
// into a minus sign.
func Typeset(number string) string { return strings.ReplaceAll(number, "-", Minus) }
