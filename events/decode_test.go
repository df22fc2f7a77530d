package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// written returns a payload of a kind, in the newest version, as it was once written.
func written(tb testing.TB, kind events.Kind) []byte {
	tb.Helper()
	data := must.Get(os.ReadFile(filepath.Join("testdata", "golden", string(kind)+".v1.json")))(tb)
	return bytes.TrimSuffix(data, []byte("\n"))
}

// foreign is a payload that is not in the table of kinds.
type foreign struct{}

func (foreign) Subject() string { return "" }

// Law: an event is made of a payload of the table that JSON can express, and of nothing
// else: a number that is none, or a type of its own, is an error and no event.
func TestNewRefuses(t *testing.T) {
	measured := func(x float64) events.Payload {
		return &events.ExperimentMeasured{Measurement: events.Measurement{Objective: definition.Quantity{Value: x}}}
	}
	e, err := events.New("electrolyte", measured(12.9))
	want := events.Event{Campaign: "electrolyte", Kind: events.KindExperimentMeasured, Version: 1, Data: e.Data}
	payload, decodeErr := events.Decode(e)
	if err != nil || decodeErr != nil || !cmp.Equal(e, want) || payload.(*events.ExperimentMeasured).Objective.Value != 12.9 {
		t.Errorf("%+v, %v; %+v, %v", e, err, payload, decodeErr)
	}
	for name, payload := range map[string]events.Payload{
		"NaN": measured(math.NaN()), "+Inf": measured(math.Inf(1)), "-Inf": measured(math.Inf(-1)), "another type": foreign{}, "nothing": nil,
	} {
		if e, err := events.New("electrolyte", payload); err == nil || !cmp.Equal(e, events.Event{}) {
			t.Errorf("%s: %+v, %v; want an error", name, e, err)
		}
	}
}

// Law: a kind or version that the table does not know is an UnknownKindError, which says
// what was found where, however much the payload looks like a known one. A newer version
// may mean something else by the same words.
func TestDecodeUnknown(t *testing.T) {
	refused := func(e events.Event) {
		t.Helper()
		payload, err := events.Decode(e)
		want := events.UnknownKindError{Kind: e.Kind, Version: e.Version, Position: e.Position}
		var unknown *events.UnknownKindError
		if payload != nil || !errors.As(err, &unknown) || *unknown != want {
			t.Errorf("%s version %d is %+v, %v; want %+v", e.Kind, e.Version, payload, err, want)
		}
	}
	for _, info := range events.Kinds() {
		e := events.Event{Position: 7, Kind: info.Kind, Data: written(t, info.Kind)}
		for _, version := range []int{info.Version + 1, info.Version + 2, math.MaxInt32, 0, -1} {
			e.Version = version
			refused(e)
		}
		e.Version = info.Version
		if _, err := events.Decode(e); err != nil {
			t.Errorf("%s version %d: %v", e.Kind, e.Version, err)
		}
	}
	for _, kind := range []events.Kind{"", "campaign", "campaign.defined.", "Campaign.Defined", "bus.message"} {
		refused(events.Event{Position: 7, Kind: kind, Version: 1, Data: []byte(`{}`)})
	}
}

// FuzzDecode: no payload of any kind makes decoding panic, and what is decoded can be
// written again, as something that means the same: an audit and an export write what
// they have read.
func FuzzDecode(f *testing.F) {
	kinds := events.Kinds()
	for i, info := range kinds {
		f.Add(byte(i), written(f, info.Kind))
		f.Add(byte(i), []byte(`{}`))
	}
	f.Add(byte(0), []byte(`null`))
	f.Add(byte(0), []byte(`{"definition":{"parallel":0,"space":{"parameters":[]}}}`))
	whole := cmp.Exporter(func(reflect.Type) bool { return true }) // values too, which keep what they are to themselves
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		info := kinds[int(kind)%len(kinds)]
		e := events.Event{Kind: info.Kind, Version: info.Version, Data: data}
		payload, err := events.Decode(e)
		if err != nil {
			return
		}
		if events.KindOf(payload) != info.Kind {
			t.Fatalf("a payload of %s was decoded from one of %s", events.KindOf(payload), info.Kind)
		}
		again, err := events.New("c", payload)
		if err != nil {
			t.Fatalf("%s was decoded from %q as\n%+v\nand cannot be written: %v", info.Kind, data, payload, err)
		}
		back, err := events.Decode(again)
		if err != nil {
			t.Fatalf("%s was decoded from %q, and not from what was written then, %s: %v", info.Kind, data, again.Data, err)
		}
		if diff := cmp.Diff(payload, back, whole, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s was decoded from %q, written as %s, and is now\n%s", info.Kind, data, again.Data, diff)
		}
		if !json.Valid(again.Data) {
			t.Errorf("%s is not JSON", again.Data)
		}
	})
}
