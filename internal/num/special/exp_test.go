package special

import (
	"math"
	"testing"
)

// TestExpNeg: within 2 units in the last place of math.Exp, itself within 1 of the truth.
func TestExpNeg(t *testing.T) {
	for x := 0.0; x > -707; x -= 0.00317 {
		want := math.Exp(x)
		if got := ExpNeg(x); math.Abs(got-want) > 2*(math.Nextafter(want, 1)-want) {
			t.Fatalf("ExpNeg(%v) = %v, want %v", x, got, want)
		}
	}
	if ExpNeg(0) != 1 || ExpNeg(-1e300) != 0 || ExpNeg(math.Inf(-1)) != 0 || !math.IsNaN(ExpNeg(math.NaN())) {
		t.Error("ExpNeg is wrong at an edge")
	}
}
