package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// DecodeReply reads one line of a program. A line with NaN or Infinity in place
// of a number, which JSON does not have but several libraries write, is a
// [NonFiniteError] with a reply in which those numbers are null: enough to
// know which request it answers. Any other error comes with a zero reply. The
// error comes with the reply because it answers something: a caller that only
// saw an error would let the command wait for ever.
func DecodeReply(line []byte) (Reply, error) {
	var r Reply
	err := json.Unmarshal(line, &r)
	if err == nil {
		// encoding/json takes null for any struct.
		if trimmed := bytes.TrimSpace(line); len(trimmed) == 0 || trimmed[0] != '{' {
			return Reply{}, errors.New("it is not a JSON object")
		}
		return r.legible(), nil
	}
	// Only after JSON has refused the line: a whole one is never rewritten.
	cleaned, token := withoutNonFinite(line)
	if token == "" {
		return Reply{}, err
	}
	r = Reply{}
	if json.Unmarshal(cleaned, &r) != nil {
		return Reply{}, &NonFiniteError{Token: token}
	}
	return r.legible(), &NonFiniteError{Token: token}
}

// legible makes the program's texts safe to show and record. A program may
// write control characters that move the cursor of a terminal, or megabytes.
func (r Reply) legible() Reply {
	r.Error = instruments.Legible(r.Error, instruments.MaxCause)
	r.Refused = instruments.Legible(r.Refused, instruments.MaxCause)
	r.Later = instruments.Legible(r.Later, instruments.MaxCause)
	return r
}

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

// withoutNonFinite replaces bare NaN, Infinity and -Infinity outside strings by
// null and returns the first of them as it was written. It works on bytes and
// not on a tree, as there is no tree of what is not JSON. The forms are those
// that Python, JavaScript, C and Go write.
func withoutNonFinite(line []byte) (cleaned []byte, first string) {
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

// startsToken and endsToken keep names that hold such a word, as “info” does,
// from being taken for numbers. A word that is no JSON stays as it was, and the
// line is then refused as a whole.
func startsToken(line []byte, i int) bool {
	return i == 0 || strings.IndexByte(":,[ \t", line[i-1]) >= 0
}

// endsToken reports whether a token can end before i.
func endsToken(line []byte, i int) bool {
	return i == len(line) || strings.IndexByte(",]} \t\r\n", line[i]) >= 0
}

// UnknownFields names the fields of a reply that the protocol does not have,
// most likely typing errors; empty if there are none. It does not look into the
// outcome, whose unknown fields are kept with the result. encoding/json names
// the first unknown field and stops there. It has no error of its own for that,
// hence the look at the text.
func UnknownFields(line []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(new(Reply)); err != nil && strings.Contains(err.Error(), "unknown field") {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	return ""
}

// Clip shortens what a program wrote for a message.
func Clip(data []byte) string { return instruments.Legible(string(bytes.TrimSpace(data)), 300) }
