package pglog

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

func TestMain(m *testing.M) {
	draws.Waiting(8, 1)
	os.Exit(m.Run())
}

// freshDatabase makes an empty database on the server that the tests share, which
// has no standby.
func freshDatabase(t testing.TB) string {
	t.Helper()
	return pgtest.Shared(t).Database(t, "single=yes")
}

// newCluster starts a primary and the standby that it waits for.
func newCluster(t *testing.T) (c *pgtest.Cluster, standby *pgtest.Server) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts two servers")
	}
	c = pgtest.NewCluster(t, pgtest.Options{Standbys: 1})
	return c, c.Standbys()[0]
}

// What a server is asked.
const (
	// visible counts the events that a server shows.
	visible = `select count(*) from cd_event`
	// waiting counts the sessions that wait for a standby, appending the appends
	// among them, and setting the values.
	waiting   = `select count(*) from pg_stat_activity where wait_event = 'SyncRep'`
	appending = waiting + ` and query like '%insert into cd_event%'`
	setting   = waiting + ` and query like '%insert into cd_value%'`
)

// mustConnect connects to a database, with less patience than a lab's.
func mustConnect(t testing.TB, address string) *Database {
	t.Helper()
	d := must.Get(connectTo(t.Context(), address, 5*time.Second, defaultPollTime))(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// mustOpen opens a store that has to open.
func mustOpen(t testing.TB, d *Database, name string, o Options) *Log {
	t.Helper()
	return must.Get(d.Open(t.Context(), name, o))(t)
}

// testEvents returns n small events whose IDs begin alike.
func testEvents(n int, format string, args ...any) []events.Event {
	batch := make([]events.Event, n)
	for i := range batch {
		batch[i] = events.Event{
			ID: fmt.Sprintf(format+"-%d", append(args, i)...), Kind: "test.kind", Version: 1, Data: []byte(`{}`),
		}
	}
	return batch
}

// sound fails where the log does not hold the events of these IDs, in this
// order, or does not verify.
func sound(t testing.TB, l *Log, want ...string) {
	t.Helper()
	var got []string
	for e := range must.Each(t, l.Read(context.Background(), 0)) {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the log holds %q, want %q", got, want)
	}
	verified(t, l)
}

// verified fails where the log does not verify.
func verified(t testing.TB, l *Log) {
	t.Helper()
	report, err := l.Verify(context.Background())
	if err != nil || !report.Sound() {
		t.Fatalf("verified: %+v, %v", report, err)
	}
}
