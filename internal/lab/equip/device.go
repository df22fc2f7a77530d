package equip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/devices"
	"github.com/campaignd/campaignd/projections/campaign"
)

// TakeDevice takes a device for a check of this process alone, by the identity in its description,
// or by its name without one: no campaign of the machine drives it until release is called. where
// is the holder's file, a campaign file. On a system without such locks it succeeds with a remark.
func TakeDevice(
	d instruments.Description, where string, remark func(format string, args ...any),
) (release func(), err error) {
	if err := lock.Supported(); err != nil {
		remark("nothing keeps campaigns off %s: %v", deviceOf(d), err)
		return func() {}, nil
	}
	if err := seen(deviceOf(d)); err != nil {
		return nil, err
	}
	var place Place
	taken, err := place.take(holderOf(d, "", where, 1), nil)
	if err != nil {
		place.Leave()
		return nil, err
	}
	return taken.Release, nil
}

// seen refuses to drive a device whose locks the other programs of the machine may not see.
func seen(device string) error {
	dir, hidden := lock.Look()
	if hidden == "" {
		return nil
	}
	return problem.New(problem.NotPossible, "%s is not driven: other programs of this machine may not see that it is taken, "+
		"and would drive it too; its locks are in %s, and %s", device, dir, hidden).
		With(problem.Remedy{Text: lock.Remedy()})
}

// deviceOf returns the key by which campaigns of a machine recognize the same device: a serial
// number, if the driver gives it. Two devices that share only a name then count as one: their
// campaigns wait for each other without need, which does less harm than the reverse.
func deviceOf(d instruments.Description) string { return cmp.Or(d.Identity, d.Name) }

// holderOf returns the holder of a lease, with its capacity.
func holderOf(d instruments.Description, campaign, where string, capacity int) lock.Holder {
	holder := lock.Holder{
		Device:   deviceOf(d),
		Campaign: campaign,
		Store:    absolute(where),
		PID:      os.Getpid(),
		User:     fmt.Sprintf("user %d", os.Getuid()),
		Since:    clock.Now().UTC(),
		Capacity: capacity,
	}
	if who, err := user.Current(); err == nil {
		holder.User = who.Username
	}
	return holder
}

