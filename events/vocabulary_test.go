package events_test

import (
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events"
)

// lamp is a payload of a vocabulary beside the campaigns'.
type lamp struct{ Colour string }

func (lamp) Subject() string { return "" }

// Law: a part of a lab has a vocabulary of its own, in which several kinds may have one
// form: it writes and reads its kinds with their type, and no others.
func TestVocabulary(t *testing.T) {
	lamps := events.NewVocabulary(events.RowOf[lamp]("lamp.lit", 2), events.RowOf[lamp]("lamp.dimmed", 1))
	for _, kind := range []events.Kind{"lamp.lit", "lamp.dimmed"} {
		e, err := lamps.New("lamps", kind, &lamp{Colour: "red"})
		if err != nil || e.Campaign != "lamps" || e.Kind != kind {
			t.Fatalf("%s: %+v, %v", kind, e, err)
		}
		if p, err := lamps.Decode(e); err != nil || *p.(*lamp) != (lamp{Colour: "red"}) {
			t.Errorf("%s: %v, %v", kind, p, err)
		}
		var unknown *events.UnknownKindError
		if _, err := events.Decode(e); !errors.As(err, &unknown) {
			t.Errorf("a campaign has %s: %v", kind, err)
		}
		if e.Version++; kind == "lamp.dimmed" {
			if _, err := lamps.Decode(e); !errors.As(err, &unknown) {
				t.Errorf("a version that is not known yet: %v", err)
			}
		}
	}
	for kind, payload := range map[events.Kind]events.Payload{
		"lamp.broken": lamp{}, "lamp.lit": &events.NoteAdded{}, "": nil,
	} {
		if _, err := lamps.New("lamps", kind, payload); err == nil {
			t.Errorf("%q with %T is in the vocabulary", kind, payload)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("one kind has two meanings")
		}
	}()
	events.NewVocabulary(events.RowOf[lamp]("lamp.lit", 1), events.RowOf[lamp]("lamp.lit", 1))
}
