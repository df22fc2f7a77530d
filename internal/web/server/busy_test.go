package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// listens opens a stream and returns what is answered, and its end.
func (g *guarded) listens(path, header, value string) (status int, retry string, end func()) {
	g.t.Helper()
	r := must.Get(http.NewRequestWithContext(g.t.Context(), "GET", g.url+path, nil))(g.t)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set(header, value)
	answer := must.Get(http.DefaultTransport.RoundTrip(r))(g.t)
	return answer.StatusCode, answer.Header.Get("Retry-After"), func() { _ = answer.Body.Close() }
}

// Law: one account, and one token of it, has so many streams open at a time and no more, from this
// machine too; it is told when to come again, and whoever else comes finds room.
func TestStreamsLeaveRoom(t *testing.T) {
	alone(t, "each server counts its own streams")
	g := guard(t)
	g.server.Narrow(6, 4, 2, 6)
	g.begin(bench)
	const feed = "/api/v1/campaigns/bench/events"
	first, second := "Bearer "+g.token("viewer"), "Bearer "+g.token("viewer")
	admin := "Bearer " + g.token("admin")
	b := g.browser()
	g.login(b, "viewer", "/")
	here, _ := url.Parse(g.url)
	cookie := b.Jar.Cookies(here)[0].String()

	var ends []func()
	opens := func(path, header, value string, want int) {
		t.Helper()
		status, retry, end := g.listens(path, header, value)
		ends = append(ends, end)
		if status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
		if wait, err := strconv.Atoi(retry); want == http.StatusTooManyRequests && (err != nil || wait < 1) {
			t.Errorf("%s: come again in %q", path, retry)
		}
	}
	opens(feed, "Authorization", first, 200)
	opens(feed, "Authorization", first, 200)
	opens(feed, "Authorization", first, 429) // a third one of the token
	opens("/api/v1/campaigns/bench/control/v1/events?after=0&follow=1", "Authorization", second, 200)
	opens("/live", "Cookie", cookie, 200)
	opens("/live", "Cookie", cookie, 429) // a fifth one of the account
	if status, text := g.as(strings.TrimPrefix(first, "Bearer "), "GET", "/api/v1/campaigns", "", ""); status != http.StatusOK {
		t.Errorf("what is not a stream: %d %s", status, text)
	}
	opens(feed, "Authorization", admin, 200)
	opens(feed, "Authorization", admin, 200)
	opens(feed, "Authorization", admin, 429) // a seventh one of all
	if status, text := g.as(strings.TrimPrefix(admin, "Bearer "), "GET", "/api/v1/campaigns", "", ""); status != http.StatusOK {
		t.Errorf("what is not a stream: %d %s", status, text)
	}
	for _, end := range ends {
		end()
	}
	for range 1000 { // the server learns of it in a moment
		status, _, end := g.listens(feed, "Authorization", first)
		end()
		if status == http.StatusOK {
			return
		}
	}
	t.Error("places are not given back")
}

// Law: access ends with the account, also for a request whose body is still on its way: it carries
// nothing out.
func TestAccessEndsOnTheWay(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	for _, ends := range []struct {
		name, who string
		by        func(who string) error
	}{
		{"disabled", "scientist", func(who string) error {
			_, err := g.book.Disable(t.Context(), accounts.SystemIdentity("root"), who)
			return err
		}},
		{"a right less", "here", func(who string) error {
			_, err := g.book.Revoke(t.Context(), accounts.SystemIdentity("root"), who, accounts.Grant{Role: accounts.Scientist, Campaign: "bench"})
			return err
		}},
	} {
		t.Run(ends.name, func(t *testing.T) {
			const note = `{"text": "too late"}`
			c := must.Get(net.Dial("tcp", strings.TrimPrefix(g.url, "http://")))(t)
			defer c.Close()
			fmt.Fprintf(c, "POST /api/v1/campaigns/bench/note HTTP/1.1\r\nHost: lab\r\nAuthorization: Bearer %s\r\n"+
				"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", g.token(ends.who), len(note))
			in := bufio.NewReader(c)
			// The server waits for the body: it knows by now who sends it.
			if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
				t.Fatalf("%q, %v", line, err)
			}
			must.Get(in.ReadString('\n'))(t)
			must.Do(t, ends.by(ends.who))
			g.site.settle()
			fmt.Fprint(c, note)
			answer := must.Get(http.ReadResponse(in, nil))(t)
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden {
				t.Errorf("it is answered %s", answer.Status)
			}
			if _, text := g.as(g.token("admin"), "GET", "/api/v1/campaigns/bench/events", "", ""); strings.Contains(string(text), "too late") {
				t.Error("it is recorded")
			}
		})
	}
}

// Law: whoever is refused for coming too soon is told when to come again.
func TestLoginComesAgain(t *testing.T) {
	g := guard(t)
	b := g.browser()
	for range 30 {
		answer, _ := g.submit(b, "/login", url.Values{"name": {"viewer"}, "password": {"not this one"}})
		if answer.StatusCode != http.StatusTooManyRequests {
			continue
		}
		if wait, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || wait < 1 {
			t.Errorf("come again in %q", answer.Header.Get("Retry-After"))
		}
		return
	}
	t.Error("nobody is refused")
}
