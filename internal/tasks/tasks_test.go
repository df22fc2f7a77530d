package tasks

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"pgregory.net/rapid"
)

// The stored extremes are attained where the task says, and many local
// searches over the space find nothing beyond them.
func TestExtremes(t *testing.T) {
	const starts = 60 // the constants were found with 1,000
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			task := lookup(t, name)
			sign := 1.0
			if task.Objective.Goal == definition.Maximize {
				sign = -1
			}
			tol := 1e-9 * math.Abs(task.Worst.Value-task.Best.Value)
			for _, c := range []struct {
				what string
				sign float64
				e    Extreme
			}{{"best", sign, task.Best}, {"worst", -sign, task.Worst}} {
				v, err := task.Value(task.Point(c.e.At))
				if err != nil {
					t.Fatalf("%s: %v", c.what, err)
				}
				if math.Abs(v-c.e.Value) > tol {
					t.Errorf("%s: value at %v is %.12g, stored %.12g", c.what, c.e.At, v, c.e.Value)
				}
				if found := search(task, c.sign, starts); c.sign*found.Value < c.sign*c.e.Value-tol {
					t.Errorf("%s: the search found %.12g at %.8g, stored %.12g",
						c.what, found.Value, found.At, c.e.Value)
				}
			}
		})
	}
}

// The rank of any composition lies in [−3, 3], is −3 at the best and 3 at the
// worst, and the regret is never negative.
func TestRank(t *testing.T) {
	for _, name := range Names() {
		task := lookup(t, name)
		for _, c := range []struct {
			e    Extreme
			want float64
		}{{task.Best, -3}, {task.Worst, 3}} {
			if got, err := task.Rank(task.Point(c.e.At)); err != nil || math.Abs(got-c.want) > 1e-6 {
				t.Errorf("%s: rank at %v is %v (%v), want %v", name, c.e.At, got, err, c.want)
			}
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		task, _ := Lookup(rapid.SampledFrom(Names()).Draw(r, "task"))
		p := task.Point(sample(task, rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0)), false))
		v, err := task.Value(p)
		if err != nil {
			r.Fatal(err)
		}
		span := math.Abs(task.Worst.Value - task.Best.Value)
		unclamped := 6*(v-task.Best.Value)/(task.Worst.Value-task.Best.Value) - 3
		if math.Abs(unclamped) > 3+1e-9 || task.Regret(v) < -1e-9*span {
			r.Fatalf("%s at %v: value %v, rank %v, regret %v", task.Name, p, v, unclamped, task.Regret(v))
		}
	})
}

// The functions of an RKHS come near to their levels: a ridge of 0.05 shrinks a
// value at its place by a few hundredths where its neighbors agree with it.
func TestRKHSLevels(t *testing.T) {
	for _, name := range []string{"rkhs1-rbf", "rkhs1-matern52", "rkhs1-matern32"} {
		task := lookup(t, name)
		for i, want := range rkhsLevels {
			x := float64(i) / float64(len(rkhsLevels)-1)
			if got, err := task.Value(task.Point([]float64{x})); err != nil || math.Abs(got-want) > 0.06 {
				t.Errorf("%s at %g is %g (%v), want about %g", name, x, got, err, want)
			}
		}
	}
}

// The synthetic expert of Xu et al. 2024, Example 2.2.
func TestRejectProbability(t *testing.T) {
	task := lookup(t, "electrolyte")
	best, worst := task.Point(task.Best.At), task.Point(task.Worst.At)
	for _, c := range []struct {
		at   definition.Point
		a    float64
		want float64
	}{
		{best, 1, 1 / (1 + math.Exp(3))},
		{worst, 1, 1 / (1 + math.Exp(-3))},
		{best, 2, 1 / (1 + math.Exp(6))},
		{best, 0, 0.5},
		{best, -2, 1 / (1 + math.Exp(-6))},
	} {
		if got, err := RejectProbability(task, c.at, c.a); err != nil || math.Abs(got-c.want) > 1e-6 {
			t.Errorf("a = %v: %v (%v), want %v", c.a, got, err, c.want)
		}
	}
	// Most uniform points of Ackley 4 are rejected at a = 1, which is why
	// balanced initial labels exist.
	task = lookup(t, "ackley4")
	rng := rand.New(rand.NewPCG(1, 2))
	var mean float64
	const n = 20000
	for range n {
		p, err := RejectProbability(task, task.Point(sample(task, rng, false)), 1)
		if err != nil {
			t.Fatal(err)
		}
		mean += p / n
	}
	if math.Abs(mean-0.837) > 0.01 { // as measured; the sd of the estimate is below 0.003
		t.Errorf("a share of %.3f of uniform points is rejected, want 0.837", mean)
	}
}

