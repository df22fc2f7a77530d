// Package diagnose judges how far the model of a campaign can be trusted, and how well each
// expert's answers agree with the measurements.
//
// Everything is a pure function of a policies.View: no log, no clock, no randomness (functions
// drawn from a posterior are always the same ones). The checks come first and are data:
// leave-one-out predictions and their calibration (leaveoneout.go), measurements that contradict
// all others (outliers.go), noise against repetitions (noise.go), results that belong to the
// experiment before (lag.go), the end of the search for hyperparameters (fit.go), lengthscales and
// slices (parameters.go, slices.go), labels against measurements (experts.go), several quantities
// (several.go). findings.go reads them: each [Finding] describes a fault in plain words
// (wording.go), with the remedies as data, and the worst of them is the [Verdict].
package diagnose

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Verdict is how far a model can be trusted. The levels of findings are
// verdicts too.
type Verdict string

const (
	// Good: the model predicts left-out measurements, and knows its own uncertainty.
	Good Verdict = "good"
	// Untested: there are too few measurements to judge the model.
	Untested Verdict = "untested"
	// Doubtful: read the model's means, slices and bounds with the findings in
	// mind.
	Doubtful Verdict = "doubtful"
	// Unusable: do not rely on the model.
	Unusable Verdict = "unusable"
)

// Troubled reports whether a person should be warned before relying on the
// model.
func (v Verdict) Troubled() bool { return v == Doubtful || v == Unusable }

// Note is the level of a finding that does not speak against the model.
const Note Verdict = "note"

// gravity orders the levels.
var gravity = map[Verdict]int{Note: 0, Good: 0, Untested: 1, Doubtful: 2, Unusable: 3}

// Diagnosis is the judgment of a campaign's model and experts.
type Diagnosis struct {
	Campaign string `json:"campaign"`
	// Objective, Unit and Goal are those of the campaign.
	Objective string  `json:"objective"`
	Unit      string  `json:"unit,omitempty"`
	Goal      string  `json:"goal"`
	Verdict   Verdict `json:"verdict"`
	// Headline is the verdict in a sentence.
	Headline string `json:"headline"`
	// Findings are faults and notes, the worst first.
	Findings []Finding `json:"findings"`
	// Best is the experiment of the best composition; empty without a model.
	Best string `json:"best,omitempty"`

	// Without a model the following are nil; LeaveOneOut needs three
	// compositions.
	Fit         *Fit         `json:"fit"`
	LeaveOneOut *LeaveOneOut `json:"leave_one_out"`
	Noise       *Noise       `json:"noise"`
	// Outliers contradict all other measurements; WithoutOutliers is the leave-one-out R² of a
	// model fitted to the others, at its own hyperparameters, if there are any.
	Outliers        []Outlier `json:"outliers"`
	WithoutOutliers *float64  `json:"r2_without_outliers,omitempty"`
	// Lag compares the results with the experiments before them; nil with too few.
	Lag        *Lag        `json:"lag,omitempty"`
	Parameters []Parameter `json:"parameters"`
	Slices     []Slice     `json:"slices"`

	// Weakest is the worst predicted quantity of those that decisions rest on, if the verdict is
	// good and several are declared.
	Weakest *Judged `json:"weakest,omitempty"`
	// Quantities are the other declared ones. Feasibility compares probabilities of keeping the
	// constraints on outcomes with the results, Correlations name models whose errors go together,
	// Reference shows how far a front depends on inferred values. They are absent if one quantity
	// is measured.
	Quantities   []Quantity    `json:"quantities,omitempty"`
	Feasibility  *Calibration  `json:"feasibility,omitempty"`
	Correlations []Correlation `json:"correlations,omitempty"`
	Reference    *Reference    `json:"reference,omitempty"`

	// Valueless are the measured experiments that lack a quantity on which decisions rest, or a
	// finite value of the formula; nil if none does.
	Valueless *campaign.Valueless `json:"valueless,omitempty"`

	// Experts of the campaign, in its order.
	Experts []Expert `json:"experts"`
}

// Judged is the leave-one-out R² of a quantity.
type Judged struct {
	Quantity string  `json:"quantity"`
	R2       float64 `json:"r2"`
}

// Run diagnoses a campaign. It fails with the context's error, wrapped; an unusable model is a
// finding.
//
// Explanations are compared, which takes a dozen fits, only with enough compositions to judge by.
func Run(ctx context.Context, v policies.View) (Diagnosis, error) {
	def := v.Campaign.Definition
	sought := def.Sought()
	d := Diagnosis{
		Campaign:   def.Name,
		Objective:  sought.Name,
		Unit:       sought.Unit,
		Goal:       sought.Goal,
		Findings:   []Finding{},
		Outliers:   []Outlier{},
		Parameters: []Parameter{},
		Slices:     []Slice{},
		Experts:    Experts(v),
		Valueless:  v.Campaign.Valueless(),
	}
	if d.Experts == nil {
		d.Experts = []Expert{}
	}
	r := reader{d: &d, v: v}
	if m := v.Objective(); m != nil && v.ObjectiveError() == nil && len(m.Observations) > 0 {
		frame := NewFrame(def, v.Space)
		best := bestOf(v)
		d.Best = m.Observations[best].Experiment
		d.Fit, d.Noise = fitOf(def, m), noiseOf(sought, m)
		var err error
		if d.LeaveOneOut, err = leaveOneOut(ctx, def, m); err != nil {
			return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
		}
		if d.Lag, err = lagOf(ctx, def, v.Campaign, m); err != nil {
			return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
		}
		var slices []Slice
		if slices, d.Parameters, err = learned(v, m, best); err != nil {
			return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
		}
		d.Slices = append(d.Slices, slices...)
		r.needed = 2 * (frame.free() + 1)
		if d.LeaveOneOut != nil && d.Fit.Compositions >= r.needed {
			e, err := explain(ctx, def, m, d.LeaveOneOut)
			if err != nil {
				return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
			}
			r.logarithm = e.logarithm
			if e.outliers != nil {
				d.Outliers, d.WithoutOutliers = e.outliers, e.r2
			}
		}
	}
	if def.Several() {
		if err := d.several(ctx, v); err != nil {
			return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
		}
	}
	if ctx.Err() != nil {
		return Diagnosis{}, fmt.Errorf("diagnose: %w", context.Cause(ctx))
	}
	r.read()
	return d, nil
}

// bestOf returns the observation of the best composition by the models, for a trade-off in the
// first objective; without a best one, the first.
func bestOf(v policies.View) int {
	best, err := seek.BestOf(v.Campaign, v.Space, v.Models)
	if err != nil || best == nil { // a quantity has no model yet, or there is no best
		i, _ := v.Objective().Best()
		return max(i, 0)
	}
	return best.Index
}
