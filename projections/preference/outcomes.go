package preference

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/bope"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/projections"
)

// Compared is an expert's choice between outcomes.
type Compared struct {
	// Question is the question's identifier.
	Question string           `json:"question"`
	Outcomes []events.Outcome `json:"outcomes"`
	// Order lists outcomes from the best to the worst.
	Order []int `json:"order"`
}

// compare takes an answer to a choice between outcomes into account, in place of
// an earlier one to the same question; "can't tell" only takes that away. What was
// shown counts: a measurement that is corrected later leaves a choice as it was.
func (p *Projection) compare(expert, question string, outcomes []events.Outcome, a events.Answer) {
	x := p.expert(expert)
	same := func(c Compared) bool { return c.Question == question }
	if i := slices.IndexFunc(x.Compared, same); i >= 0 {
		x.Compared = slices.Delete(x.Compared, i, i+1)
		x.Revision++
	}
	if len(a.Order) > 0 {
		of := func(c Compared) int { return events.QuestionNumber(c.Question) }
		x.Compared = projections.InOrder(x.Compared, Compared{question, outcomes, a.Order}, of)
		x.Revision++
	}
	delete(p.cache, expert)
}

// standardize keeps how outcomes are standardized: that of the first question
// about the quantities that the campaign seeks.
func (p *Projection) standardize(standard []events.OutcomeScale) {
	over := p.state.Definition.Preferred()
	of := func(s events.OutcomeScale, name string) bool { return s.Quantity == name }
	if slices.EqualFunc(p.state.Standard, over, of) || !slices.EqualFunc(standard, over, of) {
		return
	}
	p.state.Standard = standard
	clear(p.cache)
}

// Outcomes is the knowledge of an expert's utility of outcomes before it is fitted to measurements:
// their choices and hyperparameters. Outcomes are vectors of standardized quantities, in the order
// of the definition's objective; utilities are in standard deviations of the expert's judgment, and
// greater is better.
type Outcomes struct {
	// Standard is how quantities are standardized.
	Standard []events.OutcomeScale
	// Better are the directions that the definition declares.
	Better []bope.Better
	// Duels are the expert's choices.
	Duels pref.Duels
	// OutputScale is the prior variance of the utility's deviation from a linear
	// one.
	OutputScale float64

	hyper pref.Hyper
}

// judgment is the noise variance of an expert's judgment of an outcome: the unit
// of utilities.
const judgment = 1

// NewOutcomes is the knowledge before the first choice: the most probable hyperparameters a priori,
// and nothing but directions.
func NewOutcomes(def *definition.Campaign, standard []events.OutcomeScale) *Outcomes {
	cfg := bope.FitConfig(judgment)
	o := &Outcomes{Standard: standard, hyper: pref.Hyper{
		Lengthscales: slices.Repeat([]float64{math.Exp(cfg.Prior.Mu)}, len(standard)),
		OutputScale:  cfg.OutputScale, Slope: cfg.Slope,
	}}
	o.OutputScale = o.hyper.OutputScale
	for _, s := range standard {
		better := bope.Undeclared
		if q := def.Quantity(s.Quantity); q != nil {
			switch q.Better {
			case definition.BetterHigher:
				better = bope.Greater
			case definition.BetterLower:
				better = bope.Smaller
			}
		}
		o.Better = append(o.Better, better)
	}
	return o
}

// Point is an outcome without units, nil where some value has none, or is not there: a price
// by a formula may have no value at a composition.
func (o *Outcomes) Point(values []definition.Quantity) []float64 {
	if len(values) != len(o.Standard) {
		return nil
	}
	y := make([]float64, len(o.Standard))
	for i, s := range o.Standard {
		y[i] = s.Standardized(values[i].Value)
		if math.IsNaN(y[i]) || math.IsInf(y[i], 0) {
			return nil
		}
	}
	return y
}

// Utility is the posterior of the utility, by expectation propagation. known are outcomes beyond
// those that were compared: declared directions are applied at the best of all in each quantity,
// and in the middle of them.
func (o *Outcomes) Utility(ctx context.Context, known [][]float64) (*pref.Posterior, error) {
	k, err := o.hyper.Kernel("rbf", len(o.Standard))
	if err != nil {
		return nil, err
	}
	duels := bope.Declare(o.Duels, o.extremes(known), o.Better, bope.Certain)
	result, err := pref.EP(ctx, duels, pref.Probit, k, pref.EPConfig{})
	if err != nil {
		return nil, err
	}
	return result.Posterior, nil
}

