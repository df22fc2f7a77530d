package forward_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/relay/relaytest"
	"github.com/campaignd/campaignd/internal/lab/forward"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// targets are those of a lab file.
func targets(t *testing.T, file string) map[string]labfile.Forward {
	t.Helper()
	f := must.Get(labfile.Parse(builtin.Registry(), filepath.Join(t.TempDir(), "lab.yaml"), []byte(file)))(t)
	return f.Forward
}

// record appends n notes to a campaign.
func record(t *testing.T, log events.Log, campaign string, n int) {
	t.Helper()
	seen := must.Get(log.LastSequence(t.Context(), campaign))(t)
	var batch []events.Event
	for i := range n {
		text := fmt.Sprintf("note %d", int(seen)+i+1)
		e := must.Get(events.New(campaign, events.NoteAdded{Text: text}))(t)
		e.Time, e.Actor = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), "person:ada"
		batch = append(batch, e)
	}
	must.Get(log.Append(t.Context(), campaign, seen, batch...))(t)
}

// stored is what a log holds, in its order, a line for each event.
func stored(t *testing.T, log events.Log) (lines []string) {
	t.Helper()
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		lines = append(lines, fmt.Sprintf("%s %d %s", e.Campaign, e.Sequence, e.Data))
	}
	return lines
}

// arrivals is what came to a target, as stored writes it, in the order of the
// first arrivals, and how many came again.
type arrivals struct {
	mu    sync.Mutex
	lines []string
	again int
	ids   map[string]string
	bad   []string
}

func (a *arrivals) take(id string, document []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids == nil {
		a.ids = make(map[string]string)
	}
	e, err := events.UnmarshalCloudEvent(document)
	line := fmt.Sprintf("%s %d %s", e.Campaign, e.Sequence, e.Data)
	switch before, known := a.ids[id]; {
	case err != nil:
		a.bad = append(a.bad, err.Error())
	case !known && slices.Contains(a.lines, line):
		a.bad = append(a.bad, line+" comes again under another identifier")
	case !known:
		a.ids[id] = line
		a.lines = append(a.lines, line)
	case before != line:
		a.bad = append(a.bad, line+" has the identifier of "+before)
	default:
		a.again++
	}
}

// has waits until n events have arrived.
func (a *arrivals) has(t *testing.T, n int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		a.mu.Lock()
		got := len(a.lines)
		a.mu.Unlock()
		if got >= n {
			return
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("%d of %d events have arrived", got, n)
		}
	}
}

func (a *arrivals) compare(t *testing.T, want []string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.bad) > 0 {
		t.Errorf("%d are not right, such as %s", len(a.bad), a.bad[0])
	}
	if !slices.Equal(a.lines, want) {
		t.Errorf("%d events came, %d are in the log, or they are in another order", len(a.lines), len(want))
	}
}

// forwarder is one with little patience and short pauses.
func forwarder(t *testing.T, to map[string]labfile.Forward) *forward.Forwarder {
	return forwarderWithin(t, to, 200*time.Millisecond)
}

func forwarderWithin(t *testing.T, to map[string]labfile.Forward, within time.Duration) *forward.Forwarder {
	return forward.New(forward.Options{
		Targets: to, Log: func(line string) { t.Log(line) }, Within: within,
		RetryPause: time.Millisecond, RetryPauseMax: 20 * time.Millisecond,
	})
}

