package lab

import (
	"context"
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/ground/telemetry"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: how long a person or an instrument takes is counted from when they were asked, also by a
// process that began later; an experiment that was not sent yet takes no instrument's time.
func TestMetersOfWhatIsOpen(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := view.Campaign{
		Questions: []campaign.Question{{ID: "q1", AskedAt: at}, {ID: "q2", AskedAt: at.Add(time.Second)}},
		UnderWay: []campaign.Experiment{
			{ID: "e1", Command: campaign.Command{DispatchedAt: at.Add(time.Hour)}}, {ID: "e2"}, {ID: "e3", Command: campaign.Command{DispatchedAt: at.Add(2 * time.Hour)}},
		},
	}
	asked := map[string]time.Time{"q1": at, "q2": at.Add(time.Second)}
	dispatched := map[string]time.Time{"e1": at.Add(time.Hour), "e3": at.Add(2 * time.Hour)}
	instruments, err := telemetry.NewInstruments()
	if err != nil {
		t.Fatal(err)
	}
	m := &metrics{Instruments: instruments}
	one := m.begin(s)
	if !maps.Equal(one.asked, asked) || !maps.Equal(one.dispatched, dispatched) {
		t.Errorf("asked %v, want %v; sent %v, want %v", one.asked, asked, one.dispatched, dispatched)
	}
	for i, ended := range []events.Payload{
		&events.ExperimentInfeasible{Experiment: "e1", Cause: "it froze"},
		&events.ExperimentDeferred{Experiment: "e3", Cause: "no argon"},
	} {
		e, err := events.New("lfp", ended)
		if err != nil {
			t.Fatal(err)
		}
		if one.CountEvent(e); len(one.dispatched) != 1-i {
			t.Errorf("%T: the instrument still works on %v", ended, one.dispatched)
		}
	}
	m.end(one)
	if len(m.meters) > 0 {
		t.Errorf("%d meters are left", len(m.meters))
	}
}

// Law: what a user's programs remember is in one folder, which the user may name by its full path
// and nobody else reads; where it cannot be used that is an error.
func TestStateFolder(t *testing.T) {
	home, named := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	usual := filepath.Join(home, ".local", "state", "campaignd")
	for state, want := range map[string]string{"": usual, "relative/folder": usual, named: filepath.Join(named, "campaignd")} {
		t.Setenv("XDG_STATE_HOME", state)
		if dir, err := stateFolder(); err != nil || dir != want {
			t.Errorf("with %q it is %q, %v; want %q", state, dir, err, want)
		}
	}
	t.Setenv("XDG_STATE_HOME", named)
	s := &campaign.State{Name: "lfp", Instance: "w"}
	sound, err := openSeen(s)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Dir(sound.path))
	if err != nil || info.Mode().Perm() != 0o700 || !strings.HasPrefix(sound.path, named) {
		t.Errorf("it is in %s, %v, %v", sound.path, info.Mode(), err)
	}
	if err := errors.Join(sound.file.Close(), os.Remove(sound.path), os.Mkdir(sound.path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if got, err := openSeen(s); err == nil || got != nil {
		t.Errorf("a folder in its place: %v, %v", got, err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(named, "campaignd")), os.WriteFile(filepath.Join(named, "campaignd"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, err := openSeen(s); err == nil || got != nil {
		t.Errorf("a file in the place of its folder: %v, %v", got, err)
	}
}

// plainLog is a log that is read and knows nothing of its campaigns, as that of another process.
type plainLog struct {
	events.Log
	failsAfter int // events; less than 0: never
	err        error
}

func (l plainLog) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		n := 0
		for e, err := range l.Log.Read(ctx, after) {
			if n == l.failsAfter {
				yield(events.Event{}, l.err)
				return
			}
			if n++; !yield(e, err) {
				return
			}
		}
	}
}

// held is the store of another process.
type held struct {
	Store
	log    events.Log
	status control.Status
}

func (h held) Log() events.Log        { return h.log }
func (h held) Status() control.Status { return h.status }

// Law: the campaigns of a store are named in the order of their beginning, by whichever process
// holds it; where its log cannot be read to its end none is named.
func TestCampaignsOfAnyStore(t *testing.T) {
	log := memlog.New()
	want := []string{"lfp", "b", "a", "nmc"}
	for _, name := range want {
		for _, kind := range []events.Kind{events.KindCampaignDefined, events.KindNoteAdded} {
			e := events.Event{Kind: kind, Version: 1, Actor: "person:ada", Data: []byte("{}")}
			if _, err := log.Append(t.Context(), name, events.AnySequence, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	broken := errors.New("the process has ended")
	for failsAfter := -1; failsAfter < 2*len(want); failsAfter++ {
		names, err := Campaigns(t.Context(), held{log: plainLog{log, failsAfter, broken}})
		if failsAfter >= 0 {
			if !errors.Is(err, broken) || names != nil {
				t.Errorf("failing after %d events: %q, %v", failsAfter, names, err)
			}
			continue
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("named %q, %v; want %q", names, err, want)
		}
	}
}

// Law: that another process holds a store is written down if it can be, and hinders nobody if it
// cannot: that is said.
func TestHoldOfAnotherProcess(t *testing.T) {
	own := openLog(t, t.TempDir())
	var said []string
	s := &member{
		path:    "/lab/a.campaign",
		lab:     &Lab{options: Options{Log: func(format string, args ...any) { said = append(said, format) }}},
		custody: &custodyLog{own: own, stream: "store/a.campaign", worker: "late"},
	}
	seen, err := s.custody.look()
	if err != nil {
		t.Fatal(err)
	}
	peer := held{status: control.Status{PID: 4711}}
	if err := s.holds(peer, seen); err != nil || len(said) > 0 {
		t.Errorf("it can be written: %v, %q", err, said)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.holds(peer, seen+1); err != nil || len(said) != 1 {
		t.Errorf("it cannot: %v, %q", err, said)
	}
}

// Law: of an order to abort it is said which experiments are called off by it, and why it failed;
// that nothing was left to call off is not a failure.
func TestWhatBecameOfAnOrder(t *testing.T) {
	order := func(id string) events.Event {
		e, err := events.New("lfp", &events.CancellationOrdered{Experiment: id})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	note, err := events.New("lfp", events.NoteAdded{Text: "smoke"})
	if err != nil {
		t.Fatal(err)
	}
	a := Aborted{Campaign: "lfp", Store: "a.campaign", Driven: true}
	done := a.With([]events.Event{order("e1"), note, order("e2")}, nil)
	if !slices.Equal(done.CalledOff, []string{"e1", "e2"}) || done.Err != nil || done.Error != "" || !done.Driven || done.Campaign != "lfp" {
		t.Errorf("%+v", done)
	}
	if idle := a.With(nil, problem.New(problem.Conflict, "nothing is under way")); idle.CalledOff == nil || idle.Err != nil || idle.Error != "" {
		t.Errorf("with nothing under way: %+v", idle)
	}
	gone := errors.New("the process has ended")
	if failed := a.With(nil, gone); failed.CalledOff == nil || !errors.Is(failed.Err, gone) || failed.Error != gone.Error() {
		t.Errorf("%+v", failed)
	}
}

// Law: a run is said to wait, or to compute, and not both: what it does is what it was last seen at.
func TestRunWaitsOrComputes(t *testing.T) {
	told := 0
	c := &Run{runner: &drive.Runner{Campaign: "lfp"}, began: time.Now(), hooks: Hooks{
		Observe: func(*engine.Core, engine.Wait) { told++ },
		Working: func(*engine.Core, engine.Computation) { told++ },
	}}
	c.computing = engine.Computation{What: "a fit", Since: time.Now()}
	c.observe(nil, engine.Wait{For: "ada"})
	if s := c.status(); s.WaitingFor != "ada" || s.Computing != "" || !s.ComputingSince.IsZero() || told != 1 {
		t.Errorf("it waits: %+v", s)
	}
	c.computing = engine.Computation{What: "a fit", Since: time.Now()}
	c.working(nil) // the runner has nothing to compute any more
	if s := c.status(); s.WaitingFor != "" || s.Computing != "" || told != 2 {
		t.Errorf("it goes on: %+v", s)
	}
}

// Law: where the database cannot be asked, that is said, and what was known of the other processes
// and of their stores stays: nothing is taken for free.
func TestOthersAreKnownWhileTheDatabaseIsSilent(t *testing.T) {
	db, err := store.OpenDatabase(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		lab: &Lab{}, db: db, others: map[string]Process{"w1": {Host: "bench", Drives: true}},
		holders: map[string]string{"a": "w1"},
	}
	if err := c.look(t.Context()); err == nil || len(c.others) != 1 || c.holders["a"] != "w1" {
		t.Errorf("%v: known are %v, who hold %v", err, c.others, c.holders)
	}
}
