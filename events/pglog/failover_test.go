package pglog

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: a primary whose machine is gone, so that it neither answers nor refuses,
// holds nothing up once there is another: what waits for its answer, however
// patiently, is settled there.
func TestSilentPrimary(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts three servers")
	}
	c := pgtest.NewCluster(t, pgtest.Options{Standbys: 2})
	d := must.Get(connectTo(t.Context(), c.AddressFrom(t, "client", ""), 5*time.Minute, defaultPollTime))(t)
	lines := c.Lines(c.Primary, true)
	defer func() { _ = d.Close() }()
	defer func() { // before Close, which would wait for an answer
		for _, line := range lines {
			line.Cut()
		}
	}()
	l := mustOpen(t, d, "s", Options{})
	appendBeside(l, t.Context(), 0, "first").ok(t, 1)
	// What connects later finds the new primary, and what listens would.
	c.Primary.Eventually(t, "the process listens", `select count(*) from pg_stat_activity
		where application_name = 'campaignd' and query like '%pg_notify%' and state = 'idle'`, "1")
	for _, line := range lines {
		line.Hold()
	}
	second := appendBeside(l, t.Context(), 1, "second")
	c.Failover(t)
	second.ok(t, 2)
	appendBeside(l, t.Context(), 2, "third").ok(t, 3)
	sound(t, l, "first-0", "second-0", "third-0")
}
