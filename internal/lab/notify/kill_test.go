package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// life is a process that is killed at one of the things it does to the world.
type life struct {
	mu    sync.Mutex
	until int // it dies at that step; 0 for never
	steps int
	dead  bool
	end   context.CancelFunc

	arrived map[string][]string // the messages that arrived, by person
}

var errKilled = errors.New("killed")

func (l *life) act() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps++
	if l.steps == l.until {
		l.dead = true
		l.end()
	}
	if l.dead {
		return errKilled
	}
	return nil
}

// Send implements [Sender].
func (l *life) Send(_ context.Context, _ labfile.Secret, m Message) error {
	if err := l.act(); err != nil {
		return err
	}
	l.mu.Lock()
	l.arrived[m.Person] = append(l.arrived[m.Person], m.ID+" "+m.Title)
	l.mu.Unlock()
	return l.act()
}

// live has a lab's people hear of things, in a process that is killed at a step and comes
// back, perhaps as another program. It returns what arrived, and the number of steps.
func live(t *testing.T, until int, upgraded bool) (map[string][]string, int) {
	t.Helper()
	l := &life{until: until, arrived: make(map[string][]string)}
	var ctx context.Context
	ctx, l.end = context.WithCancel(t.Context())
	b := benchOf(t, "people: {ada: {notify: [\"ntfy://h/a\", \"ntfy://h/b\"]}, bo: {notify: [\"ntfy://h/c\"]}}\nalarms: [bo]\n", l)
	b.own.act = l.act
	look := func() {
		for again := true; again; {
			again = false
			b.Step(ctx)
			b.now = b.now.Add(10 * time.Second)
			b.Step(ctx)
			b.keep()
			if l.dead {
				l.dead = false
				ctx = t.Context()
				if upgraded {
					b.build = "two"
				}
				b.open(t, l)
				again = true
			}
		}
	}
	option := events.Option{Parameters: definition.Point{"x": definition.Number(0.5)}}
	ask := func(id string) *events.QuestionAsked {
		return &events.QuestionAsked{Question: id, Form: events.FormLabel, Expert: "ada", Options: []events.Option{option}}
	}
	b.happens(t, "bread", "engine", &events.CampaignDefined{
		Instance: "b1", Definition: definition.Campaign{Name: "bread"},
	})
	b.happens(t, "bread", "engine", ask("q1"))
	b.lose(t, "e1")
	look()
	b.now = b.now.Add(time.Hour)
	b.happens(t, "bread", "engine", ask("q2"))
	look()
	b.happens(t, "bread", "person:bo", &events.QuestionAnswered{Question: "q1", Form: events.FormLabel, Expert: "ada"})
	look()
	b.now = b.now.Add(8 * 24 * time.Hour) // what was said of q1 is forgotten
	look()
	b.open(t, l)
	b.lose(t, "e2")
	look()
	b.build = "three"
	b.open(t, l)
	look()
	return l.arrived, l.steps
}

// Law: wherever the process is killed, before and after each of the things that it does to the
// lab's log, to its snapshot and to people, and whether the next program believes the snapshot
// or not, each message arrives, under the identifier that it has without that, at most once more
// at each address, and none besides.
func TestKilledAnywhere(t *testing.T) {
	want, steps := live(t, 0, false)
	if len(want["ada"]) != 6 || len(want["bo"]) != 2 || steps < 30 {
		t.Fatalf("without being killed, %d steps: %v", steps, want)
	}
	twice := 0
	for until := 1; until <= steps; until++ {
		for _, upgraded := range []bool{false, true} {
			got, _ := live(t, until, upgraded)
			for person, messages := range want {
				messages = slices.Sorted(slices.Values(messages))
				arrived := slices.Sorted(slices.Values(got[person]))
				twice += len(arrived) - len(messages)
				addresses := map[string]int{"ada": 2, "bo": 1}[person]
				if once := slices.Compact(slices.Clone(arrived)); !slices.Equal(once, messages) || len(arrived) > len(messages)+addresses {
					t.Errorf("killed at step %d (upgraded: %t), %s gets\n%s\nand should get\n%s",
						until, upgraded, person, strings.Join(arrived, "\n"), strings.Join(messages, "\n"))
				}
			}
		}
	}
	if twice == 0 {
		t.Error("no message came twice: the process was never killed between a message and its record")
	}
}

