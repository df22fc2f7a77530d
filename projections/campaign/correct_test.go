package campaign_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: what is corrected leaves the state as if it had been reported so from the
// start; only where it stands, and when the last word was said, tell that it was.
func TestCorrectionsAreAsReportedFromTheStart(t *testing.T) {
	bookkeeping := cmp.Options{
		cmp.AllowUnexported(definition.Value{}), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(campaign.State{}, "Sequence", "LastEvent"),
		cmpopts.IgnoreFields(campaign.Experiment{}, "Source", "LastEvent", "Trace", "EndedAt", "Retracted"),
		cmpopts.IgnoreFields(campaign.Question{}, "Source", "LastEvent", "Trace", "AnsweredAt", "Aside"),
	}
	cc, sd := 0.5, 0.1
	further := func(q ...definition.Quantity) []definition.Quantity { return q }
	measured := func(m events.Measurement) *events.ExperimentMeasured {
		return &events.ExperimentMeasured{Experiment: "e1", Instrument: "i", Requested: point(1), Measurement: m}
	}
	full := result(1, 5)
	full.Further, full.Identity = further(definition.Quantity{Name: "pH", Value: 7}, definition.Quantity{Name: "T", Value: 20}), "serial 7"
	fixed := full
	fixed.Objective = definition.Quantity{Name: "y", Value: 6, SD: &sd}
	fixed.Further = further(definition.Quantity{Name: "pH", Value: 8}, definition.Quantity{Name: "T", Value: 20}, definition.Quantity{Name: "Rh", Value: cc})
	moved := full
	moved.Actual = point(1.2)
	for _, c := range []struct {
		name  string
		first []events.Payload // the first of them stands in i3
		fix   []events.Payload
		right []events.Payload
	}{
		{"another value, and further quantities",
			[]events.Payload{measured(full)},
			[]events.Payload{&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3", New: &fixed.Objective,
				Further: further(definition.Quantity{Name: "pH", Value: 8}, definition.Quantity{Name: "Rh", Value: cc})}},
			[]events.Payload{measured(fixed)}},
		{"another composition",
			[]events.Payload{measured(full), &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictElsewhere}},
			[]events.Payload{&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3", Actual: point(1.2)}},
			[]events.Payload{measured(moved)}},
		{"taken back in",
			[]events.Payload{measured(full), &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictOverturned}},
			[]events.Payload{&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3"}},
			[]events.Payload{measured(full)}},
		{"a failure that was none",
			[]events.Payload{&events.ExperimentFailed{Experiment: "e1", Instrument: "i", Cause: "leak"}},
			[]events.Payload{&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "failed", Outcome: "measured", Measurement: &full}},
			[]events.Payload{&events.ExperimentMeasured{Experiment: "e1", Instrument: "person", Requested: point(1), Measurement: full}}},
		{"a failure that was the composition's",
			[]events.Payload{&events.ExperimentFailed{Experiment: "e1", Cause: "leak"}},
			[]events.Payload{&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "failed", Outcome: "infeasible", Reason: "solid"}},
			[]events.Payload{&events.ExperimentInfeasible{Experiment: "e1", Cause: "solid"}}},
		{"a failure that did not take place, corrected twice",
			[]events.Payload{&events.ExperimentFailed{Experiment: "e1", Cause: "leak"}},
			[]events.Payload{&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "failed", Outcome: "infeasible", Reason: "solid"},
				&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i4", Was: "infeasible", Outcome: "not-performed", Reason: "asleep"}},
			[]events.Payload{&events.ExperimentCancelled{Experiment: "e1", Reason: "asleep"}}},
		{"a label",
			[]events.Payload{volunteered("q1", events.FormLabel, accept, 1)},
			[]events.Payload{changed("q1", "i3", events.FormLabel, events.Answer{}, 1), changed("q1", "i4", events.FormLabel, reject, 1)},
			[]events.Payload{volunteered("q1", events.FormLabel, reject, 1)}},
		{"a comparison",
			[]events.Payload{volunteered("q1", events.FormComparison, ordered(0, 1), 1, 2)},
			[]events.Payload{changed("q1", "i3", events.FormComparison, ordered(1, 0), 1, 2)},
			[]events.Payload{volunteered("q1", events.FormComparison, ordered(1, 0), 1, 2)}},
		{"a comparison that cannot be told after all",
			[]events.Payload{volunteered("q1", events.FormComparison, ordered(0, 1), 1, 2)},
			[]events.Payload{changed("q1", "i3", events.FormComparison, events.Answer{}, 1, 2)},
			[]events.Payload{volunteered("q1", events.FormComparison, events.Answer{}, 1, 2)}},
		{"an estimate",
			[]events.Payload{volunteered("q1", events.FormEstimate, estimated(3), 1, 2)},
			[]events.Payload{changed("q1", "i3", events.FormEstimate, estimated(4), 1, 2)},
			[]events.Payload{volunteered("q1", events.FormEstimate, estimated(4), 1, 2)}},
		{"a pinpoint",
			[]events.Payload{asked("q1", events.FormPinpoint), answered("q1", events.FormPinpoint, events.Answer{})}, // i4
			[]events.Payload{changed("q1", "i4", events.FormPinpoint, pinpointed(3))},
			[]events.Payload{asked("q1", events.FormPinpoint), answered("q1", events.FormPinpoint, pinpointed(3))}},
	} {
		wrong, right := begin(t), begin(t)
		for _, f := range []*fold{wrong, right} {
			f.must(request(1)) // i2
		}
		wrong.must(slices.Concat(c.first, c.fix)...)
		right.must(c.right...)
		if diff := cmp.Diff(right.State(), wrong.State(), bookkeeping); diff != "" {
			t.Errorf("%s (− from the start, + corrected):\n%s", c.name, diff)
		}
	}
}

