package server_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

const password = "correct horse battery"

// guarded is a server with accounts, one for each role and under its name; "here" is a
// scientist in the campaign bench alone.
type guarded struct {
	*client
	site   *site
	server *server.Server
	lab    *lab.Lab
	book   *accounts.Directory
	now    time.Time
}

func guard(t *testing.T, confirm ...string) *guarded {
	t.Helper()
	return guardWith(t, builtin.Registry(), confirm...)
}

func guardWith(t *testing.T, reg registry.Registry, confirm ...string) *guarded {
	t.Helper()
	s := newSite(t)
	g := &guarded{now: time.Now()}
	s.registry, s.accounts = reg, &accounts.Options{Now: func() time.Time { return g.now }}
	s.confirm = make(map[string]bool)
	for _, act := range confirm {
		s.confirm[act] = true
	}
	s.open()
	g.book = s.books[0]
	add(t, g.book, "admin", as(accounts.Admin)) // the first one must be
	for _, role := range accounts.Roles() {
		if role != accounts.Admin {
			add(t, g.book, string(role), as(role))
		}
	}
	add(t, g.book, "here", accounts.Grant{Role: accounts.Scientist, Campaign: "bench"})
	add(t, g.book, "nothing")
	s.begin()
	g.site, g.server, g.lab, g.client = s, s.servers[0], s.labs[0], &client{t: t, url: s.url}
	return g
}

// token makes an API token of an account, with all that the account may.
func (g *guarded) token(name string) string {
	g.t.Helper()
	account := must.Get(g.book.Account(name))(g.t)
	var scopes []accounts.Permission
	for _, grant := range account.Grants {
		for _, p := range grant.Role.Permissions() {
			if grant.Campaign == "" || !p.ForLab() {
				scopes = append(scopes, p)
			}
		}
	}
	if scopes == nil { // no token is made that may nothing: a session is
		token, _ := must.Get2(g.book.Login(g.t.Context(), name, password, "127.0.0.1"))(g.t)
		return session + token
	}
	secret, _ := must.Get2(g.book.CreateToken(g.t.Context(), accounts.SystemIdentity("root"), name,
		accounts.NewToken{Name: "test", Scopes: scopes}))(g.t)
	return secret
}

// session begins what stands for a session instead of a token.
const session = "session "

// as sends a request with a token.
func (g *guarded) as(token, method, path, contentType, body string) (int, []byte) {
	header, value := "Authorization", "Bearer "+token
	if cookie, ok := strings.CutPrefix(token, session); ok {
		header, value = "Cookie", "campaignd-session="+cookie
	}
	status, _, text := g.do(method, path, contentType, body, header, value)
	return status, text
}

// begin begins a campaign in the name of an admin.
func (g *guarded) begin(source string) {
	g.t.Helper()
	if status, text := g.as(g.token("admin"), "POST", "/api/v1/campaigns", "application/yaml", source); status != http.StatusCreated {
		g.t.Fatalf("begin: %d %s", status, text)
	}
}

