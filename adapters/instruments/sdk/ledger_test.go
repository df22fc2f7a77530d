package sdk

import (
	"sync"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: however many claim a command, from wherever, and whenever the holder dies, one
// gets it, once and for all.
func TestOneClaims(t *testing.T) {
	dir := t.TempDir()
	cmd := instruments.Command{ID: "c/e1", Parameters: definition.Point{"salt": definition.Number(1)}}
	var mu sync.Mutex
	var held []*entry
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			l, err := openLedger(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer l.handOver()
			for range 20 {
				// Whoever comes while another is about to write it is told so by an error.
				if e, _ := l.claim(cmd); e != nil {
					mu.Lock()
					held = append(held, e)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if len(held) != 1 {
		t.Fatalf("%d got it", len(held))
	}
	l := must.Get(openLedger(dir))(t)
	defer l.handOver()
	for _, state := range []string{"performs it", "has died"} {
		if e, err := l.claim(cmd); e != nil || err != nil {
			t.Errorf("it is claimed again while its holder %s: %v, %v", state, e, err)
		}
		held[0].file.Close()
	}
}
