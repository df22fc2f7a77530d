package events_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
)

// Law: an identifier is its letter and its number, and there is one way to write it.
func TestIdentifiers(t *testing.T) {
	kinds := []struct {
		letter string
		id     func(int) string
		number func(string) int
	}{
		{"e", events.ExperimentID, events.ExperimentNumber},
		{"q", events.QuestionID, events.QuestionNumber},
		{"d", events.DecisionID, events.DecisionNumber},
		{"n", events.ExclusionID, events.ExclusionNumber},
		{"f", events.FileID, events.FileNumber},
	}
	written := map[int]string{1: "1", 9: "9", 10: "10", 31: "31", math.MaxInt64: "9223372036854775807"}
	for _, kind := range kinds {
		for n, digits := range written {
			if got := kind.id(n); got != kind.letter+digits {
				t.Errorf("%d is written %q, want %q", n, got, kind.letter+digits)
			}
			if got := kind.number(kind.letter + digits); got != n {
				t.Errorf("%q is read as %d, want %d", kind.letter+digits, got, n)
			}
		}
		for _, rest := range []string{"", "0", "-1", "+1", "01", "1 ", " 1", "1.0", "1e3", "x", "１", "9223372036854775808"} {
			if got := kind.number(kind.letter + rest); got != 0 {
				t.Errorf("%q is read as %d, and is not an identifier", kind.letter+rest, got)
			}
		}
		for _, other := range kinds {
			if got := kind.number(other.letter + "7"); (got == 7) != (other.letter == kind.letter) {
				t.Errorf("%q is read as %d by the reader of %q", other.letter+"7", got, kind.letter)
			}
		}
		for _, text := range []string{"", "7", "E7", "é7", "ee7", "\x00"} {
			if got := kind.number(text); got != 0 {
				t.Errorf("%q is read as %d, and is not an identifier", text, got)
			}
		}
	}
}
