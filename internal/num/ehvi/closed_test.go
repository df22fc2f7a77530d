package ehvi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/pareto"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
)

// outcome is a front with a normal distribution of what is to improve it.
type outcome struct {
	front               [][]float64
	reference, mean, sd []float64
	limits              []Limit
}

// Where the means of outcomes lie: near the front, some standard deviations below it, far below it and the reference, or between the
// two and far from both.
var places = []string{"near", "off", "below", "between"}

// someOutcome draws an outcome of one to four objectives. Some fronts are tight, so that from far away several cells count alike. An
// objective in four has a limit.
func someOutcome(t *rapid.T, place string) outcome {
	m := rapid.IntRange(1, 4).Draw(t, "m")
	n := rapid.IntRange(0, 6).Draw(t, "n")
	spread := rapid.SampledFrom([]float64{1, 1e-2, 1e-5}).Draw(t, "spread")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	o := outcome{limits: make([]Limit, m)}
	for range n {
		p := make([]float64, m)
		for k := range p {
			p[k] = 0.5 + spread*(rng.Float64()-0.5)
		}
		o.front = append(o.front, p)
	}
	for k := range m {
		sd := math.Pow(10, -2*rng.Float64())
		mean := 0.5 + sd*rng.NormFloat64()
		switch place {
		case "off":
			mean -= 4 * sd
		case "below":
			mean -= 300 * rng.Float64() * sd
		case "between":
			sd /= 300
			mean = 0.5 - min(0.7, sd*(40+100*rng.Float64()))
		}
		o.reference = append(o.reference, -0.3*rng.Float64())
		o.mean, o.sd = append(o.mean, mean), append(o.sd, sd)
		if rng.IntN(4) == 0 {
			o.limits[k] = Limit{Bounded: true, At: 0.4 + rng.Float64()}
		}
	}
	return o
}

// place draws where the means lie.
func place(t *rapid.T) string { return rapid.SampledFrom(places).Draw(t, "place") }

// leaves reports whether the front leaves anything within the limits.
func (o outcome) leaves() bool {
	most := make([]float64, len(o.limits))
	for k, limit := range o.limits {
		most[k] = 9
		if limit.Bounded {
			most[k] = limit.At
		}
	}
	return pareto.Improvement(most, o.front, o.reference) > 0
}

func (o outcome) closed() *Closed { return NewClosed(o.front, o.reference, o.limits) }
func (o outcome) log() float64    { return o.closed().Log(o.mean, o.sd) }

// Law: it is the mean of the improvement of the hypervolume, by what it means: drawn outcomes, of which those beyond a limit count
// nothing.
func TestClosedIsTheMeanImprovement(t *testing.T) {
	some := rapid.Custom(func(t *rapid.T) outcome { return someOutcome(t, "near") })
	for i := range 12 {
		o := some.Example(i)
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		const draws = 20_000
		sum, squares := 0.0, 0.0
		y := make([]float64, len(o.mean))
		for range draws {
			within := true
			for k := range y {
				y[k] = o.mean[k] + o.sd[k]*rng.NormFloat64()
				within = within && !(o.limits[k].Bounded && y[k] > o.limits[k].At)
			}
			if within {
				gain := pareto.Improvement(y, o.front, o.reference)
				sum, squares = sum+gain/draws, squares+gain*gain/draws
			}
		}
		se := math.Sqrt((squares - sum*sum) / draws)
		if got := math.Exp(o.log()); math.Abs(got-sum) > 4.5*se+1e-4 {
			t.Errorf("%+v: it is %v, by draws %v ± %v", o, got, sum, se)
		}
	}
}

// Law: where nothing is uncertain it is the improvement itself.
func TestClosedWhereCertain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := someOutcome(t, "near")
		o.limits = nil
		for k := range o.sd {
			o.sd[k] = 1e-9
			o.mean[k] = rapid.Float64Range(0, 1.5).Draw(t, "mean")
		}
		want := pareto.Improvement(o.mean, o.front, o.reference)
		if got := math.Exp(o.log()); math.Abs(got-want) > 1e-7 {
			t.Fatalf("it is %v, want %v", got, want)
		}
	})
}

// Law: of one objective it is the expected improvement, however improbable.
func TestClosedOfOneObjective(t *testing.T) {
	for _, mean := range []float64{0.2, 0.9, -3, -50, -4000, 8} {
		for _, best := range []float64{0.3, 0.7} {
			got := NewClosed([][]float64{{0.1}, {best}}, []float64{-1}, nil).Log([]float64{mean}, []float64{0.4})
			near(t, fmt.Sprintf("of %v beyond %v it", mean, best), got, acquisition.LogEI(nil, -mean, 0.4, -best, nil, nil), 1e-13, 1+math.Abs(got))
		}
	}
}

