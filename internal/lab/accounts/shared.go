package accounts

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// A lab in a database is served by any number of processes, each with the accounts open. Each folds
// the others' events as well:
//
//   - A process that changes something reads the log to its end, decides, and appends on condition
//     of the sequence it has read. If another was quicker, it reads on and decides anew
//     ([ledger.decide]).
//   - A person is admitted by a state that was current less than a second ago ([ledger.fresh]):
//     a revocation at one server takes effect at all within that time. If the database does not
//     confirm it in time, the request fails: the accounts are not available.
//   - A person unknown here may have logged in at another server a moment ago: the log is read once
//     more before a refusal ([ledger.sure]).
//
// The log is followed, so that requests usually wait for none of this.

const (
	// freshFor is the maximum age of a state that admits people.
	freshFor = time.Second
	// lookEvery is the interval of reading the log to its end without a notification.
	lookEvery = 400 * time.Millisecond
	// lookTime is the database's deadline for such a read, and writeTime for a change.
	lookTime, writeTime = 3 * time.Second, 10 * time.Second
	// renewEvery is the interval of rereading values, which other processes change without an
	// event, such as the last use of a session.
	renewEvery = time.Minute
	// unnamedFor is the time an unreferenced value may stay. A process writes a value before the
	// event that refers to it.
	unnamedFor = 15 * time.Minute
	// sweepLate delays the removal of an ended session: another server may have noted its use up to
	// seenEvery later, and this one may have read that up to renewEvery later.
	sweepLate = 5 * time.Minute
	// mostAnew is the maximum number of times a change is decided anew.
	mostAnew = 50
)

// errLate means that another process has appended events unknown to the change's decision. Nothing
// of the change is stored.
var errLate = errors.New("the accounts were just changed elsewhere")

// sharing is the accounts' state for a log that other processes append to.
type sharing struct {
	end       context.CancelFunc
	following sync.WaitGroup

	born time.Time
	// confirmed is the start of the newest successful look, since born.
	confirmed atomic.Int64

	// decided is the event on which the change in progress was decided. It is guarded by writing.
	decided events.Sequence

	looking lablog.Look[struct{}] // reads the log to its end

	mu  sync.Mutex
	own map[ownEntry]bool // appended by this process, until folded

	unnamed map[string]time.Time // unreferenced values, and since when; of renewAll
}

// ownEntry identifies an entry of this process.
type ownEntry struct {
	kind                      Kind
	time                      int64
	account, from, credential string
}

// never stands for no successful look.
const never = math.MinInt64 / 2

// newSharing begins with no successful look.
func newSharing() *sharing {
	s := &sharing{
		born: time.Now(), own: make(map[ownEntry]bool), unnamed: make(map[string]time.Time),
		looking: lablog.Look[struct{}]{Rest: freshFor},
	}
	s.confirmed.Store(never)
	return s
}

// confirm notes that the state was current at a time.
func (s *sharing) confirm(at time.Time) { s.confirmed.Store(int64(at.Sub(s.born))) }

// follow folds the events of other processes, until the accounts are closed.
func (l *ledger) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	l.shared.end = cancel
	news := make(chan struct{}, 1)
	l.shared.following.Go(func() {
		for ctx.Err() == nil {
			log, _ := l.roster.place()
			for e, err := range log.Follow(ctx, log.Last()) {
				if err != nil {
					break // closed, or damaged: a look reopens it
				}
				if e.Campaign != Stream {
					continue
				}
				select {
				case news <- struct{}{}:
				default:
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(lookEvery):
			}
		}
	})
	l.shared.following.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for renewed := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-news:
			case <-tick.C:
			}
			_ = l.look(time.Now()) // callers that need the state will find it old
			if time.Since(renewed) >= renewEvery {
				renewed = time.Now()
				_ = l.renewAll(renewed)
			}
		}
	})
}

// place returns the log, and the newest folded event of the accounts.
func (r *roster) place() (events.Store, events.Sequence) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.log, r.last
}

// fresh returns nil if the state is current, or was less than a second ago.
func (l *ledger) fresh() error {
	if l.shared == nil {
		return nil
	}
	if time.Since(l.shared.born)-time.Duration(l.shared.confirmed.Load()) <= freshFor {
		return nil
	}
	return l.look(time.Now())
}

