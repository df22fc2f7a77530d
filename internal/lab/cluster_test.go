package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// process opens a lab in a database as a process of its own does: another name of
// the application is another worker.
func process(t *testing.T, database, name string, change func(*lab.Options)) *lab.Lab {
	t.Helper()
	o := lab.Options{
		Folder: t.TempDir(), Database: database + "&application_name=" + name, Registry: builtin.Registry(),
		Log: func(format string, args ...any) { t.Logf(name+": "+format, args...) },
	}
	if change != nil {
		change(&o)
	}
	l := must.Get(lab.Open(t.Context(), o))(t)
	t.Cleanup(l.Close)
	return l
}

// watches is the option of a server that drives nothing.
func watches(o *lab.Options) { o.Watches = true }

// eventually waits for something that other processes do by and by.
func eventually(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for began := time.Now(); !ready(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("it never came that %s", what)
		}
	}
}

// processes is how many processes a lab knows.
func processes(l *lab.Lab) int {
	ids, _ := l.Processes()
	return len(ids)
}

// drivers returns how many of some campaigns each lab drives.
func drivers(t *testing.T, names []string, labs ...*lab.Lab) []int {
	t.Helper()
	driven := make([]int, len(labs))
	for i, l := range labs {
		for _, name := range names {
			if c, err := l.Campaign(name); err == nil && c.Standing().Here {
				driven[i]++
			}
		}
	}
	return driven
}

// Law: the campaigns of a lab in a database are driven by its processes, each by
// one, evenly, and by those that are left when one ends; and what a person does
// at any of them holds for all.
func TestCluster(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	server := process(t, database, "server", watches)
	first, second := process(t, database, "first", nil), process(t, database, "second", nil)
	eventually(t, "all three know each other", func() bool { return processes(server) == 3 })
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprint("bench", i))
		define(t, server, strings.Replace(byHand, "bench", names[i], 1))
	}
	eventually(t, "two campaigns are driven by each of two", func() bool {
		driven := drivers(t, names, server, first, second)
		return driven[0] == 0 && driven[1] == 2 && driven[2] == 2
	})

	// Any process can be asked: the driver records it, and all see it.
	c := must.Get(server.Campaign("bench0"))(t)
	experiment := suggested(t, c)
	request := engine.Request{Actor: "person:ada", Tell: &engine.Tell{Experiment: experiment, Value: new(0.5)}}
	stored, err := c.Submit(t.Context(), request)
	if err != nil || len(stored) == 0 {
		t.Fatalf("a result that a server was given: %v, %v", stored, err)
	}
	for _, l := range []*lab.Lab{first, second} {
		eventually(t, "a process sees what another one has recorded", func() bool {
			c, err := l.Campaign("bench0")
			return err == nil && c.Sequence() >= stored[0].Sequence
		})
	}
	// One that no process drives: the process that is asked records it itself.
	ada := engine.Request{Actor: "person:ada"}
	must.Do(t, c.Halt(ada))
	eventually(t, "what was halted at the server is driven nowhere", func() bool {
		return drivers(t, names[:1], first, second)[0]+drivers(t, names[:1], first, second)[1] == 0 && !c.Standing().Runs()
	})
	note := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "halted"}}
	if _, err := c.Submit(t.Context(), note); err != nil {
		t.Error(err)
	}
	must.Do(t, c.Start(t.Context(), ada))
	eventually(t, "it is driven again", func() bool { return c.Standing().Run.PID != 0 })

	first.Close()
	eventually(t, "all are driven by the one that is left", func() bool { return drivers(t, names, second)[0] == len(names) })
	if experiment = suggested(t, c); experiment == "" {
		t.Error("nothing is suggested after the hand-over")
	}
	audited(t, c)
}

