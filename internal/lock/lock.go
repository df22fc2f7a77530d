// Package lock lets a device of this machine be driven by one campaign at a
// time, or by as many as all of them allow, each in its turn.
//
// Each process that wants a device has a file in a folder that all users of the
// machine share: a seat in the device's queue, locked by the operating system
// for as long as its owner lives. The lock ends with the process that holds it,
// however that ends, so nothing has to be cleaned up. The text of the file says
// who it is, how many campaigns they let use the device at a time, and whether
// they still wait. Seats are looked at and written behind a gate, another file,
// which is held for a moment: so they are served in the order in which they
// came, not in that in which they look.
//
// A seat with a command in it counts also when its owner has ended: the device
// may be at work on that command, and the process that takes the seat up again
// knows what became of it.
//
// Files are never removed here: that could remove the lock of another process.
// Where something else removes them, [Lease.Check] says so.
package lock

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Variable is the environment variable that names another folder than the
// system's, for programs that do not see that.
const Variable = "CAMPAIGND_LOCKS"

// Holder says who drives a device, or wants to.
type Holder struct {
	Device string `json:"device"`
	// Campaign is empty where a check drives it; Store is where to look.
	Campaign string `json:"campaign,omitempty"`
	Store    string `json:"store"`
	PID      int    `json:"pid"`
	User     string `json:"user"`
	// Host is the name of its machine, where that may be another one.
	Host  string    `json:"host,omitempty"`
	Since time.Time `json:"since"`
	// Capacity is how many may have the device at a time, themselves among
	// them; less than 1 stands for 1. Of all who have it the smallest holds.
	Capacity int `json:"capacity,omitempty"`
	// Command is what the device was sent in its turn; empty where it is about
	// no command.
	Command string `json:"command,omitempty"`
}

// who says it in words. The names come from a file that every user can write:
// read has made them printable.
func (h Holder) who() string {
	if h.PID == 0 {
		return "another process, which has only just begun"
	}
	what := "an instrument check"
	if h.Campaign != "" {
		what = "the campaign " + h.Campaign
	}
	of := "of " + h.User
	if h.Host != "" {
		of = "on " + h.Host
	}
	return fmt.Sprintf("%s (process %d %s since %s, in %s)",
		what, h.PID, of, h.Since.Local().Format(time.DateTime), h.Store)
}

// HeldError says that others have the device, or come first.
type HeldError struct {
	Device string
	Holder Holder // zero where the other has only just begun
	// More is how many others have it, or come first, besides.
	More int
	// Next is true where the device is free and Holder was there before.
	Next bool
	// Turn is true where commands wait for each other, and not campaigns.
	Turn bool
	// Left is the file in which a process that has ended left word of its
	// command: the device may be at work on it. Empty where the others are
	// alive.
	Left string
}

func (e *HeldError) Error() string {
	who := e.Holder.who()
	if e.More > 0 {
		who += fmt.Sprintf(" and %d more", e.More)
	}
	switch {
	case e.Left != "":
		return fmt.Sprintf("%s may be at work on the command %s of the campaign %s (in %s), whose process has ended. "+
			"Run that campaign again: it asks the instrument what became of it; if the campaign is gone for good, remove %s",
			e.Device, e.Holder.Command, e.Holder.Campaign, e.Holder.Store, e.Left)
	case e.Next:
		return fmt.Sprintf("%s is free, and %s has waited for it before", e.Device, who)
	case !e.Turn && e.Holder.Command != "":
		return fmt.Sprintf("%s may be at work on %s for %s, which keeps it until it is known what became of that: "+
			"let that campaign go on, or resolve the experiment", e.Device, e.Holder.Command, who)
	case e.Turn:
		return fmt.Sprintf("%s is at work for %s", e.Device, who)
	}
	return fmt.Sprintf("%s is driven by %s, and the two would disturb each other. Try again when that has ended; "+
		"if yours is another device, let its program describe an `identity` of its own", e.Device, who)
}

