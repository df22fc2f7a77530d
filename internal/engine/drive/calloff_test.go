package drive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// pipe is a device of capacity one behind a pipe: it reads one message after the other,
// and at times none at all. What it is sent meanwhile it reads later, whoever waits for it
// or does not. It never forgets and never lies, and writes down what really moved.
type pipe struct {
	patience time.Duration // how long its adapter waits for an answer
	acts     time.Duration // how long an act takes
	slow     []string      // the experiments whose acts take longer than is waited
	deaf     bool          // its adapter says that a call is answered as soon as it is made
	stubborn bool          // what it has begun it does not stop

	mu       sync.Mutex
	held     bool
	inbox    []func()
	commands map[string]*piped
	busy     string // the command at work
	journal  []string
	faults   []string // what must not happen
	late     chan instruments.Command
}

// piped is a command that the device has read something of.
type piped struct {
	cmd      instruments.Command
	begun    bool
	off      bool // never to be begun
	answered bool // and that was answered
	outcome  *instruments.Outcome
	over     chan struct{}
}

func newPipe() *pipe {
	return &pipe{
		patience: 10 * time.Second, acts: 6 * time.Second,
		commands: make(map[string]*piped), late: make(chan instruments.Command, 100),
	}
}

// hold has the device read nothing; else it reads what has come meanwhile.
func (p *pipe) hold(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = held
	for !p.held && len(p.inbox) > 0 {
		next := p.inbox[0]
		p.inbox = p.inbox[1:]
		next()
	}
}

// send has the device do something when it reads it, under its lock, and waits for that as
// long as the adapter has patience. gone reports whether no one waits any more.
func (p *pipe) send(ctx context.Context, do func(gone func() bool)) error {
	read := make(chan struct{})
	left := false
	p.mu.Lock()
	p.inbox = append(p.inbox, func() {
		do(func() bool { return left })
		close(read)
	})
	p.mu.Unlock()
	p.hold(p.isHeld())
	select {
	case <-read:
		return nil
	case <-time.After(p.patience):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-read:
		return nil
	default:
	}
	left = true
	return errors.New("it did not answer in time")
}

func (p *pipe) isHeld() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// known is called under the lock.
func (p *pipe) known(cmd instruments.Command) *piped {
	c := p.commands[cmd.ID]
	if c == nil {
		c = &piped{cmd: cmd, over: make(chan struct{})}
		p.commands[cmd.ID] = c
	}
	return c
}

func (p *pipe) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "pipe", Identity: "pump-7", Capacity: 1}, nil
}

func (p *pipe) Start(ctx context.Context, cmd instruments.Command) error {
	var refused error
	err := p.send(ctx, func(gone func() bool) {
		c := p.known(cmd)
		if c.off && !c.begun {
			if !gone() {
				refused = fmt.Errorf("%w: %w", instruments.ErrRefused, instruments.ErrCalledOff)
			}
			return
		}
		if !c.begun {
			p.begin(c)
		}
		if gone() {
			p.late <- cmd
		}
	})
	return errors.Join(err, refused)
}

// begin sets the device in motion, under the lock.
func (p *pipe) begin(c *piped) {
	p.journal = append(p.journal, c.cmd.Experiment)
	if p.busy != "" {
		p.faults = append(p.faults, fmt.Sprintf("%s began while %s was at work", c.cmd.Experiment, p.busy))
	}
	if c.answered {
		p.faults = append(p.faults, c.cmd.Experiment+" began after it was answered that it never does")
	}
	c.begun = true
	p.busy = c.cmd.Experiment
	acts := p.acts
	if slices.Contains(p.slow, c.cmd.Experiment) {
		acts = 20 * time.Second
	}
	time.AfterFunc(acts, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.end(c, instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
			Actual: c.cmd.Parameters, Objective: definition.Quantity{Name: "value", Value: 1},
		}})
	})
}

