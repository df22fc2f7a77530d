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

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/report"
	"github.com/campaignd/campaignd/projections/campaign"
)

// campaignPage is a campaign, now or as it was after an earlier experiment: its state, and what
// follows from it. Its parts are finished texts and drawings, made while the core was at hand: the
// template works nothing out, and holds nothing of the campaign that could change under it. Can is
// all false for an earlier state: no one can act on the past.
type campaignPage struct {
	*shell
	Stands *view.Campaign
	State  state
	Clock  string // how the clock of the machine that runs it was set meanwhile
	Needs  []need
	Under  []underWay
	Found  findings
	Drawn  drawings
	Tables tables
	// Tab is the part of the page that is shown below the summary.
	Tab string
	// PastText says as of when an earlier state is shown, "" for now.
	PastText string
	PastTime time.Time
	// AsOf of Count experiments had been requested.
	AsOf, Count int
	Devices     []device
	Stocks      []stockCard
	Batches     batchesPart
	World       string // simulated, or empty
	// Sought and Required are the objectives and the constraints of several quantities.
	Sought, Required []string
	Backtest         string // how a backtest found the best row of its table
	Can              allowed
}

// underWay is an experiment that has no outcome yet.
type underWay struct {
	campaign.Experiment
	Line, Device string
}

// Since is when it was sent, or requested where that has not been done yet.
func (x underWay) Since() time.Time {
	if x.Command.DispatchedAt.After(x.RequestedAt) {
		return x.Command.DispatchedAt
	}
	return x.RequestedAt
}

// Sign is how far it is, by the instrument's latest sign; empty without one.
func (x underWay) Sign() string { return view.SignText(x.Command.Sign) }

// findings are a campaign's findings: the composition to go by, or each expert's favorite, where
// nothing is measured. Both are empty at first.
type findings struct {
	Leading   []cardRow
	Preferred []view.Row
	Front     *frontPart // of a trade-off
	Ranked    *ranked    // of outcomes, by an expert's preference
}

// drawings are the figures of the experiments. X and Y are the numbers of the parameters, of Axes,
// on the axes of the scatter.
type drawings struct {
	Curve    template.HTML
	Controls []report.Figure // of reference experiments
	Scatter  template.HTML
	Parallel template.HTML
	Axes     []string
	X, Y     int
	// Bounded names the measurements that the curve leaves out, under constraints on outcomes.
	// Breaks is set where a composition is drawn that breaks one.
	Bounded string
	Breaks  bool
}

// tables are the lists of a campaign's page. Experiments is filled where the
// campaign measures, Duels where it only compares.
type tables struct {
	paged
	Last        []view.Line // events
	Order, All  string      // in which order they are, and the address of all on one page
	Columns     []column
	Experiments []experimentRow
	Duels       []duelRow
	Notes       []noteRow
	Exclusions  []exclusionRow
}

type experimentRow struct {
	campaign.Experiment
	Class  string
	Why    reason
	Best   string // in which way it is the best
	Breaks bool   // a constraint on outcomes, as measured
	Cells  []view.Cell
}

// reason is why something was done: in one line, and whole where that is more.
type reason struct{ Gist, Whole string }

// mostGist is the length, in characters, of a reason that stands whole in a table.
const mostGist = 64

// reasonIn shortens a reason to one line, at a word.
func reasonIn(text string) reason {
	letters := []rune(text)
	if len(letters) <= mostGist {
		return reason{Gist: text}
	}
	gist := string(letters[:mostGist])
	if at := strings.LastIndexByte(gist, ' '); at > 0 {
		gist = gist[:at]
	}
	return reason{strings.TrimRight(gist, ",;:. ") + " …", text}
}

// reasonFor begins the reason of an experiment with its difference from those of others, where that
// is known: most begin with the same words.
func reasonFor(x *campaign.Experiment, log *view.Timeline, whole reason) reason {
	made, decided := log.Decision(x.Decision)
	switch {
	case decided && made.Gist != "":
		return reason{made.Gist, made.Reason}
	case !decided && x.Origin == events.OriginInitial:
		return reason{Gist: "initial design"}
	case x.Reference():
		return reason{Gist: "reference"}
	}
	return whole
}

// duelRow is a comparison in the table of a campaign that measures nothing.
type duelRow struct {
	campaign.Question
	Answer string
}

type noteRow struct {
	campaign.Note
	Who string
}

// exclusionRow is an excluded region, lifted or not.
type exclusionRow struct {
	campaign.Exclusion
	Where, Who string
}