// Law: a process of another version, which says of itself what this one does not know, or
// asks what it does not understand, holds nothing up: campaigns are driven, and it is
// answered that it was not understood.
func TestOtherVersions(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	server, worker := process(t, database, "server", watches), process(t, database, "worker", nil)
	for id, said := range map[string]string{
		"nothing":   ``,
		"no JSON":   `{"process":`,
		"a list":    `[1, 2]`,
		"more":      `{"process": {"host": "x", "pid": 7, "drives": true, "moods": {"a": [1]}}, "stores": {"bench": 1}, "tides": 4}`,
		"otherwise": `{"process": {"host": {"name": "x"}, "drives": "at night", "instruments": {"pump": 2}}}`,
		"of others": `{"process": {"host": "x"}, "stores": []}`,
	} {
		pgtest.SQL(t, database, fmt.Sprintf(
			`insert into cd_worker (worker, until, said) values ('%s', clock_timestamp() + interval '1 hour', convert_to('%s', 'UTF8'))`,
			id, said))
	}
	eventually(t, "all are known to live", func() bool { return processes(server) == 8 })
	c := define(t, server, byHand)
	eventually(t, "it is driven", func() bool { return drivers(t, []string{"bench"}, worker)[0] == 1 })

	db := must.Get(store.OpenDatabase(database))(t)
	defer db.Close()
	for _, letter := range []string{"", "\x00\x01", "GET /v1/status", "LEAP /v9/moon HTTP/1.1\r\nHost: store\r\n\r\n"} {
		answer, err := db.AskHolder(t.Context(), "bench", []byte(letter))
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
			t.Errorf("the letter %q is answered %q, %v", letter, answer, err)
		}
	}
	if _, err := db.AskHolder(t.Context(), "of another time", nil); !errors.Is(err, store.ErrNobody) {
		t.Errorf("of a store that is not there: %v", err)
	}
	note := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "it goes on"}}
	if _, err := c.Submit(t.Context(), note); err != nil {
		t.Error(err)
	}
}

// holds counts how often processes have said in the lab's log that they hold a store.
func holds(t *testing.T, l *lab.Lab) (n int) {
	t.Helper()
	log := must.Get(l.Log())(t)
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		if e.Kind == events.KindStoreHeld {
			n++
		}
	}
	return n
}

// Law: a process that comes later gets its share of campaigns that stand still, each
// handed over once, driven by one process at a time, and none is handed on.
func TestShare(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits until campaigns have stood still")
	}
	t.Parallel()
	database := pgtest.URL(t)
	labs := []*lab.Lab{process(t, database, "first", nil), process(t, database, "second", nil)}
	eventually(t, "the two know each other", func() bool { return processes(labs[0]) == 2 && processes(labs[1]) == 2 })
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprint("bench", i))
		define(t, labs[0], strings.Replace(byHand, "bench", names[i], 1))
	}
	even := func(each int) {
		t.Helper()
		eventually(t, "all drive alike", func() bool {
			total, alike := 0, true
			for _, n := range drivers(t, names, labs...) {
				total += n
				alike = alike && n == each
			}
			if total > len(names) {
				t.Errorf("%d campaigns are driven %d times", len(names), total)
			}
			return alike
		})
	}
	even(3)
	labs = append(labs, process(t, database, "late", nil))
	even(2)
	time.Sleep(2 * lab.GiveAfter) // in which nothing more may happen
	even(2)
	if n := holds(t, labs[0]); n != len(names)+2 {
		t.Errorf("stores were taken %d times: %d, and two that were handed over", n, len(names))
	}
	for _, name := range names {
		c := must.Get(labs[2].Campaign(name))(t)
		if suggested(t, c) == "" {
			t.Errorf("%s does not go on", name)
		}
		audited(t, c)
	}
}

// withPump returns the drivers that there are, and one called pump, of one instrument.
func withPump(p instruments.Instrument) registry.Registry {
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, instruments.Driver{
		Name:     "pump",
		Settings: func() definition.Settings { return new(sharedSettings) },
		Open: func(context.Context, definition.Campaign, instruments.Environment) (instruments.Instrument, error) {
			return p, nil
		},
	})
	return reg
}

// Law: no campaign is handed over of which a command is under way, or whose instrument
// the other process does not reach.
func TestKept(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits until campaigns have stood still")
	}
	t.Parallel()
	p := &slow{let: make(chan struct{})}
	reg := withPump(p)
	options := func(names []string) func(*lab.Options) {
		return func(o *lab.Options) {
			o.Registry, o.Instruments = reg, names
			write(t, o.Folder, "instruments: {oven: {manual: {}}}\n")
		}
	}
	database := pgtest.URL(t)
	first := process(t, database, "first", options(nil))
	var names []string
	for name, instrument := range map[string]string{"commanded": "{pump: {}}", "baked": "{lab: oven}"} {
		define(t, first, strings.NewReplacer("bench", name, "instrument: manual", "instrument: "+instrument).Replace(byHand))
		names = append(names, name)
	}
	second := process(t, database, "second", options([]string{}))
	eventually(t, "the two know each other", func() bool { return processes(first) == 2 })
	eventually(t, "a command is under way", func() bool {
		c, err := first.Campaign("commanded")
		return err == nil && c.Standing().Run.WaitingFor != ""
	})
	time.Sleep(2 * lab.GiveAfter) // in which nothing may happen
	if driven := drivers(t, names, first, second); driven[0] != 2 || driven[1] != 0 {
		t.Errorf("the two drive %v", driven)
	}
	if n := holds(t, first); n != 2 {
		t.Errorf("stores were taken %d times, want 2", n)
	}
}