// mayDo says who may use each operation of the API: it is written down here by hand, and not
// taken from the program.
var mayDo = map[string]string{
	"list-campaigns": "viewer expert scientist integrator auditor admin here nothing", // each sees their own
	"list-questions": "viewer expert scientist integrator auditor admin here nothing",
	"get-campaign":   "viewer expert scientist integrator auditor admin here",
	"get-definition": "viewer expert scientist integrator auditor admin here",
	"get-defined":    "viewer expert scientist integrator auditor admin here",
	"get-decision":   "viewer expert scientist integrator auditor admin here",
	"get-report":     "viewer expert scientist integrator auditor admin here",
	"get-events":     "viewer expert scientist integrator auditor admin here",
	"predict":        "viewer expert scientist integrator auditor admin here",

	"get-course":        "viewer expert scientist integrator auditor admin here",
	"get-best-believed": "viewer expert scientist integrator auditor admin here",
	"get-slices":        "viewer expert scientist integrator auditor admin here",
	"get-map":           "viewer expert scientist integrator auditor admin here",
	"get-importance":    "viewer expert scientist integrator auditor admin here",

	"list-experiments":  "viewer expert scientist integrator auditor admin here",
	"list-acts":         "viewer expert scientist integrator auditor admin here",
	"list-asked":        "viewer expert scientist integrator auditor admin here",
	"list-rows":         "viewer expert scientist integrator auditor admin here",
	"diagnose-campaign": "viewer expert scientist integrator auditor admin here",
	"export-campaign":   "viewer expert scientist integrator auditor admin here",
	"replay-campaign":   "viewer expert scientist integrator auditor admin here",
	"list-files":        "viewer expert scientist integrator auditor admin here",
	"get-file":          "viewer expert scientist integrator auditor admin here",

	"list-methods": "viewer expert scientist integrator auditor admin here nothing",
	"get-method":   "viewer expert scientist integrator auditor admin here nothing",
	"get-schema":   "viewer expert scientist integrator auditor admin here nothing",
	"get-version":  "viewer expert scientist integrator auditor admin here nothing",
	"verify":       "viewer expert scientist integrator auditor admin here nothing",

	"list-forwards": "viewer expert scientist integrator auditor admin",

	"begin-audit":    "auditor admin",
	"get-audit":      "auditor admin",
	"get-checkpoint": "auditor admin",
	"prove-event":    "auditor admin",
	"prove-growth":   "auditor admin",

	"anchor":     "scientist admin here",
	"import-csv": "scientist admin here",

	"begin-campaign":    "scientist admin",
	"validate-campaign": "scientist admin",

	"answer-question": "scientist admin here", // the question is to ada: only who may act for others

	"begin-what-if":  "expert scientist admin here",
	"cancel-what-if": "expert scientist admin here",
	"get-what-if":    "viewer expert scientist integrator auditor admin here",
	"list-what-ifs":  "viewer expert scientist integrator auditor admin here",

	"suggest":            "scientist admin here",
	"tell":               "scientist admin here",
	"results":            "scientist admin here",
	"import":             "scientist admin here",
	"correct":            "scientist admin here",
	"exclude":            "scientist admin here",
	"allow":              "scientist admin here",
	"note":               "scientist admin here",
	"count":              "scientist admin here",
	"attach-file":        "scientist admin here",
	"attach-uri":         "scientist admin here",
	"withdraw-file":      "scientist admin here",
	"pause-campaign":     "scientist admin here",
	"resume-campaign":    "scientist admin here",
	"stop-campaign":      "scientist admin here",
	"abort-campaign":     "scientist admin here",
	"run-run":            "scientist admin here",
	"halt-run":           "scientist admin here",
	"amend-campaign":     "scientist admin here",
	"resolve":            "scientist integrator admin here",
	"resolve-many":       "scientist integrator admin here",
	"resolve-csv":        "scientist integrator admin here",
	"cancel":             "scientist integrator admin here",
	"list-stocks":        "viewer expert scientist integrator auditor admin",
	"count-stock":        "scientist admin",
	"free-place":         "scientist admin",
	"list-instruments":   "viewer expert scientist integrator auditor admin",
	"service-instrument": "scientist admin",
	"abort-device":       "viewer expert scientist integrator auditor admin here nothing", // each campaign by its own right
}

// route is an operation of the API's own description.
type route struct{ id, method, path, contentType, body string }

func (g *guarded) routes() (routes []route) {
	g.t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody *struct{ Content map[string]any }
		}
	}
	_, _, text := g.do("GET", "/api/v1/openapi.json", "", "")
	must.Do(g.t, json.Unmarshal(text, &document))
	for path, operations := range document.Paths {
		for method, operation := range operations {
			r := route{id: operation.OperationID, method: strings.ToUpper(method), path: "/api/v1" + path}
			r.path = strings.NewReplacer("{campaign}", "bench", "{question}", "q1", "{decision}", "d1", "{file}", "f1").Replace(r.path)
			if operation.RequestBody != nil {
				for contentType := range operation.RequestBody.Content {
					r.contentType = contentType
				}
				r.body = map[bool]string{true: "{}", false: "name: x\n"}[r.contentType == "application/json"]
				if r.id == "import" || r.id == "resolve-many" {
					r.body = "[]"
				}
			}
			routes = append(routes, r)
		}
	}
	slices.SortFunc(routes, func(a, b route) int { return strings.Compare(a.id, b.id) })
	return routes
}

