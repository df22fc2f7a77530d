package control

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Status is the holder of a store and its activity.
type Status struct {
	// PID is the process that holds the store, Since when it opened it.
	PID   int          `json:"pid"`
	Since time.Time    `json:"since"`
	Build events.Build `json:"build"`
	// Host is the machine of a process that holds a store in a database; empty for
	// this machine.
	Host string `json:"host,omitempty"`
	// Identifies is set if requests are recognized by their identifiers: a repeated one is recorded
	// once. An owner of an earlier version leaves it unset, and takes no identifiers.
	Identifies bool `json:"identifies,omitempty"`
	// Last is the position of the newest event.
	Last events.Position `json:"last"`
	// Campaigns are the running ones, in the order of their start.
	Campaigns []Running `json:"campaigns"`
}

// Running is the state of a running campaign.
type Running struct {
	Campaign string `json:"campaign"`
	// Since is when the run began.
	Since time.Time `json:"since"`
	// WaitingFor is the reason for waiting, in words; empty while it works.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Remedies are what a person can do about it.
	Remedies []problem.Remedy `json:"remedies,omitempty"`
	// Computing is the subject of a long computation, and since when.
	Computing      string    `json:"computing,omitempty"`
	ComputingSince time.Time `json:"computing_since,omitzero"`
	// Clock describes a change of the machine's clock since the run began, such as "set back by
	// 1h0m0s"; empty if none was noticed.
	Clock string `json:"clock,omitempty"`
}

// submission is the body of POST /v1/requests.
type submission struct {
	Campaign string         `json:"campaign"`
	Request  engine.Request `json:"request"`
	// Account is the sender's account, in a letter: see trustedKey.
	Account string `json:"account,omitempty"`
}

// accepted is the answer: the events that were recorded, as CloudEvents.
type accepted struct {
	Events []json.RawMessage `json:"events"`
}

// line ends a stream of events, and is the answer to a failed request.
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
