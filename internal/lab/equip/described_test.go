package equip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// Law: an instrument that does not describe itself yet is asked again, with longer and longer
// waits that are told of; one that cannot is not, and whoever stops waiting is let go.
func TestDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		later := fmt.Errorf("%w: the door is open", instruments.ErrLater)
		tries := 0
		var waits []time.Duration
		err := Described(t.Context(), func() error {
			if tries++; tries < 10 {
				return later
			}
			return nil
		}, func(_ error, again time.Duration) { waits = append(waits, again) })
		want := []time.Duration{
			5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second,
			160 * time.Second, 320 * time.Second, 10 * time.Minute, 10 * time.Minute,
		}
		if err != nil || tries != 10 || !slices.Equal(waits, want) {
			t.Errorf("%d tries, waits %v: %v", tries, waits, err)
		}

		nonsense := errors.New("it speaks another protocol")
		tries = 0
		err = Described(t.Context(), func() error { tries++; return nonsense }, func(error, time.Duration) { t.Error("waited for nonsense") })
		if err != nonsense || tries != 1 {
			t.Errorf("%d tries: %v", tries, err)
		}

		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		err = Described(ctx, func() error { return later }, func(error, time.Duration) { cancel(enough) })
		if err != enough {
			t.Errorf("whoever stops waiting gets %v", err)
		}
	})
}
