package devices

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/lock"
)

// Store is the queue for the campaigns of a store. It is nil in a program without a lab's log.
type Store struct {
	q    *Queue
	path string
}

// Store returns the queue for a store, by its path relative to the lab's folder.
func (q *Queue) Store(path string) *Store {
	if q == nil {
		return nil
	}
	return &Store{q, path}
}

// Campaign returns the queue for a campaign of the store; nil for a nil store.
func (s *Store) Campaign(name string) *Campaign {
	if s == nil {
		return nil
	}
	return &Campaign{s.q, s.path, name}
}

// Campaign is the queue for a campaign, which one process drives at a time.
type Campaign struct {
	q           *Queue
	store, name string
}

// Shared reports whether several machines share the queue.
func (c *Campaign) Shared() bool { return c != nil && c.q.Shared() }

// Changed returns a channel that is closed when the queue changes.
func (c *Campaign) Changed() <-chan struct{} { return c.q.Changed() }

// user returns the campaign in this process.
func (c *Campaign) user(command string) events.DeviceUser {
	return events.DeviceUser{
		Store: c.store, Campaign: c.name, Command: command,
		Worker: c.q.worker, Host: c.q.host, PID: os.Getpid(),
	}
}

// Enter returns a place in the queue of a device: for a command or, if that is empty, for the
// campaign itself. capacity is the number of simultaneous users of the device. Nothing is recorded
// before [Place.Try].
func (c *Campaign) Enter(device string, capacity int, command string) *Place {
	return &Place{c: c, me: entry{
		DeviceTicket: events.DeviceTicket{Device: device, Capacity: max(1, capacity)},
		DeviceUser:   c.user(command), waiting: true,
	}}
}

// Place is a place in a queue, and then a ticket. Its methods may be called by several goroutines.
type Place struct {
	c *Campaign

	// Guarded by the mutex of the queue.
	me   entry // n is 0 before anything is recorded
	over bool  // it was given back
	// unsure is set if an attempt may have recorded something without learning it.
	unsure bool
	head   events.Sequence
	due    time.Time // since when the first in line, head, could have the device
}

