package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Mismatch is a fit or a decision that did not come out as recorded.
type Mismatch struct {
	// Position and Event are the place in the log and the kind of the record.
	Position events.Position `json:"position"`
	Event    events.Kind     `json:"event"`
	// Subject is the decision, or the model.
	Subject string `json:"subject"`
	// Problem says what differs.
	Problem string `json:"problem"`
}

// AuditReport is what came of making every fit and decision again.
type AuditReport struct {
	// Events counts the events of the campaign.
	Events int `json:"events"`
	// Decisions counts the recorded decisions, Reproduced those that came out
	// the same. Fits and FitsReproduced count fits.
	Decisions      int `json:"decisions"`
	Reproduced     int `json:"reproduced"`
	Fits           int `json:"fits"`
	FitsReproduced int `json:"fits_reproduced"`
	// Exact is true where everything was compared bit for bit; otherwise some
	// records come from another build and were compared to a tolerance.
	Exact      bool       `json:"exact"`
	Mismatches []Mismatch `json:"mismatches"`
}

// AuditTolerance is the relative tolerance to which records of another build
// are compared: floating-point arithmetic differs between architectures, and a
// search amplifies the difference.
const AuditTolerance = 1e-4

// Audit folds a campaign's events and makes every fit and every decision
// again from the state it was made from. Contradictions in the history itself
// are mismatches too and end the audit, since nothing after them means
// anything.
func Audit(ctx context.Context, log events.Log, name string, build events.Build) (AuditReport, error) {
	report := AuditReport{Exact: true, Mismatches: []Mismatch{}}
	core := NewCore()
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return report, err
		}
		report.Events++
		mismatch := func(subject, format string, args ...any) {
			report.Mismatches = append(report.Mismatches, Mismatch{
				Position: e.Position, Event: e.Kind, Subject: subject, Problem: fmt.Sprintf(format, args...)})
		}
		payload, err := events.Decode(e)
		if err != nil {
			return report, err
		}
		switch p := payload.(type) {
		case *events.DecisionMade:
			report.Decisions++
			if p.Build != build {
				report.Exact = false
			}
			problem, err := core.remakeDecision(ctx, p, e.Time, build)
			if err != nil {
				return report, err
			}
			if problem == "" {
				report.Reproduced++
			} else {
				mismatch(p.Decision, "%s", problem)
			}
		case *events.ModelFitted:
			report.Fits++
			if p.Build != build {
				report.Exact = false
			}
			problem, err := core.remakeFit(ctx, p, build)
			if err != nil {
				return report, err
			}
			if problem == "" {
				report.FitsReproduced++
			} else {
				mismatch(p.Model, "%s", problem)
			}
		}
		if err := core.Apply(e); err != nil {
			mismatch("history", "%v", err)
			return report, nil
		}
	}
	if report.Events == 0 {
		return report, fmt.Errorf("%w: %q", ErrNoCampaign, name)
	}
	return report, nil
}

// remakeDecision makes a recorded decision again and says what differs.
func (c *Core) remakeDecision(ctx context.Context, recorded *events.DecisionMade, at time.Time, build events.Build) (problem string, err error) {
	s := c.State()
	if recorded.At != s.Sequence {
		return fmt.Sprintf("it says it was made from event %d, but stands behind event %d", recorded.At, s.Sequence), nil
	}
	if want := seedFor(s.Definition.Seed, "decision", recorded.Decision); recorded.Seed != want {
		return fmt.Sprintf("its seed is %d, the campaign's seed gives %d", recorded.Seed, want), nil
	}
	payloads, err := c.Decide(ctx, Decide{Decision: recorded.Decision, Seed: recorded.Seed}, recorded.Build, at)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "it cannot be made again: " + err.Error(), nil
	}
	return compare(payloads[0], recorded, recorded.Build == build), nil
}

// remakeFit makes a recorded fit again and says what differs.
func (c *Core) remakeFit(ctx context.Context, recorded *events.ModelFitted, build events.Build) (problem string, err error) {
	if s := c.State(); recorded.At != s.Sequence {
		return fmt.Sprintf("it says it was made from event %d, but stands behind event %d", recorded.At, s.Sequence), nil
	}
	payload, err := c.Fit(ctx, Fit{Model: recorded.Model, Expert: recorded.Expert, Seed: recorded.Seed}, recorded.Build)
	if err != nil {
		return "", err
	}
	return compare(payload, recorded, recorded.Build == build), nil
}

// compare says how a record made again differs from the recorded one: bit for
// bit on the same build, to [AuditTolerance] in numbers elsewhere.
func compare(again, recorded events.Payload, exact bool) string {
	a, errA := json.Marshal(again)
	b, errB := json.Marshal(recorded)
	if errA != nil || errB != nil {
		return fmt.Sprintf("it cannot be compared: %v %v", errA, errB)
	}
	if bytes.Equal(a, b) {
		return ""
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return "it cannot be compared"
	}
	tolerance := AuditTolerance
	if exact {
		tolerance = 0
	}
	return difference("", x, y, tolerance)
}

// difference names the first place where two JSON values differ.
func difference(path string, again, recorded any, tolerance float64) string {
	switch r := recorded.(type) {
	case map[string]any:
		a, ok := again.(map[string]any)
		if !ok {
			break
		}
		for _, key := range sortedKeys(r, a) {
			if tolerance > 0 && (key == "evaluations" || key == "reason" || key == "jitter") {
				continue // how the search went, and a sentence that prints its numbers
			}
			if d := difference(path+"/"+key, a[key], r[key], tolerance); d != "" {
				return d
			}
		}
		return ""
	case []any:
		a, ok := again.([]any)
		if !ok || len(a) != len(r) {
			break
		}
		for i := range r {
			if d := difference(fmt.Sprintf("%s/%d", path, i), a[i], r[i], tolerance); d != "" {
				return d
			}
		}
		return ""
	case float64:
		if a, ok := again.(float64); ok && math.Abs(a-r) <= tolerance*math.Max(1, math.Abs(r)) {
			return ""
		}
	default:
		if again == recorded {
			return ""
		}
	}
	return fmt.Sprintf("%s was %v, made again it is %v", path, recorded, again)
}

// sortedKeys returns the keys of both maps in order.
func sortedKeys(values ...map[string]any) []string {
	all := make(map[string]bool)
	for _, m := range values {
		for key := range m {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
