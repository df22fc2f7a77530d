package reliability

import (
	"fmt"
	"math"
)

// DefaultStrength is Map's default strength: noise falls to e⁻⁴ ≈ 2 % of its
// level at the densest anchor.
const DefaultStrength = 4

// floor is the smallest noise in units of the level. A duel almost without
// noise has a likelihood that no approximation can work with;
// e^(−DefaultStrength) is far above this.
const floor = 1e-4

// Config says how a Map is made. The zero value means the defaults.
type Config struct {
	// Level is a, the noise far from all anchors: a variance for the probit
	// link, a scale for the logistic one; default 1.
	Level float64
	// Strength says how much less noise there is where anchors are densest: a
	// factor e^(−Strength); default DefaultStrength. It is not read if Paper is
	// set. A homoscedastic map has no anchors.
	Strength float64
	// Paper takes Eq. 6 to 8 of Sinaga et al. 2026 as printed: the exponent is
	// minus the density itself, in units that change with bandwidth and
	// dimension. On the unit cube it is nearly flat for bandwidths of 1 and
	// more, and falls to its floor at every anchor for small ones in many
	// dimensions.
	Paper bool
	// Bandwidth of the density; default by leave-one-out within [Lower, Upper],
	// see Bandwidth.
	Bandwidth float64
	// Lower and Upper bound the search of the bandwidth; default DefaultLower
	// and DefaultUpper.
	Lower, Upper float64
}

// Map is the noise of a person's judgment as a function of the design: the
// variance σ²(x) of the probit link or the scale λ(x) of the logistic one
// (Sinaga et al. 2026, Eq. 6 and 7). It is immutable and safe for concurrent
// use.
//
// With the sum S(x) = Σ_i exp(−‖x − a_i‖²/(2h²)) over the anchors it is
//
//	a·exp(−strength·S(x)/max_k S(a_k)),   or as printed   a·exp(−q̂(x)),
//
// so that at least one anchor has a·e^(−strength), whatever bandwidth,
// dimension and number of anchors. Between anchors the sum can exceed its
// largest value at one of them, and the noise then falls a little below that.
// It is never below a/10⁴, where the map is flat. Without anchors the map is
// the constant a. One anchor gives one dip of the default bandwidth's width;
// coinciding anchors act as one.
type Map struct {
	level   float64
	density *Density // nil without anchors
	scale   float64  // the exponent is −scale·S(x)
}

// NewMap returns the map of the anchors. They are kept, not copied, and must
// not change. It fails with ErrAnchors.
func NewMap(anchors [][]float64, cfg Config) (*Map, error) {
	if cfg.Level == 0 {
		cfg.Level = 1
	}
	if cfg.Strength == 0 {
		cfg.Strength = DefaultStrength
	}
	if !(cfg.Level > 0) || math.IsInf(cfg.Level, 1) {
		return nil, fmt.Errorf("%w: noise level %v is not a positive finite number",
			ErrAnchors, cfg.Level)
	}
	if !(cfg.Strength > 0) || math.IsInf(cfg.Strength, 1) {
		return nil, fmt.Errorf("%w: strength %v is not a positive finite number",
			ErrAnchors, cfg.Strength)
	}
	m := &Map{level: cfg.Level}
	if len(anchors) == 0 {
		return m, nil
	}
	h := cfg.Bandwidth
	if h == 0 {
		var err error
		if h, err = Bandwidth(anchors, cfg.Lower, cfg.Upper); err != nil {
			return nil, err
		}
	}
	var err error
	if m.density, err = NewDensity(anchors, h); err != nil {
		return nil, err
	}
	if cfg.Paper {
		m.scale = math.Exp(m.density.logUnit)
		return m, nil
	}
	var largest float64 // at least 1
	for _, a := range anchors {
		largest = max(largest, m.density.sum(a, nil))
	}
	m.scale = cfg.Strength / largest
	return m, nil
}

// Level returns a, the noise far from all anchors.
func (m *Map) Level() float64 { return m.level }

// Bandwidth returns the bandwidth of the density, or 0 without anchors.
func (m *Map) Bandwidth() float64 {
	if m.density == nil {
		return 0
	}
	return m.density.h
}

// At returns the noise at x and fills grad, if not nil, with its d derivatives.
func (m *Map) At(x, grad []float64) float64 {
	if m.density == nil {
		clear(grad)
		return m.level
	}
	sum := m.density.sum(x, grad)
	v := m.level * math.Exp(-m.scale*sum)
	if v < floor*m.level {
		clear(grad)
		return floor * m.level
	}
	for j := range grad {
		grad[j] *= -m.scale * v
	}
	return v
}
