package space

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Encode returns the coordinates of p. Numbers may lie outside their bounds (an
// instrument may have made a little more or less than asked); the coordinate is
// then outside [0, 1]. The error wraps [ErrOutside] where p lacks a parameter,
// has an unknown one, or a value of the wrong kind. With an error of an unknown
// parameter the coordinates are those of the known ones. Coordinates of a known
// parameter are the same whether or not it is within bounds: what was made is
// modeled where it was made.
func (s *Space) Encode(p definition.Point) ([]float64, error) {
	x := make([]float64, s.dim)
	for i := range s.axes {
		a := &s.axes[i]
		v, err := a.value(p)
		if err != nil {
			return nil, err
		}
		if a.categorical() {
			copy(x[a.at:], a.codes[a.category(v.Name())])
			continue
		}
		number, _ := v.Float()
		x[a.at] = a.encode(number)
	}
	return x, s.unknown(p)
}

// Decode returns the composition at x, parameter by parameter: numbers clamped
// to their bounds and taken to the nearest discrete value or dosing step, the
// nearest category. Constraints between parameters, candidates and excluded
// regions are not looked at: see [Space.Snap]. It panics if x does not have Dim
// coordinates. It is for showing a point of the cube, for example on the axes
// of a plane.
func (s *Space) Decode(x []float64) definition.Point {
	s.checkDim(x)
	p := make(definition.Point, len(s.axes))
	for i := range s.axes {
		a := &s.axes[i]
		if a.categorical() {
			p[a.name] = definition.Category(a.categories[a.nearestCategory(x, nil)])
			continue
		}
		v := a.decode(x[a.at])
		if a.grid != nil {
			v = a.grid.value(a.grid.nearest(v))
		}
		p[a.name] = definition.Number(v)
	}
	return p
}

// unknown reports a parameter of p that the space does not have.
func (s *Space) unknown(p definition.Point) error {
	if len(p) == len(s.axes) {
		return nil
	}
	var names []string
	for name := range p {
		if !slices.ContainsFunc(s.axes, func(a axis) bool { return a.name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return fmt.Errorf("%w: there is no parameter %q; the parameters are %s", ErrOutside, names[0],
		strings.Join(s.Parameters(), ", "))
}

// Format writes p in the order of the parameters, with units and every value to six digits: "lipf6
// 1.1 mol/kg, ec 0.34". The reasons of recorded decisions hold it, so it stays as it is; package
// format writes compositions for people.
func (s *Space) Format(p definition.Point) string {
	parts := make([]string, 0, len(s.axes))
	for i := range s.axes {
		a := &s.axes[i]
		v, ok := p[a.name]
		if !ok {
			continue
		}
		parts = append(parts, format.WithUnit(a.name+" "+v.String(), a.unit))
	}
	return strings.Join(parts, ", ")
}

// Key returns a text that is equal for equal compositions: numbers agree to
// nine decimals of their range. Use it to find repeats. The error is that of
// Encode.
func (s *Space) Key(p definition.Point) (string, error) {
	x, err := s.Encode(p)
	if err != nil {
		return "", err
	}
	return key(x), nil
}

// key rounds each coordinate to nine decimals. Nine decimals are finer than any
// step or dosing error, and coarser than what rounding in a search or in JSON
// moves. Base 36 is shorter than decimal, and the space ends each number.
func key(x []float64) string {
	var b []byte
	for _, v := range x {
		b = strconv.AppendInt(b, billionths(v), 36)
		b = append(b, ' ')
	}
	return string(b)
}

// billionths is a coordinate as it counts in a key.
func billionths(v float64) int64 { return int64(math.Round(v * 1e9)) }

// Like tells whether a composition equals the one that Like was made for.
type Like func(other definition.Point) (bool, error)

// Like returns what tells whether another composition has the same key, without a key for
// each: where every decision compares all experiments before it, that is most of the
// decision. Errors are those of Encode; another one is not looked at beyond what differs.
func (s *Space) Like(p definition.Point) (Like, error) {
	want, err := s.Encode(p)
	if err != nil {
		return nil, err
	}
	return func(other definition.Point) (bool, error) {
		for i := range s.axes {
			a := &s.axes[i]
			v, err := a.value(other)
			if err != nil {
				return false, err
			}
			if a.categorical() {
				for j, code := range a.codes[a.category(v.Name())] {
					if billionths(code) != billionths(want[a.at+j]) {
						return false, nil
					}
				}
				continue
			}
			number, _ := v.Float()
			if billionths(a.encode(number)) != billionths(want[a.at]) {
				return false, nil
			}
		}
		err := s.unknown(other)
		return err == nil, err
	}, nil
}

// checkDim panics on a point of another space: a mistake of the program.
func (s *Space) checkDim(x []float64) {
	if len(x) != s.dim {
		panic(fmt.Sprintf("space: point has %d coordinates, the space %d", len(x), s.dim))
	}
}

// squaredDistance is Euclidean; both have the same length.
func squaredDistance(x, y []float64) float64 {
	var sum float64
	for i, v := range x {
		d := v - y[i]
		sum += d * d
	}
	return sum
}
