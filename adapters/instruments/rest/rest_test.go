package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/instruments/remote"
	"github.com/campaignd/campaignd/adapters/instruments/rest"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// campaign is that of the tests.
var campaign = definition.Campaign{
	Name:       "mixture",
	Parameters: []definition.Parameter{{Name: "salt", Unit: "mol/kg", Min: new(float64), Max: at(2)}},
	Objective:  definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
}

func at(x float64) *float64 { return &x }

func salt(x float64) definition.Point { return definition.Point{"salt": definition.Number(x)} }

func command(id string, x float64) instruments.Command {
	return instruments.Command{ID: id, Campaign: "mixture", Experiment: "e1", Parameters: salt(x), Replicate: 1}
}

// robot is a device behind HTTP, with handles of its own. It acts as often as it is told to: that it is
// told once is for the driver.
type robot struct {
	*httptest.Server
	acts  string // file for its acts
	takes time.Duration

	mu     sync.Mutex
	runs   []*work
	posts  int                                               // starts that came, counted before anything else
	answer func(w http.ResponseWriter, r *http.Request) bool // in place of its own, where it says so
	seen   []*http.Request
}

// work is a run of it.
type work struct {
	id, handle, state string
	salt              float64
	stop              chan struct{}
}

func newRobot(t *testing.T) *robot {
	b := &robot{acts: filepath.Join(t.TempDir(), "acts"), takes: 40 * time.Millisecond}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runs", b.start)
	mux.HandleFunc("GET /runs", b.find)
	mux.HandleFunc("GET /runs/{handle}", b.poll)
	mux.HandleFunc("DELETE /runs/{handle}", b.cancel)
	mux.HandleFunc("GET /device", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"serial":"R2","takes":[{"name":"salt","unit":"mol/kg","min":0,"max":2}]}`)
	})
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.seen = append(b.seen, r)
		instead := b.answer
		if r.Method == http.MethodPost {
			b.posts++
		}
		b.mu.Unlock()
		if instead == nil || !instead(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

// instead has it answer in another way for as long as f says so.
func (b *robot) instead(f func(w http.ResponseWriter, r *http.Request) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

func (b *robot) act(line string) {
	f, err := os.OpenFile(b.acts, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, _ = f.WriteString(line + "\n")
		f.Close()
	}
}

func (b *robot) start(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Run    string
		Inputs struct{ Salt float64 }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	run := &work{id: q.Run, handle: fmt.Sprintf("run-%d", len(b.runs)+1), state: "busy", salt: q.Inputs.Salt, stop: make(chan struct{})}
	b.runs = append(b.runs, run)
	b.act(run.id + " begin")
	go func() {
		state := "done"
		select {
		case <-time.After(b.takes):
		case <-run.stop:
			state = "aborted"
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.act(run.id + " end")
		run.state = state
	}()
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"run":{"handle":%q}}`, run.handle)
}

func (b *robot) find(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, run := range b.runs {
		if run.id == r.FormValue("key") {
			fmt.Fprintf(w, `[{"handle":%q}]`, run.handle)
			return
		}
	}
	fmt.Fprint(w, `[]`)
}

func (b *robot) run(w http.ResponseWriter, r *http.Request) *work {
	for _, run := range b.runs {
		if run.handle == r.PathValue("handle") {
			return run
		}
	}
	http.NotFound(w, r)
	return nil
}

func (b *robot) poll(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if run := b.run(w, r); run != nil {
		fmt.Fprintf(w, `{"state":%q,"progress":0.5,"note":"stirring","why":"stopped by hand","data":[{"sigma":%v,"salt":%v}]}`,
			run.state, 10-run.salt*run.salt, run.salt)
	}
}

func (b *robot) cancel(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if run := b.run(w, r); run != nil && run.state == "busy" {
		run.state = "stopping"
		close(run.stop)
	}
}

