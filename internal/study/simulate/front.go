package simulate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/projections/space"
)

// Front is the judge of a trade-off: the hypervolume that compositions cover together by their
// noiseless objectives, beyond one reference for all arms, as a part of the greatest known one.
// Compositions that break a bound on outcomes cover nothing.
type Front struct {
	// Objectives are the objectives traded off, with goals and units.
	Objectives []definition.Objective
	// Worst are the worst values of interest, the reference point: those of the definition,
	// otherwise inferred once from the true front by [pareto.Reference].
	Worst []float64
	// Hypervolume is the greatest one, in the product of the objectives' units; an objective
	// modelled by its logarithm contributes that.
	Hypervolume float64
	// Searched means that the greatest one was found by a search, so that the true one may be a
	// little greater.
	Searched bool

	log       []bool    // which objectives count by their logarithm
	reference []float64 // MAXIMIZED, as all scores are
	// scores returns the objectives of a composition, MAXIMIZED; nil if it does not count: it
	// breaks a bound, or an objective has no value there. It is safe for concurrent use.
	scores func(definition.Point) ([]float64, error)
}

// covered is the part of the greatest hypervolume that is covered, in per cent.
func (f *Front) covered(scores [][]float64) float64 {
	return 100 * (pareto.Hypervolume(scores, f.reference) / f.Hypervolume)
}

// score turns a value of an objective into a score.
func (f *Front) score(k int, value float64) float64 {
	if f.log[k] {
		value = math.Log(value)
	}
	return -f.Objectives[k].Sign() * value
}

// value turns a score into a value of its objective.
func (f *Front) value(k int, score float64) float64 {
	value := -f.Objectives[k].Sign() * score
	if f.log[k] {
		return math.Exp(value)
	}
	return value
}

// frontOf makes the judge of a trade-off. kept reports whether noiseless quantities keep the
// bounds. greatest is the greatest hypervolume beyond the worst values of the definition; 0 if it
// is unknown and must be found.
func frontOf(
	def definition.Campaign, sp *space.Space, noiseless quantities, kept func(*events.Measurement) bool, greatest float64,
) (*Front, error) {
	f := &Front{Hypervolume: greatest}
	for _, a := range def.Tradeoff() {
		q := def.Quantity(a.Name)
		f.Objectives = append(f.Objectives, def.ObjectiveOf(a))
		f.log = append(f.log, q != nil && q.From == "" && q.Scale == definition.ScaleLog)
		worst := math.NaN()
		if k := len(f.reference); a.Worst != nil {
			worst = f.score(k, *a.Worst)
		}
		f.reference = append(f.reference, worst)
	}
	f.scores = func(p definition.Point) ([]float64, error) {
		m, err := noiseless(p)
		if err != nil || !kept(&m) {
			return nil, err
		}
		scores := make([]float64, len(f.Objectives))
		for k, o := range f.Objectives {
			q, ok := computed.Quantity(&def, &m, o.Name)
			scores[k] = f.score(k, q.Value)
			if !ok || math.IsNaN(scores[k]) || math.IsInf(scores[k], 0) {
				return nil, nil
			}
		}
		return scores, nil
	}
	if greatest == 0 {
		if err := f.search(sp); err != nil {
			return nil, err
		}
	}
	for k := range f.Objectives {
		f.Worst = append(f.Worst, f.value(k, f.reference[k]))
	}
	return f, nil
}

// search finds the greatest hypervolume, and infers the missing parts of the reference: exactly for
// a list of compositions; for a space from random compositions and from steps of decreasing length
// from those on the front so far. It is deterministic.
func (f *Front) search(sp *space.Space) error {
	points, finite := sp.Finite()
	if !finite {
		var err error
		if points, err = sp.Sample(sampledPoints, surrogateSeed); err != nil {
			return err
		}
	}
	var all [][]float64
	var which []definition.Point
	for _, p := range points {
		scores, err := f.scores(p)
		if err != nil {
			return err
		}
		if scores != nil {
			all, which = append(all, scores), append(which, p)
		}
	}
	if len(all) == 0 {
		return errors.New("no composition keeps the bounds on outcomes, so that no front exists")
	}
	if !finite {
		f.Searched = true
		var err error
		if all, err = f.climb(sp, which, all); err != nil {
			return err
		}
	}
	f.reference = pareto.Reference(all, f.reference, make([]float64, len(f.reference)))
	if f.Hypervolume = pareto.Hypervolume(all, f.reference); f.Hypervolume == 0 {
		return errors.New("no composition is better than the worst values of interest in every objective: " +
			"say values of worst that some are better than, or none")
	}
	return nil
}

