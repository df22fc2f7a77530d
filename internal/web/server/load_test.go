package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// loadCampaigns are the kinds of campaigns under load: one whose expert compares before each
// experiment, one of comparisons alone, and one whose expert labels, which asks less and less.
// An instrument that is simulated answers at once.
var loadCampaigns = []string{`
initial: {experiments: 3, comparisons: 30}
policy: coexbo
budget: {experiments: 5000}
instrument: {simulated: {task: electrolyte, noise: 0.27}}
`, `
policy: mr-lpf
budget: {comparisons: 5000}
`, `
initial: {experiments: 3, labels: 10}
policy: {next: {lcb: {beta: 2}}, trust: cobol, handover: width}
budget: {experiments: 5000}
instrument: {simulated: {task: electrolyte, noise: 0.27}}
`}

const loadSpace = `
objective: {name: conductivity, unit: mS/cm, goal: maximize}
experts: [{name: ada, web: {}}]
parameters:
`

// The policy of the second kind chooses among compositions that are listed.
var loadParameters = []string{
	loadContinuous,
	"  - {name: lipf6, unit: mol/kg, values: [0.8, 1.1, 1.4, 1.7]}\n  - {name: ec, unit: kg/kg, values: [0.30, 0.37, 0.44, 0.51]}\n  - {name: dmc, values: [0, 0.5, 1]}\n",
	loadContinuous,
}

const loadContinuous = "  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}\n  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}\n  - {name: dmc, min: 0, max: 1}\n"

// loaded is a server under load.
type loaded struct {
	t      testing.TB
	url    string
	token  string // of a script that answers
	client *http.Client
	names  []string
	people int
	folder string
	stop   func() // the server and the lab

	ready chan asked

	mu       sync.Mutex
	answers  []time.Duration // by the API
	forms    []time.Duration // by the page
	pages    []time.Duration
	looking  int // streams of pages that are open
	told     int
	accepted []acknowledged
	given    []asked // what was answered over the API
}

// asked is a question that waits.
type asked struct {
	Campaign string
	Question string `json:"question"`
	Form     string `json:"form"`
	said     string // what was answered before
}

// acknowledged is an answer of which the server has said that it is recorded.
type acknowledged struct{ campaign, comment string }

// perPerson is how many consoles a person has open.
const perPerson = 10

func startLoad(t testing.TB, campaigns, consoles int) *loaded {
	t.Helper()
	g := &loaded{
		t: t, folder: t.TempDir(), ready: make(chan asked, 10_000), people: (consoles + perPerson - 1) / perPerson,
		client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 2000},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	book, err := accounts.Open(accounts.Dir(g.folder), accounts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	root := accounts.SystemIdentity("root")
	add := func(name string, role accounts.Role) {
		must.Get(book.Add(t.Context(), root, accounts.NewAccount{
			Name: name, Grants: []accounts.Grant{{Role: role}}, Password: accounts.NewSecret(password),
		}))(t)
	}
	add("admin", accounts.Admin)
	for i := range g.people {
		add(fmt.Sprintf("person-%d", i), accounts.Scientist)
	}
	if g.token, _, err = book.CreateToken(t.Context(), root, "admin", accounts.NewToken{Name: "script", Scopes: accounts.Permissions()}); err != nil {
		t.Fatal(err)
	}
	l, err := lab.Open(t.Context(), lab.Options{Folder: g.folder, Own: book.Lab(), Registry: builtin.Registry()})
	if err != nil {
		t.Fatal(err)
	}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	g.url = "http://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := server.New(server.Options{Lab: l, Gate: gate.Options{Accounts: book}, Version: "test", Log: t.Logf})
	go func() { ended <- s.Serve(ctx, listener) }()
	g.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		l.Close()
		book.Close()
	})
	t.Cleanup(g.stop)
	for i := range campaigns {
		name := fmt.Sprintf("c%02d", i)
		kind := i % len(loadCampaigns)
		source := "name: " + name + loadSpace + loadParameters[kind] + loadCampaigns[kind]
		if status, text := g.send("POST", "/api/v1/campaigns", "application/yaml", source); status != http.StatusCreated {
			t.Fatalf("%d %s", status, text)
		}
		g.names = append(g.names, name)
	}
	return g
}

