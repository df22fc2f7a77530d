package accounts

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/internal/guardfs"
	"github.com/campaignd/campaignd/internal/problem"
)

// Dir is the folder of a served folder's accounts.
func Dir(folder string) string { return filepath.Join(folder, ".campaignd", "accounts") }

// Options are the settings of a [Book]. The zero value of each means its default.
type Options struct {
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Idle is how long a session lasts without a request, 8 hours by default, and Lifetime how
	// long it lasts at most, 7 days by default.
	Idle, Lifetime time.Duration
	// MinPassword is the least number of characters of a password, 12 by default.
	MinPassword int
	// TokenLifetime is how long an API token is valid where nothing is said, 90 days by
	// default; it is never longer than 366 days.
	TokenLifetime time.Duration
	// Hashing is how many passwords are hashed at once, each of which takes 19 MiB; 2 by
	// default. Further ones wait, up to 64 of them.
	Hashing int
	// Passkeys says for which site passkeys are made; nil: there are none.
	Passkeys *Passkeys
	// OIDC is the OpenID Connect issuer of the lab; nil: there is none.
	OIDC *OIDC

	// What tests replace: the parameters of argon2id, and the file system.
	params *argon2id.Params
	files  vfs.FS
}

// Book is the accounts of a folder. Its methods may be called from several goroutines.
type Book struct {
	dir   string
	o     Options
	store *store

	// writing is held by whoever changes something, from reading what it depends on until
	// that is on the disk. mu only guards the maps, whose values are never changed.
	writing sync.Mutex
	mu      sync.RWMutex

	accounts map[string]*account
	sessions map[key]*Session
	tokens   map[key]*Token
	trail    head

	// reading is held by whoever reads the database, and by Close.
	reading sync.RWMutex
	closed  bool
	// stopped is why the book has no database: it was to be opened again after its disk had failed,
	// and could not be.
	stopped error

	passwords  *passwords
	limits     *limits
	refusals   *refusals
	ceremonies *ceremonies
	relying    *relyingParty
	issuer     *issuer
}

// Open opens the book in a folder, such as [Dir] gives, and makes it where there is none. Close
// releases it. The error is [ErrInUse] where another process has it open, and has the code
// [problem.Damaged] where something is missing that was acknowledged.
func Open(dir string, o Options) (*Book, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Idle = cmp.Or(o.Idle, 8*time.Hour)
	o.Lifetime = cmp.Or(o.Lifetime, 7*24*time.Hour)
	o.MinPassword = cmp.Or(o.MinPassword, 12)
	o.TokenLifetime = min(cmp.Or(o.TokenLifetime, 90*24*time.Hour), longestToken)
	o.Hashing = cmp.Or(o.Hashing, 2)
	if o.files == nil {
		o.files = vfs.Default
	}
	b := &Book{
		dir: dir, o: o,
		accounts: make(map[string]*account), sessions: make(map[key]*Session), tokens: make(map[key]*Token),
		limits: newLimits(mostCounters), refusals: newRefusals(), ceremonies: newCeremonies(),
	}
	var err error
	if b.passwords, err = newPasswords(o); err != nil {
		return nil, err
	}
	if b.relying, err = newRelyingParty(o.Passkeys); err != nil {
		return nil, err
	}
	if b.issuer, err = newIssuer(o.OIDC, b.now); err != nil {
		return nil, err
	}
	if b.store, err = openStore(dir, o.files); err != nil {
		return nil, err
	}
	err = b.load()
	if err == nil {
		err = b.recall()
	}
	if err != nil {
		return nil, errors.Join(err, b.store.close())
	}
	return b, nil
}

// load reads everything but the audit trail.
func (b *Book) load() (err error) {
	db := b.store.db
	if _, b.trail, err = storedHead(db); err != nil {
		return err
	}
	if err := scan(db, accountPrefix, func(_, value []byte) error {
		a := new(account)
		b.accounts[""] = a // until its name is known
		if err := json.Unmarshal(value, a); err != nil {
			return err
		}
		delete(b.accounts, "")
		b.accounts[a.Name] = a
		return nil
	}); err != nil {
		return err
	}
	if err := scan(db, sessionPrefix, func(at, value []byte) error {
		s := new(Session)
		b.sessions[key(at)] = s
		return json.Unmarshal(value, s)
	}); err != nil {
		return err
	}
	return scan(db, tokenPrefix, func(at, value []byte) error {
		t := new(Token)
		b.tokens[key(at)] = t
		return json.Unmarshal(value, t)
	})
}

// Close releases the book. Requests after it fail.
func (b *Book) Close() error {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.reading.Lock()
	defer b.reading.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	if b.stopped != nil {
		return b.stopped
	}
	return b.store.close()
}

// Err says why the book takes nothing now, nil where it does.
func (b *Book) Err() error {
	b.reading.RLock()
	defer b.reading.RUnlock()
	if b.stopped != nil {
		return b.stopped
	}
	return b.store.guard.Err()
}

// mend opens the database again once its disk takes writes, after it had failed. What is in it is
// compared with its head, as after a crash, and read anew. The caller holds writing.
func (b *Book) mend() error {
	if b.stopped == nil && guardfs.Probe(b.o.files, b.dir) != nil {
		return unavailable(b.store.guard.Err())
	}
	b.reading.Lock()
	defer b.reading.Unlock()
	if b.stopped == nil {
		_ = b.store.close() // it says again what failed
	}
	store, err := openStore(b.dir, b.o.files)
	if err == nil {
		b.store = store
		b.mu.Lock()
		b.accounts, b.sessions, b.tokens = make(map[string]*account), make(map[key]*Session), make(map[key]*Token)
		err = b.load()
		b.mu.Unlock()
		if err != nil {
			err = errors.Join(err, store.close())
		}
	}
	b.stopped = err
	return err
}

