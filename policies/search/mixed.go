package search

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/optimize"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/space"
)

// Effort of a search in a mixed space. A test compares its results with thousands of random
// compositions (`CAMPAIGND_SEARCHES=30 go test ./policies/search -run OfThousands`).
const (
	probed    = 384 // points that are screened, besides the further ones
	improved  = 24  // starts of searches
	swapped   = 128 // whose continuous part is tried with the best discrete part
	resettled = 8   // starts of searches
	apart     = 0.2 // how far apart searches begin, root mean square over coordinates
	fine      = 32  // from so many values or steps of a parameter on, relaxing is worth it
	tried     = 3   // how many neighbors, none of them better, are looked beyond
)

// mixed searches a space with discrete parameters: categories, values or dosing steps. The
// values and slopes of the acquisition between them only suggest where to begin; its value at
// compositions counts, and its slope in the continuous parameters. One search uses it, in one
// goroutine.
//
//  1. Points are screened, each taken to the nearest composition where that is easy, and searches
//     begin from good ones that lie apart.
//  2. Where values or steps are fine, or the point is not a composition, numbers are relaxed
//     first, and the result is snapped.
//  3. The discrete part is fixed, and the continuous one searched.
//  4. Discrete neighbors are walked to, and the continuous part searched again, until none is better.
//  5. At last other continuous parts are tried with the discrete part of the best result.
type mixed struct {
	ctx    context.Context
	sp     *space.Space
	f      next.Acquisition
	coarse next.Acquisition   // what starts are compared by; nil: f
	free   []int              // coordinates of continuous parameters
	fixed  []int              // the others
	least  map[string]float64 // the least value that a search ended at, by discrete part
	walked map[string]bool    // compositions that a walk has come by

	// undecided is the error of a point that could not be snapped. Finding that
	// out takes long, so no other point is snapped after it.
	undecided error
}

// place is a point of the unit cube and the acquisition's value there. A place
// is whole only after Round, Snap or a neighbor has made it so.
type place struct {
	x     []float64
	value float64
	whole bool // whether it is a composition
}

// newMixed starts with an empty memory: least and walked hold values of this
// acquisition only.
func newMixed(ctx context.Context, sp *space.Space, f, screen next.Acquisition) *mixed {
	m := &mixed{
		ctx: ctx, sp: sp, f: f, coarse: screen, free: sp.Continuous(),
		least: make(map[string]float64), walked: make(map[string]bool),
	}
	for j := range sp.Dim() {
		if !slices.Contains(m.free, j) {
			m.fixed = append(m.fixed, j)
		}
	}
	return m
}

// isMixed reports whether some parameter is discrete.
func isMixed(sp *space.Space) bool { return len(sp.Continuous()) < sp.Dim() }

// minimize returns the best composition that it finds. Its last step lends the
// discrete part of the best to continuous parts found elsewhere, since a walk
// changes the continuous part only from where it is. The same starts serve both
// steps: the first ones are tried with the discrete part of the best.
func (m *mixed) minimize(seed uint64, further [][]float64) (place, error) {
	points, err := m.sp.Starts(probed, seed)
	if err != nil {
		return place{}, err
	}
	points = append(points, further...)
	best, err := m.improveSome(place{value: math.Inf(1)}, points, improved)
	if err != nil || len(m.free) == 0 {
		return best, err
	}
	var others [][]float64
	for _, x := range points[:min(swapped, len(points))] {
		u := slices.Clone(best.x)
		for _, j := range m.free {
			u[j] = x[j]
		}
		others = append(others, u)
	}
	return m.improveSome(best, others, resettled)
}

// improveSome searches from the best of some points, up to a number, for a composition that is
// better than best, which may be missing. Starts lie apart, because neighboring ones lead to
// the same optimum. With no result at all the error says whether a point was undecided or the
// acquisition has no value. Each start is compared with the best so far, so that later ones are
// given up sooner.
func (m *mixed) improveSome(best place, points [][]float64, most int) (place, error) {
	places, err := m.screen(points)
	if err != nil {
		return place{}, err
	}
	for _, p := range spread(places, most, apart) {
		if m.coarse != nil {
			if p.value = m.f(p.x, nil); math.IsNaN(p.value) || math.IsInf(p.value, 0) {
				continue
			}
		}
		p, err := m.improve(p, best.value)
		if err != nil {
			return place{}, err
		}
		if p.value < best.value {
			best = p
		}
	}
	if best.x == nil {
		return place{}, cmp.Or(m.undecided, ErrUndefined)
	}
	return best, nil
}

