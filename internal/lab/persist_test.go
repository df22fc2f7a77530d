package lab

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Law: a store that is changing hands is asked again until it has an answer, for as long as
// its change may take and no longer; what may have been recorded is repeated only where the
// store can tell a repeat from a second request, and is never said to have failed.
func TestPersist(t *testing.T) {
	inUse := fmt.Errorf("open: %w", events.ErrInUse)
	opening := problem.New(problem.Unavailable, "just being opened")
	refused := problem.New(problem.NotNow, "the campaign is paused")
	uncertain := control.ErrCutOff
	for _, c := range []struct {
		name       string
		repeatable bool
		find, do   []error // one for each attempt; the last for all further ones
		want       error
		attempts   int           // how often the store was looked for; 0 for any number
		took       time.Duration // at least; and less than a second more
	}{
		{name: "at once", find: []error{nil}, do: []error{nil}, attempts: 1},
		{name: "in use for a moment", find: []error{inUse, inUse, nil}, do: []error{nil}, attempts: 3},
		{name: "in use", find: []error{inUse}, want: inUse, took: Patience},
		{name: "the run has just ended", find: []error{nil}, do: []error{errEnded, nil}, attempts: 2},
		{name: "runs end again and again", find: []error{nil}, do: []error{errEnded}, want: errEnded, took: Patience},
		{name: "not there", find: []error{opening}, want: opening, attempts: 1},
		{name: "refused", find: []error{nil}, do: []error{errEnded, refused}, want: refused, attempts: 2},
		{name: "cut off", find: []error{nil}, do: []error{uncertain, nil}, want: uncertain, attempts: 1},
		{name: "cut off, with an identifier", repeatable: true,
			find: []error{nil}, do: []error{uncertain, nil}, attempts: 2},
		{name: "cut off by an earlier version, with an identifier", repeatable: true,
			find: []error{nil}, do: []error{control.ErrCutOffEarlier, nil}, want: control.ErrCutOffEarlier, attempts: 1},
		{name: "taken over meanwhile", repeatable: true,
			find: []error{nil, opening, opening, inUse, nil}, do: []error{uncertain, nil}, attempts: 5},
		{name: "never taken over", repeatable: true,
			find: []error{nil, opening}, do: []error{uncertain}, want: uncertain, took: 3 * Patience},
		{name: "refused as a repeat", repeatable: true,
			find: []error{nil}, do: []error{uncertain, refused}, want: refused, attempts: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := func(script []error, n int) error { return script[min(n, len(script)-1)] }
				found, done := 0, 0
				began := time.Now()
				err := Persist(t.Context(), c.repeatable, func() error {
					found++
					return next(c.find, found-1)
				}, func() error {
					done++
					return next(c.do, done-1)
				})
				if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if c.attempts != 0 && found != c.attempts {
					t.Errorf("%d attempts, want %d", found, c.attempts)
				}
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("it took %s, want %s", took, c.took)
				}
			})
		})
	}
}

// Law: a caller who stops waiting is let go, with the reason.
func TestPersistCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("the power is off")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		err := Patiently(ctx, func() error { return events.ErrInUse })
		if err != reason {
			t.Errorf("%v, want %v", err, reason)
		}
	})
}
