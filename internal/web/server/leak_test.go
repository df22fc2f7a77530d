package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// heard is what whoever looks after the server reads.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// Law: no password, session or token is written anywhere but into the answer that hands it out:
// not into another answer or its headers, the server's log, the audit trail or a file, whatever
// became of the request that held it.
func TestNothingLeaks(t *testing.T) {
	folder := t.TempDir()
	said := new(heard)
	log.SetOutput(said)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	remark := func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }
	book := must.Get(accounts.Open(accounts.Dir(folder), accounts.Options{}))(t)
	system := accounts.SystemIdentity("root")
	must.Get(book.Add(t.Context(), system, accounts.NewAccount{
		Name: "ada", Grants: []accounts.Grant{{Role: accounts.Admin}}, Password: accounts.NewSecret(password),
	}))(t)
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Own: book.Lab(), Registry: builtin.Registry(), Log: remark})
	if err != nil {
		t.Fatal(err)
	}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := server.New(server.Options{Lab: l, Version: "test", Log: remark,
		Gate: gate.Options{Accounts: book, Confirm: map[string]bool{gate.ActStop: true}}})
	go func() { ended <- s.Serve(ctx, listener) }()
	home := "http://" + listener.Addr().String()

	secrets := map[string]string{"a password": password} // by what they are
	session, token := "", ""
	// send sends a request and looks for secrets in the answer, but for what it hands out.
	send := func(handsOut, method, path, contentType, body string, headers ...string) (int, http.Header, string) {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), method, home+path, strings.NewReader(body)))(t)
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text := must.Get(io.ReadAll(answer.Body))(t)
		if policy := answer.Header.Get("Referrer-Policy"); policy != "same-origin" {
			t.Errorf("%s %s: the Referrer-Policy is %q", method, path, policy)
		}
		if handsOut == "" {
			whole := fmt.Sprint(answer.Header) + string(text)
			for what, secret := range secrets {
				if strings.Contains(whole, secret) || strings.Contains(whole, url.QueryEscape(secret)) {
					t.Errorf("%s %s answers with %s", method, path, what)
				}
			}
		}
		return answer.StatusCode, answer.Header, string(text)
	}
	const form = "application/x-www-form-urlencoded"
	post := func(handsOut, path string, fields url.Values) (int, http.Header, string) {
		t.Helper()
		return send(handsOut, "POST", path, form, fields.Encode(), "Cookie", "campaignd-session="+session)
	}
	secret := func(what string) string {
		secrets[what] = "only-here-" + strings.ReplaceAll(what, " ", "-") + "-zyxwv"
		return secrets[what]
	}
	cookie := func(h http.Header) string {
		t.Helper()
		for _, c := range (&http.Response{Header: h}).Cookies() {
			secrets["a session of "+fmt.Sprint(len(secrets))] = c.Value
			return c.Value
		}
		t.Fatal("no session")
		return ""
	}

	// Logins that fail, in each way.
	post("", "/login", url.Values{"name": {"ada"}, "password": {secret("a wrong password")}})
	post("", "/login", url.Values{"name": {"nobody"}, "password": {secret("a password of nobody")}})
	post("its own form", "/login", url.Values{"name": {secret("a password as a name")}, "password": {""}})
	post("", "/login", url.Values{"name": {"ada"}, "password": {strings.Repeat(secret("a long password"), 100)}})
	post("", "/login", url.Values{"name": {"ada"}, "password": {"\x00" + secret("a strange password")}})
	send("", "POST", "/login", form, "name=ada&password="+secret("half a form")+"%")
	send("", "GET", "/campaigns", "", "", "Authorization", "Bearer campaignd_"+secret("a made-up token"))
	send("", "GET", "/api/v1/campaigns", "", "", "Authorization", "Bearer "+secret("another made-up token"))
	send("", "GET", "/api/v1/campaigns", "", "", "Authorization", "Basic "+secret("another scheme"))
	send("", "GET", "/campaigns", "", "", "Cookie", "campaignd-session="+secret("a made-up session"))
	post("", "/login/passkey/finish", nil)
	send("", "POST", "/login/passkey/finish", "application/json", `{"ceremony": "`+secret("a ceremony")+`", "answer": {"x": 1}}`)
	send("", "GET", "/oidc/callback?state="+secret("a state")+"&code="+secret("a code"), "", "")

	// One that succeeds, and what is done with the session.
	_, header, _ := post("a session", "/login", url.Values{"name": {"ada"}, "password": {password}})
	session = cookie(header)
	status, _, page := post("a token", "/account/tokens", url.Values{"name": {"mine"}, "scope": {"see", "run", "define"}})
	for word := range strings.FieldsFuncSeq(page, func(r rune) bool { return strings.ContainsRune(" <>\"\n", r) }) {
		if strings.HasPrefix(word, "campaignd_") && len(word) > 20 {
			token = word
		}
	}
	if status != http.StatusOK || token == "" {
		t.Fatalf("no token: %d %s", status, page)
	}
	secrets["a token"] = token
	post("", "/people", url.Values{"name": {"eve"}, "role": {"viewer"}, "password": {secret("a new password")}})
	post("", "/people", url.Values{"name": {"mallory"}, "role": {"none"}, "password": {secret("the password of a refused account")}})
	post("", "/people/eve/password", url.Values{"password": {secret("a set password")}})
	post("", "/people/ghost/password", url.Values{"password": {secret("a password for nobody")}})
	post("", "/account/password", url.Values{"present": {secret("a wrong present password")}, "password": {secret("a next password")}})
	post("", "/confirm", url.Values{"password": {secret("a wrong confirmation")}, "next": {"/"}})
	_, header, _ = post("a session", "/confirm", url.Values{"password": {password}, "next": {"/"}})
	session = cookie(header)
	_, header, _ = post("a session", "/account/password", url.Values{"present": {password}, "password": {secret("the password from now on")}})
	session = cookie(header)
	bearer := []string{"Authorization", "Bearer " + token}
	if status, _, text := send("", "POST", "/api/v1/campaigns", "application/yaml", bench, append(bearer, "Idempotency-Key", "one")...); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	send("", "POST", "/api/v1/campaigns", "application/yaml", "name: [", append(bearer, "Idempotency-Key", "two")...)
	send("", "POST", "/api/v1/campaigns/bench/stop", "application/json", "{}", bearer...)
	send("", "GET", "/api/v1/campaigns/bench/events", "", "", bearer...)
	for _, path := range []string{"/", "/account", "/people", "/trail", "/campaigns/bench", "/campaigns/bench/log", "/nowhere", "/confirm", "/login", "/new", "/questions"} {
		if status, _, _ := send("", "GET", path, "", "", "Cookie", "campaignd-session="+session); status >= 500 || status == http.StatusUnauthorized {
			t.Errorf("%s: %d", path, status)
		}
	}
	entries, err := book.AuditLog(accounts.SystemIdentity("root"), accounts.Page{Limit: 1000})
	if err != nil || len(entries) < 10 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	trail := must.Get(json.Marshal(entries))(t)
	post("", "/logout", nil)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	l.Close()
	book.Close()

	for what, secret := range secrets {
		if strings.Contains(string(trail), secret) {
			t.Errorf("%s is in the audit trail", what)
		}
		if strings.Contains(said.String(), secret) {
			t.Errorf("%s is in the server's log", what)
		}
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for what, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s is in %s", what, path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