// serve has a forwarder read a log; end ends it, as a server's end does.
func serve(t *testing.T, f *forward.Forwarder, name string, log events.Log) (end func()) {
	t.Helper()
	b := bus.New(log, bus.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Serve(ctx, name, b)
	}()
	end = sync.OnceFunc(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("the forwarder does not end")
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// Law: whatever an HTTP target does (refuses, hangs, redirects, cuts the
// connection before or behind its answer), and however often the program ends
// and goes on, every event arrives, the first arrivals in the order of the log,
// each under one identifier.
func TestNoGapOverHTTP(t *testing.T) {
	var got arrivals
	chance := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		what := chance.IntN(12)
		mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer hunter2" ||
			r.Header.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		switch {
		case err != nil:
		case what == 0:
			w.WriteHeader(http.StatusInternalServerError)
		case what == 1:
			panic(http.ErrAbortHandler)
		case what == 2: // taken, and never answered
			got.take(r.Header.Get("Idempotency-Key"), body)
			panic(http.ErrAbortHandler)
		case what == 3:
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case what == 4 && r.ContentLength%7 == 0:
			<-r.Context().Done()
		case what == 5:
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			got.take(r.Header.Get("Idempotency-Key"), body)
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer s.Close()
	t.Setenv("FORWARD_TOKEN", "hunter2")
	to := targets(t, "forward: {hook: {to: "+s.URL+"/in, token: '${FORWARD_TOKEN}'}}")
	folder := filepath.Join(t.TempDir(), "store")
	const rounds, each = 6, 30
	var want []string
	for round := range rounds {
		log := must.Get(store.Open(folder, store.Options{}))(t)
		end := serve(t, forwarder(t, to), "store", log)
		record(t, log, "electrolyte", each/2)
		record(t, log, "solvent", each/2)
		if round == rounds-1 {
			got.has(t, rounds*each)
		} else {
			got.has(t, round*each) // and then the program ends, somewhere in between
		}
		end()
		want = stored(t, log)
		must.Do(t, log.Close())
	}
	got.compare(t, want)
	t.Logf("%d events, %d of them again", len(got.lines), got.again)
}

// Law: a target that hangs delays no other, and neither does a store whose
// event is refused delay another store. What is wrong is shown, with how far
// behind the target is, and without a secret.
func TestOneStuckTargetDelaysNoOther(t *testing.T) {
	var quick, picky arrivals
	mux := http.NewServeMux()
	mux.HandleFunc("/quick", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		quick.take(r.Header.Get("Idempotency-Key"), body)
	})
	mux.HandleFunc("/picky", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "/campaigns/solvent") {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		picky.take(r.Header.Get("Idempotency-Key"), body)
	})
	hang := make(chan struct{})
	defer close(hang)
	mux.HandleFunc("/hung/s3cr3t", func(http.ResponseWriter, *http.Request) { <-hang })
	s := httptest.NewServer(mux)
	defer s.CloseClientConnections()
	f := forwarder(t, targets(t, fmt.Sprintf(
		"forward: {quick: {to: %[1]s/quick}, picky: {to: %[1]s/picky}, hung: {to: %[1]s/hung/s3cr3t}}", s.URL)))
	one, two := memlog.New(), memlog.New()
	record(t, one, "solvent", 20)
	record(t, two, "electrolyte", 20)
	serve(t, f, "one", one)
	serve(t, f, "two", two)
	quick.has(t, 40)
	picky.has(t, 20)
	picky.compare(t, stored(t, two))
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		status := f.Status()
		hung, last, rest := status[0], status[2], status[1]
		if hung.Error != "" && hung.Behind == 40 && last.Behind == 0 && rest.Behind == 20 {
			if hung.Name != "hung" || !strings.Contains(hung.Error, "within") || rest.Store != "one" ||
				!strings.Contains(rest.Error, "413") || !strings.Contains(rest.Error, "solvent, event 1") ||
				last.Error != "" || last.Delivered.IsZero() || rest.Again.Before(rest.Failed) {
				t.Errorf("%+v", status)
			}
			if strings.Contains(fmt.Sprintf("%+v %#v", status, status), "s3cr3t") {
				t.Errorf("a secret is shown: %+v", status)
			}
			return
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%+v", status)
		}
	}
}

