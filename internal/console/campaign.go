package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// campaignPage is a campaign, now or as it was after an earlier experiment.
type campaignPage struct {
	*shell
	Path, Description string
	State             state
	World             string // simulated, or empty
	Backtest          string // how a backtest found the best row of its table
	Reason            string // of a pause or an end
	Row               listed // progress and bests, as in the list
	Facts             []view.Row

	// What goes on.

	Needs      []need
	Under      []underWay
	Computing  string // what is computed since when; empty for nothing
	Since      time.Time
	WaitingFor string

	// What was found.

	BestRows   []cardRow
	ByModelIn  string // the experiments of the two bests
	MeasuredIn string
	Preferred  []view.Row
	Trust      []string

	// Drawings, and the parameters on the scatter's axes by their numbers.

	Curve    template.HTML
	Scatter  template.HTML
	Parallel template.HTML
	Axes     []string
	X, Y     int

	// Tables.

	Last        []view.Line // events
	Columns     []string
	Experiments []experimentRow
	More        int // rows that are not shown
	Objective   string
	Duels       []duelRow
	Notes       []noteRow
	Exclusions  []exclusionRow
	Measures    bool
	Devices     []device

	// Past is set where the page shows the campaign as it was when At of
	// Count experiments had been requested.

	Past      bool
	PastText  string
	PastTime  time.Time
	At, Count int

	// What the visitor may do, and the campaign's status allows.

	CanPause, CanResume, CanStop, CanRun, CanHalt bool
	ByHand                                        bool
}

// underWay is an experiment that has no outcome yet.
type underWay struct {
	ID, Line, Instrument, Status string
	Since                        time.Time
	Stalled                      bool
}

// experimentRow is an experiment in the table.
type experimentRow struct {
	ID, Status, Class, Predicted, Measured, Why, Decision string
	Best                                                  string // in which way it is the best
	Cells                                                 []string
	Flagged                                               bool
}

// duelRow is a comparison in the table of a campaign that measures nothing.
type duelRow struct{ ID, Expert, Answer, Decision string }

// noteRow is a note; About is the experiment or question that it is about.
type noteRow struct {
	Text, About, Who string
	At               time.Time
}

// exclusionRow is an excluded region, lifted or not.
type exclusionRow struct {
	ID, Region, Reason, Who string
	At                      time.Time
	Lifted                  bool
}

// campaign serves the page of a campaign.
func (c *Console) campaign(w http.ResponseWriter, r *http.Request) {
	if of := c.find(w, r, See); of != nil {
		c.showCampaign(w, r, of, http.StatusOK, nil, "")
	}
}

