package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
)

// person is one expert.
type person struct {
	name   string
	temper Temper
	life   *Life
}

// Describe implements [humans.Reviewer].
func (p *person) Describe() humans.Description { return humans.Description{Expert: p.name} }

// Ask implements [humans.Reviewer].
func (p *person) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	r := p.life.world.chance("answer", q.ID)
	temper := p.temper
	if p.life.honest.Load() {
		temper = Prompt
	}
	delay := time.Duration(1+r.IntN(10)) * time.Minute
	switch temper {
	case Absent:
		<-ctx.Done()
		return humans.Reply{}, context.Cause(ctx)
	case Broken:
		return humans.Reply{}, errors.New("the channel is gone\x1b[2J")
	case Late:
		p.life.submitLater(time.Duration(r.Float64()*float64(30*time.Hour)), answer(p.name, q, reply(q, r)))
		<-ctx.Done()
		return humans.Reply{}, context.Cause(ctx)
	case Contradictory:
		for i := range 1 + r.IntN(3) {
			p.life.submitLater(time.Duration(1+i)*time.Hour, answer(p.name, q, reply(q, r)))
		}
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return humans.Reply{}, context.Cause(ctx)
	}
	switch temper {
	case Undecided:
		return humans.Reply{}, nil
	case Careless:
		return careless(q, r), nil
	}
	return reply(q, r), nil
}

// reply is an answer of the question's form.
func reply(q humans.Question, r *rand.Rand) humans.Reply {
	switch q.Form {
	case events.FormComparison, events.FormOutcomes:
		return humans.Reply{Answer: events.Answer{Order: r.Perm(len(q.Options))}}
	case events.FormEstimate:
		var estimates []events.Estimate
		for i := range q.Options {
			for k := range q.Scale.Table() {
				if r.IntN(4) > 0 {
					e := q.Scale.In(i, k)
					e.Value = float64(1 + r.IntN(5))
					estimates = append(estimates, e)
				}
			}
		}
		return humans.Reply{Answer: events.Answer{Estimates: estimates}, Comment: "so"}
	case events.FormPinpoint:
		if q.Suggestion == nil || r.IntN(4) == 0 {
			return humans.Reply{}
		}
		return humans.Reply{Answer: events.Answer{Point: q.Suggestion.Parameters}}
	}
	n := r.IntN(4)
	label := []events.Label{events.LabelAccept, events.LabelReject, "", events.LabelReject}[n]
	return humans.Reply{Answer: events.Answer{Label: label}, Exclude: n == 3, Comment: "so"}
}

// careless is an answer of any form.
func careless(q humans.Question, r *rand.Rand) humans.Reply {
	switch r.IntN(7) {
	case 0:
		return humans.Reply{Exclude: true}
	case 6:
		return humans.Reply{Answer: events.Answer{Estimates: []events.Estimate{{Option: 1, Value: 1e300}, {Option: 0}}}}
	case 1:
		return humans.Reply{Answer: events.Answer{Order: []int{0, 0, 7}}}
	case 2:
		return humans.Reply{Answer: events.Answer{Point: definition.Point{"x": definition.Number(1e308)}}}
	case 3:
		return humans.Reply{Answer: events.Answer{Label: "yes\x1b[2J"}}
	case 4:
		a := reply(q, r)
		a.Comment = "\u202e\x00"
		return a
	}
	return reply(q, r)
}

// answer is the request by which a person answers in their own time.
func answer(name string, q humans.Question, given humans.Reply) engine.Request {
	return engine.Request{Actor: "person:" + name, Answer: &engine.Answer{Question: questionID(q.ID), Reply: given}}
}

// questionID is the identifier within the campaign.
func questionID(id string) string {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i] == '/' {
			return id[i+1:]
		}
	}
	return id
}

