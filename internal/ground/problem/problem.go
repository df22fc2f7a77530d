// Package problem represents failures and their remedies as data.
//
// An [Error] has a code for programs, a subject, a message that describes the failure, and
// remedies. A message never tells what to type or click: the program that shows it turns each
// [Remedy] into a command, a button or a link. The codes are mapped in two places:
// cmd/campaignd/app maps them to exit codes, internal/engine/control to HTTP statuses.
//
// The JSON of an Error is that of a problem of RFC 9457, whose optional members type, title and
// status are derived from the code.
package problem

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
)

// Code classifies errors. A Code is an error itself, so that errors.Is(err,
// [NotFound]) says whether err has that code.
type Code string

const (
	// Invalid is input that cannot be read or contradicts itself, whatever the
	// campaign.
	Invalid Code = "invalid"
	// NotPossible is a request that is understood, but that this campaign can
	// never fulfill.
	NotPossible Code = "not_possible"
	// NotFound is something that the campaign does not have, such as an
	// experiment.
	NotFound Code = "not_found"
	// Conflict is a request that contradicts the recorded events, or adds nothing new.
	Conflict Code = "conflict"
	// NotNow is a request that the campaign's present state does not allow.
	NotNow Code = "not_now"
	// Gone is a request that comes after the end of the campaign.
	Gone Code = "gone"
	// NoCampaign is a campaign that the store does not hold.
	NoCampaign Code = "no_campaign"
	// Unavailable is a store or a device that cannot be used now: it is not
	// there, does not answer, or is held by another.
	Unavailable Code = "unavailable"
	// Uncertain is a request that may or may not have been recorded.
	Uncertain Code = "uncertain"
	// Damaged is a store whose bytes differ from those that were written.
	Damaged Code = "damaged"
	// Unsupported is input that only another version of the program understands.
	Unsupported Code = "unsupported"
	// Interrupted is work that was stopped on request before it was done.
	Interrupted Code = "interrupted"
	// Unauthenticated is a request of a caller who has not logged in, or whose
	// login is too old for what they ask.
	Unauthenticated Code = "unauthenticated"
	// Forbidden is a request of a caller who does not have the permission.
	Forbidden Code = "forbidden"
	// TooMany is a request that comes too soon after others.
	TooMany Code = "too_many"
	// Internal is everything else.
	Internal Code = "internal"
)

// kinds is the table of codes: their titles, and the errors of other packages that have them. A
// received error stands for the first of these errors.
var kinds = []struct {
	code  Code
	title string
	same  []error
}{
	{Invalid, "what was sent is not valid", []error{ErrInvalidRequest}},
	{NotPossible, "the campaign cannot do it", []error{ErrInvalidRequest}},
	{NotFound, "the campaign has no such thing", []error{ErrInvalidRequest}},
	{Conflict, "it contradicts what is recorded", []error{ErrInvalidRequest}},
	{NotNow, "the campaign does not allow it now", []error{ErrInvalidRequest}},
	{Gone, "the campaign is over", []error{ErrInvalidRequest}},
	{Unauthenticated, "it is not known who asks", []error{ErrInvalidRequest}},
	{Forbidden, "the caller may not do that", []error{ErrInvalidRequest}},
	{TooMany, "it is too soon", []error{ErrInvalidRequest}},
	{NoCampaign, "the store holds no such campaign", nil},
	{Interrupted, "interrupted", []error{context.Canceled}},
	{Damaged, "the store is damaged", []error{events.ErrDamaged}},
	{Unsupported, "another version of campaignd is needed",
		[]error{events.ErrNewerFormat, events.ErrEarlierFormat}},
	{Uncertain, "it may or may not be recorded", []error{events.ErrUncertain}},
	{Unavailable, "what it needs cannot be used now", []error{events.ErrClosed, events.ErrInUse, events.ErrMoved, events.ErrUnfinished, events.ErrUnavailable}},
	{Internal, "something went wrong", nil},
}

// errors.Is finds ErrInvalidRequest in every error that is due to the request, and not to the store
// or the program: nothing was changed.
var ErrInvalidRequest = errors.New("the request cannot be fulfilled")

// Codes returns every code there is.
func Codes() []Code {
	codes := make([]Code, len(kinds))
	for i, k := range kinds {
		codes[i] = k.code
	}
	return codes
}

// Error is the code's title.
func (c Code) Error() string {
	for _, k := range kinds {
		if k.code == c {
			return k.title
		}
	}
	return string(c)
}

// Error is a problem.
type Error struct {
	Code Code `json:"code"`
	// Subject is the subject of the error, such as the experiment "e7"; may be empty.
	Subject string `json:"subject,omitempty"`
	// Message describes the failure, but not the remedy.
	Message string `json:"detail"`
	// Remedies are the possible remedies, the likeliest first.
	Remedies []Remedy `json:"remedies,omitempty"`

	cause error // the wrapped error of Message, if any
}

// New returns an error. The format is that of [fmt.Errorf]: errors.Is finds errors wrapped with %w.
func New(code Code, format string, args ...any) *Error {
	cause := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: cause.Error(), cause: cause}
}

// About returns the error with a subject.
func (e *Error) About(subject string) *Error {
	e.Subject = subject
	return e
}

// With returns the error with further remedies.
func (e *Error) With(remedies ...Remedy) *Error {
	e.Remedies = append(e.Remedies, remedies...)
	return e
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the wrapped errors; nil for an error that was received.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether the error has the code target, or is the error that its code stands for. A
// received error wraps nothing: only its code identifies it.
func (e *Error) Is(target error) bool {
	if target == error(e.Code) {
		return true
	}
	if e.cause != nil && target != ErrInvalidRequest {
		return false
	}
	for _, k := range kinds {
		if k.code == e.Code && len(k.same) > 0 {
			return target == k.same[0]
		}
	}
	return false
}

// ProblemCode implements [Coded].
func (e *Error) ProblemCode() Code { return e.Code }

// ProblemCode implements [Coded].
func (c Code) ProblemCode() Code { return c }

// Coded is an error that knows its code.
type Coded interface {
	error
	ProblemCode() Code
}

// CodeOf returns the code of a non-nil error: one of [Codes], [Internal] for any other error.
func CodeOf(err error) Code {
	if errors.Is(err, context.Canceled) {
		return Interrupted // whatever was interrupted
	}
	var coded Coded
	if errors.As(err, &coded) && slices.Contains(Codes(), coded.ProblemCode()) {
		return coded.ProblemCode() // not a code of a later version, which came over a wire
	}
	for _, k := range kinds {
		for _, same := range k.same {
			if errors.Is(err, same) {
				return k.code
			}
		}
	}
	var unknown *events.UnknownKindError
	if errors.As(err, &unknown) {
		return Unsupported
	}
	return Internal
}

// FromError returns an error as data, with the whole of its text. err is not
// nil.
func FromError(err error) *Error {
	var known *Error
	if !errors.As(err, &known) {
		return &Error{Code: CodeOf(err), Message: err.Error(), cause: err}
	}
	whole := *known
	whole.Code = CodeOf(err)
	whole.Message = err.Error()
	whole.cause = err
	return &whole
}

// RemediesOf returns the remedies of an error, or nil.
func RemediesOf(err error) []Remedy {
	var known *Error
	if errors.As(err, &known) {
		return known.Remedies
	}
	return nil
}
