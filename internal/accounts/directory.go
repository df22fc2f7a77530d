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
	"github.com/campaignd/campaignd/internal/clock"
	"github.com/campaignd/campaignd/internal/lablog"
	"github.com/campaignd/campaignd/internal/problem"
)

// Dir is the folder of the lab's log, in which a served folder's accounts are.
func Dir(folder string) string { return lablog.Dir(folder) }

// Options are the settings of a [Directory]. The zero value of each means its
// default.
type Options struct {
	// Now is the clock; [clock.Now] by default.
	Now func() time.Time
	// Idle is how long a session lasts without a request, 8 hours by default,
	// and Lifetime how long it lasts at most, 7 days by default.
	Idle, Lifetime time.Duration
	// MinPassword is the least number of characters of a password, 12 by
	// default.
	MinPassword int
	// TokenLifetime is how long an API token is valid where nothing is said, 90
	// days by default; it is never longer than 366 days.
	TokenLifetime time.Duration
	// Hashing is how many passwords are hashed at once, each of which takes 19
	// MiB; 2 by default. Further ones wait, up to 64 of them.
	Hashing int
	// Passkeys says for which site passkeys are made; nil: there are none.
	Passkeys *Passkeys
	// OIDC is the OpenID Connect issuer of the lab; nil: there is none.
	OIDC *OIDC

	// What tests replace: the parameters of argon2id, and how the accounts open
	// the lab's log.
	params *argon2id.Params
	open   func(folder string) (events.Store, error)
}

// Directory is the accounts of a lab. Its methods may be called from several
// goroutines.
type Directory struct {
	dir string // the address of the lab's log
	o   Options

	// writing is held by a method that changes something, from reading what it
	// depends on until that is on the disk. mu only guards the fields below it,
	// whose values are never changed.
	writing sync.Mutex
	mu      sync.RWMutex

	lab    *lablog.Log
	shared *sharing        // nil where no other process appends to the log
	log    events.Store    // what lab was when the state was made from it
	last   events.Sequence // of the newest event of the accounts
	state  *state
	values *values
	closed bool
	// stopped is why there is no state: it was to be made again from a log
	// whose disk had failed, and could not be.
	stopped error

	// since are the times at which sessions and tokens began, seen those at which
	// sessions were last used, of those that lie ahead.
	since, seen clock.Cuts[string]

	passwords  *passwords
	limits     *limits
	refusals   *refusals
	ceremonies *ceremonies
	relying    *relyingParty
	issuer     *issuer
}

// Open opens the accounts in the lab's log at an address, such as [Dir] or
// [lablog.Address] gives, and makes it where there is none. Close releases it.
// The error is [ErrInUse] where another process has it open, and has the code
// [problem.Damaged] where something is missing that was acknowledged.
func Open(dir string, o Options) (*Directory, error) {
	if o.Now == nil {
		o.Now = clock.Now
	}
	o.Idle = cmp.Or(o.Idle, 8*time.Hour)
	o.Lifetime = cmp.Or(o.Lifetime, 7*24*time.Hour)
	o.MinPassword = cmp.Or(o.MinPassword, 12)
	o.TokenLifetime = min(cmp.Or(o.TokenLifetime, 90*24*time.Hour), longestToken)
	o.Hashing = cmp.Or(o.Hashing, 2)
	d := &Directory{
		dir:        dir,
		o:          o,
		limits:     newLimits(mostCounters),
		refusals:   newRefusals(),
		ceremonies: newCeremonies(),
	}
	var err error
	if d.passwords, err = newPasswords(o); err != nil {
		return nil, err
	}
	// Without passkeys there are passwords. See CheckPasskeys for why.
	if relying, err := newRelyingParty(o.Passkeys); err == nil {
		d.relying = relying
	}
	// Nor with OpenID Connect, where it cannot be used: no one logs in with it then, and those
	// who come in another way may do no more. See CheckOIDC for why.
	if issuer, err := newIssuer(o.OIDC, d.now); err == nil {
		d.issuer = issuer
	}
	if store.InDatabase(dir) {
		if err := d.share(); err != nil {
			return nil, err
		}
		return d, nil
	}
	if d.lab, err = lablog.Open(dir, lablog.Options{Now: o.Now, Open: o.open}); err != nil {
		return nil, err
	}
	if err := d.load(d.limits); err != nil {
		return nil, errors.Join(err, d.lab.Close())
	}
	return d, nil
}

