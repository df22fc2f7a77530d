package drive_test

import (
	"context"
	"errors"
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
	"github.com/campaignd/campaignd/projections/campaign"
)

// valve is a device with a safe state. It begins what it is sent in it, too: only campaignd keeps it safe.
type valve struct {
	*pipe
	mu     sync.Mutex
	stuck  bool     // the valve does not close
	orders []string // to be safe, with their reasons
	safe   bool
	faults []string
}

func (v *valve) Secures() bool { return true }

func (v *valve) Safe(_ context.Context, reason string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.orders = append(v.orders, reason)
	if v.stuck {
		return errors.New("the valve does not close")
	}
	v.safe = true
	v.pipe.mu.Lock()
	defer v.pipe.mu.Unlock()
	for _, c := range v.commands {
		if c.begun {
			v.end(c, instruments.Outcome{Status: instruments.Failed, Cause: "brought to its safe state"})
		}
	}
	return nil
}

func (v *valve) Start(ctx context.Context, cmd instruments.Command) error {
	v.mu.Lock()
	if v.safe {
		v.faults = append(v.faults, cmd.Experiment+" began at a device that is to be safe")
	}
	v.mu.Unlock()
	return v.pipe.Start(ctx, cmd)
}

// sticks has the valve stick, or not.
func (v *valve) sticks(stuck bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stuck = stuck
}

// ordered counts the orders that came, and reports whether it is safe.
func (v *valve) ordered() (int, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.orders), v.safe
}

// unlocked is after a person has looked.
func (v *valve) unlocked() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.safe = false
}

// secured is the history of a campaign whose device is brought to its safe state: at once; after it had
// not answered, and campaignd was killed meanwhile; with nothing under way; and at the end.
func secured(t *testing.T) (all []events.Event) {
	synctest.Test(t, func(t *testing.T) {
		device := &valve{pipe: newPipe()}
		log := memlog.New()
		var waits string
		sees := func(r *drive.Runner) {
			observe := r.Observe
			r.Observe = func(core *engine.Core, wait engine.Wait) {
				waits = wait.For
				observe(core, wait)
			}
		}
		a := attend(t, log, pipedCampaign(t, 8), device, sees)
		ask := func(r engine.Request) {
			t.Helper()
			if err := a.ask(t, r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond) // no two requests at one time
		}
		abort := engine.Request{Abort: &engine.Abort{Reason: "a leak"}}
		resume := func() {
			t.Helper()
			device.unlocked()
			ask(engine.Request{Resume: &events.CampaignResumed{Reason: "it was the seal"}})
		}
		expect := func(when string, orders int, safe bool) {
			t.Helper()
			synctest.Wait()
			if n, is := device.ordered(); n != orders || is != safe {
				t.Errorf("%s: %d orders, safe %v", when, n, is)
			}
		}

		time.Sleep(3 * time.Second) // e1 is at work
		ask(abort)
		expect("at once", 1, true)
		time.Sleep(time.Minute)
		expect("a minute later", 1, true)
		if x := a.experiments()[0]; x.Status != campaign.Failed {
			t.Errorf("what was under way is %s", x.Status)
		}
		resume()

		time.Sleep(3 * time.Second) // the valve sticks, and campaignd is killed
		device.sticks(true)
		ask(abort)
		expect("the valve sticks", 2, false)
		if want := "pipe to be in its safe state (the valve does not close: see to it by hand), and for "; !strings.HasPrefix(waits, want) {
			t.Errorf("it waits for %s", waits)
		}
		a.end()
		<-a.over
		asked, _ := device.ordered()
		a = attend(t, log, pipedCampaign(t, 8), device, sees)
		time.Sleep(time.Second / 2)
		expect("the next process asks at once", asked+1, false)
		device.sticks(false)
		time.Sleep(time.Minute)
		expect("until it is", asked+2, true)
		if strings.Contains(waits, "safe state") {
			t.Errorf("it still waits for %s", waits)
		}

		device.unlocked() // somebody else did, and the campaign is still paused
		device.sticks(true)
		ask(abort)
		expect("with nothing under way", asked+3, false)
		device.sticks(false)
		resume() // before it has answered
		expect("the order is over with that", asked+3, false)
		time.Sleep(3 * time.Second)
		ask(engine.Request{Abort: &engine.Abort{Stop: true, Reason: "enough"}})
		if err := <-a.over; err != nil {
			t.Fatal(err)
		}
		expect("at the end", asked+4, true)
		if device.faults != nil {
			t.Error(device.faults)
		}
		audited(t, log, "branin")
		all = history(t, log)
	})
	return all
}

// Law: an abort brings each device to its safe state that has one, past all that it is at work on. The
// order is durable before the device hears of it: another process goes on with it. It is asked until it
// answers, or until a person has looked and resumes the campaign; nothing begins meanwhile.
func TestAbortBringsDevicesToTheirSafeState(t *testing.T) {
	var orders, answers int
	for i, e := range secured(t) {
		switch e.Kind {
		case events.KindSafetyOrdered:
			orders++
		case events.KindSafetyAnswered:
			answers++
		}
		t.Log(i+1, e.Actor, e.Kind, shorten(string(e.Data)))
	}
	if orders != 4 || answers != 3 {
		t.Errorf("%d orders, %d answers", orders, answers)
	}
}

// Law: an order that was not answered within an hour is not carried out by a process that comes later:
// the device may be at work for somebody else by then.
func TestOldOrderToBeSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		device := &valve{pipe: newPipe(), stuck: true}
		log := memlog.New()
		a := attend(t, log, pipedCampaign(t, 2), device)
		time.Sleep(3 * time.Second)
		if err := a.ask(t, engine.Request{Abort: &engine.Abort{}}); err != nil {
			t.Fatal(err)
		}
		a.end()
		<-a.over
		asked, _ := device.ordered()
		device.sticks(false)
		time.Sleep(2 * time.Hour)
		a = attend(t, log, pipedCampaign(t, 2), device)
		time.Sleep(time.Minute)
		if n, safe := device.ordered(); n != asked || safe {
			t.Errorf("it was ordered %d times more", n-asked)
		}
		a.end()
		<-a.over
	})
}

// Law: an abort orders to its safe state what has one, and no other: the log of a campaign whose
// instrument has none is the one of before.
func TestAbortWithoutSafeStates(t *testing.T) {
	if slices.ContainsFunc(calledOff(t), func(e events.Event) bool { return e.Kind == events.KindSafetyOrdered }) {
		t.Error("a device without a safe state was ordered there")
	}
}
