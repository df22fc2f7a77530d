package devices

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

func TestMain(m *testing.M) {
	retryAfter = time.Millisecond
	os.Exit(m.Run())
}

// Law: whenever processes are killed between ticket, log, device, end and the freeing, on
// however many machines: no more commands are at the device than it works on, and no more
// campaigns than may have it; what it is at work on has its ticket; no ticket is lost or left,
// and all campaigns come to their ends.
func TestQueue(t *testing.T) {
	for seed := range uint64(120) {
		w := newWorld(t, seed, 3, 4, none)
		w.run(200)
		if len(w.faults) > 0 {
			t.Fatalf("seed %d: %v", seed, w.faults)
		}
	}
}

// Law: the same holds for a lab in a folder, whose log one process has at a time.
func TestQueueInAFolder(t *testing.T) {
	for seed := range uint64(3) {
		dir := lablog.Dir(t.TempDir())
		must.Do(t, os.MkdirAll(filepath.Dir(dir), 0o700))
		log := must.Get(store.Open(dir, store.Options{}))(t)
		w := newWorld(t, seed, 1, 3, none)
		w.opened(dir, func(*process) events.Log { return log })
		w.run(100)
		if len(w.faults) > 0 {
			t.Fatalf("seed %d: %v", seed, w.faults)
		}
		must.Do(t, log.Close())
	}
}

// Law: and for a lab in a database, which its processes append to at the same time.
func TestQueueInADatabase(t *testing.T) {
	for seed := range uint64(2) {
		database := pgtest.URL(t)
		stores := make(map[int]events.Store)
		w := newWorld(t, seed, 2, 3, none)
		w.opened(lablog.Address(database), func(p *process) events.Log {
			if stores[p.n] == nil { // an address of its own is a process to the others
				address := lablog.Address(fmt.Sprintf("%s&application_name=p%d", database, p.n))
				log := must.Get(store.Open(address, store.Options{Shared: true}))(t)
				t.Cleanup(func() { _ = log.Close() })
				stores[p.n] = log
			}
			return stores[p.n]
		})
		w.run(60)
		if len(w.faults) > 0 {
			t.Fatalf("seed %d: %v", seed, w.faults)
		}
	}
}

// Law: the trial finds each rule that is broken.
func TestQueueControls(t *testing.T) {
	for _, broken := range []rule{unseen, machine, freed} {
		found := 0
		for seed := range uint64(20) {
			w := newWorld(t, seed, 3, 4, broken)
			w.run(200)
			if len(w.faults) > 0 {
				found++
			}
		}
		t.Logf("%s: found in %d of 20", broken, found)
		if found == 0 {
			t.Errorf("%s: not found", broken)
		}
	}
}
