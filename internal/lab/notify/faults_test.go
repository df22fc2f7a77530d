package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// The scripts under testdata/faults live through the same hours again and again, in virtual time;
// each time another call of the lab's log, of a store or of a service fails. They hold what each of
// those failures changes. Read what changes before keeping it:
//
//	go test ./internal/lab/notify -run TestFaults -rewrite
//
// A script has these commands:
//
//	lab
//	    The lab file.
//
//	life [shared]
//	    What happens, a line each: an event in the notation of (*world).read; "wait 2m"; "a begins",
//	    "a ends" or "a dies", a notifier's process; "status", how everybody is reached. Several
//	    processes share the lab's log where that is said. What comes of it is printed.
//
//	faults of=append [times=3]
//	    The same, once for each call of that kind: it fails, with as many that follow. What is said
//	    and sent less (-) and more (+) than in the life above is printed, but of a shared life: which
//	    of two processes makes the n-th call is left to the scheduler.
//
// Law, for whatever fails once: a message is sent to each addressee, in order; it is sent twice only
// where it is said that what people are sent could not be recorded. A failure costs a delay and never
// a message.
func TestFaults(t *testing.T) {
	datadriven.Walk(t, "testdata/faults", func(t *testing.T, path string) {
		var l lifetime
		var usual []happening
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "lab":
				l.lab = d.Input
			case "life":
				l.shared, l.lines = d.HasArg("shared"), strings.Split(d.Input, "\n")
				usual, _ = l.lived(t, fault{})
				var b strings.Builder
				for _, h := range usual {
					fmt.Fprintln(&b, h)
				}
				return b.String()
			case "faults":
				f := fault{times: 1}
				d.ScanArgs(t, "of", &f.of)
				d.MaybeScanArgs(t, "times", &f.times)
				return l.faults(t, f, usual)
			default:
				t.Fatalf("there is no command %s", d.Cmd)
			}
			return ""
		})
	})
}

// fault says which calls fail: so many of a kind, from the one of that number on.
type fault struct {
	of    string
	at    int
	times int
}

// happening is what was sent or said at a time.
type happening struct {
	after time.Duration
	text  string
	to, m string // whom which message was sent, where one was taken
}

func (h happening) String() string { return fmt.Sprintf("%7s %s", h.after, h.text) }

// faults lives once for each call that can fail.
func (l *lifetime) faults(t *testing.T, f fault, usual []happening) string {
	var order []string
	by := make(map[string][]int)
	for f.at = 1; ; f.at++ {
		got, reached := l.lived(t, f)
		if !reached {
			break
		}
		if f.times == 1 {
			lawful(t, f, usual, got)
		}
		if l.shared {
			continue
		}
		var b strings.Builder
		changed(&b, "-", usual, got)
		changed(&b, "+", got, usual)
		if by[b.String()] == nil {
			order = append(order, b.String())
		}
		by[b.String()] = append(by[b.String()], f.at)
	}
	var b strings.Builder
	for _, text := range order {
		fmt.Fprintf(&b, "%s:\n%s", ranges(by[text]), cmp.Or(text, "  nothing changes\n"))
	}
	return b.String()
}

// ranges are numbers in ascending order, in short.
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); i++ {
		first := i
		for i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			i++
		}
		if part := fmt.Sprint(numbers[first]); i == first {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s-%d", part, numbers[i]))
		}
	}
	return strings.Join(parts, " ")
}

// changed writes which of some happenings are not among others.
func changed(b *strings.Builder, sign string, of, among []happening) {
	among = slices.Clone(among)
	for _, h := range of {
		if at := slices.Index(among, h); at >= 0 {
			among = slices.Delete(among, at, at+1)
		} else {
			fmt.Fprintf(b, "  %s %s\n", sign, h)
		}
	}
}