// Law: the derivatives are those by differences, however improbable the improvement, and the value is the same with and without.
func TestClosedGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := someOutcome(t, place(t))
		c := o.closed()
		m := len(o.mean)
		dMean, dSD := make([]float64, m), make([]float64, m)
		value := c.LogGrad(o.mean, o.sd, dMean, dSD)
		if plain := c.Log(o.mean, o.sd); plain != value || math.IsInf(value, 0) == o.leaves() || math.IsNaN(value) {
			t.Fatalf("it is %v with derivatives, %v without", value, plain)
		}
		if !o.leaves() {
			for k := range m {
				if dMean[k] != 0 || dSD[k] != 0 {
					t.Fatalf("nothing changes by %v, %v", dMean, dSD)
				}
			}
			return
		}
		for k := range m {
			// A step that changes the shares of cells by little.
			h := 1e-3 * o.sd[k] / (1 + math.Abs(value))
			check := func(what string, got float64, at []float64) {
				was := at[k]
				at[k] = was + h
				up := c.Log(o.mean, o.sd)
				at[k] = was - h
				down := c.Log(o.mean, o.sd)
				at[k] = was
				want := (up - down) / (2 * h)
				if math.Abs(got-want)*o.sd[k] > 1e-4*(1+math.Abs(want)*o.sd[k])+1e-14*math.Abs(value)*o.sd[k]/h {
					t.Fatalf("by %s %d it changes by %v, by differences %v", what, k, got, want)
				}
			}
			check("mean", dMean[k], o.mean)
			check("sd", dSD[k], o.sd)
		}
	})
}

// Law: the order of objectives does not matter; a further point of the front never helps, and does nothing where it is covered;
// a limit that is far away is none.
func TestClosedOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := someOutcome(t, place(t))
		value := o.log()
		same := func(what string, o outcome) {
			if got := o.log(); got != value && !(math.Abs(got-value) <= 1e-11*(1+math.Abs(value))) {
				t.Fatalf("%s it is %v, and was %v", what, got, value)
			}
		}
		turned := o
		turned.reference, turned.mean, turned.sd = slices.Clone(o.reference), slices.Clone(o.mean), slices.Clone(o.sd)
		turned.limits, turned.front = slices.Clone(o.limits), nil
		for _, p := range o.front {
			p = slices.Clone(p)
			slices.Reverse(p)
			turned.front = append(turned.front, p)
		}
		slices.Reverse(turned.reference)
		slices.Reverse(turned.mean)
		slices.Reverse(turned.sd)
		slices.Reverse(turned.limits)
		same("with objectives in reverse", turned)

		further := make([]float64, len(o.mean))
		for k := range further {
			further[k] = rapid.Float64Range(0, 1).Draw(t, "further")
		}
		more := o
		more.front = append(slices.Clone(o.front), further)
		if got := more.log(); got > value+1e-11*(1+math.Abs(value)) {
			t.Fatalf("with a further point it is %v, and was %v", got, value)
		}
		if len(o.front) > 0 {
			for k := range further {
				further[k] = o.front[0][k] - 0.1*float64(k)
			}
			same("with a point that is covered", more)
		}
		distant := o
		distant.limits = slices.Clone(o.limits)
		for k, limit := range o.limits {
			if !limit.Bounded {
				distant.limits[k] = Limit{Bounded: true, At: 1e6}
			}
		}
		same("with limits far away", distant)
	})
}

// Law: in logarithms, cell by cell, it is what it is by products, with its derivatives, wherever these do not underflow.
func TestFarIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := someOutcome(t, rapid.SampledFrom([]string{"near", "off"}).Draw(t, "place"))
		if !o.leaves() {
			return
		}
		c := o.closed()
		m := len(o.mean)
		dMean, dSD := make([]float64, m), make([]float64, m)
		want := c.LogGrad(o.mean, o.sd, dMean, dSD)
		if got := c.far(&c.region) + sumLog(o.sd); !(math.Abs(got-want) <= 1e-11*(1+math.Abs(want))) {
			t.Fatalf("it is %v, want %v", got, want)
		}
		for k, sd := range o.sd {
			for what, slope := range map[string][2]float64{
				"mean": {c.dMean[k], dMean[k] * sd}, "sd": {c.dSD[k], dSD[k] * sd},
			} {
				if math.Abs(slope[0]-slope[1]) > 1e-9*(1+math.Abs(slope[1])) {
					t.Fatalf("by %s %d it changes by %v, want %v", what, k, slope[0], slope[1])
				}
			}
		}
	})
}
