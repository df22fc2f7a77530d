package devices

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// has is an entry of a test: who, for which command, with which capacity.
func has(n int, campaign, command string, capacity int) *entry {
	return &entry{
		n: events.Sequence(n), DeviceTicket: events.DeviceTicket{Device: "line", Capacity: capacity},
		DeviceUser: events.DeviceUser{Store: "s", Campaign: campaign, Command: command},
	}
}

func waits(n int, campaign, command string, capacity int) *entry {
	e := has(n, campaign, command, capacity)
	e.waiting = true
	return e
}

// Law: a campaign has a device with no more others than each of them allows, those among them for
// which it may be at work alone; a command, with no more others than it works on; and those who
// came before go first.
func TestAhead(t *testing.T) {
	elsewhere := has(1, "a", "", 1)
	elsewhere.Device = "other"
	ofStore := has(1, "me", "", 1)
	ofStore.Store = "another"
	mine := func(command string, capacity int) *entry { return waits(0, "me", command, capacity) }
	for name, c := range map[string]struct {
		line         []*entry
		me           *entry
		have, before int
		room         bool
	}{
		"nothing":                         {nil, mine("", 1), 0, 0, true},
		"another device":                  {[]*entry{elsewhere}, mine("", 1), 0, 0, true},
		"alone":                           {[]*entry{has(1, "a", "", 1)}, mine("", 1), 1, 0, false},
		"it would be alone":               {[]*entry{has(1, "a", "", 3)}, mine("", 1), 1, 0, false},
		"another is alone":                {[]*entry{has(1, "a", "", 1)}, mine("", 3), 1, 0, false},
		"two of three":                    {[]*entry{has(1, "a", "", 3), has(2, "b", "", 3)}, mine("", 3), 2, 0, true},
		"two of two":                      {[]*entry{has(1, "a", "", 3), has(2, "b", "", 2)}, mine("", 3), 2, 0, false},
		"a campaign of its name":          {[]*entry{ofStore}, mine("", 1), 1, 0, false},
		"its own":                         {[]*entry{has(1, "me", "", 1)}, mine("", 1), 0, 0, true},
		"at work for another":             {[]*entry{has(1, "a", "a/e1", 1)}, mine("", 1), 1, 0, false},
		"at work for one, and it has it":  {[]*entry{has(1, "a", "", 2), has(2, "a", "a/e1", 1)}, mine("", 2), 1, 0, true},
		"at work, a command":              {[]*entry{has(1, "a", "a/e1", 1)}, mine("me/e1", 1), 1, 0, false},
		"at work for itself":              {[]*entry{has(1, "me", "me/e1", 1)}, mine("me/e2", 1), 1, 0, false},
		"at work on the same":             {[]*entry{has(1, "me", "me/e1", 1)}, mine("me/e1", 1), 0, 0, true},
		"at work on one of two":           {[]*entry{has(1, "a", "a/e1", 2)}, mine("me/e1", 2), 1, 0, true},
		"a campaign has it, a command":    {[]*entry{has(1, "a", "", 1)}, mine("me/e1", 1), 0, 0, true},
		"another waits":                   {[]*entry{waits(1, "a", "", 1)}, mine("", 1), 0, 1, true},
		"another waits for a command":     {[]*entry{waits(1, "a", "a/e1", 1)}, mine("", 1), 0, 0, true},
		"another waits, a command":        {[]*entry{waits(1, "a", "a/e1", 1)}, mine("me/e1", 1), 0, 1, true},
		"another waits behind it":         {[]*entry{waits(1, "me", "", 1), waits(2, "a", "", 1)}, waits(1, "me", "", 1), 0, 0, true},
		"it waits behind one, one behind": {[]*entry{waits(1, "a", "", 1), waits(2, "me", "", 1), waits(3, "b", "", 1)}, waits(2, "me", "", 1), 0, 1, true},
	} {
		have, before, room := (&line{entries: c.line}).ahead(c.me)
		if len(have) != c.have || len(before) != c.before || room != c.room {
			t.Errorf("%s: %d have it, %d come before, room: %v", name, len(have), len(before), room)
		}
	}
	have, _, _ := (&line{entries: []*entry{has(1, "b", "", 3), has(2, "a", "", 3)}}).ahead(mine("", 3))
	if have[0].Campaign != "b" {
		t.Error("they are not in the order in which they came")
	}
}

