// Package simulated is an instrument that performs nothing: a test problem of
// internal/study/tasks behind the contract of package instruments, with noise,
// latency, failures, regions that cannot be measured, and silent outliers.
//
// # What it answers
//
// Whether a command fails, is an outlier, and what noise it has are three
// numbers read off the SHA-256 of the campaign's seed and the command's
// campaign and experiment (not its ID, which differs between stores). Equal
// seeds and experiments give equal outcomes in every process, in any order, for
// ever; only the latency depends on a clock.
//
// # Recovery
//
// It remembers nothing outside the process and does not need to. Nothing
// physical happens, so that a command of another process was certainly never
// acted on: [Instrument.Recover] says "not started", Start is safe, and the
// outcome will be the one the other process would have seen. Only a
// cancellation, and the part of the latency that had passed, are lost with a
// process.
package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// OutlierFactor multiplies the reading of a silent outlier: as on a real electrolyte robot, where 3
// of 125 runs read about 0.05 mS/cm instead of 12.9.
const OutlierFactor = 0.05 / 12.9

// ErrConfig is wrapped by the errors of [New] about the settings.
var ErrConfig = errors.New("the simulated instrument cannot be set up")

// Instrument is a simulated instrument. It is also an [instruments.Recoverer].
// Its methods are safe for concurrent use.
type Instrument struct {
	cfg  Settings
	task tasks.Task
	seed uint64
	// capacity is the number of experiments that the campaign wants under way at once; in a procedure,
	// where instruments are waited for, it is 1.
	capacity int
	// declared are the quantities that the campaign declares, by name.
	declared []string

	mu   sync.Mutex
	runs map[string]*run
}

// run is a command that this process has seen.
type run struct {
	cmd  instruments.Command
	ends *time.Timer
	over chan struct{} // closed when the command has ended
	// outcome is set before over is closed.
	outcome instruments.Outcome
}

// New returns the instrument that cfg describes for the campaign def. It fails
// with an error that wraps [ErrConfig] where a setting is wrong, and with an
// [*instruments.MismatchError] where the campaign is not one of the task: other
// parameters, units, objective, or bounds beyond the task's.
func New(cfg Settings, def definition.Campaign) (*Instrument, error) {
	idle := cfg.Task == "" && len(def.Declared()) == 0
	task, ok := tasks.Lookup(cfg.Task)
	if !ok && !idle {
		return nil, fmt.Errorf("%w: unknown task %q; the tasks are %v", ErrConfig, cfg.Task,
			tasks.Names())
	}
	var faults []error
	if !(cfg.Noise >= 0 && !math.IsInf(cfg.Noise, 1)) {
		faults = append(faults, fmt.Errorf("%w: noise is %g and must be a standard deviation, at least 0",
			ErrConfig, cfg.Noise))
	}
	for _, rate := range []struct {
		name  string
		value float64
	}{{"failure_rate", cfg.FailureRate}, {"outlier_rate", cfg.OutlierRate}} {
		if !(rate.value >= 0 && rate.value <= 1) {
			faults = append(faults, fmt.Errorf("%w: %s is %g and must be a probability, 0 to 1",
				ErrConfig, rate.name, rate.value))
		}
	}
	for _, noises := range []map[string]float64{cfg.Noises, cfg.RelativeNoises} {
		for _, name := range slices.Sorted(maps.Keys(noises)) {
			if sd := noises[name]; !(sd >= 0 && !math.IsInf(sd, 1)) {
				faults = append(faults,
					fmt.Errorf("%w: the noise of %s is %g and must be a standard deviation, at least 0",
						ErrConfig, name, sd))
			}
		}
	}
	for _, region := range cfg.Infeasible {
		if len(region.Where) == 0 {
			faults = append(faults, fmt.Errorf("%w: the infeasible region %q is the whole space",
				ErrConfig, region.Name))
		}
		for name := range region.Where {
			if !slices.ContainsFunc(task.Parameters,
				func(p definition.Parameter) bool { return p.Name == name }) {
				faults = append(faults,
					fmt.Errorf("%w: the infeasible region %q is one of %s, which the task does not have",
						ErrConfig, region.Name, name))
			}
		}
	}
	if cfg.Latency < 0 {
		faults = append(faults, fmt.Errorf("%w: latency is %v and must be at least 0",
			ErrConfig, time.Duration(cfg.Latency)))
	}
	i := &Instrument{cfg: cfg, task: task, seed: def.Seed, capacity: max(1, def.Parallel),
		runs: make(map[string]*run)}
	if len(def.Procedure) > 0 {
		i.capacity = 1
	}
	for _, q := range def.Quantities {
		i.declared = append(i.declared, q.Name)
	}
	if idle {
		return i, errors.Join(faults...)
	}
	if err := instruments.Compatible(i.describe(), def); err != nil {
		faults = append(faults, err)
	} else if err := constrained(task, def); err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return i, nil
}

