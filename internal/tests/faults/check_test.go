package faults

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// row is an event that the database has.
type row struct {
	position, sequence int64
	campaign, id       string
}

// rows are the events of each store, as the tables have them: the log's own
// readers are not asked.
func rows(t testing.TB, s *pgtest.Server) map[string][]row {
	t.Helper()
	found := make(map[string][]row)
	for _, line := range s.SQL(t, `select
			format('%s %s %s %s %s', name, position, sequence, campaign, encode(record, 'hex'))
		from cd_event join cd_head using (store) order by store, position`) {
		var r row
		var store, text string
		must.Get(fmt.Sscan(line, &store, &r.position, &r.sequence, &r.campaign, &text))(t)
		record := must.Get(hex.DecodeString(text))(t)
		e, err := events.DecodeRecord(record)
		if err != nil {
			t.Fatalf("the record at position %d of %s: %v", r.position, store, err)
		}
		r.id = e.ID
		found[store] = append(found[store], r)
	}
	return found
}

// verdict counts what was found, in events, and says it.
type verdict struct {
	acknowledged  int
	lost          int // acknowledged, and not where it was said to be
	disorder      int // doubled, or behind a gap, or a batch that is torn
	refusedStored int
	gone          int // shown to a reader, and not there
	stopped       int // logs and readers that gave up
	uncertain     int // appends whose callers were told so; no fault
	fenced        int // writers that were; no fault
	details       []string
}

// sound reports that nothing was found.
func (v *verdict) sound() bool {
	return v.lost+v.disorder+v.refusedStored+v.gone+v.stopped == 0
}

// fault counts a fault, and keeps the first ones in words.
func (v *verdict) fault(counter *int, format string, args ...any) {
	*counter++
	if len(v.details) < 20 {
		v.details = append(v.details, fmt.Sprintf(format, args...))
	}
}

// check compares what hosts were told with what is there.
func check(journals map[string][]entry, stored map[string][]row) *verdict {
	v := new(verdict)
	type place struct{ store, id string }
	where := make(map[place]row)
	for store, rows := range stored {
		sequences := make(map[string]int64)
		holder, before := "", make(map[string]bool)
		for i, r := range rows {
			if r.position != int64(i+1) {
				v.fault(&v.disorder, "%s: position %d stands in place %d", store, r.position, i+1)
			}
			if writer, _, _ := strings.Cut(r.id, "/"); store != sharedStore && writer != holder {
				if before[writer] {
					v.fault(&v.disorder, "%s: %s is at %d, after %s has taken hold", store, r.id, r.position, holder)
				}
				holder, before[writer] = writer, true
			}
			if sequences[r.campaign]++; r.sequence != sequences[r.campaign] {
				v.fault(&v.disorder, "%s: sequence %d of %s stands in place %d",
					store, r.sequence, r.campaign, sequences[r.campaign])
			}
			if _, ok := where[place{store, r.id}]; ok {
				v.fault(&v.disorder, "%s: %s is stored twice", store, r.id)
			}
			where[place{store, r.id}] = r
		}
	}
	known := make(map[place]bool)
	for host, entries := range journals {
		last := make(map[string]int64)
		for _, e := range entries {
			switch e.What {
			case seen:
				if last[e.Store]++; e.Position != last[e.Store] {
					v.fault(&v.disorder, "%s: host %s was shown position %d in place %d",
						e.Store, host, e.Position, last[e.Store])
				}
				shown := row{e.Position, e.Sequence, e.Campaign, e.ID}
				if where[place{e.Store, e.ID}] != shown {
					v.fault(&v.gone, "%s: host %s was shown %s at %d, which is gone", e.Store, host, e.ID, e.Position)
				}
				continue
			case failed:
				v.fault(&v.stopped, "%s: host %s: %s", e.Store, host, e.Err)
				continue
			case uncertain:
				v.uncertain++
			case fenced:
				v.fenced++
			}
			first, whole := where[place{e.Store, e.Batch + "-0"}]
			for i := range e.Size {
				id := fmt.Sprintf("%s-%d", e.Batch, i)
				known[place{e.Store, id}] = true
				r, ok := where[place{e.Store, id}]
				switch e.What {
				case tried:
					if ok != whole || r.position-first.position != int64(i) && ok {
						v.fault(&v.disorder, "%s: the batch of %s is torn", e.Store, id)
					}
					if ok && e.Expected >= 0 && r.sequence != e.Expected+1+int64(i) {
						v.fault(&v.disorder, "%s: %s is sequence %d, and its writer expected %d before the batch",
							e.Store, id, r.sequence, e.Expected)
					}
				case acknowledged:
					v.acknowledged++
					want := row{e.Position + int64(i), e.Sequence + int64(i), e.Campaign, id}
					if r != want {
						v.fault(&v.lost, "%s: %s was acknowledged at %d, and is not there", e.Store, id, want.position)
					}
				case refused, fenced:
					if ok {
						v.fault(&v.refusedStored, "%s: %s was refused (%s), and is at %d", e.Store, id, e.Err, r.position)
					}
				}
			}
		}
	}
	for p := range where {
		if !known[p] {
			v.fault(&v.disorder, "%s: %s is stored, and was never sent", p.store, p.id)
		}
	}
	return v
}

