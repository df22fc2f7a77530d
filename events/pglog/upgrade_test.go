package pglog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: while a later program changes the tables, adding to each of them, one that
// runs goes on: it appends, reads, holds, says that it lives, and asks and answers;
// but once stopped it does not start again, and is told which program would.
func TestLaterTables(t *testing.T) {
	l := newLab(t, lasting)
	earlier, other := l.worker("earlier"), l.worker("other")
	log := l.took(earlier, "s")
	go earlier.Answer(t.Context(), func(_ context.Context, request []byte) []byte { return request })
	want := []string{}
	step := func(when string) {
		t.Helper()
		sequence := events.Sequence(len(want))
		if _, err := log.Append(t.Context(), "c", sequence, testEvents(1, when)...); err != nil {
			t.Fatalf("%s: append: %v", when, err)
		}
		want = append(want, when+"-0")
		value := events.KeyValue{Key: when, Value: []byte("v")}
		_, file := earlier.db.Files("s").Put(t.Context(), strings.NewReader(when))
		err := errors.Join(log.SetOffset("o", events.Position(len(want))), log.SetValues(t.Context(), value), file)
		if err != nil {
			t.Errorf("%s: offset, value, file: %v", when, err)
		}
		if answer, err := other.db.Ask(t.Context(), earlier.ID(), []byte(when)); err != nil || string(answer) != when {
			t.Errorf("%s: a letter is answered %q, %v", when, answer, err)
		}
		if stores, err := other.db.Stores(t.Context()); err != nil || !slices.ContainsFunc(stores, func(s StoreRow) bool {
			return s.Name == "s" && s.Holder == earlier.ID()
		}) {
			t.Errorf("%s: the stores are %+v, %v", when, stores, err)
		}
		next := l.took(earlier, "new "+when) // on whichever connection
		if err := next.Close(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		sound(t, log, want...)
	}
	step("before")

	known := migrations
	t.Cleanup(func() { migrations = known })
	var later []string
	for _, table := range pgtest.SQL(t, l.address, `select relname from pg_class where relname like 'cd\_%' and relkind = 'r'`) {
		later = append(later, fmt.Sprintf(`alter table %s add column later text not null default 'x', add column more int`, table))
	}
	if len(later) == 0 {
		t.Fatal("there are no tables")
	}
	migrations = append(slices.Clone(known), strings.Join(later, ";"))
	newer := mustConnect(t, l.address)
	migrations = known
	step("after")
	must.Get(newer.Work(t.Context(), "newer", func() []byte { return []byte("newer") }))(t)

	program, err := Connect(t.Context(), l.address)
	if err == nil {
		_ = program.Close()
	}
	if !errors.Is(err, events.ErrNewerFormat) || !strings.Contains(err.Error(), "use the campaignd that made them, or a newer one") {
		t.Errorf("an earlier program starts on later tables: %v", err)
	}
	if i, err := Inspect(t.Context(), l.address); err != nil || i.Schema != len(known)+1 || len(i.Workers) != 3 {
		t.Errorf("an earlier program that only looks sees %+v, %v", i, err)
	}
	step("at the end")
}
