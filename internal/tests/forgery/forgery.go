// Package forgery changes logs of campaigns like a forger who computes all hashes anew: one field
// of one event, whatever its kind, or the place of an event. An audit must find each change, unless
// nothing else in the log depends on the changed fact (see [Free]); and every reader of a log must
// survive all of them.
package forgery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Forgery is one event of a history changed in one place.
type Forgery struct {
	// At is the place of the event in the history.
	At int
	// Path is the changed field: of the payload with # for places in lists, of the envelope with a
	// dot before it, followed by the kind of change if an audit finds one kind and not another.
	Path string
	// What is the change of the field.
	What string
	// Event is the changed one.
	Event events.Event
}

// In returns a history with the forgery in it.
func (f Forgery) In(all []events.Event) []events.Event {
	forged := slices.Clone(all)
	forged[f.At] = f.Event
	return forged
}

// Of returns every field of every event of a history changed in each of several ways, one at a
// time, in a fixed order. Changed payloads may or may not decode.
func Of(all []events.Event) (list []Forgery, err error) {
	for i, e := range all {
		list = append(list, envelopes(all, i)...)
		payload, err := payloads(i, e)
		if err != nil {
			return nil, err
		}
		list = append(list, payload...)
	}
	return list, nil
}

// envelopes are the forgeries of what surrounds the payload of an event.
func envelopes(all []events.Event, i int) (list []Forgery) {
	e := all[i]
	envelope := func(path, what string, change func(*events.Event)) {
		forged := e
		change(&forged)
		if fmt.Sprint(forged) != fmt.Sprint(e) {
			list = append(list, Forgery{i, path, what, forged})
		}
	}
	envelope(".id", "another", func(e *events.Event) { e.ID = "x" + e.ID })
	earlier := ".version earlier"
	if e.Kind == events.KindCampaignDefined && e.Account == "" {
		earlier = ".version before accounts"
	}
	envelope(earlier, "-1", func(e *events.Event) { e.Version-- })
	envelope(".version later", "+1", func(e *events.Event) { e.Version++ })
	envelope(".time later", "+10 y", func(e *events.Event) { e.Time = e.Time.AddDate(10, 0, 0) })
	envelope(".time earlier", "-30 d", func(e *events.Event) { e.Time = e.Time.AddDate(0, 0, -30) })
	envelope(".time by a little", "+1 µs", func(e *events.Event) { e.Time = e.Time.Add(time.Microsecond) })
	for _, actor := range []string{
		"", "engine", "person:", "person:mallory", "expert:mallory", "instrument:acme/real", "method:mallory", "root",
	} {
		envelope(actorPath(all, i, actor), actor, func(e *events.Event) { e.Actor = actor })
	}
	for _, account := range []string{"", "mallory (uid 1001)"} {
		envelope(accountPath(all, i), account, func(e *events.Event) { e.Account = account })
	}
	for _, cause := range []string{"", "999999", "1", fmt.Sprint(max(1, i-3)), fmt.Sprint(i + 1)} {
		envelope(".cause", cause, func(e *events.Event) { e.Cause = cause })
	}
	for _, before := range all[:i] {
		if before.Request != "" && before.Actor == e.Actor {
			envelope(".request", "an earlier one", func(e *events.Event) {
				e.Request, e.RequestDigest = before.Request, before.RequestDigest
			})
		}
	}
	name := ".request"
	if byPerson(e) && !member(all, i) {
		name = ".request of another name"
	}
	envelope(name, "another", func(e *events.Event) { e.Request += "x" })
	envelope(name, "none", func(e *events.Event) { e.Request, e.RequestDigest = "", "" })
	if e.Request != "" {
		envelope(".request digest", "another", func(e *events.Event) { e.RequestDigest += "0" })
	}
	simulated := ".simulated"
	if alone(all, i) {
		simulated = ".simulated of one dispatch"
	}
	envelope(simulated, "the other", func(e *events.Event) { e.Simulated = !e.Simulated })
	envelope(".trace", "none", func(e *events.Event) { e.Trace = "" })
	trace := ".trace"
	if all[0].Trace == "" {
		trace = ".trace span"
	}
	envelope(trace, "another", func(e *events.Event) {
		e.Trace = "00-" + strings.Repeat("a", 32) + "-" + strings.Repeat("b", 16) + "-01"
	})
	envelope(".trace", "no trace", func(e *events.Event) { e.Trace = "yes" })
	return list
}

// actorPath is the path of the change of an actor into another one.
func actorPath(all []events.Event, i int, actor string) string {
	e := all[i]
	switch {
	case actor != "person:mallory" || member(all, i) || i > 0 && e.Time.Equal(all[i-1].Time):
	case byPerson(e):
		return ".actor name"
	case strings.HasPrefix(e.Actor, "expert:"), e.Kind == events.KindNoteAdded,
		e.Kind == events.KindExperimentCancelled, e.Kind == events.KindFileAttached:
		return ".actor for"
	}
	return ".actor"
}

