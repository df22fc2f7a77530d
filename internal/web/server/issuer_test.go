package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// issuer is an OpenID Connect issuer that vouches for one person, without asking them.
type issuer struct {
	*httptest.Server
	who   string
	nonce string
}

func newIssuer(t *testing.T) *issuer {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	i := &issuer{}
	discovery := &oidctest.Server{
		PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "1", Algorithm: oidc.ES256}},
		Algorithms: []string{oidc.ES256},
	}
	mux := http.NewServeMux()
	mux.Handle("/", discovery)
	mux.HandleFunc("GET /auth", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		i.nonce = q.Get("nonce")
		back := q.Get("redirect_uri") + "?" + url.Values{"code": {"1"}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, back, http.StatusSeeOther)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		says, _ := json.Marshal(map[string]any{
			"iss": i.URL, "aud": "campaignd", "sub": i.who, "email": i.who + "@lab.example.org", "email_verified": true, "nonce": i.nonce,
			"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "auth_time": time.Now().Unix(),
		})
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"access_token": "x", "token_type": "Bearer", "id_token": oidctest.SignIDToken(key, "1", oidc.ES256, string(says)),
		})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	discovery.SetIssuer(i.URL)
	return i
}

// Law: who comes back from the issuer is logged in and where they wanted to go, on this server
// and nowhere else; who confirms with it is who is logged in, and nobody else.
func TestIssuer(t *testing.T) {
	i := newIssuer(t)
	var handler http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	folder := t.TempDir()
	g := &guarded{client: &client{t: t, url: s.URL}, now: time.Now()}
	book := must.Get(accounts.Open(accounts.Dir(folder), accounts.Options{
		Now:  func() time.Time { return g.now },
		OIDC: &accounts.OIDC{Issuer: i.URL, ClientID: "campaignd", RedirectURL: s.URL + "/oidc/callback", Domains: []string{"lab.example.org"}},
	}))(t)
	g.book = book
	for _, name := range []string{"ada", "bo"} {
		must.Get(book.Add(t.Context(), accounts.SystemIdentity("root"), accounts.NewAccount{
			Name: name, Email: name + "@lab.example.org", Grants: []accounts.Grant{{Role: accounts.Admin}},
		}))(t)
	}
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Own: book.Lab(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); l.Close(); book.Close() })
	handler = server.New(server.Options{Lab: l, Gate: gate.Options{Accounts: book}, Version: "test", Log: t.Logf}).Handler()

	b := g.browser()
	i.who = "ada"
	if _, text := g.visit(b, "/login?next=/people"); !strings.Contains(text, `href="/login/oidc?next=%2fpeople"`) {
		t.Errorf("the page does not offer the issuer:\n%s", text)
	}
	if answer, text := g.visit(b, "/login/oidc?next=/people"); answer.Request.URL.Path != "/people" || answer.StatusCode != http.StatusOK {
		t.Fatalf("back at %s: %d\n%s", answer.Request.URL, answer.StatusCode, text)
	}
	if answer, _ := g.visit(g.browser(), "/login/oidc?next=//evil.example/"); answer.Request.URL.Host != strings.TrimPrefix(s.URL, "http://") {
		t.Errorf("back at %s", answer.Request.URL)
	}

	here, _ := url.Parse(s.URL)
	before := b.Jar.Cookies(here)
	i.who = "bo"
	if answer, text := g.visit(b, "/confirm/oidc?next=/people"); answer.Request.URL.Path == "/people" || !strings.Contains(text, "ada was to show it again") {
		t.Errorf("bo confirms what ada does: at %s\n%s", answer.Request.URL, text)
	}
	if who, err := book.Authenticate(t.Context(), b.Jar.Cookies(here)[0].Value); err != nil || who.Account != "ada" {
		t.Errorf("the session is of %+v: %v", who, err)
	}
	i.who = "ada"
	if answer, text := g.visit(b, "/confirm/oidc?next=/people"); answer.Request.URL.Path != "/people" {
		t.Errorf("ada confirms: at %s\n%s", answer.Request.URL, text)
	}
	if _, err := book.Authenticate(t.Context(), before[0].Value); err == nil {
		t.Error("the session from before goes on beside the new one")
	}
}
