package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
)

const bench = `
name: bench
parameters: [{name: x, min: 0, max: 1}, {name: salt, values: [1, 2, 3]}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 3}
instrument: manual
experts: [{name: ada, terminal: {}}]
policy: {trust: coexbo}
`

// client speaks to a server under test.
type client struct {
	t   *testing.T
	url string
}

// serve serves a lab that is open to everybody, for the time of a test.
func serve(t *testing.T) *client {
	t.Helper()
	s := newSite(t)
	s.begin()
	return &client{t, s.url}
}

// do sends a request and returns the status and what was answered.
func (c *client) do(method, path, contentType, body string, headers ...string) (int, http.Header, []byte) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	r := must.Get(http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body)))(c.t)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer := must.Get(http.DefaultClient.Do(r))(c.t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(c.t)
	return answer.StatusCode, answer.Header, text
}

// post sends JSON and reads the JSON that is answered with the status wanted.
func (c *client) post(path, body string, wanted int, into any) {
	c.t.Helper()
	status, _, text := c.do("POST", path, "application/json", body)
	c.read(path, status, wanted, text, into)
}

func (c *client) get(path string, into any) {
	c.t.Helper()
	status, _, text := c.do("GET", path, "", "")
	c.read(path, status, http.StatusOK, text, into)
}

func (c *client) read(path string, status, wanted int, text []byte, into any) {
	c.t.Helper()
	if status != wanted {
		c.t.Fatalf("%s: %d, want %d: %s", path, status, wanted, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			c.t.Fatalf("%s: %v in %s", path, err, text)
		}
	}
}

func (c *client) begin(source string) {
	c.t.Helper()
	status, header, text := c.do("POST", "/api/v1/campaigns", "application/yaml", source)
	if status != http.StatusCreated || !strings.HasPrefix(header.Get("Location"), "/api/v1/campaigns/") {
		c.t.Fatalf("begin: %d %v: %s", status, header, text)
	}
}

type suggestion struct {
	Experiment *struct {
		ID         string
		Parameters map[string]any
	}
	Questions []struct{ ID string }
	Stopped   string
}

// Law: a script closes the loop with suggest and tell, and whoever is asked answers over the
// same API, to the campaign's end.
func TestClosesALoop(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	for told := 0; told < 3; {
		var s suggestion
		c.post("/api/v1/campaigns/bench/suggest", "", http.StatusOK, &s)
		for _, q := range s.Questions {
			c.post("/api/v1/questions/bench/"+q.ID, `{"order": ["B", "A"], "comment": "why not"}`, http.StatusOK, nil)
		}
		if s.Experiment == nil {
			if len(s.Questions) == 0 {
				t.Fatalf("neither an experiment nor a question: %+v", s)
			}
			continue
		}
		body := fmt.Sprintf(`{"experiment": %q, "value": %d}`, s.Experiment.ID, told)
		var recorded struct{ Recorded []map[string]any }
		c.post("/api/v1/campaigns/bench/tell", body, http.StatusOK, &recorded)
		if len(recorded.Recorded) == 0 || recorded.Recorded[0]["type"] != "campaignd.experiment.measured" {
			t.Fatalf("told, and %v was recorded", recorded)
		}
		told++
	}
	var s suggestion
	c.post("/api/v1/campaigns/bench/suggest", "", http.StatusOK, &s)
	if s.Stopped == "" || s.Experiment != nil {
		t.Errorf("after the budget: %+v", s)
	}
	var status struct {
		Status      string
		Experiments int
		Best        struct{ Value float64 }
	}
	c.get("/api/v1/campaigns/bench", &status)
	if status.Status != "completed" || status.Experiments != 3 {
		t.Errorf("at the end: %+v", status)
	}
}

// Law: whatever is wrong is answered as a problem that says what and where, and nothing is
// changed by it.
func TestProblems(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	before := c.sequence()
	for _, p := range []struct {
		name, method, path, contentType, body string
		status                                int
		holds                                 string
	}{
		{"a fault in a file", "POST", "/api/v1/campaigns", "application/yaml", "name: b\nbudget: {experiments: 0}\n", 422, `"line":`},
		{"no YAML at all", "POST", "/api/v1/campaigns", "application/yaml", "\x00", 422, `"code":"invalid"`},
		{"a name that is taken", "POST", "/api/v1/campaigns", "application/yaml", bench, 409, "already"},
		{"no such campaign", "GET", "/api/v1/campaigns/nobody", "", "", 404, "no_campaign"},
		{"a path out of the folder", "GET", "/api/v1/campaigns/..%2f..%2fetc", "", "", 404, "no_campaign"},
		{"no such place", "GET", "/api/v1/nowhere", "", "", 404, "not_found"},
		{"no value", "POST", "/api/v1/campaigns/bench/tell", "application/json", `{"experiment":"e1"}`, 400, "give the value"},
		{"no such experiment", "POST", "/api/v1/campaigns/bench/tell", "application/json", `{"experiment":"e99","value":1}`, 404, "e99"},
		{"an unknown field", "POST", "/api/v1/campaigns/bench/tell", "application/json", `{"experiment":"e1","vlaue":1}`, 422, "vlaue"},
		{"a value that is text", "POST", "/api/v1/campaigns/bench/tell", "application/json", `{"experiment":"e1","value":"1"}`, 422, "body.value"},
		{"nothing to import", "POST", "/api/v1/campaigns/bench/import", "application/json", `null`, 400, "nothing to take over"},
		{"half a body", "POST", "/api/v1/campaigns/bench/tell", "application/json", `{"experiment":`, 400, `"code":"invalid"`},
		{"another unit", "POST", "/api/v1/campaigns/bench/tell", "application/json", `{"experiment":"e1","value":1,"unit":"L"}`, 422, "mL/s"},
		{"no such question", "POST", "/api/v1/questions/bench/q99", "application/json", `{"answer":"accept"}`, 404, "q99"},
		{"an unknown parameter", "GET", "/api/v1/campaigns?sort=name", "", "", 422, "sort"},
		{"a resolution of nothing", "POST", "/api/v1/campaigns/bench/resolve", "application/json",
			`{"experiment":"e1","resolution":"failed"}`, 409, "unknown"},
	} {
		status, header, text := c.do(p.method, p.path, p.contentType, p.body)
		var problem struct {
			Status       int
			Title, Type  string
			Detail, Code string
		}
		if err := json.Unmarshal(text, &problem); err != nil || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: no problem but %s %q", p.name, header.Get("Content-Type"), text)
			continue
		}
		if status != p.status || problem.Status != status || problem.Code == "" || problem.Detail == "" || problem.Title == "" ||
			!strings.HasPrefix(problem.Type, "urn:") || !bytes.Contains(text, []byte(p.holds)) {
			t.Errorf("%s: %d %s, want %d with %q", p.name, status, text, p.status, p.holds)
		}
	}
	if after := c.sequence(); after != before {
		t.Errorf("%d events became %d", before, after)
	}
}

