package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/console"
	"github.com/campaignd/campaignd/projections/campaign"
)

const space = `
parameters: [{name: x, min: 0, max: 1, unit: mol/kg}, {name: salt, categories: [A, B]}]
objective: {name: flow, unit: mL/s, goal: maximize}
`

// byHand is a campaign that people measure, with an expert and a policy.
func byHand(name, initial, policy string) string {
	return "name: " + name + space + "initial: " + initial + "\nbudget: {experiments: 8}\ninstrument: manual\n" +
		"experts: [{name: ada, terminal: {}}]\npolicy: " + policy + "\n"
}

// site is a console under test.
type site struct {
	t       *testing.T
	folder  string
	lab     *lab.Lab
	pages   *console.Console
	server  *httptest.Server
	visitor console.Visitor
	client  *http.Client
}

func open(t *testing.T, folder string, undo time.Duration, log ...func(string, ...any)) *site {
	t.Helper()
	return openIn(t, folder, "", undo, append(log, t.Logf)[0])
}

// openIn is open for a lab in a database, unless that is empty, whose pages log.
func openIn(t *testing.T, folder, database string, undo time.Duration, log func(string, ...any)) *site {
	t.Helper()
	s := &site{t: t, folder: folder, visitor: console.Visitor{Name: "ada", Notice: "a notice"}}
	var err error
	if s.lab, err = lab.Open(t.Context(), lab.Options{Folder: folder, Database: database, Registry: builtin.Registry(), Log: t.Logf}); err != nil {
		t.Fatal(err)
	}
	s.pages = console.New(console.Options{Lab: s.lab, Version: "test", Log: log, Undo: undo})
	handler := s.pages.Handler()
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitor := s.visitor
		if name := r.Header.Get("Visitor"); name != "" {
			visitor.Name = name
		}
		handler.ServeHTTP(w, r.WithContext(console.WithVisitor(r.Context(), visitor)))
	}))
	s.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s
}

// close ends the server as a kill would: nothing is finished.
func (s *site) close() {
	s.server.CloseClientConnections()
	s.server.Close()
	s.pages.Close()
	s.lab.Close()
}

func serve(t *testing.T, undo time.Duration) *site {
	t.Helper()
	private(t)
	s := open(t, t.TempDir(), undo)
	t.Cleanup(func() { s.close() })
	return s
}

func private(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
}

func (s *site) do(r *http.Request) (int, http.Header, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	answer := must.Get(s.client.Do(r.WithContext(ctx)))(s.t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(s.t)
	return answer.StatusCode, answer.Header, string(text)
}

func (s *site) get(path string) (int, string) {
	s.t.Helper()
	r := must.Get(http.NewRequest(http.MethodGet, s.server.URL+path, nil))(s.t)
	status, _, text := s.do(r)
	return status, text
}

func (s *site) post(path string, form url.Values) (int, string, string) {
	s.t.Helper()
	r := must.Get(http.NewRequest(http.MethodPost, s.server.URL+path, strings.NewReader(form.Encode())))(s.t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, header, text := s.do(r)
	return status, header.Get("Location"), text
}

// sent posts a form that must be taken.
func (s *site) sent(path string, form url.Values) string {
	s.t.Helper()
	status, location, text := s.post(path, form)
	if status != http.StatusSeeOther {
		s.t.Fatalf("%s %v: %d %s", path, form, status, text)
	}
	return location
}

func (s *site) begin(source string) *lab.Campaign {
	s.t.Helper()
	location := s.sent("/new", url.Values{"source": {source}})
	name, _ := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(location, "/campaigns/"), "?said=begun"))
	c := must.Get(s.lab.Campaign(name))(s.t)
	return c
}

// until waits until something holds of a campaign's state.
func (s *site) until(c *lab.Campaign, what string, holds func(*campaign.State) bool) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		changed := s.lab.Changed()
		held := false
		c.Read(func(core *engine.Core) { held = holds(core.State()) })
		if held {
			return
		}
		select {
		case <-changed:
		case <-time.After(time.Until(deadline)):
			s.t.Fatalf("%s: never %s", c.Name(), what)
		}
	}
}

// asked drives a campaign, telling results by the form, until a question of a form is open.
func (s *site) asked(c *lab.Campaign, form events.Form) campaign.Question {
	s.t.Helper()
	var found *campaign.Question
	for told := 0; found == nil && told < 9; told++ {
		open := ""
		s.until(c, "asks or measures", func(st *campaign.State) bool {
			for _, q := range st.Questions {
				if q.Status == campaign.Asked && q.Form == form {
					copied := q
					found = &copied
					return true
				}
			}
			for _, x := range st.Experiments {
				if x.Status.Open() {
					open = x.ID
					return true
				}
			}
			return false
		})
		if found == nil {
			s.sent("/campaigns/"+c.Name()+"/tell", url.Values{"experiment": {open}, "outcome": {"measured"}, "value": {fmt.Sprint(told % 3)}, "missing.v": {"no device"}})
			s.until(c, "has the result", func(st *campaign.State) bool { return !st.Experiment(open).Status.Open() })
		}
	}
	if found == nil {
		s.t.Fatalf("%s never asks for a %s", c.Name(), form)
	}
	return *found
}

