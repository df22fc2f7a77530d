package preference_test

import (
	"context"
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/preference"
)

// Law: a model that was called off is an error, and is not remembered: the next one who
// asks has the model that everybody else has.
func TestCancelled(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, method := range []string{"coexbo", "raeubo"} {
		all := course(t, method)
		last := 0
		for i, e := range all {
			if e.Kind == events.KindModelFitted {
				last = i
			}
		}
		live, other := projection(t, method), projection(t, method)
		for _, p := range []*preference.Projection{live, other} {
			for _, e := range all[:last+1] {
				payload, err := events.Decode(e)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Apply(e, payload); err != nil {
					t.Fatal(err)
				}
			}
		}
		if m, err := live.Model(cancelled, "ada"); m != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a model that was called off is %v, %v", method, m, err)
		}
		m, err := live.Model(t.Context(), "ada")
		if err != nil || m == nil {
			t.Fatalf("%s: after it was called off once the model is %v, %v", method, m, err)
		}
		want, err := other.Model(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		got, expected := predicted(t, m), predicted(t, want)
		for i := range expected {
			if got[i] != expected[i] {
				t.Errorf("%s: it predicts %v, never called off %v", method, got, expected)
				break
			}
		}
	}
}
