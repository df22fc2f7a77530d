package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/pglog"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

// labTrial is a lab in a cluster's database: workers that drive campaigns, servers
// that only serve, campaigns, and people who use the servers.
type labTrial struct {
	*trial
	folder    string // of the processes, and of the campaigns' instruments
	labFile   string // on each machine; none where it is empty
	processes []*labProcess
	campaigns []string // all of them
	byHand    map[string]bool
	lives     int // database roles that were given away

	people  sync.WaitGroup
	home    context.CancelFunc // has the people go home
	mu      sync.Mutex
	urls    map[string]string // of the servers that answer, by name
	answers []answer
	kills   []kill
}

// labProcess is a process of the lab. The next life of it has the same name, and
// another role in the database.
type labProcess struct {
	name   string // w0, w1, …: works; s0, s1, …: serves
	role   string // in the database, of this life: so the tables know who wrote
	cmd    *exec.Cmd
	killed bool
}

func (p *labProcess) works() bool { return strings.HasPrefix(p.name, "w") }

// kill is what a kill has interrupted.
type kill struct {
	role   string
	at     time.Time
	stores []string // that it held
}

const (
	workers = 3
	servers = 2
	// roles is how many lives of processes a trial may have.
	roles = 24
	// hostEnvironment tells an instrument on whose behalf it runs.
	hostEnvironment = "CAMPAIGND_FAULTS_DRIVER"
	// lifeFile has a line for each life of an instrument.
	lifeFile = "lives"
)

// noteLife notes, where this process is an instrument, who runs it.
func noteLife() {
	value := os.Getenv(testinstrument.Variable)
	if value == "" {
		return
	}
	var o testinstrument.Options
	err := json.Unmarshal([]byte(value), &o)
	if err == nil {
		err = appendLine(filepath.Join(o.Dir, lifeFile), fmt.Sprintf("%d %s\n", os.Getpid(), os.Getenv(hostEnvironment)))
	}
	if err != nil {
		panic(err)
	}
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// witness has the tables note who wrote each event, and who took each hold, by the
// role of their sessions. It is the test's own, so that nothing need be believed
// of what the product says of itself.
const witness = `
	create table trial_event (store bigint, position bigint, epoch bigint, writer text, at timestamptz,
		primary key (store, position));
	create table trial_hold (store bigint, epoch bigint, writer text, at timestamptz, primary key (store, epoch));
	create function trial_event() returns trigger language plpgsql as $$ begin
		insert into trial_event select new.store, new.position, epoch, session_user, clock_timestamp()
			from cd_head where store = new.store;
		return null;
	end $$;
	create function trial_hold() returns trigger language plpgsql as $$ begin
		insert into trial_hold values (new.store, new.epoch, session_user, clock_timestamp());
		return null;
	end $$;
	create trigger trial_event after insert on cd_event for each row execute function trial_event();
	create trigger trial_hold after update of epoch on cd_head for each row
		when (new.epoch > old.epoch) execute function trial_hold()`

// newLabTrial starts a cluster and a lab in it, with campaigns under way.
func newLabTrial(t testing.TB, seed uint64, program string) *labTrial {
	t.Helper()
	r := newLab(t, seed, program, "")
	ctx := r.atHome()
	for i, latency := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		name := fmt.Sprint("device", i)
		r.begin(ctx, name, r.device(name, latency, "sobol", 1))
	}
	r.begin(ctx, "model", r.device("model", 100*time.Millisecond, "lcb", 3))
	for i := range 2 {
		name := fmt.Sprint("byhand", i)
		r.byHand[name] = true
		r.begin(ctx, name, campaignText(name, "sobol", 1, "manual"))
	}
	return r
}

