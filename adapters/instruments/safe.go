package instruments

import "context"

// Safer is an Instrument whose device can be brought to a safe state, in which nothing moves, flows or
// heats: a person aborts the campaign because the solvent leaks, or it smells of smoke.
type Safer interface {
	// Safe brings the device to its safe state, whatever it is at work on, and returns nil once it is
	// there. It comes past every queue, at any time and any number of times, to an idle device, too. What
	// was under way ends, and Await gives its outcome. After an error nothing is known: it is asked again.
	Safe(ctx context.Context, reason string) error
	// Secures reports whether the device has such a state. It is known once Describe has returned.
	Secures() bool
}