// suggested is the experiment that a campaign suggests.
func suggested(t *testing.T, c *lab.Campaign) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := c.Suggest(ctx)
	if err != nil || s.Experiment == nil {
		t.Fatalf("suggested: %+v, %v", s, err)
	}
	return s.Experiment.ID
}

// audited fails unless the decisions of a campaign come out the same again.
func audited(t *testing.T, c *lab.Campaign) {
	t.Helper()
	log := must.Get(c.Log())(t)
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, c.Name(), events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %v, %v", report.Mismatches, err)
	}
}

// Law: a process whose heartbeats are not answered drives its campaigns no more
// before another one does, which finds out first what became of the commands.
func TestTakeover(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a lease to end")
	}
	t.Parallel()
	database := pgtest.URL(t)
	first := process(t, database, "first", nil)
	c := define(t, first, byHand)
	eventually(t, "it is driven", func() bool { return c.Standing().Here })
	suggested(t, c)
	eventually(t, "it waits for a person", func() bool { return c.Standing().Run.WaitingFor != "" })
	before := c.Sequence()
	second := process(t, database, "second", nil)
	eventually(t, "the two know each other", func() bool { return processes(second) == 2 })

	var mute string
	ids, own := second.Processes()
	for _, id := range ids {
		if id != own {
			mute = id
		}
	}
	pgtest.Hold(t, database, `select from cd_worker where worker = '`+mute+`' for update`)
	taken := must.Get(second.Campaign("bench"))(t)
	eventually(t, "another process drives it", func() bool {
		theirs := taken.Standing().Here
		if theirs && c.Standing().Here {
			t.Error("two processes drive it at a time")
		}
		return theirs
	})
	log := must.Get(taken.Log())(t)
	// What became of the commands is found out first, and nothing is decided before.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for e := range must.Each(t, log.Follow(ctx, events.Position(before))) {
		switch e.Kind {
		case events.KindRecoveryDone:
			return
		case events.KindDecisionMade, events.KindExperimentDispatched:
			t.Fatalf("%s comes before the recovery", e.Kind)
		}
	}
	t.Error("there is no recovery")
}

// Law: a campaign at an instrument of the lab is driven by a process that reaches
// it; where none does, it says so, and names the instrument.
func TestInstrumentsAreReached(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits until no process has come")
	}
	t.Parallel()
	database := pgtest.URL(t)
	labFile := func(names ...string) func(*lab.Options) {
		return func(o *lab.Options) {
			write(t, o.Folder, "instruments: {pump: {manual: {}}}\n")
			o.Instruments = names
		}
	}
	server := process(t, database, "server", func(o *lab.Options) { labFile()(o); watches(o) })
	process(t, database, "elsewhere", labFile("oven"))
	c := define(t, server, strings.Replace(byHand, "instrument: manual", "instrument: {lab: pump}", 1))
	eventually(t, "it says that no process reaches the pump", func() bool {
		trouble := c.Standing().Trouble
		return trouble != nil && strings.Contains(trouble.Error(), "pump")
	})
	there := process(t, database, "there", labFile("pump"))
	eventually(t, "who reaches the pump drives it", func() bool { return drivers(t, []string{"bench"}, there)[0] == 1 })
	eventually(t, "there is no trouble any more", func() bool { return c.Standing().Trouble == nil })
}

// write writes a lab file.
func write(t *testing.T, folder, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(folder, "lab.yaml"), []byte(text), 0o600))
}

// slow is an instrument that remembers commands, and measures when it is let.
type slow struct {
	shared
	let chan struct{}
}

func (p *slow) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	select {
	case <-p.let:
	case <-ctx.Done():
		return instruments.Outcome{}, ctx.Err()
	}
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual: cmd.Parameters, Objective: definition.Quantity{Name: "flow", Value: 1},
	}}, nil
}

func (p *slow) Recover(context.Context, instruments.Command) (instruments.Fate, error) {
	return instruments.FateRunning, nil
}

