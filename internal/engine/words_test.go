package engine_test

import (
	"testing"

	"github.com/campaignd/campaignd/internal/engine"
)

// Law: numbers of things are written in groups of three digits, and one is singular.
func TestCountOf(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 labels", 1: "1 label", 2: "2 labels", 999: "999 labels", 1000: "1,000 labels",
		12_345: "12,345 labels", 999_999: "999,999 labels", 1_234_567: "1,234,567 labels",
		1_234_567_890: "1,234,567,890 labels",
	} {
		if got := engine.CountOf(n, "label"); got != want {
			t.Errorf("%d are written as %q, want %q", n, got, want)
		}
	}
}
