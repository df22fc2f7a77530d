package seek_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// levels is how many amounts of sugar, and so prices, are tried.
const levels = 2

// tradeoff is a campaign by hand between a yield, a time and a price.
const tradeoff = `
name: pie
seed: 3
parameters:
  - {name: heat, min: 0, max: 1}
  - {name: sugar, min: 0, max: 1}
quantities:
  - {name: crust, unit: mm, min: -99, max: 99}
  - {name: minutes, unit: min, scale: log}
  - {name: price, unit: EUR, from: 2 + 3*sugar}
objective:
  tradeoff:
    - {maximize: crust}
    - {minimize: minutes}
    - {minimize: price, worst: 4.9}
constraints_on_outcomes: [BOUND]
budget: {experiments: 300}
initial: {experiments: 0}
instrument: manual
`

// taste is what a composition gives; every value has noise.
func taste(heat, sugar float64, rng *rand.Rand) (crust, minutes float64) {
	crust = 4 + 5*heat - 6*(sugar-0.6)*(sugar-0.6) + 0.5*rng.NormFloat64()
	return crust, math.Exp(1.5 + heat - 0.8*sugar + 0.25*rng.NormFloat64())
}

// baked is a campaign of that kind after n experiments, spread over the space, as
// it is read: with all of its models.
func baked(t testing.TB, file string, n int) (*engine.Core, *seek.Problem) {
	t.Helper()
	core := afterwards(t, file, n)
	return core, modelled(t, core)
}

// modelled is the problem of a campaign with all of its models.
func modelled(t testing.TB, core *engine.Core) *seek.Problem {
	t.Helper()
	models := core.Clone()
	for _, p := range models.Quantities().All() {
		fit := must.Get(p.Fit(t.Context(), 1))(t)
		of := p.Fits()
		if err := p.Apply(events.Event{}, &events.ModelFitted{Model: of.Model, Quantity: of.Quantity, Objective: &fit}); err != nil {
			t.Fatal(err)
		}
	}
	all := must.Get(models.Quantities().Models(t.Context()))(t)
	return must.Get(seek.NewProblem(core.State(), core.Space(), all))(t)
}

// afterwards is the campaign itself.
func afterwards(t testing.TB, file string, n int, missing ...int) *engine.Core {
	t.Helper()
	log, core := begun(t, file)
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range n {
		heat, sugar := math.Mod(0.5+0.618*float64(i), 1), math.Floor(levels*math.Mod(0.3+0.755*float64(i), 1))/levels
		crust, minutes := taste(heat, sugar, rng)
		tell := engine.Tell{
			Parameters: definition.Point{"heat": definition.Number(heat), "sugar": definition.Number(sugar)},
			Quantities: []definition.Quantity{{Name: "crust", Value: crust}, {Name: "minutes", Value: minutes}},
		}
		if slices.Contains(missing, i+1) {
			tell.Quantities, tell.Missing = tell.Quantities[:1], []events.Missing{{Name: "minutes", Reason: "the clock stood"}}
		}
		if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Tell: &tell}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	return core
}

// begun is the campaign at its beginning.
func begun(t testing.TB, file string) (*memlog.Log, *engine.Core) {
	t.Helper()
	parsed := must.Get(campaignfile.Parse(builtin.Registry(), "pie.yaml", []byte(file)))(t)
	log, name := memlog.New(), parsed.Definition.Name
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: parsed.Definition}, "person:ada", time.Unix(0, 0), ""); err != nil {
		t.Fatal(err)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, name))(t)
	return log, core
}

func bounded(by string) string { return strings.ReplaceAll(tradeoff, "BOUND", by) }

// front is what is known of the front, and where the trade-off stands.
func front(t testing.TB, core *engine.Core, p *seek.Problem) (*seek.Front, *seek.Standing) {
	t.Helper()
	s := must.Get(p.Standing())(t)
	f := must.Get(p.Front(core.State(), s))(t)
	return f, s
}

