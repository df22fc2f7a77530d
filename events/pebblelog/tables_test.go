package pebblelog

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestTables: Pebble writes the events of a log that grows fast to tables once, and
// merges the tables of many short runs.
func TestTables(t *testing.T) {
	fsys := vfs.NewMem()
	run := func(batches int) (flushed, compacted uint64, tables int64) {
		t.Helper()
		log := must.Get(Open("store", Options{FS: fsys, memTableSize: 2 << 20}))(t)
		batch := make([]events.Event, 100)
		for i := range batch {
			batch[i] = benchEvent(bytes.Repeat([]byte(`{"conductivity": 12.345678}, `), 13))
		}
		for range batches {
			must.Get(log.Append(t.Context(), "campaign", events.AnySequence, batch...))(t)
		}
		m := log.db.Metrics()
		for _, level := range m.Levels {
			flushed += level.TableBytesFlushed
			compacted += level.TableBytesCompacted
			tables += level.TablesCount
		}
		must.Do(t, log.Close())
		return flushed, compacted, tables
	}
	for range 50 {
		run(1)
	}
	if _, _, tables := run(1); tables > 10 {
		t.Errorf("50 short runs left %d tables", tables)
	}
	flushed, compacted, _ := run(600)
	t.Logf("%d bytes flushed, %d written again", flushed, compacted)
	if compacted > flushed/2 {
		t.Errorf("of %d bytes, %d were written again", flushed, compacted)
	}
}
