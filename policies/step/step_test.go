package step

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/feasibility"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

func at(a, b float64) definition.Point {
	return definition.Point{"a": definition.Number(a), "b": definition.Number(b)}
}

// Law: while there is no model a step is a point of a design, and says so; where there is one
// that cannot be used it says why. What goes wrong in a step is such a reason, a cancelled
// context is an error.
func TestStepWithoutModel(t *testing.T) {
	s := square(t, nil, campaign.Measured)
	s.Def.Budget.Experiments = 9
	wrong := errors.New("it is singular")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		change func(*policies.View)
		says   string // behind the name of the design; empty: it fails
	}{
		{"none yet", t.Context(), func(v *policies.View) { v.Models = nil }, " There is no model of the objective yet."},
		{"an unusable one", t.Context(), func(v *policies.View) { v.Models = quantity.Models{{Err: wrong}} }, " The model cannot be used: it is singular."},
		{"of what is feasible", t.Context(), func(v *policies.View) { v.FeasibilityError = wrong }, " The model cannot be used: it is singular."},
		{"an experiment without a composition", t.Context(), func(v *policies.View) {
			state := *v.Campaign
			state.Experiments = []campaign.Experiment{{Status: campaign.Dispatched, Parameters: definition.Point{}}}
			v.Campaign = &state
		}, ""},
		{"cancelled", cancelled, func(v *policies.View) { v.FeasibilityError = wrong }, ""},
	} {
		view := s.View
		c.change(&view)
		m := Modeled{Def: s.Def}
		d, err := m.Decide(c.ctx, view, policies.Decision{})
		if c.says == "" {
			if err == nil || d.Made() {
				t.Errorf("%s: it is to %s %q (%s), %v", c.name, d.Action, d.Chosen, d.Reason, err)
			}
			continue
		}
		if want := "Point 1 of the sobol design." + c.says; err != nil || d.Rule != policies.RuleDesign || d.Chosen != policies.Design || d.Reason != want {
			t.Errorf("%s: %q by %q: %q, %v; want %q", c.name, d.Chosen, d.Rule, d.Reason, err, want)
		}
	}
}

// Law: an experiment whose composition the space does not know is an error of whoever asks what
// candidates keep away from, and no reason to keep away from nothing.
func TestAvoidedIsKnown(t *testing.T) {
	s := square(t, nil, campaign.Measured, [2]float64{0.5, 0.5})
	measured := &events.Measurement{}
	for _, x := range []campaign.Experiment{
		{Status: campaign.Dispatched}, {Status: campaign.Infeasible}, {Status: campaign.Measured, Measurement: measured},
	} {
		x.Parameters = definition.Point{"a": definition.Number(0.5)}
		s.View.Campaign.Experiments = []campaign.Experiment{x}
		if a, err := avoided(s.View); !errors.Is(err, space.ErrOutside) {
			t.Errorf("%s: %+v, %v", x.Status, a, err)
		}
	}
}