// Law: each operation of the API is open to exactly those whose role says so, and to nobody
// without a session or a token, with one that has expired, was revoked or is not a token.
func TestEveryRoute(t *testing.T) { bothWays(t, everyRoute) }

func everyRoute(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	people := []string{"viewer", "expert", "scientist", "integrator", "auditor", "admin", "here", "nothing"}
	tokens := make(map[string]string)
	for _, name := range people {
		tokens[name] = g.token(name)
	}
	system := accounts.SystemIdentity("root")
	revoked, made, err := g.book.CreateToken(t.Context(), system, "admin",
		accounts.NewToken{Name: "lost", Scopes: accounts.Permissions()})
	if err == nil {
		_, err = g.book.RevokeToken(t.Context(), system, made.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.site.settle()
	routes := g.routes()
	if len(routes) < len(mayDo) {
		t.Errorf("%d operations, of %d that are written down", len(routes), len(mayDo))
	}
	refusals := map[int]bool{http.StatusUnauthorized: true, http.StatusForbidden: true}
	for _, r := range routes {
		allowed, written := mayDo[r.id]
		if !written {
			t.Errorf("%s %s (%s): nobody has written down who may do that", r.method, r.path, r.id)
			continue
		}
		for what, headers := range map[string][]string{
			"nobody":           nil,
			"a made-up token":  {"Authorization", "Bearer campaignd_nonsense"},
			"a revoked token":  {"Authorization", "Bearer " + revoked},
			"a made-up cookie": {"Cookie", "campaignd-session=nonsense"},
			"another scheme":   {"Authorization", "Basic YWRtaW46" + password},
		} {
			status, header, text := g.do(r.method, r.path, r.contentType, r.body, headers...)
			if status != http.StatusUnauthorized || header.Get("Content-Type") != "application/problem+json" || header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s with %s: %d %s", r.id, what, status, text)
			}
		}
		for _, name := range people {
			status, text := g.as(tokens[name], r.method, r.path, r.contentType, r.body)
			want := slices.Contains(strings.Fields(allowed), name)
			if got := !refusals[status]; got != want {
				t.Errorf("%s as %s: %d, allowed %t: %s", r.id, name, status, want, text)
			}
			if status >= 500 {
				t.Errorf("%s as %s: %d %s", r.id, name, status, text)
			}
		}
	}
	g.now = g.now.AddDate(2, 0, 0)
	if status, text := g.as(tokens["admin"], "GET", "/api/v1/campaigns", "", ""); status != http.StatusUnauthorized {
		t.Errorf("with a token that has expired: %d %s", status, text)
	}
}

// browser is somebody at a browser, who follows where they are sent.
func (g *guarded) browser() *http.Client {
	jar := must.Get(cookiejar.New(nil))(g.t)
	return &http.Client{Jar: jar}
}

// submit sends a form as the page of the server itself does.
func (g *guarded) submit(b *http.Client, path string, form url.Values, headers ...string) (*http.Response, string) {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), "POST", g.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return g.answer(b, r)
}

func (g *guarded) visit(b *http.Client, path string) (*http.Response, string) {
	g.t.Helper()
	r := must.Get(http.NewRequestWithContext(g.t.Context(), "GET", g.url+path, nil))(g.t)
	return g.answer(b, r)
}

func (g *guarded) answer(b *http.Client, r *http.Request) (*http.Response, string) {
	g.t.Helper()
	answer := must.Get(b.Do(r))(g.t)
	defer answer.Body.Close()
	var text strings.Builder
	must.Do(g.t, answer.Write(&text))
	return answer, text.String()
}

func (g *guarded) login(b *http.Client, name, next string) *http.Response {
	g.t.Helper()
	answer, text := g.submit(b, "/login", url.Values{"name": {name}, "password": {password}, "next": {next}})
	if answer.StatusCode != http.StatusOK {
		g.t.Fatalf("log in as %s: %d\n%s", name, answer.StatusCode, text)
	}
	return answer
}

