package drive_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: something real is driven by whoever holds its lock: where that is another
// campaign, nothing is sent and nothing written. A simulation and a person at the
// bench are for all.
func TestLocked(t *testing.T) {
	taken := errors.New("it is driven by the campaign lfp")
	for name, c := range map[string]struct {
		change  func(*device, *definition.Campaign)
		refused bool
	}{
		"real":      {func(*device, *definition.Campaign) {}, true},
		"simulated": {func(d *device, _ *definition.Campaign) { d.description.Simulated = true }, false},
		"a person": {func(_ *device, def *definition.Campaign) {
			def.Instrument.Driver = manual.Choose(manual.Settings{})
			def.Instrument.ByHand = true
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, def, log := newDevice("serial 1"), electrolyte(t, 1, 3, unaided), memlog.New()
			c.change(d, &def)
			made := must.Get(studytest.Runner(t.Context(), log, def, d))(t)
			before := log.Last()
			r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Instrument: d, Now: made.Now, Eager: true}
			r.Lock = func(_ string, locked instruments.Description) (drive.Lease, error) {
				if locked.Identity != "serial 1" {
					t.Errorf("%+v is locked", locked)
				}
				return nil, taken
			}
			err := r.Start(t.Context())
			if c.refused != errors.Is(err, taken) || !c.refused && err != nil {
				t.Fatalf("Start says %v", err)
			}
			if log.Last() != before || len(d.acts) > 0 {
				t.Errorf("%d events were written, and it acted: %v", log.Last()-before, d.acts)
			}
		})
	}
	if !engine.Exclusive(electrolyte(t, 1, 3), instruments.Description{Name: "mixer"}) {
		t.Error("a real instrument without an identity is for all")
	}
}

// lease is a lease that is lost when a test says so.
type lease struct {
	mu       sync.Mutex
	why      error
	released bool
}

func (l *lease) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

func (l *lease) lose(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = errors.New(why)
}

func (l *lease) Tickets() drive.Tickets { return nil }

func (l *lease) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
}

// leased is a campaign whose leases a test can see.
type leased struct {
	*drive.Runner
	log    *memlog.Log
	mu     sync.Mutex
	leases []*lease // in the order of taking
	refuse error    // by whom the device is had
	of     []string // the identities
}

// leaseFor runs a campaign of four experiments on a device under a lease, until it waits for a
// person, or ended.
func leaseFor(t *testing.T, d instruments.Instrument) (l *leased, waiting <-chan string, ended func() error) {
	t.Helper()
	def := electrolyte(t, 1, 4, unaided)
	l = &leased{log: memlog.New()}
	made := must.Get(studytest.Runner(t.Context(), l.log, def, d))(t)
	told := make(chan string, 1000)
	l.Runner = &drive.Runner{Registry: builtin.Registry(), Log: l.log, Campaign: def.Name, Instrument: d, Now: made.Now, Eager: true}
	l.Observe = func(_ *engine.Core, wait engine.Wait) { told <- wait.For }
	l.Lock = func(_ string, d instruments.Description) (drive.Lease, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.refuse != nil {
			return nil, l.refuse
		}
		taken := new(lease)
		l.leases, l.of = append(l.leases, taken), append(l.of, d.Identity)
		return taken, nil
	}
	must.Do(t, l.Start(t.Context()))
	return l, told, run(t, l.Runner)
}

// auditClean fails where an audit finds anything.
func (l *leased) auditClean(t *testing.T) {
	t.Helper()
	report, err := decisions.Audit(t.Context(), builtin.Registry(), l.log, l.Campaign, events.Build{}, nil)
	if err != nil || len(report.Mismatches)+len(report.Remarks) > 0 {
		t.Errorf("audit: %v, %v, %v", report.Mismatches, report.Remarks, err)
	}
}

