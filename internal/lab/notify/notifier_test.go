package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/notifications"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/relay/relaytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Whatever a test does, no service is reached that is not on this machine.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// bench is a notifier with a clock of its own, over a store in memory.
type bench struct {
	*Notifier
	own   *own
	store *memlog.Log
	now   time.Time
	mu    sync.Mutex
	log   []string
	lab   *labfile.File
	build string
	end   func() // ends the notifier
}

func newBench(t testing.TB, notify string, send Sender) *bench {
	return benchOf(t, "url: https://lab.example.org\npeople: {ada: {notify: ["+notify+"]}}\nalarms: [ada]\n", send)
}

func benchOf(t testing.TB, lab string, send Sender) *bench {
	file := must.Get(labfile.Parse(builtin.Registry(), "lab.yaml", []byte(lab)))(t)
	b := &bench{
		own: newOwn(), store: memlog.New(), now: monday, lab: file, build: "one",
	}
	b.open(t, send)
	t.Cleanup(func() { b.end() })
	return b
}

// open has another notifier take over, which has read all that was there.
func (b *bench) open(t testing.TB, send Sender) {
	t.Helper()
	if b.end != nil {
		b.end()
	}
	if send == nil {
		send = By(builtin.Registry().Notifications)
	}
	var err error
	b.Notifier, err = New(Options{
		Lab: b.lab, Send: send, Build: events.Build{Revision: b.build},
		Own: func() (events.Store, error) { return b.own, nil },
		Now: func() time.Time { return b.now },
		Log: func(line string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.log = append(b.log, line)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	carrier := bus.New(b.store, bus.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	caught, ended := make(chan struct{}), make(chan struct{})
	go func(n *Notifier) {
		defer close(ended)
		n.Serve(ctx, "kitchen", carrier, sync.OnceFunc(func() { close(caught) }))
	}(b.Notifier)
	b.end = func() {
		cancel()
		<-ended
		if err := carrier.Close(); err != nil {
			t.Error(err)
		}
	}
	<-caught
}

// happens has an event of a campaign happen now, and be folded.
func (b *bench) happens(t testing.TB, campaign, actor string, payload events.Payload) {
	t.Helper()
	e := must.Get(events.New(campaign, payload))(t)
	e.Time, e.Actor = b.now, actor
	must.Get(b.store.Append(t.Context(), campaign, events.AnySequence, e))(t)
	for began := time.Now(); b.read() < b.store.Last(); time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("an event is not folded")
		}
	}
}

// read is the position of the last event that is folded.
func (b *bench) read() events.Position {
	b.Notifier.mu.Lock()
	defer b.Notifier.mu.Unlock()
	return b.planner.state.Places["kitchen"].Position
}

// lose has experiments of a campaign get lost.
func (b *bench) lose(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		b.happens(t, "bread", "engine",
			&events.ExperimentUnresolved{Experiment: id, Instrument: "oven", Cause: "the power failed"})
	}
}

// look makes two steps, so far apart that what is new is sent.
func (b *bench) look(t *testing.T) {
	b.Step(t.Context())
	b.now = b.now.Add(10 * time.Second)
	b.Step(t.Context())
}

// Law: a message reaches a webhook with its title, its words, its link and its identifier; a
// notifier that comes after sends nothing again, goes on where the last one was, and what
// it keeps is its user's alone and holds no address.
func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	var got []map[string]string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		message := map[string]string{}
		mu.Lock()
		defer mu.Unlock()
		if err := json.Unmarshal(body, &message); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		message["path"] = r.URL.Path
		got = append(got, message)
	}))
	defer server.Close()
	relaytest.Need(t)
	t.Setenv("HOOK", "sesame-17")
	b := newBench(t, `"generic+`+server.URL+`/hook/${HOOK}?template=json"`, nil)
	b.lose(t, "e1")
	b.look(t)
	if len(got) != 1 {
		t.Fatalf("%d messages, %v", len(got), b.Status())
	}
	m := got[0]
	if m["path"] != "/hook/sesame-17" || m["title"] != "The fate of e1 of bread is unknown: the power failed" ||
		!strings.Contains(m["message"], "https://lab.example.org/campaigns/bread") || !strings.Contains(m["message"], "[message ") {
		t.Errorf("%v", m)
	}
	b.keep()
	b.open(t, nil)
	b.look(t)
	if len(got) != 1 {
		t.Errorf("after a restart %d messages are sent", len(got)-1)
	}
	b.lose(t, "e2")
	b.look(t)
	if len(got) != 2 || !strings.Contains(got[1]["title"], "e2") {
		t.Errorf("%v", got)
	}
	if s := b.Status(); len(s) != 1 || s[0].Targets[0].Error != "" || !s[0].Targets[0].Delivered.Equal(b.now) {
		t.Errorf("%+v", s)
	}
	b.keep()
	if kept := b.own.text(t); strings.Contains(kept, "sesame") || strings.Contains(kept, "generic") {
		t.Errorf("an address is kept: %s", kept)
	}
}

