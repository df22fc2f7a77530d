package drive_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/feasibility"
	"github.com/campaignd/campaignd/projections/projectiontest"
)

// at is a composition of the electrolyte.
func at(lipf6, ec, dmc float64) definition.Point {
	return definition.Point{"lipf6": definition.Number(lipf6), "ec": definition.Number(ec), "dmc": definition.Number(dmc)}
}

// result is a measurement of a composition.
func result(point definition.Point, value float64) *events.Measurement {
	return &events.Measurement{Actual: point, Objective: definition.Quantity{Name: "conductivity", Value: value, Unit: "mS/cm"}}
}

// subject is the composition of e2, the experiment that is corrected.
var subject = at(1.2, 0.4, 0.8)

// outcomes are how e2 may end. A measurement reads 9.
var outcomes = map[campaign.ExperimentStatus]events.Payload{
	campaign.Measured:   &events.ExperimentMeasured{Experiment: "e2", Instrument: "person", Requested: subject, Measurement: *result(subject, 9)},
	campaign.Failed:     &events.ExperimentFailed{Experiment: "e2", Instrument: "person", Cause: "leak"},
	campaign.Infeasible: &events.ExperimentInfeasible{Experiment: "e2", Instrument: "person", Cause: "cloudy"},
	campaign.Deferred:   &events.ExperimentDeferred{Experiment: "e2", Instrument: "person", Cause: "no argon"},
	campaign.Cancelled:  &events.ExperimentCancelled{Experiment: "e2", Reason: "no time"},
}

// told is a campaign in which people ran six experiments, of which e2 ended as given
// and e3 is the same composition again. It costs what budget says.
func told(t *testing.T, budget int, outcome events.Payload) (*memlog.Log, definition.Campaign) {
	t.Helper()
	def := electrolyte(t, 4, budget, unaided, func(def *definition.Campaign) {
		def.Policy.Next = next.Sobol{}.Choice()
		def.Initial.Experiments = ptr(0)
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", time.Unix(0, 0), ""); err != nil {
		t.Fatal(err)
	}
	points := []definition.Point{at(1, 0.35, 0.5), subject, subject, at(0.5, 0.5, 0.2), at(2, 0.32, 0.9), at(0.9, 0.45, 0.6)}
	for i, point := range points {
		id := events.ExperimentID(i + 1)
		var ended events.Payload = &events.ExperimentMeasured{Experiment: id, Instrument: "person", Requested: point, Measurement: *result(point, 8+float64(i))}
		switch id {
		case "e2":
			ended = outcome
		case "e4":
			ended = &events.ExperimentFailed{Experiment: id, Instrument: "person", Cause: "leak"}
		case "e5":
			ended = &events.ExperimentInfeasible{Experiment: id, Instrument: "person", Cause: "it does not dissolve"}
		}
		replicate := 1
		if id == "e3" && events.KindOf(outcome) != events.KindExperimentCancelled && events.KindOf(outcome) != events.KindExperimentDeferred {
			replicate = 2
		}
		appendAll(t, log, def.Name, time.Unix(int64(i+1), 0), &events.ExperimentRequested{Experiment: id, Parameters: point, Origin: events.OriginPerson, Replicate: replicate}, ended)
	}
	return log, def
}

// appendAll writes a batch as a person's request does.
func appendAll(t *testing.T, log events.Log, name string, now time.Time, payloads ...events.Payload) {
	t.Helper()
	sequence := must.Get(log.LastSequence(t.Context(), name))(t)
	batch := make([]events.Event, len(payloads))
	for i, payload := range payloads {
		e := must.Get(events.New(name, payload))(t)
		e.Actor, e.Time, e.Cause = "person:ada", now.UTC(), fmt.Sprint(sequence)
		if i > 0 {
			e.Cause = fmt.Sprint(sequence + 1)
		}
		batch[i] = e
	}
	must.Get(log.Append(t.Context(), name, sequence, batch...))(t)
}

// evidence is what the models and the budget know of a campaign's outcomes.
func evidence(t *testing.T, core *engine.Core) string {
	t.Helper()
	s := core.State()
	var b strings.Builder
	for _, p := range core.Quantities().All() {
		snapshot := must.Get(p.Snapshot())(t)
		var state struct {
			Observations []struct {
				Experiment string
				Point      definition.Point
				Value      float64
				SD         *float64
				Excluded   bool
			}
		}
		must.Do(t, json.Unmarshal(snapshot, &state))
		for _, o := range state.Observations {
			if !o.Excluded {
				fmt.Fprintf(&b, "%s %v = %v\n", o.Experiment, o.Point, o.Value)
			}
		}
	}
	model := must.Get(feasibility.New(t.Context(), s, core.Space()))(t)
	fmt.Fprintf(&b, "%d can't, %d failed\n", model.Infeasible, model.Failed)
	for _, point := range []definition.Point{subject, at(0.5, 0.5, 0.2), at(1, 0.5, 0)} {
		x := must.Get(core.Space().Encode(point))(t)
		fmt.Fprintf(&b, "P(%v) = %v\n", point, model.Probability(x))
	}
	fmt.Fprintf(&b, "%d spent\n", s.Spent())
	return b.String()
}

// untold is the evidence of the campaign in which e2 had ended so from the start.
func untold(t *testing.T, outcome events.Payload) string {
	t.Helper()
	log, def := told(t, 20, outcome)
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	return evidence(t, core)
}

func correct(t *testing.T, log events.Log, core *engine.Core, r engine.Correct) {
	t.Helper()
	r.Experiment, r.Reason = "e2", "looked again"
	if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:eve", Correct: &r}, time.Unix(100, 0)); err != nil {
		t.Fatalf("correct %+v: %v", r, err)
	}
}

