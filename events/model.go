package events

import "math"

// Names of the models that are fitted.
const (
	ModelObjective  = "objective"  // the Gaussian process of the measured objective
	ModelBelief     = "belief"     // the confidence set of an expert's belief
	ModelPreference = "preference" // the model of an expert's comparisons
	ModelQuantity   = "quantity"   // the Gaussian process of a declared quantity besides the objective
)

// ModelName says which model of a campaign is meant.
type ModelName struct {
	// Model is one of the Model constants, Expert whose it is and Quantity of
	// what, where there are several of it.
	Model, Expert, Quantity string
}

// Of is the model that was fitted.
func (p *ModelFitted) Of() ModelName { return ModelName{p.Model, p.Expert, p.Quantity} }

// Of is the model that could not be fitted.
func (p *ModelFitFailed) Of() ModelName { return ModelName{p.Model, p.Expert, p.Quantity} }

// Interval is a closed interval of a real quantity.
type Interval struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Prediction is the objective model's prediction at a point.
type Prediction struct {
	// Mean and SD are the posterior mean and standard deviation of the
	// objective without noise, in Unit; SD as the definition's model.intervals
	// has it.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	Unit string  `json:"unit,omitempty"`
}

// ModelFitted records a fit: what it was made from, how, and what came out.
// Projections read the result; audit makes the fit again and compares.
type ModelFitted struct {
	// Model is one of the Model constants.
	Model string `json:"model"`
	// Expert is whose belief it is; empty for the objective.
	Expert string `json:"expert,omitempty"`
	// Quantity is the declared quantity that a model "quantity" is of.
	Quantity string `json:"quantity,omitempty"`
	// At is the campaign's sequence up to which events were read.
	At Sequence `json:"at"`
	// Seed is the seed of the search.
	Seed  uint64 `json:"seed,string"`
	Build Build  `json:"build"`
	// Version is that of the models, raised whenever the same observations
	// could lead to another fit; absent stands for 1.
	Version int `json:"version,omitempty"`

	// Objective is the fit of the objective, or of the quantity.
	Objective  *ObjectiveFit  `json:"objective,omitempty"`
	Belief     *BeliefFit     `json:"belief,omitempty"`
	Preference *PreferenceFit `json:"preference,omitempty"`
}

// Forms of the model of an expert's comparisons.
const (
	PreferenceChoice  = "choice"  // Dirichlet-based classifier of pairs (Adachi et al. 2024, §3.1)
	PreferenceUtility = "utility" // Gaussian process of the utility (Sinaga et al. 2026, §3)
	// PreferenceOutcomes is a Gaussian process of the utility of outcomes, on
	// standardized quantities (Lin et al. 2022, §3).
	PreferenceOutcomes = "outcomes"
)

// PreferenceFit is the outcome of fitting the model of an expert's comparisons,
// on unit-cube inputs; in the outcomes form on standardized quantities.
type PreferenceFit struct {
	// Form is one of the Preference constants.
	Form string `json:"form"`
	// Kernel is "rbf", "matern52" or "matern32".
	Kernel string `json:"kernel"`
	// Lengthscales has one entry for each dimension of the encoded unit cube, or
	// for each quantity.
	Lengthscales []float64 `json:"lengthscales"`
	OutputScale  float64   `json:"output_scale"`
	// Slope is the prior variance of the utility's slope in each quantity, as a
	// multiple of OutputScale, in the outcomes form.
	Slope float64 `json:"slope,omitempty"`
	// Mean is the constant prior mean of the choice form, AlphaEps the
	// concentration α_ε of its labels.
	Mean     float64 `json:"mean,omitempty"`
	AlphaEps float64 `json:"alpha_eps,omitempty"`
	// Score and Spread are the second-stage models of the choice form, on the
	// expected choice probability and on its spread (Adachi et al. 2024, App.
	// D).
	Score  *StageFit `json:"score,omitempty"`
	Spread *StageFit `json:"spread,omitempty"`
	// Bandwidth of the anchors' density, in the unit cube; 0 without anchors.
	Bandwidth float64 `json:"bandwidth,omitempty"`
	// LogEvidence is the attained log marginal likelihood, plus log priors
	// where there are any.
	LogEvidence float64 `json:"log_evidence"`
	// Comparisons is the number of pairs used.
	Comparisons int `json:"comparisons"`
	// Evaluations counts evidence evaluations over all starts.
	Evaluations int `json:"evaluations"`
}