// Law: the probability of a composition is the share of the worlds, in which each
// quantity is drawn from its own posterior at all compositions, in which it keeps
// the constraints, is better than the reference in every objective, and is worse in
// all than no other one that does; all of it in the user's units.
func TestOnTheFront(t *testing.T) {
	core, p := baked(t, bounded("minutes <= 5, crust*minutes <= 20"), 24)
	f, s := front(t, core, p)
	x := make([][]float64, len(s.Measured))
	for i, m := range s.Measured {
		x[i] = m.X
	}
	joints := map[string]*gp.Joint{}
	for k, name := range p.Quantities {
		joints[name] = p.Models[k].Conditioned().Joint(x)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const worlds = 40000
	want := make(map[string]float64)
	crusts, minutes := make([]float64, len(x)), make([]float64, len(x))
	for range worlds {
		must.Do(t, joints["crust"].Sample(crusts, rng))
		must.Do(t, joints["minutes"].Sample(minutes, rng))
		values := make([][3]float64, len(x))
		counts := make([]bool, len(x))
		for i, m := range s.Measured {
			sugar, _ := m.Point["sugar"].Float()
			v := [3]float64{p.Models[0].Untransform(crusts[i]), p.Models[1].Untransform(minutes[i]), 2 + 3*sugar}
			values[i] = v
			counts[i] = v[1] <= 5 && v[0]*v[1] <= 20 && v[0] > f.Objectives[0].Reference && v[1] < f.Objectives[1].Reference && v[2] < 4.9
		}
		for i, v := range values {
			worse := func(j int) bool {
				w := values[j]
				return j != i && counts[j] && w[0] >= v[0] && w[1] <= v[1] && w[2] <= v[2]
			}
			dominated := false
			for j := range values {
				dominated = dominated || worse(j)
			}
			if counts[i] && !dominated {
				want[s.Measured[i].Experiment] += 1.0 / worlds
			}
		}
	}
	between := 0
	for _, m := range slices.Concat(f.Members, f.Others) {
		if math.Abs(m.OnFront-want[m.Experiment]) > 0.04 {
			t.Errorf("%s is on the front with probability %.3f, by sampling %.3f", m.Experiment, m.OnFront, want[m.Experiment])
		}
		if want[m.Experiment] > 0.1 && want[m.Experiment] < 0.9 {
			between++
		}
	}
	if between < 3 || len(f.Members)+len(f.Others) != 24 {
		t.Errorf("of %d and %d compositions %d are uncertain: the test shows little", len(f.Members), len(f.Others), between)
	}
	if !slices.IsSortedFunc(f.Members, func(a, b seek.Member) int { return cmp.Compare(b.Quantities[0].Mean, a.Quantities[0].Mean) }) {
		t.Error("the members are not in the order of the first objective")
	}
	for _, m := range f.Others {
		if m.OnFront >= 0.05 {
			t.Errorf("%s is not a member, with probability %v", m.Experiment, m.OnFront)
		}
	}
	again, _ := front(t, core, p)
	if !reflect.DeepEqual(f, again) {
		t.Error("the front is another one the second time")
	}
}

// largePie is a campaign of n imported measurements, most of them far behind the front,
// which lies between two compositions that are best in one objective each.
func largePie(t testing.TB, n int) *engine.Core {
	t.Helper()
	log, core := begun(t, bounded("minutes <= 9"))
	rng := rand.New(rand.NewPCG(7, 7))
	rows := make([]engine.Tell, n)
	for i := range rows {
		heat, sugar := rng.Float64(), rng.Float64()
		off := (sugar - 0.4) * (sugar - 0.4)
		crust := 4 - 6*(heat-0.3)*(heat-0.3) - 4*off + 0.1*rng.NormFloat64()
		minutes := math.Exp(1 + 2*(heat-0.7)*(heat-0.7) + off + 0.05*rng.NormFloat64())
		rows[i] = engine.Tell{
			Parameters: definition.Point{"heat": definition.Number(heat), "sugar": definition.Number(sugar)},
			Quantities: []definition.Quantity{{Name: "crust", Value: crust}, {Name: "minutes", Value: minutes}},
		}
	}
	if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Import: rows}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	return core
}