// absolute makes the path of a store the same from every working directory. It identifies the store
// in the folder of locks: a campaign that is run again from elsewhere must recognize its own turns.
func absolute(path string) string {
	if store.InDatabase(path) {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// capacity returns how many campaigns may use an instrument at a time: the present value in the lab
// file of a folder under the name that the campaign file has for it. Without it the campaign has its
// instrument alone. The lab file is read anew each time: its author may have
// changed it since. Unreadable values count as the safe side.
func capacity(
	reg registry.Registry, folder, name string, remark func(format string, args ...any),
) int {
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

// seat is a place in one queue of a device, and then the device: a [lock.Lease] of this machine, or
// a [devices.Place] of the lab.
type seat interface {
	// Try returns nil once the device belongs to the seat, and a [lock.HeldError] before.
	Try() error
	// Check returns nil while it does.
	Check() error
	// Begin notes the command, before it is sent.
	Begin(command string) error
	// Release gives the seat back. Leave does, too, unless the device is at work on its command.
	Release()
	Leave()
}

// seats are the seats in all queues of a device, the lab's before the machine's. Each is entered
// once the one before has the device: the order is the same for all, so that no two campaigns wait
// for each other.
type seats struct {
	enter []func() (seat, error)
	taken []seat
}

// Try implements [seat].
func (s *seats) Try() error {
	for i, enter := range s.enter {
		if i == len(s.taken) {
			next, err := enter()
			if err != nil {
				return err
			}
			s.taken = append(s.taken, next)
		}
		if err := s.taken[i].Try(); err != nil {
			return err
		}
	}
	return nil
}

// Check implements [seat].
func (s *seats) Check() error {
	for _, t := range s.taken {
		if err := t.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Begin implements [seat].
func (s *seats) Begin(command string) error {
	for _, t := range s.taken {
		if err := t.Begin(command); err != nil {
			return err
		}
	}
	return nil
}

// Release implements [seat].
func (s *seats) Release() {
	for _, t := range s.taken {
		t.Release()
	}
}

// Leave implements [seat].
func (s *seats) Leave() {
	for _, t := range s.taken {
		t.Leave()
	}
}

// Place is a campaign's place among the waiters for a device. It is kept while the equipment is
// closed, so that waiting campaigns do not disturb a device. The zero Place waits for nothing.
// Without it a campaign would go to the end of the queue each time its equipment is opened to look.
// It is not safe for concurrent use.
type Place struct {
	seats  *seats
	holder lock.Holder
	queue  *devices.Campaign
}

// take takes the device, or keeps the place in its queue. A place in the queue of another device,
// or a lost one, is given up first. On success the seats belong to the caller, and the place is
// empty.
func (p *Place) take(h lock.Holder, queue *devices.Campaign) (*seats, error) {
	if p.seats != nil && p.holder.Device != h.Device {
		p.Leave()
	}
	for again := p.seats != nil; ; again = false {
		if p.seats == nil {
			p.seats = leasing(h, queue)
			p.holder = h
			p.queue = queue
		}
		err := p.seats.Try()
		if err == nil {
			taken := p.seats
			p.seats = nil
			return taken, nil
		}
		if isHeld(err) {
			return nil, err
		}
		if p.Leave(); !again {
			return nil, err
		}
	}
}

// isHeld reports whether a device belongs to another for now.
func isHeld(err error) bool {
	var held *lock.HeldError
	return errors.As(err, &held)
}

// leasing returns the seats of a campaign's lease.
func leasing(h lock.Holder, queue *devices.Campaign) *seats {
	s := new(seats)
	if queue != nil {
		s.enter = append(s.enter, func() (seat, error) { return queue.Enter(h.Device, h.Capacity, ""), nil })
	}
	s.ofMachine(queue, func(dir string) (seat, error) { return lock.Enter(dir, h) })
	return s
}

// Wait returns nil once the device belongs to this campaign, or if it has no device: then
// the campaign can be started. held hears of the holder, when that changes.
func (p *Place) Wait(ctx context.Context, held func(error)) error {
	if p.seats == nil {
		return nil
	}
	return await(ctx, p.seats, p.queue, held)
}

// Leave gives the place up.
func (p *Place) Leave() {
	if p.seats != nil {
		p.seats.Release()
		p.seats = nil
	}
}

// Pauses between two looks at a queue. The order is that of arrival, not of looking.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// await waits until it is a seat's turn. Not every system reports changes of files, hence the
// polling; the lab's queue does. held is called again only for another text, since it may end in a
// log or on a page. A lab's log that is temporarily unreadable or unwritable is waited for, too.
func await(ctx context.Context, s seat, queue *devices.Campaign, held func(error)) error {
	said := ""
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		var changed <-chan struct{}
		if queue != nil {
			changed = queue.Changed()
		}
		err := s.Try()
		away := problem.CodeOf(err) == problem.Unavailable || problem.CodeOf(err) == problem.Uncertain
		if err == nil || !isHeld(err) && !away {
			return err
		}
		if text := err.Error(); text != said {
			said = text
			held(err)
		}
		select {
		case <-changed:
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// device is a device that is leased to a campaign, alone or with others.
type device struct {
	lease  *seats
	holder lock.Holder
	queue  *devices.Campaign // of the lab; nil for a program without a lab's log
	works  int               // the number of simultaneous commands

	mu   sync.Mutex
	open map[seat]bool // tickets
}

// Check and Release implement [drive.Lease].
func (d *device) Check() error { return d.lease.Check() }
func (d *device) Release()     { d.lease.Release() }

// Tickets is nil if no one else needs to know the device's commands: the campaign has it alone, and
// no lab's log keeps them when its process ends.
func (d *device) Tickets() drive.Tickets {
	if d.holder.Capacity <= 1 && d.queue == nil {
		return nil
	}
	return d
}

// at returns the holder of a ticket. Its capacity is the number of commands that the device works
// on at once; the number of campaigns that may use it is the lease's.
func (d *device) at() lock.Holder {
	h := d.holder
	h.Capacity, h.Since = d.works, clock.Now().UTC()
	return h
}

// turn returns the seats of a command.
func (d *device) turn(command string) *seats {
	s := new(seats)
	if d.queue != nil {
		s.enter = append(s.enter, func() (seat, error) { return d.queue.Enter(d.holder.Device, d.works, command), nil })
	}
	if d.holder.Capacity > 1 {
		s.ofMachine(d.queue, func(dir string) (seat, error) {
			l, err := lock.EnterTurn(dir, d.at())
			if d.queue.Shared() {
				return passing{l}, err
			}
			return l, err
		})
	}
	return s
}

// Wait implements [drive.Tickets].
func (d *device) Wait(ctx context.Context, command string, behind func(string)) (drive.HeldTicket, error) {
	s := d.turn(command)
	if err := await(ctx, s, d.queue, func(err error) { behind(err.Error()) }); err != nil {
		s.Release()
		return nil, err
	}
	return d.ticket(s), nil
}

// Adopt implements [drive.Tickets].
func (d *device) Adopt(commands []string) (map[string]drive.HeldTicket, error) {
	adopted := make(map[string]*seats)
	add := func(command string, s seat) {
		if adopted[command] == nil {
			adopted[command] = new(seats)
		}
		adopted[command].taken = append(adopted[command].taken, s)
	}
	var failed error
	if d.queue != nil {
		places, err := d.queue.Adopt(d.holder.Device, d.works, commands)
		for command, p := range places {
			add(command, p)
		}
		failed = err
	}
	if d.holder.Capacity > 1 {
		if d.queue.Shared() {
			commands = nil // see passing
		}
		for _, dir := range dirs(d.queue) {
			turns, err := lock.Adopt(dir, d.at(), commands)
			for command, l := range turns {
				add(command, l)
			}
			failed = errors.Join(failed, err)
		}
	}
	tickets := make(map[string]drive.HeldTicket, len(adopted))
	for command, s := range adopted {
		tickets[command] = d.ticket(s)
	}
	return tickets, failed
}

// ticket keeps a turn, so that close can leave it.
func (d *device) ticket(s seat) drive.HeldTicket {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = make(map[seat]bool)
	}
	d.open[s] = true
	return &ticket{s, d}
}

// close gives the device back, and leaves the tickets of running commands. Adopt takes those over
// when the campaign is run again, or [EndTickets] ends them.
func (d *device) close() {
	d.lease.Release()
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.open {
		s.Leave()
	}
	d.open = nil
}

// ticket is the room for a command.
type ticket struct {
	seat
	device *device
}

// End implements [drive.HeldTicket]: the device has room for another command. The seat is free
// before the ticket is forgotten here, so that a close in between finds one that was given back, to
// which Leave does nothing.
func (t *ticket) End() {
	t.Release()
	t.device.mu.Lock()
	defer t.device.mu.Unlock()
	delete(t.device.open, t.seat)
}

// dirs returns the folders of this machine's locks: none on a system without locks, where a
// campaign can disturb another, as a remark says; refusing would leave such a system without
// instruments. And none hidden from other programs if several machines share the queue: that queue
// is enough.
func dirs(queue *devices.Campaign) []string {
	if lock.Supported() != nil {
		return nil
	}
	if _, hidden := lock.Look(); hidden != "" && queue.Shared() {
		return nil
	}
	return lock.Dirs()
}

// ofMachine adds the seats of this machine.
func (s *seats) ofMachine(queue *devices.Campaign, enter func(dir string) (seat, error)) {
	for _, dir := range dirs(queue) {
		s.enter = append(s.enter, func() (seat, error) { return enter(dir) })
	}
}

// passing is a turn on this machine of a campaign that may continue elsewhere when its process has
// ended: the lab's queue then keeps its command. Noted in a file it would stay for ever, since no
// process takes it over.
type passing struct{ *lock.Lease }

// Begin implements [seat].
func (p passing) Begin(string) error { return p.Check() }

// EndTickets makes room at the devices of a campaign that does not run now, for commands whose fate
// is known, or that its log does not have: a ticket outlives its process, as the device's work
// does. queue is the lab's, or nil; all frees the campaign's own ticket there, too.
func EndTickets(store string, queue *devices.Campaign, s *campaign.State, all bool) error {
	if !s.Definition.Measures() || s.Definition.ByHand() {
		return nil
	}
	for _, dir := range dirs(queue) {
		lock.Forget(dir, s.Name, absolute(store), func(command string) bool { return atWork(s, command) })
	}
	return queue.Forget(func(command string) bool { return !atWork(s, command) }, all)
}

// atWork reports whether the device may be at work on a command.
func atWork(s *campaign.State, command string) bool {
	for o := range s.Orders() {
		if o.ID == command {
			return o.AtWork()
		}
	}
	return false
}
