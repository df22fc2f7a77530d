package notify

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const propertyLab = `
people:
  ada:
    notify: ["ntfy://h/ada", "ntfy://h/ada-too"]
    quiet: {from: "19:00", to: "08:00", zone: Europe/Berlin}
    remind_every: 4h
    stand_in: bo
    escalate_after: 6h
    per_hour: 5
  bo: {notify: ["ntfy://h/bo"]}
`

// asked is what the test knows of a question.
type asked struct {
	expert string
	closed time.Time
	by     string
}

// told is an entry of a message that arrived.
type told struct {
	at       time.Time
	message  string
	over     bool
	recorded bool // the process lived to record it
}

var (
	entry = regexp.MustCompile(`(?m)^(?:• )?(?:Reminder: )?(q[0-9]+) of bread`)
	ended = regexp.MustCompile(`(?m)^(?:• )?No longer needed: (q[0-9]+) of bread`)
)

// Law: whatever is asked and answered, whichever messages fail, and wherever the process
// dies: nobody is told of a question that is closed; nothing comes in quiet hours, also in
// the nights in which clocks change; what is recorded is told once, and again only after
// remind_every; a message that may have arrived comes again under the same identifier as
// long as all of it holds; in the end everybody knows what is open and what no longer is.
func TestWhateverHappens(t *testing.T) {
	berlin := mustLoad(t, "Europe/Berlin")
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, propertyLab, rapid.SampledFrom([]time.Time{
			monday, time.Date(2026, 3, 28, 14, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 14, 0, 0, 0, time.UTC),
		}).Draw(rt, "begins"))
		questions := make(map[string]*asked)
		history := make(map[string]map[string][]told) // by address and question
		tried := make(map[string]bool)                // the addresses and questions of which the process died
		unsure := make(map[string]string)             // the last message of an address that was not recorded
		arrives := func(m Message, recorded bool) {
			key := channelKey(m.Person, m.Target)
			if local := w.now.In(berlin).Format("15:04"); m.Person == "ada" && (local >= "19:00" || local < "08:00") {
				rt.Fatalf("ada is told at %s: %s", local, m.Title)
			}
			text := m.Title + "\n" + m.Text
			if history[key] == nil {
				history[key] = make(map[string][]told)
			}
			all := true
			for _, match := range entry.FindAllStringSubmatch(text, -1) {
				q := questions[match[1]]
				if !q.closed.IsZero() {
					rt.Fatalf("%s is told of %s, which is closed:\n%s", m.Person, match[1], text)
				}
				history[key][match[1]] = append(history[key][match[1]], told{w.now, m.ID, false, recorded})
			}
			for _, match := range ended.FindAllStringSubmatch(text, -1) {
				if q := questions[match[1]]; q.closed.IsZero() || q.by == m.Person {
					rt.Fatalf("%s hears that %s is over:\n%s", m.Person, match[1], text)
				}
				all = false
				history[key][match[1]] = append(history[key][match[1]], told{w.now, m.ID, true, recorded})
			}
			if before := unsure[key]; before != "" && before != m.ID {
				rt.Fatalf("%s may have got message %s, and gets %s:\n%s", m.Person, before, m.ID, text)
			}
			delete(unsure, key)
			if !recorded && all {
				unsure[key] = m.ID
			}
		}
		pass := func(d time.Duration, fate func() string) {
			for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(5 * time.Minute) {
				for _, m := range w.due() {
					w.anew = rapid.Bool().Draw(rt, "anew")
					switch w.restart(); fate() {
					case "fails":
						w.ended(w.planner.Failed(m, w.now, "no"))
						delete(unsure, channelKey(m.Person, m.Target))
					case "dies before":
						for _, match := range entry.FindAllStringSubmatch(m.Title+"\n"+m.Text, -1) {
							tried[channelKey(m.Person, m.Target)+match[1]] = true
						}
						w.restart()
					case "dies after":
						arrives(m, false)
						w.restart()
					default:
						arrives(m, true)
						w.ended(w.planner.Sent(m, w.now))
					}
				}
			}
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"ask", "ask", "close", "pass", "pass"}).Draw(rt, "step") {
			case "ask":
				id := fmt.Sprintf("q%d", len(questions)+1)
				questions[id] = &asked{expert: rapid.SampledFrom([]string{"ada", "bo"}).Draw(rt, "expert")}
				w.happens("ask " + id + " " + questions[id].expert)
			case "close":
				var open []string
				for id, q := range questions {
					if q.closed.IsZero() {
						open = append(open, id)
					}
				}
				if open == nil {
					continue
				}
				slices.Sort(open)
				id := rapid.SampledFrom(open).Draw(rt, "question")
				q := questions[id]
				q.by = rapid.SampledFrom([]string{"ada", "bo", "engine"}).Draw(rt, "by")
				q.closed = w.now
				if q.by == "engine" {
					w.happens("withdraw " + id)
				} else {
					w.happens("answer " + id + " person:" + q.by)
				}
				for key, message := range unsure { // it may change what is sent next
					for _, entries := range history[key] {
						if slices.ContainsFunc(entries, func(e told) bool { return e.message == message }) {
							delete(unsure, key)
						}
					}
				}
			case "pass":
				minutes := rapid.SampledFrom([]int{5, 10, 60, 200, 600}).Draw(rt, "minutes")
				pass(time.Duration(minutes)*time.Minute, func() string {
					return rapid.SampledFrom([]string{"arrives", "arrives", "fails", "dies before", "dies after"}).Draw(rt, "fate")
				})
			}
		}
		pass(2*24*time.Hour, func() string { return "arrives" })
		for id, q := range questions {
			for _, name := range []string{"ada", "bo"} {
				for target := range w.lab.People[name].Notify {
					key := channelKey(name, target)
					check(rt, key, name, id, q, history[key][id], tried[key+id])
				}
			}
		}
	})
}

// check holds what arrived at an address about a question against what should have.
func check(t *rapid.T, key, name, id string, q *asked, entries []told, tried bool) {
	var tellings, endings []told
	for _, e := range entries {
		if e.recorded && e.over {
			endings = append(endings, e)
		} else if e.recorded {
			tellings = append(tellings, e)
		}
	}
	for i := 1; i < len(tellings); i++ {
		if apart := tellings[i].at.Sub(tellings[i-1].at); name != "ada" || apart < 4*time.Hour {
			t.Fatalf("%s is told of %s again after %s", key, id, apart)
		}
	}
	concerned := name == q.expert || q.expert == "ada"
	if !concerned && len(entries) > 0 {
		t.Fatalf("%s is told of %s, which is %s's", key, id, q.expert)
	}
	if concerned && q.closed.IsZero() && len(tellings) == 0 {
		t.Fatalf("%s is never told of %s", key, id)
	}
	if len(endings) > 1 || len(endings) > 0 && len(entries) == len(endings) && !tried {
		t.Fatalf("%s hears %d times that %s is over, of which it was told %d times", key, len(endings), id, len(tellings))
	}
	if q.closed.IsZero() || q.by == name || len(tellings) == 0 {
		return
	}
	if q.closed.Sub(tellings[0].at) > time.Minute && len(endings) != 1 {
		t.Fatalf("%s was told of %s %s before it was closed, and hears %d times that it is over",
			key, id, q.closed.Sub(tellings[0].at), len(endings))
	}
}

func mustLoad(t testing.TB, zone string) *time.Location {
	return must.Get(time.LoadLocation(zone))(t)
}
