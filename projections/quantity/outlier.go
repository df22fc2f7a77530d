package quantity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/sources"
)

// Outliers are detected by leaving one out: a measurement is compared with its prediction from
// the others. The constants of that:
const (
	// A fit to fewer compositions than this, and than two for each dimension
	// and the noise, is easily too sure of itself.
	leastCompositions = 8
	// caution multiplies all lengthscales before a measurement is doubted: fitted to few
	// measurements they are often twice too long, and a model that is too sure between
	// measurements doubts every discovery. See docs/results-journal.md.
	caution = 0.5
	// reviewFactor times MinCompositions is the number of observations up to which those that a
	// fit has believed are reviewed again: a wrong one among the first shapes every fit, and
	// only later measurements show it.
	reviewFactor = 4
	// screened is the number of them that are reviewed: those that the last fit explains worst.
	screened = 2
	// refitStarts and refitSearches are the effort of a fit without one of
	// them.
	refitStarts, refitSearches = 4, 2
)

// MinCompositions is the number of compositions, besides its own, that a doubt
// about a measurement rests on.
func (p *Projection) MinCompositions() int { return max(leastCompositions, 2*(p.space.Dim()+1)) }

// Judged reports whether the observations have been judged as they are now,
// with the present fit.
func (p *Projection) Judged() bool {
	return p.state.Judged != nil && p.state.Judged.Version == p.Version()
}

// Expected returns the present judgment's predictions of observations; none if they have not
// been judged.
func (p *Projection) Expected() []events.Expected {
	if !p.Judged() {
		return nil
	}
	return p.state.Judged.Expected
}

// HasUnreviewed reports whether there are observations that
// [Projection.Unreviewed] may return. It is quick.
func (p *Projection) HasUnreviewed() bool {
	if p.state.Fit == nil || p.state.Fit.Observations < p.MinCompositions() {
		return false
	}
	few := p.few()
	return slices.ContainsFunc(p.state.Observations, func(o Observation) bool {
		return unreviewed(o) && (few || p.Unseen(o))
	})
}

// unreviewed reports whether no person has judged an observation. One that is
// in doubt or excluded has been judged.
func unreviewed(o Observation) bool { return !o.Judged }

// Unreviewed returns the observations that are to be judged now: those that no fit has believed
// yet, and, while there are few, those that the last fit explains worst; none before a fit to
// [Projection.MinCompositions] observations, and none that have been judged. The only errors
// are those of [Projection.LeaveOneOut].
func (p *Projection) Unreviewed(ctx context.Context) ([]Observation, error) {
	if p.state.Fit == nil || p.state.Fit.Observations < p.MinCompositions() {
		return nil, nil
	}
	open := p.filtered(unreviewed)
	if !p.few() {
		return slices.DeleteFunc(open, func(o Observation) bool { return !p.Unseen(o) }), nil
	}
	type residual struct {
		o    Observation
		size float64
	}
	var unreviewed []Observation
	var believed []residual
	for _, o := range open {
		if p.Unseen(o) {
			unreviewed = append(unreviewed, o)
			continue
		}
		others, _, err := p.others(o)
		if err != nil {
			return nil, err
		}
		e, ok, err := p.predictFrom(ctx, o, others, p.standard(), *p.state.Fit)
		if err != nil {
			return nil, err
		}
		if ok {
			believed = append(believed, residual{o, math.Abs(o.Value - e.Predicted.Mean)})
		}
	}
	slices.SortStableFunc(believed, func(a, b residual) int { return cmp.Compare(b.size, a.size) })
	for _, r := range believed[:min(screened, len(believed))] {
		unreviewed = append(unreviewed, r.o)
	}
	return unreviewed, nil
}

// Unseen reports whether no fit has believed the observation yet.
func (p *Projection) Unseen(o Observation) bool { return o.Since > p.state.FitRevision }

// SuspectedOutliers returns the observations that are in doubt.
func (p *Projection) SuspectedOutliers() []Observation {
	return p.filtered(func(o Observation) bool { return !o.Excluded && o.Suspect })
}