// Try returns nil once the device belongs to the place, and otherwise a [lock.HeldError], or an
// error of the log. It takes over a ticket for the same purpose from an earlier process of the
// campaign.
func (p *Place) Try() error {
	q := p.c.q
	var held *lock.HeldError
	var ahead []*entry
	err := q.change(func(l *line) []events.Payload {
		held, ahead = nil, nil
		if p.over {
			return nil
		}
		p.recall(l)
		if !p.me.waiting {
			return nil
		}
		have, before, room := l.ahead(&p.me)
		left, under := p.left(l)
		if left {
			before = nil
		}
		room = room || under
		tickets := []events.DeviceTicket{p.me.DeviceTicket}
		if room && (len(before) == 0 || p.overdue(l, before[0])) {
			var payloads []events.Payload
			if len(before) > 0 {
				payloads = append(payloads, &events.DeviceFreed{
					Taken: []events.Sequence{before[0].n}, Because: events.DevicePassedOver,
				})
			}
			if len(before) > 1 { // whose turn it is now
				held = p.held(nil, before[1:])
				return payloads
			}
			return append(payloads, &events.DeviceTaken{
				DeviceUser: p.me.DeviceUser, Tickets: tickets, InsteadOf: p.earlier(l),
			})
		}
		if ahead = append(have, before...); room {
			have = nil
		}
		held = p.held(have, before)
		if p.me.n == 0 {
			return []events.Payload{&events.DeviceAwaited{
				DeviceUser: p.me.DeviceUser, Tickets: tickets, InsteadOf: p.earlier(l),
			}}
		}
		return nil
	})
	q.mu.Lock()
	p.unsure = err != nil
	q.mu.Unlock()
	switch {
	case err != nil:
		return err
	case held != nil:
		p.c.q.review(ahead)
		return held
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p.recall(q.line)
	return p.check()
}

// recall finds this process's recorded entry for the place, including one of an attempt with an
// unknown result. A skipped waiter has lost its entry and enters the queue anew.
func (p *Place) recall(l *line) {
	p.me.n, p.me.waiting = 0, true
	for _, e := range l.of(p.me.Store, p.me.Campaign) {
		if p.means(e) && e.Worker == p.me.Worker && !p.c.q.owed[e.n] {
			p.me.n, p.me.waiting = e.n, e.waiting
			p.c.q.places[e.n] = p
		}
	}
}

// means reports whether an entry of the campaign has the same purpose as the place.
func (p *Place) means(e *entry) bool { return e.Device == p.me.Device && e.Command == p.me.Command }

// earlier returns the campaign's entries that this place replaces: its own place in the queue, and
// those left by earlier processes.
func (p *Place) earlier(l *line) (all []events.Sequence) {
	for _, e := range l.of(p.me.Store, p.me.Campaign) {
		if p.means(e) {
			all = append(all, e.n)
		}
	}
	return all
}

// left reports whether the campaign has the device by tickets of an earlier process: a restart must
// not send it to the back of the queue. under is set if the device is at work for the campaign,
// which waiting cannot undo: the campaign must learn the result, and others wait for it meanwhile.
func (p *Place) left(l *line) (left, under bool) {
	for _, e := range l.of(p.me.Store, p.me.Campaign) {
		if e.Device == p.me.Device && !e.waiting && (p.me.Command == "" || p.means(e)) {
			left = true
			under = under || e.Command != ""
		}
	}
	return left, under
}

// overdue reports whether the first in line could have the device, and has not come for it. Its
// process may have ended, which others cannot know.
func (p *Place) overdue(l *line, head *entry) bool {
	switch {
	case !l.next(head):
		p.head = 0
	case p.head != head.n:
		p.head, p.due = head.n, time.Now()
	}
	return p.head == head.n && time.Since(p.due) > p.c.q.o.Patience
}

// held names the holder of a device, or the first in line for a free one.
func (p *Place) held(have, before []*entry) *lock.HeldError {
	ahead := append(have, before...)
	if len(ahead) == 0 {
		return nil
	}
	first := ahead[0]
	return &lock.HeldError{
		Device: p.me.Device, Turn: p.me.Command != "", Next: len(have) == 0, More: len(ahead) - 1,
		Holder: lock.Holder{
			Device: first.Device, Campaign: first.Campaign, Store: first.Store,
			PID: first.PID, Host: first.Host, Since: first.since, Command: first.Command,
		},
	}
}

// Check returns nil while the ticket is valid, as far as this process knows.
func (p *Place) Check() error {
	p.c.q.mu.Lock()
	defer p.c.q.mu.Unlock()
	return p.check()
}

// check is Check. The caller holds the mutex of the queue.
func (p *Place) check() error {
	if p.over {
		return fmt.Errorf("the ticket for %s was given back", p.me.Device)
	}
	if e := p.c.q.line.entry(p.me.n); e == nil || e.waiting {
		return fmt.Errorf("the ticket for %s is lost: another process has taken up the campaign %s", p.me.Device, p.me.Campaign)
	}
	return nil
}

// Begin notes the command that is sent to the device. A place entered for another command changes
// its command, and stays one ticket.
func (p *Place) Begin(command string) error {
	q := p.c.q
	q.mu.Lock()
	same := p.me.Command == command
	q.mu.Unlock()
	if !same {
		err := q.change(func(l *line) []events.Payload {
			if e := l.entry(p.me.n); e == nil || e.waiting || p.over {
				return nil
			}
			user := p.c.user(command)
			return []events.Payload{&events.DeviceTaken{
				DeviceUser: user, Tickets: []events.DeviceTicket{p.me.DeviceTicket}, InsteadOf: []events.Sequence{p.me.n},
			}}
		})
		if err != nil {
			return err
		}
		q.mu.Lock()
		p.me.Command = command
		p.recall(q.line)
		q.mu.Unlock()
	}
	return p.Check()
}

// Release gives the ticket back, or the place in the queue. Further calls do nothing. The log may
// record it later.
func (p *Place) Release() {
	q := p.c.q
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case p.over:
		return
	case p.unsure:
		q.unsure = append(q.unsure, p)
	case p.me.n != 0:
		q.owed[p.me.n] = true
		delete(q.places, p.me.n)
	}
	p.over = true
	q.pay()
}

