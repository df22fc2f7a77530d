package simulate

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Course is how a campaign went: a step for each experiment, in the order they
// were requested, the initial ones included.
type Course []Step

// Step is one experiment and where the campaign stood after it. Values and
// regrets are in the objective's unit; those without noise are the task's truth.
type Step struct {
	// Measured is the result, noise included; nil where the experiment failed.
	Measured *float64 `json:"measured"`
	// True is the noiseless value at the composition.
	True float64 `json:"true"`
	// Best is the best noiseless value at a measured composition so far, Regret
	// how much worse it is than the optimum: simple regret, 0 at best. Before
	// anything was measured both are those of the worst composition.
	Best   float64 `json:"best"`
	Regret float64 `json:"regret"`
	// Cumulative is the sum of the regrets of all compositions so far.
	Cumulative float64 `json:"cumulative"`
	// Recommended is the regret of the composition that the campaign itself would
	// name as its best: the one with the best posterior mean.
	Recommended float64 `json:"recommended"`
	// Asked counts the questions put so far; examples given unasked are not among
	// them.
	Asked int `json:"asked"`
	// Trust is the mean over the experts of the dual variable λ when the
	// experiment was chosen; nil where there is none.
	Trust *float64 `json:"trust,omitempty"`
	// Source is "log" or "surrogate" where a store's task answered, else empty.
	Source string `json:"source,omitempty"`
}

// follow folds a campaign's log into its course.
func follow(ctx context.Context, log events.Log, name string, truth Truth) (Course, error) {
	core := engine.NewCore()
	var trust []*float64        // by experiment
	var recommended []float64   // regret, by the number of experiments that have ended
	recommend := func() error { // where the campaign stands now
		s := core.State()
		ended := s.Count(campaign.Measured, campaign.Failed, campaign.Cancelled)
		if ended == 0 {
			return nil
		}
		regret := truth.Regret(truth.Worst)
		summary, err := core.Summarize()
		if err != nil {
			return err
		}
		if summary.Best != nil {
			value, err := truth.Value(summary.Best.Parameters)
			if err != nil {
				return err
			}
			regret = truth.Regret(value)
		}
		for len(recommended) < ended {
			recommended = append(recommended, regret)
		}
		recommended[ended-1] = regret
		return nil
	}
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return nil, err
		}
		if err := core.Apply(e); err != nil {
			return nil, err
		}
		switch e.Kind {
		case events.KindExperimentRequested:
			trust = append(trust, meanTrust(core.State()))
		case events.KindExperimentMeasured, events.KindExperimentFailed, events.KindDecisionMade:
			// After a result with the fit before it, where no other follows; once
			// more with the decision, which the next fit precedes.
			if err := recommend(); err != nil {
				return nil, err
			}
		}
	}
	if err := recommend(); err != nil {
		return nil, err
	}
	return steps(core.State(), truth, trust, recommended)
}

func steps(s *campaign.State, truth Truth, trust []*float64, recommended []float64) (Course, error) {
	course := make(Course, len(s.Experiments))
	best, cumulative := truth.Worst, 0.0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		point := x.Parameters
		step := &course[i]
		if m := x.Measurement; m != nil {
			point, step.Measured = m.Actual, &m.Objective.Value
			step.Source = source(m.Identity)
		}
		value, err := truth.Value(point)
		if err != nil {
			return nil, err
		}
		if x.Measurement != nil && truth.Regret(value) < truth.Regret(best) {
			best = value
		}
		cumulative += truth.Regret(value)
		step.True, step.Best, step.Regret, step.Cumulative = value, best, truth.Regret(best), cumulative
		step.Trust = trust[i]
		step.Recommended = math.Abs(truth.Regret(truth.Worst))
		if n := len(recommended); n > 0 {
			step.Recommended = recommended[min(i, n-1)]
		}
		for k := range s.Questions {
			if q := &s.Questions[k]; !q.Volunteered && q.Experiments <= i {
				step.Asked++
			}
		}
	}
	return course, nil
}

// source is where a store's task found a result, by the measurement's identity.
func source(identity string) string {
	first, _, _ := strings.Cut(identity, " ")
	if first == fromLog || first == fromSurrogate {
		return first
	}
	return ""
}

func meanTrust(s *campaign.State) *float64 {
	if len(s.Trust) == 0 {
		return nil
	}
	sum := 0.0
	for _, t := range s.Trust {
		sum += t.Lambda
	}
	mean := sum / float64(len(s.Trust))
	return &mean
}

// stopwatch is the meter of a campaign: how long it took to suggest each
// experiment, fits and questions before it included. It reads the clock of the
// machine, and nothing else does.
type stopwatch struct {
	pending time.Duration
	seconds []float64
}

// Trace implements engine.Meter.
func (w *stopwatch) Trace(parent, _ string) (string, func(error)) { return parent, func(error) {} }

// Took implements engine.Meter.
func (w *stopwatch) Took(what string, d time.Duration) {
	if what == "fit" || what == "decision" {
		w.pending += d
	}
}

// Happened implements engine.Meter.
func (w *stopwatch) Happened(e events.Event) {
	if e.Kind == events.KindExperimentRequested {
		w.seconds = append(w.seconds, w.pending.Seconds())
		w.pending = 0
	}
}