// accountPath is the path of the change of an account: of a possible account into another one, or
// of an impossible one.
func accountPath(all []events.Event, i int) string {
	e := all[i]
	next := i+1 < len(all) && member(all, i+1) && all[i+1].Cause == e.ID
	if (byPerson(e) || strings.HasPrefix(e.Actor, "expert:") && !e.Simulated) && !member(all, i) && !next {
		return ".account name"
	}
	return ".account"
}

// alone reports whether no other event describes the instrument of the process that wrote it.
func alone(all []events.Event, i int) bool {
	about := func(e events.Event) bool {
		return e.Kind == events.KindExperimentDispatched || strings.HasPrefix(e.Actor, "instrument:")
	}
	begun := func(e events.Event) bool { return e.Kind == events.KindRecoveryDone }
	end := slices.IndexFunc(all[i+1:], begun)
	if end < 0 {
		end = len(all) - i - 1
	}
	return about(all[i]) && !slices.ContainsFunc(all[i+1:i+1+end], about) &&
		!slices.ContainsFunc(lastOf(all[:i], begun), about)
}

// lastOf returns the events after the last one that fits.
func lastOf(all []events.Event, fits func(events.Event) bool) []events.Event {
	for i := range slices.Backward(all) {
		if fits(all[i]) {
			return all[i+1:]
		}
	}
	return all
}

func byPerson(e events.Event) bool { return strings.HasPrefix(e.Actor, "person:") }

// member reports whether an event follows another one in the batch of a request.
func member(all []events.Event, i int) bool {
	e := all[i]
	for _, first := range all[:i] {
		if e.Cause == first.ID && e.Time.Equal(first.Time) && e.Actor == first.Actor {
			return true
		}
	}
	return false
}

// payloads are the forgeries of an event's content.
func payloads(i int, e events.Event) (list []Forgery, err error) {
	var data any
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return nil, err
	}
	payload, err := events.Decode(e)
	if err != nil {
		return nil, err
	}
	asked, own := payload.(*events.ExperimentRequested)
	own = own && asked.Origin == events.OriginPerson
	change("", data, func(path, what string, whole any) {
		text, failed := json.Marshal(whole)
		if failed != nil {
			err = failed
			return
		}
		forged := e
		forged.Data = text
		if what == "removed" && readsTheSame(forged, e) {
			return
		}
		if own && strings.HasPrefix(path, "parameters/") {
			path = "own " + path
		}
		list = append(list, Forgery{i, path, what, forged})
	})
	return list, err
}

// readsTheSame reports whether two payloads decode to the same.
func readsTheSame(forged, e events.Event) bool {
	p, err := events.Decode(forged)
	if err != nil {
		return false
	}
	again, err := json.Marshal(p)
	return err == nil && bytes.Equal(again, e.Data)
}

// change calls forged with a JSON value changed in one place, for every place and
// several changes.
func change(path string, data any, forged func(path, what string, whole any)) {
	join := func(key string) string { return strings.TrimPrefix(path+"/"+key, "/") }
	switch d := data.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(d)) {
			with := func(value any) map[string]any {
				m := maps.Clone(d)
				m[key] = value
				return m
			}
			without := maps.Clone(d)
			delete(without, key)
			forged(join(key), "removed", without)
			change(join(key), d[key], func(path, what string, value any) { forged(path, what, with(value)) })
		}
		m := maps.Clone(d)
		m["approved"] = true
		forged(join("approved"), "added", m)
	case []any:
		for i := range d {
			change(join("#"), d[i], func(path, what string, value any) {
				list := slices.Clone(d)
				list[i] = value
				forged(path, what, list)
			})
		}
		if len(d) > 0 {
			forged(path, "shorter", d[:len(d)-1])
			forged(path, "longer", append(slices.Clone(d), d[0]))
		}
	case float64:
		forged(path, "greater", d+1)
		forged(path, "a little greater", d*(1+1e-3)+1e-6)
		forged(path, "negative", -d-1)
		forged(path, "text", "seven")
	case string:
		forged(path, "another", d+"x")
		forged(path, "empty", "")
		if when, err := time.Parse(time.RFC3339Nano, d); err == nil {
			forged(path, "a day later", when.AddDate(0, 0, 1))
		}
		if n, letter := 0, byte(0); scan(d, &letter, &n) {
			forged(path, "the next", fmt.Sprintf("%c%d", letter, n+1))
		}
	case bool:
		forged(path, "the other", !d)
	}
}

// scan reads an identifier such as e7.
func scan(id string, letter *byte, n *int) bool {
	read, err := fmt.Sscanf(id, "%c%d", letter, n)
	return err == nil && read == 2 && fmt.Sprintf("%c%d", *letter, *n) == id
}
