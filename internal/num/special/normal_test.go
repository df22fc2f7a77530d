package special

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// The reference values, computed with 400 digits (mpmath) and rounded: φ, Φ, h and the Mills ratio from one tail to
// the other; h below a bound, near and far from it, in both tails and across 0.
func TestTogetherAgainstHighPrecision(t *testing.T) {
	data, err := os.ReadFile("testdata/normal.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Normal []struct{ Z, PDF, CDF, H, Ratio, Rest float64 }
		Below  []struct{ Z, B, Log, ByMean, BySD float64 }
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases.Normal) == 0 || len(cases.Below) == 0 {
		t.Fatal("there are no cases")
	}
	for _, c := range cases.Normal {
		tol := 3e-14 + c.Z*c.Z*0x1p-53 // the exponent is rounded
		pdf, cdf, h := Normal(c.Z)
		relative(t, fmt.Sprint("φ at ", c.Z), pdf, c.PDF, tol)
		relative(t, fmt.Sprint("Φ at ", c.Z), cdf, c.CDF, tol)
		relative(t, fmt.Sprint("h at ", c.Z), h, c.H, tol)
		if x := math.Abs(c.Z); x >= far {
			ratio, rest := Mills(x)
			relative(t, fmt.Sprint("the Mills ratio at ", x), ratio, c.Ratio, 2e-15)
			relative(t, fmt.Sprint("1 − x·R at ", x), rest, c.Rest, 3e-14)
		}
	}
	for _, c := range cases.Below {
		at := fmt.Sprintf(" %v at %v", c.B, c.Z)
		log, byMean, bySD := LogHBelow(c.Z, c.B)
		relative(t, "h below"+at, log, c.Log, 1e-13/min(1, math.Abs(c.Log)))
		if slope := max(1, math.Abs(c.ByMean)); math.Abs(byMean-c.ByMean) > 1e-12*slope {
			t.Errorf("by the mean, h below%s changes by %v, want %v", at, byMean, c.ByMean)
		}
		if slope := max(1, math.Abs(c.BySD)); math.Abs(bySD-c.BySD) > 1e-12*slope {
			t.Errorf("by the standard deviation, h below%s changes by %v, want %v", at, bySD, c.BySD)
		}
	}
}

// Law: far below a bound, h is as if there were none.
func TestFarBelowABound(t *testing.T) {
	for _, z := range []float64{-30, -1, 0.2, 3} {
		logh, slope := LogH(z)
		log, byMean, _ := LogHBelow(z, z-1e9)
		relative(t, "h far below a bound", log, logh, 1e-14)
		relative(t, "its slope", byMean, slope, 1e-14)
	}
}

func BenchmarkNormal(b *testing.B) {
	for _, z := range []float64{0.3, -2, -7} {
		b.Run(fmt.Sprint(z), func(b *testing.B) {
			for range b.N {
				pdf, cdf, h := Normal(z)
				sink = pdf + cdf + h
			}
		})
	}
}