// send sends a request of the script.
func (g *loaded) send(method, path, contentType, body string) (int, []byte) {
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Error(err)
		return 0, nil
	}
	r.Header.Set("Authorization", "Bearer "+g.token)
	r.Header.Set("Content-Type", contentType)
	return g.do(r)
}

func (g *loaded) do(r *http.Request) (int, []byte) {
	answer, err := g.client.Do(r)
	if err != nil {
		if r.Context().Err() == nil {
			g.t.Error(err)
		}
		return 0, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil && r.Context().Err() == nil {
		g.t.Error(err)
	}
	return answer.StatusCode, text
}

// login returns the cookie of a new session.
func (g *loaded) login(person int) string {
	r, err := http.NewRequestWithContext(g.t.Context(), "POST", g.url+"/login", strings.NewReader(url.Values{
		"name": {fmt.Sprintf("person-%d", person)}, "password": {password}}.Encode()))
	if err != nil {
		g.t.Error(err)
		return ""
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := g.client.Do(r)
	if err != nil {
		g.t.Error(err)
		return ""
	}
	defer answer.Body.Close()
	for _, c := range answer.Cookies() {
		return c.Name + "=" + c.Value
	}
	g.t.Errorf("no session: %d", answer.StatusCode)
	return ""
}

// stream reads server-sent events until the context is done.
func (g *loaded) stream(ctx context.Context, path, header, value string, take func(event, data string)) {
	r, err := http.NewRequestWithContext(ctx, "GET", g.url+path, nil)
	if err != nil {
		g.t.Error(err)
		return
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set(header, value)
	answer, err := g.client.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			g.t.Error(err)
		}
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		g.t.Errorf("%s: %d", path, answer.StatusCode)
		return
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	event := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			take(event, data)
		}
	}
	if ctx.Err() == nil {
		g.t.Errorf("%s ended: %v", path, lines.Err())
	}
}

// hear puts the questions of a campaign among those that are ready, until the context is done.
func (g *loaded) hear(ctx context.Context, campaign string) {
	g.stream(ctx, "/api/v1/campaigns/"+campaign+"/events", "Authorization", "Bearer "+g.token, func(event, data string) {
		if event != string(events.KindQuestionAsked) {
			return
		}
		var e struct{ Data asked }
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			g.t.Errorf("%v in %s", err, data)
		}
		e.Data.Campaign = campaign
		g.ready <- e.Data
	})
}

// say is what is answered: anything, but not what was answered before.
func (q asked) say() string {
	words := []string{"A", "B"}
	if q.Form == string(events.FormLabel) {
		words = []string{"accept", "reject"}
	}
	word := words[rand.N(2)]
	if word == q.said {
		word = words[1-slices.Index(words, word)]
	}
	return word
}

