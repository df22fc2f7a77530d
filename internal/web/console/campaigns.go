package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// perPage is how many campaigns a page lists: each row may wait for models, and
// has a drawing.
const perPage = 50

// listed is a campaign in the list: its state, and what follows from it. Composition is the one to
// go by, in one line, or the first expert's favorite where nothing is measured.
type listed struct {
	Name, Path  string
	Stands      *view.Campaign
	State       state
	World       string // the simulated parts; empty where nothing is simulated
	Composition string
	// GoBy is why that experiment is the one to go by, where several quantities are sought, GoByID
	// which it is. Unknown is why no experiment is, though something was measured.
	GoBy, GoByID, Unknown string
	// Expects is the expected outcome of that composition, for a trade-off; SparkOf names the
	// values of Spark where they are not the best so far of the objective.
	Expects, SparkOf string
	Spark            template.HTML
	Needs            []need
	Can              allowed
	Filing           lab.Filing
	CanFile          bool
}

// allowed tells which actions a campaign offers, by its status and by the visitor's rights: buttons
// that would be refused are not shown. That they are shown decides nothing: a form is judged when
// it comes.
type allowed struct{ Run, Halt, Pause, Resume, Abort, Stop bool }

// allowedIn returns the actions that the campaign's status and the visitor's rights allow. Only a
// campaign that the lab runs can be halted here; one that another process runs is halted there, or
// paused by an event.
func allowedIn(s lab.Standing, may bool) allowed {
	open := may && !s.Status.Ended()
	return allowed{
		Run:    open && !s.Runs(),
		Halt:   may && s.Ours(),
		Pause:  may && s.Status == campaign.Running,
		Resume: may && s.Status == campaign.Paused,
		Abort:  open || may && s.Open > 0,
		Stop:   open,
	}
}

// state is where a campaign stands, in words and as a class of the stylesheet.
type state struct{ Text, Class string }

// need is something that waits for a person, with the way to settle it: a link or a button. A
// button is a form without fields, so it can only stand for a request without words.
type need struct {
	Text   string
	Link   string // a page
	Post   string // or a form without fields
	Button string
	Alarm  bool // something is wrong; else a person is merely awaited
	Also   Link // another page that helps
}

// stateOf says where a campaign stands: its end first, then what keeps it from running, then where
// it runs. A campaign in trouble may be paused too; a person must hear of the trouble first.
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
	case s.Elsewhere && s.Run.PID == 0:
		return state{"starting", "running"}
	case s.Elsewhere:
		return state{"running on " + s.Run.Host, "running"}
	case s.Runs():
		return state{fmt.Sprintf("running in process %d", s.Run.PID), "running"}
	}
	return state{"not running", "idle"}
}

// campaignsPage is the list of campaigns that the visitor may see. Troubles and Unsent are shown
// only to visitors who may see all of them, since they name campaigns.
type campaignsPage struct {
	*shell
	paged
	listing
	Rows             []listed
	Filters, Tags    []filter
	Sorts            []sorting
	Troubles         []string // stores that cannot be opened
	Unsent           []string // systems that do not take events
	Ending           []string // stocks of the lab that come to an end
	HasStocks        bool
	Unserviced       []string // instruments of the lab that are withheld, or soon will be
	HasInstruments   bool
	CanDefine        bool
	Nothing, NoMatch bool   // the lab has no campaign; none matches
	Here             string // the address of this part of the list, without its path
}

// listing is which part of the list is shown, and in which order, as its address says.
type listing struct {
	Query, Show, Tag, Sort string
	Turned                 bool // in the opposite order
}

// listingOf reads an address. An unknown order means the order of the names.
func listingOf(q url.Values) listing {
	l := listing{Query: strings.TrimSpace(q.Get("q")), Show: q.Get("show"), Tag: q.Get("tag"),
		Sort: q.Get("sort"), Turned: q.Get("turned") != ""}
	if !slices.ContainsFunc(sorts, func(s sorting) bool { return s.Word == l.Sort }) {
		l.Sort = ""
	}
	return l
}

// query returns the part of an address that stands for the listing and the page. Defaults are left
// out, so that one part has one address.
func (l listing) query(page int) string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("q", l.Query)
	set("show", l.Show)
	set("tag", l.Tag)
	set("sort", l.Sort)
	if l.Turned {
		q.Set("turned", "on")
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return q.Encode()
}