// end ends an act, under the lock.
func (p *pipe) end(c *piped, o instruments.Outcome) {
	if c.outcome != nil {
		return
	}
	if p.busy == c.cmd.Experiment {
		p.busy = ""
	}
	c.outcome = &o
	close(c.over)
}

func (p *pipe) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	p.mu.Lock()
	c := p.known(cmd)
	p.mu.Unlock()
	select {
	case <-c.over:
		return *c.outcome, nil
	case <-ctx.Done():
		return instruments.Outcome{}, ctx.Err()
	}
}

func (p *pipe) Cancel(ctx context.Context, cmd instruments.Command) error {
	if p.deaf {
		return nil
	}
	return p.send(ctx, func(gone func() bool) {
		c := p.known(cmd)
		c.off = true
		if c.begun && !p.stubborn {
			p.end(c, instruments.Outcome{Status: instruments.Failed, Cause: "stopped half-way"})
		}
		c.answered = c.answered || !gone()
	})
}

func (p *pipe) Recover(ctx context.Context, cmd instruments.Command) (fate instruments.Fate, err error) {
	if p.deaf {
		return instruments.FateNotStarted, nil
	}
	err = p.send(ctx, func(gone func() bool) {
		switch c := p.known(cmd); {
		case gone(): // the answer is lost
		case c.outcome != nil:
			fate = instruments.FateFinished
		case c.begun:
			fate = instruments.FateRunning
		default:
			fate = instruments.FateNotStarted
		}
	})
	return fate, err
}

func (p *pipe) Confirmed(ctx context.Context) (instruments.Command, error) {
	select {
	case cmd := <-p.late:
		return cmd, nil
	case <-ctx.Done():
		return instruments.Command{}, ctx.Err()
	}
}

// End loses what the program has not read; what moves goes on.
func (p *pipe) End(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inbox = nil
	p.held = false
	return nil
}

// begun are the experiments of which something moved.
func (p *pipe) begun() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.journal)
}

// piped campaign: so many experiments, each given up after some silence.
func pipedCampaign(t *testing.T, experiments int) definition.Campaign {
	t.Helper()
	def, err := studytest.Define("branin", 1, experiments, func(def *definition.Campaign) {
		def.Initial = definition.Initial{Experiments: ptr(experiments)}
		def.Policy = policiesByName()["sobol"]
		def.Instrument.StallAfter = definition.Duration(5 * time.Second)
		def.Instrument.GiveUpAfter = definition.Duration(12 * time.Second)
	})
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// pipedState is how the campaign of a log stands.
func pipedState(t *testing.T, log events.Log) *campaign.State {
	t.Helper()
	core, err := engine.Load(t.Context(), builtin.Registry(), log, "branin")
	if err != nil {
		t.Fatal(err)
	}
	return core.State()
}

// attended is a campaign that a person looks after, in the present process.
type attended struct {
	log    *memlog.Log
	runner *drive.Runner
	mu     sync.Mutex
	state  []campaign.Experiment
	paused bool
	waits  string // for what
	end    context.CancelFunc
	over   chan error
}

// attend runs a campaign, and keeps how it stands for the person.
func attend(
	t *testing.T, log *memlog.Log, def definition.Campaign, device instruments.Instrument, with ...func(*drive.Runner),
) *attended {
	t.Helper()
	return attendTo(t, log, must.Get(studytest.Runner(t.Context(), log, def, device))(t), with...)
}

// attendTo is [attend] for a runner that has been started.
func attendTo(t *testing.T, log *memlog.Log, r *drive.Runner, with ...func(*drive.Runner)) *attended {
	t.Helper()
	r.Now = func() time.Time { // the bubble's clock begins in 2000
		return study.Epoch.Add(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
	}
	r.Eager = false
	a := &attended{log: log, runner: r, over: make(chan error, 1)}
	r.Observe = func(core *engine.Core, wait engine.Wait) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.waits = wait.For
		a.state = slices.Clone(core.State().Experiments)
		a.paused = core.State().Status == campaign.Paused
	}
	for _, set := range with {
		set(r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a.end = cancel
	go func() { a.over <- r.Run(ctx) }()
	return a
}

// experiments is how they stand.
func (a *attended) experiments() []campaign.Experiment {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.state)
}

// isPaused reports whether it is paused.
func (a *attended) isPaused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.paused
}

// waitsFor is what it waits for.
func (a *attended) waitsFor() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waits
}

