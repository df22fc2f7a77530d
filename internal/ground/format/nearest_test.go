package format

import (
	"strings"
	"testing"
)

// Law: a name is proposed that is at most two slips away, and less than half the name.
func TestNearest(t *testing.T) {
	names := []string{"max", "maximum", "beta", "x1"}
	for name, want := range map[string]string{
		"mox": "max", "mxa": "max", "MAX": "max", "maxi": "max", "mxo": "", "minimum": "maximum", "maximumsss": "",
		"bate": "", "betaa": "beta", "x2": "", "zeta": "beta", "": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Law: a name of which the length alone tells it from all others is compared with none of
// them, however long it is.
func TestNearestOfLongNames(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	made := testing.AllocsPerRun(1, func() {
		if got := Nearest(long, []string{"max", "maximum"}); got != "" {
			t.Errorf("it is near %q", got)
		}
	})
	if made > 0 {
		t.Errorf("%v tables are made to compare it", made)
	}
}
