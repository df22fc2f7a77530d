//go:build unix

package server_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// machines is a lab in a database as its processes are in earnest: three servers of
// PostgreSQL, of which one standby confirms each commit; two workers that drive
// campaigns; and two servers that only serve, between which a switch chooses by
// request.
type machines struct {
	*loaded
	cluster   *pgtest.Cluster
	address   string
	processes []*machine
}

// machine is a process of the lab.
type machine struct {
	name string
	cmd  *exec.Cmd
	out  string // the file of what it says
	host string // of its address, where it serves
}

// manualCampaign is a campaign whose experiments people do, one at a time.
const manualCampaign = `
name: %s
parameters: [{name: x, min: 0, max: 1}, {name: y, min: 0, max: 1}]
objective: {name: flow, goal: maximize, noise: 0.1}
initial: {experiments: 1}
policy: sobol
budget: {experiments: 1000}
instrument: manual
`

// newMachines makes a database of campaigns that were started, and people. No
// process of the lab runs yet.
func newMachines(t testing.TB, campaigns, consoles int) *machines {
	t.Helper()
	m := &machines{cluster: pgtest.NewCluster(t, pgtest.Options{Standbys: 2, Direct: true})}
	var hosts []string
	for _, s := range m.cluster.Servers {
		hosts = append(hosts, fmt.Sprint("127.0.0.1:", s.Port))
	}
	m.address = fmt.Sprintf("postgres://campaignd@%s/postgres?target_session_attrs=read-write&sslmode=disable",
		strings.Join(hosts, ","))
	m.loaded = &loaded{
		t: t, folder: t.TempDir(), url: "http://lab", people: (consoles + perPerson - 1) / perPerson,
		client: &http.Client{
			Transport:     &balancer{m: m, transport: &http.Transport{MaxIdleConnsPerHost: 2000}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	book, err := accounts.Open(lablog.Address(m.address), accounts.Options{})
	m.must(err)
	defer func() { m.must(book.Close()) }()
	root := accounts.SystemIdentity("root")
	add := func(name string, role accounts.Role) {
		_, err := book.Add(t.Context(), root, accounts.NewAccount{
			Name: name, Grants: []accounts.Grant{{Role: role}}, Password: accounts.NewSecret(password),
		})
		m.must(err)
	}
	add("admin", accounts.Admin)
	for i := range m.people {
		add(fmt.Sprintf("person-%d", i), accounts.Scientist)
	}
	m.token, _, err = book.CreateToken(t.Context(), root, "admin", accounts.NewToken{Name: "script", Scopes: accounts.Permissions()})
	m.must(err)
	own, err := book.Lab().Store()
	m.must(err)
	m.define(own, campaigns)
	return m
}

func (m *machines) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// define writes what a server writes that begins campaigns and starts them.
func (m *machines) define(own events.Store, campaigns int) {
	m.t.Helper()
	begin := func(name string) error {
		file, err := campaignfile.Parse(builtin.Registry(), name, []byte(fmt.Sprintf(manualCampaign, name)))
		if err != nil {
			return err
		}
		log, err := store.Open(store.In(m.address, name), store.Options{Shared: true})
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		defined := events.CampaignDefined{Definition: file.Definition, Source: file.Source, Instance: engine.NewInstance()}
		by := engine.Request{Actor: "ada"}
		if err := engine.DefineBy(m.t.Context(), log, defined, by, time.Now(), ""); err != nil {
			return err
		}
		e, err := events.Lab.New(events.StoreStream(name), events.KindRunStarted, &events.RunStarted{Campaign: name})
		if err != nil {
			return err
		}
		e.Actor, e.Time = by.Actor, engine.Stamp(time.Now())
		_, err = own.Append(m.t.Context(), events.StoreStream(name), 0, e)
		return err
	}
	var writing sync.WaitGroup
	next := make(chan string)
	for range 8 {
		writing.Go(func() {
			for name := range next {
				if err := begin(name); err != nil {
					m.t.Error(err)
				}
			}
		})
	}
	for i := range campaigns {
		m.names = append(m.names, fmt.Sprintf("c%04d", i))
		next <- m.names[i]
	}
	close(next)
	writing.Wait()
	if m.t.Failed() {
		m.t.FailNow()
	}
}

// start starts a process of the lab, on what it takes for a machine of its own.
func (m *machines) start(program, name string, args ...string) *machine {
	m.t.Helper()
	dir := filepath.Join(m.folder, name)
	m.must(os.MkdirAll(filepath.Join(dir, "lab"), 0o777))
	p := &machine{name: name, out: filepath.Join(dir, "out")}
	out, err := os.Create(p.out)
	m.must(err)
	p.cmd = exec.Command(program, append(args, m.address, "--folder", filepath.Join(dir, "lab"))...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	p.cmd.Env = append(os.Environ(), lock.Variable+"="+filepath.Join(dir, "locks"),
		"XDG_STATE_HOME="+filepath.Join(dir, "state"))
	m.must(p.cmd.Start())
	m.must(out.Close())
	m.processes = append(m.processes, p)
	m.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if said, _ := os.ReadFile(p.out); m.t.Failed() {
			m.t.Logf("%s: %s", name, said[max(0, len(said)-4000):])
		}
	})
	return p
}

// listens waits until a server does.
func (m *machines) listens(p *machine) {
	m.t.Helper()
	for range 6000 {
		said, err := os.ReadFile(p.out)
		m.must(err)
		for line := range strings.Lines(string(said)) {
			if _, address, ok := strings.Cut(line, " on http://"); ok {
				p.host = strings.TrimSpace(address)
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	m.t.Fatalf("%s does not begin to listen", p.name)
}

// balancer sends each request to one of the servers, at random.
type balancer struct {
	m         *machines
	transport http.RoundTripper
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var hosts []string
	for _, p := range b.m.processes {
		if p.host != "" {
			hosts = append(hosts, p.host)
		}
	}
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = hosts[rand.IntN(len(hosts))], ""
	return b.transport.RoundTrip(r)
}

// path is the page that a console has open: lists, questions, and mostly campaigns.
func (m *machines) path(n int) string {
	switch n % 5 {
	case 0:
		return "/campaigns"
	case 1:
		return "/questions"
	}
	return "/campaigns/" + m.names[n%len(m.names)]
}

// look has the consoles open, until the context is done; it returns once their streams are.
func (m *machines) look(ctx context.Context, consoles int) (wait func()) {
	cookies := make([]string, m.people)
	limit := make(chan struct{}, 4)
	var logins, looking sync.WaitGroup
	for i := range cookies {
		logins.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			cookies[i] = m.login(i)
		})
	}
	logins.Wait()
	for i := range consoles {
		looking.Go(func() { m.console(ctx, m.path(i), cookies[i/perPerson]) })
	}
	m.until("streams of pages", &m.looking, consoles)
	return looking.Wait
}

// tell says what has come of a campaign's newest experiment: it is the nth.
func (m *machines) tell(campaign string, n int) {
	body := fmt.Sprintf(`{"experiment": "e%d", "value": %d}`, n, n)
	began := time.Now()
	status, text := m.send("POST", "/api/v1/campaigns/"+campaign+"/tell", "application/json", body)
	took := time.Since(began)
	if status != http.StatusOK {
		m.t.Errorf("experiment e%d of %s: %d %s", n, campaign, status, text)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = append(m.answers, took)
}

// work is what was done since another one was taken.
type work struct {
	at           time.Time
	used         map[string]pgtest.Usage
	transactions int
	rows         int
}

// parties are those who work, in the order of the table.
func (m *machines) parties() (names []string) {
	for _, p := range m.processes {
		names = append(names, p.name)
	}
	return append(names, "primary", "standbys")
}

func (m *machines) worked() work {
	m.t.Helper()
	w := work{at: time.Now(), used: make(map[string]pgtest.Usage)}
	for _, p := range m.processes {
		w.used[p.name] = pgtest.UsageOf(m.t, p.cmd.Process.Pid)
	}
	w.used["primary"] = m.cluster.Primary.Usage(m.t)
	var standbys pgtest.Usage
	for _, s := range m.cluster.Standbys() {
		u := s.Usage(m.t)
		standbys.Processor += u.Processor
		standbys.Memory += u.Memory
	}
	w.used["standbys"] = standbys
	w.transactions = m.cluster.Primary.Count(m.t, `select xact_commit + xact_rollback from pg_stat_database where datname = 'postgres'`)
	w.rows = m.cluster.Primary.Count(m.t, `select tup_returned from pg_stat_database where datname = 'postgres'`)
	return w
}

// report says what was done between two moments.
func (m *machines) report(what string, from, to work) {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	took := to.at.Sub(from.at).Seconds()
	fmt.Fprintf(table, "\tcores\tMiB\t\n")
	for _, name := range m.parties() {
		fmt.Fprintf(table, "%s\t%.3f\t%d\t\n", name, (to.used[name].Processor-from.used[name].Processor).Seconds()/took,
			to.used[name].Memory>>20)
	}
	m.must(table.Flush())
	m.t.Logf("%s, %.0f s: %.0f transactions/s, %.0f rows read/s\n%s", what, took,
		float64(to.transactions-from.transactions)/took, float64(to.rows-from.rows)/took, out.String())
}

// eventually waits until the database has a number, and returns how long that took.
func (m *machines) eventually(what, query string, number int) time.Duration {
	m.t.Helper()
	began, got := time.Now(), 0
	for time.Since(began) < 10*time.Minute {
		if got = m.cluster.Primary.Count(m.t, query); got >= number {
			return time.Since(began)
		}
		time.Sleep(200 * time.Millisecond)
	}
	m.t.Fatalf("%s: %d of %d", what, got, number)
	return 0
}

// fromEnvironment is a number that the environment gives.
func fromEnvironment(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: it is a number", name, text)
	}
	return n
}

// TestMachines measures a lab of so many campaigns in a database, which two workers
// drive, and two servers show to people: at rest, and while 200 pages are open,
// others are read and experiments are told.
//
//	CAMPAIGND_LAB=1000 go test ./internal/web/server -run 'TestMachines$' -v
//
// CAMPAIGND_LAB_CONSOLES, CAMPAIGND_LAB_ANSWERS (a second) and CAMPAIGND_LAB_SECONDS
// say it otherwise.
func TestMachines(t *testing.T) {
	campaigns := fromEnvironment(t, "CAMPAIGND_LAB", 0)
	if campaigns == 0 {
		t.Skip("it measures; CAMPAIGND_LAB says how many campaigns")
	}
	consoles := fromEnvironment(t, "CAMPAIGND_LAB_CONSOLES", 200)
	rate := fromEnvironment(t, "CAMPAIGND_LAB_ANSWERS", 5)
	seconds := fromEnvironment(t, "CAMPAIGND_LAB_SECONDS", 30)
	binary := built.Program(t)
	began := time.Now()
	m := newMachines(t, campaigns, consoles)
	t.Logf("%d campaigns, written in %.1f s", campaigns, time.Since(began).Seconds())

	before := m.worked()
	began = time.Now()
	for i := range 2 {
		m.start(binary, fmt.Sprint("worker ", i), "work")
	}
	for i := range 2 {
		m.start(binary, fmt.Sprint("server ", i), "serve", "--no-work", "--listen", "127.0.0.1:0")
	}
	m.eventually("leases", `select count(*) from cd_head where holder <> '' and name not like '.%'`, campaigns)
	leased := time.Since(began)
	m.eventually("campaigns that have asked for an experiment",
		`select count(distinct store) from cd_event where position('experiment.requested'::bytea in record) > 0`, campaigns)
	asked := time.Since(began)
	for _, p := range m.processes[2:] {
		m.listens(p)
	}
	now := m.worked()
	t.Logf("all have a lease after %.1f s, have asked after %.1f s, the servers listen after %.1f s; till then %d transactions, and processor s: %s, primary %.1f",
		leased.Seconds(), asked.Seconds(), time.Since(began).Seconds(), now.transactions-before.transactions, m.seconds(now),
		(now.used["primary"].Processor - before.used["primary"].Processor).Seconds())
	shares := m.cluster.Primary.SQL(t, `select count(*) from cd_head where name not like '.%' group by holder`)
	t.Logf("campaigns of each worker: %s", strings.Join(shares, ", "))

	time.Sleep(12 * time.Second) // sessions that are idle count what they did up to ten seconds later
	m.statements("at rest", 5*time.Second)
	from := m.worked()
	time.Sleep(15 * time.Second)
	m.report("at rest", from, m.worked())

	ctx, cancel := context.WithCancel(t.Context())
	wait := m.look(ctx, consoles)
	time.Sleep(3 * time.Second)
	m.mu.Lock()
	opening := len(m.pages)
	t.Logf("opening the pages: %d, p50 %v, p99 %v", opening, at(m.pages, 0.5), at(m.pages, 0.99))
	m.pages = nil
	m.mu.Unlock()
	from = m.worked()
	time.Sleep(10 * time.Second)
	m.report("at rest, with the pages open", from, m.worked())

	from = m.worked()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	order := rand.Perm(campaigns)
	var telling sync.WaitGroup
	for n := range rate * seconds {
		<-tick.C
		if n == rate*seconds/2 {
			telling.Go(func() { m.statements("under load", 3*time.Second) })
		}
		telling.Go(func() { m.tell(m.names[order[n%campaigns]], n/campaigns+1) })
	}
	telling.Wait()
	to := m.worked()
	m.report("under load", from, to)
	m.mu.Lock()
	took := to.at.Sub(from.at).Seconds()
	t.Logf("answers: %.1f/s, p50 %v, p99 %v, most %v; pages: %.1f/s, p50 %v, p99 %v",
		float64(len(m.answers))/took, at(m.answers, 0.5), at(m.answers, 0.99), at(m.answers, 1),
		float64(len(m.pages))/took, at(m.pages, 0.5), at(m.pages, 0.99))
	m.mu.Unlock()
	cancel()
	wait()
}

// statements says which statements the primary executes.
func (m *machines) statements(when string, during time.Duration) {
	counts := m.cluster.Primary.Statements(m.t, func() { time.Sleep(during) })
	texts := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] })
	var out strings.Builder
	sum := 0
	for i, text := range texts {
		sum += counts[text]
		if i < 30 {
			fmt.Fprintf(&out, "%8.1f  %.100s\n", float64(counts[text])/during.Seconds(), text)
		}
	}
	m.t.Logf("%s: %.1f statements/s\n%s", when, float64(sum)/during.Seconds(), out.String())
}

// seconds is the processor time of each process so far.
func (m *machines) seconds(w work) string {
	var parts []string
	for _, p := range m.processes {
		parts = append(parts, fmt.Sprintf("%s %.1f", p.name, w.used[p.name].Processor.Seconds()))
	}
	return strings.Join(parts, ", ")
}
