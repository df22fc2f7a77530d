package console_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/examples"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: what a simulated expert is asked stands in no person's queue and takes no answer of one; a
// campaign of which something is simulated is marked so in the list and on its page, and one in
// which people measure is not.
func TestSimulationsAreMarked(t *testing.T) {
	s := serve(t, time.Hour)
	var simulated []string
	for _, e := range examples.Gallery() {
		s.sent("/begin", url.Values{"example": {e.Name}})
		simulated = append(simulated, e.Name)
	}
	taste := must.Get(s.lab.Campaign("taste"))(t)
	// Its expert is asked one thing after the other: while the campaign is halted, the question stays.
	s.until(taste, "asks", func(state *campaign.State) bool { return len(state.Questions) > 2 })
	mine := s.begin(byHand("mine", "{experiments: 1, comparisons: 2}", "{trust: coexbo}"))
	s.until(mine, "asks", func(state *campaign.State) bool { return len(state.Questions) > 1 })
	for range 20 {
		if _, page := s.get("/questions"); strings.Contains(page, "taste") || !strings.Contains(page, "/questions/mine/q1") {
			t.Fatal("what a simulation is asked stands in the queue, or what a person is asked does not")
		}
	}
	if _, page := s.get("/questions/taste/q1"); strings.Contains(page, `name="answer" value=`) || strings.Contains(page, `class="answer"`) {
		t.Error("a person can answer for a simulation")
	}
	_, list := s.get("/campaigns")
	mark := func(page, name string) bool {
		_, row, ok := strings.Cut(page, `<a href="/campaigns/`+name+`">`)
		if !ok {
			t.Fatalf("%s is not in the list", name)
		}
		row, _, _ = strings.Cut(row, `<div class="best">`)
		return strings.Contains(row, `class="world">simulated`)
	}
	for _, name := range simulated {
		if !mark(list, name) {
			t.Errorf("%s is not marked in the list", name)
		}
		if _, page := s.get("/campaigns/" + name); !strings.Contains(page, `class="world">simulated`) {
			t.Errorf("the page of %s is not marked", name)
		}
	}
	if _, page := s.get("/campaigns/mine"); mark(list, "mine") || strings.Contains(page, `class="world"`) {
		t.Error("what people measure is marked as simulated")
	}
}