// Law: a message goes by the row of its address, also by one that this repository does not know, and
// a failure of its own shows nothing of the address that could be secret.
func TestChannelOfAnotherModule(t *testing.T) {
	var got []notifications.Message
	refuses := false
	row := notifications.Channel{
		Scheme: "spool", Titled: true,
		Send: func(_ context.Context, address string, m notifications.Message) error {
			if refuses {
				return errors.New("no room at " + address)
			}
			got = append(got, m)
			return nil
		},
	}
	b := newBench(t, `"spool://host/s3cr3t"`, By(append(builtin.Registry().Notifications, row)))
	b.lose(t, "e1")
	b.look(t)
	if len(got) != 1 || got[0].Title != "The fate of e1 of bread is unknown: the power failed" ||
		got[0].ID == "" || !strings.Contains(got[0].Text, "[message "+got[0].ID+"]") {
		t.Fatalf("%+v, %+v", got, b.Status())
	}
	refuses = true
	b.lose(t, "e2")
	b.look(t)
	if why := b.Status()[0].Targets[0].Error; !strings.Contains(why, "no room at spool://") || strings.Contains(why, "s3cr3t") {
		t.Errorf("its failure is shown as %q", why)
	}
}

// Law: a service that refuses, cannot be reached, does not exist or is not named rightly
// shows in the status and the log, without any part of the address that could be secret.
func TestFailuresHoldNoSecrets(t *testing.T) {
	relaytest.Need(t)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no: "+r.URL.String(), http.StatusForbidden)
	}))
	defer refuses.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	t.Setenv("TOKEN", "s3cr3t-token")
	t.Setenv("WHOLE", "generic://"+host(closed)+"/s3cr3t-token?disabletls=yes&@x=s3cr3t%2Ftoo")
	file := filepath.Join(t.TempDir(), "address")
	if err := os.WriteFile(file, []byte("ntfy://ada:s3cr3t@"+host(closed)+"/s3cr3t-topic?scheme=http\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{
		"refused":        "generic+" + refuses.URL + "/${TOKEN}?key=s3cr3t-key",
		"not there":      "${WHOLE}",
		"from a file":    "file:" + file,
		"gotify":         "gotify://" + host(closed) + "/s3cr3t-A.token?disabletls=yes",
		"telegram":       "telegram://110201543:s3cr3t@telegram?chats=@s3cr3t",
		"slack":          "slack://hook:s3cr3t-s3cr3t-s3cr3t@webhook",
		"pushbullet":     "pushbullet://s3cr3t0123456789012345678901234567",
		"a wrong key":    "ntfy://" + host(closed) + "/s3cr3t?nonsense=s3cr3t",
		"no service":     "smoke://s3cr3t:s3cr3t@s3cr3t/s3cr3t",
		"no variable":    "ntfy://s3cr3t:${CAMPAIGND_TEST_ABSENT}@" + host(closed),
		"a bad password": "smtp://ada:s3cr3t%20x@" + host(closed) + "/?from=a@b.c&to=d@e.f",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `"`+address+`"`, nil)
			b.lose(t, "e1")
			b.look(t)
			status := must.Get(json.Marshal(b.Status()))(t)
			target := b.Status()[0].Targets[0]
			if target.Error == "" || target.Again.IsZero() || target.Waiting != 1 || len(b.log) == 0 {
				t.Errorf("the failure does not show: %s, log %q", status, b.log)
			}
			b.keep()
			kept := b.own.text(t)
			for what, text := range map[string]string{
				"status": string(status), "log": strings.Join(b.log, "\n"), "lab's log": kept,
			} {
				if strings.Contains(text, "s3cr3t") {
					t.Errorf("the %s holds the secret: %s", what, text)
				}
			}
			t.Log(target.Error)
		})
	}
}

