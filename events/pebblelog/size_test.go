package pebblelog

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// onDisk is the room that the files of a folder take on the disk, reserved room included.
func onDisk(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	}))
	return bytes
}

// Law: the room that a store takes goes by what is in it. It is a small multiple of that
// while it is written to (and so where its process is killed), and less once it is closed.
func TestRoomOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	content := int64(0)
	fill := func(l *Log) {
		t.Helper()
		for range 100 {
			e := benchEvent([]byte(`{"conductivity": 12.345678, "unit": "mS/cm"}`))
			content += int64(len(e.Data)) + 100 // the envelope's
			must.Get(l.Append(t.Context(), "campaign", events.AnySequence, e))(t)
		}
	}
	for range 3 {
		l := must.Get(Open(dir, Options{}))(t)
		fill(l)
		if size := onDisk(t, dir); size > 8*content+200_000 {
			t.Errorf("open, %d bytes of events take %d bytes of the disk", content, size)
		}
		must.Do(t, l.Close())
		if size := onDisk(t, dir); size > 2*content+60_000 {
			t.Errorf("closed, %d bytes of events take %d bytes of the disk", content, size)
		}
	}
}

// Law: a closed store takes the room of its tables, also where so much was written at once
// that Pebble wrote over one of its logs, as where a table of measurements is imported.
func TestRoomOfMuchAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(Open(dir, Options{memTableSize: 1 << 20}))(t)
	batch := make([]events.Event, 4000)
	for i := range batch {
		batch[i] = benchEvent([]byte(`{"conductivity": 12.345678, "unit": "mS/cm"}`))
	}
	for range 20 { // fills so many memtables that a log is surely written over
		must.Get(l.Append(t.Context(), "campaign", events.AnySequence, batch...))(t)
	}
	must.Do(t, l.Close())
	tables, err := filepath.Glob(filepath.Join(dir, pebbleName, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal("there are no tables", err)
	}
	room := int64(0)
	for _, table := range tables {
		info := must.Get(os.Stat(table))(t)
		room += info.Size()
	}
	if size := onDisk(t, dir); size > room+room/20+60_000 {
		t.Errorf("closed, %d bytes of tables take %d bytes of the disk", room, size)
	}
}