// lab has processes over one log.
func labOf(t *testing.T, names ...string) (all []*Queue, reviewed *[]string) {
	t.Helper()
	w := newWorld(t, 0, 0, 0, none)
	reviewed = new([]string)
	for i := range names {
		q := New(w.open(&process{n: i}), Options{
			Fresh:  time.Nanosecond,
			Review: func(store, campaign string) { *reviewed = append(*reviewed, store+"#"+campaign) },
		})
		t.Cleanup(q.Close)
		all = append(all, q)
	}
	return all, reviewed
}

// held is what a place says of those before it.
func held(t *testing.T, p *Place) *lock.HeldError {
	t.Helper()
	var held *lock.HeldError
	if err := p.Try(); !errors.As(err, &held) {
		t.Fatalf("it is not held: %v", err)
	}
	return held
}

// Law: a place says who has the device, or comes first, and how many more; a campaign that
// another process has is looked at, and none that this process has; one who does not come is
// passed over, and enters anew.
func TestPlaceInWords(t *testing.T) {
	all, reviewed := labOf(t, "one", "two")
	one, two := all[0].Store("s"), all[1].Store("s")
	first := one.Campaign("first").Enter("line", 1, "")
	must.Do(t, first.Try())
	second, third := one.Campaign("second").Enter("line", 1, ""), two.Campaign("third").Enter("line", 1, "")
	if h := held(t, second); h.Holder.Campaign != "first" || h.More != 0 || h.Next || h.Turn || h.Holder.Host != all[0].host {
		t.Errorf("the second: %+v", h)
	}
	if len(*reviewed) != 0 {
		t.Errorf("its own campaigns are looked at: %v", *reviewed)
	}
	if h := held(t, third); h.Holder.Campaign != "first" || h.More != 1 || h.Next {
		t.Errorf("the third: %+v", h)
	}
	if !slices.Equal(*reviewed, []string{"s#first", "s#second"}) {
		t.Errorf("looked at: %v", *reviewed)
	}
	first.Release()
	all[0].wg.Wait()
	if h := held(t, third); h.Holder.Campaign != "second" || h.More != 0 || !h.Next || !strings.Contains(h.Error(), "is free") {
		t.Errorf("the second is next: %+v", h)
	}
	all[1].o.Patience = time.Nanosecond
	if err := third.Try(); err != nil { // the second has not come
		t.Fatal(err)
	}
	if h := held(t, second); h.Holder.Campaign != "third" {
		t.Errorf("passed over: %+v", h)
	}
	turn := two.Campaign("third").Enter("line", 1, "third/e1")
	must.Do(t, turn.Try())
	if h := held(t, one.Campaign("second").Enter("line", 1, "second/e1")); !h.Turn || h.Holder.Command != "third/e1" {
		t.Errorf("a command: %+v", h)
	}
}