// A composition that is not one of the task's is an error, never a number.
func TestValueRefuses(t *testing.T) {
	good := func() definition.Point {
		return definition.Point{
			"ec": definition.Number(0.3), "dmc": definition.Number(0.3),
			"emc": definition.Number(0.3), "fec": definition.Number(0.1),
		}
	}
	task := lookup(t, "mixture4")
	if _, err := task.Value(good()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(definition.Point){
		"missing":     func(p definition.Point) { delete(p, "ec") },
		"unknown":     func(p definition.Point) { p["water"] = definition.Number(0) },
		"a category":  func(p definition.Point) { p["ec"] = definition.Category("much") },
		"NaN":         func(p definition.Point) { p["ec"] = definition.Number(math.NaN()) },
		"below":       func(p definition.Point) { p["ec"] = definition.Number(0.05) },
		"above":       func(p definition.Point) { p["fec"] = definition.Number(0.2) },
		"sums to 1.1": func(p definition.Point) { p["ec"] = definition.Number(0.4) },
	} {
		p := good()
		change(p)
		if v, err := task.Value(p); !errors.Is(err, ErrPoint) || !math.IsNaN(v) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if _, ok := Lookup("electrolytes"); ok {
		t.Error("found a task that is not there")
	}
}

// The mixture polynomial is concave along every direction that keeps the sum,
// so that its one local optimum is the global one.
func TestMixtureIsConcave(t *testing.T) {
	task := lookup(t, "mixture4")
	rapid.Check(t, func(r *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		a, b := sample(task, rng, false), sample(task, rng, false)
		middle := make([]float64, len(a))
		for i := range a {
			middle[i] = (a[i] + b[i]) / 2
		}
		if task.value(middle) < (task.value(a)+task.value(b))/2-1e-12 {
			r.Fatalf("not concave between %v and %v", a, b)
		}
	})
}

// The arithmetic of Casteel and Amis against an independent computation with
// published coefficients, which print the other sign of b.
func TestCasteelAmisOracle(t *testing.T) {
	data, err := os.ReadFile("../../../shared/oracles/i_casteel_amis.json")
	if err != nil {
		t.Skip("the oracle is not on this machine:", err)
	}
	var oracle struct {
		Inputs map[string]struct {
			M float64 `json:"m_max"`
			K float64 `json:"kappa_max"`
			A float64 `json:"a"`
			B float64 `json:"b"`
		}
		Results map[string]struct{ M, Kappa []float64 }
	}
	if err := json.Unmarshal(data, &oracle); err != nil {
		t.Fatal(err)
	}
	n := 0
	for salt, in := range oracle.Inputs {
		for i, m := range oracle.Results[salt].M {
			want := oracle.Results[salt].Kappa[i]
			got := CasteelAmis(m, in.M, in.K, in.A, -in.B)
			if math.Abs(got-want) > 1e-10*max(1, want) {
				t.Errorf("%s at %v mol/kg: %v, want %v", salt, m, got, want)
			}
			n++
		}
	}
	if n != 36 {
		t.Errorf("%d values checked, want 36", n)
	}
}

// The electrolyte reproduces the table it was fitted to.
func TestElectrolyteAgainstTable(t *testing.T) {
	f, err := os.Open("../../../shared/data/aem_ec_dmc_emc_lipf6.csv")
	if err != nil {
		t.Skip("the table is not on this machine:", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	task := lookup(t, "electrolyte")
	var squares float64
	n := 0
	for _, row := range rows[1:] {
		var x [4]float64
		for i := range x {
			if x[i], err = strconv.ParseFloat(row[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		v, err := task.Value(task.Point(x[:3]))
		if err != nil {
			t.Fatal(err)
		}
		squares += (v - x[3]) * (v - x[3])
		n++
	}
	if rmse := math.Sqrt(squares / float64(n)); math.Abs(rmse-0.140) > 5e-4 {
		t.Errorf("RMSE over %d rows is %.4f mS/cm, want 0.140", n, rmse)
	}
	if best := task.Best; math.Abs(best.Value-13.8053) > 5e-5 ||
		math.Abs(best.At[0]-1.1091) > 5e-5 || math.Abs(best.At[1]-0.3405) > 5e-5 || best.At[2] != 1 {
		t.Errorf("optimum %+v", best)
	}
}

func lookup(t *testing.T, name string) Task {
	t.Helper()
	task, ok := Lookup(name)
	if !ok {
		t.Fatalf("no task %q", name)
	}
	return task
}
