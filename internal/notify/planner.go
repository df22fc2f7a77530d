package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/internal/labfile"
)

const (
	// settle is how long something new waits for more of its kind, so that
	// several questions at once become one message.
	settle = 5 * time.Second
	// aware is how long a person must have known of a question for its end to
	// be news.
	aware = time.Minute
	// old is how long news, as of a finished campaign, is kept for a person who
	// cannot be reached.
	old = 7 * 24 * time.Hour
	// The wait after the first failure of a service, doubled with each, and the
	// longest.
	firstWait   = 30 * time.Second
	longestWait = time.Hour
)

// Planner decides who gets which message, and when. It has no clock: time comes in
// with events and with the calls. It is not safe for concurrent use.
type Planner struct {
	lab   *labfile.File
	state *state
}

// NewPlanner returns a planner that remembers nothing. began is the present
// time: of campaigns that ended before it there are no messages any more.
func NewPlanner(lab *labfile.File, began time.Time) *Planner {
	return &Planner{lab: orEmpty(lab), state: &state{
		Version:  stateVersion,
		Began:    began,
		Streams:  make(map[string]*stream),
		Channels: make(map[string]*channel),
	}}
}

// RestorePlanner returns a planner that remembers what another did, by its
// [Planner.State]. The lab may have changed.
func RestorePlanner(lab *labfile.File, data []byte) (*Planner, error) {
	p := &Planner{lab: orEmpty(lab), state: new(state)}
	if err := json.Unmarshal(data, p.state); err != nil {
		return nil, err
	}
	if p.state.Version != stateVersion {
		return nil, fmt.Errorf("its version is %d, and this campaignd knows %d", p.state.Version,
			stateVersion)
	}
	if p.state.Streams == nil || p.state.Channels == nil {
		return nil, fmt.Errorf("it is not what campaignd has written")
	}
	return p, nil
}

// State is all that the planner remembers, as JSON.
func (p *Planner) State() []byte {
	data, err := json.Marshal(p.state)
	if err != nil {
		panic("notify: the state cannot be written: " + err.Error()) // finite numbers and text
	}
	return data
}

// orEmpty is a lab of no people in place of none.
func orEmpty(lab *labfile.File) *labfile.File {
	if lab == nil {
		return new(labfile.File)
	}
	return lab
}

// channelKey names a person's address. It is the place in the list, not the
// address: an address that is put right keeps what was sent.
func channelKey(person string, target int) string { return fmt.Sprintf("%s#%d", person, target) }

// Due returns the messages to be sent now, in a fixed order, at most one for
// each address. Each is answered by [Planner.Sent] or [Planner.Failed]; one
// that is not, since the process died, is returned again as long as it is true.
func (p *Planner) Due(now time.Time) []Message {
	for _, m := range p.state.Matters {
		if m.Seen.IsZero() {
			m.Seen = now
		}
	}
	p.forget(now)
	var due []Message
	for _, name := range sortedKeys(p.lab.People) {
		for target := range p.lab.People[name].Notify {
			if m, ok := p.due(now, name, target); ok {
				due = append(due, m)
			}
		}
	}
	return due
}

// due returns the message that is to be sent to one address now, if any.
//
// An attempt that is not settled comes first, with its identifier and its
// notices, or not at all. A new message waits until one of its notices has
// settled, and then takes all that are due along.
func (p *Planner) due(now time.Time, name string, target int) (Message, bool) {
	person, key := p.lab.People[name], channelKey(name, target)
	c := p.state.Channels[key]
	if c == nil {
		c = new(channel)
		p.state.Channels[key] = c
	}
	c.Sent = slices.DeleteFunc(c.Sent, func(t time.Time) bool { return !t.After(now.Add(-time.Hour)) })
	p.settleAttempt(c, name, key, now)
	if now.Before(c.Again) {
		return Message{}, false
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
		ready = ready || !now.Before(m.Seen.Add(settle))
	}
	if c.Attempt != nil && len(all) > 0 {
		// It may have been sent: the same again, so that it can be seen to be
		// the same.
		if part := only(all, c.Attempt.Notices); len(part) == len(c.Attempt.Notices) {
			c.Attempt.At = now
			return p.message(now, name, target, c.Attempt.ID, part), true
		}
		return Message{}, false // a part of it is held
	}
	if !ready {
		return Message{}, false
	}
	id := identify(key, all)
	c.Attempt = &attempt{ID: id, At: now, Notices: all}
	return p.message(now, name, target, id, all), true
}

