package drive_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
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
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// electrolyte is a small campaign with noise, failures and an expert who is
// sometimes unsure: everything a history can hold.
func electrolyte(t *testing.T, seed uint64, experiments int, changes ...func(*definition.Campaign)) definition.Campaign {
	t.Helper()
	changes = append([]func(*definition.Campaign){
		studytest.WithExpert(1), studytest.WithNoise(0.27),
		func(def *definition.Campaign) {
			studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0.1 })
			studytest.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.UnsureRate = 0.2 })
			def.Policy.Trust = cobol.COBOL{Settings: belief.Settings{Confidence: ptr(0.5)}}.Choice() // wide beliefs: many questions
		},
	}, changes...)
	return must.Get(studytest.Define("electrolyte", seed, experiments, changes...))(t)
}

func ptr[T any](x T) *T { return &x }

func simulate(t *testing.T, def definition.Campaign) (*memlog.Log, *engine.Core) {
	t.Helper()
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), ending{log, 2000 + 200*def.Budget.Experiments}, def))(t)
	return log, core
}

// ending takes so many events. A campaign that does the same again and again fails soon.
type ending struct {
	events.Log
	most int
}

func (l ending) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if int(expected) > l.most {
		return nil, fmt.Errorf("the campaign does not end: after %d events it adds %s", expected, batch[0].Kind)
	}
	return l.Log.Append(ctx, campaign, expected, batch...)
}

func history(t *testing.T, log events.Log) []events.Event {
	t.Helper()
	var all []events.Event
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		all = append(all, e)
	}
	return all
}

// refill returns a log that holds the given events.
func refill(t *testing.T, history []events.Event) *memlog.Log {
	t.Helper()
	log := memlog.New()
	for _, e := range history {
		must.Get(log.Append(t.Context(), e.Campaign, e.Sequence-1, e))(t)
	}
	return log
}

// science is what a campaign did, without times and recoveries: which
// experiments in which order with which results, and which labels.
func science(s *campaign.State) string {
	var b strings.Builder
	for _, x := range s.Experiments {
		fmt.Fprintf(&b, "%s %s %v", x.ID, x.Status, x.Parameters)
		if x.Measurement != nil {
			value, _ := s.Value(&x)
			fmt.Fprintf(&b, " = %v", value.Value)
			for _, q := range x.Measurement.Quantities {
				fmt.Fprintf(&b, ", %s %v %t", q.Name, q.Value, x.Counts(q.Name))
			}
		}
		b.WriteByte('\n')
	}
	for _, q := range s.Questions {
		fmt.Fprintf(&b, "%s %s %s %v\n", q.ID, q.Status, q.Answer, q.Points())
	}
	return b.String()
}

// Law: a campaign spends its budget, counts what it did, and names the best
// measured composition.
func TestCampaignRunsToItsEnd(t *testing.T) {
	def := electrolyte(t, 1, 15)
	_, core := simulate(t, def)
	summary := must.Get(core.Summarize(t.Context()))(t)
	if summary.Stopped != events.CompletedBudget || summary.Experiments != 15 {
		t.Errorf("the campaign ended as %+v", summary)
	}
	if summary.Labels <= *def.Initial.Labels {
		t.Errorf("the expert gave %d labels: none beyond the initial ones", summary.Labels)
	}
	x := core.State().Experiment(summary.BestByModel.Experiment)
	if x == nil || !cmp.Equal(x.Measurement.Actual, summary.BestByModel.Parameters, cmp.AllowUnexported(definition.Value{})) {
		t.Errorf("the best composition %v was not measured in %s", summary.BestByModel.Parameters, summary.BestByModel.Experiment)
	}
}

// Law: same log, same decision. Every fit and decision can be made again.
func TestAuditReproducesEverything(t *testing.T) {
	for name, change := range map[string]func(*definition.Campaign){
		"cobol":    func(*definition.Campaign) {},
		"paper":    func(def *definition.Campaign) { def.Policy.Trust = cobol.COBOL{Paper: true}.Choice() },
		"logei":    func(def *definition.Campaign) { def.Policy.Next = next.LogEI{}.Choice() },
		"thompson": func(def *definition.Campaign) { def.Policy.Next = next.Thompson{}.Choice() },
		"lemma":    func(def *definition.Campaign) { def.Policy.Next = next.LCB{BetaRule: next.BetaLemma}.Choice() },
		"sobol":    func(def *definition.Campaign) { def.Policy = policies.Alone(next.Sobol{}.Choice()) },
		"random":   func(def *definition.Campaign) { def.Policy = policies.Alone(next.Random{}.Choice()) },
		"replicates": func(def *definition.Campaign) {
			def.Replicates = 2
			def.Instrument.Steps = map[string]float64{"lipf6": 0.05, "ec": 0.01, "dmc": 0.05}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, _ := simulate(t, electrolyte(t, 3, 10, change))
			report, err := decisions.Audit(t.Context(), builtin.Registry(), log, "electrolyte", events.Build{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Mismatches) > 0 || !report.Exact || report.Reproduced != report.Decisions || report.Decisions == 0 {
				t.Errorf("audit: %+v", report)
			}
		})
	}
}