func exclusionRows(def *definition.Campaign, all []campaign.Exclusion) (rows []exclusionRow) {
	write := format.CompositionsOf(def)
	for _, x := range all {
		rows = append(rows, exclusionRow{x, write.Region(x.Region), events.ActorName(x.Actor)})
	}
	return rows
}

// showCampaign shows a campaign, and why a request on its page was refused: the form keeps its
// input. ?tab= chooses the part that is shown below the summary, ?at= shows the campaign as it was
// at an experiment, ?x= and ?y= choose the scatter's axes, ?page= the page of the table, ?sort= its
// order, ?all lists all. Invalid query parameters are ignored: addresses are easily cut off.
func showCampaign(v *visit) error {
	p := &campaignPage{shell: v.shell(v.of.Name())}
	p.Watch = p.Campaign
	log, err := v.of.Timeline(v.r.Context())
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	p.Drawn = axesOf(query)
	p.Count = len(log.Before)
	p.AsOf, err = strconv.Atoi(query.Get("at"))
	if err == nil && p.AsOf >= 1 && p.AsOf < p.Count {
		if err := p.then(v.r, v.of, log); err != nil {
			return err
		}
	} else {
		p.AsOf = p.Count
		p.now(v, log)
	}
	return v.write(drawCampaign(p))
}

// now fills in the present state of the campaign. Bests and trust need models, which are fitted in
// the background: the page waits a little for them, and shows the rest if they take longer; the
// stream of changes then has the page exchanged.
//
// Foregone reads the table of a backtest, which may take a while, and is called before the campaign
// is read.
func (p *campaignPage) now(v *visit, log *view.Timeline) {
	wait, cancel := context.WithTimeout(v.r.Context(), worthWaiting)
	defer cancel()
	v.lab.Find(wait, []*lab.Campaign{v.of})
	standing := v.of.Standing()
	p.State, p.Clock = stateOf(standing), standing.Run.Clock
	p.Needs = needsOf(v.of, standing)
	p.Can = allowedIn(standing, p.May(Run))
	best := v.of.Foregone()
	v.of.Read(func(core *engine.Core) {
		p.Tab = tabShown(core.State(), v.r.URL.Query().Get("tab"), nil)
		p.Bar = barIn(core.State(), p.Path, p.Tab)
		p.fill(v.r, core, &standing.Campaign, log)
		p.Backtest = view.Backtest(core, best)
		if p.Tab == tabInstruments {
			p.Devices = devicesOf(core.State(), log, standing)
		}
	})
}

// then fills in the state of the campaign just before the experiment that follows the requested
// one. The core is the page's own: it is not locked while the page is made. The page watches
// nothing, since the past does not change, and the timeline is cut off where the page stands, so
// that no later event speaks in it.
func (p *campaignPage) then(r *http.Request, of *lab.Campaign, log *view.Timeline) error {
	until := log.Before[p.AsOf] // the last event before the next experiment was requested
	core, err := of.At(r.Context(), until)
	if err != nil {
		return err
	}
	stood := view.CampaignOf(core, view.Shown{}, "")
	summary, err := of.Record().Summary(r.Context(), core)
	if err == nil {
		stood = view.Summarized(core, summary)
	} else if r.Context().Err() == nil {
		stood.NoModel = err.Error() // a model that cannot be built is not a fault of the page
	}
	p.Watch = ""
	p.State = state{"as it was", "paused"}
	p.PastText = fmt.Sprintf("As it was at experiment %d, after event %d of %d", p.AsOf, until,
		len(log.Lines))
	p.PastTime = log.Lines[until-1].Time
	log.Lines = log.Lines[:until]
	at := url.Values{"at": {strconv.Itoa(p.AsOf)}}
	p.Tab = tabShown(core.State(), r.URL.Query().Get("tab"), at)
	p.Bar = partsIn(core.State(), p.Path, p.Tab, at)
	p.fill(r, core, &stood, log)
	p.Backtest = view.Backtest(core, of.Foregone())
	return nil
}

// mostRows is how many experiments a page of the table has unless the visitor asks for all: the
// page is made anew at each change, for each visitor who has it open, and should be seen without
// much scrolling.
const mostRows = 20

// mostUnder is how many experiments under way the summary names.
const mostUnder = 3

// lastEvents is how many events the summary lists.
const lastEvents = 3

