package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed returns the time since the machine started, including sleep. It cannot be set.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}

var began = time.Now()
