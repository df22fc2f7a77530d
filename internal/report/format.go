package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/report/chart"
)

// significant writes x with n significant digits, without an exponent where a
// person would write none.
func significant(x float64, n int) string {
	magnitude := math.Abs(x)
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) || magnitude < 1e-4 || magnitude >= 1e7 {
		return strconv.FormatFloat(x, 'g', n, 64)
	}
	return strconv.FormatFloat(x, 'f', max(0, n-1-int(math.Floor(math.Log10(magnitude)))), 64)
}

// resolving returns the number of decimals that tell apart values a fraction
// of width away from each other.
func resolving(width, fraction float64) int {
	step := width * fraction
	if !(step > 0) || math.IsInf(step, 0) {
		return 3
	}
	return min(12, max(0, int(math.Ceil(-math.Log10(step)))))
}

// meanSD writes a mean and its standard deviation to the same decimals: two
// significant digits of the deviation.
func meanSD(mean, sd float64) (m, s string) {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return significant(mean, 5), significant(sd, 2)
	}
	decimals := max(0, 1-int(math.Floor(math.Log10(sd))))
	if math.Abs(mean) >= 1e7 || decimals >= 10 {
		return significant(mean, 5), significant(sd, 2)
	}
	return chart.Fixed(mean, decimals), chart.Fixed(sd, decimals)
}

// setting writes a number that a person chose.
func setting(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// withUnit writes a name with its unit in parentheses, as on an axis.
func withUnit(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// timeText is how the report writes a time; empty for none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// durationText writes a span of time in the two units that matter.
func durationText(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min " + strconv.Itoa(int(d.Seconds())%60) + " s"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h " + strconv.Itoa(int(d.Minutes())%60) + " min"
	}
	return strconv.Itoa(int(d.Hours())/24) + " d " + strconv.Itoa(int(d.Hours())%24) + " h"
}

// plural writes a count with its noun: "1 label", "3 labels".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// compositionFormat writes the values of each parameter with as many decimals as
// its range, or the instrument's dosing step, calls for.
type compositionFormat struct {
	parameters []definition.Parameter
	decimals   []int // −1: as given
}

func newCompositionFormat(def *definition.Campaign) compositionFormat {
	f := compositionFormat{parameters: def.Parameters, decimals: make([]int, len(def.Parameters))}
	for i, p := range def.Parameters {
		step := def.Instrument.Steps[p.Name]
		switch {
		case p.Min == nil || p.Max == nil || len(def.Candidates) > 0:
			f.decimals[i] = -1
		case step > 0:
			text := strconv.FormatFloat(step, 'f', -1, 64)
			if _, after, ok := strings.Cut(text, "."); ok {
				f.decimals[i] = len(after)
			}
		default:
			f.decimals[i] = resolving(*p.Max-*p.Min, 1e-3)
		}
	}
	return f
}

// value writes the value of the i-th parameter at a composition; "–" where the
// composition has none.
func (f compositionFormat) value(i int, point definition.Point) string {
	v, ok := point[f.parameters[i].Name]
	if !ok {
		return "–"
	}
	x, numeric := v.Float()
	if !numeric || f.decimals[i] < 0 {
		return v.String()
	}
	return chart.Fixed(x, f.decimals[i])
}

// line writes a composition on one line, with units.
func (f compositionFormat) line(point definition.Point) string {
	parts := make([]string, len(f.parameters))
	for i, p := range f.parameters {
		parts[i] = strings.TrimSpace(p.Name + " " + f.value(i, point) + " " + p.Unit)
	}
	return strings.Join(parts, ", ")
}