// Law: of more compositions than are drawn together those that are left out are on the front
// in no draw, the others as often as where all are drawn but for chance, and every place on
// the curve is what all of them cover.
func TestFrontOfMany(t *testing.T) {
	const n = gp.Exactly + 100
	core := largePie(t, n)
	p := modelled(t, core)
	f, s := front(t, core, p)
	want, near := must.Get2(p.AllDrawn(s))(t)
	listed := slices.Concat(f.Members, f.Others)
	if len(want) != n || near != len(listed) || f.Behind != n-near || near > n/2 || f.Compositions() != n {
		t.Fatalf("%d compositions, %d near the front, %d listed, %d behind", len(want), near, len(listed), f.Behind)
	}
	uncertain := 0
	for _, m := range listed {
		if math.Abs(m.OnFront-want[m.Experiment]) > 0.15 { // 4 standard deviations of two shares of 256
			t.Errorf("%s is on the front with probability %v, where all are drawn %v", m.Experiment, m.OnFront, want[m.Experiment])
		}
		if m.OnFront > 0.1 && m.OnFront < 0.9 {
			uncertain++
		}
		delete(want, m.Experiment)
	}
	if uncertain == 0 {
		t.Error("no composition is uncertain: the test shows little")
	}
	for experiment, share := range want {
		if share > 0 {
			t.Errorf("%s is left out, and on the front in %v of the draws", experiment, share)
		}
	}
	if len(f.Curve) != n {
		t.Fatalf("%d places on the curve", len(f.Curve))
	}
	var points [][]float64
	for i, c := range f.Curve {
		if s.Feasible[i] >= 0.5 {
			points = append(points, s.Scores[i])
		}
		if i%100 != 0 && i != n-1 {
			continue
		}
		if want := pareto.Hypervolume(points, s.Reference); math.Abs(c.Hypervolume-want) > 1e-9*max(want, 1) {
			t.Errorf("after %s %v is covered, want %v", c.Experiment, c.Hypervolume, want)
		}
	}
	shares := 0.0
	for _, m := range f.Members {
		shares += m.Share
	}
	if shares <= 0 || shares > 1 {
		t.Errorf("the members alone hold %v of the hypervolume", shares)
	}
}

// Law: every place on the curve is what the first compositions cover, by today's means
// and today's reference; what was found is never lost again; and its end is where the
// trade-off stands. The compromise has the greatest least satisfaction.
func TestCurveAndCompromise(t *testing.T) {
	core, p := baked(t, bounded("crust*minutes <= 30"), 20)
	f, s := front(t, core, p)
	if len(f.Curve) != 20 || f.Curve[0].Hypervolume == f.Curve[19].Hypervolume {
		t.Fatalf("the curve is %+v", f.Curve)
	}
	var points [][]float64
	for i, c := range f.Curve {
		if s.Feasible[i] >= 0.5 {
			points = append(points, s.Scores[i])
		}
		if want := pareto.Hypervolume(points, s.Reference); math.Abs(c.Hypervolume-want) > 1e-12*max(want, 1) {
			t.Errorf("after %s %v is covered, want %v", c.Experiment, c.Hypervolume, want)
		}
		if i > 0 && (c.Lower < f.Curve[i-1].Lower || c.Upper < f.Curve[i-1].Upper) || c.Lower > c.Upper {
			t.Errorf("the band falls at %s: %+v", c.Experiment, c)
		}
	}
	if last := f.Curve[19]; math.Abs(last.Hypervolume-s.Hypervolume) > 1e-12 || last.Lower > s.Hypervolume || last.Upper < s.Hypervolume {
		t.Errorf("the curve ends at %+v, the trade-off stands at %v", last, s.Hypervolume)
	}
	least := func(m seek.Member) float64 {
		satisfaction := math.Inf(1)
		for k, o := range f.Objectives {
			best := f.Member(o.Best).Quantities[k].Mean
			worst, value := o.Reference, m.Quantities[k].Mean
			if o.Log {
				best, worst, value = math.Log(best), math.Log(worst), math.Log(value)
			}
			satisfaction = min(satisfaction, (value-worst)/(best-worst))
		}
		return satisfaction
	}
	for _, m := range f.Members {
		if got := least(m); m.Feasible.Probability >= 0.5 && got > f.Compromise.Satisfaction+1e-9 {
			t.Errorf("%s satisfies by %v, the compromise %s by %v", m.Experiment, got, f.Compromise.Experiment, f.Compromise.Satisfaction)
		}
	}
	if got := least(*f.Member(f.Compromise.Experiment)); math.Abs(got-f.Compromise.Satisfaction) > 1e-9 {
		t.Errorf("the compromise satisfies by %v, not %v", got, f.Compromise.Satisfaction)
	}
}

