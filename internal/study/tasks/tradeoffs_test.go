package tasks

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// oracleNames are the problems as the oracle calls them.
var oracleNames = map[string]string{
	"branin-currin":             "BraninCurrin",
	"dtlz2-2":                   "DTLZ2 d=6 m=2",
	"dtlz2-3":                   "DTLZ2 d=6 m=3",
	"dtlz2-4":                   "DTLZ2 d=6 m=4",
	"zdt1":                      "ZDT1 d=6",
	"zdt3":                      "ZDT3 d=6",
	"vehicle-safety":            "VehicleSafety",
	"car-side-impact":           "CarSideImpact",
	"penicillin":                "Penicillin",
	"constrained-branin-currin": "ConstrainedBraninCurrin",
	"c2-dtlz2":                  "C2DTLZ2 d=4 m=2",
	"electrolyte":               "electrolyte, three objectives",
}

// Law: the problems have the values, bounds, goals, reference points and
// hypervolumes of an independent implementation.
func TestTradeoffsOracle(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/oracles/t_tasks.json")
	if err != nil {
		t.Skip("the oracle is not on this machine:", err)
	}
	var oracle struct {
		Results []struct {
			Name           string
			Minimise       json.RawMessage
			Lower, Upper   []float64
			X, Y           [][]float64
			Ref            []float64
			MaxHypervolume float64     `json:"max_hypervolume"`
			Slack          [][]float64 `json:"slack_feasible_where_not_negative"`
		}
	}
	must.Do(t, json.Unmarshal(data, &oracle))
	missing := maps.Clone(oracleNames)
	for _, name := range TradeoffNames() {
		problem, _ := LookupTradeoff(name)
		for _, want := range oracle.Results {
			if want.Name != oracleNames[name] {
				continue
			}
			goals := slices.Repeat([]bool{true}, len(want.Ref))
			if string(want.Minimise) != "true" {
				must.Do(t, json.Unmarshal(want.Minimise, &goals))
			}
			for i, p := range problem.Parameters {
				if *p.Min != want.Lower[i] || *p.Max != want.Upper[i] {
					t.Errorf("%s: %s from %v to %v, want %v to %v", name, p.Name, *p.Min, *p.Max, want.Lower[i], want.Upper[i])
				}
			}
			for k, o := range problem.Objectives {
				if (o.Goal == definition.Minimize) != goals[k] {
					t.Errorf("%s: goal of %s is to %s", name, o.Name, o.Goal)
				}
			}
			for i, x := range want.X {
				y := want.Y[i]
				if want.Slack != nil {
					y = append(y, want.Slack[i]...)
				}
				got, err := problem.Values(problem.Point(x))
				if err != nil || len(got) != len(y) {
					t.Fatalf("%s: %v, %v", name, got, err)
				}
				for k := range y {
					if math.Abs(got[k]-y[k]) > 1e-10*max(1, math.Abs(y[k])) {
						t.Errorf("%s at %v: quantity %d is %.14g, want %.14g", name, x, k+1, got[k], y[k])
					}
				}
			}
			volume := problem.Hypervolume
			for k, o := range problem.Objectives {
				if name == "zdt1" || name == "zdt3" {
					break // another reference point: TestZDTHypervolumes
				}
				if o.Worst != want.Ref[k] {
					t.Errorf("%s: worst %s is %v, want %v", name, o.Name, o.Worst, want.Ref[k])
				}
			}
			switch name {
			case "zdt1":
				volume += moved(0)
			case "zdt3":
				volume += moved(zdt3Front(0.8518328654))
			}
			if math.Abs(volume-want.MaxHypervolume) > 1e-12*want.MaxHypervolume {
				t.Errorf("%s: hypervolume %.15g, want %.15g", name, volume, want.MaxHypervolume)
			}
			delete(missing, name)
		}
	}
	if len(missing) != 0 {
		t.Errorf("the oracle has nothing of %v", missing)
	}
}

