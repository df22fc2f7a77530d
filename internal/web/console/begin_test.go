package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/examples"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: whoever comes to an empty folder is led to where a campaign begins, and each example
// there is one press away from its first result. A form that is sent several times, at once
// and later, begins one campaign; another form begins another, under a name of its own.
func TestGallery(t *testing.T) {
	s := serve(t, time.Second)
	if status, location, _ := s.visit("/"); status != http.StatusSeeOther || location != "/begin" {
		t.Fatalf("the empty folder answers with %d, %s", status, location)
	}
	pressed := func(name string) url.Values {
		t.Helper()
		_, page := s.get("/begin")
		form := s.hidden(page, "/begin")
		form.Set("example", name)
		return form
	}
	twice := pressed("coupling")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if status, location, text := s.post("/begin", twice); location != "/campaigns/coupling?said=begun" {
				t.Errorf("pressed several times: %d %s %s", status, location, text)
			}
		})
	}
	all.Wait()
	if status, location, _ := s.visit("/"); status != http.StatusOK {
		t.Errorf("with a campaign, the first page answers with %d, %s", status, location)
	}
	if location := s.sent("/begin", pressed("coupling")); location != "/campaigns/coupling-2?said=begun" {
		t.Errorf("pressed again: %s", location)
	}
	if location := s.sent("/begin", twice); location != "/campaigns/coupling?said=begun" {
		t.Errorf("the first form, sent again: %s", location)
	}
	for _, e := range examples.Gallery() {
		s.sent("/begin", pressed(e.Name))
		c := must.Get(s.lab.Campaign(e.Name))(t)
		s.until(c, "a first result", func(state *campaign.State) bool {
			for range state.Results() {
				return true
			}
			return slices.ContainsFunc(state.Questions, func(q campaign.Question) bool {
				return !state.Definition.Measures() && q.Status == campaign.Answered
			})
		})
	}
	if n := len(s.lab.Campaigns()); n != len(examples.Gallery())+2 {
		t.Errorf("there are %d campaigns", n)
	}
	if status, _, _ := s.post("/begin", url.Values{"example": {"none"}}); status != http.StatusBadRequest {
		t.Errorf("an example that does not exist: %d", status)
	}
}

// visit asks for a page and returns where it leads, without following it.
func (s *site) visit(path string) (int, string, string) {
	s.t.Helper()
	r := must.Get(http.NewRequest(http.MethodGet, s.server.URL+path, nil))(s.t)
	status, header, text := s.do(r)
	return status, header.Get("Location"), text
}

