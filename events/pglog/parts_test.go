package pglog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: why a server cannot be reached is said in its own words, with what to do where that is known,
// and without those of the layers between.
func TestReasons(t *testing.T) {
	for want, err := range map[string]error{
		"no such host":       &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "db"}},
		"connection refused": &net.OpError{Op: "dial", Err: errors.New("connection refused")},
		"no answer in time":  fmt.Errorf("connect: %w", context.DeadlineExceeded),
		"the role is locked": &pgconn.PgError{Code: "28XXX", Message: "the role is locked"},
		"no database x: see which databases there are, or create it": &pgconn.PgError{Code: "3D000", Message: "no database x"},
		"it is odd": errors.New("server (10.0.0.1): it is odd"),
		"plain":     errors.New("plain"),
	} {
		if got := reason(fmt.Errorf("x: %w", err)); got != want && got != "x: "+want {
			t.Errorf("%v is said as %q, want %q", err, got, want)
		}
	}
}

// Law: that a role may not read a table is not an error of an inspection, and everything else is.
func TestDenied(t *testing.T) {
	other := &pgconn.PgError{Code: "42P01"}
	if err := denied(fmt.Errorf("x: %w", &pgconn.PgError{Code: "42501"})); err != nil {
		t.Error(err)
	}
	if denied(other) != error(other) || denied(nil) != nil || denied(context.Canceled) != context.Canceled {
		t.Error("an error that is another one is lost")
	}
}

// Law: a clock is ahead by what it shows beyond the later look at ours, and behind by what it lacks of the
// earlier one.
func TestClockAhead(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for theirs, want := range map[int]time.Duration{8: -2 * time.Second, 10: 0, 11: 0, 12: 0, 15: 3 * time.Second} {
		if got := clockAhead(at(10), at(theirs), at(12)); got != want {
			t.Errorf("read as %d between 10 and 12 it is ahead by %s, want %s", theirs, got, want)
		}
	}
}

// Law: a server has a bounded time to answer, which an address may shorten, or lengthen to a minute.
func TestConnectTimes(t *testing.T) {
	for parameter, want := range map[string]time.Duration{
		"": connectTime, "&connect_timeout=7": 7 * time.Second, "&connect_timeout=60": time.Minute, "&connect_timeout=61": connectTime,
	} {
		d := must.Get(configure("postgres://127.0.0.1/x?single=yes" + parameter))(t)
		if got := d.config.ConnectTimeout; got != want {
			t.Errorf("with %q it has %s, want %s", parameter, got, want)
		}
	}
}

// Law: a store has a name within bounds that can be shown; its marks are set while it has the head that was
// seen, and by no one afterwards; what it lacks at its beginning is damage, and a database that is closed
// takes nothing and has no workers.
func TestStoresAndTheirMarks(t *testing.T) {
	address := freshDatabase(t)
	d := mustConnect(t, address)
	for name, fits := range map[string]bool{
		"": false, strings.Repeat("n", MaxNameSize): true, strings.Repeat("n", MaxNameSize+1): false,
		"a\x1fb": false, "a\x7fb": false, "a b": true, "a\x00": false,
	} {
		if _, err := d.Open(t.Context(), name, Options{}); (err == nil) != fits {
			t.Errorf("%q: %v", name, err)
		}
	}
	l := mustOpen(t, d, "s", Options{})
	must.Get(l.Append(t.Context(), "c", 0, testEvents(3, "e")...))(t)
	seen := must.Get(l.Head(t.Context()))(t)
	marks := Marks{Moved: "elsewhere", Unfinished: "half"}
	must.Do(t, l.Mark(t.Context(), seen, marks))
	if got, err := d.Marks(t.Context(), "s"); err != nil || got != marks {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := d.Marks(t.Context(), "another"); err != nil || got != (Marks{}) {
		t.Errorf("%+v, %v", got, err)
	}
	must.Do(t, l.Mark(t.Context(), seen, Marks{}))
	must.Get(l.Append(t.Context(), "c", 3, testEvents(1, "f")...))(t)
	if err := l.Mark(t.Context(), seen, marks); !errors.Is(err, events.ErrInUse) {
		t.Errorf("something was appended, and it is marked: %v", err)
	}
	if got, err := d.Marks(t.Context(), "s"); err != nil || got != (Marks{}) {
		t.Errorf("it was refused, and has %+v, %v", got, err)
	}
	for range l.ReadCampaign(t.Context(), "a\x00", 0) {
		t.Error("a campaign that has no name has an event, or an error")
	}
	must.Do(t, l.Close())
	failed := false
	for _, err := range l.ReadCampaign(t.Context(), "c", 0) {
		failed = errors.Is(err, events.ErrClosed)
	}
	if !failed {
		t.Error("a log that is closed is read as one that has nothing")
	}
	pgtest.SQL(t, address, `delete from cd_event where position <= 2 and store = (select store from cd_head where name = 's')`)
	if _, err := d.Open(t.Context(), "s", Options{}); !errors.Is(err, events.ErrDamaged) || !strings.Contains(err.Error(), "1 to 2 are lost") {
		t.Errorf("without its first events: %v", err)
	}
	must.Do(t, d.Close())
	if err := l.Mark(t.Context(), seen, marks); err == nil || errors.Is(err, events.ErrInUse) {
		t.Errorf("the database is closed, and it is said that %v", err)
	}
	if w, err := d.Work(t.Context(), "w", func() []byte { return nil }); w != nil || !errors.Is(err, events.ErrClosed) {
		t.Errorf("a worker of a database that is closed: %v, %v", w, err)
	}
}
