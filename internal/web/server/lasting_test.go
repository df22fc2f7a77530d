package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Law: who wants to make what outlasts their session, and has not lately shown who they are, is
// told so, shows it, and is back where they were; until then nothing is made.
func TestLasting(t *testing.T) {
	g := guard(t)
	b := g.browser()
	g.login(b, "admin", "/")
	g.now = g.now.Add(7 * time.Hour)
	token := url.Values{"name": {"mine"}, "scope": {"see"}}
	for _, x := range []struct {
		page, path, back string
		form             url.Values
	}{
		{"/account", "/account/tokens", "/account", token},
		{"/people", "/people/admin/password", "/people", url.Values{"password": {"an owl that eats cake"}}},
	} {
		link := "/confirm?next=" + url.QueryEscape(x.back)
		if _, text := g.visit(b, x.page); strings.Contains(text, `action="`+x.path+`"`) || !strings.Contains(text, link) {
			t.Errorf("%s does not lead to %s:\n%s", x.page, link, text)
		}
		answer, text := g.submit(b, x.path, x.form)
		if answer.StatusCode != http.StatusUnauthorized || !strings.Contains(text, `href="`+link+`"`) {
			t.Errorf("%s: %d\n%s", x.path, answer.StatusCode, text)
		}
	}
	if n := len(g.book.Tokens("admin")); n != 0 {
		t.Fatalf("%d tokens were made", n)
	}
	answer, text := g.submit(b, "/confirm", url.Values{"password": {password}, "next": {"/account"}})
	if answer.Request.URL.Path != "/account" || !strings.Contains(text, `action="/account/tokens"`) {
		t.Fatalf("back at %s:\n%s", answer.Request.URL, text)
	}
	if answer, text := g.submit(b, "/account/tokens", token); answer.StatusCode != http.StatusOK || len(g.book.Tokens("admin")) != 1 {
		t.Errorf("after that: %d\n%s", answer.StatusCode, text)
	}
}
