package pebblelog

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/campaignd/campaignd/events"
)

// onDisk is the room that the files of a folder take on the disk, reserved room included.
func onDisk(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
			if _, err := l.Append(t.Context(), "campaign", events.AnySequence, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		l, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fill(l)
		if size := onDisk(t, dir); size > 8*content+200_000 {
			t.Errorf("open, %d bytes of events take %d bytes of the disk", content, size)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if size := onDisk(t, dir); size > 2*content+60_000 {
			t.Errorf("closed, %d bytes of events take %d bytes of the disk", content, size)
		}
	}
}
