package pebblelog

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// exchange puts the events at some positions in other places, as a fault of the database
// or somebody with all its means would: from[i] goes to to[i], with the hashes that
// belong to its new place.
func exchange(t *testing.T, db *pebble.DB, from, to []events.Position) {
	t.Helper()
	value := func(p events.Position) (record, hashes []byte) {
		v, closer := must.Get2(db.Get(appendEventKey(nil, p)))(t)
		defer func() { _ = closer.Close() }()
		record, hashes = must.Get2(splitValue(p, slices.Clone(v)))(t)
		return record, hashes
	}
	values := make([][]byte, len(from))
	for i := range from {
		record, _ := value(from[i])
		_, hashes := value(to[i])
		leaf := tlog.RecordHash(record)
		copy(hashes, leaf[:]) // the leaf's own hash comes first
		values[i] = slices.Concat(record, hashes)
	}
	for i := range to {
		must.Do(t, db.Set(appendEventKey(nil, to[i]), values[i], pebble.Sync))
	}
}

// Law: though a record does not say where in the log it belongs, an event in another's
// place, swapped or doubled, is found: by Verify wherever it is, since the tree is of
// leaves in their order; and by whoever reads across it, the log or one campaign, who
// is given what is before it and then told.
func TestExchangedEvents(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to []events.Position
		told     events.Position // the position at which a reader is told
	}{
		{"neighbors swapped", []events.Position{20, 21}, []events.Position{21, 20}, 20},
		{"swapped with a later one", []events.Position{20, 41}, []events.Position{41, 20}, 20},
		{"doubled", []events.Position{20}, []events.Position{21}, 21},
		{"an earlier one put in its place", []events.Position{20}, []events.Position{40}, 40},
		{"the first in another's place", []events.Position{2}, []events.Position{1}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := mustOpen(t, vfs.NewMem(), Options{})
			defer func() { _ = log.Close() }()
			must.Do(t, work(t, log, 1, 60, func(int) {}))
			exchange(t, log.db, c.from, c.to)

			report, err := log.Verify(t.Context())
			if err != nil || report.Sound() || report.Root == log.durableHead().Hash {
				t.Errorf("verified: %+v, %v", report, err)
			}
			checkedOnAnyProcessors(t, log, "c", true)
			readers := map[string]func(func(events.Event, error) bool){
				"Read":              log.Read(t.Context(), 0),
				"Read from between": log.Read(t.Context(), c.told-min(c.told, 5)),
				"Follow":            log.Follow(t.Context(), 0),
				"ReadCampaign":      log.ReadCampaign(t.Context(), "c", 0),
			}
			for name, seq := range readers {
				last := events.Position(0)
				var told error
				for e, err := range seq {
					if told = err; err == nil {
						last = e.Position
					}
				}
				if !errors.Is(told, events.ErrDamaged) || last >= c.told {
					t.Errorf("%s: given up to position %d, then told %v", name, last, told)
				}
			}
		})
	}
}

// checkedOnAnyProcessors checks a log as machines of one to twenty processors
// do, each of which reads a part of it: all find damage, or none does.
func checkedOnAnyProcessors(t *testing.T, log *Log, campaign string, damaged bool) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for n := 1; n <= 20; n++ {
		runtime.GOMAXPROCS(n)
		err := log.Check(t.Context(), campaign)
		if errors.Is(err, events.ErrDamaged) != damaged || !damaged && err != nil {
			t.Errorf("%d processors: %v", n, err)
		}
	}
}

// Law: whoever reads a campaign across a fault of its index is given what is before it and
// then told: a gap is not passed over.
func TestCampaignIndexDamage(t *testing.T) {
	key := func(s events.Sequence) []byte { return appendSequenceKey(nil, "c", s) }
	position := func(p events.Position) []byte { return appendEventKey(nil, p)[1:] }
	for name, damage := range map[string]func(*pebble.DB) error{
		"an entry removed":              func(db *pebble.DB) error { return db.Delete(key(20), pebble.Sync) },
		"entries removed":               func(db *pebble.DB) error { return db.DeleteRange(key(20), key(41), pebble.Sync) },
		"an entry for another event":    func(db *pebble.DB) error { return db.Set(key(20), position(21), pebble.Sync) },
		"an entry for an earlier event": func(db *pebble.DB) error { return db.Set(key(20), position(3), pebble.Sync) },
		"an entry for no event":         func(db *pebble.DB) error { return db.Set(key(20), position(0), pebble.Sync) },
		"an unreadable entry":           func(db *pebble.DB) error { return db.Set(key(20), []byte{1}, pebble.Sync) },
	} {
		log := mustOpen(t, vfs.NewMem(), Options{})
		must.Do(t, errors.Join(work(t, log, 1, 60, func(int) {}), damage(log.db)))
		checkedOnAnyProcessors(t, log, "c", true)
		checkedOnAnyProcessors(t, log, "another", false)
		last := events.Sequence(0)
		var told error
		for e, err := range log.ReadCampaign(t.Context(), "c", 0) {
			if told = err; err == nil {
				last = e.Sequence
			}
		}
		if last != 19 || !errors.Is(told, events.ErrDamaged) {
			t.Errorf("%s: given up to sequence %d, then told %v", name, last, told)
		}
		must.Do(t, log.Close())
	}
}