// Law: a failure that teaches nothing keeps its cause; a measurement that was none is
// kept beside, for whoever corrects that again; who is to be measured anew has no
// flag. A correction names the event in which the outcome stands, and what it was.
func TestCorrectedOutcomes(t *testing.T) {
	f := begin(t)
	m := result(1, 5)
	f.must(request(1), &events.ExperimentMeasured{Experiment: "e1", Requested: point(1), Measurement: m}, // i3
		&events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictElsewhere})
	f.refuses(
		&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i4", Was: "measured", Outcome: "failed"},
		&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "failed", Outcome: "failed"},
		&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "measured", Outcome: "lost"},
		&events.MeasurementCorrected{Experiment: "e1", Corrects: "i2"},
	)
	f.must(&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "measured", Outcome: "failed", Reason: "leak"}) // i5
	x := f.State().Experiment("e1")
	if x.Retracted == nil || x.Retracted.Objective.Value != 5 || x.Flag != nil || x.Elsewhere || x.Cause != "leak" || x.Source != "i5" || !x.EndedAt.Equal(began.Add(3*time.Minute)) {
		t.Errorf("a measurement that was none: %+v", *x)
	}
	f.must(&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i5", Was: "failed", Outcome: "failed", Excluded: true, Reason: "a bubble"}) // i6
	if x := f.State().Experiment("e1"); !x.Excluded || x.Cause != "leak" || x.Retracted == nil {
		t.Errorf("a failure that teaches nothing: %+v", *x)
	}
	f.must(&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i6", Was: "failed", Outcome: "failed", Excluded: true, Reason: "two bubbles"}) // i7
	if x := f.State().Experiment("e1"); !x.Excluded || x.Cause != "two bubbles" {
		t.Errorf("a failure for another reason: %+v", *x)
	}
	f.must(&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i7", Was: "failed", Outcome: "measured", Measurement: &m, Reason: "found"})
	if x := f.State().Experiment("e1"); x.Excluded || x.Cause != "" || x.Retracted != nil || x.Command.Instrument != "person" || x.Measurement == nil || x.Measurement == &m {
		t.Errorf("a measurement after all: %+v", *x)
	}
	g := begin(t)
	g.must(request(1), &events.ExperimentMeasured{Experiment: "e1", Instrument: "i", Requested: point(1), Measurement: m},
		&events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictSuspect},
		&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3", Excluded: true}) // i5
	if x := g.State().Experiment("e1"); !x.Excluded || x.Flag != nil || x.Measurement.Objective.Value != 5 || x.Source != "i5" {
		t.Errorf("excluded: %+v", *x)
	}
	g.refuses(&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3"})
	g.must(&events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictElsewhere}, &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictConfirmed})
	if x := g.State().Experiment("e1"); !x.Excluded || !x.Elsewhere {
		t.Errorf("a later verdict takes back that it is excluded (%v) or elsewhere (%v)", x.Excluded, x.Elsewhere)
	}
	if m.Objective.Value != 5 {
		t.Error("an event has changed")
	}
}

// Law: corrected quantities take the place of those of their name, others stay, new
// ones come last; no correction changes nothing. What is given is not changed.
func TestMerge(t *testing.T) {
	q := func(name string, v float64) definition.Quantity { return definition.Quantity{Name: name, Value: v} }
	old := []definition.Quantity{q("a", 1), q("b", 2), q("c", 3)}
	for _, c := range []struct{ corrected, want []definition.Quantity }{
		{nil, old},
		{[]definition.Quantity{q("b", 9)}, []definition.Quantity{q("a", 1), q("b", 9), q("c", 3)}},
		{[]definition.Quantity{q("d", 4), q("a", 0)}, []definition.Quantity{q("a", 0), q("b", 2), q("c", 3), q("d", 4)}},
	} {
		if got := campaign.Merge(old, c.corrected); !slices.Equal(got, c.want) {
			t.Errorf("with %v: %v, want %v", c.corrected, got, c.want)
		}
	}
	if old[0].Value != 1 || old[1].Value != 2 {
		t.Error("what was given is changed")
	}
}
