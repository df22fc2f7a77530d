package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a region is shown with the measured compositions in it and its share of the space before
// anything is recorded; what is recorded is what `exclude --where` records, once, and allowing it
// takes it back; what would leave nothing, or means nothing, is refused and says so.
func TestExcludeARegion(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 2}", "logei"))
	for i, x := range []string{"0.1", "0.75", "0.8", "0.9"} {
		salt := "A"
		if i == 3 {
			salt = "B"
		}
		s.sent("/campaigns/bench/tell", url.Values{"own.x": {x}, "own.salt": {salt}, "value": {fmt.Sprint(i)}})
	}
	count := func(kind events.Kind) int { return len(s.events(c, kind)) }
	const path = "/campaigns/bench/region"
	// x from 0.75 with A: e2 and e3 at its closed end and inside; an eighth of the space.
	status, page := s.get(path + "?min.x=0.75&is.salt=A")
	if status != http.StatusOK || !strings.Contains(page, "<b>2</b> of 4 measured compositions") {
		t.Errorf("%d %s", status, page)
	}
	share := 0.0
	_, after, _ := strings.Cut(page, `<ul class="tally"><li><b>`)
	if _, err := fmt.Sscanf(strings.ReplaceAll(after, "\u202f", " "), "%f", &share); err != nil || share < 10 || share > 15 {
		t.Errorf("an eighth of the space is %v %%, %v", share, err)
	}
	if strings.Contains(page, "The best that was measured lies in it") || count(events.KindRegionExcluded) > 0 {
		t.Error("the best is elsewhere, and nothing was sent")
	}
	if _, whole := s.get(path + "?min.x=0.9&max.x=0.9"); !strings.Contains(whole, "The best that was measured lies in it") {
		t.Error("the best lies in it, and nobody says so")
	}
	for _, query := range []string{"?look=on", "?min.x=much", "?min.x=0.7&max.x=0.3", "?is.salt=C", "?min.x=0", "?min.x=inf"} {
		if status, page := s.get(path + query); status < 400 || status >= 500 || !strings.Contains(page, `class="box bad"`) {
			t.Errorf("%s: %d", query, status)
		}
	}
	form := s.hidden(page, path)
	form.Set("reason", "it clouds")
	s.sent(path, form)
	s.sent(path, form) // pressed twice
	if n := count(events.KindRegionExcluded); n != 1 {
		t.Fatalf("%d exclusions", n)
	}
	payload := must.Get(events.Decode(s.events(c, events.KindRegionExcluded)[0]))(t)
	excluded := payload.(*events.RegionExcluded)
	x, salt := excluded.Region.Where["x"], excluded.Region.Where["salt"]
	if excluded.Reason != "it clouds" || x.Min == nil || *x.Min != 0.75 || x.Max != nil || salt.Is != "A" || len(excluded.Region.Where) != 2 {
		t.Errorf("recorded: %+v", excluded)
	}
	_, page = s.get(path)
	s.sent("/campaigns/bench/allow", s.hidden(page, "/campaigns/bench/allow"))
	c.Read(func(core *engine.Core) {
		if !core.State().Exclusions[0].Lifted {
			t.Error("it still holds")
		}
	})
	// Without a reason it says that there is none.
	_, page = s.get(path + "?max.x=0.05")
	s.sent(path, s.hidden(page, path))
	c.Read(func(core *engine.Core) {
		if last := core.State().Exclusions[1]; last.Reason == "" || last.Lifted {
			t.Errorf("%+v", last)
		}
	})
	if status, _, _ := s.post(path, url.Values{"min.x": {"0"}}); status < 400 || count(events.KindRegionExcluded) != 2 {
		t.Errorf("all was excluded: %d", status)
	}
}
