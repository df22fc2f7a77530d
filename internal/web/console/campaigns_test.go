package console

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: the pages of a list hold each item once, and lead to their neighbors; what is not a page
// is the nearest one.
func TestPaged(t *testing.T) {
	for _, c := range []struct {
		total int
		asked string
		want  string // from-to of total, before and after
	}{
		{0, "", "0-0 of 0 []"},
		{3, "1", "1-3 of 3 []"},
		{4, "", "1-3 of 4 [2]"},
		{4, "2", "4-4 of 4 [1]"},
		{9, "2", "4-6 of 9 [1 3]"},
		{9, "-4", "1-3 of 9 [2]"},
		{9, "99", "7-9 of 9 [2]"},
		{9, "x", "1-3 of 9 [2]"},
	} {
		r := httptest.NewRequest("GET", "/campaigns?page="+c.asked, nil)
		p, first := pagedBy(3, c.total, r, func(page int) string { return fmt.Sprint(page) })
		var leads []string
		for _, to := range []string{p.Previous, p.Next} {
			if to != "" {
				leads = append(leads, to)
			}
		}
		if got := fmt.Sprintf("%d-%d of %d %v", p.From, p.To, p.Total, leads); got != c.want {
			t.Errorf("page %q of %d: %s, want %s", c.asked, c.total, got, c.want)
		}
		if items := max(p.To-first, 0); items > 0 && first != p.From-1 {
			t.Errorf("page %q of %d begins with %d", c.asked, c.total, first)
		}
	}
}

// Law: what may be done with a campaign follows from its status, from who runs it, and from what
// the visitor may do.
func TestAllowed(t *testing.T) {
	here := lab.Driven{Here: true}
	away := lab.Driven{Run: lab.Running{PID: 7}}
	for _, c := range []struct {
		status campaign.Status
		driven lab.Driven
		want   allowed
	}{
		{campaign.Running, lab.Driven{}, allowed{Run: true, Pause: true, Abort: true, Stop: true}},
		{campaign.Running, here, allowed{Halt: true, Pause: true, Abort: true, Stop: true}},
		{campaign.Running, away, allowed{Pause: true, Abort: true, Stop: true}},
		{campaign.Paused, here, allowed{Halt: true, Resume: true, Abort: true, Stop: true}},
		{campaign.Paused, lab.Driven{}, allowed{Run: true, Resume: true, Abort: true, Stop: true}},
		{campaign.Completed, here, allowed{Halt: true}},
		{campaign.Stopped, lab.Driven{}, allowed{}},
	} {
		s := lab.Standing{Campaign: view.Campaign{Status: c.status}, Driven: c.driven}
		if got := allowedIn(s, true); got != c.want {
			t.Errorf("%s, %+v: %+v is allowed, want %+v", c.status, c.driven, got, c.want)
		}
		if got := allowedIn(s, false); got != (allowed{}) {
			t.Errorf("%s: without the right %+v is allowed", c.status, got)
		}
	}
}

// Law: the course of a long campaign shows each experiment once, tells of the newest and of
// those that were the best so far, and grows little with the others.
func TestCourseOfManyExperiments(t *testing.T) {
	def := &definition.Campaign{Objective: definition.Objective{Name: "yield", Goal: definition.Maximize}}
	drawn := func(n int) string {
		s := &campaign.State{Definition: def}
		for i := range n {
			m := &events.Measurement{Objective: definition.Quantity{Name: "yield", Value: float64(i * i % 997)}}
			s.Experiments = append(s.Experiments, campaign.Experiment{
				ID: events.ExperimentID(i + 1), Status: campaign.Measured, Measurement: m,
			})
		}
		return string(convergence(s))
	}
	best := func(n int) (ids []string) {
		most := -1
		for i := range n {
			if v := i * i % 997; v > most {
				most = v
				ids = append(ids, events.ExperimentID(i+1))
			}
		}
		return ids
	}
	for _, n := range []int{300, 301, 1000} {
		text := drawn(n)
		dots := strings.Count(text, `class="dot `)
		path := text[max(strings.Index(text, `class="each done"`), 0):]
		plain := strings.Count(path[:strings.Index(path, "/>")], "M")
		if dots+plain != n {
			t.Errorf("%d experiments are %d marks and %d dots", n, dots, plain)
		}
		for _, id := range append(best(n), events.ExperimentID(n), events.ExperimentID(n-99)) {
			if !strings.Contains(text, `data-x="`+id+`"`) {
				t.Errorf("of %d experiments %s is not told of", n, id)
			}
		}
	}
	if more, few := len(drawn(1000)), len(drawn(301)); more > few+700*60 { // a mark takes 130
		t.Errorf("1000 experiments take %d bytes, 301 take %d", more, few)
	}
}
