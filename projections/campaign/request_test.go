package campaign_test

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: a caller's request is recorded once. A second event with it contradicts the log, whatever
// it says, from a snapshot on too; another actor's of the same name is another request.
func TestRequestsAreRecordedOnce(t *testing.T) {
	f := begin(t)
	note := &events.NoteAdded{Text: "stirred"}
	apply := func(p *campaign.Projection, actor, request, digest string) error {
		e := f.event(note)
		e.Actor, e.Request, e.RequestDigest = actor, request, digest
		e.Sequence = p.State().Sequence + 1
		return p.Apply(e, note)
	}
	for _, r := range [][2]string{{"person:ada", "one"}, {"person:bo", "one"}, {"person:ada", "two"}} {
		must.Do(t, apply(f.Projection, r[0], r[1], "d"))
	}
	snapshot := must.Get(f.Snapshot())(t)
	restored := campaign.New()
	must.Do(t, restored.Restore(snapshot))
	for name, p := range map[string]*campaign.Projection{"folded": f.Projection, "restored": restored} {
		for _, digest := range []string{"d", "another"} {
			err := apply(p, "person:ada", "one", digest)
			if err == nil || !strings.Contains(err.Error(), `the request "one" of person:ada was recorded before, by event 2`) {
				t.Errorf("%s: the second one with the digest %s: %v", name, digest, err)
			}
		}
		if p.State().Sequence != 4 || len(p.State().Notes) != 3 {
			t.Errorf("%s: a second one changes the state: %+v", name, p.State().Notes)
		}
		if found, ok := p.Recorded("person:bo", "one"); !ok || found != (campaign.Recorded{Sequence: 3, Digest: "d"}) {
			t.Errorf("%s: that of bo is %+v, %t", name, found, ok)
		}
		if found, ok := p.Recorded("person:bo", "two"); ok {
			t.Errorf("%s: bo has asked for nothing by two: %+v", name, found)
		}
	}
}

// Law: what is remembered of a request does not grow with its identifier.
func TestRequestsAreBounded(t *testing.T) {
	size := func(id string) int {
		f := begin(t)
		note := &events.NoteAdded{Text: "stirred"}
		e := f.event(note)
		e.Request, e.RequestDigest = id, "d"
		must.Do(t, f.Apply(e, note))
		snapshot := must.Get(f.Snapshot())(t)
		return len(snapshot)
	}
	if short, long := size("a"), size(strings.Repeat("a", events.MaxStringSize)); short != long {
		t.Errorf("a snapshot has %d bytes with a short identifier, %d with a long one", short, long)
	}
}
