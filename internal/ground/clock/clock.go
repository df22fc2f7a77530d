// Package clock is the machine's wall clock, for moments that are recorded or compared with
// recorded ones.
//
// A wall clock can be wrong, and be set ahead or back at any time; a machine that sleeps skips some
// of it. So a recorded moment may lie in the future, by a year. Therefore:
//
//   - Durations within a process are measured without it, by [time.Since].
//   - A wait for a moment looks at the clock again every now and then: [Pause].
//   - A moment further ahead than its rule allows is cut to the latest allowed: by [Within] if the
//     result can be stored, by [Cuts] if the moment is recorded.
//   - A change of the clock is noticed: [Steps].
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Drift is the tolerated deviation of a synchronized clock: a smaller one does not count as a step.
const Drift = 5 * time.Second

// lookEvery is the maximum time of a wait before the clock is read again.
const lookEvery = 30 * time.Second

// skew is a test's offset of the wall clock.
type skew struct {
	by    func() time.Duration
	every time.Duration
}

var skewed atomic.Pointer[skew]

// Now returns the time of the wall clock. It has no monotonic reading, so that it compares like a
// recorded time.
func Now() time.Time {
	now := time.Now().Round(0)
	if s := skewed.Load(); s != nil {
		now = now.Add(s.by())
	}
	return now
}

// Skew offsets the wall clock of this process by the result of a function, and makes waits read it
// again after every. Time itself continues as before, as when a clock is set. It is for tests; undo
// ends it.
func Skew(by func() time.Duration, every time.Duration) (undo func()) {
	before := skewed.Swap(&skew{by, every})
	return func() { skewed.Store(before) }
}

// Pause returns how long to wait for a moment at that distance before the clock is read again.
func Pause(away time.Duration) time.Duration {
	every := lookEvery
	if s := skewed.Load(); s != nil {
		every = s.every
	}
	return min(max(away, 0), every)
}

// Within returns the moment itself, or the latest moment allowed if it lies further ahead.
func Within(moment, now time.Time, most time.Duration) time.Time {
	if latest := now.Add(most); moment.After(latest) {
		return latest
	}
	return moment
}

// Cuts holds recorded moments of the past that lie in the future, since the clock was set back:
// each is cut to the time at which that was first noticed. So an hour counted from such a moment
// begins at that time. The zero value is empty. Its methods may be called from several goroutines.
type Cuts[K comparable] struct {
	mu  sync.Mutex
	cut map[K]cut
}

// cut is a moment and when it was first seen to lie ahead.
type cut struct{ moment, seen time.Time }

// Past returns the recorded moment of a key, or its cut.
func (c *Cuts[K]) Past(key K, moment, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !moment.After(now) {
		delete(c.cut, key)
		return moment
	}
	if c.cut == nil {
		c.cut = make(map[K]cut)
	}
	at, known := c.cut[key]
	if !known || !at.moment.Equal(moment) || at.seen.After(now) {
		at = cut{moment, now}
		c.cut[key] = at
	}
	return at.seen
}

// Steps notices changes of the wall clock while the process runs. The zero value begins with its
// first look. It is for one goroutine.
type Steps struct {
	wall time.Time
	ran  time.Duration
}

// Look returns how far the clock was set ahead since the last look; negative if it was set back,
// and 0 if it was not. Sleep of the machine does not count as a step on systems that report it.
func (s *Steps) Look() time.Duration {
	before := elapsed()
	wall := Now()
	ran := elapsed()
	// The process may have waited for a processor between the two clocks.
	unsure := ran - before
	step := wall.Sub(s.wall) - (ran - s.ran)
	first := s.wall.IsZero()
	s.wall, s.ran = wall, ran
	if first || step.Abs() < Drift+unsure {
		return 0
	}
	return step.Round(time.Second)
}
