package pref

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
)

// Link is how a difference of utilities becomes a probability to win. The names
// are recorded in events.
type Link string

// The links; see the package's documentation for their formulas.
const (
	Probit   Link = "probit"
	Logistic Link = "logistic"
)

// ErrLink reports the name of an unknown link.
var ErrLink = errors.New("unknown link")

// Validate returns ErrLink, wrapped, for anything but Probit and Logistic.
func (l Link) Validate() error {
	if l != Probit && l != Logistic {
		return fmt.Errorf("%w %q: known are %s and %s", ErrLink, string(l), Probit, Logistic)
	}
	return nil
}

// Weights returns a and b of z = a·f(winner) − b·f(loser) for the noise of the
// two designs (Sinaga et al. 2026, Eq. 3 and 4): both 1/√(noiseWinner +
// noiseLoser) for Probit, where noise is a variance; 1/noiseWinner and
// 1/noiseLoser for Logistic, where it is a scale.
func (l Link) Weights(noiseWinner, noiseLoser float64) (a, b float64) {
	if l == Logistic {
		return 1 / noiseWinner, 1 / noiseLoser
	}
	a = 1 / math.Sqrt(noiseWinner+noiseLoser)
	return a, a
}

// LogProb returns ln of the probability of a duel's result at z, and its
// derivative in z.
func (l Link) LogProb(z float64) (value, slope float64) {
	if l == Logistic {
		return special.LogLogistic(z), special.Logistic(-z)
	}
	return special.LogNormalCDF(z), special.InverseMills(z)
}

// ErrDuels reports comparisons that no model can be built from; the text says
// which.
var ErrDuels = errors.New("unusable comparisons")

// Duels are n comparisons among m distinct designs in d dimensions. They are never changed here.
// Designs should be distinct, as NewDuels makes them: equal ones would still share their utility,
// at the cost of a larger problem.
type Duels struct {
	X [][]float64 // m designs of d coordinates
	// Winner and Loser hold the indices into X of the two designs of each of
	// the n duels.
	Winner, Loser []int
	// Noise holds the noise of the person's judgment at each of the m designs,
	// positive: the variance σ²(x) under Probit, the scale λ(x) under Logistic.
	Noise []float64
}

// NewDuels gathers duels in which winners[k] was preferred to losers[k].
// Exactly equal points become one design, in the order in which they first
// appear, winner before loser; 0 and −0 are equal. noise, asked once for each
// design, gives its Noise. Points are kept, not copied. It fails with ErrDuels.
func NewDuels(winners, losers [][]float64, noise func(x []float64) float64) (Duels, error) {
	if len(winners) != len(losers) {
		panic(fmt.Sprintf("pref: %d winners, %d losers", len(winners), len(losers)))
	}
	var d Duels
	index := make(map[string]int, 2*len(winners)) // only looked up, never ranged over
	find := func(x []float64) int {
		key := make([]byte, 0, 8*len(x))
		for _, c := range x {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(c+0)) // c+0 turns −0 into 0
		}
		i, ok := index[string(key)]
		if !ok {
			i = len(d.X)
			index[string(key)] = i
			d.X, d.Noise = append(d.X, x), append(d.Noise, noise(x))
		}
		return i
	}
	for k := range winners {
		w := find(winners[k])
		d.Winner, d.Loser = append(d.Winner, w), append(d.Loser, find(losers[k]))
	}
	return d, d.Validate()
}

// Len returns n, the number of comparisons.
func (d Duels) Len() int { return len(d.Winner) }

// Validate panics on mismatched shapes and reports bad numbers with ErrDuels. Empty duels are
// valid.
func (d Duels) Validate() error {
	if len(d.Winner) != len(d.Loser) || len(d.Noise) != len(d.X) {
		panic(fmt.Sprintf("pref: %d winners, %d losers, %d designs, %d noise values",
			len(d.Winner), len(d.Loser), len(d.X), len(d.Noise)))
	}
	for i, x := range d.X {
		if len(x) != len(d.X[0]) || len(x) == 0 {
			panic(fmt.Sprintf("pref: design %d has %d coordinates, design 0 has %d", i, len(x), len(d.X[0])))
		}
		for j, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: coordinate %d of design %d is %v", ErrDuels, j, i, v)
			}
		}
		if v := d.Noise[i]; !(v > 0) || math.IsInf(v, 1) {
			return fmt.Errorf("%w: the noise of design %d is %v, must be positive and finite",
				ErrDuels, i, v)
		}
	}
	for k, w := range d.Winner {
		l := d.Loser[k]
		if w < 0 || w >= len(d.X) || l < 0 || l >= len(d.X) {
			return fmt.Errorf("%w: duel %d is of designs %d and %d, there are %d", ErrDuels, k, w,
				l, len(d.X))
		}
		if w == l {
			return fmt.Errorf("%w: duel %d compares design %d with itself; leave it out", ErrDuels, k, w)
		}
	}
	return nil
}