// Law: whoever is nobody yet is sent to log in and comes back to where they wanted to go, on
// this server and nowhere else; what they do is recorded under their name; after they have
// logged out the session is worth nothing.
func TestLogin(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	b := g.browser()
	answer, text := g.visit(b, "/campaigns/bench?x=1")
	if answer.Request.URL.Path != "/login" || !strings.Contains(text, "/campaigns/bench?x=1") {
		t.Fatalf("sent to %s", answer.Request.URL)
	}
	if answer := g.login(b, "scientist", "/campaigns/bench?x=1"); answer.Request.URL.Path != "/campaigns/bench" {
		t.Errorf("after the login at %s", answer.Request.URL)
	}
	if answer, text := g.submit(b, "/campaigns/bench/note", url.Values{"text": {"hello"}}); answer.StatusCode != http.StatusOK {
		t.Errorf("a note: %d\n%s", answer.StatusCode, text)
	}
	_, events := g.as(g.token("viewer"), "GET", "/api/v1/campaigns/bench/events", "", "")
	if !strings.Contains(string(events), `"actor":"person:scientist"`) {
		t.Errorf("the note is not the scientist's:\n%s", events)
	}
	here, _ := url.Parse(g.url)
	stolen := b.Jar.Cookies(here)
	if answer, _ := g.submit(b, "/logout", nil); answer.Request.URL.Path != "/login" {
		t.Errorf("after the logout at %s", answer.Request.URL)
	}
	b.Jar.SetCookies(here, stolen)
	g.site.settle()
	if answer, _ := g.visit(b, "/campaigns"); answer.Request.URL.Path != "/login" {
		t.Error("a session that was ended still opens the door")
	}
	for _, next := range []string{"//evil.example", `/\evil.example`, "https://evil.example/", "javascript:alert(1)", "evil"} {
		if answer := g.login(g.browser(), "viewer", next); answer.Request.URL.Host != here.Host || answer.Request.URL.Path != "/" {
			t.Errorf("next=%s led to %s", next, answer.Request.URL)
		}
	}
	wrong := url.Values{"name": {"viewer"}, "password": {"wrong"}, "next": {"/campaigns/bench?x=1"}}
	if answer, text := g.submit(g.browser(), "/login", wrong); answer.StatusCode != http.StatusUnauthorized ||
		strings.Contains(text, "Set-Cookie") || !strings.Contains(text, `value="viewer"`) || !strings.Contains(text, `value="/campaigns/bench?x=1"`) {
		t.Errorf("a wrong password: %d\n%s", answer.StatusCode, text)
	}
}

// Law: a login makes a new session whatever cookie the browser brought along, and the cookie
// can be read by no script and is not sent by other sites' forms.
func TestFixation(t *testing.T) {
	g := guard(t)
	b := g.browser()
	here, _ := url.Parse(g.url)
	b.Jar.SetCookies(here, []*http.Cookie{{Name: "campaignd-session", Value: "chosen-by-somebody-else", Path: "/"}})
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, _ := g.submit(b, "/login", url.Values{"name": {"viewer"}, "password": {password}})
	cookies := answer.Cookies()
	if len(cookies) != 1 || cookies[0].Value == "chosen-by-somebody-else" || !cookies[0].HttpOnly ||
		cookies[0].SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookies %+v", cookies)
	}
}

// Law: a page of another site reaches nothing with a visitor's session.
func TestCrossSite(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	b := g.browser()
	g.login(b, "admin", "/")
	for path, form := range map[string]url.Values{
		"/campaigns/bench/pause": {}, "/people": {"name": {"eve"}, "role": {"admin"}}, "/logout": {}, "/account/tokens": {"name": {"x"}},
		"/api/v1/campaigns/bench/pause": {},
	} {
		for what, headers := range map[string][]string{
			"Sec-Fetch-Site": {"Sec-Fetch-Site", "cross-site"},
			"Origin":         {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		} {
			if answer, text := g.submit(b, path, form, headers...); answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s from another site by %s: %d\n%s", path, what, answer.StatusCode, text)
			}
		}
	}
	_, events := g.as(g.token("viewer"), "GET", "/api/v1/campaigns/bench/events", "", "")
	if strings.Contains(string(events), "campaign.paused") {
		t.Error("the campaign was paused")
	}
	if _, err := g.book.Account("eve"); err == nil {
		t.Error("an account was made")
	}
}