// Leave ends the place as the end of the process would: the ticket of a command stays valid.
func (p *Place) Leave() {
	q := p.c.q
	q.mu.Lock()
	keeps := p.me.Command != "" && !p.me.waiting
	if keeps && !p.over {
		p.over = true
		delete(q.places, p.me.n)
	}
	q.mu.Unlock()
	if !keeps {
		p.Release()
	}
}

// Adopt takes over the tickets of running commands from earlier processes of the campaign; it frees
// their other tickets: the campaign's log does not have those commands, or knows their fate. A
// running command without a ticket gets one at once, at the given device, which is at work on it.
func (c *Campaign) Adopt(device string, capacity int, commands []string) (map[string]*Place, error) {
	q := c.q
	err := q.change(func(l *line) (payloads []events.Payload) {
		var gone []events.Sequence
		missing := slices.Clone(commands)
		for _, e := range l.of(c.store, c.name) {
			known := slices.Contains(missing, e.Command)
			switch {
			case q.places[e.n] != nil || e.Command == "" && !e.waiting:
			case known && !e.waiting:
				missing = slices.DeleteFunc(missing, func(command string) bool { return command == e.Command })
				if e.Worker != q.worker {
					payloads = append(payloads, &events.DeviceTaken{
						DeviceUser: c.user(e.Command), Tickets: []events.DeviceTicket{e.DeviceTicket},
						InsteadOf: []events.Sequence{e.n},
					})
				}
			default:
				gone = append(gone, e.n)
			}
		}
		for _, command := range missing {
			payloads = append(payloads, &events.DeviceTaken{
				DeviceUser: c.user(command), Tickets: []events.DeviceTicket{{Device: device, Capacity: max(1, capacity)}},
			})
		}
		if len(gone) > 0 {
			payloads = append(payloads, &events.DeviceFreed{Taken: gone, Because: events.DeviceLeft})
		}
		return payloads
	})
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	adopted := make(map[string]*Place)
	for _, e := range q.line.of(c.store, c.name) {
		if slices.Contains(commands, e.Command) && !e.waiting && e.Worker == q.worker {
			p := &Place{c: c, me: *e}
			adopted[e.Command], q.places[e.n] = p, p
		}
	}
	return adopted, nil
}

// Forget frees the tickets left by processes of the campaign, for commands that satisfy over. The
// caller holds the campaign's store, so that no process drives it, or knows that no process deals
// with the command any more. all frees the campaign's own ticket, too.
func (c *Campaign) Forget(over func(command string) bool, all bool) error {
	if c == nil {
		return nil
	}
	q := c.q
	return q.change(func(l *line) []events.Payload {
		var gone []events.Sequence
		for _, e := range l.of(c.store, c.name) {
			if q.places[e.n] == nil && (e.Command != "" && over(e.Command) || e.Command == "" && all) {
				gone = append(gone, e.n)
			}
		}
		if len(gone) == 0 {
			return nil
		}
		return []events.Payload{&events.DeviceFreed{Taken: gone, Because: events.DeviceEnded}}
	})
}

// reviewEvery is the interval of reviewing a campaign that others wait for.
const reviewEvery = 2 * time.Second

// review reviews campaigns that hold a device others wait for, and that this process does not
// drive: their tickets may be left from an ended process.
func (q *Queue) review(ahead []*entry) {
	if q.o.Review == nil {
		return
	}
	for _, e := range ahead {
		key := user{e.Store, e.Campaign}
		q.mu.Lock()
		due := q.places[e.n] == nil && time.Since(q.reviewed[key]) > reviewEvery
		if due {
			q.reviewed[key] = time.Now()
		}
		q.mu.Unlock()
		if due {
			q.o.Review(e.Store, e.Campaign)
		}
	}
}

// user names a campaign of the lab.
type user struct{ store, campaign string }
