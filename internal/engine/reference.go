package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// nextReference requests a reference experiment that is due, before anything else is begun. It takes
// the place of an experiment under way, and nothing of the budget: without any left there is nothing
// that it could be a reference for.
func nextReference(c Now) (Step, error) {
	if c.Count(campaign.Unresolved) > 0 || underWay(c.State) >= c.Definition.Parallel || c.Left() <= 0 {
		return nil, nil
	}
	for _, r := range c.Definition.References() {
		n, last := c.ReferencesOf(r.Composition)
		if !isDue(c, r, last) || c.space.Contains(r.Composition) != nil {
			continue
		}
		if step := timeIsUp(c); step != nil {
			return step, nil
		}
		return record(&events.ExperimentRequested{
			Experiment: events.ExperimentID(len(c.Experiments) + 1), Parameters: r.Composition,
			Origin: events.OriginReference, Replicate: n + 1,
		})
	}
	return nil, nil
}

// isDue reports whether a reference is to be measured again. Whatever became of the last one, it was
// the last: an instrument that fails it would otherwise be given it for ever.
func isDue(c Now, r definition.ReferenceExperiment, last *campaign.Experiment) bool {
	switch {
	case last == nil:
		return true
	case last.Status.Open():
		return false
	}
	return r.Every > 0 && c.CountedSince(last) >= r.Every || r.Within > 0 && !c.Now.Before(until(r, last))
}

// until is the time from which on a reference is due, by the times of events alone.
func until(r definition.ReferenceExperiment, last *campaign.Experiment) time.Time {
	return last.RequestedAt.Add(time.Duration(r.Within))
}

// referenceDue is the next time at which a reference becomes due; zero for none. One that has passed
// waits for room, which something under way gives.
func referenceDue(c Now) (first time.Time) {
	if c.Status != campaign.Running {
		return first
	}
	for _, r := range c.Definition.References() {
		_, last := c.ReferencesOf(r.Composition)
		if r.Within == 0 || last == nil || last.Status.Open() {
			continue
		}
		if at := until(r, last); at.After(c.Now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// nextDrift says that a reference experiment is outside the limits of its control charts, and pauses a
// campaign whose definition asks for that. No person can look at one in memory.
func nextDrift(c Now) (Step, error) {
	for _, d := range c.Drifts() {
		flag := c.Experiment(d.Experiment).Flag
		switch {
		case d.Known:
		case flag == nil || flag.Verdict != events.VerdictDrift:
			return record(drifted(c.State, d))
		case c.Status == campaign.Running && !c.Eager && c.Definition.ReferenceExperiments[d.Reference].Pause:
			return record(&events.CampaignPaused{Reason: fmt.Sprintf(
				"%s, a reference experiment, is outside its limits: %s See to the instrument", d.Experiment, flag.Reason)})
		}
	}
	return nil, nil
}

// drifted is the engine's word on a reference experiment, with all of its quantities that are outside
// of their limits.
func drifted(s *campaign.State, first campaign.Drift) *events.MeasurementFlagged {
	var texts []string
	for _, d := range s.Drifts() {
		if d.Experiment == first.Experiment {
			texts = append(texts, fmt.Sprintf("%s is %s, outside of %s to %s", d.Name(s.Definition),
				format.Quantity(d.Value, d.Unit), format.Short(d.Limits.Lower), format.Short(d.Limits.Upper)))
		}
	}
	flag := &events.MeasurementFlagged{
		Experiment: first.Experiment, Verdict: events.VerdictDrift,
		Predicted: events.Prediction{Mean: first.Limits.Center, SD: first.Limits.Sigma(), Unit: first.Unit},
		Deviation: (first.Value - first.Limits.Center) / first.Limits.Sigma(),
		Reason:    strings.Join(texts, "; ") + ".",
	}
	if s.Definition.Several() {
		flag.Quantity = first.Quantity
	}
	return flag
}