// Law: what a lab wants to have confirmed is not left to a session that somebody found open.
func TestConfirm(t *testing.T) {
	g := guard(t, gate.ActStop)
	g.begin(bench)
	b := g.browser()
	g.login(b, "scientist", "/")
	g.now = g.now.Add(time.Hour)
	stop := url.Values{"name": {"bench"}, "reason": {"enough"}}
	if answer, text := g.submit(b, "/campaigns/bench/stop", stop); answer.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "/confirm") {
		t.Fatalf("after an hour: %d\n%s", answer.StatusCode, text)
	}
	if answer, _ := g.submit(b, "/confirm", url.Values{"password": {"wrong"}, "next": {"/"}}); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("confirmed by a wrong password: %d", answer.StatusCode)
	}
	if answer, text := g.submit(b, "/confirm", url.Values{"password": {password}, "next": {"/"}}); answer.StatusCode != http.StatusOK {
		t.Fatalf("confirmed: %d\n%s", answer.StatusCode, text)
	}
	if answer, text := g.submit(b, "/campaigns/bench/stop", stop); answer.StatusCode != http.StatusOK {
		t.Errorf("after that: %d\n%s", answer.StatusCode, text)
	}
	// A token proves nothing about who is there.
	if status, _ := g.as(g.token("scientist"), "POST", "/api/v1/campaigns/bench/stop", "application/json", "{}"); status != http.StatusForbidden {
		t.Errorf("by a token: %d", status)
	}
}

// Law: a server without accounts serves this machine under this machine's names, and no page of
// the web whose name leads here, nor anybody whose request was passed on; with the first account it
// is open no longer.
func TestOpen(t *testing.T) {
	c := serve(t)
	for host, want := range map[string]int{
		"127.0.0.1:7070": http.StatusOK, "localhost": http.StatusOK, "[::1]:7070": http.StatusOK, "a.localhost:80": http.StatusOK,
		"evil.example": http.StatusForbidden, "127.0.0.1.evil.example": http.StatusForbidden, "10.0.0.1": http.StatusForbidden,
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", c.url+"/api/v1/campaigns", nil)
		r.Host = host
		answer := must.Get(http.DefaultClient.Do(r))(t)
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("as %s: %d, want %d", host, answer.StatusCode, want)
		}
	}
	// What a proxy on this machine passes on comes from anybody.
	for _, name := range []string{
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via", "CF-Connecting-IP", "True-Client-IP",
	} {
		for _, value := range []string{"203.0.113.7", "127.0.0.1", ""} {
			if status, _, text := c.do("GET", "/api/v1/campaigns", "", "", name, value); status != http.StatusForbidden {
				t.Errorf("passed on with %s: %s: %d %s", name, value, status, text)
			}
		}
	}
	g := guard(t)
	if status, _, _ := g.do("GET", "/api/v1/campaigns", "", ""); status != http.StatusUnauthorized {
		t.Errorf("with accounts, without a name: %d", status)
	}
}

