package accounts

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// guess tries a wrong password and returns how long it is to wait, zero where it was heard.
func guess(t *testing.T, b *Directory, name, from string) time.Duration {
	t.Helper()
	_, _, err := b.Login(t.Context(), name, "a wrong password", from)
	var soon *TooSoonError
	switch {
	case errors.As(err, &soon) && problem.CodeOf(err) == problem.TooMany:
		return soon.Wait
	case problem.CodeOf(orNil(err)) != problem.Unauthenticated:
		t.Fatalf("a guess: %v", err)
	}
	return 0
}

// Law: guessing gets slower with each failure, up to a bound, whatever names and addresses it goes
// over, whether or not there is an account of the name; the right password helps nobody while it is
// not heard, and afterwards everything is as before.
func TestGuessingIsSlow(t *testing.T) {
	for _, c := range []struct {
		what       string
		name, from func(n int) string
		bound      time.Duration
	}{
		{"one account from one address", func(int) string { return "bob" }, func(int) string { return "192.0.2.1" }, 15 * time.Minute},
		{"a name that nobody has", func(int) string { return "mallory" }, func(int) string { return "192.0.2.1" }, 15 * time.Minute},
		{"one account from many addresses", func(int) string { return "bob" }, func(n int) string { return fmt.Sprintf("192.0.2.%d", n%250) }, 5 * time.Minute},
		{"many names from one address", func(n int) string { return fmt.Sprint("name", n) }, func(int) string { return "192.0.2.1" }, 15 * time.Minute},
		{"many names from one network", func(n int) string { return fmt.Sprint("name", n) }, func(n int) string { return fmt.Sprintf("2001:db8::%x", n+1) }, 15 * time.Minute},
	} {
		b, clock := lab(t, Options{})
		began, heard, longest := clock.now(), 0, time.Duration(0)
		for n := 0; clock.now().Sub(began) < 24*time.Hour; n++ {
			wait := guess(t, b, c.name(n), c.from(n))
			if wait == 0 {
				heard++
			}
			clock.pass(wait)
			longest = max(longest, wait)
		}
		if bound := int(24*time.Hour/c.bound) + 40; heard > bound || heard < 20 {
			t.Errorf("%s: %d guesses were heard in a day, want at most %d", c.what, heard, bound)
		}
		if longest != c.bound {
			t.Errorf("%s: the longest wait is %s, want %s", c.what, longest, c.bound)
		}
	}

	b, clock := lab(t, Options{})
	for guess(t, b, "bob", "192.0.2.1") == 0 {
	}
	if _, _, err := b.Login(t.Context(), "bob", bobsPassword, "192.0.2.1"); problem.CodeOf(orNil(err)) != problem.TooMany {
		t.Errorf("the right password is heard: %v", err)
	}
	clock.pass(time.Second)
	b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	for n := range 5 {
		if wait := guess(t, b, "bob", "192.0.2.1"); wait > 0 {
			t.Errorf("after a success, failure %d has to wait %s", n, wait)
		}
	}
	var locked, failed int
	for _, k := range kinds(t, b) {
		switch k {
		case KindLockedOut:
			locked++
		case KindLoginFailed:
			failed++
		}
	}
	if locked != 1 || failed != 11 {
		t.Errorf("recorded are %d failures and %d times that no more are heard", failed, locked)
	}
}

// Law: somebody who guesses another's password, from wherever, does not keep that person out who
// comes from where they always come from; nor does one with an account of their own who guesses
// others' get more attempts by logging in.
func TestNobodyIsLockedOutByOthers(t *testing.T) {
	b, clock := lab(t, Options{})
	b.mustLogin(t, "ada", adasPassword, "198.51.100.7")
	for n := range 2000 {
		clock.pass(guess(t, b, "ada", fmt.Sprintf("203.0.113.%d", n%200)) / 2)
	}
	for guess(t, b, "ada", "203.0.113.9") == 0 {
	}
	b.mustLogin(t, "ada", adasPassword, "198.51.100.7")

	b, _ = lab(t, Options{})
	heard := 0
	for n := range 200 {
		if guess(t, b, fmt.Sprint("name", n), "192.0.2.1") == 0 {
			heard++
		}
		if n%3 == 0 {
			_, _, _ = b.Login(t.Context(), "bob", bobsPassword, "192.0.2.1")
		}
	}
	if heard > 30 {
		t.Errorf("%d guesses were heard at once", heard)
	}
	// An admin can have it forgotten.
	done(t, b.Unlock(t.Context(), system, ""))
	b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	for guess(t, b, "ada", "192.0.2.1") == 0 {
	}
	done(t, b.Unlock(t.Context(), system, "ada"))
	b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
}

