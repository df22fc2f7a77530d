package drive

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// absent is an instrument that answers nothing by itself.
type absent struct{ fate instruments.Fate }

func (absent) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{}, errors.New("no answer")
}
func (absent) Start(context.Context, instruments.Command) error { return nil }
func (absent) Await(ctx context.Context, _ instruments.Command) (instruments.Outcome, error) {
	<-ctx.Done()
	return instruments.Outcome{}, ctx.Err()
}
func (absent) Cancel(context.Context, instruments.Command) error { return nil }
func (a absent) Recover(context.Context, instruments.Command) (instruments.Fate, error) {
	return a.fate, nil
}

func newTeam(t *testing.T) *team {
	ctx, cancel := context.WithCancel(t.Context())
	c := &team{awaiting: ctx, inbox: make(chan message, inboxSize)}
	t.Cleanup(func() {
		cancel()
		c.wg.Wait()
	})
	return c
}

// Law: what is in flight is known until it is released; an answer of a person at the bench ends the
// wait for it, and what an instrument works on is waited for though a person has settled it.
func TestCouriersInFlight(t *testing.T) {
	s := newFixture(t).core.State()
	x := &s.Experiments[0]
	x.Command = campaign.Command{ID: "small/e1", Fate: campaign.Sent}
	x.Status = campaign.Dispatched
	c := couriers{inFlight: make(map[string]context.CancelFunc)}
	may := guard{ask: func(context.Context) string { return "" }}
	c.await(newTeam(t), absent{}, engine.CommandOf(s, x.ID), verdict{fate: instruments.FateNotStarted}, evidence{}, may, true)
	var w engine.World
	if c.world(&w, s); !w.InFlight["e1"] {
		t.Error("it is not known what is in flight")
	}
	x.Status = campaign.Failed
	if c.releaseSettled(s); c.inFlight["e1"] == nil {
		t.Error("the instrument is waited for no longer")
	}
	s.Definition.Instrument.ByHand = true
	if c.releaseSettled(s); c.inFlight["e1"] != nil {
		t.Error("the person at the bench is still asked")
	}
}

// Law: "not started" of a command that was sent to something real is not a verdict, but of one that was
// sent to a simulation; and nothing else is decided before the verdicts are there.
func TestCouriersRecovery(t *testing.T) {
	f := newFixture(t)
	s := f.core.State()
	x := &s.Experiments[0]
	x.Status = campaign.Started
	x.Command = campaign.Command{ID: "small/e1", Fate: campaign.Begun, Instrument: "robot"}
	for _, simulated := range []bool{false, true} {
		c := couriers{}
		team := newTeam(t)
		now := instruments.Description{Name: "robot", Simulated: simulated}
		devices := map[string]*device{"": {instrument: absent{instruments.FateNotStarted}, description: now}}
		c.recover(team, s, devices, []string{"e1"}, time.Time{})
		var w engine.World
		if c.world(&w, s); !w.Recovering || c.recovered() != nil {
			t.Error("it is recovered before the instrument has answered")
		}
		c.recovery.verdicts = (<-team.inbox).(recalled).verdicts
		done := c.recovered()
		payloads, await := done.payloads(s, devices, events.Build{})
		if simulated != (len(await) == 1) || simulated != (len(payloads) == 1) || c.recovery != nil {
			t.Errorf("simulated %v: %d events, %d to be awaited", simulated, len(payloads), len(await))
		}
	}
}

// labeler gives what it was told to.
type labeler struct {
	humans.Reviewer
	labels []humans.Example
}

func (l labeler) Examples(context.Context, int, bool) ([]humans.Example, error) { return l.labels, nil }