// coherent checks that a log replays to what is live, and that its audit is clean.
func coherent(t *testing.T, log events.Log, core *engine.Core) {
	t.Helper()
	all := history(t, log)
	projectiontest.Run(t, func() []projections.Projection { return engine.NewCore(builtin.Registry()).Projections() }, all)
	replayed := must.Get(engine.Load(t.Context(), builtin.Registry(), log, all[0].Campaign))(t)
	live, _ := core.Digest()
	if again, _ := replayed.Digest(); live != again {
		t.Error("live and replayed differ")
	}
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, all[0].Campaign, events.Build{}, nil)
	// What a person ran on their own is never put off or called off: only these tests
	// write so, for the sake of outcomes that people else do not give.
	unlike := all[4].Kind == events.KindExperimentCancelled || all[4].Kind == events.KindExperimentDeferred
	report.Mismatches = slices.DeleteFunc(report.Mismatches, func(m decisions.Mismatch) bool { return unlike && m.Position <= 7 })
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v %v", report.Mismatches, err)
	}
}

// Law: every outcome that was reported can be superseded by every other, and back,
// whatever the campaign's state. The models and the budget then know what they
// would have known had it been reported so from the start. What a person ended
// stays ended; a campaign that had spent its budget goes on where it gets some back.
func TestEveryOutcomeCanBeCorrected(t *testing.T) {
	corrections := map[campaign.ExperimentStatus]engine.Correct{
		campaign.Measured:   {Value: ptr(9.0)},
		campaign.Failed:     {Outcome: events.ResolvedFailed},
		campaign.Infeasible: {Outcome: events.ResolvedInfeasible},
		campaign.Cancelled:  {Outcome: events.ResolvedNotPerformed},
	}
	states := map[campaign.Status]func(*memlog.Log, *engine.Core, definition.Campaign){
		campaign.Running: func(*memlog.Log, *engine.Core, definition.Campaign) {},
		campaign.Paused: func(log *memlog.Log, _ *engine.Core, def definition.Campaign) {
			appendAll(t, log, def.Name, time.Unix(50, 0), &events.CampaignPaused{Reason: "lunch"})
		},
		campaign.Stopped: func(log *memlog.Log, _ *engine.Core, def definition.Campaign) {
			appendAll(t, log, def.Name, time.Unix(50, 0), &events.CampaignStopped{Reason: "enough"})
		},
		campaign.Completed: func(log *memlog.Log, _ *engine.Core, def definition.Campaign) {
			must.Get(studytest.Simulate(t.Context(), log, def))(t)
		},
	}
	for from, reported := range outcomes {
		for to, correction := range corrections {
			back, ok := corrections[from]
			if from == campaign.Deferred {
				back, ok = corrections[campaign.Cancelled], true
			}
			if from == to || from == campaign.Deferred && to == campaign.Cancelled || !ok {
				continue
			}
			for status, reach := range states {
				t.Run(fmt.Sprintf("%s to %s, %s", from, to, status), func(t *testing.T) {
					budget := 20
					if status == campaign.Completed {
						budget = 6
						if from.CalledOff() {
							budget = 5
						}
					}
					log, def := told(t, budget, reported)
					reach(log, nil, def)
					core, err := engine.Load(t.Context(), builtin.Registry(), log, def.Name)
					if err != nil || core.State().Status != status {
						t.Fatalf("the campaign is %s: %v", core.State().Status, err)
					}
					ended := core.State().Experiment("e2").EndedAt

					correct(t, log, core, correction)
					if diff := cmp.Diff(untold(t, outcomes[to]), evidence(t, core)); diff != "" {
						t.Errorf("corrected (-reported so from the start +corrected):\n%s", diff)
					}
					x := core.State().Experiment("e2")
					if x.Status != to || (x.Measurement != nil) != (to == campaign.Measured) || !x.EndedAt.Equal(ended) || x.Status != campaign.Measured && x.Cause != "looked again" {
						t.Errorf("e2 is %+v", x)
					}
					want := status
					if status == campaign.Completed && to == campaign.Cancelled {
						want = campaign.Running
					}
					if got := core.State().Status; got != want {
						t.Errorf("the campaign is %s, want %s", got, want)
					}
					coherent(t, log, core)

					correct(t, log, core, back)
					if diff := cmp.Diff(untold(t, outcomes[from]), evidence(t, core)); diff != "" {
						t.Errorf("and back:\n%s", diff)
					}
					coherent(t, log, core)

					r := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
					if status == campaign.Completed {
						must.Do(t, r.Run(t.Context()))
						if s := r.Core().State(); s.Status != campaign.Completed || s.Spent() != budget {
							t.Errorf("run again, the campaign is %s with %d of %d spent", s.Status, s.Spent(), budget)
						}
						if n := strings.Count(evidence(t, r.Core()), " = ") - 3; viewOf(t, r.Core()).Objective().Fit.Observations != n { // without the probabilities
							t.Errorf("the last fit knows %d measurements of %d", viewOf(t, r.Core()).Objective().Fit.Observations, n)
						}
						coherent(t, log, r.Core())
					}
				})
			}
		}
	}
}

