package chaos

import (
	"fmt"
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/draws"
)

// Law: every log that campaignd itself writes, by any sequence of commands, requests, imports,
// crashes and upgrades, audits clean.
//
//	CAMPAIGND_REQUESTS=1h go test ./internal/tests/chaos -run Requests -timeout 0
//
// goes on for longer, and -chaos.seed lives through a single world again, with its log.
func TestRequests(t *testing.T) {
	methods := builtin.Registry().Methods.Methods()
	for _, m := range methods { // few ask for a composition, and few of those questions are answered twice
		if m.Form == events.FormPinpoint {
			methods = append(methods, m, m, m, m)
		}
	}
	covered := newCoverage()
	live := func(t *testing.T, seed uint64) {
		world := DrawAsked(seed, methods[seed%uint64(len(methods))])
		synctest.Test(t, func(t *testing.T) {
			judge(t, world.live(t.Context(), covered))
		})
	}
	if *only != 0 {
		live(t, *only)
		return
	}
	worlds, most, until := len(methods), 20*len(methods), time.Time{}
	whole := draws.Whole() && !testing.Short()
	if !whole {
		most = worlds
	}
	if testing.Short() {
		worlds, most = 10, 10
	}
	if d, err := time.ParseDuration(os.Getenv("CAMPAIGND_REQUESTS")); err == nil {
		until = time.Now().Add(d)
	}
	n, failed := 0, 0
	going := func() bool {
		return n < worlds || n < most && len(covered.uncovered()) > 0 || time.Now().Before(until)
	}
	for failed < 20 && going() {
		n++
		if !t.Run(fmt.Sprint(n), func(t *testing.T) { live(t, uint64(n)) }) {
			failed++
		}
	}
	if !whole {
		return // little is covered so soon
	}
	for _, missing := range covered.uncovered() {
		t.Errorf("not covered: %s", missing)
	}
	for _, path := range allPaths() {
		if testing.Verbose() && exempt[path] == "" {
			t.Logf("%6d of %6d %s", covered.taken[path], covered.tried[path], path)
		}
	}
	t.Logf("%d worlds, %d requests, %d of them recorded, %d kills", n, covered.requests, covered.fulfilled, covered.kills)
}

// Law: a clerk can ask for everything that a request can hold, and change, or try to, every part of a definition.
func TestClerkKnowsEveryRequest(t *testing.T) {
	requests, definitions := reflect.TypeFor[engine.Request](), reflect.TypeFor[definition.Campaign]()
	for i := range requests.NumField() {
		f := requests.Field(i)
		holds := f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice
		if holds && requestKinds[f.Name] == nil {
			t.Errorf("no clerk asks for %s: add a row to requestKinds", f.Name)
		}
	}
	for i := range definitions.NumField() {
		if f := definitions.Field(i); f.Tag.Get("json") != "-" && amendments[f.Name] == nil {
			t.Errorf("no clerk amends %s", f.Name)
		}
	}
}
