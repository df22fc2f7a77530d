package instrumenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// Act is one line of the record that the device's side keeps of what moved.
type Act struct {
	// Command is the ID of the command that it moved for, or whatever stands in
	// its place.
	Command string
	// Part is 0 for the act as a whole, and the number of the part where it has
	// several.
	Part int
	// Mark is empty where a line stands for a whole act, or a whole part.
	Mark Mark
	// Set holds the values that were really set, as a JSON object with parameters of the campaign
	// among it; empty where the line gives none.
	Set string
}

// Mark says which end of an act a line stands for.
type Mark string

const (
	Begins Mark = "begin"
	Ends   Mark = "end"
)

// ActsIn returns an [Env.Acts] that reads the file at path: one line for each
// physical act, appended before the outcome is given, which is
//
//	ID         it acted on command ID
//	ID begin   it began to act on command ID
//	ID end     that act ended, in whichever way
//	ID part 2  the second part of one act, where it has several
//
// A line may end with what was really set, as a JSON object: ID begin {"lipf6":1.1}.
// A part may have a begin and an end, too: ID part 2 begin.
//
// A file that does not exist holds no acts. A last line without its end is
// still being written.
func ActsIn(path string) func() ([]Act, error) {
	return func() ([]Act, error) {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var acts []Act
		for line := range strings.Lines(string(data)) {
			if !strings.HasSuffix(line, "\n") {
				break
			}
			acts = append(acts, parseAct(line))
		}
		return acts, nil
	}
}

// parseAct reads a line from its end: an identifier may hold spaces.
func parseAct(line string) (act Act) {
	line = strings.TrimSpace(line)
	if i := strings.Index(line, " {"); i >= 0 && json.Valid([]byte(line[i:])) {
		line, act.Set = strings.TrimSpace(line[:i]), line[i+1:]
	}
	for _, mark := range []Mark{Begins, Ends} {
		if id, found := strings.CutSuffix(line, " "+string(mark)); found {
			line, act.Mark = strings.TrimSpace(id), mark
			break
		}
	}
	if i := strings.LastIndex(line, " part "); i >= 0 {
		if n, err := strconv.Atoi(line[i+len(" part "):]); err == nil && n > 0 {
			line, act.Part = strings.TrimSpace(line[:i]), n
		}
	}
	act.Command = line
	return act
}

// Counted returns an [Env.Acts] for a record that counts acts by command.
func Counted(counts func() (map[string]int, error)) func() ([]Act, error) {
	return func() ([]Act, error) {
		all, err := counts()
		var acts []Act
		for id, n := range all {
			acts = append(acts, slices.Repeat([]Act{{Command: id}}, n)...)
		}
		return acts, err
	}
}

// record sums up all movements since the suite began.
type record struct {
	acts  map[string]int // by command: how often, at most, one part of it was done
	moves map[string]int // all parts of all acts, by command
	under map[string]int // parts that began and have not ended, by command
	begun map[string]int // parts whose begin was marked, by command
	lines []Act
}

// newRecord counts. A begin counts, its end does not; an end without a begin
// leaves a negative number under way, which account reports. Six parts of one act
// are one act, and a part that is done twice makes two.
func newRecord(lines []Act) record {
	type part struct {
		command string
		n       int
	}
	done := map[part]int{}
	r := record{acts: map[string]int{}, moves: map[string]int{}, under: map[string]int{},
		begun: map[string]int{}, lines: lines}
	for _, act := range lines {
		if act.Mark == Ends {
			r.under[act.Command]--
			continue
		}
		if act.Mark == Begins {
			r.under[act.Command]++
			r.begun[act.Command]++
		}
		of := part{act.Command, act.Part}
		done[of]++
		r.acts[act.Command] = max(r.acts[act.Command], done[of])
		r.moves[act.Command]++
	}
	return r
}

// acts is the record of acts that the device's side keeps.
type acts struct {
	read     func() ([]Act, error) // nil where it keeps none
	earlier  int                   // lines from before the suite
	reported map[string]bool       // faults
}

