package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lock"
	"github.com/campaignd/campaignd/internal/server"
)

// restartable serves a folder, again and again.
func restartable(t *testing.T) (c *client, folder string, restart func()) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	folder = t.TempDir()
	c = &client{t: t}
	stop := func() {}
	restart = func() {
		stop()
		l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Registry: builtin.Registry(), Log: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(server.New(server.Options{Lab: l, Version: "test", Log: t.Logf}).Handler())
		c.url = s.URL
		stop = func() { s.Close(); l.Close() }
	}
	restart()
	t.Cleanup(func() { stop() })
	return c, folder, restart
}

const aNote = "/api/v1/campaigns/bench/note"

// notes counts the notes of the campaign bench.
func (c *client) notes() int {
	_, _, text := c.do("GET", "/api/v1/campaigns/bench/events", "", "")
	return strings.Count(string(text), `"campaignd.note.added"`)
}

// Law: a request with a key is carried out once, however often it comes, at once and one
// after the other, before and after a restart; each time it gets the same answer.
func TestCarriedOutOnce(t *testing.T) {
	c, _, restart := restartable(t)
	c.begin(bench)
	const body = `{"text": "hello"}`
	var mu sync.Mutex
	answers := make(map[string]int)
	send := func() {
		status, header, text := c.do("POST", aNote, "application/json", body, "Idempotency-Key", "one")
		mu.Lock()
		defer mu.Unlock()
		answers[fmt.Sprint(status, header.Get("Content-Type"), string(text))]++
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(send)
	}
	all.Wait()
	restart()
	send()
	if n := c.notes(); n != 1 || len(answers) != 1 {
		t.Errorf("%d notes were recorded, and answered: %v", n, answers)
	}
	// What is refused is answered the same, too.
	for range 2 {
		status, header, _ := c.do("POST", "/api/v1/campaigns/bench/resume", "application/json", `{}`, "Idempotency-Key", "two")
		if status != http.StatusConflict || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %v", status, header)
		}
	}
	// Another request with the key is refused, and so is what is no key.
	for name, r := range map[string][3]string{
		"another body": {aNote, `{"text": "goodbye"}`, "one"},
		"another path": {"/api/v1/campaigns/bench/pause", body, "one"},
		"a long key":   {aNote, body, strings.Repeat("k", 201)},
		"a space":      {aNote, body, "o ne"},
	} {
		if status, _, text := c.do("POST", r[0], "application/json", r[1], "Idempotency-Key", r[2]); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if n := c.notes(); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// Law: of a request that was cut off by the end of the server nobody claims that it was
// recorded, nor that it was not.
func TestCutOff(t *testing.T) {
	c, folder, restart := restartable(t)
	c.begin(bench)
	c.do("POST", aNote, "application/json", `{"text": "hello"}`, "Idempotency-Key", "one")
	// A server that is killed leaves the key without an answer.
	files, err := filepath.Glob(filepath.Join(folder, ".campaignd", "idempotency", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	delete(kept, "answer")
	if text, err = json.Marshal(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	restart()
	status, _, text := c.do("POST", aNote, "application/json", `{"text": "hello"}`, "Idempotency-Key", "one")
	if status != http.StatusConflict || !strings.Contains(string(text), `"code":"uncertain"`) || !strings.Contains(string(text), `"remedies"`) {
		t.Errorf("%d %s", status, text)
	}
	if n := c.notes(); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// Law: a key whose file was removed is one that was never sent.
func TestRemovedKey(t *testing.T) {
	c, folder, _ := restartable(t)
	c.begin(bench)
	for range 2 {
		if status, header, text := c.do("POST", aNote, "application/json", `{"text": "hello"}`, "Idempotency-Key", "one"); status != http.StatusOK ||
			header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%d %v %s", status, header, text)
		}
		if err := os.RemoveAll(filepath.Join(folder, ".campaignd", "idempotency")); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.notes(); n != 2 {
		t.Errorf("%d notes", n)
	}
}

// Law: of nobody's requests, and of those that are refused for who makes them, no key is kept;
// one account does not take the keys of others, also after a restart.
func TestKeysOfOthers(t *testing.T) {
	g := guard(t)
	g.begin(bench)
	g.server.KeepKeys(9) // two for each account
	folder := filepath.Join(g.lab.Private(), "idempotency")
	send := func(name, key string, want int) {
		t.Helper()
		headers := []string{"Idempotency-Key", key}
		if name != "" {
			headers = append(headers, "Authorization", "Bearer "+g.token(name)) // each time another token
		}
		if status, _, text := g.do("POST", aNote, "application/json", `{"text": "hello"}`, headers...); status != want {
			t.Errorf("%s with the key %s: %d, want %d: %s", name, key, status, want, text)
		}
	}
	for n := range 20 {
		send("", fmt.Sprint("k", n), http.StatusUnauthorized)
		send("viewer", fmt.Sprint("k", n), http.StatusForbidden)
	}
	if files, _ := os.ReadDir(folder); len(files) > 0 {
		t.Errorf("%d keys of what was refused are kept", len(files))
	}
	send("scientist", "k1", http.StatusOK)
	send("scientist", "k2", http.StatusOK)
	send("scientist", "k3", http.StatusServiceUnavailable)
	send("here", "k1", http.StatusOK)
	g.server = server.New(server.Options{Lab: g.lab, Accounts: g.book, Log: t.Logf})
	g.server.KeepKeys(9)
	s := httptest.NewServer(g.server.Handler())
	defer s.Close()
	g.url = s.URL
	send("scientist", "k3", http.StatusServiceUnavailable)
	send("here", "k2", http.StatusOK)
	send("here", "k3", http.StatusServiceUnavailable)
	// What was refused may be asked for again, with the same key.
	if _, err := g.book.Grant(t.Context(), accounts.SystemIdentity("root"), "viewer", accounts.Grant{Role: accounts.Scientist}); err != nil {
		t.Fatal(err)
	}
	send("viewer", "k1", http.StatusOK)
	// Where no more can be kept, nobody is still told that it is not known who they are.
	g.server.KeepKeys(0)
	send("", "k1", http.StatusUnauthorized)
}

// Law: a server that is confined begins no campaign that names a program or a file, by any
// way; and others it does.
func TestConfined(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	l, err := lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.New(server.Options{Lab: l, Confined: true, Log: t.Logf}).Handler())
	t.Cleanup(func() { s.Close(); l.Close() })
	c := &client{t, s.URL}
	c.begin(bench)
	for _, instrument := range []string{"{process: [/bin/true]}", "{table: /etc/passwd}"} {
		for _, r := range [][2]string{{"POST", "/api/v1/campaigns"}, {"PUT", "/api/v1/campaigns/bench/definition"}} {
			source := strings.Replace(bench, "instrument: manual", "instrument: "+instrument, 1)
			status, _, text := c.do(r[0], r[1], "application/yaml", source)
			if status != http.StatusUnprocessableEntity || !strings.Contains(string(text), "instrument.") || !strings.Contains(string(text), "not_possible") {
				t.Errorf("%s with %s: %d %s", r[0], instrument, status, text)
			}
		}
		for _, path := range []string{"/new", "/campaigns/bench/definition"} {
			form := url.Values{"source": {strings.Replace(bench, "instrument: manual", "instrument: "+instrument, 1)}, "reason": {"why not"}}
			if path == "/new" {
				form.Set("source", strings.Replace(form.Get("source"), "name: bench", "name: other", 1))
			}
			status, _, text := c.do("POST", path, "application/x-www-form-urlencoded", form.Encode())
			if status != http.StatusUnprocessableEntity || !strings.Contains(string(text), "this server takes no campaign file") {
				t.Errorf("%s with %s: %d %s", path, instrument, status, text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(l.Folder(), "bench.campaign")); err != nil {
		t.Error(err)
	}
}

// Law: what the API exports it takes over again, all rows or none, and says what is wrong by
// row; an audit over the API passes, and what it hands out verifies.
func TestRecords(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	_, _, exported := c.do("GET", "/api/v1/campaigns/bench/export", "", "")
	if !strings.HasPrefix(string(exported), "experiment,status,origin,decision,replicate,x,salt,") {
		t.Fatalf("%s", exported)
	}
	status, _, text := c.do("POST", "/api/v1/campaigns/bench/import/csv", "text/csv", "x,salt,flow\n0.5,1,3\n7,1,3\n0.5,2,high\n")
	var refused struct {
		Faults []struct{ Line, Column int }
	}
	c.read("import", status, http.StatusUnprocessableEntity, text, &refused)
	if len(refused.Faults) != 2 || refused.Faults[0].Line != 3 || refused.Faults[1].Line != 4 || refused.Faults[1].Column != 7 {
		t.Errorf("%s", text)
	}
	var imported struct {
		Recorded []any
		Rows     []any
	}
	for _, preview := range []string{"true", "false"} {
		status, _, text = c.do("POST", "/api/v1/campaigns/bench/import/csv?preview="+preview, "text/csv", "x,salt,flow\n0.5,1,3\n")
		c.read("import", status, http.StatusOK, text, &imported)
		if (len(imported.Recorded) == 0) != (preview == "true") || len(imported.Rows) != 1 {
			t.Errorf("preview %s: %s", preview, text)
		}
	}
	var run struct {
		ID, State string
		Passed    bool
		Audit     struct{ Checkpoint string }
	}
	status, _, text = c.do("POST", "/api/v1/campaigns/bench/audits", "", "")
	c.read("audit", status, http.StatusAccepted, text, &run)
	for run.State == "running" {
		c.get("/api/v1/audits/"+run.ID+"?wait=10", &run)
	}
	if !run.Passed || run.Audit.Checkpoint == "" {
		t.Errorf("%+v", run)
	}
	var proof struct{ Text string }
	c.get("/api/v1/campaigns/bench/proofs/1", &proof)
	var growth struct{ Text string }
	from, _ := json.Marshal(map[string]string{"from": run.Audit.Checkpoint})
	c.post(aNote, `{"text": "later"}`, http.StatusOK, nil)
	c.post("/api/v1/campaigns/bench/growth", string(from), http.StatusOK, &growth)
	type file struct {
		Text string `json:"text"`
	}
	for _, v := range []struct {
		files []file
		hold  bool
	}{
		{[]file{{proof.Text}}, true},
		{[]file{{run.Audit.Checkpoint}, {growth.Text}}, true},
		{[]file{{strings.Replace(proof.Text, "extra ", "extra A", 1)}}, false},
	} {
		body, _ := json.Marshal(map[string][]file{"files": v.files})
		var verified struct{ Hold bool }
		c.post("/api/v1/verify", string(body), http.StatusOK, &verified)
		if verified.Hold != v.hold {
			t.Errorf("%s: holds %v", body, verified.Hold)
		}
	}
}
