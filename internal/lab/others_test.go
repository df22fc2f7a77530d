package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// ending is a log of which nothing is known but its end.
type ending struct {
	events.Store
	last events.Position
}

func (e *ending) Last() events.Position { return e.last }

// clustered is a process of a lab in a database that holds a store in which nothing is driven,
// beside those of its table of others.
func clustered(t *testing.T, others map[string]Process) (*cluster, *member, *ending) {
	t.Helper()
	database := pgtest.URL(t)
	own := must.Get(lablog.Open(lablog.Address(database), lablog.Options{}))(t)
	l := &Lab{
		options: Options{Database: database, Folder: t.TempDir()}, own: own, ctx: t.Context(),
		stores: make(map[string]*member), changed: make(chan struct{}), worker: "w",
	}
	c := newCluster(l)
	l.custodian = c
	must.Do(t, c.open(t.Context()))
	t.Cleanup(func() {
		if err := c.db.Close(); err != nil {
			t.Error(err)
		}
		_ = own.Close()
	})
	log := &ending{last: 7}
	s := newMember(l, store.In(database, "bench"))
	s.at = &Local{log: log}
	l.stores[s.path], l.ordered = s, []*member{s}
	c.others = others
	return c, s, log
}

// Law: a store is handed over where this process has more than its share and another one that
// reaches the instrument has less, nothing waits to be taken, and the store has stood still for all
// that time. One that came back stays.
func TestWhatIsHandedOver(t *testing.T) {
	c, s, log := clustered(t, map[string]Process{"late": {Host: "b", Drives: true}})
	began := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	step := func(what string, driven, due int, at time.Duration, want bool) {
		t.Helper()
		if over := c.give(driven, due, began.Add(at)); over != nil != want || want && over != s {
			t.Errorf("%s: it is handed over: %t", what, over != nil)
		}
	}
	step("it has its share", 2, 2, 0, false)
	if c.offer != (offer{}) {
		t.Errorf("who has no more than its share offers %+v", c.offer)
	}
	step("it has just more", 3, 2, 0, false)
	step("too soon", 3, 2, giveAfter-1, false)
	log.last++
	step("something was recorded", 3, 2, giveAfter, false)
	step("too soon after that", 3, 2, 2*giveAfter-1, false)
	c.free["other"] = began
	step("another one waits to be taken", 3, 2, 2*giveAfter, false)
	delete(c.free, "other")
	step("it begins anew", 3, 2, 2*giveAfter, false)
	c.holders = map[string]string{"x": "late", "y": "late"}
	step("the other one has its share", 3, 2, 3*giveAfter, false)
	c.holders = map[string]string{"x": "late", "y": "another"}
	step("the other one has less", 3, 2, 3*giveAfter, false)
	for id, other := range map[string]Process{"late": {Host: "b"}, c.id(): {Host: "a", Drives: true}} {
		c.others = map[string]Process{id: other}
		step("nobody else drives", 3, 2, 4*giveAfter, false)
	}
	c.others = map[string]Process{"late": {Host: "b", Drives: true}}
	step("it begins anew", 3, 2, 4*giveAfter, false)
	step("long enough", 3, 2, 5*giveAfter, true)
	gone := 5*giveAfter + keepFor
	step("it came back just now", 3, 2, gone-1, false)
	if c.offer != (offer{}) {
		t.Errorf("what came back is offered: %+v", c.offer)
	}
	step("it came back long ago", 3, 2, gone, false)
	step("and stands still", 3, 2, gone+giveAfter, true)
}

// Law: a store whose campaign could not be driven here is tried again later and later, five minutes at
// most, and at once where it could be driven in between.
func TestFailingStoresAreTriedLater(t *testing.T) {
	c := &cluster{failures: make(map[string]failure)}
	for n, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300, 300, 300, 300, 300, 300} {
		before := time.Now()
		c.ended("bench", true)
		wait := c.failures["bench"].again.Sub(before)
		if want *= time.Second; wait < want || wait > want+time.Since(before) {
			t.Errorf("after failure %d it waits %s, want %s", n+1, wait, want)
		}
		if !c.failing("bench") || c.failing("other") {
			t.Errorf("failing: %t, another one %t", c.failing("bench"), c.failing("other"))
		}
	}
	if c.ended("bench", false); c.failing("bench") || len(c.failures) > 0 {
		t.Errorf("it was driven, and there is %v", c.failures)
	}
}

// Law: that no process could drive a campaign is said once it has waited for one, with what to start.
func TestNoDriver(t *testing.T) {
	c := &cluster{free: make(map[string]time.Time), others: map[string]Process{"server": {Host: "b"}}}
	s := newMember(&Lab{}, store.In("postgres://db/x", "bench"))
	for _, since := range []time.Duration{0, -time.Minute, time.Hour} {
		if since != 0 {
			c.free["bench"] = time.Now().Add(-since)
		}
		want, err := since > noDriverTime, c.noDriver(s)
		if (err != nil) != want || want && (problem.CodeOf(err) != problem.Unavailable || !strings.Contains(fmt.Sprint(problem.RemediesOf(err)), "campaignd work")) {
			t.Errorf("it has waited %s: %v", since, err)
		}
	}
	c.free["bench"] = time.Now().Add(-time.Hour)
	c.others["bench"] = Process{Host: "c", Drives: true}
	if err := c.noDriver(s); err != nil {
		t.Errorf("there is a driver: %v", err)
	}
}

