package lab

import (
	"slices"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: how a campaign is filed is kept in the lab's log, with who did it, and outlives the process; what
// several people change at the same time is all there; what changes nothing is not an event.
func TestFilingIsKept(t *testing.T) {
	folder := t.TempDir()
	own := openLog(t, folder)
	f := &filings{own: own}
	at, other := filed{"a.campaign", "one"}, filed{"b.campaign", "one"}
	by := engine.Request{Actor: "person:ada", Account: "ada"}
	yes := true
	var all sync.WaitGroup
	for _, name := range []string{"polymers", "urgent", "für Eva"} {
		all.Go(func() {
			if err := f.change(t.Context(), at, FilingChange{Add: []string{" " + name}}, by); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, c := range []FilingChange{{Archive: &yes}, {Remove: []string{"urgent"}}, {Remove: []string{"urgent"}}, {Add: []string{"polymers"}}} {
		must.Do(t, f.change(t.Context(), at, c, by))
	}
	if n := len(kindsIn(t, own, events.FilingStream)); n != 5 {
		t.Errorf("five changes are %d events", n)
	}
	must.Do(t, own.Close())
	again := must.Get(lablog.Open(lablog.Dir(folder), lablog.Options{}))(t)
	t.Cleanup(func() { _ = again.Close() })
	f = &filings{own: again}
	if is := f.get(at); !slices.Equal(is.Tags, []string{"für Eva", "polymers"}) || !is.Archived || is.By != "ada" || is.At.IsZero() {
		t.Errorf("after a restart it is filed as %+v", is)
	}
	if is := f.get(other); is.Tags != nil || is.Archived {
		t.Errorf("the one of another store is filed as %+v", is)
	}
}

// Law: a tag is a short text in a line, without what separates tags.
func TestTags(t *testing.T) {
	f := &filings{own: openLog(t, t.TempDir())}
	for _, name := range []string{"", " ", "a,b", "a;b", "a\nb", "a\u202eb", string(make([]byte, 41))} {
		if err := f.change(t.Context(), filed{"a", "one"}, FilingChange{Add: []string{name}}, engine.Request{Actor: "person:ada"}); err == nil {
			t.Errorf("%q is a tag", name)
		}
	}
}
