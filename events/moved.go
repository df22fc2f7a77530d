package events

// MovedError means that a store has been moved to another address: here it can
// be read, and nothing is appended any more.
type MovedError struct {
	// To is the address, without a password.
	To string
}

// Error implements error.
func (e *MovedError) Error() string {
	return "the store has been moved to " + e.To + ": use it there; here it can only be read"
}

// Unwrap makes it an [ErrMoved].
func (*MovedError) Unwrap() error { return ErrMoved }

// UnfinishedError means that a store is a copy whose making was interrupted:
// nothing is appended before it is all there.
type UnfinishedError struct {
	// Of is the address of the store that was copied.
	Of string
}

// Error implements error.
func (e *UnfinishedError) Error() string {
	return "the copy of " + e.Of + " has not been finished: copy it here again, which goes on from where it stopped"
}

// Unwrap makes it an [ErrUnfinished].
func (*UnfinishedError) Unwrap() error { return ErrUnfinished }
