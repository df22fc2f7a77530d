package pglog

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: of the servers that an address names the primary is inspected, whichever comes first and
// whatever the address asks of a session, and a standby where there is no primary.
func TestInspectedServer(t *testing.T) {
	t.Parallel()
	c := pgtest.NewCluster(t, pgtest.Options{Standbys: 1})
	standby := c.Standbys()[0]
	for parameters, isStandby := range map[string]bool{
		fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d target_session_attrs=read-write", standby.Port, c.Primary.Port): false,
		fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d", c.Primary.Port, standby.Port):                                 false,
		fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d", standby.Port, standby.Port):                                   true,
		fmt.Sprintf("port=%d", standby.Port):                                                                             true,
	} {
		i, err := Inspect(t.Context(), c.Primary.Address(parameters))
		if err != nil {
			t.Errorf("%s: %v", parameters, err)
			continue
		}
		if i.Standby != isStandby || (i.Refusal != "") != isStandby {
			t.Errorf("%s: a standby %t, refused %q", parameters, i.Standby, i.Refusal)
		}
	}
}

// Law: an inspection shows each standby, from where it follows, and that it answers
// nothing any more, although the primary still takes it for one that streams.
func TestInspectedStandbys(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts three servers")
	}
	c := pgtest.NewCluster(t, pgtest.Options{Standbys: 2})
	hangs := c.Standbys()[0]
	hangs.Signal(t, syscall.SIGSTOP) // the cluster lets it go on
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		i := must.Get(Inspect(t.Context(), c.Primary.Address("")))(t)
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
