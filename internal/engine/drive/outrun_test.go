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
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// typing is an expert who has the answer to the first question typed when the wait for it ends,
// and says nothing to others.
type typing struct {
	asked  chan string
	answer humans.Reply
}

func (*typing) Describe() humans.Description { return humans.Description{Expert: "ada"} }

func (e *typing) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	select {
	case e.asked <- q.ID:
	default:
	}
	<-ctx.Done()
	if q.ID == "branin/q1" {
		return e.answer, nil
	}
	return humans.Reply{}, ctx.Err()
}

// Law: what an expert has typed when somebody else's answer is recorded is kept beside it, in
// their name, and does not count; the campaign goes on from the one that does, and an audit
// finds nothing wrong with either.
func TestAnswerOfAChannelBesideAnother(t *testing.T) {
	def := must.Get(studytest.Define("branin", 1, 3, func(def *definition.Campaign) {
		def.Policy = policiesByName()["cobol"]
		def.Initial = definition.Initial{Experiments: ptr(2), Labels: ptr(1)}
		def.Experts = []definition.Expert{{Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(time.Hour)}}
	}))(t)
	log := memlog.New()
	r, _ := start(t, log, def, nil)
	ada := &typing{make(chan string, 1), humans.Reply{Answer: events.Answer{Label: events.LabelReject}, Took: 9}}
	r.Reviewers = map[string]humans.Reviewer{"ada": ada}
	run(t, r)
	select {
	case <-ada.asked:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody is asked")
	}
	answer := &engine.Answer{Question: "q1", Reply: humans.Reply{Answer: events.Answer{Label: events.LabelAccept}}}
	must.Get(r.Submit(t.Context(), engine.Request{Actor: "person:bob", Answer: answer}))(t)
	var beside *events.Event
	for deadline := time.Now().Add(30 * time.Second); beside == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what was typed is lost")
		}
		for _, e := range history(t, log) {
			if e.Kind == events.KindQuestionContested {
				beside = &e
			}
		}
	}
	payload := must.Get(events.Decode(*beside))(t)
	if p := payload.(*events.QuestionContested); beside.Actor != "expert:ada" || p.Took != 9 || !p.Answer.Equal(ada.answer.Answer) {
		t.Errorf("%s: %+v", beside.Actor, p)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	if q := core.State().Question("q1"); q.Answer.Label != events.LabelAccept || q.AnsweredBy != "person:bob" {
		t.Errorf("%v by %s counts", q.Answer, q.AnsweredBy)
	}
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, r.Build, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v %v", report.Mismatches, err)
	}
}
