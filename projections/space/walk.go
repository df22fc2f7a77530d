package space

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/campaignd/campaignd/internal/num/optimize"
)

// walk knows how to step through the relaxed space with exclusions, so that its points come out
// uniform: hit-and-run (Smith 1984, Operations Research 32(6), 1296–1308) for the parameters that
// constraints tie together, Gibbs steps for the others. A step never leaves the space: on the line
// through the current point the feasible part is computed, excluded intervals are cut out, and the
// next point is drawn from the rest. Nothing is rejected.
//
// Rejection from the box would fail: where a sum must be 1, no random point satisfies it.
type walk struct {
	space *Space
	// coupled axes move together along directions; single ones (categories, and
	// discrete values or steps that appear in no constraint) each on their own,
	// over their list of values.
	coupled, single []int
	center          []float64   // a point in the relative interior, by coupled
	directions      [][]float64 // columns of a matrix that makes the polytope about round, each by coupled
	slopes          [][]float64 // inequality rows, by coupled: slopes·u ≤ limits
	limits          []float64
	lower, upper    []float64 // by coupled
}

// state is the walker's place: coordinates by coupled, values or categories as
// indices by single.
type state struct {
	u     []float64
	index []int
}

// newWalk prepares the walk: a point in the middle, and the directions in which
// the region has room, with their extents. Equalities are not kept: the
// directions lie in them, and so does the center.
func (s *Space) newWalk(ctx context.Context) (*walk, error) {
	w := &walk{space: s}
	place := w.couple()
	n := len(w.coupled)
	if n == 0 {
		return w, nil
	}
	p := optimize.Polytope{Lower: w.lower, Upper: w.upper}
	for _, r := range s.rows {
		coef, rhs := s.encodeRow(r, n, func(i int) int { return place[i] })
		if r.sense == equals {
			p.A, p.B = append(p.A, coef), append(p.B, rhs)
		} else {
			p.C, p.D = append(p.C, coef), append(p.D, rhs)
			w.slopes, w.limits = append(w.slopes, coef), append(w.limits, rhs)
		}
	}
	region, err := optimize.NewRegion(p)
	if err != nil {
		return nil, s.explain(err)
	}
	spread, err := w.reach(ctx, region)
	if err != nil {
		return nil, err
	}
	w.center = make([]float64, n)
	for j := range n {
		for _, x := range spread {
			w.center[j] += x[j] / float64(len(spread))
		}
	}
	for _, x := range spread {
		for j := range x {
			x[j] -= w.center[j]
		}
	}
	w.directions = orthogonal(spread)
	return w, nil
}

// couple tells the axes that can be stepped along alone from those that move together, and returns
// the place of each coupled axis among them. A grid that no row constrains is stepped along value
// by value; a row ties its axes. Values of a grid that a row ties move as if they were continuous;
// drawn points are snapped in the end.
func (w *walk) couple() (place []int) {
	tied := make([]bool, len(w.space.axes))
	for i := range w.space.rows {
		for _, k := range w.space.rows[i].axes {
			tied[k] = true
		}
	}
	place = make([]int, len(w.space.axes))
	for i := range w.space.axes {
		a := &w.space.axes[i]
		if a.categorical() || (a.grid != nil && !tied[i]) {
			w.single = append(w.single, i)
			continue
		}
		place[i] = len(w.coupled)
		w.coupled = append(w.coupled, i)
		w.lower, w.upper = append(w.lower, a.encode(a.first())), append(w.upper, a.encode(a.last()))
	}
	return place
}

