package format

import (
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events/definition"
)

// Quantity writes a result in four significant digits with its unit.
func Quantity(x float64, unit string) string { return WithUnit(Short(x), unit) }

// Result writes the measured value of a quantity, as [Quantity] does.
func Result(q definition.Quantity) string { return Quantity(q.Value, q.Unit) }

// SettingIn writes a number that a person set, with its unit.
func SettingIn(x float64, unit string) string { return WithUnit(Setting(x), unit) }

// SpentOf writes the spent part of a budget: "31.5 of 80 h", and "31.5 h" without one.
func SpentOf(spent, budget float64, unit string) string {
	if budget == 0 {
		return Quantity(spent, unit)
	}
	return Short(spent) + " of " + SettingIn(budget, unit)
}

// WithUnit puts a unit behind a number, if there is one.
func WithUnit(number, unit string) string { return strings.TrimSpace(number + " " + unit) }

// Heading names a quantity with its unit, as on an axis or over a column:
// "ionic conductivity (mS/cm)".
func Heading(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// HeadingOf is the heading of a campaign's objective.
func HeadingOf(q definition.Objective) string { return Heading(q.Name, q.Unit) }

// ValueOf writes a value of a campaign's objective.
func ValueOf(q definition.Objective, x float64) string { return Quantity(x, q.Unit) }

// Count writes a number of things: "1 label", "3 labels".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// List writes items as a sentence does: "a", "a and b", "a, b and c".
func List(items ...string) string {
	n := len(items)
	if n < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
}

// Numbers writes results after one another: "0.3100, 1.200".
func Numbers(xs []float64) string { return joined(xs, Short) }

// Settings writes numbers that a person set: "1, 2.5".
func Settings(xs []float64) string { return joined(xs, Setting) }

func joined(xs []float64, write func(float64) string) string {
	texts := make([]string, len(xs))
	for i, x := range xs {
		texts[i] = write(x)
	}
	return strings.Join(texts, ", ")
}

// Shorten cuts a text that is longer than width characters and says so.
func Shorten(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:max(width-1, 0)]) + "…"
	}
	return text
}

// Duration writes a span of time in the two units that matter: "3 min 20 s".
func Duration(d time.Duration) string {
	hours := int(d.Hours())
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return Rounded(d.Truncate(100*time.Millisecond).Seconds(), 3) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min " + strconv.Itoa(int(d.Seconds())%60) + " s"
	case hours < 48:
		return strconv.Itoa(hours) + " h " + strconv.Itoa(int(d.Minutes())%60) + " min"
	}
	return strconv.Itoa(hours/24) + " d " + strconv.Itoa(hours%24) + " h"
}

// Time writes a time as a page shows it, marked as UTC; "" for the zero time.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}

// RowsAt names the rows of a table by their lines, not too many: "2 rows (lines 4, 9)".
func RowsAt(lines []int) string {
	const most = 8 // that are named
	names := make([]string, 0, most+1)
	for _, line := range lines[:min(len(lines), most)] {
		names = append(names, strconv.Itoa(line))
	}
	if len(lines) > most {
		names = append(names, "…")
	}
	word := "lines"
	if len(lines) == 1 {
		word = "line"
	}
	return Count(len(lines), "row") + " (" + word + " " + strings.Join(names, ", ") + ")"
}
