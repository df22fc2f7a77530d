package devices

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// world is a lab with a device, campaigns that want it, and processes that drive them and are
// killed. The judge has the device's own notes, and a count of the raw events.
type world struct {
	t         testing.TB
	random    *rand.Rand
	capacity  int // how many campaigns may have the device
	works     int // how many commands it works on
	open      func(p *process) *lablog.Log
	processes []*process
	campaigns []*driven
	atWork    map[string]*driven // the device's own note
	begun     map[string]int
	count     *count
	faults    []string
	broken    rule
}

// rule is one that a control breaks.
type rule string

const (
	none    rule = ""
	unseen  rule = "appended without the sequence that was seen"
	machine rule = "each process knows its own tickets alone"
	freed   rule = "the tickets of a process that was killed are given back"
)

// process is a process of the lab; its number is that of its machine.
type process struct {
	n    int
	log  *lablog.Log
	q    *Queue
	mood mood
}

// mood decides the next append of a process: it may be killed before or after it is
// stored, or not hear of it.
type mood struct{ dead, before, uncertain atomic.Bool }

// driven is a campaign: its log, and where the process stands that drives it.
type driven struct {
	name   string
	budget int
	// Of its log: the commands that were dispatched, and whether the fate is known.
	dispatched map[string]bool
	order      []string

	by     *process // nil where none does
	lease  *Place
	turn   *Place
	next   string // the command that turn is for
	ticket map[string]*Place
}

func (d *driven) open() (commands []string) {
	for _, c := range d.order {
		if d.dispatched[c] {
			commands = append(commands, c)
		}
	}
	return commands
}

func (d *driven) done() bool { return len(d.order) == d.budget && len(d.open()) == 0 }

// handle is the lab's log as one process has it.
type handle struct {
	events.Store
	log    events.Log
	of     *process
	broken rule
}

var errKilled = errors.New("the process was killed")

func (h *handle) Append(ctx context.Context, stream string, expected events.Sequence, batch ...events.Event) ([]events.Event, error) {
	mood := &h.of.mood
	if mood.before.Swap(false) {
		mood.dead.Store(true)
	}
	if mood.dead.Load() {
		return nil, errKilled
	}
	uncertain := mood.uncertain.Swap(false)
	if h.broken == unseen && stream == events.DevicesStream {
		expected = events.AnySequence
	}
	stored, err := h.log.Append(ctx, stream, expected, batch...)
	if uncertain && err == nil {
		return nil, fmt.Errorf("%w: no answer", events.ErrUncertain)
	}
	return stored, err
}

func (h *handle) ReadCampaign(ctx context.Context, stream string, after events.Sequence) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range events.ReadCampaign(ctx, h.log, stream, after) {
			if err == nil && h.broken == machine && !h.own(e) {
				e.Kind, e.Data = events.KindDeviceFreed, []byte(`{"taken": [0], "because": "unseen"}`)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// own reports whether an event is by the process, or frees.
func (h *handle) own(e events.Event) bool {
	payload, err := events.Lab.Decode(e)
	switch p := payload.(type) {
	case *events.DeviceTaken:
		return h.of.q != nil && p.Worker == h.of.q.worker
	case *events.DeviceAwaited:
		return h.of.q != nil && p.Worker == h.of.q.worker
	}
	return err == nil
}

func (h *handle) Last() events.Position { return h.log.Last() }
func (h *handle) Err() error            { return nil }
func (h *handle) Probe() error          { return nil }
func (h *handle) Close() error          { return nil }

// opened opens the lab's log of an address for each process, in a store that outlives it.
func (w *world) opened(address string, log func(p *process) events.Log) {
	w.open = func(p *process) *lablog.Log {
		own := must.Get(lablog.Open(address, lablog.Options{
			Open: func(string) (events.Store, error) { return &handle{log: log(p), of: p, broken: w.broken}, nil },
		}))(w.t)
		return own
	}
}

// newWorld has so many processes and campaigns.
func newWorld(t testing.TB, seed uint64, processes, campaigns int, broken rule) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 0x64657669636573)), broken: broken,
		atWork: make(map[string]*driven), begun: make(map[string]int),
	}
	w.capacity, w.works = 1+w.random.IntN(3), 1+w.random.IntN(2)
	log := memlog.New()
	w.opened("postgres://db/lab/.campaignd", func(*process) events.Log { return log })
	for n := range processes {
		w.processes = append(w.processes, &process{n: n})
	}
	for n := range campaigns {
		w.campaigns = append(w.campaigns, &driven{
			name: fmt.Sprint("c", n), budget: 4, dispatched: make(map[string]bool), ticket: make(map[string]*Place),
		})
	}
	return w
}

