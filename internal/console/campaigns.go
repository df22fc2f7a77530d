package console

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// perPage is how many campaigns a page lists.
const perPage = 50

// listed is a campaign in the list, in finished texts.
type listed struct {
	Name, Path, Description string
	State                   state
	ByModel, Measured       string // the two bests
	Preferred, Composition  string
	Spark                   template.HTML
	Done, Budget            int
	What                    string // what Done and Budget count
	Share                   int    // of the budget, in percent
	Waits                   string
	Needs                   []need
	CanRun, CanPause        bool
	CanResume               bool
	Backtest                string // what a backtest is, where it is one
}

// state is where a campaign stands, in words and as a class of the stylesheet.
type state struct{ Text, Class string }

// need is something that waits for a person, with what settles it: a link or a
// button.
type need struct {
	Text   string
	Link   string // a page
	Post   string // or a form without fields
	Button string
	Alarm  bool // something is wrong; else a person is merely awaited
}

// stateOf says where a campaign stands: its end first, then what keeps it from
// running, then where it runs.
func stateOf(s lab.Standing) state {
	switch {
	case s.Status == campaign.Completed:
		return state{"completed", "done"}
	case s.Status == campaign.Stopped:
		return state{"stopped", "done"}
	case s.Trouble != nil:
		return state{"not running", "trouble"}
	case s.Status == campaign.Paused:
		return state{"paused", "paused"}
	case s.Here:
		return state{"running", "running"}
	case s.Runs():
		return state{fmt.Sprintf("running in process %d", s.Run.PID), "running"}
	}
	return state{"not running", "idle"}
}

// campaignsPage is the list of campaigns that the visitor may see.
type campaignsPage struct {
	*shell
	Rows             []listed
	Query, Show      string
	Total            int
	From, To         int
	Previous, Next   string
	Counts           map[string]int
	Filters          []filter
	Troubles         []string // stores that cannot be opened
	Unsent           []string // systems that do not take events
	CanDefine        bool
	Nothing, NoMatch bool // there is no campaign; none matches
}

// filter is a link to a part of the list, with the number of campaigns in it.
type filter struct {
	Text, Link string
	Count      int
	On         bool
}

// shows are the parts of the list, by the word in the address.
var shows = []struct{ word, text string }{
	{"", "All"}, {"needs", "Waiting for a person"}, {"running", "Running"}, {"ended", "Ended"},
}

// worthWaiting is how long a page waits for what models say. What takes longer
// is shown by the next page, or by the stream of changes.
const worthWaiting = time.Second

func (c *Console) campaigns(w http.ResponseWriter, r *http.Request) {
	c.showCampaigns(w, r)
}

// showCampaigns lists the campaigns: ?q= searches, ?show= keeps a part, ?page=
// pages. Counts are of all that match, before the part is chosen.
func (c *Console) showCampaigns(w http.ResponseWriter, r *http.Request) {
	p := campaignsPage{shell: c.shellOf(r, "Campaigns"), Counts: make(map[string]int)}
	p.Watch = "*"
	p.Query, p.Show = strings.TrimSpace(r.URL.Query().Get("q")), r.URL.Query().Get("show")
	if p.Visitor.may(See, "") == nil { // stores are named like campaigns
		p.Troubles = c.lab.Troubles()
		if c.options.Unsent != nil {
			p.Unsent = c.options.Unsent()
		}
	}
	p.CanDefine = p.Visitor.may(Define, "") == nil
	var rows []*lab.Campaign
	standings := make(map[*lab.Campaign]lab.Standing)
	needs := make(map[*lab.Campaign][]need)
	any := false
	for _, each := range c.lab.Campaigns() {
		if p.Visitor.may(See, each.Name()) != nil {
			continue
		}
		any = true
		s := each.Standing()
		if s.Definition == nil || !matches(p.Query, s) {
			continue
		}
		n := needsOf(each, s)
		kinds := []string{""}
		if len(n) > 0 {
			kinds = append(kinds, "needs")
		}
		if s.Status.Ended() {
			kinds = append(kinds, "ended")
		} else if s.Runs() {
			kinds = append(kinds, "running")
		}
		for _, k := range kinds {
			p.Counts[k]++
		}
		if slices.Contains(kinds, p.Show) {
			rows = append(rows, each)
			standings[each], needs[each] = s, n
		}
	}
	p.Total = len(rows)
	p.Nothing, p.NoMatch = !any, any && len(rows) == 0
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	last := max(1, (len(rows)+perPage-1)/perPage)
	number = min(max(number, 1), last)
	from := (number - 1) * perPage
	to := min(from+perPage, len(rows))
	p.From, p.To = min(from+1, to), to
	link := func(show string, page int) string {
		q := url.Values{}
		if p.Query != "" {
			q.Set("q", p.Query)
		}
		if show != "" {
			q.Set("show", show)
		}
		if page > 1 {
			q.Set("page", strconv.Itoa(page))
		}
		if len(q) == 0 {
			return "/campaigns"
		}
		return "/campaigns?" + q.Encode()
	}
	for _, s := range shows {
		p.Filters = append(p.Filters, filter{s.text, link(s.word, 1), p.Counts[s.word], s.word == p.Show})
	}
	if number > 1 {
		p.Previous = link(p.Show, number-1)
	}
	if number < last {
		p.Next = link(p.Show, number+1)
	}
	// Only the rows of this page need their bests, which take models.
	ctx, cancel := context.WithTimeout(r.Context(), worthWaiting)
	defer cancel()
	c.lab.Find(ctx, rows[from:to])
	for _, each := range rows[from:to] {
		standings[each] = each.Standing()
		row := listedOf(each, standings[each], needs[each])
		may := p.Visitor.may(Run, each.Name()) == nil
		row.CanRun = row.CanRun && may
		row.CanPause = row.CanPause && may
		row.CanResume = row.CanResume && may
		p.Rows = append(p.Rows, row)
	}
	c.write(w, http.StatusOK, "campaigns", p)
}

