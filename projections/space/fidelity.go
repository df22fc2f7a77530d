package space

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Fidelity is how cheaper experiments lie in a design space: the parameter by which they
// become cheaper, and the space of everything else, in which compositions are chosen for
// what they give at the target. It is immutable.
type Fidelity struct {
	// Compositions is the space without the parameter.
	Compositions *Space
	// Ways are the values of the parameter that are chosen between, the target last. Of a
	// range they are spread evenly.
	Ways []definition.Value

	def   definition.Campaign
	full  *Space
	place kernel.Place
	codes [][]float64 // coordinates of the ways
}

// spreadWays is how many values of a range are chosen between.
const spreadWays = 17

// NewFidelity returns the fidelity of a definition, whose space s is; nil where it has
// none. Excluded regions that name the parameter leave Compositions as it is.
func NewFidelity(def definition.Campaign, s *Space) (*Fidelity, error) {
	name := def.Fidelity.Parameter
	at := slices.IndexFunc(s.axes, func(a axis) bool { return a.name == name })
	if def.Fidelity.Target == nil || at < 0 {
		return nil, nil
	}
	a := s.axes[at]
	without := def
	without.Parameters = slices.Delete(slices.Clone(def.Parameters), at, at+1)
	without.Excluded = slices.DeleteFunc(slices.Clone(def.Excluded), func(r definition.Region) bool {
		_, names := r.Where[name]
		return names
	})
	f := &Fidelity{def: def, full: s, place: kernel.Place{At: a.at, Width: a.width}}
	var err error
	if f.Compositions, err = New(without); err != nil {
		return nil, fmt.Errorf("the compositions whatever their %s: %w", name, err)
	}
	target, number := def.Fidelity.Target.Float()
	if number {
		f.place.Reversed = target == a.lo
		f.Ways = a.ways(target)
	} else {
		for _, source := range def.Fidelity.Sources {
			if source.Name != def.Fidelity.Target.Name() {
				f.Ways = append(f.Ways, definition.Category(source.Name))
			}
		}
	}
	f.Ways = append(f.Ways, *def.Fidelity.Target)
	for _, w := range f.Ways {
		if x, number := w.Float(); number {
			f.codes = append(f.codes, []float64{a.encode(x)})
			continue
		}
		if a.category(w.Name()) < 0 {
			return nil, fmt.Errorf("%w: %s is no %s", ErrOutside, w.Name(), name)
		}
		f.codes = append(f.codes, a.codes[a.category(w.Name())])
	}
	return f, nil
}

// ways are the values of a number that are chosen between besides the target, which is
// one of its ends: the listed ones, or some that are spread evenly, in steps where
// there are steps. The one farthest from the target comes first.
func (a *axis) ways(target float64) (ways []definition.Value) {
	var values []float64
	if a.grid != nil && a.grid.len() <= spreadWays {
		for i := range a.grid.len() {
			values = append(values, a.grid.value(i))
		}
	} else {
		for i := range spreadWays {
			v := a.lo + float64(float64(i)/(spreadWays-1))*(a.hi-a.lo)
			if a.grid != nil {
				v = a.grid.value(a.grid.nearest(v))
			}
			values = append(values, v)
		}
	}
	values = slices.DeleteFunc(slices.Compact(values), func(v float64) bool { return v == target })
	if target == a.lo {
		slices.Reverse(values)
	}
	for _, v := range values {
		ways = append(ways, definition.Number(v))
	}
	return ways
}

// Coordinates are those of the fidelity in a point of the full cube: the first, and how
// many: one of a number, as many as there are sources.
func (f *Fidelity) Coordinates() (at, width int) { return f.place.At, f.place.Width }

// Source is the fidelity of a point of the full cube, from 0 to 1, the target; of
// sources its number.
func (f *Fidelity) Source(x []float64) float64 { return f.place.Source(x) }

// Reversed reports whether the target is the least value of a number.
func (f *Fidelity) Reversed() bool { return f.place.Reversed }

// Target is the place of the target among the ways: the last.
func (f *Fidelity) Target() int { return len(f.Ways) - 1 }

// AtTarget reports whether a point of the cube is at the target, as [definition.Campaign.AtTarget]
// does for a composition.
func (f *Fidelity) AtTarget(x []float64) bool { return f.def.AtTarget(f.full.Decode(x)) }

// In returns a point of the cube of the full space, measured in another way.
func (f *Fidelity) In(x []float64, way int) []float64 {
	y := slices.Clone(x)
	copy(y[f.place.At:], f.codes[way])
	return y
}

// Join returns a point of the full cube: one of the compositions' cube, in a way.
func (f *Fidelity) Join(x []float64, way int) []float64 {
	return slices.Concat(x[:f.place.At], f.codes[way], x[f.place.At:])
}

// Drop returns a point of the full cube without the coordinates of the fidelity.
func (f *Fidelity) Drop(x []float64) []float64 {
	return slices.Delete(slices.Clone(x), f.place.At, f.place.At+f.place.Width)
}

// Point is a composition measured in a way.
func (f *Fidelity) Point(composition definition.Point, way int) definition.Point {
	p := maps.Clone(composition)
	p[f.def.Fidelity.Parameter] = f.Ways[way]
	return p
}

// Design returns n experiments: compositions of a design of their space (see
// [Space.Design]), the first and every second one at the target; those between in the
// cheaper ways in turn, of a range those at once, a half, a quarter and three quarters of
// the way to the target.
func (f *Fidelity) Design(kind string, n int, seed uint64) ([]definition.Point, error) {
	points, err := f.Compositions.Design(kind, n, seed)
	if err != nil {
		return nil, err
	}
	turns := f.turns()
	for i, p := range points {
		way := f.Target()
		if i%2 == 1 && len(turns) > 0 {
			way = turns[i/2%len(turns)]
		}
		points[i] = f.Point(p, way)
	}
	return points, nil
}

// turns are the cheaper ways in which a design measures, one after the other.
func (f *Fidelity) turns() (turns []int) {
	cheaper := f.Target()
	if cheaper <= definition.MaxSources {
		for way := range cheaper {
			turns = append(turns, way)
		}
		return turns
	}
	for _, share := range []float64{0, 0.5, 0.25, 0.75} {
		turns = append(turns, int(math.Round(share*float64(cheaper))))
	}
	return turns
}