// load makes the state from the lab's log; where limits are given, the counts
// of failed attempts too. The caller holds mu, or is the only one.
func (d *Directory) load(limits *limits) error {
	log, err := d.lab.Store()
	if err != nil {
		return err
	}
	d.log = log
	d.last = 0
	d.state = newState()
	d.values = newValues()
	return d.replay(limits)
}

// replay makes the state from the log. Values that no event names are what a
// process left that ended between writing the two: they are removed. The values
// are looked at after all events, when it is known which of them are named.
func (d *Directory) replay(limits *limits) error {
	ctx := context.Background()
	var attempts attempts
	for e, err := range d.log.ReadCampaign(ctx, Stream, 0) {
		if err != nil {
			return lablog.Fault(err)
		}
		entry, err := entryOf(e)
		if err != nil {
			return lablog.Fault(err)
		}
		d.last = e.Sequence
		d.state.apply(entry)
		attempts.add(entry)
	}
	d.state.released = nil
	named := d.state.named()
	var rubbish []events.KeyValue
	for kv, err := range d.log.Values(ctx, valuesPrefix) {
		if err != nil {
			return lablog.Fault(err)
		}
		if !named[kv.Key] {
			rubbish = append(rubbish, removed(kv.Key))
		} else if err := d.values.put(kv); err != nil {
			return damaged("the value %s cannot be read", kv.Key)
		}
	}
	d.state.forget(d.values)
	if limits != nil {
		d.recall(limits, attempts)
	}
	if d.shared != nil {
		return nil // another process may just be about to name them: see renewAll
	}
	if err := d.log.SetValuesLazily(ctx, rubbish...); err != nil {
		return lablog.Fault(err)
	}
	return nil
}

// Lab returns the lab's log, in which the accounts are. It is closed with them.
func (d *Directory) Lab() *lablog.Log { return d.lab }

