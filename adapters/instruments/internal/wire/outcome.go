package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Result is the outcome that a reply holds, for the command that it is about. Where the
// numbers themselves could be read the measurement counts, with the whole line in Unread; where NaN
// stood for the objective the measurement is missing, and the line gives the reason.
func (r Reply) Result(of instruments.Command) instruments.Outcome {
	if r.Lost != "" {
		return instruments.Outcome{Status: instruments.Unknown, Cause: r.Lost}
	}
	// From the cleaned line; the null in place of a number is then judged like
	// any that a program wrote.
	o := DecodeOutcome(r.Outcome, of)
	if r.NonFinite == nil {
		return o
	}
	// NaN and Infinity were read as null: the message quotes the original.
	switch {
	case o.Status == instruments.Measured:
		o.Measurement.Unread = append(o.Measurement.Unread, events.Unread{
			Field:  "the whole answer",
			Text:   valid(r.Line),
			Reason: r.NonFinite.Error(),
		})
	case o.Rejected != "":
		o = unreadable(o.Status, r.Line, r.NonFinite)
	case o.Status == instruments.Done:
		o.Remarks = append(o.Remarks, fmt.Sprintf("the instrument's answer: %v; it wrote %s", r.NonFinite, program.Clip(r.Line)))
	default:
		o.Cause += "; it wrote " + program.Clip(r.Line)
	}
	return o
}

// DecodeOutcome reads an outcome of a command. A measurement without "actual" was made as requested; of
// an act the engine knows what that was.
//
// An unreadable part never becomes a number, and never costs a readable one: a faulty objective or
// composition makes the outcome failed (the experiment took place and gave nothing usable), with
// the answer kept in Rejected. Every other part that is faulty, or unknown to the protocol, is kept
// as it was written in the measurement's Unread, and the objective counts. An outcome without a
// readable status is unknown, and its cause repeats the text. With a failure, a measurement holds
// the values from before it. Failed and unknown are different on purpose: a failed experiment is
// over and the campaign goes on, an unknown one waits for a person (law 3 of docs/architecture.md).
// Only where the status could be read is it known that the experiment is over.
func DecodeOutcome(raw json.RawMessage, of instruments.Command) instruments.Outcome {
	fields, err := object(raw)
	if err != nil {
		return unreadable(instruments.Unknown, raw, err)
	}
	var status instruments.Status
	if json.Unmarshal(fields.take("status"), &status) != nil {
		return unreadable(instruments.Unknown, raw, errors.New("it has no status"))
	}
	var o instruments.Outcome
	files, remarks := decodeFiles(fields.take("files"))
	switch status {
	case instruments.Failed, instruments.Infeasible, instruments.Deferred, instruments.Cancelled, instruments.Unknown:
		o.Status = status
		if m, err := decodeMeasurement(fields["measurement"], of); status == instruments.Failed && err == nil {
			o.Measurement = m
			fields.take("measurement")
		}
		o.Cause = fields.cause()
	case instruments.Done, instruments.Measured:
		if status == instruments.Done && of.Act == "" {
			return unreadable(instruments.Unknown, raw, errors.New(`"done" is not a status of an experiment: it is measured, or has failed`))
		}
		if status == instruments.Done || of.Idle() || of.Experiments != nil {
			var said []string
			o, said = decodeDone(fields, of)
			remarks = append(remarks, said...)
			break
		}
		m, err := decodeMeasurement(fields.take("measurement"), of)
		if err != nil {
			o = unreadable(instruments.Failed, raw, err)
			break
		}
		m.Unread = append(m.Unread, fields.unknown("")...)
		o = instruments.Outcome{Status: instruments.Measured, Measurement: m}
	default:
		return unreadable(instruments.Unknown, raw, fmt.Errorf("%q is not a status", status))
	}
	o.Files, o.Remarks = files, remarks
	return o
}

// maxFiles is how many files an outcome may name.
const maxFiles = 100

// decodeFiles reads the files that an outcome names: each a path, or an object with a path or a URI
// and a description. One that cannot be read costs neither the others nor the result: a remark says
// so.
func decodeFiles(raw json.RawMessage) (files []instruments.File, remarks []string) {
	if absent(raw) {
		return nil, nil
	}
	remark := func(what, why string, raw json.RawMessage) {
		remarks = append(remarks, fmt.Sprintf("%s of the instrument's answer %s: %s",
			what, why, program.Clip(raw)))
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		remark("files", "is not a list of files", raw)
		return nil, remarks
	}
	for i, raw := range list {
		what := fmt.Sprintf("files %d", i+1)
		if i == maxFiles {
			remarks = append(remarks,
				fmt.Sprintf("the instrument named %d files: only the first %d are attached",
					len(list), maxFiles))
			break
		}
		var f instruments.File
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if json.Unmarshal(raw, &f.Path) == nil && f.Path != "" {
			files = append(files, f)
		} else if err := decoder.Decode(&f); err != nil {
			remark(what, "cannot be read ("+err.Error()+")", raw)
		} else if (f.Path == "") == (f.URI == "") {
			remark(what, "has neither a path nor a URI, or both", raw)
		} else {
			files = append(files, f)
		}
	}
	return files, remarks
}

