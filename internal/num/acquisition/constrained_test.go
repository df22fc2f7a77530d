package acquisition

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"pgregory.net/rapid"
)

// constrained is oracle o, in which everything is maximized.
type constrained struct {
	Probability []constraint `json:"probability"`
	LogCEI      []struct {
		Mu, SD, Best float64
		Constraints  []constraint
		LogCEI       float64 `json:"log_cei"`
	} `json:"log_cei"`
	Capped []struct {
		Mu, SD, Best, Cap, EI float64
		LogEI                 *float64 `json:"log_ei"`
	}
	Members struct {
		Objective, Constraint [][]float64
		Mean, Best            []float64
		SD                    float64
		ConstraintMean        float64 `json:"constraint_mean"`
		ConstraintSD          float64 `json:"constraint_sd"`
		LogCNEI               float64 `json:"log_cnei"`
	}
}

type constraint struct {
	Mu, SD       float64
	Lower, Upper *float64
	Log          float64 `json:"log_probability"`
	Dmu, Dsd     float64
}

func (c constraint) bounds() Bounds {
	b := Unbounded()
	if c.Lower != nil {
		b.Lower = *c.Lower
	}
	if c.Upper != nil {
		b.Upper = *c.Upper
	}
	return b
}

func readConstrained(t *testing.T) (o constrained) {
	t.Helper()
	data, err := os.ReadFile("../../../../shared/oracles/o_constrained.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle o is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	must.Do(t, json.Unmarshal(data, &struct{ Results *constrained }{&o}))
	if len(o.Probability) == 0 || len(o.LogCEI) == 0 || len(o.Capped) == 0 || len(o.Members.Best) == 0 {
		t.Fatal("the oracle holds no case")
	}
	return o
}

// within fails the test where got is not within tol·max(1, |want|) of want.
func within(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Max(1, math.Abs(want))) && got != want {
		t.Errorf("%s = %.17g, want %.17g (off by %.1e)", what, got, want, math.Abs(got-want))
	}
}

// Oracle o: logarithms to 1e-11, derivatives to 1e-9.
func TestConstrainedOracle(t *testing.T) {
	o := readConstrained(t)
	for _, c := range o.Probability {
		log, byMean, bySD := LogProbability(c.Mu, c.SD, c.bounds())
		within(t, "log P", log, c.Log, 1e-11)
		within(t, "∂log P/∂mean", byMean, c.Dmu, 1e-9)
		within(t, "∂log P/∂sd", bySD, c.Dsd, 1e-9)
	}
	for _, c := range o.LogCEI {
		var all []Constraint
		for _, k := range c.Constraints {
			all = append(all, Constraint{Bounds: k.bounds(), Mean: k.Mu, SD: k.SD})
		}
		log := LogFeasible(nil, LogEI(nil, -c.Mu, c.SD, -c.Best, nil, nil), all)
		within(t, "log CEI", log, c.LogCEI, 1e-11)
	}
	for _, c := range o.Capped {
		log, _, _ := LogCappedEI(-c.Mu, c.SD, -c.Best, -c.Cap)
		if c.LogEI == nil {
			within(t, "capped log EI", log, math.Inf(-1), 0)
			continue
		}
		within(t, "capped log EI", log, *c.LogEI, 1e-11)
	}
	m := o.Members
	best, means := make([]float64, len(m.Best)), make([]float64, len(m.Best))
	for s, values := range m.Objective {
		feasible := make([]bool, len(values))
		for i := range values {
			values[i] = -values[i]
			feasible[i] = m.Constraint[s][i] <= 0
		}
		best[s], _ = Incumbent(values, feasible)
		means[s] = -m.Mean[s]
		within(t, "best of a member", best[s], -m.Best[s], 0)
	}
	kept := []Constraint{{Bounds: Bounds{math.Inf(-1), 0}, Mean: m.ConstraintMean, SD: m.ConstraintSD}}
	within(t, "log CNEI", LogFeasible(nil, NewNoisy(best).Log(means, m.SD), kept), m.LogCNEI, 1e-11)
}

