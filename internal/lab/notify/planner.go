package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/clock"
)

const (
	// settle is how long something new waits for more of its kind, so that several questions at
	// once become one message.
	settle = 5 * time.Second
	// aware is how long a person must have known of a question for its end to be news.
	aware = time.Minute
	// old is how long news, such as a finished campaign, is kept for an unreachable person.
	old = 7 * 24 * time.Hour
	// The wait after the first failure of a service, doubled with each, and the
	// longest.
	firstWait   = 30 * time.Second
	longestWait = time.Hour
)

// Planner decides on messages and their times. Its state is folded from the events of campaigns
// ([Planner.Apply]) and those of [Stream] ([Planner.Take]), in either order. It has no clock: time
// comes in with events and with the calls. It is not safe for concurrent use.
type Planner struct {
	lab   *labfile.File
	state *state
}

// NewPlanner returns a planner that has folded nothing yet.
func NewPlanner(lab *labfile.File) *Planner {
	return &Planner{lab: orEmpty(lab), state: &state{
		Places:   make(map[string]place),
		Streams:  make(map[string]*stream),
		Channels: make(map[string]*channel),
		Said:     make(map[string]map[string]telling),
		Before:   make(map[string]earlierStream),
		Known:    make(map[string]bool),
	}}
}

// orEmpty replaces a missing lab file by a lab without people, so that nothing else checks for nil.
func orEmpty(lab *labfile.File) *labfile.File {
	if lab == nil {
		return new(labfile.File)
	}
	return lab
}

// channelKey names a person's address by its place in the list, not by the address: a corrected
// address keeps its history.
func channelKey(person string, target int) string { return fmt.Sprintf("%s#%d", person, target) }

// Due returns the messages to be sent now, in a fixed order, at most one per address, and the
// events to be recorded before. [Planner.Sent] or [Planner.Failed] reports the result of each
// message; without a report, because the process died, it is returned again as long as it is true.
//
// Due messages are derived each time from the matters and the lab file, and never stored as a list:
// a list would have to be corrected after each answer and each change of the file.
func (p *Planner) Due(now time.Time) (due []Message, record []events.Event) {
	p.cut(now)
	p.forget(now)
	for _, name := range sortedKeys(p.lab.People) {
		for target := range p.lab.People[name].Notify {
			if dropped, ok := p.settleAttempt(name, target, now); ok {
				record = append(record, p.record(kindDropped, now, dropped))
			}
			if m, notices, ok := p.due(now, name, target); ok {
				record = append(record, p.record(kindAttempted, now, m.outcome(notices)))
				due = append(due, m)
			}
		}
	}
	return due, record
}

// cut moves times that lie ahead of the clock to now, or to the latest that their rule allows: they
// were recorded before the clock was set back. Otherwise a time one year ahead would silence its
// messages for a year. A new fold is cut anew.
func (p *Planner) cut(now time.Time) {
	past := func(t *time.Time) { *t = clock.Within(*t, now, 0) }
	past(&p.state.Began)
	for _, m := range p.state.Matters {
		past(&m.Since)
		past(&m.Closed)
	}
	for _, c := range p.state.Channels {
		for i := range c.Sent {
			past(&c.Sent[i])
		}
		c.Again = clock.Within(c.Again, now, longestWait)
	}
	for _, said := range p.state.Said {
		for key, t := range said {
			past(&t.First)
			past(&t.Last)
			said[key] = t
		}
	}
}

// record makes an event of the stream, and folds it. It uses the same code that reads it back, so
// that a planner after a restart has the same state.
func (p *Planner) record(kind events.Kind, now time.Time, o outcome) events.Event {
	e := newEvent(kind, now, &o)
	p.Take(e, &o)
	return e
}

// outcome returns the payload of an event about the message. It omits the words: the notices
// determine them.
func (m Message) outcome(notices []notice) outcome {
	return outcome{ID: m.ID, Person: m.Person, Target: m.Target, Notices: notices}
}

// due returns the message to be sent to one address now, if any.
//
// Quiet hours and the hourly bound hold everything except the matters that may wake a person. A
// message waits until one of its parts has settled, and then includes the younger ones.
func (p *Planner) due(
	now time.Time, name string, target int,
) (due Message, notices []notice, ok bool) {
	person, key := p.lab.People[name], channelKey(name, target)
	c := p.channel(key)
	c.Sent = slices.DeleteFunc(c.Sent, func(t time.Time) bool { return !t.After(now.Add(-time.Hour)) })
	if now.Before(c.Again) {
		return due, nil, false
	}
	held := person.Quiet.Covers(now) || len(c.Sent) >= cmp.Or(person.PerHour, labfile.DefaultPerHour)
	var all []notice
	ready := false
	for _, m := range p.state.Matters {
		n, at, ok := p.notice(m, name, key, now)
		if !ok || at.After(now) || held && !(person.Urgent && m.Kind == unresolved && n.Time != over) {
			continue
		}
		all = append(all, n)
		ready = ready || !now.Before(m.changed().Add(settle))
	}
	if c.Attempt != nil && len(all) > 0 {
		// It may have been sent: repeat it with the same identifier, unless a part of it is held
		// back.
		all = only(all, c.Attempt.Notices)
		ready = len(all) == len(c.Attempt.Notices)
	}
	if !ready {
		return due, nil, false
	}
	id := identify(key, all)
	if c.Attempt != nil {
		id = c.Attempt.ID
	}
	return p.message(now, name, target, id, all), all, true
}