// Law: a failure can be left out of the models and taken in again; it costs what it
// cost. Left out, the models know what they would know had it not taken place.
func TestFailureExcluded(t *testing.T) {
	for _, status := range []campaign.ExperimentStatus{campaign.Failed, campaign.Infeasible} {
		log, def := told(t, 20, outcomes[status])
		core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
		correct(t, log, core, engine.Correct{Exclude: true})
		want := strings.Replace(untold(t, outcomes[campaign.Cancelled]), "5 spent", "6 spent", 1)
		if diff := cmp.Diff(want, evidence(t, core)); diff != "" {
			t.Errorf("%s, excluded:\n%s", status, diff)
		}
		if x := core.State().Experiment("e2"); x.Cause == "looked again" || x.Status != status {
			t.Errorf("excluding it changed it to %+v", x)
		}
		correct(t, log, core, engine.Correct{})
		if diff := cmp.Diff(untold(t, outcomes[status]), evidence(t, core)); diff != "" {
			t.Errorf("%s, included:\n%s", status, diff)
		}
		coherent(t, log, core)
	}
}

// Law: what a correction of a measurement does not name stays, also over a
// correction to a failure and back.
func TestCorrectionKeepsWhatItDoesNotName(t *testing.T) {
	m := *result(subject, 9)
	m.Actual = at(1.21, 0.4, 0.8)
	m.Objective.SD = ptr(0.1)
	m.Further = []definition.Quantity{{Name: "viscosity", Value: 3, Unit: "mPa s"}, {Name: "density", Value: 1.2}}
	m.Identity = "cell 3"
	log, def := told(t, 20, &events.ExperimentMeasured{Experiment: "e2", Instrument: "person", Requested: subject, Measurement: m})
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	same := func(what string) {
		t.Helper()
		got := core.State().Experiment("e2").Measurement
		if diff := cmp.Diff(&m, got, cmp.AllowUnexported(definition.Value{})); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
	correct(t, log, core, engine.Correct{Further: []definition.Quantity{{Name: "viscosity", Value: 31, Unit: "mPa s"}}})
	m.Further[0].Value = 31
	same("viscosity")
	correct(t, log, core, engine.Correct{SD: ptr(0.2)})
	m.Objective.SD = ptr(0.2)
	same("sd")
	correct(t, log, core, engine.Correct{Outcome: events.ResolvedFailed})
	correct(t, log, core, engine.Correct{Outcome: events.ResolvedMeasured})
	same("failed and back")
	correct(t, log, core, engine.Correct{Outcome: events.ResolvedInfeasible})
	correct(t, log, core, engine.Correct{Value: ptr(9.5)})
	m.Objective.Value = 9.5
	same("can't and another value")
	coherent(t, log, core)
}

// Law: a correction names the event in which the outcome stands that it corrects.
func TestCorrectsWhatStands(t *testing.T) {
	log, def := told(t, 20, outcomes[campaign.Failed])
	appendAll(t, log, def.Name, time.Unix(50, 0), &events.ExperimentRequested{Experiment: "e7", Parameters: at(1, 0.4, 0.4), Origin: events.OriginPerson, Replicate: 1})
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	for _, supersedes := range []string{"1", core.State().LastEvent} {
		forged := &events.ExperimentCorrected{Experiment: "e2", Supersedes: supersedes, Was: "failed", Outcome: "infeasible", Reason: "x"}
		appended := memlog.New()
		for _, e := range history(t, log) {
			must.Get(appended.Append(t.Context(), e.Campaign, e.Sequence-1, e))(t)
		}
		appendAll(t, appended, def.Name, time.Unix(70, 0), forged)
		if _, err := engine.Load(t.Context(), builtin.Registry(), appended, def.Name); err == nil || !strings.Contains(err.Error(), "stands in event") {
			t.Errorf("superseding event %s: %v", supersedes, err)
		}
	}
}

// Law: what an instrument says after a person has settled its experiment is kept, and
// counts once a person says so.
func TestLateAnswerCanCount(t *testing.T) {
	def := electrolyte(t, 1, 4, unaided, func(def *definition.Campaign) {
		def.Instrument.GiveUpAfter = definition.Duration(20 * time.Millisecond)
	})
	answer := make(chan struct{})
	instrument := &bench{acts: make(map[string]int)}
	instrument.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		<-answer
		return instruments.Outcome{Status: instruments.Measured, Measurement: result(cmd.Parameters, 12)}, nil
	}
	log := memlog.New()
	r, waiting := start(t, log, def, instrument)
	r.Now = time.Now
	ended := run(t, r)
	until(t, waiting, "the fate of e1")
	submit := func(request engine.Request) {
		t.Helper()
		request.Actor = "person:eve"
		must.Get(r.Submit(t.Context(), request))(t)
	}
	submit(engine.Request{Pause: &events.CampaignPaused{}})
	submit(engine.Request{Resolve: &engine.Resolve{Experiment: "e1", Resolution: events.ResolvedFailed, Reason: "it hangs"}})
	close(answer)
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		all := history(t, log)
		i := slices.IndexFunc(all, func(e events.Event) bool { return e.Kind == events.KindInstrumentAnswered })
		if i >= 0 {
			if !strings.Contains(string(all[i].Data), "12") {
				t.Errorf("it says %s", all[i].Data)
			}
			break
		}
		if time.Since(began) > 30*time.Second {
			t.Fatal("the late answer was not kept")
		}
	}
	submit(engine.Request{Correct: &engine.Correct{Experiment: "e1", Value: ptr(12.0), Reason: "it came after all"}})
	submit(engine.Request{Resume: &events.CampaignResumed{}})
	must.Do(t, ended())
	x := r.Core().State().Experiment("e1")
	if x.Status != campaign.Measured || x.Measurement.Objective.Value != 12 || x.Measurement.Objective.Unit != "mS/cm" {
		t.Errorf("e1 is %+v", x)
	}
	coherent(t, log, r.Core())
}