// newLab starts a cluster and a lab in it, whose lab.yaml is as given.
func newLab(t testing.TB, seed uint64, program, labFile string) *labTrial {
	t.Helper()
	r := &labTrial{
		trial: &trial{
			TB: t, Cluster: pgtest.NewCluster(t, pgtest.Options{Standbys: 2}),
			random: rand.New(rand.NewPCG(seed, 1)), program: program, dir: t.TempDir(),
		},
		folder: t.TempDir(), labFile: labFile, byHand: make(map[string]bool), urls: make(map[string]string),
	}
	db, err := pglog.Connect(r.Context(), r.Address("")) // which makes the tables
	r.must(err)
	r.must(db.Close())
	r.Primary.SQL(r, witness)
	for i := range roles {
		r.Primary.SQL(r, fmt.Sprintf(`create role %s superuser login`, role(i)))
	}
	for i := range workers {
		r.startProcess(fmt.Sprint("w", i))
	}
	for i := range servers {
		r.startProcess(fmt.Sprint("s", i))
	}
	return r
}

// atHome is done once people are to go home.
func (r *labTrial) atHome() context.Context {
	ctx, home := context.WithCancel(r.Context())
	r.home = home
	r.Cleanup(func() { home(); r.people.Wait() })
	return ctx
}

func role(life int) string { return fmt.Sprintf("life%d", life) }

// campaignText is a campaign file, of a campaign that ends when it is stopped; the
// instrument is YAML.
func campaignText(name, policy string, initial int, instrument string) string {
	return fmt.Sprintf(`
name: %s
parameters: [{name: x, min: 0, max: 1}, {name: y, min: 0, max: 1}]
objective: {name: flow, goal: maximize, noise: 0.1}
initial: {experiments: %d}
policy: %s
budget: {experiments: 100000}
instrument: %s
`, name, initial, policy, instrument)
}

// device is the file of a campaign with an instrument of its own, which is durable.
func (r *labTrial) device(name string, latency time.Duration, policy string, initial int) string {
	r.Helper()
	program := r.instrument(name, testinstrument.Options{Latency: definition.Duration(latency)})
	return campaignText(name, policy, initial, fmt.Sprintf(`{"process": %s}`, program))
}

// instrument are the settings of a durable instrument of a campaign, as JSON.
func (r *labTrial) instrument(name string, o testinstrument.Options) []byte {
	r.Helper()
	o.Dir, o.Resume = r.bench(name), true
	r.must(os.MkdirAll(o.Dir, 0o777))
	settings, err := testinstrument.Config(o)
	r.must(err)
	settings.Environment = []string{hostEnvironment}
	text, err := json.Marshal(settings)
	r.must(err)
	return text
}

func (r *labTrial) bench(campaign string) string { return filepath.Join(r.folder, "bench-"+campaign) }

// startProcess starts a process of the lab, in its first life or another one.
func (r *labTrial) startProcess(name string) *labProcess {
	r.Helper()
	p := &labProcess{name: name, role: role(r.lives)}
	if r.lives++; r.lives > roles {
		r.Fatal("there are no more roles")
	}
	var hosts []string
	for _, s := range r.Servers {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", r.Line(r, name, s).Port()))
	}
	address := fmt.Sprintf("postgres://%s@%s/postgres?target_session_attrs=read-write&connect_timeout=2&sslmode=disable",
		p.role, strings.Join(hosts, ","))
	machine := filepath.Join(r.folder, name) // each is on a machine of its own
	r.must(os.MkdirAll(filepath.Join(machine, "lab"), 0o777))
	if r.labFile != "" {
		r.must(os.WriteFile(filepath.Join(machine, "lab", labfile.Name), []byte(r.labFile), 0o666))
	}
	args := []string{"work", address, "--folder", filepath.Join(machine, "lab")}
	if !p.works() {
		args = append(args, "--no-work", "--listen", "127.0.0.1:0")
		args[0] = "serve"
	}
	p.cmd = exec.Command(r.program, args...)
	p.cmd.Dir = machine
	p.cmd.Env = append(os.Environ(), lock.Variable+"="+filepath.Join(machine, "locks"),
		"XDG_STATE_HOME="+filepath.Join(machine, "state"), hostEnvironment+"="+p.role)
	r.start(p.role, p.cmd)
	r.processes = append(r.processes, p)
	if !p.works() {
		r.must(r.listens(p))
	}
	return p
}

