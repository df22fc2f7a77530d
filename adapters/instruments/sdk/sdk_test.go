package sdk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/sdk"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// device is an instrument whose Measure is a function, and that counts its acts.
type device struct {
	measure  func(context.Context, instruments.Command) (events.Measurement, error)
	capacity int
	mu       sync.Mutex
	acts     map[string]int
}

func (d *device) Describe(context.Context) (instruments.Description, error) {
	zero, two := 0.0, 2.0
	return instruments.Description{
		Name: "test/device", Identity: "serial 7", Capacity: d.capacity, Simulated: true,
		Parameters: []instruments.ParameterSpec{{Name: "salt", Unit: "mol/kg", Min: &zero, Max: &two}},
	}, nil
}

func (d *device) Measure(ctx context.Context, cmd instruments.Command) (events.Measurement, error) {
	d.mu.Lock()
	if d.acts == nil {
		d.acts = make(map[string]int)
	}
	d.acts[cmd.ID]++
	d.mu.Unlock()
	return d.measure(ctx, cmd)
}

func (d *device) acted(t *testing.T, id string, want int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.acts[id] != want {
		t.Errorf("it acted %d times on %s, want %d", d.acts[id], id, want)
	}
}

func conductivity(value float64) (events.Measurement, error) {
	return events.Measurement{Objective: definition.Quantity{Name: "conductivity", Value: value, Unit: "mS/cm"}}, nil
}

func quick(context.Context, instruments.Command) (events.Measurement, error) { return conductivity(10) }

// session is one instance of the program, spoken to line by line.
type session struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan map[string]any
	over  chan error
	last  int
	hello map[string]any // the answer to the handshake
}

func serve(t *testing.T, ledger string, inst sdk.Instrument) *session {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &session{t: t, in: inW, lines: make(chan map[string]any, 100), over: make(chan error, 1)}
	go func() {
		s.over <- sdk.Serve(context.Background(), inR, outW, ledger, inst)
		outW.Close()
	}()
	go func() {
		for scan := bufio.NewScanner(outR); scan.Scan(); {
			var m map[string]any
			if err := json.Unmarshal(scan.Bytes(), &m); err != nil {
				t.Errorf("a reply is not JSON: %s", scan.Bytes())
			}
			s.lines <- m
		}
	}()
	t.Cleanup(s.end)
	if s.hello = s.ask(`"op":"handshake","protocol":1`); s.hello["protocol"] != 1.0 || s.hello["recover"] != true {
		t.Fatalf("handshake: %v", s.hello)
	}
	return s
}

// keeping is a device of which somebody says that its ledger is durable and complete.
type keeping struct {
	*device
	keeps bool
}

func (k keeping) Keeps() bool { return k.keeps }

// Law: a ledger is declared to be durable and complete where the instrument says so and the ledger was there
// before this run of the program: of one that begins now nobody knows what was before. What was called off
// before it was started is one piece in it.
func TestDurableLedgerIsDeclared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	for i, c := range []struct {
		inst sdk.Instrument
		want any
	}{
		{keeping{&device{measure: quick}, true}, nil}, // it begins now
		{keeping{&device{measure: quick}, true}, "durable"},
		{keeping{&device{measure: quick}, false}, nil},
		{&device{measure: quick}, nil},
	} {
		s := serve(t, dir, c.inst)
		if got := s.hello["ledger"]; got != c.want {
			t.Errorf("run %d declares %v, want %v", i+1, got, c.want)
		}
		s.end()
	}
}

func (s *session) end() {
	s.in.Close()
	if err := <-s.over; err != nil {
		s.t.Errorf("Serve: %v", err)
	}
	s.over <- nil
}

func (s *session) send(rest string) {
	s.last++
	must.Get(fmt.Fprintf(s.in, "{\"id\":%d,%s}\n", s.last, rest))(s.t)
}

func (s *session) next() map[string]any {
	s.t.Helper()
	select {
	case m := <-s.lines:
		return m
	case <-time.After(20 * time.Second):
		s.t.Fatal("there was no reply")
		return nil
	}
}

func (s *session) ask(rest string) map[string]any {
	s.t.Helper()
	s.send(rest)
	return s.next()
}

func (s *session) command(op, id string, salt float64) map[string]any {
	s.t.Helper()
	return s.ask(fmt.Sprintf(`"op":%q,"command":{"id":%q,"parameters":{"salt":%g}}`, op, id, salt))
}

