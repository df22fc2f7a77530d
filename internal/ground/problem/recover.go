package problem

import "runtime/debug"

// Recover, deferred, turns a panic into an error, so that a programmer's mistake in a method, an
// instrument or campaignd itself does not stop others in the same process. The panic's place goes
// to log.
func Recover(err *error, log func(format string, args ...any), what string) {
	fault := recover()
	if fault == nil {
		return
	}
	log("internal error in %s: %v\n%s", what, fault, debug.Stack())
	*err = New(Internal, "%s ended by a mistake in the program, which the log shows; recorded events are safe", what)
}
