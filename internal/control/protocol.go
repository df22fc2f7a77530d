package control

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/problem"
)

// Status says who holds a store and what it is doing.
type Status struct {
	// PID is the process that holds the store; Since is when it began.
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	// Campaign is the one it runs.
	Campaign string       `json:"campaign"`
	Build    events.Build `json:"build"`
	// WaitingFor says in words what it waits for; empty while it works.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Remedies are what a person can do about it.
	Remedies []problem.Remedy `json:"remedies,omitempty"`
	// Computing says what it has been computing for a while, and since when.
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
	// Faults say what differs from what was written, and what is lost.
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

// line ends a stream of events, and is the answer to a request that failed.
type line struct {
	End   bool           `json:"end,omitempty"`
	Error *problem.Error `json:"error,omitempty"`
}

// statuses is the table of HTTP statuses.
var statuses = map[problem.Code]int{
	problem.Invalid:     http.StatusBadRequest,
	problem.NotPossible: http.StatusUnprocessableEntity,
	problem.NotFound:    http.StatusNotFound,
	problem.NoCampaign:  http.StatusNotFound,
	problem.Conflict:    http.StatusConflict,
	problem.NotNow:      http.StatusConflict,
	problem.Gone:        http.StatusGone,
	problem.Unavailable: http.StatusServiceUnavailable,
	problem.Interrupted: http.StatusServiceUnavailable,
	problem.Uncertain:   http.StatusInternalServerError,
	problem.Damaged:     http.StatusInternalServerError,
	problem.Internal:    http.StatusInternalServerError,
	problem.Unsupported: http.StatusNotImplemented,
}