// outcome awaits a command at salt 1.
func (s *session) outcome(id string) (status, cause string) {
	s.t.Helper()
	r := s.command("await", id, 1)
	o, ok := r["outcome"].(map[string]any)
	if !ok {
		s.t.Fatalf("await: %v", r)
	}
	cause, _ = o["cause"].(string)
	return o["status"].(string), cause
}

// Law: whatever Measure does becomes an outcome that campaignd can use, and only what says so
// has failed: after any other error nobody can tell what took place.
func TestMeasureBecomesOutcome(t *testing.T) {
	for _, test := range []struct {
		name    string
		measure func(context.Context, instruments.Command) (events.Measurement, error)
		status  string
		cause   string
	}{
		{"a value", quick, "measured", ""},
		{"it failed", func(context.Context, instruments.Command) (events.Measurement, error) {
			return events.Measurement{}, fmt.Errorf("%w: a bubble", sdk.ErrFailed)
		}, "failed", "a bubble"},
		{"an error", func(context.Context, instruments.Command) (events.Measurement, error) {
			return events.Measurement{}, errors.New("the line is dead")
		}, "unknown", "the line is dead"},
		{"nothing took place", func(context.Context, instruments.Command) (events.Measurement, error) {
			return events.Measurement{}, fmt.Errorf("%w: the door is open", sdk.ErrNotPerformed)
		}, "cancelled", "the door is open"},
		{"it cannot be made", func(context.Context, instruments.Command) (events.Measurement, error) {
			return events.Measurement{}, fmt.Errorf("%w: salt is left at the bottom", sdk.ErrInfeasible)
		}, "infeasible", "salt is left"},
		{"try again", func(context.Context, instruments.Command) (events.Measurement, error) {
			return events.Measurement{}, fmt.Errorf("%w: the bottle is empty", sdk.ErrTryAgain)
		}, "deferred", "the bottle is empty"},
		{"NaN", func(context.Context, instruments.Command) (events.Measurement, error) {
			return conductivity(math.NaN())
		}, "failed", "NaN"},
		{"a panic", func(context.Context, instruments.Command) (events.Measurement, error) {
			panic("short circuit")
		}, "unknown", "short circuit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &device{measure: test.measure}
			dir := t.TempDir()
			s := serve(t, dir, d)
			if r := s.command("start", "c/e1", 1); r["ok"] != true {
				t.Fatalf("start: %v", r)
			}
			// The same outcome again, and from a new instance.
			for range 2 {
				for range 2 {
					status, cause := s.outcome("c/e1")
					if status != test.status || !strings.Contains(cause, test.cause) {
						t.Errorf("%s, %q; want %s, %q", status, cause, test.status, test.cause)
					}
				}
				if r := s.command("start", "c/e1", 1); r["ok"] != true {
					t.Errorf("start again: %v", r)
				}
				s.end()
				s = serve(t, dir, d)
				fate := "finished"
				if test.status == "unknown" { // a later instance knows no more, not even why
					fate, test.cause = "unknown", "the instrument's program ended"
				}
				if r := s.command("recover", "c/e1", 1); r["fate"] != fate {
					t.Errorf("recover: %v", r)
				}
			}
			d.acted(t, "c/e1", 1)
		})
	}
}

// away is a device that cannot be described.
type away struct {
	device
	err error
}

func (a *away) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{}, a.err
}

// Law: a device that cannot be described yet is told of as that, and nothing is begun with it.
func TestDescribedLater(t *testing.T) {
	s := serve(t, t.TempDir(), &away{err: fmt.Errorf("%w: the pump is off", sdk.ErrTryAgain)})
	if r := s.ask(`"op":"describe"`); !strings.Contains(fmt.Sprint(r["later"]), "the pump is off") || r["description"] != nil {
		t.Errorf("describe: %v", r)
	}
	if r := s.command("start", "c/e1", 1); r["ok"] == true || !strings.Contains(fmt.Sprint(r["error"]), "the pump is off") {
		t.Errorf("start: %v", r)
	}
}

// measured awaits the measurement of a command.
func (s *session) measured(id string, salt float64) (m events.Measurement) {
	s.t.Helper()
	r := s.command("await", id, salt)
	outcome, _ := r["outcome"].(map[string]any)
	data, _ := json.Marshal(outcome["measurement"])
	if err := json.Unmarshal(data, &m); err != nil || outcome["status"] != "measured" {
		s.t.Fatalf("await: %v, %v", r, err)
	}
	return m
}

