package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// chained is a campaign file of some kilobytes whose space takes minutes.
func chained() string {
	const n = 300
	var b strings.Builder
	b.WriteString("name: chained\nobjective: {maximize: y}\nbudget: {experiments: 20}\ninstrument: manual\nparameters:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: p%d, min: 0, max: 1}\n", i)
	}
	b.WriteString("constraints:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {terms: {p%d: 1, p%d: 1}, at_least: %g}\n", i, (i*7+1)%n, 1+float64(i%5)/10)
	}
	return b.String()
}

// computes reports whether this process prepares a design space just now.
func computes() bool {
	stacks := make([]byte, 16<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "space.NewContext(")
}

// Law: work ends when its client has left: nobody reads what it would find, and a processor is there for others.
func TestWorkEndsWithItsClient(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	token := "Bearer " + g.token("admin")
	b := g.browser()
	g.login(b, "admin", "/")
	here, _ := url.Parse(g.url)
	cookie := b.Jar.Cookies(here)[0].String()
	const form, file = "application/x-www-form-urlencoded", "application/yaml"
	typed := url.Values{"source": {chained()}}.Encode()
	for _, c := range []struct{ path, contentType, body, header, value string }{
		{"/api/v1/validate", file, chained(), "Authorization", token},
		{"/api/v1/campaigns", file, chained(), "Authorization", token},
		{"/validate", form, typed, "Cookie", cookie},
		{"/new", form, typed + "&check=1", "Cookie", cookie},
	} {
		t.Run(c.path, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			r := must.Get(http.NewRequestWithContext(ctx, "POST", g.url+c.path, strings.NewReader(c.body)))(t)
			r.Header.Set("Content-Type", c.contentType)
			r.Header.Set(c.header, c.value)
			left := make(chan string, 1)
			go func() {
				answer, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					left <- err.Error()
					return
				}
				answer.Body.Close()
				left <- answer.Status
			}()
			becomes := func(what string, state bool) {
				t.Helper()
				for limit := time.Now().Add(45 * time.Second); computes() != state; time.Sleep(10 * time.Millisecond) {
					select {
					case how := <-left:
						if state {
							t.Fatalf("it was answered: %s", how)
						}
					default:
					}
					if time.Now().After(limit) {
						leave()
						t.Fatal(what)
					}
				}
			}
			becomes("the server does not work on it", true)
			leave()
			becomes("the server still works for a client who has left", false)
		})
	}
}
