package objective

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/gp"
)

// Expectation is what one measurement is expected to be, from those of other
// compositions.
type Expectation struct {
	// Mean and SD are of the measured value, noise included, in the user's unit.
	Mean, SD float64
	// Noise is the standard deviation of one measurement, Spread that of the
	// measurements it rests on.
	Noise, Spread float64
	// Observations counts them.
	Observations int
}

// What a doubt rests on.
const (
	// A fit to fewer compositions than this, and than two for each hyperparameter
	// that is fitted for the shape of the objective, is easily too sure of itself:
	// see docs/results.md for what it then doubts.
	leastCompositions = 8
	// caution multiplies all lengthscales before a measurement is doubted: fitted to
	// few measurements they are often twice too long, and a model that is too sure of
	// what lies between measurements doubts every discovery.
	caution = 0.5
	// fewEnough times Enough is the number of observations up to which the model is
	// fitted again without the one in question.
	fewEnough = 4
)

// Enough is the number of compositions, beside its own, that a doubt about a
// measurement rests on.
func (p *Projection) Enough() int { return max(leastCompositions, 2*(p.space.Dim()+1)) }

// Unjudged returns the observations that no fit to [Projection.Enough]
// compositions has believed yet, none before the first fit. An observation is
// judged once: when there is enough to judge it by, and before the next fit.
func (p *Projection) Unjudged() []Observation {
	if p.state.Fit == nil || p.state.Fit.Observations < p.Enough() {
		return nil
	}
	return p.filtered(func(o Observation) bool { return !o.Judged && !o.Excluded && !o.Suspect })
}

// Suspects returns the observations that are in doubt.
func (p *Projection) Suspects() []Observation {
	return p.filtered(func(o Observation) bool { return !o.Excluded && o.Suspect })
}

// Of returns the observation of an experiment, nil where there is none.
func (p *Projection) Of(experiment string) *Observation {
	i := slices.IndexFunc(p.state.Observations, func(o Observation) bool { return o.Experiment == experiment })
	if i < 0 {
		return nil
	}
	return &p.state.Observations[i]
}

func (p *Projection) filtered(keep func(Observation) bool) (kept []Observation) {
	for _, o := range p.state.Observations {
		if keep(o) {
			kept = append(kept, o)
		}
	}
	return kept
}

// Expect returns what is expected of an observation without any measurement of
// its composition: under the hyperparameters of the last fit, or, where that fit
// has believed the observation, of a fit without it; with lengthscales half as
// long, for caution. ok is false where that rests on too little, or the fit
// would take too long. The result depends on the state and the seed alone.
func (p *Projection) Expect(o Observation, seed uint64) (e Expectation, ok bool, err error) {
	own, err := p.space.Key(o.Point)
	if err != nil {
		return e, false, fmt.Errorf("the composition of %s: %w", o.Experiment, err)
	}
	var others []Observation
	keys := make(map[string]bool)
	for _, other := range p.included() {
		key, err := p.space.Key(other.Point)
		if err != nil {
			return e, false, fmt.Errorf("the composition of %s: %w", other.Experiment, err)
		}
		if key != own {
			others = append(others, other)
			keys[key] = true
		}
	}
	believed := o.Suspect || o.Since <= p.state.FitRevision
	few := len(others) <= fewEnough*p.Enough()
	if p.state.Fit == nil || len(keys) < p.Enough() || believed && !o.Suspect && !few {
		return e, false, nil
	}
	fit := *p.state.Fit
	std := standard{shift: fit.Shift, scale: fit.Scale, sign: sign(p.state.Definition.Objective.Goal)}
	h := hyper(fit)
	if believed && few {
		std = standardise(others, p.state.Definition.Objective.Goal)
	}
	data, err := p.data(others, std)
	if err != nil {
		return e, false, err
	}
	if believed && few {
		result, err := gp.Fit(context.Background(), data, gp.FitConfig{
			Kernel: fit.Kernel, FreeOutputScale: p.state.Definition.Model.FreeOutputScale, Seed: seed, Warm: &h})
		if err != nil {
			return e, false, nil // then nothing can be said of it
		}
		h = result.Hyper
	}
	h.Lengthscales = slices.Clone(h.Lengthscales)
	for j := range h.Lengthscales {
		h.Lengthscales[j] *= caution
	}
	process, err := gp.New(data, fit.Kernel, h)
	if err != nil {
		return e, false, nil
	}
	x, err := p.space.Encode(o.Point)
	if err != nil {
		return e, false, err
	}
	noise := noiseVariance(o.SD, p.state.Definition.Objective.Noise, std.scale)
	if math.IsNaN(noise) {
		noise = h.Noise
	}
	mean, sd := process.Posterior(x)
	return Expectation{
		Mean: std.outside(mean), SD: std.scale * math.Sqrt(sd*sd+noise), Noise: std.scale * math.Sqrt(noise), Spread: std.scale,
		Observations: len(others),
	}, true, nil
}

// judged notes that a fit has believed all observations.
func (p *Projection) judged() {
	keys := make(map[string]bool)
	for _, o := range p.included() {
		if key, err := p.space.Key(o.Point); err == nil {
			keys[key] = true
		}
	}
	if len(keys) <= p.Enough() {
		return
	}
	for i := range p.state.Observations {
		o := &p.state.Observations[i]
		o.Judged = o.Judged || !p.held(*o)
	}
}

// flag folds the engine's doubt about a measurement, or what became of it.
func (p *Projection) flag(d *events.MeasurementFlagged) {
	o := p.Of(d.Experiment)
	if o == nil {
		return // the campaign projection refuses a doubt about what was not measured
	}
	o.Suspect, o.Judged = d.Verdict == events.VerdictSuspect, true
	o.Excluded = o.Excluded || d.Verdict == events.VerdictOverturned
	if repetition := p.Of(d.Repetition); repetition != nil {
		repetition.Judged = true
	}
	p.state.Revision++
}

// held reports whether an observation is kept out of the model for now: it is in
// doubt, and the campaign repeats what is.
func (p *Projection) held(o Observation) bool {
	return o.Suspect && p.state.Definition.Outliers.Action == events.OutlierRepeat
}
