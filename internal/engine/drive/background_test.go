package drive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// unsound reports how a log and the core that wrote it differ from what is made of the
// log again; "" where they do not.
func unsound(t *testing.T, log events.Log, core *engine.Core) string {
	t.Helper()
	replayed, err := engine.Load(t.Context(), builtin.Registry(), log, core.State().Name)
	if err != nil {
		return err.Error()
	}
	a, err1 := core.Digest()
	b, err2 := replayed.Digest()
	if a != b || err1 != nil || err2 != nil {
		return fmt.Sprintf("live %s, replayed %s, %v %v", a, b, err1, err2)
	}
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, core.State().Name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 || report.Reproduced+report.OtherVersion != report.Decisions || report.FitsReproduced != report.Fits {
		return fmt.Sprintf("audit: %+v %v", report, err)
	}
	return ""
}

// pair is a bench that works on two commands at once.
type pair struct{ bench }

func (*pair) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "bench", Capacity: 2}, nil
}

// Law: while something is computed, for however long, the loop answers requests,
// takes results, keeps deadlines, and says what is computed.
func TestLoopHearsWhileItComputes(t *testing.T) {
	def := electrolyte(t, 1, 7, unaided, func(def *definition.Campaign) {
		def.Parallel, def.Initial.Experiments = 2, ptr(3)
		def.Instrument.StallAfter = definition.Duration(time.Millisecond)
	})
	instrument := &pair{bench{acts: make(map[string]int)}}
	late := make(chan struct{})
	instrument.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		if cmd.Experiment == "e4" { // under way while e5 is learnt from
			<-late
		}
		o := measured(12)
		o.Measurement.Actual = cmd.Parameters
		return o, nil
	}
	log := memlog.New()
	r, _ := start(t, log, def, instrument)
	r.Now = time.Now
	held, release := make(chan struct{}), make(chan struct{})
	recorded := func(kind events.Kind, experiment string) bool {
		return slices.ContainsFunc(history(t, log), func(e events.Event) bool {
			return e.Kind == kind && strings.Contains(string(e.Data), `"`+experiment+`"`)
		})
	}
	fits := 0
	r.Hold(func(ctx context.Context, step engine.Step) {
		if _, fit := step.(engine.Fit); !fit {
			return
		}
		if fits++; fits == 1 || fits == 2 && recorded(events.KindExperimentMeasured, "e5") {
			held <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
	})
	words := make(chan string, 100)
	r.Working = func(*engine.Core) { words <- r.Computing().What }
	ended := run(t, r)

	<-held
	ask := func(request engine.Request) {
		t.Helper()
		request.Actor = "person:eve"
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := r.Submit(ctx, request); err != nil {
			t.Errorf("while a fit goes on, %+v was answered with %v", request, err)
		}
	}
	ask(engine.Request{Note: &engine.Note{Text: "still computing?"}})
	ask(engine.Request{Pause: &events.CampaignPaused{Reason: "lunch"}})
	ask(engine.Request{Resume: new(events.CampaignResumed)})
	select {
	case said := <-words:
		if !strings.Contains(said, "measurements") {
			t.Errorf("it says that it is %q", said)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing says what is computed")
	}
	release <- struct{}{}

	<-held
	waitFor := func(kind events.Kind) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !recorded(kind, "e4"); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("while a fit goes on, no %s of e4 is recorded", kind)
			}
		}
	}
	waitFor(events.KindInstrumentStalled)
	close(late)
	waitFor(events.KindExperimentMeasured)
	close(release)
	must.Do(t, ended())
	if problem := unsound(t, log, r.Core()); problem != "" {
		t.Error(problem)
	}
}

