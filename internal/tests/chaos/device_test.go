package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// device is the physical world: what it has done outlives every program. It
// keeps the count that the judge believes.
type device struct {
	world World
	log   *book

	mu      sync.Mutex
	memory  map[string]*job   // by command, until it forgets
	acts    map[string]int    // by command: never forgotten
	used    map[string]string // labels, by which command
	reports []report
	off     time.Time // out of reach until then
	asked   int       // how often it was asked for anything
	values  int
	honest  bool // from now on
	faults  []string
}

// job is a command that the device is working on or has ended.
type job struct {
	ready   time.Time
	outcome instruments.Outcome
}

// report is an outcome that the device gave away.
type report struct {
	command string
	mark    string // found in the log where the report is
	at      time.Time
}

func newDevice(w World, log *book) *device {
	return &device{world: w, log: log, memory: make(map[string]*job), acts: make(map[string]int), used: make(map[string]string)}
}

// kill is what the end of the program does to the device's memory.
func (d *device) kill() {
	d.ended()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.world.Device.Forgets && !d.honest {
		clear(d.memory)
	}
}

// ended is the end of a program: what is given away in that very moment it does not hear.
func (d *device) ended() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.reports = slices.DeleteFunc(d.reports, func(r report) bool { return !r.at.Before(now) })
}

func (d *device) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}

var errOff = errors.New("connection refused")

// reach is whether the device answers at all. Each time it is asked it may go
// out of reach for hours.
func (d *device) reach() error {
	if d.honest {
		return nil
	}
	d.asked++
	r := d.world.chance("reach", d.asked)
	if time.Now().Before(d.off) {
		return errOff
	}
	if r.Float64() < 0.2*d.world.Device.Off {
		d.off = time.Now().Add(time.Duration(r.Float64() * float64(10*time.Hour)))
		return errOff
	}
	return nil
}

// Describe implements [instruments.Instrument].
func (d *device) Describe(context.Context) (instruments.Description, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reach(); err != nil {
		return instruments.Description{}, err
	}
	return instruments.Description{Name: "device", Identity: "M2, serial 0042", Capacity: d.world.Device.Capacity}, nil
}

// Start implements [instruments.Instrument].
func (d *device) Start(ctx context.Context, cmd instruments.Command) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.world.chance("start", cmd.ID, d.acts[cmd.ID])
	if err := d.reach(); err != nil {
		if r.IntN(2) == 0 {
			return fmt.Errorf("%w: %w", instruments.ErrRefused, err) // it certainly did nothing
		}
		return err
	}
	if d.memory[cmd.ID] != nil {
		return nil
	}
	d.intended(cmd)
	d.acts[cmd.ID]++
	j := &job{ready: time.Now().Add(time.Duration((1 + r.IntN(20))) * time.Minute), outcome: d.outcome(cmd, r)}
	if !d.honest && r.Float64() < d.world.Device.Slow {
		j.ready = time.Now().Add(time.Duration(r.Float64() * float64(60*time.Hour)))
	}
	d.memory[cmd.ID] = j
	if !d.honest && r.Float64() < d.world.Device.Unconfirmed {
		return errors.New("the connection was lost")
	}
	return nil
}

// intended looks at the log at the moment of the act.
func (d *device) intended(cmd instruments.Command) {
	dispatched, started, unresolved := d.log.about(cmd.ID)
	if !dispatched {
		d.fault("%s was acted on before the log knew of it", cmd.ID)
	}
	if len(unresolved) > 0 {
		d.fault("%s was started while nobody knew what became of %v", cmd.ID, unresolved)
	}
	for _, drawn := range cmd.Drawn {
		for _, label := range drawn.Labels {
			if by := d.used[label]; by != "" && by != cmd.ID {
				d.fault("%s %s was handed out for %s and for %s", drawn.Stock, label, by, cmd.ID)
			}
			d.used[label] = cmd.ID
		}
	}
	lied := d.world.Device.Forgets && d.world.Device.Denies // it denies what it did: only the log can know better
	if d.acts[cmd.ID] > 0 && (started || !lied) {
		d.fault("%s was acted on %d times (the log had it confirmed: %t)", cmd.ID, d.acts[cmd.ID]+1, started)
	}
}

// Await implements [instruments.Instrument].
func (d *device) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	d.mu.Lock()
	j := d.memory[cmd.ID]
	d.mu.Unlock()
	if j == nil {
		return instruments.Outcome{}, instruments.ErrNotStarted
	}
	timer := time.NewTimer(time.Until(j.ready))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return instruments.Outcome{}, context.Cause(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reports = append(d.reports, report{command: cmd.ID, mark: mark(j.outcome), at: time.Now()})
	return j.outcome, nil
}

