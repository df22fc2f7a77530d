package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/forward"
	"github.com/campaignd/campaignd/internal/lab/notify"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// Law: an administrator sees how each person is reached: where a message was taken, what
// failed and when it is tried again, and what is due. What a service answered is text.
func TestReached(t *testing.T) {
	folder := t.TempDir()
	book := must.Get(accounts.Open(accounts.Dir(folder), accounts.Options{}))(t)
	must.Get(book.Add(t.Context(), accounts.SystemIdentity("root"), accounts.NewAccount{
		Name: "admin", Grants: []accounts.Grant{{Role: accounts.Admin}}, Password: accounts.NewSecret(password),
	}))(t)
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Own: book.Lab(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := httptest.NewServer(server.New(server.Options{Lab: l, Gate: gate.Options{Accounts: book}, Version: "test", Log: t.Logf, Reached: func() []notify.Status {
		return []notify.Status{
			{Person: "ada", Quiet: true, Targets: []notify.TargetStatus{
				{Address: "ntfy://•••", Delivered: noon, Waiting: 3},
				{Address: "smtp://•••", Error: "550 <b>no</b>", Failed: noon.Add(time.Hour), Again: noon.Add(2 * time.Hour)},
			}},
			{Person: "bo"},
		}
	}}).Handler())
	t.Cleanup(func() { s.Close(); l.Close(); book.Close() })
	g := &guarded{client: &client{t: t, url: s.URL}, book: book}
	b := g.browser()
	g.login(b, "admin", "/people")
	r, page := g.visit(b, "/people")
	if r.StatusCode != http.StatusOK {
		t.Fatal(r.Status)
	}
	for _, want := range []string{
		"quiet hours now", "ntfy://•••", "2026-05-01T12:00:00Z", "3 things", "550 &lt;b&gt;no&lt;/b&gt;", "2026-05-01T13:00:00Z",
		"2026-05-01T14:00:00Z", "nowhere: the lab file names no address",
		"The first admin here is admin, made by root, on the machine of the lab",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}

// Law: why a system does not take the lab's events, and how far it is behind, is in the API
// and in the list of campaigns.
func TestForwardsAreShown(t *testing.T) {
	l, err := lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.New(server.Options{
		Lab: l, Version: "test", Log: t.Logf,
		Forwards: func() []forward.Status {
			return []forward.Status{
				{Name: "archive", Address: "nats://nats.example.org", Behind: 7, Error: "no <servers>"},
				{Name: "notebook", Address: "https://notebook.example.org"},
			}
		},
	}).Handler())
	t.Cleanup(func() { s.Close(); l.Close() })
	for path, want := range map[string]string{
		"/api/v1/forwards": `{"name":"archive","address":"nats://nats.example.org","behind":7,"error":"no <servers>"}`,
		"/campaigns":       "archive (nats://nats.example.org), 7 events behind: no &lt;servers&gt;",
	} {
		r := must.Get(http.Get(s.URL + path))(t)
		page, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(page), want) ||
			path == "/campaigns" && strings.Contains(string(page), "notebook") {
			t.Errorf("%s, %v: %s", r.Status, err, page)
		}
	}
}
