package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/internal/program"
)

// DecodeReply reads one line of a program. A line with NaN or Infinity in place
// of a number, which JSON does not have but several libraries write, is a
// [program.NonFiniteError] with a reply in which those numbers are null: enough to
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
	cleaned, token := program.WithoutNonFinite(line)
	if token == "" {
		return Reply{}, err
	}
	r = Reply{}
	if json.Unmarshal(cleaned, &r) != nil {
		return Reply{}, &program.NonFiniteError{Token: token}
	}
	return r.legible(), &program.NonFiniteError{Token: token}
}

// legible makes the program's texts safe to show and record. A program may
// write control characters that move the cursor of a terminal, or megabytes.
func (r Reply) legible() Reply {
	r.Error = instruments.Legible(r.Error, instruments.MaxCause)
	r.Refused = instruments.Legible(r.Refused, instruments.MaxCause)
	r.Later = instruments.Legible(r.Later, instruments.MaxCause)
	return r
}

// UnknownFields names the fields of a reply that the protocol does not have, most likely typing
// errors; empty for none. It does not look into the outcome, whose unknown fields are kept with the
// result. encoding/json names the first unknown field and stops there. It has no error of its own
// for that, hence the look at the text.
func UnknownFields(line []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(new(Reply)); err != nil && strings.Contains(err.Error(), "unknown field") {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	return ""
}
