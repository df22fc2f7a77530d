//go:build unix

package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// logIn logs in through the balancer, and returns the cookie.
func (s *site) logIn(name string) string {
	s.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer := must.Get(client.PostForm(s.url+"/login", url.Values{"name": {name}, "password": {password}}))(s.t)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) == 0 {
		s.t.Fatalf("%s cannot log in: %s", name, answer.Status)
	}
	return "campaignd-session=" + answer.Cookies()[0].Value
}

// stream reads events of the campaign bench at a server, after one of an identifier, until so many
// are there or it ends; it returns the identifiers.
func (s *site) stream(at, cookie, after string, most int) (ids []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	return identifiers(s.begunStream(ctx, at, cookie, after), most)
}

// begunStream is the body of a stream of events after one.
func (s *site) begunStream(ctx context.Context, at, cookie, after string) io.ReadCloser {
	s.t.Helper()
	r := must.Get(http.NewRequestWithContext(ctx, "GET", at+"/api/v1/campaigns/bench/events", nil))(s.t)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Cookie", cookie)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	answer := must.Get(http.DefaultClient.Do(r))(s.t)
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		s.t.Fatal(answer.Status)
	}
	return answer.Body
}

// identifiers reads those of at most so many events, and closes the stream.
func identifiers(body io.ReadCloser, most int) (ids []string) {
	defer body.Close()
	for in := bufio.NewScanner(body); len(ids) < most && in.Scan(); {
		if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// Law: behind a balancer several servers are one: who has logged in is known at each from the next
// request on; a request with a key is recorded once and answered alike, whichever servers get it at
// the same time; a stream that is cut goes on at another without a gap; and access that is taken
// away at one ends at all, streams that are open too.
func TestFarm(t *testing.T) {
	f := newSiteOf(t, 2)
	f.accounts = new(accounts.Options)
	f.begin()
	system := accounts.SystemIdentity("root")
	add(t, f.books[0], "admin", as(accounts.Admin))
	add(t, f.books[1], "eve", as(accounts.Scientist))
	admin, eve := f.logIn("admin"), f.logIn("eve")
	c := &client{t, f.url}
	if status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", bench, "Cookie", admin); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	for _, at := range f.urls {
		if status, _, text := (&client{t, at}).do("GET", "/api/v1/campaigns/bench", "", "", "Cookie", eve); status != http.StatusOK {
			t.Fatalf("what one server has begun is not known at another: %d %s", status, text)
		}
	}

	for n := range 10 {
		cookie := f.logIn("eve")
		if status, _, text := c.do("GET", "/api/v1/campaigns", "", "", "Cookie", cookie); status != http.StatusOK {
			t.Fatalf("login %d is not known: %d %s", n, status, text)
		}
		body := fmt.Sprintf(`{"text": "note %d"}`, n)
		var mu sync.Mutex
		answers := make(map[string]int)
		var at sync.WaitGroup
		for i := range 4 {
			at.Go(func() {
				c := &client{t, f.urls[i%len(f.urls)]}
				for try := 0; ; try++ {
					status, _, text := c.do("POST", "/api/v1/campaigns/bench/note", "application/json", body,
						"Cookie", eve, "Idempotency-Key", fmt.Sprint("k", n))
					if status == http.StatusServiceUnavailable && try < 100 {
						time.Sleep(50 * time.Millisecond) // it is to try again
						continue
					}
					mu.Lock()
					answers[fmt.Sprint(status, string(text))]++
					mu.Unlock()
					return
				}
			})
		}
		at.Wait()
		if len(answers) != 1 || !strings.HasPrefix(slices.Collect(maps.Keys(answers))[0], "200") {
			t.Errorf("note %d is answered %v", n, answers)
		}
	}
	count := func(at string) (n int) {
		_, _, text := (&client{t, at}).do("GET", "/api/v1/campaigns/bench/events", "", "", "Cookie", eve)
		return strings.Count(string(text), `"campaignd.note.added"`)
	}
	for _, at := range f.urls {
		if n := count(at); n != 10 {
			t.Errorf("%d notes are recorded", n)
		}
	}

	var got []string
	after := ""
	for n := 0; len(got) < 12; n++ {
		piece := f.stream(f.urls[n%len(f.urls)], eve, after, 2)
		if len(piece) == 0 {
			t.Fatal("the stream has nothing more")
		}
		got, after = append(got, piece...), piece[len(piece)-1]
	}
	whole := f.stream(f.urls[0], eve, "", len(got))
	if !slices.Equal(got, whole) {
		t.Errorf("in pieces the stream is\n%v\nand at once\n%v", got, whole)
	}

	ended := make(chan int, 1)
	listening := f.begunStream(t.Context(), f.urls[1], eve, after)
	go func() { ended <- len(identifiers(listening, 1_000_000)) }()
	must.Get(f.books[0].Disable(t.Context(), system, "eve"))(t)
	began := time.Now()
	for _, at := range f.urls {
		for {
			status, _, _ := (&client{t, at}).do("GET", "/api/v1/campaigns", "", "", "Cookie", eve)
			if status == http.StatusUnauthorized {
				break
			}
			if time.Since(began) > 20*time.Second {
				t.Fatalf("%s still answers with %d", at, status)
			}
		}
	}
	t.Logf("refused at all servers after %v", time.Since(began))
	if status, _, text := c.do("POST", "/api/v1/campaigns/bench/note", "application/json", `{"text": "after"}`, "Cookie", admin); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("a stream goes on that its listener may not see")
	}
}

// Law: while the database does not answer it is not known who there is, which is not a reason to ask
// anybody to log in: a lab without accounts answers that it is not available, and goes on by itself.
func TestAccountsAway(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a database that does not answer")
	}
	t.Parallel()
	f := newSiteOf(t, 2)
	database := pgtest.Shared(t)
	line := pgtest.NewLine(t, database, nil)
	for i, place := range f.places {
		f.places[i] = strings.Replace(place, fmt.Sprint(":", database.Port), fmt.Sprint(":", line.Port()), 1)
	}
	f.accounts = new(accounts.Options)
	f.begin()
	seen := func(status int) bool {
		t.Helper()
		api, _, _ := (&client{t, f.urls[0]}).do("GET", "/api/v1/campaigns", "", "")
		page, _, _ := (&client{t, f.urls[0]}).do("GET", "/campaigns", "", "")
		for _, got := range []int{api, page} {
			if got != http.StatusOK && got != http.StatusServiceUnavailable {
				t.Fatalf("the answer is %d", got)
			}
		}
		return api == status && page == status
	}
	for _, step := range []struct {
		do     func()
		status int
	}{{func() {}, http.StatusOK}, {line.Cut, http.StatusServiceUnavailable}, {line.Pass, http.StatusOK}} {
		step.do()
		for began := time.Now(); !seen(step.status); time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("waited in vain for a %d", step.status)
			}
		}
	}
}
