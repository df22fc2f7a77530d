//go:build unix

package killtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// road is how a caller sends a request.
type road int

const (
	byAPI road = iota
	byPage
	bySocket
	byImport
	byBeginning
	roads
)

func (r road) String() string {
	return [...]string{"api", "page", "socket", "import", "beginning"}[r]
}

// cut is where the connection of a request is cut.
type cut int

const (
	nowhere cut = iota
	beforeRequest
	inRequest
	inAnswer
	beforeAnswer // that has arrived, and is lost
)

var errCut = errors.New("the line was cut")

// cutLine is a connection that is cut.
type cutLine struct {
	net.Conn
	where cut
	left  int // bytes until the cut
}

func (c *cutLine) Write(p []byte) (int, error) {
	if c.where != beforeRequest && c.where != inRequest {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p[:min(len(p), c.left)])
	if c.left -= n; err == nil && n < len(p) {
		_ = c.Close()
		err = errCut
	}
	return n, err
}

func (c *cutLine) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil || c.where != inAnswer && c.where != beforeAnswer {
		return n, err
	}
	if c.left -= n; c.left < 0 {
		_ = c.Close()
		return max(n+c.left, 0), errCut
	}
	return n, nil
}

// asked is a request with its identifier; its text is in no other.
type asked struct {
	road     road
	id, text string
	campaign string
}

// callers send requests to the servers of a place, and remember what they were answered. It is
// the test's own ledger: what is counted is read from the logs alone.
type callers struct {
	t       *testing.T
	place   string
	servers [2]*served

	mu      sync.Mutex
	answers map[string]string // the first to each request, by its identifier
	sent    int
	again   map[string]int // why requests were sent again
}

