package preference

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/coexbo"
	"github.com/campaignd/campaignd/internal/num/copeland"
	"github.com/campaignd/campaignd/internal/num/pairgp"
)

// scored is how many compositions stand for the space: opponents where it is not a box, and the
// scale of the scores.
const scored = 256

// comparisons are the expert's pairwise choices in the unit cube.
func (m *Model) comparisons() []pairgp.Comparison {
	list := make([]pairgp.Comparison, len(m.Winners))
	for i := range list {
		list[i] = pairgp.Comparison{Chosen: m.Winners[i], Other: m.Losers[i]}
	}
	return list
}

// fitChoice fits the classifier of pairs and the two quadratures of its score.
func (m *Model) fitChoice(
	ctx context.Context, last *events.PreferenceFit, seed uint64,
) (events.PreferenceFit, error) {
	cfg := pairgp.FitConfig{Seed: seed}
	stages := copeland.FitConfig{Spread: m.spread}
	if last != nil {
		warm := classifierHyper(*last)
		cfg.Warm = &warm
		second := quadratureHyper(*last, m.spread)
		stages.Warm = &second
	}
	first, err := pairgp.Fit(ctx, m.comparisons(), cfg)
	if err != nil {
		return events.PreferenceFit{}, err
	}
	classifier, err := pairgp.New(m.comparisons(), first.Hyper)
	if err != nil {
		return events.PreferenceFit{}, err
	}
	second, err := copeland.Fit(ctx, classifier, stages)
	if err != nil {
		return events.PreferenceFit{}, fmt.Errorf("the score: %w", err)
	}
	return events.PreferenceFit{
		Form: events.PreferenceChoice, Kernel: "rbf", Lengthscales: first.Hyper.Lengthscales,
		OutputScale: first.Hyper.OutputScale,
		Mean:        first.Hyper.Mean, AlphaEps: first.Hyper.AlphaEps, LogEvidence: first.LogPosterior,
		Comparisons: len(m.Winners),
		Score:       stageFit(second.Score.Hyper), Spread: stageFit(second.Variance.Hyper),
		Evaluations: first.Evaluations + second.Score.Evaluations + second.Variance.Evaluations,
	}, nil
}

func stageFit(h copeland.Hyper) *events.StageFit {
	return &events.StageFit{Lengthscales: h.Lengthscales, OutputScale: h.OutputScale, Noise: h.Noise}
}

func classifierHyper(fit events.PreferenceFit) pairgp.Hyper {
	return pairgp.Hyper{Lengthscales: fit.Lengthscales, OutputScale: fit.OutputScale,
		Mean: fit.Mean, AlphaEps: fit.AlphaEps}
}

func quadratureHyper(fit events.PreferenceFit, spread copeland.Spread) copeland.ModelHyper {
	stage := func(s *events.StageFit) copeland.Hyper {
		return copeland.Hyper{Lengthscales: s.Lengthscales, OutputScale: s.OutputScale, Noise: s.Noise}
	}
	return copeland.ModelHyper{Score: stage(fit.Score), Variance: stage(fit.Spread), Spread: spread}
}

// buildChoice builds the models of the choice form from the fit.
func (m *Model) buildChoice() (err error) {
	if m.Choice, err = pairgp.New(m.comparisons(), classifierHyper(m.Fit)); err != nil {
		return err
	}
	sample, err := m.sample()
	if err != nil {
		return err
	}
	var measure copeland.Measure = copeland.Box{}
	if !m.space.Box() {
		if measure, err = copeland.NewPoints(sample, nil); err != nil {
			return err
		}
	}
	if m.Score, err = copeland.New(m.Choice, measure, quadratureHyper(m.Fit, m.spread)); err != nil {
		return err
	}
	predictor := m.Score.NewPredictor()
	m.Sampled = make([]float64, len(sample))
	for i, x := range sample {
		m.Sampled[i], _ = predictor.At(x, nil, nil)
	}
	m.Sample = sample
	m.Scaling = coexbo.NewScaling(m.Sampled, 0, 1)
	return nil
}

// sampleSeed is that of the compositions which stand for the space: the same
// ones as long as the campaign lasts.
const sampleSeed = 1

// sample returns compositions of the space in the unit cube.
func (m *Model) sample() ([][]float64, error) {
	points, err := m.space.Sample(scored, sampleSeed)
	if err != nil {
		return nil, err
	}
	list := make([][]float64, len(points))
	for i, p := range points {
		if list[i], err = m.space.Encode(p); err != nil {
			return nil, err
		}
	}
	return list, nil
}
