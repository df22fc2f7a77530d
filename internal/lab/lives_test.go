package lab_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// errFails is what a call says that fails.
var errFails = errors.New("the disk has a fault")

// fault is a call of a store that fails: one of a kind, of the store of campaigns or of the lab's
// own log, and as many as follow it.
type fault struct {
	of        string
	at, times int

	mu    sync.Mutex
	calls int
}

// fails is what a call of that kind answers.
func (f *fault) fails(of string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of != f.of {
		return nil
	}
	if f.calls++; f.calls < f.at || f.calls >= f.at+f.times {
		return nil
	}
	return fmt.Errorf("%w: %s %d", errFails, of, f.calls)
}

func (f *fault) reached() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls >= f.at
}

// frail is a store of which calls fail. It stops once a write has failed, as stores do.
type frail struct {
	events.Store
	*fault
	which string // "own" or "store"

	stop   sync.Once
	failed chan struct{}
	err    error // read once failed is closed
}

func (f *frail) stopped(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w: %w", events.ErrStopped, err)
	f.stop.Do(func() { f.err = err; close(f.failed) })
	return err
}

func (f *frail) Failed() <-chan struct{} { return f.failed }

func (f *frail) Err() error {
	select {
	case <-f.failed:
		return f.err
	default:
		return f.Store.Err()
	}
}

func (f *frail) Probe() error { return errors.Join(f.Store.Probe(), f.fails(f.which+" probe")) }

func (f *frail) Append(
	ctx context.Context, stream string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if len(batch) == 0 {
		return f.Store.Append(ctx, stream, expected)
	}
	if err := errors.Join(f.Err(), f.stopped(f.fails(f.which+" append"))); err != nil {
		return nil, err
	}
	stored, err := f.Store.Append(ctx, stream, expected, batch...)
	if lost := f.stopped(f.fails(f.which + " answer")); err == nil && lost != nil {
		return nil, fmt.Errorf("%w: %w", events.ErrUncertain, lost)
	}
	return stored, err
}

func (f *frail) yield(of string, all iter.Seq2[events.Event, error]) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		if err := f.fails(f.which + " " + of); err != nil {
			yield(events.Event{}, err)
			return
		}
		all(yield)
	}
}

func (f *frail) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return f.yield("read", f.Store.Read(ctx, after))
}

func (f *frail) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return f.yield("follow", f.Store.Follow(ctx, after))
}

func (f *frail) ReadCampaign(ctx context.Context, name string, after events.Sequence) iter.Seq2[events.Event, error] {
	return f.yield("campaign", f.Store.ReadCampaign(ctx, name, after))
}

func (f *frail) Campaigns(ctx context.Context) ([]string, error) {
	if err := f.fails(f.which + " campaigns"); err != nil {
		return nil, err
	}
	return f.Store.Campaigns(ctx)
}

func (f *frail) SetValuesLazily(ctx context.Context, changes ...events.KeyValue) error {
	if err := f.fails(f.which + " values"); err != nil {
		return err
	}
	return f.Store.SetValuesLazily(ctx, changes...)
}

func (f *frail) Close() error { return errors.Join(f.Store.Close(), f.fails(f.which+" close")) }

// living is a lab that a person works with, whatever fails.
type living struct {
	*testing.T
	*fault
	folder string
	lab    *lab.Lab
	own    *lablog.Log

	unwatched func() // ends the look at troubles

	mu       sync.Mutex
	said     []string // to who asked and to the operator
	troubles []string // what was announced
}

func (l *living) says(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, text)
}

func (l *living) opened(which string) func(string, store.Options) (events.Store, error) {
	return func(address string, o store.Options) (events.Store, error) {
		if err := l.fails(which + " open"); err != nil {
			return nil, err
		}
		s, err := store.Open(address, o)
		if err != nil {
			return nil, err
		}
		return &frail{Store: s, fault: l.fault, which: which, failed: make(chan struct{})}, nil
	}
}

// does has a person do something until it succeeds, and keeps what is said of its failures.
func (l *living) does(what string, do func() error) {
	l.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		l.says(err.Error())
		if time.Since(began) > 30*time.Second {
			l.Fatalf("it cannot: %s: %v", what, err)
		}
	}
}

func (l *living) begins() {
	l.Helper()
	l.does("open the lab", func() (err error) {
		open := l.opened("own")
		l.own, err = lablog.Open(lablog.Dir(l.folder), lablog.Options{
			Open: func(address string) (events.Store, error) { return open(address, store.Options{}) },
		})
		if err != nil {
			return err
		}
		o := lab.Options{
			Folder: l.folder, Registry: builtin.Registry(), Own: l.own, Build: events.Build{Revision: "one"},
			Log: func(format string, args ...any) { l.says(fmt.Sprintf(format, args...)) },
		}
		l.lab, err = lab.Open(l.Context(), o.Opening(l.opened("store")))
		if err != nil {
			return errors.Join(err, l.own.Close())
		}
		return nil
	})
	// What keeps a store from being used is announced.
	seen, over := l.lab, make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			changed := seen.Changed()
			l.mu.Lock()
			l.troubles = append(l.troubles, seen.Troubles()...)
			l.mu.Unlock()
			select {
			case <-changed:
			case <-over:
				return
			}
		}
	})
	l.unwatched = func() { close(over); watching.Wait() }
}

func (l *living) ends() {
	l.does("be in no trouble", func() error { return errors.Join(errorsOf(l.lab.Troubles())...) })
	l.unwatched()
	l.lab.Close()
	if err := l.own.Close(); err != nil {
		l.says(err.Error())
	}
}

func errorsOf(texts []string) (all []error) {
	for _, text := range texts {
		all = append(all, errors.New(text))
	}
	return all
}