// cause is why a command ended without a result, with whatever else the program
// wrote about it. Halves of the bound, so that neither text takes the other's
// room; 100 bytes are left for the words between them.
func (f fields) cause() string {
	cause := "the program gave no cause"
	var text string
	if raw := f.take("cause"); json.Unmarshal(raw, &text) != nil {
		text = valid(raw)
	}
	if text != "" {
		cause = instruments.Legible(text, instruments.MaxCause/2)
	}
	if len(f) > 0 {
		rest, _ := json.Marshal(f)
		cause += "; it also wrote " + instruments.Legible(string(rest), instruments.MaxCause/2-100)
	}
	return cause
}

// decodeMeasurement reads a measurement. The error says why its objective or its composition cannot
// be used; other faulty parts are in Unread. Fields are taken in a fixed order, which gives Unread
// a fixed order: it is recorded.
func decodeMeasurement(raw json.RawMessage, of instruments.Command) (*events.Measurement, error) {
	if absent(raw) {
		return nil, errors.New("there is no measurement")
	}
	fields, err := object(raw)
	if err != nil {
		return nil, fmt.Errorf("the measurement: %w", err)
	}
	var m events.Measurement
	objective := fields.take("objective")
	_, given := fields["quantities"] // all of them may arrive later
	m.Quantities = fields.list(&m, "quantities", "quantity")
	fields.missing(&m)
	switch {
	case !absent(objective):
		var rest []events.Unread
		if m.Objective, rest, err = decodeQuantity(objective, "objective"); err != nil {
			return nil, fmt.Errorf("the objective %w", err)
		}
		m.Unread = append(rest, m.Unread...)
	case m.Quantities == nil && !given:
		return nil, errors.New("there is no objective")
	}
	if actual := fields.take("actual"); absent(actual) && of.Act != "" {
		m.Actual = nil
	} else if absent(actual) { // a copy, since the command's own map belongs to the engine
		m.Actual = make(definition.Point, len(of.Parameters))
		maps.Copy(m.Actual, of.Parameters)
	} else if err := json.Unmarshal(actual, &m.Actual); err != nil {
		return nil, fmt.Errorf("the composition made: %w", err)
	}
	m.Further = fields.list(&m, "further", "further")
	for _, f := range []struct {
		name string
		into any
	}{{"identity", &m.Identity}, {"began", &m.Began}, {"ended", &m.Ended}} {
		raw := fields.take(f.name)
		// An empty text is how many programs write that they have none.
		if absent(raw) || string(raw) == `""` {
			continue
		}
		if err := json.Unmarshal(raw, f.into); err != nil {
			m.Unread = append(m.Unread, unread(f.name, raw, err))
			// A failed parse may leave part of a time behind.
			if t, ok := f.into.(*time.Time); ok {
				*t = time.Time{}
			}
		}
	}
	m.Unread = append(m.Unread, fields.unknown("")...)
	return &m, nil
}

// decodeDone reads the rest of the outcome of an act that is done, and the remarks on it. What
// is written wrongly costs the experiment that it is about, or nothing.
func decodeDone(fields fields, of instruments.Command) (o instruments.Outcome, remarks []string) {
	o.Status = instruments.Done
	remark := func(format string, args ...any) {
		text := "the instrument's answer: " + fmt.Sprintf(format, args...)
		remarks = append(remarks, instruments.Outcome{Cause: text}.Recordable().Cause)
	}
	var list []json.RawMessage
	if raw := fields.take("gave"); !absent(raw) && json.Unmarshal(raw, &list) != nil {
		remark("gave is not a list: %s", program.Clip(raw))
	}
	if raw := fields.take("measurement"); !absent(raw) {
		if of.Experiments != nil {
			remark("a measurement for none of its experiments: %s", program.Clip(raw))
		} else {
			entry, _ := json.Marshal(map[string]any{"experiment": of.Experiment, "measurement": raw})
			list = append(list, entry)
		}
	}
	for i, raw := range list {
		given, err := decodeGiven(raw, of, remark)
		twice := slices.ContainsFunc(o.Gave, func(g events.Given) bool { return g.Experiment == given.Experiment })
		switch {
		case err != nil:
			remark("gave %d %v: %s", i+1, err, program.Clip(raw))
		case twice:
			remark("gave %d is for %s once more, the first stands: %s", i+1, given.Experiment, program.Clip(raw))
		default:
			o.Gave = append(o.Gave, given)
		}
	}
	fields.take("cause")
	for _, u := range fields.unknown("") {
		remark("an act that is done has no field %s: %s", u.Field, program.Clip([]byte(u.Text)))
	}
	return o, remarks
}

