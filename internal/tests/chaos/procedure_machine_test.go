package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// shop is the machines of a line and their journal: what really moved. It outlives every program.
type shop struct {
	line *line
	log  *book

	mu       sync.Mutex
	machines map[string]*machine
	journal  []moved
	honest   bool
}

// moved is a line of the journal: an act has begun, has ended, was cut off in the middle; or a person
// has taken a batch out.
type moved struct {
	at      time.Time
	machine string
	what    string // begin, end, cut, cleared
	cmd     instruments.Command
	logged  bool // of a begin: the log knew of it
	outcome instruments.Outcome
	batch   string
}

// machine does acts.
type machine struct {
	*shop
	name   string
	temper machineTemper

	memory map[string]*act
	void   map[string]bool
	busy   map[string]*act
	tried  map[string]int // messages, by command: never forgotten
	boots  int            // what is on its way does not outlive one
	off    time.Time
	asked  int
}

// act is a command that the machine has read.
type act struct {
	cmd     instruments.Command
	over    chan struct{}
	ended   bool
	outcome instruments.Outcome
}

func newShop(l *line, log *book) *shop {
	s := &shop{line: l, log: log, machines: make(map[string]*machine)}
	for name := range l.plan.capacity {
		m := &machine{shop: s, name: name, temper: l.machines[name], memory: make(map[string]*act), void: make(map[string]bool),
			busy: make(map[string]*act), tried: make(map[string]int)}
		s.machines[name] = m
		m.reboots()
	}
	return s
}

// instruments are the machines as a program sees them.
func (s *shop) instruments() map[string]instruments.Instrument {
	all := make(map[string]instruments.Instrument)
	for name, m := range s.machines {
		switch {
		case name == "bench" && s.line.byHand:
			all[name] = hands{}
		case m.temper.Mute:
			all[name] = m
		default:
			all[name] = rememberer{m}
		}
	}
	return all
}

func (m *machine) tempered() machineTemper {
	if m.honest {
		return machineTemper{Forgets: m.temper.Forgets, Keeps: m.temper.Keeps, Mute: m.temper.Mute}
	}
	return m.temper
}

// reboots lets the machine start anew now and then.
func (m *machine) reboots() {
	if m.temper.Reboots == 0 {
		return
	}
	r := m.line.chance("reboot", m.name, m.boots)
	time.AfterFunc(time.Duration(r.ExpFloat64()*float64(m.temper.Reboots)), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.honest {
			m.reboot(r.IntN(2) == 0)
			m.reboots()
		}
	})
}

// reboot cuts off what is under way, and what lies in the pipe is gone.
func (m *machine) reboot(forgets bool) {
	m.boots++
	for _, a := range m.inOrder() {
		m.journal = append(m.journal, moved{at: time.Now(), machine: m.name, what: "cut", cmd: a.cmd})
		delete(m.busy, a.cmd.ID)
		m.end(a, instruments.Outcome{Status: instruments.Unknown, Cause: "the power was off"})
	}
	if forgets && (m.temper.Forgets && !m.temper.Keeps || m.line.control == "believe") {
		clear(m.memory)
	}
}

// inOrder are the acts under way, in the order in which they began.
func (m *machine) inOrder() (all []*act) {
	for _, e := range m.journal {
		if a := m.busy[e.cmd.ID]; a != nil && e.what == "begin" && !slices.Contains(all, a) { // begun twice by a control
			all = append(all, a)
		}
	}
	return all
}

func (m *machine) end(a *act, o instruments.Outcome) {
	a.outcome, a.ended = o, true
	close(a.over)
}

// reach is whether the machine answers.
func (m *machine) reach() error {
	if m.honest {
		return nil
	}
	m.asked++
	r := m.line.chance("reach", m.name, m.asked)
	if time.Now().Before(m.off) {
		return errOff
	}
	if r.Float64() < m.temper.Off {
		m.off = time.Now().Add(time.Duration(r.Float64() * float64(2*time.Hour)))
		return errOff
	}
	return nil
}

// travel is the way of a message to the machine: no two take the same time, so that what comes first
// does not depend on who is scheduled first.
func (m *machine) travel(op, command string) {
	m.mu.Lock()
	key := op + " " + command
	m.tried[key]++
	r := m.line.chance("travel", m.name, key, m.tried[key])
	m.mu.Unlock()
	time.Sleep(time.Duration(r.Float64() * float64(100*time.Millisecond)))
}