// constrained checks that a campaign on a mixture keeps to mixtures at all: it has an equality, or
// a list of candidates. Whether these imply the task's own constraints is checked at each Start,
// which refuses a composition without a value in the task.
func constrained(task tasks.Task, def definition.Campaign) error {
	isEquality := func(c definition.Constraint) bool { return c.Equals != nil }
	if len(task.Constraints) == 0 || len(def.Candidates) > 0 ||
		slices.ContainsFunc(def.Constraints, isEquality) {
		return nil
	}
	c := task.Constraints[0]
	return fmt.Errorf("%w: the task %s is a mixture, and the campaign lacks its constraint: the sum of %v equals %g",
		ErrConfig, task.Name, slices.Sorted(maps.Keys(c.Terms)), *c.Equals)
}

// Describe implements instruments.Instrument.
func (i *Instrument) Describe(ctx context.Context) (instruments.Description, error) {
	if err := ctx.Err(); err != nil {
		return instruments.Description{}, err
	}
	return i.describe(), nil
}

func (i *Instrument) describe() instruments.Description {
	d := instruments.Description{
		Name:      named(i.cfg.Task),
		Identity:  i.identity(),
		Capacity:  i.capacity,
		Simulated: true,
	}
	if i.cfg.Task == "" {
		return d
	}
	d.Outputs = []instruments.OutputSpec{instruments.OutputOf(i.task.Objective)}
	if len(i.declared) > 0 {
		d.Outputs = outputsOf(i.task.Name)
	}
	for _, p := range i.task.Parameters {
		spec := instruments.ParameterSpec{Name: p.Name, Unit: p.Unit, Min: p.Min, Max: p.Max}
		if p.Values != nil {
			least, greatest := slices.Min(p.Values), slices.Max(p.Values)
			spec.Min, spec.Max = &least, &greatest
		}
		for _, c := range p.Categories {
			spec.Categories = append(spec.Categories, c.Name)
		}
		d.Parameters = append(d.Parameters, spec)
	}
	return d
}

func (i *Instrument) identity() string {
	if i.cfg.Noise == 0 {
		return "simulation without noise"
	}
	return fmt.Sprintf("simulation, noise sd %g", i.cfg.Noise)
}

// Start implements instruments.Instrument. It refuses a composition at which
// the task has no value.
//
// The instrument has as many cells as the campaign runs experiments at once; a
// further command is accepted and takes its own time.
func (i *Instrument) Start(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	outcome, err := i.outcome(cmd)
	if err != nil {
		return fmt.Errorf("%w: %w (%w)", instruments.ErrRefused, err, instruments.ErrPermanent)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if r := i.runs[cmd.ID]; r != nil {
		if !r.cmd.Same(cmd) {
			return fmt.Errorf("%w: command %s was started with another composition",
				instruments.ErrRefused, cmd.ID)
		}
		return nil
	}
	r := &run{cmd: cmd.Cloned(), over: make(chan struct{})}
	if latency := time.Duration(i.cfg.Latency); latency > 0 {
		// The function runs only if Cancel's Stop came too late, so that only
		// one of the two ends the run.
		r.ends = time.AfterFunc(latency, func() { r.end(outcome) })
	} else {
		r.end(outcome)
	}
	i.runs[cmd.ID] = r
	return nil
}

// Await implements instruments.Instrument.
func (i *Instrument) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return instruments.Outcome{}, err
	}
	r := i.run(cmd)
	if r == nil {
		return instruments.Outcome{}, fmt.Errorf("%w: %s", instruments.ErrNotStarted, cmd.ID)
	}
	select {
	case <-r.over:
		return clone(r.outcome), nil
	case <-ctx.Done():
		return instruments.Outcome{}, ctx.Err()
	}
}

