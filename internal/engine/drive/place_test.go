package drive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// ovens are the ovens of a lab that has nothing else to share.
type ovens struct {
	*shelf
	oven   sync.Mutex
	in     []string          // the batches that are in the oven
	guest  string            // a batch of another campaign
	fault  error             // of the log of the lab
	moment func(what string) // before and after each word to the log
	said   []string
}

func (o *ovens) Places([]string, string) (engine.LabPlaces, error) {
	o.oven.Lock()
	defer o.oven.Unlock()
	p := engine.LabPlace{Room: 1, Batches: slices.Clone(o.in)}
	if o.guest != "" {
		p.Others = []string{o.guest}
	}
	return engine.LabPlaces{"kiln": p}, o.fault
}

func (o *ovens) say(what, batch string, do func()) error {
	o.moment("before " + what)
	if o.fault != nil {
		return o.fault
	}
	o.oven.Lock()
	o.said = append(o.said, what+" "+batch)
	do()
	o.oven.Unlock()
	o.moment("after " + what)
	return nil
}

func (o *ovens) Occupy(_, _, batch string) error {
	return o.say("occupy", batch, func() {
		if o.guest == "" && len(o.in) == 0 {
			o.in = append(o.in, batch)
		}
	})
}

func (o *ovens) Vacate(_, _, batch string) error {
	return o.say("vacate", batch, func() {
		o.in = slices.DeleteFunc(o.in, func(b string) bool { return b == batch })
	})
}

func (o *ovens) has(batch string) bool {
	o.oven.Lock()
	defer o.oven.Unlock()
	return slices.Contains(o.in, batch)
}

// leave has the other campaign's batch taken out.
func (o *ovens) leave() {
	o.oven.Lock()
	o.guest = ""
	o.oven.Unlock()
	o.refill()
}

// loader is an arm that looks whether the batch that it loads has the oven.
type loader struct {
	*station
	ovens *ovens
	wrong []string
}

func (l *loader) Start(ctx context.Context, cmd instruments.Command) error {
	if !l.ovens.has(cmd.Batch) {
		l.wrong = append(l.wrong, cmd.Stage+" "+cmd.Batch)
	}
	return l.station.Start(ctx, cmd)
}

// inKiln is [plated], whose oven is the lab's kiln.
func inKiln() definition.Campaign {
	return plated(func(def *definition.Campaign) { def.Places = []definition.Place{{Name: "oven", Lab: "kiln"}} })
}

// Law: a batch has its place of the lab from before the act that brings it there until it has left,
// wherever the process is killed between the two logs; a place that it does not need is freed, so that
// none is taken at the end.
func TestPlaceAcrossKills(t *testing.T) {
	for _, moment := range []string{"before occupy", "after occupy", "before vacate", "after vacate"} {
		for n := 1; n <= 2; n++ {
			t.Run(fmt.Sprint(moment, " ", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := &ovens{shelf: newShelf()}
					used := newStations()
					arm := &loader{station: used["arm"], ovens: o}
					log, def := memlog.New(), inKiln()
					with := func(r *drive.Runner) { r.Stocks, r.Instruments["arm"] = o, arm }
					seen := 0
					var first *attended
					ready := make(chan struct{})
					o.moment = func(what string) {
						if <-ready; what == moment {
							if seen++; seen == n {
								first.end()
							}
						}
					}
					first = used.attend(t, log, def, with)
					close(ready)
					<-first.over
					must.Do(t, <-used.attend(t, log, def, with).over)
					if arm.wrong != nil || len(o.in) > 0 || seen < n {
						t.Errorf("without the oven: %v; in it at the end: %v", arm.wrong, o.in)
					}
					audited(t, log, def.Name)
				})
			})
		}
	}
}

// Law: a campaign that is paused leaves a place to others that nothing of it is in, and takes it again
// once it goes on. A batch that is in it stays.
func TestPlaceOfAPausedCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &ovens{shelf: newShelf()}
		used := newStations()
		log, def := memlog.New(), inKiln()
		with := func(r *drive.Runner) { r.Stocks = o }
		var first *attended
		ready := make(chan struct{})
		o.moment = func(what string) {
			if <-ready; what == "after occupy" && len(o.said) == 1 {
				first.end() // before the batch is brought there
			}
		}
		first = used.attend(t, log, def, with)
		close(ready)
		<-first.over
		appendAll(t, log, def.Name, study.Epoch.Add(time.Hour), &events.CampaignPaused{Reason: "lunch"})
		second := used.attend(t, log, def, with)
		time.Sleep(time.Hour)
		if o.has("b1") {
			t.Error("the paused campaign keeps the oven")
		}
		ask := func(r engine.Request) { must.Do(t, second.ask(t, r)) }
		ask(engine.Request{Resume: &events.CampaignResumed{}})
		time.Sleep(30 * time.Minute) // it is loaded
		ask(engine.Request{Pause: &events.CampaignPaused{Reason: "tea"}})
		time.Sleep(time.Hour)
		if !o.has("b1") {
			t.Error("the batch that is in the oven has lost it")
		}
		ask(engine.Request{Resume: &events.CampaignResumed{}})
		must.Do(t, <-second.over)
		want := "occupy b1, vacate b1, occupy b1, vacate b1, occupy b2, vacate b2"
		if got := strings.Join(o.said, ", "); got != want {
			t.Errorf("said to the lab's log: %s; want %s", got, want)
		}
	})
}

// Law: while others are in the place, or the log of the lab cannot be written, a batch waits, says for
// what, and goes on by itself. A campaign does not end before it has freed what it had.
func TestPlaceThatIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &ovens{shelf: newShelf(), guest: "b7 of glass", moment: func(string) {}}
		used := newStations()
		log, def := memlog.New(), inKiln()
		def.Budget.Experiments = 3
		running := used.attend(t, log, def, func(r *drive.Runner) { r.Stocks = o })
		time.Sleep(time.Hour)
		if got, want := running.waitsFor(), "kiln of the lab, where b7 of glass is, for load of b1"; got != want {
			t.Errorf("it waits for %q, want %q", got, want)
		}
		o.leave()
		time.Sleep(time.Hour)
		if !o.has("b1") {
			t.Errorf("it waits for %q", running.waitsFor())
		}
		o.oven.Lock()
		o.fault = errors.New("the disk is full")
		o.oven.Unlock()
		o.refill()
		time.Sleep(10 * time.Hour)
		if got, want := running.waitsFor(), "the lab's places: the disk is full"; got != want || !o.has("b1") {
			t.Errorf("it waits for %q, want %q", got, want)
		}
		o.oven.Lock()
		o.fault = nil
		o.oven.Unlock()
		must.Do(t, <-running.over)
		if o.has("b1") {
			t.Error("the campaign has ended, and its batch has the oven")
		}
	})
}