// Law: what Measure returns is told as it is, all of it.
func TestMeasurementIsTold(t *testing.T) {
	sd := 0.2
	want := events.Measurement{
		Actual:    definition.Point{"salt": definition.Number(1.4)},
		Objective: definition.Quantity{Name: "conductivity", Value: 12.9, Unit: "mS/cm", SD: &sd},
		Further:   []definition.Quantity{{Name: "viscosity", Value: 3, Unit: "mPa·s"}, {Name: "pH", Value: 7}},
		Identity:  "serial 8",
		Began:     time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		Ended:     time.Date(2026, 5, 1, 12, 5, 0, 0, time.UTC),
		Unread:    []events.Unread{{Field: "trace", Text: "1, 2", Reason: "it has two channels"}},
	}
	d := &device{measure: func(context.Context, instruments.Command) (events.Measurement, error) { return want, nil }}
	s := serve(t, t.TempDir(), d)
	s.command("start", "c/e1", 1.5)
	if got := s.measured("c/e1", 1.5); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// A measurement is completed with what the SDK knows.
func TestMeasurementIsCompleted(t *testing.T) {
	s := serve(t, t.TempDir(), &device{measure: quick})
	s.command("start", "c/e1", 1.5)
	m := s.measured("c/e1", 1.5)
	if x, _ := m.Actual["salt"].Float(); x != 1.5 || m.Identity != "serial 7" || m.Began.IsZero() ||
		m.Ended.Before(m.Began) {
		t.Errorf("%+v", m)
	}
}

// A result that no line of the protocol can hold is told without what makes it
// so long.
func TestLongResults(t *testing.T) {
	d := &device{measure: func(context.Context, instruments.Command) (events.Measurement, error) {
		m, err := conductivity(10)
		m.Identity = strings.Repeat("x", 1<<20)
		for i := range 50_000 {
			m.Further = append(m.Further, definition.Quantity{Name: fmt.Sprint("channel ", i), Value: float64(i)})
		}
		return m, err
	}}
	s := serve(t, t.TempDir(), d)
	s.command("start", "c/e1", 1)
	r := s.command("await", "c/e1", 1)
	m := r["outcome"].(map[string]any)["measurement"].(map[string]any)
	if fmt.Sprint(m["objective"]) != "map[name:conductivity unit:mS/cm value:10]" || m["further"] != nil ||
		!strings.Contains(fmt.Sprint(m["unread"]), "50000 further quantities") {
		t.Errorf("%.500s", fmt.Sprint(m))
	}
	d = &device{measure: func(context.Context, instruments.Command) (events.Measurement, error) {
		return events.Measurement{}, fmt.Errorf("%w: %s", sdk.ErrFailed, strings.Repeat("no ", 1<<20))
	}}
	s = serve(t, t.TempDir(), d)
	s.command("start", "c/e1", 1)
	if status, cause := s.outcome("c/e1"); status != "failed" || len(cause) > 5000 ||
		!strings.Contains(cause, "bytes)") {
		t.Errorf("%s, %d bytes", status, len(cause))
	}
}

// Commands that must not be acted on are refused, in words, before they reach
// the ledger.
func TestRefusals(t *testing.T) {
	d := &device{measure: quick}
	dir := t.TempDir()
	s := serve(t, dir, d)
	if r := s.command("start", "c/e1", 3); !strings.Contains(fmt.Sprint(r["refused"]),
		"above the instrument's limit of 2") {
		t.Errorf("out of limits: %v", r)
	}
	if r := s.ask(`"op":"start","command":{"id":"c/e2","parameters":{"sugar":1}}`); r["refused"] == nil {
		t.Errorf("an unknown parameter: %v", r)
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "c%2Fe3.jsonl"), 0o777))
	if r := s.command("start", "c/e3", 1); r["error"] == nil && r["refused"] == nil {
		t.Errorf("a ledger that cannot be written: %v", r)
	}
	for _, id := range []string{"c/e1", "c/e2", "c/e3"} {
		d.acted(t, id, 0)
	}
	if r := s.command("recover", "c/e1", 3); r["fate"] != "not started" {
		t.Errorf("recover: %v", r)
	}
	// The ID of another experiment.
	s.command("start", "c/e4", 1)
	defer func() { // also in a later life, which knows it from the ledger
		s.end()
		d.mu.Lock()
		before := d.acts["c/e4"]
		d.mu.Unlock()
		s := serve(t, dir, d)
		if r := s.command("start", "c/e4", 0.5); !strings.Contains(fmt.Sprint(r["error"]), "other parameters") {
			t.Errorf("start in a later life: %v", r)
		}
		if r := s.command("recover", "c/e4", 0.5); r["fate"] != "unknown" {
			t.Errorf("recover: %v", r)
		}
		if r := s.command("await", "c/e4", 0.5); !strings.Contains(fmt.Sprint(r["outcome"]),
			"other parameters") || !strings.Contains(fmt.Sprint(r["outcome"]), "unknown") {
			t.Errorf("await: %v", r)
		}
		if r := s.command("cancel", "c/e4", 0.5); r["error"] == nil {
			t.Errorf("cancel: %v", r)
		}
		if r := s.command("recover", "c/e4", 1); r["fate"] != "finished" {
			t.Errorf("recover with its own: %v", r)
		}
		d.acted(t, "c/e4", before)
	}()
	if r := s.command("recover", "c/e4", 0.5); r["fate"] != "unknown" {
		t.Errorf("recover in this life: %v", r)
	}
	if r := s.command("start", "c/e4", 0.5); !strings.Contains(fmt.Sprint(r["error"]), "other parameters") {
		t.Errorf("another experiment of the same ID: %v", r)
	}
	// Never started.
	if r := s.command("await", "c/e5", 1); !strings.Contains(fmt.Sprint(r["error"]), "never started") {
		t.Errorf("await: %v", r)
	}
	if r := s.command("cancel", "c/e5", 1); r["ok"] != true {
		t.Errorf("cancel: %v", r)
	}
	// Not the protocol.
	if r := s.ask(`"op":"dance"`); !strings.Contains(fmt.Sprint(r["error"]), `"dance"`) {
		t.Errorf("an unknown operation: %v", r)
	}
	fmt.Fprintln(s.in, "hello")
	if r := s.next(); !strings.Contains(fmt.Sprint(r["error"]), "not a request") {
		t.Errorf("no JSON: %v", r)
	}
}

