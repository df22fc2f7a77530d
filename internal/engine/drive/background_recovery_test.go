package drive_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// slowRecall is a device that says what became of a command when it is let.
type slowRecall struct {
	*device
	asked  chan string // the experiments it is asked about
	answer chan instruments.Fate
}

func (d slowRecall) Describe(context.Context) (instruments.Description, error) {
	description := d.description
	description.Capacity = 2
	return description, nil
}

func (d slowRecall) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	d.asked <- cmd.Experiment
	select {
	case fate := <-d.answer:
		return fate, nil
	case <-ctx.Done():
		return instruments.FateUnknown, ctx.Err()
	}
}

// underway returns the definition and the history of a campaign that was killed, a day
// ago, with two experiments confirmed and without an outcome.
func underway(t *testing.T, changes ...func(*definition.Campaign)) (definition.Campaign, []events.Event) {
	t.Helper()
	def := electrolyte(t, 1, 5, append(changes, unaided, func(def *definition.Campaign) { def.Parallel = 2 })...)
	d := slowRecall{device: newDevice("serial 1")}
	both, awaited := make(chan struct{}), new(atomic.Int32)
	d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		if awaited.Add(1) == 2 {
			close(both)
		}
		<-both
		o := measured(12)
		o.Measurement.Actual = cmd.Parameters
		return o, nil
	}
	log := memlog.New()
	r, _ := start(t, log, def, d)
	now := time.Now().Add(-24 * time.Hour)
	r.Now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	must.Do(t, r.Run(t.Context()))
	open := map[string]bool{}
	for i, e := range history(t, log) {
		payload := must.Get(events.Decode(e))(t)
		switch p := payload.(type) {
		case *events.ExperimentStarted:
			open[p.Experiment] = true
		case *events.ExperimentMeasured:
			delete(open, p.Experiment)
		}
		if len(open) == 2 {
			return def, history(t, log)[:i+1]
		}
	}
	t.Fatal("there were never two experiments under way")
	return def, nil
}

// recoveries returns the recoveries of a log.
func recoveries(t *testing.T, log events.Log) (done []*events.RecoveryDone) {
	t.Helper()
	for _, e := range history(t, log) {
		if payload, err := events.Decode(e); err != nil {
			t.Fatal(err)
		} else if p, ok := payload.(*events.RecoveryDone); ok {
			done = append(done, p)
		}
	}
	return done
}

// Law: while an instrument looks for what became of a command, for however long,
// requests are answered and deadlines are kept, and nothing begins. What is recorded
// in the end is the fate of the commands that are under way then.
func TestLoopHearsWhileAnInstrumentRecalls(t *testing.T) {
	const hour = definition.Duration(time.Hour) // of the 24 that it was down
	for name, c := range map[string]struct {
		change  func(*definition.Campaign)
		fate    instruments.Fate
		until   events.Kind // is recorded before the instrument answers
		listed  int
		unknown bool
	}{
		"finished":    {nil, instruments.FateFinished, "", 2, false},
		"running":     {nil, instruments.FateRunning, "", 2, false},
		"not started": {nil, instruments.FateNotStarted, "", 2, true},
		"unknown":     {nil, instruments.FateUnknown, "", 2, true},
		"stalled": {func(def *definition.Campaign) { def.Instrument.StallAfter = hour },
			instruments.FateFinished, events.KindInstrumentStalled, 2, false},
		"given up, and an answer after all": {func(def *definition.Campaign) { def.Instrument.StallAfter, def.Instrument.GiveUpAfter = hour, hour },
			instruments.FateFinished, events.KindExperimentUnresolved, 0, false},
		"given up, and it runs after all": {func(def *definition.Campaign) { def.Instrument.StallAfter, def.Instrument.GiveUpAfter = hour, hour },
			instruments.FateRunning, events.KindExperimentUnresolved, 0, false},
		"given up, and no answer": {func(def *definition.Campaign) { def.Instrument.StallAfter, def.Instrument.GiveUpAfter = hour, hour },
			instruments.FateUnknown, events.KindExperimentUnresolved, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			def, past := underway(t, func(def *definition.Campaign) {
				if c.change != nil {
					c.change(def)
				}
			})
			log := refill(t, past)
			d := slowRecall{newDevice("serial 1"), make(chan string, 2), make(chan instruments.Fate, 2)}
			r, waiting := start(t, log, def, d)
			var passed atomic.Int64
			now := time.Now().Add(-time.Minute) // before the 24 hours are over
			r.Now = func() time.Time { return now.Add(time.Duration(passed.Load())) }
			ended := run(t, r)
			<-d.asked
			passed.Store(int64(11 * time.Second)) // more than it has for its first word
			until(t, waiting, "to say what became of")
			ask := func(request engine.Request) {
				t.Helper()
				request.Actor = "person:eve"
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if _, err := r.Submit(ctx, request); err != nil {
					t.Errorf("while the instrument recalls, %+v was answered with %v", request, err)
				}
			}
			ask(engine.Request{Note: &engine.Note{Text: "still looking?"}})
			ask(engine.Request{Pause: &events.CampaignPaused{Reason: "lunch"}})
			ask(engine.Request{Resume: new(events.CampaignResumed)})
			said := func() (n int) { // of both experiments, each in a turn of its own
				for _, kind := range kindsAfter(t, log, len(past)) {
					if kind == c.until {
						n++
					}
				}
				return n
			}
			for wait := 0; c.until != "" && said() < 2 && wait < 5000; wait++ {
				time.Sleep(time.Millisecond)
			}
			if kinds := kindsAfter(t, log, len(past)); slices.Contains(kinds, events.KindExperimentDispatched) ||
				slices.Contains(kinds, events.KindRecoveryDone) || c.until != "" && said() != 2 {
				t.Errorf("before the instrument answers, %v are recorded", kinds)
			}
			d.answer <- c.fate
			d.answer <- c.fate
			if c.unknown {
				until(t, waiting, "the fate of e")
			} else if err := ended(); err != nil {
				t.Fatal(err)
			}
			done := recoveries(t, log)
			if len(done) != 1 || len(done[0].Commands) != c.listed {
				t.Fatalf("recorded as recovered: %+v", done)
			}
			for _, command := range done[0].Commands {
				if want := map[bool]instruments.Fate{false: c.fate, true: instruments.FateUnknown}[c.unknown]; command.Fate != string(want) {
					t.Errorf("the fate of %s is recorded as %s, want %s", command.Experiment, command.Fate, want)
				}
			}
			report := audit(t, history(t, log))
			if len(report.Mismatches) > 0 {
				t.Errorf("audit: %+v", report.Mismatches)
			}
			if !c.unknown {
				if n := r.Core().State().Count(campaign.Measured); n != 5 {
					t.Errorf("%d of 5 were measured", n)
				}
			}
		})
	}
}