// LostError says that a seat is no longer what keeps others off the device.
type LostError struct {
	Device string
	Path   string // of the seat
	Err    error  // why; nil where another file stands in its place
}

func (e *LostError) Error() string {
	what := "was replaced by another file"
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		what = "was removed"
	case e.Err != nil:
		what = fmt.Sprintf("cannot be read any more (%v)", e.Err)
	}
	return fmt.Sprintf("the lock of %s is lost: its file %s %s, perhaps when somebody tidied up, "+
		"so that another campaign may drive the device", e.Device, e.Path, what)
}

func (e *LostError) Unwrap() error { return e.Err }

// errHeld is returned by tryLock for a lock that another process holds. It
// never leaves the package: what a caller gets is a [HeldError], which says by
// whom.
var errHeld = errors.New("locked")

// Enter takes a place among those who wait for h.Device: see [Lease.Try]. The
// errors are those of the system, with a remedy.
func Enter(dir string, h Holder) (*Lease, error) { return enter(dir, h.Device, h) }

// EnterTurn takes a place among those who have the device together and wait for
// it to take their command. h.Capacity is how many commands the device works on
// at a time.
func EnterTurn(dir string, h Holder) (*Lease, error) { return enter(dir, turnOf(h.Device), h) }

// turnOf is the key of the queue of a device's commands.
func turnOf(device string) string { return "the turns of " + device }

// Lease is a seat in the queue of a device. Its methods may be called by
// several goroutines. It has to be kept until [Lease.Release]: of one that is
// dropped the file is closed with the next garbage collection, and the device is
// free.
type Lease struct {
	q    queue
	path string

	mu      sync.Mutex
	file    *os.File // nil once it is given back
	text    seat
	written time.Time
}

// seat is what stands in a seat's file. Every user can write it: what cannot be
// read counts as a holder who has the device alone.
type seat struct {
	Holder
	// Ticket says who came first.
	Ticket  uint64 `json:"ticket"`
	Waiting bool   `json:"waiting,omitempty"`

	path  string
	alive bool
}

// queue is the queue of one device, or of its commands. The queue of the
// commands is another one than that of the campaigns: a campaign that shares a
// device keeps its seat in the one while it waits in the other, with other
// capacities.
type queue struct {
	dir    string
	device string
	base   string // of its files' names
	turn   bool
}

// queueOf is the queue of a key: a device, or its turns. Files are named by a
// hash, since a device's name may hold anything.
func queueOf(dir, key string, h Holder) queue {
	return queue{dir: dir, device: h.Device, base: fmt.Sprintf("%x", sha256.Sum256([]byte(key))),
		turn: key != h.Device}
}

// seat is the path of a seat.
func (q queue) seat(i int) string {
	name := q.base + ".lock"
	if i > 0 {
		name = fmt.Sprintf("%s.%d.lock", q.base, i)
	}
	return filepath.Join(q.dir, name)
}

// remedy says what to do about an error of the system.
func (q queue) remedy(err error) error {
	return fmt.Errorf("the lock of %s cannot be taken: %w; "+
		"set %s to a folder in which everybody who drives the device may write", q.device, err, Variable)
}

// gateWithin is how long the gate is waited for. Its holder only looks at
// files. The bound is for one that was stopped in between, by a debugger or the
// machine's sleep: it says so, where a wait without end would look like a busy
// device.
const gateWithin = 10 * time.Second

// gate keeps other processes from the queue until it is opened again.
//
// The operating system's lock cannot be waited for with a bound, hence the
// looking again, at first after a millisecond and later after 20. Where several
// wait, which one gets the gate is chance; the tickets make the order.
func (q queue) gate() (open func(), err error) {
	path := filepath.Join(q.dir, q.base+".gate")
	for began, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		f, err := tryLock(path)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, err
		}
		if time.Since(began) > gateWithin {
			return nil, fmt.Errorf("another process has had %s for %s, is it stopped?", path, gateWithin)
		}
		time.Sleep(pause)
	}
}

