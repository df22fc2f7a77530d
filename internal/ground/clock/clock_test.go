package clock_test

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/clock"
)

// set moves the wall clock of the test, as an administrator or NTP would.
func set(t *testing.T) (move func(time.Duration)) {
	var by time.Duration
	t.Cleanup(clock.Skew(func() time.Duration { return by }, time.Millisecond))
	return func(d time.Duration) { by += d }
}

// Law: a step of the wall clock is noticed once, with its sign and size, and time that merely
// passes is none.
func TestSteps(t *testing.T) {
	move := set(t)
	var steps clock.Steps
	for i, c := range []struct{ by, want time.Duration }{
		{0, 0}, {time.Hour, time.Hour}, {0, 0}, {-365 * 24 * time.Hour, -365 * 24 * time.Hour}, {0, 0},
		{time.Second, 0}, // as a clock that is kept right is put right
	} {
		move(c.by)
		if got := steps.Look(); i > 0 && got.Round(10*time.Second) != c.want {
			t.Errorf("look %d: a step of %s, want %s", i, got, c.want)
		}
	}
}

// Law: the wall clock is compared as it would be once it was recorded: no monotonic reading hides
// that it was set.
func TestNowIsTheWallClock(t *testing.T) {
	move := set(t)
	before := clock.Now()
	move(-time.Hour)
	if after := clock.Now(); !after.Before(before.Add(-59 * time.Minute)) {
		t.Errorf("an hour back, it is %s after %s", after, before)
	}
}

// Law: of what is to last for some time from a recorded moment on, as much is left at most as if
// the moment was now; however far ahead it lies, and however often it is asked.
func TestCuts(t *testing.T) {
	const lasts = time.Hour
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, ahead := range []time.Duration{-30 * time.Minute, 0, time.Second, time.Hour, 365 * 24 * time.Hour} {
		var cuts clock.Cuts[string]
		moment := now.Add(ahead)
		left := func(at time.Time) time.Duration {
			return cuts.Past("a", moment, at).Add(lasts).Sub(at)
		}
		want := lasts + min(ahead, 0)
		for passed := time.Duration(0); passed <= lasts; passed += 10 * time.Minute {
			// Where the clock comes by the moment itself, that holds again.
			if got := left(now.Add(passed)); got != want-passed && passed < max(ahead, 0) || got > lasts {
				t.Errorf("%s ahead, after %s: %s is left, want %s", ahead, passed, got, want-passed)
			}
		}
	}
}

// Law: a wait looks at the clock again before long, and is never negative.
func TestPause(t *testing.T) {
	for away, want := range map[time.Duration]time.Duration{
		-time.Hour: 0, 0: 0, time.Second: time.Second, 365 * 24 * time.Hour: 30 * time.Second,
	} {
		if got := clock.Pause(away); got != want {
			t.Errorf("%s away: %s, want %s", away, got, want)
		}
	}
}