// catchUp folds the events of others known so far, for lists: a person may change something at one
// process and list it at another.
func (l *ledger) catchUp() {
	if l.shared != nil {
		_ = l.look(time.Now())
	}
}

// look reads the log to its end, unless that was done or tried since a time.
func (l *ledger) look(since time.Time) error {
	_, err := l.shared.looking.Since(since, func(began time.Time) (none struct{}, err error) {
		if err = l.readOn(); err == nil {
			l.shared.confirm(began)
		}
		return none, err
	})
	return err
}

// readOn folds the events appended since the newest folded one, with the values they refer to. Only
// one look runs at a time.
func (l *ledger) readOn() error {
	log, err := l.lab.Store()
	if err != nil {
		return err
	}
	if known, last := l.roster.place(); log != known || l.roster.broken() != nil {
		l.roster.mu.Lock()
		defer l.roster.mu.Unlock()
		if l.roster.stopped = l.load(nil); l.roster.stopped != nil {
			l.shared.confirmed.Store(never)
		}
		return l.roster.stopped
	} else if err := l.readAfter(log, last); err != nil {
		return lablog.Fault(err)
	}
	return nil
}

// broken says why the state is missing.
func (r *roster) broken() error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.stopped
}

// readAfter folds what was appended after an event.
func (l *ledger) readAfter(log events.Store, last events.Sequence) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	var stored []events.Event
	var kept []events.KeyValue
	for e, err := range log.ReadCampaign(ctx, Stream, last) {
		if err != nil {
			return err
		}
		entry, err := entryOf(e)
		if err != nil {
			return err
		}
		stored = append(stored, e)
		for _, key := range entry.names() {
			text, err := log.Value(ctx, key)
			if err != nil {
				return err
			}
			kept = append(kept, events.KeyValue{Key: key, Value: text})
		}
	}
	if len(stored) == 0 {
		return nil
	}
	l.roster.mu.Lock()
	err := l.fold(stored, kept)
	gone := l.roster.letGo()
	l.roster.mu.Unlock()
	if err != nil {
		return err
	}
	// The process that appended the events removes them as well, unless it has died.
	_ = log.SetValuesLazily(ctx, gone...)
	return nil
}

// names returns the keys of the values written for an entry.
func (e Entry) names() []string {
	secret := ""
	if e.facts != nil {
		secret = e.facts.Secret
	}
	switch e.Kind {
	case KindLogin:
		return []string{sessionKey + secret, networksKey + e.Account}
	case KindConfirmed:
		return []string{sessionKey + secret}
	case KindPasswordSet:
		return []string{passwordKey + secret}
	case KindPasskeyAdded:
		return []string{passkeyKey + secret}
	case KindTokenCreated:
		return []string{tokenKey + e.Credential}
	}
	return nil
}

// decide makes a change: f decides on the present state and commits. If another process has
// appended meanwhile, f is called again, so it must have no other effects.
func (l *ledger) decide(f func() error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.shared == nil {
		return f()
	}
	for n := 0; ; n++ {
		if err := l.look(time.Now()); err != nil {
			return err
		}
		_, l.shared.decided = l.roster.place()
		err := f()
		switch {
		case !errors.Is(err, errLate):
			return err
		case n == mostAnew:
			return unavailable(errors.New("they are changed elsewhere all the time: try again"))
		}
	}
}

