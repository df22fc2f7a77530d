package reliability

import (
	"fmt"
	"math"
)

// The bounds of Bandwidth by default, in the unit of the cube. The paper
// searches in [1, 2], where its map of the unit cube is nearly flat;
// leave-one-out itself prefers much less, about 0.2 for ten anchors in two
// dimensions.
const (
	DefaultLower = 0.02
	DefaultUpper = 2
)

// leaveOneOut holds the squared distances of the anchors: dist[i] from anchor i
// to the others, in order, and the smallest.
type leaveOneOut struct {
	dist    [][]float64
	nearest []float64
	d       float64
}

func newLeaveOneOut(anchors [][]float64) *leaveOneOut {
	n := len(anchors)
	l := &leaveOneOut{dist: make([][]float64, n), nearest: make([]float64, n),
		d: float64(len(anchors[0]))}
	for i, a := range anchors {
		l.nearest[i] = math.Inf(1)
		for k, b := range anchors {
			if k == i {
				continue
			}
			s := squaredDistance(a, b)
			l.dist[i] = append(l.dist[i], s)
			l.nearest[i] = min(l.nearest[i], s)
		}
	}
	return l
}

func (l *leaveOneOut) at(h float64) (value, slope float64) {
	n, w := float64(len(l.dist)), 1/(h*h)
	for i, row := range l.dist {
		// Relative to the nearest anchor, so that nothing underflows.
		var sum, moment float64
		for _, s := range row {
			e := math.Exp(-0.5 * w * (s - l.nearest[i]))
			sum += e
			moment += e * s
		}
		value += math.Log(sum) - 0.5*w*l.nearest[i]
		slope += moment / sum * w / h
	}
	value = value/n - math.Log(n-1) - l.d*(math.Log(h)+0.5*math.Log(2*math.Pi))
	return value, slope/n - l.d/h
}

// Bandwidth returns the bandwidth in [lower, upper] with the largest leave-one-out likelihood
// (Sinaga et al. 2026, Eq. S17). Zero bounds mean DefaultLower and DefaultUpper. It fails with
// ErrAnchors.
//
// Few anchors: with none or one the likelihood does not exist, and the result is the geometric mean
// of the bounds, 0.2 by default. Anchors that coincide have an infinite density at bandwidth 0, so
// that enough of them drive the result to the lower bound; so the likelihood says, and it means a
// person who is sure of those designs and of nothing else.
//
// The likelihood can have several maxima. It is evaluated at 64 bandwidths, evenly spaced in ln h;
// the best is refined by bisection of the derivative between its neighbors, to the last digits.
// Equal values are decided for the smaller h.
func Bandwidth(anchors [][]float64, lower, upper float64) (float64, error) {
	if lower == 0 {
		lower = DefaultLower
	}
	if upper == 0 {
		upper = DefaultUpper
	}
	if !(lower > 0 && lower <= upper) || math.IsInf(upper, 1) {
		return 0, fmt.Errorf("%w: bandwidth within [%v, %v]; the bounds must be positive, finite and in order",
			ErrAnchors, lower, upper)
	}
	if err := validate(anchors); err != nil {
		return 0, err
	}
	if len(anchors) < 2 {
		return math.Sqrt(lower * upper), nil
	}
	const intervals = 63
	grid := func(i int) float64 {
		switch i {
		case 0:
			return lower
		case intervals:
			return upper
		}
		return lower * math.Exp(float64(i)/intervals*math.Log(upper/lower))
	}
	l := newLeaveOneOut(anchors)
	best, at := math.Inf(-1), 0
	for i := range intervals + 1 {
		if v, _ := l.at(grid(i)); v > best {
			best, at = v, i
		}
	}
	h := grid(at)
	// The derivative at the best point tells on which side the maximum lies.
	_, slope := l.at(h)
	lo, hi := h, h
	switch {
	case slope > 0 && at < intervals:
		hi = grid(at + 1)
	case slope < 0 && at > 0:
		lo = grid(at - 1)
	default:
		return h, nil
	}
	for {
		mid := lo + 0.5*(hi-lo)
		if !(mid > lo && mid < hi) {
			return mid, nil
		}
		if _, s := l.at(mid); s > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
}