// begin starts a process, in its first life or another one.
func (w *world) begin(p *process) {
	for _, is := range []*atomic.Bool{&p.mood.dead, &p.mood.before, &p.mood.uncertain} {
		is.Store(false)
	}
	p.q = nil
	p.log = w.open(p)
	p.q = New(p.log, Options{Fresh: time.Hour, Patience: time.Nanosecond, Review: func(_, campaign string) {
		w.review(p, campaign)
	}})
}

// kill ends a process at once: what it drives is driven by no one, and the device works on.
func (w *world) kill(p *process) {
	p.mood.dead.Store(true)
	p.q.Close()
	_ = p.log.Close()
	for _, d := range w.campaigns {
		if d.by == p {
			if w.broken == freed {
				w.free(d)
			}
			d.by, d.lease, d.turn = nil, nil, nil
			d.ticket = make(map[string]*Place)
		}
	}
	p.q = nil
}

// review does as a lab with a campaign that no process drives.
func (w *world) review(p *process, campaign string) {
	for _, d := range w.campaigns {
		if d.name == campaign && d.by == nil {
			over := func(command string) bool { return !d.dispatched[command] }
			_ = p.q.Store("store").Campaign(campaign).Forget(over, d.done())
		}
	}
}

// free is the control's: it frees what a process that was killed had.
func (w *world) free(d *driven) {
	other := &process{n: -1}
	w.begin(other)
	_ = other.q.Store("store").Campaign(d.name).Forget(func(string) bool { return true }, true)
	other.q.Close()
}

// fault notes what must not be.
func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// judge compares the device's note with its limits, and with the tickets that hold by the raw
// events of the log.
func (w *world) judge() {
	if len(w.atWork) > w.works {
		w.fault("the device is at work on %d commands, and works on %d", len(w.atWork), w.works)
	}
	campaigns := make(map[*driven]bool)
	for _, d := range w.atWork {
		campaigns[d] = true
	}
	if len(campaigns) > w.capacity {
		w.fault("it is at work for %d campaigns, and %d may have it", len(campaigns), w.capacity)
	}
	held, leases := w.count.more(w.t)
	if len(held) > w.works {
		w.fault("%d commands hold tickets, of %d", len(held), w.works)
	}
	if leases > w.capacity {
		w.fault("%d campaigns have it, of %d", leases, w.capacity)
	}
	for command := range w.atWork {
		if !slices.Contains(held, command) {
			w.fault("it is at work on %s, which has no ticket", command)
		}
	}
}

// count is the tickets that hold, by the raw events alone.
type count struct {
	log  events.Log
	last events.Sequence
	hold map[events.Sequence]string // the command, empty for a campaign's own
}

// more counts what has come since, and returns the commands that hold tickets, and how many
// campaigns have the device.
func (c *count) more(t testing.TB) (commands []string, leases int) {
	for e := range must.Each(t, events.ReadCampaign(t.Context(), c.log, events.DevicesStream, c.last)) {
		payload := must.Get(events.Lab.Decode(e))(t)
		c.last = e.Sequence
		var over []events.Sequence
		switch p := payload.(type) {
		case *events.DeviceAwaited:
			over = p.InsteadOf
		case *events.DeviceTaken:
			over = p.InsteadOf
			c.hold[e.Sequence] = p.Command
		case *events.DeviceFreed:
			over = p.Taken
		}
		for _, n := range over {
			delete(c.hold, n)
		}
	}
	for _, command := range c.hold {
		if command == "" {
			leases++
		} else {
			commands = append(commands, command)
		}
	}
	return commands, leases
}

// step has a campaign go one step further, in the order of a run: lease, ticket, log, send,
// end, free.
func (w *world) step(d *driven) {
	p := d.by
	if p == nil {
		w.drive(d)
		return
	}
	if w.random.IntN(3) == 0 { // else it decides on what it has read before
		p.q.mu.Lock()
		next := p.q.line.last + 1
		p.q.mu.Unlock()
		p.q.Hear(next)
	}
	queue := p.q.Store("store").Campaign(d.name)
	switch {
	case d.lease == nil:
		d.lease = queue.Enter("line", w.capacity, "")
	case !d.lease.has():
		if w.try(d, d.lease) != nil || d.lease == nil {
			return
		}
		adopted, err := queue.Adopt("line", w.works, d.open())
		if err != nil {
			d.lease.Release()
			d.lease = nil
			w.trouble(d)
			return
		}
		d.ticket = adopted
	case d.turn != nil && !d.turn.has():
		if w.random.IntN(20) == 0 { // it thinks of something else
			d.turn.Release()
			d.turn = nil
			w.settled(p)
			return
		}
		_ = w.try(d, d.turn)
	case d.turn != nil: // the log, and then the device
		if d.turn.Begin(d.next) != nil {
			w.trouble(d)
			return
		}
		d.order = append(d.order, d.next)
		d.dispatched[d.next] = true
		d.ticket[d.next], d.turn = d.turn, nil
	case w.random.IntN(2) == 0 && len(d.order) < d.budget && len(d.open()) < w.works:
		d.next = fmt.Sprintf("%s/e%d", d.name, len(d.order)+1)
		d.turn = queue.Enter("line", w.works, d.next)
	case len(d.open()) > 0:
		w.goOn(d, d.open()[w.random.IntN(len(d.open()))])
	case d.done() && d.lease.has():
		d.lease.Release()
		d.by, d.lease = nil, nil
		w.settled(p)
	}
}

