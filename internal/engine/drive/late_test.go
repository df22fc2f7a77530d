package drive_test

import (
	"context"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/projectiontest"
)

// unanswered is a campaign at whose end every question has expired.
func unanswered(t *testing.T, policy definition.Policy) (*memlog.Log, definition.Campaign, *engine.Core) {
	t.Helper()
	def := must.Get(studytest.Define("branin", 1, 4, func(def *definition.Campaign) {
		def.Policy = policy
		def.Initial = definition.Initial{Experiments: ptr(2), Labels: ptr(0), Comparisons: ptr(0)}
		switch {
		case policy.Trust.Name == "coexbo":
			def.Initial.Comparisons = ptr(2)
		case policy.Next.Name != "manual":
			def.Initial.Labels = ptr(2)
		}
		def.Experts = []definition.Expert{{Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(time.Millisecond)}}
	}))(t)
	log := memlog.New()
	r, _ := start(t, log, def, nil)
	r.Reviewers = map[string]humans.Reviewer{"ada": silent{}}
	must.Do(t, run(t, r)())
	return log, def, r.Core()
}

// Law: a question that has expired can still be answered, whatever it asks for. The
// answer stands in the log with who gave it and when, the question is answered
// from then on, the models learn from it, and it can be changed like any other. Decisions that
// were made without it stay what they were.
func TestLateAnswers(t *testing.T) {
	methods := policiesByName()
	for name, said := range map[string]humans.Reply{
		"cobol":  {Answer: events.Answer{Label: events.LabelAccept}, Comment: "I was away"},
		"coexbo": {Answer: events.Answer{Order: []int{1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			log, def, core := unanswered(t, methods[name])
			asked := len(core.State().Questions)
			decided := core.State().Decisions
			at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			for i := range asked {
				at = at.Add(time.Second)
				answer := &engine.Answer{Question: events.QuestionID(i + 1), Reply: said}
				stored, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:bob", Answer: answer}, at)
				if err != nil {
					t.Fatal(err)
				}
				if len(stored) != 1 || stored[0].Actor != "person:bob" || !stored[0].Time.Equal(at) {
					t.Errorf("it is recorded as %+v", stored)
				}
				if q := core.State().Question(answer.Question); q.Status != campaign.Answered || !q.AnsweredAt.Equal(at) || !q.Answer.Equal(said.Answer) {
					t.Errorf("the question is %+v", q)
				}
			}
			if s := core.State(); s.Labels()+s.Comparisons() != asked || asked < 2 {
				t.Errorf("of %d answers %d labels and %d comparisons count", asked, s.Labels(), s.Comparisons())
			}
			// Changed, and taken up by a campaign that goes on.
			changed := engine.Answer{Question: "q1"} // can't tell
			if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:bob", Answer: &changed}, at); err != nil {
				t.Error(err)
			}
			def.Budget.Experiments += 2
			if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:bob", Amend: &events.CampaignAmended{Definition: def}}, at); err != nil {
				t.Fatal(err)
			}
			again := must.Get(studytest.Simulate(t.Context(), log, def))(t)
			if again.State().Decisions <= decided {
				t.Error("the campaign did not go on")
			}
			learnt := 0
			for i := range history(t, log) {
				payload, _ := events.Decode(history(t, log)[i])
				if fit, ok := payload.(*events.ModelFitted); ok {
					if fit.Belief != nil {
						learnt = max(learnt, fit.Belief.Labels)
					}
					if fit.Preference != nil {
						learnt = max(learnt, fit.Preference.Comparisons)
					}
				}
			}
			if learnt < asked-1 {
				t.Errorf("of %d answers the models learnt from %d", asked-1, learnt)
			}
			report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
			if err != nil || len(report.Mismatches) > 0 {
				t.Errorf("audit: %+v, %v", report, err)
			}
			projectiontest.Run(t, func() []projections.Projection { return engine.NewCore(builtin.Registry()).Projections() }, history(t, log))
		})
	}
}