// ask makes a request of a person's, and returns the error.
func (a *attended) ask(t *testing.T, r engine.Request) error {
	r.Actor = "person:ada"
	_, err := a.runner.Submit(t.Context(), r)
	return err
}

// audited looks whether the log holds together.
func audited(t *testing.T, log events.Log, name string) {
	t.Helper()
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v, %v", report.Mismatches, err)
	}
}

// Law 3: before anything is repeated, and before anything else goes to a device, what was
// given up cannot begin any more. A program hangs for half a minute; its experiment is
// given up; a person sees that nothing has moved and has it repeated. The program then
// reads what it was sent: it doses once.
func TestVoidBeforeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		device := newPipe()
		log := memlog.New()
		device.hold(true)
		a := attend(t, log, pipedCampaign(t, 1), device)
		time.Sleep(15 * time.Second)
		if x := a.experiments()[0]; x.Status != campaign.Unresolved || len(device.begun()) > 0 {
			t.Fatalf("after 15 s it is %s, and %v moved", x.Status, device.begun())
		}
		word := &engine.Resolve{Experiment: "e1", Resolution: events.ResolvedNotPerformed, Repeat: true}
		if err := a.ask(t, engine.Request{Resolve: word}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if xs := a.experiments(); len(xs) != 2 || xs[1].Status != campaign.Requested || !xs[0].Command.BeingCalledOff() {
			t.Fatalf("before the call is answered: %+v", xs)
		}
		device.hold(false)
		if err := <-a.over; err != nil {
			t.Fatal(err)
		}
		if moved := device.begun(); len(moved) != 1 || device.faults != nil {
			t.Errorf("it dosed %v, %v", moved, device.faults)
		}
		s := pipedState(t, log)
		if e1, e2 := s.Experiment("e1"), s.Experiment("e2"); e1.Status != campaign.Failed || e2.Status != campaign.Cancelled {
			t.Errorf("e1 is %s, and its repetition %s", e1.Status, e2.Status)
		}
		audited(t, log, s.Name)
	})
}

// pipedSeeds is how many courses of held pipes are drawn; CAMPAIGND_PIPES sets it.
func pipedSeeds(t *testing.T, otherwise int) int {
	t.Helper()
	text := os.Getenv("CAMPAIGND_PIPES")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Law 3, in each order of hang, word, repeat, call, abort, crash, end of the program and
// cut of the power: the device is never set in motion while it is at work, nothing begins
// that was answered never to begin, and what the log says was not performed was not. The
// judge reads the device's journal and the log alone.
func TestHeldPipes(t *testing.T) {
	for seed := range uint64(pipedSeeds(t, 300)) {
		synctest.Test(t, func(t *testing.T) {
			for _, fault := range heldPipe(t, seed, false) {
				t.Errorf("seed %d: %s", seed, fault)
			}
		})
	}
}

// A device whose answer proves nothing, since it is given before anything is read, is found
// out by the same judge: the rule rests on the answer.
func TestHeldPipesControl(t *testing.T) {
	found := 0
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			if heldPipe(t, seed, true) != nil {
				found++
			}
		})
	}
	if found == 0 {
		t.Error("40 courses of a device whose answers prove nothing, and the judge found nothing")
	}
	t.Logf("found in %d of 40", found)
}

