package special

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// relative fails the test where got is not within tol of want, relative to want (absolute at 0).
func relative(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	scale := math.Abs(want)
	if scale == 0 {
		scale = 1
	}
	if !(math.Abs(got-want) <= tol*scale) && got != want {
		t.Errorf("%s = %.17g, want %.17g (relative error %.1e, allowed %.0e)",
			what, got, want, math.Abs(got-want)/scale, tol)
	}
}

// The reference values of each function, computed with 40 digits (mpmath) and rounded. Every branch
// and both sides of each switch are covered.
func TestAgainstHighPrecision(t *testing.T) {
	functions := map[string]func(float64) float64{
		"erfcx": Erfcx, "lognormalcdf": LogNormalCDF, "inversemills": InverseMills, "log1mexp": Log1mExp,
		"log1pexp": Log1pExp, "logistic": Logistic,
		"logh":  func(z float64) float64 { v, _ := LogH(z); return v },
		"dlogh": func(z float64) float64 { _, d := LogH(z); return d },
	}
	data := must.Get(os.ReadFile("testdata/reference.json"))(t)
	var cases []struct {
		F    string  `json:"f"`
		X    float64 `json:"x"`
		Want float64 `json:"want"`
	}
	must.Do(t, json.Unmarshal(data, &cases))
	for _, c := range cases {
		tol := 2e-14
		if c.F == "lognormalcdf" && c.X > 1 {
			tol += c.X * c.X * 0x1p-52 // the value is as small as exp(-x²/2), and x/√2 is rounded
		}
		relative(t, c.F, functions[c.F](c.X), c.Want, tol)
	}
}

// What happens at the ends of the line.
func TestLimits(t *testing.T) {
	inf := math.Inf(1)
	h, d := LogH(-inf)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"Erfcx(+Inf)", Erfcx(inf), 0}, {"Erfcx(-Inf)", Erfcx(-inf), inf}, {"Erfcx(-27)", Erfcx(-27), inf},
		{"LogNormalCDF(-Inf)", LogNormalCDF(-inf), -inf}, {"LogNormalCDF(+Inf)", LogNormalCDF(inf), 0},
		{"Log1mExp(0)", Log1mExp(0), -inf}, {"Log1mExp(-Inf)", Log1mExp(-inf), 0},
		{"Log1pExp(-Inf)", Log1pExp(-inf), 0}, {"Log1pExp(+Inf)", Log1pExp(inf), inf}, {"Log1pExp(1000)",
			Log1pExp(1000), 1000},
		{"Logistic(-Inf)", Logistic(-inf), 0}, {"Logistic(+Inf)", Logistic(inf), 1}, {"Logistic(-800)",
			Logistic(-800), 0},
		{"LogH(-Inf)", h, -inf}, {"LogH'(-Inf)", d, inf}, {"LogLogistic(-1e4)", LogLogistic(-1e4), -1e4},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.what, c.got, c.want)
		}
	}
	for _, f := range []func(float64) float64{Erfcx, LogNormalCDF, InverseMills, Log1mExp, Log1pExp, Logistic} {
		if v := f(math.NaN()); !math.IsNaN(v) {
			t.Errorf("NaN gives %v", v)
		}
	}
}

// Oracle h: log h and its derivative to 1e-12 relative.
func TestLogHOracle(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/oracles/h_eubo_ei_logei.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle h is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Results struct {
			LogH []struct {
				Z     float64  `json:"z"`
				LogH  float64  `json:"log_h"`
				Slope *float64 `json:"dlog_h_dz"`
			} `json:"log_h"`
		} `json:"results"`
	}
	must.Do(t, json.Unmarshal(data, &oracle))
	if len(oracle.Results.LogH) == 0 {
		t.Fatal("the oracle holds no case")
	}
	for _, c := range oracle.Results.LogH {
		h, slope := LogH(c.Z)
		relative(t, "log h", h, c.LogH, 1e-12)
		if c.Slope != nil {
			relative(t, "d log h", slope, *c.Slope, 1e-12)
		}
	}
}

var sink float64

func BenchmarkLogH(b *testing.B) {
	for _, z := range []float64{0.5, -5, -50} {
		b.Run("", func(b *testing.B) {
			for range b.N {
				v, d := LogH(z)
				sink = v + d
			}
		})
	}
}
