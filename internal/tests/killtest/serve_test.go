//go:build unix

package killtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

// served is a folder that `campaignd serve` serves, in one life after the other.
type served struct {
	t      *testing.T
	binary string
	dir    string
	// name tells the folder of one server from that of another, and store is the one that they
	// share, or the database of their lab; empty where each folder has stores of its own.
	name, store string

	mu       sync.Mutex
	url      string
	recorded []events.Event // what requests were answered with
}

// folder is where the stores are.
func (s *served) folder() string { return filepath.Join(s.dir, "lab"+s.name) }

// environment is that of the programs.
func (s *served) environment() []string {
	return append(os.Environ(), "TMPDIR="+filepath.Join(s.dir, "tmp"), lock.Variable+"="+filepath.Join(s.dir, "locks"),
		"XDG_STATE_HOME="+filepath.Join(s.dir, "state"))
}

// live starts the server and returns its process once it is ready.
func (s *served) live() *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(s.binary, "serve", s.folder(), "--listen", "127.0.0.1:0")
	switch {
	case store.InDatabase(s.store):
		cmd.Args = append(cmd.Args[:2], s.store, "--folder", s.folder(), "--listen", "127.0.0.1:0")
	case s.store != "":
		cmd.Args = append(cmd.Args, "--store", s.store)
	}
	cmd.Dir = s.dir
	cmd.Env = s.environment()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), " on "); ok {
			s.mu.Lock()
			s.url = strings.TrimSpace(url)
			s.mu.Unlock()
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return cmd
		}
	}
	s.t.Fatal("the server ended before it was ready")
	return nil
}

// errAgain means that nobody answered, or not to the end: it is asked again later.
var errAgain = errors.New("no answer")

// patience is how long people wait at most: longer than 200 kills take on a slow machine, where a
// server may be killed before it answers, as nothing has to be done before the last of them.
const patience = 5 * time.Minute

// ask sends a request, once. What was recorded by it is remembered: it was acknowledged.
func (s *served) ask(ctx context.Context, method, path, contentType, body string, into any) error {
	s.mu.Lock()
	url := s.url
	s.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", contentType)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return errAgain
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return errAgain
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%w: %d %s", errAgain, answer.StatusCode, text)
	}
	var recorded struct{ Recorded []json.RawMessage }
	if json.Unmarshal(text, &recorded) == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, line := range recorded.Recorded {
			e, err := events.UnmarshalCloudEvent(line)
			if err != nil {
				return fmt.Errorf("an answer holds %s: %w", line, err)
			}
			s.recorded = append(s.recorded, e)
		}
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(bytes.NewReader(text)).Decode(into)
}

// persist repeats what was not answered, as people do.
func (s *served) persist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !errors.Is(err, errAgain) {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w; at last: %w", context.Cause(ctx), err)
		}
	}
}

// begin begins a campaign from its file. Where an earlier attempt was not answered, it may be
// there already.
func (s *served) begin(ctx context.Context, name, file string) error {
	return s.persist(ctx, func() error {
		err := s.ask(ctx, "POST", "/api/v1/campaigns", "application/yaml", file, nil)
		if err != nil && strings.Contains(err.Error(), "already") {
			err = s.ask(ctx, "POST", "/api/v1/campaigns/"+name+"/run", "application/json", "", nil)
		}
		if err != nil && strings.Contains(err.Error(), "the campaign has ended") {
			return nil // the server went on with it by itself, while no answer came through
		}
		return err
	})
}

