package accounts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// provider is a small OpenID Connect issuer, which says of whoever comes what it is told to, and
// checks what a careful one checks.
type provider struct {
	*httptest.Server
	t     *testing.T
	c     *watch
	key   *ecdsa.PrivateKey
	asked url.Values // of the login that goes on
	says  map[string]any
	info  map[string]any // what UserInfo says; nil where that fails
	infos int            // how often it was asked
}

func newProvider(t *testing.T, c *watch) *provider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	done(t, err)
	p := &provider{t: t, c: c, key: key}
	p.info = map[string]any{}
	discovery := &oidctest.Server{
		PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "1", Algorithm: oidc.ES256}},
		Algorithms: []string{oidc.ES256},
	}
	mux := http.NewServeMux()
	mux.Handle("/", discovery)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		said := httptest.NewRecorder()
		discovery.ServeHTTP(said, r)
		var document map[string]any
		if err := json.Unmarshal(said.Body.Bytes(), &document); err != nil {
			t.Error(err)
		}
		document["userinfo_endpoint"] = p.URL + "/userinfo"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(document)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	discovery.SetIssuer(p.URL)
	return p
}

// token exchanges the code for an ID token, where the client proves that it has begun the login.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	secret, _ = url.QueryUnescape(secret) // RFC 6749, section 2.3.1
	verifier := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if id != "campaignd" || secret != "the client's secret" || r.FormValue("code") != "code-1" ||
		base64.RawURLEncoding.EncodeToString(verifier[:]) != p.asked.Get("code_challenge") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	says := map[string]any{
		"iss": p.URL, "aud": "campaignd", "nonce": p.asked.Get("nonce"),
		"iat": p.c.now().Unix(), "exp": p.c.now().Add(time.Hour).Unix(),
	}
	maps.Copy(says, p.says)
	text, err := json.Marshal(says)
	if err != nil {
		p.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": "x", "token_type": "Bearer",
		"id_token": oidctest.SignIDToken(p.key, "1", oidc.ES256, string(text)),
	})
}

