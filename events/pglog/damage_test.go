package pglog

import (
	"errors"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: whatever is changed in the database is found: by Verify, by who reads it
// where that can be seen, and at opening where it is at the end.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, change string
		fault        string // what Verify says
		read         bool   // readers see it
		open         bool   // opening does
	}{
		{"a byte of a record",
			`update cd_event set record = set_byte(record, 20, get_byte(record, 20) # 1) where position = 5`,
			"position 5", true, false},
		{"an event is gone", `delete from cd_event where position = 5`, "position 5", true, false},
		{"events are gone", `delete from cd_event where position between 5 and 7`, "positions 5 to 7", true, false},
		{"the newest is gone", `delete from cd_event where position = 20`, "position 20", true, true},
		{"two have changed places", `update cd_event set position = case position when 6 then 1007 else 1006 end
			where position in (6, 7); update cd_event set position = position - 1000 where position > 1000`,
			"position 6", true, false},
		{"a hash", `update cd_event set hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1) where position = 5`,
			"position 5: the hashes", false, false},
		{"the name of a campaign", `update cd_event set campaign = 'other' where position = 5`,
			"position 5", true, false},
		{"a sequence", `update cd_event set sequence = 500 where position = 5`, "position 5", true, false},
		{"an event too many", `insert into cd_event select store, 21, campaign, 999, append, record, hashes
			from cd_event where position = 20`, "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := freshDatabase(t)
			d := mustConnect(t, address)
			l := mustOpen(t, d, "s", Options{})
			// The event at position 5 is all of its campaign: no sequence shows that it is gone.
			for _, b := range []struct {
				campaign string
				n        int
			}{{"c", 4}, {"d", 1}, {"c", 15}} {
				batch := testEvents(b.n, "e%d", b.n)
				must.Get(l.Append(t.Context(), b.campaign, events.AnySequence, batch...))(t)
			}
			for change := range strings.SplitSeq(c.change, ";") {
				pgtest.SQL(t, address, change)
			}
			report := must.Get(l.Verify(t.Context()))(t)
			if c.fault == "" {
				if !report.Sound() {
					t.Errorf("what lies beyond the head is a fault: %v", report.Faults)
				}
			} else if report.Sound() || !strings.HasPrefix(report.Faults[0].String(), c.fault) {
				t.Errorf("Verify found %v, want %q", report.Faults, c.fault)
			}
			var readErr error
			for _, err := range l.Read(t.Context(), 0) {
				readErr = err
			}
			checkErr := l.Check(t.Context(), "")
			if errors.Is(readErr, events.ErrDamaged) != c.read || errors.Is(checkErr, events.ErrDamaged) != c.read {
				t.Errorf("readers see %v, Check %v; want damage to be seen: %v", readErr, checkErr, c.read)
			}
			if _, err := d.Open(t.Context(), "s", Options{}); errors.Is(err, events.ErrDamaged) != c.open {
				t.Errorf("opening: %v, want damage to be seen: %v", err, c.open)
			}
		})
	}
}

// Law: a database that has less than was seen is damaged, for readers and
// writers, and not a shorter log; nothing is appended to it.
func TestGoneBack(t *testing.T) {
	address := freshDatabase(t)
	d := mustConnect(t, address)
	l := mustOpen(t, d, "s", Options{})
	must.Get(l.Append(t.Context(), "c", 0, testEvents(3, "e")...))(t)
	row := pgtest.SQL(t, address,
		`select format('update cd_head set size = %s, root = %L, edge = %L', size, root, edge) from cd_head`)
	must.Get(l.Append(t.Context(), "c", 3, testEvents(2, "f")...))(t)
	pgtest.SQL(t, address, `delete from cd_event where position > 3`, row[0])
	for _, err := range l.Read(t.Context(), 0) {
		if !errors.Is(err, events.ErrDamaged) || !strings.Contains(err.Error(), "positions 4 to 5") {
			t.Errorf("reading what has gone back: %v", err)
		}
	}
	if _, err := l.Append(t.Context(), "c", 5, testEvents(1, "g")...); !errors.Is(err, events.ErrDamaged) {
		t.Errorf("appending to what has gone back: %v", err)
	}
	if err := l.Err(); !errors.Is(err, events.ErrStopped) {
		t.Errorf("the log goes on: %v", err)
	}
	if n := pgtest.SQL(t, address, `select count(*) from cd_event`)[0]; n != "3" {
		t.Errorf("there are %s events", n)
	}
}