// Voids implements instruments.Voider. A later process does not know which commands were cancelled:
// nothing physical comes of them.
func (i *Instrument) Voids() bool { return true }

// Cancel implements instruments.Instrument. A command whose latency has not
// passed ends as cancelled, and so does one that was never started.
func (i *Instrument) Cancel(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	r := i.runs[cmd.ID]
	switch {
	case r == nil:
		r = &run{cmd: cmd.Cloned(), over: make(chan struct{})}
		i.runs[cmd.ID] = r
		r.end(instruments.Outcome{Status: instruments.Cancelled, Cause: "called off before it was started"})
	case r.ends != nil && r.ends.Stop():
		r.end(instruments.Outcome{Status: instruments.Cancelled, Cause: "called off before it was over"})
	}
	return nil
}

// Recover implements instruments.Recoverer.
func (i *Instrument) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r := i.run(cmd)
	if r == nil {
		return instruments.FateNotStarted, nil
	}
	select {
	case <-r.over:
		return instruments.FateFinished, nil
	default:
		return instruments.FateRunning, nil
	}
}

// run returns the run of cmd, or nil if this process has not started it.
func (i *Instrument) run(cmd instruments.Command) *run {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.runs[cmd.ID]
}

func (r *run) end(o instruments.Outcome) {
	r.outcome = o
	close(r.over)
}

// outcome computes the command's outcome: a function of the seed and cmd. An act for several experiments
// gives each its own, as if it were for that one alone.
func (i *Instrument) outcome(cmd instruments.Command) (instruments.Outcome, error) {
	if cmd.Experiments == nil {
		return i.single(cmd)
	}
	all := instruments.Outcome{Status: instruments.Done}
	for _, x := range cmd.Experiments {
		one := cmd
		one.Experiment, one.Parameters, one.Experiments = x.Experiment, x.Parameters, nil
		o, err := i.single(one)
		if err != nil {
			return all, err
		}
		given := events.Given{Experiment: x.Experiment, Cause: o.Cause, Measurement: o.Measurement}
		if o.Status != instruments.Measured {
			given.Status = events.ActStatus(o.Status)
		}
		all.Gave = append(all.Gave, given)
	}
	return all, nil
}

// single computes the outcome for one experiment.
func (i *Instrument) single(cmd instruments.Command) (instruments.Outcome, error) {
	var value float64
	if i.cfg.Task != "" {
		var err error
		if value, err = i.task.Value(cmd.Parameters); err != nil {
			return instruments.Outcome{}, err
		}
	}
	for _, region := range i.cfg.Infeasible {
		if holds(region, cmd.Parameters) {
			cause := "simulated: the composition cannot be made"
			if region.Name != "" {
				cause += ": " + region.Name
			}
			return instruments.Outcome{Status: instruments.Infeasible, Cause: cause}, nil
		}
	}
	u := draws(i.seed, drawn(cmd))
	fails := u[0]
	if cmd.Act != "" { // what has failed may do when it is tried again
		fails = draws(i.seed, drawn(cmd)+"/"+cmd.Act)[0]
	}
	if fails < i.cfg.FailureRate {
		return instruments.Outcome{Status: instruments.Failed,
			Cause: "simulated failure: the cell did not fill"}, nil
	}
	if i.cfg.Task == "" {
		return instruments.Outcome{Status: instruments.Measured,
			Measurement: &events.Measurement{Actual: made(cmd), Identity: i.identity()}}, nil
	}
	sought := i.task.Objective
	value += i.sd(sought.Name, i.cfg.Noise, value) * math.Sqrt2 * math.Erfinv(2*u[2]-1)
	if u[1] < i.cfg.OutlierRate {
		value *= OutlierFactor
	}
	further, err := i.further(cmd)
	if err != nil {
		return instruments.Outcome{}, err
	}
	return instruments.Outcome{
		Status: instruments.Measured,
		Measurement: &events.Measurement{
			Actual:    made(cmd),
			Objective: sought.Quantity(value, nil),
			Further:   further,
			Identity:  i.identity(),
		},
	}, nil
}

