// Package equip opens what the definition of a campaign names: the instrument,
// whose device it leases, and the reviewers of the experts.
//
// A process opens an [Equipment] for each run of a campaign and closes it
// afterwards. Before a campaign exists, [Equipment.Prepare] completes its
// definition and takes the device. A device is leased through package lock,
// whose queue a [Place] keeps while the equipment is closed. Nothing here sends
// a command.
package equip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/devices"
	"github.com/campaignd/campaignd/projections/space"
)

// Equipment is the opened equipment of a campaign's definition: its instruments, and the reviewers
// of its experts. Opening it begins nothing.
type Equipment struct {
	// Instruments are those of the procedure, by the definition's names; without a procedure the
	// only one, whose name is empty. There are none if the campaign measures nothing.
	Instruments map[string]instruments.Instrument
	// Reviewers has one entry for each expert, by name.
	Reviewers map[string]humans.Reviewer
	// Method is the program that is the campaign's method; nil for a built-in method.
	Method methods.Method

	// Place, if set, is kept while the device belongs to another, to wait for it.
	Place *Place
	// Devices, if set, is the queue of the lab's devices for the campaign.
	Devices *devices.Campaign
	// Unleased makes Prepare take no device: the process that drives the campaign does, on
	// whichever machine.
	Unleased bool

	registry    registry.Registry
	environment instruments.Environment
	devices     map[string]*device // to be given back, by the definition's names of instruments
	unlocked    bool               // the remark on missing locks was made
}

