package drive_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// workshop says which instruments of a lab are in service, to one process of it. What another process has
// just recorded it tells only those who ask for it.
type workshop struct {
	mu      sync.Mutex
	said    map[string]engine.Service
	unheard map[string]engine.Service // recorded by another process
	asked   int
	changed chan struct{}
}

func newWorkshop() *workshop {
	return &workshop{said: make(map[string]engine.Service), changed: make(chan struct{})}
}

func (w *workshop) Serviced(_ string, fresh bool) (map[string]engine.Service, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if fresh && w.unheard != nil {
		w.said, w.unheard = w.unheard, nil
	}
	return w.said, w.changed
}

// say records a word on an instrument, by the campaign's name for it.
func (w *workshop) say(name string, s engine.Service) {
	s.Resource, s.At, s.By = "spectrometer", study.Epoch, "person:ada"
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]engine.Service{name: s}
	for other, of := range w.said {
		if other != name {
			all[other] = of
		}
	}
	w.said = all
	close(w.changed)
	w.changed = make(chan struct{})
}

func out() engine.Service {
	return engine.Service{ResourceServiced: events.ResourceServiced{Out: true, Reason: "lamp exchanged"}}
}

func calibratedFor(d time.Duration) engine.Service {
	return engine.Service{ResourceServiced: events.ResourceServiced{CalibratedUntil: study.Epoch.Add(d)}}
}

// counting counts the commands that an instrument is sent.
func counting(robot *teller) (sent func() int) {
	var all []string
	begin := robot.start
	robot.start = func(cmd instruments.Command) error {
		all = append(all, cmd.ID)
		return begin(cmd)
	}
	return func() int { return len(all) }
}

// Law: an instrument that is taken out of service while it is at work ends that, and is given nothing more: the
// campaign says who took it out, uses no number up however long that lasts, and goes on by itself when a person
// says that it is back. A calibration that expires does the same at that moment and needs no one to say so.
func TestWithheld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := sharing(t, 4)
		def.Stocks, def.Instrument.Draws = nil, nil
		log, robot, lab := memlog.New(), newTeller(), newWorkshop()
		sent := counting(robot)
		a := attend(t, log, def, robot, func(r *drive.Runner) { r.Services = lab })
		stands := func(when string, dispatched, measured, requested int, waits string) {
			t.Helper()
			synctest.Wait()
			s := pipedState(t, log)
			if s.Status != campaign.Running || sent() != dispatched || s.Count(campaign.Measured) != measured ||
				len(s.Experiments) != requested || !strings.HasPrefix(a.waitsFor(), waits) {
				t.Errorf("%s: %s, %d sent, %d measured, %d requested, it waits for %q", when, s.Status, sent(),
					s.Count(campaign.Measured), len(s.Experiments), a.waitsFor())
			}
		}
		time.Sleep(10 * time.Hour) // e1 takes three days
		lab.say("", out())
		stands("taken out", 1, 0, 1, "robot to measure e1")
		time.Sleep(100 * time.Hour)
		const since = "a person: spectrometer is out of service since "
		stands("out for long", 1, 1, 2, since)
		time.Sleep(1000 * time.Hour)
		stands("out for longer", 1, 1, 2, since)
		if !strings.HasSuffix(a.waitsFor(), ": lamp exchanged (person:ada)") {
			t.Errorf("it waits for %q", a.waitsFor())
		}
		lab.say("", calibratedFor(1200*time.Hour))
		stands("back", 2, 1, 2, "robot to measure e2")
		time.Sleep(100 * time.Hour) // the calibration expires while e3 is measured
		stands("expired", 3, 2, 3, "robot to measure e3")
		time.Sleep(100 * time.Hour)
		stands("expired for long", 3, 3, 4, "a person: the calibration of spectrometer expired on ")
		lab.say("", calibratedFor(10_000*time.Hour))
		must.Do(t, <-a.over)
		audited(t, log, def.Name)
		if s := pipedState(t, log); s.Count(campaign.Measured) != 4 || len(s.Experiments) != 4 || sent() != 4 {
			t.Errorf("%d of %d are measured, %d were sent", s.Count(campaign.Measured), len(s.Experiments), sent())
		}
	})
}