// seats reads who is in the queue, in the order in which they came; behind the
// gate. own is left out. Whether a seat's process lives is found out by taking
// its lock: a lock that can be had is one whose process has ended. A seat of the
// dead counts only where a command stands in it, on which the device may still
// be at work.
func (q queue) seats(own string) (seats []seat, err error) {
	entries, err := os.ReadDir(q.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), q.base) || !strings.HasSuffix(e.Name(), ".lock") {
			continue
		}
		path := filepath.Join(q.dir, e.Name())
		if path == own {
			continue
		}
		f, err := tryLock(path)
		switch {
		case err == nil:
			s := read(path, f)
			f.Close()
			if s.Command == "" {
				continue // no one's
			}
			s.Waiting = false
			seats = append(seats, s)
		case errors.Is(err, errHeld):
			s := read(path, nil)
			s.alive = true
			seats = append(seats, s)
		default:
			return nil, err
		}
	}
	slices.SortStableFunc(seats, func(a, b seat) int { return cmp.Compare(a.Ticket, b.Ticket) })
	return seats, nil
}

// sit takes a free seat; behind the gate.
//
// Behind the gate no seat changes hands, except that its owner may end: then it
// is taken already for this look, or free. So the first that is not taken can
// be locked, and the loop ends at the latest behind the last one taken.
func (q queue) sit(taken []seat, text seat) (*Lease, error) {
	for i := 0; ; i++ {
		path := q.seat(i)
		if slices.ContainsFunc(taken, func(s seat) bool { return s.path == path }) {
			continue
		}
		f, err := tryLock(path)
		if err != nil {
			return nil, err
		}
		return seated(q, path, f, text)
	}
}

// seated writes who has a seat.
func seated(q queue, path string, f *os.File, text seat) (*Lease, error) {
	l := &Lease{q: q, path: path, file: f, text: text}
	if err := l.write(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// enter sits down behind all that are there. It never waits for the device,
// only for the gate. The remedy comes with every error, since most of them mean
// that the folder is not one that all users of the machine share.
func enter(dir, key string, h Holder) (*Lease, error) {
	q := queueOf(dir, key, h)
	if err := shared(dir); err != nil {
		return nil, q.remedy(err)
	}
	open, err := q.gate()
	if err != nil {
		return nil, q.remedy(err)
	}
	defer open()
	taken, err := q.seats("")
	if err != nil {
		return nil, q.remedy(err)
	}
	l, err := q.sit(taken, seat{Holder: h, Ticket: next(taken), Waiting: true})
	if err != nil {
		return nil, q.remedy(err)
	}
	return l, nil
}

// next is the ticket of the next one to come. Numbers may come again once all
// who had greater ones are gone; what matters is the order among those who are
// there.
func next(taken []seat) uint64 {
	if len(taken) == 0 {
		return 1
	}
	return taken[len(taken)-1].Ticket + 1
}

// Try returns nil once the device is the lease's: no one who came before still
// waits, and there are fewer who have it than each of them, and this one,
// allows. Otherwise it returns a [HeldError], and where the seat is gone a
// [LostError].
//
// Capacity is the least that any of them allows, since each was promised that no
// more would use the device with it.
func (l *Lease) Try() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(); err != nil || !l.text.Waiting {
		return err
	}
	open, err := l.q.gate()
	if err != nil {
		return l.q.remedy(err)
	}
	defer open()
	others, err := l.q.seats(l.path)
	if err != nil {
		return l.q.remedy(err)
	}
	most := max(1, l.text.Capacity)
	var have, before []seat
	for _, s := range others {
		switch {
		case !s.Waiting:
			have = append(have, s)
			most = min(most, max(1, s.Capacity))
		case s.Ticket < l.text.Ticket:
			before = append(before, s)
		}
	}
	if len(have) < most && len(before) == 0 {
		l.text.Waiting = false
		err := l.write()
		l.text.Waiting = err != nil // others see what is written
		return err
	}
	held := &HeldError{Device: l.q.device, Turn: l.q.turn, Next: len(have) < most}
	if held.Next {
		have = nil
	}
	ahead := append(have, before...)
	held.Holder, held.More = ahead[0].Holder, len(ahead)-1
	if !ahead[0].alive {
		held.Left = ahead[0].path
	}
	return held
}

// touchAfter is how soon a seat is written again, for programs that remove files by age.
const touchAfter = time.Hour

// Check returns nil while the seat keeps its place, and otherwise a
// [LostError]: its file was removed or replaced, so that no other process sees it.
func (l *Lease) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(); err != nil {
		return err
	}
	if time.Since(l.written) > touchAfter {
		return l.write()
	}
	return nil
}