// Close releases the accounts, and the lab's log. Requests after it fail.
func (d *Directory) Close() error {
	if d.shared != nil {
		d.shared.end()
		d.shared.following.Wait()
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return errors.Join(d.stopped, d.lab.Close())
}

// Readable says why it is not known who there is, nil where it is.
func (d *Directory) Readable() error {
	if err := d.fresh(); err != nil {
		return err
	}
	return d.broken()
}

// Err says why no change is taken now, nil where changes are.
func (d *Directory) Err() error {
	if err := d.Readable(); err != nil {
		return err
	}
	log, err := d.lab.Store()
	if err != nil {
		return err
	}
	return log.Err()
}

// current returns the log, and the newest event of the accounts in it. It takes
// writing, so that the two belong together.
func (d *Directory) current() (events.Store, events.Sequence, error) {
	if d.shared != nil {
		if err := d.look(time.Now()); err != nil {
			return nil, 0, err
		}
		log, last := d.place()
		return log, last, nil
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	_, err := d.mend()
	return d.log, d.last, err
}

// mend makes the state anew where the lab's log was opened again, because its
// disk had failed and takes writes again: it is not known whether all of the
// state is in it. The caller holds writing.
//
// The counts of failed attempts are left as they are, since they hold more than
// the log: names that are no account's too.
func (d *Directory) mend() (anew bool, err error) {
	if d.closed {
		return false, errClosed()
	}
	log, err := d.lab.Store()
	if err != nil {
		return false, err
	}
	if log == d.log && d.stopped == nil {
		return false, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = d.load(nil)
	return true, d.stopped
}

// The errors of the accounts, for those who ask.

// ErrInUse says that another process holds the accounts.
var ErrInUse = lablog.ErrInUse

// unavailable is a fault of the disk or of the process: trying again may help.
func unavailable(err error) error {
	return problem.New(problem.Unavailable, "the accounts cannot be read or written: %w", err)
}

// damaged is a fault of what is stored, which no repetition mends.
func damaged(format string, args ...any) error {
	return problem.New(
		problem.Damaged,
		"the accounts are damaged: %w; nothing was changed; restore their folder from a copy",
		fmt.Errorf(format, args...),
	)
}

// errClosed is the answer to a request after Close.
func errClosed() error { return unavailable(errors.New("they have been closed")) }

// String names the accounts, and nothing that is in them.
func (d *Directory) String() string { return "the accounts in " + d.dir }

// GoString is String: a directory that is printed for a programmer shows no
// secret either.
func (d *Directory) GoString() string { return d.String() }

// Empty reports whether there is no account yet. Where that is not known there
// is one.
func (d *Directory) Empty() bool { return d.fresh() == nil && d.none() }

// none is Empty as far as the state knows.
func (d *Directory) none() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.stopped == nil && len(d.state.accounts) == 0
}

// now is the time, as it is recorded.
func (d *Directory) now() time.Time { return d.o.Now().UTC().Round(0).Truncate(time.Microsecond) }

// change is what is written at once: values, then the entries that name them.
type change struct {
	values  []events.KeyValue
	entries []Entry
	// lazily leaves it to the system when the values are on the disk, for what
	// may be lost with the process. There are no entries then.
	lazily bool
}

// commit makes a change durable, and then visible. The caller holds writing.
//
// What an entry refers to is written first, under a reference that is new: a
// crash in between leaves a value that nothing names, and replay removes it.
func (d *Directory) commit(c change) error {
	if d.shared != nil {
		return d.commitShared(c)
	}
	anew, err := d.mend()
	if err != nil {
		return err
	}
	if err := d.log.Err(); err != nil {
		return unavailable(err)
	}
	if anew { // what this change was made from may not be what is there
		return unavailable(errors.New(
			"they have just been opened again after their disk had failed: try again"))
	}
	// A change that has begun is not abandoned.
	return d.make(context.Background(), d.log, d.last, c)
}

// make is commit in a log, of a change that was decided on behind an event.
func (d *Directory) make(ctx context.Context, log events.Store, behind events.Sequence, c change) error {
	set := log.SetValues
	if c.lazily {
		set = log.SetValuesLazily
	}
	if len(c.values) > 0 {
		if err := set(ctx, c.values...); err != nil {
			return lablog.Fault(err)
		}
	}
	stored, err := d.append(ctx, log, behind, c.entries)
	if err != nil {
		return lablog.Fault(err)
	}
	d.mu.Lock()
	err = d.fold(stored, c.values)
	gone := d.letGo()
	d.mu.Unlock()
	// One that stays, because the disk fails now, is found when the log is opened
	// again.
	_ = log.SetValuesLazily(ctx, gone...)
	return err
}

// fold takes events into the state, with the values that they name. Those that
// it has are passed over. The caller holds mu.
func (d *Directory) fold(stored []events.Event, kept []events.KeyValue) error {
	for _, kv := range kept {
		if err := d.values.put(kv); err != nil {
			return err
		}
	}
	for _, e := range stored {
		if e.Sequence <= d.last {
			continue
		}
		entry, err := entryOf(e)
		if err != nil {
			return err
		}
		d.last = e.Sequence
		d.state.apply(entry)
		if d.shared != nil {
			d.count(entry)
		}
	}
	d.state.forget(d.values) // as the next opening does
	return nil
}

// append records entries. They are appended at once, so that a change of
// several entries is there whole or not at all, and behind the last event that
// they were decided on: of two writers one is refused.
func (d *Directory) append(
	ctx context.Context, log events.Store, behind events.Sequence, entries []Entry,
) ([]events.Event, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	now := d.now()
	batch := make([]events.Event, len(entries))
	for i, e := range entries {
		e.Time = now
		var err error
		if batch[i], err = e.event(); err != nil {
			return nil, err
		}
	}
	if d.shared != nil {
		d.shared.appends(batch)
	}
	return log.Append(ctx, Stream, behind, batch...)
}

// letGo returns what removes the values that the state has let go. The caller
// holds mu.
func (d *Directory) letGo() []events.KeyValue {
	changes := make([]events.KeyValue, len(d.state.released))
	for i, key := range d.state.released {
		changes[i] = removed(key)
		_ = d.values.put(changes[i]) // only fails for a value that is there
	}
	d.state.released = nil
	return changes
}

// account returns an account, nil where there is none of that name. It must not
// be changed.
func (d *Directory) account(name string) *account {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.state.accounts[name]
}

// addressKey is where a context holds the address of a request.
type addressKey struct{}

// WithAddress returns a context in which the address that a request comes from
// is known, for the audit log.
func WithAddress(ctx context.Context, from string) context.Context {
	return context.WithValue(ctx, addressKey{}, from)
}

// addressOf returns the address of a request, "" where it is not known.
func addressOf(ctx context.Context) string {
	from, _ := ctx.Value(addressKey{}).(string)
	return shown(from)
}

// entry begins an entry about what an identity does.
func (i Identity) entry(ctx context.Context, kind Kind, account string) Entry {
	e := Entry{Kind: kind, By: i.Account, Method: i.Method, From: i.From, Account: account}
	if from := addressOf(ctx); from != "" {
		e.From = from
	}
	return e
}

// mayOrRefuse is May, with the refusal in the audit log.
func (d *Directory) mayOrRefuse(by Identity, p Permission, campaign string) error {
	err := by.May(p, campaign)
	if err != nil {
		d.Refused(by, p, campaign, by.From)
	}
	return err
}

// Refused notes in the audit log that a request was denied. The same refusal is
// noted once a minute, with how often it was repeated. A failure to write is
// not reported: what was asked for has been refused already.
func (d *Directory) Refused(who Identity, p Permission, campaign, from string) {
	d.refuse(Entry{
		Kind: KindRefused, By: who.Account, Method: who.Method, From: shown(from), Credential: who.Credential,
		Permission: p, Campaign: shown(campaign),
	})
}

// refuse records a refusal unless the same was recorded within the last minute.
// The caller may be a stranger: what strangers choose must not make one refusal
// another, or they could fill the log.
func (d *Directory) refuse(e Entry) {
	_ = d.decide(func() error {
		now, due := d.now(), false
		if e.Times, due = d.refusals.due(e, now); !due {
			return nil
		}
		err := d.commit(change{entries: []Entry{e}})
		if !errors.Is(err, errLate) { // else it may be what was recorded meanwhile
			d.refusals.recorded(e, now, true)
		}
		return err
	})
}

// refusals counts those that repeat. Of several servers one records the first, and
// the others know it from the log: each counts what repeats there.
type refusals struct {
	mu   sync.Mutex
	seen map[Entry]*repeated
}

// repeated is a refusal that was recorded at since, and how often it came again.
type repeated struct {
	since time.Time
	times int
}

const (
	mostRefusals   = 1024
	refusalsPeriod = time.Minute
)

// newRefusals has seen none. The counts are lost with the process.
func newRefusals() *refusals { return &refusals{seen: make(map[Entry]*repeated)} }

// due reports whether a refusal is to be recorded now, and how many times it
// happened since the last time that it was; zero for once. One that is not due is
// counted.
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

// recorded notes that a refusal was recorded: here, with what was counted, or by
// another process, which has counted for itself.
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

// of returns what is known of a refusal, by what is the same each time. The
// caller holds mu.
func (r *refusals) of(e Entry) *repeated {
	same := Entry{
		Kind: e.Kind, By: e.By, Method: e.Method, Account: e.Account, Credential: e.Credential,
		Permission: e.Permission, Campaign: e.Campaign, Reason: e.Reason,
		From: networkOf(e.From), // within one, a stranger has as many addresses as they like
	}
	if e.Kind == KindLoginFailed {
		same.Reason = "" // why it failed depends on what was sent
	}
	if r.seen[same] == nil {
		if len(r.seen) >= mostRefusals {
			clear(r.seen) // some may be recorded once more than needed
		}
		r.seen[same] = new(repeated)
	}
	return r.seen[same]
}

// key is the SHA-256 of a random secret, in hexadecimal digits. It is a type of
// its own, so that no secret is looked up, or kept, where its hash belongs.
type key string

// keyOf needs no salt and no slow hash: the secret has 256 random bits.
func keyOf(secret string) key {
	return key(sum([]byte(secret)))
}

// fits refuses a text that is too long, or cannot be shown to people as it is.
// It is for what people enter, where cutting it short would be a surprise; what
// strangers send is cut by shown.
func fits(what, text string, longest int) error {
	if len(text) > longest {
		return problem.New(problem.Invalid, "%s has %d bytes, at most %d are kept", what, len(text), longest)
	}
	if shown(text) != text {
		return problem.New(problem.Invalid, "%s holds a character that cannot be printed: %q", what, text)
	}
	return nil
}

// sorted returns values in the order of a name.
func sorted[T any](values []T, name func(T) string) []T {
	slices.SortFunc(values, func(x, y T) int { return cmp.Compare(name(x), name(y)) })
	return values
}

var _ fmt.GoStringer = (*Directory)(nil)
