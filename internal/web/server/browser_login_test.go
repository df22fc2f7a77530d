package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// hands is a clock that is put on by hand. Logins happen at its time.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// entrance is a lab with accounts, at http://localhost and a port.
type entrance struct {
	clock *hands
	book  *accounts.Directory
	home  string
}

// newEntrance begins one with an admin, "root", who has a password. how says how else people log in, at
// the address of the server.
func newEntrance(t *testing.T, how func(home string, o *accounts.Options)) *entrance {
	t.Helper()
	s := newSite(t)
	e := &entrance{clock: &hands{now: time.Now()}, home: strings.Replace(s.url, "127.0.0.1", "localhost", 1)}
	s.accounts = &accounts.Options{Now: e.clock.Now}
	how(e.home, s.accounts)
	s.open()
	e.book = s.books[0]
	add(t, e.book, "root", as(accounts.Admin))
	s.begin()
	return e
}

// university is an OpenID Connect issuer at which a person shows who they are by a button. It
// gives an ID token once for each code, to whoever has begun the login (PKCE, RFC 7636).
type university struct {
	*httptest.Server
	clock *hands

	mu     sync.Mutex
	groups []string
	says   map[string]any        // in place of what is so
	forges bool                  // signs with another key than it publishes
	asked  map[string]url.Values // by code
}

