package lab_test

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
)

// Law: where the process that holds a store ends at once, as a run does whose campaign is
// stopped, a campaign is still read from the disk; what has to be asked of it fails with an error
// that says that it is lost, so that whoever asks opens the store anew.
func TestOwnerEndsBeforeItIsAsked(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	def := must.Get(studytest.Define("branin", 1, 3))(t)
	store := filepath.Join(t.TempDir(), "lab.campaign")
	h := must.Get(lab.OpenLocal(t.Context(), store, lab.LocalOptions{Registry: builtin.Registry()}))(t)
	if err := h.Define(t.Context(), events.CampaignDefined{Definition: def}, engine.Request{Actor: "person:ada"}); err != nil {
		t.Fatal(err)
	}
	served := must.Get(h.Serve())(t)
	peer := must.Get(lab.Look(t.Context(), store, builtin.Registry()))(t)
	if read, err := lab.Definition(t.Context(), peer, def.Name); err != nil || read == nil || read.Name != def.Name {
		t.Fatalf("while the owner holds it: %+v, %v", read, err)
	}
	direct := must.Get(lab.OpenCopy(store, builtin.Registry()))(t)
	defer direct.Close()
	for _, s := range []lab.Store{h, peer, direct} { // the same, through whatever it is seen
		if names, err := lab.Campaigns(t.Context(), s); err != nil || !slices.Equal(names, []string{def.Name}) {
			t.Errorf("a %T has the campaigns %q, %v", s, names, err)
		}
	}
	served.Close()
	must.Do(t, h.Close())
	if _, err := lab.Definition(t.Context(), peer, def.Name); !control.IsLost(err) {
		t.Errorf("once the owner has ended, whoever asks is to know that it has: %v", err)
	}
	if core, err := lab.Load(t.Context(), peer, def.Name); err != nil || core.State().Name != def.Name {
		t.Errorf("once the owner has ended: %v", err)
	}
}

// Law: a store is taken where it is free and asked for where another process holds it; to look
// at it needs neither, and changes nothing. A campaign is the same through each of them, even
// where its files cannot be read past the process that holds it.
func TestTakeAndLook(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	def := must.Get(studytest.Define("branin", 1, 3))(t)
	folder := filepath.Join(t.TempDir(), "lab.campaign")
	options := lab.LocalOptions{Registry: builtin.Registry()}
	missing := options
	missing.MustExist = true
	if _, err := lab.Take(t.Context(), folder, missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("taking what is not there: %v", err)
	}
	if _, err := lab.Look(t.Context(), folder, options.Registry); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking at what is not there: %v", err)
	}

	taken := must.Get(lab.Take(t.Context(), folder, options))(t)
	local, ok := taken.(*lab.Local)
	if !ok {
		t.Fatalf("a free store is a %T", taken)
	}
	by := engine.Request{Actor: "person:ada"}
	must.Do(t, local.Define(t.Context(), events.CampaignDefined{Definition: def}, by))
	note := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "new bottle"}}
	same := func(s lab.Store) {
		t.Helper()
		core, err := lab.Load(t.Context(), s, def.Name)
		if err != nil {
			t.Fatalf("through a %T: %v", s, err)
		}
		if last := core.State().Sequence; last != 2 {
			t.Errorf("through a %T the campaign is at %d, want 2", s, last)
		}
		if lab.RunningIn(s, def.Name) != nil {
			t.Errorf("a %T says that the campaign is run", s)
		}
	}

	// Held, and not served: it can be looked at alone.
	looked := must.Get(lab.Look(t.Context(), folder, options.Registry))(t)
	if _, ok := looked.(*lab.Copy); !ok {
		t.Errorf("a store that is not served is looked at as a %T", looked)
	}
	if _, err := looked.Submit(t.Context(), def.Name, note); !errors.Is(err, events.ErrReadOnly) {
		t.Errorf("a request to a copy: %v", err)
	}
	if err := looked.Close(); err != nil {
		t.Error(err)
	}

	server := must.Get(local.Serve())(t)
	peer := must.Get(lab.Take(t.Context(), folder, options))(t)
	if _, ok := peer.(*lab.Peer); !ok {
		t.Errorf("a store that is served is a %T", peer)
	}
	if stored, err := peer.Submit(t.Context(), def.Name, note); err != nil || len(stored) != 1 {
		t.Errorf("a request to the process that holds the store: %d events, %v", len(stored), err)
	}
	same(local)
	same(peer)
	format := filepath.Join(folder, "FORMAT")
	must.Do(t, os.Rename(format, format+".away"))
	same(peer) // by the socket
	must.Do(t, os.Rename(format+".away", format))
	server.Close()
	if err := errors.Join(peer.Close(), local.Close()); err != nil {
		t.Error(err)
	}
	same(peer) // from the disk
}

// altered is a snapshot of which everything holds but what it says of the first experiment: who
// believes it shows it.
func altered(t *testing.T, value []byte) []byte {
	t.Helper()
	n := sha256.Size + 4 + binary.BigEndian.Uint32(value[sha256.Size:])
	text := must.Get(io.ReadAll(flate.NewReader(bytes.NewReader(value[n:]))))(t)
	other := bytes.Replace(text, []byte(`"origin":"initial"`), []byte(`"origin":"person"`), 1)
	if bytes.Equal(text, other) {
		t.Fatal("it says nothing of where the first experiment comes from")
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(other)
	}
	must.Do(t, errors.Join(err, w.Close()))
	rest := slices.Concat(value[sha256.Size:n], packed.Bytes())
	sum := sha256.Sum256(rest)
	return append(sum[:], rest...)
}

// Law: a command sees what is in the log, and not what a snapshot says of it, whether it reads a
// store or holds it: from there it may decide.
func TestCommandsFoldTheLog(t *testing.T) {
	def := must.Get(studytest.Define("ackley4", 1, 6))(t)
	folder := filepath.Join(t.TempDir(), "lab.campaign")
	options := lab.LocalOptions{Registry: builtin.Registry(), Build: events.Build{Revision: "sha256:1"}}
	local := must.Get(lab.OpenLocal(t.Context(), folder, options))(t)
	must.Get(studytest.Simulate(t.Context(), local.Log(), def))(t)
	record, err := local.Record(t.Context(), def.Name)
	if err == nil {
		err = view.NewSnapshots(local.Events(), options.Build).Write(t.Context(), record)
	}
	if err != nil {
		t.Fatal(err)
	}
	var kept []events.KeyValue
	for kv := range must.Each(t, local.Events().Values(t.Context(), "record/")) {
		kept = append(kept, events.KeyValue{Key: kv.Key, Value: altered(t, kv.Value)})
	}
	if len(kept) != 1 {
		t.Fatalf("there are %d snapshots", len(kept))
	}
	must.Do(t, local.Events().SetValues(t.Context(), kept...))
	copied := must.Get(lab.OpenCopy(folder, options.Registry))(t)
	for _, at := range []lab.Store{copied, local} {
		core := must.Get(lab.Load(t.Context(), at, def.Name))(t)
		if origin := core.State().Experiments[0].Origin; origin != events.OriginInitial {
			t.Errorf("%T: the first experiment's origin is %q, as the snapshot has it", at, origin)
		}
	}
	must.Do(t, errors.Join(copied.Close(), local.Close()))
}