// Open opens the equipment of a definition. Failure is a problem of [problem.Invalid].
func Open(
	ctx context.Context, reg registry.Registry, def definition.Campaign,
	env instruments.Environment,
) (*Equipment, error) {
	e := &Equipment{
		Instruments: make(map[string]instruments.Instrument), registry: reg, environment: env,
		devices: make(map[string]*device),
	}
	var err error
	for _, name := range def.Resources() {
		env.Resource = name
		instrument, err := OpenInstrument(ctx, reg, *def.For(name), env)
		if err != nil {
			return nil, errors.Join(ofResource(name, err), e.Close())
		}
		if instrument != nil {
			e.Instruments[name] = instrument
		}
	}
	// A new campaign's experts are asked about the instrument's list.
	if def, err = WithCandidates(ctx, def, e.Instruments[""]); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.Reviewers, err = OpenReviewers(ctx, reg, def, env.Folder, env.Prompter, env.Logf)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if e.Method, err = OpenMethod(reg, def, env.Folder, env.Logf); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Folder is the folder in which it was opened, that of lab.yaml.
func (e *Equipment) Folder() string { return e.environment.Folder }

// ofResource says which instrument an error is about, where there are several.
func ofResource(name string, err error) error {
	if name == "" || err == nil {
		return err
	}
	return fmt.Errorf("instruments.%s: %w", name, err)
}

// Close releases all resources, and gives the devices back. Further calls do nothing.
//
// The devices come last: until its instrument is closed, the process may still be talking to it.
func (e *Equipment) Close() (err error) {
	for _, name := range slices.Sorted(maps.Keys(e.Instruments)) {
		err = errors.Join(err, CloseInstrument(e.Instruments[name]))
	}
	e.Instruments = nil
	err = errors.Join(err, CloseReviewers(e.Reviewers))
	e.Reviewers = nil
	if e.Method != nil {
		err = errors.Join(err, e.Method.Close())
		e.Method = nil
	}
	for _, d := range e.devices {
		d.close()
	}
	clear(e.devices)
	return err
}

// Lease leases the device of an instrument to a campaign, with the given campaign file, until it is
// given back or the equipment is closed. A valid lease is returned again: the run asks for it after
// Prepare has taken it.
func (e *Equipment) Lease(
	resource string, d instruments.Description, campaign, source string,
) (drive.Lease, error) {
	remark := e.environment.Logf
	if remark == nil {
		remark = func(string, ...any) {}
	}
	if before := e.devices[resource]; before != nil { // by Prepare, or a lost one
		if before.holder.Device == deviceOf(d) && before.queue == e.Devices && before.Check() == nil {
			return before, nil
		}
		before.close()
		delete(e.devices, resource)
	}
	if !e.Devices.Shared() {
		if err := seen(deviceOf(d)); err != nil {
			return nil, err
		}
	}
	name := campaignfile.LabInstruments(source)[resource]
	room := capacity(e.registry, e.environment.Folder, name, remark)
	holder := holderOf(d, campaign, e.environment.Store, room)
	place := e.Place
	if place == nil {
		place = new(Place)
		defer place.Leave()
	}
	lease, err := place.take(holder, e.Devices)
	if err != nil {
		return nil, err
	}
	if err := lock.Supported(); err != nil && !e.unlocked {
		e.unlocked = true
		remark("nothing keeps other campaigns off %s: %v", holder.Device, err)
	}
	if e.devices == nil {
		e.devices = make(map[string]*device)
	}
	taken := &device{lease: lease, holder: holder, queue: e.Devices, works: max(1, d.Capacity)}
	e.devices[resource] = taken
	e.Place = nil // the former holder asks for it anew when a person wants it
	return taken, nil
}

// Prepare completes the definition of a new campaign from its instrument's list, checks that the
// instrument can perform it, and takes the device, all before anything is written: a campaign that
// cannot be run is not begun. source is the campaign file.
func (e *Equipment) Prepare(
	ctx context.Context, def definition.Campaign, source string,
) (definition.Campaign, error) {
	if len(e.Instruments) == 0 {
		return def, nil
	}
	if e.Method != nil {
		if _, err := e.Method.Describe(ctx); err != nil {
			return def, problem.New(problem.Invalid, "policy.%s: %w", def.Policy.Next.Name, err)
		}
	}
	def, err := WithCandidates(ctx, def, e.Instruments[""])
	if err != nil {
		return def, err
	}
	for _, name := range def.Resources() {
		if err := e.prepare(ctx, name, def, source); err != nil {
			return def, ofResource(name, err)
		}
	}
	return def, nil
}

// prepare checks that an instrument can do its part of a campaign, and takes its device.
func (e *Equipment) prepare(ctx context.Context, resource string, def definition.Campaign, source string) error {
	description, err := e.Instruments[resource].Describe(ctx)
	switch {
	case errors.Is(err, instruments.ErrLater):
		return err // the error says it itself
	case err != nil:
		return &SilentError{fmt.Errorf("the instrument does not describe itself: %w", err)}
	}
	if err := engine.Fits(&def, resource, description); err != nil {
		return problem.New(problem.Invalid, "%w", err)
	}
	if e.Unleased || !engine.Exclusive(*def.For(resource), description) {
		return nil
	}
	_, err = e.Lease(resource, description, def.Name, source)
	return err
}

// SilentError is the reason against beginning a campaign whose instrument does not answer as it
// should: a fault of the device, or of its program, and not of campaignd. It is a type and no
// problem code, since a caller that begins a campaign distinguishes a file that must be changed
// from a device that must be looked at.
type SilentError struct{ error }

// Unwrap returns the cause.
func (e *SilentError) Unwrap() error { return e.error }

// OpenInstrument returns the instrument of a definition, nil if it measures nothing. Close it with
// [CloseInstrument].
func OpenInstrument(
	ctx context.Context, reg registry.Registry, def definition.Campaign,
	env instruments.Environment,
) (instruments.Instrument, error) {
	if !def.Measures() {
		return nil, nil
	}
	driver, ok := reg.DriverOf(&def)
	if !ok {
		return nil, problem.New(problem.Invalid,
			"this campaignd has no driver %q for the campaign's instrument; it has %v",
			def.Driver().Name, reg.DriverNames())
	}
	instrument, err := driver.Open(ctx, def, env)
	if err != nil {
		return nil, problem.New(problem.Invalid, "%w", err)
	}
	return instrument, nil
}

// CloseInstrument closes an instrument that holds resources; others, and nil, need nothing.
func CloseInstrument(i instruments.Instrument) error {
	if c, ok := i.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// OpenMethod returns the program that is the method of a definition, nil for a built-in method.
// Opening it asks nothing.
func OpenMethod(
	reg registry.Registry, def definition.Campaign, folder string, logf func(format string, args ...any),
) (methods.Method, error) {
	driver, ok := reg.Program(&def)
	if !ok {
		return nil, nil
	}
	method, err := driver.Open(def, folder, logf)
	if err != nil {
		return nil, problem.New(problem.Invalid, "%w", err)
	}
	return method, nil
}

// OpenReviewers returns the reviewers of a definition's experts, by name. Relative paths start from
// folder; prompter asks at the terminal, nil without one. Opening them asks nothing.
func OpenReviewers(
	ctx context.Context, reg registry.Registry, def definition.Campaign,
	folder string, prompter console.Prompter, logf func(format string, args ...any),
) (map[string]humans.Reviewer, error) {
	sp, err := space.New(def)
	if err != nil {
		return nil, problem.New(problem.Invalid, "%w", err)
	}
	env := humans.Environment{
		Folder:   folder,
		Prompter: prompter,
		Now:      clock.Now,
		Logf:     logf,
		Sample: func(n int, seed uint64) []definition.Point {
			points, err := sp.Sample(n, seed)
			if err != nil {
				return nil // the channel reports the missing list
			}
			return points
		},
	}
	reviewers := make(map[string]humans.Reviewer, len(def.Experts))
	for _, expert := range def.Experts {
		channel, ok := reg.Channel(expert.Channel.Name)
		if !ok {
			return nil, problem.New(problem.Invalid, "this campaignd has no channel %q to the "+
				"expert %s; it has %v",
				expert.Channel.Name, expert.Name, reg.ChannelNames())
		}
		reviewer, err := channel.Open(ctx, expert, def, env)
		if err != nil {
			return nil, problem.New(problem.Invalid, "%w", err)
		}
		reviewers[expert.Name] = reviewer
	}
	return reviewers, nil
}

// CloseReviewers closes the reviewers that hold resources, programs among them.
func CloseReviewers(reviewers map[string]humans.Reviewer) (err error) {
	for _, name := range slices.Sorted(maps.Keys(reviewers)) {
		if c, ok := reviewers[name].(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// Listed completes a definition from its instrument's list, if it measures nothing else. The
// instrument is opened for that alone, and closed again in any case.
func Listed(
	ctx context.Context, reg registry.Registry, def definition.Campaign,
	env instruments.Environment,
) (definition.Campaign, error) {
	driver, _ := reg.DriverOf(&def)
	if len(def.Procedure) > 0 || !driver.Listed {
		return def, nil
	}
	instrument, err := OpenInstrument(ctx, reg, def, env)
	if err != nil {
		return def, err
	}
	def, err = WithCandidates(ctx, def, instrument)
	return def, errors.Join(err, CloseInstrument(instrument))
}

// WithCandidates completes a definition with the compositions that an instrument lists as the only
// measurable ones. An existing list stays: it was recorded, and an instrument that now lists others
// does not change a campaign.
func WithCandidates(
	ctx context.Context,
	def definition.Campaign,
	i instruments.Instrument,
) (definition.Campaign, error) {
	list, ok := i.(instruments.Candidates)
	if !ok || def.Candidates != nil {
		return def, nil
	}
	points, err := list.Candidates(ctx)
	if err != nil {
		return def, &SilentError{fmt.Errorf("the instrument's list of compositions: %w", err)}
	}
	def.Candidates = points
	return def, nil
}