// introduction is a device that is scripted before it measures.
type introduction struct {
	device
	description instruments.Description
	err         error // of Describe
	refuses     error // of Configure
	campaign    sdk.Campaign
}

func (i *introduction) Describe(context.Context) (instruments.Description, error) {
	return i.description, i.err
}

func (i *introduction) Configure(_ context.Context, c sdk.Campaign) error {
	i.campaign = c
	return i.refuses
}

// Law: the first request is the handshake, and there is one; whatever else is asked for
// before is answered, with an error, and not acted on. A program that cannot be introduced,
// because it speaks another version or its instrument cannot be configured or described, says
// so in its answer, and ends.
func TestIntroduction(t *testing.T) {
	const hello = `{"id":1,"op":"handshake","protocol":1}`
	named := instruments.Description{Name: "test/device"}
	command := func(op string) string {
		return fmt.Sprintf(`{"id":1,"op":%q,"command":{"id":"c/e1","parameters":{}}}`, op)
	}
	for _, c := range []struct {
		name  string
		inst  *introduction
		lines []string
		want  string // in the error that answers the last line
		ends  bool   // the program, with that error
	}{
		{"described first", &introduction{description: named}, []string{`{"id":1,"op":"describe"}`}, "handshake", false},
		{"started first", &introduction{description: named}, []string{command("start")}, "handshake", false},
		{"awaited first", &introduction{description: named}, []string{command("await")}, "handshake", false},
		{"cancelled first", &introduction{description: named}, []string{command("cancel")}, "handshake", false},
		{"asked first", &introduction{description: named}, []string{command("recover")}, "handshake", false},
		{"another version", &introduction{description: named}, []string{`{"id":1,"op":"handshake","protocol":2}`}, "version 2", true},
		{"no version", &introduction{description: named}, []string{`{"id":1,"op":"handshake"}`}, "version 0", true},
		{"a second handshake", &introduction{description: named}, []string{hello, hello}, "already", true},
		{"not configured", &introduction{description: named, refuses: errors.New("no such port")}, []string{hello}, "no such port", true},
		{"not described", &introduction{description: named, err: errors.New("no answer")}, []string{hello}, "no answer", true},
		{"no name", &introduction{}, []string{hello}, "it has no name", true},
		{"no command", &introduction{description: named}, []string{hello, `{"id":1,"op":"start"}`}, "names no command", false},
		{"a command without an ID", &introduction{description: named}, []string{hello, `{"id":1,"op":"start","command":{}}`}, "names no command", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.inst.measure = quick
			var out strings.Builder
			in := strings.NewReader(strings.Join(c.lines, "\n") + "\n")
			err := sdk.Serve(t.Context(), in, &out, t.TempDir(), c.inst)
			if (err != nil) != c.ends || c.ends && !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended with %v", err)
			}
			replies := strings.Split(strings.TrimSpace(out.String()), "\n")
			var last map[string]any
			if err := json.Unmarshal([]byte(replies[len(replies)-1]), &last); err != nil || len(replies) != len(c.lines) {
				t.Fatalf("%d lines were answered by %q, %v", len(c.lines), replies, err)
			}
			if last["id"] != 1.0 || !strings.Contains(fmt.Sprint(last["error"]), c.want) || len(last) != 2 {
				t.Errorf("answered: %v, want an error with %q and nothing else", last, c.want)
			}
			c.inst.acted(t, "c/e1", 0)
		})
	}
}

