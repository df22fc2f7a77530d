package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// everywhere makes a table's surrogate the task's truth.
//
// Without it a table's task can measure only its rows; with it the whole space, where the
// regression's value is the truth. The noise is then the measurements', unless the task gives
// another.
func (t *Task) everywhere(
	ctx context.Context, def definition.Campaign, cfg table.Settings, source *studyfile.Task,
) error {
	instrument, err := t.read(def, cfg)
	if err != nil {
		return err
	}
	if def.Several() {
		return t.everywhereOfSeveral(ctx, def, instrument, filepath.Base(cfg.File), source)
	}
	k := source.Surrogate.Neighbors
	sought := def.Sought()
	rows := instrument.Rows()
	by, err := regress(ctx, def, rows, k)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(cfg.File), err)
	}
	sp, err := space.New(def)
	if err != nil {
		return err
	}
	t.Truth = Truth{Sought: sought, Value: by.value}
	what := "the mean of a Gaussian process fitted to them"
	if k > 0 {
		what = fmt.Sprintf("the mean of the %d nearest rows in the unit cube", k)
		err = t.Truth.searched(sp, rows)
	} else {
		t.Truth.Best, t.Truth.Worst, err = extremes(ctx, sp, by.model)
	}
	if err != nil {
		return err
	}
	sd := noiseOf(def, source, by.sd)
	t.digest += fmt.Sprintf(" neighbors %d noise %x", source.Surrogate.Neighbors, sd)
	if sd > 0 {
		what += ", measured with noise of standard deviation " + inUnit(sd, sought)
	}
	t.About = fmt.Sprintf("A surrogate of the %d rows of %s: %s. Regret is against its optimum, %s. "+
		"Of the variance of rows left out it predicts %.0f %%.",
		len(rows), filepath.Base(cfg.File), what, inUnit(t.Truth.Best, sought), 100*max(0, by.explained))
	t.standIn(nil, map[string]noise{sought.Name: {sd: sd}})
	return nil
}

// regression predicts the objective over the space, from rows. Explained is the predicted share of
// the variance of left-out rows, sd the standard deviation of the noise, 0 if unknown.
type regression struct {
	value         func(definition.Point) (float64, error)
	explained, sd float64
	model         *quantity.Model // nil for neighbors
}

// regress makes a regression of the mean of the nearest neighbors, or of a Gaussian
// process for 0 of them.
func regress(ctx context.Context, def definition.Campaign, rows []table.Row, neighbors int) (r regression, err error) {
	if len(rows) <= neighbors {
		return r, fmt.Errorf("there are %d rows, and the mean of %d needs more", len(rows), neighbors)
	}
	if neighbors > 0 {
		sp, err := space.New(def)
		if err != nil {
			return r, err
		}
		n, err := newNeighbors(sp, rows, neighbors)
		if err != nil {
			return r, err
		}
		return regression{value: n.value, explained: n.explained()}, nil
	}
	model, err := fitRows(ctx, def, rows)
	if err != nil {
		return r, err
	}
	y, mean, _ := model.GP().LeaveOneOut()
	r.model = model
	r.explained = r2(y, mean)
	r.sd = math.Sqrt(model.Fit.Noise) * model.Fit.Scale
	r.value = func(p definition.Point) (float64, error) {
		prediction, err := model.Predict(p)
		return prediction.Mean, err
	}
	return r, nil
}

// fitRows fits a Gaussian process to rows, whose noise is inferred: the
// objective's is that of the measurements to come. The rows go through the same
// projection as the measurements of a campaign, so that the fit is the one that
// campaigns have.
func fitRows(ctx context.Context, def definition.Campaign, rows []table.Row) (*quantity.Model, error) {
	def.Objective.Noise, def.Objective.RelativeNoise = nil, nil
	sought := def.Sought()
	p := quantity.New()
	if err := p.Apply(events.Event{}, &events.CampaignDefined{Definition: def}); err != nil {
		return nil, err
	}
	for i, row := range rows {
		measured := &events.ExperimentMeasured{
			Experiment: events.ExperimentID(i + 1),
			Measurement: events.Measurement{
				Actual:    row.Point,
				Objective: sought.Quantity(row.Value, nil),
			},
		}
		if err := p.Apply(events.Event{}, measured); err != nil {
			return nil, err
		}
	}
	return fitted(ctx, p)
}

// neighbors is the regression by the k nearest rows, each with the same weight.
type neighbors struct {
	space *space.Space
	k     int
	x     [][]float64 // of the unit cube, a row each
	y     []float64
}

// newNeighbors encodes the rows, so that distances are those of the unit cube.
func newNeighbors(sp *space.Space, rows []table.Row, k int) (*neighbors, error) {
	n := &neighbors{space: sp, k: k}
	for _, row := range rows {
		x, err := sp.Encode(row.Point)
		if err != nil {
			return nil, err
		}
		n.x, n.y = append(n.x, x), append(n.y, row.Value)
	}
	return n, nil
}

