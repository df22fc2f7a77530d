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
	"time"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
)

// restartable serves a folder, again and again.
func restartable(t *testing.T) (c *client, folder string, restart func()) {
	t.Helper()
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

// Law: a request with a key is recorded once, however often it comes, at once and one after the
// other, before and after a restart; each time it gets the same answer, and nothing of it is kept
// beside the log. What was refused is judged anew.
func TestRecordedOnce(t *testing.T) {
	c, folder, restart := restartable(t)
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
	_, header, _ := c.do("POST", aNote, "application/json", body, "Idempotency-Key", "one")
	if header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a repeat is not marked: %v", header)
	}
	const resume = "/api/v1/campaigns/bench/resume"
	for range 2 {
		if status, _, text := c.do("POST", resume, "application/json", `{}`, "Idempotency-Key", "two"); status != http.StatusConflict {
			t.Errorf("resumed what runs: %d %s", status, text)
		}
	}
	c.post("/api/v1/campaigns/bench/pause", `{}`, http.StatusOK, nil)
	for range 2 {
		if status, _, text := c.do("POST", resume, "application/json", `{}`, "Idempotency-Key", "two"); status != http.StatusOK {
			t.Errorf("what was refused before, and is possible now: %d %s", status, text)
		}
	}
	// Another request with the key is refused, and so is what is not a key.
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
	if _, err := os.Stat(filepath.Join(folder, ".campaignd", "idempotency")); !os.IsNotExist(err) {
		t.Errorf("something is kept of the keys: %v", err)
	}
}

// Law: the answer to a repeat is that of the first, to the byte, though the campaign stands
// otherwise by then: of every operation whose answer says more than the events.
func TestSameAnswer(t *testing.T) {
	c, _, restart := restartable(t)
	again := make(map[string]func() string)
	var names []string
	send := func(method, path, contentType, body string, want int) {
		t.Helper()
		name := method + " " + path
		one := func() string {
			status, header, text := c.do(method, path, contentType, body, "Idempotency-Key", strings.ReplaceAll("key of "+name, " ", "-"))
			if status != want {
				t.Errorf("%s: %d %s", name, status, text)
			}
			return fmt.Sprint(status, header.Get("Location"), string(text))
		}
		names = append(names, name)
		first := one()
		again[name] = func() string {
			if now := one(); now != first {
				return fmt.Sprintf("first\n%s\nthen\n%s", first, now)
			}
			return ""
		}
	}
	send("POST", "/api/v1/campaigns", "application/yaml", bench, http.StatusCreated)
	var asked struct {
		Questions []struct{ ID string }
	}
	for began := time.Now(); len(asked.Questions) == 0 && time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		c.get("/api/v1/questions?campaign=bench", &asked)
	}
	if len(asked.Questions) == 0 {
		t.Fatal("nothing is asked")
	}
	q := "/api/v1/questions/bench/" + asked.Questions[0].ID
	send("POST", q, "application/json", `{"order": ["A", "B"], "saw": ""}`, http.StatusOK)
	c.post(q, `{"order": ["B", "A"]}`, http.StatusOK, nil) // what counts by now
	send("POST", "/api/v1/campaigns/bench/import/csv?once=true", "text/csv", "x,salt,flow\n0.5,1,3\n0.25,2,4\n", http.StatusOK)
	send("POST", "/api/v1/campaigns/bench/import/csv?once=true&note=batch", "text/csv", "x,salt,flow,batch\n0.5,1,3,b1\n0.75,2,5,b2\n", http.StatusOK)
	amended := strings.Replace(bench, "budget: {experiments: ", "budget: {experiments: 1", 1)
	send("PUT", "/api/v1/campaigns/bench/definition?reason=more", "application/yaml", amended, http.StatusOK)
	c.post(aNote, `{"text": "later"}`, http.StatusOK, nil)
	for _, when := range []string{"at once", "after a restart"} {
		before := c.events()
		for _, name := range names {
			if differs := again[name](); differs != "" {
				t.Errorf("%s, %s is answered otherwise:\n%s", when, name, differs)
			}
		}
		if n := c.events(); n != before {
			t.Errorf("%s, %d events more", when, n-before)
		}
		restart()
	}
}

// events counts what people asked for in the campaign bench.
func (c *client) events() int {
	_, _, text := c.do("GET", "/api/v1/campaigns/bench/events", "", "")
	return strings.Count(string(text), `"actor":"person:`)
}

// Law: a key is that of the account, whichever token its requests come with, and of no other
// account: each counts once. What was refused for who asked counts when they may.
func TestKeysOfOthers(t *testing.T) {
	g := guard(t)
	g.begin(bench)
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
	counts := func(want int) {
		t.Helper()
		var held struct{ Notes int }
		g.lab.Current(t.Context(), "bench")
		core := must.Get(g.lab.Campaign("bench"))(t)
		core.Read(func(core *engine.Core) { held.Notes = len(core.State().Notes) })
		if held.Notes != want {
			t.Errorf("%d notes, want %d", held.Notes, want)
		}
	}
	send("", "k", http.StatusUnauthorized)
	send("viewer", "k", http.StatusForbidden)
	counts(0)
	for range 2 {
		send("scientist", "k", http.StatusOK)
	}
	counts(1)
	for range 2 {
		send("here", "k", http.StatusOK)
	}
	counts(2)
	// What was refused may be asked for again, with the same key.
	if _, err := g.book.Grant(t.Context(), accounts.SystemIdentity("root"), "viewer", accounts.Grant{Role: accounts.Scientist}); err != nil {
		t.Fatal(err)
	}
	g.site.settle()
	for range 2 {
		send("viewer", "k", http.StatusOK)
	}
	counts(3)
}

// Law: a server that is confined begins no campaign that names a program or a file, by any
// way; and others it does.
func TestConfined(t *testing.T) {
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
	status, _, text := c.do("POST", "/api/v1/campaigns/bench/import/csv", "text/csv", "x,salt,flow\n0.5,1,3\n7,1,3\n0.5,2,3 high\n")
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