// Law: a fit reads nothing that its basis does not cover. Whatever comes in while
// fits, judgments and decisions are made, live = replayed = audited.
func TestOvertakenByAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		def := electrolyte(t, rapid.Uint64Range(1, 1000).Draw(rt, "seed"), rapid.IntRange(3, 7).Draw(rt, "experiments"))
		log := memlog.New()
		r := must.Get(studytest.Runner(t.Context(), log, def, nil))(rt)
		var requests []engine.Request
		guess := &campaign.State{Definition: &def, Experiments: make([]campaign.Experiment, 4), Questions: make([]campaign.Question, 12)}
		for range rapid.IntRange(1, 12).Draw(rt, "requests") {
			requests = append(requests, drawRequest(rt, guess))
		}
		every, seen := rapid.IntRange(1, 3).Draw(rt, "every"), 0
		var resumed sync.WaitGroup
		r.Hold(func(ctx context.Context, _ engine.Step) {
			if seen++; seen%every > 0 || len(requests) == 0 {
				return
			}
			request := requests[0]
			requests = requests[1:]
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond) // one decision is made before anything else
			defer cancel()
			_, _ = r.Submit(ctx, request)
		})
		// Requests pause the campaign, and so do four of them in a row that take results away.
		r.Observe = func(core *engine.Core, _ engine.Wait) {
			if core.State().Status == campaign.Paused {
				resumed.Go(func() {
					_, _ = r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resume: new(events.CampaignResumed)})
				})
			}
		}
		must.Do(rt, r.Run(t.Context()))
		resumed.Wait()
		if problem := unsound(t, log, r.Core()); problem != "" {
			rt.Fatal(problem)
		}
	})
}

// Law: a campaign decides, however often somebody has something to say.
func TestDecidesInAllTheNoise(t *testing.T) {
	def := electrolyte(t, 1, 5, unaided)
	log := memlog.New()
	r, _ := start(t, log, def, nil)
	made := 0
	r.Hold(func(ctx context.Context, step engine.Step) {
		if _, decide := step.(engine.Decide); decide {
			made++
			ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			_, _ = r.Submit(ctx, engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "and another thing"}})
		}
	})
	must.Do(t, run(t, r)())
	s := r.Core().State()
	if s.Status != campaign.Completed || made <= s.Decisions {
		t.Errorf("it is %s with %d decisions, made %d times", s.Status, s.Decisions, made)
	}
	if problem := unsound(t, log, r.Core()); problem != "" {
		t.Error(problem)
	}
}

// Law: a run that is left ends though something is being computed, and what was
// computed in vain leaves no trace.
func TestLeftWhileItComputes(t *testing.T) {
	log := memlog.New()
	r, _ := start(t, log, electrolyte(t, 1, 5, unaided), nil)
	ctx, leave := context.WithCancelCause(t.Context())
	left := errors.New("left")
	r.Hold(func(computing context.Context, step engine.Step) {
		if _, fit := step.(engine.Fit); fit {
			leave(left)
			<-computing.Done()
		}
	})
	if err := r.Run(ctx); !errors.Is(err, left) {
		t.Fatalf("it ended with %v", err)
	}
	for _, e := range history(t, log) {
		if e.Kind == events.KindModelFitted || e.Kind == events.KindModelFitFailed {
			t.Errorf("a fit that was called off is recorded as %s", e.Kind)
		}
	}
}

// Law: a fit that says it was made from an event before something that it reads
// changed, or from one that follows it, is found.
func TestAuditOfWhatAFitWasMadeFrom(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 1, 6))
	all := history(t, log)
	for i, e := range all {
		if e.Kind != events.KindModelFitted {
			continue
		}
		payload := must.Get(events.Decode(e))(t)
		fitted := payload.(*events.ModelFitted)
		for _, at := range []events.Sequence{0, fitted.At - 3, fitted.At + 1, fitted.At + 100} {
			p := *fitted
			p.At = at
			forged := must.Get(events.New(e.Campaign, &p))(t)
			copied := slices.Clone(all)
			copied[i].Data = forged.Data
			report, err := decisions.Audit(t.Context(), builtin.Registry(), refill(t, copied), e.Campaign, events.Build{}, nil)
			if err != nil || len(report.Mismatches) != 1 {
				t.Errorf("event %d, a fit made from %d, said to be from %d: %+v %v", e.Sequence, fitted.At, at, report.Mismatches, err)
			}
		}
	}
}

// stopped is a simulated instrument that stands still at one experiment until it is let.
type stopped struct {
	*simulated.Instrument
	at      string
	release <-chan struct{}
}

func (s stopped) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if cmd.Experiment == s.at {
		<-s.release
	}
	return s.Instrument.Await(ctx, cmd)
}