// goOn sends a command, ends it, or settles what was never sent.
func (w *world) goOn(d *driven, command string) {
	switch {
	case d.ticket[command] == nil:
		w.fault("%s is under way, and has no ticket", command)
	case w.begun[command] == 0 && d.ticket[command].Check() == nil:
		w.begun[command]++
		w.atWork[command] = d
	case w.begun[command] == 0 || w.atWork[command] != nil: // a person has seen that nothing moves, or it has ended
		delete(w.atWork, command)
		d.dispatched[command] = false
		d.ticket[command].Release()
		delete(d.ticket, command)
		w.settled(d.by)
	}
}

// settled waits until what was given back is freed, or the process was killed at that.
func (w *world) settled(p *process) {
	for ; ; time.Sleep(10 * time.Microsecond) {
		p.q.mu.Lock()
		settled := !p.q.settling
		p.q.mu.Unlock()
		if p.mood.dead.Load() {
			w.kill(p)
			return
		}
		if settled {
			return
		}
	}
}

// try asks for a place. A log that does not answer is asked again; a process that was killed
// is not there any more.
func (w *world) try(d *driven, p *Place) error {
	err := p.Try()
	var held *lock.HeldError
	if err != nil && !errors.As(err, &held) {
		w.trouble(d)
	}
	return err
}

// trouble ends the process of a campaign where it was killed.
func (w *world) trouble(d *driven) {
	if d.by != nil && d.by.mood.dead.Load() {
		w.kill(d.by)
	}
}

// has reports whether a place has the device, for a test.
func (p *Place) has() bool {
	p.c.q.mu.Lock()
	defer p.c.q.mu.Unlock()
	return !p.me.waiting && p.me.n != 0
}

// drive has a process take a campaign up.
func (w *world) drive(d *driven) {
	if d.done() {
		return
	}
	p := w.processes[w.random.IntN(len(w.processes))]
	if p.q == nil {
		w.begin(p)
	}
	d.by = p
}

// run goes through so many steps with kills, and then to the end without.
func (w *world) run(steps int) {
	witness := &process{n: -2}
	w.begin(witness)
	log := must.Get(witness.log.Store())(w.t)
	w.count = &count{log: log, hold: make(map[events.Sequence]string)}
	for i := 0; len(w.faults) == 0; i++ {
		if i == 50*steps {
			held, leases := w.count.more(w.t)
			w.fault("it is stuck: %v, %d leases", held, leases)
			break
		}
		left := slices.DeleteFunc(slices.Clone(w.campaigns), func(d *driven) bool { return d.done() && d.by == nil })
		if len(left) == 0 {
			break
		}
		if i < steps {
			for _, p := range w.processes {
				if p.q == nil {
					continue
				}
				switch w.random.IntN(40) {
				case 0:
					w.kill(p)
				case 1:
					p.mood.before.Store(true)
				case 2:
					p.mood.uncertain.Store(true)
				}
			}
		} else {
			for _, p := range w.processes {
				p.mood.before.Store(false)
				p.mood.uncertain.Store(false)
			}
		}
		w.step(left[w.random.IntN(len(left))])
		w.judge()
	}
	for _, d := range w.campaigns {
		if len(w.faults) == 0 {
			w.review(witness, d.name)
		}
	}
	for _, p := range append(w.processes, witness) {
		if p.q != nil {
			p.q.Close()
		}
	}
	for command, n := range w.begun {
		if n > 1 {
			w.fault("%s was begun %d times", command, n)
		}
	}
	if len(w.faults) > 0 {
		return
	}
	if held, leases := w.count.more(w.t); len(held)+leases > 0 {
		w.fault("all is over, and %v hold tickets, and %d campaigns have it", held, leases)
	}
}