// lawful holds what was sent to the law.
func lawful(t *testing.T, f fault, usual, got []happening) {
	t.Helper()
	sent := func(of []happening) (first map[string][]string, again int) {
		first = make(map[string][]string)
		for _, h := range of {
			switch {
			case h.to == "":
			case slices.Contains(first[h.to], h.m):
				again++
			default:
				first[h.to] = append(first[h.to], h.m)
			}
		}
		return first, again
	}
	want, twice := sent(usual)
	arrived, again := sent(got)
	said := slices.ContainsFunc(got, func(h happening) bool { return strings.Contains(h.text, "may be sent it again") })
	if fmt.Sprint(arrived) != fmt.Sprint(want) || again > twice && !said {
		t.Errorf("%+v: %d come twice, and what arrives is\n%v, want\n%v", f, again, arrived, want)
	}
}

// lifetime is what happens to a lab.
type lifetime struct {
	lab    string
	shared bool
	lines  []string

	fault fault
	file  *labfile.File
	own   *own
	store *memlog.Log
	began time.Time

	mu    sync.Mutex
	calls int
	all   []happening
}

// since is how far into the life a time is, to a tenth of a second: how many milliseconds a process
// waits for one that died in the same moment is left to the scheduler.
func (l *lifetime) since(at time.Time) time.Duration {
	return at.Sub(l.began).Truncate(100 * time.Millisecond)
}

func (l *lifetime) says(h happening, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.after, h.text = l.since(time.Now()), fmt.Sprintf(format, args...)
	l.all = append(l.all, h)
}

// fails is what a call of that kind answers.
func (l *lifetime) fails(of string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of != l.fault.of {
		return nil
	}
	if l.calls++; l.calls < l.fault.at || l.calls >= l.fault.at+l.fault.times {
		return nil
	}
	return errors.New("no answer")
}

// lived returns what happens where calls fail, and whether the first of them was made.
func (l *lifetime) lived(t *testing.T, f fault) (all []happening, reached bool) {
	file := must.Get(labfile.Parse(builtin.Registry(), "lab.yaml", []byte(l.lab)))(t)
	l.file, l.fault, l.calls, l.all = file, f, 0, nil
	synctest.Test(t, func(t *testing.T) {
		l.own, l.store, l.began = newOwn(), memlog.New(), time.Now()
		processes := make(map[string]*process)
		for _, line := range l.lines {
			switch words := strings.Fields(line); {
			case words[0] == "wait":
				span := must.Get(time.ParseDuration(words[1]))(t)
				time.Sleep(span)
			case words[0] == "status":
				for _, name := range slices.Sorted(maps.Keys(processes)) {
					l.status(name, processes[name])
				}
			case len(words) == 2 && words[1] == "begins":
				processes[words[0]] = l.begins(t, words[0])
			case len(words) == 2 && words[1] == "ends":
				processes[words[0]].end(nil)
				delete(processes, words[0])
			case len(words) == 2 && words[1] == "dies":
				processes[words[0]].end(errShot)
				delete(processes, words[0])
			default:
				l.happens(t, line)
			}
		}
		for _, p := range processes {
			p.end(errShot)
		}
	})
	// Those of one moment are in no order.
	slices.SortStableFunc(l.all, func(a, b happening) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.text, b.text))
	})
	return l.all, l.calls >= f.at
}

func (l *lifetime) happens(t *testing.T, line string) {
	campaign, actor, payload := (&world{t: t, now: time.Now()}).read(line)
	e := must.Get(events.New(campaign, payload))(t)
	e.Time, e.Actor = time.Now(), actor
	must.Get(l.store.Append(t.Context(), campaign, events.AnySequence, e))(t)
}

func (l *lifetime) status(name string, p *process) {
	for _, s := range p.Status() {
		for i, target := range s.Targets {
			text := fmt.Sprintf("%s: %s#%d waiting=%d", name, s.Person, i, target.Waiting)
			if target.Error != "" {
				text += fmt.Sprintf(" error=%q failed=%s again=%s", target.Error, l.since(target.Failed), l.since(target.Again))
			}
			l.says(happening{}, "%s delivered=%t", text, !target.Delivered.IsZero())
		}
	}
}

// process is a notifier's.
type process struct {
	*Notifier
	end func(cause error)
}