// sequence counts the events of the campaign bench, once nothing new comes: an experiment is
// with whoever measures.
func (c *client) sequence() int {
	c.t.Helper()
	var s suggestion
	c.post("/api/v1/campaigns/bench/suggest", "", http.StatusOK, &s)
	for started := false; !started; {
		var list struct{ Experiments []struct{ Status string } }
		c.get("/api/v1/campaigns/bench/experiments", &list)
		for _, x := range list.Experiments {
			started = started || x.Status == "started"
		}
	}
	var status struct{ Events int }
	c.get("/api/v1/campaigns/bench", &status)
	return status.Events
}

// Law: a list in pages is the whole list, each campaign once, in order.
func TestPages(t *testing.T) {
	c := serve(t)
	var want []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c.begin(strings.Replace(bench, "name: bench", "name: "+name, 1))
		want = append(want, name)
	}
	var got []string
	for cursor := ""; ; {
		var list struct {
			Campaigns []struct{ Campaign string }
			Next      string
		}
		c.get("/api/v1/campaigns?limit=2&cursor="+strings.ReplaceAll(cursor, "\x00", "%00"), &list)
		for _, l := range list.Campaigns {
			got = append(got, l.Campaign)
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("in pages of two: %v, want %v", got, want)
	}
}

// Law: a replay up to any position is the state after that event, which the end of the log agrees
// with; a position that is not there is said to be missing.
func TestReplay(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	last := c.sequence()
	type replayed struct {
		Position, Sequence int
		Digest             string
		State              struct{ Sequence int }
	}
	digests := make(map[string]bool)
	var then replayed
	for at := 1; at <= last; at++ { // a campaign alone in its store: position and sequence are the same
		c.get(fmt.Sprintf("/api/v1/campaigns/bench/replay?at=%d", at), &then)
		if then.Position != at || then.Sequence != at || then.State.Sequence != at || digests[then.Digest] {
			t.Fatalf("at %d: %+v", at, then)
		}
		digests[then.Digest] = true
	}
	var now replayed
	c.get("/api/v1/campaigns/bench/replay", &now)
	if now != then {
		t.Errorf("the end of the log is %+v, and its last position %+v", now, then)
	}
	path := fmt.Sprintf("/api/v1/campaigns/bench/replay?at=%d", last+1)
	if status, _, text := c.do("GET", path, "", ""); status != http.StatusNotFound {
		t.Errorf("a position that is not there: %d %s", status, text)
	}
}

// Law: what a client has already is not sent again; what has changed is.
func TestEntityTags(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	c.sequence()
	status, header, _ := c.do("GET", "/api/v1/campaigns/bench/definition", "", "")
	tag := header.Get("ETag")
	if status != http.StatusOK || tag == "" {
		t.Fatalf("%d, tag %q", status, tag)
	}
	if status, _, text := c.do("GET", "/api/v1/campaigns/bench/definition", "", "", "If-None-Match", tag); status != http.StatusNotModified || len(text) > 0 {
		t.Errorf("the same again: %d %s", status, text)
	}
	changed := strings.Replace(bench, "experiments: 3", "experiments: 4", 1)
	if status, _, text := c.do("PUT", "/api/v1/campaigns/bench/definition?reason=more", "application/yaml", changed); status != http.StatusOK {
		t.Fatalf("amend: %d %s", status, text)
	}
	if status, _, text := c.do("GET", "/api/v1/campaigns/bench/definition", "", "", "If-None-Match", tag); status != http.StatusOK || string(text) != changed {
		t.Errorf("after an amendment: %d %s", status, text)
	}
}

// Law: a stream of events holds every event once, in order, and goes on where it was cut off.
func TestFollow(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	c.sequence()
	_, _, text := c.do("GET", "/api/v1/campaigns/bench/events", "", "")
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) < 2 || !strings.Contains(lines[0], "campaign.defined") {
		t.Fatalf("the log: %s", text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", c.url+"/api/v1/campaigns/bench/events", nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", "1")
	answer := must.Get(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	c.post("/api/v1/campaigns/bench/note", `{"text": "hello"}`, http.StatusOK, nil)
	next := 2
	for scanner := bufio.NewScanner(answer.Body); scanner.Scan(); {
		line := scanner.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			if id != fmt.Sprint(next) {
				t.Fatalf("event %s follows event %d", id, next-1)
			}
			next++
		}
		if strings.HasPrefix(line, "data: ") && strings.Contains(line, "note.added") {
			return
		}
	}
	t.Error("the stream ended before the note")
}
