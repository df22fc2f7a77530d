package drive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// device is a real instrument that says of its past what a test wants.
type device struct {
	bench
	description instruments.Description
	recall      func(instruments.Command) instruments.Fate
	start       func(instruments.Command) error
}

func newDevice(identity string) *device {
	return &device{bench: bench{acts: make(map[string]int)},
		description: instruments.Description{Name: "robot", Identity: identity, Capacity: 1}}
}

func (d *device) Describe(context.Context) (instruments.Description, error) {
	return d.description, nil
}

func (d *device) Recover(_ context.Context, cmd instruments.Command) (instruments.Fate, error) {
	if d.recall == nil {
		return instruments.FateUnknown, nil
	}
	return d.recall(cmd), nil
}

func (d *device) Start(ctx context.Context, cmd instruments.Command) error {
	if d.start != nil {
		if err := d.start(cmd); err != nil {
			return err
		}
	}
	return d.bench.Start(ctx, cmd)
}

// Law: no answer of a device about its past outweighs what the log has confirmed.
// What was once sent to something real is not sent again because it is denied,
// whether it had been confirmed or not and whichever device answers. A simulation
// may forget, as long as it is the one that was sent the command.
func TestDenied(t *testing.T) {
	def := electrolyte(t, 1, 4, unaided)
	log := memlog.New()
	r, _ := start(t, log, def, newDevice("serial 1"))
	must.Do(t, r.Run(t.Context()))
	all := history(t, log)
	simulation := newDevice("serial 1")
	simulation.description.Simulated = true
	log = memlog.New()
	if r, _ = start(t, log, def, simulation); r.Run(t.Context()) != nil {
		t.Fatal("the simulation did not end")
	}
	simulated := history(t, log)
	upTo := func(kind events.Kind, experiment string) []events.Event {
		return all[:find(t, all, kind, experiment, 0)+1]
	}
	dispatched, started := events.KindExperimentDispatched, events.KindExperimentStarted

	none := func(instruments.Command) instruments.Fate { return instruments.FateNotStarted }
	only := func(experiment string) func(instruments.Command) instruments.Fate {
		return func(cmd instruments.Command) instruments.Fate {
			if cmd.Experiment == experiment {
				return instruments.FateNotStarted
			}
			return instruments.FateFinished
		}
	}
	for name, c := range map[string]struct {
		history    []events.Event
		experiment string
		change     func(*device)
		recall     func(instruments.Command) instruments.Fate
		cause      string // of the unknown fate; empty: it is started
	}{
		"confirmed":                      {upTo(started, "e2"), "e2", nil, only("e2"), "had confirmed the command and now says that it never started it"},
		"confirmed, the first":           {upTo(started, "e1"), "e1", nil, none, "had confirmed the command"},
		"not confirmed":                  {upTo(dispatched, "e2"), "e2", nil, only("e2"), "had been sent, and the instrument says that it never started it"},
		"not confirmed, the first":       {upTo(dispatched, "e1"), "e1", nil, none, "had been sent"},
		"not confirmed, all memory lost": {upTo(dispatched, "e2"), "e2", nil, none, "had been sent"},
		"another device":                 {upTo(dispatched, "e2"), "e2", func(d *device) { d.description.Identity = "serial 2" }, only("e2"), "it was sent to robot (serial 1), and now there is robot (serial 2)"},
		"another program":                {upTo(started, "e2"), "e2", func(d *device) { d.description.Name = "mixer" }, only("e2"), "now there is mixer (serial 1)"},
		"it no longer says which":        {upTo(dispatched, "e2"), "e2", func(d *device) { d.description.Identity = "" }, only("e2"), "now there is robot"},
		"a simulation instead":           {upTo(dispatched, "e2"), "e2", func(d *device) { d.description.Name, d.description.Simulated = "simulated", true }, none, "now there is simulated"},
		"a simulation that forgets":      {simulated[:find(t, simulated, started, "e2", 0)+1], "e2", func(d *device) { d.description.Simulated = true }, none, ""},
		"another simulation":             {simulated[:find(t, simulated, started, "e2", 0)+1], "e2", func(d *device) { d.description.Name, d.description.Simulated = "twin", true }, none, "had confirmed the command"},
		"real, and now a simulation":     {upTo(started, "e2"), "e2", func(d *device) { d.description.Simulated = true }, none, "had confirmed the command"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDevice("serial 1")
			d.recall = c.recall
			if c.change != nil {
				c.change(d)
			}
			r, waiting := start(t, refill(t, c.history), def, d)
			ended := run(t, r)
			if c.cause == "" {
				must.Do(t, ended())
				if s := r.Core().State(); d.acts["electrolyte/"+c.experiment] != 1 || s.Count(campaign.Measured) != 4 {
					t.Errorf("it was performed %d times, and %d of 4 were measured", d.acts["electrolyte/"+c.experiment], s.Count(campaign.Measured))
				}
				return
			}
			until(t, waiting, "the fate of "+c.experiment)
			if len(d.acts) > 0 {
				t.Errorf("it was started again: %v", d.acts)
			}
			if x := r.Core().State().Experiment(c.experiment); !strings.Contains(x.Cause, c.cause) {
				t.Errorf("the cause is %q, want %q in it", x.Cause, c.cause)
			}
		})
	}
}