// reach returns points on faces all round the region: points far out in every
// coordinate direction and against every inequality, projected. Their mean lies
// in the region's relative interior, and they span it, also where inequalities
// leave less room than they seem to (x + y ≤ 1 with x, y ≥ 0.5).
func (w *walk) reach(ctx context.Context, region *optimize.Region) (points [][]float64, err error) {
	// In units of the cube: so far out that the projection lies on a face, and
	// near enough for its rounding.
	const far = 100
	n := len(w.coupled)
	push := func(direction []float64) error {
		for _, sign := range []float64{far, -far} {
			if err := ctx.Err(); err != nil {
				return err
			}
			x := make([]float64, n)
			for j := range x {
				x[j] = 0.5*(w.lower[j]+w.upper[j]) + sign*direction[j]
			}
			if err := region.Project(x, x); err != nil {
				return err
			}
			points = append(points, x)
		}
		return nil
	}
	for j := range n {
		direction := make([]float64, n)
		direction[j] = 1
		if err := push(direction); err != nil {
			return nil, err
		}
	}
	for _, row := range w.slopes {
		norm := math.Sqrt(squaredDistance(row, make([]float64, n)))
		direction := make([]float64, n)
		for j := range row {
			if norm > 0 {
				direction[j] = row[j] / norm
			}
		}
		if err := push(direction); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// orthogonal returns the directions in which points spread around the origin, each with its extent,
// by pivoted Gram–Schmidt. A direction without room is left out. It overwrites the points. The
// longest comes first, which keeps rounding small; less than 1e-7 of the cube counts as no room.
func orthogonal(points [][]float64) (directions [][]float64) {
	n := len(points[0])
	for range n {
		pivot, longest := -1, 1e-7
		for k, x := range points {
			if l := math.Sqrt(squaredDistance(x, make([]float64, n))); l > longest {
				pivot, longest = k, l
			}
		}
		if pivot < 0 {
			break
		}
		v := append([]float64(nil), points[pivot]...)
		directions = append(directions, v)
		for _, x := range points {
			var dot float64
			for j := range x {
				dot += x[j] * v[j]
			}
			for j := range x {
				x[j] -= dot / (longest * longest) * v[j]
			}
		}
	}
	return directions
}

// steps is how many steps lie between two points of a walk that are used. It
// grows with the dimension; the constants are a choice.
func (w *walk) steps() int { return 4*len(w.directions) + 4 }

// draw returns n points of the relaxed space, encoded, about uniform over it.
// Several walks start all over the space, so that parts which exclusions
// separate are all visited. The first ten times as many steps are left out:
// they still know the start.
func (w *walk) draw(n int, rng *rand.Rand) ([][]float64, error) {
	const walks = 8
	points := make([][]float64, 0, n)
	for k := range min(walks, n) {
		st, err := w.start(rng)
		if err != nil {
			return nil, err
		}
		for range 10 * w.steps() {
			w.step(&st, rng)
		}
		for range (n-k-1)/walks + 1 {
			for range w.steps() {
				w.step(&st, rng)
			}
			points = append(points, w.encodeState(st))
		}
	}
	// Points of one walk are not independent: mix them, so that any first few
	// come from all of them.
	rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	return points[:n], nil
}

// start returns a random state outside every excluded region. A start inside of
// a region is moved to the nearest composition outside.
func (w *walk) start(rng *rand.Rand) (state, error) {
	st := state{u: append([]float64(nil), w.center...), index: make([]int, len(w.single))}
	for k, i := range w.single {
		st.index[k] = rng.IntN(w.space.axes[i].levels())
	}
	// From the center along a random line, as if nothing were excluded.
	if len(w.directions) > 0 {
		direction := w.direction(rng)
		lo, hi := w.chord(st.u, direction)
		w.move(st.u, direction, lo+rng.Float64()*(hi-lo))
	}
	x := w.encodeState(st)
	if !w.excludes(st) {
		return st, nil
	}
	p, err := w.space.Snap(x)
	if err != nil {
		return st, err
	}
	for k, i := range w.coupled {
		v, _ := p[w.space.axes[i].name].Float()
		st.u[k] = w.space.axes[i].encode(v)
	}
	for k, i := range w.single {
		a := &w.space.axes[i]
		if a.categorical() {
			st.index[k] = a.category(p[a.name].Name())
		} else {
			v, _ := p[a.name].Float()
			st.index[k] = a.grid.nearest(v)
		}
	}
	return st, nil
}

// levels is the number of values of a single axis.
func (a *axis) levels() int {
	if a.categorical() {
		return len(a.categories)
	}
	return a.grid.len()
}

// step moves every single axis once and the coupled ones along one direction. Each draw is from the
// part of its line that the regions leave, so that the chain's stationary distribution is uniform
// on the rest.
func (w *walk) step(st *state, rng *rand.Rand) {
	for k, i := range w.single {
		free := []span{{0, float64(w.space.axes[i].levels())}}
		for r := range w.space.regions {
			if lo, hi, ok := w.blockedLevels(&w.space.regions[r], *st, k); ok {
				free = cut(free, float64(lo), float64(hi+1))
			}
		}
		if t, ok := pick(free, rng); ok {
			st.index[k] = int(t)
		}
	}
	if len(w.directions) == 0 {
		return
	}
	direction := w.direction(rng)
	lo, hi := w.chord(st.u, direction)
	if !(hi > lo) {
		return
	}
	free := []span{{lo, hi}}
	for r := range w.space.regions {
		if from, to, ok := w.blockedChord(&w.space.regions[r], *st, direction); ok {
			free = cut(free, from, to)
		}
	}
	if t, ok := pick(free, rng); ok {
		w.move(st.u, direction, t)
	}
}

// direction is a normal combination of the directions: all of them are possible, and none leaves
// the equalities. Normal weights on the extents make long directions likelier, which rounds the
// region off.
func (w *walk) direction(rng *rand.Rand) []float64 {
	d := make([]float64, len(w.coupled))
	for _, column := range w.directions {
		z := rng.NormFloat64()
		for j, v := range column {
			d[j] += z * v
		}
	}
	return d
}

// chord returns the interval of t in which u + t·direction satisfies bounds and
// inequalities. Slopes below 1e-13 are rounding of a direction that does not
// move; room below 0 is rounding of a point on a face, and counts as none.
func (w *walk) chord(u, direction []float64) (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	limit := func(slope, room float64) { // slope·t ≤ room
		room = max(room, 0)
		switch {
		case slope > 1e-13:
			hi = min(hi, room/slope)
		case slope < -1e-13:
			lo = max(lo, room/slope)
		}
	}
	for j, d := range direction {
		limit(d, w.upper[j]-u[j])
		limit(-d, u[j]-w.lower[j])
	}
	for k, row := range w.slopes {
		var slope, at float64
		for j, v := range row {
			slope += v * direction[j]
			at += v * u[j]
		}
		limit(slope, w.limits[k]-at)
	}
	// A direction of zeros: there is nowhere to go.
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return 0, 0
	}
	return lo, hi
}

// move steps along the line, and clamps what rounding carries over a bound.
func (w *walk) move(u, direction []float64, t float64) {
	for j := range u {
		u[j] = min(max(u[j]+t*direction[j], w.lower[j]), w.upper[j])
	}
}

// place returns the index of an axis among the coupled ones, -1 if it is not.
func (w *walk) place(axis int) int {
	for k, i := range w.coupled {
		if i == axis {
			return k
		}
	}
	return -1
}

// encodeState is the walker's place as a point of the cube.
func (w *walk) encodeState(st state) []float64 {
	x := make([]float64, w.space.dim)
	for k, i := range w.coupled {
		x[w.space.axes[i].at] = st.u[k]
	}
	for k, i := range w.single {
		a := &w.space.axes[i]
		if a.categorical() {
			copy(x[a.at:], a.codes[st.index[k]])
		} else {
			x[a.at] = a.encode(a.grid.value(st.index[k]))
		}
	}
	return x
}