// Law: a restart is no way around the limits, and locks nobody out who was not; what was
// forgotten stays forgotten.
func TestLimitsAfterRestart(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "lab"), newClock()
	b := open(t, dir, clock, Options{})
	for _, n := range []NewAccount{
		{Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)},
		{Name: "bob", Grants: []Grant{{Role: Expert}}, Password: NewSecret(bobsPassword)},
		{Name: "eve", Grants: []Grant{{Role: Viewer}}, Password: NewSecret(bobsPassword)},
	} {
		must.Get(b.Add(t.Context(), system, n))(t)
	}
	b.mustLogin(t, "ada", adasPassword, "198.51.100.7")
	restart := func() {
		t.Helper()
		done(t, b.Close())
		b = open(t, dir, clock, Options{})
	}
	// Whoever begins again with each restart is heard no more often.
	heard := 0
	for range 40 {
		if guess(t, b, "bob", "192.0.2.1") == 0 {
			heard++
		}
		restart()
	}
	if heard != limitOf[ofBoth].free+1 {
		t.Errorf("%d guesses were heard", heard)
	}
	// What was guessed elsewhere keeps nobody out who comes from where they always come from.
	for n := range 30 {
		guess(t, b, "ada", fmt.Sprintf("203.0.113.%d", n))
	}
	restart()
	b.mustLogin(t, "ada", adasPassword, "198.51.100.7")
	// Many names from one address: the address is remembered, though the names are not.
	for n := range 30 {
		guess(t, b, fmt.Sprint("name", n), "192.0.2.77")
	}
	restart()
	if guess(t, b, "somebody", "192.0.2.77") == 0 {
		t.Error("the address is forgotten")
	}
	// A success, and an admin, have failures forgotten for good.
	for range 5 {
		guess(t, b, "eve", "192.0.2.9")
	}
	b.mustLogin(t, "eve", bobsPassword, "192.0.2.9")
	done(t, b.Unlock(t.Context(), system, "bob"))
	restart()
	if wait := guess(t, b, "eve", "192.0.2.9"); wait > 0 {
		t.Errorf("after a success there is a wait of %s", wait)
	}
	b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
}

// Law: an attempt that was not made after all leaves the counts as they were before it, whatever
// has failed until then; a password that could not be checked is one.
func TestWithdrawnAttemptsDoNotCount(t *testing.T) {
	state := func(l *limits, now time.Time) map[[32]byte]int {
		all := make(map[[32]byte]int)
		for k := range l.counts {
			all[k] = l.count(k, now).failures
		}
		return all
	}
	for failed := range 30 {
		l, now := newLimits(100), newClock().now()
		heard := func() *attempt {
			a, wait, _ := l.begin(now, "bob", "192.0.2.1", false)
			for a == nil {
				now = now.Add(wait)
				a, wait, _ = l.begin(now, "bob", "192.0.2.1", false)
			}
			return a
		}
		for range failed {
			heard()
		}
		now = now.Add(limitOf[ofBoth].longest) // when any is heard
		before := state(l, now)
		heard().withdrawn()
		if after := state(l, now); !maps.Equal(after, before) {
			t.Errorf("after %d failures and one that was none there are %v, not %v", failed, after, before)
		}
		if a, wait, _ := l.begin(now, "bob", "192.0.2.1", false); a == nil {
			t.Errorf("after %d failures and one that was none the next is heard in %s", failed, wait)
		}
	}
	b, _ := lab(t, Options{Hashing: 1})
	waiting := b.passwords.waiting
	b.passwords.waiting = make(chan struct{}) // nothing has room
	for range 50 {
		_, _, err := b.Login(t.Context(), "bob", bobsPassword, "192.0.2.1")
		if soon := new(TooSoonError); err == nil || errors.As(err, &soon) {
			t.Fatalf("a password that could not be checked: %v", err)
		}
	}
	b.passwords.waiting = waiting
	b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
}

// Law: many attempts at once are no way around the limits, and the memory of them is bounded,
// however long the names and addresses are.
func TestLimitsHold(t *testing.T) {
	l, now := newLimits(100), newClock().now()
	heard := 0
	for range 50 { // none of which has failed yet
		if a, _, _ := l.begin(now, "bob", "192.0.2.1", false); a != nil {
			heard++
		}
	}
	if heard != limitOf[ofBoth].free+1 {
		t.Errorf("%d attempts at once were heard", heard)
	}
	if a, _, _ := l.begin(now.Add(2*forgetAfter), "bob", "192.0.2.1", false); a == nil || len(l.counts) != 3 {
		t.Error("an hour later it is not forgotten")
	} else if both := l.count(a.at[0].at, now.Add(2*forgetAfter)); both.failures != 1 {
		t.Errorf("an hour later %d failures count", both.failures)
	}
	// A success takes back what failed with that account, and not what failed with others.
	l = newLimits(100)
	for n := range 15 {
		l.begin(now, fmt.Sprint("name", n), "192.0.2.1", false)
	}
	l.begin(now, "bob", "192.0.2.1", false)
	if a, _, _ := l.begin(now, "bob", "192.0.2.1", false); a == nil {
		t.Error("bob is not heard")
	} else if a.succeeded(); l.count(at(ofAddress, "192.0.2.1").at, now).failures != 15 || l.count(at(ofAccount, "bob").at, now) != nil {
		t.Errorf("after a success %d failures count", l.count(at(ofAddress, "192.0.2.1").at, now).failures)
	}
	for n := range 10_000 {
		l.begin(now, strings.Repeat("x", n), fmt.Sprint("address ", n), false)
	}
	if len(l.counts) > 100 || l.oldest.Len() != len(l.counts) {
		t.Errorf("%d counts, %d in their order", len(l.counts), l.oldest.Len())
	}
	if networkOf("2001:db8::1") != networkOf("[2001:db8::2]:443") || networkOf("192.0.2.1:80") != networkOf("::ffff:192.0.2.1") ||
		networkOf("192.0.2.1") == networkOf("192.0.2.2") {
		t.Error("addresses are not counted by their network")
	}
}
