package decisions

import "github.com/campaignd/campaignd/events"

// Writes reports whether an audit knows who writes events of a kind.
func Writes(kind events.Kind) bool { return writers[kind] != 0 }

// Difference names the first place where two JSON values differ that two builds have worked out,
// with the spans of parameters and, under "", of the objective.
func Difference(spans map[string]float64, path string, again, recorded any) string {
	return differ{spans: spans}.difference(path, again, recorded)
}
