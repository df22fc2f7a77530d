package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
)

// How long a campaign is left to everybody's temper, and how long it may take
// once all are honest.
const (
	wild   = 20 * 24 * time.Hour
	honest = 30 * 24 * time.Hour
)

// Life is what became of a world.
type Life struct {
	world  World
	book   *book
	device *device
	honest atomic.Bool // from now on everybody is

	looks  atomic.Int64 // at leases of the device
	reader *engine.Core // what was read of the log so far

	// store is the lock of the store: one program at a time opens it. Waiting for it
	// takes time, as waiting for a mutex does not.
	store  chan struct{}
	runner *drive.Runner // of the program that runs; nil: none does

	covered *coverage

	mu     sync.Mutex
	taken  []string // marks of requests that were acknowledged
	faults []string

	wg    sync.WaitGroup
	alive context.Context

	// waiting is what the campaign last waited for, lives how many programs drove it.
	waiting atomic.Value
	lives   int
	core    *engine.Core // of the last of them
	ended   bool
}

// Live lives a world through. It must be called within a bubble of
// testing/synctest: weeks pass.
func (w World) Live(ctx context.Context) *Life { return w.live(ctx, newCoverage()) }

func (w World) live(ctx context.Context, covered *coverage) *Life {
	l := &Life{world: w, book: newBook(w.Definition.Name), store: make(chan struct{}, 1), covered: covered}
	l.device = newDevice(w, l.book)
	l.waiting.Store(engine.Wait{})
	ctx, stop := context.WithCancel(ctx)
	defer l.wg.Wait()
	defer stop()
	l.alive = ctx
	defined := events.CampaignDefined{Definition: w.Definition, Instance: "chaos"}
	trace := ""
	if w.Traced {
		trace = "00-" + strings.Repeat("7", 32) + "-" + strings.Repeat("1", 16) + "-01"
	}
	if err := engine.Define(ctx, l.book, defined, "person:op", time.Now(), trace); err != nil {
		l.fault("the campaign cannot be defined: %v", err)
		return l
	}
	l.wg.Go(func() { l.operate(ctx) })
	end := time.Now().Add(wild)
	l.drive(ctx, end)
	for round := 0; w.Operator == Busy && l.ended && round < 3; round++ {
		time.Sleep(8 * time.Hour) // much can be asked of a campaign that has ended, and it may go on
		if core, err := engine.Load(ctx, builtin.Registry(), l.book, w.Definition.Name); err == nil && !core.State().Status.Ended() {
			l.ended = false
			l.drive(ctx, end)
		}
	}
	if l.ended || len(l.faults) > 0 {
		return l
	}
	if wait := l.waiting.Load().(engine.Wait); !namesPerson(w, wait) {
		l.fault("after %s it waits for %q, which names nobody who could help", wild, wait.For)
	}
	l.honest.Store(true)
	l.device.mu.Lock()
	l.device.honest = true
	l.device.mu.Unlock()
	l.drive(ctx, time.Now().Add(honest))
	if !l.ended && len(l.faults) == 0 {
		l.fault("everybody has been honest for %s, and it waits for %q", honest, l.waiting.Load().(engine.Wait).For)
	}
	return l
}

// namesPerson reports whether what a campaign waits for is a person's turn.
func namesPerson(w World, wait engine.Wait) bool {
	if wait.Remedies != nil || strings.Contains(wait.For, "device") { // there is something to do; or it is at work
		return true
	}
	for name := range w.Experts {
		if strings.Contains(wait.For, name) {
			return true
		}
	}
	return false
}

