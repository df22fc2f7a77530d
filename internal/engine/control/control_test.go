package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var at = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

// appendNotes appends n notes to a campaign.
func appendNotes(t *testing.T, log events.Log, campaign string, n int) {
	t.Helper()
	for i := range n {
		e := must.Get(events.New(campaign, &events.NoteAdded{Text: fmt.Sprintf("note %d <&> λ", i)}))(t)
		e.Time, e.Actor = at, "person:ada"
		must.Get(log.Append(t.Context(), campaign, events.AnySequence, e))(t)
	}
}

// served returns a store that is served, over a log with some events.
func served(
	t *testing.T, submit func(context.Context, string, engine.Request) ([]events.Event, error),
) (store string, log events.Log, s *Server) {
	t.Helper()
	store, log = t.TempDir(), memlog.New()
	appendNotes(t, log, "a", 3)
	appendNotes(t, log, "b", 2)
	s = must.Get(Serve(store, Service{
		Log: log, Submit: submit,
		Status: func() Status {
			return Status{PID: 42, Last: log.Last(), Campaigns: []Running{{Campaign: "a", WaitingFor: "tea"}}}
		},
	}))(t)
	t.Cleanup(s.Close)
	return store, log, s
}

func dial(t *testing.T, store string) *Client {
	t.Helper()
	c := must.Get(Dial(t.Context(), store))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

func collect(t *testing.T, stream func(func(events.Event, error) bool)) (all []events.Event) {
	t.Helper()
	for e := range must.Each(t, stream) {
		all = append(all, e)
	}
	return all
}

// A client reads exactly what the log holds: same events, same bytes.
func TestReading(t *testing.T) {
	store, log, _ := served(t, nil)
	c := dial(t, store)
	for after := range events.Position(7) {
		got, want := collect(t, c.Read(t.Context(), after)), collect(t, log.Read(t.Context(), after))
		if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
			t.Errorf("after %d: got\n%s\nwant\n%s", after, a, b)
		}
	}
	if got := collect(t, events.ReadCampaign(t.Context(), c, "b", 1)); len(got) != 1 ||
		got[0].Campaign != "b" || got[0].Sequence != 2 {
		t.Errorf("campaign b after 1: %v", got)
	}
	for _, campaign := range []string{"", "a"} {
		if got := collect(t, c.ReadKinds(t.Context(), campaign, events.KindRecoveryDone)); len(got) > 0 {
			t.Errorf("of a kind that there is none of in %q: %v", campaign, got)
		}
		want := map[string]int{"": 5, "a": 3}[campaign]
		if got := collect(t, c.ReadKinds(t.Context(), campaign, events.KindRecoveryDone,
			events.KindNoteAdded)); len(got) != want {
			t.Errorf("notes of %q: %v", campaign, got)
		}
	}
	if last := c.Last(); last != 5 {
		t.Errorf("the last position is %d", last)
	}
	if s, err := c.LastSequence(t.Context(), "a"); s != 3 || err != nil {
		t.Errorf("the last sequence of a is %d, %v", s, err)
	}
	if s := c.Status(); s.PID != 42 || s.Last != 5 || len(s.Campaigns) != 1 || s.Campaigns[0].WaitingFor != "tea" {
		t.Errorf("status %+v", s)
	}
	if _, err := c.Append(t.Context(), "a", 3); !errors.Is(err, ErrReadOnly) {
		t.Errorf("append: %v", err)
	}
}