// Law: once the lease is lost nothing is sent, whether that shows before a command, while one
// is under way or between two attempts to start it; what is under way counts all the same.
// The campaign pauses and says why; resuming takes the lease anew, or tells who has the
// device and leaves the campaign as it is.
func TestLostLease(t *testing.T) {
	defer drive.LookAtLeases(5 * time.Millisecond)()
	for _, when := range []string{"between two commands", "while one is under way", "between two attempts"} {
		t.Run(when, func(t *testing.T) {
			d := newDevice("serial 1")
			var l *leased
			ready, paused := make(chan struct{}), make(chan struct{})
			d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
				<-ready
				switch {
				case cmd.Experiment == "e2" && when == "between two commands":
					l.leases[0].lose("its file is gone")
				case cmd.Experiment == "e2" && when == "while one is under way":
					<-paused
				}
				return measured(12), nil
			}
			sent := 0
			d.start = func(cmd instruments.Command) error {
				<-ready
				if cmd.Experiment == "e2" && when == "between two attempts" {
					sent++
					l.leases[0].lose("its file is gone")
					return errors.New("no answer")
				}
				return nil
			}
			d.description.Simulated = false
			d.recall = func(instruments.Command) instruments.Fate { return instruments.FateNotStarted }
			l, waiting, ended := leaseFor(t, d)
			close(ready)
			if when == "while one is under way" {
				for !slices.ContainsFunc(history(t, l.log), func(e events.Event) bool {
					return e.Kind == events.KindExperimentStarted && strings.Contains(string(e.Data), `"e2"`)
				}) {
					until(t, waiting, "") // whatever it waits for: the loop tells of it once or twice
				}
				l.leases[0].lose("its file is gone")
			}
			until(t, waiting, "its file is gone")
			close(paused)
			if s := history(t, l.log); when != "between two attempts" && slices.ContainsFunc(s, func(e events.Event) bool {
				return e.Kind == events.KindExperimentDispatched && strings.Contains(string(e.Data), `"e3"`)
			}) {
				t.Error("another command was dispatched")
			}
			d.mu.Lock()
			acts := len(d.acts)
			d.mu.Unlock()
			if want := map[string]int{"between two attempts": 1}[when]; want > 0 && acts != want || want == 0 && acts != 2 || sent > 1 {
				t.Errorf("%d commands were sent, the second %d times", acts, sent)
			}
			if !l.leases[0].released {
				t.Error("what was lost is not given back")
			}
			resume := engine.Request{Actor: "person:ada", Resume: &events.CampaignResumed{}}
			l.refuse = errors.New("it is driven by the campaign lfp")
			if _, err := l.Submit(t.Context(), resume); !errors.Is(err, l.refuse) {
				t.Fatalf("resumed while another has it: %v", err)
			}
			if slices.ContainsFunc(history(t, l.log), func(e events.Event) bool { return e.Kind == events.KindCampaignResumed }) {
				t.Error("it was resumed while another has it")
			}
			l.refuse = nil
			if when == "between two attempts" { // nobody knows what became of it
				resolve := engine.Request{Actor: "person:ada", Resolve: &engine.Resolve{Experiment: "e2", Resolution: events.ResolvedNotPerformed}}
				must.Get(l.Submit(t.Context(), resolve))(t)
			}
			must.Get(l.Submit(t.Context(), resume))(t)
			must.Do(t, ended())
			s := l.Core().State()
			if s.Status != campaign.Completed || s.Count(campaign.Measured) != 4 || len(l.leases) != 2 {
				t.Errorf("it ended as %s with %d measurements, under %d leases", s.Status, s.Count(campaign.Measured), len(l.leases))
			}
			for id, n := range d.acts {
				if n != 1 {
					t.Errorf("%s was carried out %d times", id, n)
				}
			}
			pause := events.CampaignPaused{}
			all := history(t, l.log)
			at := find(t, all, events.KindCampaignPaused, "", 0)
			if err := json.Unmarshal(all[at].Data, &pause); err != nil || pause.Device != "serial 1" || all[at].Actor != "engine" {
				t.Errorf("%s paused: %+v, %v", all[at].Actor, pause, err)
			}
			l.auditClean(t)
		})
	}
}

// Law: where another device answers than the one that was leased, it is sent nothing until a
// person has resumed the campaign, which then has a lease of that one.
func TestAnotherDevice(t *testing.T) {
	d := newDevice("serial 1")
	var mu sync.Mutex
	identity := "serial 1"
	to := make(map[string]string)
	d.start = func(cmd instruments.Command) error {
		mu.Lock()
		defer mu.Unlock()
		to[cmd.Experiment] = identity
		return nil
	}
	d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		if cmd.Experiment == "e2" {
			identity = "serial 2"
		}
		return measured(12), nil
	}
	l, waiting, ended := leaseFor(t, changing{d, func() instruments.Description {
		mu.Lock()
		defer mu.Unlock()
		return instruments.Description{Name: "robot", Identity: identity, Capacity: 1}
	}})
	until(t, waiting, "serial 2")
	mu.Lock()
	if len(to) != 2 || to["e1"] != "serial 1" || to["e2"] != "serial 1" {
		t.Errorf("what was sent: %v", to)
	}
	mu.Unlock()
	must.Get(l.Submit(t.Context(), engine.Request{Actor: "person:ada", Resume: &events.CampaignResumed{}}))(t)
	must.Do(t, ended())
	if s := l.Core().State(); s.Count(campaign.Measured) != 4 || !slices.Equal(l.of, []string{"serial 1", "serial 2"}) {
		t.Errorf("%d are measured, under leases of %v", s.Count(campaign.Measured), l.of)
	}
	l.auditClean(t)
}

// changing is a device that describes itself anew each time.
type changing struct {
	*device
	now func() instruments.Description
}

func (c changing) Describe(context.Context) (instruments.Description, error) { return c.now(), nil }

// Law: a pause for a lost instrument is the engine's word; a person cannot say it, and an
// audit finds it where there is nothing to be lost.
func TestForgedLoss(t *testing.T) {
	d := newDevice("serial 1")
	log, def := memlog.New(), electrolyte(t, 1, 3, unaided)
	r, _ := start(t, log, def, d)
	must.Do(t, r.Run(t.Context()))
	request := engine.Request{Actor: "person:ada", Pause: &events.CampaignPaused{Reason: "I say so", Device: "serial 1"}}
	core := engine.NewCore(builtin.Registry())
	all := history(t, log)
	at := find(t, all, events.KindExperimentMeasured, "", 0)
	for _, e := range all[:at+1] {
		must.Do(t, core.Apply(e))
	}
	if _, err := core.Handle(request); err == nil {
		t.Error("a person said that the instrument is lost")
	}
	for name, p := range map[string]events.CampaignPaused{
		"another device": {Reason: "gone", Device: "serial 7"},
		"no reason":      {Device: "serial 1"},
		"of nobody's":    {Reason: "gone"},
	} {
		forged := slices.Clone(all[:at+1])
		e := must.Get(events.New(def.Name, &p))(t)
		last := forged[at]
		e.Actor, e.Time, e.Trace, e.Cause = "engine", last.Time, last.Trace, last.ID
		log := refill(t, forged)
		must.Get(log.Append(t.Context(), def.Name, last.Sequence, e))(t)
		report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) == 0 {
			t.Errorf("%s: the audit found nothing, %v", name, err)
		}
	}
}
