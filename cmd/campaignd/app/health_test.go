//go:build unix

package app

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// heard is what a command has printed, while it runs.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// runs runs a command until interrupt is called; ended yields its error.
func runs(t *testing.T, args ...string) (out *heard, interrupt func(), ended <-chan error) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	out = new(heard)
	ctx, cancel := context.WithCancelCause(t.Context())
	root := newRoot(&app{registry: Builtin(), stdin: strings.NewReader(""), stdout: out, stderr: out})
	root.SetArgs(args)
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	return out, func() { cancel(errInterrupted) }, done
}

// asks fetches a page; a server that does not answer has the status 0.
func asks(url string) (status int, text string) {
	return read(http.Get(url))
}

// read reads an answer; none has the status 0.
func read(response *http.Response, err error) (status int, text string) {
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// answers waits until a page is answered with a status, in words that hold some.
func answers(t *testing.T, url string, status int, words string) {
	t.Helper()
	var got int
	var text string
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if got, text = asks(url); got == status && strings.Contains(text, words) {
			return
		}
	}
	t.Fatalf("%s: %d, %q, want %d, %q", url, got, text, status, words)
}

// Law: a server that drains says under /readyz that it is about to end, and still serves;
// then it ends, and that is not a failure.
func TestDrain(t *testing.T) {
	out, interrupt, ended := runs(t, "serve", t.TempDir(), "--listen", "127.0.0.1:0", "--drain", "4s")
	var base string
	for began := time.Now(); base == "" && time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		base = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(out.String())
	}
	answers(t, base+"/readyz", http.StatusOK, "ok")
	interrupt()
	answers(t, base+"/readyz", http.StatusServiceUnavailable, "it is about to end")
	for _, path := range []string{"/livez", "/api/v1/campaigns", "/"} {
		if status, text := asks(base + path); status != http.StatusOK {
			t.Errorf("while it drains %s is answered %d, %s", path, status, text)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v\n%s", err, out)
	}
	if status, text := asks(base + "/livez"); status != 0 {
		t.Errorf("it has ended, and answers %d, %s", status, text)
	}
}

// Law: a worker says under /readyz whether it can do anything, and under /livez that it
// lives, also while the database is away; an interrupt is how it ends.
func TestWorkHealth(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a lease to end")
	}
	database := pgtest.URL(t)
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	at := free.Addr().String()
	_ = free.Close() // it was only looked for
	out, interrupt, ended := runs(t, "work", database, "--folder", t.TempDir(), "--health", at)
	base := "http://" + at
	answers(t, base+"/readyz", http.StatusOK, "ok")
	speak := pgtest.Hold(t, database, `select from cd_worker for update`)
	answers(t, base+"/readyz", http.StatusServiceUnavailable, "the database does not answer")
	answers(t, base+"/livez", http.StatusOK, "ok")
	speak()
	answers(t, base+"/readyz", http.StatusOK, "ok")
	if status, _ := asks(base + "/api/v1/campaigns"); status != http.StatusNotFound {
		t.Errorf("it serves campaigns, too: %d", status)
	}
	interrupt()
	if err := <-ended; err != nil || !strings.Contains(out.String(), "Other processes of the lab go on") {
		t.Errorf("it ended with %v\n%s", err, out)
	}
}
