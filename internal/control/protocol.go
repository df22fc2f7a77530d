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
	// PID is the process that holds the store, Since when it opened it.
	PID   int          `json:"pid"`
	Since time.Time    `json:"since"`
	Build events.Build `json:"build"`
	// Host is the machine of a process that holds a store in a database; empty for
	// this machine.
	Host string `json:"host,omitempty"`
	// Identifies is set where requests are known by their identifiers: one that
	// is sent again is recorded once. An owner of an earlier version does not
	// say so, and takes no identifiers.
	Identifies bool `json:"identifies,omitempty"`
	// Last is the position of the newest event.
	Last events.Position `json:"last"`
	// Campaigns are those that it runs, in the order of their start.
	Campaigns []Running `json:"campaigns"`
}

// Running says what a campaign that is run is doing.
type Running struct {
	Campaign string `json:"campaign"`
	// Since is when the run began.
	Since time.Time `json:"since"`
	// WaitingFor says what for, in words; empty while it works.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Remedies are what a person can do about it.
	Remedies []problem.Remedy `json:"remedies,omitempty"`
	// Computing says what it has been computing for a while, and since when.
	Computing      string    `json:"computing,omitempty"`
	ComputingSince time.Time `json:"computing_since,omitzero"`
	// Clock says how the clock of the machine was set since the run began, such as
	// "set back by 1h0m0s"; empty where that was not noticed.
	Clock string `json:"clock,omitempty"`
}

// submission is the body of POST /v1/requests.
type submission struct {
	Campaign string         `json:"campaign"`
	Request  engine.Request `json:"request"`
	// Account is whose request it is, in a letter: see trustedKey.
	Account string `json:"account,omitempty"`
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

// StatusOf returns the HTTP status of a code.
func StatusOf(code problem.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// statuses is the table of HTTP statuses.
var statuses = map[problem.Code]int{
	problem.Invalid:         http.StatusBadRequest,
	problem.NotPossible:     http.StatusUnprocessableEntity,
	problem.NotFound:        http.StatusNotFound,
	problem.NoCampaign:      http.StatusNotFound,
	problem.Conflict:        http.StatusConflict,
	problem.NotNow:          http.StatusConflict,
	problem.Gone:            http.StatusGone,
	problem.Unauthenticated: http.StatusUnauthorized,
	problem.Forbidden:       http.StatusForbidden,
	problem.TooMany:         http.StatusTooManyRequests,
	problem.Unavailable:     http.StatusServiceUnavailable,
	problem.Interrupted:     http.StatusServiceUnavailable,
	problem.Uncertain:       http.StatusInternalServerError,
	problem.Damaged:         http.StatusInternalServerError,
	problem.Internal:        http.StatusInternalServerError,
	problem.Unsupported:     http.StatusNotImplemented,
}