// listens waits until a server does.
func (r *labTrial) listens(p *labProcess) error {
	for began := time.Now(); time.Since(began) < goOnTime; time.Sleep(20 * time.Millisecond) {
		out, err := os.ReadFile(r.out(p.role))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(out)) {
			if _, url, ok := strings.Cut(line, " on http://"); ok && strings.HasPrefix(line, "Serving ") {
				r.mu.Lock()
				r.urls[p.name] = "http://" + strings.TrimSpace(url)
				r.mu.Unlock()
				return nil
			}
		}
	}
	return fmt.Errorf("the server %s does not begin to listen", p.name)
}

// alive are the processes that were not killed: those that work, or those that serve.
func (r *labTrial) alive(work bool) (found []*labProcess) {
	for _, p := range r.processes {
		if !p.killed && p.works() == work {
			found = append(found, p)
		}
	}
	return found
}

// holding are the stores that a process holds.
func (r *labTrial) holding(p *labProcess) []string {
	r.Helper()
	return r.Primary.SQL(r, fmt.Sprintf(`select name from cd_head h join trial_hold using (store, epoch)
		where holder <> '' and writer = '%s' and name not like '.%%' order by name`, p.role))
}

// driver returns a worker that drives campaigns, drawn.
func (r *labTrial) driver() *labProcess {
	r.Helper()
	for began := time.Now(); time.Since(began) < goOnTime; time.Sleep(100 * time.Millisecond) {
		var found []*labProcess
		for _, p := range r.alive(true) {
			if len(r.holding(p)) > 0 {
				found = append(found, p)
			}
		}
		if len(found) > 0 {
			return found[r.random.IntN(len(found))]
		}
	}
	r.Fatal("nobody drives campaigns")
	return nil
}

// kill kills processes, at once.
func (r *labTrial) kill(all ...*labProcess) {
	r.Helper()
	held := make([][]string, len(all))
	for i, p := range all {
		held[i] = r.holding(p)
	}
	for i, p := range all {
		r.must(p.cmd.Process.Kill())
		p.killed = true
		if p.works() {
			r.kills = append(r.kills, kill{p.role, time.Now(), held[i]})
		}
		r.mu.Lock()
		delete(r.urls, p.name)
		r.mu.Unlock()
	}
	for _, p := range all {
		_ = p.cmd.Wait()
	}
}

// drain ends a process as people do, which is not a failure.
func (r *labTrial) drain(p *labProcess) {
	r.Helper()
	r.mu.Lock()
	delete(r.urls, p.name)
	r.mu.Unlock()
	r.must(p.cmd.Process.Signal(syscall.SIGTERM))
	p.killed = true
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			r.Errorf("%s was told to end, and did not in order: %v", p.name, err)
		}
	case <-time.After(goOnTime):
		r.Errorf("%s was told to end, and has not", p.name)
		_ = p.cmd.Process.Kill()
		<-ended
	}
}

// answer is what a person heard of a request in the end.
type answer struct {
	campaign, key string
	status        int      // 0 where it was never answered
	text          string   // of a refusal
	events        []string // identifiers of what was recorded, where it was acknowledged
}

// person uses the servers.
type person struct {
	*labTrial
	random *rand.Rand
}

func (r *labTrial) person() *person {
	return &person{r, rand.New(rand.NewPCG(r.random.Uint64(), 2))}
}

// server returns one that answers, drawn; empty where none does.
func (p *person) server() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := fmt.Sprint("s", p.random.IntN(servers))
	return p.urls[n]
}