// Law: what a process says of itself is what others know of it; of what they cannot read nothing.
func TestProcessIsWhatItSays(t *testing.T) {
	said := `{"process": {"host": "b", "pid": 7, "drives": true, "instruments": ["pump"]},
		"stores": {"x": {"pid": 7, "campaigns": [{"campaign": "c1"}, {"campaign": "c2"}]}, "y": 5, "z": {"campaigns": [{"campaign": "c3"}]}}}`
	p, ok := ProcessOf(store.WorkerRow{Said: []byte(said)})
	if !ok || p.Host != "b" || p.PID != 7 || !p.Drives || p.Campaigns() != 3 || len(p.stores) != 2 {
		t.Errorf("%t %+v", ok, p)
	}
	for instrument, want := range map[string]bool{"": true, "pump": true, "oven": false} {
		if p.reaches(instrument) != want {
			t.Errorf("it reaches %q: %t", instrument, !want)
		}
		all, none := Process{Drives: true}, Process{Instruments: []string{"pump"}}
		if !all.reaches(instrument) || none.reaches(instrument) {
			t.Errorf("%q: who names none reaches all, who drives nothing none", instrument)
		}
	}
	for _, said := range []string{"", "[]", `{"process": {"pid": 7}}`} {
		if p, ok := ProcessOf(store.WorkerRow{Said: []byte(said)}); ok || p.Campaigns() != 0 {
			t.Errorf("%q is a process: %+v", said, p)
		}
	}
	c := &cluster{others: map[string]Process{"w": p}, holders: map[string]string{"x": "w", "gone": "v"}}
	if s := c.status("x"); s.Host != "b" || s.PID != 7 || len(s.Campaigns) != 2 {
		t.Errorf("who holds x: %+v", s)
	}
	for _, name := range []string{"gone", "free"} {
		if s := c.status(name); s.Host != "" || s.PID != 0 || s.Campaigns != nil {
			t.Errorf("who holds %s: %+v", name, s)
		}
	}
}

// Law: runs that are shown at all servers are of a process that lives as long as the lab knows it; a
// lab in a folder has one server, and shows none elsewhere.
func TestBoardKnowsWhoLives(t *testing.T) {
	if b := (&Lab{custodian: folder{}}).Board("p/", "w"); b != nil {
		t.Errorf("a lab in a folder has %+v", b)
	}
	c, _, _ := clustered(t, map[string]Process{"late": {}})
	b := c.lab.Board("p/", "w")
	if b.Prefix != "p/" || b.Letter != "w" || b.Most != keptRuns || b.Self != c.id() || !b.Lives("late") || b.Lives("gone") {
		t.Errorf("%+v", b)
	}
	if log, err := b.Log(); err != nil || log == nil {
		t.Errorf("its log: %v, %v", log, err)
	}
}

// Law: a store is held by another process where one holds it, and by none where this one does. That a
// store is free is forgotten once it is not wanted.
func TestHeldElsewhere(t *testing.T) {
	c, s, _ := clustered(t, nil)
	c.holders = map[string]string{"ours": c.id(), "theirs": "late"}
	for name, want := range map[string]bool{"ours": false, "theirs": true, "free": false} {
		if c.held(name) != want {
			t.Errorf("%s is held elsewhere: %t", name, !want)
		}
	}
	s.at = nil
	c.free["gone"] = time.Now()
	if c.assign(); len(c.free) != 0 {
		t.Errorf("after it looked, there is %v", c.free)
	}
}

// Law: what is passed on of the lab's log wakes who looks for stores to drive, once, however much comes,
// and nothing of a device or of a filing does.
func TestWhatIsNews(t *testing.T) {
	own := openLog(t, t.TempDir())
	l := &Lab{
		options: Options{Database: "postgres://db/x"}, own: own, filings: &filings{own: own},
		stores: make(map[string]*member), changed: make(chan struct{}),
	}
	s := newMember(l, store.In(l.options.Database, "bench"))
	l.stores[s.path] = s
	c := &cluster{lab: l, news: make(chan struct{}, 1)}
	news := func(stream string) bool {
		t.Helper()
		for range 2 {
			c.hear(events.Event{Campaign: stream, Sequence: 1, Kind: events.KindRunStarted, Version: 1})
		}
		select {
		case <-c.news:
			if len(c.news) > 0 {
				t.Error("it is news twice")
			}
			return true
		default:
			return false
		}
	}
	changed := c.lab.Changed()
	if news(events.FilingStream) || !c.lab.filings.stale {
		t.Error("a filing is news to who drives, or is not read again")
	}
	select {
	case <-changed:
	default:
		t.Error("a filing is not announced")
	}
	changed = c.lab.Changed()
	if !news(events.StoreStream(s.base())) {
		t.Error("what is said of a store is no news")
	}
	select {
	case <-changed:
	default:
		t.Error("what is said of a store is not announced")
	}
	if !news("accounts") {
		t.Error("another event is no news")
	}
}

// Law: while the store of another process changes hands who holds it is asked, and no one where nobody
// does.
func TestStatusOfAWatchedStore(t *testing.T) {
	c := &cluster{
		others:  map[string]Process{"w": {Host: "b", stores: map[string]control.Status{"bench": {PID: 9}}}},
		holders: map[string]string{"bench": "w"},
	}
	w := &watched{cluster: c, Copy: Copy{address: store.In("postgres://db/x", "bench"), log: &ending{last: 5}}}
	if s := w.Status(); s.PID != 9 || s.Host != "b" || s.Last != 5 {
		t.Errorf("%+v", s)
	}
	if w.Log() != events.Log(w.log) || w.Close() != nil {
		t.Error("its log is not the member's, or closes")
	}
}
