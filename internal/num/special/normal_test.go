package special

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// The reference values, computed with 400 digits (mpmath) and rounded: φ, Φ, h and the Mills ratio from one tail to
// the other.
func TestTogetherAgainstHighPrecision(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/normal.json"))(t)
	var cases []struct{ Z, PDF, CDF, H, Ratio, Rest float64 }
	must.Do(t, json.Unmarshal(data, &cases))
	if len(cases) == 0 {
		t.Fatal("there are no cases")
	}
	for _, c := range cases {
		tol := 3e-14 + c.Z*c.Z*0x1p-53 // the exponent is rounded
		pdf, cdf, h := Normal(c.Z)
		relative(t, fmt.Sprint("φ at ", c.Z), pdf, c.PDF, tol)
		relative(t, fmt.Sprint("Φ at ", c.Z), cdf, c.CDF, tol)
		relative(t, fmt.Sprint("h at ", c.Z), h, c.H, tol)
		if x := math.Abs(c.Z); x >= 0.67 {
			ratio, rest := Mills(x)
			relative(t, fmt.Sprint("the Mills ratio at ", x), ratio, c.Ratio, 2e-15)
			relative(t, fmt.Sprint("1 − x·R at ", x), rest, c.Rest, 3e-14)
		}
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