// keeper is a device that declares its ledger to be durable and complete. What is
// called off it hears of, and it may have something to say afterwards.
type keeper struct {
	*device
	declares bool
	cancel   func(instruments.Command) error
	off      []string
}

func (k *keeper) Keeps() bool { return k.declares }

func (k *keeper) Cancel(_ context.Context, cmd instruments.Command) error {
	if k.cancel != nil {
		if err := k.cancel(cmd); err != nil {
			return err
		}
	}
	k.off = append(k.off, cmd.ID)
	return nil
}

// Law: "not started" is believed of the device that was sent the command, where it declares that
// its ledger is durable and complete and the log has no confirmation, once it has answered that the
// command is off; another command then takes its place. In every other case a person looks, and
// whatever else is so the old command is never sent again.
func TestLedgerThatIsDurable(t *testing.T) {
	def := electrolyte(t, 1, 3, unaided)
	log := memlog.New()
	r, _ := start(t, log, def, newDevice("serial 1"))
	must.Do(t, r.Run(t.Context()))
	all := history(t, log)
	fates := func(before, after instruments.Fate) func(*keeper) {
		return func(k *keeper) {
			k.recall = func(cmd instruments.Command) instruments.Fate {
				switch {
				case cmd.Experiment != "e2":
					return instruments.FateFinished
				case len(k.off) > 0:
					return after
				}
				return before
			}
		}
	}
	signed := slices.Clone(all) // e2 was killed between its first sign of life and its confirmation
	at := find(t, all, events.KindExperimentStarted, `"e2"`, 0)
	sign := must.Get(events.New(def.Name, &events.InstrumentSignalled{
		Experiment: "e2", Command: "electrolyte/e2", Instrument: "robot", Sign: events.Sign{Handle: "run 7"},
	}))(t)
	sign.Actor, sign.Time, sign.Cause, sign.Trace = all[at].Actor, all[at].Time, all[at].Cause, all[at].Trace
	signed[at] = sign
	none, running, finished, unknown := instruments.FateNotStarted, instruments.FateRunning, instruments.FateFinished, instruments.FateUnknown
	for name, c := range map[string]struct {
		at     events.Kind // of e2, where campaignd was killed
		change []func(*keeper)
		cause  string // of the unknown fate
		again  bool   // another command takes its place; otherwise it has gone on by itself
	}{
		"it was not started":                {at: events.KindExperimentDispatched, again: true},
		"its ledger has the void":           {events.KindExperimentDispatched, []func(*keeper){fates(none, finished), void}, "", true},
		"an earlier life had called it off": {events.KindExperimentDispatched, []func(*keeper){fates(finished, finished), void, earlier}, "", true},
		"it had begun in that moment":       {events.KindExperimentDispatched, []func(*keeper){fates(none, running)}, "", false},
		"it had ended in that moment":       {events.KindExperimentDispatched, []func(*keeper){fates(none, finished)}, "", false},
		"it had begun, and cannot stop":     {events.KindExperimentDispatched, []func(*keeper){fates(none, running), toCancel(instruments.ErrUnstoppable)}, "", false},
		"it does not answer that it is off": {events.KindExperimentDispatched, []func(*keeper){toCancel(errors.New("no line"))},
			"could not be called off: no line", false},
		"nobody knows after all": {events.KindExperimentDispatched, []func(*keeper){fates(none, unknown)}, "does not know what became", false},
		"it had confirmed it":    {at: events.KindExperimentStarted, cause: "had confirmed the command"},
		"it had given a sign":    {at: events.KindInstrumentSignalled, cause: "had confirmed the command"},
		"it had confirmed it, and has forgotten what it did": {events.KindExperimentStarted, []func(*keeper){
			fates(finished, finished), void, earlier, func(k *keeper) { k.declares = false },
		}, "was called off and never took place", false},
		"it declares nothing": {events.KindExperimentDispatched, []func(*keeper){func(k *keeper) { k.declares = false }}, "cannot prove", false},
		"it is another one": {events.KindExperimentDispatched, []func(*keeper){func(k *keeper) { k.description.Identity = "serial 2" }},
			"it was sent to robot (serial 1)", false},
		"it does not say which it is": {events.KindExperimentDispatched, []func(*keeper){func(k *keeper) { k.description.Identity = "" }}, "cannot prove", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keeper{device: newDevice("serial 1"), declares: true}
			fates(none, none)(k)
			for _, change := range c.change {
				change(k)
			}
			recorded := all
			if c.at == events.KindInstrumentSignalled {
				recorded = signed
			}
			log := refill(t, recorded[:find(t, recorded, c.at, `"e2"`, 0)+1])
			r, waiting := start(t, log, def, k)
			ended := run(t, r)
			if c.cause != "" {
				until(t, waiting, "the fate of e2")
			} else if err := ended(); err != nil {
				t.Fatal(err)
			}
			s := r.Core().State()
			x := s.Experiment("e2")
			if n := k.acts["electrolyte/e2"]; n != 0 {
				t.Errorf("the command was sent again %d times", n)
			}
			switch {
			case c.cause != "":
				if x.Status != campaign.Unresolved || !strings.Contains(x.Cause, c.cause) {
					t.Errorf("e2 is %s, %q; want %q", x.Status, x.Cause, c.cause)
				}
			case c.again:
				if x.Status != campaign.Deferred || !slices.Equal(k.off, []string{"electrolyte/e2"}) || k.acts["electrolyte/e3"] != 1 {
					t.Errorf("e2 is %s, %q; called off: %v; acts: %v", x.Status, x.Cause, k.off, k.acts)
				}
			case x.Status != campaign.Measured:
				t.Errorf("e2 is %s, %q", x.Status, x.Cause)
			}
			if c.cause == "" && s.Count(campaign.Measured) != 3 {
				t.Errorf("%d of 3 were measured", s.Count(campaign.Measured))
			}
			if report := audit(t, history(t, log)); len(report.Mismatches) > 0 {
				t.Errorf("audit: %+v", report.Mismatches)
			}
		})
	}
	t.Run("within one life", func(t *testing.T) {
		t.Parallel()
		k := &keeper{device: newDevice("serial 1"), declares: true}
		fates(none, none)(k)
		k.start = func(cmd instruments.Command) error {
			if cmd.Experiment == "e2" {
				return errors.New("the program was killed")
			}
			return nil
		}
		log := memlog.New()
		r, _ := start(t, log, def, k)
		must.Do(t, r.Run(t.Context()))
		if s := r.Core().State(); s.Experiment("e2").Status != campaign.Deferred || k.acts["electrolyte/e3"] != 1 || s.Count(campaign.Measured) != 3 {
			t.Errorf("e2 is %+v; acts: %v", s.Experiment("e2"), k.acts)
		}
		if report := audit(t, history(t, log)); len(report.Mismatches) > 0 {
			t.Errorf("audit: %+v", report.Mismatches)
		}
	})
}