// at is the address of a page of the listing.
func (l listing) at(page int) string {
	if q := l.query(page); q != "" {
		return "/campaigns?" + q
	}
	return "/campaigns"
}

// sorting is an order of the list, by the word in the address.
type sorting struct{ Word, Text string }

// sorts are the orders of the list.
var sorts = []sorting{
	{"", "name"}, {"state", "state"}, {"last", "last event"}, {"best", "best"}, {"experiments", "experiments"},
}

// order compares two campaigns as a word says: the newest, the best and the one with
// the most first. Bests are compared among campaigns that seek the same in the same
// unit; one without a best comes after them.
func order(word string, a, b lab.Standing) int {
	switch word {
	case "state":
		return cmp.Compare(stateOf(a).Text, stateOf(b).Text)
	case "last":
		return b.Last.Compare(a.Last)
	case "experiments":
		return cmp.Compare(b.Done, a.Done)
	case "best":
		x, y := a.Definition.Sought(), b.Definition.Sought()
		if a.BestMeasured == nil || b.BestMeasured == nil {
			return cmp.Compare(btoi(a.BestMeasured == nil), btoi(b.BestMeasured == nil))
		}
		by := cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Unit, y.Unit), cmp.Compare(string(x.Goal), string(y.Goal)))
		if by != 0 {
			return by
		}
		if x.Better(a.BestMeasured.Value, b.BestMeasured.Value) {
			return -1
		}
		return btoi(x.Better(b.BestMeasured.Value, a.BestMeasured.Value))
	}
	return 0
}

func btoi(is bool) int {
	if is {
		return 1
	}
	return 0
}

// paged is which part of a list a page shows: the items From to To of Total,
// and the addresses of the pages before and after it.
type paged struct {
	From, To, Total int
	Previous, Next  string
}

// pagedBy divides a list into pages of so many items each, and returns the one
// that ?page= asks for, else the nearest: the list may have become shorter
// since the link was made. link is the address of a page. The page holds the
// items list[first:To].
func pagedBy(each, total int, r *http.Request, link func(page int) string) (p paged, first int) {
	last := max(1, (total+each-1)/each)
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	number = min(max(number, 1), last)
	first = (number - 1) * each
	p = paged{Total: total, To: min(first+each, total)}
	p.From = min(first+1, p.To)
	if number > 1 {
		p.Previous = link(number - 1)
	}
	if number < last {
		p.Next = link(number + 1)
	}
	return p, first
}

// filter is a link to a part of the list, with the number of campaigns in it.
type filter struct {
	Text, Link string
	Count      int
	On         bool
}

// shows are the parts of the list, by the word in the address.
var shows = []struct{ word, text string }{
	{"", "All"}, {"needs", "Waiting for a person"}, {"mine", "Mine to answer"}, {"running", "Running"}, {"ended", "Ended"},
	{"archived", "Archived"},
}

// worthWaiting is how long a page waits for the models' statements: a second is the most that does
// not interrupt a person's thought. Statements that take longer are shown by the next page, or by
// the stream of changes.
const worthWaiting = time.Second

// atOnce is how long the list waits for them. People look at the list first, and many times a day;
// the models' statements about its campaigns come with the stream a moment later.
const atOnce = 20 * time.Millisecond

// showCampaigns lists the campaigns: ?q= searches, ?show= keeps a part, ?tag= those with a tag,
// ?sort= orders, ?page= pages. Counts are of all that match, before the part is chosen. Choosing
// looks at every campaign, and takes only the data at hand; models are asked for the rows of one
// page.
func showCampaigns(v *visit) error {
	p := campaignsPage{shell: v.shell("Campaigns"), listing: listingOf(v.r.URL.Query()), Sorts: sorts}
	p.Watch = "*"
	if p.Visitor.may(See, "") == nil { // stores are named like campaigns
		p.Troubles = v.lab.Troubles()
		if v.options.Unsent != nil {
			p.Unsent = v.options.Unsent()
		}
		p.Ending, p.HasStocks = v.ending()
		p.Unserviced, p.HasInstruments = v.unserviced()
	}
	p.CanDefine = p.Visitor.may(Define, "") == nil
	all := v.chosen(&p)
	var first int
	p.paged, first = pagedBy(perPage, len(all), v.r, p.at)
	p.Here = p.query(1 + first/perPage)
	// Only the rows of this page need their bests, which take models.
	ctx, cancel := context.WithTimeout(v.r.Context(), atOnce)
	defer cancel()
	shown := all[first:p.To]
	v.lab.Find(ctx, shown)
	for _, each := range shown {
		stands := each.Standing().Campaign
		p.Rows = append(p.Rows, listedOf(each, view.World(v.lab.Registry(), &stands), p.Visitor.may(Run, each.Name()) == nil))
	}
	return v.write(drawCampaigns(p))
}

