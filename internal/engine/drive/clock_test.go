package drive_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/direct"
	"github.com/campaignd/campaignd/projections/campaign"
)

// wall moves the clock of the machine, as an administrator or a time server does: time itself goes
// on as before.
type wall struct{ by atomic.Int64 }

func newWall(t *testing.T) *wall {
	w := new(wall)
	t.Cleanup(clock.Skew(func() time.Duration { return time.Duration(w.by.Load()) }, time.Millisecond))
	return w
}

func (w *wall) set(by time.Duration) { w.by.Store(int64(by)) }

// observed is a run whose waits are seen.
type observed struct {
	*drive.Runner
	log   events.Log
	waits chan engine.Wait
	over  <-chan error
}

// onClock runs a campaign on the machine's clock.
func onClock(
	t *testing.T, log events.Log, name string, instrument instruments.Instrument, reviewers map[string]humans.Reviewer,
) *observed {
	t.Helper()
	o := &observed{log: log, waits: make(chan engine.Wait, 10_000), Runner: &drive.Runner{
		Registry: builtin.Registry(), Log: log, Campaign: name, Instrument: instrument, Reviewers: reviewers,
	}}
	o.Observe = func(_ *engine.Core, wait engine.Wait) {
		select {
		case o.waits <- wait:
		default: // what is not looked at
		}
	}
	must.Do(t, o.Start(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- o.Run(ctx); close(over) }()
	o.over = over
	t.Cleanup(func() { cancel(); <-over })
	return o
}

// awaits returns the first wait that is as wanted.
func (o *observed) awaits(t *testing.T, what string, wanted func(engine.Wait) bool) engine.Wait {
	t.Helper()
	for timeout := time.After(30 * time.Second); ; {
		select {
		case w := <-o.waits:
			if wanted(w) {
				return w
			}
		case err := <-o.over:
			t.Fatalf("the run ended before %s: %v", what, err)
		case <-timeout:
			t.Fatalf("no wait %s", what)
		}
	}
}

// happens waits for an event of a kind.
func (o *observed) happens(t *testing.T, kind events.Kind) events.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for e, err := range o.log.Follow(ctx, 0) {
		if err != nil {
			break
		}
		if e.Kind == kind {
			return e
		}
	}
	t.Fatalf("no %s", kind)
	return events.Event{}
}

// questioning is the definition of a campaign that asks ada, who has ten minutes, and never answers.
func questioning(t *testing.T) definition.Campaign {
	return campaignfile.Complete(builtin.Registry(), electrolyte(t, 2, 9, func(def *definition.Campaign) {
		def.Experts[0] = definition.Expert{
			Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(10 * time.Minute),
		}
		def.Instrument = definition.Instrument{Driver: process.Choose(process.Settings{Command: []string{"./mixer"}})}
		def.Initial = definition.Initial{Experiments: ptr(0), Labels: ptr(1)}
		def.Policy = definition.Policy{Next: direct.Manual{}.Choice()}
	}))
}

// held is an instrument whose second experiment ends when it is released.
type held struct {
	*lab
	reached, release chan struct{}
}

func (h *held) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if cmd.Experiment == "e2" {
		close(h.reached)
		<-h.release
	}
	return h.lab.Await(ctx, cmd)
}

// Law: a question waits as long as it was to, whatever becomes of the clock: set ahead, as after a
// night in which the machine slept, it expires though nothing happens; set back by an hour or a
// year, no later than it was to from then on, also where the process begins only then. An audit
// finds nothing in it but that the clock was set.
func TestQuestionsUnderTheClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		asked, then time.Duration // how far the clock is ahead when it is asked, and afterwards
		restart     bool
	}{
		"set ahead by an hour":          {0, time.Hour, false},
		"set back by an hour":           {0, -time.Hour, false},
		"asked a year ahead":            {year, 0, false},
		"asked a year ahead, restarted": {year, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, log, def := newWall(t), memlog.New(), questioning(t)
			w.set(c.asked)
			reviewers := map[string]humans.Reviewer{"ada": silent{}}
			defined := events.CampaignDefined{Instance: "ABC", Definition: def}
			must.Do(t, engine.Define(t.Context(), log, defined, "person:eve", clock.Now(), ""))
			asks := func(wait engine.Wait) bool { return strings.Contains(wait.For, "q1") }
			first := onClock(t, log, def.Name, &lab{}, reviewers)
			asked := first.awaits(t, "for q1", asks)
			r := first
			w.set(c.then)
			if c.restart {
				r = onClock(t, log, def.Name, &lab{}, reviewers)
			}
			if c.then < c.asked { // it is seen that the clock was set back
				cut := r.awaits(t, "after the clock was set back", func(wait engine.Wait) bool {
					return asks(wait) && wait.Until.Before(asked.Until)
				})
				if left := cut.Until.Sub(clock.Now()); left > 10*time.Minute {
					t.Errorf("%s are left of ten minutes", left)
				}
				w.set(c.then + 10*time.Minute)
			}
			r.happens(t, events.KindQuestionExpired)
			report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
			if err != nil || len(report.Mismatches) > 0 {
				t.Errorf("the audit: %v, %v", report, err)
			}
		})
	}
}

// Law: a budget of time that is spent only because the clock was set ahead ends no campaign: a person
// is asked, and their word that it goes on ends it.
func TestTimeBudgetUnderTheClock(t *testing.T) {
	w, log := newWall(t), memlog.New()
	def := campaignfile.Complete(builtin.Registry(), electrolyte(t, 2, 9, func(def *definition.Campaign) {
		def.Experts, def.Policy = nil, definition.Policy{}
		def.Instrument = definition.Instrument{Driver: process.Choose(process.Settings{Command: []string{"./mixer"}})}
		def.Budget.Time = definition.Duration(8 * time.Hour)
	}))
	w.set(-365 * 24 * time.Hour)
	defined := events.CampaignDefined{Instance: "ABC", Definition: def}
	must.Do(t, engine.Define(t.Context(), log, defined, "person:eve", clock.Now(), ""))
	held := &held{lab: &lab{}, reached: make(chan struct{}), release: make(chan struct{})}
	r := onClock(t, log, def.Name, held, nil)
	<-held.reached
	w.set(0) // a time server was reached
	close(held.release)
	r.awaits(t, "for a person", func(wait engine.Wait) bool { return strings.Contains(wait.For, "the clock of this machine") })
	must.Get(r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}}))(t)
	must.Do(t, <-r.over)
	if s := r.Core().State(); s.Status != campaign.Completed || s.Reason != events.CompletedTime {
		t.Errorf("the campaign is %s: %s", s.Status, s.Reason)
	}
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("the audit: %v, %v", report, err)
	}
}