// userInfo says more of the person, unless info says otherwise of the one who logs in.
func (p *provider) userInfo(w http.ResponseWriter, r *http.Request) {
	p.infos++
	if p.info == nil || r.Header.Get("Authorization") != "Bearer x" {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	says := map[string]any{"sub": p.says["sub"]}
	maps.Copy(says, p.info)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(says)
}

// come goes to the issuer and comes back with a code.
func (p *provider) come(b *Directory, confirm string, says map[string]any) (string, Identity, error) {
	p.t.Helper()
	address, ceremony, err := b.BeginOIDC(p.t.Context(), confirm)
	done(p.t, err)
	where, err := url.Parse(address)
	done(p.t, err)
	p.asked, p.says = where.Query(), says
	return b.FinishOIDC(p.t.Context(), ceremony, OIDCAnswer{State: p.asked.Get("state"), Code: "code-1"}, "192.0.2.1")
}

func (p *provider) options(t *testing.T, o OIDC) Options {
	secret := filepath.Join(t.TempDir(), "secret")
	done(t, os.WriteFile(secret, []byte("the client's secret\n"), 0o600))
	o.Issuer, o.ClientID, o.ClientSecretFile, o.RedirectURL = p.URL, "campaignd", secret, "https://lab.example.org/login/openid"
	return Options{OIDC: &o}
}

// Law: whoever the issuer vouches for is let in, into the account that is theirs; an account that
// is somebody else's, or might be, is nobody's by that.
func TestOIDC(t *testing.T) {
	c := newClock()
	p := newProvider(t, c)
	o := p.options(t, OIDC{Domains: []string{"lab.example.org"}})
	b := open(t, filepath.Join(t.TempDir(), "lab"), c, o)
	for _, n := range []NewAccount{
		{Name: "ada", Grants: []Grant{{Role: Admin}}, Email: "ada@lab.example.org"},
		{Name: "bob", Grants: []Grant{{Role: Expert}}, Email: "bob@elsewhere.example"},
		{Name: "carol", Grants: []Grant{{Role: Expert}}, Email: "carol@lab.example.org"},
	} {
		must.Get(b.Add(t.Context(), system, n))(t)
	}
	ada := map[string]any{"sub": "4711", "email": "Ada@Lab.example.org", "email_verified": true, "auth_time": c.now().Add(-time.Hour).Unix()}
	_, who, err := p.come(b, "", ada)
	if err != nil || who.Account != "ada" || who.Method != ByOIDC || who.May(Administer, "") != nil {
		t.Fatalf("ada is %+v: %v", who, err)
	}
	if who.Recent(c.now(), time.Minute) == nil || who.Recent(c.now(), 2*time.Hour) != nil {
		t.Errorf("she was asked an hour ago: %s", who.Confirmed)
	}
	if p.asked.Get("state") == "" || p.asked.Get("nonce") == "" || p.asked.Get("code_challenge_method") != "S256" {
		t.Errorf("the issuer was asked with %v", p.asked)
	}
	// From now on she is known by her subject, whatever her address is.
	if _, who, err = p.come(b, "", map[string]any{"sub": "4711", "email": "a.lovelace@lab.example.org", "email_verified": true}); err != nil || who.Account != "ada" {
		t.Errorf("with another address ada is %+v: %v", who, err)
	}

	with := func(base map[string]any, name string, value any) map[string]any {
		changed := maps.Clone(base)
		changed[name] = value
		return changed
	}
	for name, says := range map[string]map[string]any{
		"another subject with her address": with(ada, "sub", "4712"),
		"an address that is not verified":  with(with(ada, "sub", "4713"), "email_verified", false),
		"carol's, which is not verified":   {"sub": "2", "email": "carol@lab.example.org"},
		"herself, from elsewhere":          with(ada, "email", "ada@elsewhere.example"),
		"another domain":                   {"sub": "1", "email": "bob@elsewhere.example", "email_verified": true},
		"no address":                       {"sub": "1"},
		"a domain that ends like it":       {"sub": "1", "email": "x@evil-lab.example.org", "email_verified": true},
		"for another client":               with(ada, "aud", "somebody"),
		"of another issuer":                with(ada, "iss", "https://issuer.example"),
		"to another login":                 with(ada, "nonce", "x"),
		"expired":                          with(ada, "exp", c.now().Add(-time.Hour).Unix()),
		"nobody's account":                 {"sub": "1", "email": "eve@lab.example.org", "email_verified": true},
	} {
		token, who, err := p.come(b, "", says)
		if code := problem.CodeOf(orNil(err)); token != "" || who.Known() || (code != problem.Unauthenticated && code != problem.Forbidden) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}

	if _, who, err := p.come(b, "", map[string]any{"sub": "2", "email": "carol@lab.example.org", "email_verified": "true"}); err != nil || who.Account != "carol" {
		t.Errorf("carol is %+v: %v", who, err)
	}

	// The answer must be to what this browser has begun.
	begin := func() (string, string) {
		address, ceremony, err := b.BeginOIDC(t.Context(), "")
		done(t, err)
		where, err := url.Parse(address)
		done(t, err)
		p.asked, p.says = where.Query(), ada
		return ceremony, p.asked.Get("state")
	}
	mine, _ := begin()
	_, others := begin()
	for name, x := range map[string]struct {
		ceremony string
		answer   OIDCAnswer
	}{
		"another browser's": {mine, OIDCAnswer{State: others, Code: "code-1"}},
		"nobody's":          {"", OIDCAnswer{State: others, Code: "code-1"}},
	} {
		if _, _, err := b.FinishOIDC(t.Context(), x.ceremony, x.answer, ""); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	ceremony, state := begin()
	if _, _, err := b.FinishOIDC(t.Context(), ceremony, OIDCAnswer{State: state + "x", Code: "code-1"}, ""); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("another state: %v", err)
	}
	ceremony, state = begin()
	if _, _, err := b.FinishOIDC(t.Context(), ceremony, OIDCAnswer{State: state, Error: "access_denied", Description: "You said\nno"}, ""); err == nil || !strings.Contains(err.Error(), "You said") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the issuer's words: %v", err)
	}
	ceremony, state = begin()
	if _, _, err := b.FinishOIDC(t.Context(), ceremony, OIDCAnswer{State: state, Code: "code-2"}, ""); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("a wrong code: %v", err)
	}

	// Asked anew, the issuer must say that it did.
	if _, _, err := p.come(b, "ada", ada); err == nil || p.asked.Get("max_age") != "0" {
		t.Errorf("an hour ago is not anew: %v", err)
	}
	if _, who, err := p.come(b, "ada", with(ada, "auth_time", c.now().Unix())); err != nil || who.Recent(c.now(), time.Minute) != nil {
		t.Errorf("anew: %+v, %v", who, err)
	}
	if token, _, err := p.come(b, "carol", with(ada, "auth_time", c.now().Unix())); token != "" || err == nil || !strings.Contains(err.Error(), "carol was to show it") {
		t.Errorf("ada confirms what carol does: %v", err)
	}
	must.Get(b.Grant(t.Context(), system, "bob", Grant{Role: Admin}))(t)
	must.Get(b.Disable(t.Context(), system, "ada"))(t)
	if _, _, err := p.come(b, "", ada); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("ada is disabled: %v", err)
	}
	must.Get(b.Verify(system))(t)
	p.Close()
	b = open(t, filepath.Join(t.TempDir(), "lab"), c, o)
	if _, _, err := b.BeginOIDC(t.Context(), ""); problem.CodeOf(orNil(err)) != problem.Unavailable {
		t.Errorf("the issuer is gone: %v", err)
	}
}