// Law: probabilities, improvements under a bound and their derivatives are right however narrow the
// bounds and however far the tail. The reference was computed with 60 digits (testdata/bounded.py).
func TestBoundsAgainstHighPrecision(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/bounded.json"))(t)
	type reference struct{ Mean, SD, First, Second, Log, ByMean, BySD float64 }
	var cases struct{ Between, Capped []reference }
	must.Do(t, json.Unmarshal(data, &cases))
	for _, c := range cases.Between {
		log, byMean, bySD := LogProbability(c.Mean, c.SD, Bounds{c.First, c.Second})
		within(t, "log P", log, c.Log, 1e-12)
		within(t, "∂log P/∂mean", byMean, c.ByMean, 1e-11)
		within(t, "∂log P/∂sd", bySD, c.BySD, 1e-11)
	}
	for _, c := range cases.Capped {
		log, byMean, bySD := LogCappedEI(c.Mean, c.SD, c.First, c.Second)
		within(t, "capped log EI", log, c.Log, 1e-12)
		within(t, "∂/∂mean", byMean, c.ByMean, 1e-11)
		within(t, "∂/∂sd", bySD, c.BySD, 1e-11)
	}
}

// Law: without the other bound a probability is that of a tail, and without a bound in the way the
// capped improvement is the expected improvement, with their derivatives.
func TestBoundsFarAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Float64Range(-5, 5).Draw(t, "mean")
		sd := rapid.Float64Range(0.1, 2).Draw(t, "sd")
		at := rapid.Float64Range(-5, 5).Draw(t, "at")
		check := func(what string, far, one [3]float64) {
			for i := range far {
				if !(math.Abs(far[i]-one[i]) <= 1e-12*(1+math.Abs(one[i]))) {
					t.Fatalf("%s: %v with a bound far away, %v without", what, far, one)
				}
			}
		}
		triple := func(a, b, c float64) [3]float64 { return [3]float64{a, b, c} }
		far := 1e9
		check("at most", triple(LogProbability(mean, sd, Bounds{-far, at})),
			triple(LogProbability(mean, sd, Bounds{math.Inf(-1), at})))
		check("at least", triple(LogProbability(mean, sd, Bounds{at, far})),
			triple(LogProbability(mean, sd, Bounds{at, math.Inf(1)})))
		check("capped", triple(LogCappedEI(mean, sd, at, -far)), triple(LogCappedEI(mean, sd, at, math.Inf(-1))))
	})
}

// Law: what is certain is certain, what is impossible has no slope, and nothing is a NaN.
func TestBoundsAtTheLimits(t *testing.T) {
	inf := math.Inf(1)
	type triple struct{ log, byMean, bySD float64 }
	probability := func(mean, sd, lower, upper float64) triple {
		log, byMean, bySD := LogProbability(mean, sd, Bounds{lower, upper})
		return triple{log, byMean, bySD}
	}
	capped := func(mean, sd, best, least float64) triple {
		log, byMean, bySD := LogCappedEI(mean, sd, best, least)
		return triple{log, byMean, bySD}
	}
	for what, c := range map[string][2]triple{
		"no bound":             {probability(1, 1, Unbounded().Lower, Unbounded().Upper), {}},
		"above, for certain":   {probability(3, 0, -inf, 2), {-inf, 0, 0}},
		"at the bound":         {probability(2, 0, 2, 2), {}},
		"far from both bounds": {probability(0, 1e-200, -1e150, 1e150), {}},
		"nothing in the way":   {capped(1, 0, 3, -inf), {math.Log(2), -0.5, 0}},
		"empty bounds":         {probability(1, 1, 2, 1), {-inf, 0, 0}},
		"kept, for certain":    {probability(1, 0, 0, 1), {}},
		"broken, for certain":  {probability(1, 0, 2, inf), {-inf, 0, 0}},
		"far within":           {probability(0, 1e-300, -1, inf), {}},
		"no improvement left":  {capped(0, 1, 1, 1), {-inf, 0, 0}},
		"improves for certain": {capped(1, 0, 3, 0), {math.Log(2), -0.5, 0}},
		"below the bound":      {capped(-1, 0, 3, 0), {-inf, 0, 0}},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %v, want %v", what, c[0], c[1])
		}
	}
}