// settings reach it.
func (b *robot) settings(t *testing.T) rest.Settings {
	s := rest.Settings{
		Device:   remote.DeviceSettings{Name: "robot", Capacity: 2},
		Describe: &rest.DescribeRequest{URL: b.URL + "/device", Identity: "/serial", Parameters: "/takes"},
		Start: rest.StartRequest{Handle: "/run/handle", Infeasible: []int{422}, Request: rest.Request{URL: b.URL + "/runs",
			Body: map[string]any{"run": "{id}", "inputs": map[string]any{"salt": "{parameters.salt}"}}}},
		Find: &rest.FindRequest{URL: b.URL + "/runs?key={id}", Handle: "/0/handle"},
		Poll: rest.PollRequest{URL: b.URL + "/runs/{handle}", Every: definition.Duration(5 * time.Millisecond), Fraction: "/progress", Text: "/note",
			State: remote.State{At: "/state", Running: []string{"busy", "stopping"}, Measured: []string{"done"}, Failed: []string{"aborted"}, Cause: "/why"}},
		Result: rest.ResultRequest{Values: remote.Values{
			Quantities: map[string]remote.Reading{"conductivity": {At: "/data/0/sigma", Unit: "mS/cm"}},
			Actual:     map[string]string{"salt": "/data/0/salt"},
		}},
		Cancel:      &rest.Request{URL: b.URL + "/runs/{handle}"},
		ReplyWithin: definition.Duration(2 * time.Second),
		Ledger:      filepath.Join(t.TempDir(), "ledger"), Durable: true,
	}
	s.Complete(&campaign)
	if faults := s.Check(&campaign, nil); faults != nil {
		t.Fatal(faults)
	}
	return s
}

func open(t *testing.T, s rest.Settings) *remote.Instrument {
	t.Helper()
	i := must.Get(rest.New(s, campaign, instruments.Environment{Logf: t.Logf}))(t)
	t.Cleanup(func() { i.Close() })
	return i
}

// Law: it passes the suite of all instruments, in front of a device with handles of its own.
func TestSuite(t *testing.T) {
	b := newRobot(t)
	s := b.settings(t)
	instrumenttest.Run(t, instrumenttest.Env{
		Open:       func(context.Context) (instruments.Instrument, error) { return open(t, s), nil },
		Definition: campaign,
		Points:     []definition.Point{salt(0.5), salt(1.5)},
		AllowRuns:  true, AllowOutOfLimits: true,
		Acts:     instrumenttest.ActsIn(b.acts),
		Patience: 10 * time.Second, Prompt: time.Second,
	})
}

// Law: however the answer to a start is lost, the start is not sent again: the device is asked by the
// command's identifier. Where it does not know it, or nobody can be asked, that is unknown, and no
// second one is sent.
func TestStartIsSentOnce(t *testing.T) {
	cut := func(w http.ResponseWriter) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	body := func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	for name, c := range map[string]struct {
		lose             func(b *robot, w http.ResponseWriter, r *http.Request) // what becomes of a start
		arrives, refused bool
	}{
		"cut after it has begun": {arrives: true, lose: func(b *robot, w http.ResponseWriter, r *http.Request) {
			b.start(httptest.NewRecorder(), r)
			cut(w)
		}},
		"cut before": {lose: func(_ *robot, w http.ResponseWriter, r *http.Request) { body(r); cut(w) }},
		"500 after it has begun": {arrives: true, lose: func(b *robot, w http.ResponseWriter, r *http.Request) {
			b.start(httptest.NewRecorder(), r)
			w.WriteHeader(500)
		}},
		"502": {lose: func(_ *robot, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }},
		"409": {lose: func(_ *robot, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) }},
		"an answer without handle": {arrives: true, lose: func(b *robot, w http.ResponseWriter, r *http.Request) {
			b.start(httptest.NewRecorder(), r)
			fmt.Fprint(w, `{}`)
		}},
		"a redirection": {arrives: true, lose: func(b *robot, w http.ResponseWriter, r *http.Request) {
			b.start(httptest.NewRecorder(), r)
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}},
		"an answer of two megabytes": {arrives: true, lose: func(b *robot, w http.ResponseWriter, r *http.Request) {
			b.start(httptest.NewRecorder(), r)
			_, _ = w.Write(make([]byte, 2<<20))
		}},
		"no answer in time": {arrives: true, lose: func(b *robot, w http.ResponseWriter, r *http.Request) {
			b.start(httptest.NewRecorder(), r)
			<-r.Context().Done()
		}},
		"423": {refused: true, lose: func(_ *robot, w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the door is open", http.StatusLocked)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRobot(t)
			s := b.settings(t)
			s.ReplyWithin = definition.Duration(300 * time.Millisecond)
			b.instead(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					c.lose(b, w, r)
				}
				return r.Method == http.MethodPost
			})
			i := open(t, s)
			cmd := command("mixture/A/e1", 1)
			err := i.Start(t.Context(), cmd)
			switch {
			case c.arrives && err != nil:
				t.Errorf("it has begun, and its start: %v", err)
			case c.refused != errors.Is(err, instruments.ErrRefused):
				t.Errorf("its start: %v", err)
			case !c.arrives && err == nil:
				t.Error("its start is confirmed, and never arrived")
			}
			again := i.Start(t.Context(), cmd)
			if (again == nil) != (err == nil) || errors.Is(again, instruments.ErrRefused) != c.refused {
				t.Errorf("the first start: %v; the second: %v", err, again)
			}
			other := open(t, s)
			fate := must.Get(other.Recover(t.Context(), cmd))(t)
			if want := map[bool]instruments.Fate{true: instruments.FateRunning, false: instruments.FateUnknown}[c.arrives]; !c.refused &&
				fate != want && !(c.arrives && fate == instruments.FateFinished) {
				t.Errorf("for a new process its fate is %q", fate)
			}
			if o := must.Get(other.Await(t.Context(), cmd))(t); c.arrives != (o.Status == instruments.Measured) {
				t.Errorf("its outcome is %+v", o)
			}
			if b.posts != 1 {
				t.Errorf("%d starts were sent", b.posts)
			}
		})
	}
}