// Of returns the observation of an experiment, or nil.
func (p *Projection) Of(experiment string) *Observation {
	i := slices.IndexFunc(p.state.Observations,
		func(o Observation) bool { return o.Experiment == experiment })
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

// Replicates returns the other observations of a composition that the model
// believes.
func (p *Projection) Replicates(o Observation) []Observation {
	own, err := p.space.Key(o.Point)
	if err != nil {
		return nil
	}
	return p.filtered(func(other Observation) bool {
		key, err := p.space.Key(other.Point)
		return err == nil && key == own && other.Experiment != o.Experiment && p.includes(&other)
	})
}

// few reports whether there are few enough observations to fit them again
// without one.
func (p *Projection) few() bool { return p.Observed() <= reviewFactor*p.MinCompositions() }

// standard is that of the last fit.
func (p *Projection) standard() standard {
	fit := p.state.Fit
	return standard{
		shift: fit.Shift, scale: fit.Scale, compressed: fit.Compressed, log: fit.Log,
		sign: p.sought().Sign(),
	}
}

// others returns the observations of other compositions that the model
// believes, and how many compositions they are of.
func (p *Projection) others(o Observation) (others []Observation, compositions int, err error) {
	own, err := p.space.Key(o.Point)
	if err != nil {
		return nil, 0, fmt.Errorf("the composition of %s: %w", o.Experiment, err)
	}
	keys := make(map[string]bool)
	for _, other := range p.included() {
		key, err := p.space.Key(other.Point)
		if err != nil {
			return nil, 0, fmt.Errorf("the composition of %s: %w", other.Experiment, err)
		}
		if key != own {
			others = append(others, other)
			keys[key] = true
		}
	}
	return others, len(keys), nil
}

// LeaveOneOut predicts an observation from the measurements of other compositions: under the
// hyperparameters of the last fit or, where that fit may have believed the observation, of a
// fit without it; with lengthscales half as long, for caution. ok is false where that rests on
// too little, or there is too much to fit again. The result depends on the state and the seed
// alone. The only errors are that of a cancelled context and of a composition outside the
// space.
func (p *Projection) LeaveOneOut(
	ctx context.Context, o Observation, seed uint64,
) (e events.Expected, ok bool, err error) {
	others, compositions, err := p.others(o)
	if err != nil || p.state.Fit == nil || compositions < p.MinCompositions() {
		return e, false, err
	}
	std, fit := p.standard(), *p.state.Fit
	refit := o.Suspect || !p.Unseen(o)
	if refit && !p.few() && !o.Suspect {
		return e, false, nil
	}
	if refit && p.few() {
		if std, err = p.standardize(others); err != nil {
			return e, false, err
		}
		fit, err = p.refit(ctx, others, std, seed)
		if ctx.Err() != nil {
			return e, false, context.Cause(ctx)
		}
		if err != nil {
			return e, false, nil // then nothing can be held against it
		}
	}
	e, ok, err = p.predictFrom(ctx, o, others, std, shortened(fit, caution))
	if ok && refit && p.few() {
		e.Fit = &fit
	}
	return e, ok, err
}

// refit fits the hyperparameters to some of the observations, from those of the
// last fit.
func (p *Projection) refit(
	ctx context.Context, observations []Observation, std standard, seed uint64,
) (events.ObjectiveFit, error) {
	data, err := p.data(observations, std)
	if err != nil {
		return events.ObjectiveFit{}, err
	}
	if p.fidelity != nil {
		return p.fitFidelity(ctx, data, std, sources.FitConfig{Seed: seed, Starts: refitStarts, Searches: refitSearches})
	}
	warm := hyper(*p.state.Fit)
	result, err := gp.Fit(ctx, data, gp.FitConfig{
		Kernel:          p.state.Fit.Kernel,
		FreeOutputScale: p.state.Definition.Model.FreeOutputScale,
		Seed:            seed,
		Warm:            &warm,
		Starts:          refitStarts,
		Searches:        refitSearches,
	})
	if err != nil {
		return events.ObjectiveFit{}, err
	}
	return recorded(result, p.state.Fit.Kernel, std, len(observations)), nil
}

// predictFrom predicts an observation from others: of more compositions than [gp.Exactly] from
// the nearest. ok is false where they cannot say. The only error is that of a cancelled
// context.
func (p *Projection) predictFrom(
	ctx context.Context, o Observation, others []Observation, std standard, fit events.ObjectiveFit,
) (e events.Expected, ok bool, err error) {
	data, err := p.data(others, std)
	if err != nil || len(others) == 0 {
		return e, false, nil
	}
	x, err := p.space.Encode(o.Point)
	if err != nil {
		return e, false, nil
	}
	data = data.Nearest(x, fit.Lengthscales, gp.Exactly)
	process, err := process(ctx, p.fidelity, data, fit)
	if ctx.Err() != nil {
		return e, false, context.Cause(ctx)
	}
	if err != nil {
		return e, false, nil
	}
	noise := noiseVariance(o.SD, p.sought().SD(o.Value), std.at(o.Value))
	if math.IsNaN(noise) {
		noise = fit.Noise
		if c := fit.Fidelity; c != nil && c.Noise != nil {
			noise = c.Noise[int(p.fidelity.Source(x))]
		}
	}
	mean, sd := process.Posterior(x)
	scale := std.between(mean, std.transform(o.Value)) // so that the doubt is that of the model
	return events.Expected{
		Experiment: o.Experiment,
		Predicted: events.Prediction{
			Mean: std.untransform(mean),
			SD:   scale * math.Sqrt(sd*sd+noise),
			Unit: p.sought().Unit,
		},
		Noise:        scale * math.Sqrt(noise),
		Spread:       scale,
		Observations: len(others),
	}, true, nil
}

// flag folds the engine's doubt about a measurement, or the verdict on it.
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

// withheld reports whether an observation is kept out of the model for now: it is in doubt, and
// the campaign repeats doubtful measurements.
func (p *Projection) withheld(o *Observation) bool {
	return o.Suspect && p.state.Definition.Outliers.Action == definition.OutlierRepeat
}
