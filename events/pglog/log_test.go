package pglog

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/logtest"
)

// conform runs the laws of a store on stores of one database.
func conform(t *testing.T, d *Database) {
	logtest.RunStore(t, func(t testing.TB) events.Store {
		return mustOpen(t, d, t.Name(), Options{})
	}, func(t testing.TB, log events.Store) events.Store {
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, d, log.(*Log).name, Options{MustExist: true})
	})
}

func TestConformance(t *testing.T) {
	conform(t, mustConnect(t, freshDatabase(t, sharedServer(t), "single=yes")))
}
