package accounts

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/campaignd/campaignd/internal/clock"
	"github.com/campaignd/campaignd/internal/problem"
)

// Attempts to log in with a password are counted by account, by address, and by
// both. After some failures each further one doubles the time until the next
// attempt is heard, up to a bound. So guessing is slow, and no one is locked
// out for long.
//
// Another's failures must not keep a person out for ever: the counts of the
// account and of the address do not hold for an address from which that person
// has logged in before; only failures with this account from this address do.
// Passkeys and OpenID Connect are not counted, since there is nothing to guess,
// sessions go on, and an admin can forget the counts ([Directory.Unlock]).
// Names that are no account's are counted as well, so that being locked out
// does not tell which names there are. The counts are kept in memory. When the
// accounts are opened they are made anew from the audit log, but for those of
// names that are no account's, which it does not hold: of these the addresses
// count. Of several servers each counts what failed at the others in the same
// way, once it is in the log, where such names stand by their buckets
// ([Directory.bucket]): what is tried at all of them at the same moment is heard
// by each as if it were alone, and what comes after is not.
var limitOf = map[counted]struct {
	free    int           // failures without a delay
	longest time.Duration // the longest delay
}{
	ofAccount: {5, 5 * time.Minute},
	ofAddress: {20, 15 * time.Minute},
	ofBoth:    {5, 15 * time.Minute},
}

// counted is what failures are counted by.
type counted byte

const (
	ofAccount counted = 'n'
	ofAddress counted = 'a'
	ofBoth    counted = 'b'
)

const (
	// forgetAfter is how long after the last failure, and the delay it led to,
	// a count begins anew.
	forgetAfter = time.Hour
	// mostCounters bounds the memory of counts, to a few megabytes. Past it,
	// those that have not been touched for longest are forgotten.
	mostCounters = 16384
)

// TooSoonError is why a login was not tried. The error that wraps it has the
// code [problem.TooMany].
type TooSoonError struct {
	// Wait is how long until the next attempt is heard.
	Wait time.Duration
}

// Error says at least a second: “in 0s” would invite the next attempt.
func (e *TooSoonError) Error() string {
	return fmt.Sprintf(
		"after several failed attempts the next one is heard in %s",
		max(e.Wait.Round(time.Second), time.Second),
	)
}

// limits are the counts. The methods may be called from several goroutines.
type limits struct {
	mu     sync.Mutex
	most   int
	counts map[[32]byte]*list.Element
	oldest *list.List // of *count, the one touched last at the back
}

// count is the failures of one account, address or both. It has hashes in place
// of names and addresses, so that its size is bounded whatever is typed.
type count struct {
	at       [32]byte
	name     [32]byte // where the account's failures are counted; zero for an address
	failures int
	last     time.Time // the last failure
	until    time.Time // no attempt is heard before
	longest  time.Duration
	noted    bool // that it is locked out, in the audit log
}

// newLimits keeps up to that many counts.
func newLimits(most int) *limits {
	return &limits{most: most, counts: make(map[[32]byte]*list.Element), oldest: list.New()}
}

// attempt is an attempt to log in, which counts as failed until it has
// succeeded. Each ends in [attempt.succeeded], in [attempt.withdrawn] where it
// was not made, or in neither, which leaves it failed.
type attempt struct {
	limits *limits
	at     []counter
	now    time.Time
}

// counter is a count and what it counts by.
type counter struct {
	by       counted
	at, name [32]byte
}

// countersOf returns what an attempt is counted by; by account and address
// first. succeeded relies on that order.
func countersOf(name, from string, familiar bool) []counter {
	network := networkOf(from)
	own, both := at(ofAccount, name), at(ofBoth, name+"\x00"+network)
	own.name, both.name = own.at, own.at
	if familiar {
		return []counter{both}
	}
	return []counter{both, own, at(ofAddress, network)}
}

// begin counts an attempt as failed, so that many at once are no way around the
// limits, unless it comes too soon. familiar says that the person has logged in
// from the address before. first is true of the first attempt that is refused
// since the last one that was heard.
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

// recall counts what an entry of the audit log tells of an attempt, later.
// familiar is as in begin.
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

// bucketName stands for the names of a bucket where attempts are counted. No account
// is called so.
func bucketName(bucket string) string { return "bucket " + bucket }

// counts reports whether an entry tells of an attempt with a password, or that
// those of before are forgotten.
func (e Entry) counts() bool {
	switch e.Kind {
	case KindUnlocked, KindPasswordSet:
		return true
	case KindLoginFailed, KindLogin, KindConfirmed:
		return e.Method == ByPassword
	}
	return false
}

// How much of the audit log is looked at for failed attempts: after a day of
// the longest delays a count has long reached its bound. Entries about other
// things have no part in the number: however many there are, none makes the
// attempts forgotten.
const (
	recallFor  = 24 * time.Hour
	mostRecall = 20_000 // entries that count
)

// attempts are the newest entries that count, the oldest first.
type attempts []Entry

// add keeps the newest, up to twice as many as are needed.
func (all *attempts) add(e Entry) {
	if !e.counts() {
		return
	}
	if len(*all) >= 2*mostRecall { // now and then, so that adding one costs little
		*all = append((*all)[:0], (*all)[mostRecall:]...)
	}
	*all = append(*all, e)
}

// recall makes the counts of failed attempts anew.
func (d *Directory) recall(limits *limits, all attempts) {
	now := d.now()
	for _, e := range all[max(0, len(all)-mostRecall):] {
		if now.Sub(e.Time) <= recallFor {
			limits.recall(e, d.familiar(e.Account, e.From))
		}
	}
}

// succeeded takes the attempt back. The account's failures are forgotten, and
// of the address's those that were with this account: with an account of one's
// own one cannot go on guessing others'.
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

// withdrawn takes the attempt back that was not made after all. Such as one
// whose request ended before its turn to be hashed: nothing was learned about
// the password.
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

// forget forgets the failures with an account, wherever they came from; those
// of all accounts and addresses where the name is empty. It looks at all
// counts, which is rare enough.
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

// count returns a count, nil where there is none any more. A count that is over
// is dropped here, when it is looked at; there is no other sweeping. A clock that
// was set back makes no delay longer than the longest. The caller holds mu.
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
// The delay is 1 s for the first failure beyond the free ones and doubles from
// there; past 20 doublings it is the longest in any case, and the shift would
// overflow. The caller holds mu.
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

// at is the place of a counter: of fixed length, whatever is typed. The kind is
// part of what is hashed: an account that is called like an address has another
// place.
func at(by counted, what string) counter {
	return counter{by: by, at: sha256.Sum256([]byte(string(by) + "\x00" + what))}
}

// networkOf is what an address is counted by: itself, or of IPv6 the /64 that
// one customer has. What is no address counts as one.
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

// tooSoon is the answer to an attempt that was not heard.
func tooSoon(wait time.Duration) error {
	return problem.New(problem.TooMany, "%w", &TooSoonError{Wait: wait}).With(
		problem.Remedy{Text: "wait until then, or log in with a passkey", Action: problem.LogIn},
		problem.Remedy{Text: "have an admin forget the attempts", Action: problem.Unlock},
	)
}