// Law: who waits for something else is woken at the moment at which a calibration expires.
func TestWokenByExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := sharing(t, 1)
		log, lab, rack := memlog.New(), newWorkshop(), newShelf()
		lab.say("", calibratedFor(50*time.Hour))
		a := attend(t, log, def, newTeller(), func(r *drive.Runner) { r.Services, r.Stocks = lab, rack })
		time.Sleep(50*time.Hour - time.Second)
		synctest.Wait()
		if !strings.HasPrefix(a.waitsFor(), "a person: e1 cannot be begun") {
			t.Errorf("before, it waits for %q", a.waitsFor())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !strings.HasPrefix(a.waitsFor(), "a person: the calibration of spectrometer expired") {
			t.Errorf("it waits for %q", a.waitsFor())
		}
		a.end()
		<-a.over
	})
}

// Law: what another process of the lab has recorded holds before this one hears of it: it is looked for before a
// command is handed out.
func TestWithheldUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := sharing(t, 1)
		def.Stocks, def.Instrument.Draws = nil, nil
		log, robot, lab := memlog.New(), newTeller(), newWorkshop()
		sent := counting(robot)
		lab.say("other", out())
		said := out()
		said.Resource, said.By = "spectrometer", "person:bo"
		lab.unheard = map[string]engine.Service{"": said}
		a := attend(t, log, def, robot, func(r *drive.Runner) { r.Services = lab })
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := pipedState(t, log); sent() > 0 || s.Experiments[0].Status != campaign.Requested || !strings.HasSuffix(a.waitsFor(), "(person:bo)") {
			t.Errorf("%d were sent, and it waits for %q", sent(), a.waitsFor())
		}
		if lab.asked > 100 {
			t.Errorf("it looked %d times in an hour", lab.asked)
		}
		lab.say("", engine.Service{})
		must.Do(t, <-a.over)
	})
}

// Law: of a procedure the instrument alone that is out of service is given nothing: what is on the way goes on at the
// others as far as it can, and waits for that one without failing; no batch is begun that would need it.
func TestWithheldInAProcedure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def, log, lab, all := plated(), memlog.New(), newWorkshop(), newStations()
		a := all.attend(t, log, def, func(r *drive.Runner) { r.Services = lab })
		at := func(name string) (stages []string) {
			for _, cmd := range all[name].commands() {
				stages = append(stages, cmd.Stage)
			}
			return stages
		}
		is := func(when string, meter, arm, batches int, waits string) {
			t.Helper()
			synctest.Wait()
			s := platesState(t, log)
			if s.Status != campaign.Running || len(at("meter")) != meter || len(at("arm")) != arm || len(s.Batches) != batches ||
				!strings.Contains(a.waitsFor(), waits) || s.Count(campaign.Failed) > 0 {
				t.Errorf("%s: %s, the meter has %v, the arm %v, %d batches, it waits for %q", when, s.Status, at("meter"), at("arm"),
					len(s.Batches), a.waitsFor())
			}
		}
		time.Sleep(time.Hour) // the first plate is in the oven
		lab.say("meter", out())
		time.Sleep(20 * time.Hour)
		is("the meter is out", 0, 2, 1, "a person: spectrometer is out of service")
		lab.say("meter", engine.Service{})
		lab.say("doser", out())
		time.Sleep(40 * time.Hour)
		is("the doser is out", 3, 2, 1, "a person: spectrometer is out of service") // it cleans up
		lab.say("doser", engine.Service{})
		lab.say("meter", out())
		time.Sleep(40 * time.Hour)
		is("no second plate is begun", 3, 2, 1, "a person: spectrometer is out of service")
		if s := platesState(t, log); !s.Batches[0].Over || s.Count(campaign.Requested) != 3 || slices.Contains(at("doser")[1:], "dose") {
			t.Errorf("%d are requested, and the doser has %v", s.Count(campaign.Requested), at("doser"))
		}
		lab.say("meter", engine.Service{})
		must.Do(t, <-a.over)
		audited(t, log, def.Name)
		if s := platesState(t, log); s.Count(campaign.Measured) != 6 || len(s.Experiments) != 6 {
			t.Errorf("%d of %d are measured", s.Count(campaign.Measured), len(s.Experiments))
		}
	})
}
