// Package problems answers refused requests: problems of RFC 9457 with the code and the remedies of
// internal/ground/problem.
package problems

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Problem is the answer to every failed request: a problem of RFC 9457 with the code and the
// remedies of [problem.Error].
type Problem struct {
	Type   string `json:"type" doc:"A URN of the code."`
	Title  string `json:"title" doc:"What the code means."`
	Status int    `json:"status" doc:"The HTTP status."`
	Detail string `json:"detail" doc:"What happened."`
	// Code is for programs.
	Code     problem.Code `json:"code" doc:"What kind of problem it is, for programs."`
	Subject  string       `json:"subject,omitempty" doc:"What it is about, such as the experiment e7."`
	Remedies []Remedy     `json:"remedies,omitempty" doc:"What can be done, the likeliest first."`
	Faults   []Fault      `json:"faults,omitempty" doc:"What is wrong with what was sent, in its order."`
}

// Remedy is something that can be done about a problem.
type Remedy struct {
	Text    string   `json:"text,omitempty" doc:"What it is good for."`
	Action  string   `json:"action,omitempty" doc:"What is to be done, for programs."`
	Subject string   `json:"subject,omitempty" doc:"To what."`
	Ways    []string `json:"ways,omitempty" doc:"The alternatives; choose one."`
}

// Fault is one fault of a campaign file or a body.
type Fault struct {
	Line    int    `json:"line,omitempty" doc:"The line, counting from 1."`
	Column  int    `json:"column,omitempty" doc:"The column, counting from 1."`
	Field   string `json:"field,omitempty" doc:"The field, as in parameters[1].min."`
	Message string `json:"message" doc:"What is wrong."`
	Remedy  string `json:"remedy,omitempty" doc:"What to do."`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// New returns a problem of a code with only a text.
func New(status int, code problem.Code, detail string) *Problem {
	return &Problem{
		Type:   "urn:campaignd:problem:" + string(code),
		Title:  code.Error(),
		Status: status,
		Detail: detail,
		Code:   code,
	}
}

// Of returns an error as a problem.
//
// Errors with several faults come first, since a single message would lose their places in a file;
// [problem.FromError] converts all others, with the status of their code.
func Of(err error) *Problem {
	var own *Problem
	if errors.As(err, &own) {
		return own
	}
	var faults *yamltree.Error
	if errors.As(err, &faults) {
		p := New(http.StatusUnprocessableEntity, problem.Invalid,
			"The campaign file has faults; nothing was changed.")
		for _, f := range faults.Faults {
			p.Faults = append(p.Faults, Fault{
				Line:    f.Line,
				Column:  f.Column,
				Field:   f.Path.String(),
				Message: f.Message,
				Remedy:  f.Remedy,
			})
		}
		return p
	}
	var rows exchange.Faults
	var row exchange.Fault
	if !errors.As(err, &rows) && errors.As(err, &row) {
		rows = exchange.Faults{row}
	}
	if rows != nil {
		p := New(http.StatusUnprocessableEntity, problem.Invalid,
			"The table has faults; nothing was changed.")
		for _, f := range rows {
			p.Faults = append(p.Faults, Fault{Line: f.Line, Column: f.Column, Field: f.Field,
				Message: f.Message()})
		}
		return p
	}
	var amend *campaignfile.AmendError
	if errors.As(err, &amend) {
		detail := "A campaign under way does not allow these changes; nothing was changed."
		if amend.Imagined {
			detail = "A campaign under way does not allow these changes. " + amend.Consequence()
		}
		p := New(http.StatusUnprocessableEntity, problem.NotPossible, detail)
		for _, r := range amend.Refused {
			p.Faults = append(p.Faults, Fault{Field: r.Place, Message: r.Text()})
		}
		return p
	}
	known := problem.FromError(err)
	p := New(control.StatusOf(known.Code), known.Code, known.Message)
	p.Subject = known.Subject
	for _, r := range known.Remedies {
		p.Remedies = append(p.Remedies, Remedy{
			Text:    r.Text,
			Action:  string(r.Action),
			Subject: r.Subject,
			Ways:    r.Ways,
		})
	}
	var sent problem.RowFaults
	if errors.As(err, &sent) {
		for _, f := range sent {
			p.Faults = append(p.Faults, Fault{Field: fmt.Sprintf("[%d]", f.Row-1), Message: f.Err.Error()})
		}
	}
	return p
}

// codes are the codes of faults found before a request reaches a campaign.
var codes = map[int]problem.Code{
	http.StatusBadRequest:            problem.Invalid,
	http.StatusUnprocessableEntity:   problem.Invalid,
	http.StatusRequestEntityTooLarge: problem.Invalid,
	http.StatusUnsupportedMediaType:  problem.Invalid,
	http.StatusNotAcceptable:         problem.Invalid,
	http.StatusRequestTimeout:        problem.Interrupted,
	http.StatusNotFound:              problem.NotFound,
}

// Refused converts the faults that the API's library finds in a request. One of our own errors
// among them wins.
func Refused(status int, message string, errs ...error) *Problem {
	for _, err := range errs {
		var p *Problem
		if errors.As(err, &p) {
			return p
		}
	}
	code, ok := codes[status]
	if !ok {
		code = problem.Internal
		if status < http.StatusInternalServerError {
			code = problem.Invalid
		}
	}
	p := New(status, code, message)
	for _, err := range errs {
		fault := Fault{Message: err.Error()}
		var detail huma.ErrorDetailer
		if errors.As(err, &detail) {
			d := detail.ErrorDetail()
			fault.Field, fault.Message = d.Location, d.Message
		}
		p.Faults = append(p.Faults, fault)
	}
	return p
}

// UnreadBody converts the error of reading a body.
func UnreadBody(err error) *Problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		text := fmt.Sprintf("The body is larger than %d bytes.", large.Limit)
		return Refused(http.StatusRequestEntityTooLarge, text)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Refused(http.StatusRequestTimeout, "The body did not come in time.")
	}
	return Refused(http.StatusBadRequest, "The body did not come whole.")
}

// Write answers with a problem.
func Write(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}

// Or converts an error to a problem, nil to nil.
func Or(err error) error {
	if err == nil {
		return nil
	}
	return Of(err)
}