// fill fills in the parts that any state has, from the state of the campaign and from the core. The
// campaign cannot record an event meanwhile: everything here is quick. The state was worked out
// before, outside of that.
func (p *campaignPage) fill(r *http.Request, core *engine.Core, s *view.Campaign, log *view.Timeline) {
	state := core.State()
	p.Stands = s
	p.World = view.World(core.Registry(), s)
	if s.Definition.Several() {
		p.Sought, p.Required = view.Sought(s.Definition), view.Requirements(s.Definition)
	}
	write := format.CompositionsOf(s.Definition)
	for _, x := range s.UnderWay {
		device := instrumentName(s.Definition, &x)
		p.Under = append(p.Under, underWay{x, write.LineWithUnits(x.Parameters), device})
	}
	p.Found = foundIn(s)
	p.Drawn.curve(state)
	p.Drawn.Controls = report.ControlFigures(state, drawingsFor(p.Campaign))
	p.Tables.list(state, log)
	switch {
	case p.Tab == tabCompositions:
		p.Drawn.draw(state, s.Bests)
	case p.Tab == tabBatches:
		p.batchesOf(r, core, s)
	case p.Tab == tabStocks:
		p.Stocks = stocksOf(state, p.Path)
	case p.Tab != tabExperiments:
	case s.Definition.Measures():
		p.Tables.experiments(r, state, log, s.Bests)
	default:
		p.Tables.duels(r, state)
	}
}

// UnderFirst are the experiments under way that the summary names.
func (p *campaignPage) UnderFirst() []underWay { return p.Under[:min(len(p.Under), mostUnder)] }

// Summed is the figure of a trade-off that stands in the summary: its first two objectives against
// each other, or how far the front has come where the page shows all pairs below; nil for other
// campaigns.
func (p *campaignPage) Summed() *report.Figure {
	if p.Found.Front == nil {
		return nil
	}
	all := p.Found.Front.Figures
	switch {
	case len(all) == 0:
		return nil
	case p.Tab != tabFront:
		return &all[0]
	case all[len(all)-1].ID == report.HypervolumeID:
		return &all[len(all)-1]
	}
	return nil
}

// Below are the figures of the front that the summary does not show.
func (p *campaignPage) Below() (figures []report.Figure) {
	summed := p.Summed()
	for _, f := range p.Found.Front.Figures {
		if summed == nil || f.ID != summed.ID {
			figures = append(figures, f)
		}
	}
	return figures
}

// UnderMore counts the others.
func (p *campaignPage) UnderMore() int { return len(p.Under) - len(p.UnderFirst()) }

func foundIn(s *view.Campaign) (f findings) {
	def := s.Definition
	write := format.CompositionsOf(def)
	if _, leading := s.Leading(); leading != nil {
		f.Leading = cardRows(def, write, leading)
	}
	f.Ranked = rankedOf(def, s.Ranking)
	f.Front = frontOf(def, s.Tradeoff, drawingsFor(s.Campaign))
	for _, preferred := range s.Preferred {
		f.Preferred = append(f.Preferred,
			view.Row{Name: preferred.Expert, Text: write.LineWithUnits(preferred.Parameters)})
	}
	return f
}

// axesOf reads from an address which parameters are drawn against each other:
// by default the first two. What is out of range is drawn in ([drawings.draw]).
func axesOf(query url.Values) (d drawings) {
	d.X, _ = strconv.Atoi(query.Get("x"))
	d.Y = 1
	if y, err := strconv.Atoi(query.Get("y")); err == nil {
		d.Y = y
	}
	return d
}

// curve draws the course of the campaign. The course of a trade-off is that of its front, and an
// expert's preference has none: utilities have no unit.
func (d *drawings) curve(s *campaign.State) {
	if s.Definition.Single() {
		d.Curve = convergence(s)
		d.Bounded = boundedCurve(s)
	}
}

// draw draws the experiments, and highlights the best. A single parameter has no other to be drawn
// against.
func (d *drawings) draw(s *campaign.State, bests engine.Bests) {
	for _, par := range s.Definition.Parameters {
		d.Axes = append(d.Axes, par.Name)
	}
	last := len(d.Axes) - 1
	d.X = min(max(d.X, 0), last)
	d.Y = min(max(d.Y, 0), last)
	if len(d.Axes) > 1 {
		d.Scatter = scatter(s, d.X, d.Y, bests)
	}
	d.Parallel = parallel(s, bests)
	d.Breaks = slices.ContainsFunc(drawn(s), s.Breaks)
}

// list lists the last events, the notes and the exclusions. Exclusions that were lifted stay in the list: an earlier exclusion explains a gap in
// the measurements.
func (t *tables) list(s *campaign.State, log *view.Timeline) {
	t.Last = log.Last(lastEvents)
	for _, n := range slices.Backward(s.Notes) {
		t.Notes = append(t.Notes, noteRow{n, events.ActorName(n.Actor)})
	}
	t.Exclusions = exclusionRows(s.Definition, s.Exclusions)
}