// screen returns the points in order of the acquisition, each taken to the
// nearest composition where that is easy. A point that cannot be rounded keeps
// its place: a relaxed search may begin there. Points without a finite value are
// left out. Rounding first makes the order one of compositions, wherever that
// costs nothing.
func (m *mixed) screen(points [][]float64) ([]place, error) {
	var places []place
	f := m.coarse
	if f == nil {
		f = m.f
	}
	for _, x := range points {
		if err := m.cancelled(); err != nil {
			return nil, err
		}
		u, whole := m.sp.Round(x)
		if !whole {
			u = x
		}
		if v := f(u, nil); !math.IsNaN(v) && !math.IsInf(v, 0) {
			places = append(places, place{u, v, whole})
		}
	}
	order(places)
	return places, nil
}

// cancelled returns the error of a context that is done.
func (m *mixed) cancelled() error {
	if m.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("search cancelled: %w", context.Cause(m.ctx))
}

// order sorts places by value, the smallest first; equals keep their order,
// which is deterministic.
func order(places []place) {
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.value, b.value) })
}

// spread returns up to n of places, which are in order of value, apart from each
// other by the reach: see [optimize.Apart].
func spread(places []place, n int, reach float64) []place {
	points := make([][]float64, len(places))
	for i, p := range places {
		points[i] = p.x
	}
	var chosen []place
	for _, i := range optimize.Apart(points, n, reach) {
		chosen = append(chosen, places[i])
	}
	return chosen
}

// improve searches from a point for a composition that is better than best. A start whose
// relaxed search does not get below best is given up: values between the compositions are taken
// to promise at least as much as the compositions hold. That is a guess, and it costs only this
// start. The relaxed search is skipped where levels are coarse: its promise between two of a
// few values tells little about either.
func (m *mixed) improve(p place, best float64) (place, error) {
	if m.undecided == nil && (!p.whole || m.sp.Levels() >= fine) {
		r, err := m.descend(p, true)
		if err != nil || r.value >= best {
			return place{value: math.Inf(1)}, err
		}
		q, err := m.snap(r.x)
		switch {
		case errors.Is(err, space.ErrUndecided):
			m.undecided = err
		case err != nil:
			return place{}, err
		case !p.whole || q.value < p.value:
			p = q
		}
	}
	if !p.whole {
		return place{value: math.Inf(1)}, nil
	}
	p, err := m.settle(p)
	if err != nil {
		return place{}, err
	}
	return m.walk(p)
}

// snap takes a point to the nearest composition. Where the acquisition has no
// value there it is +Inf. +Inf loses every comparison, which NaN does not do in
// all of them.
func (m *mixed) snap(x []float64) (place, error) {
	r, err := snap(m.sp, m.f, x)
	if math.IsNaN(r.Value) {
		r.Value = math.Inf(1)
	}
	return place{r.X, r.Value, true}, err
}

// settle searches the continuous part of a composition, with the discrete part
// fixed. It never returns a worse one. An undecided snap leaves the composition
// as it was. Neighbors in the same discrete part are then known not to be worth
// another search, see beyond.
func (m *mixed) settle(p place) (place, error) {
	if len(m.free) == 0 {
		return p, nil
	}
	r, err := m.descend(p, false)
	if err != nil {
		return place{}, err
	}
	if _, ok := m.sp.Round(r.x); !ok { // of too many pieces the search knows nothing: see Around
		if r, err = m.snap(r.x); errors.Is(err, space.ErrUndecided) {
			r, err = p, nil
		}
		if err != nil {
			return place{}, err
		}
	}
	// The least value for each discrete part spares beyond a search that cannot
	// do better.
	if r.value < p.value {
		p = r
	}
	part := key(pick(p.x, m.fixed))
	if least, ok := m.least[part]; !ok || p.value < least {
		m.least[part] = p.value
	}
	return p, nil
}

