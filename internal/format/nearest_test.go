package format

import "testing"

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