// Law: roles that come from a claim are those that it gives at the last login, beside what an
// admin has granted; and the last admin stays one.
func TestOIDCRoles(t *testing.T) {
	c := newClock()
	p := newProvider(t, c)
	b := open(t, filepath.Join(t.TempDir(), "lab"), c, p.options(t, OIDC{
		RoleClaim: "realm_access.roles", Roles: map[string]Role{"chem": Scientist, "boss": Admin}, NewAccounts: true,
	}))
	says := func(roles ...string) map[string]any {
		return map[string]any{"sub": "1", "preferred_username": "Eve", "name": "Eve E.", "realm_access": map[string]any{"roles": roles}}
	}
	if _, _, err := p.come(b, "", says("boss")); err == nil || !b.Empty() {
		t.Errorf("the first account is made by whoever comes first: %v", err)
	}
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}}))(t)
	if _, _, err := p.come(b, "", says("cook")); problem.CodeOf(orNil(err)) != problem.Forbidden {
		t.Errorf("cooks are let in: %v", err)
	}
	_, who, err := p.come(b, "", says("chem", "cook"))
	if err != nil || who.Account != "eve" || who.May(Run, "lfp") != nil || who.May(Administer, "") == nil || who.DisplayName != "Eve E." {
		t.Fatalf("eve is %+v: %v", who, err)
	}
	must.Get(b.Grant(t.Context(), system, "eve", Grant{Role: Auditor, Issuer: p.URL}))(t)
	if _, who, err = p.come(b, "", says("boss")); err != nil || who.May(Administer, "") != nil ||
		slices.ContainsFunc(who.Grants, func(g Grant) bool { return g.Role == Scientist }) || !slices.Contains(who.Grants, Grant{Role: Auditor}) {
		t.Errorf("eve is %+v: %v", who, err)
	}
	must.Get(b.Revoke(t.Context(), system, "ada", Grant{Role: Admin}))(t)
	if _, who, err = p.come(b, "", says("chem")); err != nil || who.May(Administer, "") != nil {
		t.Errorf("nobody is an admin any more: %+v, %v", who, err)
	}
	// Without a domain for which the issuer is asked, its word on an address ties nobody to an account.
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "carol", Email: "carol@lab.example.org"}))(t)
	if _, who, err = p.come(b, "", map[string]any{
		"sub": "9", "preferred_username": "dora", "email": "carol@lab.example.org", "email_verified": true,
		"realm_access": map[string]any{"roles": "chem"},
	}); err != nil || who.Account != "dora" {
		t.Errorf("dora is %+v: %v", who, err)
	}
	if _, _, err := p.come(b, "", map[string]any{"sub": "2", "preferred_username": "ada", "realm_access": map[string]any{"roles": []string{"chem"}}}); problem.CodeOf(orNil(err)) != problem.Conflict {
		t.Errorf("somebody else is ada now: %v", err)
	}
}