// drive runs programs one after the other until the campaign has ended, or a
// time has come.
func (l *Life) drive(ctx context.Context, end time.Time) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	for ctx.Err() == nil && len(l.faults) == 0 {
		l.lives++
		r := l.world.chance("life", l.lives)
		f := &fuse{book: l.book, left: -1, before: r.IntN(2) == 0}
		if !l.honest.Load() && l.lives < 40 && r.Float64() < l.world.Kills {
			f.left = 1 + r.IntN(25)
		}
		live := l.run
		if l.world.ByHand {
			live = l.handful
		}
		err := live(ctx, f)
		switch {
		case err == nil:
			l.device.ended()
			l.ended = true
			return
		case f.killed:
			l.covered.kill()
			l.device.kill()
		case ctx.Err() != nil:
			l.device.ended()
			return
		case errors.Is(err, errStart): // the device was out of reach
		default:
			l.fault("the run ended: %v", err)
			return
		}
		pause := time.NewTimer(time.Duration(r.Float64() * r.Float64() * float64(30*time.Hour)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// errStart is wrapped by the error of a run that did not begin.
var errStart = errors.New("it did not start")

// run is one life of the program. A panic is how it ends, and a fault like any other.
func (l *Life) run(ctx context.Context, f *fuse) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	runner := l.program(f)
	runner.Instrument, runner.Reviewers = l.device.instrument(), make(map[string]humans.Reviewer)
	runner.Observe = func(_ *engine.Core, wait engine.Wait) { l.waiting.Store(wait) }
	if l.world.Loses > 0 {
		runner.Lock = func(string, instruments.Description) (drive.Lease, error) { return &lease{life: l}, nil }
	}
	for name, temper := range l.world.Experts {
		runner.Reviewers[name] = &person{name: name, temper: temper, life: l}
	}
	l.store <- struct{}{}
	err = runner.Start(ctx)
	if err == nil {
		l.runner = runner
	}
	<-l.store
	if err != nil {
		return fmt.Errorf("%w: %w", errStart, err)
	}
	err = runner.Run(ctx)
	l.store <- struct{}{}
	l.runner, l.core = nil, runner.Core()
	<-l.store
	return err
}

// program is the program of the present life.
func (l *Life) program(f *fuse) *drive.Runner {
	runner := &drive.Runner{Registry: builtin.Registry(), Log: f, Campaign: l.world.Definition.Name}
	if l.world.Upgrades {
		r := l.world.chance("build", l.lives)
		runner.Build = events.Build{Version: []string{"", "v0.9.0", "v0.9.1"}[r.IntN(3)]}
		runner.Account = []string{"", "ada (uid 1000)"}[r.IntN(2)]
		if r.IntN(3) == 0 {
			runner.Epoch = fmt.Sprint("copy", l.lives)
		}
	}
	if l.world.Traced {
		runner.Meter = meter{}
	}
	return runner
}

// submit makes a person's request, and one with an identifier again: it counts once.
func (l *Life) submit(request engine.Request) {
	stored, err := l.send(request)
	l.covered.note(request, stored)
	if err != nil {
		return
	}
	l.mu.Lock()
	for _, e := range stored {
		l.taken = append(l.taken, string(e.Data))
	}
	l.mu.Unlock()
	if request.ID == "" {
		return
	}
	again, err := l.send(request)
	if err == nil && fmt.Sprint(again) != fmt.Sprint(stored) { // else the program was killed
		l.fault("%s was recorded as %v, and sent again as %v", request.ID, stored, again)
	}
}

// send has a request fulfilled by the program that runs, or without one, as the command line
// does.
func (l *Life) send(request engine.Request) ([]events.Event, error) {
	ctx := l.alive
	l.store <- struct{}{}
	runner := l.runner
	var stored []events.Event
	var err error
	if runner == nil {
		var core *engine.Core
		if core, err = l.read(ctx); err == nil {
			stored, err = engine.Submit(ctx, l.book, core, request, time.Now())
			l.core = core
		}
	}
	<-l.store
	if runner != nil {
		stored, err = runner.Submit(ctx, request)
	}
	return stored, err
}

// read is the campaign as a program reads it that opens the store, whose lock the caller has.
func (l *Life) read(ctx context.Context) (*engine.Core, error) {
	if l.reader == nil {
		core, err := engine.Load(ctx, builtin.Registry(), l.book, l.world.Definition.Name)
		if err == nil {
			l.reader = core
		}
		return core, err
	}
	name, last := l.world.Definition.Name, l.reader.State().Sequence
	for e, err := range events.ReadCampaign(ctx, l.book, name, last) {
		if err == nil {
			err = l.reader.Apply(e)
		}
		if err != nil {
			return nil, err
		}
	}
	return l.reader, nil
}

// submitLater makes a request after a while, while the world lasts.
func (l *Life) submitLater(d time.Duration, request engine.Request) {
	l.wg.Go(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			l.submit(request)
		case <-l.alive.Done():
		}
	})
}