// Law: where nothing can have reached the device, the command is refused and nothing is unknown.
func TestDeviceOff(t *testing.T) {
	b := newRobot(t)
	s := b.settings(t)
	i := open(t, s)
	must.Get(i.Describe(t.Context()))(t)
	b.Close()
	if err := i.Start(t.Context(), command("mixture/A/e1", 1)); !errors.Is(err, instruments.ErrRefused) {
		t.Errorf("its start: %v", err)
	}
	if _, err := open(t, s).Describe(t.Context()); !errors.Is(err, instruments.ErrLater) {
		t.Errorf("its description: %v", err)
	}
}

// Law: a run is found by its handle where the ledger is gone, and by its identifier where the handle
// is not known. What has a handle and is not found is unknown, and never "not started".
func TestLedgerGone(t *testing.T) {
	b := newRobot(t)
	s := b.settings(t)
	cmd := command("mixture/A/e1", 1)
	i := open(t, s)
	must.Do(t, i.Start(t.Context(), cmd))
	sign := must.Get(i.Sign(t.Context(), cmd))(t)
	if sign.Handle == "" {
		t.Fatalf("the first sign is %+v", sign)
	}
	for _, handle := range []string{sign.Handle, ""} {
		s.Ledger = filepath.Join(t.TempDir(), "other")
		other := open(t, s)
		must.Get(other.Describe(t.Context()))(t)
		if other.Keeps() {
			t.Error("a ledger that has just begun is said to be complete")
		}
		cmd.Handle = handle
		if o := must.Get(other.Await(t.Context(), cmd))(t); o.Status != instruments.Measured {
			t.Errorf("with the handle %q its outcome is %+v", handle, o)
		}
	}
	other := open(t, s)
	gone := command("mixture/A/e2", 1)
	if f := must.Get(other.Recover(t.Context(), gone))(t); f != instruments.FateNotStarted {
		t.Errorf("a command that was never started is %s", f)
	}
	gone.Handle = "run-77"
	if f := must.Get(other.Recover(t.Context(), gone))(t); f != instruments.FateUnknown {
		t.Errorf("a command with a handle that the device does not know is %s", f)
	}
}

