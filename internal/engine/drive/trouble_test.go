package drive_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

// unaided changes a definition into one without experts.
func unaided(def *definition.Campaign) { def.Experts, def.Policy = nil, definition.Policy{} }

// upTo returns the history up to the first event of a kind, that one included.
func upTo(t *testing.T, all []events.Event, kind events.Kind) []events.Event {
	t.Helper()
	i := slices.IndexFunc(all, func(e events.Event) bool { return e.Kind == kind })
	if i < 0 {
		t.Fatalf("there is no %s", kind)
	}
	return all[:i+1]
}

func submit(t *testing.T, log events.Log, r *drive.Runner, request engine.Request) error {
	t.Helper()
	request.Actor = "person:eve"
	_, err := engine.Submit(t.Context(), log, r.Core(), request, time.Now())
	return err
}

// Law: what an amendment excludes is not made any more, also where it had
// been requested, or accepted by an expert, before.
func TestExcludedIsCalledOff(t *testing.T) {
	def := electrolyte(t, 3, 9, func(def *definition.Campaign) {
		studytest.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.UnsureRate = 0 })
	})
	log, core := simulate(t, def)
	accepted := slices.IndexFunc(core.State().Questions, func(q campaign.Question) bool {
		return q.Decision != "" && q.Answer.Label == events.LabelAccept
	})
	if accepted < 0 {
		t.Fatal("no question was accepted")
	}
	q := core.State().Questions[accepted]
	all := history(t, log)
	given := slices.IndexFunc(all, func(e events.Event) bool { return e.ID == q.Source })
	requested := slices.IndexFunc(all, func(e events.Event) bool {
		return e.Kind == events.KindExperimentRequested && e.Sequence > events.Sequence(given+1)
	})

	for name, cut := range map[string]int{"accepted": given + 1, "requested": requested + 1} {
		t.Run(name, func(t *testing.T) {
			log := refill(t, all[:cut])
			r, _ := start(t, log, def, nil)
			amended := def
			x, _ := q.Composition()["lipf6"].Float()
			amended.Excluded = []definition.Region{{Name: "danger", Where: map[string]definition.RegionSide{"lipf6": {Min: ptr(x - 0.01), Max: ptr(x + 0.01)}}}}
			if err := submit(t, log, r, engine.Request{Amend: &events.CampaignAmended{Definition: amended, Reason: "danger"}}); err != nil {
				t.Fatal(err)
			}
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, e := range r.Core().State().Experiments {
				if y, _ := e.Parameters["lipf6"].Float(); math.Abs(y-x) < 0.01 && e.Command.DispatchedAt.After(q.AnsweredAt) {
					t.Errorf("%s was made at lipf6 %v, in the excluded region around %v: %s", e.ID, y, x, e.Status)
				}
			}
		})
	}
}

// Law: a design that serves as policy goes through a finite space without
// repeating itself, and ends when nothing is left.
func TestDesignsDoNotRepeat(t *testing.T) {
	for _, design := range []definition.Choice{next.Sobol{}.Choice(), next.Random{}.Choice()} {
		def := electrolyte(t, 2, 20, unaided, func(def *definition.Campaign) {
			def.Policy.Next = design
			studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
			for _, x := range []float64{0.3, 0.6, 0.9, 1.2, 1.5, 1.8} {
				for _, y := range []float64{0, 1} {
					def.Candidates = append(def.Candidates, definition.Point{"lipf6": definition.Number(x), "ec": definition.Number(0.4), "dmc": definition.Number(y)})
				}
			}
		})
		_, core := simulate(t, def)
		seen := make(map[string]bool)
		for _, x := range core.State().Experiments {
			key, err := core.Space().Key(x.Parameters)
			if err != nil || seen[key] {
				t.Errorf("%v: %s repeats %v %v", design.Name, x.ID, x.Parameters, err)
			}
			seen[key] = true
		}
		if s := core.State(); len(seen) != 12 || s.Reason != events.CompletedExhausted {
			t.Errorf("%v: %d of 12 candidates were tried, and the campaign ended: %s", design.Name, len(seen), s.Reason)
		}
		if summary, err := core.Summarize(t.Context()); err != nil || summary.BestByModel == nil || viewOf(t, core).Objective() == nil {
			t.Errorf("%v: the result has no posterior: %+v %v", design.Name, summary, err)
		}
	}
}