// settleAttempt gives up a message of which a part holds no longer: that part
// counts as sent, since it may have been, and the rest is sent anew. It counts
// as sent in favor of silence: people are not reminded of what is over.
func (p *Planner) settleAttempt(c *channel, name, key string, now time.Time) {
	if c.Attempt == nil {
		return
	}
	still := true
	for _, n := range c.Attempt.Notices {
		m := p.matter(n.Matter)
		if m == nil {
			still = false
			continue
		}
		if again, _, ok := p.notice(m, name, key, now); !ok || again != n {
			still = false
			if n.Time != over && !m.open() {
				m.tell(key, n, c.Attempt.At)
			}
		}
	}
	if !still {
		c.Attempt = nil
	}
}

// only returns those of some notices that are among others.
func only(all, among []notice) []notice {
	return slices.DeleteFunc(slices.Clone(all), func(n notice) bool { return !slices.Contains(among, n) })
}

// notice returns what a person is to learn of a matter next on one of their
// channels, and when that is due; false where there is nothing. That a question
// is over is news only for those who knew of it, did not answer it
// themselves and have had a minute to begin; reminders are of questions alone.
func (p *Planner) notice(m *matter, name, key string, now time.Time) (n notice, at time.Time, ok bool) {
	told, n := m.Told[key], notice{Matter: m.Key}
	if !m.open() {
		n.Time = over
		news := m.Kind == question && told.Times > 0 && !told.Over && m.By != name &&
			m.Closed.Sub(told.First) > aware
		return n, m.Closed, news
	}
	if !m.Expires.IsZero() && !now.Before(m.Expires) {
		return n, at, false // its expiry will be recorded
	}
	from, concerned := p.concerns(m, name)
	if told.Times > 0 {
		every := time.Duration(p.lab.People[name].RemindEvery)
		n.Time = told.Times
		return n, told.Last.Add(every), m.Kind == question && every > 0
	}
	return n, from, concerned
}

// concerns says whether and from when a person hears of a matter. A stand-in's
// time begins when the expert could first know of it, at the end of their quiet
// hours.
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

// Sent records that a message was taken by the service.
func (p *Planner) Sent(id string, now time.Time) {
	key, c := p.attempted(id)
	if c == nil {
		return
	}
	for _, n := range c.Attempt.Notices {
		if m := p.matter(n.Matter); m != nil {
			m.tell(key, n, now)
		}
	}
	c.Attempt = nil
	c.Sent = append(c.Sent, now)
	c.Delivered = now
	c.Failures = 0
	c.Again = time.Time{}
	c.Error = ""
	c.Failed = time.Time{}
}

// Failed records that a message was not taken. What still holds is tried again:
// after half a minute, and twice as long after each further failure, up to an
// hour. why holds no secrets. The next attempt is a new message, of what holds
// by then.
func (p *Planner) Failed(id string, now time.Time, why string) {
	_, c := p.attempted(id)
	if c == nil {
		return
	}
	c.Attempt = nil
	c.Failures++
	wait := longestWait
	if c.Failures < 8 {
		wait = min(firstWait<<(c.Failures-1), longestWait)
	}
	c.Again = now.Add(wait)
	c.Error = harmless(why)
	c.Failed = now
}

// attempted returns the channel that a message is being sent on, nil where
// there is none.
func (p *Planner) attempted(id string) (key string, c *channel) {
	for key, c := range p.state.Channels {
		if c.Attempt != nil && c.Attempt.ID == id {
			return key, c
		}
	}
	return "", nil
}

// tell records that a message about the matter was taken.
func (m *matter) tell(key string, n notice, at time.Time) {
	told := m.Told[key]
	if n.Time == over {
		told.Over = true
	} else {
		if told.Times == 0 {
			told.First = at
		}
		told.Last = at
		told.Times++
	}
	if m.Told == nil {
		m.Told = make(map[string]telling)
	}
	m.Told[key] = told
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

// forget drops the matters about which nothing more will be sent. One that
// is part of an attempt stays, since the attempt may be sent again.
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
}

// identify names a message by what it tells whom.
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

// Status is how each person of the lab is reached at a time, in alphabetical
// order.
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
