package labfile

import (
	"sync"
	"time"
	_ "time/tzdata" // zones also where the system has none, as in a small container

	"github.com/campaignd/campaignd/events/definition"
)

// Person is a member of the lab who gets messages.
type Person struct {
	// Name in full, as messages and pages show it. Default: the key.
	Name string `json:"name,omitempty" jsonschema:"maxLength=200"`
	// Notify lists where messages go, as addresses of channels: smtp://…,
	// slack://…, ntfy://… and the others of shoutrrr. ${VAR} takes a part from the environment, file:PATH
	// the whole address from a file.
	Notify []Secret `json:"notify,omitempty" jsonschema:"maxItems=10"`
	// Quiet is when nothing is sent. What still holds afterwards comes in one
	// message.
	Quiet *Quiet `json:"quiet,omitempty"`
	// Urgent has unknown outcomes break into quiet hours.
	Urgent bool `json:"urgent,omitempty"`
	// StandIn is who is asked in their place, EscalateAfter how long after they
	// could first know of a question; quiet hours at that time do not count.
	StandIn string `json:"stand_in,omitempty"`
	// EscalateAfter is how long a question waits before the stand-in is asked.
	EscalateAfter definition.Duration `json:"escalate_after,omitempty"`
	// RemindEvery is how often they are reminded of a question that is open.
	// Absent: never.
	RemindEvery definition.Duration `json:"remind_every,omitempty"`
	// PerHour is the maximum number of messages per hour; the rest comes in one
	// message afterwards. Default 12.
	PerHour int `json:"per_hour,omitempty" jsonschema:"minimum=1,maximum=1000"`
}

// DefaultPerHour is the maximum number of messages per hour of a person without a setting.
const DefaultPerHour = 12

// Quiet are the hours in which a person is not to be disturbed, by the clock on
// their wall.
type Quiet struct {
	// From and To are times of the day; from 19:00 to 08:00 is a night.
	From string `json:"from,omitempty" jsonschema:"pattern=^([01][0-9]|2[0-3]):[0-5][0-9]$"`
	To   string `json:"to,omitempty" jsonschema:"pattern=^([01][0-9]|2[0-3]):[0-5][0-9]$"`
	// Zone is the time zone of the clock: Europe/Berlin.
	Zone string `json:"zone" jsonschema:"required"`
	// Weekends adds all of Saturday and Sunday.
	Weekends bool `json:"weekends,omitempty"`
}

// Location returns the zone; UTC for an unknown zone, or without quiet hours.
func (q *Quiet) Location() *time.Location {
	if q == nil {
		return time.UTC
	}
	if zone, known := zones.Load(q.Zone); known {
		return zone.(*time.Location)
	}
	zone, err := time.LoadLocation(q.Zone)
	if err != nil {
		zone = time.UTC
	}
	zones.Store(q.Zone, zone)
	return zone
}

// zones caches zones: loading one takes longer than using it.
var zones sync.Map

// Covers reports whether a time is within the quiet hours: the hour and minute on the person's wall
// clock decide, also if a clock change repeats or skips them.
func (q *Quiet) Covers(t time.Time) bool {
	return q != nil && q.wall().covers(t.In(q.Location()))
}

// Until returns the end of the quiet hours that cover t, or t itself. It goes minute by minute
// instead of computing the end, so that clock changes need no cases of their own.
func (q *Quiet) Until(t time.Time) time.Time {
	if !q.Covers(t) {
		return t
	}
	// Zones change at whole minutes, and quiet hours end at them. All possible quiet hours end
	// within a week.
	wall, local := q.wall(), t.In(q.Location()).Truncate(time.Minute)
	for range 8 * 24 * 60 {
		if local = local.Add(time.Minute); !wall.covers(local) {
			break
		}
	}
	return local.In(t.Location())
}

// wall holds quiet hours in minutes of the day.
type wall struct {
	from, to int
	weekends bool
}

// wall reads the times of the day once.
func (q *Quiet) wall() wall { return wall{minutes(q.From), minutes(q.To), q.Weekends} }

// covers takes a time in the person's zone. Hours without times, 0 to 0, cover nothing.
func (w wall) covers(local time.Time) bool {
	if day := local.Weekday(); w.weekends && (day == time.Saturday || day == time.Sunday) {
		return true
	}
	now := local.Hour()*60 + local.Minute()
	if w.from <= w.to {
		return w.from <= now && now < w.to
	}
	return now >= w.from || now < w.to
}

// minutes returns a time of the day in minutes; 0 for an empty one.
func minutes(clock string) int {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		return 0
	}
	return t.Hour()*60 + t.Minute()
}
