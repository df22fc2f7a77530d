package chaos

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine/drive"
)

// lease is that of the device; it is lost for good at one of the looks at it.
type lease struct {
	life *Life
	lost atomic.Bool
}

// Check implements [drive.Lease].
func (l *lease) Check() error {
	w := l.life.world
	if l.lost.Load() || !l.life.honest.Load() && w.chance("lease", l.life.lives, l.life.looks.Add(1)).Float64() < w.Loses {
		l.lost.Store(true)
		return errors.New("the file of the lock was removed")
	}
	return nil
}

// Tickets implements [drive.Lease].
func (l *lease) Tickets() drive.Tickets { return nil }

// Release implements [drive.Lease].
func (l *lease) Release() {}

// meter gives every computation a span of its own.
type meter struct{}

var spans atomic.Uint64

// Trace implements [drive.Meter].
func (meter) Trace(parent, _ string) (string, func(error)) {
	if parent == "" {
		parent = fmt.Sprintf("00-%032x-%016x-01", 9, 1)
	}
	return fmt.Sprintf("%s%016x-01", parent[:36], spans.Add(1)), func(error) {}
}

// ObserveDuration implements [drive.Meter].
func (meter) ObserveDuration(string, time.Duration) {}

// CountEvent implements [drive.Meter].
func (meter) CountEvent(events.Event) {}