// showCampaign shows a campaign, and why a request on its page was refused: the
// form keeps what was typed. ?at= shows it as it was at an experiment, ?x= and
// ?y= choose the scatter's axes, ?all lists all experiments.
func (c *Console) showCampaign(
	w http.ResponseWriter, r *http.Request, of *lab.Campaign, status int, refusal error, action string,
) {
	p := &campaignPage{shell: c.shellOf(r, of.Name()), Path: address(of)}
	p.Campaign, p.Watch = of.Name(), of.Name()
	if refusal != nil {
		p.refused(refusal, of.Name(), action, r.PostForm)
	}
	best := of.Foregone()
	log, err := of.Timeline(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	query := r.URL.Query()
	p.X, _ = strconv.Atoi(query.Get("x"))
	p.Y = 1
	if y, err := strconv.Atoi(query.Get("y")); err == nil {
		p.Y = y
	}
	all := query.Has("all")
	p.Count = len(log.Before)
	if at, err := strconv.Atoi(query.Get("at")); err == nil && at >= 1 && at < len(log.Before) {
		until := log.Before[at] // the last event before the next experiment was requested
		// A core of its own, which no later event changes: it is not locked
		// while the page is made.
		core, err := of.At(r.Context(), until)
		if err != nil {
			c.fail(w, r, err)
			return
		}
		p.Past = true
		p.At = at
		p.Watch = ""
		p.PastText = fmt.Sprintf("As it was at experiment %d, after event %d of %d", at, until,
			len(log.Lines))
		p.PastTime = log.Lines[until-1].Time
		log.Lines = log.Lines[:until]
		standing := lab.Standing{Campaign: view.CampaignOf(core, view.Shown{}, "")}
		summary, err := of.Record().Summary(r.Context(), core)
		if err == nil {
			standing.Bests = summary.Bests
			standing.Preferred = summary.Preferred
			standing.Helps = summary.Helps
		} else if r.Context().Err() == nil {
			standing.NoModel = err.Error() // a model that cannot be built is no fault of the page
		}
		p.fill(core, standing, log, all)
		p.Backtest = view.Backtest(core, best)
		p.State = state{"as it was", "paused"}
		c.write(w, status, "campaign", p)
		return
	}
	p.At = p.Count
	// Bests and trust need models, which are fitted in the background. The page
	// waits a little for them, and shows the rest if they take longer.
	wait, cancel := context.WithTimeout(r.Context(), worthWaiting)
	defer cancel()
	c.lab.Find(wait, []*lab.Campaign{of})
	standing := of.Standing()
	p.Needs = needsOf(of, standing)
	of.Read(func(core *engine.Core) {
		p.fill(core, standing, log, all)
		p.Backtest = view.Backtest(core, best)
		p.Devices = devicesOf(core.State(), log, standing)
	})
	p.State = stateOf(standing)
	may := p.May(Run)
	ended := standing.Status.Ended()
	p.CanPause = may && standing.Status == campaign.Running
	p.CanResume = may && standing.Status == campaign.Paused
	p.CanStop = may && !ended
	p.CanRun = may && !ended && !standing.Runs()
	p.CanHalt = may && standing.Here
	c.write(w, status, "campaign", p)
}

// mostRows is how many experiments are listed unless all are asked for.
const mostRows = 60

// fill takes what is shown from the core, whose campaign cannot record an event
// meanwhile: everything here is quick.
func (p *campaignPage) fill(core *engine.Core, s lab.Standing, log *view.Timeline, all bool) {
	state := core.State()
	def := state.Definition
	p.Description = def.Description
	p.Measures = def.Measures()
	p.ByHand = def.ByHand()
	p.Objective = format.HeadingOf(def.Sought())
	p.Row = listed{Done: s.Done, Budget: s.Budget, What: "experiments"}
	if !p.Measures {
		p.Row.What = "comparisons"
	}
	if s.Budget > 0 {
		p.Row.Share = min(100*s.Done/s.Budget, 100)
	}
	if state.Reason != "" && (state.Status.Ended() || state.Status == campaign.Paused) {
		p.Reason = state.Reason
	}
	p.World = worldOf(state)
	for i := range state.Experiments {
		x := &state.Experiments[i]
		if x.Status.Open() {
			p.Under = append(p.Under, underWay{x.ID, format.CompositionsOf(def).LineWithUnits(x.Parameters),
				instrumentName(state, x), string(x.Status), latest(x.RequestedAt, x.DispatchedAt), x.Stalled})
		}
	}
	p.Computing = s.Computing.What
	p.Since = s.Computing.Since
	p.WaitingFor = s.WaitingFor
	p.Trust = view.TrustIn(s.Helps, s.Trust)
	write := format.CompositionsOf(def)
	best, leading := s.Leading()
	if measured := s.BestMeasured; measured != nil {
		p.Row.Measured, p.MeasuredIn = format.Quantity(measured.Value, measured.Unit), measured.Experiment
		p.Row.ByModel = s.NoModel
		if byModel := s.BestByModel; byModel != nil {
			p.Row.ByModel, p.ByModelIn = view.ByModel(byModel), byModel.Experiment
		}
		at := positions(def, leading)
		for k, par := range def.Parameters {
			text, _ := write.Value(k, leading)
			p.BestRows = append(p.BestRows,
				cardRow{Name: par.Name, Unit: par.Unit, Value: text, Description: par.Description,
					Bar: bar(par.Name+" "+text, at[k], nan)})
		}
	}
	for _, preferred := range s.Preferred {
		p.Preferred = append(p.Preferred,
			view.Row{Name: preferred.Expert, Text: write.LineWithUnits(preferred.Parameters)})
	}
	p.Curve = convergence(state)
	for _, par := range def.Parameters {
		p.Axes = append(p.Axes, par.Name)
	}
	p.X, p.Y = min(max(p.X, 0), len(p.Axes)-1), min(max(p.Y, 0), len(p.Axes)-1)
	if len(def.Parameters) > 1 {
		p.Scatter = scatter(state, p.X, p.Y, best)
	}
	p.Parallel = parallel(state, best)
	p.Last = log.Last(10)
	p.rows(state, log, s.Bests, all)
	for _, n := range slices.Backward(state.Notes) {
		p.Notes = append(p.Notes, noteRow{n.Text, n.About, events.ActorName(n.Actor), n.Time})
	}
	for _, x := range state.Exclusions {
		p.Exclusions = append(p.Exclusions, exclusionRow{
			x.ID, write.Region(x.Region), x.Reason, events.ActorName(x.Actor), x.Time, x.Lifted,
		})
	}
}

// rows lists the experiments, the newest first, or the comparisons where
// nothing is measured. Unless all are asked for, it lists mostRows of them.
func (p *campaignPage) rows(s *campaign.State, log *view.Timeline, bests engine.Bests, all bool) {
	def := s.Definition
	for _, par := range def.Parameters {
		p.Columns = append(p.Columns, format.Heading(par.Name, par.Unit))
	}
	if !p.Measures {
		for i := len(s.Questions) - 1; i >= 0; i-- {
			q := &s.Questions[i]
			if len(p.Duels) == mostRows && !all {
				p.More = i + 1
				break
			}
			row := duelRow{q.ID, q.Expert, stop(view.Answer(def, q)), q.Decision}
			if q.Status == campaign.Asked {
				row.Answer = "It waits for an answer."
			}
			p.Duels = append(p.Duels, row)
		}
		return
	}
	write := format.CompositionsOf(def)
	leading, _ := bests.Leading()
	for i := len(s.Experiments) - 1; i >= 0; i-- {
		x := &s.Experiments[i]
		if len(p.Experiments) == mostRows && !all {
			p.More = i + 1
			break
		}
		row := experimentRow{ID: x.ID, Status: string(x.Status), Class: classOf(x, leading),
			Decision: x.Decision, Flagged: x.InDoubt(), Best: bestOf(bests, x.ID)}
		for k := range def.Parameters {
			text, _ := write.Value(k, x.Parameters)
			row.Cells = append(row.Cells, text)
		}
		if value, ok := s.Value(x); ok {
			row.Measured = format.Short(value.Value)
		}
		if made, ok := log.Decision(x.Decision); ok {
			row.Why = made.Reason
			if made.Prediction != nil {
				row.Predicted = format.PlusMinus(made.Prediction.Mean, made.Prediction.SD, "")
			}
		} else {
			_, row.Why = view.DecisionBehind(s, x.ID)
			row.Why = sentence(row.Why)
		}
		if x.Cause != "" {
			row.Why = strings.TrimSpace(sentence(x.Cause) + " " + row.Why)
		}
		p.Experiments = append(p.Experiments, row)
	}
}

// worldOf says whether measurements are simulated; empty for real ones, and
// while there is none.
func worldOf(s *campaign.State) string {
	simulated, real := 0, 0
	for i := range s.Experiments {
		switch x := &s.Experiments[i]; {
		case x.Measurement == nil:
		case x.Simulated:
			simulated++
		default:
			real++
		}
	}
	switch {
	case simulated > 0 && real > 0:
		return "simulated in part"
	case simulated > 0:
		return "simulated"
	}
	return ""
}

// instrumentName names what measures an experiment: with the device's identity
// where it has reported one.
func instrumentName(s *campaign.State, x *campaign.Experiment) string {
	switch {
	case s.Definition.ByHand():
		return "by hand"
	case x.Identity != "" && x.Identity != x.Instrument:
		return x.Instrument + " (" + x.Identity + ")"
	case x.Instrument != "":
		return x.Instrument
	}
	return s.Definition.Driver().Name
}

// latest returns the last of some times.
func latest(times ...time.Time) (t time.Time) {
	for _, other := range times {
		if other.After(t) {
			t = other
		}
	}
	return t
}

// action is something that a form of a campaign asks for, and how the answer is
// made. One handler serves all of them: see [Console.act].
type action struct {
	// path is the end of the form's address, permission what the visitor must
	// have, said the key of the message that is shown afterwards.
	path, permission, said string
	// act is what a lab may want the visitor to confirm: see
	// [Visitor.Confirmed].
	act string
	// request reads the form into a request; do, if set, acts without one.
	request func(r *http.Request, of *lab.Campaign) (engine.Request, error)
	do      func(ctx context.Context, of *lab.Campaign) error
	// look answers a form whose button only shows what would become of the
	// campaign; nil where none has one.
	look func(w http.ResponseWriter, r *http.Request, of *lab.Campaign)
	// show shows the form's page again, with what was wrong.
	show func(w http.ResponseWriter, r *http.Request, of *lab.Campaign, status int, refusal error, action string)
	// back is where the visitor is sent afterwards; nil: to the campaign.
	back func(r *http.Request, of *lab.Campaign) string
}

// actions lists all that a form can ask of a campaign.
func (c *Console) actions() []action {
	reason := func(r *http.Request) string { return text(r, "reason") }
	simple := func(make func(r *http.Request) engine.Request) func(*http.Request, *lab.Campaign) (engine.Request, error) {
		return func(r *http.Request, _ *lab.Campaign) (engine.Request, error) { return make(r), nil }
	}
	experiment := func(r *http.Request, of *lab.Campaign) string {
		return address(of) + "/experiments/" + url.PathEscape(text(r, "experiment"))
	}
	here := func(permission, path, said string) action {
		return action{permission: permission, path: path, said: said, show: c.showCampaign}
	}
	asks := func(a action, request func(*http.Request, *lab.Campaign) (engine.Request, error)) action {
		a.request = request
		return a
	}
	return []action{
		asks(here(Run, "pause", "paused"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Pause: &events.CampaignPaused{Reason: reason(r)}}
		})),
		asks(here(Run, "resume", "resumed"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Resume: &events.CampaignResumed{Reason: reason(r)}}
		})),
		{path: "stop", permission: Run, said: "stopped", act: "stop", show: c.showCampaign,
			request: stopping},
		{path: "run", permission: Run, said: "running", show: c.showCampaign,
			do: func(ctx context.Context, of *lab.Campaign) error { return of.Start(ctx) }},
		{path: "halt", permission: Run, said: "halted", show: c.showCampaign,
			do: func(_ context.Context, of *lab.Campaign) error { return of.Halt() }},
		asks(here(Run, "note", "noted"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Note: &engine.Note{Text: text(r, "text"), About: text(r, "about")}}
		})),
		asks(here(Run, "exclude", "excluded"), excluding),
		asks(here(Run, "allow", "allowed"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Allow: &engine.Allow{Exclusion: text(r, "exclusion"), Reason: reason(r)}}
		})),
		{path: "resolve", permission: Resolve, said: "resolved", act: "resolve",
			show: c.showExperiment, request: resolution, back: experiment},
		{path: "correct", permission: Run, said: "corrected", act: "override",
			show: c.showExperiment, request: correction, back: experiment},
		{path: "tell", permission: Run, said: "told", show: c.showResults, request: result,
			back: func(_ *http.Request, of *lab.Campaign) string { return address(of) + "/results" }},
		{path: "definition", permission: Run, said: "amended", act: "override",
			show: c.showDefinition, request: c.amendment, look: c.showChanges},
	}
}

