package view_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
)

var (
	thisBuild  = events.Build{Version: "v1", Revision: "sha256:1"}
	otherBuild = events.Build{Version: "v1", Revision: "sha256:2"}
)

// storeOf is a store of its own with some events of a campaign, under a name.
func storeOf(t *testing.T, name string, all ...events.Event) events.Store {
	t.Helper()
	s := must.Get(store.Open(t.TempDir(), store.Options{}))(t)
	t.Cleanup(func() { s.Close() })
	grow(t, s, name, all...)
	return s
}

func grow(t *testing.T, s events.Store, name string, all ...events.Event) {
	t.Helper()
	for _, e := range all {
		payload := must.Get(events.Decode(e))(t)
		if defined, ok := payload.(*events.CampaignDefined); ok {
			defined.Definition.Name = name
		}
		again := must.Get(events.New(name, payload))(t)
		again.Time, again.Actor, again.Simulated = e.Time, e.Actor, e.Simulated
		must.Get(s.Append(t.Context(), name, events.AnySequence, again))(t)
	}
}

// keep writes a snapshot of a campaign as its store has it.
func keep(t *testing.T, s events.Store, build events.Build, name string) {
	t.Helper()
	r, err := view.FoldRecord(t.Context(), builtin.Registry(), s, name)
	if err == nil {
		err = view.NewSnapshots(s, build).Write(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func valuesOf(t *testing.T, s events.Store) (all []events.KeyValue) {
	t.Helper()
	for kv := range must.Each(t, s.Values(t.Context(), "record/")) {
		all = append(all, kv)
	}
	return all
}

// forge changes the heading and the packed campaign of a snapshot, under the right checksum.
func forge(value []byte, heading func(map[string]any), packed func([]byte) []byte) []byte {
	n := binary.BigEndian.Uint32(value[sha256.Size:])
	text, rest := value[sha256.Size+4:][:n], value[sha256.Size+4+n:]
	var h map[string]any
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber() // as they are written
	if err := numbers.Decode(&h); err != nil {
		panic(err)
	}
	heading(h)
	text, _ = json.Marshal(h)
	body := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	body = slices.Concat(body, text, packed(rest))
	sum := sha256.Sum256(body)
	return append(sum[:], body...)
}

// Law: with, without and with damaged, stale or foreign snapshots every reader sees the same: what
// a fold from the first event gives. One that fits is believed, so that the events before it are
// not folded again.
func TestSnapshotsAreACache(t *testing.T) {
	log, core := choosing(t)
	name := core.State().Name
	var all []events.Event
	for e := range must.Each(t, events.ReadCampaign(t.Context(), log, name, 0)) {
		all = append(all, e)
	}
	half := len(all) / 2
	same := func(b []byte) []byte { return b }
	// of is the value of the snapshot that a store of its own would have.
	of := func(build events.Build, name string, all ...events.Event) []byte {
		s := storeOf(t, name, all...)
		keep(t, s, build, name)
		return valuesOf(t, s)[0].Value
	}
	other := slices.Clone(all)
	for i := range other { // the same campaign, somewhere else
		other[i].Actor = "person:eve"
	}
	type test struct {
		name     string
		values   func(s events.Store)
		believed events.Sequence
	}
	put := func(at int, value func(own []byte) []byte) func(events.Store) {
		return func(s events.Store) {
			keep(t, s, thisBuild, name)
			own := valuesOf(t, s)[0]
			key := own.Key[:strings.LastIndex(own.Key, "/")+1] + fmt.Sprintf("%020d", at)
			changes := []events.KeyValue{{Key: own.Key}, {Key: key, Value: value(own.Value)}}
			if key == own.Key {
				changes = changes[1:]
			}
			must.Do(t, s.SetValues(t.Context(), changes...))
		}
	}
	last := events.Sequence(len(all))
	tests := []test{
		{"none", func(events.Store) {}, 0},
		{"of the last event", func(s events.Store) { keep(t, s, thisBuild, name) }, last},
		{"of an event between", put(half, func([]byte) []byte { return of(thisBuild, name, all[:half]...) }), events.Sequence(half)},
		{"of another build", put(len(all), func([]byte) []byte { return of(otherBuild, name, all...) }), 0},
		{"of another history", put(half, func([]byte) []byte { return of(thisBuild, name, other[:half]...) }), 0},
		{"of an event past the log", put(len(all)+1, func([]byte) []byte {
			stopped := must.Get(events.New(name, &events.NoteAdded{Text: "past the log"}))(t)
			stopped.Time, stopped.Actor = all[len(all)-1].Time, "person:ada"
			return of(thisBuild, name, append(slices.Clone(all), stopped)...)
		}), 0},
		{"of another campaign of the store", func(s events.Store) {
			grow(t, s, "another", all[:half]...)
			keep(t, s, thisBuild, "another")
			foreign := valuesOf(t, s)[0]
			if err := s.SetValues(t.Context(), events.KeyValue{Key: strings.Replace(foreign.Key, "another", name, 1), Value: foreign.Value}); err != nil {
				t.Fatal(err)
			}
		}, 0},
		{"of an empty log", put(half, func(own []byte) []byte {
			return forge(own, func(h map[string]any) { h["head"].(map[string]any)["N"] = 0 }, same)
		}), 0},
		{"not restorable", put(len(all), func(own []byte) []byte {
			return forge(own, func(map[string]any) {}, func([]byte) []byte { return []byte("rubbish") })
		}), last},
		{"cut off", put(len(all), func(own []byte) []byte { return own[:len(own)-1] }), 0},
		{"too short", put(len(all), func(own []byte) []byte { return own[:10] }), 0},
		{"empty", put(len(all), func(own []byte) []byte { return []byte{} }), 0},
		{"damaged, before one that is sound", func(s events.Store) {
			put(half, func([]byte) []byte { return of(thisBuild, name, all[:half]...) })(s)
			key := valuesOf(t, s)[0].Key
			newer := key[:strings.LastIndex(key, "/")+1] + fmt.Sprintf("%020d", len(all))
			must.Do(t, s.SetValues(t.Context(), events.KeyValue{Key: newer, Value: []byte("?")}))
		}, events.Sequence(half)},
	}
	for i := range 40 {
		tests = append(tests, test{fmt.Sprintf("damaged %d", i), put(len(all), func(own []byte) []byte {
			damaged := bytes.Clone(own)
			damaged[i*(len(own)-1)/39] ^= 1
			return damaged
		}), 0})
	}
	for _, c := range tests {
		s := storeOf(t, name, all...)
		c.values(s)
		sameForAll(t, c.name, s, name, c.believed)
	}
}

// sameForAll checks what readers of a campaign see, of whom some begin from a snapshot.
func sameForAll(t *testing.T, what string, s events.Store, name string, believed events.Sequence) {
	t.Helper()
	sameForAllOf(t, what, s, thisBuild, name, believed)
}

func sameForAllOf(
	t *testing.T, what string, s events.Store, build events.Build, name string, believed events.Sequence,
) {
	t.Helper()
	want, err := engine.Load(t.Context(), builtin.Registry(), s, name) // the oracle: a fold
	if err != nil {
		t.Fatal(err)
	}
	last := want.State().Sequence
	r := view.NewRecord(builtin.Registry(), name, new(view.Past))
	view.NewSnapshots(s, build).Restore(t.Context(), r)
	if r.Sequence() != believed {
		t.Errorf("%s: it begins at event %d, and not at %d", what, r.Sequence(), believed)
	}
	for e, err := range events.ReadCampaign(t.Context(), s, name, r.Sequence()) {
		if err != nil || !r.Take(e) {
			t.Fatal(what, e.Sequence, err, r.Broken())
		}
	}
	if got, want := inJSON(t, r.Stands()), inJSON(t, view.CampaignOf(want, view.Shown{}, "")); got != want {
		t.Errorf("%s: it stands as\n%s\nand a fold as\n%s", what, got, want)
	}
	whole := r.Stands()
	whole.Summary, whole.Values = engine.Summary{}, nil
	if got, want := inJSON(t, view.Standing(want, "")), inJSON(t, whole); got != want {
		t.Errorf("%s: without its summary and values it stands as\n%s\nnot as\n%s", what, got, want)
	}
	for _, at := range []events.Sequence{last / 3, last} {
		got, err := r.At(t.Context(), s, at)
		if err != nil {
			t.Fatal(what, err)
		}
		want := engine.NewCore(builtin.Registry())
		must.Do(t, want.Forward(t.Context(), s, name, at))
		if digest(t, got) != digest(t, want) {
			t.Errorf("%s: event %d is not as a fold has it", what, at)
		}
	}
	now, err := r.Now(t.Context(), s)
	if err != nil || digest(t, now) != digest(t, want) {
		t.Errorf("%s: the end is not as a fold has it: %v", what, err)
	}
	id := events.DecisionID(want.State().Decisions)
	folded := must.Get(view.FoldRecord(t.Context(), builtin.Registry(), s, name))(t)
	d1, err1 := r.Decision(t.Context(), s, id)
	d2, err2 := folded.Decision(t.Context(), s, id)
	if err1 != nil || err2 != nil || inJSON(t, d1) != inJSON(t, d2) {
		t.Errorf("%s: the last decision is told otherwise: %v %v", what, err1, err2)
	}
}

// whole is all of a core, the time of its last event included, as its snapshot has it.
func whole(t *testing.T, core *engine.Core) string {
	t.Helper()
	s, err := core.Snapshot()
	if err != nil || s.Last.IsZero() {
		t.Fatal(s.Last, err)
	}
	return inJSON(t, s)
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	text := must.Get(json.Marshal(v))(t)
	return string(text)
}

// Law: a record at rest stands where it stood, takes events as one that is not, and comes back for
// whoever reads it; one that was read since the last call stays.
func TestRecordRests(t *testing.T) {
	log, core := choosing(t)
	name := core.State().Name
	r := view.NewRecord(builtin.Registry(), name, new(view.Past))
	folded := engine.NewCore(builtin.Registry())
	for e, err := range events.ReadCampaign(t.Context(), log, name, 0) {
		if err == nil {
			err = folded.Apply(e)
		}
		taken := r.Take(e)
		again := r.Take(e)
		if err != nil || !taken || again {
			t.Fatal(e.Sequence, err, r.Broken())
		}
		for range 2 { // to rest twice is to rest
			if !r.Rest() {
				t.Fatal("it does not rest")
			}
		}
		if r.Sequence() != e.Sequence || r.Definition().Name != name || inJSON(t, r.Stands()) != inJSON(t, view.CampaignOf(folded, view.Shown{}, "")) {
			t.Fatalf("after event %d it stands elsewhere at rest", e.Sequence)
		}
		if e.Sequence%10 != 0 {
			continue
		}
		got := ""
		r.Read(func(core *engine.Core) { got = whole(t, core) })
		if got != whole(t, folded) {
			t.Fatalf("event %d is not as a fold has it", e.Sequence)
		}
		if r.Rest() {
			t.Fatal("it rests though it was just read")
		}
	}
}

// Law: the newest two snapshots are kept; and a build that is not known writes and believes none.
func TestSnapshotsAreThinned(t *testing.T) {
	log, core := choosing(t)
	name := core.State().Name
	s := storeOf(t, name)
	kept := view.NewSnapshots(s, thisBuild)
	r := view.NewRecord(builtin.Registry(), name, new(view.Past))
	for e := range must.Each(t, events.ReadCampaign(t.Context(), log, name, 0)) {
		grow(t, s, name, e)
		r.Take(e)
		for range 2 {
			must.Do(t, kept.Write(t.Context(), r))
		}
		all := valuesOf(t, s)
		if want := min(2, int(e.Sequence)); len(all) != want || !strings.HasSuffix(all[want-1].Key, fmt.Sprintf("/%020d", e.Sequence)) {
			t.Fatalf("after event %d there are %d", e.Sequence, len(all))
		}
	}
	kept = view.NewSnapshots(s, otherBuild) // which does not believe these
	kept.Restore(t.Context(), view.NewRecord(builtin.Registry(), name, new(view.Past)))
	if err := kept.Write(t.Context(), r); err != nil || len(valuesOf(t, s)) != 1 {
		t.Errorf("those of another build stay: %d, %v", len(valuesOf(t, s)), err)
	}
	sameForAllOf(t, "of the newer build", s, otherBuild, name, r.Sequence())
	unknown := storeOf(t, name)
	if err := view.NewSnapshots(unknown, events.Build{Version: "v1"}).Write(t.Context(), r); err != nil || len(valuesOf(t, unknown)) != 0 {
		t.Error(err)
	}
}
