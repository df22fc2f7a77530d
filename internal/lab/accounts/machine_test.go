package accounts

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: accounts, grants, sessions and tokens are at every moment what a naive model says that only
// remembers what was asked for, also after the book was closed, or killed and opened again.
func TestMachine(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := &machine{t: t, c: newClock(), dir: filepath.Join(root, fmt.Sprint(n))}
		m.open()
		defer func() { _ = m.b.Close() }()
		m.people = map[string]*person{"ada": {password: "the password number 0", grants: []Grant{{Role: Admin}}}}
		must.Get(m.b.Add(t.Context(), system, NewAccount{
			Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret("the password number 0"),
		}))(t)
		t.Repeat(map[string]func(*rapid.T){
			"":         m.compare,
			"add":      m.add,
			"login":    m.login,
			"use":      m.use,
			"logout":   m.logout,
			"grant":    m.grant,
			"revoke":   m.revoke,
			"disable":  m.disable,
			"enable":   m.enable,
			"password": m.password,
			"end":      m.end,
			"token":    m.token,
			"untoken":  m.untoken,
			"wait":     func(t *rapid.T) { m.c.pass(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute) },
			"reopen":   m.reopen,
			"kill":     m.kill,
		})
	})
}

// machine is a book and the model of it.
type machine struct {
	t      *rapid.T
	c      *watch
	b      *Directory
	dir    string
	kills  int
	people map[string]*person
	// in are the sessions, and out the tokens, by their secrets: also those that are over.
	in  []*visit
	out []*paper
}

type person struct {
	password string
	disabled bool
	grants   []Grant
}

type visit struct {
	secret, who   string
	created, seen time.Time
	ended         bool
}

type paper struct {
	secret, id, who string
	expires         time.Time
	revoked         bool
}

const (
	machineIdle     = time.Hour
	machineLifetime = 4 * time.Hour
)

func (m *machine) open() {
	b, err := Open(m.dir, Options{Now: m.c.now, Idle: machineIdle, Lifetime: machineLifetime, params: quick, open: unsyncedDisk})
	if err != nil {
		m.t.Fatal(err)
	}
	m.b = b
}

func (m *machine) somebody(t *rapid.T) (string, *person) {
	name := rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(t, "who")
	if m.people[name] == nil {
		t.Skip("nobody of that name")
	}
	return name, m.people[name]
}

func (m *machine) admins() (n int) {
	for _, p := range m.people {
		if !p.disabled && slices.Contains(p.grants, Grant{Role: Admin}) {
			n++
		}
	}
	return n
}

// expect compares whether something was done with whether it should have been.
func (m *machine) expect(t *rapid.T, what string, err error, want bool) {
	if (err == nil) != want {
		t.Fatalf("%s: %v, and the model says %t", what, err, want)
	}
}

func (m *machine) add(t *rapid.T) {
	name := rapid.SampledFrom([]string{"bob", "eve"}).Draw(t, "who")
	_, err := m.b.Add(t.Context(), system, NewAccount{Name: name, Password: NewSecret("the password number 0")})
	m.expect(t, "add", err, m.people[name] == nil)
	if err == nil {
		m.people[name] = &person{password: "the password number 0"}
	}
}

func (m *machine) login(t *rapid.T) {
	name, p := m.somebody(t)
	right := rapid.Float64().Draw(t, "right") < 0.8
	password := p.password
	if !right {
		password = "another password"
	}
	if err := m.b.Unlock(t.Context(), system, ""); err != nil { // of limits the model knows nothing
		t.Fatal(err)
	}
	secret, _, err := m.b.Login(t.Context(), name, password, "192.0.2.1")
	m.expect(t, "login", err, right && !p.disabled)
	if err == nil {
		m.in = append(m.in, &visit{secret: secret, who: name, created: m.c.now(), seen: m.c.now()})
	}
}

// lasts is whether a session is still one.
func (m *machine) lasts(v *visit) bool {
	now := m.c.now()
	return !v.ended && !m.people[v.who].disabled && now.Sub(v.seen) <= machineIdle && now.Sub(v.created) <= machineLifetime
}

func (m *machine) visit(t *rapid.T) *visit {
	if len(m.in) == 0 {
		t.Skip("nobody was here")
	}
	return m.in[rapid.IntRange(0, len(m.in)-1).Draw(t, "session")]
}

func (m *machine) use(t *rapid.T) {
	v := m.visit(t)
	i, err := m.b.Authenticate(t.Context(), v.secret)
	m.expect(t, "use", err, m.lasts(v))
	if err == nil {
		m.holds(t, i, m.people[v.who])
		v.seen = m.c.now() // waits are of minutes, so that it is noted
	}
}

// holds checks what an identity may against the grants of the model, by the roles' own words.
func (m *machine) holds(t *rapid.T, i Identity, p *person) {
	for _, q := range []Permission{See, Run, Administer} {
		for _, campaign := range []string{"", "lfp", "nmc"} {
			want := slices.ContainsFunc(p.grants, func(g Grant) bool {
				gives := map[Role][]Permission{Viewer: {See}, Scientist: {See, Run}, Admin: {See, Run, Administer}}[g.Role]
				return slices.Contains(gives, q) && (g.Campaign == "" || g.Campaign == campaign)
			})
			if (i.May(q, campaign) == nil) != want {
				t.Fatalf("%s in %q with %v: %v", q, campaign, p.grants, i.May(q, campaign))
			}
		}
	}
}

func (m *machine) logout(t *rapid.T) {
	v := m.visit(t)
	must.Do(t, m.b.Logout(t.Context(), v.secret))
	if m.lasts(v) {
		v.ended = true
	}
}