// Law: a pause is ended by resuming; where the last of the budget went into experiments
// without a result, there is first what gives some of it back.
func TestAfterPause(t *testing.T) {
	for name, c := range map[string]struct {
		budget int
		status campaign.ExperimentStatus
		want   []problem.Action
	}{
		"budget is left":       {5, campaign.Failed, []problem.Action{problem.Resume}},
		"it was spent well":    {4, campaign.Measured, []problem.Action{problem.Resume}},
		"it was spent in vain": {4, campaign.Failed, []problem.Action{problem.Amend, problem.Correct, problem.Resume}},
	} {
		def := electrolyte(t, 1, c.budget, unaided)
		s := &campaign.State{Status: campaign.Paused, Definition: &def}
		for i := range 4 {
			s.Experiments = append(s.Experiments, campaign.Experiment{ID: events.ExperimentID(i + 1), Status: c.status})
		}
		var got []problem.Action
		for _, r := range engine.AfterPause(s) {
			got = append(got, r.Action)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: what can be done is %q, want %q", name, got, c.want)
		}
	}
}

// Law: what an instrument says after a person has settled its experiment is
// recorded, though it no longer counts. Where it contradicts the person, the campaign
// pauses until someone has looked.
func TestLateAnswersAreKept(t *testing.T) {
	def := electrolyte(t, 1, 4, unaided, func(def *definition.Campaign) {
		def.Instrument.StallAfter, def.Instrument.GiveUpAfter = 0, definition.Duration(20*time.Millisecond)
	})
	answer, kept := make(chan struct{}), make(chan struct{})
	instrument := &bench{acts: make(map[string]int), await: func(cmd instruments.Command) (instruments.Outcome, error) {
		if cmd.Experiment == "e1" {
			<-answer
		} else if cmd.Experiment == "e3" {
			<-kept // the campaign goes on until e1's answer has come
		}
		return measured(12), nil
	}}
	log := memlog.New()
	r, waiting := start(t, log, def, instrument)
	r.Now = time.Now
	ended := run(t, r)
	until(t, waiting, "the fate of e1")
	resolve := engine.Request{Actor: "person:eve", Resolve: &engine.Resolve{Experiment: "e1", Resolution: events.ResolvedFailed, Reason: "spilled"}}
	if _, err := r.Submit(t.Context(), resolve); err != nil {
		t.Fatal(err)
	}
	void := func(e events.Event) bool { return e.Kind == events.KindCancellationAnswered }
	for !slices.ContainsFunc(history(t, log), void) {
		time.Sleep(time.Millisecond)
	}
	close(answer)
	until(t, waiting, "paused: e1 was settled as failed, and then bench answered otherwise")
	if _, err := r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}}); err != nil {
		t.Fatal(err)
	}
	close(kept)
	if err := ended(); err != nil {
		t.Fatal(err)
	}
	s := r.Core().State()
	if x := s.Experiment("e1"); x.Status != campaign.Failed {
		t.Errorf("e1 is %s", x.Status)
	}
	said := slices.DeleteFunc(history(t, log), func(e events.Event) bool { return e.Kind != events.KindInstrumentAnswered })
	if len(said) != 1 || !strings.Contains(string(said[0].Data), "12") || said[0].Actor != "instrument:bench" {
		t.Errorf("of the late answer this is recorded: %+v", said)
	}
}

