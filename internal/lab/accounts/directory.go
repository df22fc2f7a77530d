package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Dir returns the folder of the lab's log, which holds the accounts of a served folder.
func Dir(folder string) string { return lablog.Dir(folder) }

// Options are the settings of a [Directory]. The zero value of each means its
// default.
type Options struct {
	// Now is the clock; [clock.Now] by default.
	Now func() time.Time
	// Idle is the lifetime of a session without requests, 8 hours by default, and Lifetime its
	// total lifetime, 7 days by default.
	Idle, Lifetime time.Duration
	// MinPassword is the minimum number of characters of a password, 12 by default.
	MinPassword int
	// TokenLifetime is the default validity of an API token, 90 days if zero; the maximum is 366
	// days.
	TokenLifetime time.Duration
	// Hashing is the number of passwords hashed at once, at 19 MiB each; 2 by default. Up to 64
	// more wait.
	Hashing int
	// Passkeys is the site of the passkeys; nil disables them.
	Passkeys *Passkeys
	// OIDC is the lab's OpenID Connect issuer; nil without one.
	OIDC *OIDC

	// Tests replace these: the parameters of argon2id, and how the accounts open the lab's log.
	params *argon2id.Params
	open   func(folder string) (events.Store, error)
}

// Directory holds the accounts of a lab. Its methods may be called from several goroutines.
type Directory struct {
	o   Options
	now func() time.Time // in the recorded form

	ledger *ledger
	roster *roster // of the ledger

	passwords  *passwords
	ceremonies *ceremonies
	relying    *relyingParty
	noPasskeys error // why they cannot be used here, nil if they can
	issuer     *issuer
}

// ledger is the part of the lab's log that makes the accounts, with the roster that follows from
// it: it reads and appends.
type ledger struct {
	dir string // the address of the lab's log
	o   Options
	now func() time.Time

	// writing is held by a method that changes something, from reading its preconditions until the
	// change is on the disk.
	writing sync.Mutex

	lab    *lablog.Log
	shared *sharing // nil where no other process appends to the log
	roster *roster
	closed bool

	limits   *limits
	refusals *refusals
}

// roster is who is known now: the state that was read from the log. mu guards the fields below it;
// their values are immutable.
type roster struct {
	o   Options
	now func() time.Time

	mu     sync.RWMutex
	log    events.Store    // that the state was built from
	last   events.Sequence // of the newest event of the accounts
	state  *state
	values *values
	// stopped is the reason for a missing state: the log was reopened after its disk had failed,
	// and rebuilding the state failed.
	stopped error

	// since holds the start times of sessions and tokens that lie in the future, seen their last
	// uses that do.
	since, seen clock.Cuts[string]
}

// Open opens the accounts in the lab's log at an address, as returned by [Dir] or [lablog.Address],
// and creates them if missing. Close releases it. The error is [ErrInUse] if another process has it
// open, and has the code [problem.Damaged] if acknowledged data are missing.
func Open(dir string, o Options) (*Directory, error) {
	if o.Now == nil {
		o.Now = clock.Now
	}
	o.Idle = cmp.Or(o.Idle, 8*time.Hour)
	o.Lifetime = cmp.Or(o.Lifetime, 7*24*time.Hour)
	o.MinPassword = cmp.Or(o.MinPassword, 12)
	o.TokenLifetime = min(cmp.Or(o.TokenLifetime, 90*24*time.Hour), longestToken)
	o.Hashing = cmp.Or(o.Hashing, 2)
	now := func() time.Time { return o.Now().UTC().Round(0).Truncate(time.Microsecond) }
	r := &roster{o: o, now: now}
	l := &ledger{
		dir: dir, o: o, now: now, roster: r, limits: newLimits(mostCounters), refusals: newRefusals(),
	}
	d := &Directory{o: o, now: now, ledger: l, roster: r, ceremonies: newCeremonies(l)}
	var err error
	if d.passwords, err = newPasswords(o); err != nil {
		return nil, err
	}
	// Without usable passkeys people log in with passwords.
	if d.relying, err = newRelyingParty(o.Passkeys); err != nil {
		d.noPasskeys = problem.New(problem.NotPossible, "there are no passkeys here: %w", err).
			With(problem.Remedy{Text: "log in with a password", Action: problem.LogIn})
	}
	// The same for unusable OpenID Connect: no one can log in with it, and other logins gain
	// nothing. CheckOIDC gives the reason.
	if issuer, err := newIssuer(o.OIDC, now); err == nil {
		d.issuer = issuer
	}
	if err := l.open(store.InDatabase(dir)); err != nil {
		return nil, err
	}
	return d, nil
}