// heldPipe is one course of a campaign at a pipe that is held at times, with a person who
// looks now and then, and kills. It returns what must not have happened.
func heldPipe(t *testing.T, seed uint64, deaf bool) (faults []string) {
	rng := rand.New(rand.NewPCG(seed, 0x70697065)) // "pipe"
	seconds := func(least, most int) time.Duration {
		return time.Duration(least+rng.IntN(most-least+1)) * time.Second
	}
	device := newPipe()
	device.deaf = deaf
	device.acts = seconds(1, 9)
	device.stubborn = rng.IntN(2) == 0
	log := memlog.New()
	def := pipedCampaign(t, 4)
	ctx, over := context.WithCancel(t.Context())
	var hanging sync.WaitGroup
	defer hanging.Wait()
	defer over()
	hanging.Go(func() { // the serial port hangs, and does not
		holds := rand.New(rand.NewPCG(seed, 1))
		for held := true; ; held = !held {
			select {
			case <-time.After(time.Duration(1+holds.IntN(40)) * time.Second):
				device.hold(held)
			case <-ctx.Done():
				return
			}
		}
	})
	a := attend(t, log, def, device)
	for began := time.Now(); time.Since(began) < 2*time.Hour; {
		select {
		case err := <-a.over:
			if err != nil && !errors.Is(err, context.Canceled) {
				return append(faults, err.Error())
			}
			if err == nil {
				audited(t, log, def.Name)
				return append(device.faults, untrue(t, log, device)...)
			}
			a = attend(t, log, def, device) // another process goes on
		case <-time.After(seconds(1, 20)):
			if rng.IntN(12) == 0 {
				a.end() // killed
				continue
			}
			a.look(t, device, rng)
		}
	}
	a.end()
	<-a.over
	return append(faults, fmt.Sprintf("it has not ended after two hours: %+v", a.experiments()))
}

// look is what a person does who comes by.
func (a *attended) look(t *testing.T, device *pipe, rng *rand.Rand) {
	if a.isPaused() {
		_ = a.ask(t, engine.Request{Resume: &events.CampaignResumed{Reason: "looked at it"}})
	}
	moved := device.begun()
	for _, x := range a.experiments() {
		dispatched := x.Status == campaign.Dispatched || x.Status == campaign.Started
		switch {
		case dispatched && rng.IntN(6) == 0:
			_ = a.ask(t, engine.Request{Cancel: &engine.Cancel{Experiment: x.ID, Reason: "leak"}})
		case dispatched && rng.IntN(12) == 0:
			_ = a.ask(t, engine.Request{Abort: &engine.Abort{Reason: "leak"}})
		case x.Command.BeingCalledOff() && rng.IntN(4) == 0:
			_ = a.ask(t, engine.Request{Cancel: &engine.Cancel{Experiment: x.ID, EndProgram: true}})
		case x.Command.BeingCalledOff() && rng.IntN(6) == 0:
			device.cut()
			_ = a.ask(t, engine.Request{Cancel: &engine.Cancel{Experiment: x.ID, Voided: events.VoidedByPower}})
		case x.Status != campaign.Unresolved || device.busyWith(x.ID) && rng.IntN(4) > 0: // else careless
		case slices.Contains(moved, x.ID):
			_ = a.ask(t, engine.Request{Resolve: &engine.Resolve{
				Experiment: x.ID, Resolution: events.ResolvedFailed, Repeat: rng.IntN(2) == 0, Reason: "spilled",
			}})
		default:
			r := &engine.Resolve{
				Experiment: x.ID, Resolution: events.ResolvedNotPerformed, Repeat: rng.IntN(2) == 0, Reason: "still",
			}
			if rng.IntN(5) == 0 {
				device.cut()
				r.Voided = events.VoidedByPower
			}
			_ = a.ask(t, engine.Request{Resolve: r})
		}
	}
}

// cut takes the device's power away for a moment: what it has not read is lost, and what
// moves stops.
func (p *pipe) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inbox = nil
	for _, c := range p.commands {
		if c.begun {
			p.end(c, instruments.Outcome{Status: instruments.Failed, Cause: "the power was cut"})
		}
	}
}

// busyWith reports whether the device is at work on an experiment.
func (p *pipe) busyWith(experiment string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy == experiment
}