// Law: a request comes from where the trusted proxy has seen it, whatever hops the client has made
// up and however the proxy adds its own; with no trusted proxy, from where it really does. Without
// accounts no server behind a proxy serves anybody.
func TestProxy(t *testing.T) {
	g := guard(t)
	_, here, _ := net.ParseCIDR("127.0.0.1/32")
	_, elsewhere, _ := net.ParseCIDR("10.0.0.1/32")
	for _, p := range []struct {
		proxy *net.IPNet
		lines []string
		from  string
	}{
		{here, []string{"203.0.113.7"}, "203.0.113.7"},
		{here, []string{"198.51.100.1, 203.0.113.8"}, "203.0.113.8"},
		{here, []string{"198.51.100.1", "203.0.113.9"}, "203.0.113.9"},
		{here, []string{"198.51.100.1", "198.51.100.2, 203.0.113.10"}, "203.0.113.10"},
		{here, []string{"198.51.100.1", "unknown"}, "127.0.0.1"},
		{here, nil, "127.0.0.1"},
		{elsewhere, []string{"198.51.100.1"}, "127.0.0.1"},
		{nil, []string{"198.51.100.1"}, "127.0.0.1"},
	} {
		h := server.New(server.Options{Lab: g.lab, Gate: gate.Options{Accounts: g.book, Proxy: p.proxy}, Log: t.Logf}).Handler()
		r := httptest.NewRequest("POST", "/login", strings.NewReader("name=viewer&password="+password))
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, line := range p.lines {
			r.Header.Add("X-Forwarded-For", line)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		trail, err := g.book.AuditLog(accounts.SystemIdentity("root"), accounts.Page{Limit: 1})
		if err != nil || len(trail) != 1 || w.Code != http.StatusSeeOther {
			t.Fatalf("%d, %v, %v", w.Code, trail, err)
		}
		if trail[0].Kind != accounts.KindLogin || trail[0].From != p.from {
			t.Errorf("%v by way of %v: %+v, want it to come from %s", p.lines, p.proxy, trail[0], p.from)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://localhost/", nil)
	r.RemoteAddr = "127.0.0.1:4711"
	server.New(server.Options{Lab: g.lab, Gate: gate.Options{Proxy: elsewhere}, Log: t.Logf}).Handler().ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("behind a proxy, without accounts: %d", w.Code)
	}
}

// Law: an expert's anchors are declared by who may answer as that expert, and not by who may only
// run the campaign; the stores that cannot be used are named to those who may see the whole lab.
func TestAnchorsAndTroubles(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	runs, _ := must.Get2(g.book.CreateToken(t.Context(), accounts.SystemIdentity("root"), "scientist",
		accounts.NewToken{Name: "runs", Scopes: []accounts.Permission{accounts.See, accounts.Run}}))(t)
	const anchors = `{"expert": "ada", "points": [{"x": 0.5, "salt": 1}]}`
	for token, want := range map[string]int{runs: http.StatusForbidden, g.token("scientist"): http.StatusUnprocessableEntity} {
		if status, text := g.as(token, "POST", "/api/v1/campaigns/bench/anchors", "application/json", anchors); status != want {
			t.Errorf("anchors: %d, want %d: %s", status, want, text)
		}
	}
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "secret.campaign"), fstest.MapFS{"CURRENT": {Data: []byte("no store")}}); err != nil {
		t.Fatal(err)
	}
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.New(server.Options{Lab: l, Gate: gate.Options{Accounts: g.book}, Log: t.Logf}).Handler())
	t.Cleanup(func() { s.Close(); l.Close() })
	g.url = s.URL
	for name, want := range map[string]bool{"viewer": true, "here": false} {
		for _, path := range []string{"/campaigns", "/api/v1/campaigns"} {
			if _, text := g.as(g.token(name), "GET", path, "", ""); strings.Contains(string(text), "secret") != want {
				t.Errorf("%s as %s tells of the store: %t", path, name, !want)
			}
		}
	}
}

// Law: whoever may audit one campaign reads what their audit has found, and learns nothing of those
// of other campaigns.
func TestAuditOfOneCampaign(t *testing.T) { bothWays(t, auditOfOneCampaign) }

func auditOfOneCampaign(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	g.begin(strings.Replace(bench, "name: bench", "name: secret", 1))
	must.Get(g.book.Grant(t.Context(), accounts.SystemIdentity("root"), "nothing",
		accounts.Grant{Role: accounts.Auditor, Campaign: "bench"}))(t)
	g.site.settle()
	own, admin := g.token("nothing"), g.token("admin")
	for token, campaign := range map[string]string{own: "bench", admin: "secret"} {
		var run struct{ ID string }
		for { // one at a time
			status, text := g.as(token, "POST", "/api/v1/campaigns/"+campaign+"/audits", "", "")
			if token == own && strings.Contains(string(text), "secret") {
				t.Errorf("told of another one: %s", text)
			}
			if status == http.StatusConflict {
				continue
			}
			g.read("begin", status, http.StatusAccepted, text, &run)
			break
		}
		path := "/api/v1/audits/" + run.ID
		if status, text := g.as(token, "GET", path+"?wait=20", "", ""); status != http.StatusOK || !strings.Contains(string(text), `"done"`) {
			t.Errorf("the audit of %s: %d %s", campaign, status, text)
		}
		if status, text := g.as(own, "GET", path, "", ""); campaign == "secret" && (status != http.StatusNotFound || strings.Contains(string(text), "secret")) {
			t.Errorf("another's audit: %d %s", status, text)
		}
		if status, text := g.as(g.token("viewer"), "GET", path, "", ""); status != http.StatusForbidden {
			t.Errorf("the audit of %s as a viewer: %d %s", campaign, status, text)
		}
	}
}