// errClosed is the answer to whoever comes after Close.
func errClosed() error { return unavailable(errors.New("they have been closed")) }

// String names the book, and nothing that is in it.
func (b *Book) String() string { return "the accounts in " + b.dir }

// GoString is String: a book that is printed for a programmer shows no secret either.
func (b *Book) GoString() string { return b.String() }

// Empty reports whether there is no account yet.
func (b *Book) Empty() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.accounts) == 0
}

// now is the time, as it is recorded.
func (b *Book) now() time.Time { return b.o.Now().UTC().Round(0).Truncate(time.Microsecond) }

// change is what is written at once. Values that are nil are removed.
type change struct {
	accounts map[string]*account
	sessions map[key]*Session
	tokens   map[key]*Token
	entries  []Entry
	// lazily leaves it to the system when this is on the disk, for what may be lost with the
	// process.
	lazily bool
}

// commit makes a change durable, and then visible. The caller holds writing.
func (b *Book) commit(c change) error {
	if b.closed {
		return errClosed()
	}
	if b.stopped != nil || b.store.guard.Err() != nil {
		if err := b.mend(); err != nil {
			return err
		}
		// What this change was made from may not be what is there.
		return unavailable(errors.New("they have just been opened again after their disk had failed: try again"))
	}
	batch := b.store.db.NewBatch()
	var faults []error
	put := func(at string, value any, remove bool) {
		if remove {
			faults = append(faults, batch.Delete([]byte(at), nil))
			return
		}
		text, err := json.Marshal(value)
		faults = append(faults, err, batch.Set([]byte(at), text, nil))
	}
	for name, a := range c.accounts {
		put(accountPrefix+name, a, a == nil)
	}
	for at, s := range c.sessions {
		put(sessionPrefix+string(at), s, s == nil)
	}
	for at, t := range c.tokens {
		put(tokenPrefix+string(at), t, t == nil)
	}
	trail, now := b.trail, b.now()
	for _, e := range c.entries {
		e.Time = now
		value, next, err := trail.chain(e)
		faults = append(faults, err, batch.Set([]byte(entryKey(next.number)), value, nil))
		trail = next
	}
	if len(c.entries) > 0 {
		faults = append(faults, batch.Set([]byte(headKey), trail.bytes(), nil))
	}
	if err := errors.Join(faults...); err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := b.store.write(batch, trail, !c.lazily); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trail = trail
	replace(b.accounts, c.accounts)
	replace(b.sessions, c.sessions)
	replace(b.tokens, c.tokens)
	return nil
}

func replace[K comparable, V any](all, changed map[K]*V) {
	for k, v := range changed {
		if v == nil {
			delete(all, k)
		} else {
			all[k] = v
		}
	}
}

// account returns an account, nil where there is none of that name. It must not be changed.
func (b *Book) account(name string) *account {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.accounts[name]
}

// addressKey is where a context holds the address of a request.
type addressKey struct{}

// WithAddress returns a context in which the address that a request comes from is known, for
// the audit trail.
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

// mayOrRefuse is May, with the refusal in the audit trail.
func (b *Book) mayOrRefuse(by Identity, p Permission, campaign string) error {
	err := by.May(p, campaign)
	if err != nil {
		b.Refused(by, p, campaign, by.From)
	}
	return err
}

// Refused notes in the audit trail that somebody was denied something. The same refusal is
// noted once a minute, with how often it was repeated. A failure to write is not reported:
// what was asked for has been refused already.
func (b *Book) Refused(who Identity, p Permission, campaign, from string) {
	b.refuse(Entry{
		Kind: KindRefused, By: who.Account, Method: who.Method, From: shown(from), Credential: who.Credential,
		Permission: p, Campaign: shown(campaign),
	})
}

// refuse records a refusal unless the same was recorded within the last minute. Whoever asks may
// be nobody: what they are told apart by must not be theirs to choose.
func (b *Book) refuse(e Entry) {
	b.writing.Lock()
	defer b.writing.Unlock()
	var due bool
	if e.Times, due = b.refusals.due(e, b.now()); due {
		_ = b.commit(change{entries: []Entry{e}})
	}
}

// refusals counts those that repeat. It is used by whoever holds writing.
type refusals struct{ seen map[Entry]*repeated }

type repeated struct {
	since time.Time
	times int
}

const (
	mostRefusals   = 1024
	refusalsPeriod = time.Minute
)

func newRefusals() *refusals { return &refusals{seen: make(map[Entry]*repeated)} }

// due reports whether a refusal is to be recorded now, and how many times it happened since
// the last time that it was; zero for once.
func (r *refusals) due(e Entry, now time.Time) (times int, due bool) {
	e.From = networkOf(e.From) // within one, everybody has as many addresses as they like
	if e.Kind == KindLoginFailed {
		e.Reason = "" // why it failed depends on what was sent
	}
	if s := r.seen[e]; s != nil && now.Sub(s.since) < refusalsPeriod {
		s.times++
		return 0, false
	} else if s != nil && s.times > 0 {
		times = s.times + 1
	}
	if len(r.seen) >= mostRefusals {
		clear(r.seen) // some may be recorded once more than needed
	}
	r.seen[e] = &repeated{since: now}
	return times, true
}

// key is the SHA-256 of a random secret, in hexadecimal digits.
type key string

func keyOf(secret string) key {
	hash := sum([]byte(secret))
	return key(hex.EncodeToString(hash[:]))
}

// fits refuses a text that is too long, or cannot be shown to people as it is.
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

var _ fmt.GoStringer = (*Book)(nil)
