package accounts

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lablog"
)

// A lab in a database is served by any number of processes, each with the
// accounts open. What one appends the others fold as well:
//
//   - A process that changes something reads the log to its end, decides, and
//     appends with the sequence that it has seen. Where another was quicker, it
//     reads on and decides anew ([Directory.decide]).
//   - A person is let in by a state that was the newest less than a second ago
//     ([Directory.fresh]): what is taken from a person at one server
//     is gone at all within that. Where the database does not say so in time,
//     the request is answered that the accounts are not available.
//   - Who is not known here may have logged in at another server a moment ago:
//     before they are refused, the log is read once more ([Directory.sure]).
//
// The log is followed, so that as a rule no request waits for any of it.

const (
	// freshFor is how old the state may be that someone is let in by.
	freshFor = time.Second
	// lookEvery is how often the log is read to its end where nothing wakes us.
	lookEvery = 400 * time.Millisecond
	// lookTime is how long the database may take for it, and writeTime for a
	// change.
	lookTime, writeTime = 3 * time.Second, 10 * time.Second
	// renewEvery is how often values are read anew: what other processes noted
	// without an event, such as when a session was used last.
	renewEvery = time.Minute
	// unnamedFor is how long a value may stay that no event names. A process
	// that is about to append the event has written the value first.
	unnamedFor = 15 * time.Minute
	// sweepLate is how much later than it a session is removed that is over: it
	// may have been used at another server, which noted that up to seenEvery
	// later, and was read here up to renewEvery later.
	sweepLate = 5 * time.Minute
	// mostAnew is how often a change is decided anew.
	mostAnew = 50
)

// errLate means that another process has appended before a change that was
// decided without it. Nothing of the change is stored.
var errLate = errors.New("the accounts were just changed elsewhere")

// sharing is what the accounts need where other processes append to the log.
type sharing struct {
	end       context.CancelFunc
	following sync.WaitGroup

	born time.Time
	// confirmed is when the newest look began that succeeded, since born.
	confirmed atomic.Int64

	// decided is the event that the change under way was decided behind. It is
	// guarded by writing.
	decided events.Sequence

	looking lablog.Look[struct{}] // reads the log to its end

	mu  sync.Mutex
	own map[ownEntry]bool // that this process appends, until they are folded

	unnamed map[string]time.Time // values that no event names, since when; of renewAll
}

// ownEntry is an entry as this process knows it again.
type ownEntry struct {
	kind                      Kind
	time                      int64
	account, from, credential string
}

// never is when no look has succeeded.
const never = math.MinInt64 / 2

// share opens the accounts in a log that other processes append to as well.
func (d *Directory) share() (err error) {
	d.shared = &sharing{
		born: time.Now(), own: make(map[ownEntry]bool), unnamed: make(map[string]time.Time),
		looking: lablog.Look[struct{}]{Rest: freshFor},
	}
	d.shared.confirmed.Store(never)
	if d.lab, err = lablog.Open(d.dir, lablog.Options{Now: d.o.Now, Open: d.o.open}); err != nil {
		return err
	}
	began := time.Now()
	if err := d.load(d.limits); err != nil {
		return errors.Join(err, d.lab.Close())
	}
	d.shared.confirm(began)
	d.follow()
	return nil
}

// confirm notes that the state is not older than a time.
func (s *sharing) confirm(at time.Time) { s.confirmed.Store(int64(at.Sub(s.born))) }

// follow folds what other processes append, until the accounts are closed.
func (d *Directory) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	d.shared.end = cancel
	news := make(chan struct{}, 1)
	d.shared.following.Go(func() {
		for ctx.Err() == nil {
			log, _ := d.place()
			for e, err := range log.Follow(ctx, log.Last()) {
				if err != nil {
					break // it was closed, or is damaged: a look opens it again
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
	d.shared.following.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for renewed := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-news:
			case <-tick.C:
			}
			_ = d.look(time.Now()) // who needs the state finds out that it is old
			if time.Since(renewed) >= renewEvery {
				renewed = time.Now()
				_ = d.renewAll(renewed)
			}
		}
	})
}

// place returns the log, and the newest event of the accounts that is folded.
func (d *Directory) place() (events.Store, events.Sequence) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.log, d.last
}

// fresh returns nil where the state is the newest, or was less than a second
// ago.
func (d *Directory) fresh() error {
	if d.shared == nil {
		return nil
	}
	if time.Since(d.shared.born)-time.Duration(d.shared.confirmed.Load()) <= freshFor {
		return nil
	}
	return d.look(time.Now())
}

// catchUp folds what others have appended, as far as that is known now, for
// lists: who has just changed something may ask another process for it.
func (d *Directory) catchUp() {
	if d.shared != nil {
		_ = d.look(time.Now())
	}
}

// look reads the log to its end, unless that was done, or was tried, since a
// time.
func (d *Directory) look(since time.Time) error {
	_, err := d.shared.looking.Since(since, func(began time.Time) (none struct{}, err error) {
		if err = d.readOn(); err == nil {
			d.shared.confirm(began)
		}
		return none, err
	})
	return err
}