// settleAttempt gives up a message if a part of it has become untrue: a part whose matter has
// closed since counts as sent, since it may have been, so that its end can be news; the rest is
// sent anew. It comes before due, which then words another message.
func (p *Planner) settleAttempt(
	name string, target int, now time.Time,
) (dropped outcome, ok bool) {
	key := channelKey(name, target)
	c := p.channel(key)
	if c.Attempt == nil {
		return dropped, false
	}
	dropped = outcome{ID: c.Attempt.ID, Person: name, Target: target}
	for _, n := range c.Attempt.Notices {
		m := p.matter(n.Matter)
		if m == nil {
			ok = true
			continue
		}
		if again, _, still := p.notice(m, name, key, now); !still || again != n {
			ok = true
			if n.Time != over && !m.open() {
				dropped.Notices = append(dropped.Notices, n)
			}
		}
	}
	return dropped, ok
}

// only returns the notices that are in both lists.
func only(all, among []notice) []notice {
	return slices.DeleteFunc(slices.Clone(all), func(n notice) bool { return !slices.Contains(among, n) })
}

// notice returns the next notice to a person about a matter on one of their channels, and its time;
// false if none is due. The end of a question is news only for those who knew of it, did not answer
// it themselves and have had a minute to begin; only questions have reminders.
func (p *Planner) notice(m *matter, name, key string, now time.Time) (n notice, at time.Time, ok bool) {
	n = notice{Matter: m.Key}
	if m.Done {
		return n, at, false
	}
	said := p.state.Said[m.Key][key]
	if !m.open() {
		n.Time = over
		news := m.Kind == question && said.Times > 0 && !said.Over && m.By != name &&
			m.Closed.Sub(said.First) > aware
		return n, m.Closed, news
	}
	if now.Before(m.From) || !m.Expires.IsZero() && !now.Before(m.Expires) {
		return n, at, false // its expiry will be recorded
	}
	from, concerned := p.concerns(m, name)
	if said.Times > 0 {
		every := time.Duration(p.lab.People[name].RemindEvery)
		n.Time = said.Times
		return n, said.Last.Add(every), m.Kind == question && every > 0
	}
	return n, from, concerned
}

// concerns reports whether and from when a person hears of a matter. A stand-in's time begins when
// the expert could first know of it, at the end of their quiet hours.
func (p *Planner) concerns(m *matter, name string) (from time.Time, ok bool) {
	switch m.Kind {
	case question:
		if name == m.Expert {
			return m.Since, true
		}
		expert, known := p.lab.People[m.Expert]
		if !known || expert.StandIn != name {
			return from, false
		}
		return expert.Quiet.Until(m.Since).Add(time.Duration(expert.EscalateAfter)), true
	case finished:
		return m.Since, slices.Contains(p.lab.Finished, name)
	case contested:
		return m.Since, name == m.Expert
	}
	return m.Since, slices.Contains(p.lab.Alarms, name)
}

// Sent returns the event that the service accepted a message.
func (p *Planner) Sent(m Message, now time.Time) events.Event {
	return p.record(kindDelivered, now, m.outcome(nil))
}

// Failed returns the event that a message was not accepted. Notices still true are tried again:
// after half a minute, and twice as long after each further failure, up to an hour. why holds no
// secrets.
func (p *Planner) Failed(m Message, now time.Time, why string) events.Event {
	failed := m.outcome(nil)
	failed.Error = harmless(why)
	return p.record(kindFailed, now, failed)
}

// Take folds an event of the stream, with its payload.
func (p *Planner) Take(e events.Event, payload events.Payload) {
	switch payload := payload.(type) {
	case *begun:
		if p.state.Began.IsZero() {
			p.state.Began = e.Time
		}
		p.takeOver(payload.Earlier)
	case *outcome:
		key := channelKey(payload.Person, payload.Target)
		c := p.channel(key)
		if e.Kind == kindAttempted {
			c.Attempt = &attempt{ID: payload.ID, At: e.Time, Notices: payload.Notices}
		}
		if c.Attempt == nil || c.Attempt.ID != payload.ID {
			return
		}
		switch e.Kind {
		case kindDelivered:
			p.tell(key, c.Attempt.Notices, e.Time)
			// A success ends the failures, the wait and the attempt.
			*c = channel{Sent: append(c.Sent, e.Time), Delivered: e.Time}
		case kindFailed:
			c.fail(e.Time, payload.Error)
		case kindDropped:
			p.tell(key, payload.Notices, c.Attempt.At)
			c.Attempt = nil
		}
	}
}