// Law: where nothing that was measured is feasible there is no front, no compromise and
// no best, and the composition that comes closest is named with its probability, also
// where all are far from the bound.
func TestNothingFeasible(t *testing.T) {
	for _, bound := range []float64{3, 0.5} {
		core, p := baked(t, bounded(fmt.Sprintf("minutes <= %v", bound)), 17)
		f, s := front(t, core, p)
		closest, nearest := "", math.Inf(-1)
		for i, m := range s.Measured {
			mean, sd := p.Models[1].Posterior(m.X)
			if z := (p.Models[1].Standardized(bound) - mean) / sd; z > nearest {
				closest, nearest = s.Measured[i].Experiment, z
			}
		}
		if f.Compromise != nil || f.Objectives[0].Best != "" || f.Hypervolume != 0 || len(f.Members)+len(f.Others) != 17 ||
			bound < 1 && len(f.Members) > 0 {
			t.Errorf("nothing is feasible within %v, and %+v", bound, f)
		}
		want := 0.5 * math.Erfc(-nearest/math.Sqrt2)
		if c := f.Closest; c == nil || c.Experiment != closest || math.Abs(c.Probability-want) > 0.02 {
			t.Errorf("within %v %+v comes closest, and should %s with probability %.3f", bound, c, closest, want)
		}
		for _, m := range slices.Concat(f.Members, f.Others) {
			if m.Keeps != campaign.KeepsNot || m.OnFront > m.Feasible.Probability+0.05 {
				t.Errorf("%s keeps the bound: %q, with probability %v on the front", m.Experiment, m.Keeps, m.OnFront)
			}
		}
	}
}

// Law: a measurement without a quantity is not one that breaks a bound on it: whether it
// keeps the bound is unknown. What is known to keep all comes first.
func TestUnknownIsNotFailed(t *testing.T) {
	core := afterwards(t, bounded("minutes <= 7"), 6, 2)
	s := core.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		want := campaign.KeepsAll
		if value, ok := s.Quantity(x, "minutes"); !ok {
			want = campaign.KeepsUnknown
		} else if value.Value > 7 {
			want = campaign.KeepsNot
		}
		if got := s.Keeps(x); got != want || (want == campaign.KeepsUnknown) != (x.ID == "e2") {
			t.Errorf("%s keeps the bound: %q, want %q", x.ID, got, want)
		}
	}
	if !campaign.KeepsAll.Before(campaign.KeepsUnknown) || !campaign.KeepsUnknown.Before(campaign.KeepsNot) ||
		campaign.KeepsNot.Before(campaign.KeepsUnknown) {
		t.Error("what is unknown does not stand between what is kept and what is broken")
	}
}

// The slope of a weighing is its slope.
func TestScalarizerSlopes(t *testing.T) {
	_, p := baked(t, bounded("minutes <= 5"), 14)
	s := must.Get(p.Standing())(t)
	z := must.Get(p.NewScalarizer(s))(t)
	for _, w := range seek.Weights(3) {
		f, grad := z.Of(w), make([]float64, 2)
		for _, x := range [][]float64{{0.2, 0.3}, {0.7, 0.9}, {0.95, 0.1}} {
			at := f(x, grad)
			if at != f(x, nil) {
				t.Fatalf("the value with a slope is %v, without %v", at, f(x, nil))
			}
			for j := range grad {
				const h = 1e-6
				up, down := slices.Clone(x), slices.Clone(x)
				up[j] += h
				down[j] -= h
				if want := (f(up, nil) - f(down, nil)) / (2 * h); math.Abs(grad[j]-want) > 1e-4*max(1, math.Abs(want)) {
					t.Fatalf("weights %v at %v: slope %v is %v, want %v", w, x, j, grad[j], want)
				}
			}
		}
	}
}

