package problem

import "runtime/debug"

// Recover, deferred, makes an error of a panic, of a programmer's mistake in a
// method, an instrument or campaignd itself, where work of others in the same
// process must go on. The panic's place goes to log.
func Recover(err *error, log func(format string, args ...any), what string) {
	fault := recover()
	if fault == nil {
		return
	}
	log("internal error in %s: %v\n%s", what, fault, debug.Stack())
	*err = New(Internal, "%s ended by a mistake in the program, which the log shows; what is recorded is safe", what)
}