// Law: without a snapshot, with one of another program and with a damaged one all is folded
// anew; one that is believed goes on from where it was; either way the same is remembered.
func TestSnapshotIsACache(t *testing.T) {
	l := &life{arrived: make(map[string][]string)}
	b := newBench(t, `"ntfy://h/ada"`, l)
	b.lose(t, "e1", "e2")
	b.look(t)
	anew := b.planner.state.Matters[0].Heading
	b.planner.state.Matters[0].Heading = "by the snapshot"
	b.keep()
	kept := func() string {
		t.Helper()
		data := must.Get(json.Marshal(b.planner.state))(t)
		return string(data)
	}
	want := kept()
	good := b.own.values[snapshotKey]
	for name, damage := range map[string]func(){
		"believed":        func() {},
		"gone":            func() { clear(b.own.values) },
		"another program": func() { b.build = "two" },
		"no revision":     func() { b.build = "" },
		"damaged":         func() { b.own.values[snapshotKey] = append(slices.Clone(good[:len(good)-6]), 1, 2, 3, 4, 5, 6) },
		"cut off":         func() { b.own.values[snapshotKey] = good[:len(good)-1] },
		"of another log": func() {
			data := must.Get(pack(snapshot{events.Build{Revision: "one"}, 99, NewPlanner(nil).state}))(t)
			b.own.values[snapshotKey] = data
		},
	} {
		b.build = "one"
		b.own.values = map[string][]byte{snapshotKey: good}
		damage()
		b.open(t, l)
		if believed := b.planner.state.Matters[0].Heading != anew; believed != (name == "believed") {
			t.Errorf("%s: it is believed: %t", name, believed)
		}
		b.planner.state.Matters[0].Heading = "by the snapshot"
		if got := kept(); got != want {
			t.Errorf("%s: it remembers\n%s\nand should\n%s", name, got, want)
		}
		b.look(t)
	}
	clear(b.own.values)
	b.build = ""
	b.open(t, l)
	if b.keep(); len(b.own.values) > 0 {
		t.Error("a program without a revision has kept a snapshot")
	}
	if n := len(l.arrived["ada"]); n != 1 {
		t.Errorf("ada gets %v", l.arrived["ada"])
	}
}

// Law: a snapshot that is too long for a value is not kept, and harms nothing.
func TestSnapshotTooLong(t *testing.T) {
	l := &life{arrived: make(map[string][]string)}
	b := newBench(t, `"ntfy://h/ada"`, l)
	b.lose(t, "e1")
	b.look(t)
	noise := make([]byte, 0, 3*events.MaxValueSize) // hardly compressible
	for i := 0; len(noise) < cap(noise); i++ {
		noise = fmt.Appendf(noise, "%s", identify(fmt.Sprint(i), nil))
	}
	b.planner.state.Matters[0].Lines = []string{string(noise)}
	if b.keep(); len(b.own.values) > 0 {
		t.Errorf("%d values are kept", len(b.own.values))
	}
	b.open(t, l)
	b.look(t)
	if len(l.arrived["ada"]) != 1 {
		t.Errorf("ada gets %v", l.arrived["ada"])
	}
}