// takeOver folds a memory from before the stream. Its keys lack the instance; that of its campaign
// is inserted, so that a notice is found under the key that the same event has now.
func (p *Planner) takeOver(e *earlier) {
	if e == nil {
		return
	}
	if e.Began.Before(p.state.Began) {
		p.state.Began = e.Began
	}
	maps.Copy(p.state.Before, e.Streams)
	keys := make(map[string]string)
	for _, m := range e.Matters {
		rest := strings.TrimPrefix(m.Key, m.Campaign+"/")
		key := matterKey(m.Campaign, e.Streams[m.Campaign].Instance, rest)
		keys[m.Key] = key
		p.state.Known[key] = true
		if m.Said != nil {
			p.state.Said[key] = m.Said
		}
	}
	for key, c := range e.Channels {
		if c.Attempt != nil {
			for i, n := range c.Attempt.Notices {
				c.Attempt.Notices[i].Matter = keys[n.Matter]
			}
		}
		p.state.Channels[key] = c
	}
}

// fail notes that a message was not accepted. The attempt is over: its notices are due again when
// the wait ends, together with newer ones, under another identifier unless they are the same.
func (c *channel) fail(at time.Time, why string) {
	c.Attempt = nil
	c.Failures++
	// From the eighth failure on the wait is the longest in any case, and a larger shift would
	// overflow.
	wait := longestWait
	if c.Failures < 8 {
		wait = min(firstWait<<(c.Failures-1), longestWait)
	}
	c.Again = at.Add(wait)
	c.Error = why
	c.Failed = at
}

// channel returns the state of a person's address.
func (p *Planner) channel(key string) *channel {
	c := p.state.Channels[key]
	if c == nil {
		c = new(channel)
		p.state.Channels[key] = c
	}
	return c
}

// tell notes the notices sent on a channel. The time is that of the event, not of now: reminders
// count from it, also after a restart.
func (p *Planner) tell(key string, notices []notice, at time.Time) {
	for _, n := range notices {
		said := p.state.Said[n.Matter][key]
		if n.Time == over {
			said.Over = true
		} else {
			if said.Times == 0 {
				said.First = at
			}
			said.Last = at
			said.Times++
		}
		if p.state.Said[n.Matter] == nil {
			p.state.Said[n.Matter] = make(map[string]telling)
		}
		p.state.Said[n.Matter][key] = said
	}
}

// matter returns the matter of a key, nil once it is forgotten.
func (p *Planner) matter(key string) *matter {
	for _, m := range p.state.Matters {
		if m.Key == key {
			return m
		}
	}
	return nil
}

// forget drops the matters that no one will hear of again, and old records of messages about them.
//
// A matter is kept while it is open, while a message about it is being sent, and while anyone in
// the present lab file is still to hear of it; news no longer than old. The record of messages
// outlives its matter by the same time: when a store is read anew from its first event, that record
// keeps everything in it from being sent again.
func (p *Planner) forget(now time.Time) {
	trying := make(map[string]bool)
	for _, c := range p.state.Channels {
		if c.Attempt != nil {
			for _, n := range c.Attempt.Notices {
				trying[n.Matter] = true
			}
		}
	}
	p.state.Matters = slices.DeleteFunc(p.state.Matters, func(m *matter) bool {
		if trying[m.Key] || m.open() && !m.isNews() {
			return false
		}
		if now.Sub(m.Since) > old && m.isNews() || !m.open() && now.Sub(m.Closed) > old {
			return true
		}
		for name, person := range p.lab.People {
			for target := range person.Notify {
				if _, _, ok := p.notice(m, name, channelKey(name, target), now); ok {
					return false
				}
			}
		}
		return true
	})
	for _, m := range p.state.Matters {
		trying[m.Key] = true
	}
	maps.DeleteFunc(p.state.Said, func(key string, said map[string]telling) bool {
		for _, t := range said {
			if trying[key] || now.Sub(t.Last) <= old {
				return false
			}
		}
		return true
	})
}

// identify derives a message's identifier from its recipient and notices. It is derived and not
// drawn, since the planner has no randomness. 48 bits distinguish a person's messages, and fit a
// line that people read.
func identify(key string, notices []notice) string {
	data, err := json.Marshal(struct {
		Key     string
		Notices []notice
	}{key, notices})
	if err != nil {
		panic("notify: " + err.Error()) // text and whole numbers
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// Status returns how each person of the lab is reached at a time, in alphabetical order.
func (p *Planner) Status(now time.Time) []Status {
	list := []Status{}
	for _, name := range sortedKeys(p.lab.People) {
		person := p.lab.People[name]
		s := Status{Person: name, Targets: []TargetStatus{}, Quiet: person.Quiet.Covers(now)}
		for target, address := range person.Notify {
			t := TargetStatus{Address: address.String()}
			key := channelKey(name, target)
			if c := p.state.Channels[key]; c != nil {
				t.Delivered = c.Delivered
				t.Error = c.Error
				t.Failed = c.Failed
				if c.Again.After(now) {
					t.Again = c.Again
				}
			}
			for _, m := range p.state.Matters {
				if _, at, ok := p.notice(m, name, key, now); ok && !at.After(now) {
					t.Waiting++
				}
			}
			s.Targets = append(s.Targets, t)
		}
		list = append(list, s)
	}
	return list
}

// sortedKeys gives maps an order: equal states plan equal messages.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