// Describe implements [instruments.Instrument].
func (m *machine) Describe(context.Context) (instruments.Description, error) {
	m.travel("describe", "")
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reach(); err != nil {
		return instruments.Description{}, err
	}
	capacity := m.line.plan.capacity[m.name]
	if m.line.control == "capacity" {
		capacity++ // it boasts
	}
	return instruments.Description{Name: m.name, Identity: m.name + " 0042", Capacity: capacity}, nil
}

var errLost = errors.New("the connection was lost")

// Start implements [instruments.Instrument].
func (m *machine) Start(ctx context.Context, cmd instruments.Command) error {
	m.travel("start", cmd.ID)
	m.mu.Lock()
	m.tried[cmd.ID]++
	r := m.line.chance("start", cmd.ID, m.tried[cmd.ID])
	temper := m.tempered()
	if err := m.reach(); err != nil {
		m.mu.Unlock()
		if r.IntN(2) == 0 {
			return fmt.Errorf("%w: %w", instruments.ErrRefused, err)
		}
		return err
	}
	switch {
	case r.Float64() < temper.Lost:
		m.mu.Unlock()
		return errLost
	case r.Float64() < temper.Late: // it lies in the pipe
		boot, arrived := m.boots, make(chan struct{})
		time.AfterFunc(time.Duration(r.Float64()*float64(6*time.Hour)), func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.boots == boot {
				m.read(cmd)
				close(arrived)
			}
		})
		m.mu.Unlock()
		if r.IntN(2) == 0 {
			return errLost
		}
		select {
		case <-arrived:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer m.mu.Unlock()
	if m.void[cmd.ID] {
		return fmt.Errorf("%w: %w", instruments.ErrRefused, instruments.ErrCalledOff)
	}
	m.read(cmd)
	if m.line.control == "twice" { // a network that delivers twice, and a machine that does not see it
		delete(m.memory, cmd.ID)
		m.read(cmd)
	}
	if m.line.control == "believe" && r.IntN(4) == 0 {
		m.reboot(true) // before it has confirmed
		return errLost
	}
	if r.Float64() < temper.Unconfirmed {
		return errLost
	}
	return nil
}

// read is the moment in which the machine reads a start.
func (m *machine) read(cmd instruments.Command) {
	if m.memory[cmd.ID] != nil || m.void[cmd.ID] {
		return
	}
	r := m.line.chance("act", cmd.ID)
	a := &act{cmd: cmd, over: make(chan struct{})}
	m.memory[cmd.ID] = a
	if r.Float64() < m.tempered().Refuses {
		m.end(a, instruments.Outcome{Status: instruments.Deferred, Cause: "the door is open"})
		return
	}
	m.busy[cmd.ID] = a
	m.journal = append(m.journal, moved{at: time.Now(), machine: m.name, what: "begin", cmd: cmd,
		logged: m.log.holds(`"command":"` + cmd.ID + `"`)})
	takes := time.Duration((1 + r.Float64()*15) * float64(time.Minute))
	if r.Float64() < m.tempered().Slow {
		takes = time.Duration(r.Float64() * float64(10*time.Hour))
	}
	time.AfterFunc(takes, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if a.ended { // it was cut off
			return
		}
		o := m.outcome(cmd)
		delete(m.busy, cmd.ID)
		m.journal = append(m.journal, moved{at: time.Now(), machine: m.name, what: "end", cmd: cmd, outcome: o})
		if m.line.control == "value" && o.Measurement != nil {
			lie := *o.Measurement
			lie.Objective.Value++
			o.Measurement = &lie
		}
		m.end(a, o)
	})
}

// outcome is how an act ends. No value is like another.
func (m *machine) outcome(cmd instruments.Command) instruments.Outcome {
	r := m.line.chance("outcome", cmd.ID)
	if r.Float64() < m.tempered().Fails {
		status := []instruments.Status{instruments.Failed, instruments.Failed, instruments.Infeasible}[r.IntN(3)]
		return instruments.Outcome{Status: status, Cause: "it broke"}
	}
	stage := m.line.plan.stage(cmd.Stage)
	o := instruments.Outcome{Status: instruments.Done}
	measured := func(p definition.Point) *events.Measurement {
		return &events.Measurement{
			Actual:     p,
			Objective:  definition.Quantity{Name: "yield", Unit: "%", Value: 50*r.Float64() + 20},
			Quantities: []definition.Quantity{{Name: "viscosity", Unit: "mPa·s", Value: 1 + r.Float64()}},
		}
	}
	if cmd.Experiment != "" && stage.gives != nil {
		o.Measurement = measured(cmd.Parameters)
	}
	for _, x := range cmd.Experiments {
		switch given := (events.Given{Experiment: x.Experiment}); {
		case r.Float64() < m.tempered().Fails:
			given.Status, given.Cause = events.ActFailed, "a bubble"
			o.Gave = append(o.Gave, given)
		case stage.gives != nil:
			given.Measurement = measured(x.Parameters)
			o.Gave = append(o.Gave, given)
		}
	}
	return o
}

