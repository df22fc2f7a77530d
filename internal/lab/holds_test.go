package lab

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func openLog(t *testing.T, folder string) *lablog.Log {
	t.Helper()
	l := must.Get(lablog.Open(lablog.Dir(folder), lablog.Options{}))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// kindsIn returns the kinds of the events of a stream of the lab's log.
func kindsIn(t *testing.T, l *lablog.Log, stream string) (kinds []events.Kind) {
	t.Helper()
	log := must.Get(l.Store())(t)
	for e := range must.Each(t, log.ReadCampaign(t.Context(), stream, 0)) {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// Law: of those who have seen a store free and would hold it, one does, whoever is first at
// the log; the others are refused, in words and by nothing in the log.
func TestHoldersRace(t *testing.T) {
	own := openLog(t, t.TempDir())
	const holders = 8
	var looked, asked sync.WaitGroup
	looked.Add(holders)
	var held, refused atomic.Int32
	for i := range holders {
		asked.Go(func() {
			c := &custodyLog{own: own, stream: "store/a.campaign", worker: string(rune('a' + i))}
			seen, err := c.look()
			looked.Done()
			looked.Wait() // all have seen it free
			if err != nil {
				t.Error(err)
				return
			}
			switch err = c.hold(seen, events.StoreHeld{Worker: c.worker, PID: i, Host: "bench"}); {
			case err == nil:
				held.Add(1)
			case errors.Is(err, events.ErrInUse) && problem.CodeOf(err) == problem.Unavailable:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	asked.Wait()
	if held.Load() != 1 || refused.Load() != holders-1 {
		t.Errorf("%d hold it, %d are refused", held.Load(), refused.Load())
	}
	if kinds := kindsIn(t, own, "store/a.campaign"); len(kinds) != 1 || kinds[0] != events.KindStoreHeld {
		t.Errorf("the log holds %v", kinds)
	}
}

// Law: a process that ended without a word is seen in the log, by the hold of the next one;
// should it be there still, nothing that it says of the store counts any more.
func TestHoldIsTakenOver(t *testing.T) {
	own := openLog(t, t.TempDir())
	take := func(worker string) (*custodyLog, *events.StoreHeld) {
		t.Helper()
		c := &custodyLog{own: own, stream: "store/a.campaign", worker: worker}
		seen, err := c.look()
		if err == nil {
			err = c.hold(seen, events.StoreHeld{Worker: worker, PID: 7})
		}
		if err != nil {
			t.Fatal(err)
		}
		return c, c.now.Held
	}
	first, held := take("first")
	if held.Lost {
		t.Error("there was a hold before the first one")
	}
	must.Do(t, first.setStarted("one", true, ourselves))
	second, held := take("second")
	if !held.Lost {
		t.Error("nothing tells of the process that ended without a word")
	}
	for range 2 {
		if err := first.setStarted("one", false, ourselves); !errors.Is(err, events.ErrInUse) {
			t.Errorf("what has lost the store still writes: %v", err)
		}
	}
	if on, err := second.isStarted("one"); !on || err != nil {
		t.Errorf("the next one does not go on: %v", err)
	}
	if err := first.release(); err != nil {
		t.Errorf("what has lost the store cannot let go: %v", err)
	}
	if now, err := CustodyOf(t.Context(), second.log, second.stream); err != nil || now.Held == nil {
		t.Errorf("what has lost the store has ended the hold of the next one: %v", err)
	}
	must.Do(t, second.release())
	third, held := take("third")
	if held.Lost {
		t.Error("the hold before was let go of")
	}
	// A person says meanwhile that the lab goes on with another campaign.
	other := &custodyLog{own: own, stream: third.stream, worker: "other"}
	must.Do(t, errors.Join(other.setStarted("two", true, ourselves), third.release()))
	if _, held = take("fourth"); held.Lost {
		t.Error("the hold before was let go of, after another event")
	}
}

// Law: the lab's log says that the lab holds a store, and that it has let go of it.
func TestLabHolds(t *testing.T) {
	folder := t.TempDir()
	campaigns := must.Get(store.Open(filepath.Join(folder, "a.campaign"), store.Options{}))(t)
	must.Do(t, campaigns.Close())
	own := openLog(t, folder)
	l := must.Get(Open(t.Context(), Options{Folder: folder, Own: own, Log: t.Logf}))(t)
	if kinds := kindsIn(t, own, "store/a.campaign"); !slices.Equal(kinds, []events.Kind{events.KindStoreHeld}) {
		t.Errorf("while the lab is open: %v", kinds)
	}
	l.Close()
	want := []events.Kind{events.KindStoreHeld, events.KindStoreReleased}
	if kinds := kindsIn(t, own, "store/a.campaign"); !slices.Equal(kinds, want) {
		t.Errorf("when the lab is closed: %v", kinds)
	}
}