// Law: an instrument is told the campaign before it describes itself.
func TestConfigure(t *testing.T) {
	inst := introduction{description: instruments.Description{Name: "test/device"}}
	in := strings.NewReader(`{"id":1,"op":"handshake","protocol":1,"campaign":"electrolyte",` +
		`"parameters":[{"name":"salt","unit":"mol/kg"}],"objective":{"name":"conductivity","unit":"mS/cm","goal":"maximize"},` +
		`"settings":{"port":"/dev/ttyUSB0"}}` + "\n")
	must.Do(t, sdk.Serve(t.Context(), in, io.Discard, t.TempDir(), &inst))
	want := sdk.Campaign{
		Name:       "electrolyte",
		Parameters: []definition.Parameter{{Name: "salt", Unit: "mol/kg"}},
		Objective:  definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: "maximize"},
		Settings:   map[string]any{"port": "/dev/ttyUSB0"},
	}
	if !reflect.DeepEqual(inst.campaign, want) {
		t.Errorf("told %+v, want %+v", inst.campaign, want)
	}
}

// Cancel ends Measure's context; a command that still waits for its turn is
// called off without an action.
func TestCancel(t *testing.T) {
	began := make(chan struct{}, 1)
	d := &device{measure: func(ctx context.Context, _ instruments.Command) (events.Measurement, error) {
		began <- struct{}{}
		<-ctx.Done()
		return events.Measurement{}, ctx.Err()
	}}
	s := serve(t, t.TempDir(), d)
	s.command("start", "c/e1", 1)
	<-began
	s.command("start", "c/e2", 1) // waits: the capacity is 1
	s.command("cancel", "c/e2", 1)
	if status, _ := s.outcome("c/e2"); status != "cancelled" {
		t.Errorf("the one that waits, while the other is under way: %s", status)
	}
	s.command("cancel", "c/e1", 1)
	if status, cause := s.outcome("c/e1"); status != "failed" || !strings.Contains(cause, "cancelled") {
		t.Errorf("the one under way: %s, %q", status, cause)
	}
	if status, _ := s.outcome("c/e2"); status != "cancelled" {
		t.Errorf("the one that waited: %s", status)
	}
	d.acted(t, "c/e2", 0)
}

// Law: a command that was called off before it was started is never begun: by no start
// that comes later, in this run of the program or in the next one.
func TestCancelBeforeStart(t *testing.T) {
	d := &device{measure: quick}
	dir := t.TempDir()
	first := serve(t, dir, d)
	if r := first.command("cancel", "c/e1", 1); r["ok"] != true {
		t.Fatalf("cancel: %v", r)
	}
	first.command("cancel", "c/e2", 1)
	for _, s := range []*session{first, nil} {
		if s == nil {
			first.in.Close()
			s = serve(t, dir, d)
		}
		for _, id := range []string{"c/e1", "c/e2"} {
			if r := s.command("recover", id, 1); r["fate"] != "finished" {
				t.Errorf("recover of %s: %v", id, r)
			}
			s.command("start", id, 1)
			if status, cause := s.outcome(id); status != "cancelled" || !strings.Contains(cause, "before it was started") {
				t.Errorf("%s: %s, %q", id, status, cause)
			}
		}
	}
	d.acted(t, "c/e1", 0)
	d.acted(t, "c/e2", 0)
}

