package drive_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
)

// later declares a capacity that comes after its experiment has ended, within three days.
func later(def *definition.Campaign) {
	def.Quantities = append(def.Quantities, definition.QuantityDef{
		Name: "capacity", Unit: "mAh", Arrives: definition.ArrivesLater, AnswerWithin: definition.Duration(72 * time.Hour),
	})
}

// awaited writes what a campaign awaits: "capacity of e1".
func awaited(core *engine.Core) string {
	var texts []string
	for _, a := range core.State().AllAwaited() {
		texts = append(texts, a.Quantity+" of "+a.Experiment)
	}
	return strings.Join(texts, ", ")
}

// Law: what arrives later counts from when it is given, in its own model alone; given again, in
// another unit, of what there is not or of what has no result, it is refused with what can be done
// instead. What a person says to be missing, leaves out or corrects is as they say. The log
// replays to the same, and its audit is clean.
func TestPeopleTellWhatArrivesLater(t *testing.T) {
	def := electrolyte(t, 4, 20, unaided, later, func(def *definition.Campaign) {
		def.Policy.Next = next.Sobol{}.Choice()
		def.Initial.Experiments = ptr(0)
		def.Quantities = append(def.Quantities, definition.QuantityDef{Name: "viscosity", Unit: "mPa·s"})
		def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	})
	log, core, ask := asked(t, def)
	tell := func(r engine.Tell) error { return ask(engine.Request{Tell: &r}) }
	capacity := func(id string, value float64) engine.Tell {
		return engine.Tell{Experiment: id, Quantities: []definition.Quantity{valueOf("capacity", value)}}
	}
	refused := func(why string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("it is not refused for %q: %v", why, err)
		}
	}
	is := func(waiting string, want ...string) {
		t.Helper()
		if got := learned(core); got != strings.Join(want, "\n") {
			t.Errorf("the models learn from\n%s\nand should from\n%s", got, strings.Join(want, "\n"))
		}
		if got := awaited(core); got != waiting {
			t.Errorf("it awaits %q, and should %q", got, waiting)
		}
		coherent(t, log, core)
	}

	viscosity := []definition.Quantity{valueOf("viscosity", 3)}
	must.Do(t, tell(engine.Tell{Parameters: at(1, 0.35, 0.5), Value: ptr(9.0), Quantities: viscosity}))
	must.Do(t, tell(engine.Tell{Parameters: at(1.2, 0.4, 0.8), Value: ptr(8.0)}))
	must.Do(t, tell(engine.Tell{Parameters: at(0.5, 0.5, 0.2), Failed: "it froze"}))
	must.Do(t, tell(engine.Tell{Parameters: at(0.6, 0.5, 0.3), Value: ptr(7.0), Quantities: append(viscosity, valueOf("capacity", 140))}))
	must.Do(t, tell(engine.Tell{Parameters: at(0.7, 0.4, 0.3), Missing: []events.Missing{{Name: "conductivity", Reason: "the probe broke"}}}))
	is("capacity of e1, capacity of e2, capacity of e5",
		"objective: e1 9, e2 8, e4 7", "quantity capacity: e4 140", "quantity viscosity: e1 3, e4 3")

	must.Do(t, tell(capacity("e1", 150)))
	is("capacity of e2, capacity of e5",
		"objective: e1 9, e2 8, e4 7", "quantity capacity: e1 150, e4 140", "quantity viscosity: e1 3, e4 3")
	refused("capacity of e1 is there already: 150 mAh", tell(capacity("e1", 151)))
	refused("no experiment e9", tell(capacity("e9", 1)))
	refused("e3 is failed already", tell(capacity("e3", 1)))
	refused("capacity is in Ah, the campaign's in mAh", tell(engine.Tell{Experiment: "e2",
		Quantities: []definition.Quantity{{Name: "capacity", Value: 0.15, Unit: "Ah"}}}))
	refused(`declares no quantity "colour"`, tell(engine.Tell{Experiment: "e2", Quantities: []definition.Quantity{valueOf("colour", 1)}}))
	refused("given twice", tell(engine.Tell{Experiment: "e2", Quantities: []definition.Quantity{valueOf("capacity", 1), valueOf("capacity", 2)}}))
	refused("does not say why capacity", tell(engine.Tell{Experiment: "e2", Missing: []events.Missing{{Name: "capacity"}}}))
	refused("conductivity of e2 is there already", tell(engine.Tell{Experiment: "e2", Value: ptr(8.1)}))

	// Two at once, of which one was not to come later; then it was lost, and came after all.
	must.Do(t, tell(engine.Tell{Experiment: "e2", Quantities: viscosity, Notes: []string{"measured on Monday"},
		Missing: []events.Missing{{Name: "capacity", Reason: "the cell was lost"}}}))
	is("capacity of e5", "objective: e1 9, e2 8, e4 7", "quantity capacity: e1 150, e4 140", "quantity viscosity: e1 3, e2 3, e4 3")
	must.Do(t, tell(capacity("e2", 145)))
	must.Do(t, ask(engine.Request{Correct: &engine.Correct{Experiment: "e1", Quantities: []definition.Quantity{valueOf("capacity", 151)}, Reason: "a digit"}}))
	must.Do(t, ask(engine.Request{Correct: &engine.Correct{Experiment: "e5", Exclude: true, Reason: "contaminated"}}))
	is("", "objective: e1 9, e2 8, e4 7", "quantity capacity: e1 151, e2 145, e4 140", "quantity viscosity: e1 3, e2 3, e4 3")
	must.Do(t, tell(capacity("e5", 120))) // and is left out, like the experiment
	is("", "objective: e1 9, e2 8, e4 7", "quantity capacity: e1 151, e2 145, e4 140", "quantity viscosity: e1 3, e2 3, e4 3")
	must.Do(t, ask(engine.Request{Correct: &engine.Correct{Experiment: "e5", Reason: "it was not"}}))
	is("", "objective: e1 9, e2 8, e4 7", "quantity capacity: e1 151, e2 145, e4 140, e5 120", "quantity viscosity: e1 3, e2 3, e4 3")

	// A failure that was none awaits it, as it would have.
	must.Do(t, ask(engine.Request{Correct: &engine.Correct{Experiment: "e3", Value: ptr(5.0), Reason: "it thawed"}}))
	is("capacity of e3", "objective: e1 9, e2 8, e3 5, e4 7", "quantity capacity: e1 151, e2 145, e4 140, e5 120", "quantity viscosity: e1 3, e2 3, e4 3")
	// Nothing is awaited of what is taken over from before.
	must.Do(t, ask(engine.Request{Import: []engine.Tell{{Parameters: at(0.8, 0.3, 0.3), Value: ptr(6.0)}}}))
	must.Do(t, ask(engine.Request{Stop: &events.CampaignStopped{Reason: "enough"}}))
	must.Do(t, tell(capacity("e3", 100)))
	is("", "objective: e1 9, e2 8, e3 5, e4 7, e6 6", "quantity capacity: e1 151, e2 145, e3 100, e4 140, e5 120", "quantity viscosity: e1 3, e2 3, e4 3")
}