// commitShared is commit for a log that other processes append to.
func (l *ledger) commitShared(c change) error {
	log, err := l.lab.Store()
	if err != nil {
		return err
	}
	if known, _ := l.roster.place(); log != known {
		return errLate // it was reopened, and is read first
	}
	if err := log.Err(); err != nil {
		return unavailable(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	err = l.make(ctx, log, l.shared.decided, c)
	if late := new(events.ConflictError); errors.As(err, &late) {
		return errLate
	}
	if err == nil {
		l.shared.decided += events.Sequence(len(c.entries))
	}
	return err
}

// sure returns the session of a token, and its account, on a fresh state. Before it rejects a token,
// it checks for logins at other processes.
func (l *ledger) sure(token string) (*session, *account, error) {
	began := time.Now()
	if err := l.fresh(); err != nil {
		return nil, nil, err
	}
	s, a := l.roster.session(token)
	if s == nil && l.shared != nil && len(token) == tokenSize {
		if err := l.look(began); err != nil {
			return nil, nil, err
		}
		if err := l.renewSession(token); err != nil {
			return nil, nil, err
		}
		s, a = l.roster.session(token)
	}
	if s == nil {
		return nil, nil, noSession()
	}
	return s, a, nil
}

// renewSession rereads the last use of a session that seems to be over.
func (l *ledger) renewSession(token string) error {
	l.roster.mu.RLock()
	s := l.roster.state.sessions[l.roster.values.sessionOf[keyOf(token)]]
	log := l.roster.log
	l.roster.mu.RUnlock()
	if s == nil {
		return nil
	}
	return l.renew(log, sessionKey+s.Secret)
}

// renew reads values anew.
func (l *ledger) renew(log events.Store, keys ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	for _, key := range keys {
		text, err := log.Value(ctx, key)
		if err != nil {
			return lablog.Fault(err)
		}
		l.roster.mu.Lock()
		err = l.roster.values.put(events.KeyValue{Key: key, Value: text})
		l.roster.mu.Unlock()
		if err != nil {
			return damaged("the value %s cannot be read", key)
		}
	}
	return nil
}

// sureToken is sure for an API token.
func (l *ledger) sureToken(bearer string) (t *token, a *account, why string, err error) {
	began := time.Now()
	if err := l.fresh(); err != nil {
		return nil, nil, "", err
	}
	t, a, why = l.roster.token(bearer)
	if t == nil && l.shared != nil {
		if err := l.look(began); err != nil {
			return nil, nil, "", err
		}
		t, a, why = l.roster.token(bearer)
	}
	return t, a, why, nil
}

// renewAll rereads all values, and removes those long unreferenced.
func (l *ledger) renewAll(now time.Time) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.shared.looking.Apart(func() error { return l.renewNow(now) })
}

// renewNow is renewAll. The caller holds writing, and no look runs.
func (l *ledger) renewNow(now time.Time) error {
	s := l.shared
	if err := l.readOn(); err != nil {
		return err
	}
	log, _ := l.roster.place()
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	all, keys := newValues(), []string{}
	for kv, err := range log.Values(ctx, valuesPrefix) {
		if err != nil {
			return lablog.Fault(err)
		}
		if err := all.put(kv); err != nil {
			return damaged("the value %s cannot be read", kv.Key)
		}
		keys = append(keys, kv.Key)
	}
	l.roster.mu.Lock()
	l.roster.values = all
	l.roster.state.forget(all)
	named := l.roster.state.named()
	l.roster.mu.Unlock()
	before := s.unnamed
	s.unnamed = make(map[string]time.Time)
	var gone []events.KeyValue
	for _, key := range keys {
		if named[key] || key == sealKey {
			continue
		}
		since, seen := before[key]
		if !seen {
			since = now
		}
		if now.Sub(since) > unnamedFor {
			gone = append(gone, removed(key))
			continue
		}
		s.unnamed[key] = since
	}
	return log.SetValuesLazily(ctx, gone...)
}

// appends notes entries that this process is about to append.
func (s *sharing) appends(entries []events.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.own) > mostRefusals { // of appends that failed
		clear(s.own)
	}
	for _, e := range entries {
		if entry, err := entryOf(e); err == nil {
			s.own[entry.own()] = true
		}
	}
}

// own returns the identification of an entry.
func (e Entry) own() ownEntry {
	return ownEntry{e.Kind, e.Time.UnixMicro(), e.Account, e.From, e.Credential}
}

// count counts another process's failed login attempts and refusals. This process's own were
// counted when they were made. The caller holds mu.
func (l *ledger) count(e Entry) {
	s := l.shared
	s.mu.Lock()
	own := s.own[e.own()]
	delete(s.own, e.own())
	s.mu.Unlock()
	if own {
		return
	}
	if e.Kind == KindRefused || e.Kind == KindLoginFailed {
		l.refusals.recorded(e, e.Time, false)
	}
	l.limits.recall(e, l.roster.familiar(e.Account, e.From))
}