// toCancel has a keeper answer so that a command is off.
func toCancel(err error) func(*keeper) {
	return func(k *keeper) {
		k.cancel = func(cmd instruments.Command) error {
			if errors.Is(err, instruments.ErrUnstoppable) {
				k.off = append(k.off, cmd.ID)
			}
			return err
		}
	}
}

// earlier has a keeper know already that e2 is off: campaignd was killed before the log knew.
func earlier(k *keeper) { k.off = append(k.off, "electrolyte/e2") }

// void has the outcome of what a keeper was told to call off say so.
func void(k *keeper) {
	k.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		if slices.Contains(k.off, cmd.ID) {
			return instruments.Outcome{Status: instruments.Cancelled, Cause: "called off"}, nil
		}
		return measured(12), nil
	}
}

// Law: the same holds within one life. A start whose confirmation was lost is not
// repeated because the instrument denies it; nor is one that was confirmed.
func TestDeniedInOneLife(t *testing.T) {
	lost := errors.New("the line went dead")
	for name, c := range map[string]struct {
		change func(*device)
		cause  string
	}{
		"a lost confirmation, and no memory": {func(d *device) {
			d.recall = func(instruments.Command) instruments.Fate { return instruments.FateNotStarted }
			d.start = func(cmd instruments.Command) error {
				if cmd.Experiment == "e2" {
					d.acts[cmd.ID]++ // it acts, and nobody hears of it
					return lost
				}
				return nil
			}
		}, "the start was not confirmed (the line went dead) and the command had been sent"},
		"confirmed, then denied": {func(d *device) {
			d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
				if cmd.Experiment == "e2" {
					return instruments.Outcome{}, fmt.Errorf("%w: %s", instruments.ErrNotStarted, cmd.ID)
				}
				return measured(12), nil
			}
		}, "had confirmed the command and now denies it"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDevice("serial 1")
			c.change(d)
			r, waiting := start(t, memlog.New(), electrolyte(t, 1, 4, unaided), d)
			run(t, r)
			until(t, waiting, "the fate of e2")
			if n := d.acts["electrolyte/e2"]; n != 1 {
				t.Errorf("e2 was performed %d times", n)
			}
			if x := r.Core().State().Experiment("e2"); !strings.Contains(x.Cause, c.cause) {
				t.Errorf("the cause is %q, want %q in it", x.Cause, c.cause)
			}
		})
	}
}

