// Package lock lets a device of this machine be driven by one campaign at a time, or by as many as
// all of them allow, each in its turn.
//
// Each process that wants a device has a file in a folder that all users of the machine share: a
// seat in the device's queue, locked by the operating system for as long as its owner lives. The
// lock ends with the process that holds it, however that ends, so nothing has to be cleaned up. The
// text of the file names the owner, the number of campaigns it lets use the device at a time, and
// whether it still waits. Seats are read and written behind a gate, another file, which is held for
// a moment: so they are served in the order of arrival, not of looking.
//
// A seat with a command in it counts also when its owner has ended: the device may be at work on
// that command, and the process that takes the seat over will learn its fate.
//
// Files are never removed here: that could remove the lock of another process. If something else
// removes them, [Lease.Check] reports it.
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

// Variable is the environment variable that replaces the system's folder, for programs that cannot
// see it.
const Variable = "CAMPAIGND_LOCKS"

// Holder is a process that drives a device, or wants to.
type Holder struct {
	Device string `json:"device"`
	// Campaign is empty for a check; Store is where to look.
	Campaign string `json:"campaign,omitempty"`
	Store    string `json:"store"`
	PID      int    `json:"pid"`
	User     string `json:"user"`
	// Host is the name of its machine, if that may be another one.
	Host  string    `json:"host,omitempty"`
	Since time.Time `json:"since"`
	// Capacity is the number of simultaneous users of the device that it allows, including itself;
	// less than 1 stands for 1. The smallest of all holders' applies.
	Capacity int `json:"capacity,omitempty"`
	// Command is the command sent to the device in its turn; empty if it is not about a command.
	Command string `json:"command,omitempty"`
}

// who describes it in words. The names come from a file that every user can write: read has made
// them printable.
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

