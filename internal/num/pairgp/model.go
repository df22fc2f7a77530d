package pairgp

import (
	"errors"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// ErrHyper reports hyperparameters that no model can be built from; the text
// says which.
var ErrHyper = errors.New("bad preference hyperparameter")

// kernelName is the kernel of the latent functions, that of Adachi et al. 2024.
const kernelName = "rbf"

// Hyper are the hyperparameters of a model. They are recorded in events; the
// JSON names are part of that record.
type Hyper struct {
	// Lengthscales of the d parameters, in the units of the points, shared by
	// both points of a pair.
	Lengthscales []float64 `json:"lengthscales"`
	// OutputScale is the prior variance of a latent function, in squared nats.
	OutputScale float64 `json:"output_scale"`
	// Mean is the constant prior mean of a latent function, in nats.
	Mean float64 `json:"mean"`
	// AlphaEps is α_ε of the labels.
	AlphaEps float64 `json:"alpha_eps"`
}

// pair returns the hyperparameters of a latent function over pairs.
func (h Hyper) pair() gp.Hyper {
	return gp.Hyper{
		Lengthscales: append(append([]float64(nil), h.Lengthscales...), h.Lengthscales...),
		OutputScale:  h.OutputScale,
		Noise:        1, // of observations whose noise is not known: there are none
		Mean:         h.Mean,
	}
}

func (h Hyper) validate(d int) error {
	if len(h.Lengthscales) != d {
		return fmt.Errorf("%w: %d lengthscales for %d parameters", ErrHyper, len(h.Lengthscales), d)
	}
	if !(h.AlphaEps > 0) || math.IsInf(h.AlphaEps, 1) {
		return fmt.Errorf("%w: α_ε is %v, must be a positive finite number", ErrHyper, h.AlphaEps)
	}
	if math.IsNaN(h.Mean) || math.IsInf(h.Mean, 0) {
		return fmt.Errorf("%w: mean %v is not finite", ErrHyper, h.Mean)
	}
	if _, err := kernel.New(kernelName, h.Lengthscales, h.OutputScale); err != nil {
		return fmt.Errorf("%w: %w", ErrHyper, err)
	}
	return nil
}

// augmented returns the data of the latent function of class 1, "the first of
// the pair is preferred": rows 2i and 2i + 1 are comparison i as (chosen,
// other) and mirrored.
func augmented(comparisons []Comparison, eps float64) gp.Data {
	_, vChosen, tChosen := Label(true, eps)
	_, vOther, tOther := Label(false, eps)
	n := 2 * len(comparisons)
	data := gp.Data{X: make([][]float64, 0, n), Y: make([]float64, 0, n),
		NoiseVar: make([]float64, 0, n)}
	for _, c := range comparisons {
		data.X = append(data.X, join(c.Chosen, c.Other), join(c.Other, c.Chosen))
		data.Y = append(data.Y, tChosen, tOther)
		data.NoiseVar = append(data.NoiseVar, vChosen, vOther)
	}
	return data
}

func join(a, b []float64) []float64 {
	return append(append(make([]float64, 0, len(a)+len(b)), a...), b...)
}

// Model is the posterior of a preference given comparisons and hyperparameters.
// It is immutable; reading it from several goroutines is safe.
type Model struct {
	comparisons []Comparison
	hyper       Hyper
	latent      *gp.GP // f₁ over pairs; f₀(x, x') is its value at (x', x)
}

// New returns the posterior. The comparisons' points are copied. It fails with
// ErrData, ErrHyper, or gp.ErrNotPositiveDefinite.
func New(comparisons []Comparison, h Hyper) (*Model, error) {
	d, err := validate(comparisons)
	if err != nil {
		return nil, err
	}
	if err := h.validate(d); err != nil {
		return nil, err
	}
	h.Lengthscales = append([]float64(nil), h.Lengthscales...)
	data := augmented(comparisons, h.AlphaEps)
	m := &Model{hyper: h, comparisons: make([]Comparison, len(comparisons))}
	for i := range comparisons {
		row := data.X[2*i]
		m.comparisons[i] = Comparison{Chosen: row[:d:d], Other: row[d:]}
	}
	if m.latent, err = gp.New(data, kernelName, h.pair()); err != nil {
		return nil, fmt.Errorf("preference model: %w", err)
	}
	return m, nil
}

// Hyper returns the hyperparameters.
func (m *Model) Hyper() Hyper {
	h := m.hyper
	h.Lengthscales = append([]float64(nil), h.Lengthscales...)
	return h
}

// Comparisons returns the comparisons the model was built from, in their order.
// They must not be changed.
func (m *Model) Comparisons() []Comparison { return m.comparisons }

// Dim returns the number d of parameters.
func (m *Model) Dim() int { return len(m.hyper.Lengthscales) }

// Jitter returns the addition to the covariance matrix's diagonal, mostly 0.
func (m *Model) Jitter() float64 { return m.latent.Jitter() }

// LogMarginal returns the log marginal likelihood of the augmented labels of
// one class; that of the other is equal.
func (m *Model) LogMarginal() float64 { return m.latent.LogMarginal() }

// Preference is the belief about g(x, x') = S(h(x, x')), the probability that x is preferred to x'.
type Preference struct {
	// Mean is E[g], the probability itself (Adachi et al. 2024, Eq. 53).
	Mean float64
	// Bernoulli is E[g(1 − g)], the expected variance of one choice (Eq. 91).
	// It is small both where the person is known to be decided and where
	// nothing is known: then g itself may be anything, and the rest is in
	// Variance.
	Bernoulli float64
	// Variance is Var[g] = E[g](1 − E[g]) − E[g(1 − g)], what more comparisons
	// could remove.
	Variance float64
}

// preference returns the moments of S(h), h ~ N(mean, variance).
func preference(mean, variance float64) Preference {
	p, b := LogisticNormal(mean, variance)
	return Preference{Mean: p, Bernoulli: b, Variance: max(p*(1-p)-b, 0)}
}

// Prior returns the preference far from all comparisons: its mean is ½.
func (m *Model) Prior() Preference { return preference(0, 2*m.hyper.OutputScale) }

// Predictor evaluates the posterior without allocating. It is a workspace: one
// goroutine uses it at a time; different ones may share the Model.
type Predictor struct {
	d         int
	latent    *gp.Predictor
	z, mirror []float64
}

// NewPredictor returns a workspace for predictions.
func (m *Model) NewPredictor() *Predictor {
	d := m.Dim()
	return &Predictor{d: d, latent: m.latent.NewPredictor(), z: make([]float64, 2*d),
		mirror: make([]float64, 2*d)}
}

// Latent returns mean and variance of h(x, x') in nats: positive where x is
// preferred. Exchanging the points changes the sign of the mean and nothing
// else, exactly.
func (p *Predictor) Latent(x, other []float64) (mean, variance float64) {
	if len(x) != p.d || len(other) != p.d {
		panic(fmt.Sprintf("pairgp: points of %d and %d coordinates, the model has %d parameters",
			len(x), len(other), p.d))
	}
	copy(p.z, x)
	copy(p.z[p.d:], other)
	copy(p.mirror, other)
	copy(p.mirror[p.d:], x)
	m1, s1 := p.latent.Posterior(p.z)
	m0, s0 := p.latent.Posterior(p.mirror)
	return m1 - m0, float64(s1*s1) + float64(s0*s0) // rounded one by one: a fused product would break the symmetry
}

// Preference returns the belief about the probability that x is preferred to other. The means of
// the two orders add up to 1 exactly; Bernoulli is equal in both, and Variance to rounding.
func (p *Predictor) Preference(x, other []float64) Preference {
	return preference(p.Latent(x, other))
}

// Preference is Predictor.Preference with a workspace of its own.
func (m *Model) Preference(x, other []float64) Preference {
	return m.NewPredictor().Preference(x, other)
}