// Law: a decision to measure where failures make it less than nine in ten that there will be a
// result says so, with the probability and what it rests on. A question measures nothing, and
// where nothing is in question nothing is said.
func TestLikelihoodOfAResult(t *testing.T) {
	s := square(t, nil, campaign.Measured, [2]float64{0.9, 0.9}, [2]float64{0.8, 0.7}, [2]float64{0.7, 0.9}, [2]float64{0.1, 0.1}, [2]float64{0.15, 0.1})
	wanted := true
	s.Def.Model.Feasibility = &wanted
	for i := range s.View.Campaign.Experiments {
		x := &s.View.Campaign.Experiments[i]
		x.Measurement = &events.Measurement{Actual: x.Parameters}
	}
	for i, status := range map[int]campaign.ExperimentStatus{3: campaign.Infeasible, 4: campaign.Failed} {
		x := &s.View.Campaign.Experiments[i]
		x.Status, x.Measurement = status, nil
	}
	var err error
	if s.View.Feasibility, err = feasibility.New(t.Context(), s.View.Campaign, s.View.Space); err != nil || s.View.Feasibility == nil {
		t.Fatal(s.View.Feasibility, err)
	}
	doubtful, sure := at(0.12, 0.1), at(0.85, 0.85)
	probability := func(p definition.Point) float64 {
		x := must.Get(s.View.Space.Encode(p))(t)
		return s.View.Feasibility.Probability(x)
	}
	if low, high := probability(doubtful), probability(sure); !(low < 0.9 && high >= 0.9) {
		t.Fatalf("the probabilities are %v and %v", low, high)
	}
	decision := func(p definition.Point) policies.Decision {
		var d policies.Decision
		d.Candidates = []events.Candidate{{Name: policies.Unaided, Parameters: p}}
		return d
	}
	run := func(p definition.Point) policies.Decision {
		return decision(p).Run(policies.Unaided, policies.RuleUnaided, "It is best.")
	}
	ask := decision(doubtful).Ask(events.FormLabel, "ada", policies.RuleAsk, "It is best.", "?")
	ask.Chosen = policies.Unaided
	said := fmt.Sprintf("It is best. It gives a result with probability %.2f, judging by 1 experiments that could not be done and 1 that failed.",
		probability(doubtful))
	for _, c := range []struct {
		name string
		d    policies.Decision
		want string
	}{
		{"doubtful", run(doubtful), said}, {"sure", run(sure), "It is best."}, {"a question", ask, "It is best."},
		{"nothing chosen", policies.Decision{}.Stop(policies.RuleBudget, events.CompletedBudget, "It is best."), "It is best."},
	} {
		if d, err := s.likelihood(c.d); err != nil || d.Reason != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, d.Reason, err, c.want)
		}
	}
	s.View.Feasibility = nil
	if d, err := s.likelihood(run(doubtful)); err != nil || d.Reason != "It is best." {
		t.Errorf("without a model of what is feasible: %q, %v", d.Reason, err)
	}
}

// Law: a campaign ends when its budget is spent, or when the best of the last window is better
// than the best before it by no more than the share of the interquartile range that it asks
// for. It needs two windows for that; an excluded measurement is none. What is better depends
// on the goal.
func TestStop(t *testing.T) {
	third := 1.0 / 3
	for _, goal := range []string{definition.Minimize, definition.Maximize} {
		sign := 1.0
		if goal == definition.Maximize {
			sign = -1
		}
		for _, c := range []struct {
			name        string
			window      int
			improvement float64
			values      []float64 // smaller is better
			rule        string    // empty: it goes on
		}{
			{"no window", 0, 0, []float64{5, 5, 5, 5}, ""},
			{"no gain", 2, 0, []float64{5, 4, 4, 4.5}, policies.RuleConverged},
			{"a worse window", 2, 0, []float64{1, 2, 3, 4}, policies.RuleConverged},
			{"any gain", 2, 0, []float64{5, 4, 4, 3.99}, ""},
			{"too few", 2, 0, []float64{5, 4, 4}, ""},
			// Quartiles of 0, 1, 3, 4, by linear interpolation: 0.75 and 3.25, 2.5 apart.
			{"a gain of 1, and 1.25 asked for", 2, 0.5, []float64{4, 1, 3, 0}, policies.RuleConverged},
			{"a gain of 1, and 0.83 asked for", 2, third, []float64{4, 1, 3, 0}, ""},
			{"a gain of 1, and 0.975 asked for", 2, 0.39, []float64{4, 1, 3, 0}, ""},
			{"a gain of 1, and 1.025 asked for", 2, 0.41, []float64{4, 1, 3, 0}, policies.RuleConverged},
			{"a gain of 1, and 1 asked for", 2, 0.4, []float64{4, 1, 3, 0}, policies.RuleConverged},
			{"the budget is spent", 2, 0, []float64{5, 4, 4, 4, 4, 4, 4, 4, 4}, policies.RuleBudget},
		} {
			s := square(t, nil, campaign.Measured)
			s.Def.Objective.Goal, s.Def.Budget.Experiments = goal, 9
			s.Def.Stop = definition.Stop{Window: c.window, Improvement: &c.improvement}
			state := s.View.Campaign
			for i, value := range c.values {
				m := events.Measurement{Objective: definition.Quantity{Value: sign * value}}
				state.Experiments = append(state.Experiments, campaign.Experiment{ID: fmt.Sprintf("e%d", i+1), Status: campaign.Measured, Measurement: &m})
			}
			left := s.View
			left.Models = nil
			d := Stop(s.Def, left, policies.Decision{})
			if d.Rule != c.rule || d.Made() != (c.rule != "") {
				t.Errorf("%s, %s: it is to %s by %q (%s), want %q", goal, c.name, d.Action, d.Rule, d.Reason, c.rule)
			}
			if c.rule != policies.RuleConverged {
				continue
			}
			// One of the first measurements is excluded: there are two windows no longer.
			state.Experiments[0].Excluded = true
			if d := Stop(s.Def, left, policies.Decision{}); d.Made() {
				t.Errorf("%s, %s, without the first: it is to %s by %q", goal, c.name, d.Action, d.Rule)
			}
		}
	}
}