// drawn names the random numbers of a command: those of an experiment, at each stage others.
func drawn(cmd instruments.Command) string {
	name := cmd.Campaign + "/" + cmd.Experiment
	if cmd.Act != "" {
		name += "/" + cmd.Stage
	}
	return name
}

// made is the composition as it was asked for; of an act, which may be sent a part of it, the engine
// knows that.
func made(cmd instruments.Command) definition.Point {
	if cmd.Act != "" {
		return nil
	}
	return maps.Clone(cmd.Parameters)
}

// sd is the standard deviation of the noise of a value: the given one and the one
// that is a part of the value, as of independent causes.
func (i *Instrument) sd(quantity string, given, value float64) float64 {
	part := i.cfg.RelativeNoises[quantity]
	if part == 0 {
		return given
	}
	return math.Hypot(given, part*value)
}

// further are the other quantities of the task that the campaign declares, each
// with noise of its own. One that declares none is given the objective alone.
func (i *Instrument) further(cmd instruments.Command) (list []definition.Quantity, err error) {
	tradeoff, ok := tasks.LookupTradeoff(i.task.Name)
	if !ok || len(i.declared) == 0 {
		return nil, nil
	}
	values, err := tradeoff.Values(cmd.Parameters)
	if err != nil {
		return nil, err
	}
	objective := i.task.Objective
	for k, o := range tradeoff.Objectives {
		if o.Name == objective.Name || !slices.Contains(i.declared, o.Name) {
			continue
		}
		u := draws(i.seed, drawn(cmd)+"/"+o.Name)
		noise := i.sd(o.Name, i.cfg.Noises[o.Name], values[k]) * math.Sqrt2 * math.Erfinv(2*u[2]-1)
		list = append(list, definition.Quantity{Name: o.Name, Value: values[k] + noise, Unit: o.Unit})
	}
	return list, nil
}

// holds reports whether a composition lies in a region, its boundary included.
func holds(region definition.Region, p definition.Point) bool {
	for name, side := range region.Where {
		x, number := p[name].Float()
		switch {
		case side.Is != "" && p[name].Name() != side.Is,
			side.Min != nil && !(number && x >= *side.Min),
			side.Max != nil && !(number && x <= *side.Max):
			return false
		}
	}
	return true
}

// draws returns three independent numbers in (0, 1), for failure, outlier and
// noise. Each is the middle of one of 2⁵² cells, picked by a word of the
// SHA-256, so that neither 0 nor 1 can come up and 2u − 1 is exact.
func draws(seed uint64, id string) [3]float64 {
	h := sha256.New()
	h.Write([]byte("campaignd simulated instrument\x00"))
	h.Write(binary.BigEndian.AppendUint64(nil, seed))
	h.Write([]byte(id))
	sum := h.Sum(nil)
	var u [3]float64
	for k := range u {
		word := binary.BigEndian.Uint64(sum[8*k:]) >> 12 // 52 bits: word + 0.5 is exact
		u[k] = (float64(word) + 0.5) / (1 << 52)
	}
	return u
}

// clone gives each caller an outcome of its own.
func clone(o instruments.Outcome) instruments.Outcome {
	if o.Measurement != nil {
		m := *o.Measurement
		m.Actual = maps.Clone(m.Actual)
		o.Measurement = &m
	}
	o.Gave = slices.Clone(o.Gave)
	for k, g := range o.Gave {
		o.Gave[k].Measurement = clone(instruments.Outcome{Measurement: g.Measurement}).Measurement
	}
	return o
}
