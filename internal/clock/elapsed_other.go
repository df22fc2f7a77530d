//go:build !linux

package clock

import "time"

// elapsed is the time since the process has begun. Whether the machine slept meanwhile it does not
// say: that looks as if the clock was set ahead.
func elapsed() time.Duration { return time.Since(began) }

var began = time.Now()
