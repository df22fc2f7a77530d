package errors_test

import (
	stderrors "errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/redact"

	"github.com/cockroachdb/errors"
	"github.com/cockroachdb/errors/oserror"
)

// These tests hold for the package that this one stands in for, too.

// key has a text of its own for package redact, and so in errors.
type key struct{}

func (key) SafeFormat(p redact.SafePrinter, _ rune) { p.Printf("key %d", 7) }

var (
	errLost = errors.New("it is lost")
	errFull = &fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}
)

// Law: an error says what it was given to say, in their order.
func TestTexts(t *testing.T) {
	for want, err := range map[string]error{
		"it is lost":                       errLost,
		"3 of \"a\" at key 7":              errors.Errorf("%d of %q at %s", errors.Safe(3), "a", key{}),
		"key 7: it is lost":                errors.Newf("%v: %w", key{}, errLost),
		"?x?":                              errors.Newf("%s", "‹x›"),
		"never: 1%":                        errors.AssertionFailedf("never: %d%%", 1),
		"read: write a: " + enospc():       errors.Wrap(errFull, "read"),
		"block 2 key 7: it is lost":        errors.Wrapf(errLost, "block %d %v", 2, key{}),
		"marked: it is lost":               errors.Mark(errors.Wrap(errLost, "marked"), os.ErrNotExist),
		"it is lost\nwrite a: " + enospc(): errors.Join(errLost, nil, errFull),
		"write a: " + enospc():             errors.CombineErrors(errFull, errLost),
		"hinted":                           errors.WithHintf(errors.New("hinted"), "to %s", "nobody"),
	} {
		if err.Error() != want {
			t.Errorf("it says %q, not %q", err, want)
		}
	}
}

func enospc() string { return syscall.ENOSPC.Error() }

// Law: with %+v an error says all that is known, and otherwise its text.
func TestDetails(t *testing.T) {
	err := errors.WithDetailf(errors.CombineErrors(errLost, errFull), "of %d files", 9)
	err = errors.Wrap(errors.Mark(errors.WithHintf(err, "look at %s", "the log"), os.ErrNotExist), "open")
	for _, format := range []string{"%v", "%s"} {
		if got := fmt.Sprintf(format, err); got != "open: it is lost" {
			t.Errorf("%s: %q", format, got)
		}
	}
	said := fmt.Sprintf("%+v", err)
	for _, part := range []string{"open", "it is lost", "of 9 files", "look at the log", "write a: " + enospc()} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is missing from %q", part, said)
		}
	}
}

// Law: below all that is put around an error it is found, and nothing else is; also by the
// standard library, except what is only marked.
func TestCauses(t *testing.T) {
	other := errors.New("another")
	for what, err := range map[string]error{
		"wrapped":      errors.Wrap(errors.Wrapf(errLost, "%d", 1), ""),
		"formatted":    errors.Errorf("a: %w", errLost),
		"joined":       errors.Join(other, errors.Wrap(errLost, "a")),
		"annotated":    errors.WithStack(errors.WithDetailf(errors.WithSafeDetails(errLost, "b"), "c")),
		"first of two": errors.CombineErrors(errors.WithSecondaryError(errLost, errFull), errFull),
		"last of two":  errors.CombineErrors(nil, errLost),
		"also marked":  errors.Mark(errLost, os.ErrExist),
	} {
		if !errors.Is(err, errLost) || !stderrors.Is(err, errLost) {
			t.Errorf("%s: it is not found", what)
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, errFull) || errors.Is(err, nil) {
			t.Errorf("%s: what is not there is found", what)
		}
	}
	if marked := errors.Wrap(errors.Mark(other, errLost), "a"); !errors.Is(marked, errLost) || !errors.Is(marked, other) {
		t.Error("marked: it is not found")
	}
	var path *fs.PathError
	if !errors.As(errors.Wrap(errors.Mark(errFull, errLost), "a"), &path) || path != errFull {
		t.Error("it is not found by its type")
	}
	if got := errors.UnwrapAll(errors.Wrap(errors.Mark(errFull, errLost), "a")); got != error(syscall.ENOSPC) {
		t.Errorf("at the bottom is %v", got)
	}
}

// Law: of no error nothing makes one.
func TestNil(t *testing.T) {
	for i, err := range []error{
		errors.Wrap(nil, "a"), errors.Wrapf(nil, "a"), errors.Mark(nil, errLost), errors.Join(nil, nil),
		errors.CombineErrors(nil, nil), errors.WithStack(nil), errors.WithDetailf(nil, "a"), errors.WithHintf(nil, "a"),
		errors.WithSafeDetails(nil, "a"), errors.UnwrapAll(nil),
	} {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if errors.Is(nil, errLost) || !errors.Is(nil, nil) {
		t.Error("what is nil is not that of the standard library")
	}
}

// Law: what the system answered is recognized below texts and marks, and as what it is.
func TestSystem(t *testing.T) {
	recognized := func(err error) string {
		return fmt.Sprint(oserror.IsNotExist(err), oserror.IsExist(err), oserror.IsPermission(err))
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Err: syscall.ENOENT}, "true false false"},
		{os.NewSyscallError("open", syscall.ENOENT), "true false false"},
		{errors.Mark(errLost, os.ErrNotExist), "true false false"},
		{&os.LinkError{Err: syscall.EEXIST}, "false true false"},
		{oserror.ErrExist, "false true false"},
		{&fs.PathError{Err: syscall.EACCES}, "false false true"},
		{errFull, "false false false"},
		{nil, "false false false"},
	} {
		for what, err := range map[string]error{
			"": test.err, "wrapped": errors.Wrap(test.err, "a"), "marked": errors.Mark(test.err, errLost),
		} {
			if got := recognized(err); got != test.want {
				t.Errorf("%v %s: %s, not %s", test.err, what, got, test.want)
			}
		}
	}
}
