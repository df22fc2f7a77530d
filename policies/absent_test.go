package policies_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// attendance is what becomes of the questions to an expert.
type attendance int

const (
	absent    attendance = iota // they expire
	unsure                      // the expert cannot tell
	answering                   // they are answered
	tardy                       // they are answered once they have expired
	slow                        // they are answered once the campaign has chosen two experiments meanwhile
)

// companies are the people of a campaign that has three experts; one that has
// one has the first of them.
var companies = map[string][3]attendance{
	"nobody answers":  {absent, absent, absent},
	"nobody can tell": {unsure, unsure, unsure},
	"one answers":     {answering, absent, absent},
	"another answers": {absent, absent, answering},
	"all are late":    {tardy, tardy, tardy},
	"all are slow":    {slow, slow, slow},
}

// colleague is an expert who is there: able to tell or not.
type colleague struct {
	name string
	attendance
	measures bool // the campaign does
}

func (c colleague) Describe() humans.Description { return humans.Description{Expert: c.name} }

func (c colleague) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	waits := c.attendance == slow && (q.Form == events.FormPinpoint || !c.measures) // nothing is chosen meanwhile
	if c.attendance != unsure && c.attendance != answering && !waits {
		<-ctx.Done()
		return humans.Reply{}, ctx.Err()
	}
	return humans.Reply{Answer: said(c.attendance, q.Form, points(q.Options))}, nil
}

func points(options []events.Option) (list []definition.Point) {
	for _, o := range options {
		list = append(list, o.Parameters)
	}
	return list
}

// said is what an expert says: they like a small x1.
func said(a attendance, form events.Form, options []definition.Point) events.Answer {
	x1 := func(p definition.Point) float64 {
		x, _ := p["x1"].Float()
		return x
	}
	switch {
	case a == unsure:
		return events.Answer{}
	case form == events.FormPinpoint:
		return events.Answer{Point: definition.Point{"x1": definition.Number(3), "x2": definition.Number(2)}}
	case form == events.FormComparison:
		order := make([]int, len(options))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return int(1000 * (x1(options[i]) - x1(options[j]))) })
		return events.Answer{Order: order}
	case x1(options[0]) < 4:
		return events.Answer{Label: events.LabelAccept}
	}
	return events.Answer{Label: events.LabelReject}
}

// hall is a campaign under way with the people in it.
type hall struct {
	def    definition.Campaign
	people map[string]attendance
	log    *memlog.Log
	now    func() time.Time
}

// patience is how long those are waited for who answer; the others are not.
const patience = definition.Duration(1000 * time.Hour)

func newHall(t *testing.T, name string, experts int, company [3]attendance) *hall {
	t.Helper()
	h := &hall{people: make(map[string]attendance), log: memlog.New(), now: study.Clock()}
	m := methods()[name]
	def := must.Get(studytest.Define("branin", 3, 6, func(def *definition.Campaign) {
		def.Policy = m.policy
		def.Initial = definition.Initial{Experiments: ptr(2), Labels: ptr(2), Comparisons: ptr(2), Wait: ptr(definition.Duration(0))}
		for i, name := range []string{"ada", "bob", "eve"}[:experts] {
			h.people[name] = company[i]
			within := definition.Duration(time.Millisecond)
			if company[i] == unsure || company[i] == answering || company[i] == slow {
				within = patience
			}
			var meanwhile *int
			if company[i] == slow {
				meanwhile = ptr(2)
			}
			def.Experts = append(def.Experts, definition.Expert{Name: name, Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: within, Meanwhile: meanwhile,
				Belief: &definition.StatedBelief{
					Mean: definition.Point{"x1": definition.Number(3), "x2": definition.Number(3)}, SD: map[string]float64{"x1": 3, "x2": 3},
				}})
		}
		if !m.policy.Measures() {
			def.Instrument, def.Budget = definition.Instrument{}, definition.Budget{Comparisons: 4 * experts}
			def.Initial = definition.Initial{Comparisons: ptr(1), Wait: ptr(definition.Duration(0))}
			def.Model.Utility.Posterior = map[string]string{
				"rahbo with ep": definition.PosteriorEP, "rahbo with hallucinate": definition.PosteriorHallucinate,
			}[name]
		}
	}))(t)
	h.def = def
	if err := engine.Define(t.Context(), h.log, events.CampaignDefined{Definition: def}, "person:study", h.now(), ""); err != nil {
		t.Fatal(err)
	}
	return h
}