// untrue is what the log says and the device's journal contradicts. Where a person has said
// that the device was without power, and it had begun before, the log holds its word, too.
func untrue(t *testing.T, log events.Log, device *pipe) (faults []string) {
	moved := device.begun()
	heard := make(map[string]bool)
	for e, err := range events.ReadCampaign(t.Context(), log, "branin", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if payload, err := events.Decode(e); err == nil && e.Kind == events.KindInstrumentAnswered {
			heard[payload.Subject()] = true
		}
	}
	for _, x := range pipedState(t, log).Experiments {
		switch times := count(moved, x.ID); {
		case times > 1:
			faults = append(faults, fmt.Sprintf("%s was performed %d times", x.ID, times))
		case times == 1 && x.Status.CalledOff() && !(heard[x.ID] && x.Command.CallOff.Voided == events.VoidedByPower):
			faults = append(faults, fmt.Sprintf("%s is %s, and was performed", x.ID, x.Status))
		case times == 0 && x.Status == campaign.Measured:
			faults = append(faults, x.ID+" is measured, and was not performed")
		}
	}
	return faults
}

// count is how often a text stands in a list.
func count(list []string, text string) (n int) {
	for _, s := range list {
		if s == text {
			n++
		}
	}
	return n
}

// calledOff is the history of a campaign whose commands are called off in every way.
func calledOff(t *testing.T) (all []events.Event) {
	synctest.Test(t, func(t *testing.T) {
		device := newPipe()
		device.hold(true) // before the first start
		log := memlog.New()
		a := attend(t, log, pipedCampaign(t, 7), device)
		ask := func(r engine.Request) {
			t.Helper()
			if err := a.ask(t, r); err != nil {
				t.Fatal(err)
			}
		}
		resolve := func(r engine.Resolve) { t.Helper(); ask(engine.Request{Resolve: &r}) }
		cancel := func(r engine.Cancel) { t.Helper(); ask(engine.Request{Cancel: &r}) }
		resume := engine.Request{Resume: &events.CampaignResumed{Reason: "looked at it"}}
		latest := func(status campaign.ExperimentStatus) string { // once the latest is that
			t.Helper()
			for range 6000 {
				synctest.Wait() // until the campaign stands still, and its state is the newest
				if xs := a.experiments(); len(xs) > 0 && xs[len(xs)-1].Status == status {
					return xs[len(xs)-1].ID
				}
				time.Sleep(100 * time.Millisecond)
			}
			for _, x := range a.experiments() {
				t.Log(x.ID, x.Status, x.Cause)
			}
			t.Fatalf("the latest is never %s", status)
			return ""
		}
		paused := func() {
			t.Helper()
			for range 6000 {
				synctest.Wait()
				if a.isPaused() {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Fatal("it never pauses")
		}

		// It is overtaken, and its repetition withdrawn.
		x := latest(campaign.Unresolved)
		resolve(engine.Resolve{Experiment: x, Resolution: events.ResolvedNotPerformed, Repeat: true, Reason: "the vial is full"})
		device.slow = []string{"e3", "e5"}
		device.hold(false)

		x = latest(campaign.Unresolved) // e3 answers after a person, and after the power is said to be off
		resolve(engine.Resolve{Experiment: x, Resolution: events.ResolvedFailed, Voided: events.VoidedByPower, Reason: "the fuse is out"})
		paused()
		ask(resume)

		x = latest(campaign.Started)
		cancel(engine.Cancel{Experiment: x, Reason: "a leak"})

		time.Sleep(time.Second)
		x = latest(campaign.Started) // its program does not answer, and is ended
		device.hold(true)
		cancel(engine.Cancel{Experiment: x})
		latest(campaign.Unresolved)
		cancel(engine.Cancel{Experiment: x, EndProgram: true, Reason: "it hangs"})

		time.Sleep(time.Second)
		device.hold(true) // a start that is lost with the power, and confirmed by a liar
		x = latest(campaign.Unresolved)
		cancel(engine.Cancel{Experiment: x, Voided: events.VoidedByPower, Reason: "switched off"})
		device.cut()
		resolve(engine.Resolve{Experiment: x, Resolution: events.ResolvedNotPerformed, Reason: "the vial is full"})
		device.late <- instruments.Command{ID: "branin/" + x, Experiment: x}
		paused()
		device.hold(false)
		ask(resume)
		latest(campaign.Started)
		ask(engine.Request{Abort: &engine.Abort{Reason: "a leak"}})
		latest(campaign.Failed)
		ask(engine.Request{Abort: &engine.Abort{Stop: true, Reason: "enough"}})
		if err := <-a.over; err != nil {
			t.Fatal(err)
		}
		audited(t, log, "branin")
		for e, err := range events.ReadCampaign(t.Context(), log, "branin", 0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
	})
	return all
}

// A history in which all of it happens is as forgeable as any.
func TestCalledOffInEveryWay(t *testing.T) {
	kinds := make(map[events.Kind]int)
	for _, e := range calledOff(t) {
		kinds[e.Kind]++
		t.Log(e.Sequence, e.Actor, e.Kind, shorten(string(e.Data)))
	}
	for _, kind := range []events.Kind{
		events.KindCancellationOrdered, events.KindCancellationAnswered, events.KindInstrumentAnswered,
	} {
		if kinds[kind] < 2 {
			t.Errorf("%s: %d", kind, kinds[kind])
		}
	}
}

// forgetting hides from campaignd what a pipe knows of commands of before.
type forgetting struct{ instruments.Instrument }

// Law: a word that a command was not performed counts where it is younger than the certainty that the command
// cannot begin any more, or where the device agrees. A device that does not know what it did has read the start
// after the person had looked: they are asked again, and what repeats the experiment waits for that.
func TestWordThatIsOlderThanTheVoid(t *testing.T) {
	for _, c := range []struct {
		second events.Resolution // once they have looked again
		moved  int
	}{{events.ResolvedFailed, 1}, {events.ResolvedNotPerformed, 2}} {
		synctest.Test(t, func(t *testing.T) {
			device := newPipe()
			log := memlog.New()
			device.hold(true)
			a := attend(t, log, pipedCampaign(t, 1), forgetting{device})
			word := func(r events.Resolution) {
				t.Helper()
				if err := a.ask(t, engine.Request{Resolve: &engine.Resolve{
					Experiment: "e1", Resolution: r, Repeat: r == events.ResolvedNotPerformed,
				}}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(15 * time.Second) // e1 is given up
			word(events.ResolvedNotPerformed)
			time.Sleep(time.Second)
			device.hold(false)
			time.Sleep(time.Minute)
			if x := a.experiments()[0]; x.Status != campaign.Unresolved || x.Cause != campaign.LookAgain {
				t.Errorf("e1 is %s: %s", x.Status, x.Cause)
			}
			if moved := device.begun(); len(moved) != 1 {
				t.Errorf("before the person has looked again, %v moved", moved)
			}
			word(c.second)
			if err := <-a.over; err != nil {
				t.Fatal(err)
			}
			if moved := device.begun(); len(moved) != c.moved || len(a.experiments()) != 2 {
				t.Errorf("%s: %v moved, of %d experiments", c.second, moved, len(a.experiments()))
			}
			audited(t, log, "branin")
		})
	}
}

// A start that was confirmed was read: the word of a person who has looked since stands.
func TestWordOnAConfirmedCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		device := newPipe()
		device.slow = []string{"e1"}
		log := memlog.New()
		a := attend(t, log, pipedCampaign(t, 1), forgetting{device})
		time.Sleep(15 * time.Second) // e1 has begun, and is given up
		if err := a.ask(t, engine.Request{Resolve: &engine.Resolve{
			Experiment: "e1", Resolution: events.ResolvedNotPerformed, Repeat: true,
		}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if x := a.experiments()[0]; x.Status != campaign.Cancelled || !x.Command.Void() {
			t.Errorf("e1 is %s: %s", x.Status, x.Cause)
		}
		a.end()
		<-a.over
	})
}
