package web_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/web"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the expert's own questions wait, each as often as it is asked, until they are withdrawn, and
// no answer comes with that; a question to somebody else does not wait.
func TestItWaits(t *testing.T) {
	reviewer := must.Get(web.Channel.Open(t.Context(),
		definition.Expert{Name: "ada", Channel: web.Choose(web.Settings{})}, definition.Campaign{}, humans.Environment{}))(t)
	if d := reviewer.Describe(); d != (humans.Description{Expert: "ada"}) {
		t.Errorf("it is %+v", d)
	}
	q := humans.Question{ID: "bench/q1", Expert: "ada", Form: events.FormLabel, Options: []events.Option{{}}}
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			ctx, withdraw := context.WithCancel(t.Context())
			var reply humans.Reply
			var err error
			answered := false
			go func() {
				reply, err = reviewer.Ask(ctx, q)
				answered = true
			}()
			synctest.Wait()
			if answered {
				t.Fatalf("it did not wait: %v", err)
			}
			withdraw()
			synctest.Wait()
			if !answered || !errors.Is(err, context.Canceled) || !reply.Equal(humans.Reply{}) {
				t.Errorf("withdrawn: %+v, %v", reply, err)
			}
		}
	})
	q.Expert = "bob"
	if _, err := reviewer.Ask(t.Context(), q); err == nil {
		t.Error("it took a question to bob")
	}
}
