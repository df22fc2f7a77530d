package preference_test

import (
	"context"
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/preference"
)

// soon is a context that is done once somebody has asked twice.
type soon struct {
	context.Context
	asked int
}

func (s *soon) Err() error {
	s.asked++
	if s.asked > 2 {
		return context.Canceled
	}
	return nil
}

// Law: a model of a utility that is called off while it is built is an error.
func TestCancelledWhileItIsBuilt(t *testing.T) {
	p := fitted(t, "raeubo")
	ctx := &soon{Context: context.WithoutCancel(t.Context())}
	if m, err := p.Model(ctx, "ada"); m != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("it is %v, %v", m, err)
	}
	if m, err := p.Model(t.Context(), "ada"); m == nil || err != nil {
		t.Errorf("asked again it is %v, %v", m, err)
	}
}

// Law: a model that was called off is an error, and is not remembered: the next one who
// asks has the model that everybody else has.
func TestCancelled(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, method := range []string{"coexbo", "raeubo"} {
		live := fitted(t, method)
		other := fitted(t, method)
		if m, err := live.Model(cancelled, "ada"); m != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a model that was called off is %v, %v", method, m, err)
		}
		m, err := live.Model(t.Context(), "ada")
		if err != nil || m == nil {
			t.Fatalf("%s: after it was called off once the model is %v, %v", method, m, err)
		}
		want := must.Get(other.Model(t.Context(), "ada"))(t)
		got, expected := predicted(t, m), predicted(t, want)
		for i := range expected {
			if got[i] != expected[i] {
				t.Errorf("%s: it predicts %v, never called off %v", method, got, expected)
				break
			}
		}
	}
}

// fitted is a projection up to the last fit of a campaign.
func fitted(t *testing.T, method string) *preference.Projection {
	t.Helper()
	all := course(t, method)
	last := 0
	for i, e := range all {
		if e.Kind == events.KindModelFitted {
			last = i
		}
	}
	p := projection(t, method)
	for _, e := range all[:last+1] {
		payload := must.Get(events.Decode(e))(t)
		must.Do(t, p.Apply(e, payload))
	}
	return p
}
