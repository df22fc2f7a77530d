package drive_test

import (
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/direct"
)

// asking is the log of a campaign at a device with two questions to a person who has the default
// time to answer: an initial one, and one that a decision asked. They are asked on the way to
// suggestions, or in a run.
func asking(t *testing.T, byHand bool) []events.Event {
	t.Helper()
	def := campaignfile.Complete(builtin.Registry(), electrolyte(t, 2, 9, func(def *definition.Campaign) {
		def.Experts[0] = definition.Expert{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}
		def.Instrument = definition.Instrument{Driver: process.Choose(process.Settings{Command: []string{"./mixer"}})}
		def.Initial = definition.Initial{Experiments: ptr(0), Labels: ptr(1)}
		def.Policy = definition.Policy{Next: direct.Manual{}.Choice()}
	}))
	log := memlog.New()
	defined := events.CampaignDefined{Instance: "ABC", Definition: def}
	must.Do(t, engine.Define(t.Context(), log, defined, "person:eve", time.Now(), ""))
	unsure := engine.Request{Actor: "person:ada", Answer: &engine.Answer{Question: "q1"}}
	if byHand {
		r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name}
		for range 2 {
			must.Get(r.Suggest(t.Context()))(t)
			if len(r.Core().State().Questions) == 1 {
				must.Get(engine.Submit(t.Context(), log, r.Core(), unsure, time.Now()))(t)
			}
		}
		return history(t, log)
	}
	r, waiting := start(t, log, def, &lab{})
	r.Now, r.Reviewers = time.Now, map[string]humans.Reviewer{"ada": silent{}}
	run(t, r)
	until(t, waiting, "q1")
	must.Get(r.Submit(t.Context(), unsure))(t)
	until(t, waiting, "q2")
	return history(t, log)
}

// Law: when a question expires follows from the log. Whether people run the experiments, which the
// time to answer depends on, is recorded with the question; in a log of 0.1.0, which does not say
// so, either is accepted.
func TestForgedExpiries(t *testing.T) {
	never, soon := time.Time{}, 2*time.Minute
	for name, c := range map[string]struct {
		byHand bool
		at     int // question
		forge  func(*events.QuestionAsked, time.Time)
		found  bool
	}{
		"a run that waits for ever":         {false, 0, func(q *events.QuestionAsked, _ time.Time) { q.Expires = never }, true},
		"a run that waits for ever, later":  {false, 1, func(q *events.QuestionAsked, _ time.Time) { q.Expires = never }, true},
		"a run that waits too short a time": {false, 0, func(q *events.QuestionAsked, at time.Time) { q.Expires = at.Add(soon / 2) }, true},
		"said to be by hand":                {false, 0, func(q *events.QuestionAsked, _ time.Time) { q.ByHand = ptr(true) }, true},
		"by hand, and somebody hurried":     {true, 0, func(q *events.QuestionAsked, at time.Time) { q.Expires = at.Add(soon) }, true},
		"by hand, and hurried later":        {true, 1, func(q *events.QuestionAsked, at time.Time) { q.Expires = at.Add(soon) }, true},
		"said to be of a run":               {true, 1, func(q *events.QuestionAsked, _ time.Time) { q.ByHand = ptr(false) }, true},
		"a decision that does not say it":   {true, 1, func(q *events.QuestionAsked, _ time.Time) { q.ByHand = nil }, true},
		"0.1.0, by hand":                    {true, 0, func(q *events.QuestionAsked, _ time.Time) { q.ByHand = nil }, false},
		"0.1.0, a run":                      {false, 0, func(q *events.QuestionAsked, _ time.Time) { q.ByHand = nil }, false},
		"nothing":                           {true, 1, func(*events.QuestionAsked, time.Time) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			all, at := asking(t, c.byHand), c.at
			i := slices.IndexFunc(all, func(e events.Event) bool {
				at -= map[bool]int{true: 1}[e.Kind == events.KindQuestionAsked]
				return at < 0
			})
			payload := must.Get(events.Decode(all[i]))(t)
			question := payload.(*events.QuestionAsked)
			c.forge(question, all[i].Time)
			forged := must.Get(events.New(all[i].Campaign, question))(t)
			all[i].Data = forged.Data
			report, err := decisions.Audit(t.Context(), builtin.Registry(), refill(t, all), all[i].Campaign, events.Build{}, nil)
			if err != nil || (len(report.Mismatches) > 0) != c.found {
				t.Errorf("%+v %v", report.Mismatches, err)
			}
		})
	}
}
