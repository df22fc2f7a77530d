package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Who may do something, by the names of the accounts of [guard].
const (
	everybody  = "nobody viewer expert scientist integrator auditor admin here nothing"
	loggedIn   = "viewer expert scientist integrator auditor admin here nothing"
	whoSee     = "viewer expert scientist integrator auditor admin here"
	whoAnswer  = "expert scientist admin here"
	whoActFor  = "scientist admin here" // the question is to ada
	whoRun     = "scientist admin here"
	whoResolve = "scientist integrator admin here"
	whoDefine  = "scientist admin"
	whoAudit   = "auditor admin"
	whoAdmin   = "admin"
)

// matrix says of each route of the pages who may use it, and with which status it answers them;
// it is written by hand, and not taken from the program. Where a route does something, what is
// sent changes nothing or is refused for its content, which only those learn who may send it.
// Whoever may not see the campaign is told that there is none.
var matrix = []struct {
	pattern, path, form string
	status              int
	may                 string
}{
	{"GET /healthz", "", "", 200, everybody},
	{"GET /livez", "", "", 200, everybody},
	{"GET /readyz", "", "", 200, everybody},
	{"GET /static/", "/static/console.css", "", 200, everybody},
	{"/api/v1/", "/api/v1/openapi.json", "", 200, everybody}, // its operations: see TestEveryRoute
	{"/", "/nowhere", "", 404, loggedIn},

	{"GET /login", "", "", 200, everybody},
	{"POST /login", "", "name=nothing&password=" + password, 303, everybody},
	{"POST /login/passkey/begin", "", "", 422, everybody},  // there are none here
	{"POST /login/passkey/finish", "", "", 400, everybody}, // that is not an answer of one
	{"GET /login/oidc", "", "", 422, everybody},            // there is no issuer
	{"GET /oidc/callback", "", "", 401, everybody},
	{"POST /logout", "", "", 303, everybody},

	{"GET /confirm", "", "", 200, loggedIn},
	{"POST /confirm", "", "password=" + password, 303, loggedIn},
	{"GET /confirm/oidc", "", "", 422, loggedIn},
	{"POST /confirm/passkey/begin", "", "", 422, loggedIn},
	{"POST /confirm/passkey/finish", "", "", 400, loggedIn},
	{"GET /account", "", "", 200, loggedIn},
	{"POST /account/password", "", "present=" + password + "&password=short", 400, loggedIn},
	{"POST /account/passkeys/begin", "", "", 422, loggedIn},
	{"POST /account/passkeys/finish", "", "", 400, loggedIn},
	{"POST /account/passkeys/{id}/remove", "", "", 404, loggedIn}, // one's own alone: there is none
	{"POST /account/tokens", "", "", 400, loggedIn},
	{"POST /account/tokens/{id}/revoke", "", "", 404, whoAdmin},
	{"POST /account/sessions/{id}/end", "", "", 404, loggedIn},

	{"GET /people", "", "", 200, whoAdmin},
	{"POST /people", "", "", 400, whoAdmin},
	{"POST /people/{name}/grant", "", "role=admin", 404, whoAdmin},
	{"POST /people/{name}/revoke", "", "role=admin", 404, whoAdmin},
	{"POST /people/{name}/password", "", "password=" + password, 404, whoAdmin},
	{"POST /people/{name}/disable", "", "", 404, whoAdmin},
	{"POST /people/{name}/enable", "", "", 404, whoAdmin},
	{"POST /people/{name}/unlock", "", "", 404, whoAdmin},
	{"GET /trail", "", "", 200, whoAudit},
	{"POST /trail/verify", "", "", 200, whoAudit},

	{"GET /live", "", "", 200, loggedIn}, // tells of the campaigns that one sees
	{"GET /{$}", "/", "", 200, loggedIn},
	{"GET /campaigns", "", "", 200, loggedIn},
	{"GET /questions", "", "", 200, loggedIn},
	{"GET /docs", "", "", 200, loggedIn},
	{"GET /docs/{page...}", "/docs/methods", "", 200, loggedIn},
	{"GET /begin", "", "", 200, loggedIn},
	{"POST /begin", "", "example=none", 400, whoDefine},
	{"GET /begin/table", "", "", 200, loggedIn},
	{"POST /begin/table", "", "", 400, whoDefine},
	{"GET /stocks", "", "", 200, "viewer expert scientist integrator auditor admin"},
	{"POST /stocks", "", "stock=none", 400, whoDefine},
	{"POST /places", "", "place=none", 404, whoDefine},
	{"GET /instruments", "", "", 200, "viewer expert scientist integrator auditor admin"},
	{"POST /instruments", "", "resource=none&state=out", 404, whoDefine},
	{"GET /compare", "", "", 200, loggedIn}, // of the campaigns that one sees
	{"GET /compare/data", "/compare/data?c=bench", "", 200, whoSee},
	{"GET /new", "", "", 200, loggedIn},
	{"POST /new", "", "source=name:+x", 422, whoDefine},
	{"GET /new/schema.json", "", "", 200, loggedIn},
	{"POST /edit", "", "source=name:+x&path=%5B%22name%22%5D&value=1", 200, whoRun},
	{"POST /validate", "", "source=name:+x", 200, whoRun},

	{"GET /questions/{campaign}/{question}", "", "", 200, whoSee},
	{"GET /questions/{campaign}/{question}/feasible", "", "", 200, whoSee},
	{"POST /questions/{campaign}/{question}", "", "answer=nonsense", 400, whoActFor},
	{"POST /questions/{campaign}/{question}/dismiss", "", "", 303, whoAnswer},

	{"GET /campaigns/{campaign}", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/log", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/charts", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/results", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/bring", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/sheet", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/sheet.csv", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/batch", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/region", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/definition", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/export.csv", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/export.jsonl", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/decisions/{decision}", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/experiments/{experiment}", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/files", "", "", 200, whoSee},
	{"GET /campaigns/{campaign}/files/{file}", "", "", 404, whoSee},

	{"GET /campaigns/{campaign}/proofs/{event}", "/campaigns/bench/proofs/e1", "", 200, whoAudit},
	{"GET /campaigns/{campaign}/whatif/{run}", "/campaigns/bench/whatif/w99", "", 404, whoSee},
	{"POST /campaigns/{campaign}/decisions/{decision}/whatif", "", "", 400, whoAnswer},
	{"POST /campaigns/{campaign}/whatif/{run}/cancel", "/campaigns/bench/whatif/w99/cancel", "", 404, whoAnswer},

	{"POST /campaigns/{campaign}/abort", "", "", 303, whoRun},
	{"POST /campaigns/{campaign}/resume", "", "", 303, whoRun},
	{"POST /campaigns/{campaign}/pause", "", "", 303, whoRun},
	{"POST /campaigns/{campaign}/resume", "", "", 303, whoRun},
	{"POST /campaigns/{campaign}/halt", "", "", 303, whoRun},
	{"POST /campaigns/{campaign}/run", "", "", 303, whoRun},
	{"POST /campaigns/{campaign}/stop", "", "name=wrong", 400, whoRun},
	{"POST /campaigns/{campaign}/note", "", "", 422, whoRun},
	{"POST /campaigns/{campaign}/stocks", "", "stock=none", 400, whoRun},
	{"POST /campaigns/{campaign}/attach", "", "", 400, whoRun},
	{"POST /campaigns/{campaign}/withdraw", "", "file=f1", 400, whoRun},
	{"POST /campaigns/{campaign}/exclude", "", "", 400, whoRun},
	{"POST /campaigns/{campaign}/region", "", "min.none=1", 400, whoRun},
	{"POST /campaigns/{campaign}/bring", "", "", 400, whoRun},
	{"POST /campaigns/{campaign}/filing", "", "add=urgent", 303, whoRun},
	{"POST /campaigns/{campaign}/batch", "", "", 400, whoRun},
	{"POST /campaigns/{campaign}/batch/check", "", "", 200, whoRun},
	{"POST /campaigns/{campaign}/allow", "", "exclusion=x99", 404, whoRun},
	{"POST /campaigns/{campaign}/correct", "", "experiment=e99", 404, whoRun},
	{"POST /campaigns/{campaign}/tell", "", "experiment=e99", 404, whoRun},
	{"POST /campaigns/{campaign}/definition", "", "source=name:+x", 422, whoRun},
	{"POST /campaigns/{campaign}/resolve", "", "experiment=e99", 404, whoResolve},
	{"POST /campaigns/{campaign}/cancel", "", "experiment=e99", 404, whoResolve},
	{"POST /campaigns/{campaign}/void", "", "experiment=e99", 404, whoResolve},
	{"POST /campaigns/{campaign}/abort-device", "", "device=none", 404, whoRun},
}