// check compares the open file with the one of that name: a folder of temporary
// files may be emptied. The caller holds mu.
//
// The lock is on the file and not on its name: of a file that was removed the
// lock still holds, and another process that makes a file of that name has a
// lock as well.
func (l *Lease) check() error {
	if l.file == nil {
		return fmt.Errorf("the lock of %s was given back", l.q.device)
	}
	own, err := l.file.Stat()
	if err != nil {
		return &LostError{Device: l.q.device, Path: l.path, Err: err}
	}
	now, err := os.Lstat(l.path)
	if err != nil || !os.SameFile(own, now) {
		return &LostError{Device: l.q.device, Path: l.path, Err: err}
	}
	return nil
}

// Begin notes the command that the device is sent in this turn. From now on the
// seat keeps its place until [Lease.Release], also when its process has ended.
//
// It must be called before the command is sent, and is on the disk when it
// returns: a machine that loses power in between leaves a turn that asks about
// a command which the device never got, and not a device at work that looks
// free.
func (l *Lease) Begin(command string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(); err != nil {
		return err
	}
	before := l.text.Command
	l.text.Command = command
	if err := l.write(); err != nil {
		l.text.Command = before // it is not sent
		return err
	}
	return l.file.Sync()
}

// write writes who has the seat.
//
// The text is written over the earlier one and then cut, never the other way
// round: a crash in between would leave an empty file, which is a free seat,
// though a command was in it. What is left of a longer text is behind the
// value, where read does not look. The caller holds mu, or is the only one to
// have the lease.
func (l *Lease) write() error {
	text, err := json.Marshal(l.text)
	if err != nil {
		return err
	}
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	l.written = time.Now()
	return l.file.Truncate(int64(len(text)) + 1)
}

// Release gives the seat back. Calling it twice does nothing more.
func (l *Lease) Release() { l.end(true) }

// Leave ends the lease as the end of the process would: a seat with a command
// in it keeps its place.
func (l *Lease) Leave() { l.end(false) }

// end closes the file, which gives up its lock. An empty file is a free seat.
// It is emptied while the lock still holds, so that the text of the next owner
// is not.
func (l *Lease) end(empty bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	if empty {
		_ = l.file.Truncate(0)
	}
	l.file.Close()
	l.file = nil
}

