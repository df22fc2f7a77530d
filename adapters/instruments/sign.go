package instruments

import (
	"context"
	"math"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// Signaller is an Instrument that gives signs of life while it is at work on a command: progress,
// the device's own handle of the run, and when the next sign is due. They are shown and recorded,
// and the instrument's silence is measured from them.
type Signaller interface {
	// Sign waits for the next sign of a command.
	Sign(ctx context.Context, cmd Command) (events.Sign, error)
	// Signals reports whether it declares that signs of each command come; others may give some,
	// too. It is known once Describe has returned.
	Signals() bool
}

// longestPromise bounds the time until which a device may be silent by its own word.
const longestPromise = 366 * 24 * time.Hour

// RecordableSign returns a sign with the parts that the log can hold. A handle that is too long is
// left out: cut, it would name another run.
func RecordableSign(s events.Sign) events.Sign {
	s.Text = plaintext.Recorded(s.Text, MaxSign)
	if s.Handle != plaintext.Recorded(s.Handle, MaxSign) {
		s.Handle = ""
	}
	if f := s.Fraction; f != nil && !(*f >= 0 && *f <= 1) {
		s.Fraction = nil
	}
	if math.IsNaN(s.NextBy) || s.NextBy < 0 {
		s.NextBy = 0
	}
	s.NextBy = min(s.NextBy, longestPromise.Seconds())
	return s
}