// Law: a campaign that is killed after any event and continued performs the
// same experiments in the same order, with the same results and labels, as the
// undisturbed one.
func TestKilledAnywhere(t *testing.T) {
	def := electrolyte(t, 5, 7)
	log, core := simulate(t, def)
	want := science(core.State())
	all := history(t, log)
	for k := 1; k < len(all); k++ {
		if all[k].Time.Equal(all[k-1].Time) {
			continue // one batch, which the log keeps whole; the clock of studies dates no two batches alike
		}
		continued, err := studytest.Simulate(t.Context(), refill(t, all[:k]), def)
		if err != nil {
			t.Fatalf("killed after event %d (%s): %v", k, all[k-1].Kind, err)
		}
		if got := science(continued.State()); got != want {
			t.Fatalf("killed after event %d (%s):\n%s", k, all[k-1].Kind, cmp.Diff(want, got))
		}
	}
}

// bench is an instrument under test: it counts physical acts per command.
type bench struct {
	instruments.Instrument
	mu    sync.Mutex
	acts  map[string]int
	await func(instruments.Command) (instruments.Outcome, error) // nil: as the instrument does
}

func (b *bench) Start(ctx context.Context, cmd instruments.Command) error {
	b.mu.Lock()
	b.acts[cmd.ID]++
	b.mu.Unlock()
	return nil
}

func (b *bench) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if b.await != nil {
		return b.await(cmd)
	}
	return measured(12), nil
}

func (b *bench) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "bench", Capacity: 1}, nil
}

func (b *bench) Cancel(context.Context, instruments.Command) error { return nil }

func measured(value float64) instruments.Outcome {
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual:    definition.Point{"lipf6": definition.Number(1), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)},
		Objective: definition.Quantity{Name: "conductivity", Value: value, Unit: "mS/cm"},
	}}
}

// offers reports whether a request was not fulfilled, and which action on what is the
// first that would put it right.
func offers(err error, action problem.Action, subject string) bool {
	remedies := problem.RemediesOf(err)
	return errors.Is(err, problem.ErrInvalidRequest) && len(remedies) > 0 &&
		remedies[0].Action == action && remedies[0].Subject == subject
}

// start returns a runner on the log whose waiting is told to the channel.
func start(t *testing.T, log events.Log, def definition.Campaign, instrument instruments.Instrument) (*drive.Runner, <-chan string) {
	t.Helper()
	r := must.Get(studytest.Runner(t.Context(), log, def, instrument))(t)
	waiting := make(chan string, 1000)
	r.Observe = func(_ *engine.Core, wait engine.Wait) { waiting <- wait.For }
	return r, waiting
}

// run runs the campaign in the background and returns how it ended.
func run(t *testing.T, r *drive.Runner) (ended func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() error {
		select {
		case err := <-done:
			return err
		case <-time.After(30 * time.Second):
			t.Fatal("the campaign did not end")
			return nil
		}
	}
}

func until(t *testing.T, waiting <-chan string, text string) {
	t.Helper()
	for timeout := time.After(30 * time.Second); ; {
		select {
		case w := <-waiting:
			if strings.Contains(w, text) {
				return
			}
		case <-timeout:
			t.Fatalf("the campaign never waited for %q", text)
		}
	}
}

