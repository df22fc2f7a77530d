package accounts

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Login attempts with a password are counted by account, by address, and by both. After some
// failures each further one doubles the delay until the next attempt is accepted, up to a bound. So
// guessing is slow, and no one is locked out for long.
//
// A stranger's failures must not lock a person out for ever: the counts of the account and of the
// address do not apply to an address from which that person has logged in before; only failures
// with this account from this address do. Passkeys and OpenID Connect are not counted, since there
// is nothing to guess, sessions continue, and an admin can reset the counts ([Directory.Unlock]).
// Unknown names are counted as well, so that a lockout does not reveal which names exist. The
// counts are kept in memory. When the accounts are opened, the counts are rebuilt from the audit
// log, except those of unknown names, which the log does not hold: for these only the addresses
// count. Each of several servers counts the failures at the others in the same way, once they are
// in the log, where unknown names appear as their buckets ([Directory.bucket]): each server accepts
// simultaneous attempts at all of them as if it were alone, but not the attempts that follow.
var limitOf = map[counted]struct {
	free    int           // failures without a delay
	longest time.Duration // the longest delay
}{
	ofAccount: {5, 5 * time.Minute},
	ofAddress: {20, 15 * time.Minute},
	ofBoth:    {5, 15 * time.Minute},
}

// counted is the key of failure counts: account, address or both.
type counted byte

const (
	ofAccount counted = 'n'
	ofAddress counted = 'a'
	ofBoth    counted = 'b'
)

const (
	// forgetAfter is the time after the last failure and its delay at which a count starts anew.
	forgetAfter = time.Hour
	// mostCounters bounds the memory of counts to a few megabytes. Past it, the counts unused for
	// longest are forgotten.
	mostCounters = 16384
)

// TooSoonError is the reason for a login that was not tried. The error that wraps it has the code
// [problem.TooMany].
type TooSoonError struct {
	// Wait is the time until the next attempt is accepted.
	Wait time.Duration
}

// Error says at least a second: “in 0s” would invite the next attempt.
func (e *TooSoonError) Error() string {
	return fmt.Sprintf(
		"after several failed attempts the next one is heard in %s",
		max(e.Wait.Round(time.Second), time.Second),
	)
}

// limits holds the counts. The methods may be called from several goroutines.
type limits struct {
	mu     sync.Mutex
	most   int
	counts map[[32]byte]*list.Element
	oldest *list.List // of *count, the one touched last at the back
}

// count holds the failures of one account, address or both. It stores hashes instead of names and
// addresses, so that its size is bounded whatever is typed.
type count struct {
	at       [32]byte
	name     [32]byte // where the account's failures are counted; zero for an address
	failures int
	last     time.Time // the last failure
	until    time.Time // attempts before are refused
	longest  time.Duration
	noted    bool // the lockout is in the audit log
}

// newLimits keeps at most that many counts.
func newLimits(most int) *limits {
	return &limits{most: most, counts: make(map[[32]byte]*list.Element), oldest: list.New()}
}

// attempt is a login attempt, which counts as failed until it succeeds. It ends in
// [attempt.succeeded], in [attempt.withdrawn] if it was not made, or in neither, which leaves it
// failed.
type attempt struct {
	limits *limits
	at     []counter
	now    time.Time
}

// counter is a count and its key.
type counter struct {
	by       counted
	at, name [32]byte
}

// countersOf returns the counters of an attempt; that of account and address comes first. succeeded
// relies on that order.
func countersOf(name, from string, familiar bool) []counter {
	network := networkOf(from)
	own, both := at(ofAccount, name), at(ofBoth, name+"\x00"+network)
	own.name, both.name = own.at, own.at
	if familiar {
		return []counter{both}
	}
	return []counter{both, own, at(ofAddress, network)}
}

// begin counts an attempt as failed, so that concurrent attempts cannot evade the limits, unless it
// comes too soon. familiar means that the person has logged in from the address before. first is
// true of the first attempt that is refused since the last accepted one.
func (l *limits) begin(
	now time.Time, name, from string, familiar bool,
) (a *attempt, wait time.Duration, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a = &attempt{limits: l, at: countersOf(name, from, familiar), now: now}
	first = true
	for _, k := range a.at {
		if c := l.count(k.at, now); c != nil && now.Before(c.until) {
			wait = max(wait, c.until.Sub(now))
			first = first && !c.noted
			c.noted = true
		}
	}
	if wait > 0 {
		return nil, wait, first
	}
	for _, k := range a.at {
		l.fail(k, now)
	}
	return a, 0, false
}

// recall counts, later, an attempt recorded in the audit log. familiar is as in begin.
func (l *limits) recall(e Entry, familiar bool) {
	if !e.counts() {
		return
	}
	if e.Kind == KindUnlocked || e.Kind == KindPasswordSet {
		l.forget(e.Account)
		return
	}
	name := e.Account
	if e.facts != nil && e.facts.Bucket != "" {
		name = bucketName(e.facts.Bucket)
	}
	a := attempt{limits: l, at: countersOf(name, e.From, familiar), now: e.Time}
	l.mu.Lock()
	for _, k := range a.at {
		if k.by == ofAddress || name != "" {
			l.fail(k, e.Time)
		}
	}
	l.mu.Unlock()
	if e.Kind != KindLoginFailed {
		a.succeeded()
	}
}

// bucketName stands for the names of a bucket that share a count. No account can have this name.
func bucketName(bucket string) string { return "bucket " + bucket }

