package step

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Stop completes the campaign where its budget is spent or its stopping rule is
// met. The target is compared with the posterior mean of the best composition,
// which noise moves less than its best measurement.
func Stop(def *definition.Campaign, v policies.View, d policies.Decision) policies.Decision {
	if v.Campaign.Spent() >= def.Budget.Experiments {
		return d.Stop(policies.RuleBudget, events.CompletedBudget,
			fmt.Sprintf("All %d experiments have been run.", def.Budget.Experiments))
	}
	sought := def.Sought()
	if def.Stop.Target != nil && v.Objective != nil {
		best, err := best(def, v)
		if err == nil && best != nil && best.Confident &&
			sought.Sign()*best.Value.Mean <= sought.Sign()**def.Stop.Target {
			return d.Stop(policies.RuleTarget, events.CompletedTarget,
				fmt.Sprintf("The target %g %s is reached: the best composition is expected to give %.4g.",
					*def.Stop.Target, sought.Unit, best.Value.Mean))
		}
	}
	if def.Stop.Reach != nil {
		reached, err := outcome.ReachedBy(v.Campaign, v.Space, v.Objective, v.Outcomes)
		if err == nil && reached != nil {
			return d.Stop(policies.RuleTarget, events.CompletedTarget,
				fmt.Sprintf("The target is reached: %s keeps %s with probability %.2f.",
					reached.Experiment, strings.Join(def.Stop.Reach, " and "), reached.Probability))
		}
	}
	if def.Stop.Window > 0 {
		if gain, threshold, ok := recentGain(v.Campaign, def); ok && gain <= threshold {
			return d.Stop(policies.RuleConverged, events.CompletedConverged,
				fmt.Sprintf("The last %d experiments improved the best result by %.3g %s, less than %.3g.",
					def.Stop.Window, gain, sought.Unit, threshold))
		}
	}
	return d
}

// recentGain returns by how much the best of the last Window measurements is
// better than the best before them, and the least gain at which the campaign
// goes on: Improvement times the interquartile range. ok is false while there
// are fewer than two windows of measurements.
func recentGain(s *campaign.State, def *definition.Campaign) (gain, threshold float64, ok bool) {
	sign := def.Sought().Sign()
	var values []float64 // smaller is better
	for _, value := range s.Results() {
		values = append(values, sign*value.Value)
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