// Law: the checker finds each kind of loss. Its journals are written by hand.
func TestChecker(t *testing.T) {
	sound := func() (map[string][]entry, map[string][]row) {
		batch := func(w what, name string, expected, position int64) entry {
			return entry{What: w, Store: sharedStore, Campaign: "c", Batch: name, Size: 2, Expected: expected,
				Position: position, Sequence: position}
		}
		return map[string][]entry{
				"h1": {batch(tried, "a", 0, 0), batch(acknowledged, "a", 0, 1),
					batch(tried, "b", 2, 0), batch(uncertain, "b", 2, 0)},
				"h2": {batch(tried, "d", 0, 0), batch(refused, "d", 0, 0),
					batch(tried, "e", 2, 0), batch(uncertain, "e", 2, 0),
					{What: seen, Store: sharedStore, Position: 1, Sequence: 1, Campaign: "c", ID: "a-0"},
					{What: seen, Store: sharedStore, Position: 2, Sequence: 2, Campaign: "c", ID: "a-1"}},
			}, map[string][]row{sharedStore: {
				{1, 1, "c", "a-0"}, {2, 2, "c", "a-1"}, {3, 3, "c", "b-0"}, {4, 4, "c", "b-1"},
			}}
	}
	own := func(ids ...string) (found []row) {
		for i, id := range ids {
			found = append(found, row{int64(i + 1), int64(i + 1), "own", id})
		}
		return found
	}
	if v := check(nil, map[string][]row{"own": own("h1/0/0-0", "h2/0/0-0")}); v.disorder != 2 {
		t.Fatalf("two that were never sent: %+v", v)
	}
	if v := check(nil, map[string][]row{"own": own("h1/0/0-0", "h2/0/0-0", "h1/0/1-0")}); v.disorder != 4 {
		t.Fatalf("one behind the hold of another, of three that were never sent: %+v", v)
	}
	if v := check(sound()); !v.sound() || v.acknowledged != 2 || v.uncertain != 2 {
		t.Fatalf("what is sound: %+v", v)
	}
	for name, c := range map[string]struct {
		change func(journals map[string][]entry, s []row) []row
		count  func(*verdict) int
	}{
		"the end is lost": {
			func(_ map[string][]entry, s []row) []row { return s[:1] },
			func(v *verdict) int { return v.lost },
		},
		"another is in its place": {
			func(_ map[string][]entry, s []row) []row { s[0].id = "d-0"; return s },
			func(v *verdict) int { return v.lost },
		},
		"it has moved": {
			func(_ map[string][]entry, s []row) []row { s[0].id, s[1].id = s[1].id, s[0].id; return s },
			func(v *verdict) int { return v.lost },
		},
		"seen, and gone": {
			func(j map[string][]entry, s []row) []row {
				j["h2"] = append(j["h2"], entry{What: seen, Store: sharedStore, Position: 3, Sequence: 3, Campaign: "c", ID: "e-0"})
				return s
			},
			func(v *verdict) int { return v.gone },
		},
		"seen twice": {
			func(j map[string][]entry, s []row) []row { j["h2"] = append(j["h2"], j["h2"][5]); return s },
			func(v *verdict) int { return v.disorder },
		},
		"a gap in positions": {
			func(_ map[string][]entry, s []row) []row { s[2].position, s[3].position = 4, 5; return s },
			func(v *verdict) int { return v.disorder },
		},
		"a gap in sequences": {
			func(_ map[string][]entry, s []row) []row { s[2].sequence, s[3].sequence = 4, 5; return s },
			func(v *verdict) int { return v.disorder },
		},
		"stored twice": {
			func(_ map[string][]entry, s []row) []row { return append(s, row{5, 5, "c", "b-1"}) },
			func(v *verdict) int { return v.disorder },
		},
		"a torn batch": {
			func(_ map[string][]entry, s []row) []row { return s[:3] },
			func(v *verdict) int { return v.disorder },
		},
		"refused, and stored": {
			func(_ map[string][]entry, s []row) []row {
				return append(s, row{5, 5, "c", "d-0"}, row{6, 6, "c", "d-1"})
			},
			func(v *verdict) int { return v.refusedStored },
		},
		"stored against what was expected": {
			func(_ map[string][]entry, s []row) []row {
				return append(s, row{5, 5, "c", "e-0"}, row{6, 6, "c", "e-1"})
			},
			func(v *verdict) int { return v.disorder },
		},
		"from nowhere": {
			func(_ map[string][]entry, s []row) []row { return append(s, row{5, 5, "c", "x-0"}) },
			func(v *verdict) int { return v.disorder },
		},
		"a log stopped": {
			func(j map[string][]entry, s []row) []row {
				j["h2"] = append(j["h2"], entry{What: failed, Store: "s"})
				return s
			},
			func(v *verdict) int { return v.stopped },
		},
	} {
		journals, stored := sound()
		stored[sharedStore] = c.change(journals, stored[sharedStore])
		v := check(journals, stored)
		if c.count(v) == 0 || v.sound() {
			t.Errorf("%s: it is not found: %s", name, strings.Join(v.details, "; "))
		}
	}
}