// Law: a process that has followed a campaign in a database knows its log when it
// goes on with it, on whichever machine: its commands carry no new word. One that
// never has seen the log does not believe it.
func TestWitness(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for hand-overs")
	}
	private(t)
	machine := func() { t.Setenv("XDG_STATE_HOME", t.TempDir()) } // of what is noted from now on
	p := &slow{let: make(chan struct{})}
	reg := withPump(p)
	pumps := func(o *lab.Options) { o.Registry = reg }
	database := pgtest.URL(t)
	first := process(t, database, "first", pumps)
	define(t, first, strings.Replace(byHand, "instrument: manual", "instrument: {pump: {}}", 1))
	goesOn := func(l *lab.Lab) *lab.Campaign {
		t.Helper()
		c := must.Get(l.Campaign("bench"))(t)
		eventually(t, "it goes on there", func() bool { return c.Standing().Here && c.Standing().Run.WaitingFor != "" })
		return c
	}
	words := func(c *lab.Campaign) (n int) {
		t.Helper()
		log := must.Get(c.Log())(t)
		for e := range must.Each(t, events.ReadKinds(t.Context(), log, "bench", events.KindRecoveryDone)) {
			if strings.Contains(string(e.Data), `"epoch"`) {
				n++
			}
		}
		return n
	}
	goesOn(first)

	machine()
	second := process(t, database, "second", func(o *lab.Options) { pumps(o); watches(o) })
	p.let <- struct{}{} // the next command is given where the second machine sees it
	eventually(t, "the second has noted it", func() bool {
		files, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "campaignd", "seen", "*"))
		return slices.ContainsFunc(files, func(file string) bool {
			info, err := os.Stat(file)
			return err == nil && info.Size() > 0
		})
	})
	second.Close()
	first.Close()
	second = process(t, database, "second", pumps)
	if n := words(goesOn(second)); n != 0 {
		t.Errorf("the log that a machine has seen grow has %d new words", n)
	}
	second.Close()

	machine()
	if n := words(goesOn(process(t, database, "third", pumps))); n != 1 {
		t.Errorf("the log that a machine has never seen has %d new words, want 1", n)
	}
}

// Law: what a machine keeps of a log, once it does not drive the campaign any more, is the newest
// head that it has seen of it, and no other.
func TestOneHeadIsKept(t *testing.T) {
	private(t)
	p := &slow{let: make(chan struct{}, 4)}
	for range cap(p.let) {
		p.let <- struct{}{}
	}
	l := openWith(t, t.TempDir(), withPump(p))
	c := define(t, l, strings.Replace(byHand, "instrument: manual", "instrument: {pump: {}}", 1))
	until(t, "the campaign has ended, and is not driven", func() bool {
		at := c.Standing()
		return at.Status.Ended() && !at.Here
	})
	l.Close()
	files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "campaignd", "seen", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("%v:\n%s", err, text)
	}
}

// Law: a store that changes hands can be read all the while, and what is asked of it or recorded in it
// meanwhile waits for that, at whichever process; what one process records another shows to
// the request that follows.
func TestChangesHands(t *testing.T) {
	private(t)
	database := pgtest.URL(t)
	first, second := process(t, database, "first", nil), process(t, database, "second", watches)
	define(t, first, byHand)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for held := false; ctx.Err() == nil; held = !held {
			first.Hand(ctx, "bench", held)
			time.Sleep(200 * time.Millisecond)
		}
	}()
	for n := range 40 {
		at, other := first, second
		if n%2 == 0 {
			at, other = second, first
		}
		at.Current(t.Context(), "")
		c := must.Get(at.Campaign("bench"))(t)
		note := engine.Request{Actor: "person:ada", ID: fmt.Sprint("n", n), Note: &engine.Note{Text: "x"}}
		stored, err := c.Submit(t.Context(), note)
		if err != nil {
			t.Fatalf("note %d: %v", n, err)
		}
		asked := time.Now()
		other.Current(t.Context(), "bench")
		waited := time.Since(asked)
		there := must.Get(other.Campaign("bench"))(t)
		is, want := there.Sequence(), stored[0].Sequence
		if is < want && waited < lab.CurrentTime { // else the machine is too slow to show it
			t.Errorf("the other process shows event %d, and %d is recorded", is, want)
		}
		if _, err := there.Load(t.Context()); err != nil {
			t.Errorf("it cannot be read: %v", err)
		}
		if _, err := c.Load(t.Context()); err != nil {
			t.Errorf("it cannot be read: %v", err)
		}
	}
	cancel()
	<-ended
}
