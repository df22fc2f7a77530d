package decisions

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// differ finds differences between JSON values. spans are those of
// [auditor.spans]; where exact is set they are not used.
type differ struct {
	exact bool
	spans map[string]float64
}

// inUnits are the fields that are in the objective's unit.
var inUnits = []string{"mean", "sd", "optimistic", "pessimistic", "shift", "scale"}

// span returns the size of a number at a path, relative to which differences below [Tolerance] are
// ignored. Names of fields stand for their units: payloads have no other sign of them.
func (d differ) span(path string) float64 {
	field := path[strings.LastIndexByte(path, '/')+1:]
	if span, ok := d.spans[field]; ok && strings.Contains(path, "/parameters/") {
		return span
	}
	standardized := strings.HasPrefix(path, "/objective/mean") // a prior mean, not a prediction
	if slices.Contains(inUnits, field) && !standardized {
		return d.spans[""]
	}
	return 1
}

var numbers = regexp.MustCompile(`[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

// difference names the first place where two JSON values differ.
//
// Keys are visited in order, so that of several differences always the same one
// is named. Sentences that print computed numbers may differ in the numbers
// alone, whose own fields are compared.
func (d differ) difference(path string, again, recorded any) string {
	switch r := recorded.(type) {
	case map[string]any:
		x, ok := again.(map[string]any)
		if !ok {
			break
		}
		for _, key := range sortedKeys(r, x) {
			if !d.exact && (key == "evaluations" || key == "jitter") {
				continue // the course of the search
			}
			if problem := d.difference(path+"/"+key, x[key], r[key]); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		x, ok := again.([]any)
		if !ok || len(x) != len(r) {
			break
		}
		for i := range r {
			if problem := d.difference(fmt.Sprintf("%s/%d", path, i), x[i], r[i]); problem != "" {
				return problem
			}
		}
		return ""
	case float64:
		x, ok := again.(float64)
		if ok && (x == r || !d.exact && math.Abs(x-r) <= Tolerance*math.Max(d.span(path), math.Abs(r))) {
			return ""
		}
	case string:
		x, ok := again.(string)
		if ok && (x == r || !d.exact && numbers.ReplaceAllString(x,
			"#") == numbers.ReplaceAllString(r, "#") && isProse(path)) {
			return ""
		}
	default:
		if again == recorded {
			return ""
		}
	}
	return fmt.Sprintf("%s was %v, made again it is %v", path, recorded, again)
}

// isProse reports whether a field is a sentence that prints computed numbers.
func isProse(path string) bool {
	return strings.HasSuffix(path, "/reason") ||
		strings.HasSuffix(path, "/explanation") ||
		strings.HasSuffix(path, "/detail")
}

// sortedKeys returns the keys of both maps in order.
func sortedKeys(values ...map[string]any) []string {
	all := make(map[string]bool)
	for _, m := range values {
		for key := range m {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