// counted reports whether acts are counted. Without counting every check still runs; it then judges
// by the instrument's answers.
func (a *acts) counted() bool { return a.read != nil }

// record reads the record of acts; only where they are counted.
//
// What was there before the suite began is left out by its number of lines, so
// that the record of a real device may go on for years. Fewer lines than then
// mean that it was replaced, and count for nothing.
func (a *acts) record() (record, error) {
	lines, err := a.read()
	if err == nil && len(lines) < a.earlier {
		err = fmt.Errorf("it held %d lines and holds %d now: lines are only ever appended",
			a.earlier, len(lines))
	}
	if err != nil {
		return record{}, fmt.Errorf("the record of acts: %w", err)
	}
	return newRecord(lines[a.earlier:]), nil
}

// acted checks how often the instrument acted on a command, where acts are
// counted, and that no act is under way once it has ended.
func (a *acts) acted(cmd instruments.Command, want int) error {
	if !a.counted() {
		return nil
	}
	r, err := a.record()
	switch n := r.acts[cmd.ID]; {
	case err != nil:
		return err
	case n == 0 && want == 1:
		return fmt.Errorf("the record of acts holds none of command %s: "+
			"the device's side appends a line with this identifier before the outcome is given", cmd.ID)
	case n != want:
		return fmt.Errorf("the instrument acted %d times on command %s, and should have acted %d times",
			n, cmd.ID, want)
	}
	return nil
}

// actOver checks that no act of a command that has ended is under way.
func (a *acts) over(cmd instruments.Command, status instruments.Status) error {
	if !a.counted() {
		return nil
	}
	r, err := a.record()
	if err == nil && r.under[cmd.ID] > 0 {
		err = fmt.Errorf("command %s was said to be %q while the instrument was still acting on it",
			cmd.ID, status)
	}
	return err
}

// account checks the whole record of acts after a check, whatever the check was about. Each fault
// is reported once. It catches faults that no single check looks for: acts of commands that were
// refused or never started, and of commands that are not the suite's.
func (a *acts) account(issued map[string]*fate) error {
	if !a.counted() {
		return nil
	}
	r, err := a.record()
	if err != nil {
		return err
	}
	var faults []error
	fault := func(key, format string, args ...any) {
		if !a.reported[key] {
			a.reported[key] = true
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	for n, act := range r.lines {
		if issued[act.Command] == nil {
			fault(fmt.Sprintf("line %d", n),
				"something moved that nobody asked for: line %d of the record of acts is %q, "+
					"and no command of this check",
				a.earlier+n+1, act.Command)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(issued)) {
		n := r.acts[id]
		switch {
		case n > 1:
			fault(fmt.Sprintf("%s %d", id, n),
				"the instrument acted %d times on command %s, and should have acted once at most", n, id)
		case n == 1 && !issued[id].handed:
			fault(id, "the instrument acted on command %s, which was never started", id)
		case n == 1 && issued[id].refused && !issued[id].accepted:
			fault(id, "the instrument acted on command %s, which it had refused", id)
		case r.under[id] < 0:
			fault(id+" end", "in the record of acts, one of command %s ended that had not begun", id)
		}
	}
	return errors.Join(faults...)
}

// on is how often the instrument has acted on a command; 0 where that is not
// counted.
func (a *acts) on(cmd instruments.Command) (int, error) {
	if !a.counted() {
		return 0, nil
	}
	r, err := a.record()
	return r.acts[cmd.ID], err
}

// reallyEnded checks that the act of a measurement has ended, where its ends are
// marked. A crash cuts the record short like everything else: a result that is
// made up afterwards has no end.
func (a *acts) reallyEnded(cmd instruments.Command, o instruments.Outcome) error {
	if o.Status != instruments.Measured || !a.counted() {
		return nil
	}
	r, err := a.record()
	if err == nil && r.under[cmd.ID] > 0 {
		err = fmt.Errorf("after the program was killed a measurement of command %s is given, "+
			"whose act had not ended by the record of acts", cmd.ID)
	}
	return err
}
