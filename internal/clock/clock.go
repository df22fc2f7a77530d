// Package clock is the machine's wall clock, for moments that are recorded or compared with
// recorded ones.
//
// A wall clock can be wrong, and be set ahead or back at any time; a machine that sleeps skips
// some of it. A recorded moment may so lie ahead, by a year. Therefore:
//
//   - What lasts within a process is measured without it, by [time.Since].
//   - A wait for a moment looks at the clock again every now and then: [Pause].
//   - A moment that lies further ahead than its rule allows is cut to what the rule allows:
//     [Within] where it can be kept so, [Cuts] where it is recorded.
//   - That the clock was set is noticed: [Steps].
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Drift is how far a clock may be off that is kept right all the time: less is no step.
const Drift = 5 * time.Second

// lookEvery is how long a wait lasts at most before the clock is looked at again.
const lookEvery = 30 * time.Second

// skew is what a test has the wall clock be off by.
type skew struct {
	by    func() time.Duration
	every time.Duration
}

var skewed atomic.Pointer[skew]

// Now is the time of the wall clock. It has no monotonic reading, so that it is compared as it
// would be once it was recorded.
func Now() time.Time {
	now := time.Now().Round(0)
	if s := skewed.Load(); s != nil {
		now = now.Add(s.by())
	}
	return now
}

// Skew has the wall clock of this process be off by what a function says, and waits look at it
// again after every. Time itself goes on as it did, as where a clock is set. It is for tests; undo
// ends it.
func Skew(by func() time.Duration, every time.Duration) (undo func()) {
	before := skewed.Swap(&skew{by, every})
	return func() { skewed.Store(before) }
}

// Pause is how long to wait for a moment that is so far away before the clock is looked at again.
func Pause(away time.Duration) time.Duration {
	every := lookEvery
	if s := skewed.Load(); s != nil {
		every = s.every
	}
	return min(max(away, 0), every)
}

// Within returns a moment that lies at most so far ahead: the moment itself or, where it lies
// further ahead, the latest that is allowed.
func Within(moment, now time.Time, most time.Duration) time.Time {
	if latest := now.Add(most); moment.After(latest) {
		return latest
	}
	return moment
}

// Cuts are recorded moments of the past that lie ahead, since the clock was set back: each is cut
// to the time at which that was first seen. What is to last for an hour from such a moment on so
// lasts for an hour from then. The zero value has none. Its methods may be called from several
// goroutines.
type Cuts[K comparable] struct {
	mu  sync.Mutex
	cut map[K]cut
}

// cut is a moment and when it was first seen to lie ahead.
type cut struct{ moment, seen time.Time }

// Past returns the moment that is recorded under a key, or to what it is cut.
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

// Steps notices that the wall clock was set while the process ran. The zero value begins with its
// first look. It is for one goroutine.
type Steps struct {
	wall time.Time
	ran  time.Duration
}

// Look returns how far the clock was set ahead since the last look; negative where it was set
// back, and 0 where it was not. That the machine slept is no step where the system says so.
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
