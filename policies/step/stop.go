package step

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Stop completes the campaign where its budget is spent or one of its stopping
// rules is met.
func Stop(def *definition.Campaign, v policies.View, d policies.Decision) policies.Decision {
	if v.Campaign.Spent() >= def.Budget.Experiments {
		return d.Stop(policies.RuleBudget, events.CompletedBudget,
			fmt.Sprintf("All %d experiments have been run.", def.Budget.Experiments))
	}
	if c := v.Campaign.Cost(); c != nil && c.Left() == 0 {
		return d.Stop(policies.RuleBudget, events.CompletedBudget, fmt.Sprintf("The budget of %s is spent: the experiments cost %s.",
			format.SettingIn(c.Budget, c.Unit), format.Quantity(c.Spent, c.Unit)))
	}
	if why := reached(def, v); why != "" {
		return d.Stop(policies.RuleTarget, events.CompletedTarget, why)
	}
	if why := converged(def, v); why != "" {
		return d.Stop(policies.RuleConverged, events.CompletedConverged, why)
	}
	return d
}

// reached says in a sentence how the target is reached; "" where it is not. It is
// compared with the posterior at measured compositions, which noise moves less than
// measurements.
func reached(def *definition.Campaign, v policies.View) string {
	sought := def.Sought()
	if def.Stop.Target != nil && v.Objective() != nil {
		best, err := best(def, v)
		if err == nil && best != nil && best.Confident &&
			sought.Sign()*best.Value.Mean <= sought.Sign()**def.Stop.Target {
			return fmt.Sprintf("The target %g %s is reached: the best composition is expected to give %.4g.",
				*def.Stop.Target, sought.Unit, best.Value.Mean)
		}
	}
	if def.Stop.Reach != nil {
		r, err := seek.ReachedBy(v.Campaign, v.Space, v.Models)
		if err == nil && r != nil {
			return fmt.Sprintf("The target is reached: %s keeps %s with probability %.2f.",
				r.Experiment, strings.Join(def.Stop.Reach, " and "), r.Probability)
		}
	}
	return ""
}

// converged says in a sentence why no further improvement is expected; "" where
// that is not so.
func converged(def *definition.Campaign, v policies.View) string {
	stop := def.Stop
	if stop.Window > 0 {
		if gain, threshold, ok := recentGain(v.Campaign, def); ok && gain <= threshold {
			return fmt.Sprintf("The last %d experiments improved the best result by %.3g %s, less than %.3g.",
				stop.Window, gain, def.Sought().Unit, threshold)
		}
	}
	if window := stop.Hypervolume.Window; window > 0 {
		least := *stop.Hypervolume.Improvement
		if growth, ok := recentGrowth(v, window); ok && growth < least {
			return fmt.Sprintf("The last %d experiments increased the hypervolume of the front by %.2g %%, less than %g %%.",
				window, 100*growth, 100*least)
		}
	}
	gains := v.Campaign.Gains
	if stop.Gain != nil && len(gains) == definition.GainTurns && slices.Max(gains) < *stop.Gain {
		return fmt.Sprintf("Each of the last %d experiments was expected to increase the hypervolume of the front by less than %g %%.",
			len(gains), 100**stop.Gain)
	}
	return ""
}

// recentGrowth returns the relative increase of the front's hypervolume by the latest measured
// experiments, by the models of today. ok is false while there are fewer than two windows of
// them, and where the others cover nothing.
func recentGrowth(v policies.View, window int) (share float64, ok bool) {
	if v.Objective() == nil {
		return 0, false
	}
	p, err := seek.NewProblem(v.Campaign, v.Space, v.Models)
	if err != nil || p == nil || p.Aims == nil {
		return 0, false
	}
	p.Spreads = v.Version2
	s, err := p.Standing()
	if err != nil || len(s.Measured) < 2*window {
		return 0, false
	}
	before := s.Before(window)
	return (s.Hypervolume - before) / before, before > 0
}

// recentGain returns by how much the best of the last Window measurements is
// better than the best before them, and the least gain at which the campaign
// goes on: Improvement times the interquartile range. Measurements that break
// constraints on outcomes do not count. ok is false while there are fewer than two
// windows of them.
func recentGain(s *campaign.State, def *definition.Campaign) (gain, threshold float64, ok bool) {
	sign := def.Sought().Sign()
	var values []float64 // smaller is better
	for x, value := range s.Compared() {
		if s.Keeps(x) != campaign.KeepsNot { // results that break constraints do not count
			values = append(values, sign*value.Value)
		}
	}
	window := def.Stop.Window
	if len(values) < 2*window {
		return 0, 0, false
	}
	before, last := values[:len(values)-window], values[len(values)-window:]
	gain = math.Max(0, slices.Min(before)-slices.Min(last))
	sorted := slices.Sorted(slices.Values(values))
	quartile := func(q float64) float64 {
		h := q * float64(len(sorted)-1)
		i := min(int(h), len(sorted)-2)
		return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
	}
	return gain, *def.Stop.Improvement * (quartile(0.75) - quartile(0.25)), true
}
