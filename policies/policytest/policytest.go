// Package policytest holds the laws every policy obeys: [All] checks them at
// every decision of a campaign, [Run] at one.
package policytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
)

// All checks the laws at each view of a campaign with the seed that its decision was made with,
// and returns the decisions. A campaign that shows little tests nothing: All fails without a
// view, and if no decision has a candidate, runs an experiment or asks a question.
//
// policy is called for each view; it may return the same policy.
func All(
	t testing.TB, policy func() policies.Policy, views iter.Seq2[policies.View, uint64],
) []policies.Decision {
	t.Helper()
	var decisions []policies.Decision
	candidates, acts := 0, 0
	for view, seed := range views {
		d := Run(t, policy(), view, seed)
		decisions = append(decisions, d)
		candidates += len(d.Candidates)
		if d.Action == events.ActionRun || d.Action == events.ActionAsk {
			acts++
		}
	}
	switch n := len(decisions); {
	case n == 0:
		t.Error("policytest: no law was tested: there is no view of a campaign at which a decision is made")
	case candidates == 0:
		t.Errorf("policytest: none of %d decisions has a candidate: that candidates may be measured was not tested", n)
	case acts == 0:
		t.Errorf("policytest: none of %d decisions runs an experiment or asks a question", n)
	}
	return decisions
}

// Run checks a policy on one view:
//
//   - the same view and seed give the same decision, bit for bit,
//   - the decision changes nothing in the view,
//   - a decision can be recorded: JSON can express it, it names its rule and
//     gives its reason,
//   - every candidate may be measured: it lies within the space, exactly,
//   - the action is about candidates, or ends the campaign with a reason; a question names its
//     expert and its subject,
//   - a cancelled context is an error or has no influence, never a hastier
//     decision.
//
// It returns the decision.
func Run(t testing.TB, p policies.Policy, v policies.View, seed uint64) policies.Decision {
	t.Helper()
	before := encode(t, v.Campaign)
	first, err := p.Decide(t.Context(), v, seed)
	if err != nil {
		t.Fatalf("decide: %v", err)
	}
	second, err := p.Decide(t.Context(), v, seed)
	if err != nil {
		t.Fatalf("decide again: %v", err)
	}
	recorded := encode(t, first)
	if again := encode(t, second); !bytes.Equal(recorded, again) {
		t.Errorf("the same view and seed gave two decisions:\n%s\n%s", recorded, again)
	}
	if after := encode(t, v.Campaign); !bytes.Equal(before, after) {
		t.Error("the decision changed the campaign's state")
	}
	if first.Rule == "" || first.Reason == "" || first.Seed != seed {
		t.Errorf("the decision lacks its rule, reason or seed: %s", recorded)
	}
	for _, c := range first.Candidates {
		if err := v.Space.Contains(c.Parameters); err != nil {
			t.Errorf("the %s candidate: %v", c.Name, err)
		}
	}
	switch first.Action {
	case events.ActionRun:
		if first.Candidate() == nil {
			t.Errorf("it runs %q, which is not a candidate", first.Chosen)
		}
	case events.ActionAsk:
		if first.Expert == "" || first.Explanation == "" {
			t.Error("a question names no expert or explains nothing")
		}
		if first.Form == events.FormLabel && first.Candidate() == nil {
			t.Errorf("the expert is to label %q, which is not a candidate", first.Chosen)
		}
		if first.Form == events.FormComparison && len(first.Candidates) < 2 {
			t.Errorf("the expert is to compare %d candidates", len(first.Candidates))
		}
	case events.ActionStop:
		if first.Completed == nil || first.Completed.Detail == "" {
			t.Error("the campaign is ended silently")
		}
	default:
		t.Errorf("%q is not an action", first.Action)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	switch hasty, err := p.Decide(cancelled, v, seed); {
	case errors.Is(err, context.Canceled):
	case err != nil:
		t.Errorf("cancelled, the policy failed with another error: %v", err)
	case !bytes.Equal(recorded, encode(t, hasty)):
		t.Error("cancelled, the policy decided something else")
	}
	return first
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("JSON cannot express it: %v", err)
	}
	return data
}
