package control

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// Status says who holds a store and what it is doing.
type Status struct {
	// PID is the process that holds the store, Since when it began.
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	// Campaign is the one it runs.
	Campaign string       `json:"campaign"`
	Build    events.Build `json:"build"`
	// WaitingFor says what for, in words; empty while it works.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Computing says what it is computing, if that takes a while, and since when.
	Computing      string    `json:"computing,omitempty"`
	ComputingSince time.Time `json:"computing_since,omitzero"`
	// Last is the position of the newest event.
	Last events.Position `json:"last"`
}

// Verified is what checking the log found.
type Verified struct {
	// Events is the number of events, Root the root hash over them.
	Events events.Position `json:"events"`
	Root   string          `json:"root"`
	// Faults are what is not as it was written, and what is lost by it.
	Faults []string `json:"faults"`
	// Notes are observations that are no faults.
	Notes []string `json:"notes,omitempty"`
}

// submission is the body of POST /v1/requests.
type submission struct {
	Campaign string         `json:"campaign"`
	Request  engine.Request `json:"request"`
}

// accepted is the answer: the events that were recorded, as CloudEvents.
type accepted struct {
	Events []json.RawMessage `json:"events"`
}

// line ends a stream of events.
type line struct {
	End   bool     `json:"end,omitempty"`
	Error *problem `json:"error,omitempty"`
}

// problem is an error on its way to the client. The class names the sentinel
// it wraps, so that the client's errors.Is says the same as the server's.
type problem struct {
	Class   string `json:"class,omitempty"`
	Message string `json:"message"`
}

// classes maps sentinels to their names in the protocol.
var classes = []struct {
	name     string
	sentinel error
}{
	{"refused", engine.ErrRefused},
	{"no campaign", engine.ErrNoCampaign},
	{"damaged", events.ErrDamaged},
	{"uncertain", events.ErrUncertain},
	{"closed", events.ErrClosed},
	{"canceled", context.Canceled},
}

func toProblem(err error) *problem {
	for _, c := range classes {
		if errors.Is(err, c.sentinel) {
			return &problem{Class: c.name, Message: err.Error()}
		}
	}
	return &problem{Message: err.Error()}
}

func (p *problem) error() error {
	for _, c := range classes {
		if p.Class == c.name {
			return &remoteError{message: p.Message, sentinel: c.sentinel}
		}
	}
	return &remoteError{message: p.Message}
}

// remoteError is an error of the process that holds the store.
type remoteError struct {
	message  string
	sentinel error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.sentinel }
