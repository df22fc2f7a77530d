//go:build unix

package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

// Law: of a campaign in a database, too, the next run is told of a program that an
// earlier one left alive, by its number, as long as it lives; and of one on another
// machine, of which it cannot know that.
func TestEarlierInstanceIsToldFromADatabase(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	at := store.In(database, "bench")
	log := must.Get(store.Open(at, store.Options{}))(t)
	defer log.Close()
	o := testinstrument.Options{Dir: t.TempDir(), Latency: definition.Duration(3 * time.Second)}
	cfg, _ := sound(t, o)
	run := func() (*process.Instrument, *logbook) {
		t.Helper()
		inst, book := open(t, cfg)
		inst.Hurry()
		inst.KeepRecord(at, "")
		must.Get(inst.Describe(within(t, 20*time.Second)))(t)
		return inst, book
	}
	ended := func(inst *process.Instrument) {
		t.Helper()
		must.Do(t, inst.Close())
	}
	recorded := func() string {
		t.Helper()
		value := must.Get(log.Value(t.Context(), "instrument"))(t)
		return strings.TrimSpace(string(value))
	}

	first, book := run()
	must.Do(t, first.Start(within(t, 20*time.Second), command(1)))
	pid := first.Program().Pid
	if strings.Contains(book.String(), "earlier instance") {
		t.Errorf("told of one:\n%s", book)
	}
	host, _ := os.Hostname()
	if text := recorded(); !strings.Contains(text, fmt.Sprintf(`"pid":%d,"host":%q`, pid, host)) {
		t.Errorf("process %d runs on %s, and the record holds %s", pid, host, text)
	}
	ended(first) // it finishes what is under way

	second, book := run()
	book.expect(fmt.Sprintf("an earlier instance of the instrument's program is still alive (process %d, ", pid))
	if !vanishes(pid) {
		t.Fatal("it is still there")
	}
	ended(second)
	if text := recorded(); text != "[]" && text != "null" {
		t.Errorf("the record holds %s", text)
	}

	// A lease that ended elsewhere: its machine is not looked at.
	old := time.Now().Add(-60 * 24 * time.Hour).UTC().Format(time.RFC3339)
	now := time.Now().UTC().Format(time.RFC3339)
	text := fmt.Sprintf(`[{"pid":7,"host":"elsewhere","program":"pump","since":%q},{"pid":8,"host":"elsewhere","program":"pump","since":%q}]`,
		now, old)
	swapped, err := log.SwapValue(t.Context(), "instrument", []byte("[]\n"), []byte(text))
	if err != nil || !swapped {
		t.Fatalf("%t, %v", swapped, err)
	}
	third, book := run()
	book.expect("an earlier instance of the instrument's program may still be alive (process 7 on elsewhere, pump, since ")
	if strings.Contains(book.String(), "process 8") {
		t.Errorf("one of two months ago is told of:\n%s", book)
	}
	ended(third)
	if text := recorded(); !strings.Contains(text, `"pid":7,"host":"elsewhere"`) || strings.Count(text, "pid") != 1 {
		t.Errorf("the record holds %s", text)
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, "instrument.json")); err == nil {
		t.Error("there is a file, too")
	}
}