// open opens the lab's log. Other processes append to one in a database.
func (l *ledger) open(shared bool) (err error) {
	if shared {
		l.shared = newSharing()
	}
	if l.lab, err = lablog.Open(l.dir, lablog.Options{Now: l.o.Now, Open: l.o.open}); err != nil {
		return err
	}
	began := time.Now()
	if err := l.load(l.limits); err != nil {
		return errors.Join(err, l.lab.Close())
	}
	if shared {
		l.shared.confirm(began)
		l.follow()
	}
	return nil
}

// load builds the state from the lab's log; with limits, the counts of failed attempts too. The
// caller holds mu, or is alone.
func (l *ledger) load(limits *limits) error {
	log, err := l.lab.Store()
	if err != nil {
		return err
	}
	l.roster.log = log
	l.roster.last = 0
	l.roster.state = newState()
	l.roster.values = newValues()
	return l.replay(limits)
}

// replay builds the state from the log. It removes unreferenced values, which a process leaves that
// dies between writing a value and its event. Values are examined after all events, when all
// references are known.
func (l *ledger) replay(limits *limits) error {
	ctx := context.Background()
	var attempts attempts
	for e, err := range l.roster.log.ReadCampaign(ctx, Stream, 0) {
		if err != nil {
			return lablog.Fault(err)
		}
		entry, err := entryOf(e)
		if err != nil {
			return lablog.Fault(err)
		}
		l.roster.last = e.Sequence
		l.roster.state.apply(entry)
		attempts.add(entry)
	}
	l.roster.state.released = nil
	named := l.roster.state.named()
	var rubbish []events.KeyValue
	for kv, err := range l.roster.log.Values(ctx, valuesPrefix) {
		if err != nil {
			return lablog.Fault(err)
		}
		if !named[kv.Key] {
			rubbish = append(rubbish, removed(kv.Key))
		} else if err := l.roster.values.put(kv); err != nil {
			return damaged("the value %s cannot be read", kv.Key)
		}
	}
	l.roster.state.forget(l.roster.values)
	if limits != nil {
		l.recall(limits, attempts)
	}
	if l.shared != nil {
		return nil // another process may just be about to name them: see renewAll
	}
	if err := l.roster.log.SetValuesLazily(ctx, rubbish...); err != nil {
		return lablog.Fault(err)
	}
	return nil
}

// Lab returns the lab's log, which holds the accounts. Close closes it too.
func (d *Directory) Lab() *lablog.Log { return d.ledger.lab }

// Close releases the accounts, and the lab's log. Requests after it fail.
func (d *Directory) Close() error { return d.ledger.close() }

