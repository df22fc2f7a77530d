//go:build unix

package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// server opens the accounts of a lab in a database, as one more process does.
func server(t testing.TB, database, name string, c *watch, o Options) *Directory {
	t.Helper()
	o.Now, o.params = c.now, quick
	b := must.Get(Open(lablog.Address(database+"&application_name="+name), o))(t)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// servers are two processes of a lab with the admin ada and the expert bob.
func servers(t testing.TB, o Options) (one, other *Directory, c *watch) {
	t.Helper()
	database := pgtest.URL(t)
	c = newClock()
	one, other = server(t, database, "one", c, o), server(t, database, "other", c, o)
	for _, n := range []NewAccount{
		{Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)},
		{Name: "bob", Grants: []Grant{{Role: Expert}, {Role: Viewer}}, Password: NewSecret(bobsPassword)},
	} {
		must.Get(one.Add(t.Context(), system, n))(t)
	}
	return one, other, c
}

// soon calls f until it returns true, for a time that is long for a law of a second: a busy
// machine is not a failure of it. It returns how long that took.
func soon(t *testing.T, what string, f func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !f() {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("it does not happen: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

func codeOf(err error) problem.Code { return problem.CodeOf(orNil(err)) }

// Law: who logs in at one server is known at the other at once, and may there what they may, also
// in a stream; who logs out at one, or whose role is taken away there, is refused at the other.
// Servers that are started later, and the audit log, say the same.
func TestSharedSessions(t *testing.T) {
	one, other, c := servers(t, Options{})
	for range 20 {
		token, who := one.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
		there, err := other.Authenticate(t.Context(), token) // no time passes in between
		if err != nil || there.Credential != who.Credential {
			t.Fatalf("at the other server they are %+v: %v", there, err)
		}
		done(t, other.Logout(t.Context(), token))
		took := soon(t, "a logout ends the session", func() bool {
			_, err := one.Authenticate(t.Context(), token)
			return codeOf(err) == problem.Unauthenticated
		})
		t.Logf("a logout is known after %v", took)
	}

	token, ada := one.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	bobs, _ := other.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	must.Get(one.Revoke(t.Context(), ada, "bob", Grant{Role: Expert}))(t)
	took := soon(t, "a role is taken away", func() bool {
		still, err := other.Still(t.Context(), bobs)
		done(t, err)
		return still.May(Answer, "lfp") != nil
	})
	t.Logf("a role is gone after %v", took)
	secret, made, err := other.CreateToken(t.Context(), ada, "ada", NewToken{Name: "x", Scopes: []Permission{See}})
	done(t, err)
	if who, err := one.AuthenticateToken(t.Context(), secret); err != nil || who.Account != "ada" {
		t.Errorf("an API token of the other server is of %+v: %v", who, err)
	}
	must.Get(one.RevokeToken(t.Context(), ada, made.ID))(t)
	soon(t, "a token is revoked", func() bool {
		_, err := other.StillToken(t.Context(), secret)
		return codeOf(err) == problem.Unauthenticated
	})
	again, _, err := other.Reauthenticate(t.Context(), token, adasPassword, "192.0.2.1")
	done(t, err)
	must.Get(one.Authenticate(t.Context(), again))(t)
	soon(t, "the token before it proves nothing any more", func() bool {
		_, err := one.Authenticate(t.Context(), token)
		return codeOf(err) == problem.Unauthenticated
	})
	must.Get(other.SetPassword(t.Context(), ada, "bob", "a password of bob's"))(t)
	soon(t, "the sessions end with the password", func() bool {
		_, err := one.Authenticate(t.Context(), bobs)
		return codeOf(err) == problem.Unauthenticated
	})
	one.mustLogin(t, "bob", "a password of bob's", "192.0.2.1")

	must.Get(other.Disable(t.Context(), ada, "bob"))(t)
	later := server(t, strings.TrimSuffix(databaseOf(one), "&application_name=one"), "later", c, Options{})
	if a := must.Get(later.Account("bob"))(t); !a.Disabled || len(later.Sessions("bob")) > 0 {
		t.Errorf("a later server sees %+v", a)
	}
	same(t, one, other, later)
	must.Get(one.Verify(system))(t)
}

// queryOf is the query of an address.
func queryOf(t *testing.T, address string) url.Values {
	t.Helper()
	where, err := url.Parse(address)
	done(t, err)
	return where.Query()
}

// databaseOf is the address of the database of a server.
func databaseOf(b *Directory) string {
	at, _, _ := store.Split(b.ledger.dir)
	return at
}

// same reports a server whose state is another than that of the first, once all have read on.
func same(t *testing.T, all ...*Directory) {
	t.Helper()
	texts := make([]string, len(all))
	for i, b := range all {
		done(t, b.ledger.renewAll(time.Now()))
		b.roster.mu.RLock()
		text, err := json.Marshal([]any{b.roster.state.accounts, b.roster.state.sessions, b.roster.state.tokens, b.roster.values, b.roster.last})
		b.roster.mu.RUnlock()
		done(t, err)
		texts[i] = string(text)
		if texts[i] != texts[0] {
			t.Errorf("the state of the first is\n%s\nand of number %d\n%s", texts[0], i, texts[i])
		}
	}
}

// Law: of changes that are made at several servers at the same time each happens once or is
// refused, and none by a state that has passed: two admins do not take each other's role, and a
// name is given once. All servers, and the audit log, agree on it, and the log is whole.
func TestSharedChanges(t *testing.T) {
	one, other, c := servers(t, Options{})
	third := server(t, strings.TrimSuffix(databaseOf(one), "&application_name=one"), "third", c, Options{})
	all := []*Directory{one, other, third}
	both := func(f func(b *Directory, n int) error) (errs []error) {
		errs = make([]error, len(all))
		var at sync.WaitGroup
		for n, b := range all {
			at.Go(func() { errs[n] = f(b, n) })
		}
		at.Wait()
		return errs
	}
	done1 := func(errs []error) (n int) {
		for _, err := range errs {
			switch {
			case err == nil:
				n++
			case codeOf(err) != problem.Conflict && codeOf(err) != problem.NotNow:
				t.Errorf("a change that came second: %v", err)
			}
		}
		return n
	}
	for round := range 10 {
		name := fmt.Sprint("p", round)
		if n := done1(both(func(b *Directory, n int) error {
			_, err := b.Add(t.Context(), system, NewAccount{Name: name, Email: fmt.Sprintf("%d@example.org", n), Grants: []Grant{{Role: Viewer}}})
			return err
		})); n != 1 {
			t.Errorf("%s was made %d times", name, n)
		}
		if n := done1(both(func(b *Directory, n int) error {
			_, err := b.Grant(t.Context(), system, name, Grant{Role: Expert, Campaign: fmt.Sprint("c", n)})
			return err
		})); n != 3 {
			t.Errorf("%d of 3 roles were given", n)
		}
		if n := done1(both(func(b *Directory, n int) error {
			_, err := b.Grant(t.Context(), system, name, Grant{Role: Scientist})
			return err
		})); n != 1 {
			t.Errorf("one role was given %d times", n)
		}
		// ada, and two more: each takes the role of the next.
		admins := []string{"ada", name, "bob"}
		for _, a := range admins[1:] {
			must.Get(one.Grant(t.Context(), system, a, Grant{Role: Admin}))(t)
		}
		if n := done1(both(func(b *Directory, n int) error {
			_, err := b.Revoke(t.Context(), system, admins[n], Grant{Role: Admin})
			return err
		})); n != 2 {
			t.Errorf("%d of 3 admins were taken their role", n)
		}
		_, _ = one.Grant(t.Context(), system, "ada", Grant{Role: Admin})
		for _, a := range admins[1:] {
			_, _ = one.Revoke(t.Context(), system, a, Grant{Role: Admin})
		}
	}
	same(t, all...)
	var page [][]Entry
	for _, b := range all {
		entries, err := b.AuditLog(system, Page{Limit: 1000})
		done(t, err)
		page = append(page, entries)
		must.Get(b.Verify(system))(t)
	}
	for n, e := range page[0] {
		if e.Number != uint64(len(page[0])-n) || e.Hash != page[1][n].Hash || e.Hash != page[2][n].Hash {
			t.Fatalf("entry %d is %+v and %+v", n, e, page[1][n])
		}
	}
}

// Law: what one server lets in begins at another, and is let in once: a passkey, an issuer, a
// confirmation. An answer that is given to two servers at once counts at one.
func TestSharedCeremonies(t *testing.T) {
	c := newClock()
	p := newProvider(t, c)
	o := p.options(t, OIDC{RoleClaim: "groups", Roles: map[string]Role{"chem": Scientist}, NewAccounts: true})
	o.Passkeys = site
	database := pgtest.URL(t)
	one, other := server(t, database, "one", c, o), server(t, database, "other", c, o)
	must.Get(one.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)}))(t)
	session, _ := one.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	phone := newDevice(t)
	ceremony, options, err := one.BeginPasskey(t.Context(), session)
	done(t, err)
	must.Get(other.FinishPasskey(t.Context(), session, ceremony, "phone", phone.make(options)))(t)

	for range 5 {
		ceremony, options, err = other.BeginPasskeyLogin(t.Context())
		done(t, err)
		answer := phone.get(options)
		var in atomic.Int64
		var at sync.WaitGroup
		for n := range 6 {
			b := []*Directory{one, other}[n%2]
			at.Go(func() {
				if _, _, err := b.FinishPasskeyLogin(t.Context(), ceremony, answer, "192.0.2.1"); err == nil {
					in.Add(1)
				} else if codeOf(err) != problem.Unauthenticated {
					t.Error(err)
				}
			})
		}
		at.Wait()
		if in.Load() != 1 {
			t.Errorf("one answer was let in %d times", in.Load())
		}
	}
	ceremony, options, err = one.BeginPasskeyConfirm(t.Context(), session)
	done(t, err)
	session, _, err = other.FinishPasskeyConfirm(t.Context(), session, ceremony, phone.get(options), "192.0.2.1")
	done(t, err)
	if _, err := one.Authenticate(t.Context(), session); err != nil {
		t.Error(err)
	}

	address, ceremony, err := one.BeginOIDC(t.Context(), "")
	done(t, err)
	p.asked, p.says = queryOf(t, address), map[string]any{"sub": "1", "preferred_username": "eve", "groups": "chem", "auth_time": c.now().Unix()}
	answer := OIDCAnswer{State: p.asked.Get("state"), Code: "code-1"}
	if _, who, err := other.FinishOIDC(t.Context(), ceremony, answer, "192.0.2.1"); err != nil || who.Account != "eve" {
		t.Errorf("the issuer's is %+v: %v", who, err)
	}
	if _, _, err := one.FinishOIDC(t.Context(), ceremony, answer, "192.0.2.1"); codeOf(err) != problem.Unauthenticated {
		t.Errorf("the same again: %v", err)
	}

	// What is made up, changed, late, or for something else is none.
	ceremony, options, err = one.BeginPasskeyLogin(t.Context())
	done(t, err)
	late := phone.get(options)
	changed := []byte(ceremony)
	changed[len(changed)/2] ^= 1
	for _, wrong := range []string{"", "x", string(changed), strings.Repeat("A", longestSealed+1)} {
		if _, _, err := other.FinishPasskeyLogin(t.Context(), wrong, late, "192.0.2.1"); codeOf(err) != problem.Unauthenticated {
			t.Errorf("%.20q: %v", wrong, err)
		}
	}
	if _, _, err := other.FinishPasskeyConfirm(t.Context(), session, ceremony, late, "192.0.2.1"); codeOf(err) != problem.Unauthenticated {
		t.Errorf("a login is taken for a confirmation: %v", err)
	}
	c.pass(ceremonyTime + time.Second)
	if _, _, err := other.FinishPasskeyLogin(t.Context(), ceremony, late, "192.0.2.1"); codeOf(err) != problem.Unauthenticated {
		t.Errorf("it is late: %v", err)
	}
	same(t, one, other)
}

