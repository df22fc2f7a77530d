package drive_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/projectiontest"
)

// Law: replayed = live = restored from a snapshot, by digest, at every
// position of random campaigns in which people pause, correct, exclude, answer
// anew, import, tell, put off, refuse, allow, amend and remark as they like.
func TestReplayedLiveRestored(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		def := electrolyte(t, rapid.Uint64Range(1, 1000).Draw(rt, "seed"), rapid.IntRange(3, 6).Draw(rt, "experiments"))
		log := memlog.New()
		now := study.Clock()
		for range rapid.IntRange(1, 4).Draw(rt, "sessions") {
			r := must.Get(studytest.Runner(t.Context(), log, def, nil))(rt)
			for range rapid.IntRange(0, 3).Draw(rt, "requests") {
				request := drawRequest(rt, r.Core().State())
				if _, err := engine.Submit(t.Context(), log, r.Core(), request, now()); err == nil && request.Pause != nil {
					resume := engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}}
					must.Get(engine.Submit(t.Context(), log, r.Core(), resume, now()))(rt)
				}
			}
			resumes(t, r)
			must.Do(rt, r.Run(t.Context()))
		}
		all := history(t, log)
		projectiontest.Run(t, func() []projections.Projection { return engine.NewCore(builtin.Registry()).Projections() }, all)
		cloned(rt, all)
		report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) > 0 {
			rt.Fatalf("audit of %d events: %+v %v", len(all), report.Mismatches, err)
		}
	})
}

// resumes lets a person resume the campaign whenever it pauses, as it does after several
// experiments without a result: people may correct results so that there were.
func resumes(t *testing.T, r *drive.Runner) {
	r.Observe = func(core *engine.Core, _ engine.Wait) {
		if core.State().Status == campaign.Paused {
			go r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}})
		}
	}
}

// cloned checks that a core and its clone go their own ways: whichever of the two folds the next
// event, the other stays as it was until the end of the history.
func cloned(rt *rapid.T, all []events.Event) {
	digest := func(core *engine.Core) string {
		return must.Get(core.Digest())(rt)
	}
	live := engine.NewCore(builtin.Registry())
	var kept []*engine.Core
	var were []string
	for i, e := range all {
		other := live.Clone()
		if i%2 == 0 {
			live, other = other, live
		}
		kept = append(kept, other)
		were = append(were, digest(other))
		must.Do(rt, live.Apply(e))
	}
	for i, core := range kept {
		if digest(core) != were[i] {
			rt.Fatalf("event %d or a later one has changed a core that did not fold it", i+1)
		}
	}
	for i, core := range kept { // and each goes on as the live one did
		if i%7 != 0 {
			continue
		}
		for _, e := range all[i:] {
			must.Do(rt, core.Apply(e))
		}
		if digest(core) != digest(live) {
			rt.Fatalf("a core that was cloned before event %d ends otherwise", i+1)
		}
	}
}

// Law: a core that was restored goes on at once: it takes the step that the live one takes,
// before it has folded any other event.
func TestRestoredGoesOn(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 6))
	all := history(t, log)
	decided := find(t, all, events.KindDecisionMade, "", 0)
	live := mustLoad(t, refill(t, all[:decided]))
	snapshot := must.Get(live.Snapshot())(t)
	restored := engine.NewCore(builtin.Registry())
	if err := restored.Restore(snapshot); err != nil || restored.Space() == nil {
		t.Fatalf("it is restored with the space %v, %v", restored.Space(), err)
	}
	world := engine.World{Now: all[decided].Time, Eager: true, Resources: engine.Only(engine.Resource{Capacity: 1})}
	want, err1 := live.Next(world)
	step, err2 := restored.Next(world)
	if step != want || err1 != nil || err2 != nil {
		t.Errorf("it takes the step %+v, the live one %+v, %v %v", step, want, err1, err2)
	}
	if _, decides := want.(engine.Decide); !decides {
		t.Errorf("the live one takes the step %+v", want)
	}
}

