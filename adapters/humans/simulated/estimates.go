package simulated

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// estimates says a number of each option that the expert can tell something of.
func (r *Reviewer) estimates(
	id string, options []definition.Point, scale events.Scale,
) ([]events.Estimate, error) {
	if len(scale.Columns) > 0 {
		return r.table(id, options, scale)
	}
	var list []events.Estimate
	for i, p := range options {
		if r.draw(fmt.Sprint("unsure of ", i), id, p) < r.cfg.UnsureRate {
			continue
		}
		expect := r.expected
		if r.cfg.Correlation != nil {
			expect = r.correlated
		}
		purpose, question := r.occasion("estimate", i, id)
		n := answered(id) + i
		x, err := expect(purpose, question, n, p, scale)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 && r.copies(n, fmt.Sprint(id, " ", i), p) {
			x = list[0].Value
		}
		list = append(list, events.Estimate{Option: i, Value: x})
	}
	return list, nil
}

// expected is the estimate at p of an expert who judges by rank: the utility −aρ with logistic
// noise, whose sign is the label, divided by |a| where that is more than 1, so that the numbers of
// a good expert are about as wide as the objective. In the objective's unit 3 is its best over the
// space and −3 its worst; marks are equal classes between the two.
func (r *Reviewer) expected(
	purpose, id string, n int, p definition.Point, scale events.Scale,
) (float64, error) {
	rank, err := r.rank(n, p)
	if err != nil {
		return 0, err
	}
	u := r.open(purpose, id, p)
	a := r.accurate(n)
	utility := (-a*rank + math.Log(u/(1-u))) / math.Max(1, math.Abs(r.accuracy))
	if scale.Marks > 0 {
		return class(scale, (utility+3)/6), nil
	}
	best, worst := r.knows.Best, r.knows.Worst
	if r.reversed {
		best, worst = worst, best
	}
	return (best+worst)/2 + (best-worst)/6*utility, nil
}

// class is the mark of a share of the way from the worst to the best.
func class(scale events.Scale, share float64) float64 {
	marks := float64(scale.Marks)
	return 1 + math.Min(math.Max(math.Floor(marks*share), 0), marks-1)
}

// correlated is the estimate at p of an expert whose estimates correlate at c with the truth: c·z +
// √(1−c²)·ε, where z is the normal score of the objective at p among compositions of the space, and
// ε is of mean 0 and variance 1. In the objective's unit it has the objective's mean and standard
// deviation over the space; marks are equally frequent classes.
func (r *Reviewer) correlated(
	purpose, id string, n int, p definition.Point, scale events.Scale,
) (float64, error) {
	score, err := r.score(purpose, id, n, p)
	if err != nil {
		return 0, err
	}
	if scale.Marks == 0 {
		truth, err := r.truth()
		return truth.mean + truth.sd*score, err
	}
	if !r.maximizes {
		score = -score
	}
	return class(scale, math.Erfc(-score/math.Sqrt2)/2), nil
}

// score is c·z + √(1−c²)·ε at p, in the direction of the objective, after n
// answers.
func (r *Reviewer) score(purpose, id string, n int, p definition.Point) (float64, error) {
	truth, err := r.truth()
	if err != nil {
		return 0, err
	}
	value, err := r.value(p)
	if err != nil {
		return 0, err
	}
	c := *r.cfg.Correlation * r.fresh(n)
	noise := 0.0
	if r.cfg.Prejudice > 0 {
		noise = truth.prejudice(r.coordinates(p))
	} else {
		noise = math.Sqrt2 * math.Erfinv(2*r.open(purpose, id, p)-1)
	}
	return c*truth.score(value) + math.Sqrt(1-c*c)*noise, nil
}

// sampled is how many compositions the truth over the space is known from.
const sampled = 1024

// truth is how the objective, or another quantity, is distributed over the space.
type truth struct {
	sorted    []float64
	mean, sd  float64
	prejudice func([]float64) float64
}

// distribution looks at the values of a function at random compositions of the space;
// a prejudice of its own has the given name.
func (r *Reviewer) distribution(
	value func(definition.Point) (float64, error), prejudice string,
) (truth, error) {
	points := r.sample(sampled, r.word("truth", ""))
	if len(points) == 0 {
		return truth{}, fmt.Errorf("%w: the space has no compositions to know of", ErrExamples)
	}
	values := make([]float64, len(points))
	places := make([][]float64, len(points))
	for i, p := range points {
		var err error
		if values[i], err = value(p); err != nil {
			return truth{}, err
		}
		places[i] = r.coordinates(p)
	}
	t := truth{sorted: slices.Sorted(slices.Values(values))}
	t.mean, t.sd = moments(t.sorted)
	if r.cfg.Prejudice > 0 {
		t.prejudice = r.smooth(prejudice, places)
	}
	return t, nil
}

// score is the normal score of a value: the standard normal quantile of its
// rank.
func (t truth) score(value float64) float64 {
	below, _ := slices.BinarySearch(t.sorted, value)
	upto, _ := slices.BinarySearch(t.sorted, math.Nextafter(value, math.Inf(1)))
	p := (float64(below+upto)/2 + 0.5) / float64(len(t.sorted)+1)
	return math.Sqrt2 * math.Erfinv(2*p-1)
}

// features is how many waves a prejudice is made of.
const features = 256

// smooth is a random function with a squared exponential kernel whose
// lengthscale is the prejudice's times the root of the number of coordinates
// (random Fourier features, Rahimi and Recht 2007, Alg. 1), scaled to mean 0
// and variance 1 over the given places. It is the same for the same expert of
// the same campaign.
func (r *Reviewer) smooth(name string, places [][]float64) func([]float64) float64 {
	rng := rand.New(rand.NewPCG(r.word(name, ""), 0))
	d := len(places[0])
	waves := make([]float64, features*(d+1)) // of each the frequencies and the phase
	for i := range waves {
		waves[i] = rng.NormFloat64() / (r.cfg.Prejudice * math.Sqrt(float64(d)))
		if i%(d+1) == d {
			waves[i] = 2 * math.Pi * rng.Float64()
		}
	}
	at := func(x []float64) (sum float64) {
		for wave := range slices.Chunk(waves, d+1) {
			angle := wave[d]
			for k, v := range x {
				angle += wave[k] * v
			}
			sum += math.Cos(angle)
		}
		return sum
	}
	over := make([]float64, len(places))
	for i, x := range places {
		over[i] = at(x)
	}
	mean, sd := moments(over)
	return func(x []float64) float64 { return (at(x) - mean) / sd }
}

// coordinates places a composition in the unit cube; each category is a
// coordinate.
func (r *Reviewer) coordinates(p definition.Point) (x []float64) {
	for _, par := range r.parameters {
		for _, c := range par.Categories {
			at := 0.0
			if p[par.Name].Name() == c.Name {
				at = 1
			}
			x = append(x, at)
		}
		if par.Categories != nil {
			continue
		}
		v, _ := p[par.Name].Float()
		low, high := 0.0, 1.0
		switch {
		case par.Min != nil && par.Max != nil:
			low, high = *par.Min, *par.Max
		case len(par.Values) > 1:
			low, high = slices.Min(par.Values), slices.Max(par.Values)
		}
		x = append(x, (v-low)/(high-low))
	}
	return x
}

// moments are the mean and the standard deviation, which is 1 for constant values.
func moments(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	for _, v := range values {
		sd += (v - mean) * (v - mean)
	}
	if sd = math.Sqrt(sd / float64(len(values))); sd == 0 {
		sd = 1
	}
	return mean, sd
}
