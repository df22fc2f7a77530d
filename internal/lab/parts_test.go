package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: who follows a campaign of a server has each event once, in order, however often the connection
// is cut; it is told of each time that the server cannot be reached, once. What the server refuses is
// an error, and the end of who follows is none.
func TestFollowingOverCuts(t *testing.T) {
	t.Parallel()
	log := memlog.New()
	add := func(n int) {
		t.Helper()
		for range n {
			e := events.Event{Kind: events.KindNoteAdded, Version: 1, Actor: "person:ada", Data: []byte(`{"text":"x"}`), Time: time.Now()}
			must.Get(log.Append(t.Context(), "bench", events.AnySequence, e))(t)
		}
	}
	var refused atomic.Int32
	var away, gone atomic.Bool
	handler := http.StripPrefix("/api/v1/campaigns/bench/control", control.Handler(control.Service{
		Log: log, Status: func() control.Status { return control.Status{Last: log.Last()} },
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case away.Load():
			refused.Add(1)
			panic(http.ErrAbortHandler)
		case gone.Load():
			http.Error(w, `{"code":"not_found","detail":"there is no campaign bench"}`, http.StatusNotFound)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	remote := must.Get(Server{URL: server.URL, Registry: builtin.Registry()}.Open(t.Context(), "bench"))(t)
	defer remote.Close()
	var lost atomic.Int32
	remote.Lost = func(error) { lost.Add(1) }
	var mu sync.Mutex
	var got []events.Position
	follow := func(ctx context.Context) (end chan error) {
		end = make(chan error, 1)
		go func() {
			var last error
			for e, err := range remote.Log().Follow(ctx, 0) {
				if last = err; err == nil {
					mu.Lock()
					got = append(got, e.Position)
					mu.Unlock()
				}
			}
			end <- last
		}()
		return end
	}
	has := func(n int) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			mu.Lock()
			all := slices.Clone(got)
			mu.Unlock()
			if len(all) >= n {
				for i, p := range all {
					if int(p) != i+1 {
						t.Fatalf("it has %v", all)
					}
				}
				return
			}
			if time.Since(began) > 30*time.Second {
				t.Fatalf("it has %d of %d", len(all), n)
			}
		}
	}
	add(2)
	ended := follow(t.Context())
	has(2)
	for round := range 2 {
		away.Store(true)
		server.CloseClientConnections()
		for before := refused.Load(); refused.Load() < before+3; time.Sleep(time.Millisecond) {
		}
		add(1)
		away.Store(false)
		has(3 + round)
		if n := lost.Load(); int(n) != round+1 {
			t.Errorf("of %d times that the server was away it is told %d times", round+1, n)
		}
	}
	gone.Store(true)
	server.CloseClientConnections()
	if err := <-ended; err == nil || control.IsLost(err) || !strings.Contains(err.Error(), "there is no campaign") {
		t.Errorf("the server refuses, and it ends with %v", err)
	}
	gone.Store(false)
	got = nil
	ctx, cancel := context.WithCancel(t.Context())
	ended = follow(ctx)
	has(4)
	before := lost.Load()
	cancel()
	if err := <-ended; err != nil || lost.Load() != before {
		t.Errorf("who follows no more is told %v", err)
	}
}

// Law: what a server is asked has its method, its type, who asks and, where it changes something, one
// identifier for all attempts; what it refuses is the error, with the faults of a file, and where it does
// not answer that is said.
func TestServerIsAsked(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	var ids []string
	cut := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/healthz" {
			return
		}
		if id := r.Header.Get("Idempotency-Key"); id != "" {
			ids = append(ids, id)
		}
		seen = append(seen, strings.TrimSpace(fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", r.Header.Get("Authorization"), " ", string(body))))
		switch r.URL.Path {
		case "/api/v1/cut":
			if cut++; cut < 3 {
				panic(http.ErrAbortHandler)
			}
		case "/api/v1/refused":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"code":"invalid","detail":"it has faults","faults":[
				{"line":3,"field":"budget","message":"is missing","remedy":"say how many"},{"field":"name","message":"is empty"}]}`)
			return
		case "/api/v1/odd":
			http.Error(w, "<html>", http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, `{"name":"bench"}`)
	}))
	defer server.Close()
	at := Server{URL: server.URL, Token: "t0ken"}
	var into struct{ Name string }
	if err := at.Post(t.Context(), "/cut", map[string]int{"n": 1}, &into); err != nil || into.Name != "bench" {
		t.Errorf("%v, %+v", err, into)
	}
	if len(ids) != 3 || ids[0] != ids[2] || ids[0] == "" {
		t.Errorf("three attempts have the identifiers %q", ids)
	}
	if err := at.Post(t.Context(), "/again", nil, nil); err != nil || ids[3] == ids[0] {
		t.Errorf("another request: %v, %q", err, ids)
	}
	into.Name = ""
	if err := at.Get(t.Context(), "/campaigns", &into); err != nil || into.Name != "bench" {
		t.Errorf("%v, %+v", err, into)
	}
	if answer, err := (Server{URL: server.URL}).Ask(t.Context(), "PUT", "/file", YAML("name: bench")); err != nil || answer.Body.Close() != nil {
		t.Error(err)
	}
	want := []string{
		`POST /api/v1/cut application/json Bearer t0ken {"n":1}`, `POST /api/v1/cut application/json Bearer t0ken {"n":1}`,
		`POST /api/v1/cut application/json Bearer t0ken {"n":1}`, `POST /api/v1/again  Bearer t0ken`,
		`GET /api/v1/campaigns  Bearer t0ken`, `PUT /api/v1/file application/yaml  name: bench`,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("it was asked\n%q, want\n%q", seen, want)
	}
	_, err := at.Ask(t.Context(), "POST", "/refused", nil)
	if problem.CodeOf(err) != problem.Invalid || err.Error() != "it has faults; budget: is missing (say how many); name: is empty" {
		t.Errorf("refused: %v", err)
	}
	if _, err := at.Ask(t.Context(), "GET", "/odd", nil); err == nil || !strings.Contains(err.Error(), server.URL) || !strings.Contains(err.Error(), "502") {
		t.Errorf("an answer of something else: %v", err)
	}
	asked := len(seen)
	if _, err := at.Ask(t.Context(), "POST", "/x", func() {}); err == nil || len(seen) > asked {
		t.Errorf("what cannot be written is sent: %v", err)
	}
	if _, err := at.Ask(t.Context(), "not a method", "/x", nil); err == nil || len(seen) > asked {
		t.Errorf("no method: %v", err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := at.Ask(ctx, "GET", "/x", nil); err != why {
		t.Errorf("who asks no more is told %v", err)
	}
	if err := at.Post(ctx, "/x", nil, nil); !errors.Is(err, why) {
		t.Errorf("who asks no more is told %v", err)
	}
	server.Close()
	for _, err := range []error{at.Get(t.Context(), "/x", nil), at.Post(t.Context(), "/x", nil, nil)} {
		if problem.CodeOf(err) != problem.Unavailable || !strings.Contains(err.Error(), "no server answers at "+server.URL) {
			t.Errorf("nobody answers: %v", err)
		}
	}
}

// Law: each event that the engine counts is in the metric of its kind, once, with how long it took since
// it was asked or sent; an append is reported with the events that it had, the last one at the end.
func TestEventsAreCounted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	m := must.Get(newMetrics())(t)
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	one := m.begin(view.Campaign{})
	batch := func(took time.Duration, all ...events.Payload) {
		t.Helper()
		one.ObserveDuration("append", took)
		for _, payload := range all {
			e := must.Get(events.New("lfp", payload))(t)
			at = at.Add(time.Second)
			e.Time = at
			one.CountEvent(e)
		}
	}
	one.ObserveDuration("decision", 3*time.Second)
	one.ObserveDuration("fit", 7*time.Second)
	batch(time.Second, &events.DecisionMade{}, &events.ModelFitted{Model: "objective"}, &events.ModelFitFailed{Model: "objective"})
	batch(2*time.Second, &events.QuestionAsked{Question: "q1"}, &events.QuestionAsked{Question: "q2"}, &events.QuestionAsked{Question: "q3"},
		&events.BatchPlanned{Batch: "b1", Experiments: []string{"e1"}}, &events.ExperimentDispatched{Experiment: "e2"},
		&events.ExperimentDispatched{Experiment: "e3"}, &events.ExperimentDispatched{Experiment: "e4"}, &events.ExperimentDispatched{Experiment: "e5"})
	if oldest, ok := m.oldest(func(m *meter) map[string]time.Time { return m.asked }); !ok || !oldest.Equal(one.asked["q1"]) {
		t.Errorf("the oldest question is of %v, %t", oldest, ok)
	}
	x := definition.Point{"x": definition.Number(0.5)}
	batch(4*time.Second, &events.QuestionAnswered{Question: "q1", Answer: events.Answer{Point: x}}, &events.QuestionExpired{Question: "q2"}, &events.QuestionWithdrawn{Question: "q3"},
		&events.ExperimentMeasured{Experiment: "e1"}, &events.ExperimentFailed{Experiment: "e2"}, &events.ExperimentCancelled{Experiment: "e3"},
		&events.ExperimentUnresolved{Experiment: "e4"}, &events.ExperimentInfeasible{Experiment: "e5"}, &events.InstrumentStalled{Instrument: "pump"})
	if len(one.asked)+len(one.dispatched) > 0 {
		t.Errorf("open are %v and %v", one.asked, one.dispatched)
	}
	if _, ok := m.oldest(func(m *meter) map[string]time.Time { return m.asked }); ok {
		t.Error("there is an oldest question")
	}
	m.end(one)
	m.close()
	var all metricdata.ResourceMetrics
	must.Do(t, reader.Collect(t.Context(), &all))
	var lines []string
	for _, scope := range all.ScopeMetrics {
		for _, metric := range scope.Metrics {
			switch data := metric.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprint(metric.Name, " ", p.Attributes.Encoded(attribute.DefaultEncoder()), " ", p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprint(metric.Name, " ", p.Attributes.Encoded(attribute.DefaultEncoder()), " ", p.Count, " in ", p.Sum))
				}
			}
		}
	}
	slices.Sort(lines)
	want := must.Get(os.ReadFile("testdata/counted.txt"))(t)
	if got := strings.Join(lines, "\n") + "\n"; got != string(want) {
		t.Errorf("it counts\n%s, want\n%s", got, want)
	}
}

// Law: an answer that is an order or a composition is one value of a metric, whatever it is.
func TestAnswersHaveFewAttributes(t *testing.T) {
	x := definition.Point{"x": definition.Number(0.5)}
	for _, a := range []events.Answer{{Point: x}, {Order: []int{1, 0}}} {
		if got := answerAttribute(a); got != "given" {
			t.Errorf("%+v is %q", a, got)
		}
	}
}

// Law: of what was seen of a log a last line that was cut off does not count, though it can be read;
// what is gone is no trouble, and what cannot be kept is said.
func TestSeenCutOff(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s := must.Get(openSeen(&campaign.State{Name: "p", Instance: "K3JD"}))(t)
	must.Do(t, os.WriteFile(s.path, fmt.Appendf(nil, "5 %v\n7 %v", tlog.Hash{5}, tlog.Hash{7}), 0o600))
	if head, ok, err := s.newest(); err != nil || !ok || head.N != 5 {
		t.Errorf("%v %t %v", head, ok, err)
	}
	var said []string
	f := open(t)
	f.options.Remark = func(campaign, text string) { said = append(said, campaign+": "+text) }
	f.define("lfp", "1")
	for _, c := range []struct {
		spoil func(path string) error
		want  int
	}{
		{func(string) error { return nil }, 0},
		{os.Remove, 0},
		{func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, 1},
	} {
		said = nil
		run := must.Get(f.start("lfp", Hooks{}))(t)
		must.Do(t, c.spoil(run.seen.path))
		path := run.seen.path
		f.close(run)
		if run.Close(); len(said) != c.want || c.want > 0 && !strings.Contains(said[0], "lfp: What was seen of the store could not be kept") {
			t.Errorf("it says %q", said)
		}
		must.Do(t, os.RemoveAll(path))
	}
}

// Law: a lab's stores are the folders of that ending that hold something, and nothing else is.
func TestWhatIsAStore(t *testing.T) {
	place := t.TempDir()
	for _, name := range []string{"b.campaign", "a.campaign", "empty.campaign", "other"} {
		must.Do(t, os.Mkdir(filepath.Join(place, name), 0o700))
	}
	for _, name := range []string{"a.campaign/x", "b.campaign/x", "file.campaign", "other/x"} {
		must.Do(t, os.WriteFile(filepath.Join(place, name), nil, 0o600))
	}
	l := &Lab{options: Options{Folder: place}}
	if found, err := (folder{l}).find(); err != nil || !slices.Equal(found, []string{filepath.Join(place, "a.campaign"), filepath.Join(place, "b.campaign")}) {
		t.Errorf("%q, %v", found, err)
	}
	l.options.Stores = []string{filepath.Join(place, "only.campaign")}
	if found, err := (folder{l}).find(); err != nil || !slices.Equal(found, l.options.Stores) {
		t.Errorf("%q, %v", found, err)
	}
	l.options = Options{Folder: filepath.Join(place, "gone")}
	if found, err := (folder{l}).find(); err == nil {
		t.Errorf("a folder that is gone has %q", found)
	}
}

// Law: where the queue of a lab's devices cannot be had that is an error, and no lab without devices.
func TestQueueOfADatabaseThatIsAway(t *testing.T) {
	h := &Local{address: store.In("postgres://127.0.0.1:1/x?connect_timeout=1&single=yes", "bench")}
	if q, err := h.queue("bench"); err == nil || q != nil {
		t.Errorf("%v, %v", q, err)
	}
	if err := h.devices.close(); err != nil {
		t.Error(err)
	}
}

// Law: a definition that cannot be looked up is an error, and not half a definition.
func TestDefinitionOfWhatCannotBeRead(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	l := must.Get(Open(t.Context(), Options{Folder: t.TempDir(), Registry: builtin.Registry()}))(t)
	defer l.Close()
	const text = "name: bench\nparameters: [{name: x, min: 0, max: 1}]\nobjective: {name: flow, goal: maximize}\n" +
		"budget: {experiments: 4}\ninstrument: manual\n"
	file := must.Get(l.Parse(t.Context(), "bench.yaml", []byte(text)))(t)
	c := must.Get(l.Begin(t.Context(), file, engine.Request{Actor: "person:ada"}))(t)
	if def, err := l.Definition(t.Context(), c, file); err != nil || def.Name != "bench" {
		t.Errorf("%+v, %v", def, err)
	}
	l.Close()
	if _, err := l.Definition(t.Context(), c, file); err == nil {
		t.Error("of a lab that is closed there is a definition")
	}
}

// Law: who waits for a change learns of the end of a run without looking again.
func TestEndOfARunIsAnnounced(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	l := must.Get(Open(t.Context(), Options{Folder: t.TempDir(), Registry: builtin.Registry()}))(t)
	defer l.Close()
	file, err := l.Parse(t.Context(), "bench.yaml", []byte("name: bench\nparameters: [{name: x, min: 0, max: 1}]\n"+
		"objective: {name: flow, goal: maximize}\nbudget: {experiments: 4}\ninstrument: manual\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := must.Get(l.Define(t.Context(), file, engine.Request{Actor: "person:ada"}))(t)
	wait := func(what string, holds func() bool) {
		t.Helper()
		late := time.After(30 * time.Second)
		for {
			changed := l.Changed()
			if holds() {
				return
			}
			select {
			case <-changed:
			case <-late:
				t.Fatalf("nobody announces that %s", what)
			}
		}
	}
	wait("it waits for a person", func() bool { return c.Standing().Run.WaitingFor != "" })
	ended := make(chan error, 1)
	go func() { ended <- c.Halt(engine.Request{Actor: "person:ada"}) }()
	wait("it has been halted", func() bool { return !c.Standing().Here })
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