// changesSession are the routes after which a session is another one.
var changesSession = []string{"POST /login", "POST /logout", "POST /confirm"}

// Law: each route of the pages is open to exactly those who are written down for it, and to
// nobody else: without a session, with one that has ended, has expired or is made up, or with
// one of an account that was disabled, one is nobody. A token opens what its scopes say, and no
// account. There is no route that is not written down.
func TestEveryPage(t *testing.T) { bothWays(t, everyPage) }

func everyPage(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	g.untilDecided()
	var written []string
	for _, row := range matrix {
		written = append(written, row.pattern)
	}
	patterns := g.server.Patterns()
	for _, pattern := range patterns {
		if !slices.Contains(written, pattern) {
			t.Errorf("%s: nobody has written down who may do that", pattern)
		}
	}
	for _, pattern := range written {
		if !slices.Contains(patterns, pattern) {
			t.Errorf("%s is written down, and is not there", pattern)
		}
	}

	system := accounts.SystemIdentity("root")
	session := func(name string) string {
		token, _ := must.Get2(g.book.Login(t.Context(), name, password, "127.0.0.1"))(t)
		return "campaignd-session=" + token
	}
	must.Get(g.book.Add(t.Context(), system, accounts.NewAccount{
		Name: "former", Grants: []accounts.Grant{{Role: accounts.Admin}}, Password: accounts.NewSecret(password),
	}))(t)
	former, ended := session("former"), session("admin")
	must.Get(g.book.Disable(t.Context(), system, "former"))(t)
	must.Do(t, g.book.Logout(t.Context(), strings.TrimPrefix(ended, "campaignd-session=")))
	g.site.settle()
	limited, _, err := g.book.CreateToken(t.Context(), system, "admin", accounts.NewToken{Name: "looks", Scopes: []accounts.Permission{accounts.See}})
	if err != nil {
		t.Fatal(err)
	}

	// as checks a row for somebody with a header: name is who they are.
	as := func(n int, name, how, header, value string) {
		row := matrix[n]
		method, path := "GET", row.pattern
		if m, rest, ok := strings.Cut(row.pattern, " "); ok {
			method, path = m, rest
		}
		if row.path != "" {
			path = row.path
		}
		path = strings.NewReplacer("{campaign}", "bench", "{question}", "q1", "{decision}", "d1", "{experiment}", "e1", "{file}", "f1",
			"{id}", "none", "{name}", "ghost").Replace(path)
		want := row.status
		switch {
		case slices.Contains(strings.Fields(row.may), name):
		case name == "nobody" && method == "GET":
			want = http.StatusSeeOther
		case name == "nobody":
			want = http.StatusUnauthorized
		case name == "nothing" && (strings.Contains(row.pattern, "{campaign}") || strings.Contains(path, "?c=")):
			want = http.StatusNotFound
		default:
			want = http.StatusForbidden
		}
		status, location := g.status(method, path, row.form, header, value)
		if status != want {
			t.Errorf("%s as %s (%s): %d, want %d", row.pattern, name, how, status, want)
		}
		if name == "nobody" && want == http.StatusSeeOther && method == "GET" && location != "/login?next="+url.QueryEscape(path) {
			t.Errorf("%s as nobody (%s): sent to %s", row.pattern, how, location)
		}
	}
	for _, name := range strings.Fields(loggedIn) {
		cookie := session(name)
		for n, row := range matrix {
			mine := cookie
			if slices.Contains(changesSession, row.pattern) {
				mine = session(name)
			}
			as(n, name, "session", "Cookie", mine)
		}
	}
	for n, row := range matrix {
		as(n, "nobody", "no session", "", "")
		as(n, "nobody", "a made-up session", "Cookie", "campaignd-session="+strings.Repeat("A", 43))
		as(n, "nobody", "a session that was ended", "Cookie", ended)
		as(n, "nobody", "a disabled account's session", "Cookie", former)
		method, path, _ := strings.Cut(row.pattern, " ")
		if status, _ := g.status(method, path, row.form, "Authorization", "Bearer campaignd_nonsense"); path != "" && status != http.StatusUnauthorized {
			t.Errorf("%s with a made-up token: %d", row.pattern, status)
		}
		// An admin's token that may look on is a viewer, and no person.
		switch {
		case slices.Contains(changesSession, row.pattern):
		case row.may == loggedIn && (strings.Contains(path, "/account") || strings.Contains(path, "/confirm")):
			if status, _ := g.status(method, path, row.form, "Authorization", "Bearer "+limited); status != http.StatusForbidden {
				t.Errorf("%s with a token: %d", row.pattern, status)
			}
		default:
			as(n, "viewer", "a token that may see", "Authorization", "Bearer "+limited)
		}
	}
	expired := session("admin")
	g.now = g.now.AddDate(1, 0, 0)
	for n := range matrix {
		as(n, "nobody", "a session that has expired", "Cookie", expired)
	}
}

