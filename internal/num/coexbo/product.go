package coexbo

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/gp"
)

// DefaultGamma is γ of the decay (Adachi et al. 2024, §4).
const DefaultGamma = 0.01

// Scaling maps scores to the objective's scale: ρ(π) = ObjectiveMean + ObjectiveSD·(π −
// ScoreMean)/ScoreSD, and variances by the square of that factor.
//
// Equation 8 as printed multiplies by the objective's mean and adds its standard deviation, which
// for standardized values would remove the score altogether; the form here is that of the authors'
// code and of the text.
type Scaling struct {
	ScoreMean     float64 `json:"score_mean"`
	ScoreSD       float64 `json:"score_sd"` // 0 where all points score alike
	ObjectiveMean float64 `json:"objective_mean"`
	ObjectiveSD   float64 `json:"objective_sd"`
}

// flat is the spread of scores below which points count as equal.
const flat = 1e-9

// NewScaling returns the scaling for the scores of points spread evenly over
// the space, at least two, and the mean and standard deviation of the measured
// objective in the unit of its model: 0 and 1 where that is standardized.
func NewScaling(scores []float64, objectiveMean, objectiveSD float64) Scaling {
	if len(scores) < 2 {
		panic("coexbo: a scaling needs the scores of two points or more")
	}
	s := Scaling{ObjectiveMean: objectiveMean, ObjectiveSD: objectiveSD}
	for _, v := range scores {
		s.ScoreMean += v / float64(len(scores))
	}
	var sum float64
	for _, v := range scores {
		sum += (v - s.ScoreMean) * (v - s.ScoreMean)
	}
	if sd := math.Sqrt(sum / float64(len(scores))); sd > flat {
		s.ScoreSD = sd
	}
	return s
}

// factor returns ObjectiveSD/ScoreSD, and whether there is anything to scale.
func (s Scaling) factor() (float64, bool) {
	if !(s.ScoreSD > 0) {
		return 0, false
	}
	return s.ObjectiveSD / s.ScoreSD, true
}

// Apply returns the score and its variance on the objective's scale. A flat
// score says nothing: its variance is +Inf.
func (s Scaling) Apply(score, variance float64) (mean, scaled float64) {
	c, ok := s.factor()
	if !ok {
		return s.ObjectiveMean, math.Inf(1)
	}
	return s.ObjectiveMean + c*(score-s.ScoreMean), c * c * variance
}

// Prior is a person's score π̂(x) and its variance V(x) ≥ 0, with their
// derivatives in x where the slices are not nil. A *copeland.Predictor is one.
// It may be a workspace, used by one goroutine at a time.
type Prior interface {
	At(x, dScore, dVariance []float64) (score, variance float64)
}

// Config says how strongly the prior counts.
type Config struct {
	// Beta is β of the upper confidence bound; for example
	// acquisition.GrowingBeta.
	Beta float64
	// Gamma is γ of the decay; 0 means DefaultGamma, a negative one no decay.
	Gamma float64
	// T is t, the number of measurements chosen with the prior so far.
	T int
	// Scaling of the scores.
	Scaling Scaling
}

// decay returns γt².
func (c Config) decay() float64 {
	g := c.Gamma
	switch {
	case g == 0:
		g = DefaultGamma
	case g < 0:
		g = 0
	}
	return g * float64(c.T) * float64(c.T)
}

// Parts are the numbers behind the value of an acquisition at one point, in the
// objective's (standardized) unit, except Score and ScoreVariance, which are on
// the scale of a probability. They go into the rationale of a decision.
type Parts struct {
	Objective     float64 `json:"objective"`      // μ_f
	ObjectiveSD   float64 `json:"objective_sd"`   // σ_f
	Score         float64 `json:"score"`          // π̂
	ScoreVariance float64 `json:"score_variance"` // V
	Prior         float64 `json:"prior"`          // μ_π = ρ(π̂)
	PriorSD       float64 `json:"prior_sd"`       // σ_π, decay included
	Share         float64 `json:"share"`          // w, between 0 and 1: how much the prior counts
	Mean          float64 `json:"mean"`           // μ of the product
	SD            float64 `json:"sd"`             // σ of the product
	Value         float64 `json:"value"`          // α
}