// Law: an experiment that awaits a quantity has neither a place at the instrument nor one among
// those under way. A campaign whose budget is spent awaits what its experiments are still to give,
// and ends when it is there, or when its time is over; what comes after that counts all the same.
func TestCampaignAwaitsWhatArrivesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		def := electrolyte(t, 1, 3, unaided, later, func(def *definition.Campaign) { def.Parallel = 1 })
		log := memlog.New()
		r, waiting := start(t, log, def, &bench{acts: make(map[string]int)})
		r.Now, r.Eager = time.Now, false
		ended := run(t, r)
		until(t, waiting, "capacity of e1 and 2 more")
		if n := r.Core().State().Count("measured"); n != 3 {
			t.Fatalf("%d experiments are measured", n)
		}
		sound(t, log)
		tell := func(id string, value float64) {
			t.Helper()
			_, err := r.Submit(t.Context(), engine.Request{Actor: "person:eve", Tell: &engine.Tell{Experiment: id,
				Quantities: []definition.Quantity{valueOf("capacity", value)}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(24 * time.Hour)
		tell("e2", 150)
		until(t, waiting, "capacity of e1 and 1 more")
		time.Sleep(48 * time.Hour)
		must.Do(t, ended())
		s := r.Core().State()
		if s.Reason != events.CompletedBudget || s.EndedAt.Sub(s.DefinedAt) < 72*time.Hour {
			t.Errorf("it ended for %q, after %s", s.Reason, s.EndedAt.Sub(s.DefinedAt))
		}
		missing := events.Missing{Name: "capacity", Reason: "it did not arrive within 3d"}
		for _, id := range []string{"e1", "e3"} {
			if m := s.Experiment(id).Measurement.Missing; !slices.Equal(m, []events.Missing{missing}) {
				t.Errorf("of %s is missing %v", id, m)
			}
		}
		sound(t, log)
		core := r.Core()
		_, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:eve", Tell: &engine.Tell{Experiment: "e3",
			Quantities: []definition.Quantity{valueOf("capacity", 140)}}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := learned(core); !strings.HasSuffix(got, "quantity capacity: e2 150, e3 140") {
			t.Errorf("the models learn from\n%s", got)
		}
		sound(t, log)
	})
}