// Law: a command whose fate nobody knows is never sent again. It waits for a
// person, whose word is recorded, and only then does the campaign go on.
func TestUnknownFateWaitsForAPerson(t *testing.T) {
	def := electrolyte(t, 1, 5, func(def *definition.Campaign) { def.Experts = nil; def.Policy = definition.Policy{} })
	instrument := &bench{acts: make(map[string]int)}
	log := memlog.New()
	r, _ := start(t, log, def, instrument)
	must.Do(t, r.Run(t.Context()))
	all := history(t, log)
	cut := slices.IndexFunc(all, func(e events.Event) bool { return e.Kind == events.KindExperimentDispatched }) + 1

	instrument = &bench{acts: make(map[string]int)} // keeps no memory: it is not a Recoverer
	r, waiting := start(t, refill(t, all[:cut]), def, instrument)
	ended := run(t, r)
	until(t, waiting, "the fate of e1")
	if instrument.acts["electrolyte/e1"] != 0 {
		t.Error("the command was sent again")
	}
	refused := engine.Request{Actor: "person:ada", Tell: &engine.Tell{Experiment: "e1", Value: new(12.0)}}
	if _, err := r.Submit(t.Context(), refused); !offers(err, problem.Resolve, "e1") {
		t.Errorf("telling the result of an unresolved experiment: %v", err)
	}
	resolve := engine.Request{Actor: "person:ada", Resolve: &engine.Resolve{Experiment: "e1", Resolution: events.ResolvedNotPerformed, Reason: "pump was off"}}
	must.Get(r.Submit(t.Context(), resolve))(t)
	must.Do(t, ended())
	if x := r.Core().State().Experiment("e1"); x.Status != campaign.Cancelled || x.Cause != "pump was off" {
		t.Errorf("e1 ended as %+v", x)
	}
	for id, n := range instrument.acts {
		if n != 1 {
			t.Errorf("%s was performed %d times", id, n)
		}
	}
}

// Law: what an instrument answers is checked against what the campaign asked
// for; a wrong answer is a failed experiment with the answer kept.
func TestWrongAnswersAreRefused(t *testing.T) {
	for name, outcome := range map[string]instruments.Outcome{
		"not a number":    measured(math.NaN()),
		"wrong unit":      {Status: instruments.Measured, Measurement: &events.Measurement{Actual: measured(1).Measurement.Actual, Objective: definition.Quantity{Name: "conductivity", Value: 1, Unit: "S/m"}}},
		"out of range":    measured(1e6),
		"no value at all": {Status: instruments.Measured},
	} {
		t.Run(name, func(t *testing.T) {
			def := electrolyte(t, 1, 4, func(def *definition.Campaign) {
				def.Experts, def.Policy = nil, definition.Policy{}
				def.Objective.Max = ptr(100.0)
			})
			instrument := &bench{acts: make(map[string]int)}
			instrument.await = func(cmd instruments.Command) (instruments.Outcome, error) {
				if cmd.Experiment == "e2" {
					return outcome, nil
				}
				return measured(12), nil
			}
			r, _ := start(t, memlog.New(), def, instrument)
			must.Do(t, r.Run(t.Context()))
			x := r.Core().State().Experiment("e2")
			if x.Status != campaign.Failed || x.Cause == "" {
				t.Errorf("e2 ended as %+v", x)
			}
		})
	}
}

// Law: a silent instrument is said to be silent, then given up as unknown; an
// answer that comes after all is still recorded.
func TestSilentInstrument(t *testing.T) {
	def := electrolyte(t, 1, 4, func(def *definition.Campaign) {
		def.Experts, def.Policy = nil, definition.Policy{}
		def.Instrument.StallAfter, def.Instrument.GiveUpAfter = definition.Duration(200*time.Millisecond), definition.Duration(600*time.Millisecond)
	})
	answer := make(chan struct{})
	instrument := &bench{acts: make(map[string]int)}
	instrument.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		if cmd.Experiment == "e1" {
			<-answer
		}
		outcome := measured(12)
		outcome.Measurement.Actual = cmd.Parameters
		return outcome, nil
	}
	log := memlog.New()
	r, waiting := start(t, log, def, instrument)
	r.Now = time.Now
	ended := run(t, r)
	until(t, waiting, "silent for longer")
	until(t, waiting, "the fate of e1")
	close(answer)
	must.Do(t, ended())
	var kinds []events.Kind
	for _, e := range history(t, log) {
		if strings.Contains(string(e.Data), `"experiment":"e1"`) {
			kinds = append(kinds, e.Kind)
		}
	}
	want := []events.Kind{events.KindExperimentRequested, events.KindExperimentDispatched, events.KindExperimentStarted,
		events.KindInstrumentStalled, events.KindExperimentUnresolved, events.KindExperimentMeasured}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

// silent is an expert who never answers.
type silent struct{}

func (silent) Describe() humans.Description { return humans.Description{Expert: "ada"} }

