package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed is the time since the machine has started, in which it may have slept. No one sets it.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}

var began = time.Now()
