package drive_test

import (
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/projectiontest"
)

// estimating is a campaign of a random design, of which experts estimate compositions at
// first.
func estimating(t *testing.T, estimates int, experts ...definition.Expert) definition.Campaign {
	t.Helper()
	def := must.Get(studytest.Define("branin", 1, 6, func(def *definition.Campaign) {
		def.Policy = policiesByName()["random"]
		def.Initial = definition.Initial{Experiments: ptr(2), Estimates: &estimates, Marks: len(experts) > 1}
		def.Experts = experts
	}))(t)
	return def
}

// Law: simulated experts estimate as many compositions as are wanted, of the space and
// different from each other and from those of others, and somebody who never answers does
// not hold the campaign up. The campaign can be replayed and audited, and what it
// measures is what it would have measured without.
func TestEstimatesOfACampaign(t *testing.T) {
	person := definition.Expert{Name: "eve", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(time.Millisecond)}
	prompt := definition.Expert{Name: "zoe", Channel: terminal.Choose(terminal.Settings{})}
	for name, experts := range map[string][]definition.Expert{
		"one":  {studytest.Expert("ada", humansim.Settings{Correlation: ptr(0.8)})},
		"four": {studytest.Expert("ada", humansim.Settings{UnsureRate: 0.3}), person, prompt, studytest.Expert("bob", humansim.Settings{})},
	} {
		t.Run(name, func(t *testing.T) {
			def := estimating(t, 12, experts...)
			log := memlog.New()
			r, _ := start(t, log, def, nil)
			r.Reviewers["eve"], r.Reviewers["zoe"] = silent{}, &oracle{answers: []humans.Reply{estimates("", 5, 4, 3, 2, 1, 2, 3)}}
			must.Do(t, run(t, r)())
			s := r.Core().State()
			if len(s.Questions) != len(experts) {
				t.Fatalf("%d sittings of %d experts", len(s.Questions), len(experts))
			}
			asked := make(map[string]bool)
			for i, q := range s.Questions {
				if q.Form != events.FormEstimate || q.Expert != experts[i].Name || (q.Scale.Marks > 0) != def.Initial.Marks {
					t.Errorf("%s asks %s for a %s on %+v", q.ID, q.Expert, q.Form, q.Scale)
				}
				want := campaign.Answered
				if q.Expert == "eve" {
					want = campaign.Expired
				}
				if given := len(q.Answer.Estimates); q.Status != want || (given > 6) != (want == campaign.Answered) {
					t.Errorf("%s of %s is %s with %d numbers", q.ID, q.Expert, q.Status, given)
				}
				for _, point := range q.Points() {
					key, err := r.Core().Space().Key(point)
					if err != nil || r.Core().Space().Contains(point) != nil || asked[key] {
						t.Errorf("%s is about %v: %v", q.ID, point, err)
					}
					asked[key] = true
				}
				if len(q.Options) != 12 {
					t.Errorf("%s is about %d compositions", q.ID, len(q.Options))
				}
			}
			report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
			if err != nil || len(report.Mismatches) > 0 || len(report.Remarks) > 0 {
				t.Errorf("audit: %+v, %v", report, err)
			}
			projectiontest.Run(t, func() []projections.Projection { return engine.NewCore(builtin.Registry()).Projections() }, history(t, log))

			_, without := simulate(t, estimating(t, 0))
			measured := func(s *campaign.State) string { text, _, _ := strings.Cut(science(s), "q1 "); return text }
			if got, want := measured(s), measured(without.State()); got != want {
				t.Errorf("measured with estimates:\n%s\nwithout:\n%s", got, want)
			}
		})
	}
}

// Law: what an expert estimated stands in the log on its own: its scale cannot be changed
// without the audit noticing, nor can a sitting be left out.
func TestEstimatesAreAudited(t *testing.T) {
	log, _ := simulate(t, estimating(t, 4, studytest.Expert("ada", humansim.Settings{})))
	all := history(t, log)
	for name, forge := range map[string]func(e events.Event) events.Event{
		"another scale": func(e events.Event) events.Event {
			if e.Kind == events.KindQuestionAsked {
				e.Data = []byte(strings.Replace(string(e.Data), `"better":"lower"`, `"better":"higher"`, 1))
			}
			return e
		},
		"marks": func(e events.Event) events.Event {
			if e.Kind == events.KindQuestionAnswered {
				e.Data = []byte(strings.Replace(string(e.Data), `"better":"lower"`, `"better":"higher","marks":5`, 1))
			}
			return e
		},
	} {
		var forged []events.Event
		for _, e := range all {
			forged = append(forged, forge(e))
		}
		report, err := decisions.Audit(t.Context(), builtin.Registry(), refill(t, forged), all[0].Campaign, events.Build{}, nil)
		if err == nil && len(report.Mismatches) == 0 {
			t.Errorf("%s: the audit finds nothing", name)
		}
	}
}

// estimated is a campaign of persons: one estimates compositions and changes that, another
// is not there.
func estimated(t *testing.T) []events.Event {
	def := campaignfile.Complete(builtin.Registry(), definition.Campaign{
		Name: "estimated", Seed: 1,
		Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(1.0)}},
		Objective:  definition.Objective{Name: "y", Unit: "mS", Goal: definition.Maximize},
		Policy:     policiesByName()["random"],
		Experts: []definition.Expert{
			{Name: "ada", Channel: terminal.Choose(terminal.Settings{})},
			{Name: "bob", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(time.Minute)},
		},
		Initial:    definition.Initial{Experiments: ptr(1), Estimates: ptr(4)},
		Budget:     definition.Budget{Experiments: 6},
		Instrument: definition.Instrument{Driver: manual.Choose(manual.Settings{})},
	})
	log := memlog.New()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	defined := events.CampaignDefined{Instance: "ESTIMATED", Definition: def}
	must.Do(t, engine.Define(t.Context(), log, defined, "person:ada", now, ""))
	r := &drive.Runner{
		Registry: builtin.Registry(), Log: log, Campaign: def.Name,
		Build: events.Build{Version: goldenRelease}, Now: func() time.Time { return now },
	}
	for _, request := range []engine.Request{
		{Answer: &engine.Answer{Question: "q1", Reply: estimates("", 11.2, 0, 9)}},
		{Answer: &engine.Answer{Question: "q1", Reply: estimates("a row too low", 11.2, -9)}},
		{Stop: &events.CampaignStopped{Reason: "enough"}},
	} {
		must.Get(r.Suggest(t.Context()))(t)
		request.Actor = "person:ada"
		must.Get(engine.Submit(t.Context(), log, r.Core(), request, now))(t)
		now = now.Add(40 * time.Second)
	}
	return history(t, log)
}

// estimates are those of the first compositions.
func estimates(comment string, values ...float64) humans.Reply {
	r := humans.Reply{Comment: comment}
	for i, x := range values {
		r.Answer.Estimates = append(r.Answer.Estimates, events.Estimate{Option: i, Value: x})
	}
	return r
}
