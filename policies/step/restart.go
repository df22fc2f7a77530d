package step

import (
	"context"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A model whose lengthscales are too long is sure of a space that it has hardly seen: a
// campaign then measures one basin until its budget is spent, and learns nothing that would
// contradict. So once several turns have improved nothing, every second one is chosen by a
// model with shorter lengthscales, until something improves; the others by the fitted one. That
// is a balance of lengthscales (Ziomek, Adachi and Osborne 2024), which no-regret bounds for
// lengthscales that are not known rest on (Berkenkamp, Schoellig and Krause 2019). Towards the
// end of the budget none is: too few experiments are left to follow up its findings.
const (
	patience    = 5    // turns without an improvement
	improvement = 0.01 // of the best posterior mean, in standard deviations of the results
	shorter     = 0.5  // the lengthscales, by the fitted ones
)

// restart sets the model that the unaided candidate is chosen by where it is
// one with shorter lengthscales. Spent and turns are counted from the log, so
// that a campaign that is taken up again balances as it did.
func (s *Step) restart(ctx context.Context) error {
	rule, balances := s.Rule.(next.Balancer)
	if !balances || float64(s.View.Campaign.Spent()) >= rule.BalancesUntil()*float64(s.Def.Budget.Experiments) {
		return nil
	}
	last, idle := s.stale()
	if idle < patience || (s.View.Campaign.Turns-last-patience)%2 != 0 {
		return nil
	}
	m, err := s.Measured.Rougher(ctx, shorter)
	if err != nil {
		return err
	}
	s.rougher, err = m.Fantasize(ctx, s.avoid.underWay)
	s.idle = idle
	return err
}

// stale returns the latest turn that improved the best posterior mean, 0 for none, and how many
// turns have been measured since. A result that measurably breaks constraints on outcomes
// improves nothing. A turn cheaper than the target cannot improve, and does not count as one
// that failed to. Experiments of no turn, such as the initial design, count as known before.
// Observations come in the order of their measurement.
func (s *Step) stale() (last, turns int) {
	best, latest := 0.0, 0
	for i, mean := range s.Measured.Means() {
		turn, counts := 0, true
		if x := s.View.Campaign.Experiment(s.Measured.Observations[i].Experiment); x != nil {
			turn, counts = x.Turn, s.View.Campaign.Keeps(x) != campaign.KeepsNot
		}
		isResult := s.Measured.IsResult(i)
		counts = counts && isResult
		switch {
		case i == 0 && !counts:
			best = math.Inf(1)
		case counts && (i == 0 || mean < best-improvement):
			best = mean
			last = max(last, turn)
			turns = 0
		case isResult && turn > max(last, latest):
			turns++
		}
		latest = max(latest, turn)
	}
	return last, turns
}

// Restarts reports whether the unaided candidate is chosen by a model with
// shorter lengthscales.
func (s *Step) Restarts() bool { return s.rougher != nil }

// Because says in a sentence why the unaided candidate is the one it is.
func (s *Step) Because() string {
	if s.rougher == nil {
		return "It has " + s.Rule.Rationale() + "."
	}
	return fmt.Sprintf(
		"The last %d turns improved nothing: this one is chosen by a model with lengthscales half as long, "+
			"which expects more where nothing was measured. By that it has %s.",
		s.idle,
		s.Rule.Rationale(),
	)
}