// Law: whatever somebody is refused for what they may not do is in the audit trail, by whichever
// way they asked for it; what only is not shown to them is not; a refusal that repeats is noted once.
func TestRefusalsAreNoted(t *testing.T) { bothWays(t, refusalsAreNoted) }

func refusalsAreNoted(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	tokens := map[string]string{"viewer": g.token("viewer"), "expert": g.token("expert"), "nothing": g.token("nothing")}
	refusals := func() (all []accounts.Entry) {
		t.Helper()
		entries := must.Get(g.book.AuditLog(accounts.SystemIdentity("root"), accounts.Page{Limit: 1000}))(t)
		return slices.DeleteFunc(entries, func(e accounts.Entry) bool { return e.Kind != accounts.KindRefused })
	}
	const form, none = "application/x-www-form-urlencoded", ""
	for _, p := range []struct {
		name, method, path, contentType, body string
		permission                            accounts.Permission // empty where nothing is refused
		campaign                              string
	}{
		{"viewer", "GET", "/campaigns", none, "", "", ""},
		{"viewer", "GET", "/campaigns/bench", none, "", "", ""},
		{"viewer", "GET", "/questions/bench/q1", none, "", "", ""},
		{"viewer", "GET", "/new", none, "", "", ""},
		{"viewer", "POST", "/campaigns/bench/pause", form, "", accounts.Run, "bench"},
		{"viewer", "POST", "/campaigns/bench/resolve", form, "experiment=e1", accounts.Resolve, "bench"},
		{"viewer", "POST", "/new", form, "source=name:+x", accounts.Define, ""},
		{"expert", "POST", "/validate", form, "source=name:+x", accounts.Define, ""},
		{"viewer", "GET", "/campaigns/bench/proofs/e1", none, "", accounts.Audit, "bench"},
		{"viewer", "POST", "/questions/bench/q1", form, "answer=A", accounts.Answer, "bench"},
		{"nothing", "GET", "/campaigns/bench", none, "", accounts.See, "bench"},
		{"expert", "POST", "/questions/bench/q1", form, "answer=A", accounts.ActForOthers, "bench"},
		{"expert", "POST", "/campaigns/bench/pause", form, "", accounts.Run, "bench"},
	} {
		before := len(refusals())
		for range 3 {
			g.as(tokens[p.name], p.method, p.path, p.contentType, p.body)
		}
		added := refusals()
		added = added[:len(added)-before]
		if p.permission == "" {
			if len(added) > 0 {
				t.Errorf("%s %s as %s: %v", p.method, p.path, p.name, added)
			}
			continue
		}
		if len(added) != 1 || added[0].By != p.name || added[0].Permission != p.permission || added[0].Campaign != p.campaign {
			t.Errorf("%s %s as %s left %v", p.method, p.path, p.name, added)
		}
	}
	g.now = g.now.Add(time.Hour) // the same, of another way, is noted anew
	before := len(refusals())
	g.as(tokens["expert"], "POST", "/api/v1/questions/bench/q1", "application/json", `{"answer": "A"}`)
	if added := refusals(); len(added) != before+1 || added[0].Permission != accounts.ActForOthers {
		t.Errorf("over the API: %v", added)
	}
}