// runner returns a new process on the campaign, which writes through the given log.
func (h *hall) runner(t *testing.T, log events.Log) *drive.Runner {
	t.Helper()
	r := must.Get(studytest.Runner(t.Context(), log, h.def, nil))(t)
	r.Now, r.Reviewers = h.now, make(map[string]humans.Reviewer)
	for name, attends := range h.people {
		r.Reviewers[name] = colleague{name, attends, h.def.Measures()}
	}
	return r
}

// answer tells what a person says to a question that nobody waits for; a
// composition that is named too late is refused.
func (h *hall) answer(t *testing.T, q *campaign.Question, tell func(engine.Request) error) {
	a := said(h.people[q.Expert], q.Form, q.Points())
	err := tell(engine.Request{Actor: "person:" + q.Expert, Answer: &engine.Answer{Question: q.ID, Reply: humans.Reply{Answer: a}}})
	if err != nil && (q.Form != events.FormPinpoint || !errors.Is(err, problem.ErrInvalidRequest)) {
		t.Errorf("the answer to %s, which is %s: %v", q.ID, q.Status, err)
	}
}

// between does what people do while no process runs: those who answer do, and
// those who are late answer what has expired.
func (h *hall) between(t *testing.T, core *engine.Core) (answered int) {
	t.Helper()
	submit := func(r engine.Request) error {
		_, err := engine.Submit(t.Context(), h.log, core, r, h.now())
		return err
	}
	for _, q := range slices.Clone(core.State().Questions) {
		attends := h.people[q.Expert]
		if q.Status == campaign.Asked && attends == slow && (chosen(core.State(), &q) == 2 || !h.def.Measures() || q.Form == events.FormPinpoint) ||
			q.Status == campaign.Expired && attends == tardy || q.Status == campaign.Asked && (attends == answering || attends == unsure) {
			h.answer(t, &q, submit)
			answered++
		}
	}
	return answered
}

// chosen counts the experiments that the campaign has chosen since a question was asked.
func chosen(s *campaign.State, q *campaign.Question) (n int) {
	for _, x := range s.Experiments[q.Experiments:] {
		if x.Origin == events.OriginPolicy {
			n++
		}
	}
	return n
}

// replayed fails the test where the log does not fold to the state of the core that wrote it.
func (h *hall) replayed(t *testing.T, live *engine.Core) *engine.Core {
	t.Helper()
	again := must.Get(engine.Load(t.Context(), builtin.Registry(), h.log, h.def.Name))(t)
	want := must.Get(live.Digest())(t)
	if got, err := again.Digest(); err != nil || got != want {
		t.Fatalf("replayed, the campaign has the digest %s, live %s (%v)", got, want, err)
	}
	return again
}

// watched calls heard with each event once it is in the log.
type watched struct {
	events.Log
	heard func(events.Event)
}

func (w *watched) Append(ctx context.Context, name string, after events.Sequence, batch ...events.Event) ([]events.Event, error) {
	stored, err := w.Log.Append(ctx, name, after, batch...)
	for _, e := range stored {
		w.heard(e)
	}
	return stored, err
}

// runs is one process from the beginning to the end; who is late answers while
// it runs.
func (h *hall) runs(t *testing.T) *engine.Core {
	var r *drive.Runner
	var late sync.WaitGroup
	answer := func(q campaign.Question) {
		late.Go(func() {
			h.answer(t, &q, func(request engine.Request) error {
				_, err := r.Submit(t.Context(), request)
				if errors.Is(err, drive.ErrOver) {
					return nil
				}
				return err
			})
		})
	}
	r = h.runner(t, &watched{h.log, func(e events.Event) {
		payload, _ := events.Decode(e)
		state := r.Core().State() // the loop waits for this log
		switch p := payload.(type) {
		case *events.QuestionExpired:
			if q := *state.Question(p.Question); h.people[q.Expert] == tardy {
				answer(q)
			}
		case *events.ExperimentRequested:
			for _, q := range state.Questions {
				if p.Origin == events.OriginPolicy && q.Status == campaign.Asked && h.people[q.Expert] == slow &&
					chosen(state, &q) == 1 { // and this is the second
					answer(q)
				}
			}
		}
	}})
	must.Do(t, r.Run(t.Context()))
	late.Wait()
	h.between(t, r.Core()) // what came when it was over
	return r.Core()
}