// campaign is the campaign, once it is there.
func (l *living) campaign() (*lab.Campaign, error) { return l.lab.Campaign("bench") }

// submits has a person's request recorded.
func (l *living) submits(r engine.Request) {
	l.Helper()
	l.does(r.ID, func() error {
		c, err := l.campaign()
		if err == nil {
			_, err = c.Submit(l.Context(), r)
		}
		return err
	})
}

// tells has the next experiment suggested, and its value told.
func (l *living) tells() {
	l.Helper()
	var id string
	l.does("suggest", func() error {
		ctx, cancel := context.WithTimeout(l.Context(), 5*time.Second)
		defer cancel()
		c, err := l.campaign()
		if err != nil {
			return err
		}
		s, err := c.Suggest(ctx)
		if err == nil && s.Experiment == nil {
			err = errors.New("nothing is suggested")
		}
		if err == nil {
			id = s.Experiment.ID
		}
		return err
	})
	l.submits(engine.Request{Actor: "person:ada", ID: "tell-" + id, Tell: &engine.Tell{Experiment: id, Value: new(0.5)}})
}

// runs has the campaign be driven.
func (l *living) runs(by engine.Request) {
	l.Helper()
	l.does("run", func() error {
		c, err := l.campaign()
		if err != nil {
			return err
		}
		if err := c.Start(l.Context(), by); err != nil {
			return err
		}
		if !c.Standing().Here {
			return errors.New("it is not driven")
		}
		return nil
	})
}

// note is a person's note.
func noted(text string) engine.Request {
	return engine.Request{Actor: "person:ada", ID: text, Note: &engine.Note{Text: text}}
}

// lives works with a lab, of which one call fails, from its beginning over a restart to its end.
func (l *living) lives() {
	ada := engine.Request{Actor: "person:ada", ID: "begin", Digest: "d"}
	l.begins()
	file := must.Get(l.lab.Parse(l.Context(), "bench.yaml", []byte(byHand)))(l)
	l.does("define", func() error { _, err := l.lab.Define(l.Context(), file, ada); return err })
	l.submits(noted("first"))
	l.tells()
	l.does("halt", func() error {
		c, err := l.campaign()
		if err == nil {
			err = c.Halt(engine.Request{Actor: "person:bo"})
		}
		return err
	})
	l.submits(noted("halted"))
	l.runs(engine.Request{Actor: "person:bo"})
	l.ends()
	l.begins()
	// It goes on by itself; where its run was ended by what failed, a person has it go on.
	l.runs(ada)
	l.submits(noted("second"))
	l.tells()
	l.ends()
}

// Law: whatever call of a store or of the lab's log fails, what is asked again by the same identifier
// is recorded once; the campaign goes on; the lab is in no trouble once the call succeeds, and lets go
// of what it holds. A failure that kept anything from being done is said with its reason.
func TestWhateverFails(t *testing.T) {
	t.Parallel()
	want := []string{"campaign.defined 1", "experiment.measured 2", "note.added 3"}
	var lives sync.WaitGroup
	quiet := map[string]bool{ // nobody need know: it costs time, or is done another way
		"store values": true, "own campaign": true,
		"store campaign": true, // a run that could not begin may be begun again before anybody has looked
	}
	stops := map[string]bool{ // a store that is there, until it is opened again
		"store append": true, "store answer": true, "store follow": true, "store campaigns": true,
	}
	for _, of := range []string{
		"store open", "store append", "store answer", "store read", "store follow", "store campaign", "store campaigns",
		"store values", "store close", "own open", "own append", "own answer", "own campaign",
	} {
		for _, f := range []*fault{{of: of, at: 1, times: 1}, {of: of, at: 2, times: 2}, {of: of, at: 5, times: 1}} {
			// All at once: most of the time they wait until something is tried again.
			lives.Go(func() {
				t.Run(fmt.Sprintf("%s %d", of, f.at), func(t *testing.T) {
					l := &living{T: t, fault: f, folder: t.TempDir()}
					l.lives()
					if !f.reached() {
						return
					}
					why := func(line string) bool { return strings.Contains(line, errFails.Error()) }
					announced := slices.ContainsFunc(l.troubles, why)
					if !announced && !slices.ContainsFunc(l.said, why) && !quiet[of] {
						t.Errorf("nobody learns of it: %q", l.said)
					}
					if !announced && stops[of] {
						t.Errorf("the store cannot be used, and the lab is in no trouble")
					}
					got := make(map[events.Kind]int)
					log := readOnly(t, filepath.Join(l.folder, "bench.campaign"))
					for e := range must.Each(t, log.Read(t.Context(), 0)) {
						got[e.Kind]++
					}
					for _, line := range want {
						var kind events.Kind
						var n int
						if _, err := fmt.Sscan(line, &kind, &n); err != nil || got[kind] != n {
							t.Errorf("%s: there are %d, %v", line, got[kind], err)
						}
					}
					own, stream := readOnly(t, lablog.Dir(l.folder)), events.StoreStream("bench.campaign")
					c, err := lab.CustodyOf(t.Context(), own, stream)
					if err != nil || c.Held != nil || !c.Started["bench"] {
						t.Errorf("the lab's log says %+v, %v", c, err)
					}
					held := 0
					for e := range must.Each(t, own.ReadCampaign(t.Context(), stream, 0)) {
						if e.Kind == events.KindStoreHeld {
							held++
						}
					}
					if held < 2 {
						t.Errorf("of two labs that held the store the lab's log has %d", held)
					}
				})
			})
		}
	}
	lives.Wait()
}

// readOnly opens a store as it is on the disk.
func readOnly(t *testing.T, path string) events.Store {
	t.Helper()
	s := must.Get(store.Open(path, store.Options{ReadOnly: true}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}