// Law: the weights are spread over the simplex, each once, and those of one objective
// alone come first.
func TestWeights(t *testing.T) {
	for m, want := range map[int]int{2: 32, 3: 36, 4: 35} {
		seen := map[string]bool{}
		for i, w := range seek.Weights(m) {
			sum := 0.0
			for _, v := range w {
				sum += v
			}
			if seen[fmt.Sprint(w)] || math.Abs(sum-1) > 1e-12 || slices.Min(w) < 0 || (slices.Max(w) == 1) != (i < m) {
				t.Errorf("weights %d of %d are %v", i, m, w)
			}
			seen[fmt.Sprint(w)] = true
		}
		if len(seen) != want {
			t.Errorf("%d weights of %d objectives", len(seen), m)
		}
	}
}

// Where a trade-off stands, and its front, of some measurements.
func BenchmarkFront(b *testing.B) {
	for _, n := range []int{200, 1000, 2000, 5000} {
		b.Run(fmt.Sprintf("measurements=%d", n), func(b *testing.B) {
			core := largePie(b, n)
			p := modelled(b, core)
			b.ReportAllocs()
			for b.Loop() {
				s := must.Get(p.Standing())(b)
				must.Get(p.Front(core.State(), s))(b)
			}
		})
	}
}

// Law: for whose sake a composition is worth an experiment is how much the logarithm of
// the expected gain changes with a quantity's mean, in its standard deviations: by
// sampling. What is known exactly has no share.
func TestWorth(t *testing.T) {
	core, p := baked(t, bounded("minutes <= 99"), 12)
	_, s := front(t, core, p)
	models := quantity.Models{{Quantity: "crust", Model: p.Models[0]}, {Quantity: "minutes", Model: p.Models[1]}}
	var points [][]float64
	for _, i := range s.Front {
		points = append(points, s.Scores[i])
	}
	before := pareto.Hypervolume(points, s.Reference)
	for _, x := range [][]float64{{0.9, 0.9}, {0.1, 0.8}} {
		w, err := seek.WorthOf(core.State(), core.Space(), models, x)
		if err != nil || w == nil || len(w.Gain) != 3 {
			t.Fatalf("%+v, %v", w, err)
		}
		var mean, sd [2]float64
		for k, m := range p.Models {
			z, s := m.Posterior(x)
			scale := m.Scale()
			mean[k], sd[k] = scale.Center+scale.Spread*z, math.Abs(scale.Spread)*s
		}
		logGain := func(shift0, shift1 float64) float64 {
			rng := rand.New(rand.NewPCG(9, 9))
			sum := 0.0
			for range 20000 {
				y := []float64{mean[0] + shift0 + sd[0]*rng.NormFloat64(), -(mean[1] + shift1 + sd[1]*rng.NormFloat64()), -(2 + 3*x[1])}
				sum += pareto.Hypervolume(append(slices.Clone(points), y), s.Reference) - before
			}
			return math.Log(sum)
		}
		const h = 0.2
		crust := math.Abs(logGain(h*sd[0], 0)-logGain(-h*sd[0], 0)) / (2 * h)
		minutes := math.Abs(logGain(0, h*sd[1])-logGain(0, -h*sd[1])) / (2 * h)
		if want := crust / (crust + minutes); math.Abs(w.Gain[0].Share-want) > 0.03 || w.Gain[2].Share > 1e-4 {
			t.Errorf("at %v the shares are %+v, by sampling %.3f of the crust", x, w.Gain, want)
		}
	}
}
