package events

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The CloudEvents 1.0 form of an event, which `campaignd events` prints and
// `campaignd export` writes, one event a line:
//
//	specversion      "1.0"
//	id               ID; unique together with source
//	type             "campaignd." and the kind, "campaignd.experiment.measured"
//	source           "/campaigns/" and the campaign's name, escaped as in a URL
//	subject          what the event is about, "e7", where the payload says it
//	time             Time, RFC 3339, UTC, always six digits of the second
//	dataschema       "urn:campaignd:schema:KIND:VERSION"
//	datacontenttype  "application/json", or "application/octet-stream"
//	position         Position, a number
//	sequence         Sequence, a number
//	actor            Actor
//	account          Account
//	request          Request
//	requestdigest    RequestDigest
//	cause            Cause
//	simulated        Simulated, always present
//	traceparent      Trace
//	data             the payload, exactly the stored bytes
//	data_base64      the payload where it is not JSON that fits on one line
//
// The attributes come in this order; one that would be empty is left out, and
// position where it is not known (yet). position to traceparent are extension
// attributes. subject is taken from the payload and not read back.
//
// position is information, not identity: it says where the log that wrote the
// form had the event, and is not part of the event's record, so that no hash and
// no proof vouches for it. source and id identify the event, source and
// sequence place it in its campaign.
//
// position and sequence are JSON numbers, although CloudEvents' own integers
// end at 2³¹−1: no campaign gets there.

const (
	cloudEventsVersion = "1.0"
	typePrefix         = "campaignd."
	sourcePrefix       = "/campaigns/"
	schemaPrefix       = "urn:campaignd:schema:"
	cloudEventTime     = "2006-01-02T15:04:05.000000Z07:00"
	contentJSON        = "application/json"
	contentBinary      = "application/octet-stream"
)

// ErrBadCloudEvent means that a text or a set of attributes is not the
// CloudEvents form of an event of campaignd.
var ErrBadCloudEvent = errors.New("not a CloudEvent of campaignd")

// SchemaURN names the schema of a kind's payload: "urn:campaignd:schema:" with
// kind and version, for example "urn:campaignd:schema:experiment.measured:1".
// It is the dataschema of the event's CloudEvents form.
func SchemaURN(kind Kind, version int) string {
	return schemaPrefix + url.PathEscape(string(kind)) + ":" + strconv.Itoa(version)
}

// MarshalCloudEvent returns the CloudEvents 1.0 form of a stored event in the
// JSON event format (structured mode), on one line without its end. It refuses
// with [ErrInvalidEvent] an event that has no record (see [AppendRecord]).
func MarshalCloudEvent(e Event) ([]byte, error) {
	if err := checkEvent(&e); err != nil {
		return nil, fmt.Errorf("events: write CloudEvent: %w", err)
	}
	var line bytes.Buffer
	quote := json.NewEncoder(&line)
	quote.SetEscapeHTML(false) // the line is for people too
	for i, a := range attributes(e) {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		line.WriteByte(separator)
		line.WriteString(`"` + a.name + `":`)
		if a.bare {
			line.WriteString(a.value)
			continue
		}
		if err := quote.Encode(a.value); err != nil {
			return nil, fmt.Errorf("events: write CloudEvent: %w", err)
		}
		line.Truncate(line.Len() - 1) // Encode ends the line
	}
	switch {
	case len(e.Data) == 0:
	case fitsInline(e.Data):
		line.WriteString(`,"data":`)
		line.Write(e.Data)
	default:
		line.WriteString(`,"data_base64":"`)
		line.WriteString(base64.StdEncoding.EncodeToString(e.Data))
		line.WriteByte('"')
	}
	line.WriteByte('}')
	return line.Bytes(), nil
}

// UnmarshalCloudEvent returns the event that line holds: what
// [MarshalCloudEvent] was given. Anything else is refused with
// [ErrBadCloudEvent]; attributes it does not know are ignored, as CloudEvents
// demands.
func UnmarshalCloudEvent(line []byte) (Event, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return Event{}, badCloudEvent("%w", err)
	}
	data := []byte(members["data"])
	if string(data) == "null" {
		data = nil
	}
	if text, ok := members["data_base64"]; ok && string(text) != "null" {
		if data != nil {
			return Event{}, badCloudEvent("it has both data and data_base64")
		}
		if err := json.Unmarshal(text, &data); err != nil {
			return Event{}, badCloudEvent("data_base64: %w", err)
		}
	}
	attributes := make(map[string]string, len(members))
	for _, name := range attributeNames {
		text, ok := members[name]
		switch {
		case !ok || string(text) == "null":
		case text[0] == '"':
			var value string
			if err := json.Unmarshal(text, &value); err != nil {
				return Event{}, badCloudEvent("%s: %w", name, err)
			}
			attributes[name] = value
		case text[0] == '{' || text[0] == '[':
			return Event{}, badCloudEvent("%s is neither a string, a number nor a boolean", name)
		default:
			attributes[name] = string(text)
		}
	}
	return FromCloudEventAttributes(attributes, data)
}

