package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// handful is one life of a campaign whose experiments people run: suggest, tell,
// suggest again. The program is there only while it is asked.
func (l *Life) handful(ctx context.Context, f *fuse) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	seen := make(map[string]bool) // experiments and questions that somebody has taken up
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		r := l.world.chance("suggest", l.lives, n)
		l.store <- struct{}{}
		runner := l.program(f)
		suggestion, err := runner.Suggest(ctx)
		l.core = runner.Core()
		<-l.store
		if err != nil {
			return err
		}
		if suggestion.Ended {
			return nil
		}
		l.waiting.Store(engine.Wait{For: suggestion.WaitingFor, Remedies: suggestion.Remedies})
		for _, x := range suggestion.Experiments {
			l.waiting.Store(engine.Wait{For: "device: a person's hands, for " + x.ID})
			if !seen[x.ID] {
				seen[x.ID] = true
				l.measure(x, l.core.State().Definition, r)
			}
		}
		for _, q := range suggestion.Questions {
			if !seen[q.ID] {
				seen[q.ID] = true
				l.consider(q, r)
			}
		}
		timer := time.NewTimer(time.Hour)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// measure has a person run an experiment, who may put it off and mistype. Where quantities are declared they give each.
func (l *Life) measure(x campaign.Experiment, def *definition.Campaign, r *rand.Rand) {
	request := engine.Request{Actor: "person:op", Tell: &engine.Tell{Experiment: x.ID, Value: new(truth(x.Parameters) + r.Float64()*1e-3)}}
	if def.Several() {
		request.Tell.Quantities = gave(def, *request.Tell.Value, r)
		request.Tell.Value = nil
	}
	delay := time.Duration(r.Float64() * float64(3*time.Hour))
	if !l.honest.Load() {
		sentence := fmt.Sprintf("%s of seed %d", x.ID, l.world.Seed)
		switch r.IntN(8) {
		case 0:
			request.Tell.Failed = sentence
		case 1:
			request.Tell.Infeasible = sentence
		case 2:
			request.Tell.Again = sentence
		case 3:
			again := request // the first is refused; they try again
			told := *request.Tell
			again.Tell = &told
			if request.Tell.Unit = "furlong"; def.Several() {
				told.Quantities = slices.Clone(told.Quantities)
				request.Tell.Unit, request.Tell.Quantities[0].Unit = "", "furlong"
			}
			l.submitLater(delay+time.Hour, again)
		case 4:
			delay *= 30
		}
	}
	l.submitLater(delay, request)
}

// gave are values of all quantities that an experiment gives.
func gave(def *definition.Campaign, yield float64, r *rand.Rand) (values []definition.Quantity) {
	for _, q := range def.Declared() {
		value := definition.Quantity{Name: q.Name, Unit: q.Unit, Value: 1 + 5*r.Float64()}
		if q.Name == "yield" {
			value.Value = yield
		}
		values = append(values, value)
	}
	return values
}

// consider has an expert answer an open question by the command line.
func (l *Life) consider(q campaign.Question, r *rand.Rand) {
	asked := humans.Question{ID: q.ID, Form: q.Form, Options: q.Options, Scale: q.Scale, Suggestion: q.Suggestion}
	temper := l.world.Experts[q.Expert]
	if l.honest.Load() {
		temper = Prompt
	}
	var given humans.Reply
	delay := time.Duration(r.Float64() * float64(20*time.Minute))
	switch temper {
	case Absent, Broken:
		l.submitLater(wild, answer(q.Expert, asked, reply(asked, r)))
		return
	case Late:
		delay *= 40
		given = reply(asked, r)
	case Undecided:
		given = humans.Reply{}
	case Careless:
		l.submitLater(delay, answer(q.Expert, asked, careless(asked, r)))
		delay += time.Minute
		given = reply(asked, r)
	default:
		given = reply(asked, r)
	}
	l.submitLater(delay, answer(q.Expert, asked, given))
	if temper == Contradictory {
		l.submitLater(delay+time.Hour, answer(q.Expert, asked, reply(asked, r)))
	}
}
