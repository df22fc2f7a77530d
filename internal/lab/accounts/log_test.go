package accounts

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files of kinds that have none")

// everyKind is a life in which each kind of event happens but that of a take-over.
func everyKind(t *testing.T) *Directory {
	c := newClock()
	p := newProvider(t, c)
	o := p.options(t, OIDC{RoleClaim: "groups", Roles: map[string]Role{"chem": Scientist}, NewAccounts: true})
	o.Passkeys = site
	b := open(t, filepath.Join(t.TempDir(), "lab"), c, o)
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)}))(t)
	must.Get(b.Add(t.Context(), system, NewAccount{
		Name: "bob", DisplayName: "Bob", Email: "bob@example.org", AnswersAs: []string{"robert"},
		Grants: []Grant{{Role: Expert, Campaign: "lfp"}}, Password: NewSecret(bobsPassword),
	}))(t)
	session, _ := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	session, ada, err := b.Reauthenticate(t.Context(), session, adasPassword, "192.0.2.1")
	done(t, err)
	k := register(t, b, session, newDevice(t))
	mail := "bob@lab.example.org"
	must.Get(b.Change(t.Context(), ada, "bob", Changes{Email: &mail}))(t)
	must.Get(b.Grant(t.Context(), ada, "bob", Grant{Role: Viewer}))(t)
	must.Get(b.Revoke(t.Context(), ada, "bob", Grant{Role: Expert, Campaign: "lfp"}))(t)
	_, tok, err := b.CreateToken(t.Context(), ada, "ada", NewToken{Name: "x", Scopes: []Permission{See}, Campaigns: []string{"lfp"}})
	done(t, err)
	_, _, err = b.CreateToken(t.Context(), ada, "ada", NewToken{Name: "y", Scopes: []Permission{See}})
	done(t, err)
	must.Get(b.RevokeToken(t.Context(), ada, tok.ID))(t)
	must.Get(b.RemovePasskey(t.Context(), ada, "ada", k.ID))(t)
	register(t, b, session, newDevice(t))
	over, bob := b.mustLogin(t, "bob", bobsPassword, "192.0.2.9")
	b.Refused(bob, Run, "lfp", "192.0.2.9")
	done(t, b.Logout(t.Context(), over))
	_, bob = b.mustLogin(t, "bob", bobsPassword, "192.0.2.9")
	done(t, b.EndSession(t.Context(), ada, "bob", bob.Credential))
	b.mustLogin(t, "bob", bobsPassword, "192.0.2.9")
	must.Get(b.EndSessions(t.Context(), ada, "bob"))(t)
	_, _, err = p.come(b, "", map[string]any{"sub": "1", "preferred_username": "eve", "groups": "chem", "auth_time": c.now().Unix()})
	done(t, err)
	must.Get(b.Disable(t.Context(), ada, "bob"))(t)
	must.Get(b.Enable(t.Context(), ada, "bob"))(t)
	for guess(t, b, "bob", "203.0.113.5") == 0 {
	}
	b.mustLogin(t, "bob", bobsPassword, "192.0.2.9")
	done(t, b.Unlock(t.Context(), ada, "bob"))
	return b
}

// known is all that is known of the accounts, by what others are told.
func known(b *Directory) map[string]any {
	all := map[string]any{"accounts": b.Accounts()}
	for _, a := range b.Accounts() {
		all[a.Name] = []any{b.Sessions(a.Name), b.Tokens(a.Name)}
	}
	return all
}

// Law: the state is a fold of the events: what is known while they happen is what is known
// once they were read again; and with all values gone, all that has to be proved is gone,
// and nothing else.
func TestLiveIsReplayed(t *testing.T) {
	b := everyKind(t)
	want, state := known(b), b.roster.state
	b.roster.mu.Lock()
	b.roster.state, b.roster.values = newState(), newValues()
	err := b.ledger.replay(nil)
	b.roster.mu.Unlock()
	done(t, err)
	if got := known(b); !reflect.DeepEqual(got, want) {
		t.Errorf("replayed %+v\nlive     %+v", got, want)
	}
	if !reflect.DeepEqual(b.roster.state, state) {
		t.Errorf("replayed %+v\nlive     %+v", b.roster.state, state)
	}

	var gone []events.KeyValue
	for kv, err := range b.roster.log.Values(t.Context(), "") {
		done(t, err)
		gone = append(gone, removed(kv.Key))
	}
	done(t, b.roster.log.SetValues(t.Context(), gone...))
	done(t, b.Close())
	b = open(t, b.ledger.dir, newClock(), Options{Passkeys: site})
	forgotten := known(b)
	for _, a := range b.Accounts() {
		if !a.PasswordSet.IsZero() || len(b.Sessions(a.Name)) > 0 || len(b.Tokens(a.Name)) > 0 {
			t.Errorf("%+v is still known: %v", a, forgotten[a.Name])
		}
	}
	if _, _, err := b.Login(t.Context(), "ada", adasPassword, "192.0.2.1"); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("a password that was forgotten: %v", err)
	}
	must.Get(b.SetPassword(t.Context(), system, "ada", adasPassword))(t)
	b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	if len(b.Accounts()) != 3 || !slices.Contains(must.Get(b.Account("ada"))(t).Grants, Grant{Role: Admin}) {
		t.Errorf("there are %+v", b.Accounts())
	}
}