// Law: a ticket is lost to a process that has taken up its campaign; of a place that was given back
// nothing holds, and of one that was left the command does. A ticket for another command than the
// one that is sent in the end becomes that one's.
func TestTickets(t *testing.T) {
	all, _ := labOf(t, "one", "two")
	one, two := all[0].Store("s").Campaign("a"), all[1].Store("s").Campaign("a")
	p := one.Enter("line", 1, "a/e1")
	must.Do(t, p.Try())
	must.Do(t, errors.Join(p.Begin("a/e1"), p.Begin("a/e2"), p.Check()))
	if h := held(t, all[1].Store("s").Campaign("b").Enter("line", 1, "b/e1")); h.Holder.Command != "a/e2" || h.More != 0 {
		t.Errorf("%+v", h)
	}
	p.Leave()
	if err := p.Check(); err == nil {
		t.Error("a place that was left is used")
	}
	own := two.Enter("line", 1, "")
	if err := own.Try(); err != nil { // the device is at work for it
		t.Fatal(err)
	}
	adopted, err := two.Adopt("line", 1, []string{"a/e2", "a/e3"})
	if err != nil || len(adopted) != 2 || adopted["a/e2"].Check() != nil || adopted["a/e3"].Check() != nil {
		t.Fatalf("%v, %v", adopted, err)
	}
	again, err := one.Adopt("line", 1, []string{"a/e3"}) // what else there is has a fate
	if err != nil || len(again) != 1 || again["a/e3"].Check() != nil {
		t.Fatalf("%v, %v", again, err)
	}
	all[1].Hear(all[1].line.last + 1)
	must.Do(t, all[1].change(func(*line) []events.Payload { return nil }))
	for command, p := range adopted {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("%s, which another process has taken up or freed: %v", command, err)
		}
	}
	if err := two.Forget(func(string) bool { return false }, true); err != nil || own.Check() != nil || again["a/e3"].Check() != nil {
		t.Errorf("what a process of the campaign keeps, and a command without a fate: %v, %v, %v", err, own.Check(), again["a/e3"].Check())
	}
	own.Release()
	if err := own.Check(); err == nil {
		t.Error("a ticket that was given back is used")
	}
	all[1].wg.Wait()
	must.Do(t, two.Forget(func(command string) bool { return command == "a/e3" }, false))
	next := all[1].Store("s").Campaign("b").Enter("line", 1, "b/e1")
	all[1].o.Patience = time.Nanosecond
	for next.Try() != nil { // b waited before, elsewhere in this test: it is passed over
		time.Sleep(time.Microsecond)
	}
	if (*Campaign)(nil).Shared() || !two.Shared() || (*Queue)(nil).Store("s").Campaign("a") != nil || (*Campaign)(nil).Forget(nil, true) != nil {
		t.Error("a program without a lab's log has a queue")
	}
}

// Law: one who waits to have the device alone is not passed over while another campaign has it,
// however long that is, though the device has room for more.
func TestAloneIsNotPassedOver(t *testing.T) {
	all, _ := labOf(t, "one")
	of := func(campaign string, capacity int) *Place {
		return all[0].Store("s").Campaign(campaign).Enter("line", capacity, "")
	}
	all[0].o.Patience = time.Nanosecond
	first, alone, third := of("first", 2), of("alone", 1), of("third", 2)
	must.Do(t, first.Try())
	held(t, alone)
	for range 3 {
		if h := held(t, third); h.Holder.Campaign != "alone" || !h.Next {
			t.Fatalf("the third: %+v", h)
		}
	}
	first.Release()
	all[0].wg.Wait()
	if err := alone.Try(); err != nil {
		t.Error(err)
	}
}

// Law: a program that does not know a kind of event of the queue, of a later version, takes
// nothing: it cannot know who has the device.
func TestLaterKind(t *testing.T) {
	all, _ := labOf(t, "one")
	p := all[0].Store("s").Campaign("a").Enter("line", 1, "")
	must.Do(t, p.Try())
	log := must.Get(all[0].own.Store())(t)
	later := events.Event{Kind: "device.promised", Version: 1, Actor: "engine", Data: []byte("{}")}
	must.Get(log.Append(t.Context(), events.DevicesStream, events.AnySequence, later))(t)
	for range 2 {
		next := all[0].Store("s").Campaign("b").Enter("other", 1, "")
		if err := next.Try(); problem.CodeOf(err) != problem.Unsupported {
			t.Errorf("it does not know who has it: %v", err)
		}
	}
}