// StageFit are the hyperparameters of a Gaussian process with an RBF kernel.
type StageFit struct {
	Lengthscales []float64 `json:"lengthscales"`
	OutputScale  float64   `json:"output_scale"`
	Noise        float64   `json:"noise"`
}

// ObjectiveFit is the outcome of a Gaussian-process fit on unit-cube inputs and
// standardized outputs.
type ObjectiveFit struct {
	// Kernel is "rbf", "matern52" or "matern32".
	Kernel string `json:"kernel"`
	// Lengthscales has one entry for each dimension of the encoded unit cube.
	Lengthscales []float64 `json:"lengthscales"`
	// OutputScale is the prior variance of the standardized objective.
	OutputScale float64 `json:"output_scale"`
	// Fidelity is how cheaper experiments go together with those at the target; absent
	// where there are none. The coordinates of the fidelity have the lengthscale
	// Unscaled, since they are no distance.
	Fidelity *FidelityFit `json:"fidelity,omitempty"`
	// Noise is the noise variance of the standardized objective; 0 where each
	// observation's noise is known.
	Noise float64 `json:"noise"`
	// Mean is the constant prior mean of the standardized objective.
	Mean float64 `json:"mean"`
	// Shift and Scale standardize: z = (y − Shift)/Scale, y in the campaign's
	// unit.
	Shift float64 `json:"shift"`
	Scale float64 `json:"scale"`
	// Compressed is how bad results were compressed before they were
	// standardized; absent where they were not.
	Compressed *Compression `json:"compressed,omitempty"`
	// Log is set where y is the natural logarithm of what was measured.
	Log bool `json:"log,omitempty"`
	// LogPosterior is the attained log marginal likelihood plus log priors.
	LogPosterior float64 `json:"log_posterior"`
	// Observations is the number of measurements used.
	Observations int `json:"observations"`
	// Jitter added to the diagonal for the factorisation to succeed.
	Jitter float64 `json:"jitter,omitempty"`
	// Evaluations counts likelihood evaluations over all starts.
	Evaluations int `json:"evaluations"`
}

// FidelityFit is how values of cheaper experiments go together with those at the
// target: the covariance of two of them is a factor times that of their compositions.
type FidelityFit struct {
	// C and Delta are those of fidelities s from 0 to 1, the target: the factor is
	// OutputScale·(c + (1−s)^(1+δ)·(1−s')^(1+δ)) (Wu et al. 2020, §3.3).
	C     float64 `json:"c,omitempty"`
	Delta float64 `json:"delta,omitempty"`
	// W is that of sources, in the order of the definition: lower triangular, the
	// factor is WWᵀ (Bonilla, Chai and Williams 2008).
	W [][]float64 `json:"w,omitempty"`
	// Noise is the standardized noise variance of each source.
	Noise []float64 `json:"noise,omitempty"`
}

// Unscaled is the lengthscale of the coordinates of a fidelity.
const Unscaled = 1e6

// Correlation is that of the values of two sources at one composition, by their numbers.
func (f *FidelityFit) Correlation(t, u int) float64 {
	inner := func(v, w []float64) (sum float64) {
		for k := range min(len(v), len(w)) {
			sum += float64(v[k] * w[k])
		}
		return sum
	}
	a, b := f.W[t], f.W[u]
	return inner(a, b) / math.Sqrt(inner(a, a)*inner(b, b))
}

// BeliefFit is the outcome of adapting the confidence set of an expert's belief
// (Xu et al. 2024, App. F).
type BeliefFit struct {
	// NormBound is B_g, the bound on the RKHS norm of g.
	NormBound float64 `json:"norm_bound"`
	// Confidence is c in α₁ = c√(n+1).
	Confidence float64 `json:"confidence"`
	// LogLikelihood is that of the norm-constrained maximum-likelihood
	// estimate.
	LogLikelihood float64 `json:"log_likelihood"`
	// Labels is the number of labels used.
	Labels int `json:"labels"`
}

// ModelFitFailed says that a fit did not succeed. The campaign goes on with the
// model it had, or with space-filling experiments where it had none.
type ModelFitFailed struct {
	Model  string `json:"model"`
	Expert string `json:"expert,omitempty"`
	// Quantity is as in ModelFitted.
	Quantity string   `json:"quantity,omitempty"`
	At       Sequence `json:"at"`
	Seed     uint64   `json:"seed,string"`
	Cause    string   `json:"cause"`
	// Version is as in ModelFitted.
	Version int `json:"version,omitempty"`
}

func (ModelFitted) Subject() string    { return "" }
func (ModelFitFailed) Subject() string { return "" }
