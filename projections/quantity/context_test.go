package quantity_test

import (
	"context"
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// Law: what takes long ends with its context, with an error and with no part of a result;
// and what was called off once is not remembered as what is so.
func TestCancelled(t *testing.T) {
	f := begin(t, line(definition.Minimize))
	for i, y := range []float64{3, 1, 2, 5, 4} {
		f.apply(measured(i+1, at(float64(2*i)), y))
	}
	f.apply(fitted("rbf", 3, 1.5, 0.01, 0, 1, 0.4))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := f.Model(cancelled); m != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("a model that was called off is %v, %v", m, err)
	}
	m, err := f.Model(t.Context())
	if err != nil || m == nil {
		t.Fatalf("after it was called off once the model is %v, %v", m, err)
	}
	if again, err := f.Model(cancelled); again != m || err != nil {
		t.Errorf("a model that is there is %v, %v", again, err)
	}

	pending := [][]float64{{0.3}}
	for what, search := range map[string]func() error{
		"a fit":                    func() error { _, err := f.Fit(cancelled, 1); return err },
		"what is expected":         func() error { _, err := m.Fantasize(cancelled, pending); return err },
		"what is expected at most": func() error { _, err := m.FantasizeWorst(cancelled, pending); return err },
		"the utility":              func() error { _, err := m.Negated(cancelled); return err },
	} {
		if err := search(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s that was called off: %v", what, err)
		}
	}
}
