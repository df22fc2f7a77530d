// Package oserror recognizes what the system answered, also below texts and marks.
package oserror

import (
	"errors"
	"os"
)

// The errors of the standard library.
var (
	ErrInvalid    = os.ErrInvalid
	ErrPermission = os.ErrPermission
	ErrExist      = os.ErrExist
	ErrNotExist   = os.ErrNotExist
)

// IsPermission reports whether something was not permitted.
func IsPermission(err error) bool { return errors.Is(err, ErrPermission) }

// IsExist reports whether something was there already.
func IsExist(err error) bool { return errors.Is(err, ErrExist) }

// IsNotExist reports whether something was not there.
func IsNotExist(err error) bool { return errors.Is(err, ErrNotExist) }