// askTime is how long a person waits for an answer, before asking again.
const askTime = 20 * time.Second

// ask sends a request once. The status is 0 where there is no answer.
func (p *person) ask(ctx context.Context, method, path, contentType, key, body string) (status int, text []byte) {
	url := p.server()
	if url == "" {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, url+"/api/v1/campaigns"+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	q.Header.Set("Content-Type", contentType)
	if key != "" {
		q.Header.Set("Idempotency-Key", key)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = a.Body.Close() }()
	if text, err = io.ReadAll(a.Body); err != nil {
		return 0, nil
	}
	return a.StatusCode, text
}

// request sends a request until it is answered: acknowledged, or refused for good.
// Each attempt is at any server.
func (p *person) request(ctx context.Context, campaign, path, contentType, key, body string) answer {
	a := answer{campaign: campaign, key: key}
	for ctx.Err() == nil {
		status, text := p.ask(ctx, http.MethodPost, path, contentType, key, body)
		if status == 0 || status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		a.status = status
		if status >= http.StatusBadRequest {
			a.text = string(text)
			break
		}
		var recorded struct{ Recorded []json.RawMessage }
		if err := json.Unmarshal(text, &recorded); err != nil {
			a.text = string(text)
		}
		for _, line := range recorded.Recorded {
			e, err := events.UnmarshalCloudEvent(line)
			if err != nil {
				a.text = err.Error()
			}
			a.events = append(a.events, e.ID)
		}
		break
	}
	p.mu.Lock()
	p.answers = append(p.answers, a)
	p.mu.Unlock()
	return a
}

// begin begins a campaign, and has people look after it.
func (r *labTrial) begin(ctx context.Context, name, file string) {
	r.Helper()
	r.beginAll(ctx, map[string]string{name: file})
	note := r.person()
	r.people.Go(func() { note.remark(ctx, name) })
}

// beginAll begins campaigns at the same time, by their files, and has people look after them.
func (r *labTrial) beginAll(ctx context.Context, files map[string]string) {
	r.Helper()
	began, cancel := context.WithTimeout(ctx, goOnTime)
	defer cancel()
	var begins sync.WaitGroup
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p := r.person()
		r.campaigns = append(r.campaigns, name)
		begins.Go(func() {
			if a := p.request(began, name, "", "application/yaml", "begin-"+name, files[name]); a.status/100 != 2 {
				r.Errorf("the campaign %s is not begun: %d %s", name, a.status, a.text)
				return
			}
			r.people.Go(func() { p.attend(ctx, name) })
		})
	}
	if begins.Wait(); r.Failed() {
		r.FailNow()
	}
}

// remark adds a note now and then, and sends it once more.
func (p *person) remark(ctx context.Context, name string) {
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("note-%s-%d", name, i)
		body := fmt.Sprintf(`{"text": %q}`, key)
		again := 1
		if i%4 == 0 {
			again = 2
		}
		for range again {
			p.request(ctx, name, "/"+name+"/note", "application/json", key, body)
		}
		p.rest(ctx, 600*time.Millisecond)
	}
}

// rest waits for a random time below most.
func (p *person) rest(ctx context.Context, most time.Duration) {
	select {
	case <-time.After(time.Duration(p.random.Int64N(int64(most)))):
	case <-ctx.Done():
	}
}

// attend measures what a campaign by hand suggests, and says of any what became of
// an experiment where nobody knows, after a look at the instrument.
func (p *person) attend(ctx context.Context, name string) {
	for tries := 0; ctx.Err() == nil; p.rest(ctx, 200*time.Millisecond) {
		status, text := p.ask(ctx, http.MethodGet, "/"+name, "", "", "")
		var now struct {
			Status string
			Open   []struct{ ID, Status string }
		}
		if status != http.StatusOK || json.Unmarshal(text, &now) != nil {
			continue
		}
		for _, x := range now.Open {
			switch {
			case x.Status == "unresolved":
				tries++
				p.request(ctx, name, "/"+name+"/resolve", "application/json", fmt.Sprintf("resolve-%s-%d", x.ID, tries), p.look(name, x.ID))
			case p.byHand[name]:
				p.rest(ctx, 200*time.Millisecond)
				tries++
				p.request(ctx, name, "/"+name+"/tell", "application/json", fmt.Sprintf("tell-%s-%d", x.ID, tries),
					fmt.Sprintf(`{"experiment": %q, "value": %d}`, x.ID, len(x.ID)))
			}
		}
	}
}

