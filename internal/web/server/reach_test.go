package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// gadget runs a program, as far as the server knows.
type gadget struct {
	Program string `json:"program"`
}

func (*gadget) Complete(*definition.Campaign)                                  {}
func (*gadget) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }
func (*gadget) Words(*definition.Campaign) string                              { return "a gadget" }

func withGadget() registry.Registry {
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, instruments.Driver{
		Name:     "gadget",
		Settings: func() definition.Settings { return new(gadget) },
		Open: func(context.Context, definition.Campaign, instruments.Environment) (instruments.Instrument, error) {
			return silent{}, nil
		},
	})
	return reg
}

// shelved is a campaign of an instrument.
const shelved = `name: NAME
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 3}
instrument: INSTRUMENT
policy: sobol
`

// equip writes the lab file and what it names.
func (g *guarded) equip(labFile string) {
	g.t.Helper()
	for name, text := range map[string]string{
		"lab.yaml":   labFile,
		"shelf.csv":  "x,flow\n0.25,1\n0.5,2\n0.75,3\n1,1\n",
		"secret.csv": "x,flow\n0.25,1\n0.5,2\n0.75,3\n1,1\n",
		"taste.csv":  "x,flow\n0.25,1\n0.5,2\n",
	} {
		for _, l := range g.site.labs {
			must.Do(g.t, os.WriteFile(filepath.Join(l.Folder(), name), []byte(text), 0o600))
		}
	}
}

// listed is what an expert who knows a table can be asked about.
const listed = "candidates: [{x: 0.25}, {x: 0.5}]\n"

const shelf = "instruments:\n  shelf: {table: shelf.csv}\nexperts:\n  bo: {simulated: {table: taste.csv}}\n"

// Law: whoever may begin a campaign may have it reach exactly what the lab file names, and nothing
// else: no other program or file, nor the same one with another word. Only who may equip the lab
// may.
func TestReachesWhatTheLabNames(t *testing.T) {
	g := guard(t)
	g.equip(shelf)
	for _, c := range []struct {
		what, instrument, rest string
		taken                  bool
	}{
		{"the lab's own", "{lab: shelf}", "", true},
		{"the lab's own, with what reaches nothing", "{lab: shelf, stall_after: 5m}", "", true},
		{"the lab's own, written out", "{table: shelf.csv}", "", true},
		{"another file", "{table: secret.csv}", "", false},
		{"the same file by another name", "{table: ./shelf.csv}", "", false},
		{"a program", "{process: [/bin/false]}", "", false},
		{"the lab's own, read otherwise", "{table: {file: shelf.csv, columns: {flow: x}}}", "", false},
		{"a lab of the sender's", "{lab: shelf}", "lab: {instruments: {shelf: {table: secret.csv}}}\n", false},
		{"the lab's own expert", "manual", "experts: [bo]\n" + listed, true},
		{"an expert who reads another file", "manual", "experts: [{name: bo, simulated: {table: secret.csv}}]\n" + listed, false},
		{"the lab's own, and an expert who reads", "{lab: shelf}", "experts: [{name: bo, simulated: {table: secret.csv}}]\n", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			for _, who := range []string{"scientist", "admin"} {
				name := strings.ToLower(strings.Join(strings.FieldsFunc(who+"-"+c.what, func(r rune) bool { return r == ' ' || r == ',' || r == '\'' }), "-"))
				source := strings.NewReplacer("NAME", name, "INSTRUMENT", c.instrument).Replace(shelved) + c.rest
				status, text := g.as(g.token(who), "POST", "/api/v1/campaigns?run=false", "application/yaml", source)
				refused := status == http.StatusForbidden && strings.Contains(string(text), "may not change instruments")
				if c.taken && status != http.StatusCreated || !c.taken && refused != (who == "scientist") {
					t.Errorf("%s: %d %s", who, status, text)
				}
				if who == "admin" {
					continue
				}
				b := g.browser()
				g.login(b, who, "/new")
				answer, page := g.submit(b, "/new", url.Values{"source": {strings.Replace(source, "name: ", "name: p-", 1)}})
				if taken := answer.StatusCode == http.StatusOK && answer.Request.URL.Path != "/new"; taken != c.taken {
					t.Errorf("the page: %d %s", answer.StatusCode, page)
				}
			}
		})
	}
}