// Law: where all that is learned arrives later, an experiment has ended when a person, or an
// instrument, says so, and the policy expects what it will give: it asks for another composition.
func TestAllArrivesLater(t *testing.T) {
	def := electrolyte(t, 4, 20, unaided, func(def *definition.Campaign) {
		def.Initial.Experiments = ptr(0)
		def.Quantities = []definition.QuantityDef{
			{Name: "conductivity", Unit: "mS/cm", Arrives: definition.ArrivesLater}, {Name: "colour", Record: true},
		}
		def.Objective = definition.Objective{Name: "conductivity", Goal: definition.Maximize}
		def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	})
	log, core, ask := asked(t, def)
	tell := func(r engine.Tell) {
		t.Helper()
		must.Do(t, ask(engine.Request{Tell: &r}))
	}
	for i, value := range []float64{9, 8, 7.5, 10} {
		tell(engine.Tell{Parameters: at(0.6+0.2*float64(i), 0.3, 0.5), Later: true})
		tell(engine.Tell{Experiment: events.ExperimentID(i + 1), Value: ptr(value)})
	}
	tell(engine.Tell{Parameters: at(1.6, 0.5, 0.8), Later: true})
	if err := ask(engine.Request{Tell: &engine.Tell{Parameters: at(1, 0.2, 0.2), Missing: []events.Missing{{Name: "conductivity", Reason: "broken"}}}}); err == nil {
		t.Error("nothing is learned from it, and it is measured")
	}
	// What is taken over from before awaits nothing, unless it says so.
	for _, row := range []engine.Tell{
		{Parameters: at(0.3, 0.3, 0.3), Value: ptr(3.0)}, {Parameters: at(0.3, 0.3, 0.4), Later: true},
	} {
		must.Do(t, ask(engine.Request{Import: []engine.Tell{row}}))
	}
	if got := awaited(core); got != "conductivity of e5, conductivity of e7" {
		t.Errorf("it awaits %q", got)
	}
	coherent(t, log, core)
}

// cycler is an instrument that gives a capacity after its experiments have ended.
type cycler struct {
	*bench
	deliver func(cmd instruments.Command, asked int) (instruments.Delivery, error)
	asked   map[string]int
}

func (c *cycler) Deliver(ctx context.Context, cmd instruments.Command, quantities []string) (instruments.Delivery, error) {
	c.mu.Lock()
	c.asked[cmd.Experiment]++
	n := c.asked[cmd.Experiment]
	c.mu.Unlock()
	select {
	case <-time.After(24 * time.Hour):
	case <-ctx.Done():
		return instruments.Delivery{}, ctx.Err()
	}
	return c.deliver(cmd, n)
}

