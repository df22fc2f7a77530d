package lab_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: of many campaigns that are free a process takes some at a time, however often it looks, and
// the next ones once it has those; so one that starts a moment later has its share.
func TestTakesSomeAtATime(t *testing.T) {
	t.Parallel()
	const all = lab.MostOpening + 12
	database := pgtest.URL(t)
	server := process(t, database, "server", watches)
	names := make([]string, all)
	var defining sync.WaitGroup
	for i := range all {
		names[i] = fmt.Sprint("bench", i)
		defining.Go(func() {
			file, err := server.Parse(t.Context(), "campaign.yaml", []byte(strings.Replace(byHand, "bench", names[i], 1)))
			if err == nil {
				_, err = server.Define(t.Context(), file, engine.Request{Actor: "person:ada"})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	defining.Wait()
	taking := make(chan struct{}, all)
	goOn := make(chan struct{})
	first := process(t, database, "first", func(o *lab.Options) {
		*o = o.Opening(func(address string, so store.Options) (events.Store, error) {
			if !so.ReadOnly && !so.Shared {
				taking <- struct{}{}
				<-goOn
			}
			return store.Open(address, so)
		})
	})
	for range lab.MostOpening {
		<-taking
	}
	for range 3 {
		if mine := first.Assign(); mine != lab.MostOpening {
			t.Errorf("it takes %d at a time, want %d", mine, lab.MostOpening)
		}
	}
	second := process(t, database, "second", nil)
	eventually(t, "they know each other", func() bool { return processes(first) == 3 })
	close(goOn)
	eventually(t, "all are driven, by both", func() bool {
		driven := drivers(t, names, first, second)
		return driven[0]+driven[1] == all && driven[1] > 0
	})
}