// Law: a cancel is answered once Measure has taken notice of it, where it does so soon; what moves
// has begun before the answer.
func TestCancelIsAnsweredAfterItIsHeeded(t *testing.T) {
	began, over := make(chan struct{}), false
	d := &device{measure: func(ctx context.Context, _ instruments.Command) (events.Measurement, error) {
		close(began)
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		over = true // the answer comes after it: the race detector sees to that
		return events.Measurement{}, ctx.Err()
	}}
	s := serve(t, t.TempDir(), d)
	s.command("start", "c/e1", 1)
	<-began
	s.command("cancel", "c/e1", 1)
	if !over {
		t.Error("it was answered before Measure had taken notice")
	}
}

// At the end of its input the program finishes what it does. Meanwhile the next
// instance says that it is running, and gets the outcome when there is one; it
// takes new commands and does not act again on old ones.
func TestInstancesShareALedger(t *testing.T) {
	release := make(chan struct{})
	d := &device{capacity: 2, measure: func(_ context.Context, cmd instruments.Command) (events.Measurement, error) {
		if cmd.ID == "c/e1" {
			<-release
		}
		return conductivity(10)
	}}
	dir := t.TempDir()
	first := serve(t, dir, d)
	first.command("start", "c/e1", 1)
	first.in.Close()

	second := serve(t, dir, d)
	if r := second.command("recover", "c/e1", 1); r["fate"] != "running" {
		t.Errorf("recover: %v", r)
	}
	if r := second.command("start", "c/e1", 1); r["ok"] != true {
		t.Errorf("start: %v", r)
	}
	if r := second.command("cancel", "c/e1", 1); !strings.Contains(fmt.Sprint(r["error"]), "earlier instance") {
		t.Errorf("cancel: %v", r)
	}
	second.command("start", "c/e2", 1)
	if status, _ := second.outcome("c/e2"); status != "measured" {
		t.Errorf("a new command: %s", status)
	}
	second.send(`"op":"await","command":{"id":"c/e1","parameters":{"salt":1}}`)
	close(release)
	if r := second.next(); r["outcome"].(map[string]any)["status"] != "measured" {
		t.Errorf("await: %v", r)
	}
	d.acted(t, "c/e1", 1)
}

// Two instances that read at once, which campaignd never wants, share one
// ledger: the second waits, and nothing is acted on twice.
func TestTwoLivingInstances(t *testing.T) {
	d := &device{measure: quick}
	dir := t.TempDir()
	first, second := serve(t, dir, d), serve(t, dir, d)
	first.command("start", "c/e1", 1)
	second.send(`"op":"start","command":{"id":"c/e1","parameters":{"salt":1}}`)
	select {
	case r := <-second.lines:
		t.Fatalf("the second instance answered while the first read commands: %v", r)
	case <-time.After(100 * time.Millisecond):
	}
	first.end()
	if r := second.next(); r["ok"] != true {
		t.Errorf("start: %v", r)
	}
	d.acted(t, "c/e1", 1)
}

// Law: nobody acts without the lock on the command's file. Where another holds it, who has
// not begun, start neither acts nor says that somebody will; once it is free, it can be
// asked for again.
func TestStartWithoutTheLock(t *testing.T) {
	dir := t.TempDir()
	d := &device{measure: quick}
	s := serve(t, dir, d)
	file := must.Get(os.Create(filepath.Join(dir, "c%2Fe1.jsonl")))(t)
	if free, err := sdk.TryLock(file); !free || err != nil {
		t.Fatal(free, err)
	}
	if r := s.command("start", "c/e1", 1); r["ok"] == true || r["error"] == nil && r["refused"] == nil {
		t.Errorf("start: %v", r)
	}
	d.acted(t, "c/e1", 0)
	must.Do(t, file.Close())
	if r := s.command("recover", "c/e1", 1); r["fate"] != "not started" {
		t.Errorf("recover: %v", r)
	}
	if r := s.command("start", "c/e1", 1); r["ok"] != true {
		t.Errorf("start: %v", r)
	}
	if m := s.measured("c/e1", 1); m.Objective.Value != 10 {
		t.Errorf("%+v", m)
	}
	d.acted(t, "c/e1", 1)
}

