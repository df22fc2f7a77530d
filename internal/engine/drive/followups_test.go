package drive_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: an experiment that was put off is requested again in the same batch,
// the same in all but its number; it costs no budget; an audit notices where it
// is not, or something else is.
func TestPutOff(t *testing.T) {
	def := electrolyte(t, 1, 4, unaided)
	instrument := &bench{acts: make(map[string]int)}
	instrument.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		if cmd.Experiment == "e2" || cmd.Experiment == "e5" {
			return instruments.Outcome{Status: instruments.Deferred, Cause: "the argon ran out"}, nil
		}
		o := measured(9)
		o.Measurement.Actual = cmd.Parameters
		x, _ := cmd.Parameters["lipf6"].Float()
		o.Measurement.Objective.Value -= x * x
		return o, nil
	}
	log := memlog.New()
	r, _ := start(t, log, def, instrument)
	must.Do(t, r.Run(t.Context()))
	s := r.Core().State()
	if n := s.Count(campaign.Measured); n != 4 || len(s.Experiments) != 6 {
		t.Errorf("%d of %d experiments were measured", n, len(s.Experiments))
	}
	for put, again := range map[string]string{"e2": "e3", "e5": "e6"} {
		x, y := s.Experiment(put), s.Experiment(again)
		if x.Status != campaign.Deferred || !maps.Equal(x.Parameters, y.Parameters) || x.Origin != y.Origin || x.Decision != y.Decision || x.Replicate != y.Replicate {
			t.Errorf("%+v was put off, and then came %+v", x, y)
		}
	}
	all := history(t, log)
	if report := audit(t, all); len(report.Mismatches) > 0 {
		t.Fatalf("the honest log: %+v", report.Mismatches)
	}
	at := find(t, all, events.KindExperimentDeferred, "e2", 0)
	if all[at+1].Kind != events.KindExperimentRequested || !all[at].Time.Equal(all[at+1].Time) {
		t.Fatalf("behind it stands %s", all[at+1].Kind)
	}
	for name, forged := range map[string][]events.Event{
		"another composition": replace(all, at+1, edit(t, all[at+1], "parameters/ec", 0.31)),
		"counted as another":  replace(all, at+1, edit(t, all[at+1], "replicate", 2)),
		"not requested":       all[:at+1],
	} {
		if report := audit(t, forged); len(report.Mismatches) == 0 {
			t.Errorf("%s: the audit found nothing", name)
		}
	}
}

// Law: whatever people exclude and allow again, over restarts and amendments,
// nothing in an excluded region is requested or asked, and what had been requested
// there is not made.
func TestExclusionsStick(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		def := electrolyte(t, rapid.Uint64Range(1, 1000).Draw(rt, "seed"), 4, func(def *definition.Campaign) {
			if rapid.IntRange(0, 3).Draw(rt, "experts") > 0 {
				unaided(def)
			}
			def.Parallel = rapid.IntRange(1, 3).Draw(rt, "parallel")
		})
		log := memlog.New()
		now := study.Clock()
		for range rapid.IntRange(1, 3).Draw(rt, "sessions") {
			r := must.Get(studytest.Runner(t.Context(), log, def, nil))(rt)
			for range rapid.IntRange(1, 2).Draw(rt, "requests") {
				request := drawExclusion(rt, r.Core().State())
				_, _ = engine.Submit(t.Context(), log, r.Core(), request, now()) // allowed or not
			}
			if rapid.Bool().Draw(rt, "amended") {
				amended := *r.Core().State().Definition
				amended.Budget.Experiments += 2
				amended.Parameters = slices.Clone(amended.Parameters)
				amended.Parameters[0].Max = ptr(*amended.Parameters[0].Max - 0.1)
				_, _ = engine.Submit(t.Context(), log, r.Core(), engine.Request{Actor: "person:eve", Amend: &events.CampaignAmended{Definition: amended}}, now())
			}
			must.Get(r.Suggest(t.Context()))(rt)
			r = must.Get(studytest.Runner(t.Context(), log, def, nil))(rt)
			if rapid.Bool().Draw(rt, "run") {
				must.Do(rt, r.Run(t.Context()))
			}
		}
		checkExclusions(rt, history(t, log))
		report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) > 0 {
			rt.Fatalf("audit: %+v %v", report.Mismatches, err)
		}
	})
}

// drawExclusion draws an exclusion of a region, a composition or an experiment, or
// takes one back.
func drawExclusion(rt *rapid.T, s *campaign.State) engine.Request {
	r := engine.Request{Actor: "person:eve"}
	lower := rapid.Float64Range(0.2, 2.1).Draw(rt, "lower")
	switch rapid.IntRange(0, 4).Draw(rt, "exclusion") {
	case 0:
		r.Allow = &engine.Allow{Exclusion: fmt.Sprintf("n%d", rapid.IntRange(1, max(1, len(s.Exclusions))).Draw(rt, "allowed"))}
	case 1:
		r.Exclude = &engine.Exclude{Reason: "it clouds", Point: definition.Point{"lipf6": definition.Number(lower), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)}}
	case 2:
		r.Exclude = &engine.Exclude{Reason: "it clouds", About: fmt.Sprintf("e%d", max(1, len(s.Experiments)))}
	default:
		r.Exclude = &engine.Exclude{Reason: "it clouds", Region: map[string]definition.RegionSide{
			"lipf6": {Min: &lower, Max: ptr(lower + rapid.Float64Range(0, 0.8).Draw(rt, "width"))}}}
	}
	return r
}

// checkExclusions walks a history and reports what happened in an excluded region.
func checkExclusions(rt *rapid.T, all []events.Event) {
	excluded := make(map[string]definition.Region)
	requested := make(map[string]definition.Point)
	inside := func(p definition.Point) bool {
		for _, region := range excluded {
			in := true
			for name, side := range region.Where {
				x, _ := p[name].Float()
				in = in && (side.Min == nil || x >= *side.Min) && (side.Max == nil || x <= *side.Max)
			}
			if in {
				return true
			}
		}
		return false
	}
	for _, e := range all {
		payload := must.Get(events.Decode(e))(rt)
		switch p := payload.(type) {
		case *events.RegionExcluded:
			excluded[p.Exclusion] = p.Region
		case *events.RegionAllowed:
			delete(excluded, p.Exclusion)
		case *events.ExperimentRequested:
			requested[p.Experiment] = p.Parameters
			if inside(p.Parameters) {
				rt.Fatalf("event %d requests %v, which is excluded", e.Sequence, p.Parameters)
			}
		case *events.QuestionAsked:
			for _, o := range p.Options {
				if inside(o.Parameters) {
					rt.Fatalf("event %d asks about %v, which is excluded", e.Sequence, o.Parameters)
				}
			}
		case *events.ExperimentDispatched:
			if inside(requested[p.Experiment]) {
				rt.Fatalf("event %d hands %v out, which is excluded", e.Sequence, requested[p.Experiment])
			}
		}
	}
}
