package drive

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// queueOf is a lease of a shared device, whose tickets a test gives out.
type queueOf struct {
	lost    error
	give    chan *slip
	adopted []string
	freed   bool
}

func (q *queueOf) Check() error     { return q.lost }
func (q *queueOf) Tickets() Tickets { return q }
func (q *queueOf) Release()         { q.freed = true }

func (q *queueOf) Wait(ctx context.Context, _ string, behind func(string)) (HeldTicket, error) {
	behind("lfp")
	select {
	case s := <-q.give:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *queueOf) Adopt(commands []string) (map[string]HeldTicket, error) {
	q.adopted = commands
	held := make(map[string]HeldTicket)
	for _, c := range commands {
		held[c] = &slip{command: c}
	}
	return held, nil
}

// slip is a ticket that notes what became of it.
type slip struct {
	command     string
	refuse      error
	ended, left bool
}

func (s *slip) Begin(command string) error { s.command = command; return s.refuse }
func (s *slip) Check() error               { return nil }
func (s *slip) End()                       { s.ended = true }
func (s *slip) Leave()                     { s.left = true }

// shared is a device that campaigns share, with an experiment under way from before.
func shared(t *testing.T) (*device, *queueOf, *campaign.State) {
	t.Helper()
	s := newFixture(t).core.State()
	s.Experiments = append(s.Experiments,
		campaign.Experiment{ID: "e2", Status: campaign.Started, Command: campaign.Command{ID: "small/e2", Fate: campaign.Begun}},
		campaign.Experiment{ID: "e3", Status: campaign.Requested})
	d := &device{tickets: make(map[string]HeldTicket)}
	q := &queueOf{give: make(chan *slip, 1)}
	is := instruments.Description{Name: "robot", Identity: "serial 1", Capacity: 1}
	err := d.take(s, is, func(string, instruments.Description) (Lease, error) { return q, nil })
	if err != nil {
		t.Fatal(err)
	}
	return d, q, s
}

// Law: a device is taken with the tickets of what is under way, and a ticket is given back once the
// fate of its command is known; at the end of a run what is under way keeps its ticket.
func TestDeviceTickets(t *testing.T) {
	d, q, s := shared(t)
	if !slices.Equal(q.adopted, []string{"small/e2"}) || d.tickets["e2"] == nil {
		t.Fatalf("adopted: %v", q.adopted)
	}
	under := d.tickets["e2"].(*slip)
	if d.endTickets(s); under.ended {
		t.Error("a command under way has lost its ticket")
	}
	s.Experiment("e2").Command.Fate = campaign.Over
	if d.endTickets(s); !under.ended || len(d.tickets) != 0 {
		t.Error("a command that has ended keeps its ticket")
	}
	under = &slip{}
	d.tickets["e2"] = under
	if d.leave(); under.ended || !under.left {
		t.Error("at the end of a run what is under way loses its ticket")
	}
}

// Law: the campaign queues, waits behind who comes first, holds its ticket and uses it for one command;
// a ticket that comes when it is not wanted any more is given back.
func TestDeviceQueue(t *testing.T) {
	d, q, _ := shared(t)
	heard := make(chan ticketed, 10)
	send := func(_ context.Context, m ticketed) bool { heard <- m; return true }
	if d.ticket().Place != engine.Unqueued {
		t.Errorf("before: %+v", d.ticket())
	}
	d.queue(t.Context(), "small/e3", send)
	d.ticketed(<-heard)
	if at := d.ticket(); at.Place != engine.Waiting || at.Behind != "lfp" {
		t.Errorf("in the queue: %+v", at)
	}
	first := &slip{}
	q.give <- first
	d.ticketed(<-heard)
	if d.ticket().Place != engine.Held {
		t.Errorf("with a ticket: %+v", d.ticket())
	}
	if err := d.use("e3", "small/e3"); err != nil || first.command != "small/e3" || d.tickets["e3"] != first {
		t.Errorf("used: %v, %+v", err, first)
	}

	d.queue(t.Context(), "small/e3", send)
	late := &slip{}
	q.give <- late
	<-heard // behind whom
	arrived := <-heard
	d.unqueue()
	d.ticketed(arrived)
	d.wg.Wait()
	if !late.ended || d.ticket().Place != engine.Unqueued {
		t.Error("a ticket that nobody wants any more is kept")
	}
}

// Law: once the lease is lost, for whatever reason that was noticed first, nothing is queued for; what
// is under way keeps its ticket. Taken anew, the lease has another number.
func TestDeviceLost(t *testing.T) {
	d, q, s := shared(t)
	q.lost = errors.New("its file is gone")
	d.check()
	q.lost = errors.New("another reason")
	d.check()
	if d.lost != "its file is gone" || !q.freed || d.ticket().Place != engine.Alone || d.tickets["e2"] == nil {
		t.Errorf("lost: %q, released %v, %+v", d.lost, q.freed, d.ticket())
	}
	q.lost = nil
	before := d.guard(s.Definition)
	if err := d.take(s, d.description, func(string, instruments.Description) (Lease, error) { return q, nil }); err != nil {
		t.Fatal(err)
	}
	d.restored()
	if d.lost != "" || d.leased == before.leased {
		t.Errorf("taken anew: %q, lease %d", d.lost, d.leased)
	}
}