// Acquisition is α_{f,π} of one model, one prior and one moment of a campaign.
// It is a workspace: one goroutine uses it at a time.
type Acquisition struct {
	cfg                      Config
	objective                *gp.Predictor
	prior                    Prior
	dMean, dSD, dScore, dVar []float64
}

// New returns the acquisition. Without a prior (nil) it is the upper confidence
// bound of the objective.
func New(objective *gp.GP, prior Prior, cfg Config) *Acquisition {
	if !(cfg.Beta >= 0) || cfg.T < 0 {
		panic(fmt.Sprintf("coexbo: β is %v, t is %d", cfg.Beta, cfg.T))
	}
	d := objective.Dim()
	buffer := make([]float64, 4*d)
	return &Acquisition{
		cfg:       cfg,
		objective: objective.NewPredictor(),
		prior:     prior,
		dMean:     buffer[:d:d],
		dSD:       buffer[d : 2*d : 2*d],
		dScore:    buffer[2*d : 3*d : 3*d],
		dVar:      buffer[3*d:],
	}
}

// At returns α(x), to be maximized, and fills grad, if not nil, with its d
// derivatives. Where the objective is known without doubt and the prior is too,
// the value has no derivative in σ, and that part is 0.
func (a *Acquisition) At(x, grad []float64) float64 { return a.eval(x, grad).Value }

// Negated is −At, for package optimize, which minimizes.
func (a *Acquisition) Negated(x, grad []float64) float64 {
	v := a.At(x, grad)
	for j := range grad {
		grad[j] = -grad[j]
	}
	return -v
}

func (a *Acquisition) eval(x, grad []float64) Parts {
	var p Parts
	dScore, dVar := a.dScore, a.dVar
	if grad == nil {
		p.Objective, p.ObjectiveSD = a.objective.Posterior(x)
		dScore, dVar = nil, nil
	} else {
		p.Objective, p.ObjectiveSD = a.objective.PosteriorGrad(x, a.dMean, a.dSD)
	}
	root := math.Sqrt(a.cfg.Beta)
	c, informative := a.cfg.Scaling.factor()
	if a.prior != nil {
		p.Score, p.ScoreVariance = a.prior.At(x, dScore, dVar)
		p.Prior, _ = a.cfg.Scaling.Apply(p.Score, p.ScoreVariance)
	}
	if a.prior == nil || !informative {
		p.Mean, p.SD = p.Objective, p.ObjectiveSD
		p.Value = p.Mean + root*p.SD
		for j := range grad {
			grad[j] = a.dMean[j] + root*a.dSD[j]
		}
		return p
	}

	// With F = σ_f², A = ρ²V + κF, κ = γt² and D = A + F: w = F/D, σ = σ_f
	// √(A/D).
	kappa := a.cfg.decay()
	f := p.ObjectiveSD * p.ObjectiveSD
	pr := c*c*p.ScoreVariance + kappa*f
	d := pr + f
	p.PriorSD = math.Sqrt(pr)
	if !(d > 0) {
		// Both are known without doubt. The objective was measured here, so its
		// value counts.
		p.Mean, p.Value = p.Objective, p.Objective
		copy(grad, a.dMean)
		return p
	}
	p.Share = f / d
	keep := math.Sqrt(pr / d)
	p.Mean = p.Share*p.Prior + (1-p.Share)*p.Objective
	p.SD = p.ObjectiveSD * keep
	p.Value = p.Mean + root*p.SD
	if grad == nil {
		return p
	}
	for j := range grad {
		dF := 2 * p.ObjectiveSD * a.dSD[j]
		dA := c*c*dVar[j] + kappa*dF
		dShare := (pr*dF - f*dA) / (d * d)
		dSD := a.dSD[j] * keep
		if keep > 0 {
			dSD -= p.ObjectiveSD * dShare / (2 * keep)
		}
		grad[j] = dShare*(p.Prior-p.Objective) + p.Share*c*dScore[j] + (1-p.Share)*a.dMean[j] + root*dSD
	}
	return p
}