// Law: whom the issuer does not let in any more keeps nothing that it gave: no role, no session, no
// power of a token. What an admin gave them stays, and the trail says what was taken.
func TestOIDCRemoval(t *testing.T) {
	c := newClock()
	p := newProvider(t, c)
	b := open(t, filepath.Join(t.TempDir(), "lab"), c, p.options(t, OIDC{
		RoleClaim: "groups", Roles: map[string]Role{"chem": Scientist}, NewAccounts: true,
	}))
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}}))(t)
	says := func(groups ...string) map[string]any {
		return map[string]any{"sub": "1", "preferred_username": "eve", "groups": groups}
	}
	session, who, err := p.come(b, "", says("chem"))
	if err != nil || who.May(Run, "lfp") != nil {
		t.Fatalf("eve is %+v: %v", who, err)
	}
	must.Get(b.Grant(t.Context(), system, "eve", Grant{Role: Viewer}))(t)
	secret, _, err := b.CreateToken(t.Context(), system, "eve", NewToken{Name: "x", Scopes: []Permission{See, Run}})
	done(t, err)
	before := uint64(b.roster.last)
	if _, _, err := p.come(b, "", says("cook")); problem.CodeOf(orNil(err)) != problem.Forbidden {
		t.Fatalf("eve is let in: %v", err)
	}
	if _, err := b.Authenticate(t.Context(), session); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("her session goes on: %v", err)
	}
	if who, err := b.AuthenticateToken(t.Context(), secret); err != nil || who.May(Run, "lfp") == nil || who.May(See, "lfp") != nil {
		t.Errorf("her token may run, or not even what an admin gave her: %+v, %v", who, err)
	}
	if left := must.Get(b.Account("eve"))(t).Grants; !slices.Equal(left, []Grant{{Role: Viewer}}) {
		t.Errorf("she is still %v", left)
	}
	if got, want := kinds(t, b)[before:], []Kind{KindRevoked, KindSessionsEnded, KindLoginFailed}; !slices.Equal(got, want) {
		t.Errorf("recorded are %v", got)
	}
	for _, e := range must.Get(b.AuditLog(system, Page{Limit: 3}))(t) {
		if e.Account != "eve" {
			t.Errorf("not of eve: %s", e)
		}
	}
	// They come back as what they are then.
	if _, who, err := p.come(b, "", says("chem")); err != nil || who.May(Run, "lfp") != nil {
		t.Errorf("eve is let in again: %+v, %v", who, err)
	}
}

// Law: what an issuer does not say is not an answer. Where the claim of roles is in neither the ID token
// nor UserInfo, this login is refused with that sentence, and nothing is taken from anyone; where
// UserInfo has it, that counts as if the token had it.
func TestOIDCSilence(t *testing.T) {
	overage := map[string]any{"_claim_names": map[string]any{"groups": "src1"},
		"_claim_sources": map[string]any{"src1": map[string]any{"endpoint": "https://graph.example/groups"}}}
	for name, x := range map[string]struct {
		token, info map[string]any
		infos       int
		says        string // of the refusal; empty for none
		takes       bool   // what the issuer gave
	}{
		"the token":                        {token: map[string]any{"groups": []string{"chem"}}},
		"the token, whatever UserInfo has": {token: map[string]any{"groups": []string{"chem"}}, info: map[string]any{"groups": []string{}}},
		"UserInfo (Authelia 4.39)":         {info: map[string]any{"groups": []string{"chem"}}, infos: 1},
		"UserInfo, of another person":      {info: map[string]any{"sub": "2", "groups": []string{"chem"}}, infos: 1, says: "not about this person"},
		"UserInfo fails":                   {infos: -1, says: "does not answer as it should"},
		"nobody":                           {infos: 1, info: map[string]any{}, says: "does not say what groups is"},
		"null":                             {token: map[string]any{"groups": nil}, infos: 1, info: map[string]any{}, says: "does not say what groups is"},
		"more than 200 groups (Entra)":     {token: overage, infos: 1, info: map[string]any{}, says: "too many"},
		"hasgroups (Entra)":                {token: map[string]any{"hasgroups": true}, infos: 1, info: map[string]any{}, says: "too many"},
		"in no group":                      {token: map[string]any{"groups": []string{}}, says: "stands for a role", takes: true},
		"in no group, says UserInfo":       {info: map[string]any{"groups": []string{}}, infos: 1, says: "stands for a role", takes: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			p := newProvider(t, c)
			b := open(t, filepath.Join(t.TempDir(), "lab"), c, p.options(t, OIDC{
				RoleClaim: "groups", Roles: map[string]Role{"chem": Scientist}, NewAccounts: true,
			}))
			must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}}))(t)
			says := map[string]any{"sub": "1", "preferred_username": "eve", "groups": []string{"chem"}}
			session, _, err := p.come(b, "", says)
			done(t, err)
			delete(says, "groups")
			maps.Copy(says, x.token)
			if p.info = x.info; x.info == nil && x.infos == 0 {
				p.info = map[string]any{}
			}
			_, who, err := p.come(b, "", says)
			if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
				t.Errorf("eve is %+v: %v, want %q", who, err, x.says)
			}
			if x.infos >= 0 && p.infos != x.infos {
				t.Errorf("UserInfo was asked %d times, want %d", p.infos, x.infos)
			}
			_, err = b.Authenticate(t.Context(), session)
			if grants := must.Get(b.Account("eve"))(t).Grants; (err != nil) != x.takes || (len(grants) == 0) != x.takes {
				t.Errorf("eve has the roles %v, and her session: %v", grants, err)
			}
		})
	}
}

