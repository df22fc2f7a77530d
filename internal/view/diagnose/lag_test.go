package diagnose

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/quantity"
)

// lagSeries are the results of a simulated instrument, one after the other: half of the
// compositions are drawn from the whole space, half near the best so far, as a search does.
type lagSeries struct {
	task    string
	noise   float64 // as a share of the objective's standard deviation over the space
	results int
	stale   bool // each result is that of the experiment before
	levels  int  // the instrument rounds to so many levels; 0: it does not
	repeats bool // every other experiment repeats the one before
	aside   int  // so many are under way at once, and end in any order
}

// evidence is that of a series.
func (c lagSeries) evidence(t *testing.T, seed uint64) (evidence float64, compared int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 71))
	task, ok := tasks.Lookup(c.task)
	if !ok {
		t.Fatalf("there is no task %s", c.task)
	}
	value := func(u []float64) float64 {
		p := make(definition.Point)
		for i, par := range task.Parameters {
			p[par.Name] = definition.Number(*par.Min + u[i]*(*par.Max-*par.Min))
		}
		return must.Get(task.Value(p))(t)
	}
	anywhere := func() []float64 {
		u := make([]float64, len(task.Parameters))
		for i := range u {
			u[i] = rng.Float64()
		}
		return u
	}
	var all []float64
	for range 300 {
		all = append(all, value(anywhere()))
	}
	spread := stat.StdDev(all, nil)
	m := &quantity.Model{Fit: events.ObjectiveFit{
		Kernel: "matern52", OutputScale: 1, Noise: 0.01, Lengthscales: make([]float64, len(task.Parameters)),
	}}
	for i := range m.Fit.Lengthscales {
		m.Fit.Lengthscales[i] = 0.5
	}
	sign := 1.0
	if task.Objective.Goal == definition.Minimize {
		sign = -1
	}
	var truth []float64
	best := -1
	for k := range c.results {
		u := anywhere()
		if best >= 0 && k > 4 && k%2 == 1 {
			for i := range u {
				u[i] = min(1, max(0, m.X[best][i]+0.1*rng.NormFloat64()))
			}
		}
		if c.repeats && k%2 == 1 {
			u = m.X[k-1]
		}
		truth = append(truth, value(u)+c.noise*spread*rng.NormFloat64())
		y := truth[k]
		if c.stale {
			y = truth[max(0, k-1)]
		}
		if c.levels > 0 {
			step := 4 * spread / float64(c.levels)
			y = math.Round(y/step) * step
		}
		m.X = append(m.X, u)
		m.Observations = append(m.Observations, quantity.Observation{Experiment: events.ExperimentID(k + 1), Value: y})
		if best < 0 || sign*y > sign*m.Observations[best].Value {
			best = k
		}
	}
	var order []int
	for k := range c.results {
		order = append(order, k)
	}
	for from := 0; c.aside > 1 && from < len(order); from += c.aside {
		batch := order[from:min(len(order), from+c.aside)]
		rng.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
	}
	def := &definition.Campaign{Model: definition.Model{Kernel: m.Fit.Kernel}}
	evidence, compared = must.Get2(lagOfSeries(t.Context(), def, m, order))(t)
	return evidence, compared
}

// alarms counts the series of so many seeds that look stale.
func (c lagSeries) alarms(t *testing.T, seeds int) (n int) {
	for seed := range uint64(seeds) {
		evidence, compared := c.evidence(t, seed)
		task, _ := tasks.Lookup(c.task)
		if lag := (&Lag{Evidence: evidence}); compared > 0 && lag.alarming(len(task.Parameters)) {
			n++
		}
	}
	return n
}

// Law: results that belong to the experiment before are found within about a dozen, and
// sound ones are hardly ever accused, also where the instrument rounds, experiments are repeated
// or several are under way. CAMPAIGND_LAG=200 measures it over so many seeds, for
// docs/results-journal.md.
func TestStaleResultsAreFound(t *testing.T) {
	if n, _ := strconv.Atoi(os.Getenv("CAMPAIGND_LAG")); n > 0 {
		for _, task := range []string{"electrolyte", "branin", "hartmann3", "hartmann6"} {
			for _, noise := range []float64{0.02, 0.1, 0.3} {
				for _, results := range []int{8, 12, 20, 40} {
					c := lagSeries{task: task, noise: noise, results: results}
					sound := c.alarms(t, n)
					c.stale = true
					t.Logf("%-12s noise %.2f %2d results: found %3d, accused %d of %d", task, noise, results, c.alarms(t, n), sound, n)
				}
			}
		}
		for _, c := range []lagSeries{
			{task: "electrolyte", noise: 0.1, levels: 20}, {task: "electrolyte", noise: 0.1, levels: 4},
			{task: "electrolyte", noise: 0.1, repeats: true}, {task: "electrolyte", noise: 0.1, aside: 4},
		} {
			for _, results := range []int{12, 40} {
				c.results = results
				t.Logf("%+v: accused %d of %d", c, c.alarms(t, n), n)
			}
		}
		return
	}
	const seeds = 20
	stale := lagSeries{task: "electrolyte", noise: 0.1, results: 16, stale: true}
	if n := stale.alarms(t, seeds); n < seeds*8/10 {
		t.Errorf("of %d stale series %d were found", seeds, n)
	}
	for _, sound := range []lagSeries{
		{}, {levels: 20}, {levels: 3}, {repeats: true}, {aside: 4},
	} {
		sound.task, sound.noise, sound.results = stale.task, stale.noise, stale.results
		if n := sound.alarms(t, seeds); n > 1 {
			t.Errorf("%+v: of %d sound series %d were accused", sound, seeds, n)
		}
	}
	constant := lagSeries{task: "electrolyte", levels: 1, results: 16}
	if n := constant.alarms(t, 3); n > 0 {
		t.Error("a constant instrument was taken for a late one")
	}
}

// Law: a campaign whose results are those of the experiments before is told so before
// anything else, with what to look at; a sound one is not. What was imported has no order.
func TestStaleResultsAreNamed(t *testing.T) {
	def, truth := electrolyte(t, 3)
	named := func(stale, imported bool) *Finding {
		b := newBench(t, def)
		rng := rand.New(rand.NewPCG(9, 9))
		before := math.NaN()
		var rows []engine.Tell
		for _, p := range b.points(20) {
			y := truth(p) + 0.1*rng.NormFloat64()
			told := y
			if stale && !math.IsNaN(before) {
				told = before
			}
			before = y
			rows = append(rows, engine.Tell{Parameters: p, Value: new(told)})
		}
		if imported {
			b.submit(engine.Request{Import: rows})
		} else {
			for _, row := range rows {
				b.submit(engine.Request{Tell: &row})
			}
		}
		d := b.fit(nil).diagnosis()
		if f := found(d, Lagged); f != nil && d.Findings[0].Code != Lagged {
			t.Errorf("it is told after %s", d.Findings[0].Code)
		} else if f != nil && (d.Verdict != Unusable || !strings.Contains(d.Headline, "the experiment before")) {
			t.Errorf("the verdict is %s: %s", d.Verdict, d.Headline)
		}
		return found(d, Lagged)
	}
	if f := named(true, false); f == nil || !strings.Contains(f.Next, "reads") || len(f.Remedies) == 0 {
		t.Errorf("stale results are told as %+v", f)
	}
	if f := named(false, false); f != nil {
		t.Errorf("sound results are told as %+v", f)
	}
	if f := named(true, true); f != nil {
		t.Errorf("imported results are told as %+v", f)
	}
}