func (l *ledger) close() error {
	if l.shared != nil {
		l.shared.end()
		l.shared.following.Wait()
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return errors.Join(l.roster.broken(), l.lab.Close())
}

// Readable says why the accounts cannot be read, nil if they can.
func (d *Directory) Readable() error { return cmp.Or(d.ledger.fresh(), d.roster.broken()) }

// Err says why changes are refused now, nil if they are accepted.
func (d *Directory) Err() error {
	if err := d.Readable(); err != nil {
		return err
	}
	log, err := d.ledger.lab.Store()
	if err != nil {
		return err
	}
	return log.Err()
}

// current returns the log and the newest account event in it. It takes writing, so that the two are
// consistent.
func (l *ledger) current() (events.Store, events.Sequence, error) {
	if l.shared != nil {
		if err := l.look(time.Now()); err != nil {
			return nil, 0, err
		}
		log, last := l.roster.place()
		return log, last, nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.mend()
	return l.roster.log, l.roster.last, err
}

// mend rebuilds the state after the lab's log was reopened because its disk had failed and accepts
// writes again: the state may hold changes that never reached the disk. The caller holds writing.
//
// The counts of failed attempts stay, since they hold more than the log: unknown names too.
func (l *ledger) mend() (anew bool, err error) {
	if l.closed {
		return false, errClosed()
	}
	log, err := l.lab.Store()
	if err != nil {
		return false, err
	}
	if log == l.roster.log && l.roster.stopped == nil {
		return false, nil
	}
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	l.roster.stopped = l.load(nil)
	return true, l.roster.stopped
}

// Errors of the accounts, for callers.

// ErrInUse means that another process holds the accounts.
var ErrInUse = lablog.ErrInUse

// unavailable is a fault of the disk or of the process: a retry may help.
func unavailable(err error) error {
	return problem.New(problem.Unavailable, "the accounts cannot be read or written: %w", err)
}

// damaged is a fault of the stored data; a retry cannot help.
func damaged(format string, args ...any) error {
	return problem.New(
		problem.Damaged,
		"the accounts are damaged: %w; nothing was changed; restore their folder from a copy",
		fmt.Errorf(format, args...),
	)
}

// errClosed is the answer to a request after Close.
func errClosed() error { return unavailable(errors.New("they have been closed")) }

// String names the accounts and none of their contents.
func (d *Directory) String() string { return "the accounts in " + d.ledger.dir }

// GoString is String, so that %#v prints no secret either.
func (d *Directory) GoString() string { return d.String() }

// Empty reports whether there are no accounts yet. If that is unknown, it assumes that there are.
func (d *Directory) Empty() bool { return d.ledger.fresh() == nil && d.roster.none() }

// none is Empty for the present state.
func (r *roster) none() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.stopped == nil && len(r.state.accounts) == 0
}

// change is written as a whole: values, then the entries that refer to them.
type change struct {
	values  []events.KeyValue
	entries []Entry
	// lazily lets the operating system write the values to the disk later, for values that may be
	// lost with the process. Such a change has no entries.
	lazily bool
}

// commit makes a change durable, and then visible. The caller holds writing.
//
// The values are written first, under new references: a crash in between leaves an unreferenced
// value, which replay removes.
func (l *ledger) commit(c change) error {
	if l.shared != nil {
		return l.commitShared(c)
	}
	anew, err := l.mend()
	if err != nil {
		return err
	}
	if err := l.roster.log.Err(); err != nil {
		return unavailable(err)
	}
	if anew { // the change was decided on the old state
		return unavailable(errors.New(
			"they have just been opened again after their disk had failed: try again"))
	}
	// A change that has begun is not abandoned.
	return l.make(context.Background(), l.roster.log, l.roster.last, c)
}

// make commits a change to a log, provided that behind is still the newest event.
func (l *ledger) make(ctx context.Context, log events.Store, behind events.Sequence, c change) error {
	set := log.SetValues
	if c.lazily {
		set = log.SetValuesLazily
	}
	if len(c.values) > 0 {
		if err := set(ctx, c.values...); err != nil {
			return lablog.Fault(err)
		}
	}
	stored, err := l.append(ctx, log, behind, c.entries)
	if err != nil {
		return lablog.Fault(err)
	}
	l.roster.mu.Lock()
	err = l.fold(stored, c.values)
	gone := l.roster.letGo()
	l.roster.mu.Unlock()
	// If the disk fails now, a leftover value is removed when the log is next opened.
	_ = log.SetValuesLazily(ctx, gone...)
	return err
}

// fold applies events, with the values they refer to, to the state. It skips events already
// applied. The caller holds mu.
func (l *ledger) fold(stored []events.Event, kept []events.KeyValue) error {
	for _, kv := range kept {
		if err := l.roster.values.put(kv); err != nil {
			return err
		}
	}
	for _, e := range stored {
		if e.Sequence <= l.roster.last {
			continue
		}
		entry, err := entryOf(e)
		if err != nil {
			return err
		}
		l.roster.last = e.Sequence
		l.roster.state.apply(entry)
		if l.shared != nil {
			l.count(entry)
		}
	}
	l.roster.state.forget(l.roster.values) // as the next opening does
	return nil
}

// append records entries, all in one append, so that a change of several entries is stored whole or
// not at all, and conditionally on the event they were decided on: of two concurrent writers one is
// refused.
func (l *ledger) append(
	ctx context.Context, log events.Store, behind events.Sequence, entries []Entry,
) ([]events.Event, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	now := l.now()
	batch := make([]events.Event, len(entries))
	for i, e := range entries {
		e.Time = now
		var err error
		if batch[i], err = e.event(); err != nil {
			return nil, err
		}
	}
	if l.shared != nil {
		l.shared.appends(batch)
	}
	return log.Append(ctx, Stream, behind, batch...)
}

// letGo returns the deletions of the values that the state has released. The caller holds mu.
func (r *roster) letGo() []events.KeyValue {
	changes := make([]events.KeyValue, len(r.state.released))
	for i, key := range r.state.released {
		changes[i] = removed(key)
		_ = r.values.put(changes[i]) // only fails for a value that is there
	}
	r.state.released = nil
	return changes
}

// account returns the account of that name, or nil. The result must not be modified.
func (r *roster) account(name string) *account {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.state.accounts[name]
}

// addressKey is the context key of a request's address.
type addressKey struct{}

// WithAddress returns a context that holds the address of a request, for the audit log.
func WithAddress(ctx context.Context, from string) context.Context {
	return context.WithValue(ctx, addressKey{}, from)
}

// addressOf returns the address of a request, "" if unknown.
func addressOf(ctx context.Context) string {
	from, _ := ctx.Value(addressKey{}).(string)
	return shown(from)
}

// entry begins an entry about an act of an identity.
func (i Identity) entry(ctx context.Context, kind Kind, account string) Entry {
	e := Entry{Kind: kind, By: i.Account, Method: i.Method, From: i.From, Account: account}
	if from := addressOf(ctx); from != "" {
		e.From = from
	}
	return e
}

// mayOrRefuse is May that records a refusal in the audit log.
func (d *Directory) mayOrRefuse(by Identity, p Permission, campaign string) error {
	err := by.May(p, campaign)
	if err != nil {
		d.Refused(by, p, campaign, by.From)
	}
	return err
}

// Refused records a denied request in the audit log. The same refusal is recorded once a minute,
// with its count. A write error is not reported: the request has been refused already.
func (d *Directory) Refused(who Identity, p Permission, campaign, from string) {
	d.ledger.refuse(Entry{
		Kind: KindRefused, By: who.Account, Method: who.Method, From: shown(from), Credential: who.Credential,
		Permission: p, Campaign: shown(campaign),
	})
}

// refuse records a refusal unless the same was recorded within the last minute. The caller may be a
// stranger: nothing a stranger chooses may make two refusals different, or strangers could fill the
// log.
func (l *ledger) refuse(e Entry) {
	_ = l.decide(func() error {
		now, due := l.now(), false
		if e.Times, due = l.refusals.due(e, now); !due {
			return nil
		}
		err := l.commit(change{entries: []Entry{e}})
		if !errors.Is(err, errLate) { // else another process recorded it meanwhile
			l.refusals.recorded(e, now, true)
		}
		return err
	})
}

// refusals counts repeated refusals. Of several servers one records the first, and the others learn
// of it from the log: each counts its own repetitions.
type refusals struct {
	mu   sync.Mutex
	seen map[Entry]*repeated
}

// repeated is a refusal recorded at since, and the number of repetitions.
type repeated struct {
	since time.Time
	times int
}

const (
	mostRefusals   = 1024
	refusalsPeriod = time.Minute
)

// newRefusals starts empty. The counts are lost with the process.
func newRefusals() *refusals { return &refusals{seen: make(map[Entry]*repeated)} }

// due reports whether a refusal is to be recorded now, and how often it happened since it was last
// recorded; zero for once. A refusal that is not due is counted.
func (r *refusals) due(e Entry, now time.Time) (times int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.of(e)
	s.since = clock.Within(s.since, now, 0) // else none would be recorded until then
	switch {
	case !s.since.IsZero() && now.Sub(s.since) < refusalsPeriod:
		s.times++
		return 0, false
	case s.times > 0:
		times = s.times + 1
	}
	return times, true
}

// recorded notes that a refusal was recorded: here, with its count, or by another process, which
// keeps its own count.
func (r *refusals) recorded(e Entry, at time.Time, here bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.of(e)
	if at.After(s.since) {
		s.since = at
	}
	if here {
		s.times = 0
	}
}

// of returns the count of a refusal, keyed by the fields that repetitions share. The caller holds
// mu.
func (r *refusals) of(e Entry) *repeated {
	same := Entry{
		Kind: e.Kind, By: e.By, Method: e.Method, Account: e.Account, Credential: e.Credential,
		Permission: e.Permission, Campaign: e.Campaign, Reason: e.Reason,
		From: networkOf(e.From), // within one network, a stranger has any number of addresses
	}
	if e.Kind == KindLoginFailed {
		same.Reason = "" // why it failed depends on what was sent
	}
	if r.seen[same] == nil {
		if len(r.seen) >= mostRefusals {
			clear(r.seen) // some may be recorded once more than necessary
		}
		r.seen[same] = new(repeated)
	}
	return r.seen[same]
}

// key is the SHA-256 of a random secret, in hexadecimal. It is a type of its own, so that a secret
// cannot be looked up or stored in place of its hash.
type key string

// keyOf needs no salt and no slow hash: the secret has 256 random bits.
func keyOf(secret string) key {
	return key(sum([]byte(secret)))
}

// fits refuses a text that is too long or not printable. It is for input of people, who would be
// surprised by truncation; texts of strangers are truncated by shown.
func fits(what, text string, longest int) error {
	if len(text) > longest {
		return problem.New(problem.Invalid, "%s has %d bytes, at most %d are kept", what, len(text), longest)
	}
	if shown(text) != text {
		return problem.New(problem.Invalid, "%s holds a character that cannot be printed: %q", what, text)
	}
	return nil
}

// sorted returns values ordered by name.
func sorted[T any](values []T, name func(T) string) []T {
	slices.SortFunc(values, func(x, y T) int { return cmp.Compare(name(x), name(y)) })
	return values
}

var _ fmt.GoStringer = (*Directory)(nil)
