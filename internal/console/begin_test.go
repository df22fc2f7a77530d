package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/examples"
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
		c, err := s.lab.Campaign(e.Name)
		if err != nil {
			t.Fatal(err)
		}
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
	r, err := http.NewRequest(http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	status, header, text := s.do(r)
	return status, header.Get("Location"), text
}