// Law: an instrument is asked for what arrives later until it delivers it, and again by the next
// process; what it delivers counts as a measurement does: in another unit or out of range it is
// missing and kept, and what comes twice is kept as a note. It is asked for nothing that is there.
func TestInstrumentDeliversLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		def := electrolyte(t, 1, 5, unaided, later)
		capacity := func(value float64, unit string) instruments.Delivery {
			return instruments.Delivery{Quantities: []definition.Quantity{{Name: "capacity", Value: value, Unit: unit}}}
		}
		device := &cycler{bench: &bench{acts: make(map[string]int)}, asked: make(map[string]int)}
		device.deliver = func(cmd instruments.Command, n int) (instruments.Delivery, error) {
			switch cmd.Experiment {
			case "e2":
				return capacity(0.15, "Ah"), nil
			case "e3":
				d := capacity(150, "mAh")
				d.Quantities = append(d.Quantities, definition.Quantity{Name: "capacity", Value: 151, Unit: "mAh"})
				return d, nil
			case "e4":
				return instruments.Delivery{Missing: []events.Missing{{Name: "capacity", Reason: "a short circuit"}}}, nil
			case "e5":
				return instruments.Delivery{}, context.DeadlineExceeded
			}
			return capacity(140, "mAh"), nil
		}
		log := memlog.New()
		r, waiting := start(t, log, def, device)
		r.Now, r.Eager = time.Now, false
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		until(t, waiting, "capacity of e1 and 4 more")
		time.Sleep(time.Hour)
		stop()
		<-ended

		r, waiting = start(t, log, def, device) // another process
		r.Now, r.Eager = time.Now, false
		done := run(t, r)
		time.Sleep(25 * time.Hour)
		until(t, waiting, "capacity of e5")
		sound(t, log)
		time.Sleep(72 * time.Hour)
		must.Do(t, done())
		core := r.Core()
		if got := learned(core); !strings.HasSuffix(got, "quantity capacity: e1 140, e3 150") {
			t.Errorf("the models learn from\n%s", got)
		}
		for id, reason := range map[string]string{
			"e2": "capacity is in Ah, the campaign's in mAh", "e4": "a short circuit", "e5": "it did not arrive within 3d",
		} {
			if m := core.State().Experiment(id).Measurement.Missing; len(m) != 1 || m[0].Reason != reason {
				t.Errorf("of %s is missing %v", id, m)
			}
		}
		if u := core.State().Experiment("e2").Measurement.Unread; len(u) != 1 || !strings.Contains(u[0].Text, "0.15") {
			t.Errorf("what cannot be used is kept as %v", u)
		}
		notes := core.State().Notes
		if len(notes) != 1 || notes[0].About != "e3" || !strings.Contains(notes[0].Text, "e3 has to be corrected: capacity = 151 mAh") {
			t.Errorf("the notes are %v", notes)
		}
		for id, n := range device.asked {
			if id != "e5" && n != 2 {
				t.Errorf("of %s it was asked %d times", id, n)
			}
		}
		coherent(t, log, core)
	})
}

// talker is a cycler that says what it was not asked for.
type talker struct {
	*cycler
	says map[string]chan instruments.Delivery // by experiment
}

func (c *talker) Unasked(ctx context.Context, cmd instruments.Command) (instruments.Delivery, error) {
	select {
	case d := <-c.says[cmd.Experiment]:
		return d, nil
	case <-ctx.Done():
		return instruments.Delivery{}, ctx.Err()
	}
}

// Law: what an instrument says of an experiment of which nothing is awaited any more becomes a remark on it, said by this
// process or by the one before, and once however often it is said; so does what it says apart from what is awaited.
func TestSecondValueIsARemark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		def := electrolyte(t, 1, 3, unaided, later)
		value := func(name string, value float64, unit string) instruments.Delivery {
			return instruments.Delivery{Quantities: []definition.Quantity{{Name: name, Value: value, Unit: unit}}}
		}
		device := &talker{cycler: &cycler{bench: &bench{acts: make(map[string]int)}, asked: make(map[string]int)},
			says: map[string]chan instruments.Delivery{"e1": make(chan instruments.Delivery), "e2": make(chan instruments.Delivery)}}
		device.deliver = func(cmd instruments.Command, n int) (instruments.Delivery, error) {
			if cmd.Experiment == "e3" {
				return value("conductivity", 1, "mS/cm"), nil // which nothing awaits
			}
			return value("capacity", 140, "mAh"), nil
		}
		log := memlog.New()
		r, waiting := start(t, log, def, device)
		r.Now, r.Eager = time.Now, false
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		until(t, waiting, "capacity of e1 and 2 more")
		time.Sleep(25 * time.Hour)
		device.says["e1"] <- value("capacity", 999, "mAh")
		device.says["e1"] <- value("capacity", 999, "mAh")
		device.says["e1"] <- value("capacity", 140, "mAh") // what it is
		time.Sleep(time.Hour)
		stop()
		<-ended
		r, _ = start(t, log, def, device) // another process
		r.Now, r.Eager = time.Now, false
		done := run(t, r)
		time.Sleep(time.Hour)
		device.says["e2"] <- value("capacity", 7, "mAh")
		time.Sleep(72 * time.Hour)
		must.Do(t, done())
		var notes []string
		for _, n := range r.Core().State().Notes {
			notes = append(notes, n.About+n.Text[strings.LastIndex(n.Text, ":"):])
		}
		slices.Sort(notes)
		if want := []string{"e1: capacity = 999 mAh", "e2: capacity = 7 mAh", "e3: conductivity = 1 mS/cm"}; !slices.Equal(notes, want) {
			t.Errorf("the remarks are %q", notes)
		}
		sound(t, log)
	})
}