// Deliver implements [instruments.Deliverer]: within days, twice in one, in another unit, or never.
func (d *device) Deliver(ctx context.Context, cmd instruments.Command, names []string) (instruments.Delivery, error) {
	d.mu.Lock()
	d.asked++
	r := d.world.chance("deliver", cmd.ID, d.asked)
	d.mu.Unlock()
	timer := time.NewTimer(time.Duration(r.Float64() * float64(100*time.Hour)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return instruments.Delivery{}, context.Cause(ctx)
	}
	var out instruments.Delivery
	for _, name := range names {
		q := definition.Quantity{Name: name, Value: 100 + 50*r.Float64()}
		if declared := d.world.Definition.Quantity(name); declared != nil { // else by an amendment
			q.Unit = declared.Unit
		}
		switch r.IntN(6) {
		case 0:
			return out, errOff
		case 1:
			q.Unit += "!"
		case 2:
			q.Value = math.NaN()
		case 3:
			out.Missing = append(out.Missing, events.Missing{Name: name, Reason: "a short circuit"})
			continue
		case 4:
			out.Quantities = append(out.Quantities, q)
			q.Value++
		}
		out.Quantities = append(out.Quantities, q)
	}
	return out, nil
}

// Cancel implements [instruments.Instrument]; this device cannot.
func (d *device) Cancel(context.Context, instruments.Command) error { return nil }

// remembering is a device that can say what became of a command.
type remembering struct{ *device }

// Recover implements [instruments.Recoverer].
func (d remembering) Recover(_ context.Context, cmd instruments.Command) (instruments.Fate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reach(); err != nil {
		return "", err
	}
	j := d.memory[cmd.ID]
	switch {
	case j == nil && (d.acts[cmd.ID] == 0 || d.world.Device.Denies && !d.honest):
		return instruments.FateNotStarted, nil
	case j == nil:
		return instruments.FateUnknown, nil
	case time.Now().Before(j.ready):
		return instruments.FateRunning, nil
	}
	return instruments.FateFinished, nil
}

// instrument is the device as a program sees it.
func (d *device) instrument() instruments.Instrument {
	if d.world.Device.Mute {
		return d
	}
	return remembering{d}
}

// outcome is how a command ends. Every value and cause is like no other, so that
// it can be found.
func (d *device) outcome(cmd instruments.Command, r *rand.Rand) instruments.Outcome {
	d.values++
	sentence := fmt.Sprintf("cause %d of seed %d", d.values, d.world.Seed)
	if !d.honest && r.Float64() < d.world.Device.Fails {
		statuses := []instruments.Status{
			instruments.Failed, instruments.Infeasible, instruments.Deferred, instruments.Cancelled, instruments.Unknown,
		}
		return instruments.Outcome{Status: statuses[r.IntN(5)], Cause: sentence}
	}
	m := &events.Measurement{
		Actual:    cmd.Parameters,
		Objective: definition.Quantity{Name: "yield", Unit: "%", Value: truth(cmd.Parameters) + float64(d.values)*1e-6},
		Began:     time.Now(), Ended: time.Now().Add(time.Minute),
	}
	for _, q := range d.world.Definition.Quantities {
		if q.Name == m.Objective.Name || q.From != "" || q.Later() && r.IntN(4) > 0 {
			continue
		}
		switch r.IntN(6) {
		case 0: // it is forgotten
		case 1: // it cannot be used
			m.Further = append(m.Further, definition.Quantity{Name: q.Name, Unit: q.Unit + "!", Value: -1})
		case 2:
			m.Missing = append(m.Missing, events.Missing{Name: q.Name, Reason: sentence})
		default:
			m.Quantities = append(m.Quantities, definition.Quantity{Name: q.Name, Unit: q.Unit, Value: 1 + 5*r.Float64()})
		}
	}
	o := instruments.Outcome{Status: instruments.Measured, Measurement: m}
	if d.honest || r.Float64() >= d.world.Device.Lies {
		return o
	}
	switch r.IntN(13) {
	case 0:
		m.Objective.Unit = "g"
	case 1:
		m.Objective.Name = "mass"
	case 2:
		m.Objective.Value = math.NaN()
	case 3:
		m.Objective.Value = -1e308
	case 4:
		o.Measurement = nil
	case 5:
		m.Actual = nil
	case 6: // another composition altogether
		m.Actual = make(definition.Point, len(cmd.Parameters))
		for name, v := range cmd.Parameters {
			if x, ok := v.Float(); ok {
				v = definition.Number(x + 0.3)
			}
			m.Actual[name] = v
		}
	case 7:
		m.Identity = "M2\x1b]0;x\a\u202e"
	case 8:
		m.Further = []definition.Quantity{{Name: "lot\n", Value: math.Inf(1)}, {Name: "", Value: 3}}
	case 9:
		o.Status = "done?"
	case 10:
		return instruments.Outcome{Status: instruments.Failed, Cause: sentence + "\x00" + strings.Repeat("x", 1<<20)}
	case 11:
		m.Began, m.Ended = m.Ended, m.Began
	case 12: // of two minds
		statuses := []instruments.Status{instruments.Failed, instruments.Infeasible, instruments.Deferred}
		o.Status, o.Cause = statuses[r.IntN(3)], sentence
	}
	return o
}

// mark is what finds an outcome in the log.
func mark(o instruments.Outcome) string {
	if o.Measurement != nil {
		if x := o.Measurement.Objective.Value; !math.IsNaN(x) && math.Abs(x) < 1e300 {
			return fmt.Sprint(x)
		}
		return "" // beyond what a log can say
	}
	cause, _, _ := strings.Cut(o.Cause, "\x00")
	return cause
}

// truth is what an honest measurement gives: best at x = 1.2, y = 0.4.
func truth(p definition.Point) float64 {
	total := 90.0
	for name, v := range p {
		x, ok := v.Float()
		if !ok {
			total -= float64(len(v.Name())) // one category is better than the others
			continue
		}
		total -= 40 * (x - map[string]float64{"x": 1.2, "y": 0.4}[name]) * (x - map[string]float64{"x": 1.2, "y": 0.4}[name])
	}
	return total
}