func (silent) Ask(ctx context.Context, _ humans.Question) (humans.Reply, error) {
	<-ctx.Done()
	return humans.Reply{}, ctx.Err()
}

// Law: when nobody answers, questions expire and the campaign goes on without.
func TestNobodyAnswers(t *testing.T) {
	def := electrolyte(t, 1, 6, func(def *definition.Campaign) {
		def.Experts[0] = definition.Expert{Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(time.Millisecond)}
		def.Initial.Labels = ptr(2)
		def.Policy.Handover = cobol.Width{Gate: ptr(false)}.Choice()
	})
	log := memlog.New()
	r, _ := start(t, log, def, nil)
	r.Reviewers = map[string]humans.Reviewer{"ada": silent{}}
	must.Do(t, run(t, r)())
	s := r.Core().State()
	if s.Status != campaign.Completed || s.Spent() != 6 {
		t.Errorf("the campaign is %s after %d experiments", s.Status, s.Spent())
	}
	if len(s.Questions) < 3 {
		t.Fatalf("only %d questions were asked", len(s.Questions))
	}
	for _, q := range s.Questions {
		if q.Status != campaign.Expired {
			t.Errorf("%s is %s", q.ID, q.Status)
		}
	}
}

// Law: a paused campaign starts nothing; resumed, it does what it would have
// done; stopped, it ends. Who asks for it is given the event as the log holds it.
func TestPauseResumeStop(t *testing.T) {
	def := electrolyte(t, 1, 6)
	_, undisturbed := simulate(t, def)

	log := memlog.New()
	r, waiting := start(t, log, def, nil)
	if _, err := engine.Submit(t.Context(), log, r.Core(), engine.Request{Actor: "person:ada", Pause: &events.CampaignPaused{Reason: "lunch"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	ended := run(t, r)
	until(t, waiting, "paused")
	if n := len(history(t, log)); n != 3 { // defined, paused, recovered
		t.Errorf("a paused campaign has written %d events", n)
	}
	resumed, err := r.Submit(t.Context(), engine.Request{Actor: "person:ada", Resume: &events.CampaignResumed{}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(history(t, log)[3:4], resumed); diff != "" {
		t.Errorf("who resumed it is told of something else than the log holds:\n%s", diff)
	}
	must.Do(t, ended())
	if diff := cmp.Diff(science(undisturbed.State()), science(r.Core().State())); diff != "" {
		t.Errorf("the pause changed what was done:\n%s", diff)
	}

	log = memlog.New()
	r, _ = start(t, log, def, nil)
	if _, err := engine.Submit(t.Context(), log, r.Core(), engine.Request{Actor: "person:ada", Stop: &events.CampaignStopped{Reason: "enough"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	must.Do(t, run(t, r)())
	if s := r.Core().State(); s.Status != campaign.Stopped || len(s.Experiments) != 0 {
		t.Errorf("a stopped campaign is %s with %d experiments", s.Status, len(s.Experiments))
	}
}

// full is a log that does not take notes.
type full struct {
	events.Log
	err error
}

func (l full) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if batch[0].Kind == events.KindNoteAdded {
		return nil, l.err
	}
	return l.Log.Append(ctx, campaign, expected, batch...)
}

// Law: a log that does not take a request ends the run, and both the run and whoever asked
// say why: what cannot be written down must not go on.
func TestLogFailsOnARequest(t *testing.T) {
	log := full{memlog.New(), errors.New("the disk is full")}
	r, waiting := start(t, log, electrolyte(t, 1, 6), nil)
	pause := engine.Request{Actor: "person:ada", Pause: &events.CampaignPaused{Reason: "lunch"}}
	must.Get(engine.Submit(t.Context(), log, r.Core(), pause, time.Now()))(t)
	ended := run(t, r)
	until(t, waiting, "paused")
	note := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "a new bottle"}}
	if _, err := r.Submit(t.Context(), note); !errors.Is(err, log.err) {
		t.Errorf("the request was answered with %v", err)
	}
	resume := engine.Request{Actor: "person:ada", Resume: &events.CampaignResumed{}}
	if _, err := r.Submit(t.Context(), resume); !errors.Is(err, drive.ErrOver) {
		t.Errorf("a further request was answered with %v", err)
	}
	if err := ended(); !errors.Is(err, log.err) {
		t.Errorf("the run ended with %v", err)
	}
}

// viewOf is what a policy may see of a campaign.
func viewOf(t *testing.T, core *engine.Core) policies.View {
	t.Helper()
	return must.Get(core.View(t.Context()))(t)
}