// Law: an answer that cannot be taken leaves no trace where its question has expired while
// it was on its way, and the run goes on.
func TestLateNonsense(t *testing.T) {
	def := electrolyte(t, 1, 6, func(def *definition.Campaign) {
		def.Experts[0] = definition.Expert{Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(20 * time.Millisecond)}
		def.Initial.Labels, def.Initial.Experiments = ptr(5), ptr(2)
	})
	r, _ := start(t, memlog.New(), def, nil)
	ada := &babbler{asked: make(chan struct{}), said: make(chan struct{})}
	r.Reviewers = map[string]humans.Reviewer{"ada": ada}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r.Now = func() time.Time { // called by the loop only
		select {
		case <-ada.asked: // whoever looks at the clock just then finds the answer there, and its time over
			<-ada.said
			time.Sleep(5 * time.Millisecond)
			now = now.Add(time.Second)
		default:
		}
		return now
	}
	must.Do(t, run(t, r)())
	expired := 0
	for _, q := range r.Core().State().Questions {
		if q.Status == campaign.Expired {
			expired++
		}
	}
	if expired == 0 {
		t.Error("no question expired while its answer was on its way")
	}
}

// babbler answers each question with what answers none, as soon as somebody looks.
type babbler struct{ asked, said chan struct{} }

func (*babbler) Describe() humans.Description { return humans.Description{Expert: "ada"} }

func (b *babbler) Ask(context.Context, humans.Question) (humans.Reply, error) {
	b.asked <- struct{}{}
	go func() { b.said <- struct{}{} }()
	return humans.Reply{Answer: events.Answer{Label: "perhaps"}}, nil
}

// Law: a composition that is named too late is refused with the way to have it
// measured all the same, and taken as long as nothing was decided without it.
func TestTooLateAnswers(t *testing.T) {
	methods := policiesByName()
	_, def, core := unanswered(t, methods["manual"])
	point := must.Get(core.Space().Sample(1, 1))(t)
	named := humans.Reply{Answer: events.Answer{Point: point[0]}}
	for name, said := range map[string]engine.Answer{
		"too late": {Question: "q1", Reply: named},
		"another":  {Question: "q2", Reply: named},
	} {
		if _, err := core.Handle(engine.Request{Actor: "person:ada", Answer: &said}); !offers(err, problem.Tell, "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Before the campaign has decided without it, a composition is not too late.
	log := memlog.New()
	r, _ := start(t, log, def, nil)
	r.Reviewers = map[string]humans.Reviewer{"ada": silent{}}
	must.Do(t, run(t, r)())
	all := history(t, log)
	for i, e := range all {
		if e.Kind != events.KindQuestionExpired {
			continue
		}
		short := refill(t, all[:i+1])
		core := must.Get(engine.Load(t.Context(), builtin.Registry(), short, def.Name))(t)
		said := engine.Answer{Question: events.QuestionID(len(core.State().Questions)), Reply: named}
		if _, err := engine.Submit(t.Context(), short, core, engine.Request{Actor: "person:ada", Answer: &said}, time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		r, _ := start(t, short, def, nil)
		r.Reviewers = map[string]humans.Reviewer{"ada": silent{}}
		must.Do(t, run(t, r)())
		ran := false
		for _, x := range r.Core().State().Experiments {
			ran = ran || x.Parameters["x1"] == point[0]["x1"]
		}
		if !ran {
			t.Error("the composition was not measured")
		}
		return
	}
	t.Error("no question expired")
}

// policiesByName are the policies that have a name.
func policiesByName() map[string]definition.Policy {
	all := make(map[string]definition.Policy)
	for _, m := range builtin.Registry().Methods.Methods() {
		all[m.Name] = m.Policy
	}
	return all
}

// Law: where people run the experiments, a question waits for its answer, however
// long that takes, unless the file sets a time.
func TestSuggestedQuestionsWait(t *testing.T) {
	for within, waits := range map[time.Duration]bool{0: true, time.Hour: false} {
		def := must.Get(studytest.Define("branin", 1, 3, func(def *definition.Campaign) {
			def.Initial = definition.Initial{Experiments: ptr(2), Labels: ptr(2)}
			def.Experts = []definition.Expert{{Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(within)}}
		}))(t)
		log := memlog.New()
		start(t, log, def, nil) // defines it
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for day := range 3 {
			r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Now: func() time.Time { return now.AddDate(0, 0, day) }}
			suggestion := must.Get(r.Suggest(t.Context()))(t)
			q := r.Core().State().Question("q1")
			if waits && (len(suggestion.Questions) != 2 || !q.Expires.IsZero()) {
				t.Errorf("day %d: q1 is %s until %v", day, q.Status, q.Expires)
			}
			if expired := q.Status == campaign.Expired; expired != (!waits && day > 0) {
				t.Errorf("within %v, on day %d q1 is %s", within, day, q.Status)
			}
		}
		report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) > 0 {
			t.Errorf("audit: %+v, %v", report, err)
		}
	}
}