// Law: attempts to log in that failed at one server count at the other.
func TestSharedLimits(t *testing.T) {
	one, other, c := servers(t, Options{})
	heard := 0
	for n := range 40 {
		b := []*Directory{one, other}[n%2]
		if guess(t, b, "bob", fmt.Sprintf("203.0.113.%d", n)) == 0 {
			heard++
		}
	}
	if heard != limitOf[ofAccount].free+1 { // the first one beyond is heard, and delays the next
		t.Errorf("%d guesses were heard", heard)
	}
	done(t, other.Unlock(t.Context(), system, "bob"))
	if wait := guess(t, one, "bob", "203.0.113.9"); wait != 0 {
		t.Errorf("after the attempts were forgotten the next one waits for %v", wait)
	}
	// What it counted itself it does not count again: four more are free.
	for range 4 {
		if wait := guess(t, one, "bob", "203.0.113.9"); wait != 0 {
			t.Errorf("a free attempt waits for %v", wait)
		}
	}
	_ = c
}

// Law: a session that is used at one server goes on at the other, however long it was not used
// there, and is not swept; one that is used at none ends at both. What no event names any more is
// removed after a while, and what one is about to name is not.
func TestSharedIdle(t *testing.T) {
	one, other, c := servers(t, Options{})
	used, _ := one.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	left, _ := one.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	must.Get(other.Authenticate(t.Context(), left))(t)
	for range 10 {
		c.pass(time.Hour)
		must.Get(one.Authenticate(t.Context(), used))(t)
		done(t, one.ledger.renewAll(time.Now()))
		done(t, other.ledger.renewAll(time.Now()))
	}
	c.pass(7*time.Hour + 59*time.Minute)
	must.Get(one.Authenticate(t.Context(), used))(t) // which the other has not read yet
	c.pass(2 * time.Minute)
	other.mustLogin(t, "bob", bobsPassword, "192.0.2.1") // which sweeps
	must.Get(other.Authenticate(t.Context(), used))(t)
	if _, err := other.Authenticate(t.Context(), left); codeOf(err) != problem.Unauthenticated {
		t.Errorf("a session that was not used: %v", err)
	}

	log, _ := one.roster.place()
	done(t, log.SetValues(t.Context(), events.KeyValue{Key: sessionKey + "x", Value: []byte(`{}`)}))
	there := func() bool { return must.Get(log.Value(t.Context(), sessionKey+"x"))(t) != nil }
	now := time.Now()
	done(t, one.ledger.renewAll(now))
	done(t, one.ledger.renewAll(now.Add(unnamedFor-time.Second)))
	if !there() {
		t.Error("a value that may be about to be named was removed")
	}
	done(t, one.ledger.renewAll(now.Add(unnamedFor+time.Second)))
	if there() {
		t.Error("a value that nothing names stays")
	}
	same(t, one, other)
}

