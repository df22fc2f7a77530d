package sdk_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
)

// valve is a device with a safe state.
type valve struct {
	*device
	safe func(reason string) error
}

func (v valve) Safe(_ context.Context, reason string) error { return v.safe(reason) }

// Law: a device is brought to its safe state while it measures, and the answer says whether it is there;
// one without such a state does not say that it has one.
func TestSafe(t *testing.T) {
	var reasons []string
	closed := errors.New("the valve does not close")
	goesOn := make(chan struct{})
	s := serve(t, filepath.Join(t.TempDir(), "ledger"), valve{
		device: &device{measure: func(context.Context, instruments.Command) (events.Measurement, error) {
			<-goesOn
			return conductivity(10)
		}},
		safe: func(reason string) error {
			reasons = append(reasons, reason)
			err := closed
			closed = nil
			return err
		},
	})
	if s.hello["safe"] != true {
		t.Errorf("the handshake does not say that there is a safe state: %v", s.hello)
	}
	s.send(`"op":"start","command":{"id":"c/e1","parameters":{"salt":1}}`)
	s.next()
	for _, want := range []string{"the valve does not close", ""} {
		s.send(`"op":"safe","reason":"a leak"`)
		reply := s.next()
		if said, _ := reply["error"].(string); said != want || (reply["ok"] == true) != (want == "") {
			t.Errorf("it answers %v", reply)
		}
	}
	if len(reasons) != 2 || reasons[1] != "a leak" {
		t.Errorf("it was given %q", reasons)
	}
	close(goesOn)
	s.outcome("c/e1")

	none := serve(t, filepath.Join(t.TempDir(), "ledger"), &device{})
	if none.hello["safe"] != nil {
		t.Errorf("a device without a safe state says %v", none.hello)
	}
	none.send(`"op":"safe"`)
	if reply := none.next(); reply["error"] == nil {
		t.Errorf("it answers %v", reply)
	}
}
