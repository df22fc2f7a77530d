package program

import (
	"bytes"
	"fmt"
	"strings"
)

// NonFiniteError reports a bare NaN or Infinity in what should be JSON.
type NonFiniteError struct {
	Token string // as it was written
}

// It tells the author of the program what to write instead.
func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("it holds %s, which is neither a number nor JSON; "+
		"answer with status \"failed\" and a cause where nothing could be measured "+
		"(in Python, json.dumps(…, allow_nan=False) finds such values)",
		e.Token)
}

// WithoutNonFinite replaces bare NaN, Infinity and -Infinity outside strings by null and returns
// the first of them as it was written. It works on bytes and not on a tree, as invalid JSON has no
// tree. The forms are those that Python, JavaScript, C and Go write.
func WithoutNonFinite(line []byte) (cleaned []byte, first string) {
	// As several languages write them; the case of letters tells them apart.
	tokens := []string{"NaN", "-Infinity", "Infinity", "-NaN", "nan", "-inf", "inf"}
	inString := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		// What is escaped may be a quote, and does not end the string.
		case inString && c == '\\':
			cleaned = append(cleaned, c)
			if i++; i < len(line) {
				cleaned = append(cleaned, line[i])
			}
			continue
		case c == '"':
			inString = !inString
		case !inString:
			for _, token := range tokens {
				if bytes.HasPrefix(line[i:], []byte(token)) && startsToken(line, i) &&
					endsToken(line, i+len(token)) {
					if first == "" {
						first = token
					}
					cleaned = append(cleaned, "null"...)
					i += len(token)
					break
				}
			}
			if i >= len(line) {
				return cleaned, first
			}
		}
		cleaned = append(cleaned, line[i])
	}
	return cleaned, first
}

// startsToken and endsToken keep names that hold such a word, as “info” does, from being taken for
// numbers. An invalid word stays as it was, and the line is then refused as a whole.
func startsToken(line []byte, i int) bool {
	return i == 0 || strings.IndexByte(":,[ \t", line[i-1]) >= 0
}

// endsToken reports whether a token can end before i.
func endsToken(line []byte, i int) bool {
	return i == len(line) || strings.IndexByte(",]} \t\r\n", line[i]) >= 0
}
