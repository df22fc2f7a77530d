// Package format writes numbers, units, counts, lists, durations and compositions in the form that
// every page, command and message of campaignd shows. It holds one rule for each, and knows nothing
// about pages.
//
// Numbers are written in one of four ways:
//
//   - measured or computed numbers, to a number of significant digits: [Significant];
//   - numbers that a person only compares, the same without trailing zeros: [Rounded];
//   - a person's settings, as they wrote them: [Setting];
//   - the values of a composition, with the decimals that matter for each parameter:
//     [Compositions].
//
// People's numbers are read in one way, too: [ReadNumber].
package format

import (
	"math"
	"strconv"
	"strings"
)

// Between these magnitudes a number is written without an exponent.
const (
	leastPlain    = 1e-4
	greatestPlain = 1e7
)

// Significant writes x with n significant digits, without an exponent where a
// person would write none: "13.42", "0.3400", "1.2e-07".
func Significant(x float64, n int) string {
	magnitude := math.Abs(x)
	switch {
	case x == 0:
		return "0"
	case math.IsNaN(x) || magnitude < leastPlain || magnitude >= greatestPlain:
		return strconv.FormatFloat(x, 'g', n, 64)
	}
	return strconv.FormatFloat(x, 'f', max(n-1-exponent(magnitude), 0), 64)
}

// Rounded is Significant without trailing zeros: "0.34".
func Rounded(x float64, n int) string {
	text := Significant(x, n)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Short writes a result in four significant digits.
func Short(x float64) string { return Significant(x, 4) }

// Setting writes a number that a person set, as they would write it: up to ten
// digits, without the noise of binary fractions.
func Setting(x float64) string { return strconv.FormatFloat(x, 'g', 10, 64) }

// Fixed writes x with a number of decimals, and with an exponent if it is very large or the
// decimals are very many. It writes no negative zero.
func Fixed(x float64, decimals int) string {
	if math.Abs(x) >= greatestPlain || decimals >= 10 {
		return strconv.FormatFloat(x, 'g', 5, 64)
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return text
}

// Percent writes a share of 1: "37 %".
func Percent(share float64) string {
	return strconv.FormatFloat(100*share, 'f', 0, 64) + " %"
}

// Share writes a share of 1 as it was set: "0.1 %".
func Share(share float64) string { return Setting(100*share) + " %" }

// MeanSD writes a mean and its standard deviation to the same decimals: those
// of two significant digits of the deviation, "12.35" and "0.43".
func MeanSD(mean, sd float64) (m, s string) {
	decimals := DecimalsOfSD(sd)
	if !(sd > 0) || math.IsInf(sd, 0) || math.Abs(mean) >= greatestPlain || decimals >= 10 {
		return Short(mean), Significant(sd, 2)
	}
	return Fixed(mean, decimals), Fixed(sd, decimals)
}

// PlusMinus writes a mean with its standard deviation as [MeanSD] does, and
// their unit: "12.35 ± 0.43 mS/cm".
func PlusMinus(mean, sd float64, unit string) string {
	m, s := MeanSD(mean, sd)
	return WithUnit(m+" ± "+s, unit)
}

// DecimalsOfSD returns the number of decimals that show two significant digits of a standard
// deviation; 0 if that is not positive.
func DecimalsOfSD(sd float64) int {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return 0
	}
	return max(1-exponent(sd), 0)
}

// DecimalsOver returns the number of decimals that show between a hundredth and a thousandth of a
// span: those of results that lie that far apart.
func DecimalsOver(span float64) int { return decimalsOver(span, digitsToRead) }

// decimalsOver returns the number of decimals that show that many digits of a span after its first.
func decimalsOver(span float64, digits int) int {
	if !(span > 0) || math.IsInf(span, 0) {
		return digits
	}
	return min(max(digits-exponent(span), 0), mostDecimals)
}

// decimalsOf counts the decimals that x is written with.
func decimalsOf(x float64) int {
	_, decimals, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
	return len(decimals)
}

// mostDecimals is the greatest number of decimals.
const mostDecimals = 12

// exponent is the power of ten of the first digit of x > 0.
func exponent(x float64) int { return int(math.Floor(math.Log10(x))) }