// Law: an address of a domain that the lab does not name makes nobody somebody else: who comes as
// bo@other.example is not bo, and does not answer as the expert bo.
func TestOIDCNames(t *testing.T) {
	for name, x := range map[string]struct {
		domains   []string
		preferred string
		email     string
		verified  bool
		want      string // "": refused
	}{
		"a name":                             {nil, "Bo", "x@other.example", true, "bo"},
		"an address, and no domain is named": {nil, "bo@other.example", "", false, "bo@other.example"},
		"of another domain":                  {[]string{"lab.example.org"}, "bo@other.example", "b@lab.example.org", true, "bo@other.example"},
		"of a domain that ends like it":      {[]string{"lab.example.org"}, "bo@evil-lab.example.org", "b@lab.example.org", true, "bo@evil-lab.example.org"},
		"of a domain further in":             {[]string{"lab.example.org"}, "bo@lab.example.org@other.example", "b@lab.example.org", true, "bo@lab.example.org@other.example"},
		"of the lab's":                       {[]string{"lab.example.org"}, "bo@Lab.example.org", "b@lab.example.org", true, "bo"},
		"an e-mail address of the lab's":     {[]string{"lab.example.org"}, "", "bo@lab.example.org", true, "bo"},
		"an e-mail address":                  {nil, "", "bo@other.example", true, "bo@other.example"},
		"an e-mail address, unverified":      {nil, "", "bo@other.example", false, ""},
		"nothing":                            {nil, "", "", false, ""},
		"nothing before the at":              {[]string{"lab.example.org"}, "@lab.example.org", "b@lab.example.org", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			p := newProvider(t, c)
			b := open(t, filepath.Join(t.TempDir(), "lab"), c, p.options(t, OIDC{
				Domains: x.domains, RoleClaim: "groups", Roles: map[string]Role{"chem": Expert}, NewAccounts: true,
			}))
			must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}}))(t)
			_, who, err := p.come(b, "", map[string]any{
				"sub": "1", "preferred_username": x.preferred, "email": x.email, "email_verified": x.verified, "groups": "chem",
			})
			if who.Account != x.want || (err == nil) != (x.want != "") || (x.want == "" && len(b.Accounts()) != 1) {
				t.Errorf("they are %q, not %q: %v", who.Account, x.want, err)
			}
			if may := who.AnswersAs("bo", "lfp") == nil; may != (x.want == "bo") {
				t.Errorf("%q answers as bo: %t", who.Account, may)
			}
		})
	}
}

