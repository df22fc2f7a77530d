package server_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// Law: whoever listens to a campaign is told nothing more of it from the moment on at which they
// may not see it any more. The stream ends, but for a page of somebody who is still logged in.
func TestStreamsEndWithAccess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	book := must.Get(accounts.Open(accounts.Dir(folder), accounts.Options{}))(t)
	defer book.Close()
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Own: book.Lab(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := httptest.NewServer(server.New(server.Options{Lab: l, Gate: gate.Options{Accounts: book}, Log: t.Logf}).Handler())
	defer h.Close()
	system := accounts.SystemIdentity("root")
	add := func(name string, role accounts.Role, scopes ...accounts.Permission) (token, id, cookie string) {
		t.Helper()
		must.Get(book.Add(t.Context(), system, accounts.NewAccount{
			Name: name, Grants: []accounts.Grant{{Role: role}}, Password: accounts.NewSecret(password),
		}))(t)
		token, made, err := book.CreateToken(t.Context(), system, name, accounts.NewToken{Name: "all", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		cookie, _ = must.Get2(book.Login(t.Context(), name, password, "127.0.0.1"))(t)
		return "Bearer " + token, made.ID, cookie
	}
	admin, _, _ := add("admin", accounts.Admin, accounts.Permissions()...)
	c := &client{t, h.URL}
	if status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", bench, "Authorization", admin); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	note := func(text string) {
		t.Helper()
		body := fmt.Sprintf(`{"text": %q}`, text)
		if status, _, answer := c.do("POST", "/api/v1/campaigns/bench/note", "application/json", body, "Authorization", admin); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
	}
	number := 0
	for stream, path := range map[string]string{
		"events":  "/api/v1/campaigns/bench/events",
		"control": "/api/v1/campaigns/bench/control/v1/events?after=0&follow=1",
		"pages":   "/live",
	} {
		for name, end := range map[string]func(name, id, cookie string) error{
			"disabled": func(name, _, _ string) error { _, err := book.Disable(t.Context(), system, name); return err },
			"without a role": func(name, _, _ string) error {
				_, err := book.Revoke(t.Context(), system, name, accounts.Grant{Role: accounts.Viewer})
				return err
			},
			"logged out": func(_, id, cookie string) error {
				if stream == "pages" {
					return book.Logout(t.Context(), cookie)
				}
				_, err := book.RevokeToken(t.Context(), system, id)
				return err
			},
		} {
			t.Run(stream+", "+name, func(t *testing.T) {
				number++
				eve := fmt.Sprintf("eve%d", number)
				token, id, cookie := add(eve, accounts.Viewer, accounts.See)
				r := must.Get(http.NewRequestWithContext(t.Context(), "GET", h.URL+path, nil))(t)
				r.Header.Set("Accept", "text/event-stream")
				if stream == "pages" {
					r.Header.Set("Cookie", "campaignd-session="+cookie)
				} else {
					r.Header.Set("Authorization", token)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Fatalf("%v, %v", answer, err)
				}
				defer answer.Body.Close()
				lines := make(chan string, 1000)
				go func() {
					defer close(lines)
					for in := bufio.NewScanner(answer.Body); in.Scan(); {
						lines <- in.Text()
					}
				}()
				before, after := "before "+eve, "after "+eve
				told := "changed"
				if stream != "pages" {
					told = before
				}
				hear := func(text string) bool { // false where the stream ends
					timeout := time.After(20 * time.Second)
					for {
						select {
						case line, ok := <-lines:
							if !ok {
								return false
							}
							if strings.Contains(line, text) {
								return true
							}
						case <-timeout:
							t.Fatalf("neither %q is told nor does the stream end", text)
						}
					}
				}
				note(before)
				if !hear(told) {
					t.Fatal("the stream ended while they might listen")
				}
				if stream == "pages" { // what was told of before may be told twice
					for quiet := false; !quiet; {
						select {
						case <-lines:
						case <-time.After(300 * time.Millisecond):
							quiet = true
						}
					}
				}
				must.Do(t, end(eve, id, cookie))
				note(after)
				if stream == "pages" && name == "without a role" { // they are logged in still
					select {
					case line := <-lines:
						t.Errorf("they are told %q", line)
					case <-time.After(500 * time.Millisecond):
					}
					return
				}
				if stream == "pages" {
					after = "changed"
				}
				if hear(after) {
					t.Error("they are told what happens")
				}
			})
		}
	}
}
