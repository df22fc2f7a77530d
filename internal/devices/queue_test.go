package devices

import (
	"os"
	"testing"
	"time"
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
	for seed := range uint64(300) {
		w := newWorld(t, seed, 3, 4, none)
		w.run(200)
		if len(w.faults) > 0 {
			t.Fatalf("seed %d: %v", seed, w.faults)
		}
	}
}

// Law: the trial finds each rule that is broken.
func TestQueueControls(t *testing.T) {
	for _, broken := range []rule{unseen, machine, freed} {
		found := 0
		for seed := range uint64(60) {
			w := newWorld(t, seed, 3, 4, broken)
			w.run(200)
			if len(w.faults) > 0 {
				found++
			}
		}
		t.Logf("%s: found in %d of 60", broken, found)
		if found == 0 {
			t.Errorf("%s: not found", broken)
		}
	}
}