// stopping reads the form that stops a campaign. That cannot be undone, so the
// form asks for the campaign's name.
func stopping(r *http.Request, of *lab.Campaign) (engine.Request, error) {
	if text(r, "name") != of.Name() {
		return engine.Request{}, problem.New(problem.Invalid,
			"a stopped campaign cannot be resumed: to be sure, type its name, %s", of.Name())
	}
	return engine.Request{Stop: &events.CampaignStopped{Reason: text(r, "reason")}}, nil
}

// excluding reads the form that excludes the neighborhood of an experiment or a
// question.
func excluding(r *http.Request, _ *lab.Campaign) (engine.Request, error) {
	reason := text(r, "reason")
	if reason == "" {
		return engine.Request{}, problem.New(problem.Invalid,
			"say why it is excluded: others will want to know")
	}
	return engine.Request{Exclude: &engine.Exclude{About: text(r, "about"), Reason: reason}}, nil
}

// errNothing is returned by a form that asks for nothing new.
var errNothing = errors.New("nothing is changed")

// act serves a form of a campaign: it checks the rights, does what the form
// asks for, and sends the visitor back to a page that says so. A failure shows
// the form again, with what was typed.
func (c *Console) act(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		of := c.find(w, r, a.permission)
		if of == nil {
			return
		}
		if err := r.ParseForm(); err != nil {
			c.fail(w, r, problem.New(problem.Invalid, "the form cannot be read: %w", err))
			return
		}
		if a.look != nil && text(r, "look") != "" {
			a.look(w, r, of)
			return
		}
		said := a.said
		err := c.perform(r, of, a)
		if errors.Is(err, errNothing) {
			err, said = nil, "same"
		}
		if err != nil {
			forgetRequest(r, err)
			a.show(w, r, of, statusOf(err), err, a.path)
			return
		}
		back := address(of)
		if a.back != nil {
			back = a.back(r, of)
		}
		if from := r.PostForm.Get("from"); from == "list" {
			back = "/campaigns"
		}
		redirect(w, r, back, said)
	}
}

