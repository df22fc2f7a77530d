package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
)

// DecodeReply reads one line of a program. A line with NaN or Infinity in
// place of a number, which JSON does not have but several libraries write, is a
// [NonFiniteError] beside a reply in which those numbers are null: enough to
// know which request it answers. Any other error comes with a zero reply.
func DecodeReply(line []byte) (Reply, error) {
	var r Reply
	err := json.Unmarshal(line, &r)
	if err == nil {
		if trimmed := bytes.TrimSpace(line); len(trimmed) == 0 || trimmed[0] != '{' {
			return Reply{}, errors.New("it is not a JSON object")
		}
		return r, nil
	}
	cleaned, token := withoutNonFinite(line)
	if token == "" {
		return Reply{}, err
	}
	r = Reply{}
	if json.Unmarshal(cleaned, &r) != nil {
		return Reply{}, &NonFiniteError{Token: token}
	}
	return r, &NonFiniteError{Token: token}
}

// NonFiniteError reports a bare NaN or Infinity in what should be JSON.
type NonFiniteError struct {
	Token string // as it was written
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("it holds %s, which is neither a number nor JSON; answer with status \"failed\" and a cause where nothing could be measured (in Python, json.dumps(…, allow_nan=False) finds such values)", e.Token)
}

// withoutNonFinite replaces bare NaN, Infinity and -Infinity outside strings by
// null and returns the first of them as it was written.
func withoutNonFinite(line []byte) (cleaned []byte, first string) {
	tokens := []string{"NaN", "-Infinity", "Infinity", "-NaN", "nan", "-inf", "inf"}
	inString := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
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
				if bytes.HasPrefix(line[i:], []byte(token)) && startsToken(line, i) && endsToken(line, i+len(token)) {
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

func startsToken(line []byte, i int) bool {
	return i == 0 || strings.IndexByte(":,[ \t", line[i-1]) >= 0
}

func endsToken(line []byte, i int) bool {
	return i == len(line) || strings.IndexByte(",]} \t\r\n", line[i]) >= 0
}

// outcomeForm is an outcome as a program writes it: pointers tell a missing or
// null number from zero.
type outcomeForm struct {
	Status      instruments.Status `json:"status"`
	Cause       string             `json:"cause"`
	Measurement json.RawMessage    `json:"measurement"`
}

type quantityForm struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
	Unit  string   `json:"unit"`
	SD    *float64 `json:"sd"`
}

func (q quantityForm) quantity(what string) (events.Quantity, error) {
	if q.Value == nil {
		return events.Quantity{}, fmt.Errorf("%s has no value", what)
	}
	return events.Quantity{Name: q.Name, Value: *q.Value, Unit: q.Unit, SD: q.SD}, nil
}

// DecodeOutcome reads an outcome. A measurement without "actual" was made as
// requested. What cannot be read never becomes a number: where the program says
// it measured, the outcome is failed (the experiment took place and gave
// nothing usable); otherwise it is unknown. In both cases the cause repeats
// what the program wrote.
func DecodeOutcome(raw json.RawMessage, requested events.Point) instruments.Outcome {
	var form outcomeForm
	if err := json.Unmarshal(raw, &form); err != nil {
		return unreadable(instruments.Unknown, raw, err)
	}
	switch form.Status {
	case instruments.Failed, instruments.Infeasible, instruments.Deferred, instruments.Cancelled, instruments.Unknown:
		cause := form.Cause
		if cause == "" {
			cause = "the program gave no cause"
		}
		return instruments.Outcome{Status: form.Status, Cause: cause}
	case instruments.Measured:
	default:
		return unreadable(instruments.Unknown, raw, fmt.Errorf("%q is not a status", form.Status))
	}
	m, err := decodeMeasurement(form.Measurement, requested)
	if err != nil {
		return unreadable(instruments.Failed, raw, err)
	}
	return instruments.Outcome{Status: instruments.Measured, Measurement: m}
}

func decodeMeasurement(raw json.RawMessage, requested events.Point) (*events.Measurement, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, errors.New("there is no measurement")
	}
	var m events.Measurement
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	// Once more, for what a missing or null value would silently turn into 0.
	var form struct {
		Objective *quantityForm  `json:"objective"`
		Further   []quantityForm `json:"further"`
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return nil, err
	}
	if form.Objective == nil {
		return nil, errors.New("there is no objective")
	}
	var err error
	if m.Objective, err = form.Objective.quantity("the objective"); err != nil {
		return nil, err
	}
	for i, q := range form.Further {
		if m.Further[i], err = q.quantity(fmt.Sprintf("further quantity %d (%q)", i+1, q.Name)); err != nil {
			return nil, err
		}
	}
	if m.Actual == nil {
		m.Actual = make(events.Point, len(requested))
		for name, v := range requested {
			m.Actual[name] = v
		}
	}
	return &m, nil
}

// NonFiniteOutcome is the outcome of an answer that holds NaN or Infinity: the
// experiment took place and gave nothing usable.
func NonFiniteOutcome(line []byte, err error) instruments.Outcome {
	return unreadable(instruments.Failed, line, err)
}

func unreadable(status instruments.Status, raw []byte, err error) instruments.Outcome {
	return instruments.Outcome{
		Status: status,
		Cause:  fmt.Sprintf("the program's result cannot be used: %v; it wrote %s", err, Clip(raw)),
	}
}

// UnknownFields names what a reply holds that the protocol does not know, most
// likely a slip of the pen; empty if nothing.
func UnknownFields(line []byte) string {
	type outcome struct {
		Status      instruments.Status  `json:"status"`
		Cause       string              `json:"cause"`
		Measurement *events.Measurement `json:"measurement"`
	}
	var strict struct {
		Reply
		Outcome *outcome `json:"outcome"`
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&strict); err != nil && strings.Contains(err.Error(), "unknown field") {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	return ""
}

// Clip shortens what a program wrote for a message.
func Clip(data []byte) string {
	const most = 300
	s := strings.ToValidUTF8(string(bytes.TrimSpace(data)), "�")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes)", len(data))
}