// drawRequest draws something a person may ask, allowed or not.
func drawRequest(rt *rapid.T, s *campaign.State) engine.Request {
	experiment := fmt.Sprintf("e%d", rapid.IntRange(1, max(1, len(s.Experiments))).Draw(rt, "experiment"))
	value := rapid.Float64Range(5, 14).Draw(rt, "value")
	point := definition.Point{
		"lipf6": definition.Number(rapid.Float64Range(0.2, 2.1).Draw(rt, "lipf6")),
		"ec":    definition.Number(rapid.Float64Range(0.3, 0.52).Draw(rt, "ec")),
		"dmc":   definition.Number(rapid.Float64Range(0, 1).Draw(rt, "dmc")),
	}
	r := engine.Request{Actor: "person:eve"}
	switch rapid.IntRange(0, 16).Draw(rt, "request") {
	case 0:
		r.Pause = &events.CampaignPaused{Reason: "lunch"}
	case 1:
		r.Note = &engine.Note{Text: "the glovebox was opened", About: experiment}
	case 2:
		r.Correct = &engine.Correct{Experiment: experiment, Value: &value, Reason: "calibration"}
	case 3:
		r.Correct = &engine.Correct{Experiment: experiment, Exclude: true, Reason: "bubble"}
	case 4:
		r.Correct = &engine.Correct{Experiment: experiment, Actual: point, Reason: "weighed again"}
	case 5:
		r.Tell = &engine.Tell{Parameters: point, Value: new(value)}
	case 6:
		r.Import = []engine.Tell{{Parameters: point, Value: new(value)}}
	case 7:
		question := fmt.Sprintf("q%d", rapid.IntRange(1, max(1, len(s.Questions))).Draw(rt, "question"))
		label := rapid.SampledFrom([]events.Label{events.LabelAccept, events.LabelReject, ""}).Draw(rt, "label")
		r.Answer = &engine.Answer{Question: question, Reply: humans.Reply{Answer: events.Answer{Label: label}}}
	case 8:
		amended := *s.Definition
		amended.Budget.Experiments += 2
		r.Amend = &events.CampaignAmended{Definition: amended, Reason: "go on"}
	case 9:
		r.Exclude = &engine.Exclude{Point: point, Reason: "it clouds"}
	case 10:
		r.Allow = &engine.Allow{Exclusion: "n1"}
	case 11:
		r.Tell = &engine.Tell{Parameters: point, Infeasible: "it does not dissolve"}
	case 13:
		outcome := rapid.SampledFrom([]events.Resolution{events.ResolvedFailed, events.ResolvedInfeasible, events.ResolvedNotPerformed}).Draw(rt, "outcome")
		r.Correct = &engine.Correct{Experiment: experiment, Outcome: outcome, Exclude: rapid.Bool().Draw(rt, "exclude"), Reason: "it was otherwise"}
	case 14:
		r.Correct = &engine.Correct{Experiment: experiment, Outcome: events.ResolvedMeasured, Value: &value, Actual: point, Reason: "it did not leak"}
	case 15:
		r.Correct = &engine.Correct{Experiment: experiment, Reason: "it counts after all"}
	case 16:
		r.Tell = &engine.Tell{Experiment: experiment, Value: new(value), Actual: point}
	case 12:
		r.Tell = &engine.Tell{Experiment: experiment, Again: "the argon ran out"}
	}
	return r
}

// Cold start: the log of a long campaign is folded until it can decide.
func BenchmarkColdStart(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("measurements=%d/labels=%d", n, n), func(b *testing.B) {
			log := longHistory(b, n)
			b.ResetTimer()
			for b.Loop() {
				must.Get(engine.Load(b.Context(), builtin.Registry(), log, "electrolyte"))(b)
			}
			b.ReportMetric(float64(log.Last()), "events")
		})
	}
}

// longHistory returns a campaign of n measurements and n labels, chosen at
// random, with a decision, a fit and the usual commands around each.
func longHistory(b *testing.B, n int) events.Log {
	b.Helper()
	def, err := studytest.Define("electrolyte", 1, n, studytest.WithNoise(0.27), studytest.WithExpert(1), func(def *definition.Campaign) {
		def.Initial.Labels = ptr(n)
		def.Initial.Balanced = ptr(false)
		def.Policy.Next = next.Random{}.Choice()
		def.Policy.Trust = definition.NewChoice(policies.None, nil)
		def.Policy.Handover = definition.NewChoice(policies.Never, nil)
	})
	if err != nil {
		b.Fatal(err)
	}
	log := memlog.New()
	r := must.Get(studytest.Runner(b.Context(), log, def, nil))(b)
	r.Now = func() time.Time { return time.Unix(0, 0) }
	must.Do(b, r.Run(b.Context()))
	return log
}