// restarts is a process for each batch of events, which dies of it.
func (h *hall) restarts(t *testing.T) *engine.Core {
	for range 1000 {
		ctx, die := context.WithCancel(t.Context())
		r := h.runner(t, &watched{h.log, func(e events.Event) {
			if e.Kind != events.KindRecoveryDone {
				die()
			}
		}})
		err := r.Run(ctx)
		die()
		core := h.replayed(t, r.Core())
		if err == nil {
			return core
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		h.between(t, core)
	}
	t.Fatal("it does not end")
	return nil
}

// suggests is a process for each question of what to do next, whose results are told.
func (h *hall) suggests(t *testing.T) *engine.Core {
	for range 1000 {
		r := &drive.Runner{Registry: builtin.Registry(), Log: h.log, Campaign: h.def.Name, Now: h.now}
		suggestion := must.Get(r.Suggest(t.Context()))(t)
		core := h.replayed(t, r.Core())
		did := h.between(t, core)
		if suggestion.Ended {
			return core
		}
		for _, x := range suggestion.Experiments {
			x1, _ := x.Parameters["x1"].Float()
			tell := engine.Request{Actor: "person:ada", Tell: &engine.Tell{Experiment: x.ID, Value: new(x1 * x1)}}
			must.Get(engine.Submit(t.Context(), h.log, core, tell, h.now()))(t)
			did++
		}
		if did == 0 {
			t.Fatalf("it waits for %s", suggestion.WaitingFor)
		}
	}
	t.Fatal("it does not end")
	return nil
}

// oneAtATime checks that nobody is asked while they have not answered before.
func (h *hall) oneAtATime(t *testing.T) {
	t.Helper()
	open := make(map[string]string) // by experts
	for e := range must.Each(t, h.log.Read(t.Context(), 0)) {
		payload, _ := events.Decode(e)
		if q, ok := payload.(*events.QuestionAsked); ok {
			if open[q.Expert] != "" && q.Decision != "" { // what is asked at first may be of several forms
				t.Errorf("%s is asked %s while %s is open", q.Expert, q.Question, open[q.Expert])
			}
			open[q.Expert] = q.Question
			continue
		}
		for expert, question := range open {
			if question == payload.Subject() {
				open[expert] = ""
			}
		}
	}
}

// ended checks what holds of every campaign that is over.
func (h *hall) ended(t *testing.T, core *engine.Core) {
	t.Helper()
	s := core.State()
	if s.Status != campaign.Completed || s.Reason != events.CompletedBudget {
		t.Errorf("it is %s (%s)", s.Status, s.Reason)
	}
	if s.Spent() != h.def.Budget.Experiments {
		t.Errorf("%d experiments were run, of %d", s.Spent(), h.def.Budget.Experiments)
	}
	comparisons := 0
	for _, q := range s.Questions {
		attends := h.people[q.Expert]
		if q.Form == events.FormComparison {
			comparisons++
		}
		switch {
		case q.Status == campaign.Answered && attends != absent:
		case q.Status == campaign.Expired && attends == absent:
		case q.Status == campaign.Withdrawn && attends == slow: // the campaign was over before
		case q.Status == campaign.Expired && attends == tardy && q.Form == events.FormPinpoint: // named too late
		default:
			t.Errorf("%s of %s, who is %d, is %s", q.ID, q.Expert, attends, q.Status)
		}
	}
	if !h.def.Measures() && comparisons != h.def.Budget.Comparisons {
		t.Errorf("%d comparisons were asked, of %d", comparisons, h.def.Budget.Comparisons)
	}
	h.oneAtATime(t)
	if _, err := core.Summarize(t.Context()); err != nil {
		t.Error(err)
	}
	h.replayed(t, core)
	audited(t, h.log, h.def)
}

// Law: whoever answers or does not, every method with every form of feedback, of
// one and of three experts, drives a campaign to its end: run, suggested, and in
// processes that die after each event.
func TestAbsentExperts(t *testing.T) {
	all := methods()
	drives := []struct {
		name  string
		drive func(*hall, *testing.T) *engine.Core
	}{{"run", (*hall).runs}, {"suggest", (*hall).suggests}, {"restart", (*hall).restarts}}
	n := 0
	turn := func() bool { return n%13 == 0 }
	if draws.Whole() {
		turn = func() bool { return draws.Turn(n, 4) }
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		first := true
		for _, company := range slices.Sorted(maps.Keys(companies)) {
			for _, experts := range []int{1, 3} {
				if experts == 1 && (company == "one answers" || company == "another answers") {
					continue // somebody who answers, or nobody
				}
				for _, d := range drives {
					if n++; !turn() && !(first && company == "nobody answers") {
						continue
					}
					first = false
					t.Run(fmt.Sprintf("%s/%s/%d/%s", name, company, experts, d.name), func(t *testing.T) {
						t.Parallel()
						h := newHall(t, name, experts, companies[company])
						h.ended(t, d.drive(h, t))
					})
				}
			}
		}
	}
}

// Law: a rule without evidence does not bend the choice, and says what it lacks.
func TestWithoutEvidence(t *testing.T) {
	for _, c := range []struct{ name, rule, reason string }{
		{"cobol", "gate", "ada has judged nothing yet"},
		{"prior-sampling", "design", "no model of what ada prefers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHall(t, c.name, 1, companies["nobody can tell"])
			h.runs(t)
			found := 0
			for e := range must.Each(t, h.log.Read(t.Context(), 0)) {
				payload, _ := events.Decode(e)
				d, ok := payload.(*events.DecisionMade)
				if !ok || d.Action != events.ActionRun {
					continue
				}
				if d.Chosen == "aided" {
					t.Errorf("%s follows an expert who has said nothing", d.Decision)
				}
				if d.Rule == c.rule && strings.Contains(d.Reason, c.reason) {
					found++
				}
			}
			if found == 0 {
				t.Errorf("no decision of the rule %q says %q", c.rule, c.reason)
			}
		})
	}
}