// Law: a store that is another one of the name of an earlier, or an older copy of it, is folded
// from its first event.
func TestAnotherStoreOfTheName(t *testing.T) {
	l := &life{arrived: make(map[string][]string)}
	b := newBench(t, `"ntfy://h/ada"`, l)
	b.lose(t, "e1", "e2", "e3")
	b.look(t)
	for i, n := range []int{1, 5} { // events of the new store: fewer, and more
		b.store = memlog.New()
		happened := []events.Payload{
			&events.CampaignDefined{Instance: fmt.Sprint(i)},
			&events.ExperimentUnresolved{Experiment: "e9", Cause: "smoke"},
		}
		for range n - 1 {
			happened = append(happened, &events.NoteAdded{Text: "new"})
		}
		for _, payload := range happened {
			e := must.Get(events.New("rye", payload))(t)
			e.Time, e.Actor = b.now, "engine"
			must.Get(b.store.Append(t.Context(), "rye", events.AnySequence, e))(t)
		}
		b.keep()
		b.open(t, l)
		b.look(t)
		if got := l.arrived["ada"]; len(got) != i+2 || !strings.Contains(got[i+1], "e9 of rye") {
			t.Fatalf("ada gets %v", got)
		}
	}
}

// Law: while the lab's log takes nothing, messages are sent, and that is said once; what they
// were is recorded once it takes events again, once, also what it had taken without saying so.
func TestLogThatFails(t *testing.T) {
	l := &life{arrived: make(map[string][]string)}
	b := newBench(t, `"ntfy://h/ada"`, l)
	b.lose(t, "e1")
	b.Step(t.Context())
	b.now = b.now.Add(10 * time.Second)
	calls := 0
	b.own.appends = true
	b.own.act = func() error {
		if calls++; calls == 2 { // taken, and not acknowledged
			return events.ErrUncertain
		}
		if calls > 2 {
			return events.ErrStopped
		}
		return nil
	}
	b.Step(t.Context())
	b.Step(t.Context())
	b.keep()
	b.mu.Lock()
	if len(l.arrived["ada"]) != 1 || len(b.log) != 1 || len(b.own.values) != 0 {
		t.Errorf("ada gets %v; %q is said; %d values are kept", l.arrived["ada"], b.log, len(b.own.values))
	}
	b.mu.Unlock()
	b.own.act = nil
	b.Step(t.Context())
	if want := []events.Kind{kindBegun, kindAttempted, kindDelivered}; !slices.Equal(b.own.kinds(t), want) {
		t.Errorf("it holds %v", b.own.kinds(t))
	}
	b.open(t, l)
	b.look(t)
	if len(l.arrived["ada"]) != 1 {
		t.Errorf("ada gets %v", l.arrived["ada"])
	}
}

// Law: a memory from before the stream that the lab's log took over, once or again where a process
// ended meanwhile, is read: from there on people get what the program that kept it would have sent
// them (testdata/earlier/sent.txt is what it did), with the same identifier where it died in the
// middle of sending, though the campaigns are folded anew.
func TestEarlierMemory(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		data := must.Get(os.ReadFile(filepath.Join("testdata/earlier", name)))(t)
		return string(data)
	}
	w := newWorld(t, read("lab.yaml"), monday)
	for line := range strings.Lines(read("events.txt")) {
		at, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if at != "-" {
			w.now = w.clock(at)
		}
		w.happens(what)
	}
	w.now = w.clock("Mon-14:01")
	var was earlier
	must.Do(t, json.Unmarshal([]byte(read("state.json")), &was))
	o := newOwn()
	for n := range events.Sequence(2) {
		memory := newEvent(kindBegun, w.now, &begun{Earlier: &was})
		must.Get(o.log.Append(t.Context(), Stream, n, memory))(t)
	}
	must.Get(New(Options{Lab: w.lab, Own: func() (events.Store, error) { return o, nil }}))(t)
	if kinds := o.kinds(t); len(kinds) != 2 {
		t.Errorf("the stream is begun again: %v", kinds)
	}
	w.recorded = nil
	for e := range must.Each(t, o.log.Read(t.Context(), 0)) {
		w.recorded = append(w.recorded, e)
	}
	w.planner = w.folded()
	if began := w.planner.state.Began; !began.Equal(monday) {
		t.Errorf("the memory begins at %s", began)
	}
	w.now = monday.Add(4*time.Hour + 5*time.Second)
	sent := w.run(w.clock("Tue-12:00"), false, "", true)
	if id := "[message 02ddafdcf98c]"; !strings.Contains(sent, id) || !strings.Contains(read("sent.txt"), id) {
		t.Errorf("the message that may have been sent is another one:\n%s", sent)
	}
	plain := func(text string) string {
		lines := slices.Collect(strings.Lines(text))
		return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
			return strings.Contains(line, "[message ")
		}), "")
	}
	if got, want := plain(sent), plain(read("sent.txt")); got != want {
		t.Errorf("sent is\n%s\nand what kept the memory sent\n%s", got, want)
	}
}