// Law: nobody ends another's session or revokes another's token or passkey, by knowing what it
// is called.
func TestOthersCredentials(t *testing.T) { bothWays(t, othersCredentials) }

func othersCredentials(t *testing.T) {
	g := guard(t)
	secret, token := must.Get2(g.book.CreateToken(t.Context(), accounts.SystemIdentity("root"), "scientist",
		accounts.NewToken{Name: "mine", Scopes: []accounts.Permission{accounts.See}}))(t)
	theirs := g.browser()
	g.login(theirs, "scientist", "/")
	sessions := g.book.Sessions("scientist")
	if len(sessions) != 1 {
		t.Fatalf("%+v", sessions)
	}
	b := g.browser()
	g.login(b, "viewer", "/")
	for path, want := range map[string]int{
		"/account/tokens/" + token.ID + "/revoke":      http.StatusForbidden,
		"/account/sessions/" + sessions[0].ID + "/end": http.StatusNotFound,
	} {
		if answer, text := g.submit(b, path, nil); answer.StatusCode != want {
			t.Errorf("%s: %d\n%s", path, answer.StatusCode, text)
		}
	}
	if answer, _ := g.visit(theirs, "/account"); answer.Request.URL.Path != "/account" {
		t.Error("the session was ended")
	}
	if status, text := g.as(secret, "GET", "/api/v1/campaigns", "", ""); status != http.StatusOK {
		t.Errorf("the token was revoked: %d %s", status, text)
	}
}