// Law: a table as a spreadsheet writes it becomes a campaign: what is guessed is shown with its
// reason and can be changed, the file that follows is shown with the measurements, and the
// campaign has them before it decides: its first suggestion is the model's. Sent twice it is one.
func TestFromATable(t *testing.T) {
	s := serve(t, time.Second)
	const table = "\ufeffNr;Solvent;salt (mol/kg);EC (%);DMC (%);;conductivity (mS/cm);viscosity (mPa·s)\r\n" +
		"1;A;0,8;30;70;;9,8;3,1\r\n2;A;1,0;40;60;;11,2;3,4\r\n3;B;1,2;50;50;;11,9;\r\n4;B;0,6;35;65;;8,2;3,9\r\n" +
		"5;A;1,4;45;55;;12,1;4\r\n6;B;1,1;30;70;;12,6;3,6\r\n7;A;1,6;55;45;;10,3;5,8\r\n8;B;1,6;55;45;;;\r\n;;;;;;;\r\n"
	look := func(form url.Values) (int, url.Values) {
		t.Helper()
		status, _, page := s.post("/begin/table", form)
		action := "/begin/table"
		if form.Get("do") == "write" && status == http.StatusOK {
			action = "/new"
		}
		return status, fieldsOf(t, page, action)
	}
	_, form := look(url.Values{"table": {table}, "do": {"look"}})
	for field, want := range map[string]string{
		"role.0": "leave", "role.1": "category", "role.2": "number", "low.2": "0.6", "high.2": "1.6", "unit.2": "mol/kg",
		"role.5": "maximize", "role.6": "quantity", "sum": "on", "name.2": "salt",
	} {
		if form.Get(field) != want {
			t.Errorf("%s is guessed to be %q, and not %s", field, form.Get(field), want)
		}
	}
	form.Set("role.6", "minimize")
	form.Set("low.2", "0,5")
	form.Set("high.2", "0,4")
	form.Set("do", "write")
	status, form := look(form)
	if status != http.StatusUnprocessableEntity || form.Get("role.6") != "minimize" || form.Get("low.2") != "0,5" {
		t.Fatalf("a range upside down: %d, %v", status, form)
	}
	form.Set("high.2", "1,8")
	form.Set("budget", "ten")
	form.Set("do", "write")
	if status, form = look(form); status != http.StatusUnprocessableEntity || form.Get("budget") != "ten" {
		t.Fatalf("a budget in words: %d, %v", status, form)
	}
	form.Set("budget", "10")
	form.Set("called", "mine")
	form.Set("do", "write")
	if _, form = look(form); !strings.Contains(form.Get("source"), "tradeoff: [{maximize: conductivity}, {minimize: viscosity}]") ||
		!strings.Contains(form.Get("source"), "min: 0.5, max: 1.8") || !strings.Contains(form.Get("source"), "equals: 100") {
		t.Fatalf("the file is\n%s", form.Get("source"))
	}
	narrow := url.Values{}
	for name, values := range form {
		narrow[name] = values
	}
	narrow.Set("source", strings.Replace(form.Get("source"), "max: 1.8", "max: 1.5", 1))
	if status, _, page := s.post("/new", narrow); status != http.StatusBadRequest || !strings.Contains(page, "<b>line 8</b>: salt = 1.6") {
		t.Errorf("a file that does not take a row: %d\n%s", status, page)
	}
	for range 2 {
		if location := s.sent("/new", form); location != "/campaigns/mine?said=begun" {
			t.Fatalf("it leads to %s", location)
		}
	}
	c := must.Get(s.lab.Campaign("mine"))(t)
	s.until(c, "a suggestion", func(state *campaign.State) bool { return len(state.Experiments) > 7 })
	c.Read(func(core *engine.Core) {
		for i, x := range core.State().Experiments {
			want := events.OriginImport
			if i == 7 {
				want = events.OriginPolicy
			}
			if x.Origin != want || len(core.State().Experiments) > 8 {
				t.Errorf("experiment %d is from %s", i+1, x.Origin)
			}
		}
	})
	for what, form := range map[string]url.Values{
		"a workbook": {"table": {"PK\x03\x04"}}, "nothing": {}, "ragged": {"table": {"a,b\n1,2\n1,2,3\n"}},
	} {
		if status, _, page := s.post("/begin/table", form); status != http.StatusBadRequest || !strings.Contains(page, `role="alert"`) {
			t.Errorf("%s: %d", what, status)
		}
	}
}

// fieldsOf are the fields of a form as a browser would send it.
func fieldsOf(t *testing.T, page, action string) url.Values {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(page)))(t)
	has := func(n *html.Node, name string) bool {
		return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	}
	fields := make(url.Values)
	for form := range root.Descendants() {
		if form.Data != "form" || attribute(form, "action") != action {
			continue
		}
		for n := range form.Descendants() {
			name := attribute(n, "name")
			switch {
			case n.Data == "input" && attribute(n, "type") == "checkbox" && !has(n, "checked"):
			case n.Data == "input" && name != "":
				fields.Set(name, attribute(n, "value"))
			case n.Data == "textarea" && n.FirstChild != nil:
				fields.Set(name, n.FirstChild.Data)
			case n.Data == "option" && has(n, "selected"):
				fields.Set(attribute(n.Parent, "name"), attribute(n, "value"))
			}
		}
		return fields
	}
	t.Fatalf("there is no form for %s in\n%s", action, page)
	return nil
}
