package copeland

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/pairgp"
)

// Spread is the integrand of the score's variance.
type Spread string

const (
	// Expected is E[g(1 − g)], the expected variance of one choice (Adachi et
	// al. 2024, Eq. 91): the default. It is small where nothing is known: there
	// g is believed to be near 0 or near 1, but it is unknown which.
	Expected Spread = "expected"
	// Total is E[g](1 − E[g]) = E[g(1 − g)] + Var[g]: it also counts what the
	// comparisons do not tell, and is greatest, ¼, where nothing is known.
	Total Spread = "total"
	// Epistemic is Var[g], Total without Expected: only what more comparisons
	// could remove. It is small where the answers are known, also where they
	// are known to be a toss-up.
	Epistemic Spread = "epistemic"
)

// ModelHyper are the hyperparameters of a model, recorded in events.
type ModelHyper struct {
	Score    Hyper  `json:"score"`    // of E[g]
	Variance Hyper  `json:"variance"` // of the spread
	Spread   Spread `json:"spread"`   // which spread
}

// FitConfig says how to fit. The zero value means the defaults.
type FitConfig struct {
	// Spread is the integrand of the variance; default Expected.
	Spread Spread
	// Warm is a further start, usually the last fit. It may be nil.
	Warm *ModelHyper
}

// FitResult is a fit of a model. It is recorded in events; New rebuilds the
// model from Hyper.
type FitResult struct {
	Score    QuadratureFit `json:"score"`
	Variance QuadratureFit `json:"variance"`
	Spread   Spread        `json:"spread"`
}

// Hyper returns what New needs.
func (r FitResult) Hyper() ModelHyper {
	return ModelHyper{Score: r.Score.Hyper, Variance: r.Variance.Hyper, Spread: r.Spread}
}

// stage is the data of the two quadratures of a preference.
type stage struct {
	score, spread Pairs
	spreadMean    float64
}

// newStage evaluates the preference at the compared pairs. A pair compared
// several times, in either order, is one row: the rows are values of a
// function, not observations.
func newStage(pref *pairgp.Model, spread Spread) (stage, error) {
	of := func(p pairgp.Preference) float64 { return p.Bernoulli }
	switch spread {
	case Expected:
	case Total:
		of = func(p pairgp.Preference) float64 { return p.Bernoulli + p.Variance }
	case Epistemic:
		of = func(p pairgp.Preference) float64 { return p.Variance }
	default:
		return stage{}, fmt.Errorf("%w: spread %q, known are %q, %q and %q",
			ErrHyper, spread, Expected, Total, Epistemic)
	}
	s := stage{spreadMean: of(pref.Prior())}
	predictor := pref.NewPredictor()
	seen := make(map[string]bool) // only looked up, never ranged over
	for _, c := range pref.Comparisons() {
		a, b := key(c.Chosen), key(c.Other)
		if seen[a+b] || seen[b+a] {
			continue
		}
		seen[a+b] = true
		p := predictor.Preference(c.Chosen, c.Other)
		s.score.First = append(s.score.First, c.Chosen)
		s.score.Second = append(s.score.Second, c.Other)
		s.score.Values = append(s.score.Values, p.Mean)
		s.spread.Values = append(s.spread.Values, of(p))
	}
	s.spread.First, s.spread.Second = s.score.First, s.score.Second
	return s, nil
}

// key is a point as a string.
func key(x []float64) string {
	buf := make([]byte, 0, 8*len(x))
	for _, v := range x {
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(v+0)) // v+0 turns −0 into 0
	}
	return string(buf)
}

// noPreference is the prior mean of a score: the value of a preference without data, by symmetry.
const noPreference = 0.5

// Fit finds the hyperparameters of both quadratures by their own marginal
// likelihoods, from the preference's lengthscales, half of them, and Warm. It
// does not depend on the measure. It fails with ErrHyper,
// ErrNotPositiveDefinite or the context's error, wrapped.
func Fit(ctx context.Context, pref *pairgp.Model, cfg FitConfig) (FitResult, error) {
	if cfg.Spread == "" {
		cfg.Spread = Expected
	}
	s, err := newStage(pref, cfg.Spread)
	if err != nil {
		return FitResult{}, err
	}
	base := pref.Hyper().Lengthscales
	half := slices.Clone(base)
	for j := range half {
		half[j] /= 2
	}
	starts := func(warm func(*ModelHyper) Hyper) ([][]float64, error) {
		out := [][]float64{base, half}
		if cfg.Warm != nil {
			h := warm(cfg.Warm)
			if err := h.validate(pref.Dim()); err != nil {
				return nil, fmt.Errorf("warm start: %w", err)
			}
			out = [][]float64{h.Lengthscales, base}
		}
		return out, nil
	}
	res := FitResult{Spread: cfg.Spread}
	at, err := starts(func(h *ModelHyper) Hyper { return h.Score })
	if err != nil {
		return FitResult{}, err
	}
	if res.Score, err = FitQuadrature(ctx, s.score, noPreference, Skew, at); err != nil {
		return FitResult{}, fmt.Errorf("score: %w", err)
	}
	if at, err = starts(func(h *ModelHyper) Hyper { return h.Variance }); err != nil {
		return FitResult{}, err
	}
	if res.Variance, err = FitQuadrature(ctx, s.spread, s.spreadMean, Symmetric, at); err != nil {
		return FitResult{}, fmt.Errorf("spread: %w", err)
	}
	return res, nil
}

// Model is a preference as a score of single points: π(x) ~ N(score, variance) (Adachi et al. 2024,
// Eq. 94). It is immutable; reading it from several goroutines is safe.
type Model struct {
	score, spread *Quadrature
}

// New builds the two quadratures of a preference: of E[g], skew-symmetric
// around the prior mean ½, and of the spread, symmetric around its value
// without data. It fails with ErrHyper or ErrNotPositiveDefinite.
func New(pref *pairgp.Model, measure Measure, h ModelHyper) (*Model, error) {
	s, err := newStage(pref, h.Spread)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	if m.score, err = NewQuadrature(s.score, noPreference, Skew, measure, h.Score); err != nil {
		return nil, fmt.Errorf("score: %w", err)
	}
	if m.spread, err = NewQuadrature(s.spread, s.spreadMean, Symmetric, measure, h.Variance); err != nil {
		return nil, fmt.Errorf("spread: %w", err)
	}
	return m, nil
}

// Score returns the quadrature of E[g].
func (m *Model) Score() *Quadrature { return m.score }

// Spread returns the quadrature of the spread.
func (m *Model) Spread() *Quadrature { return m.spread }

// Predictor evaluates a model without allocating. It is a workspace: one
// goroutine uses it at a time; different ones may share the Model.
type Predictor struct {
	score, spread *Evaluator
}

// NewPredictor returns a workspace for predictions.
func (m *Model) NewPredictor() *Predictor {
	return &Predictor{score: m.score.NewEvaluator(), spread: m.spread.NewEvaluator()}
}

// At returns the score π̂(x), near [0, 1] but not confined to it, and the
// variance V(x) ≥ 0, and fills dScore and dVariance, each if not nil, with
// their d derivatives in x. A surrogate that dips below 0 makes V = 0 with a
// zero derivative.
func (p *Predictor) At(x, dScore, dVariance []float64) (score, variance float64) {
	score = p.score.At(x, dScore)
	variance = p.spread.At(x, dVariance)
	if variance <= 0 {
		clear(dVariance)
		return score, 0
	}
	return score, variance
}