// extremes are the outcomes at which declared directions are said: the middle, and
// of those compared and known the best in each quantity with a direction.
func (o *Outcomes) extremes(known [][]float64) [][]float64 {
	all := slices.Concat(o.Duels.X, known)
	out := [][]float64{make([]float64, len(o.Standard))}
	for j, better := range o.Better {
		if better == bope.Undeclared || len(all) == 0 {
			continue
		}
		best := all[0]
		for _, y := range all[1:] {
			if float64(better)*(y[j]-best[j]) > 0 {
				best = y
			}
		}
		if !slices.ContainsFunc(out, func(y []float64) bool { return slices.Equal(y, best) }) {
			out = append(out, best)
		}
	}
	return out
}

// outcomes is the model of an expert's choices so far; nil where outcomes have no standard yet.
// Choices between outcomes of other quantities, from before an amendment, do not count.
func (p *Projection) outcomes(x *Expert) (*Outcomes, error) {
	def := p.state.Definition
	names := def.Preferred()
	of := func(s events.OutcomeScale, name string) bool { return s.Quantity == name }
	if len(names) == 0 || !slices.EqualFunc(p.state.Standard, names, of) {
		return nil, nil
	}
	o := NewOutcomes(def, p.state.Standard)
	var winners, losers [][]float64
	for _, c := range x.Compared {
		if len(c.Outcomes) != 2 || !c.Outcomes[0].Of(names) || !c.Outcomes[1].Of(names) {
			continue
		}
		best := c.Order[0]
		winner, loser := o.Point(c.Outcomes[best].Quantities), o.Point(c.Outcomes[1-best].Quantities)
		if winner == nil || loser == nil || slices.Equal(winner, loser) {
			continue
		}
		winners, losers = append(winners, winner), append(losers, loser)
	}
	var err error
	o.Duels, err = pref.NewDuels(winners, losers, func([]float64) float64 { return judgment })
	if err == nil && x.Fit != nil {
		o.hyper = pref.Hyper{
			Lengthscales: x.Fit.Lengthscales, OutputScale: x.Fit.OutputScale, Slope: x.Fit.Slope,
		}
		o.OutputScale = x.Fit.OutputScale
	}
	return o, err
}

// modelOutcomes is the model of the outcomes form. It is there before the first
// fit, at the most probable hyperparameters: the first questions are asked by it.
func (p *Projection) modelOutcomes(m *Model, x *Expert) (*Model, error) {
	var err error
	if m.Outcomes, err = p.outcomes(x); err != nil || m.Outcomes == nil {
		return nil, err
	}
	if x.Fit != nil {
		m.Fit = *x.Fit
	}
	p.cache[x.Name] = m
	return m, nil
}

// fitOutcomes maximizes the posterior of the hyperparameters, beginning with those
// of the last fit, too. Declared directions count as judgments as noisy as a
// person's, since the evidence of certain ones is not to be had (package bope).
func (p *Projection) fitOutcomes(
	ctx context.Context, x *Expert, seed uint64,
) (events.PreferenceFit, error) {
	o, err := p.outcomes(x)
	if err != nil {
		return events.PreferenceFit{}, err
	}
	if o == nil || o.Duels.Len() == 0 {
		return events.PreferenceFit{}, errNoComparison
	}
	cfg := bope.FitConfig(judgment)
	cfg.Seed = seed
	if x.Fit != nil {
		cfg.Warm = &o.hyper
	}
	result, err := pref.Fit(ctx, bope.Declare(o.Duels, o.extremes(nil), o.Better, judgment), cfg)
	if err != nil {
		return events.PreferenceFit{}, fmt.Errorf("the preferences of %s: %w", x.Name, err)
	}
	return events.PreferenceFit{
		Form: events.PreferenceOutcomes, Kernel: "rbf",
		Lengthscales: result.Hyper.Lengthscales, OutputScale: result.Hyper.OutputScale, Slope: result.Hyper.Slope,
		LogEvidence: result.LogPosterior, Comparisons: o.Duels.Len(), Evaluations: result.Evaluations,
	}, nil
}

// staleOutcomes reports whether hyperparameters are to be fitted anew: with n
// choices, once a fifth as many have changed. The posterior at the old ones has
// the new choices at once.
func (x *Expert) staleOutcomes() bool {
	return len(x.Compared) > 0 && (x.Revision-x.FitRevision)*outcomesRefitEvery >= len(x.Compared)
}

const outcomesRefitEvery = 5