// Law: what another device than the one that was sent the command measures is a
// fact, and the log says that it is another device, once.
func TestReplacementIsNoticed(t *testing.T) {
	def := electrolyte(t, 1, 4, unaided)
	log := memlog.New()
	r, _ := start(t, log, def, newDevice("serial 1"))
	must.Do(t, r.Run(t.Context()))
	all := history(t, log)
	for name, kind := range map[string]events.Kind{"under way": events.KindExperimentStarted, "between experiments": events.KindExperimentMeasured} {
		t.Run(name, func(t *testing.T) {
			log := refill(t, upTo(t, all, kind))
			d := newDevice("serial 2")
			d.recall = func(instruments.Command) instruments.Fate { return instruments.FateFinished }
			r, _ := start(t, log, def, d)
			must.Do(t, r.Run(t.Context()))
			s := r.Core().State()
			if s.Count(campaign.Measured) != 4 {
				t.Errorf("%d of 4 were measured", s.Count(campaign.Measured))
			}
			notes := slices.DeleteFunc(slices.Clone(s.Notes), func(n campaign.Note) bool {
				return n.About != "e1" || !strings.Contains(n.Text, "it was sent to robot (serial 1), and now there is robot (serial 2)")
			})
			if len(notes) != 1 {
				t.Errorf("the notes are %+v", s.Notes)
			}
			if report := audit(t, history(t, log)); len(report.Mismatches) > 0 {
				t.Errorf("audit: %+v", report.Mismatches)
			}
		})
	}
}

// Law: an instrument is another one where it says so itself: one of which it is not known
// which it was is not. Of several that came one after the other, a restart remarks on the
// last two alone.
func TestWhatIsAReplacement(t *testing.T) {
	def := electrolyte(t, 1, 5, unaided)
	for name, c := range map[string]struct {
		devices []string // which each life of the program works with, for one experiment
		said    []string
	}{
		"the same":                    {devices: []string{"serial 1", "serial 1"}},
		"it did not say which it was": {devices: []string{"", "serial 1"}},
		"it never says":               {devices: []string{"", ""}},
		"a third": {
			devices: []string{"serial 1", "serial 2", "serial 3"},
			said: []string{
				"e1: the instrument has been replaced: it was sent to robot (serial 1), and now there is robot (serial 2)",
				"e2: the instrument has been replaced: it was sent to robot (serial 2), and now there is robot (serial 3)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var past []events.Event
			var notes []string
			for life, identity := range c.devices {
				log := memlog.New()
				if past != nil {
					log = refill(t, past)
				}
				r, _ := start(t, log, def, newDevice(identity))
				must.Do(t, r.Run(t.Context()))
				sound(t, log)
				notes = nil
				for _, n := range r.Core().State().Notes {
					notes = append(notes, n.About+": "+n.Text)
				}
				past = history(t, log)
				measured := find(t, past, events.KindExperimentMeasured, fmt.Sprintf(`"e%d"`, life+1), 0)
				past = past[:measured+1]
			}
			if !slices.Equal(notes, c.said) {
				t.Errorf("the notes are %q, want %q", notes, c.said)
			}
		})
	}
}

// Law: silence counts while somebody listens. A campaign that no process ran for longer than an
// instrument may be silent asks it what became of its commands, before it gives them up.
func TestAskedBeforeGivenUp(t *testing.T) {
	def := electrolyte(t, 4, 5, unaided)
	log, _ := simulate(t, def)
	all := history(t, log)
	_, giveUp := def.Instrument.Silence()
	cut := slices.IndexFunc(all, func(e events.Event) bool { return e.Kind == events.KindExperimentDispatched })
	log = refill(t, all[:cut+1])
	later := all[cut].Time.Add(2 * giveUp)
	instrument := must.Get(simulated.Driver.Open(t.Context(), def, instruments.Environment{}))(t)
	r := &drive.Runner{
		Registry: builtin.Registry(), Log: log, Campaign: def.Name, Instrument: instrument, Eager: true,
		Now: func() time.Time { later = later.Add(time.Second); return later },
	}
	must.Do(t, r.Start(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Do(t, r.Run(ctx))
	for _, e := range history(t, log) {
		if e.Kind == events.KindExperimentUnresolved || e.Kind == events.KindInstrumentStalled {
			t.Errorf("%s: %s", e.Kind, e.Data)
		}
	}
	if s := r.Core().State(); s.Status != campaign.Completed {
		t.Errorf("the campaign is %s", s.Status)
	}
}