// Law: a campaign whose outcomes were corrected, killed after any event and
// continued, does what the undisturbed one does.
func TestCorrectedAndKilledAnywhere(t *testing.T) {
	log, def := told(t, 9, outcomes[campaign.Failed])
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	for _, r := range []engine.Correct{{Value: ptr(9.0)}, {Outcome: events.ResolvedNotPerformed}, {Outcome: events.ResolvedInfeasible}, {Exclude: true}, {Outcome: events.ResolvedMeasured, Value: ptr(9.5)}} {
		correct(t, log, core, r)
	}
	// finish runs it to its end, and again from each of its events since begun.
	finish := func(begun int) *engine.Core {
		finished := must.Get(studytest.Simulate(t.Context(), log, def))(t)
		all := history(t, log)
		for k := begun; k < len(all); k++ {
			if all[k].Time.Equal(all[k-1].Time) {
				continue // one batch
			}
			continued, err := studytest.Simulate(t.Context(), refill(t, all[:k]), def)
			if err != nil {
				t.Fatalf("killed after event %d: %v", k, err)
			}
			if diff := cmp.Diff(science(finished.State()), science(continued.State())); diff != "" {
				t.Fatalf("killed after event %d (%s):\n%s", k, all[k-1].Kind, diff)
			}
		}
		coherent(t, log, finished)
		return finished
	}
	finished := finish(len(history(t, log)))
	correct(t, log, finished, engine.Correct{Outcome: events.ResolvedNotPerformed})
	finished = finish(len(history(t, log)))
	if s := finished.State(); s.Status != campaign.Completed || s.Spent() != 9 || len(s.Experiments) != 10 {
		t.Errorf("it is %s with %d spent", s.Status, s.Spent())
	}
}