// Law: a command that the ledger cannot hold is refused: it is not acted on, now or ever,
// and may be asked for again.
func TestStartWithoutTheLedger(t *testing.T) {
	dir := t.TempDir()
	// The null device opens and reads like an empty file, and cannot be cut to a length.
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "c%2Fe1.jsonl")); err != nil {
		t.Skip(err)
	}
	d := &device{measure: quick}
	s := serve(t, dir, d)
	if r := s.command("start", "c/e1", 1); !strings.Contains(fmt.Sprint(r["refused"]), "cannot be written to the ledger") || r["ok"] == true {
		t.Errorf("start: %v", r)
	}
	d.acted(t, "c/e1", 0)
	if r := s.command("recover", "c/e1", 1); r["fate"] != "not started" {
		t.Errorf("recover: %v", r)
	}
	if r := s.command("start", "c/e1", 1); r["ok"] != true {
		t.Errorf("start: %v", r)
	}
	s.end()
	d.acted(t, "c/e1", 1)
}

// What a death or a power failure leaves in the ledger is told apart.
func TestLedgerAfterADeath(t *testing.T) {
	command := `{"id":"c/e1","campaign":"","experiment":"","parameters":{"salt":1},"replicate":0}` + "\n"
	outcome := `{"status":"failed","cause":"a bubble"}` + "\n"
	handle := `{"handle":"run 7"}` + "\n"
	for _, test := range []struct {
		name, content string
		fate          string // empty: an error
		acts          int    // after a start
	}{
		{"an empty file was never acted on", "", "not started", 1},
		{"half a command was never acted on", command[:20], "not started", 1},
		{"a command alone may have been", command, "unknown", 0},
		{"half an outcome is none", command + outcome[:20], "unknown", 0},
		{"an outcome is final", command + outcome, "finished", 0},
		{"another command's file", strings.Replace(command, "e1", "e2", 1), "", 0},
		{"damage is not a license to act", "x" + command, "", 0},
		{"a damaged outcome is not an outcome", command + "x" + outcome, "", 0},
		{"a handle is not an outcome", command + handle, "unknown", 0},
		{"an outcome behind handles is final", command + handle + handle + outcome, "finished", 0},
		{"half a handle does not count", command + handle[:9], "unknown", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			must.Do(t, os.WriteFile(filepath.Join(dir, "c%2Fe1.jsonl"), []byte(test.content), 0o666))
			d := &device{measure: quick}
			s := serve(t, dir, d)
			r := s.command("recover", "c/e1", 1)
			if test.fate == "" && r["error"] == nil || test.fate != "" && r["fate"] != test.fate {
				t.Errorf("recover: %v, want %q", r, test.fate)
			}
			r = s.command("start", "c/e1", 1)
			if (r["ok"] == true) != (test.fate != "") {
				t.Errorf("start: %v", r)
			}
			if test.fate == "unknown" {
				for range 2 {
					if status, cause := s.outcome("c/e1"); status != "unknown" || cause == "" {
						t.Errorf("await: %s, %q", status, cause)
					}
				}
			}
			s.end()
			d.acted(t, "c/e1", test.acts)
		})
	}
}

// resumer is a device that remembers what it did before the program died.
type resumer struct{ *device }

func (r resumer) Resume(context.Context, instruments.Command) (events.Measurement, error) {
	return conductivity(11)
}

// A command that a death cut short is resumed where the device remembers it,
// without acting again.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	command := `{"id":"c/e1","campaign":"","experiment":"","parameters":{"salt":1},"replicate":0}` + "\n" + `{"stat`
	must.Do(t, os.WriteFile(filepath.Join(dir, "c%2Fe1.jsonl"), []byte(command), 0o666))
	d := &device{measure: quick}
	for _, fate := range []string{"running", "finished"} {
		s := serve(t, dir, resumer{d})
		if r := s.command("recover", "c/e1", 1); r["fate"] != fate {
			t.Errorf("recover: %v, want %q", r, fate)
		}
		// When it ended is known, when it began is not: that was in another life.
		m := s.measured("c/e1", 1)
		if x, _ := m.Actual["salt"].Float(); x != 1 || m.Objective.Value != 11 || m.Identity != "serial 7" || !m.Began.IsZero() || m.Ended.IsZero() {
			t.Errorf("await: %+v", m)
		}
		s.end()
	}
	d.acted(t, "c/e1", 0)
}
