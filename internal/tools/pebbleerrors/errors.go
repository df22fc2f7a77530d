// Package errors stands in for github.com/cockroachdb/errors where campaignd is built
// from a checkout: that one sends errors from one machine of a cluster to another, with
// their types, stacks and reports to Sentry, for which it links two more libraries and
// makes the program 1.8 MB larger. This is what Pebble, which alone uses it, calls of it,
// over the standard library.
//
// Texts, causes and marks are the same. %+v adds the details, without the stacks and the
// types.
package errors

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/redact"
)

// layer is what was put around an error, or an error without a cause.
type layer struct {
	text   string // of all of it
	cause  error
	mark   error  // what it is, too, or nil
	detail string // what %+v adds
}

func (l *layer) Error() string { return l.text }
func (l *layer) Unwrap() error { return l.cause }

// Is has the standard library find the mark.
func (l *layer) Is(target error) bool { return l.mark != nil && errors.Is(l.mark, target) }

// Format implements [fmt.Formatter].
func (l *layer) Format(s fmt.State, verb rune) {
	text := l.text
	for err := error(l); s.Flag('+') && err != nil; err = errors.Unwrap(err) {
		if inner, ok := err.(*layer); ok && inner.detail != "" {
			text += "\n" + inner.detail
		}
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), text)
}

// around puts a layer around an error; it is nil around nil.
func around(err error, l layer) error {
	if err == nil {
		return nil
	}
	l.text, l.cause = l.text+err.Error(), err
	return &l
}

// New returns an error with a text.
func New(text string) error { return &layer{text: text} }

// Errorf returns an error with a text that is formatted as package redact does it, which
// asks some values for another text than package fmt does. What %w stands for is its cause.
func Errorf(format string, args ...any) error {
	text, cause := redact.HelperForErrorf(format, args...)
	return &layer{text: text.StripMarkers(), cause: cause}
}

// Newf is Errorf.
func Newf(format string, args ...any) error { return Errorf(format, args...) }

// AssertionFailedf is Errorf, of what should be impossible.
func AssertionFailedf(format string, args ...any) error { return Errorf(format, args...) }

func sprintf(format string, args ...any) string {
	return redact.Sprintf(format, args...).StripMarkers()
}

// Wrap puts a text before that of an error. Around nil it is nil, as are all functions
// below.
func Wrap(err error, text string) error {
	if text == "" {
		return err
	}
	return around(err, layer{text: text + ": "})
}

// Wrapf is Wrap with a text that is formatted as Errorf does it.
func Wrapf(err error, format string, args ...any) error { return Wrap(err, sprintf(format, args...)) }

// Mark has Is find a second error in an error.
func Mark(err, mark error) error { return around(err, layer{mark: mark}) }

// WithDetailf adds a detail.
func WithDetailf(err error, format string, args ...any) error {
	return around(err, layer{detail: sprintf(format, args...)})
}

// WithHintf adds a detail: what can be done.
func WithHintf(err error, format string, args ...any) error { return WithDetailf(err, format, args...) }

// WithSafeDetails adds a detail that may be shown to all.
func WithSafeDetails(err error, format string, args ...any) error {
	return WithDetailf(err, format, args...)
}

// WithSecondaryError adds an error as a detail. It is not a cause.
func WithSecondaryError(err, other error) error { return WithDetailf(err, "%v", other) }

// CombineErrors is WithSecondaryError, or the one error where the other is nil.
func CombineErrors(err, other error) error {
	switch {
	case err == nil:
		return other
	case other == nil:
		return err
	}
	return WithSecondaryError(err, other)
}

// WithStack returns the error.
func WithStack(err error) error { return err }

// UnwrapAll returns the cause that has no cause.
func UnwrapAll(err error) error {
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
		err = cause
	}
	return err
}

// Is is that of the standard library.
func Is(err, target error) bool { return errors.Is(err, target) }

// As is that of the standard library.
func As(err error, target any) bool { return errors.As(err, target) }

// Join is that of the standard library.
func Join(errs ...error) error { return errors.Join(errs...) }

// Safe says that a value may be shown to all. See package redact.
func Safe(v any) redact.SafeValue { return redact.Safe(v) }