// moved is what the hypervolume of a front whose least second objective is given
// gains when the reference point moves from (1.1, 1.1) to (11, 11).
func moved(least float64) float64 { return 11*11 - 1.1*1.1 - (11-1.1)*least }

// zdt3Front is the second objective of ZDT3 on its front.
func zdt3Front(x float64) float64 { return 1 - math.Sqrt(x) - x*math.Sin(10*math.Pi*x) }

// Law: the stored hypervolumes of ZDT1 and ZDT3 are the areas between their
// fronts and the reference point, summed in narrow strips.
func TestZDTHypervolumes(t *testing.T) {
	for name, front := range map[string]func(float64) float64{
		"zdt1": func(x float64) float64 { return 1 - math.Sqrt(x) },
		"zdt3": zdt3Front,
	} {
		problem, _ := LookupTradeoff(name)
		const strips = 1 << 20
		area, least := 0.0, math.Inf(1)
		for i := range strips {
			x := 1.1 * (float64(i) + 0.5) / strips
			least = min(least, front(min(x, 1)))
			area += (1.1 - least) * 1.1 / strips
		}
		if math.Abs(area-problem.Hypervolume) > 1e-6 {
			t.Errorf("%s: %.9f in strips, stored %.9f", name, area, problem.Hypervolume)
		}
	}
}

// Law: no feasible result alone fills more than the greatest hypervolume, and
// random ones are beyond the worst values.
func TestNoBoxIsGreaterThanTheHypervolume(t *testing.T) {
	for _, name := range TradeoffNames() {
		problem, _ := LookupTradeoff(name)
		rng := rand.New(rand.NewPCG(7, 0))
		inside := 0
		for range 4000 {
			u := make([]float64, len(problem.Parameters))
			for i := range u {
				u[i] = rng.Float64()
			}
			values := must.Get(problem.Values(problem.At(u)))(t)
			box := 1.0
			for k, o := range problem.Objectives {
				gain := o.Worst - values[k]
				if o.Goal == definition.Maximize {
					gain = -gain
				}
				box *= max(gain, 0)
			}
			if !problem.Feasible(values) || box == 0 {
				continue
			}
			inside++
			if box > problem.Hypervolume {
				t.Errorf("%s: a box of %g at %v, greatest %g", name, box, u, problem.Hypervolume)
			}
		}
		if inside == 0 && name != "zdt1" { // of ZDT1 few random results are beyond its worst values
			t.Errorf("%s: none of 4000 results is beyond the worst values", name)
		}
	}
}

// Law: salt and ethylene carbonate make the electrolyte thicker, salt dearer.
func TestElectrolyteTradeoffTrends(t *testing.T) {
	problem, _ := LookupTradeoff("electrolyte")
	rng := rand.New(rand.NewPCG(3, 0))
	for range 500 {
		u := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		at := must.Get(problem.Values(problem.At(u)))(t)
		for i, quantities := range [][]int{{1, 2}, {1}} { // by salt, by ethylene carbonate
			more := slices.Clone(u)
			more[i] = more[i] + (1-more[i])*rng.Float64()
			then := must.Get(problem.Values(problem.At(more)))(t)
			for _, k := range quantities {
				if more[i] > u[i] && then[k] <= at[k] {
					t.Errorf("%s falls from %v at %v to %v at %v", problem.Objectives[k].Name, at[k], u, then[k], more)
				}
			}
		}
	}
}

// A composition outside the problem is an error, never a number.
func TestTradeoffRefuses(t *testing.T) {
	problem, _ := LookupTradeoff("electrolyte")
	for _, p := range []definition.Point{
		problem.Point([]float64{2.2, 0.4, 0.5}),
		{"lipf6": definition.Number(1)},
	} {
		if values, err := problem.Values(p); !errors.Is(err, ErrPoint) || values != nil {
			t.Errorf("%v: %v, %v", p, values, err)
		}
	}
	if _, ok := LookupTradeoff("electrolytes"); ok {
		t.Error("found a problem that is not there")
	}
}