// perform does what a form asks for, once: a form that was recorded before
// succeeds without doing anything. The order is: repeat, faults, confirmation;
// the visitor is asked to log in again only for what can be done.
func (c *Console) perform(r *http.Request, of *lab.Campaign, a action) error {
	if a.do != nil {
		return a.do(r.Context(), of)
	}
	done, err := alreadyRecorded(r.Context(), of, requested(r, engine.Request{}))
	if done || err != nil {
		return err
	}
	request, err := a.request(r, of)
	if err != nil {
		return err
	}
	if err := visitorOf(r.Context()).confirmed(a.act); err != nil {
		return err
	}
	_, err = of.Submit(r.Context(), requested(r, request))
	return err
}

// text is what was typed into a field, without surrounding space and with line
// ends as on the server.
func text(r *http.Request, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(r.PostForm.Get(name), "\r\n", "\n"))
}

// logPage is the log in words, searched and in pages.
type logPage struct {
	*shell
	Path, Query    string
	Routine        bool
	Lines          []view.Line
	Total          int
	Previous, Next string
}

// linesPerPage is how many events a page of the log shows.
const linesPerPage = 200

// log serves the log of a campaign, the newest events first. ?q= keeps the
// events that hold all words; ?routine shows those that tell a reader little.
func (c *Console) log(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, See)
	if of == nil {
		return
	}
	all, err := of.Timeline(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	query := r.URL.Query()
	p := logPage{shell: c.shellOf(r, "The log of "+of.Name()), Path: address(of),
		Query: strings.TrimSpace(query.Get("q")), Routine: query.Has("routine")}
	p.Campaign, p.Watch = of.Name(), of.Name()
	words := strings.Fields(strings.ToLower(p.Query))
	var found []view.Line
	for _, l := range slices.Backward(all.Lines) {
		hay := strings.ToLower(strings.Join([]string{l.Words(), string(l.Kind), l.Subject}, " "))
		// A search finds routine events too.
		if l.Routine && !p.Routine && len(words) == 0 {
			continue
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(hay, w) }) {
			found = append(found, l)
		}
	}
	p.Total = len(found)
	number, _ := strconv.Atoi(query.Get("page"))
	last := max(1, (len(found)+linesPerPage-1)/linesPerPage)
	number = min(max(number, 1), last)
	from := (number - 1) * linesPerPage
	p.Lines = found[from:min(from+linesPerPage, len(found))]
	link := func(page int) string {
		q := url.Values{"page": {strconv.Itoa(page)}}
		if p.Query != "" {
			q.Set("q", p.Query)
		}
		if p.Routine {
			q.Set("routine", "on")
		}
		return p.Path + "/log?" + q.Encode()
	}
	if number > 1 {
		p.Previous = link(number - 1)
	}
	if number < last {
		p.Next = link(number + 1)
	}
	c.write(w, http.StatusOK, "log", p)
}

// SubjectPath is the page of what an event is about; empty if it has none.
func (p logPage) SubjectPath(id string) string { return subjectPath(p.Campaign, id) }

// SubjectPath is that of the last events.
func (p *campaignPage) SubjectPath(id string) string { return subjectPath(p.Campaign, id) }

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

// eventList is a list of events on a page, which links what they are about.
type eventList struct {
	Page  interface{ SubjectPath(id string) string }
	Lines []view.Line
}

// Told are the last events.
func (p *campaignPage) Told() eventList { return eventList{p, p.Last} }

// Told are the events about the experiment.
func (p *experimentPage) Told() eventList { return eventList{p, p.Lines} }

// Followed are the events that followed from the decision.
func (p *decisionPage) Followed() eventList { return eventList{p, p.Story} }