// begins begins a process. Where that fails it is tried again, as people would.
func (l *lifetime) begins(t *testing.T, name string) *process {
	ctx, cancel := context.WithCancelCause(t.Context())
	o := Options{
		Lab: l.file, Send: hand{l, name}, Shared: l.shared, Now: time.Now, Every: 15 * time.Second,
		Build: events.Build{Revision: "one"}, Within: 70 * time.Second,
		Own: func() (events.Store, error) {
			if errors.Is(context.Cause(ctx), errShot) {
				return nil, errShot
			}
			return frail{l.own, l}, l.fails("open")
		},
		Log: func(line string) { l.says(happening{}, "%s: %s", name, line) },
	}
	n, err := New(o)
	for ; err != nil; n, err = New(o) {
		l.says(happening{}, "%s does not begin: %v", name, err)
	}
	carrier := bus.New(worn{l.store, l, name}, bus.Config{})
	var work sync.WaitGroup
	caught := make(chan struct{})
	work.Go(func() { n.Serve(ctx, "kitchen", carrier, sync.OnceFunc(func() { close(caught) })) })
	<-caught
	work.Go(func() { n.Run(ctx) })
	return &process{n, func(cause error) {
		cancel(cause)
		work.Wait()
		_ = carrier.Close()
	}}
}

// hand is a sender.
type hand struct {
	*lifetime
	name string
}

// Send implements [Sender].
func (h hand) Send(ctx context.Context, _ labfile.Secret, m Message) error {
	to := fmt.Sprintf("%s#%d", m.Person, m.Target)
	if err := h.fails("send-to-" + to); err != nil {
		h.says(happening{}, "%s does not reach %s: %s", h.name, to, m.Title)
		return err
	}
	if h.fails("answer-of-"+to) != nil {
		h.says(happening{}, "%s hears nothing of %s: %s", h.name, to, m.Title)
		<-ctx.Done()
		return ctx.Err()
	}
	h.says(happening{to: to, m: m.Title}, "%s sends to %s: %s", h.name, to, m.Title)
	return nil
}

// frail is a lab's log of which calls fail, some of them once they are done.
type frail struct {
	*own
	*lifetime
}

func (f frail) Append(
	ctx context.Context, stream string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if err := f.fails("append"); err != nil {
		return nil, err
	}
	stored, err := f.own.Append(ctx, stream, expected, batch...)
	return stored, errors.Join(err, f.fails("answer-to-append"))
}

func (f frail) ReadCampaign(ctx context.Context, stream string, after events.Sequence) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range f.own.ReadCampaign(ctx, stream, after) {
			if !yield(e, errors.Join(err, f.fails("read"))) {
				return
			}
		}
		if err := f.fails("end-of-read"); err != nil {
			yield(events.Event{}, err)
		}
	}
}

func (f frail) LastSequence(ctx context.Context, stream string) (events.Sequence, error) {
	last, err := f.own.LastSequence(ctx, stream)
	return last, errors.Join(err, f.fails("last"))
}

func (f frail) Value(ctx context.Context, key string) ([]byte, error) {
	if err := f.fails("value-of-" + key); err != nil {
		return nil, err
	}
	return f.own.Value(ctx, key)
}

func (f frail) SwapValue(ctx context.Context, key string, from, to []byte) (bool, error) {
	if err := f.fails("swap"); err != nil {
		return false, err
	}
	swapped, err := f.own.SwapValue(ctx, key, from, to)
	return swapped, errors.Join(err, f.fails("answer-to-swap"))
}

func (f frail) SetValuesLazily(ctx context.Context, changes ...events.KeyValue) error {
	if err := f.fails("keep"); err != nil {
		return err
	}
	return f.own.SetValuesLazily(ctx, changes...)
}

// worn is a store's log of which reads fail.
type worn struct {
	*memlog.Log
	*lifetime
	name string // of the process
}

func (w worn) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return w.fail(w.Log.Read(ctx, after))
}

func (w worn) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return w.fail(w.Log.Follow(ctx, after))
}

func (w worn) fail(all iter.Seq2[events.Event, error]) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		time.Sleep(time.Millisecond) // what is folded anew is not folded within the same step
		for e, err := range all {
			if err == nil {
				err = w.fails("event-to-" + w.name)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