// Law: secrets go to the device and nowhere else: neither to where it redirects nor into what is
// recorded, also where it repeats them.
func TestSecrets(t *testing.T) {
	t.Setenv("ROBOT_TOKEN", "s3cret-token")
	b := newRobot(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was followed to another address, with %q", r.Method, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	s := b.settings(t)
	s.HeadersFrom = map[string]string{"Authorization": "ROBOT_TOKEN"}
	i := open(t, s)
	must.Get(i.Describe(t.Context()))(t)
	b.instead(func(w http.ResponseWriter, r *http.Request) bool {
		http.Error(w, "the token "+r.Header.Get("Authorization")+" is not good", http.StatusForbidden)
		return true
	})
	err := i.Start(t.Context(), command("mixture/A/e1", 1))
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "the token ***") {
		t.Errorf("what is recorded: %v", err)
	}
	b.instead(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL, http.StatusPermanentRedirect)
		return true
	})
	_ = i.Start(t.Context(), command("mixture/A/e2", 1))
	if _, err := i.Recover(t.Context(), command("mixture/A/e3", 1)); err == nil {
		t.Error("a redirection counts as an answer")
	}
	for _, r := range b.seen {
		if r.Header.Get("Authorization") != "s3cret-token" {
			t.Errorf("%s %s came without the secret", r.Method, r.URL)
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.Ledger, "mixture.A.e1.jsonl")); err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("the ledger: %v %s", err, text)
	}
}

// Law: what the device says of a run that gave nothing is what is recorded: infeasible by the code of
// its answer, failed with its cause, and a run that it deletes when it is called off has failed.
func TestOtherOutcomes(t *testing.T) {
	b := newRobot(t)
	s := b.settings(t)
	i := open(t, s)
	b.instead(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			http.Error(w, "it does not dissolve", http.StatusUnprocessableEntity)
		}
		return r.Method == http.MethodPost
	})
	one := command("mixture/A/e1", 1)
	must.Do(t, i.Start(t.Context(), one))
	if o := must.Get(i.Await(t.Context(), one))(t); o.Status != instruments.Infeasible || !strings.Contains(o.Cause, "does not dissolve") {
		t.Errorf("422: %+v", o)
	}
	b.instead(nil)
	b.takes = time.Minute
	two, three := command("mixture/A/e2", 1), command("mixture/A/e3", 1)
	must.Do(t, i.Start(t.Context(), two))
	must.Do(t, i.Cancel(t.Context(), two))
	if o := must.Get(i.Await(t.Context(), two))(t); o.Status != instruments.Failed || !strings.Contains(o.Cause, "stopped by hand") {
		t.Errorf("a run that was stopped: %+v", o)
	}
	must.Do(t, i.Start(t.Context(), three))
	must.Do(t, i.Cancel(t.Context(), three))
	b.instead(func(w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(http.StatusNotFound); return true })
	if o := must.Get(open(t, s).Await(t.Context(), three))(t); o.Status != instruments.Failed {
		t.Errorf("a run that was stopped and is gone: %+v", o)
	}
}

// Law: a start whose answer was lost, and which the device does not know, cannot be called off by any
// answer: it may still arrive. Its fate stays unknown.
func TestCancelOfWhatMayArrive(t *testing.T) {
	b := newRobot(t)
	s := b.settings(t)
	s.Find, s.Poll.URL, s.Cancel.URL = nil, b.URL+"/runs/{id}", b.URL+"/runs/{id}"
	b.instead(func(w http.ResponseWriter, r *http.Request) bool {
		switch r.Method {
		case http.MethodPost:
			w.WriteHeader(http.StatusBadGateway)
		case http.MethodDelete: // of anything, as many do
			w.WriteHeader(http.StatusNoContent)
		}
		return r.Method != http.MethodGet
	})
	i := open(t, s)
	cmd := command("mixture/A/e1", 1)
	if err := i.Start(t.Context(), cmd); err == nil || errors.Is(err, instruments.ErrRefused) {
		t.Errorf("its start: %v", err)
	}
	if err := i.Cancel(t.Context(), cmd); err == nil || errors.Is(err, instruments.ErrUnstoppable) {
		t.Errorf("its cancel: %v", err)
	}
	if f := must.Get(i.Recover(t.Context(), cmd))(t); f != instruments.FateUnknown {
		t.Errorf("its fate is %s", f)
	}
	// What was never sent is called off for good, by the ledger.
	never := command("mixture/A/e2", 1)
	must.Do(t, i.Cancel(t.Context(), never))
	if err := open(t, s).Start(t.Context(), never); !errors.Is(err, instruments.ErrRefused) || b.posts != 1 {
		t.Errorf("a start after its cancel: %v; %d starts were sent", err, b.posts)
	}
}