// descend searches the continuous parameters from a point, or with relaxed all numbers, within
// the convex piece of the space that the point lies in. A start from which no search can begin
// is returned as it is. With numbers relaxed, or in a space of too many pieces, its result need
// not be a composition. A point that was rounded to a piece may lie up to 1e-6 of the cube
// outside it; Minimize projects it.
func (m *mixed) descend(p place, relaxed bool) (place, error) {
	slice, err := m.sp.Around(p.x, relaxed, maxCells)
	if err != nil {
		return place{}, err
	}
	x, dx := slices.Clone(p.x), make([]float64, len(p.x))
	f := func(u, grad []float64) float64 {
		for k, j := range slice.Free {
			x[j] = u[k]
		}
		if grad == nil {
			return m.f(x, nil)
		}
		value := m.f(x, dx)
		for k, j := range slice.Free {
			grad[k] = dx[j]
		}
		return value
	}
	u := pick(p.x, slice.Free)
	at := slices.IndexFunc(slice.Pieces, func(r *optimize.Region) bool { return r.Violation(u) < 1e-6 })
	if at < 0 {
		return p, nil
	}
	r, err := optimize.Minimize(m.ctx, f, slice.Pieces[at], u, optimize.Config{FTol: 1e-9})
	if errors.Is(err, optimize.ErrStart) {
		return p, nil
	}
	if err != nil {
		return place{}, err
	}
	if r.F < p.value {
		p = place{slices.Clone(p.x), r.F, !relaxed}
		for k, j := range slice.Free {
			p.x[j] = r.X[k]
		}
	}
	return p, nil
}

// pick returns some coordinates of a point.
func pick(x []float64, coordinates []int) []float64 {
	u := make([]float64, len(coordinates))
	for k, j := range coordinates {
		u[k] = x[j]
	}
	return u
}

// key is a map key for coordinates: equal for equal bits. Equality of bits is
// enough here: compositions come from the same levels, through the same
// arithmetic.
func key(u []float64) string {
	b := make([]byte, 0, 8*len(u))
	for _, v := range u {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return string(b)
}

// walk goes from a composition to the best neighbor in one discrete parameter
// after the other and searches the continuous part, until no neighbor is
// better. Then it looks beyond some that are worse. A composition that any walk
// has passed ends it: from there the other walk went on. It ends, because a turn
// that finds nothing better leaves it at a composition that is marked already.
func (m *mixed) walk(at place) (place, error) {
	for id := key(at.x); !m.walked[id]; id = key(at.x) {
		m.walked[id] = true
		to, passed, err := m.sweep(at)
		if err != nil {
			return place{}, err
		}
		if to.value < at.value {
			to, err = m.settle(to)
		} else {
			to, err = m.beyond(passed)
		}
		if err != nil {
			return place{}, err
		}
		if to.value < at.value {
			at = to
		}
	}
	return at, nil
}

// sweep goes to the best neighbor, if it is better, in one discrete parameter
// after the other. It returns all neighbors that it has passed, too. It moves as
// it goes: the neighbors in the next parameter are those of where it is by
// then. Neighbors without a finite value are passed over.
func (m *mixed) sweep(at place) (to place, passed []place, err error) {
	for i := range m.sp.Parameters() {
		if err := m.cancelled(); err != nil {
			return place{}, nil, err
		}
		neighbors, err := m.sp.Neighbors(at.x, i)
		if err != nil {
			return place{}, nil, err
		}
		for _, x := range neighbors {
			p := place{x, m.f(x, nil), true}
			if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
				continue
			}
			if passed = append(passed, p); p.value < at.value {
				at = p
			}
		}
	}
	return at, passed, nil
}

// beyond searches the continuous part of the best of some neighbors or, where
// nothing is continuous, their neighbors. It returns the best result. Neighbors
// in a discrete part that was settled from at least as good a value are passed
// over and do not count as tried. How many is a choice; wider barriers are left
// to other starts.
func (m *mixed) beyond(neighbors []place) (place, error) {
	best, searched := place{value: math.Inf(1)}, 0
	order(neighbors)
	for _, p := range neighbors {
		if least, ok := m.least[key(pick(p.x, m.fixed))]; ok && p.value >= least {
			continue // a search that began better has ended in this discrete part
		}
		if searched++; searched > tried {
			break
		}
		var err error
		if len(m.free) > 0 {
			p, err = m.settle(p)
		} else {
			p, _, err = m.sweep(p)
		}
		if err != nil {
			return place{}, err
		}
		if p.value < best.value {
			best = p
		}
	}
	return best, nil
}