// Law: whoever may see one campaign is not told of others; an expert answers under their own
// name alone.
func TestOwnCampaigns(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	g.begin(strings.Replace(bench, "name: bench", "name: secret", 1))
	_, text := g.as(g.token("here"), "GET", "/api/v1/campaigns", "", "")
	if !strings.Contains(string(text), `"bench"`) || strings.Contains(string(text), "secret") {
		t.Errorf("the list: %s", text)
	}
	b := g.browser()
	g.login(b, "here", "/")
	for _, path := range []string{"/campaigns", "/questions"} {
		if _, text := g.visit(b, path); strings.Contains(text, "secret") {
			t.Errorf("%s tells of another campaign:\n%s", path, text)
		}
	}
	if answer, _ := g.visit(b, "/campaigns/secret"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("the page of another campaign: %d", answer.StatusCode)
	}
	name := "ada"
	if _, err := g.book.Change(t.Context(), accounts.SystemIdentity("root"), "expert", accounts.Changes{AnswersAs: &[]string{name}}); err != nil {
		t.Fatal(err)
	}
	if status, text := g.as(g.token("expert"), "POST", "/api/v1/questions/bench/q1", "application/json", `{"order": ["A", "B"]}`); status != http.StatusOK {
		t.Errorf("as ada: %d %s", status, text)
	}
}

// Law: what is given for a campaign is chosen from those that there are, and the rights of a token in
// plain words; a token of one campaign is for that one alone.
func TestChosenFromAList(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	g.begin(strings.Replace(bench, "name: bench", "name: other", 1))
	b := g.browser()
	g.login(b, "admin", "/")
	if _, page := g.visit(b, "/people"); !strings.Contains(page, "<option>bench</option><option>other</option>") {
		t.Errorf("the campaigns are not offered:\n%s", page)
	}
	_, page := g.visit(b, "/account")
	if !strings.Contains(page, "> answer for others</label>") || strings.Contains(page, "> act_for_others") {
		t.Errorf("rights are named by identifiers:\n%s", page)
	}
	_, page = g.submit(b, "/account/tokens", url.Values{"name": {"plots"}, "scope": {"see"}, "campaign": {"other"}, "days": {"1"}})
	_, rest, _ := strings.Cut(page, `<code class="secret">`)
	token, _, _ := strings.Cut(rest, "<")
	for campaign, want := range map[string]int{"other": http.StatusOK, "bench": http.StatusForbidden} {
		if status, text := g.as(token, "GET", "/api/v1/campaigns/"+campaign, "", ""); status != want {
			t.Errorf("%s: %d %s", campaign, status, text)
		}
	}
}

// Law: sessions and tokens end when their time is over, by the clock of the server.
func TestTimeIsOver(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	token := g.token("viewer")
	b := g.browser()
	g.login(b, "viewer", "/")
	here := func() (byToken, bySession int) {
		byToken, _ = g.as(token, "GET", "/api/v1/campaigns/bench", "", "")
		answer, _ := g.visit(b, "/campaigns/bench")
		if bySession = answer.StatusCode; answer.Request.URL.Path == "/login" {
			bySession = http.StatusUnauthorized
		}
		return byToken, bySession
	}
	step := func(what string, by time.Duration, byToken, bySession int) {
		t.Helper()
		g.now = g.now.Add(by)
		if a, b := here(); a != byToken || b != bySession {
			t.Errorf("%s: %d by token, %d by session; want %d and %d", what, a, b, byToken, bySession)
		}
	}
	step("at first", 0, http.StatusOK, http.StatusOK)
	step("after a night that is used", 7*time.Hour, http.StatusOK, http.StatusOK)
	step("after a day that is not", 24*time.Hour, http.StatusOK, http.StatusUnauthorized)
	step("before its last day", 88*24*time.Hour, http.StatusOK, http.StatusUnauthorized)
	step("after it", 24*time.Hour, http.StatusUnauthorized, http.StatusUnauthorized)
}