// HeldError means that others have the device, or come first.
type HeldError struct {
	Device string
	Holder Holder // zero where the other has only just begun
	// More is the number of further holders, or of those who come first.
	More int
	// Next is true if the device is free and Holder comes first.
	Next bool
	// Turn is true if commands wait for each other, and not campaigns.
	Turn bool
	// Left is the file in which an ended process left its command: the device may be at work on it.
	// Empty if the others are alive.
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

// LostError means that a seat has ceased to keep others off the device.
type LostError struct {
	Device string
	Path   string // of the seat
	Err    error  // the reason; nil if another file stands in its place
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

// errHeld is returned by tryLock for a lock that another process holds. It never leaves the
// package: callers get a [HeldError], which names the holder.
var errHeld = errors.New("locked")

// Enter takes a place among the waiters for h.Device: see [Lease.Try]. The errors are those of the
// system, with a remedy.
func Enter(dir string, h Holder) (*Lease, error) { return enter(dir, h.Device, h) }

// EnterTurn takes a place among those who share the device and wait for it to accept their command.
// h.Capacity is the number of commands that the device works on at a time.
func EnterTurn(dir string, h Holder) (*Lease, error) { return enter(dir, turnOf(h.Device), h) }

// turnOf is the key of the queue of a device's commands.
func turnOf(device string) string { return "the turns of " + device }

// Lease is a seat in the queue of a device. Its methods may be called by several goroutines. It
// must be kept until [Lease.Release]: garbage collection closes the file of a dropped one, and the
// device is free.
type Lease struct {
	q    queue
	path string

	mu      sync.Mutex
	file    *os.File // nil once it is given back
	text    seat
	written time.Time
}

// seat is the contents of a seat's file. Every user can write it: unreadable contents count as a
// sole holder of the device.
type seat struct {
	Holder
	// Ticket is the order of arrival.
	Ticket  uint64 `json:"ticket"`
	Waiting bool   `json:"waiting,omitempty"`

	path  string
	alive bool
}

// queue is the queue of one device, or of its commands. The two are separate: a campaign that
// shares a device keeps its seat in the one while it waits in the other, with other capacities.
type queue struct {
	dir    string
	device string
	base   string // prefix of its files' names
	turn   bool
}

// queueOf returns the queue of a key: a device, or its turns. Files are named by a hash, since a
// device's name may hold anything.
func queueOf(dir, key string, h Holder) queue {
	return queue{dir: dir, device: h.Device, base: fmt.Sprintf("%x", sha256.Sum256([]byte(key))),
		turn: key != h.Device}
}

// seat returns the path of a seat.
func (q queue) seat(i int) string {
	name := q.base + ".lock"
	if i > 0 {
		name = fmt.Sprintf("%s.%d.lock", q.base, i)
	}
	return filepath.Join(q.dir, name)
}

// remedy adds a remedy to an error of the system.
func (q queue) remedy(err error) error {
	return fmt.Errorf("the lock of %s cannot be taken: %w; "+
		"set %s to a folder in which everybody who drives the device may write", q.device, err, Variable)
}

// gateWithin is how long the gate is waited for. Its holder only reads files. The bound is for a
// holder that was stopped in between, by a debugger or the machine's sleep: the error says so,
// where an endless wait would look like a busy device.
const gateWithin = 10 * time.Second

// gate keeps other processes from the queue until it is opened again.
//
// The operating system's lock cannot be waited for with a bound, hence the polling, at first after
// a millisecond and later after 20. Which of several waiters gets the gate is chance; the tickets
// make the order.
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

// seats reads the queue, in the order of arrival, behind the gate. own is left out. Taking the lock
// of a seat shows whether its process lives: a lock that can be had belongs to an ended process. A
// dead process's seat counts only with a command in it, on which the device may still be at work.
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
// Behind the gate no seat changes hands, except that its owner may end: then it still counts as
// taken for this look, or is free. So the first seat not taken can be locked, and the loop ends at
// the latest behind the last one taken.
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

// seated writes the owner of a seat.
func seated(q queue, path string, f *os.File, text seat) (*Lease, error) {
	l := &Lease{q: q, path: path, file: f, text: text}
	if err := l.write(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// enter sits down behind all present. It never waits for the device, only for the gate. The remedy
// comes with every error, since most of them mean that the users of the machine do not share the
// folder.
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

// next returns the ticket of the next arrival. Numbers may recur once all holders of greater ones
// are gone; only the order among those present matters.
func next(taken []seat) uint64 {
	if len(taken) == 0 {
		return 1
	}
	return taken[len(taken)-1].Ticket + 1
}

// Try returns nil once the device belongs to the lease: no earlier arrival still waits, and the
// number of holders is below the capacities of all of them and of this one. Otherwise it returns a
// [HeldError], and a [LostError] if the seat is gone.
//
// The least of all capacities applies, since each holder was promised that no more would use the
// device with it.
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
		l.text.Waiting = err != nil // others read the written text
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

// Check returns nil while the seat keeps its place, and otherwise a [LostError]: its file was
// removed or replaced, so that no other process sees it.
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

// check compares the open file with the one of that name: a folder of temporary files may be
// emptied. The caller holds mu.
//
// The lock is on the file and not on its name: the lock of a removed file persists, and another
// process that makes a file of that name has a lock as well.
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

// Begin notes the command that the device is sent in this turn. From now on the seat keeps its
// place until [Lease.Release], also when its process has ended.
//
// It must be called before the command is sent, and is on the disk when it returns: a machine that
// loses power in between leaves a turn that asks about a command which the device never got, and
// not a device at work that looks free.
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

// write writes the owner of the seat.
//
// The text is written over the earlier one and then truncated, never the other way round: a crash
// in between would leave an empty file, which is a free seat, though it held a command. The rest of
// a longer text is behind the value, where read does not look. The caller holds mu, or is the only
// one to have the lease.
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

// Release gives the seat back. Further calls do nothing.
func (l *Lease) Release() { l.end(true) }

// Leave ends the lease as the end of the process would: a seat with a command in it keeps its
// place.
func (l *Lease) Leave() { l.end(false) }

// end closes the file, which releases its lock. An empty file is a free seat. It is emptied while
// the lock is held, so that the next owner's text is not.
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

// Adopt takes over the turns of running commands from ended processes of the campaign; their other
// turns are dropped. A running command without a turn gets one at once, for the device is at work
// on it.
//
// An adopted turn keeps its ticket, so that a restart moves it neither to the front nor to the
// back. New turns do not wait and do not count the capacity: waiting cannot undo that the device
// has accepted the commands. If one fails none is kept, and all stay as they were, for the next
// attempt.
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

// Forget ends the turns that ended processes of a campaign left behind, at any device, for all
// commands that keep is false for. Unreadable ones stay.
//
// The devices are unknown by then, so it searches all queues of the folder. It returns no error:
// the [HeldError] of the next campaign names a remaining turn with its file, and a person can act
// on it.
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

// forget empties a seat whose owner has ended. It is read twice: at first without the gate, which
// would hold up queues of other devices, and then behind it, when no one can take it over in
// between.
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

// mostText is longer than the text of any holder. Anyone can write the file, and it is read with
// each look at the queue.
const mostText = 16 << 10

// read reads the owner of a seat, from its open file if there is one. An unwritten file gives an
// empty owner. Text about people is made printable.
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
	// Anything after the first value is left over from an earlier, longer text.
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

// shared creates the folder, in which every user may create files and no one may remove those of
// others. An existing folder is used as it is: the administrator may have given it to a group. A
// link to a folder is refused, since /tmp is open to all.
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
