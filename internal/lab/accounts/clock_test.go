package accounts

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const year = 365 * 24 * time.Hour

// ahead is a lab in which a session, a token and failed attempts of bob are of a time when the clock
// was a year ahead. Its clock is right by now.
func ahead(t *testing.T, restart bool) (b *Directory, c *watch, session, token string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lab")
	c = newClock()
	b = open(t, dir, c, Options{})
	for _, n := range []NewAccount{
		{Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)},
		{Name: "bob", Grants: []Grant{{Role: Expert}}, Password: NewSecret(bobsPassword)},
	} {
		must.Get(b.Add(t.Context(), system, n))(t)
	}
	c.pass(year)
	session, _ = b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	var err error
	token, _, err = b.CreateToken(t.Context(), system, "ada", NewToken{Name: "x", Scopes: []Permission{See}, Lifetime: 24 * time.Hour})
	done(t, err)
	for range 20 {
		guess(t, b, "bob", "203.0.113.1")
	}
	c.pass(-year)
	if restart {
		done(t, b.Close())
		b = open(t, dir, c, Options{})
	}
	return b, c, session, token
}

// Law: what is recorded of a time that lies ahead, since the clock was set back, lasts no longer than
// its rule says from when that is seen: a lock-out five minutes, a session eight hours without a
// request and seven days, a token as long as it was to. That holds after a restart, too.
func TestClockSetBack(t *testing.T) {
	for _, restart := range []bool{false, true} {
		b, c, session, token := ahead(t, restart)
		signedIn := func() bool {
			_, err := b.Authenticate(t.Context(), session)
			return err == nil
		}
		if wait := guess(t, b, "bob", "203.0.113.2"); wait > 5*time.Minute {
			t.Errorf("restarted %t: an account is locked out for %s", restart, wait)
		}
		if !signedIn() {
			t.Errorf("restarted %t: the session has ended at once", restart)
		}
		if s, err := b.AuthenticateToken(t.Context(), token); err != nil {
			t.Errorf("restarted %t: the token is over at once: %+v, %v", restart, s, err)
		}
		c.pass(5*time.Minute + time.Second)
		b.mustLogin(t, "bob", bobsPassword, "203.0.113.2")
		c.pass(8 * time.Hour)
		if signedIn() {
			t.Errorf("restarted %t: the session goes on after eight hours without a request", restart)
		}
		c.pass(16 * time.Hour)
		if _, err := b.AuthenticateToken(t.Context(), token); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
			t.Errorf("restarted %t: a token for a day is good for longer: %v", restart, err)
		}
	}
}

// Law: a session that is used lasts for its lifetime from when it is seen to be ahead, and no longer.
func TestClockSetBackInUse(t *testing.T) {
	b, c, session, _ := ahead(t, false)
	lasted := time.Duration(0)
	for ; lasted < year; lasted += time.Hour {
		if _, err := b.Authenticate(t.Context(), session); err != nil {
			break
		}
		c.pass(time.Hour)
	}
	if lasted < 7*24*time.Hour || lasted > 7*24*time.Hour+2*time.Hour {
		t.Errorf("it lasts for %s, want seven days", lasted)
	}
}

// Law: who has shown a year ahead who they are has not just shown it.
func TestShownAhead(t *testing.T) {
	b, c, session, _ := ahead(t, false)
	who, err := b.Authenticate(t.Context(), session)
	if done(t, err); who.Recent(c.now(), JustNow) == nil {
		t.Error("what was shown before the clock was set back counts as just now")
	}
	_, who, err = b.Reauthenticate(t.Context(), session, adasPassword, "192.0.2.1")
	if done(t, err); who.Recent(c.now(), JustNow) != nil {
		t.Error("what was shown since does not count")
	}
}

// Law: the second step of a login that was begun an hour ahead is too late: it may be any time later.
func TestCeremonyAhead(t *testing.T) {
	c := newClock()
	all := newCeremonies(new(ledger))
	c.pass(time.Hour)
	name := all.begin(c.now(), &ceremony{What: toReturn})
	c.pass(-time.Hour)
	if all.finish(c.now(), name, toReturn) != nil {
		t.Error("it is taken for one of just now")
	}
}