// slow is a sender that waits until it is let go.
type slow struct {
	begun chan string
	let   chan struct{}
}

func (s *slow) Send(ctx context.Context, _ labfile.Secret, m Message) error {
	s.begun <- m.Title
	select {
	case <-s.let:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Law: while a service takes its time, events are taken in and the status is given; and
// what was being sent when the notifier was ended is sent by the next, the same.
func TestSlowServices(t *testing.T) {
	s := &slow{make(chan string, 1), make(chan struct{})}
	b := newBench(t, `"ntfy://h/ada"`, s)
	b.lose(t, "e1")
	b.Step(t.Context())
	b.now = b.now.Add(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		b.Run(ctx)
	}()
	first := <-s.begun
	b.lose(t, "e2")
	if waiting := b.Status()[0].Targets[0].Waiting; waiting != 2 {
		t.Errorf("%d wait", waiting)
	}
	cancel()
	<-over
	close(s.let)
	b.open(t, s)
	b.Step(t.Context())
	if again := <-s.begun; again != first {
		t.Errorf("%q, then %q", first, again)
	}
}

// Law: an event that comes again changes nothing; of what ended before the memory began
// nobody is told, of what still holds from then everybody is.
func TestEventsOnceAndNotBefore(t *testing.T) {
	w := newWorld(t, "people: {ada: {notify: [\"ntfy://h/ada\"]}}\nfinished: [ada]\n", monday)
	w.now = monday.Add(-time.Hour)
	w.happens("rye: complete")
	w.happens("ask q1 ada")
	w.now = monday
	if got := w.run(monday.Add(time.Minute), false, "", false); strings.Count(got, " to ada:") != 1 || !strings.Contains(got, "q1") || strings.Contains(got, "rye") {
		t.Errorf("at first ada is told\n%s", got)
	}
	w.happens("withdraw q1")
	w.sequence["bread"] = 0
	w.happens("ask q1 ada")
	if got := w.run(monday.Add(time.Hour), false, "", false); got != "" {
		t.Errorf("after an event that was known ada is told\n%s", got)
	}
}

// careless is a sender that says all it knows.
type careless struct {
	own  *own
	said []bool // whether the log knew of the message when it was sent
}

func (c *careless) Send(ctx context.Context, to labfile.Secret, m Message) error {
	known := false
	for e := range c.own.log.Read(ctx, 0) {
		known = known || e.Kind == kindAttempted && strings.Contains(string(e.Data), m.ID)
	}
	c.said = append(c.said, known)
	address, _ := to.Reveal()
	return errors.New("cannot reach " + address)
}

// Law: that a message is about to be sent is in the lab's log before it is; and whatever a
// sender says, no secret gets further.
func TestCarelessSender(t *testing.T) {
	c := new(careless)
	b := newBench(t, `"ntfy://ada:s3cr3t@h/topic"`, c)
	c.own = b.own
	b.lose(t, "e1")
	b.look(t)
	if len(c.said) != 1 || !c.said[0] {
		t.Errorf("what the log knew of each message when it was sent: %v", c.said)
	}
	b.keep()
	text := b.Status()[0].Targets[0].Error + strings.Join(b.log, "\n") + b.own.text(t)
	if !strings.Contains(text, "cannot reach ntfy://h") || strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
}

// unreadable is a log of which nothing can be read once what it holds is read.
type unreadable struct{ *memlog.Log }

func (l unreadable) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range l.Read(ctx, after) {
			if !yield(e, err) {
				return
			}
		}
		yield(events.Event{}, errors.New("the disk is gone"))
	}
}