// Law: a target is judged by the model alone: without one the campaign goes on,
// whatever was measured.
func TestStopAtTargetNeedsAModel(t *testing.T) {
	s := square(t, nil, campaign.Measured)
	s.Def.Budget.Experiments = 9
	target := 1.0
	s.Def.Stop = definition.Stop{Target: &target}
	state := s.View.Campaign
	state.Experiments = append(state.Experiments, campaign.Experiment{
		ID: "e1", Status: campaign.Measured,
		Measurement: &events.Measurement{Objective: definition.Quantity{Value: -5}},
	})
	left := s.View
	left.Models = nil
	if d := Stop(s.Def, left, policies.Decision{}); d.Made() {
		t.Errorf("it is to %s by %q (%s)", d.Action, d.Rule, d.Reason)
	}
}

// Law: a design of the policy skips what has been tried, and ends where all of a list has; what
// was called off has not been tried.
func TestDesignSkipsWhatWasTried(t *testing.T) {
	list := []definition.Point{at(0, 0), at(0.5, 0.5), at(1, 1)}
	s := square(t, nil, campaign.Measured)
	s.Def.Candidates, s.Def.Budget.Experiments = list, 9
	var err error
	if s.View.Space, err = space.New(*s.Def); err != nil {
		t.Fatal(err)
	}
	var kept Drawn // by both kinds in turn
	for _, kind := range []string{definition.DesignSobol, definition.DesignRandom} {
		state := &campaign.State{Definition: s.Def}
		s.View.Campaign = state
		for i := range list {
			d, err := Design(s.Def, s.View, policies.Decision{}, kind, " So it is.")
			if same, err := kept.Design(s.Def, s.View, policies.Decision{}, kind, " So it is."); err != nil || !reflect.DeepEqual(same, d) {
				t.Errorf("with the points kept it is %+v, %v, drawn anew %+v", same, err, d)
			}
			if want := fmt.Sprintf("Point %d of the %s design. So it is.", i+1, kind); err != nil || d.Reason != want {
				t.Fatalf("%q, %v, want %q", d.Reason, err, want)
			}
			off := campaign.Experiment{Status: campaign.Cancelled, Parameters: d.Candidate().Parameters}
			state.Experiments = append(state.Experiments, off)
			if again, err := Design(s.Def, s.View, policies.Decision{}, kind, ""); err != nil || !strings.HasPrefix(d.Reason, again.Reason) {
				t.Errorf("%s: after it was cancelled it is %q, %v", kind, again.Reason, err)
			}
			state.Experiments[len(state.Experiments)-1].Status = campaign.Failed
		}
		slices.Reverse(state.Experiments) // in whichever order they were tried
		if d, err := Design(s.Def, s.View, policies.Decision{}, kind, ""); err != nil || d.Rule != policies.RuleExhausted || d.Completed.Reason != events.CompletedExhausted {
			t.Errorf("%s: when all was tried it is to %s by %q, %v", kind, d.Action, d.Rule, err)
		}
	}
}