// Law: a target that refuses connections, or closes them at once, is a failure
// that is shown and tried again, whatever it speaks; it ends no process.
func TestTargetsAreDown(t *testing.T) {
	closes := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer closes.Close()
	go func() {
		for {
			conn, err := closes.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	refuses := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = refuses.Close() // its port takes no connections from here on
	topics := map[string]string{
		"http": "", "kafka": ", topic: lab", "nats": ", topic: lab", "amqp": ", topic: lab",
	}
	for scheme, topic := range topics {
		for how, address := range map[string]net.Addr{"refuses": refuses.Addr(), "closes": closes.Addr()} {
			t.Run(scheme+"/"+how, func(t *testing.T) {
				if scheme != "http" {
					relaytest.Need(t)
				}
				to := targets(t, fmt.Sprintf("forward: {down: {to: %s://%s%s}}", scheme, address, topic))
				f := forwarderWithin(t, to, 10*time.Second)
				log := memlog.New()
				record(t, log, "solvent", 1)
				serve(t, f, "one", log)
				first := time.Time{}
				for began := time.Now(); ; time.Sleep(time.Millisecond) {
					status := f.Status()[0]
					if status.Error != "" && first.IsZero() {
						first = status.Failed
					}
					if !first.IsZero() && status.Failed.After(first) {
						return // it was tried again
					}
					if time.Since(began) > time.Minute {
						t.Fatalf("%+v", status)
					}
				}
			})
		}
	}
}

// Law: campaigns and kinds say which events are sent; what is not sent does not
// count as behind.
func TestWhichEventsAreSent(t *testing.T) {
	var got arrivals
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.take(r.Header.Get("Idempotency-Key"), body)
	}))
	defer s.Close()
	f := forwarder(t, targets(t, `forward: {hook: {to: "`+s.URL+`", campaigns: ["li-*", solvent], kinds: ["note.*"]}}`))
	log := memlog.New()
	for _, campaign := range []string{"li-1", "solvent", "solvents", "li-2", "other"} {
		record(t, log, campaign, 2)
	}
	paused := must.Get(events.New("li-1", events.CampaignPaused{Reason: "lunch"}))(t)
	paused.Time, paused.Actor = time.Now(), "person:ada"
	must.Get(log.Append(t.Context(), "li-1", 2, paused))(t)
	serve(t, f, "store", log)
	got.has(t, 6)
	want := slices.DeleteFunc(stored(t, log), func(line string) bool {
		return strings.HasPrefix(line, "solvents") || strings.HasPrefix(line, "other") ||
			strings.Contains(line, "lunch")
	})
	for began := time.Now(); f.Status()[0].Behind > 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%+v", f.Status())
		}
	}
	got.compare(t, want)
}

// Law: the address and the token are looked up anew once the target refuses, so
// that a new password needs no restart; neither is shown.
func TestSecretsAreLookedUp(t *testing.T) {
	var got arrivals
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer n3w" {
			http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		got.take(r.Header.Get("Idempotency-Key"), body)
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("0ld\n")
	f := forwarder(t, targets(t, `forward: {hook: {to: "`+s.URL+`", token: "file:`+file+`"}}`))
	log := memlog.New()
	record(t, log, "electrolyte", 3)
	serve(t, f, "store", log)
	for began := time.Now(); f.Status()[0].Error == ""; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("nothing was refused")
		}
	}
	if shown := fmt.Sprintf("%+v", f.Status()); strings.Contains(shown, "0ld") || !strings.Contains(shown, "401") {
		t.Error(shown)
	}
	write("n3w\n")
	got.has(t, 3)
	got.compare(t, stored(t, log))
}

// elsewhere is a log that another process holds: it keeps no offsets.
type elsewhere struct{ events.Log }

// Law: what another process holds is not sent: each restart would send it from its first event.
func TestHeldElsewhere(t *testing.T) {
	log := memlog.New()
	record(t, log, "a", 2)
	var got arrivals
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.take(fmt.Sprint(len(got.lines)), body)
	}))
	defer server.Close()
	f := forwarder(t, targets(t, "forward: {archive: {to: "+server.URL+"}}"))
	b := bus.New(elsewhere{log}, bus.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	f.Serve(ctx, "a", b)
	if err := ctx.Err(); err != nil || len(got.lines) > 0 || len(f.Status()) != 1 {
		t.Errorf("%d events are sent, %v: %v", len(got.lines), f.Status(), err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