// deaf is a store whose database can be away.
type deaf struct {
	events.Store
	away  *atomic.Bool
	asked *atomic.Int64 // while it is away
}

func (d *deaf) ReadCampaign(ctx context.Context, campaign string, after events.Sequence) iter.Seq2[events.Event, error] {
	if d.away.Load() {
		d.asked.Add(1)
		return func(yield func(events.Event, error) bool) { yield(events.Event{}, errors.New("the database is away")) }
	}
	return d.Store.ReadCampaign(ctx, campaign, after)
}

// Law: a server that cannot ask the database lets no one in by what it knew: the answer is that the
// accounts are not available, also to open streams, and not that a person is logged out; a lab
// whose accounts cannot be read is not one without. It is not asked anew for each who wants to know, and
// goes on by itself.
func TestSharedAway(t *testing.T) {
	var away atomic.Bool
	var asked atomic.Int64
	_, other, _ := servers(t, Options{})
	database := strings.TrimSuffix(databaseOf(other), "&application_name=other")
	b := server(t, database, "deaf", newClock(), Options{open: func(address string) (events.Store, error) {
		log, err := store.Open(address, store.Options{Shared: true})
		return &deaf{log, &away, &asked}, err
	}})
	token, _ := other.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	must.Get(b.Authenticate(t.Context(), token))(t)
	empty := server(t, pgtest.URL(t), "empty", newClock(), Options{open: func(address string) (events.Store, error) {
		log, err := store.Open(address, store.Options{Shared: true})
		return &deaf{log, &away, &asked}, err
	}})
	if !empty.Empty() {
		t.Error("a new lab has accounts")
	}
	away.Store(true)
	soon(t, "a lab is not taken for one without accounts", func() bool { return !empty.Empty() })
	soon(t, "it lets no one in", func() bool {
		_, err := b.Authenticate(t.Context(), token)
		return codeOf(err) == problem.Unavailable
	})
	_, still := b.Still(t.Context(), token)
	_, bearer := b.AuthenticateToken(t.Context(), TokenPrefix+strings.Repeat("0", secretLength))
	_, _, login := b.Login(t.Context(), "bob", bobsPassword, "192.0.2.1")
	_, added := b.Add(t.Context(), system, NewAccount{Name: "eve"})
	for n, err := range []error{still, bearer, login, added, b.Err()} {
		if codeOf(err) != problem.Unavailable {
			t.Errorf("number %d: %v", n, err)
		}
	}
	if b.Empty() {
		t.Error("a lab whose accounts cannot be read has none")
	}
	before := asked.Load()
	for range 100 {
		if b.Readable() == nil {
			t.Fatal("it is known who there is")
		}
	}
	if n := asked.Load() - before; n > 10 {
		t.Errorf("to say 100 times that the database is away it was asked %d times", n)
	}
	away.Store(false)
	soon(t, "it goes on", func() bool {
		_, err := b.Authenticate(t.Context(), token)
		return err == nil
	})
	if kinds := kinds(t, b); slices.Contains(kinds, KindLoginFailed) {
		t.Errorf("the audit log has %v", kinds)
	}
}

