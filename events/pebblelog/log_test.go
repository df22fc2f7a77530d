package pebblelog_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/logtest"
	"github.com/campaignd/campaignd/events/pebblelog"
)

func TestConformance(t *testing.T) {
	open := func(t testing.TB, fsys vfs.FS) events.Log {
		log, err := pebblelog.Open("store", pebblelog.Options{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	var fsys vfs.FS
	logtest.Run(t, func(t testing.TB) events.Log {
		fsys = vfs.NewMem()
		return open(t, fsys)
	}, func(t testing.TB, log events.Log) events.Log {
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, fsys)
	})
}