// Await implements [instruments.Instrument].
func (m *machine) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	m.travel("await", cmd.ID)
	m.mu.Lock()
	a := m.memory[cmd.ID]
	m.tried[cmd.ID]++
	r := m.line.chance("await", cmd.ID, m.tried[cmd.ID])
	var breaks <-chan time.Time
	if r.Float64() < m.tempered().Cut {
		timer := time.NewTimer(time.Duration(r.Float64() * float64(10*time.Minute)))
		defer timer.Stop()
		breaks = timer.C
	}
	m.mu.Unlock()
	if a == nil {
		return instruments.Outcome{}, instruments.ErrNotStarted
	}
	select {
	case <-a.over:
	case <-breaks:
		return instruments.Outcome{}, errLost
	case <-ctx.Done():
		return instruments.Outcome{}, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.memory[cmd.ID] == nil {
		return instruments.Outcome{}, errLost
	}
	return a.outcome, nil
}

// Cancel implements [instruments.Instrument]: what was not read never begins, what has begun goes on.
func (m *machine) Cancel(_ context.Context, cmd instruments.Command) error {
	m.travel("cancel", cmd.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reach(); err != nil {
		return err
	}
	if m.line.control != "late" { // else the answer binds nobody
		m.void[cmd.ID] = true
	}
	if m.memory[cmd.ID] == nil && m.line.control != "late" {
		a := &act{cmd: cmd, over: make(chan struct{})}
		m.memory[cmd.ID] = a
		m.end(a, instruments.Outcome{Status: instruments.Cancelled, Cause: "it was called off"})
	}
	return nil
}

// Voids implements [instruments.Voider].
func (m *machine) Voids() bool { return true }

// rememberer is a machine that can say what became of a command.
type rememberer struct{ *machine }

// Keeps implements [instruments.Keeper].
func (m rememberer) Keeps() bool { return m.temper.Keeps }

// Recover implements [instruments.Recoverer].
func (m rememberer) Recover(_ context.Context, cmd instruments.Command) (instruments.Fate, error) {
	m.travel("recover", cmd.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reach(); err != nil {
		return "", err
	}
	a := m.memory[cmd.ID]
	switch {
	case a == nil:
		return instruments.FateNotStarted, nil
	case !a.ended:
		return instruments.FateRunning, nil
	case a.outcome.Status == instruments.Unknown:
		return instruments.FateUnknown, nil
	}
	return instruments.FateFinished, nil
}

// hands is the bench, where people do what the campaign shows them and say so.
type hands struct{}

// Describe implements [instruments.Instrument].
func (hands) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "manual", Capacity: 2}, nil
}

// Start implements [instruments.Instrument].
func (hands) Start(context.Context, instruments.Command) error { return nil }

// Await implements [instruments.Instrument].
func (hands) Await(ctx context.Context, _ instruments.Command) (instruments.Outcome, error) {
	<-ctx.Done()
	return instruments.Outcome{}, context.Cause(ctx)
}

// Cancel implements [instruments.Instrument].
func (hands) Cancel(context.Context, instruments.Command) error { return nil }

// Recover implements [instruments.Recoverer].
func (hands) Recover(context.Context, instruments.Command) (instruments.Fate, error) {
	return instruments.FateRunning, nil
}

// seen is what a person finds of a command in the journal.
func (s *shop) seen(command string) (begun, running bool, end *moved) {
	for i := range s.journal {
		e := &s.journal[i]
		switch {
		case e.cmd.ID != command:
		case e.what == "begin":
			begun = true
		default:
			end = e
		}
	}
	return begun, begun && end == nil, end
}

// batchAt is whether a batch has an act under way at any machine.
func (s *shop) batchAt(batch string) bool {
	for _, m := range s.machines {
		for _, a := range m.busy {
			if a.cmd.Batch == batch {
				return true
			}
		}
	}
	return false
}

