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
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"pgregory.net/rapid"
)

// The stored extremes are attained where the task says, and many local
// searches over the space find nothing beyond them.
func TestExtremes(t *testing.T) {
	const starts = 60 // the constants were found with 1,000
	for _, name := range Names() {
		if name == "reaction" {
			continue // TestReactionIsExhausted
		}
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
		v := must.Get(task.Value(p))(r)
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

// A synthetic expert of accuracy 1 rejects most uniform points of Ackley 4 (Xu et al. 2024, Example 2.2),
// which is why balanced initial labels exist.
func TestMostOfAckleyIsRejected(t *testing.T) {
	task := lookup(t, "ackley4")
	rng := rand.New(rand.NewPCG(1, 2))
	var mean float64
	const n = 20000
	for range n {
		rank := must.Get(task.Rank(task.Point(sample(task, rng, false))))(t)
		mean += 1 / (1 + math.Exp(-rank)) / n
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
	must.Get(task.Value(good()))(t)
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
	mixed := lookup(t, "reaction")
	for name, change := range map[string]func(definition.Point){
		"between values":   func(p definition.Point) { p["loading"] = definition.Number(1.25) },
		"unknown category": func(p definition.Point) { p["ligand"] = definition.Category("PPh4") },
		"a number":         func(p definition.Point) { p["ligand"] = definition.Number(1) },
		"a value's name":   func(p definition.Point) { p["loading"] = definition.Category("1") },
	} {
		p := mixed.Point(mixed.Best.At)
		change(p)
		if v, err := mixed.Value(p); !errors.Is(err, ErrPoint) || !math.IsNaN(v) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if _, ok := Lookup("electrolytes"); ok {
		t.Error("found a task that is not there")
	}
}

// Hartmann's functions have the optima of the literature (Dixon and Szegö 1978), to the digits printed there.
func TestHartmannOptima(t *testing.T) {
	for name, at := range map[string][]float64{
		"hartmann3": {0.114614, 0.555649, 0.852547},
		"hartmann6": {0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573},
	} {
		task := lookup(t, name)
		want := map[string]float64{"hartmann3": -3.86278, "hartmann6": -3.32237}[name]
		if got, err := task.Value(task.Point(at)); err != nil || math.Abs(got-want) > 5e-6 {
			t.Errorf("%s is %.6f (%v) at its optimum, and %g in the literature", name, got, err, want)
		}
		if math.Abs(task.Best.Value-want) > 5e-6 {
			t.Errorf("%s: the stored optimum is %g, that of the literature %g", name, task.Best.Value, want)
		}
	}
}

// At any solvent no molality is better than the one of greatest conductivity, and the greatest conductivity
// of all solvents is where the derivatives of its polynomial are equal: the exact solution in
// parts of 711 and the multiplier 3388/237, by which 2κ = 3388/237 + Σ β_i s_i.
func TestElectrolyte5Optimum(t *testing.T) {
	task := lookup(t, "electrolyte5")
	s := []float64{311. / 711, 0, 280. / 711, 120. / 711}
	want := (3388./237 + 4*s[0] + 6*s[2] + 5*s[3]) / 2
	if math.Abs(task.Best.Value-want) > 1e-9 {
		t.Errorf("the stored optimum is %.12g, by the multiplier it is %.12g", task.Best.Value, want)
	}
	rapid.Check(t, func(r *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		greatest := func(x []float64) float64 { // over the molality at one solvent, anywhere
			best := 0.0
			for salt := 0.02; salt < 0.3; salt += 2e-4 {
				mixed := []float64{0, 0, 0, 0, salt}
				for i := range 4 {
					mixed[i] = x[i] / (1 - x[4]) * (1 - salt)
				}
				best = math.Max(best, task.value(mixed))
			}
			return best
		}
		a, b := sample(task, rng, false), sample(task, rng, false)
		middle := make([]float64, 5) // of the shares of the solvents
		for i := range 4 {
			middle[i] = (a[i]/(1-a[4]) + b[i]/(1-b[4])) / 2
		}
		if got := greatest(middle); got < (greatest(a)+greatest(b))/2-1e-4 || got > want+1e-9 {
			r.Fatalf("between %v and %v: %v, at most %v", a, b, got, want)
		}
	})
}

// The best yield is that of an exhaustive search: every value and category, and of temperature and time a fine
// grid, then ever finer ones around its best.
func TestReactionIsExhausted(t *testing.T) {
	task := lookup(t, "reaction")
	best := Extreme{Value: -1}
	for _, loading := range task.Parameters[2].Values {
		for ligand := range task.Parameters[3].Categories {
			for solvent := range task.Parameters[4].Categories {
				at := func(temperature, time float64) float64 {
					return task.value([]float64{temperature, time, loading, float64(ligand), float64(solvent)})
				}
				temperature, time, found := 0.0, 0.0, -1.0
				for u := 30.0; u <= 110; u++ {
					for v := 5.0; v <= 120; v += 5 {
						if y := at(u, v); y > found {
							temperature, time, found = u, v, y
						}
					}
				}
				for step := 1.0; step > 1e-9; step /= 2 {
					for range 40 {
						for _, move := range [][2]float64{{step, 0}, {-step, 0}, {0, 5 * step}, {0, -5 * step}} {
							u := min(max(temperature+move[0], 30), 110)
							v := min(max(time+move[1], 5), 120)
							if y := at(u, v); y > found {
								temperature, time, found = u, v, y
							}
						}
					}
				}
				if found > best.Value {
					best = Extreme{At: []float64{temperature, time, loading, float64(ligand), float64(solvent)}, Value: found}
				}
				if found < 0 {
					t.Fatalf("a yield of %v", found)
				}
			}
		}
	}
	if math.Abs(best.Value-task.Best.Value) > 1e-9 || math.Abs(task.value(task.Best.At)-task.Best.Value) > 1e-9 {
		t.Errorf("exhaustive search found %.12g at %.9g; stored is %.12g at %v", best.Value, best.At, task.Best.Value, task.Best.At)
	}
	if worst := task.value(task.Worst.At); worst < 0 || worst > 1e-9 || task.Worst.Value != 0 {
		t.Errorf("the worst yield is stored as %v and is %v; none is below 0", task.Worst.Value, worst)
	}
}

// The yield solves the rate equations: integrated in small steps (Runge and Kutta) it comes out the same.
func TestConsecutive(t *testing.T) {
	for _, k := range [][2]float64{{0.1, 0.02}, {0.02, 0.1}, {0.05, 0.05}, {0.05, 0.05 + 1e-9}, {2, 0}} {
		a, b := 100.0, 0.0
		const h = 0.01
		rate := func(a, b float64) (float64, float64) { return -k[0] * a, k[0]*a - k[1]*b }
		for range 3000 {
			a1, b1 := rate(a, b)
			a2, b2 := rate(a+h/2*a1, b+h/2*b1)
			a3, b3 := rate(a+h/2*a2, b+h/2*b2)
			a4, b4 := rate(a+h*a3, b+h*b3)
			a, b = a+h/6*(a1+2*a2+2*a3+a4), b+h/6*(b1+2*b2+2*b3+b4)
		}
		if got := consecutive(k[0], k[1], 30); math.Abs(got-b) > 1e-6 {
			t.Errorf("rates %v: %v, integrated %v", k, got, b)
		}
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
	data, err := os.ReadFile("../../../../shared/oracles/i_casteel_amis.json")
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
	must.Do(t, json.Unmarshal(data, &oracle))
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
	f, err := os.Open("../../../../shared/data/aem_ec_dmc_emc_lipf6.csv")
	if err != nil {
		t.Skip("the table is not on this machine:", err)
	}
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	task := lookup(t, "electrolyte")
	var squares float64
	n := 0
	for _, row := range rows[1:] {
		var x [4]float64
		for i := range x {
			x[i] = must.Get(strconv.ParseFloat(row[i+1], 64))(t)
		}
		v := must.Get(task.Value(task.Point(x[:3])))(t)
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
