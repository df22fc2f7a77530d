package notify

import (
	"slices"
	"testing"
	"time"
)

// Law: what is remembered of a time that lies ahead, since the clock was set back, holds nothing up
// longer than its rule says from then on: a question is told, told again, and told to the stand-in as
// if it had been asked when that is seen; and an hour's messages, or a service that failed, keep
// nothing back for longer than an hour.
func TestClockSetBack(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		ahead func(w *world) // what happens a year ahead
		want  map[string]time.Duration
	}{
		"told, and reminded": {
			ahead: func(w *world) {
				w.happens("ask q1 ada")
				w.run(w.now.Add(time.Minute), false, "", false)
			},
			want: map[string]time.Duration{"ada": time.Hour, "bo": 2 * time.Hour},
		},
		"not yet told": {
			ahead: func(w *world) { w.happens("ask q1 ada") },
			want:  map[string]time.Duration{"ada": 5 * time.Second, "bo": 2 * time.Hour},
		},
		"the service failed": {
			ahead: func(w *world) {
				w.happens("ask q1 ada")
				w.run(w.now.Add(time.Hour), true, "", false)
			},
			want: map[string]time.Duration{"ada": time.Hour, "bo": 2 * time.Hour},
		},
		"as many as in an hour": {
			ahead: func(w *world) {
				for n := range 3 {
					w.happens([]string{"ask q1 ada", "ask q2 ada", "ask q3 ada"}[n])
					w.run(w.now.Add(time.Minute), false, "", false)
				}
			},
			want: map[string]time.Duration{"ada": time.Hour, "bo": 2 * time.Hour},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `people:
  ada:
    notify: ["ntfy://example.org/ada"]
    remind_every: 1h
    per_hour: 2
    stand_in: bo
    escalate_after: 2h
  bo: {notify: ["ntfy://example.org/bo"]}
`, monday)
			w.now = monday.Add(year)
			c.ahead(w)
			w.restart()
			w.sent, w.now = nil, monday
			w.run(monday.Add(4*time.Hour), false, "", false)
			for person, within := range c.want {
				first := slices.IndexFunc(w.sent, func(d delivery) bool { return d.Person == person })
				if first < 0 {
					t.Errorf("%s is sent nothing", person)
				} else if after := w.sent[first].at.Sub(monday); after > within+time.Minute {
					t.Errorf("%s is sent something after %s, want %s at most", person, after, within)
				}
			}
		})
	}
}
