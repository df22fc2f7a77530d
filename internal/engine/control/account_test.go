package control

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: whoever a request says that asks, the account at the other end of the socket
// comes with it, and no request can say which that is.
func TestAccountComesWithARequest(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" && runtime.GOOS != "freebsd" {
		t.Skip("this system does not say who is at the other end")
	}
	var got engine.Request
	store, _, _ := served(t, func(_ context.Context, _ string, r engine.Request) ([]events.Event, error) {
		got = r
		return nil, nil
	})
	c := dial(t, store)
	request := engine.Request{Actor: "person:ada", Account: "mallory (uid 666)", Note: &engine.Note{Text: "x"}}
	must.Get(c.Submit(t.Context(), "a", request))(t)
	if uid := fmt.Sprintf("uid %d", os.Geteuid()); !strings.Contains(got.Account, uid) || got.Account != OwnAccount() {
		t.Errorf("the request came from %q, this process is %q", got.Account, OwnAccount())
	}
}
