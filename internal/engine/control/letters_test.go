package control_test

import (
	"context"
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: a process that holds a store in a database and does not answer, as one that was
// killed a moment ago, has the store in use: who asks can wait, and ask again.
func TestHolderDoesNotAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits until who asks has no more patience")
	}
	database := pgtest.URL(t)
	log, err := store.Open(store.In(database, "s"), store.Options{}) // which holds it
	if err != nil {
		t.Fatal(err)
	}
	d := must.Get(store.OpenDatabase(database))(t)
	silence := make(chan struct{})
	stop := d.Serve("s", func(context.Context, []byte) []byte { <-silence; return nil }, func() any { return nil })
	_, err = control.Dial(t.Context(), store.In(database, "s"))
	if !errors.Is(err, events.ErrInUse) || problem.CodeOf(err) != problem.Unavailable {
		t.Errorf("%v, which is %s", err, problem.CodeOf(err))
	}
	close(silence)
	stop()
	if err := errors.Join(log.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}