// answer answers a question over the API.
func (g *loaded) answer(q asked, number int) {
	comment := fmt.Sprintf("number %d", number)
	q.said = q.say()
	body := fmt.Sprintf(`{"answer": %q, "comment": %q}`, q.said, comment)
	began := time.Now()
	status, text := g.send("POST", "/api/v1/questions/"+q.Campaign+"/"+q.Question, "application/json", body)
	took := time.Since(began)
	if status != http.StatusOK {
		g.t.Errorf("answer to %s of %s: %d %s", q.Question, q.Campaign, status, text)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers = append(g.answers, took)
	g.accepted = append(g.accepted, acknowledged{q.Campaign, comment})
	g.given = append(g.given, q)
}

// fill answers a question in the form of its page.
func (g *loaded) fill(q asked, number int, cookie string) {
	comment := fmt.Sprintf("number %d", number)
	form := url.Values{"answer": {q.say()}, "comment": {comment}}
	r, err := http.NewRequestWithContext(g.t.Context(), "POST", g.url+"/questions/"+q.Campaign+"/"+q.Question, strings.NewReader(form.Encode()))
	if err != nil {
		g.t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Cookie", cookie)
	began := time.Now()
	status, text := g.do(r)
	took := time.Since(began)
	if status != http.StatusSeeOther {
		g.t.Errorf("form of %s of %s: %d %s", q.Question, q.Campaign, status, text)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forms = append(g.forms, took)
	g.accepted = append(g.accepted, acknowledged{q.Campaign, comment})
}

// console is an open page that does what its script does: it hears what has changed, and asks
// for itself again.
func (g *loaded) console(ctx context.Context, path, cookie string) {
	visit := func() {
		r, err := http.NewRequestWithContext(ctx, "GET", g.url+path, nil)
		if err != nil {
			g.t.Error(err)
			return
		}
		r.Header.Set("Cookie", cookie)
		began := time.Now()
		status, text := g.do(r)
		took := time.Since(began)
		if ctx.Err() != nil {
			return
		}
		if status != http.StatusOK || !strings.Contains(string(text), "</html>") {
			g.t.Errorf("%s: %d %.300s", path, status, text)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.pages = append(g.pages, took)
	}
	visit()
	changed := make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			last := time.Now()
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(300*time.Millisecond - time.Since(last)):
			case <-ctx.Done():
				return
			}
			visit()
		}
	}()
	watch, _ := strings.CutPrefix(path, "/campaigns/")
	watch, _, _ = strings.Cut(strings.TrimPrefix(watch, "/questions/"), "/q")
	hears := sync.OnceFunc(func() { g.count(&g.looking) })
	g.stream(ctx, "/live", "Cookie", cookie, func(event, data string) {
		hears()
		if event != "changed" || !strings.HasPrefix(watch, "/") && watch != data {
			return
		}
		g.count(&g.told)
		select {
		case changed <- struct{}{}:
		default:
		}
	})
}

// next is a question that waits or, where none does, one whose answer is changed: campaigns ask
// only as fast as they can decide.
func (g *loaded) next() (q asked, ok bool) {
	select {
	case q = <-g.ready:
		return q, true
	default:
	}
	g.mu.Lock()
	if n := len(g.given); n > 0 {
		at := rand.N(n)
		q, ok = g.given[at], true
		g.given = slices.Delete(g.given, at, at+1) // nobody changes it meanwhile
	}
	g.mu.Unlock()
	if ok {
		return q, true
	}
	select {
	case q = <-g.ready:
		return q, true
	case <-time.After(time.Minute):
		g.t.Error("no campaign asks anything any more")
		return asked{}, false
	}
}

// count adds one to a counter.
func (g *loaded) count(n *int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*n++
}

// until waits until a counter has reached a number.
func (g *loaded) until(what string, n *int, number int) {
	for range 3000 {
		g.mu.Lock()
		reached := *n >= number
		g.mu.Unlock()
		if reached {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	g.t.Errorf("%s: less than %d", what, number)
}

// path is one of the pages that consoles have open, the commonest several times.
func (g *loaded) path(n int) string {
	campaign := g.names[n%len(g.names)]
	switch n / len(g.names) % 5 {
	case 0:
		return "/campaigns"
	case 1, 2:
		return "/campaigns/" + campaign
	case 3:
		return "/questions/" + campaign + "/q1"
	}
	return "/questions"
}

// at returns a quantile.
func at(durations []time.Duration, share float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	return durations[min(int(share*float64(len(durations))), len(durations)-1)]
}

// lost returns what was acknowledged and does not stand in the log once.
func (g *loaded) lost() (lost []acknowledged) {
	g.stop()
	l, err := lab.Open(context.Background(), lab.Options{Folder: g.folder, Registry: builtin.Registry()})
	if err != nil {
		g.t.Fatal(err)
	}
	defer l.Close()
	recorded := make(map[acknowledged]int)
	for _, c := range l.Campaigns() {
		log := must.Get(c.Log())(g.t)
		for e := range must.Each(g.t, events.ReadCampaign(context.Background(), log, c.Name(), 0)) {
			payload := must.Get(events.Decode(e))(g.t)
			switch p := payload.(type) {
			case *events.QuestionAnswered:
				recorded[acknowledged{c.Name(), p.Comment}]++
			case *events.QuestionSuperseded:
				recorded[acknowledged{c.Name(), p.Reason}]++
			case *events.QuestionContested: // by a form that did not show what was answered before
				recorded[acknowledged{c.Name(), p.Comment}]++
			}
		}
	}
	for _, a := range g.accepted {
		if recorded[a] != 1 {
			lost = append(lost, a)
		}
	}
	return lost
}

// run has people look on, and answers given one by one as next allows. One in forms is given in
// the form of its page.
func (g *loaded) run(consoles, forms int, next func() bool) {
	ctx, cancel := context.WithCancel(g.t.Context())
	var wg sync.WaitGroup
	defer func() { g.until("changes that pages were told of", &g.told, 1); cancel(); wg.Wait() }()
	cookies := make([]string, consoles)
	var logins sync.WaitGroup
	limit := make(chan struct{}, 4)
	for i := range cookies {
		logins.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			cookies[i] = g.login(i / perPerson)
		})
	}
	logins.Wait()
	for _, name := range g.names {
		wg.Go(func() { g.hear(ctx, name) })
	}
	first := <-g.ready // every page there is shows something
	g.ready <- first
	for i, cookie := range cookies {
		wg.Go(func() { g.console(ctx, g.path(i), cookie) })
	}
	g.until("streams of pages", &g.looking, consoles)
	for n := 0; next(); n++ {
		q, ok := g.next()
		if !ok {
			return
		}
		wg.Go(func() {
			if n%forms == forms-1 {
				g.fill(q, n, cookies[n%len(cookies)])
			} else {
				g.answer(q, n)
			}
		})
	}
}

// Law: while people look on and answer, no answer that was acknowledged is lost or counts
// twice, and whoever looks on is told of changes.
func TestLoad(t *testing.T) {
	const consoles, answers = 6, 40
	g := startLoad(t, 3, consoles)
	n := 0
	g.run(consoles, 30, func() bool { n++; return n <= answers })
	if lost := g.lost(); len(lost) > 0 {
		t.Errorf("lost or twice: %v", lost)
	}
	if len(g.accepted) != answers {
		t.Errorf("%d answers of %d were acknowledged", len(g.accepted), answers)
	}
}

// BenchmarkLoad is a server under load: people with a console open each, campaigns that run and
// ask, and answers at a steady rate. Its time is that between two answers; what was measured
// are the other figures. What is under load and what loads it share the process.
//
//	go test -run '^$' -bench Load -benchtime 1500x ./internal/web/server
func BenchmarkLoad(b *testing.B) {
	for _, size := range []struct{ campaigns, consoles, rate int }{{2, 20, 5}, {20, 200, 50}} {
		b.Run(fmt.Sprintf("campaigns=%d/consoles=%d/rate=%d", size.campaigns, size.consoles, size.rate), func(b *testing.B) {
			g := startLoad(b, size.campaigns, size.consoles)
			var most runtime.MemStats
			stop := make(chan struct{})
			var watching sync.WaitGroup
			watching.Go(func() {
				var now runtime.MemStats
				for {
					select {
					case <-stop:
						return
					case <-time.After(200 * time.Millisecond):
					}
					runtime.ReadMemStats(&now)
					most.HeapInuse, most.Sys = max(most.HeapInuse, now.HeapInuse), max(most.Sys, now.Sys)
				}
			})
			tick := time.NewTicker(time.Second / time.Duration(size.rate))
			defer tick.Stop()
			var began time.Time
			var before time.Duration
			g.run(size.consoles, 25, func() bool {
				if began.IsZero() {
					time.Sleep(2 * time.Second) // every page is open
					g.mu.Lock()
					g.pages, g.told = nil, 0
					g.mu.Unlock()
					began, before = time.Now(), processorTime(b)
				}
				<-tick.C
				return b.Loop()
			})
			took, used := time.Since(began).Seconds(), processorTime(b)-before
			close(stop)
			watching.Wait()
			if lost := g.lost(); len(lost) > 0 {
				b.Errorf("lost or twice: %v", lost)
			}
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			b.ReportMetric(float64(len(g.answers)+len(g.forms))/took, "answers/s")
			b.ReportMetric(float64(len(g.pages))/took, "pages/s")
			b.ReportMetric(used.Seconds()/took, "cores")
			b.ReportMetric(ms(at(g.answers, 0.5)), "answer-p50-ms")
			b.ReportMetric(ms(at(g.answers, 0.99)), "answer-p99-ms")
			b.ReportMetric(ms(at(g.forms, 0.5)), "form-p50-ms")
			b.ReportMetric(ms(at(g.forms, 0.99)), "form-p99-ms")
			b.ReportMetric(ms(at(g.pages, 0.5)), "page-p50-ms")
			b.ReportMetric(ms(at(g.pages, 0.99)), "page-p99-ms")
			b.ReportMetric(float64(most.HeapInuse)/1e6, "heap-MB")
			b.ReportMetric(float64(most.Sys)/1e6, "sys-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