// events reads a campaign's events of a kind.
func (s *site) events(c *lab.Campaign, kind events.Kind) (all []events.Event) {
	s.t.Helper()
	log := must.Get(c.Log())(s.t)
	for e, err := range events.ReadCampaign(s.t.Context(), log, c.Name(), 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// hidden are the hidden fields of the first form of a page that is sent to a path.
func (s *site) hidden(page, action string) url.Values {
	s.t.Helper()
	root := must.Get(html.Parse(strings.NewReader(page)))(s.t)
	values := url.Values{}
	for form := range root.Descendants() {
		if form.Data != "form" || attribute(form, "action") != action {
			continue
		}
		for n := range form.Descendants() {
			if n.Data == "input" && attribute(n, "type") == "hidden" {
				values.Set(attribute(n, "name"), attribute(n, "value"))
			}
		}
		return values
	}
	s.t.Fatalf("no form is sent to %s in %s", action, page)
	return nil
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// answer answers a question through its page, and waits until it is recorded.
func (s *site) answer(c *lab.Campaign, q campaign.Question, form url.Values) events.QuestionAnswered {
	s.t.Helper()
	path := "/questions/" + c.Name() + "/" + q.ID
	status, page := s.get(path)
	if status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, status, page)
	}
	all := s.hidden(page, path)
	for k, v := range form {
		all[k] = v
	}
	s.sent(path, all)
	s.until(c, "has the answer", func(st *campaign.State) bool { return st.Question(q.ID).Status == campaign.Answered })
	for _, e := range s.events(c, events.KindQuestionAnswered) {
		payload := must.Get(events.Decode(e))(s.t)
		if p := payload.(*events.QuestionAnswered); p.Question == q.ID {
			if e.Actor != "person:ada" {
				s.t.Errorf("%s was answered by %s", q.ID, e.Actor)
			}
			return *p
		}
	}
	s.t.Fatal("no event holds the answer")
	return events.QuestionAnswered{}
}

// Law: what a person answers in any form on the page is what is recorded, in their name, as the
// form says, with what was shown beside it and how long it took; and so is the word on each
// experiment.
func TestAnswersOfEveryForm(t *testing.T) {
	s := serve(t, 20*time.Millisecond)
	for _, c := range []struct {
		name, initial, policy string
		form                  events.Form
		answer                url.Values
		want                  string
	}{
		{"label", "{experiments: 2, labels: 0}", "{trust: cobol}", events.FormLabel,
			url.Values{"answer": {"reject"}, "comment": {"too salty"}}, `{"label":"reject"}`},
		{"wont", "{experiments: 2, labels: 0}", "{trust: cobol}", events.FormLabel,
			url.Values{"answer": {"exclude"}}, `{"label":"reject"}`},
		{"unsure", "{experiments: 2, labels: 0}", "{trust: cobol}", events.FormLabel, url.Values{"answer": {"unsure"}}, `{}`},
		{"pair", "{experiments: 2}", "{trust: coexbo}", events.FormComparison,
			url.Values{"answer": {"B"}}, `{"order":[1,0]}`},
		{"ranking", "{experiments: 2}", "{trust: {cobol: {feedback: ranking, options: 4}}}", events.FormComparison,
			url.Values{"answer": {"own"}, "place.2": {"1"}, "place.0": {"2"}}, `{"order":[2,0]}`},
		{"point", "{experiments: 2}", "manual", events.FormPinpoint,
			url.Values{"answer": {"own"}, "p.x": {"0.25"}, "p.salt": {"B"}}, `{"point":{"salt":"B","x":0.25}}`},
		{"numbers", "{experiments: 2, estimates: 4}", "{trust: answers}", events.FormEstimate,
			url.Values{"answer": {"own"}, "v.0": {"1.5"}, "v.2": {"-3"}}, `{"estimates":[{"option":0,"value":1.5},{"option":2,"value":-3}]}`},
		{"marks", "{experiments: 2, estimates: 4, marks: true}", "{trust: answers}", events.FormEstimate,
			url.Values{"answer": {"own"}, "v.1": {"5"}}, `{"estimates":[{"option":1,"value":5}]}`},
		{"columns", "{experiments: 2, estimates: 4}", "{trust: answers}\nquantities: [{name: v, unit: s}]\nconstraints_on_outcomes: [v <= 3]", events.FormEstimate,
			url.Values{"answer": {"own"}, "v.0.v": {"1.5"}, "v.1.v": {""}, "v.2.v": {"2"}},
			`{"estimates":[{"option":0,"value":1.5,"quantity":"v"},{"option":2,"value":2,"quantity":"v"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := *s
			s.t = t
			text := byHand(c.name, c.initial, c.policy)
			if c.name == "columns" {
				text = strings.Replace(text, "{name: ada,", "{name: ada, quantities: [v],", 1)
			}
			of := s.begin(text)
			q := s.asked(of, c.form)
			if _, page := s.get("/questions/" + of.Name() + "/" + q.ID); !strings.Contains(page, "recorded under your name, ada, with the time") {
				t.Error("the form does not say what sending it means")
			}
			answered := s.answer(of, q, c.answer)
			got, _ := json.Marshal(answered.Answer)
			if string(got) != c.want || answered.Comment != c.answer.Get("comment") {
				t.Errorf("%v was recorded as %s, %q; want %s", c.answer, got, answered.Comment, c.want)
			}
			if answered.Shown == nil || answered.Shown.At == 0 || answered.Took < 0 || answered.Took > 60 {
				t.Errorf("shown %+v, took %v s", answered.Shown, answered.Took)
			}
			if excluded := len(s.events(of, events.KindRegionExcluded)); (excluded == 1) != (c.name == "wont") {
				t.Errorf("%d exclusions", excluded)
			}
			if status, page := s.get("/questions/" + of.Name() + "/" + q.ID); status != http.StatusOK || !strings.Contains(page, "Answered.") {
				t.Errorf("the page of an answered question: %d", status)
			}
		})
	}
}

// as sends what follows as somebody else.
func (s *site) as(name string) *site {
	other := *s
	other.client = &http.Client{CheckRedirect: s.client.CheckRedirect, Transport: named(name)}
	return &other
}

// named sends requests in somebody's name.
type named string

func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Visitor", string(n))
	return http.DefaultTransport.RoundTrip(r)
}

// Law: of two people who answer the same question at once, in whatever order, one answer counts,
// the log holds both, neither meets a dead end, each is told what became of theirs until they
// put it away, and whoever sees both can have theirs count.
func TestTwoExperts(t *testing.T) {
	s := serve(t, time.Millisecond)
	ada, bob := s, s.as("bob")
	c := s.begin(byHand("bench", "{experiments: 2, labels: 0}", "{trust: cobol}"))
	q := s.asked(c, events.FormLabel)
	path := "/questions/bench/" + q.ID
	forms := make(map[*site]url.Values)
	for _, who := range []*site{ada, bob} {
		_, page := who.get(path)
		forms[who] = who.hidden(page, path)
		forms[who].Set("opened", fmt.Sprint(time.Now().Add(-3*time.Second).UnixMilli()))
	}
	forms[ada].Set("answer", "accept")
	forms[bob].Set("answer", "reject")
	var both sync.WaitGroup
	for who, form := range forms {
		both.Go(func() { who.sent(path, form) })
	}
	both.Wait()
	s.until(c, "has both answers", func(st *campaign.State) bool { return len(st.Question(q.ID).Aside) == 1 })
	answered, contested := s.events(c, events.KindQuestionAnswered), s.events(c, events.KindQuestionContested)
	if len(answered) != 1 || len(contested) != 1 || len(s.events(c, events.KindQuestionSuperseded)) != 0 {
		t.Fatalf("%d answers, %d beside", len(answered), len(contested))
	}
	payload := must.Get(events.Decode(contested[0]))(t)
	if p := payload.(*events.QuestionContested); p.Counts != answered[0].ID || p.Took < 3 || p.Shown == nil {
		t.Errorf("beside %s stands %+v", answered[0].ID, p)
	}
	first, second := ada, bob
	says := map[*site]string{ada: "accept", bob: "reject"}
	if answered[0].Actor == "person:bob" {
		first, second = bob, ada
	}
	if answered[0].Actor == contested[0].Actor {
		t.Fatalf("both are %s's", answered[0].Actor)
	}
	name := func(who *site) string {
		if who == bob {
			return "bob"
		}
		return "ada"
	}
	told := func(who *site, wants ...string) string {
		t.Helper()
		_, page := who.get("/campaigns")
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s is not told %q", name(who), want)
			}
		}
		return page
	}
	told(first, name(second)+" has answered", says[second], "Yours counts: "+says[first])
	told(second, name(first)+" answered", "first, and that counts", says[first], "Yours, "+says[second])
	// Who was second sees both, and has theirs count; it is recorded what they saw, and how long it took.
	_, page := second.get(path)
	if !strings.Contains(page, "Given by "+name(first)) || !strings.Contains(page, name(second)+": "+says[second]) {
		t.Errorf("the page of the question shows not both: %s", page)
	}
	form := second.hidden(page, path)
	form.Set("answer", says[second])
	form.Set("opened", fmt.Sprint(time.Now().Add(-2*time.Second).UnixMilli()))
	second.sent(path, form)
	s.until(c, "has the change", func(st *campaign.State) bool { return len(st.Question(q.ID).Aside) == 2 })
	changes := s.events(c, events.KindQuestionSuperseded)
	payload = must.Get(events.Decode(changes[0]))(t)
	if p := payload.(*events.QuestionSuperseded); string(p.Answer.Label) != says[second] || p.Took < 2 || p.Shown == nil || p.Shown.At == 0 {
		t.Errorf("the change is recorded as %+v", p)
	}
	page = told(first, name(second)+" has changed the answer", says[second]+" counts now")
	if _, calm := second.get("/campaigns"); strings.Contains(calm, `name="news"`) {
		t.Error("whose answer counts is told of what they did themselves")
	}
	first.sent(path+"/dismiss", first.hidden(page, path+"/dismiss"))
	if _, calm := first.get("/campaigns"); strings.Contains(calm, `name="news"`) {
		t.Error("it was put away, and is told again")
	}
	// A page that was open meanwhile is not a dead end, either: its answer is kept.
	eve := s.as("eve")
	stale := maps.Clone(forms[ada])
	stale.Set("answer", "unsure")
	if to := eve.sent(path, stale); to != path+"?said=beside" {
		t.Errorf("she is sent to %s", to)
	}
	s.until(c, "keeps hers", func(st *campaign.State) bool { return len(st.Question(q.ID).Aside) == 3 })
	c.Read(func(core *engine.Core) {
		if q := core.State().Question(q.ID); string(q.Answer.Label) != says[second] {
			t.Errorf("now %v counts", q.Answer)
		}
	})
}

// Law: an answer that is refused changes nothing, says why, and what was typed stays.
func TestRefusedAnswers(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 2, estimates: 4}", "{trust: answers}"))
	q := s.asked(c, events.FormEstimate)
	path := "/questions/bench/" + q.ID
	_, page := s.get(path)
	form := s.hidden(page, path)
	form.Set("answer", "own")
	form.Set("v.0", "eleven")
	form.Set("v.1", "7.25")
	form.Set("comment", "from memory")
	status, _, text := s.post(path, form)
	for _, want := range []string{"eleven", `value="7.25"`, "from memory", "Row 1"} {
		if status < 400 || !strings.Contains(text, want) {
			t.Errorf("%d, without %q: %s", status, want, text)
		}
	}
	form.Set("v.0", "11")
	form.Set("source", "somebody-else-answered")
	if status, _, text := s.post(path, form); status != http.StatusConflict {
		t.Errorf("an answer over one that was not seen: %d %s", status, text)
	}
	if n := len(s.events(c, events.KindQuestionAnswered)); n > 0 {
		t.Errorf("refused, and %d answers are recorded", n)
	}
}

// Law: an answer that its page has sent is recorded when the next page is there, which says so, also
// where its sender has gone meanwhile, as a page that is closed has; a page says how long it holds one.
func TestAnswersAreRecordedAtOnce(t *testing.T) {
	s := serve(t, 90*time.Second)
	c := s.begin(byHand("bench", "{experiments: 2, labels: 3}", "{trust: cobol}"))
	s.until(c, "has asked all", func(st *campaign.State) bool { return len(st.Questions) == 3 })
	form := func(id string) (string, url.Values) {
		path := "/questions/bench/" + id
		_, page := s.get(path)
		if !strings.Contains(page, `data-undo="90"`) {
			t.Errorf("%s does not say for how long an answer is held", path)
		}
		form := s.hidden(page, path)
		form.Set("answer", "accept")
		return path, form
	}
	if to := s.sent(form("q1")); to != "/questions?next&said=sent" {
		t.Errorf("they are sent to %s", to)
	}
	c.Read(func(core *engine.Core) {
		if q := core.State().Question("q1"); q.Status != campaign.Answered {
			t.Errorf("sent, and %s", q.Status)
		}
	})
	path, values := form("q2")
	gone, leave := context.WithCancel(console.WithVisitor(t.Context(), s.visitor))
	leave()
	r := httptest.NewRequestWithContext(gone, http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	s.pages.Handler().ServeHTTP(httptest.NewRecorder(), r)
	s.until(c, "has the answer of who has gone", func(st *campaign.State) bool { return st.Question("q2").Status == campaign.Answered })
}

// Law: an answer that a server of an earlier version has acknowledged and kept is recorded once, also
// where that server had just recorded it; one that was taken back is not, and of one that the campaign
// does not take, or that cannot be read, the operator's log says so.
func TestAnswersOfEarlierVersions(t *testing.T) {
	private(t)
	folder := t.TempDir()
	s := open(t, folder, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 2, labels: 3}", "{trust: cobol}"))
	s.until(c, "has asked all", func(st *campaign.State) bool { return len(st.Questions) == 3 })
	kept := func(question, more string) string {
		return `{"campaign": "bench", "instance": "` + instanceOf(c) + `", "question": "` + question + `", "name": "ada",
			"request": "` + question + `", "digest": "d", "reply": {"answer": {"label": "accept"}}, "words": "accept",
			"given": "2020-01-01T00:00:00Z", "due": "2020-01-01T00:00:06Z"` + more + `}`
	}
	s.close()
	answers := filepath.Join(folder, ".campaignd", "answers")
	must.Do(t, os.MkdirAll(answers, 0o700))
	for range 2 { // as it was before the server knew that it is recorded
		for name, text := range map[string]string{"waits.json": kept("q1", ""), "undone.json": kept("q2", `, "state": "undone"`),
			"none.json": kept("q9", ""), "broken.json": "{"} {
			must.Do(t, os.WriteFile(filepath.Join(answers, name), []byte(text), 0o600))
		}
		var said lines
		s = open(t, folder, time.Hour, said.add)
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			if left, _ := os.ReadDir(answers); len(left) == 1 && left[0].Name() == "broken.json" {
				break
			}
			if time.Since(began) > 20*time.Second {
				t.Fatal("answers of an earlier version are still kept")
			}
		}
		c := must.Get(s.lab.Campaign("bench"))(t)
		answered := s.events(c, events.KindQuestionAnswered)
		if len(answered) != 1 || answered[0].Actor != "person:ada" || !bytes.Contains(answered[0].Data, []byte(`"q1"`)) {
			t.Errorf("recorded are %+v", answered)
		}
		if n := len(s.events(c, events.KindQuestionContested)) + len(s.events(c, events.KindQuestionSuperseded)); n > 0 {
			t.Errorf("%d answers were recorded once more", n)
		}
		s.close()
		for _, want := range []string{"ask ada to answer q9 of bench again, which was \"accept\"", "broken.json: an answer that an earlier version kept cannot be read"} {
			if !strings.Contains(said.all(), want) {
				t.Errorf("the log does not say %q: %s", want, said.all())
			}
		}
	}
}

// lines are those that a server logs.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, fmt.Sprintf(format, args...))
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.text, "\n")
}

// Law: what is done by a form is recorded in the visitor's name; a form that lacks something is
// shown again with what was typed.
func TestForms(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: bench" + space + "initial: {experiments: 2}\nbudget: {experiments: 4}\ninstrument: manual\n")
	s.until(c, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	recorded := func(kind events.Kind) int { return len(s.events(c, kind)) }
	for _, f := range []struct {
		path string
		form url.Values
		kind events.Kind // that is recorded; empty: it is refused
		back string
	}{
		{"tell", url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "value": {"2,500"}}, "", `value="2,500"`},
		{"tell", url.Values{"experiment": {"e1"}, "outcome": {"failed"}}, "", "why there is no result"},
		{"tell", url.Values{"experiment": {"e99"}, "outcome": {"measured"}, "value": {"1"}}, "", "e99"},
		{"tell", url.Values{"own.x": {"much"}, "own.salt": {"C"}, "value": {"1"}}, "", "x: &#34;much&#34; is not a number; salt: &#34;C&#34; is none of A, B."},
		{"tell", url.Values{"own.x": {"much"}, "value": {"1"}}, "", "is not a number; salt is missing."},
		{"tell", url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "value": {"2,5"}, "actual.x": {"0,5"}}, events.KindExperimentMeasured, ""},
		{"correct", url.Values{"experiment": {"e1"}, "how": {"measured"}, "value": {"3"}}, "", "needs a reason"},
		{"correct", url.Values{"experiment": {"e1"}, "how": {"measured"}, "value": {"3"}, "reason": {"a typo"}}, events.KindMeasurementCorrected, ""},
		{"resolve", url.Values{"experiment": {"e1"}, "resolution": {"failed"}}, "", "nly an experiment whose fate is unknown"},
		{"note", url.Values{"text": {"the bottle was new"}, "about": {"e1"}}, events.KindNoteAdded, ""},
		{"note", url.Values{"text": {"what I typed"}, "about": {"e77"}}, "", "what I typed"},
		{"exclude", url.Values{"about": {"e1"}, "reason": {"it freezes"}}, events.KindRegionExcluded, ""},
		{"allow", url.Values{"exclusion": {events.ExclusionID(1)}}, events.KindRegionAllowed, ""},
		{"pause", url.Values{"reason": {"lunch"}}, events.KindCampaignPaused, ""},
		{"pause", nil, "", "paused already"},
		{"resume", nil, events.KindCampaignResumed, ""},
		{"definition", url.Values{"source": {"name: bench\nbudget: {experiments: 0}\n"}, "reason": {"more"}}, "", "faults"},
		{"stop", url.Values{"name": {"another"}}, "", "type its name"},
		{"stop", url.Values{"name": {"bench"}, "reason": {"enough"}}, events.KindCampaignStopped, ""},
	} {
		before := recorded(f.kind)
		status, _, text := s.post("/campaigns/bench/"+f.path, f.form)
		switch {
		case f.kind == "" && (status < 400 || !strings.Contains(text, f.back)):
			t.Errorf("%s %v: %d, without %q: %s", f.path, f.form, status, f.back, text)
		case f.kind != "" && (status != http.StatusSeeOther || recorded(f.kind) != before+1):
			t.Errorf("%s %v: %d, %d events of %s more: %s", f.path, f.form, status, recorded(f.kind)-before, f.kind, text)
		}
	}
	for _, kind := range []events.Kind{events.KindNoteAdded, events.KindCampaignStopped} {
		if e := s.events(c, kind); e[0].Actor != "person:ada" {
			t.Errorf("%s by %s", kind, e[0].Actor)
		}
	}
}

// Law: whoever may not do something is refused before anything happens, and sees no campaign
// that they may not see.
func TestPermissions(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 2, labels: 0}", "{trust: cobol}"))
	q := s.asked(c, events.FormLabel)
	before := c.Sequence()
	may := map[string]bool{console.See: true}
	s.visitor.May = func(permission, _ string) error {
		if may[permission] {
			return nil
		}
		return problem.New(problem.NotPossible, "you may not %s here", permission)
	}
	for _, path := range []string{"pause", "stop", "run", "halt", "note", "exclude", "allow", "resolve", "correct", "tell", "definition", "bring", "region"} {
		if status, _, text := s.post("/campaigns/bench/"+path, url.Values{"name": {"bench"}}); status < 400 || !strings.Contains(text, "may not") {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _, _ := s.post("/questions/bench/"+q.ID, url.Values{"answer": {"accept"}}); status < 400 {
		t.Errorf("answer: %d", status)
	}
	if status, _, _ := s.post("/new", url.Values{"source": {byHand("other", "{experiments: 2}", "logei")}}); status < 400 {
		t.Errorf("begin: %d", status)
	}
	if c.Sequence() != before {
		t.Errorf("%d events became %d", before, c.Sequence())
	}
	may[console.See] = false
	for _, path := range []string{"/campaigns/bench", "/campaigns/bench/log", "/campaigns/bench/export.csv", "/campaigns/bench/export.jsonl", "/campaigns/bench/bring", "/campaigns/bench/region", "/questions/bench/" + q.ID} {
		if status, text := s.get(path); status != http.StatusNotFound || strings.Contains(text, "salt") {
			t.Errorf("%s: %d", path, status)
		}
	}
	if _, text := s.get("/campaigns"); strings.Contains(text, "/campaigns/bench") {
		t.Error("the list shows it")
	}
}

// Law: a form of another site is refused.
func TestForeignForms(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 2}", "logei"))
	for _, headers := range []map[string]string{{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}} {
		r, _ := http.NewRequest(http.MethodPost, s.server.URL+"/campaigns/bench/pause", nil)
		for k, v := range headers {
			r.Header.Set(k, v)
		}
		if status, _, _ := s.do(r); status != http.StatusForbidden {
			t.Errorf("%v: %d", headers, status)
		}
	}
	if n := len(s.events(c, events.KindCampaignPaused)); n > 0 {
		t.Error("another site paused the campaign")
	}
}

// crawl visits every page that links lead to, from the list on, and checks each.
func (s *site) crawl(check func(path, page string, root *html.Node)) int {
	s.t.Helper()
	queue := []string{"/", "/questions"}
	seen := map[string]bool{}
	for len(queue) > 0 && len(seen) < 400 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		status, page := s.get(path)
		if status >= 300 && status != http.StatusSeeOther {
			s.t.Errorf("%s: %d", path, status)
			continue
		}
		if strings.HasPrefix(path, "/static/") || strings.Contains(path, "/export.") || strings.Contains(path, "/proofs/") {
			continue
		}
		root := must.Get(html.Parse(strings.NewReader(page)))(s.t)
		check(path, page, root)
		base, _ := url.Parse(path)
		ids := map[string]bool{}
		for n := range root.Descendants() {
			if attribute(n, "style") != "" || n.Data == "style" {
				s.t.Errorf("%s: inline style at <%s>, which the Content-Security-Policy forbids", path, n.Data)
			}
			if id := attribute(n, "id"); id != "" {
				if ids[id] {
					s.t.Errorf("%s: two elements are called %q", path, id)
				}
				ids[id] = true
			}
		}
		for n := range root.Descendants() {
			target := ""
			switch n.Data {
			case "a", "link":
				target = attribute(n, "href")
			case "script":
				target = attribute(n, "src")
			case "label":
				if of := attribute(n, "for"); of != "" && !ids[of] {
					s.t.Errorf("%s: a label for %q, which is not there", path, of)
				}
			}
			if target == "" || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "/api/") {
				continue
			}
			to, err := base.Parse(target)
			if err == nil && to.Scheme == "https" && n.Data == "a" && strings.HasPrefix(path, "/docs/") {
				continue // the documentation names its sources
			}
			if err != nil || to.Host != "" {
				s.t.Errorf("%s leads to %q", path, target)
				continue
			}
			to.Fragment = ""
			queue = append(queue, to.String())
		}
	}
	return len(seen)
}

const electrolyte = `
name: done
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
objective: {name: conductivity, unit: mS/cm, goal: maximize, noise: 0.27}
initial: {experiments: 3}
policy: coexbo
budget: {experiments: 6}
instrument: {simulated: {task: electrolyte, noise: 0.27}}
experts: [{name: bob, simulated: {accuracy: 2}}]
`

// lose begins a campaign of whose first experiment nobody knows what became.
func (s *site) lose(name string, more ...events.Payload) *lab.Campaign {
	s.t.Helper()
	c := s.begin("name: " + name + space + "initial: {experiments: 2}\nbudget: {experiments: 4}\ninstrument: manual\n")
	s.until(c, "measures", func(st *campaign.State) bool {
		return len(st.Experiments) > 0 && st.Experiments[0].Status != campaign.Requested
	})
	s.sent("/campaigns/"+name+"/halt", nil)
	var first campaign.Experiment
	c.Read(func(core *engine.Core) { first = core.State().Experiments[0] })
	s.close()
	log := must.Get(store.Open(filepath.Join(s.folder, name+store.Ending), store.Options{}))(s.t)
	payload := &events.ExperimentUnresolved{Experiment: "e1", Command: first.Command.ID, Instrument: "bench", Cause: "the power went out"}
	for _, payload := range append([]events.Payload{payload}, more...) {
		lost := must.Get(events.New(name, payload))(s.t)
		lost.Time, lost.Actor = time.Now(), "engine"
		must.Get(log.Append(s.t.Context(), name, events.AnySequence, lost))(s.t)
	}
	must.Do(s.t, log.Close())
	*s = *reopened(s)
	c = must.Get(s.lab.Campaign(name))(s.t)
	return c
}

// Law: who settles what became of one experiment is offered the others of which nobody knows
// either, and settles them in one act.
func TestOthersAreSettledToo(t *testing.T) {
	s := serve(t, time.Hour)
	plate := s.lose("plate",
		&events.ExperimentRequested{
			Experiment: "e2", Origin: events.OriginInitial, Replicate: 1,
			Parameters: definition.Point{"x": definition.Number(1), "salt": definition.Category("A")},
		},
		&events.ExperimentDispatched{Experiment: "e2", Command: "plate/e2", Instrument: "bench"},
		&events.ExperimentUnresolved{Experiment: "e2", Command: "plate/e2", Instrument: "bench", Cause: "the power went out"},
	)
	if _, page := s.get("/campaigns/plate/experiments/e1"); !strings.Contains(page, `name="also" value="e2"`) {
		t.Errorf("the other one is not offered: %s", page)
	}
	s.sent("/campaigns/plate/resolve", url.Values{
		"experiment": {"e1"}, "also": {"e2"}, "resolution": {"failed"}, "value": {""}, "reason": {"the plate fell"},
	})
	s.until(plate, "is settled", func(st *campaign.State) bool {
		return st.Experiment("e1").Status == campaign.Failed && st.Experiment("e2").Status == campaign.Failed
	})
}

// reopened opens a site's folder again.
func reopened(s *site) *site { return open(s.t, s.folder, time.Hour) }

// Law: every page answers in every state of a campaign, and every link leads to a page.
func TestEveryPageOfEveryState(t *testing.T) {
	s := serve(t, time.Hour)
	s.begin(byHand("new", "{experiments: 2}", "logei"))
	s.asked(s.begin(byHand("asks", "{experiments: 2}", "{trust: coexbo}")), events.FormComparison)
	s.asked(s.begin(byHand("names", "{experiments: 2}", "manual")), events.FormPinpoint)
	s.asked(s.begin(byHand("expects", "{experiments: 2, estimates: 3}", "{trust: answers}")), events.FormEstimate)
	s.begin("name: duels" + strings.Replace(space, ", unit: mL/s", "", 1) + "policy: eubo\nbudget: {comparisons: 12}\nexperts: [{name: ada, terminal: {}}]\n")
	s.begin(byHand("paused", "{experiments: 2}", "logei"))
	s.sent("/campaigns/paused/pause", nil)
	s.begin(byHand("halted", "{experiments: 2}", "logei"))
	s.sent("/campaigns/halted/halt", nil)
	stopped := s.begin(byHand("stopped", "{experiments: 2, labels: 0}", "{trust: cobol}"))
	s.asked(stopped, events.FormLabel)
	s.sent("/campaigns/stopped/stop", url.Values{"name": {"stopped"}})
	done := s.begin(electrolyte)
	s.until(done, "ends", func(st *campaign.State) bool { return st.Status == campaign.Completed })
	lost := s.lose("lost")
	status, page := s.get("/campaigns/lost")
	if status != http.StatusOK || !strings.Contains(page, "The fate of e1 is unknown") || !strings.Contains(page, `href="/campaigns/lost/experiments/e1"`) {
		t.Errorf("of one whose fate is unknown: %d %s", status, page)
	}
	pages := s.crawl(func(path, page string, root *html.Node) {
		if !strings.Contains(page, "</html>") {
			t.Errorf("%s is not whole", path)
		}
	})
	if pages < 100 {
		t.Errorf("only %d pages", pages)
	}
	s.sent("/campaigns/lost/resolve", url.Values{"experiment": {"e1"}, "resolution": {"measured"}, "value": {"4.5"}, "reason": {"the screen said so"}})
	s.until(lost, "is settled", func(st *campaign.State) bool { return st.Experiment("e1").Status == campaign.Measured })
	for _, path := range []string{"/nowhere", "/campaigns/nobody", "/campaigns/new/experiments/e99", "/campaigns/new/decisions/d99", "/questions/new/q9", "/static/", "/campaigns/..%2f..%2fetc"} {
		if status, _ := s.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// hostile is text that a person or an instrument can set.
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>` + "\u202e\u0007" + `{{.}} javascript:alert(3)`

// Law: no text that somebody can set becomes markup or script of a page, and none that would
// reorder or hide what is written is written as it is.
func TestHostileTexts(t *testing.T) {
	s := serve(t, time.Hour)
	yaml, _ := json.Marshal(strings.ReplaceAll(hostile, "\u202e\u0007", ""))
	source := strings.NewReplacer("unit: mol/kg", "unit: '<b>mol'", "categories: [A, B]", `categories: ["<i>A", "\"B"]`).
		Replace(byHand("bench", "{experiments: 2}", "{trust: coexbo}")) + "description: " + string(yaml) + "\n"
	c := s.begin(source)
	text := strings.ReplaceAll(hostile, "\u202e\u0007", "")
	s.sent("/campaigns/bench/note", url.Values{"text": {text}})
	s.until(c, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	s.sent("/campaigns/bench/tell", url.Values{"experiment": {"e1"}, "outcome": {"failed"}, "why": {text}})
	s.sent("/campaigns/bench/exclude", url.Values{"about": {"e1"}, "reason": {text}})
	s.asked(c, events.FormComparison)
	check := func(path, page string, root *html.Node) {
		if strings.ContainsAny(page, "\u202e\u0007") {
			t.Errorf("%s: what reorders or rings is written as it is", path)
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "script" && !strings.HasPrefix(attribute(n, "src"), "/static/") || n.Data == "script" && n.FirstChild != nil {
				t.Errorf("%s: a script that is not ours", path)
			}
			if slices.Contains([]string{"img", "iframe", "object", "embed", "style", "base", "i"}, n.Data) {
				t.Errorf("%s: <%s>", path, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(strings.TrimSpace(a.Val), "javascript:") {
					t.Errorf("%s: <%s %s=%q>", path, n.Data, a.Key, a.Val)
				}
			}
		}
	}
	if pages := s.crawl(check); pages < 12 {
		t.Errorf("only %d pages", pages)
	}
	_, log := s.get("/campaigns/bench/log")
	if !strings.Contains(log, "&lt;script&gt;alert(1)") {
		t.Errorf("the note is not in the log: %s", log)
	}
	for _, path := range []string{"/campaigns?q=" + url.QueryEscape(hostile), "/campaigns/bench/log?q=" + url.QueryEscape(hostile),
		"/campaigns/" + url.PathEscape(hostile), "/questions?said=" + url.QueryEscape(hostile), "/campaigns/bench/results?batch=" + url.QueryEscape(hostile)} {
		_, page := s.get(path)
		root, _ := html.Parse(strings.NewReader(page))
		check(path, page, root)
	}
	for _, f := range []struct{ path, field string }{{"/campaigns/bench/note", "text"}, {"/new", "source"}, {"/campaigns/bench/definition", "source"}, {"/campaigns/bench/tell", "value"}} {
		_, _, page := s.post(f.path, url.Values{f.field: {hostile}, "about": {hostile}, "experiment": {"e1"}})
		root, _ := html.Parse(strings.NewReader(page))
		check(f.path, page, root)
	}
}

// Law: the page of a campaign as it was shows what the log held then, and says that it is past.
func TestHistory(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: bench" + space + "initial: {experiments: 3}\nbudget: {experiments: 6}\ninstrument: manual\n")
	for i := range 4 {
		id := fmt.Sprintf("e%d", i+1)
		s.until(c, "measures "+id, func(st *campaign.State) bool { return st.Experiment(id) != nil })
		s.sent("/campaigns/bench/tell", url.Values{"experiment": {id}, "outcome": {"measured"}, "value": {fmt.Sprint(10 + i)}})
	}
	_, then := s.get("/campaigns/bench?at=2")
	if !strings.Contains(then, "As it was at experiment 2") || strings.Contains(then, "/experiments/e3") || !strings.Contains(then, "/experiments/e2") {
		t.Errorf("as it was: %s", then)
	}
	if strings.Contains(then, "13") && strings.Contains(then, ">13<") {
		t.Error("the past holds a value of the future")
	}
	if strings.Contains(then, `action="/campaigns/bench/pause"`) {
		t.Error("the past can be paused")
	}
}

// Law: a page that listens is told which campaign has changed.
func TestLive(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 2}", "logei"))
	s.until(c, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+"/live", nil)
	answer := must.Get(s.client.Do(r))(t)
	defer answer.Body.Close()
	var got bytes.Buffer
	buffer := make([]byte, 1<<10)
	for !strings.Contains(got.String(), "event: changed\ndata: bench\n\n") {
		if strings.Contains(got.String(), "retry") && len(s.events(c, events.KindNoteAdded)) < 5 {
			s.sent("/campaigns/bench/note", url.Values{"text": {"hello"}})
		}
		n, err := answer.Body.Read(buffer)
		got.Write(buffer[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
	}
}

// BenchmarkList is the list of 500 campaigns of one store, with six experiments each.
func BenchmarkList(b *testing.B) {
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	b.Setenv(lock.Variable, b.TempDir())
	folder := b.TempDir()
	l := must.Get(lab.Open(b.Context(), lab.Options{Folder: folder, Registry: builtin.Registry()}))(b)
	file := must.Get(l.Parse(b.Context(), "file", []byte(electrolyte)))(b)
	c, err := l.Define(b.Context(), file, engine.Request{Actor: "person:ada"})
	for err == nil && !c.Standing().Status.Ended() {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		b.Fatal(err)
	}
	log := must.Get(c.Log())(b)
	var all []events.Event
	for e, err := range events.ReadCampaign(b.Context(), log, "done", 0) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, e)
	}
	l.Close()
	many := must.Get(store.Open(filepath.Join(folder, "many"+store.Ending), store.Options{}))(b)
	for n := range 500 {
		name := fmt.Sprintf("campaign-%03d", n)
		var batch []events.Event
		for _, e := range all {
			payload := must.Get(events.Decode(e))(b)
			if defined, ok := payload.(*events.CampaignDefined); ok {
				defined.Definition.Name = name
			}
			renamed := must.Get(events.New(name, payload))(b)
			renamed.Time, renamed.Actor, renamed.Simulated = e.Time, e.Actor, e.Simulated
			batch = append(batch, renamed)
		}
		must.Get(many.Append(b.Context(), name, 0, batch...))(b)
	}
	must.Do(b, many.Close())
	if l, err = lab.Open(b.Context(), lab.Options{Folder: folder, Registry: builtin.Registry(), Log: b.Logf}); err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	pages := console.New(console.Options{Lab: l})
	defer pages.Close()
	handler := pages.Handler()
	for b.Loop() {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/campaigns", nil)
		handler.ServeHTTP(w, r.WithContext(console.WithVisitor(r.Context(), console.Visitor{Name: "ada"})))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "campaign-001") {
			b.Fatal(w.Code, w.Body)
		}
	}
}