// chosen returns the campaigns of the part that the page shows, in its order, and fills in the
// number in each part and of each tag. A campaign without a definition has nothing to show and is
// left out.
func (c *Console) chosen(p *campaignsPage) (chosen []*lab.Campaign) {
	counts, tags := make(map[string]int), make(map[string]int)
	standings := make(map[*lab.Campaign]lab.Standing)
	p.Nothing = true
	for _, each := range c.lab.Campaigns() {
		if p.Visitor.may(See, each.Name()) != nil {
			continue
		}
		p.Nothing = false
		s, filing := each.Standing(), each.Filing()
		if s.Definition == nil || !matches(p.Query, s, filing.Tags) {
			continue
		}
		parts := partsOf(s, needsOf(each, s), filing, asked(p.Visitor, each, s))
		in := slices.Contains(parts, p.Show)
		for _, tag := range filing.Tags {
			if in {
				tags[tag]++
			}
		}
		if p.Tag != "" && !slices.Contains(filing.Tags, p.Tag) {
			continue
		}
		for _, part := range parts {
			counts[part]++
		}
		if in {
			chosen, standings[each] = append(chosen, each), s
		}
	}
	slices.SortStableFunc(chosen, func(a, b *lab.Campaign) int { return order(p.Sort, standings[a], standings[b]) })
	if p.Turned {
		slices.Reverse(chosen)
	}
	p.NoMatch = !p.Nothing && len(chosen) == 0
	for _, s := range shows {
		l := p.listing
		l.Show = s.word
		p.Filters = append(p.Filters, filter{s.text, l.at(1), counts[s.word], s.word == p.Show})
	}
	if p.Tag != "" && tags[p.Tag] == 0 {
		tags[p.Tag] = 0 // the way back
	}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		l := p.listing
		if l.Tag = tag; tag == p.Tag {
			l.Tag = ""
		}
		p.Tags = append(p.Tags, filter{tag, l.at(1), tags[tag], tag == p.Tag})
	}
	return chosen
}

// asked reports whether a campaign has a question that the visitor may answer.
func asked(v Visitor, of *lab.Campaign, s lab.Standing) bool {
	return v.may(AnswerIt, of.Name()) == nil && slices.ContainsFunc(s.ForPeople(), func(q campaign.Question) bool {
		return v.answersAs(q.Expert, of.Name()) == nil
	})
}

// partsOf returns the parts of the list that hold a campaign, of shows. The
// first holds all but those in the archive, which are in none of the others; a campaign that
// waits for a person is in that part whether it runs or has ended, since a measurement
// may be in doubt after the end. One that runs again is not kept out of sight.
func partsOf(s lab.Standing, needs []need, filing lab.Filing, asked bool) []string {
	if filing.Archived && !s.Runs() {
		return []string{"archived"}
	}
	parts := []string{""}
	if len(needs) > 0 {
		parts = append(parts, "needs")
	}
	if asked {
		parts = append(parts, "mine")
	}
	if s.Status.Ended() {
		return append(parts, "ended")
	}
	if s.Runs() {
		parts = append(parts, "running")
	}
	return parts
}