// judged are the faults that the journal and the log show.
func (s *shop) judged(entries []events.Event) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	plan := &s.line.plan
	dispatched := make(map[string]*events.ActDispatched) // by command
	told := make(map[string]bool)                        // acts that a person says are done
	var measured []*events.ExperimentMeasured
	for _, e := range entries {
		switch p, _ := events.Decode(e); p := p.(type) {
		case *events.ActDispatched:
			dispatched[p.Command] = p
		case *events.ActResolved:
			told[p.Act] = p.Status == events.ActDone
		case *events.ExperimentMeasured:
			measured = append(measured, p)
		}
	}
	begun := make(map[string]int)
	of := make(map[string][]string)      // commands begun, by stage and experiment
	done := make(map[string][]time.Time) // ends, by stage and experiment
	at := make(map[string]int)           // at work, by machine
	open := make(map[string]int)         // acts under way, by batch
	label := make(map[string]string)     // by which command
	in := make(map[string]map[string]bool)
	for place := range plan.room {
		in[place] = make(map[string]bool)
	}
	for _, e := range s.journal {
		id := e.cmd.ID
		if e.what == "cleared" {
			for _, batches := range in {
				delete(batches, e.batch)
			}
			continue
		}
		d, stage := dispatched[id], plan.stage(e.cmd.Stage)
		if e.what == "begin" {
			if d == nil || !e.logged {
				add("unlogged: %s began", id)
			}
			if begun[id]++; begun[id] > 1 {
				add("twice: %s", id)
			}
		}
		if d == nil {
			d = &events.ActDispatched{Batch: e.cmd.Batch, Experiments: []string{e.cmd.Experiment}}
			if e.cmd.Experiment == "" {
				d.Experiments = nil
			}
			for _, x := range e.cmd.Experiments {
				d.Experiments = append(d.Experiments, x.Experiment)
			}
		}
		switch e.what {
		case "begin":
			if at[e.machine]++; at[e.machine] > plan.capacity[e.machine] {
				add("busy: %s began at %s, which was at work", id, e.machine)
			}
			if open[d.Batch] > 0 && stage.always {
				add("order: %s of %s began, and an act of the batch was under way", id, stage.name)
			}
			open[d.Batch]++
			for _, drawn := range e.cmd.Drawn {
				for _, l := range drawn.Labels {
					if label[l] != "" && label[l] != id {
						add("label: %s for %s and %s", l, label[l], id)
					}
					label[l] = id
				}
			}
			for _, x := range d.Experiments {
				key := stage.name + " of " + x
				if of[key] = append(of[key], id); len(of[key]) > 1 && !stage.repeatable {
					add("stage twice: %s, by %s", key, strings.Join(of[key], " and "))
				}
				for _, before := range inOrder(*plan, stage.after) {
					ends := done[before+" of "+x]
					switch {
					case stage.always:
					case len(ends) == 0:
						add("order: %s began for %s before the end of %s", id, x, before)
					case e.at.Before(ends[len(ends)-1].Add(stage.after[before] - time.Microsecond)): // the log's grain
						add("early: %s began for %s %s after %s", id, x, e.at.Sub(ends[len(ends)-1]), before)
					}
				}
			}
			if stage.holds != "" {
				if in[stage.holds][d.Batch] = true; len(in[stage.holds]) > plan.room[stage.holds] {
					add("place: %s into the %s, which is full", id, stage.holds)
				}
			}
		case "end", "cut":
			at[e.machine]--
			open[d.Batch]--
			ok := e.what == "end" && e.outcome.Status == instruments.Done
			for _, x := range d.Experiments {
				if ok && (events.Of(e.outcome.Gave, x).Status == events.ActDone || told[d.Act]) {
					key := stage.name + " of " + x
					done[key] = append(done[key], e.at)
				}
			}
			switch {
			case ok && stage.frees != "":
				delete(in[stage.frees], d.Batch)
			case !ok && stage.holds != "": // it lies beside it
				delete(in[stage.holds], d.Batch)
			}
		}
	}
	for _, p := range measured {
		for _, q := range p.Measurement.All() {
			if !s.gave(p.Experiment, q) {
				add("value: no act gave %s of %s for %s", fmt.Sprint(q.Value), q.Name, p.Experiment)
			}
		}
	}
	return faults
}

// gave is whether an act gave the value for an experiment.
func (s *shop) gave(experiment string, q definition.Quantity) bool {
	for _, e := range s.journal {
		m := e.outcome.Measurement
		if e.cmd.Experiment != experiment {
			m = events.Of(e.outcome.Gave, experiment).Measurement
		}
		if e.what != "end" || m == nil {
			continue
		}
		if m.Objective.Name == q.Name && m.Objective.Value == q.Value ||
			len(m.Quantities) > 0 && m.Quantities[0].Name == q.Name && m.Quantities[0].Value == q.Value {
			return true
		}
	}
	return false
}