// Law: what was settled while the instrument recalls is not recovered, and the other is.
func TestSettledWhileAnInstrumentRecalls(t *testing.T) {
	def, past := underway(t, func(def *definition.Campaign) {
		def.Instrument.StallAfter, def.Instrument.GiveUpAfter = definition.Duration(time.Hour), definition.Duration(time.Hour)
	})
	log := refill(t, past)
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	var open []*campaign.Experiment
	for i := range core.State().Experiments {
		if x := &core.State().Experiments[i]; x.Status == campaign.Started {
			open = append(open, x)
		}
	}
	// The clock stands where the first has been silent for too long, and the second not yet.
	const firstWord = 10 * time.Second
	now := open[0].Command.DispatchedAt.Add(time.Hour - firstWord)
	var passed atomic.Int64
	d := slowRecall{newDevice("serial 1"), make(chan string, 3), make(chan instruments.Fate, 3)}
	r, waiting := start(t, log, def, d)
	r.Now = func() time.Time { return now.Add(time.Duration(passed.Load())) }
	run(t, r)
	<-d.asked
	passed.Store(int64(firstWord))
	if _, err := r.Submit(t.Context(), engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "time passes"}}); err != nil {
		t.Fatal(err)
	}
	until(t, waiting, "robot to say what became of "+open[1].ID)
	for _, request := range []engine.Request{
		{Resolve: &engine.Resolve{Experiment: open[0].ID, Resolution: events.ResolvedNotPerformed, Repeat: true}},
		{Note: &engine.Note{Text: "it never moved"}},
	} {
		request.Actor = "person:eve"
		must.Get(r.Submit(t.Context(), request))(t)
	}
	if kinds := kindsAfter(t, log, len(past)); slices.Contains(kinds, events.KindExperimentDispatched) {
		t.Errorf("something is dispatched before the recovery is recorded: %v", kinds)
	}
	d.answer <- instruments.FateUnknown
	d.answer <- instruments.FateUnknown
	d.answer <- instruments.FateUnknown // of the first once more, which is called off
	until(t, waiting, "the fate of "+open[1].ID)
	done := recoveries(t, log)
	if len(done) != 1 || len(done[0].Commands) != 1 || done[0].Commands[0].Experiment != open[1].ID {
		t.Errorf("recorded as recovered: %+v; %s was under way", done, open[1].ID)
	}
	if report := audit(t, history(t, log)); len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v", report.Mismatches)
	}
}

// Law: a run that is left while an instrument recalls ends, and records nothing of it.
func TestLeftWhileAnInstrumentRecalls(t *testing.T) {
	def, past := underway(t)
	log := refill(t, past)
	d := slowRecall{newDevice("serial 1"), make(chan string, 2), make(chan instruments.Fate)}
	r, _ := start(t, log, def, d)
	ctx, leave := context.WithCancelCause(t.Context())
	left := fmt.Errorf("left")
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-d.asked
	leave(left)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "left") {
		t.Errorf("it ended with %v", err)
	}
	if kinds := kindsAfter(t, log, len(past)); len(kinds) > 0 {
		t.Errorf("%v are recorded", kinds)
	}
}

// kindsAfter returns the kinds of a log's events behind the first n.
func kindsAfter(t *testing.T, log events.Log, n int) (kinds []events.Kind) {
	t.Helper()
	for _, e := range history(t, log)[n:] {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}