// matches reports whether a campaign is found: every word stands in its name,
// its description, its objective, its instrument, its status or a tag, in any case of
// letters and as part of a word.
func matches(query string, s lab.Standing, tags []string) bool {
	def := s.Definition
	text := strings.ToLower(strings.Join(append([]string{
		s.Summary.Campaign, def.Description, def.Sought().Name, def.Driver().Name, string(s.Status),
	}, tags...), " "))
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// listedOf writes a campaign's row, for a visitor who may run it or not. It
// writes numbers and drawings of one Standing, and models' words as far as they
// were found by then.
func listedOf(c *lab.Campaign, world string, may bool) listed {
	s := c.Standing()
	row := listed{
		Name: c.Name(), Path: address(c), Stands: &s.Campaign, State: stateOf(s), World: world,
		Spark: sparkline(s.Values, s.Definition.Sought()), Needs: needsOf(c, s), Can: allowedIn(s, may),
		Filing: c.Filing(), CanFile: may,
	}
	// What is needed has its button already.
	row.Can.Run = row.Can.Run && !slices.ContainsFunc(row.Needs, need.runs)
	row.Can.Pause = row.Can.Pause && s.Runs()
	write := format.CompositionsOf(s.Definition)
	id, leading := s.Leading()
	if leading != nil {
		row.Composition = write.LineWithUnits(leading)
	}
	traded := s.Definition.Tradeoff() != nil
	switch {
	case s.Definition.Single():
	case leading != nil && traded:
		row.GoBy, row.GoByID = "suggested compromise", id
	case leading != nil:
		row.GoBy, row.GoByID = "preferred so far", id
	case len(s.Values) > 0:
		row.Unknown = s.NoModel
	}
	if traded {
		row.SparkOf = "measured " + s.Definition.Sought().Name
	}
	if t := s.Tradeoff; t != nil {
		row.Spark, row.SparkOf = sparkline(coveredIn(t), view.Covered), "covered by the front"
		if m := t.Member(id); m != nil {
			row.Expects = expectedIn(m)
		}
	}
	if leading == nil && len(s.Preferred) > 0 {
		row.Composition = write.LineWithUnits(s.Preferred[0].Parameters)
	}
	return row
}

// coveredIn is how much a front has covered after each experiment, in percent of today.
func coveredIn(t *seek.Front) (percent []campaign.Judged) {
	if !(t.Hypervolume > 0) {
		return nil
	}
	for _, after := range t.Curve {
		percent = append(percent, campaign.Judged{Value: 100 * after.Hypervolume / t.Hypervolume, Keeps: campaign.KeepsAll})
	}
	return percent
}

// expectedIn writes the expected outcome of a composition in a line.
func expectedIn(m *seek.Member) string {
	var texts []string
	for _, q := range believed(m) {
		texts = append(texts, q.Name+" "+q.Text)
	}
	return strings.Join(texts, ", ")
}

// runs reports whether the need is that the campaign is run.
func (n need) runs() bool { return strings.HasSuffix(n.Post, "/run") }

// needsOf returns what waits for a person in a campaign, faults first. A campaign that has not been
// started waits for a person as much as one that cannot run: nothing else would start it. Where
// this process runs it, or is about to, it gets no button to run it.
func needsOf(c *lab.Campaign, s lab.Standing) (needs []need) {
	base := address(c)
	if s.Trouble != nil && !s.Status.Ended() {
		n := need{Text: "It is not running: " + view.Sentence(s.Trouble.Error()), Alarm: true}
		if !s.Ours() {
			n.Post, n.Button = base+"/run", "Run it"
		}
		needs = append(needs, n)
	}
	for _, text := range s.Unsafe() {
		needs = append(needs, need{Text: view.Stop(text), Alarm: true})
	}
	needs = append(needs, calledOffNeeds(&s.Campaign, base, s.Runs())...)
	needs = append(needs, openNeeds(&s.Campaign, base)...)
	for _, r := range view.InLab(s.Run.Remedies) {
		needs = append(needs, need{Text: view.Stop(view.Task(s.WaitingFor)), Alarm: true,
			Link: wayOf(r, s.Campaign.Campaign).Link, Button: "See to it"})
	}
	if s.Failure != "" {
		needs = append(needs, need{
			Text: "The model could not be fitted: " + view.Sentence(s.Failure),
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

// openNeeds returns a campaign's tasks for people: unknown fates, silent instruments, doubtful
// measurements, open questions to people, and experiments made by hand. base is the address of its
// page.
func openNeeds(s *view.Campaign, base string) (needs []need) {
	def := s.Definition
	at := func(id string) string { return base + "/experiments/" + id }
	needs = actsNeed(s, base)
	for i := range s.UnderWay {
		x := &s.UnderWay[i]
		switch {
		case x.Command.BeingCalledOff(): // that comes first
		case x.Status == campaign.Unresolved:
			text := fmt.Sprintf("The fate of %s is unknown: %s", x.ID, view.Sentence(x.Cause))
			needs = append(needs, need{Text: text, Link: at(x.ID), Button: "Settle it", Alarm: true})
		case x.Command.Stalled:
			text := fmt.Sprintf("%s has been silent for long over %s.", x.Command.Instrument, x.ID)
			needs = append(needs, need{Text: text, Link: at(x.ID), Button: "Look at it", Alarm: true})
		}
	}
	for _, x := range s.Doubtful {
		text := fmt.Sprintf("%s is in doubt: %s", x.ID, view.Sentence(x.Flag.Reason))
		needs = append(needs, need{Text: text, Link: at(x.ID), Button: "Judge it", Alarm: true})
	}
	for _, d := range s.Drifts {
		text := s.DriftText(d) + ": the instrument may have drifted. Look at it, and write a note on " + d.Experiment + "."
		needs = append(needs, need{Text: text, Link: base + "#note", Button: "Write a note", Alarm: true})
	}
	for _, text := range s.Unmeasured {
		needs = append(needs, need{Text: view.Sentence(text), Link: base + "/definition", Button: "Change the campaign file"})
	}
	if s.Status.Ended() {
		return needs
	}
	needs = append(needs, stockNeeds(s, base)...)
	if def.ByHand() && s.Awaited != nil {
		for _, text := range view.AwaitedTexts(s.Awaited, clock.Now()) {
			needs = append(needs, need{Text: "Still to arrive: " + text + ".",
				Link: base + "/results?experiment=" + s.Awaited[0].Experiment, Button: "Enter it"})
		}
	}
	for _, q := range s.ForPeople() {
		needs = append(needs, need{Text: fmt.Sprintf("%s asks %s: %s", q.ID, q.Expert, headingOf(def, &q)),
			Link: "/questions/" + url.PathEscape(s.Definition.Name) + "/" + q.ID, Button: "Answer"})
	}
	return append(needs, toMeasureBy(s, base)...)
}

// toMeasureBy returns the need to measure by hand: one for a campaign, however many experiments it
// has, since they are done together.
func toMeasureBy(s *view.Campaign, base string) []need {
	if !s.Definition.ByHand() || s.Status == campaign.Paused {
		return nil
	}
	var waiting []string
	for _, x := range s.UnderWay {
		if x.Status != campaign.Unresolved {
			waiting = append(waiting, x.ID)
		}
	}
	switch len(waiting) {
	case 0:
		return nil
	case 1:
		return []need{{Text: waiting[0] + " is to be measured by hand.",
			Link: base + "/results?experiment=" + waiting[0], Button: "Enter the result"}}
	}
	return []need{{Text: fmt.Sprintf("%d to measure by hand: %s.", len(waiting), events.ExperimentList(waiting)),
		Link: base + "/batch", Button: "Enter results", Also: Link{"Run sheet", base + "/sheet"}}}
}

// fileCampaign files a campaign as a form says: tags with commas between them are added, others
// removed, and it is put into the archive or taken out. It leads back to the part of the
// list that the form stood in.
func fileCampaign(v *visit) error {
	change := lab.FilingChange{Remove: v.r.PostForm["remove"]}
	for _, tag := range strings.Split(text(v.r, "add"), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			change.Add = append(change.Add, tag)
		}
	}
	said := "filed"
	if word := text(v.r, "archive"); word != "" {
		archive := word == "on"
		change.Archive = &archive
		if said = "shelved"; !archive {
			said = "unshelved"
		}
	}
	if err := v.of.File(v.r.Context(), change, requested(v.r, engine.Request{})); err != nil {
		return err
	}
	back, _ := url.ParseQuery(v.r.PostForm.Get("list"))
	page, _ := strconv.Atoi(back.Get("page"))
	return v.redirect(listingOf(back).at(page), said)
}