func (m *machine) drawGrant(t *rapid.T) Grant {
	return rapid.SampledFrom([]Grant{
		{Role: Viewer}, {Role: Scientist}, {Role: Scientist, Campaign: "lfp"}, {Role: Viewer, Campaign: "nmc"}, {Role: Admin},
	}).Draw(t, "grant")
}

func (m *machine) grant(t *rapid.T) {
	name, p := m.somebody(t)
	g := m.drawGrant(t)
	_, err := m.b.Grant(t.Context(), system, name, g)
	m.expect(t, "grant", err, !slices.Contains(p.grants, g))
	if err == nil {
		p.grants = append(slices.Clone(p.grants), g)
	}
}

func (m *machine) revoke(t *rapid.T) {
	name, p := m.somebody(t)
	g := m.drawGrant(t)
	last := g == (Grant{Role: Admin}) && !p.disabled && m.admins() == 1
	_, err := m.b.Revoke(t.Context(), system, name, g)
	m.expect(t, "revoke", err, slices.Contains(p.grants, g) && !last)
	if err == nil {
		p.grants = slices.DeleteFunc(slices.Clone(p.grants), func(x Grant) bool { return x == g })
	}
}

func (m *machine) disable(t *rapid.T) {
	name, p := m.somebody(t)
	last := slices.Contains(p.grants, Grant{Role: Admin}) && m.admins() == 1
	_, err := m.b.Disable(t.Context(), system, name)
	m.expect(t, "disable", err, !p.disabled && !last)
	if err == nil {
		m.endAll(name)
		for _, o := range m.out {
			o.revoked = o.revoked || (o.who == name && m.c.now().Before(o.expires))
		}
		p.disabled = true
	}
}

func (m *machine) endAll(name string) {
	for _, v := range m.in {
		v.ended = v.ended || v.who == name
	}
}

func (m *machine) enable(t *rapid.T) {
	name, p := m.somebody(t)
	_, err := m.b.Enable(t.Context(), system, name)
	m.expect(t, "enable", err, p.disabled)
	p.disabled = false
}

func (m *machine) password(t *rapid.T) {
	name, p := m.somebody(t)
	p.password = fmt.Sprint("the password number ", rapid.IntRange(0, 9).Draw(t, "number"))
	must.Get(m.b.SetPassword(t.Context(), system, name, p.password))(t)
	m.endAll(name)
}

func (m *machine) end(t *rapid.T) {
	name, _ := m.somebody(t)
	must.Get(m.b.EndSessions(t.Context(), system, name))(t)
	m.endAll(name)
}

func (m *machine) token(t *rapid.T) {
	name, p := m.somebody(t)
	may := len(p.grants) > 0 && !p.disabled // whoever has a role may see
	hours := rapid.IntRange(1, 4).Draw(t, "hours")
	secret, made, err := m.b.CreateToken(t.Context(), system, name, NewToken{
		Name: "x", Scopes: []Permission{See}, Lifetime: time.Duration(hours) * time.Hour,
	})
	m.expect(t, "token", err, may)
	if err == nil {
		m.out = append(m.out, &paper{secret: secret, id: made.ID, who: name, expires: m.c.now().Add(time.Duration(hours) * time.Hour)})
	}
}

func (m *machine) untoken(t *rapid.T) {
	if len(m.out) == 0 {
		t.Skip("there are no tokens")
	}
	o := m.out[rapid.IntRange(0, len(m.out)-1).Draw(t, "token")]
	_, err := m.b.RevokeToken(t.Context(), system, o.id)
	m.expect(t, "untoken", err, !o.revoked)
	o.revoked = true
}

func (m *machine) reopen(t *rapid.T) {
	must.Do(t, m.b.Close())
	m.open()
}

// kill goes on with a copy of the files as they are. When a session was used last may be lost by
// that, to the disadvantage of the session: so every one that lasts is used before, and the model
// goes on with those.
func (m *machine) kill(t *rapid.T) {
	for _, v := range m.in {
		v.ended = !m.lasts(v)
	}
	if err := m.b.Unlock(t.Context(), system, ""); err != nil { // what was written lazily is written before
		t.Fatal(err)
	}
	m.kills++
	copied := fmt.Sprintf("%s-%d", m.dir, m.kills)
	must.Do(t, copyOf(m.b, copied))
	must.Do(t, m.b.Close())
	m.dir = copied
	m.open()
}

func (m *machine) compare(t *rapid.T) {
	accounts := m.b.Accounts()
	if len(accounts) != len(m.people) {
		t.Fatalf("there are %v", accounts)
	}
	for _, a := range accounts {
		p := m.people[a.Name]
		if p == nil || a.Disabled != p.disabled || !slices.Equal(a.Grants, append([]Grant{}, p.grants...)) {
			t.Fatalf("%+v is %+v in the model", a, p)
		}
		want := 0
		for _, v := range m.in {
			if v.who == a.Name && m.lasts(v) {
				want++
			}
		}
		if got := len(m.b.Sessions(a.Name)); got != want {
			t.Fatalf("%s has %d sessions, and %d in the model", a.Name, got, want)
		}
	}
	for _, o := range m.out {
		i, err := m.b.AuthenticateToken(t.Context(), o.secret)
		want := !o.revoked && m.c.now().Before(o.expires) && !m.people[o.who].disabled
		m.expect(t, "a token", err, want)
		if err == nil && (i.May(See, "") == nil) != slices.ContainsFunc(m.people[o.who].grants, func(g Grant) bool { return g.Campaign == "" }) {
			t.Fatalf("a token of %v may see: %v", m.people[o.who].grants, i.May(See, ""))
		}
	}
	must.Get(m.b.Verify(system))(t)
}
