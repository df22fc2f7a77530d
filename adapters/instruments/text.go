package instruments

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// The longest texts of an instrument that are recorded, in characters. A
// description that exceeds them is refused; any other text is clipped, with a
// mark, so that the log can hold whatever an instrument says about an
// experiment.
const (
	MaxName     = 200  // of the instrument, a parameter, a category, an output, a unit
	MaxIdentity = 1000 // of the device
	MaxCause    = 4000 // of an outcome
	MaxSign     = 1000 // a handle, or what a sign of life says

	MaxRejected = 2 << 20 // an answer that is kept as it was given
)

// Legible returns a text of an instrument as it is recorded: see
// [plaintext.Recorded].
func Legible(s string, most int) string { return plaintext.Recorded(s, most) }

// harmful reports whether a character changes how others are shown, as a line
// end within a line does.
func harmful(r rune) bool { return r == '\n' || plaintext.Unsafe(r) }

// quoted returns the beginning of a text in quotes, all on one line.
func quoted(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}

// checkName says why a name cannot be recorded; empty if it can.
func checkName(s string, most int) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsFunc(s, harmful):
		return "holds a control character, a line end or a mark that turns the direction of writing around"
	case utf8.RuneCountInString(s) > most:
		return fmt.Sprintf("has %d characters, and must have at most %d", utf8.RuneCountInString(s), most)
	}
	return ""
}
