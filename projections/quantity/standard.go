package quantity

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// standard is the transform of a measured value y to z = sign·(y′ −
// shift)/scale. y′ is y, compressed where it is worse than most, or the natural
// logarithm of y.
type standard struct {
	shift, scale, sign float64
	compressed         *events.Compression
	log                bool
}

func (s standard) transform(y float64) float64 {
	return s.sign * (s.bent(y) - s.shift) / s.scale
}

func (s standard) untransform(z float64) float64 {
	return s.straight(s.shift + s.sign*s.scale*z)
}

// between returns how many units of y there are to one of z between two values
// of z.
func (s standard) between(z1, z2 float64) float64 {
	return s.scale * s.perBent(s.shift+s.sign*s.scale*z1, s.shift+s.sign*s.scale*z2)
}

// at is between at a value y.
func (s standard) at(y float64) float64 {
	bent := s.bent(y)
	return s.scale * s.perBent(bent, bent)
}

// bent is y′ of a y, straight the y of a y′, perBent how many units of y there
// are to one of y′ between two values of it.
func (s standard) bent(y float64) float64 {
	if s.log {
		return math.Log(y)
	}
	return s.compressed.Compress(y)
}

func (s standard) straight(bent float64) float64 {
	if s.log {
		return math.Exp(bent)
	}
	return s.compressed.Expand(bent)
}

func (s standard) perBent(bent1, bent2 float64) float64 {
	switch {
	case !s.log:
		return s.compressed.Stretch(bent1, bent2)
	case bent1 == bent2:
		return math.Exp(bent1)
	}
	return (math.Exp(bent1) - math.Exp(bent2)) / (bent1 - bent2)
}

// logarithmic reports whether the quantity is modelled by its logarithm. Every
// observation then has one: see [definition.QuantityDef.Plausible].
func (p *Projection) logarithmic() bool {
	q := p.state.Definition.Quantity(p.sought().Name)
	return q != nil && q.Scale == definition.ScaleLog
}

// leastSpread is the standard deviation, relative to the greatest value, below
// which observations count as equal. It is relative, so that a model does not
// depend on the unit.
const leastSpread = 1e-12

// standardize returns the standard of the given observations: mean 0 and
// standard deviation 1 over them; the scale is 1 where they are all equal.
func (p *Projection) standardize(observations []Observation) (standard, error) {
	def := p.state.Definition
	std := standard{scale: 1, sign: p.sought().Sign(), log: p.logarithmic()}
	values := make([]float64, len(observations))
	for i, o := range observations {
		values[i] = o.Value
	}
	if std.log {
		for i, y := range values {
			values[i] = math.Log(y)
		}
	} else if def.Model.Tails == definition.TailsCompress && p.state.Quantity == "" {
		spread, err := p.spread(observations)
		if err != nil {
			return std, err
		}
		std.compressed = compression(spread, std.sign)
		for i, y := range values {
			values[i] = std.compressed.Compress(y)
		}
	}
	sum := 0.0
	for _, y := range values {
		sum += y
	}
	std.shift = sum / float64(len(values))
	squares, greatest := 0.0, 0.0
	for _, y := range values {
		squares += (y - std.shift) * (y - std.shift)
		greatest = max(greatest, math.Abs(y))
	}
	sd := math.Sqrt(squares / float64(max(1, len(values)-1)))
	if sd > leastSpread*greatest {
		std.scale = sd
	}
	return std, nil
}

// The criteria of a heavy tail (docs/results-journal.md): the number of results, their least
// distance as a part of the unit cube's diagonal, and the ratio of the worst result's distance
// from the median to the best one's.
const (
	leastOfTail = 8
	apart       = 0.1
	heavyTail   = 20
)

// spread returns the values of observations that are apart from one another:
// each but those close to an earlier one of them. Whether a tail is heavy is a
// matter of the objective, and not of where a campaign has looked most, which
// is where it is good.
func (p *Projection) spread(observations []Observation) (values []float64, err error) {
	var points [][]float64
	for _, o := range observations {
		x, err := p.space.Encode(o.Point)
		if err != nil {
			return nil, fmt.Errorf("the composition of %s: %w", o.Experiment, err)
		}
		isClose := func(other []float64) bool {
			squares := 0.0
			for j := range x {
				squares += (x[j] - other[j]) * (x[j] - other[j])
			}
			return squares < apart*apart*float64(len(x))
		}
		if !slices.ContainsFunc(points, isClose) {
			points, values = append(points, x), append(values, o.Value)
		}
	}
	return values, nil
}

// compression returns how values are compressed whose worse tail is heavy, nil
// where it is not.
func compression(values []float64, sign float64) *events.Compression {
	if len(values) < leastOfTail {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	if sign < 0 {
		slices.Reverse(sorted)
	}
	n := len(sorted)
	median := (sorted[(n-1)/2] + sorted[n/2]) / 2
	best, worst := math.Abs(median-sorted[0]), math.Abs(sorted[n-1]-median)
	if best == 0 || worst <= heavyTail*best {
		return nil
	}
	return &events.Compression{From: median, Width: sign * best}
}