// unread is a log that cannot be read at first.
type unread struct {
	events.Log
	times int
}

func (u *unread) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	if u.times--; u.times >= 0 {
		return func(yield func(events.Event, error) bool) { yield(events.Event{}, errors.New("smoke")) }
	}
	return u.Log.Read(ctx, after)
}

// Law: a store that cannot be read is not waited for, that is said once, and it is read as soon as
// it can be.
func TestStoreThatCannotBeRead(t *testing.T) {
	b := newBench(t, `"ntfy://h/ada"`, &life{arrived: make(map[string][]string)})
	b.options.Every = time.Millisecond
	log := memlog.New()
	e := must.Get(events.New("rye", &events.ExperimentUnresolved{Experiment: "e9", Cause: "smoke"}))(t)
	e.Time, e.Actor = monday, "engine"
	must.Get(log.Append(t.Context(), "rye", 0, e))(t)
	ctx, end := context.WithCancel(t.Context())
	caught := 0
	b.Serve(ctx, "cellar", bus.New(&unread{log, 3}, bus.Config{}), func() {
		if caught++; caught == 4 {
			end()
		}
	})
	if at := b.planner.state.Places["cellar"].Position; caught != 4 || at != 1 || len(b.log) != 1 {
		t.Errorf("caught up %d times, at event %d; %q is said", caught, at, b.log)
	}
}

// Law: what is remembered of several stores does not depend on which was read first; of a campaign
// that has ended hardly anything is.
func TestOneMemory(t *testing.T) {
	w := newWorld(t, "people: {ada: {notify: [\"ntfy://h/ada\"]}}\nfinished: [ada]\n", monday)
	for _, line := range []string{
		"ask q1 ada", "rye: ask q1 ada", "oat: ask q1 ada", "ask q2 ada", "rye: ask q2 ada", "rye: complete",
	} {
		w.now = w.now.Add(time.Second)
		w.happens(line)
	}
	remembered := func() string {
		t.Helper()
		data := must.Get(json.Marshal(w.folded().state))(t)
		return string(data)
	}
	want := remembered()
	for _, first := range []string{"bread", "rye", "oat"} {
		slices.SortStableFunc(w.happened, func(a, b occurrence) int {
			switch {
			case (a.Campaign == first) == (b.Campaign == first):
				return 0
			case a.Campaign == first:
				return -1
			}
			return 1
		})
		if got := remembered(); got != want {
			t.Errorf("of %s first:\n%s\nand in the order of time:\n%s", first, got, want)
		}
	}
	if ended, err := json.Marshal(w.planner.state.Streams["rye"]); err != nil || string(ended) != `{"sequence":3}` {
		t.Errorf("of a campaign that has ended it remembers %s, %v", ended, err)
	}
}

// Law: words are those of the definition in force.
func TestAmendedWords(t *testing.T) {
	w := newWorld(t, "people: {ada: {notify: [\"ntfy://h/ada\"]}}\n", monday)
	w.happens("ask q1 ada")
	amended := *w.def
	amended.Parameters = nil // nothing to be named
	w.sequence["bread"]++
	w.apply("bread", "person:bo", &events.CampaignAmended{Definition: amended})
	w.restart()
	w.happens("ask q2 ada")
	got := w.run(monday.Add(time.Minute), false, "", false)
	if !strings.Contains(got, "q1 of bread (x 0.50)") || !strings.Contains(got, "q2 of bread\n") {
		t.Error(got)
	}
}