// Law: an improvement is on the best feasible value, and where nothing is feasible on the worst one;
// what is not finite is neither.
func TestIncumbent(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values   []float64
		feasible []bool
		best     float64
		found    bool
	}{
		{[]float64{3, 1, 2}, []bool{true, false, true}, 2, true},
		{[]float64{3, 1, 2}, []bool{false, false, false}, 3, false},
		{[]float64{nan, math.Inf(-1), 2, 4}, []bool{true, true, true, false}, 2, true},
		{[]float64{nan, math.Inf(1), 2, 1}, []bool{true, true, false, false}, 2, false},
	} {
		if best, found := Incumbent(c.values, c.feasible); best != c.best || found != c.found {
			t.Errorf("of %v it is %v, %v, want %v, %v", c.values, best, found, c.best, c.found)
		}
	}
	if best, found := Incumbent([]float64{2, nan, 3}, []bool{false, false, false}); best != 3 || found {
		t.Errorf("it is %v, %v", best, found)
	}
	if best, found := Incumbent([]float64{nan}, []bool{true}); !math.IsNaN(best) || found {
		t.Errorf("of no value it is %v, %v", best, found)
	}
	if got, want := (Bounds{0, 3}).Intersect(Bounds{1, math.Inf(1)}), (Bounds{1, 3}); got != want {
		t.Errorf("the bounds intersect in %v, want %v", got, want)
	}
}

// Law: a gradient in the design is the chain rule, and adds to that of the objective.
func TestLogFeasibleGradient(t *testing.T) {
	c := Constraint{Bounds{0, 2}, 0.3, 0.7, []float64{2, 1}, []float64{0, -3}}
	_, byMean, bySD := LogProbability(c.Mean, c.SD, c.Bounds)
	grad := []float64{10, 20}
	value := LogFeasible(grad, 5, []Constraint{c, c})
	log, _, _ := LogProbability(c.Mean, c.SD, c.Bounds)
	within(t, "the value", value, 5+2*log, 1e-14)
	within(t, "the value without a gradient", LogFeasible(nil, 5, []Constraint{c, c}), value, 0)
	within(t, "the first derivative", grad[0], 10+2*2*byMean, 1e-14)
	within(t, "the second derivative", grad[1], 20+2*(byMean-3*bySD), 1e-14)
}

// Law: the improvement within bounds is that of an integral, with its derivatives: where the best so far keeps
// the bounds, and where nothing does and all within them is an improvement.
func TestBoundedImprovement(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		mean, sd, best float64
		within         Bounds
	}{
		{0.3, 0.5, 0.6, Bounds{0, 1}}, {0.3, 0.5, 1.6, Bounds{0, 1}}, {3, 0.5, 5, Bounds{0, 1}},
		{-2, 0.4, 2, Bounds{0, 1}}, {0.3, 0.5, 2, Bounds{-inf, 0.5}}, {0.3, 0.5, 1, Bounds{0, inf}},
	} {
		const n = 200_000
		low, high := math.Max(c.within.Lower, c.mean-12*c.sd), math.Min(math.Min(c.within.Upper, c.best), c.mean+12*c.sd)
		sum, step := 0.0, (high-low)/n
		for i := range n { // the rule of midpoints
			f := low + (float64(i)+0.5)*step
			z := (f - c.mean) / c.sd
			sum += step * (c.best - f) * math.Exp(-z*z/2) / (c.sd * math.Sqrt(2*math.Pi))
		}
		log, byMean, bySD := LogBoundedEI(c.mean, c.sd, c.best, c.within)
		within(t, "ln of the improvement", log, math.Log(sum), 1e-7)
		const h = 1e-6
		of := func(mean, sd float64) float64 { v, _, _ := LogBoundedEI(mean, sd, c.best, c.within); return v }
		within(t, "∂/∂mean", byMean, (of(c.mean+h, c.sd)-of(c.mean-h, c.sd))/(2*h), 1e-6)
		within(t, "∂/∂sd", bySD, (of(c.mean, c.sd+h)-of(c.mean, c.sd-h))/(2*h), 1e-6)
	}
	if log, _, _ := LogBoundedEI(0, 1, 3, Bounds{1, 0}); !math.IsInf(log, -1) {
		t.Errorf("within contradictory bounds it is %v", log)
	}
}