// page chooses which of so many rows are listed, the newest first, or all of them on request. The
// rows are those before, counted from the oldest, down to first.
func (t *tables) page(r *http.Request, total int) (before, first int) {
	query := r.URL.Query()
	query.Del("said")
	query.Del("page")
	query.Set("all", "")
	t.All = "?" + query.Encode()
	each := mostRows
	if r.URL.Query().Has("all") {
		each = max(total, 1)
	}
	link := func(page int) string {
		query := r.URL.Query()
		query.Del("said") // it was said
		query.Set("page", strconv.Itoa(page))
		return r.URL.Path + "?" + query.Encode()
	}
	t.paged, first = pagedBy(each, total, r, link)
	return total - first, total - t.To
}

// duels lists the comparisons, the newest first.
func (t *tables) duels(r *http.Request, s *campaign.State) {
	t.Order = "the newest first"
	before, first := t.page(r, len(s.Questions))
	for _, q := range slices.Backward(s.Questions[first:before]) {
		row := duelRow{q, view.Stop(view.Answer(s.Definition, &q))}
		if q.Status == campaign.Asked {
			row.Answer = "It waits for an answer."
		}
		t.Duels = append(t.Duels, row)
	}
}

// experiments lists the experiments, the newest first or as ?sort= says. One is highlighted, the
// composition to go by; words name the best ones, by the model and as measured, since they may be
// two.
func (t *tables) experiments(
	r *http.Request, s *campaign.State, log *view.Timeline, bests engine.Bests,
) {
	leading, _ := bests.Leading()
	all := view.ExperimentsFor(s, view.OnPage, log, format.CompositionsOf(s.Definition), format.Short)
	// Results come first: a row of many parameters is wider than the page.
	parameter := func(c view.Column) bool { return c.Parameter }
	all.Columns = append(slices.DeleteFunc(slices.Clone(all.Columns), parameter),
		slices.DeleteFunc(all.Columns, func(c view.Column) bool { return !c.Parameter })...)
	var order []int
	t.Columns, order, t.Order = sorted(r, all)
	before, first := t.page(r, len(order))
	for _, i := range order[len(order)-before : len(order)-first] {
		x := &s.Experiments[i]
		t.Experiments = append(t.Experiments, experimentRow{
			Experiment: *x, Class: classOf(s, x, leading), Why: whyIn(s, x, log), Best: view.BestAs(bests, x.ID),
			Breaks: s.Breaks(x), Cells: all.Cells(x),
		})
	}
}

// whyIn is the reason in the row of an experiment. Why it ended without a value comes before why it
// was chosen: a reader looks for that one there.
func whyIn(s *campaign.State, x *campaign.Experiment, log *view.Timeline) reason {
	why := log.Why(s, x)
	if x.Cause != "" {
		return reasonIn(strings.TrimSpace(view.Sentence(x.Cause) + " " + why))
	}
	return reasonFor(x, log, reasonIn(why))
}

// instrumentName names the instrument of an experiment: with the device's identity where it has
// reported one.
func instrumentName(def *definition.Campaign, x *campaign.Experiment) string {
	switch {
	case def.ByHand():
		return "by hand"
	case x.Command.Identity != "" && x.Command.Identity != x.Command.Instrument:
		return x.Command.Instrument + " (" + x.Command.Identity + ")"
	case x.Command.Instrument != "":
		return x.Command.Instrument
	}
	return def.Driver().Name
}

// SubjectPath is the page of an event's subject; empty if it has none.
func (s *shell) SubjectPath(id string) string { return subjectPath(s.Campaign, id) }

// subjectPath is the page of an experiment, a question or a decision by its
// identifier; empty for others.
func subjectPath(campaign, id string) string {
	base := "/campaigns/" + url.PathEscape(campaign)
	switch {
	case events.ExperimentNumber(id) > 0:
		return base + "/experiments/" + id
	case events.QuestionNumber(id) > 0:
		return questionPath(campaign, id)
	case events.DecisionNumber(id) > 0:
		return base + "/decisions/" + id
	}
	return ""
}

// eventList is a list of events on a page, which links their subjects. Several pages share one
// template for it; the page knows the addresses.
type eventList struct {
	Page  *shell
	Lines []view.Line
}

// Told are the last events.
func (p *campaignPage) Told() eventList { return eventList{p.shell, p.Tables.Last} }

// Told are the events about the experiment.
func (p *experimentPage) Told() eventList { return eventList{p.shell, p.Lines} }

// Followed are the events that followed from the decision.
func (p *decisionPage) Followed() eventList { return eventList{p.shell, p.Story} }