// readOn folds what was appended since the newest event that is folded, with the
// values that it names. Nothing else looks meanwhile.
func (d *Directory) readOn() error {
	log, err := d.lab.Store()
	if err != nil {
		return err
	}
	if known, last := d.place(); log != known || d.broken() != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.stopped = d.load(nil); d.stopped != nil {
			d.shared.confirmed.Store(never)
		}
		return d.stopped
	} else if err := d.readAfter(log, last); err != nil {
		return lablog.Fault(err)
	}
	return nil
}

// broken says why there is no state.
func (d *Directory) broken() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.stopped
}

// readAfter folds what was appended after an event.
func (d *Directory) readAfter(log events.Store, last events.Sequence) error {
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
	d.mu.Lock()
	err := d.fold(stored, kept)
	gone := d.letGo()
	d.mu.Unlock()
	if err != nil {
		return err
	}
	// Who appended the events removes them as well, unless it died meanwhile.
	_ = log.SetValuesLazily(ctx, gone...)
	return nil
}

// names are the keys of the values that were written for an entry.
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

// decide makes a change: f decides on it by the state, and commits it. Where
// another process has appended meanwhile it is called again, so that it must
// not do anything else.
func (d *Directory) decide(f func() error) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.shared == nil {
		return f()
	}
	for n := 0; ; n++ {
		if err := d.look(time.Now()); err != nil {
			return err
		}
		_, d.shared.decided = d.place()
		err := f()
		switch {
		case !errors.Is(err, errLate):
			return err
		case n == mostAnew:
			return unavailable(errors.New("they are changed elsewhere all the time: try again"))
		}
	}
}

// commitShared is commit where other processes append to the log.
func (d *Directory) commitShared(c change) error {
	log, err := d.lab.Store()
	if err != nil {
		return err
	}
	if known, _ := d.place(); log != known {
		return errLate // it was opened again, and is read first
	}
	if err := log.Err(); err != nil {
		return unavailable(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	err = d.make(ctx, log, d.shared.decided, c)
	if late := new(events.ConflictError); errors.As(err, &late) {
		return errLate
	}
	if err == nil {
		d.shared.decided += events.Sequence(len(c.entries))
	}
	return err
}

// sure returns what [Directory.session] does, by a state that is fresh. Before
// it answers that a token proves nothing, it looks whether another process knows
// better.
func (d *Directory) sure(token string) (*session, *account, error) {
	if d.shared == nil {
		s, a := d.session(token)
		return s, a, nil
	}
	began := time.Now()
	if err := d.fresh(); err != nil {
		return nil, nil, err
	}
	s, a := d.session(token)
	if s != nil || len(token) != tokenSize {
		return s, a, nil
	}
	if err := d.look(began); err != nil {
		return nil, nil, err
	}
	if err := d.renewSession(token); err != nil {
		return nil, nil, err
	}
	s, a = d.session(token)
	return s, a, nil
}

// renewSession reads when a session was used last, that seems to be over.
func (d *Directory) renewSession(token string) error {
	d.mu.RLock()
	s := d.state.sessions[d.values.sessionOf[keyOf(token)]]
	log := d.log
	d.mu.RUnlock()
	if s == nil {
		return nil
	}
	return d.renew(log, sessionKey+s.Secret)
}

// renew reads values anew.
func (d *Directory) renew(log events.Store, keys ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	for _, key := range keys {
		text, err := log.Value(ctx, key)
		if err != nil {
			return lablog.Fault(err)
		}
		d.mu.Lock()
		err = d.values.put(events.KeyValue{Key: key, Value: text})
		d.mu.Unlock()
		if err != nil {
			return damaged("the value %s cannot be read", key)
		}
	}
	return nil
}

// sureToken is sure for an API token.
func (d *Directory) sureToken(bearer string) (t *token, a *account, why string, err error) {
	if d.shared == nil {
		t, a, why = d.token(bearer)
		return t, a, why, nil
	}
	began := time.Now()
	if err := d.fresh(); err != nil {
		return nil, nil, "", err
	}
	if t, a, why = d.token(bearer); t != nil {
		return t, a, why, nil
	}
	if err := d.look(began); err != nil {
		return nil, nil, "", err
	}
	t, a, why = d.token(bearer)
	return t, a, why, nil
}

// renewAll reads all values anew, and removes those that no event has named for a
// long time.
func (d *Directory) renewAll(now time.Time) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.shared.looking.Apart(func() error { return d.renewNow(now) })
}

// renewNow is renewAll. The caller holds writing, and nothing looks.
func (d *Directory) renewNow(now time.Time) error {
	s := d.shared
	if err := d.readOn(); err != nil {
		return err
	}
	log, _ := d.place()
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
	d.mu.Lock()
	d.values = all
	d.state.forget(all)
	named := d.state.named()
	d.mu.Unlock()
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

// own is how an entry is known again.
func (e Entry) own() ownEntry {
	return ownEntry{e.Kind, e.Time.UnixMicro(), e.Account, e.From, e.Credential}
}

// count counts a failed attempt to log in at another process, and what was
// refused there. Its own it has counted when it was made. The caller holds mu.
func (d *Directory) count(e Entry) {
	s := d.shared
	s.mu.Lock()
	own := s.own[e.own()]
	delete(s.own, e.own())
	s.mu.Unlock()
	if own {
		return
	}
	if e.Kind == KindRefused || e.Kind == KindLoginFailed {
		d.refusals.recorded(e, e.Time, false)
	}
	d.limits.recall(e, d.familiar(e.Account, e.From))
}