// Law: what was once recorded stays readable and means the same: a golden file of each kind
// is read, and written again as it is.
func TestGolden(t *testing.T) {
	kinds := make(map[events.Kind]string)
	if *rewrite {
		b := everyKind(t)
		for e, err := range b.roster.log.ReadCampaign(t.Context(), Stream, 0) {
			done(t, err)
			if text := string(e.Data); len(text) > len(kinds[e.Kind]) {
				kinds[e.Kind] = text
			}
		}
		taken, err := Entry{Kind: KindTakenOver, Reason: "1 entries", facts: &Facts{Taken: &Taken{
			Accounts: []*account{b.roster.account("ada")},
			Sessions: b.roster.sessionsOf("ada"), Tokens: []*token{b.roster.state.tokens[b.Tokens("ada")[0].ID]},
		}}}.event()
		done(t, err)
		kinds[taken.Kind] = string(taken.Data)
	}
	for _, info := range vocabulary.Kinds() {
		file := filepath.Join("testdata", "golden", fmt.Sprintf("%s.v%d.json", info.Kind, info.Version))
		if _, err := os.Stat(file); err != nil && *rewrite {
			done(t, os.WriteFile(file, []byte(kinds[info.Kind]+"\n"), 0o644))
		}
		text := strings.TrimSuffix(string(must.Get(os.ReadFile(file))(t)), "\n")
		payload, err := vocabulary.Decode(events.Event{Kind: info.Kind, Version: info.Version, Data: []byte(text)})
		done(t, err)
		if again := string(must.Get(json.Marshal(payload))(t)); again != text {
			t.Errorf("%s: written again it is\n%s\nand was\n%s", file, again, text)
		}
	}
	if files := must.Get(filepath.Glob(filepath.Join("testdata", "golden", "*")))(t); len(files) != len(vocabulary.Kinds()) {
		t.Errorf("there are %d files of %d kinds: none is ever removed", len(files), len(vocabulary.Kinds()))
	}
}

// Law: whenever the machine stops, what was acknowledged is there, what is there is whole,
// and no value is left that nothing names: a password that was set is the old or the new
// one, a session that was ended is not back, a token that was answered works.
func TestCrash(t *testing.T) {
	const second = "another kettle whistles"
	type secrets struct { // what is known of the accounts from outside
		added, changed, ended bool // acknowledged
		changing, ending      bool // asked for
		session, secret       string
	}
	var mu sync.Mutex // the database writes in the background
	var now secrets
	then := func(change func()) {
		mu.Lock()
		defer mu.Unlock()
		change()
	}
	clock := newClock()
	check := func(at secrets, open func(string) (events.Store, error), where string) {
		b, err := Open(filepath.Join(t.TempDir(), "lab"), Options{Now: clock.now, params: quick, open: open})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			return
		}
		defer b.Close()
		named := b.roster.state.named()
		for kv, err := range b.roster.log.Values(t.Context(), "") {
			if err != nil || !named[kv.Key] {
				t.Errorf("%s: %s is left, %v", where, kv.Key, err)
			}
		}
		if must.Get(b.Verify(system))(t); !at.added {
			return
		}
		login := func(password string) bool {
			done(t, b.Unlock(t.Context(), system, ""))
			_, _, err := b.Login(t.Context(), "ada", password, "192.0.2.1")
			return err == nil
		}
		if at.session != "" {
			_, err := b.Authenticate(t.Context(), at.session)
			if !at.ending && !at.changing && err != nil || at.ended && err == nil {
				t.Errorf("%s: the session: %v", where, err)
			}
		}
		if at.secret != "" {
			if _, err := b.AuthenticateToken(t.Context(), at.secret); err != nil {
				t.Errorf("%s: the token: %v", where, err)
			}
		}
		if old, changed := login(adasPassword), login(second); old == changed || at.changed && old || !at.changing && changed {
			t.Errorf("%s: the old password works: %t, the new one: %t", where, old, changed)
		}
	}
	var crash func(percent int) func(string) (events.Store, error)
	n, checks := 0, []func(){}
	onDisk, crash := newCrashDisk(func() {
		mu.Lock()
		defer mu.Unlock()
		n++
		for _, percent := range []int{0, 50, 100} {
			at, left, where := now, crash(percent), fmt.Sprintf("crash %d, %d %%", n, percent)
			checks = append(checks, func() { check(at, left, where) })
		}
	})
	b, err := Open(filepath.Join(t.TempDir(), "lab"), Options{Now: clock.now, params: quick, open: onDisk})
	done(t, err)
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)}))(t)
	then(func() { now.added = true })
	session, _ := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	secret, _, err := b.CreateToken(t.Context(), system, "ada", NewToken{Name: "x", Scopes: []Permission{See}})
	done(t, err)
	then(func() { now.session, now.secret, now.ending = session, secret, true })
	must.Get(b.EndSessions(t.Context(), system, "ada"))(t)
	then(func() { now.ended, now.changing = true, true })
	must.Get(b.SetPassword(t.Context(), system, "ada", second))(t)
	then(func() { now.changed = true })
	done(t, b.Close())
	for _, check := range checks {
		check()
	}
	t.Logf("%d crashes", len(checks))
}

// BenchmarkOpen opens accounts with 100,000 events.
func BenchmarkOpen(b *testing.B) {
	d, _ := full(b)
	entries := make([]Entry, 100_000)
	for n := range entries {
		entries[n] = Entry{
			Kind: KindLogin, By: "ada", Account: "ada", Method: ByPassword, From: fmt.Sprint("192.0.2.", n%250),
			Credential: randomID(), facts: &Facts{Secret: randomID(), Confirmed: time.Now().UTC()},
		}
	}
	must.Do(b, d.ledger.commit(change{entries: entries}))
	must.Do(b, d.Close())
	for b.Loop() {
		d, err := Open(d.ledger.dir, Options{})
		if err == nil {
			err = d.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