// request is the HTTP request of what is asked, and how the server is dialled.
func (c *callers) request(ctx context.Context, a asked, server *served) (*http.Request, string, error) {
	server.mu.Lock()
	base := server.url
	server.mu.Unlock()
	campaign := base + "/api/v1/campaigns/" + a.campaign
	text, err := json.Marshal(a.text)
	if err != nil {
		return nil, "", err
	}
	var target, contentType, body, socket string
	switch a.road {
	case byAPI:
		target, contentType, body = campaign+"/note", "application/json", fmt.Sprintf(`{"text": %s}`, text)
	case byImport:
		target, contentType = campaign+"/import", "application/json"
		body = fmt.Sprintf(`[{"parameters": {"x": 0.25}, "value": 1, "notes": [%s]}, {"parameters": {"x": 0.5}, "value": 2}]`, text)
	case byBeginning:
		target, contentType, body = base+"/api/v1/campaigns?run=false", "application/yaml", counted(a.campaign)
	case byPage:
		target, contentType = base+"/campaigns/"+a.campaign+"/note", "application/x-www-form-urlencoded"
		body = url.Values{"text": {a.text}, "request": {a.id}}.Encode()
	case bySocket:
		target, contentType = "http://store/v1/requests", "application/json"
		body = fmt.Sprintf(`{"campaign": %q, "request": {"actor": "person:ada", "id": %q, "note": {"text": %s}}}`, a.campaign, a.id, text)
		socket = filepath.Join(server.store, "control.sock")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", contentType)
	if a.road != byPage && a.road != bySocket {
		r.Header.Set("Idempotency-Key", a.id)
	}
	return r, socket, nil
}

// send sends a request once. The answer is "" where there was none, or one that says that
// the request was not carried out now.
func (c *callers) send(ctx context.Context, a asked, where cut, left int) string {
	r, socket, err := c.request(ctx, a, c.servers[rand.IntN(2)])
	if err != nil {
		c.t.Error(err)
		return ""
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if socket != "" {
			network, address = "unix", socket
		}
		line, err := new(net.Dialer).DialContext(ctx, network, address)
		return &cutLine{line, where, left}, err
	}}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	why := ""
	if err == nil {
		defer answer.Body.Close()
		var text []byte
		if text, err = io.ReadAll(answer.Body); err == nil {
			switch answer.StatusCode {
			case http.StatusOK, http.StatusCreated, http.StatusSeeOther:
				if a.road == byPage {
					text = nil
				}
				return fmt.Sprint(answer.StatusCode, answer.Header.Get("Location"), string(text))
			case http.StatusServiceUnavailable, http.StatusInternalServerError, http.StatusTooManyRequests:
				why = fmt.Sprint(answer.StatusCode)
			case http.StatusNotFound: // the server that has just started does not know the other one's new store
				why = "not found"
				if a.road == byBeginning {
					c.t.Errorf("%s: %s", a.id, text)
				}
			default:
				c.t.Errorf("%s by %s: %d %s", a.id, a.road, answer.StatusCode, text)
			}
		}
	}
	if err != nil {
		why = "no answer"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again[why]++
	return ""
}

// persist sends a request until it is answered, as callers do, and compares the answer with the
// first.
func (c *callers) persist(ctx context.Context, a asked, rng *rand.Rand) {
	for ctx.Err() == nil {
		where, left := nowhere, 0
		switch k := rng.IntN(20); {
		case k < 1:
			where = beforeRequest
		case k < 3:
			where, left = inRequest, 1+rng.IntN(300)
		case k < 5:
			where, left = inAnswer, 1+rng.IntN(300)
		case k < 8:
			where = beforeAnswer
		}
		answer := c.send(ctx, a, where, left)
		c.mu.Lock()
		c.sent++
		first, answered := c.answers[a.id]
		if answer != "" && !answered {
			c.answers[a.id] = answer
		}
		c.mu.Unlock()
		if answer != "" && answered && answer != first {
			c.t.Errorf("%s by %s was answered with\n%s\nand sent again with\n%s", a.id, a.road, first, answer)
		}
		if answer != "" {
			return
		}
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	}
	c.t.Errorf("%s by %s was never answered", a.id, a.road)
}

// counted is the file of a campaign in which requests are counted.
func counted(name string) string {
	return "name: " + name + "\nparameters: [{name: x, min: 0, max: 1}]\nobjective: {name: flow, goal: maximize}\n" +
		"initial: {experiments: 2}\nbudget: {experiments: 4}\npolicy: sobol\ninstrument: manual\n"
}

// ask makes a request and repeats it, at once, in parallel or later.
func (c *callers) ask(ctx context.Context, a asked, rng *rand.Rand) {
	copies := 1
	if rng.IntN(4) == 0 {
		copies = 3
	}
	var all sync.WaitGroup
	for range copies {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		all.Go(func() { c.persist(ctx, a, own) })
	}
	all.Wait()
	if rng.IntN(3) == 0 {
		c.persist(ctx, a, rng)
	}
}

// Law: a caller's request is counted once, however often it is sent, by the API, a page or the
// control socket, with connections that are cut before, in and after the answer, at once and again,
// to either of two servers over one store, or of one lab in a database, that are killed in turn; and
// each time it is answered, it is answered the same. A command that ends well has counted once, and
// one that does not at most once.
func TestCountedOnce(t *testing.T) {
	binary := built.Program(t)
	t.Run("folder", func(t *testing.T) {
		countedOnce(t, binary, setting(t, "CAMPAIGND_ONCE", 300), filepath.Join(folder(t), "shared.campaign"))
	})
	t.Run("farm", func(t *testing.T) {
		countedOnce(t, binary, setting(t, "CAMPAIGND_ONCE_FARM", 150), pgtest.URL(t))
	})
}

// countedOnce makes so many requests of two servers of a place: a store in a folder, or the lab in a
// database.
func countedOnce(t *testing.T, binary string, requests int, place string) {
	rng := rand.New(rand.NewPCG(uint64(setting(t, "CAMPAIGND_ONCE_SEED", 1)), 0x6f6e6365)) // "once"
	dir, farm := folder(t), store.InDatabase(place)
	c := &callers{t: t, place: place, answers: make(map[string]string), again: make(map[string]int)}
	for i := range c.servers {
		c.servers[i] = &served{t: t, binary: binary, dir: dir, name: fmt.Sprint(i), store: place}
	}
	for _, d := range []string{c.servers[0].folder(), c.servers[1].folder(), filepath.Join(dir, "tmp")} {
		must.Do(t, os.MkdirAll(d, 0o777))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(requests)*100*time.Millisecond)
	defer cancel()
	var processes [2]*exec.Cmd
	t.Cleanup(func() { // where the test ends early
		for _, p := range processes {
			if p != nil {
				_ = p.Process.Kill()
			}
		}
	})
	for i := range processes {
		processes[i] = c.servers[i].live()
	}
	names := []string{"driven", "halted"} // one with a loop, one without
	for _, name := range names {
		path := "/api/v1/campaigns?run=" + fmt.Sprint(name == "driven")
		must.Do(t, c.servers[0].ask(ctx, "POST", path, "application/yaml", counted(name), nil))
	}

	jobs := make(chan asked)
	var work sync.WaitGroup
	for range 16 {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		work.Go(func() {
			for a := range jobs {
				c.ask(ctx, a, own)
			}
		})
	}
	commands := make(map[string]error)
	over := make(chan struct{})
	var kills atomic.Int64
	var killing sync.WaitGroup
	own := rand.New(rand.NewPCG(rng.Uint64(), 0))
	pause := time.Duration(300+requests/4) * time.Millisecond // a store that is taken over takes no requests
	if farm {
		pause += 5 * time.Second // a lease ends first
	}
	killing.Go(func() { // one server after the other
		for victim := 0; ; victim = 1 - victim {
			select {
			case <-time.After(pause + time.Duration(own.Int64N(int64(pause)))):
			case <-over:
				return
			}
			_ = processes[victim].Process.Kill()
			_ = processes[victim].Wait()
			kills.Add(1)
			processes[victim] = c.servers[victim].live()
		}
	})
	var all []asked
	for n := range requests {
		a := asked{road: byAPI + road(rng.IntN(3)), id: fmt.Sprint("request-", n), text: fmt.Sprint("text ", n), campaign: names[rng.IntN(2)]}
		if farm && a.road == bySocket {
			a.road = byPage // what commands send instead, a letter, is a command's below
		}
		switch {
		case n%100 == 50:
			a.road, a.campaign = byImport, "halted"
		case n%1000 == 20:
			a.road, a.campaign = byBeginning, fmt.Sprint("begun", n)
		case n%150 == 10: // by the program, which chooses its identifier itself
			command := exec.CommandContext(ctx, binary, "note", c.store(a.campaign), "--campaign", a.campaign, a.text)
			command.Env = c.servers[0].environment()
			text, err := command.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, text)
			}
			commands[a.text] = err
			continue
		}
		all = append(all, a)
		jobs <- a
	}
	close(jobs)
	work.Wait()
	for range len(all) / 10 { // and some of them long afterwards
		c.persist(ctx, all[rng.IntN(len(all))], rng)
	}
	close(over)
	killing.Wait()
	for _, p := range processes {
		_ = p.Process.Signal(os.Interrupt)
		_ = p.Wait()
	}
	t.Logf("%d requests, sent %d times, %d kills, again for %v; %d commands", requests, c.sent, kills.Load(), c.again, len(commands))

	counts := c.count()
	for _, a := range all {
		what := a.text
		if a.road == byBeginning {
			what = a.campaign
		}
		if n := counts[what]; n != 1 {
			t.Errorf("%s by %s counts %d times", a.id, a.road, n)
		}
	}
	for text, err := range commands {
		if n := counts[text]; n > 1 || err == nil && n != 1 {
			t.Errorf("the note %q of a command that ended with %v counts %d times", text, err, n)
		}
	}
}