// decodeGiven reads what an act gave for one of its experiments. The error says why it counts for none.
func decodeGiven(
	raw json.RawMessage, of instruments.Command, remark func(string, ...any),
) (given events.Given, err error) {
	fields, err := object(raw)
	if err != nil {
		return given, err
	}
	if json.Unmarshal(fields.take("experiment"), &given.Experiment) != nil || !slices.Contains(of.Serves(), given.Experiment) {
		return given, errors.New("is for no experiment that the act serves")
	}
	var status string
	said := fields.take("status")
	if !absent(said) && json.Unmarshal(said, &status) != nil {
		status = valid(said)
	}
	measurement := fields.take("measurement")
	switch word := instruments.Status(status); word {
	case "", instruments.Done, instruments.Measured:
		if absent(measurement) {
			break
		}
		if given.Measurement, err = decodePart(measurement, of, remark); err != nil {
			given.Status = events.ActFailed
			given.Cause = fmt.Sprintf("the program's result cannot be used: %v; it wrote %s", err, program.Clip(raw))
		}
	case instruments.Failed, instruments.Infeasible:
		given.Status, given.Cause = events.ActStatus(word), fields.cause()
		return given, nil
	default:
		given.Status = events.ActFailed
		given.Cause = fmt.Sprintf("%q is not the status of an experiment; it wrote %s",
			program.Clip([]byte(status)), program.Clip(raw))
	}
	for _, u := range fields.unknown("") {
		remark("%s of %s, a field that the protocol does not have: %s", u.Field, given.Experiment, program.Clip([]byte(u.Text)))
	}
	return given, nil
}

// decodePart reads the measurement of one experiment of an act. Where the act is to measure nothing,
// the composition that it has made is all that counts.
func decodePart(
	raw json.RawMessage, of instruments.Command, remark func(string, ...any),
) (*events.Measurement, error) {
	if !of.Idle() {
		return decodeMeasurement(raw, of)
	}
	var made struct {
		Actual definition.Point `json:"actual"`
	}
	if err := json.Unmarshal(raw, &made); err != nil {
		remark("the composition made cannot be read (%v): %s", err, program.Clip(raw))
	}
	if made.Actual == nil {
		return nil, nil
	}
	return &events.Measurement{Actual: made.Actual}, nil
}

// DecodeDelivery reads values that came after the end of an experiment. A faulty part costs nothing
// else.
func DecodeDelivery(raw json.RawMessage) (instruments.Delivery, error) {
	fields, err := object(raw)
	if err != nil {
		return instruments.Delivery{}, fmt.Errorf("the delivery: %w", err)
	}
	var m events.Measurement
	m.Quantities = fields.list(&m, "quantities", "quantity")
	fields.missing(&m)
	m.Unread = append(m.Unread, fields.unknown("")...)
	return instruments.Delivery{Quantities: m.Quantities, Missing: m.Missing, Unread: m.Unread}, nil
}

// list reads a list of quantities, each by itself. One that cannot be read costs neither the others
// nor the objective, and stays in the record as it was written. each is the word for one of them in
// messages.
func (f fields) list(m *events.Measurement, name, each string) (quantities []definition.Quantity) {
	raw := f.take(name)
	if absent(raw) {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		m.Unread = append(m.Unread, unread(name, raw, errors.New("it is not a list of quantities")))
		return nil
	}
	for i, raw := range list {
		field := fmt.Sprintf("%s %d", each, i+1)
		called := nameOf(raw)
		if called != "" {
			field += " (" + called + ")"
		}
		q, rest, err := decodeQuantity(raw, field)
		if err != nil {
			m.Unread = append(m.Unread, unread(field, raw, fmt.Errorf("it %w", err)))
			if called != "" {
				m.Missing = append(m.Missing, events.Missing{Name: called, Reason: fmt.Sprintf("it %v", err)})
			}
			continue
		}
		quantities = append(quantities, q)
		m.Unread = append(m.Unread, rest...)
	}
	return quantities
}