// look says what the instrument has done of an experiment.
func (p *person) look(campaign, experiment string) string {
	acts, err := testinstrument.Acts(p.bench(campaign))
	if err != nil {
		panic(err)
	}
	for command := range acts {
		if strings.HasSuffix(command, "/"+experiment) {
			return fmt.Sprintf(`{"experiment": %q, "resolution": "measured", "value": 5}`, experiment)
		}
	}
	return fmt.Sprintf(`{"experiment": %q, "resolution": "not-performed", "repeat": true}`, experiment)
}

// finish has each campaign stopped by a person, waits until none has anything under
// way any more, and ends all processes.
func (r *labTrial) finish() {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), goOnTime)
	defer cancel()
	p := r.person()
	for _, name := range r.campaigns {
		if a := p.request(ctx, name, "/"+name+"/stop", "application/json", "stop-"+name, `{"reason": "the trial ends"}`); a.status/100 != 2 {
			r.Errorf("%s cannot be stopped: %d %s", name, a.status, a.text)
		}
	}
	for began := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		var open []string
		for store, rows := range r.rows() {
			open = append(open, underWay(store, rows)...)
		}
		if len(open) == 0 {
			break
		}
		if time.Since(began) > goOnTime {
			r.Errorf("campaigns do not come to their ends: %s", strings.Join(open, "; "))
			break
		}
	}
	r.home()
	r.people.Wait()
	for _, work := range []bool{true, false} {
		for _, p := range r.alive(work) {
			r.drain(p)
		}
	}
}

// goOnAll waits until each campaign has a new event.
func (r *labTrial) goOnAll() {
	r.Helper()
	size := func() map[string]string {
		found := make(map[string]string)
		for _, line := range r.Primary.SQL(r, `select format('%s %s', name, size) from cd_head where name not like '.%'`) {
			name, n, _ := strings.Cut(line, " ")
			found[name] = n
		}
		return found
	}
	before := size()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		now, waits := size(), []string(nil)
		for _, name := range r.campaigns {
			if now[name] == before[name] || now[name] == "" {
				waits = append(waits, name)
			}
		}
		if len(waits) == 0 {
			return
		}
		if time.Since(began) > goOnTime {
			r.Fatalf("campaigns do not get on again: %s", strings.Join(waits, ", "))
		}
	}
}

// audit has the program check the log of a campaign and make every decision again,
// and returns what it finds amiss.
func (r *labTrial) audit(name string) (decisions int, found string) {
	r.Helper()
	address := fmt.Sprintf("postgres://campaignd@127.0.0.1:%d/postgres/%s?sslmode=disable", r.Primary.Port, name)
	cmd := exec.Command(r.program, "audit", address, "--json")
	cmd.Dir = r.folder
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(r.folder, "state"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var a struct {
		Events, Decisions, Reproduced int
		Mismatches                    []any
		Chain                         string
	}
	if err := errors.Join(err, json.Unmarshal(out, &a)); err != nil {
		return 0, fmt.Sprintf("audit of %s: %v: %s%s", name, err, out, stderr.String())
	}
	if a.Decisions == 0 || a.Reproduced != a.Decisions || len(a.Mismatches) > 0 || a.Chain != "ok" {
		return a.Decisions, fmt.Sprintf("audit of %s: %s", name, out)
	}
	return a.Decisions, ""
}