// Law: a store counts as folded once, however often it is tried to read it on and fails, and as
// none once it is not served any more: of others it hides nothing, and no message waits for it.
// That it cannot be read is said once.
func TestStoreIsFoldedOnce(t *testing.T) {
	var said atomic.Int32
	o := newOwn()
	n := must.Get(New(Options{
		Own: func() (events.Store, error) { return o, nil }, Shared: true, Every: time.Millisecond,
		Log: func(string) { said.Add(1) },
	}))(t)
	behind := func(want, serving int) {
		t.Helper()
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.round.behind != want || n.serving != serving {
			t.Errorf("%d stores of %d are behind, want %d of %d", n.round.behind, n.serving, want, serving)
		}
	}
	carrier := bus.New(unreadable{memlog.New()}, bus.Config{})
	defer carrier.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	caught, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		n.Serve(ctx, "kitchen", carrier, func() { caught <- struct{}{} })
	}()
	for range 4 {
		<-caught
		behind(0, 1)
		if !n.ready(t.Context()) {
			t.Error("nothing is sent for a store that cannot be read")
		}
	}
	// Another round begins, of which the store that is served is a part.
	must.Do(t, n.foldAnew(t.Context()))
	for range 3 {
		<-caught
	}
	behind(0, 1)
	cancel()
	for over := false; !over; {
		select {
		case <-caught:
		case <-ended:
			over = true
		}
	}
	behind(0, 0)
	if said.Load() != 1 {
		t.Errorf("it is said %d times", said.Load())
	}
}

// Law: who has folded what the log does not say sends nothing before it has folded all anew, though
// it may have the claim and the log can be read again by then.
func TestNothingIsSentBeforeAllIsFoldedAnew(t *testing.T) {
	o := newOwn()
	var fails func() error
	n := must.Get(New(Options{Shared: true, Own: func() (events.Store, error) {
		if fails != nil {
			return o, fails()
		}
		return o, nil
	}}))(t)
	n.stale = true
	asked := 0
	fails = func() error { // the claim asks for the log first, and the fold behind it
		if asked++; asked == 2 {
			return errors.New("no answer in time")
		}
		return nil
	}
	if n.ready(t.Context()) {
		t.Error("it sends what it has folded wrongly")
	}
	if !n.ready(t.Context()) || n.stale {
		t.Error("it does not go on once it could fold anew")
	}
}

// raced is a lab's log in which the claim is another one's by the time that this one is written.
type raced struct {
	*own
	err error // what writing it answers, once it is written
}

func (r raced) SwapValue(ctx context.Context, key string, from, to []byte) (bool, error) {
	if r.err == nil {
		from = []byte("another 1")
	}
	swapped, err := r.own.SwapValue(ctx, key, from, to)
	return swapped, errors.Join(err, r.err)
}

// Law: a claim is had by who has written it and knows that: not where another one was quicker, and
// not where the log does not answer. What stands still is taken over, and no other claim is.
func TestClaimIsHadByWhoHasWrittenIt(t *testing.T) {
	o, c := newOwn(), newClaim()
	renew := func(c *claim, log events.Store, still time.Duration) bool {
		t.Helper()
		mine, err := c.renew(t.Context(), log, still)
		if err != nil && mine {
			t.Errorf("%v, and it has the claim", err)
		}
		return mine
	}
	if renew(c, raced{own: o}, 0) {
		t.Error("another one was quicker, and it has the claim")
	}
	if renew(c, raced{own: o, err: errors.New("no answer in time")}, 0) {
		t.Error("it does not know that it has written the claim, and has it")
	}
	other := newClaim()
	for range 2 {
		if !renew(c, o, time.Hour) {
			t.Error("it cannot renew its own claim")
		}
		if renew(other, o, time.Hour) {
			t.Error("a claim is taken over before it has stood still")
		}
	}
	if !renew(other, o, 0) || renew(c, o, time.Hour) {
		t.Error("a claim that has stood still is not taken over")
	}
}

// Law: what options leave out, and what cannot be, is the default; what they say is kept. A notifier
// without a log of its failures fails as any other does.
func TestDefaults(t *testing.T) {
	o := newOwn()
	for _, said := range []time.Duration{0, -1, 1} {
		n, err := New(Options{Own: func() (events.Store, error) { return o, nil }, Every: said, Within: said})
		if err != nil {
			t.Fatal(err)
		}
		every, within := 2*time.Second, 15*time.Second
		if said > 0 {
			every, within = said, said
		}
		if n.options.Every != every || n.options.Within != within || n.options.Now == nil {
			t.Errorf("%v: %+v", said, n.options)
		}
		n.options.Log("nobody hears")
	}
}