// missing reads the quantities that a program says it could not measure.
func (f fields) missing(m *events.Measurement) {
	raw := f.take("missing")
	if absent(raw) {
		return
	}
	var list []events.Missing
	if err := json.Unmarshal(raw, &list); err != nil {
		m.Unread = append(m.Unread,
			unread("missing", raw, errors.New("it is not a list of names with reasons")))
		return
	}
	m.Missing = append(m.Missing, list...)
}

// nameOf is the name of a quantity, for messages about one that cannot be read.
func nameOf(raw json.RawMessage) (name string) {
	if fields, err := object(raw); err == nil {
		_ = json.Unmarshal(fields.take("name"), &name)
	}
	return instruments.Legible(name, instruments.MaxName)
}

// decodeQuantity reads a quantity, or fails with the reason. Faults that do not spoil it, such as
// an unreadable standard deviation or unknown fields, are returned with it. A wrong unit or name
// spoils a number, which may then belong to something else; a wrong standard deviation leaves the
// number intact.
func decodeQuantity(
	raw json.RawMessage, field string,
) (q definition.Quantity, rest []events.Unread, err error) {
	fields, err := object(raw)
	if err != nil {
		return q, nil, fmt.Errorf("cannot be read: %w", err)
	}
	value := fields.take("value")
	if absent(value) {
		return q, nil, errors.New("has no value")
	}
	if json.Unmarshal(value, &q.Value) != nil {
		return q, nil, fmt.Errorf("has the value %s, which is not a number", program.Clip(value))
	}
	for _, f := range []struct {
		name string
		into *string
	}{{"name", &q.Name}, {"unit", &q.Unit}} {
		if text := fields.take(f.name); !absent(text) && json.Unmarshal(text, f.into) != nil {
			return q, nil, fmt.Errorf("has the %s %s, which is not a text", f.name, program.Clip(text))
		}
	}
	if sd := fields.take("sd"); !absent(sd) {
		if err := json.Unmarshal(sd, &q.SD); err != nil {
			q.SD = nil
			rest = append(rest, unread(field+".sd", sd, errors.New("it is not a number")))
		}
	}
	return q, append(rest, fields.unknown(field+".")...), nil
}

// fields are those of a JSON object that were not taken yet. Those left at the end are unknown to
// the protocol.
type fields map[string]json.RawMessage

// object reads an object; null is refused.
func object(raw json.RawMessage) (fields, error) {
	var f fields
	if err := json.Unmarshal(raw, &f); err != nil || f == nil {
		return nil, errors.New("it is not a JSON object")
	}
	return f, nil
}

// take removes a field and returns it, nil for a missing one. Like encoding/json it prefers the
// name as it is written and accepts any case. Among several spellings that differ by case the first
// in the order of the alphabet is taken, so that the choice does not depend on the order of a map;
// the others are unknown fields.
func (f fields) take(name string) json.RawMessage {
	if raw, ok := f[name]; ok {
		delete(f, name)
		return raw
	}
	for _, other := range slices.Sorted(maps.Keys(f)) {
		if strings.EqualFold(other, name) {
			raw := f[other]
			delete(f, other)
			return raw
		}
	}
	return nil
}

// unknown returns the fields that are left. prefix names the part of the answer that they belong
// to, such as "objective.".
func (f fields) unknown(prefix string) (left []events.Unread) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		left = append(left,
			unread(prefix+name, f[name], errors.New("the protocol has no such field here")))
	}
	return left
}

// absent takes null for a field that is not there, as many libraries write it.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// unread is a part of an answer that is kept as it was written.
func unread(field string, raw json.RawMessage, why error) events.Unread {
	return events.Unread{Field: field, Text: valid(raw), Reason: why.Error()}
}

// unreadable is the outcome of an answer that cannot be used, with the answer.
// The whole answer goes into Rejected, however long; the cause quotes a part of
// it.
func unreadable(status instruments.Status, raw []byte, err error) instruments.Outcome {
	most := 300
	if status == instruments.Unknown { // a person has to find out from it
		most = instruments.MaxCause / 2
	}
	return instruments.Outcome{
		Status: status,
		Cause: fmt.Sprintf("the program's result cannot be used: %v; it wrote %s",
			err, instruments.Legible(valid(bytes.TrimSpace(raw)), most)),
		Rejected: valid(raw),
	}
}

// valid makes a text that the log accepts. Replaced and not refused: a result
// must not be lost for a byte in a comment.
func valid(raw []byte) string { return strings.ToValidUTF8(string(raw), "\uFFFD") }