// store is the address of the store of a campaign.
func (c *callers) store(campaign string) string {
	if store.InDatabase(c.place) {
		return store.In(c.place, campaign)
	}
	return c.place
}

// stores are the addresses of all stores.
func (c *callers) stores() (addresses []string) {
	if !store.InDatabase(c.place) {
		return []string{c.place}
	}
	d := must.Get(store.OpenDatabase(c.place))(c.t)
	defer d.Close()
	rows := must.Get(d.Stores(c.t.Context()))(c.t)
	for _, row := range rows {
		addresses = append(addresses, store.In(c.place, row.Name))
	}
	return addresses
}

// count counts the notes with each text, and how often each campaign was begun, from the logs alone.
func (c *callers) count() map[string]int {
	counts := make(map[string]int)
	for _, address := range c.stores() {
		c.countIn(address, counts)
	}
	return counts
}

func (c *callers) countIn(address string, counts map[string]int) {
	log := must.Get(store.Open(address, store.Options{ReadOnly: true}))(c.t)
	defer log.Close()
	for e := range must.Each(c.t, log.Read(c.t.Context(), 0)) {
		switch e.Kind {
		case events.KindCampaignDefined:
			counts[e.Campaign]++
		case events.KindNoteAdded:
			var note struct{ Text string }
			must.Do(c.t, json.Unmarshal(e.Data, &note))
			counts[note.Text]++
		}
	}
}