// WriteCloudEvents writes events as they are read, in the form of
// [MarshalCloudEvent], one on a line. They are not collected: a log may be larger
// than the memory.
func WriteCloudEvents(w io.Writer, all iter.Seq2[Event, error]) error {
	for e, err := range all {
		var text []byte
		if err == nil {
			text, err = MarshalCloudEvent(e)
		}
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CloudEventAttributes returns the CloudEvents context attributes of a stored
// event as strings by name, for carriers that keep attributes apart from data
// (headers, message metadata).
func CloudEventAttributes(e Event) map[string]string {
	m := make(map[string]string, len(attributeNames))
	for _, a := range attributes(e) {
		m[a.name] = a.value
	}
	return m
}

// FromCloudEventAttributes returns the event whose [CloudEventAttributes] and payload are given; it
// keeps data. It refuses with [ErrBadCloudEvent] attributes that no stored event has, and ignores
// others.
func FromCloudEventAttributes(attributes map[string]string, data []byte) (Event, error) {
	if v := attributes["specversion"]; v != cloudEventsVersion {
		return Event{}, badCloudEvent("its specversion is %q, not %q", v, cloudEventsVersion)
	}
	kind, ok := strings.CutPrefix(attributes["type"], typePrefix)
	if !ok {
		return Event{}, badCloudEvent("its type %q does not begin with %q",
			attributes["type"], typePrefix)
	}
	name, ok := strings.CutPrefix(attributes["source"], sourcePrefix)
	if !ok {
		return Event{}, badCloudEvent("its source %q does not begin with %q", attributes["source"],
			sourcePrefix)
	}
	campaign, err := url.PathUnescape(name)
	if err != nil {
		return Event{}, badCloudEvent("its source %q: %w", attributes["source"], err)
	}
	schema := attributes["dataschema"]
	version, err := strconv.Atoi(schema[strings.LastIndexByte(schema, ':')+1:])
	if err != nil || schema != SchemaURN(Kind(kind), version) {
		return Event{}, badCloudEvent("its dataschema is %q, not one of type %q", schema, kind)
	}
	at, err := time.Parse(time.RFC3339Nano, attributes["time"])
	if err != nil {
		return Event{}, badCloudEvent("its time: %w", err)
	}
	var position uint64
	if text, known := attributes["position"]; known {
		if position, err = strconv.ParseUint(text, 10, 64); err != nil || position == 0 {
			return Event{}, badCloudEvent("its position is %q, the first is 1", text)
		}
	}
	sequence, err := strconv.ParseUint(attributes["sequence"], 10, 64)
	if err != nil {
		return Event{}, badCloudEvent("its sequence: %w", err)
	}
	simulated := attributes["simulated"]
	if simulated != "true" && simulated != "false" {
		return Event{}, badCloudEvent("its simulated mark is %q, neither true nor false", simulated)
	}
	e := Event{
		Position:  Position(position),
		Campaign:  campaign,
		Sequence:  Sequence(sequence),
		ID:        attributes["id"],
		Kind:      Kind(kind),
		Version:   version,
		Time:      at.UTC(),
		Actor:     attributes["actor"],
		Account:   attributes["account"],
		Cause:     attributes["cause"],
		Simulated: simulated == "true",
		Trace:     attributes["traceparent"],
		Data:      data,

		Request:       attributes["request"],
		RequestDigest: attributes["requestdigest"],
	}
	if err := checkEvent(&e); err != nil {
		return Event{}, badCloudEvent("%w", err)
	}
	return e, nil
}

// attribute is a CloudEvents context attribute of an event; a bare one is a
// number or a boolean, written without quotation marks.
type attribute struct {
	name, value string
	bare        bool
}

// attributeNames are the attributes that are read back.
var attributeNames = []string{
	"specversion", "id", "type", "source", "time", "dataschema", "position", "sequence",
	"actor", "account", "request", "requestdigest", "cause", "simulated", "traceparent",
}

// attributes lists an event's attributes in the order in which they are
// written.
func attributes(e Event) []attribute {
	list := make([]attribute, 0, 17)
	add := func(name, value string, bare bool) {
		if value != "" {
			list = append(list, attribute{name, value, bare})
		}
	}
	content := ""
	switch {
	case len(e.Data) == 0:
	case json.Valid(e.Data):
		content = contentJSON
	default:
		content = contentBinary
	}
	add("specversion", cloudEventsVersion, false)
	add("id", e.ID, false)
	add("type", typePrefix+string(e.Kind), false)
	add("source", sourcePrefix+url.PathEscape(e.Campaign), false)
	add("subject", subject(e), false)
	add("time", e.Time.UTC().Format(cloudEventTime), false)
	add("dataschema", SchemaURN(e.Kind, e.Version), false)
	add("datacontenttype", content, false)
	if e.Position != 0 {
		add("position", strconv.FormatUint(uint64(e.Position), 10), true)
	}
	add("sequence", strconv.FormatUint(uint64(e.Sequence), 10), true)
	add("actor", e.Actor, false)
	add("account", e.Account, false)
	add("request", e.Request, false)
	add("requestdigest", e.RequestDigest, false)
	add("cause", e.Cause, false)
	add("simulated", strconv.FormatBool(e.Simulated), true)
	add("traceparent", e.Trace, false)
	return list
}

// subject returns the identifier of the event's subject, or nothing where its payload does not name
// one or is not understood.
func subject(e Event) string {
	payload, err := Decode(e)
	if err != nil {
		return ""
	}
	return payload.Subject()
}

// fitsInline reports whether data can stand in a line of JSON and be read back
// as the same bytes. Of "null" a reader cannot tell whether it is data.
func fitsInline(data []byte) bool {
	return json.Valid(data) && utf8.Valid(data) && !bytes.ContainsAny(data, "\r\n") &&
		len(bytes.TrimSpace(data)) == len(data) && string(data) != "null"
}

func badCloudEvent(format string, args ...any) error {
	return fmt.Errorf("events: %w: %w", ErrBadCloudEvent, fmt.Errorf(format, args...))
}