// Adopt takes up the turns of commands that are under way, from processes of
// the campaign that have ended; what else they left is forgotten. A command
// that is under way and has no turn gets one at once, for the device is at work
// on it.
//
// What was left keeps its ticket, so that a restart is no way to the front or
// the back. New turns do not wait and do not count the capacity: that the
// device has taken the commands cannot be undone by waiting. Where one fails
// none is kept, and all stay as they were found, for the next attempt.
func Adopt(dir string, h Holder, commands []string) (turns map[string]*Lease, err error) {
	q := queueOf(dir, turnOf(h.Device), h)
	if err := shared(dir); err != nil {
		return nil, q.remedy(err)
	}
	open, err := q.gate()
	if err != nil {
		return nil, q.remedy(err)
	}
	defer open()
	taken, err := q.seats("")
	if err != nil {
		return nil, q.remedy(err)
	}
	turns = make(map[string]*Lease)
	defer func() {
		if err == nil {
			return
		}
		for _, l := range turns {
			l.Leave()
		}
		turns, err = nil, q.remedy(err)
	}()
	for _, s := range taken {
		known := slices.Contains(commands, s.Command)
		if s.alive || !known && (s.Campaign != h.Campaign || s.Store != h.Store) {
			continue
		}
		f, err := tryLock(s.path)
		if err != nil {
			return nil, err
		}
		if !known || turns[s.Command] != nil {
			_ = f.Truncate(0)
			f.Close()
			continue
		}
		text := seat{Holder: h, Ticket: s.Ticket}
		text.Command = s.Command
		if turns[s.Command], err = seated(q, s.path, f, text); err != nil {
			delete(turns, s.Command)
			return nil, err
		}
	}
	for _, command := range commands {
		if turns[command] != nil {
			continue
		}
		text := seat{Holder: h, Ticket: next(taken)}
		text.Command = command
		l, err := q.sit(taken, text)
		if err != nil {
			return nil, err
		}
		turns[command] = l
		text.path, text.alive = l.path, true
		taken = append(taken, text)
	}
	return turns, nil
}

// Forget ends the turns that processes of a campaign left behind when they
// ended, at any device, for all commands but those that keep is true for. What
// cannot be looked at stays.
//
// The devices are not known by then, so that all queues of the folder are
// looked at. It has no error: a turn that stays is named with its file by the
// [HeldError] of the next campaign, which a person can follow.
func Forget(dir, campaign, store string, keep func(command string) bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		base, _, _ := strings.Cut(e.Name(), ".")
		if path := filepath.Join(dir, e.Name()); strings.HasSuffix(path, ".lock") && e.Type().IsRegular() {
			queue{dir: dir, base: base}.forget(path, func(h Holder) bool {
				return h.Command != "" && h.Campaign == campaign && h.Store == store && !keep(h.Command)
			})
		}
	}
}

// forget empties a seat whose owner has ended. It is read twice: at first
// without the gate, which would hold up queues of other devices, and then
// behind it, when no one can take it over in between.
func (q queue) forget(path string, mine func(Holder) bool) {
	if !mine(read(path, nil).Holder) {
		return
	}
	open, err := q.gate()
	if err != nil {
		return
	}
	defer open()
	f, err := tryLock(path)
	if err != nil {
		return // another process has it
	}
	defer f.Close()
	if mine(read(path, f).Holder) {
		_ = f.Truncate(0)
	}
}

// mostText is more than any holder writes about itself. The file is anyone's to
// write, and is read with each look at the queue.
const mostText = 16 << 10

// read reads who has a seat, from its open file if there is one. No one is
// known where that is not written yet. What it says of people is shown as
// words.
func read(path string, f *os.File) (s seat) {
	defer func() { s.path = path }()
	if f == nil {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostText {
			return seat{}
		}
		if f, err = os.Open(path); err != nil {
			return seat{}
		}
		defer f.Close()
	}
	// What follows the first value is left of an earlier, longer text.
	if json.NewDecoder(io.NewSectionReader(f, 0, mostText)).Decode(&s) != nil {
		return seat{}
	}
	for _, word := range []*string{&s.Campaign, &s.Store, &s.User, &s.Command} {
		*word = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '\uFFFD'
			}
			return r
		}, *word)
	}
	return s
}

// shared creates the folder, in which every user may create files and no one
// may remove those of others. A folder that is there is taken as it is: who set
// up the machine may have given it to a group. That the name is a link to a
// folder is refused, since /tmp is open to all.
func shared(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if err == nil {
		return os.Chmod(dir, 0o777|os.ModeSticky) // whatever the umask
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return err
}