// BenchmarkAuthenticateShared is BenchmarkAuthenticate in a lab in a database.
func BenchmarkAuthenticateShared(b *testing.B) {
	one, other, _ := servers(b, Options{})
	token, _ := must.Get2(one.Login(b.Context(), "ada", adasPassword, "192.0.2.1"))(b)
	b.ResetTimer() // a server was started
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := other.Authenticate(b.Context(), token); err != nil {
				b.Error(err)
			}
		}
	})
}

// Law: what is refused at several servers is in the audit log once a minute, as at one, with how
// often it was repeated at the one that notes it next.
func TestSharedRefusals(t *testing.T) {
	one, other, c := servers(t, Options{})
	_, bob := one.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	refused := func() (times []int) {
		entries, err := one.AuditLog(system, Page{Limit: 100})
		done(t, err)
		for _, e := range slices.Backward(entries) {
			if e.Kind == KindRefused {
				times = append(times, e.Times)
			}
		}
		return times
	}
	for range 3 {
		for _, d := range []*Directory{other, one} {
			d.Refused(bob, Run, "lfp", "192.0.2.1")
		}
	}
	if got := refused(); !slices.Equal(got, []int{0}) {
		t.Errorf("within a minute it is noted %v", got)
	}
	c.pass(2 * time.Minute)
	one.Refused(bob, Run, "lfp", "192.0.2.1")
	other.Refused(bob, Run, "lfp", "192.0.2.1")
	if got := refused(); !slices.Equal(got, []int{0, 4}) {
		t.Errorf("later it is noted %v", got)
	}
	c.pass(2 * time.Minute)
	other.Refused(bob, Run, "lfp", "192.0.2.1")
	if got := refused(); !slices.Equal(got, []int{0, 4, 4}) {
		t.Errorf("at the other one it is noted %v", got)
	}
}

// Law: whether there is an account of a name cannot be told from when further attempts are refused,
// at several servers neither; no name that is not an account's is in the log.
func TestSharedLimitsOfNobody(t *testing.T) {
	one, other, _ := servers(t, Options{})
	heard := func(name, from string) (n int) {
		t.Helper()
		for i := range 20 {
			at := []*Directory{one, other}[i%2]
			_, _, err := at.Login(t.Context(), name, "a wrong one", from)
			switch codeOf(err) {
			case problem.Unauthenticated:
				n++
			case problem.TooMany:
				return n
			default:
				t.Fatal(err)
			}
		}
		return n
	}
	if bob, nobody := heard("bob", "192.0.2.7"), heard("carl-or-a-password", "192.0.2.8"); bob != nobody {
		t.Errorf("%d attempts are heard with an account, and %d with none", bob, nobody)
	}
	log, err := one.ledger.lab.Store()
	done(t, err)
	for e, err := range log.Read(t.Context(), 0) {
		done(t, err)
		if strings.Contains(string(e.Data), "carl") {
			t.Errorf("the log holds %s", e.Data)
		}
	}
}