// The search for a front: steps at each length, and the maximum number of its compositions with
// two, three and four objectives. The hypervolume of n compositions with m objectives takes time of
// the order of n^(m−1).
const frontSteps = 5000

var mostOnFront = map[int]int{2: 1000, 3: 2000, 4: 250}

// climb returns the scores of the front that steps from the given compositions
// lead to. Half of the steps move one coordinate alone: many a front lies where
// some coordinates are at their ends.
func (f *Front) climb(sp *space.Space, points []definition.Point, scores [][]float64) ([][]float64, error) {
	on := &frontier{most: mostOnFront[len(f.Objectives)], beyond: f.beyond(scores)}
	for i, p := range points {
		x, err := sp.Encode(p)
		if err != nil {
			return nil, err
		}
		on.add(x, scores[i])
	}
	random := rand.New(rand.NewPCG(surrogateSeed, 0x66726f6e74)) // the second word spells "front"
	for length := longestStep; length > shortestStep; length /= 2 {
		for range frontSteps {
			x := slices.Clone(on.x[random.IntN(len(on.x))])
			alone := -1
			if random.IntN(2) == 0 {
				alone = random.IntN(len(x))
			}
			for j := range x {
				if alone < 0 || alone == j {
					x[j] = min(max(x[j]+length*random.NormFloat64(), 0), 1)
				}
			}
			p, err := sp.Snap(x)
			if err != nil {
				continue // nothing can be made near there
			}
			score, err := f.scores(p)
			if err != nil {
				return nil, err
			}
			if score == nil {
				continue
			}
			if x, err = sp.Encode(p); err != nil {
				return nil, err
			}
			on.add(x, score)
		}
	}
	return on.scores, nil
}

// beyond returns the given part of the reference, if some of the scores are beyond it, else nil.
func (f *Front) beyond(scores [][]float64) []float64 {
	given := slices.Clone(f.reference)
	for k, r := range given {
		if math.IsNaN(r) {
			given[k] = math.Inf(-1)
		}
	}
	if !slices.ContainsFunc(scores, func(s []float64) bool { return pareto.Beyond(s, given) }) {
		return nil
	}
	return given
}

// frontier holds the compositions on a front, at most so many.
type frontier struct {
	most   int
	beyond []float64 // the bound of every score; nil for none
	x      [][]float64
	scores [][]float64
}

// add takes in a composition that is not covered, and drops those that it covers. A full frontier
// takes it only if it covers one.
func (f *frontier) add(x, score []float64) {
	if f.beyond != nil && !pareto.Beyond(score, f.beyond) {
		return
	}
	kept := 0
	for i, s := range f.scores {
		if slices.Equal(s, score) || pareto.Dominates(s, score) {
			return // and it covers none of those before, which s would
		}
		if !pareto.Dominates(score, s) {
			f.x[kept], f.scores[kept] = f.x[i], s
			kept++
		}
	}
	if f.x, f.scores = f.x[:kept], f.scores[:kept]; kept < f.most {
		f.x, f.scores = append(f.x, x), append(f.scores, score)
	}
}

// Beyond names the worst values of interest: "branin 18 and currin 6".
func (f *Front) Beyond() string {
	var worst []string
	for k, o := range f.Objectives {
		worst = append(worst, o.Name+" "+inUnit(f.Worst[k], o))
	}
	return format.List(worst...)
}

// words describe the reference of the hypervolume.
func (f *Front) words() string {
	found := ""
	if f.Searched {
		found = ", which a search has found"
	}
	text := fmt.Sprintf("What a campaign has found is the hypervolume that its compositions cover by their true values, beyond %s. "+
		"Missing is the rest of the greatest one, %s%s",
		f.Beyond(), strconv.FormatFloat(f.Hypervolume, 'g', 6, 64), found)
	var logarithms []string
	for k, o := range f.Objectives {
		if f.log[k] {
			logarithms = append(logarithms, o.Name)
		}
	}
	if len(logarithms) > 0 {
		text += "; of " + format.List(logarithms...) + " the logarithm counts"
	}
	return text + "."
}