// counts reports whether an entry records a password attempt, or a reset of the earlier ones.
func (e Entry) counts() bool {
	switch e.Kind {
	case KindUnlocked, KindPasswordSet:
		return true
	case KindLoginFailed, KindLogin, KindConfirmed:
		return e.Method == ByPassword
	}
	return false
}

// Bounds on the part of the audit log searched for failed attempts: after a day of the longest
// delays a count has long reached its limit. Entries about other things are not counted: however
// many there are, they cannot push attempts out.
const (
	recallFor  = 24 * time.Hour
	mostRecall = 20_000 // relevant entries
)

// attempts holds the newest relevant entries, the oldest first.
type attempts []Entry

// add keeps the newest, up to twice as many as needed.
func (all *attempts) add(e Entry) {
	if !e.counts() {
		return
	}
	if len(*all) >= 2*mostRecall { // rarely, so that adding one costs little
		*all = append((*all)[:0], (*all)[mostRecall:]...)
	}
	*all = append(*all, e)
}

// recall rebuilds the counts of failed attempts.
func (l *ledger) recall(limits *limits, all attempts) {
	now := l.now()
	for _, e := range all[max(0, len(all)-mostRecall):] {
		if now.Sub(e.Time) <= recallFor {
			limits.recall(e, l.roster.familiar(e.Account, e.From))
		}
	}
}

// succeeded takes the attempt back. It forgets the account's failures, and the address's failures
// with this account only: otherwise logging in to one's own account would allow guessing at others.
func (a *attempt) succeeded() {
	l := a.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	own := 1
	if both := l.count(a.at[0].at, a.now); both != nil {
		own = both.failures
	}
	for _, k := range a.at {
		if k.by != ofAddress {
			l.drop(k.at)
		} else if c := l.count(k.at, a.now); c != nil {
			if c.failures -= own; c.failures <= 0 {
				l.drop(k.at)
			} else if c.failures <= limitOf[ofAddress].free {
				c.until = time.Time{}
			}
		}
	}
}

// withdrawn takes back an attempt that was not made, such as a request that ended before its turn
// to be hashed: nothing was learned about the password.
func (a *attempt) withdrawn() {
	l := a.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range a.at {
		if c := l.count(k.at, a.now); c != nil {
			if c.failures--; c.failures <= 0 {
				l.drop(k.at)
			} else {
				c.until = time.Time{}
			}
		}
	}
}

// forget forgets the failures with an account, from any address; with an empty name those of all
// accounts and addresses. It scans all counts, which is rare enough.
func (l *limits) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name == "" {
		clear(l.counts)
		l.oldest.Init()
		return
	}
	for k, e := range l.counts {
		if e.Value.(*count).name == at(ofAccount, name).at {
			l.drop(k)
		}
	}
}

// count returns a count, or nil if it has expired. Expired counts are dropped here, on access;
// nothing else sweeps them. A clock that was set back makes no delay longer than the longest. The
// caller holds mu.
func (l *limits) count(at [32]byte, now time.Time) *count {
	e := l.counts[at]
	if e == nil {
		return nil
	}
	c := e.Value.(*count)
	c.last = clock.Within(c.last, now, 0)
	c.until = clock.Within(c.until, now, c.longest)
	since := c.last
	if c.until.After(since) {
		since = c.until
	}
	if now.Sub(since) > forgetAfter {
		l.drop(at)
		return nil
	}
	return c
}

// fail counts a failure.
//
// The delay is 1 s for the first failure beyond the free ones and doubles from there; after 20
// doublings it is the longest in any case, and the shift would overflow. The caller holds mu.
func (l *limits) fail(k counter, now time.Time) {
	c := l.count(k.at, now)
	if c == nil {
		c = &count{at: k.at, name: k.name, longest: limitOf[k.by].longest}
		if l.oldest.Len() >= l.most {
			l.drop(l.oldest.Front().Value.(*count).at)
		}
		l.counts[k.at] = l.oldest.PushBack(c)
	}
	l.oldest.MoveToBack(l.counts[k.at])
	c.failures++
	c.last, c.noted = now, false
	limit := limitOf[k.by]
	if beyond := c.failures - limit.free; beyond > 0 {
		delay := limit.longest
		if beyond < 20 {
			delay = min(delay, time.Second<<(beyond-1))
		}
		c.until = now.Add(delay)
	}
}

// drop forgets a count, in the map and in the order. The caller holds mu.
func (l *limits) drop(at [32]byte) {
	if e := l.counts[at]; e != nil {
		l.oldest.Remove(e)
		delete(l.counts, at)
	}
}

// at returns the key of a counter, of fixed length whatever is typed. The kind is part of the hash:
// an account named like an address has another key.
func at(by counted, what string) counter {
	return counter{by: by, at: sha256.Sum256([]byte(string(by) + "\x00" + what))}
}

// networkOf returns the key of an address: itself, or for IPv6 the /64 of one customer. A text that
// cannot be parsed is its own key.
func networkOf(from string) string {
	if host, err := netip.ParseAddrPort(from); err == nil {
		from = host.Addr().String()
	}
	address, err := netip.ParseAddr(from)
	if err != nil {
		return shown(from)
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	prefix, err := address.Prefix(64)
	if err != nil {
		return address.String()
	}
	return prefix.String()
}

// tooSoon is the error for an attempt that comes too soon.
func tooSoon(wait time.Duration) error {
	return problem.New(problem.TooMany, "%w", &TooSoonError{Wait: wait}).With(
		problem.Remedy{Text: "wait until then, or log in with a passkey", Action: problem.LogIn},
		problem.Remedy{Text: "have an admin forget the attempts", Action: problem.Unlock},
	)
}