// awaiting is a campaign of cells whose capacities arrive later: delivered, in another unit, said to
// be missing, and not in time; one comes after the end, and a person gives it.
func awaiting(t *testing.T) (all []events.Event) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		device := &cycler{bench: &bench{acts: make(map[string]int)}, asked: make(map[string]int)}
		device.deliver = func(cmd instruments.Command, n int) (instruments.Delivery, error) {
			sd := 0.5
			d := instruments.Delivery{Quantities: []definition.Quantity{{Name: "capacity", Value: 140, Unit: "mAh", SD: &sd}}}
			switch cmd.Experiment {
			case "e2":
				d.Quantities[0].Unit = "Ah"
			case "e3":
				return instruments.Delivery{Missing: []events.Missing{{Name: "capacity", Reason: "a short circuit"}}}, nil
			case "e4":
				return instruments.Delivery{}, context.DeadlineExceeded
			}
			return d, nil
		}
		log := memlog.New()
		def := electrolyte(t, 1, 5, unaided, later)
		def.Quantities[0].Min, def.Quantities[0].Max = ptr(1.0), ptr(1000.0)
		r, waiting := start(t, log, def, device)
		r.Now, r.Eager = time.Now, false
		done := run(t, r)
		until(t, waiting, "capacity of e1 and 4 more")
		time.Sleep(73 * time.Hour)
		must.Do(t, done())
		_, err := engine.Submit(t.Context(), log, r.Core(), engine.Request{Actor: "person:eve", Tell: &engine.Tell{Experiment: "e4",
			Notes: []string{"it was in the other channel"}, Quantities: []definition.Quantity{valueOf("capacity", 120)}}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		r, _ = start(t, log, def, device) // it enters the model that states the result
		must.Do(t, r.Run(t.Context()))
		all = history(t, log)
	})
	return all
}

