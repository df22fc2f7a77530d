package pglog

import (
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/pgtest"
)

// Law: an inspection shows each standby, from where it follows, and that it answers
// nothing any more, although the primary still takes it for one that streams.
func TestInspectedStandbys(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three servers")
	}
	c := pgtest.NewCluster(t, pgtest.Options{Standbys: 2})
	hangs := c.Standbys()[0]
	hangs.Signal(t, syscall.SIGSTOP) // the cluster lets it go on
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		i, err := Inspect(t.Context(), c.Primary.Address(""))
		if err != nil {
			t.Fatal(err)
		}
		if len(i.Standbys) != 2 {
			t.Fatalf("the standbys are %+v", i.Standbys)
		}
		silent := make(map[string]time.Duration)
		for _, s := range i.Standbys {
			if s.Address != "127.0.0.1" || s.State != "streaming" {
				t.Errorf("a standby is %+v", s)
			}
			silent[s.Name] = s.Silent
		}
		other := c.Standbys()[1].Name
		if silent[hangs.Name] > 5*time.Second && silent[hangs.Name] > 2*silent[other] {
			return // each answers once a second
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("they have been silent for %v", silent)
		}
	}
}