// matches reports whether a campaign is found: every word stands in its name,
// its description, its objective, its instrument or its status.
func matches(query string, s lab.Standing) bool {
	def := s.Definition
	text := strings.ToLower(strings.Join([]string{
		s.Summary.Campaign, def.Description, def.Sought().Name, def.Driver().Name, string(s.Status),
	}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// listedOf writes a campaign's row. Can fields say what its status allows; the
// caller removes what the visitor may not do.
func listedOf(c *lab.Campaign, s lab.Standing, needs []need) listed {
	def := s.Definition
	row := listed{
		Name: c.Name(), Path: address(c), Description: def.Description, State: stateOf(s),
		Done: s.Done, Budget: s.Budget, What: "experiments", Needs: needs,
		Spark:     sparkline(s.Values, def.Sought()),
		CanPause:  s.Status == campaign.Running && s.Runs(),
		CanResume: s.Status == campaign.Paused,
		CanRun:    !s.Status.Ended() && !s.Runs() && !slices.ContainsFunc(needs, need.runs),
	}
	if !def.Measures() {
		row.What = "comparisons"
	}
	if s.Backtest {
		row.Backtest = view.BacktestMeaning
	}
	if s.Budget > 0 {
		row.Share = min(100*s.Done/s.Budget, 100)
	}
	write := format.CompositionsOf(def)
	switch {
	case s.BestMeasured != nil:
		row.Measured = format.Quantity(s.BestMeasured.Value, s.BestMeasured.Unit) + ", in " +
			s.BestMeasured.Experiment
		row.ByModel = s.NoModel
		if s.BestByModel != nil {
			row.ByModel = view.ByModel(s.BestByModel) + ", in " + s.BestByModel.Experiment
		}
		_, leading := s.Leading()
		row.Composition = write.LineWithUnits(leading)
	case len(s.Preferred) > 0:
		row.Preferred = "preferred by " + s.Preferred[0].Expert
		row.Composition = write.LineWithUnits(s.Preferred[0].Parameters)
	}
	switch {
	case s.Status.Ended():
	case s.Computing.What != "":
		row.Waits = "computing: " + s.Computing.What
	case s.WaitingFor != "":
		row.Waits = "waiting for " + s.WaitingFor
	}
	return row
}

// runs reports whether what is needed is that the campaign is run.
func (n need) runs() bool { return strings.HasSuffix(n.Post, "/run") }

// needsOf returns what waits for a person in a campaign, what is wrong first.
func needsOf(c *lab.Campaign, s lab.Standing) (needs []need) {
	base := address(c)
	if s.Trouble != nil && !s.Status.Ended() {
		n := need{Text: "It is not running: " + sentence(s.Trouble.Error()), Alarm: true}
		if !s.Here {
			n.Post, n.Button = base+"/run", "Run it"
		}
		needs = append(needs, n)
	}
	needs = append(needs, openNeeds(&s.Campaign, base)...)
	if s.Failure != "" {
		needs = append(needs, need{
			Text: "The model could not be fitted: " + sentence(s.Failure),
			Link: base + "/log", Button: "See the log", Alarm: true,
		})
	}
	switch {
	case s.Status == campaign.Paused:
		needs = append(needs, need{Text: "It is paused.", Post: base + "/resume", Button: "Resume it"})
	case !s.Status.Ended() && !s.Runs() && s.Trouble == nil:
		needs = append(needs, need{Text: "It is not running.", Post: base + "/run", Button: "Run it"})
	}
	return needs
}

// openNeeds returns what a campaign leaves to people: unknown fates,
// silent instruments, doubtful measurements, open questions to people, and
// experiments made by hand. base is the address of its page.
func openNeeds(s *view.Campaign, base string) (needs []need) {
	def := s.Definition
	at := func(id string) string { return base + "/experiments/" + id }
	for i := range s.UnderWay {
		x := &s.UnderWay[i]
		switch {
		case x.Status == campaign.Unresolved:
			text := fmt.Sprintf("The fate of %s is unknown: %s", x.ID, sentence(x.Cause))
			needs = append(needs, need{text, at(x.ID), "", "Settle it", true})
		case x.Stalled:
			text := fmt.Sprintf("%s has been silent for long over %s.", x.Instrument, x.ID)
			needs = append(needs, need{text, at(x.ID), "", "Look at it", true})
		}
	}
	for _, x := range s.Doubtful {
		text := fmt.Sprintf("%s is in doubt: %s", x.ID, sentence(x.Flag.Reason))
		needs = append(needs, need{text, at(x.ID), "", "Judge it", true})
	}
	if s.Status.Ended() {
		return needs
	}
	for _, q := range s.Questions {
		if view.IsPerson(def, q.Expert) {
			needs = append(needs, need{fmt.Sprintf("%s asks %s: %s", q.ID, q.Expert, headingOf(def, &q)),
				"/questions/" + url.PathEscape(s.Definition.Name) + "/" + q.ID, "", "Answer", false})
		}
	}
	if def.ByHand() && s.Status != campaign.Paused {
		for _, x := range s.UnderWay {
			if x.Status != campaign.Unresolved {
				text := x.ID + " is to be measured by hand."
				needs = append(needs, need{text, base + "/results?experiment=" + x.ID, "",
					"Enter the result", false})
			}
		}
	}
	return needs
}