// Law: what the server calls besides instruments (services of messages, an issuer of logins) is named in
// the lab file alone, which nobody writes through the server: a campaign file can explain instruments and
// experts, and nothing else of a lab, whoever sends it.
func TestAddressesAreOfTheLabFile(t *testing.T) {
	g := guard(t)
	called := make(chan string, 100)
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.URL.Path }))
	t.Cleanup(inside.Close)
	generic := strings.Replace(inside.URL, "http://", "generic+http://", 1)
	g.equip(shelf)
	path := filepath.Join(g.lab.Folder(), "lab.yaml")
	for what, section := range map[string]string{
		"somebody to tell": "people: {eve: {notify: [" + generic + "]}}, alarms: [eve]",
		"an issuer":        "oidc: {issuer: " + inside.URL + ", client_id: x, roles: {x: admin}}",
		"the address":      "url: " + inside.URL,
		"passkeys":         "passkeys: {origins: [" + inside.URL + "]}",
	} {
		for _, who := range []string{"scientist", "admin"} {
			source := strings.NewReplacer("NAME", "bench", "INSTRUMENT", "manual").Replace(shelved)
			for _, text := range []string{source + "lab: {" + section + "}\n", source + section + "\n"} {
				if status, answer := g.as(g.token(who), "POST", "/api/v1/campaigns", "application/yaml", text); status != http.StatusUnprocessableEntity {
					t.Errorf("%s by %s: %d %s", what, who, status, answer)
				}
			}
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != shelf {
		t.Errorf("lab.yaml says %q, %v", text, err)
	}
	select {
	case path := <-called:
		t.Errorf("%s was called", path)
	default:
	}
}

// Law: an amendment reaches nothing that the campaign did not, by any way that it comes; one of
// anything else is not asked what the campaign reaches.
func TestAmendsWhatIsReached(t *testing.T) {
	g := guardWith(t, withGadget())
	source := strings.NewReplacer("NAME", "bench", "INSTRUMENT", "{gadget: {program: pump}}").Replace(shelved)
	if status, text := g.as(g.token("admin"), "POST", "/api/v1/campaigns?run=false", "application/yaml", source); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	c := must.Get(g.lab.Campaign("bench"))(t)
	token := g.token("here")
	store := must.Get(control.DialURL(t.Context(), g.url+"/api/v1/campaigns/bench/control", token))(t)
	defer store.Close()
	remote := func(source string) error { // as campaignd amend --server does
		file, err := g.lab.Parse(t.Context(), "the campaign file", []byte(source))
		if err != nil {
			return err
		}
		def, err := g.lab.Definition(t.Context(), c, file)
		if err != nil {
			return err
		}
		changes, err := campaignfile.Amend(g.lab.Registry(), *c.Defined(), def)
		if err != nil {
			return err
		}
		r := engine.Request{Actor: "person:here", Amend: &events.CampaignAmended{Definition: def, Changes: changes, Source: file.Source}}
		_, err = store.Submit(t.Context(), "bench", r)
		return err
	}
	b := g.browser()
	g.login(b, "here", "/")
	ways := map[string]func(source string) bool{
		"the API": func(source string) bool {
			status, _ := g.as(token, "PUT", "/api/v1/campaigns/bench/definition", "application/yaml", source)
			return status == http.StatusOK
		},
		"the protocol": func(source string) bool { return remote(source) == nil },
		"the page": func(source string) bool {
			answer, _ := g.submit(b, "/campaigns/bench/definition", url.Values{"source": {source}, "reason": {"more"}})
			return answer.StatusCode == http.StatusOK
		},
	}
	budget := 3
	for way, amend := range ways {
		budget++
		more := strings.Replace(source, "budget: {experiments: 3}", "budget: {experiments: "+fmt.Sprint(budget)+"}", 1)
		if !amend(more) {
			t.Errorf("by %s the budget is not amended", way)
		}
		if got := c.Defined().Budget.Experiments; got != budget {
			t.Errorf("by %s: a budget of %d, want %d", way, got, budget)
		}
		if amend(strings.Replace(more, "program: pump", "program: other", 1)) {
			t.Errorf("by %s another program is reached", way)
		}
		if amend(strings.Replace(more, "{gadget: {program: pump}}", "{table: secret.csv}", 1)) {
			t.Errorf("by %s a file is reached", way)
		}
	}
	if name := c.Defined().Instrument.Driver.Name; name != "gadget" {
		t.Errorf("it has become %s", name)
	}
}

// Law: a campaign that cannot be begun, for its program or its file, is no fault of the server's: the
// answer says what to do, and nothing is written.
func TestCannotBegin(t *testing.T) {
	c := serve(t)
	for what, instrument := range map[string]string{
		"echoes":         "{process: {command: [cat], reply_within: 1s}}",
		"says nothing":   "{process: {command: [sleep, '60'], reply_within: 1s}}",
		"ends":           "{process: {command: [sh, -c, exit 3], reply_within: 1s}}",
		"talks":          "{process: {command: [echo, hello], reply_within: 1s}}",
		"is not there":   "{process: {command: [./nowhere], reply_within: 1s}}",
		"is not a table": "{table: nowhere.csv}",
	} {
		source := strings.NewReplacer("NAME", "broken", "INSTRUMENT", instrument).Replace(shelved)
		status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", source)
		remedied := strings.Contains(string(text), `"remedies"`) || strings.Contains(string(text), `"faults"`) || status == http.StatusBadRequest
		if status < 400 || status >= 500 && status != http.StatusServiceUnavailable || !remedied {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	var list struct{ Campaigns []any }
	if c.get("/api/v1/campaigns", &list); len(list.Campaigns) > 0 {
		t.Errorf("there are %v", list.Campaigns)
	}
}