// Following catches up and goes on, until its context ends without an error, or
// the owner lets go with [events.ErrClosed].
func TestFollowing(t *testing.T) {
	store, log, s := served(t, nil)
	c := dial(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next := events.Position(1)
	for e := range must.Each(t, c.Follow(ctx, 0)) {
		if e.Position != next {
			t.Fatalf("position %d, want %d", e.Position, next)
		}
		if next++; next == 6 {
			appendNotes(t, log, "a", 2)
		}
		if next == 8 {
			cancel()
		}
	}
	if next != 8 {
		t.Errorf("following ended before position %d", next)
	}
	var last error
	for _, err := range c.Follow(t.Context(), 6) {
		if last = err; err == nil {
			go s.Close()
		}
	}
	if !errors.Is(last, events.ErrClosed) {
		t.Errorf("the owner let go, and following ended with %v", last)
	}
}

// Requests reach the owner whole, and errors come back as what they are.
func TestRequests(t *testing.T) {
	answer := error(nil)
	var got engine.Request
	store, log, _ := served(t, func(ctx context.Context, campaign string, r engine.Request) ([]events.Event, error) {
		got = r
		if answer != nil {
			return nil, answer
		}
		return collect(t, events.ReadCampaign(ctx, memlog.New(), campaign, 0)), nil
	})
	_ = log
	c := dial(t, store)
	value := -3.25
	request := engine.Request{Actor: "person:ada", Correct: &engine.Correct{
		Experiment: "e7",
		Value:      &value,
		Actual:     definition.Point{"salt": definition.Number(1.1), "kind": definition.Category("LiPF6")},
		Reason:     "why <not>",
	}}
	must.Get(c.Submit(t.Context(), "a", request))(t)
	a, _ := json.Marshal(request)
	b, _ := json.Marshal(got)
	if string(a) != string(b) {
		t.Errorf("sent %s, arrived %s", a, b)
	}
	for _, sentinel := range []error{
		problem.NotNow, engine.ErrNoCampaign, events.ErrDamaged, events.ErrUncertain, events.ErrClosed,
		context.Canceled,
	} {
		answer = fmt.Errorf("%w: details", sentinel)
		if _, err := c.Submit(t.Context(), "a", request); !errors.Is(err, sentinel) || err.Error() != answer.Error() {
			t.Errorf("%v came back as %v", answer, err)
		}
	}
	settle := problem.Remedy{Text: "settle it", Action: problem.Resolve, Subject: "e7", Ways: []string{"failed"}}
	answer = problem.New(problem.NotNow, "the fate of e7 is unknown").About("e7").With(settle)
	_, err := c.Submit(t.Context(), "a", request)
	if !errors.Is(err, problem.ErrInvalidRequest) ||
		!reflect.DeepEqual(problem.RemediesOf(err), []problem.Remedy{settle}) {
		t.Errorf("%v came back as %v with %v", answer, err, problem.RemediesOf(err))
	}
}

// Law: every code has its HTTP status, the one that is meant for it, and an error is
// answered with that status and its JSON.
func TestStatuses(t *testing.T) {
	want := map[problem.Code]int{
		problem.Invalid: 400, problem.NotPossible: 422, problem.NotFound: 404, problem.NoCampaign: 404,
		problem.Conflict: 409, problem.NotNow: 409, problem.Gone: 410,
		problem.Unauthenticated: 401, problem.Forbidden: 403, problem.TooMany: 429,
		problem.Unavailable: 503, problem.Interrupted: 503, problem.Unsupported: 501,
		problem.Uncertain: 500, problem.Damaged: 500, problem.Internal: 500,
	}
	docs := must.Get(os.ReadFile("../../../docs/operations.md"))(t)
	for _, code := range problem.Codes() {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%s` \\| .* \\| [0-4] \\| %d \\|$", string(code), want[code]))
		if !row.Match(docs) {
			t.Errorf("docs/operations.md does not say that %s is answered with %d", string(code), want[code])
		}
		h := Handler(Service{Submit: func(context.Context, string, engine.Request) ([]events.Event, error) {
			return nil, problem.New(code, "no").About("e7")
		}})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/requests", strings.NewReader("{}")))
		body := fmt.Sprintf(`{"error":{"code":%q,"subject":"e7","detail":"no"}}`+"\n", string(code))
		if want[code] == 0 || w.Code != want[code] || w.Body.String() != body {
			t.Errorf("%s is answered with %d and %s, want %d and %s", code, w.Code, w.Body, want[code], body)
		}
	}
}

// What a newer client asks for, and this build does not know, is refused and
// not taken for something else.
func TestUnknownRequest(t *testing.T) {
	store, _, _ := served(t, func(context.Context, string, engine.Request) ([]events.Event, error) {
		t.Error("the request reached the owner")
		return nil, nil
	})
	c := dial(t, store)
	err := c.call(t.Context(), http.MethodPost, "/v1/requests",
		map[string]any{"campaign": "a", "request": map[string]any{"actor": "person:ada", "explode": true}},
		new(accepted))
	if !errors.Is(err, problem.ErrInvalidRequest) || !strings.Contains(err.Error(), "explode") {
		t.Errorf("got %v", err)
	}
}

// What a killed owner leaves behind disturbs nobody: a client finds nobody, and
// the next owner takes its place, in a deep folder too.
func TestStaleSocket(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep/", 40))
	for _, store := range []string{t.TempDir(), deep} {
		must.Do(t, os.MkdirAll(store, 0o755))
		if _, err := Dial(t.Context(), store); !errors.Is(err, ErrNobody) {
			t.Errorf("an empty store: %v", err)
		}
		listener, _ := must.Get2(listen(store))(t)
		listener.(*net.UnixListener).SetUnlinkOnClose(false) // as after kill -9
		listener.Close()
		left, err := address(store)
		if err != nil {
			t.Fatalf("nothing was left behind: %v", err)
		}
		if _, err := Dial(t.Context(), store); !errors.Is(err, ErrNobody) {
			t.Errorf("a stale socket: %v", err)
		}
		s := must.Get(Serve(store, Service{Log: memlog.New(), Status: func() Status { return Status{} }}))(t)
		dial(t, store)
		socket := must.Get(address(store))(t)
		if info, err := os.Stat(socket); err != nil {
			t.Error(err)
		} else if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("the socket's mode is %v: others could connect", info.Mode())
		}
		s.Close()
		for _, path := range []string{left, socket} {
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s was left: %v", path, err)
			}
		}
		if _, err := Dial(t.Context(), store); !errors.Is(err, ErrNobody) {
			t.Errorf("after closing: %v", err)
		}
	}
}

// A stream that is cut off is an error, never a shorter log.
func TestCutOff(t *testing.T) {
	store := t.TempDir()
	listener, remove := must.Get2(listen(store))(t)
	defer remove()
	log := memlog.New()
	appendNotes(t, log, "a", 1)
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "status") {
			answer(w, Status{}, nil)
			return
		}
		for e := range log.Read(r.Context(), 0) {
			text, _ := events.MarshalCloudEvent(e)
			w.Write(append(text, '\n'))
		}
	})}
	go server.Serve(listener)
	defer server.Close()
	c := dial(t, store)
	n, last := 0, error(nil)
	for _, err := range c.Read(t.Context(), 0) {
		if last = err; err == nil {
			n++
		}
	}
	if n != 1 || !errors.Is(last, events.ErrClosed) {
		t.Errorf("%d events and %v", n, last)
	}
}

// Law: a process of an earlier version sends the value 0 with a result that has none; what arrives
// has none. A result of 0 stays one.
func TestResultsWithoutValue(t *testing.T) {
	var got engine.Request
	h := Handler(Service{Submit: func(_ context.Context, _ string, r engine.Request) ([]events.Event, error) {
		got = r
		return nil, nil
	}})
	for body, given := range map[string]bool{
		`"tell":{"experiment":"e1","value":0,"failed":"it leaked"}`:              false,
		`"import":[{"parameters":{"x":1},"value":0,"infeasible":"it froze"}]`:    false,
		`"tell":{"experiment":"e1","value":0}`:                                   true,
		`"tell":{"experiment":"e1","value":2,"failed":"it leaked"}`:              true,
		`"import":[{"parameters":{"x":1},"value":0,"unit":"mS/cm","sd":0.0625}]`: true,
	} {
		w := httptest.NewRecorder()
		text := `{"campaign":"a","request":{"actor":"person:ada",` + body + `}}`
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/requests", strings.NewReader(text)))
		result := got.Tell
		if len(got.Import) == 1 {
			result = &got.Import[0]
		}
		if w.Code != http.StatusOK || (result.Value != nil) != given {
			t.Errorf("%s: %d, %+v", body, w.Code, result)
		}
		got = engine.Request{}
	}
}

// Law: what contradicts itself is not sent: the owner of the store may be of a version that takes
// it for something else.
func TestContradictionsAreNotSent(t *testing.T) {
	store, _, _ := served(t, func(_ context.Context, _ string, r engine.Request) ([]events.Event, error) {
		t.Errorf("%+v was sent", r.Tell)
		return nil, nil
	})
	c := dial(t, store)
	request := engine.Request{Actor: "person:ada", Tell: &engine.Tell{Experiment: "e1"}}
	if _, err := c.Submit(t.Context(), "a", request); !errors.Is(err, problem.Invalid) {
		t.Errorf("a result of nothing: %v", err)
	}
}

// Law: where the file system of a store has no sockets, the socket is in the folder of temporary
// files, and clients find it; it goes with its server.
func TestStoreWithoutSockets(t *testing.T) {
	store := t.TempDir()
	before := makeSocket
	t.Cleanup(func() { makeSocket = before })
	for _, refused := range []error{syscall.EPERM, syscall.EOPNOTSUPP, syscall.EINVAL, syscall.EACCES} { // CIFS, 9p, shared folders
		makeSocket = func(path string) (net.Listener, error) {
			if strings.HasPrefix(path, store) {
				return nil, &net.OpError{Op: "listen", Net: "unix", Err: refused}
			}
			return before(path)
		}
		s, err := Serve(store, Service{Log: memlog.New(), Status: func() Status { return Status{PID: 42} }})
		if err != nil {
			t.Fatalf("%v: %v", refused, err)
		}
		client, err := Dial(t.Context(), store)
		if err != nil || client.Status().PID != 42 {
			t.Errorf("%v: nobody finds it: %v", refused, err)
		}
		socket := must.Get(address(store))(t)
		if s.Close(); !errors.Is(errNil(os.Stat(socket)), fs.ErrNotExist) {
			t.Errorf("%v: %s is left", refused, socket)
		}
	}
	makeSocket = func(string) (net.Listener, error) { return nil, syscall.EPERM }
	if _, err := Serve(store, Service{Log: memlog.New()}); !errors.Is(err, syscall.EPERM) {
		t.Errorf("nowhere a socket: %v", err)
	}
}

// errNil is the error of a call.
func errNil[T any](_ T, err error) error { return err }
