package plaintext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Recorded returns a text of a program as it is recorded: valid UTF-8 of at
// most so many characters, in which control characters (except line ends and
// tabs) and those that change the direction of writing are escaped. What was
// cut off is counted at the end.
func Recorded(s string, most int) string {
	if len(s) <= most && plain(s) {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == most {
			return b.String() + fmt.Sprintf("… (%d bytes)", len(s))
		}
		n++
		if harmful(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r) // utf8.RuneError where s is not UTF-8
		}
	}
	return b.String()
}

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, harmful)
}

// harmful reports whether a character changes how others are shown, as a line
// end within a line does.
func harmful(r rune) bool { return r == '\n' || Unsafe(r) }