// Law: while what is sought, or a part of it, is still to arrive of an experiment, the next one is
// chosen as if that experiment were under way, bit for bit; a quantity that is not sought changes
// nothing of the sort.
func TestAwaitedCountsAsUnderWay(t *testing.T) {
	for name, late := range map[string]string{"what is sought": "conductivity", "a part of it": "viscosity", "neither": "colour"} {
		t.Run(name, func(t *testing.T) {
			def := electrolyte(t, 4, 20, unaided, func(def *definition.Campaign) {
				def.Initial.Experiments = ptr(0)
				def.Quantities = []definition.QuantityDef{{Name: "conductivity", Unit: "mS/cm"}, {Name: "viscosity", Unit: "mPa·s"}, {Name: "colour", Record: true}}
				def.Objective = definition.Objective{Name: "conductivity", Goal: definition.Maximize}
				if late == "viscosity" {
					def.Objective = definition.Objective{Formula: "conductivity / viscosity", Goal: definition.Maximize}
				}
				def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
				*def = campaignfile.Complete(builtin.Registry(), *def)
				for i := range def.Quantities {
					if def.Quantities[i].Name == late {
						def.Quantities[i].Arrives = definition.ArrivesLater
					}
				}
			})
			decided := func(last func(log *memlog.Log, core *engine.Core, ask func(engine.Request) error)) events.Candidate {
				t.Helper()
				log, core, ask := asked(t, def)
				for i, value := range []float64{9, 8, 7.5, 10} {
					err := ask(engine.Request{Tell: &engine.Tell{Parameters: at(0.6+0.2*float64(i), 0.3, 0.5),
						Quantities: []definition.Quantity{valueOf("conductivity", value), valueOf("viscosity", 2+float64(i%2)), valueOf("colour", 1)}}})
					if err != nil {
						t.Fatal(err)
					}
				}
				last(log, core, ask)
				read := must.Get(core.Read(t.Context()))(t)
				view := must.Get(read.View(t.Context()))(t)
				policy := must.Get(builtin.Registry().Methods.New(def))(t)
				d, err := policy.Decide(t.Context(), view, 7)
				if err != nil || d.Candidate() == nil {
					t.Fatalf("%+v, %v", d, err)
				}
				return *d.Candidate()
			}
			last := at(1.25, 0.35, 0.6)
			awaiting := decided(func(_ *memlog.Log, _ *engine.Core, ask func(engine.Request) error) {
				all := []definition.Quantity{valueOf("conductivity", 9.5), valueOf("viscosity", 2.5), valueOf("colour", 1)}
				all = slices.DeleteFunc(all, func(q definition.Quantity) bool { return q.Name == late })
				must.Do(t, ask(engine.Request{Tell: &engine.Tell{Parameters: last, Quantities: all}}))
			})
			open := decided(func(log *memlog.Log, core *engine.Core, _ func(engine.Request) error) {
				e, err := events.New(def.Name, &events.ExperimentRequested{Experiment: "e5", Parameters: last, Origin: events.OriginPerson, Replicate: 1})
				if err != nil {
					t.Fatal(err)
				}
				e.Actor, e.Time = "person:eve", time.Unix(200, 0).UTC()
				stored, err := log.Append(t.Context(), def.Name, core.State().Sequence, e)
				if err == nil {
					err = core.Apply(stored[0])
				}
				if err != nil {
					t.Fatal(err)
				}
			})
			whole := decided(func(_ *memlog.Log, _ *engine.Core, ask func(engine.Request) error) {
				all := []definition.Quantity{valueOf("conductivity", 9.5), valueOf("viscosity", 2.5), valueOf("colour", 1)}
				must.Do(t, ask(engine.Request{Tell: &engine.Tell{Parameters: last, Quantities: all}}))
			})
			if late == "colour" && !reflect.DeepEqual(awaiting, whole) {
				t.Errorf("without the colour %+v is chosen, with it %+v", awaiting, whole)
			}
			same := reflect.DeepEqual(awaiting.Parameters, open.Parameters)
			if late == "conductivity" && !same {
				t.Errorf("awaiting it, %v is chosen; under way, %v", awaiting.Parameters, open.Parameters)
			}
			if late == "colour" && same {
				t.Errorf("it has its value, and is taken for under way: %v", open.Parameters)
			}
			key := func(p definition.Point) string { return fmt.Sprintf("%.3v", p) }
			if late != "colour" && key(awaiting.Parameters) == key(last) {
				t.Errorf("what is awaited is asked for again: %v", last)
			}
		})
	}
}

// Law: an instrument is asked again for what a delivery leaves out.
func TestDeliveredOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		def := electrolyte(t, 1, 1, unaided, later, func(def *definition.Campaign) {
			def.Initial.Experiments = ptr(1)
			def.Quantities = append(def.Quantities, definition.QuantityDef{Name: "swelling", Record: true, Arrives: definition.ArrivesLater})
		})
		device := &cycler{bench: &bench{acts: make(map[string]int)}, asked: make(map[string]int)}
		device.deliver = func(_ instruments.Command, n int) (instruments.Delivery, error) {
			q := []definition.Quantity{{Name: "capacity", Value: 150, Unit: "mAh"}, {Name: "swelling", Value: 0.1}}
			return instruments.Delivery{Quantities: q[n-1 : n]}, nil
		}
		log := memlog.New()
		r, waiting := start(t, log, def, device)
		r.Now, r.Eager = time.Now, false
		done := run(t, r)
		until(t, waiting, "capacity of e1 and 1 more")
		time.Sleep(49 * time.Hour)
		must.Do(t, done())
		if m := r.Core().State().Experiment("e1").Measurement; len(m.Quantities) != 3 || device.asked["e1"] != 2 {
			t.Errorf("asked %d times, it has %v", device.asked["e1"], m.Quantities)
		}
		sound(t, log)
	})
}