func newUniversity(t *testing.T, clock *hands) *university {
	t.Helper()
	keys := make([]*ecdsa.PrivateKey, 2)
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	u := &university{clock: clock, asked: make(map[string]url.Values)}
	discovery := &oidctest.Server{
		PublicKeys: []oidctest.PublicKey{{PublicKey: keys[0].Public(), KeyID: "1", Algorithm: oidc.ES256}},
		Algorithms: []string{oidc.ES256},
	}
	mux := http.NewServeMux()
	mux.Handle("/", discovery)
	mux.HandleFunc("GET /auth", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<main><form method="post" action="/auth?%s"><button>I am Ada</button></form></main>`, html.EscapeString(r.URL.RawQuery))
	})
	mux.HandleFunc("POST /auth", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		u.mu.Lock()
		code := fmt.Sprint("code-", len(u.asked))
		u.asked[code] = q
		u.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusSeeOther)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		defer u.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		asked := u.asked[r.FormValue("code")]
		u.asked[r.FormValue("code")] = nil
		verifier := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if asked == nil || asked.Get("code_challenge_method") != "S256" ||
			base64.RawURLEncoding.EncodeToString(verifier[:]) != asked.Get("code_challenge") ||
			r.FormValue("redirect_uri") != asked.Get("redirect_uri") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
		says := map[string]any{
			"iss": u.URL, "aud": asked.Get("client_id"), "sub": "4711", "preferred_username": "ada", "nonce": asked.Get("nonce"),
			"groups": u.groups, "iat": clock.Now().Unix(), "exp": clock.Now().Add(time.Hour).Unix(),
		}
		maps.Copy(says, u.says)
		text, err := json.Marshal(says)
		if err != nil {
			t.Error(err)
		}
		key := keys[0]
		if u.forges {
			key = keys[1]
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"access_token": "x", "token_type": "Bearer", "id_token": oidctest.SignIDToken(key, "1", oidc.ES256, string(text)),
		})
	})
	u.Server = httptest.NewServer(mux)
	t.Cleanup(u.Close)
	discovery.SetIssuer(u.URL)
	return u
}

// from has the issuer say something else from now on.
func (u *university) from(groups []string, says map[string]any, forges bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.groups, u.says, u.forges = groups, says, forges
}

// comes goes to the issuer, shows who they are after a while, and comes back.
func (v *visitor) comes(clock *hands, after time.Duration) {
	v.t.Helper()
	v.open("/login?next=/account")
	v.press(`a[href^="/login/oidc"]`)
	v.until("the issuer asks", `document.body.innerText.includes("I am Ada") || !!document.querySelector("button")`)
	clock.pass(after)
	v.press("form button")
}

// isIn reports whether the page of one's own account is shown.
func (v *visitor) isIn() bool {
	v.t.Helper()
	v.open("/account")
	return ask[string](v, "location.pathname") == "/account"
}

// leaves logs out.
func (v *visitor) leaves() {
	v.t.Helper()
	v.open("/account")
	v.press(`form[action="/logout"] button`)
}

// Law: in a real browser at a real issuer, who comes back with an ID token of this login is in,
// with the roles that its claim gives, and out again after logging out; with any other token, or later than
// ten minutes after, nobody is. Whom the issuer gives no role any more is out.
func TestIssuerInABrowser(t *testing.T) {
	t.Parallel()
	clock := &hands{now: time.Now()}
	u := newUniversity(t, clock)
	e := newEntrance(t, func(home string, o *accounts.Options) {
		o.Now = clock.Now
		o.OIDC = &accounts.OIDC{
			Name: "University", Issuer: u.URL, ClientID: "campaignd", RedirectURL: home + "/oidc/callback",
			RoleClaim: "groups", Roles: map[string]accounts.Role{"chemists": accounts.Scientist}, NewAccounts: true,
		}
	})
	v := browse(t, e.home)
	chemists := []string{"chess", "chemists"}

	for name, c := range map[string]struct {
		says   map[string]any
		forges bool
		after  time.Duration
		words  string
	}{
		"an expired token":        {says: map[string]any{"exp": clock.Now().Add(-time.Minute).Unix()}, words: "token is expired"},
		"a nonce of other logins": {says: map[string]any{"nonce": "another"}, words: "not an answer to this login"},
		"no nonce":                {says: map[string]any{"nonce": ""}, words: "not an answer to this login"},
		"another audience":        {says: map[string]any{"aud": "another-client"}, words: "has not shown who this is"},
		"another issuer":          {says: map[string]any{"iss": "https://issuer.example.org"}, words: "has not shown who this is"},
		"another key":             {forges: true, words: "has not shown who this is"},
		"ten minutes later":       {after: 10*time.Minute + time.Second, words: "took too long"},
		"no role":                 {says: map[string]any{"groups": []string{"chess"}}, words: "lets them in no further"},
	} {
		u.from(chemists, c.says, c.forges)
		v.comes(clock, c.after)
		if text := ask[string](v, "document.body.innerText"); !strings.Contains(text, c.words) {
			t.Errorf("%s: the page says\n%s", name, text)
		}
		if v.isIn() {
			t.Fatalf("%s: logged in", name)
		}
		if _, err := e.book.Account("ada"); err == nil {
			t.Fatalf("%s: there is an account", name)
		}
	}

	u.from(chemists, nil, false)
	v.comes(clock, 9*time.Minute)
	if at := ask[string](v, "location.pathname"); at != "/account" || !v.isIn() {
		t.Fatalf("back at %s", at)
	}
	ada, err := e.book.Account("ada")
	if err != nil || len(ada.Grants) != 1 || ada.Grants[0].Role != accounts.Scientist || ada.Grants[0].Issuer != u.URL {
		t.Errorf("ada is %+v: %v", ada, err)
	}
	v.leaves()
	if v.isIn() {
		t.Error("logged in after logging out")
	}
	v.open("/login")
	if callback := "/oidc/callback?code=code-0&state=forged"; !strings.Contains(ask[string](v,
		`fetch(`+fmt.Sprintf("%q", callback)+`).then(r => r.text())`, chromedp.EvalAwaitPromise), "took too long") {
		t.Error("an answer to no login is taken")
	}

	v.comes(clock, 0)
	u.from([]string{"chess"}, nil, false)
	if !v.isIn() {
		t.Fatal("not logged in")
	}
	v.comes(clock, 0) // the issuer has taken the role away meanwhile
	if v.isIn() {
		t.Error("who has no role any more is logged in")
	}
	if ada, err := e.book.Account("ada"); err != nil || len(ada.Grants) != 0 || len(e.book.Sessions("ada")) != 0 {
		t.Errorf("ada is %+v with %d sessions: %v", ada, len(e.book.Sessions("ada")), err)
	}
}

// command sends the browser a command of its protocol.
func command[P, R any](v *visitor, c cdp.Command[P, R], params P) R {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	result := must.Get(chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, c, params)
	}))(v.t)
	return result
}

// addCredential is [webauthn.AddCredential] without parameters that this device does not know.
var addCredential = cdp.Command[map[string]any, cdp.Empty]{Method: webauthn.CommandAddCredential}

// Law: a passkey that a real browser made logs its owner in, at the address at which it was made
// and nowhere else; a copy whose counter has fallen behind does not, nor an answer to a login that was begun
// more than ten minutes ago.
func TestPasskeysInABrowser(t *testing.T) {
	t.Parallel()
	e := newEntrance(t, func(home string, o *accounts.Options) {
		o.Passkeys = &accounts.Passkeys{ID: "localhost", Origins: []string{home}}
	})
	v := browse(t, e.home)
	command(v, webauthn.Enable, webauthn.EnableParams{})
	device := command(v, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}}).AuthenticatorID
	const form = `form[data-passkey="/login/passkey"] `
	// refused gives a passkey and returns what the page says of it.
	refused := func() string {
		t.Helper()
		v.open("/login?next=/account")
		v.do("give the passkey", chromedp.Click(css(form+"button")))
		v.until("there is an answer", `location.pathname === "/account" || !!document.querySelector('`+form+`[role=status]').textContent`)
		if ask[string](v, "location.pathname") == "/account" {
			return ""
		}
		return ask[string](v, `document.querySelector('`+form+`[role=status]').textContent`)
	}

	if said := refused(); said == "" {
		t.Fatal("logged in with no passkey")
	}
	v.open("/login?next=/account")
	v.logIn("root")
	v.do("add a passkey", chromedp.Click(css(`form[data-passkey="/account/passkeys"] button`)))
	v.sees("my device, since")
	v.leaves()
	for range 2 {
		if said := refused(); said != "" || !v.isIn() {
			t.Fatalf("the passkey is refused: %s", said)
		}
		v.leaves()
	}

	v.open("/login")
	ask[bool](v, `fetch("/login/passkey/begin", {method: "POST", body: "{}", headers: {"Content-Type": "application/json"}})
		.then(r => r.json()).then(begun => { window.begun = begun; return true; })`, chromedp.EvalAwaitPromise)
	e.clock.pass(10*time.Minute + time.Second)
	late := ask[string](v, `navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(begun.options.publicKey)})
		.then(made => fetch("/login/passkey/finish", {method: "POST", headers: {"Content-Type": "application/json"},
			body: JSON.stringify({ceremony: begun.ceremony, name: "", answer: made.toJSON()})}))
		.then(async r => r.status + " " + await r.text())`, chromedp.EvalAwaitPromise)
	if !strings.HasPrefix(late, "401 ") || !strings.Contains(late, "this took too long") || v.isIn() {
		t.Errorf("ten minutes later: %s", late)
	}

	// The same server at another port: the browser gives the passkey, since the name is the same.
	address := must.Get(url.Parse(e.home))(t)
	other := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address); r.Out.Host = r.In.Host }})
	t.Cleanup(other.Close)
	v.home = strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	if said := refused(); !strings.Contains(said, "the passkey was not accepted") || v.isIn() {
		t.Errorf("at another address: %q", said)
	}
	v.home = strings.Replace(e.home, "localhost", "127.0.0.1", 1)
	if said := refused(); !strings.Contains(said, "open http://localhost") || v.isIn() {
		t.Errorf("at an address in numbers: %q", said)
	}
	v.home = e.home

	made := command(v, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: device}).Credentials
	if len(made) != 1 || made[0].SignCount < 2 {
		t.Fatalf("the device holds %+v", made)
	}
	command(v, webauthn.ClearCredentials, webauthn.ClearCredentialsParams{AuthenticatorID: device})
	command(v, addCredential, map[string]any{"authenticatorId": device, "credential": map[string]any{
		"credentialId": made[0].CredentialID, "isResidentCredential": true, "rpId": "localhost",
		"privateKey": made[0].PrivateKey, "userHandle": made[0].UserHandle, "signCount": 1,
	}})
	if said := refused(); !strings.Contains(said, "the passkey was not accepted") || v.isIn() {
		t.Errorf("a counter that goes backwards: %q", said)
	}
}
