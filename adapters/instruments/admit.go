package instruments

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Admit returns a measurement as it enters the campaign. The engine applies it
// to every answer of every instrument.
//
// The objective and the composition that was made are the substance: a fault in
// either refuses the whole measurement with a [*MeasurementError], since a
// model would learn from it. Everything else is decoration: a standard
// deviation, further quantities, times, the device's identity. A fault there
// never costs the result. The faulty part is moved to
// [events.Measurement.Unread], as it was given and with the reason; the rest
// counts. What Admit returns passes [Check] and can be recorded.
//
// Where the campaign declares its quantities, they are arranged first
// ([Arranged]): one that cannot be used is missing, and the measurement counts
// as long as there is one from which something is learned.
func Admit(def definition.Campaign, m events.Measurement) (events.Measurement, error) {
	var f faults
	m = Arranged(&def, Respelled(&def, m))
	f.substance(def, m)
	if f != nil {
		return events.Measurement{}, &MeasurementError{Faults: f}
	}
	m, unread := undecorated(m)
	m.Unread = append(slices.Clip(m.Unread), unread...)
	m.Identity = Legible(m.Identity, MaxIdentity)
	return fit(m), nil
}

// undecorated returns the measurement without its unusable decoration, and that
// decoration with its faults.
func undecorated(m events.Measurement) (events.Measurement, []events.Unread) {
	var unread []events.Unread
	spoilt := func(field string, value any, format string, args ...any) {
		unread = append(unread, events.Unread{Field: field, Text: text(value),
			Reason: fmt.Sprintf(format, args...)})
	}
	if sd := m.Objective.SD; badSD(sd) {
		spoilt("objective.sd", *sd, "the standard deviation of the objective is %s", absurd(*sd))
		m.Objective.SD = nil
	}
	further := m.Further
	m.Further = nil
	seen := map[string]bool{m.Objective.Name: true}
	for _, q := range m.Quantities {
		seen[q.Name] = true
	}
	for i, q := range further {
		const most = 60 // characters of its name: enough to know it by
		field := fmt.Sprintf("further %d (%s)", i+1, Legible(q.Name, most))
		what := fmt.Sprintf("further quantity %d (%s)", i+1, Legible(q.Name, most))
		switch name, unit := checkName(q.Name, MaxName), checkName(q.Unit, MaxName); {
		case q.Name == "":
			spoilt(field, q, "%s has no name", what)
		case name != "":
			spoilt(field, q, "the name of %s %s", what, name)
		case unit != "":
			spoilt(field, q, "the unit of %s %s", what, unit)
		case !finite(q.Value) || beyond(q.Value):
			spoilt(field, q, "%s is %s", what, absurd(q.Value))
		case seen[q.Name]:
			spoilt(field, q, "%s is given twice", what)
		default:
			seen[q.Name] = true
			if badSD(q.SD) {
				spoilt(field+".sd", *q.SD, "the standard deviation of %s is %s", what, absurd(*q.SD))
				q.SD = nil
			}
			m.Further = append(m.Further, q)
		}
	}
	for _, t := range []struct {
		field string
		at    *time.Time
	}{{"began", &m.Began}, {"ended", &m.Ended}} {
		if y := t.at.Year(); y < 1 || y > 9999 {
			spoilt(t.field, *t.at, "the time %v has no year between 1 and 9999", *t.at)
			*t.at = time.Time{}
		}
	}
	if !m.Began.IsZero() && !m.Ended.IsZero() && m.Ended.Before(m.Began) {
		spoilt("ended", m.Ended, "it ended at %v, before it began at %v", m.Ended, m.Began)
		m.Ended = time.Time{}
	}
	return m, unread
}

func badSD(sd *float64) bool { return sd != nil && !(*sd >= 0 && *sd <= definition.Greatest) }

// text is a value as JSON, or as Go prints it where JSON cannot hold it (NaN).
func text(v any) string {
	if data, err := json.Marshal(v); err == nil {
		return string(data)
	}
	return fmt.Sprintf("%+v", v)
}

// Limits on the recorded parts of one answer besides its objective. They keep the event within its
// size even if every character is escaped. Real instruments stay far below, and a whole line of the
// process protocol fits. Longer parts are cut; the result is never lost.
const (
	maxUnread  = 100           // pieces, one by one
	maxAside   = 1<<20 + 1<<16 // characters of all of them
	maxFurther = 4 << 20       // bytes of JSON
)

// fit shortens a measurement until the log can hold it.
func fit(m events.Measurement) events.Measurement {
	if n := len(m.Unread); n > maxUnread {
		rest := events.Unread{
			Field: "…",
			Reason: fmt.Sprintf("%d more parts could not be used, the first because %s",
				n-maxUnread, m.Unread[maxUnread].Reason),
		}
		var all strings.Builder
		for _, u := range m.Unread[maxUnread:] {
			if all.Len() > 4*maxAside {
				break
			}
			all.WriteString(u.Text + "\n")
		}
		rest.Text = all.String()
		m.Unread = append(slices.Clone(m.Unread[:maxUnread]), rest)
	}
	size := 0
	m.Unread = slices.Clone(m.Unread)
	for i, u := range m.Unread {
		left := max(0, maxAside-size)
		u = events.Unread{
			Field:  Legible(u.Field, 2*MaxName),
			Text:   Legible(u.Text, left),
			Reason: Legible(u.Reason, MaxCause),
		}
		size += len(u.Field) + len(u.Text) + len(u.Reason)
		m.Unread[i] = u
	}
	if data, err := json.Marshal(m.Further); err == nil && len(data) > maxFurther {
		m.Unread = append(m.Unread, events.Unread{
			Field: "further", Text: Legible(string(data), MaxCause),
			Reason: fmt.Sprintf("%d quantities are %d bytes, more than the %d that one measurement may have",
				len(m.Further), len(data), maxFurther),
		})
		m.Further = nil
	}
	return m
}