// person answers what a campaign asks and tells what it suggests, until it has ended. To tell
// again what was not acknowledged, but recorded, is refused, and no harm.
func (s *served) person(ctx context.Context, name string) error {
	for {
		var status struct {
			Status    string
			Open      []struct{ ID string }
			Questions []struct{ ID string }
		}
		err := s.persist(ctx, func() error {
			return s.ask(ctx, "GET", "/api/v1/campaigns/"+name, "", "", &status)
		})
		if err != nil || status.Status == "completed" {
			return err
		}
		for _, q := range status.Questions {
			_ = s.ask(ctx, "POST", "/api/v1/questions/"+name+"/"+q.ID, "application/json", `{"order": ["B", "A"]}`, nil)
		}
		for _, x := range status.Open {
			_ = s.ask(ctx, "POST", "/api/v1/campaigns/"+name+"/tell", "application/json",
				fmt.Sprintf(`{"experiment": %q, "value": %d}`, x.ID, len(x.ID)), nil)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Law: whenever `campaignd serve` is killed, while it runs campaigns and people answer, and is
// started again: nothing that was acknowledged is lost, no experiment is performed twice, and
// every campaign goes on by itself to its end, with a log that an audit confirms.
func TestServeKilled(t *testing.T) {
	kills, seed := setting(t, "CAMPAIGND_KILLS", 10), setting(t, "CAMPAIGND_KILLS_SEED", 1)
	rng := rand.New(rand.NewPCG(uint64(seed), 0x7365727665)) // "serve"
	s := &served{t: t, binary: built.Program(t), dir: folder(t)}
	bench := filepath.Join(s.dir, "bench")
	for _, d := range []string{s.folder(), filepath.Join(s.dir, "tmp"), filepath.Join(bench, livesName)} {
		must.Do(t, os.MkdirAll(d, 0o777))
	}
	device := must.Get(campaignFile(scenario{bench: &testinstrument.Options{Resume: true}}, 1, bench))(t)
	simulated := must.Get(campaignFile(scenario{}, 2, ""))(t)
	files := map[string]string{
		"killed": string(device), // by a device, and nobody is asked
		"model":  strings.Replace(string(simulated), "name: killed", "name: model", 1),
		"byhand": `
name: byhand
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: 2, comparisons: 2}
budget: {experiments: 12}
policy: coexbo
experts: [{name: ada, web: {}, meanwhile: 1}]
instrument: manual
`,
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := s.live()
	var people sync.WaitGroup
	for name, file := range files {
		people.Go(func() {
			if err := s.begin(ctx, name, file); err != nil {
				t.Errorf("begin %s: %v", name, err)
				return
			}
			watch := s.person
			if name != "byhand" {
				watch = s.ended
			}
			if err := watch(ctx, name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	over := make(chan struct{})
	go func() { people.Wait(); close(over) }()
	made := 0
	for going := true; going && made < kills; {
		select {
		case <-time.After(time.Duration(rng.Int64N(int64(400 * time.Millisecond)))):
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			made++
			cmd = s.live()
		case <-over:
			going = false
		}
	}
	<-over
	_ = cmd.Process.Signal(os.Interrupt) // and once as people end it
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
	t.Logf("%d kills", made)
	for name := range files {
		s.check(name)
	}
	acts := must.Get(testinstrument.Acts(bench))(t)
	for command, n := range acts {
		if n != 1 {
			t.Errorf("%s was performed %d times", command, n)
		}
	}
	if len(acts) != budget {
		t.Errorf("%d experiments were performed, of %d", len(acts), budget)
	}
}

// ended waits until a campaign has ended by itself.
func (s *served) ended(ctx context.Context, name string) error {
	for {
		var status struct{ Status string }
		err := s.persist(ctx, func() error { return s.ask(ctx, "GET", "/api/v1/campaigns/"+name, "", "", &status) })
		if err != nil || status.Status == "completed" {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// check looks at what a campaign left behind.
func (s *served) check(name string) {
	log, err := store.Open(filepath.Join(s.folder(), name+".campaign"), store.Options{ReadOnly: true})
	if err != nil {
		s.t.Error(err)
		return
	}
	defer log.Close()
	history := make(map[string]events.Event)
	for e, err := range log.Read(s.t.Context(), 0) {
		if err != nil {
			s.t.Error(err)
			return
		}
		history[e.ID] = e
	}
	acknowledged := 0
	for _, e := range s.recorded {
		if e.Campaign != name {
			continue
		}
		acknowledged++
		held, ok := history[e.ID]
		if !ok || held.Kind != e.Kind || !reflect.DeepEqual(payload(s.t, held), payload(s.t, e)) {
			s.t.Errorf("%s: event %s (%s) was acknowledged, and the store holds %+v", name, e.ID, e.Kind, held)
		}
	}
	report, err := decisions.Audit(s.t.Context(), builtin.Registry(), log, name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		s.t.Errorf("%s: %v, %v", name, report.Mismatches, err)
	}
	s.t.Logf("%s: %d events, of which people were told of %d", name, report.Events, acknowledged)
}

// sharing is how long a shared device works on each command: long enough to be met there.
const sharing = 20 * time.Millisecond

// Law: campaigns that share a real device by the lab's word never meet there, and no
// experiment is performed twice, whenever the server is killed: what it was at work on is
// finished, or settled by a person, before another campaign's command is sent. By the devices' own
// records no tip of the rack that they share is used twice, nor by the log of the lab.
func TestSharedKilled(t *testing.T) {
	kills, seed := setting(t, "CAMPAIGND_KILLS", 10), setting(t, "CAMPAIGND_KILLS_SEED", 1)
	rng := rand.New(rand.NewPCG(uint64(seed), 0x736861726564)) // "shared"
	s := &served{t: t, binary: built.Program(t), dir: folder(t)}
	for _, d := range []string{s.folder(), filepath.Join(s.dir, "tmp")} {
		must.Do(t, os.MkdirAll(d, 0o777))
	}
	lab := "instruments:\n  bench: {process: {command: [\"true\"]}, capacity: 3}\n" +
		"stocks: {rack: {labels: A1-H24}}\n" // a kill costs a tip at most
	must.Do(t, os.WriteFile(filepath.Join(s.folder(), "lab.yaml"), []byte(lab), 0o600))
	const experiments = 8
	names := []string{"left", "middle", "right"}
	files := make(map[string]string)
	for _, name := range names {
		bench := filepath.Join(s.dir, name)
		must.Do(t, os.MkdirAll(filepath.Join(bench, livesName), 0o777))
		settings := must.Get(testinstrument.Config(testinstrument.Options{
			Dir: bench, Latency: definition.Duration(sharing), Real: true, Resume: true, Room: filepath.Join(s.dir, "room"),
		}))(t)
		command := must.Get(json.Marshal(settings))(t)
		files[name] = fmt.Sprintf(`
name: %s
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: %d}
budget: {experiments: %d}
policy: sobol
instrument: {lab: bench, process: %s, draws: {tips: 1}}
stocks: {tips: {lab: rack}}
`, name, experiments, experiments, command)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := s.live()
	var people sync.WaitGroup
	for name, file := range files {
		people.Go(func() {
			if err := s.begin(ctx, name, file); err != nil {
				t.Errorf("begin %s: %v", name, err)
			} else if err := s.looker(ctx, name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	over := make(chan struct{})
	go func() { people.Wait(); close(over) }()
	made := 0
	for going := true; going && made < kills; {
		select {
		case <-time.After(time.Duration(rng.Int64N(int64(400 * time.Millisecond)))):
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			made++
			cmd = s.live()
		case <-over:
			going = false
		}
	}
	<-over
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
	t.Logf("%d kills", made)
	var benches []string
	draws := new(attest.Draws)
	for _, name := range names {
		benches = append(benches, filepath.Join(s.dir, name))
		s.audited(filepath.Join(s.folder(), name+".campaign"), draws)
	}
	if report := s.audited(lablog.Dir(s.folder()), draws); report != nil && report.Takes < experiments*len(names) {
		t.Errorf("%d takes are in the lab's log", report.Takes)
	}
	switch twice, tips, err := testinstrument.UsedUp(benches...); {
	case err != nil:
		t.Error(err)
	case len(twice) > 0 || tips != experiments*len(names):
		t.Errorf("used twice: %v; %d tips were used at all", twice, tips)
	}
	for _, name := range names {
		s.check(name)
		acts := must.Get(testinstrument.Acts(filepath.Join(s.dir, name)))(t)
		if n := acts["!"]; n > 0 {
			t.Errorf("%s met another campaign at the device, %d times", name, n)
		}
		for command, n := range acts {
			if n != 1 && command != "!" {
				t.Errorf("%s was performed %d times", command, n)
			}
		}
		if len(acts) != experiments {
			t.Errorf("%s: %d experiments were performed, of %d", name, len(acts), experiments)
		}
	}
}

// looker goes to the device where nobody knows what became of an experiment, and says what
// it finds there, until the campaign has ended.
func (s *served) looker(ctx context.Context, name string) error {
	for {
		var status struct {
			Status string
			Open   []struct{ ID, Status string }
		}
		err := s.persist(ctx, func() error { return s.ask(ctx, "GET", "/api/v1/campaigns/"+name, "", "", &status) })
		if err != nil || status.Status == "completed" {
			return err
		}
		for _, x := range status.Open {
			if x.Status != "unresolved" {
				continue
			}
			acts, err := testinstrument.Acts(filepath.Join(s.dir, name))
			if err != nil {
				return err
			}
			said := `{"experiment": %q, "resolution": "not-performed", "repeat": true}`
			for command := range acts {
				if strings.HasSuffix(command, "/"+x.ID) {
					said = `{"experiment": %q, "resolution": "measured", "value": 5}`
				}
			}
			_ = s.ask(ctx, "POST", "/api/v1/campaigns/"+name+"/resolve", "application/json", fmt.Sprintf(said, x.ID), nil)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// audited audits a log of the lab, which has to pass.
func (s *served) audited(folder string, draws *attest.Draws) *attest.Audit {
	log, err := store.Open(folder, store.Options{ReadOnly: true})
	if err != nil {
		s.t.Error(err)
		return nil
	}
	defer log.Close()
	report, err := attest.Run(s.t.Context(), log, attest.Options{Registry: builtin.Registry(), Draws: draws})
	if err != nil || !report.Passed() {
		s.t.Errorf("the audit of %s: %v, %+v", folder, err, report)
	}
	return report
}