// Law: what nobody has begun is not recorded, and whoever is nobody makes few entries of the audit
// trail, however often they come, from however many addresses of a network and with whatever
// words. A restart does not forget failed passwords because of other entries.
func TestFewEntriesOfStrangers(t *testing.T) {
	c := newClock()
	dir := filepath.Join(t.TempDir(), "lab")
	o := newProvider(t, c).options(t, OIDC{Domains: []string{"lab.example.org"}})
	o.Passkeys = site
	b := open(t, dir, c, o)
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)}))(t)
	before := uint64(b.roster.last)
	for range 10 {
		_, _, err := b.FinishOIDC(t.Context(), "nothing", OIDCAnswer{State: "x", Code: "y"}, "192.0.2.1")
		_, _, other := b.FinishPasskeyLogin(t.Context(), "nothing", []byte("{"), "192.0.2.1")
		if problem.CodeOf(orNil(err)) != problem.Unauthenticated || problem.CodeOf(orNil(other)) != problem.Unauthenticated {
			t.Fatal(err, other)
		}
	}
	if n := uint64(b.roster.last) - before; n != 0 {
		t.Errorf("%d entries about logins that nobody has begun", n)
	}
	flood := func() uint64 {
		before := uint64(b.roster.last)
		for n := range 50 {
			from := fmt.Sprintf("2001:db8::%x", n+1)
			ctx := WithAddress(t.Context(), from)
			address, name, err := b.BeginOIDC(ctx, "")
			done(t, err)
			where, err := url.Parse(address)
			done(t, err)
			_, _, err = b.FinishOIDC(ctx, name, OIDCAnswer{
				State: where.Query().Get("state"), Error: "no", Description: fmt.Sprint("ada has left, ", n),
			}, from)
			if problem.CodeOf(orNil(err)) != problem.Unauthenticated {
				t.Fatal(err)
			}
			name, _, err = b.BeginPasskeyLogin(ctx)
			done(t, err)
			if _, _, err := b.FinishPasskeyLogin(ctx, name, []byte("{"), from); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
				t.Fatal(err)
			}
		}
		return uint64(b.roster.last) - before
	}
	if n := flood(); n != 2 {
		t.Errorf("%d entries of two kinds of login that failed from one network", n)
	}
	c.pass(refusalsPeriod)
	if n := flood(); n != 2 {
		t.Errorf("a minute later %d entries", n)
	}
	entries := must.Get(b.AuditLog(system, Page{Limit: 4}))(t)
	for _, e := range entries {
		if e.Kind != KindLoginFailed || strings.Contains(e.Reason, "ada") {
			t.Errorf("recorded: %+v", e)
		}
	}
	if entries[0].Times != 50 || entries[1].Times != 50 {
		t.Errorf("50 were counted as %d and %d", entries[0].Times, entries[1].Times)
	}

	for guess(t, b, "ada", "192.0.2.1") == 0 {
	}
	others := make([]Entry, mostRecall)
	for n := range others {
		others[n] = Entry{Kind: KindLoginFailed, Method: ByOIDC}
	}
	b.ledger.writing.Lock()
	done(t, b.ledger.commit(change{entries: others}))
	b.ledger.writing.Unlock()
	done(t, b.Close())
	b = open(t, dir, c, o)
	if guess(t, b, "ada", "192.0.2.1") == 0 {
		t.Error("failed passwords are forgotten over other entries")
	}
}

// Law: a configuration that would let in more than it says is refused, with all that is wrong; and
// where it is, or its secret is missing, there are accounts without such logins.
func TestOIDCConfiguration(t *testing.T) {
	whole := OIDC{Issuer: "https://id.example.org", ClientID: "x", RedirectURL: "https://lab.example.org/x", Domains: []string{"example.org"}}
	done(t, whole.Validate())
	for name, change := range map[string]func(o *OIDC){
		"issuer":        func(o *OIDC) { o.Issuer = "http://id.example.org" },
		"redirect_url":  func(o *OIDC) { o.RedirectURL = "lab" },
		"client_id":     func(o *OIDC) { o.ClientID = "" },
		"client_secret": func(o *OIDC) { o.ClientSecretEnv, o.ClientSecretFile = "A", "b" },
		"everybody":     func(o *OIDC) { o.Domains = nil },
		"role_claim":    func(o *OIDC) { o.Roles = map[string]Role{"a": Viewer} },
		"no role":       func(o *OIDC) { o.RoleClaim, o.Roles = "x", map[string]Role{"a": "king"} },
		"default_role":  func(o *OIDC) { o.DefaultRole = Admin },
		"domains":       func(o *OIDC) { o.Domains = []string{"*.org"} },
	} {
		o := whole
		change(&o)
		if err := o.Validate(); problem.CodeOf(orNil(err)) != problem.Invalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("NO_SECRET", "")
	whole.ClientSecretEnv = "NO_SECRET"
	for name, o := range map[string]OIDC{
		"the secret is empty": whole, "everybody": {Issuer: whole.Issuer, ClientID: "x", RedirectURL: whole.RedirectURL},
	} {
		if err := CheckOIDC(&o); problem.CodeOf(orNil(err)) != problem.Invalid || !strings.Contains(err.Error(), strings.Fields(name)[0]) {
			t.Errorf("%s: %v", name, err)
		}
		d, err := Open(filepath.Join(t.TempDir(), "lab"), Options{OIDC: &o})
		done(t, err)
		if _, _, err := d.BeginOIDC(t.Context(), ""); d.OIDCName() != "" || problem.CodeOf(orNil(err)) != problem.NotPossible {
			t.Errorf("%s: people are sent to the issuer: %v", name, err)
		}
		done(t, d.Close())
	}
}