func (l *Life) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// Judge says which laws were broken; nothing is nothing.
func (l *Life) Judge(ctx context.Context) []string {
	faults := slices.Concat(l.faults, l.device.faults)
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, taken := range l.taken {
		if !l.book.holds(taken) {
			add("a request was acknowledged and is lost: %s", taken)
		}
	}
	for _, report := range l.device.reports {
		if !l.book.holds(report.mark) {
			add("a result was reported and is lost: %s of %s", report.mark, report.command)
		}
	}
	name := l.world.Definition.Name
	for _, build := range l.builds() {
		audit, err := decisions.Audit(ctx, builtin.Registry(), l.book, name, build, nil)
		if err != nil || len(audit.Mismatches) > 0 {
			add("the audit by %q: %+v, %v", build.Version, audit.Mismatches, err)
		}
	}
	replayed, err := engine.Load(ctx, builtin.Registry(), l.book, name)
	if err != nil {
		add("it cannot be replayed: %v", err)
		return faults
	}
	if l.ended && l.core != nil {
		live, err1 := l.core.Digest()
		again, err2 := replayed.Digest()
		if live != again || err1 != nil || err2 != nil {
			add("replayed, the state is another: %s and %s (%v, %v)", live, again, err1, err2)
		}
	}
	if problem := l.restored(ctx, replayed); problem != "" {
		add("%s", problem)
	}
	s := replayed.State()
	if most := s.Definition.Budget.Experiments; most > 0 && s.Spent() > most+l.own()+l.overtaken(ctx) {
		add("%d experiments were spent of a budget of %d", s.Spent(), most)
	}
	return faults
}

// builds are those by which the log is audited: one that wrote it, and another one.
func (l *Life) builds() []events.Build {
	if !l.world.Upgrades {
		return []events.Build{{}}
	}
	return []events.Build{{Version: "v0.9.0"}, {Version: "v0.9.2"}}
}

// own counts the experiments that people added: those they ran without being asked or
// wanted again, and those of which they said afterwards that they took place. They
// are not held to the budget.
func (l *Life) own() (n int) {
	for _, taken := range l.taken {
		for _, mark := range []string{`"origin":"person"`, `"repeat":true`, `"was":"not-performed"`} {
			n += strings.Count(taken, mark)
		}
	}
	return n
}

// overtaken counts the experiments of which a person said that they did not take place, and
// whose instrument gave an outcome afterwards: another one was planned in their place.
func (l *Life) overtaken(ctx context.Context) (n int) {
	denied := make(map[string]bool)
	for e, err := range events.ReadCampaign(ctx, l.book, l.world.Definition.Name, 0) {
		if err != nil {
			return n
		}
		var p struct{ Command, Experiment, Resolution string }
		if json.Unmarshal(e.Data, &p) != nil {
			continue
		}
		switch e.Kind {
		case "experiment.resolved":
			denied[p.Experiment] = p.Resolution == "not-performed"
		case "experiment.measured", "experiment.failed", "experiment.infeasible":
			if p.Command != "" && denied[p.Experiment] {
				n++
				denied[p.Experiment] = false
			}
		}
	}
	return n
}

// restored folds the log from a snapshot in its middle.
func (l *Life) restored(ctx context.Context, whole *engine.Core) string {
	core := engine.NewCore(builtin.Registry())
	middle := events.Sequence(l.world.chance("middle").Uint64N(uint64(whole.State().Sequence)))
	for e, err := range events.ReadCampaign(ctx, l.book, l.world.Definition.Name, 0) {
		if err == nil {
			err = core.Apply(e)
		}
		if err != nil {
			return fmt.Sprintf("it cannot be folded: %v", err)
		}
		if e.Sequence != middle {
			continue
		}
		snapshot, err := core.Snapshot()
		if err != nil {
			return fmt.Sprintf("there is no snapshot: %v", err)
		}
		core = engine.NewCore(builtin.Registry())
		if err := core.Restore(snapshot); err != nil {
			return fmt.Sprintf("it cannot be restored: %v", err)
		}
	}
	want, err1 := whole.Digest()
	have, err2 := core.Digest()
	if want != have || err1 != nil || err2 != nil {
		return fmt.Sprintf("restored at event %d, the state is another (%v, %v)", middle, err1, err2)
	}
	return ""
}