// Law: a simulated result is marked as simulated, also where the campaign was
// stopped and its process killed before the result came.
func TestStoppedKilledStillSimulated(t *testing.T) {
	def := electrolyte(t, 1, 5, unaided, func(def *definition.Campaign) {
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	log, _ := simulate(t, def)
	log = refill(t, upTo(t, history(t, log), events.KindExperimentStarted))
	r, _ := start(t, log, def, nil)
	if err := submit(t, log, r, engine.Request{Stop: &events.CampaignStopped{Reason: "enough"}}); err != nil {
		t.Fatal(err)
	}
	r, _ = start(t, log, def, nil)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := r.Core().State().Experiment("e1")
	if x.Status != campaign.Measured || !x.Simulated || x.Command.Instrument != "simulated/electrolyte" {
		t.Errorf("e1 ended as %+v", x)
	}
}

// Law: an amended belief setting counts from then on.
func TestAmendedBeliefCounts(t *testing.T) {
	def := electrolyte(t, 1, 5)
	log, _ := simulate(t, def)
	r, _ := start(t, log, def, nil)
	amended := *r.Core().State().Definition
	amended.Budget.Experiments = 8
	settings, _ := cobol.SettingsOf(amended.Policy)
	settings.Confidence, settings.MaxNorm = ptr(0.02), ptr(1.0)
	amended.Policy.Trust = settings.Choice()
	if err := submit(t, log, r, engine.Request{Amend: &events.CampaignAmended{Definition: amended}}); err != nil {
		t.Fatal(err)
	}
	r, _ = start(t, log, amended, nil)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fit := viewOf(t, r.Core()).Beliefs[0].Fit; fit.Confidence != 0.02 || fit.NormBound != 1 {
		t.Errorf("after the amendment the belief was fitted with %+v", fit)
	}
}

// Law: a model does not depend on the unit of the objective. A campaign whose
// results are 1e12 times smaller does the same.
func TestUnitsDoNotMatter(t *testing.T) {
	science := func(factor float64) []definition.Point {
		def := electrolyte(t, 1, 8, unaided, func(def *definition.Campaign) { def.Objective.Noise = nil })
		instrument := &bench{acts: make(map[string]int)}
		instrument.await = func(cmd instruments.Command) (instruments.Outcome, error) {
			o := measured(0)
			x, _ := cmd.Parameters["lipf6"].Float()
			y, _ := cmd.Parameters["dmc"].Float()
			o.Measurement.Actual = cmd.Parameters
			o.Measurement.Objective.Value = factor * (10 - (x-1)*(x-1) - y)
			return o, nil
		}
		r, _ := start(t, memlog.New(), def, instrument)
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var points []definition.Point
		for _, x := range r.Core().State().Experiments {
			points = append(points, x.Parameters)
		}
		return points
	}
	large, small := science(1), science(math.Ldexp(1, -40)) // a power of two, so that nothing is rounded
	for i := range large {
		for name := range large[i] {
			if large[i][name] != small[i][name] {
				t.Fatalf("experiment %d: %v against %v", i+1, large[i], small[i])
			}
		}
	}
}

// Law: replicates of a composition are numbered and completed, whatever people
// bring in between.
func TestReplicatesSurviveImports(t *testing.T) {
	def := electrolyte(t, 1, 6, unaided, func(def *definition.Campaign) {
		def.Replicates = 3
		def.Initial.Experiments = ptr(2)
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	log, _ := simulate(t, def)
	log = refill(t, upTo(t, history(t, log), events.KindExperimentMeasured))
	r, _ := start(t, log, def, nil)
	point := definition.Point{"lipf6": definition.Number(1), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)}
	if err := submit(t, log, r, engine.Request{Import: []engine.Tell{{Parameters: point, Value: new(12.0)}, {Parameters: point, Value: new(12.1)}}}); err != nil {
		t.Fatal(err)
	}
	r, _ = start(t, log, def, nil)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var replicates []int
	runs := make(map[string]int)
	for _, x := range r.Core().State().Experiments {
		replicates = append(replicates, x.Replicate)
		key, _ := r.Core().Space().Key(x.Parameters)
		runs[key]++
	}
	if want := []int{1, 1, 2, 2, 3}; !slices.Equal(replicates[:5], want) {
		t.Errorf("the replicates are numbered %v, want %v at first", replicates, want)
	}
	first, _ := r.Core().Space().Key(r.Core().State().Experiments[0].Parameters)
	if runs[first] != 3 {
		t.Errorf("the first composition was measured %d times", runs[first])
	}
}

// Law: a campaign all of whose measurements are excluded has no result, and says so.
func TestAllExcluded(t *testing.T) {
	def := electrolyte(t, 1, 3, unaided, func(def *definition.Campaign) {
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	log, core := simulate(t, def)
	for _, x := range slices.Clone(core.State().Experiments) {
		request := engine.Request{Actor: "person:eve", Correct: &engine.Correct{Experiment: x.ID, Exclude: true, Reason: "wrong salt"}}
		if _, err := engine.Submit(t.Context(), log, core, request, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if summary, err := core.Summarize(t.Context()); err != nil || summary.BestByModel != nil || summary.BestMeasured != nil {
		t.Errorf("the summary is %+v, %v", summary, err)
	}
}

// arriving is a log during whose append of a kind a result arrives.
type arriving struct {
	events.Log
	during events.Kind
	answer chan struct{}
}

func (l arriving) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if batch[0].Kind == l.during {
		close(l.answer)
		synctest.Wait() // until it lies before the loop
	}
	return l.Log.Append(ctx, campaign, expected, batch...)
}

// Law: what has arrived when a campaign ends is recorded before the run ends.
func TestResultArrivesAsTheCampaignEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := electrolyte(t, 1, 4, unaided, func(def *definition.Campaign) {
			def.Instrument.StallAfter, def.Instrument.GiveUpAfter = 0, definition.Duration(10*time.Second)
		})
		log := arriving{memlog.New(), events.KindCampaignStopped, make(chan struct{})}
		instrument := &bench{acts: make(map[string]int), await: func(instruments.Command) (instruments.Outcome, error) {
			<-log.answer
			return measured(12), nil
		}}
		r, waiting := start(t, log, def, instrument)
		r.Now = time.Now
		ended := run(t, r)
		until(t, waiting, "the fate of e1")
		stop := engine.Request{Actor: "person:eve", Stop: &events.CampaignStopped{Reason: "enough"}}
		if _, err := r.Submit(t.Context(), stop); err != nil {
			t.Fatal(err)
		}
		if err := ended(); err != nil {
			t.Fatal(err)
		}
		if x := r.Core().State().Experiment("e1"); x.Status != campaign.Measured || x.Measurement.Objective.Value != 12 {
			t.Errorf("e1, whose result had arrived, is %s", x.Status)
		}
	})
}