// Law: examples are as many as were asked for, or none; a panic of whoever is asked is a message.
func TestCouriersExamples(t *testing.T) {
	step := engine.Examples{Expert: "ada", N: 1}
	team := newTeam(t)
	for n, fails := range map[int]bool{0: true, 1: false, 2: true} {
		c := couriers{reviewers: map[string]humans.Reviewer{"ada": labeler{labels: make([]humans.Example, n)}}}
		c.prompt(team, step)
		if c.prompted != "ada" {
			t.Error("nobody is known to be asked")
		}
		given := (<-team.inbox).(prompted).examples
		if fails != (given.err != nil) || !fails && len(given.payloads(1)) != 1 {
			t.Errorf("%d examples: %v", n, given.err)
		}
	}
	team.consult(func() { panic("a mistake") })
	select {
	case m := <-team.inbox:
		if _, ok := m.(panicked); !ok {
			t.Errorf("the loop hears %+v", m)
		}
	case <-time.After(10 * time.Second):
		t.Error("the loop hears nothing of it")
	}
}

// Law: what was called off is not started again, also where nothing physical has happened: a
// simulation that has forgotten its command is told nothing.
func TestCouriersStartNothingThatIsOff(t *testing.T) {
	s := newFixture(t).core.State()
	x := &s.Experiments[0]
	x.Command = campaign.Command{ID: "small/e1", Fate: campaign.Begun, CallOff: &campaign.CallOff{Order: "7"}}
	x.Status = campaign.Started
	e := evidenceOf(&x.Command, instruments.Description{Simulated: true})
	sent := sending{newTeam(t), startless{t: t}, engine.CommandOf(s, x.ID), e, guard{}}
	outcome, err := sent.startAndAwait(t.Context(), verdict{fate: instruments.FateNotStarted}, false)
	if err != nil || outcome.Status != instruments.Cancelled {
		t.Errorf("it ends as %+v, %v", outcome, err)
	}
}

// startless is an instrument that must not be started.
type startless struct {
	absent
	t *testing.T
}

func (s startless) Start(context.Context, instruments.Command) error {
	s.t.Error("it was started")
	return nil
}

// flaky is out of reach for its first calls.
type flaky struct {
	absent
	recalls, awaits int // that fail
}

func (f *flaky) Recover(context.Context, instruments.Command) (instruments.Fate, error) {
	if f.recalls--; f.recalls >= 0 {
		return instruments.FateUnknown, errors.New("the line is down")
	}
	return instruments.FateRunning, nil
}

func (f *flaky) Await(context.Context, instruments.Command) (instruments.Outcome, error) {
	if f.awaits--; f.awaits >= 0 {
		return instruments.Outcome{}, errors.New("the line is down")
	}
	return instruments.Outcome{Status: instruments.Failed, Cause: "it was stopped"}, nil
}

// Law: a line that is down is not an answer. A person said that nothing had moved, the command was
// called off, and the device could not be asked: the repetition would have gone out while it was at work.
func TestCallOffIsAnsweredByAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := newTeam(t)
		off := callingOff{
			team: team, instrument: &flaky{recalls: 7, awaits: 2}, cmd: instruments.Command{Experiment: "e1"},
			order: campaign.CallOff{Order: "7"}, asks: true, settled: true,
		}
		go off.answered(t.Context(), events.VoidedByInstrument)
		for {
			said, ok := (<-team.inbox).(calledOff)
			if !ok {
				continue // why it is not answered yet
			}
			if said.fate != instruments.FateRunning || said.ended == nil {
				t.Errorf("it is answered as %+v", said)
			}
			return
		}
	})
}

// Law: that an instrument was replaced is said once of the command that it shows by, also where a run is
// started again; and again where the same exchange happens later.
func TestReplacementIsSaidOfEachExchange(t *testing.T) {
	s := newFixture(t).core.State()
	s.Experiments[0].Command = campaign.Command{ID: "small/e1", Fate: campaign.Over, Instrument: "robot"}
	devices := map[string]*device{"": {description: instruments.Description{Name: "mixer"}}}
	said := withReplacement(s, devices)
	if len(said) != 1 {
		t.Fatalf("%d remarks", len(said))
	}
	note := said[0].(*events.NoteAdded)
	s.Notes = []campaign.Note{{Text: note.Text, About: note.About}, {Text: "lunch"}}
	if again := withReplacement(s, devices); again != nil {
		t.Errorf("it is said again: %+v", again)
	}
	s.Notes[0].About = "e9" // an earlier exchange of the same two
	if again := withReplacement(s, devices); len(again) != 1 {
		t.Errorf("of the second exchange: %+v", again)
	}
}