// status sends a form, or asks for a page, and returns how that was answered and where it leads.
func (g *guarded) status(method, path, form, header, value string) (int, string) {
	g.t.Helper()
	if !strings.HasPrefix(method, "GET") && !strings.HasPrefix(method, "POST") {
		method, path = "GET", method
	}
	path = strings.NewReplacer("{$}", "", "{campaign}", "bench", "{question}", "q1", "{decision}", "d1", "{experiment}", "e1", "{file}", "f1",
		"{id}", "none", "{name}", "ghost").Replace(path)
	r := must.Get(http.NewRequestWithContext(g.t.Context(), method, g.url+path, strings.NewReader(form)))(g.t)
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if header != "" {
		r.Header.Set(header, value)
	}
	answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	answer.Body.Close() // a stream does not end by itself
	return answer.StatusCode, answer.Header.Get("Location")
}

// untilDecided answers and tells in the campaign bench until it has made a decision.
func (g *guarded) untilDecided() {
	g.t.Helper()
	token := g.token("scientist")
	post := func(path, body string, into any) {
		status, text := g.as(token, "POST", "/api/v1/"+path, "application/json", body)
		g.read(path, status, http.StatusOK, text, into)
	}
	for n := 1; n < 100; n++ {
		var s suggestion
		post("campaigns/bench/suggest", "", &s)
		if _, events := g.as(token, "GET", "/api/v1/campaigns/bench/events", "", ""); strings.Contains(string(events), "decision.made") {
			return
		}
		for _, q := range s.Questions {
			post("questions/bench/"+q.ID, `{"answer": "A"}`, nil)
		}
		if s.Experiment != nil {
			post("campaigns/bench/tell", fmt.Sprintf(`{"experiment": %q, "value": %d}`, s.Experiment.ID, n), nil)
		}
	}
	g.t.Fatal("no decision was made")
}