// Law: a comparison that the campaign itself withdraws, because a person refuses what it is
// about, counts against no budget: as many are asked as the file says.
func TestWithdrawnDuels(t *testing.T) {
	for _, name := range []string{"raeubo", "mr-lpf", "random-duels"} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, name, 1, companies["one answers"])
			for n := 0; ; n++ {
				r := &drive.Runner{Registry: builtin.Registry(), Log: h.log, Campaign: h.def.Name, Now: h.now}
				suggestion := must.Get(r.Suggest(t.Context()))(t)
				if suggestion.Ended {
					break
				}
				core := r.Core()
				if n == 1 || n == 2 { // one of the initial comparisons is over by now
					exclude := &engine.Exclude{Point: suggestion.Questions[0].Options[0].Parameters, Reason: "it clouds"}
					if _, err := engine.Submit(t.Context(), h.log, core, engine.Request{Actor: "person:ada", Exclude: exclude}, h.now()); err != nil {
						t.Fatal(err)
					}
					continue
				}
				h.between(t, core)
			}
			core := must.Get(engine.Load(t.Context(), builtin.Registry(), h.log, h.def.Name))(t)
			withdrawn := 0
			for _, q := range core.State().Questions {
				if q.Status == campaign.Withdrawn && q.Moot {
					withdrawn++
					answer := engine.Request{Actor: "person:ada", Answer: &engine.Answer{Question: q.ID, Reply: humans.Reply{Answer: events.Answer{Order: []int{0, 1}}}}}
					if _, err := core.Handle(answer); !errors.Is(err, problem.ErrInvalidRequest) {
						t.Errorf("an answer to %s, which was withdrawn: %v", q.ID, err)
					}
				}
			}
			if s := core.State(); withdrawn != 2 || s.Comparisons() != h.def.Budget.Comparisons {
				t.Errorf("%d comparisons were withdrawn, and %d of %d answered", withdrawn, s.Comparisons(), h.def.Budget.Comparisons)
			}
			audited(t, h.log, h.def)
		})
	}
}

// Law: a campaign of comparisons that nobody makes says so: why a pair is one at
// random, and at its end how many were answered.
func TestUnansweredDuels(t *testing.T) {
	h := newHall(t, "raeubo", 1, companies["nobody answers"])
	h.runs(t)
	random, end := "", ""
	for e := range must.Each(t, h.log.Read(t.Context(), 0)) {
		payload, _ := events.Decode(e)
		if d, ok := payload.(*events.DecisionMade); ok && d.Form == events.FormComparison {
			random = d.Reason
		} else if ok {
			end = d.Reason
		}
	}
	if !strings.Contains(random, "ada has compared nothing yet") || !strings.Contains(end, "0 of them answered") {
		t.Errorf("it says %q and %q", random, end)
	}
}