// Law: while a campaign waits, what is shown of it is what its log says: the best
// composition by the model, not the greatest reading.
func TestStandingIsThatOfTheLog(t *testing.T) {
	def := electrolyte(t, 1, 6, unaided, func(def *definition.Campaign) {
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	plain := must.Get(simulated.Driver.Open(t.Context(), def, instruments.Environment{}))(t)
	release := make(chan struct{})
	instrument := stopped{plain.(*simulated.Instrument), "e6", release}
	log := memlog.New()
	r, _ := start(t, log, def, instrument)
	shown := make(chan *engine.ModelBest, 1000)
	var last *engine.ModelBest
	r.Summarized = func(_ engine.Revision, summary engine.Summary) { last = summary.BestByModel }
	r.Observe = func(_ *engine.Core, wait engine.Wait) {
		if strings.Contains(wait.For, "e6") {
			shown <- last
		}
	}
	ended := run(t, r)
	defer ended()
	defer close(release)
	best := <-shown
	replayed := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	want := must.Get(replayed.Summarize(t.Context()))(t)
	for timeout := time.After(10 * time.Second); best == nil || best.Mean != want.BestByModel.Mean; {
		select {
		case best = <-shown:
		case <-timeout:
			t.Fatalf("%+v is shown, the log says %+v", best, want.BestByModel)
		}
	}
}

// Law: where no decision reads a model, none is fitted on the way, for nothing that is shown
// either; where one does, what is shown is worked out while the campaign waits. The log has
// the one fit of the result.
func TestDesignFitsNoModel(t *testing.T) {
	for method, shown := range map[string]bool{
		"sobol": false, "random": false, "lognei": true,
	} {
		synctest.Test(t, func(t *testing.T) {
			sleepUntilDefined()
			def := electrolyte(t, 1, 8, unaided, func(def *definition.Campaign) {
				def.Policy.Next.Name = method
				studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
			})
			plain := must.Get(simulated.Driver.Open(t.Context(), def, instruments.Environment{}))(t)
			release := make(chan struct{})
			log := memlog.New()
			r, _ := start(t, log, def, stopped{plain.(*simulated.Instrument), "e7", release})
			summaries := 0
			r.Summarized = func(engine.Revision, engine.Summary) { summaries++ }
			ended := run(t, r)
			synctest.Wait()
			if (summaries > 0) != shown {
				t.Errorf("%s: while it waits for e7, %d summaries were worked out", method, summaries)
			}
			close(release)
			must.Do(t, ended())
			fits := 0
			for e := range must.Each(t, log.Read(t.Context(), 0)) {
				if e.Kind == events.KindModelFitted {
					fits++
				}
			}
			if (fits == 1) == shown {
				t.Errorf("%s: the log has %d fits", method, fits)
			}
		})
	}
}

// Law: that something takes a while is said once, and once more when it has ended.
func TestWorkingIsSaidTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		log := memlog.New()
		r, _ := start(t, log, electrolyte(t, 1, 4, unaided), nil)
		r.Now = time.Now
		first := true
		r.Hold(func(context.Context, engine.Step) {
			if !first {
				return
			}
			first = false
			for range 3 { // a remark while it is shown
				time.Sleep(time.Second)
				note := engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "still computing?"}}
				if _, err := r.Submit(t.Context(), note); err != nil {
					t.Error(err)
				}
			}
		})
		var said []string
		r.Working = func(*engine.Core) { said = append(said, r.Computing().What) }
		must.Do(t, run(t, r)())
		if want := []string{"fitting the model of 3 measurements", ""}; !slices.Equal(said, want) {
			t.Errorf("it is said that %q goes on, want %q", said, want)
		}
	})
}

// Law: a fit is made from the events before it was begun, also where it begins with
// reading the log: what comes in meanwhile is not part of it.
func TestAFitIsMadeFromWhatWasBeforeIt(t *testing.T) {
	log := memlog.New()
	r, _ := start(t, log, electrolyte(t, 1, 4, unaided), nil)
	var before events.Sequence
	r.Hold(func(ctx context.Context, step engine.Step) {
		if before > 0 {
			return
		}
		before = events.Sequence(log.Last())
		note := engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "meanwhile"}}
		if _, err := r.Submit(ctx, note); err != nil {
			t.Error(err)
		}
	})
	must.Do(t, run(t, r)())
	all := history(t, log)
	payload := must.Get(events.Decode(all[find(t, all, events.KindModelFitted, "", 0)]))(t)
	if fitted := payload.(*events.ModelFitted); fitted.At != before {
		t.Errorf("the fit is made from event %d, and was begun behind event %d", fitted.At, before)
	}
}
