package equip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/labfile"
	"github.com/campaignd/campaignd/internal/lock"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/projections/campaign"
)

// TakeDevice takes a device for a check of this process alone, by the identity
// that it described, or its name where it has none: no campaign of the machine
// drives it until release is called. where says what holds it, a campaign file.
// On a system without such locks it is taken all the same, and a remark says
// so.
func TakeDevice(
	d instruments.Description, where string, remark func(format string, args ...any),
) (release func(), err error) {
	lease, err := lock.Take(lock.Dir(), holderOf(d, "", where, 1))
	if errors.Is(err, errors.ErrUnsupported) {
		remark("nothing keeps campaigns off %s: %v", deviceOf(d), err)
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

// deviceOf is by what campaigns of a machine know that they mean one device: a
// serial number, where the driver gives it. Two devices that only have the same
// name are then taken for one: their campaigns wait for each other without
// need, which does less harm than the reverse.
func deviceOf(d instruments.Description) string { return cmp.Or(d.Identity, d.Name) }

// holderOf says who wants a device, and how many may have it at a time.
func holderOf(d instruments.Description, campaign, where string, capacity int) lock.Holder {
	holder := lock.Holder{
		Device:   deviceOf(d),
		Campaign: campaign,
		Store:    absolute(where),
		PID:      os.Getpid(),
		User:     fmt.Sprintf("user %d", os.Getuid()),
		Since:    time.Now().UTC(),
		Capacity: capacity,
	}
	if who, err := user.Current(); err == nil {
		holder.User = who.Username
	}
	return holder
}

// absolute makes the path of a store the same from every working directory. It
// identifies the store in the folder of locks: a campaign that is run again
// from elsewhere must know its own turns.
func absolute(path string) string {
	if store.InDatabase(path) {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// capacity is how many campaigns may use the instrument of a campaign at a
// time: what the lab file in a folder says now of the instrument that the
// campaign file names. Without it the campaign has its instrument alone. The lab
// file is read anew each time: its author may have changed it since. What cannot
// be read counts as the safe side.
func capacity(
	reg registry.Registry, folder, source string, remark func(format string, args ...any),
) int {
	name := campaignfile.LabInstrument(source)
	if name == "" {
		return 1
	}
	lab, err := labfile.ReadFolder(reg, folder)
	if err != nil {
		remark("how many campaigns may use %s is not known, so it is used alone: %v", name, err)
	}
	if lab == nil {
		return 1
	}
	return max(1, lab.Instruments[name].Capacity)
}

// Place is a campaign's place among those who wait for a device. It is kept
// while the equipment is closed, so that a device is not disturbed by those who
// wait for it. The zero Place waits for nothing. A campaign would otherwise go
// to the end of the queue each time its equipment is opened to look. It is not
// safe for concurrent use.
type Place struct {
	lease  *lock.Lease
	holder lock.Holder
}

// take takes the device, or keeps the place in its queue. A place in the queue
// of another device, or one that was lost, is given up first. Where it succeeds
// the lease is the caller's, and the place is empty.
func (p *Place) take(h lock.Holder) (*lock.Lease, error) {
	if p.lease != nil && (p.holder.Device != h.Device || p.lease.Check() != nil) {
		p.Leave()
	}
	if p.lease == nil {
		lease, err := lock.Enter(lock.Dir(), h)
		if err != nil {
			return nil, err
		}
		p.lease, p.holder = lease, h
	}
	if err := p.lease.Try(); err != nil {
		return nil, err
	}
	lease := p.lease
	p.lease = nil
	return lease, nil
}

// Wait returns nil once the device is this campaign's, or it is not known for
// which to wait: then the campaign can be started. held gets who has it, when
// that changes.
func (p *Place) Wait(ctx context.Context, held func(error)) error {
	if p.lease == nil {
		return nil
	}
	return await(ctx, p.lease, held)
}

// Leave gives the place up.
func (p *Place) Leave() {
	if p.lease != nil {
		p.lease.Release()
		p.lease = nil
	}
}

// Pauses between two looks at a queue. The order is that of coming, not of
// looking.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// await waits until it is a lease's turn. Files do not say when they change on
// every system, hence the looking. held is called again only for another text,
// since it may end in a log or on a page.
func await(ctx context.Context, l *lock.Lease, held func(error)) error {
	said := ""
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		err := l.Try()
		if err == nil || !errors.As(err, new(*lock.HeldError)) {
			return err
		}
		if text := err.Error(); text != said {
			said = text
			held(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// device is a device that is leased to a campaign, alone or with others.
type device struct {
	lease  *lock.Lease
	holder lock.Holder
	works  int // on so many commands at once

	mu   sync.Mutex
	open map[*lock.Lease]bool // tickets
}

// Check and Release implement [drive.Lease].
func (d *device) Check() error { return d.lease.Check() }
func (d *device) Release()     { d.lease.Release() }

// Tickets is nil where the campaign has the device alone.
func (d *device) Tickets() drive.Tickets {
	if d.holder.Capacity <= 1 {
		return nil
	}
	return d
}

// at is the holder of a ticket. Its capacity is how many commands the device
// works on at once, and not how many campaigns may use it, which is the
// lease's.
func (d *device) at() lock.Holder {
	h := d.holder
	h.Capacity, h.Since = d.works, time.Now().UTC()
	return h
}

// Wait implements [drive.Tickets].
func (d *device) Wait(ctx context.Context, behind func(string)) (drive.HeldTicket, error) {
	l, err := lock.EnterTurn(lock.Dir(), d.at())
	if err != nil {
		return nil, err
	}
	if err := await(ctx, l, func(err error) { behind(err.Error()) }); err != nil {
		l.Release()
		return nil, err
	}
	return d.ticket(l), nil
}

// Adopt implements [drive.Tickets].
func (d *device) Adopt(commands []string) (map[string]drive.HeldTicket, error) {
	adopted, err := lock.Adopt(lock.Dir(), d.at(), commands)
	tickets := make(map[string]drive.HeldTicket, len(adopted))
	for command, l := range adopted {
		tickets[command] = d.ticket(l)
	}
	return tickets, err
}

// ticket keeps a turn, so that close can leave it.
func (d *device) ticket(l *lock.Lease) drive.HeldTicket {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = make(map[*lock.Lease]bool)
	}
	d.open[l] = true
	return &ticket{l, d}
}

// close gives the device back. What it is at work on keeps its tickets. What is
// left is taken up by Adopt, when the campaign is run again, or ended by
// [EndTickets].
func (d *device) close() {
	d.lease.Release()
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range d.open {
		l.Leave()
	}
	d.open = nil
}

// ticket is the room for a command.
type ticket struct {
	*lock.Lease
	device *device
}

// End implements [drive.HeldTicket]: the device has room for another command.
// The seat is free before the ticket is forgotten here, so that a close in
// between finds one that was given back, to which Leave does nothing.
func (t *ticket) End() {
	t.Release()
	t.device.mu.Lock()
	defer t.device.mu.Unlock()
	delete(t.device.open, t.Lease)
}

// unlocked is a device on a system without locks. A campaign there can disturb
// another, which a remark has said; refusing would leave such a system without
// instruments.
type unlocked struct{}

func (unlocked) Check() error           { return nil }
func (unlocked) Tickets() drive.Tickets { return nil }
func (unlocked) Release()               {}

// EndTickets makes room at the devices that a campaign shared, which is not run
// now, where a person has settled what became of its commands: a ticket
// outlives its process, as the device's work does.
func EndTickets(store string, s *campaign.State) {
	if !s.Definition.Measures() || s.Definition.ByHand() {
		return
	}
	lock.Forget(lock.Dir(), s.Name, absolute(store), func(command string) bool {
		return slices.ContainsFunc(s.Experiments, func(x campaign.Experiment) bool {
			return x.Command == command && x.AtWork()
		})
	})
}