// operate is the life of the person in charge: a request now and then.
func (l *Life) operate(ctx context.Context) {
	temper := l.world.Operator
	for n := 1; ; n++ {
		r := l.world.chance("operator", n)
		span := 5 * time.Hour
		if temper == Busy && !l.honest.Load() {
			span = time.Hour
		}
		pause := time.NewTimer(time.Duration((0.1 + r.Float64()) * float64(span)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
		for _, request := range l.wishes(ctx, n, r) {
			l.submit(request)
		}
	}
}

// wishes is what the person in charge asks for at a time, from what they see of the campaign.
func (l *Life) wishes(ctx context.Context, n int, r *rand.Rand) []engine.Request {
	l.store <- struct{}{}
	defer func() { <-l.store }()
	core, err := l.read(ctx)
	if err != nil {
		return nil
	}
	temper := l.world.Operator
	switch {
	case l.honest.Load():
		return care(core)
	case temper == Absent:
		return nil
	case temper == Busy: // several at the same instant
		c := newClerk(core, r, l.world.Seed)
		return c.requests(1 + r.IntN(4))
	case temper == Prompt:
		return append(care(core), l.sensible(core, n, r))
	case temper == Contradictory:
		return []engine.Request{l.sensible(core, n, r), l.sensible(core, n, r)}
	}
	return []engine.Request{nonsense(n, r), l.sensible(core, n, r)}
}

// care does what the campaign waits for.
func care(core *engine.Core) (requests []engine.Request) {
	s := core.State()
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Status == "unresolved" {
			resolve := &engine.Resolve{Experiment: x.ID, Resolution: events.ResolvedNotPerformed, Reason: "looked"}
			requests = append(requests, engine.Request{Actor: "person:op", Resolve: resolve})
		}
	}
	if tips := s.Stock("tips"); tips != nil && len(tips.Labels) < 3 {
		requests = append(requests, engine.Request{Actor: "person:op", Count: &engine.Count{Stock: "tips", Labels: rack(int(s.Sequence))}})
	}
	if water := s.Stock("water"); water != nil && water.Amount < 4 {
		requests = append(requests, engine.Request{Actor: "person:op", Count: &engine.Count{Stock: "water", Amount: "20 mL"}})
	}
	if s.Status == "paused" {
		requests = append(requests, engine.Request{Actor: "person:op", Resume: &events.CampaignResumed{}})
	}
	return requests
}

// sensible is a request that a person might well make.
func (l *Life) sensible(core *engine.Core, n int, r *rand.Rand) engine.Request {
	s := core.State()
	request := engine.Request{Actor: "person:op"}
	reason := fmt.Sprintf("reason %d of seed %d", n, l.world.Seed)
	experiment := func() string {
		if len(s.Experiments) == 0 {
			return "e1"
		}
		return s.Experiments[r.IntN(len(s.Experiments))].ID
	}
	value := 50 + 40*r.Float64()
	switch r.IntN(13) {
	case 0:
		request.Note = &engine.Note{Text: reason}
	case 1:
		request.Pause = &events.CampaignPaused{Reason: reason}
	case 2:
		request.Resume = &events.CampaignResumed{Reason: reason}
	case 3, 4:
		request.Correct = &engine.Correct{Experiment: experiment(), Value: &value, Reason: reason}
	case 5:
		request.Correct = &engine.Correct{Experiment: experiment(), Exclude: true, Reason: reason}
	case 6:
		request.Resolve = &engine.Resolve{Experiment: experiment(), Reason: reason, Repeat: r.IntN(2) == 0,
			Resolution: []events.Resolution{events.ResolvedFailed, events.ResolvedInfeasible, events.ResolvedNotPerformed}[r.IntN(3)]}
	case 7:
		request.Resolve = &engine.Resolve{
			Experiment: experiment(), Resolution: events.ResolvedMeasured, Value: &value, Reason: reason,
		}
	case 8:
		request.Exclude = &engine.Exclude{About: experiment(), Reason: reason}
	case 9:
		if len(s.Exclusions) > 0 {
			request.Allow = &engine.Allow{Exclusion: s.Exclusions[r.IntN(len(s.Exclusions))].ID, Reason: reason}
		} else {
			request.Tell = &engine.Tell{Experiment: experiment(), Value: new(value)}
		}
	case 10:
		request.Tell = &engine.Tell{Experiment: experiment(), Failed: reason}
	case 11:
		amended := *s.Definition
		if amended.Budget.Experiments > 0 && amended.Budget.Experiments < 16 {
			amended.Budget.Experiments++
		}
		request.Amend = &events.CampaignAmended{Definition: amended, Reason: reason}
	case 12: // one of their own, with a slip of the decimal point now and then
		if len(s.Experiments) > 0 {
			own := s.Experiments[r.IntN(len(s.Experiments))].Parameters
			request.Tell = &engine.Tell{Parameters: own, Value: new(truth(own) * []float64{1, 1, 0.1}[r.IntN(3)])}
		}
	}
	return request
}

// nonsense is a request that cannot be fulfilled, and perhaps not be recorded.
func nonsense(n int, r *rand.Rand) engine.Request {
	request := engine.Request{Actor: "person:op"}
	huge := 1e308
	switch r.IntN(8) {
	case 0:
		request.Actor, request.Note = "person:a\x1bb", &engine.Note{Text: "hello"}
	case 1:
		request.Actor, request.Note = "", &engine.Note{Text: "hello"}
	case 2:
		request.Note = &engine.Note{Text: string(make([]byte, 17<<20))}
	case 3:
		request.Correct = &engine.Correct{Experiment: "e1", Value: &huge, Reason: "\x00"}
	case 4:
		request.Tell = &engine.Tell{Parameters: definition.Point{"x": definition.Number(1e300)}, Value: new(3.0)}
	case 5:
		request.Answer = &engine.Answer{Question: fmt.Sprintf("q%d", n), Reply: humans.Reply{Answer: events.Answer{Label: "\u202e"}}}
	case 6:
		request.Tell = &engine.Tell{Experiment: "e1", Value: new(3.0), Unit: "furlong"}
	}
	return request // or one that asks for nothing
}