// value is the truth of a task at a composition; it is a function with steps,
// where the set of neighbors changes.
func (n *neighbors) value(p definition.Point) (float64, error) {
	x, err := n.space.Encode(p)
	if err != nil {
		return math.NaN(), err
	}
	return n.mean(x, -1), nil
}

// mean is that of the k rows nearest to x, equally near ones in their order,
// without the row left out. Leaving one out is how it is judged: with itself
// among its neighbors a row would predict itself.
func (n *neighbors) mean(x []float64, without int) float64 {
	near := make([]int, 0, n.k+1)
	distance := make([]float64, len(n.x))
	for i, row := range n.x {
		if i == without {
			continue
		}
		for j, v := range row {
			distance[i] += (v - x[j]) * (v - x[j])
		}
		at := len(near)
		for at > 0 && distance[near[at-1]] > distance[i] {
			at--
		}
		if near = slices.Insert(near, at, i); len(near) > n.k {
			near = near[:n.k]
		}
	}
	sum := 0.0
	for _, i := range near {
		sum += n.y[i]
	}
	return sum / float64(len(near))
}

// explained is the share of the rows' variance that the others predict.
func (n *neighbors) explained() float64 {
	predicted := make([]float64, len(n.y))
	for i, x := range n.x {
		predicted[i] = n.mean(x, i)
	}
	return r2(n.y, predicted)
}

// r2 is the coefficient of determination; 0 where nothing varies. It is
// negative where the mean would predict better.
func r2(y, predicted []float64) float64 {
	mean := 0.0
	errors := 0.0
	total := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for i, v := range y {
		errors += (v - predicted[i]) * (v - predicted[i])
		total += (v - mean) * (v - mean)
	}
	if total == 0 {
		return 0
	}
	return 1 - errors/total
}

// What the extremes of a function with steps are sought among: random
// compositions, and steps from the best of them that become shorter.
const (
	sampledPoints = 20_000
	climbers      = 10
	climbingSteps = 100 // of each climber, at each length
	longestStep   = 0.3 // of the unit cube
	shortestStep  = 1e-3
)

// searched finds the extremes among random compositions and those of rows, and by climbing from
// there. It may miss a step of the function that takes up a millionth of the space.
//
// A gradient would be zero nearly everywhere, so the optimizer of the policies is useless here.
func (t *Truth) searched(sp *space.Space, rows []table.Row) error {
	points, finite := sp.Finite()
	if !finite {
		var err error
		if points, err = sp.Sample(sampledPoints, surrogateSeed); err != nil {
			return err
		}
		for _, row := range rows {
			if sp.Contains(row.Point) == nil {
				points = append(points, row.Point)
			}
		}
	}
	var err error
	if t.BestAt, t.Best, err = t.climb(sp, points, !finite, t.Sought.Better(1, 0)); err != nil {
		return err
	}
	_, t.Worst, err = t.climb(sp, points, !finite, t.Sought.Better(0, 1))
	return err
}

// climb returns the point of the greatest value, or of the least, among the given ones and, with
// further, those reached from the best of them. It is deterministic: the seed is fixed, and equal
// values keep their order.
func (t *Truth) climb(
	sp *space.Space, points []definition.Point, further, greatest bool,
) (at definition.Point, value float64, err error) {
	type place struct {
		point definition.Point
		x     []float64
		value float64
	}
	look := func(p definition.Point) (at place, counts bool, err error) {
		v, counts, err := t.counts(p)
		if err != nil || !counts {
			return at, false, err
		}
		x, err := sp.Encode(p)
		return place{p, x, v}, true, err
	}
	order := func(a, b place) int {
		if greatest {
			return cmp.Compare(b.value, a.value)
		}
		return cmp.Compare(a.value, b.value)
	}
	places := make([]place, 0, len(points))
	for _, p := range points {
		at, counts, err := look(p)
		if err != nil {
			return nil, math.NaN(), err
		}
		if counts {
			places = append(places, at)
		}
	}
	slices.SortStableFunc(places, order)
	if len(places) == 0 && len(points) > 0 {
		return nil, math.NaN(), errors.New("no composition keeps the bounds on outcomes and has a value of the objective")
	}
	if len(places) == 0 {
		return nil, math.NaN(), errors.New("this space contains no composition")
	}
	if !further {
		return places[0].point, places[0].value, nil
	}
	places = places[:min(climbers, len(places))]
	random := rand.New(rand.NewPCG(surrogateSeed, 0x636c696d62)) // the second word spells "climb"
	for length := longestStep; length > shortestStep; length /= 2 {
		for i := range places {
			for range climbingSteps {
				x := slices.Clone(places[i].x)
				for j := range x {
					x[j] = min(max(x[j]+length*random.NormFloat64(), 0), 1)
				}
				p, err := sp.Snap(x)
				if err != nil {
					continue // nothing can be made near there
				}
				next, counts, err := look(p)
				if err != nil {
					return nil, math.NaN(), err
				}
				if counts && order(next, places[i]) < 0 {
					places[i] = next
				}
			}
		}
	}
	best := slices.MinFunc(places, order)
	return best.point, best.value, nil
}
