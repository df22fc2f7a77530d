package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Listed is a campaign in a list: everything the lab knows of it without computing, and the bests
// if models have given them by then. It has all fields that programs need to poll the list instead
// of each campaign.
type Listed struct {
	engine.Summary
	Status   campaign.Status `json:"status"`
	Backtest bool            `json:"backtest,omitempty" doc:"Results are looked up in a table of past ones, and nothing is measured."`
	Budget   int             `json:"budget" doc:"Of experiments; of comparisons where nothing is measured."`
	// Open and Questions count pending items.
	Open      int `json:"open" doc:"Experiments without an outcome."`
	Questions int `json:"questions" doc:"Questions without an answer."`
	// Unresolved are the experiments whose fate is unknown.
	Unresolved []string `json:"unresolved" doc:"Experiments whose fate is unknown."`
	WaitingFor string   `json:"waiting_for,omitempty"`
	Computing  string   `json:"computing,omitempty"`
	Clock      string   `json:"clock,omitempty" doc:"How the clock of the machine that runs it was set meanwhile, such as: set back by 1h0m0s."`
	// Trouble is the reason why the campaign is not run.
	Trouble string `json:"trouble,omitempty" doc:"Why it is not run, though it was started."`
	PID     int    `json:"pid,omitempty" doc:"The process that runs it; absent where none does."`
	Host    string `json:"host,omitempty" doc:"Its machine, where that may be another one."`
	Store   string `json:"store"`
	Events  uint64 `json:"events"`
}

// suggestWithin bounds the wait for a suggestion: fitting a large campaign takes a while. A caller
// that is cut off loses nothing: the decision is recorded when it is made, and the next request
// finds it.
const suggestWithin = 5 * time.Minute

// listedWithin is how long a list waits for the models. Campaigns that take longer say so in
// no_model. A page waits for less, since a person looks at an empty screen meanwhile.
const listedWithin = 2 * time.Second

// listed makes a campaign's row. It takes all numbers from one Standing, so that they are
// consistent; store and name cannot change. Lists are never null.
func listed(c *lab.Campaign) Listed {
	s := c.Standing()
	l := Listed{
		Summary:    s.Summary,
		Status:     s.Status,
		Backtest:   s.Backtest,
		Budget:     s.Budget,
		Open:       s.Open,
		Questions:  len(s.Questions),
		Unresolved: append([]string{}, s.Unresolved...),
		WaitingFor: s.WaitingFor,
		Computing:  s.Computing.What,
		Clock:      s.Run.Clock,
		PID:        s.Run.PID,
		Host:       s.Run.Host,
		Store:      c.Store(),
		Events:     uint64(s.Sequence),
	}
	if s.Trouble != nil {
		l.Trouble = s.Trouble.Error()
	}
	return l
}

// Status is the status of a campaign, also printed by `campaignd status --json`: the command line
// uses the same type, so that both have the same fields.
type Status struct {
	*view.StatusDocument
	NeedsPerson []string     `json:"needs_person" doc:"What a person must do before the campaign goes on."`
	Run         *lab.Running `json:"run" doc:"What runs the campaign; null where nothing does."`
	Store       string       `json:"store"`
}

// statusOf returns the status of a campaign. A pause is added here and not in view, which does not
// know how to end it: the command line adds it in its own words.
func statusOf(ctx context.Context, c *lab.Campaign) (*Status, error) {
	st, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	run := c.Running()
	s := &Status{
		StatusDocument: st.Document(),
		NeedsPerson:    st.NeedsPerson(inWords, run != nil),
		Run:            run,
		Store:          c.Store(),
	}
	if run != nil {
		s.NeedsPerson = append(s.NeedsPerson, view.NeedsInLab(run.WaitingFor, run.Remedies, inWords)...)
	}
	if st.Status == campaign.Paused {
		s.NeedsPerson = append(s.NeedsPerson, "the campaign is paused")
	}
	return s, nil
}

// inWords describes a remedy for programs and pages, which have no command line: the action, its
// subject and its alternatives, in stable words that programs may compare.
func inWords(r problem.Remedy) string {
	words := []string{string(r.Action), r.Subject}
	return strings.Join(slices.DeleteFunc(append(words, r.Ways...),
		func(w string) bool { return w == "" }), " ")
}

// Page selects a part of a list. A cursor names the last item seen, not a number of items:
// additions and removals shift nothing, so that no item is repeated or left out.
type Page struct {
	Cursor string `query:"cursor" maxLength:"300" doc:"Where the last page ended, from its next."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many at most."`
}

type campaignsOutput struct {
	Body struct {
		Campaigns []Listed `json:"campaigns"`
		Next      string   `json:"next,omitempty" doc:"The cursor of the next page; absent on the last one."`
		Troubles  []string `json:"troubles" doc:"Stores that cannot be used, and why."`
	}
}

// Begun is the answer to a campaign file. It contains the seed, since the file need not state one,
// and every seed of the campaign is derived from it.
type Begun struct {
	Campaign string `json:"campaign"`
	Store    string `json:"store"`
	Seed     uint64 `json:"seed"`
}

type begunOutput struct {
	Location string `header:"Location"`
	Body     Begun
}

type statusOutput struct{ Body *Status }

type suggestOutput struct {
	Body struct {
		*view.Suggestion
		Store string `json:"store"`
	}
}

// fileInput is a campaign file as the body of a request. It is raw, so that faults are reported
// with the file's own lines and columns.
type fileInput struct {
	RawBody []byte `contentType:"application/yaml"`
}

// campaigns registers the operations that begin and show campaigns. Beginning one is
// [API.recording], though its log does not exist yet: the identifier is recorded with
// campaign.defined.
func (a *API) campaigns() {
	huma.Register(a.huma, operation("list-campaigns", http.MethodGet, "/campaigns",
		"The campaigns of the lab",
		"In the order of their names. best_by_model is the posterior mean, without noise, at a measured composition, "+
			"best_measured the best value that was measured; no_model says why the first is null."), a.list)

	begin := operation("begin-campaign", http.MethodPost, "/campaigns", "Begin a campaign",
		"The body is a campaign file. It is refused whole where it has a fault; otherwise the campaign begins, and is run.")
	begin.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, a.recording(begin), a.begin)

	huma.Register(a.huma, operation("validate-campaign", http.MethodPost, "/validate",
		"Check a campaign file",
		"Returns the faults of a campaign file, or its meaning. Nothing is written."), a.validate)

	inCampaign(a, operation("get-campaign", http.MethodGet, "/campaigns/{campaign}",
		"How a campaign stands",
		"What `campaignd status --json` prints."),
		func(ctx context.Context, c *lab.Campaign, in *InCampaign) (*statusOutput, error) {
			status, err := statusOf(ctx, c)
			if err != nil {
				return nil, problems.Of(err)
			}
			return &statusOutput{status}, nil
		})

	inCampaign(a, operation("suggest", http.MethodPost, "/campaigns/{campaign}/suggest",
		"Which experiment to run next, for those who run it themselves",
		"Waits until that is known. The same is suggested until its result is told."),
		func(ctx context.Context, c *lab.Campaign, in *InCampaign) (*suggestOutput, error) {
			ctx, cancel := context.WithTimeout(ctx, suggestWithin)
			defer cancel()
			s, err := c.Suggest(ctx)
			if err != nil {
				return nil, problems.Of(err)
			}
			out := new(suggestOutput)
			out.Body.Suggestion, out.Body.Store = s, c.Store()
			return out, nil
		})
}

// list returns one page of the campaigns visible to the caller. Invisible ones are removed before
// the cursor is looked up, so that neither pages nor their lengths reveal them. The cursor is the
// name and the store of the last one, with a zero byte between: several stores may have the same
// name, and the lab lists campaigns in that order.
func (a *API) list(ctx context.Context, in *Page) (*campaignsOutput, error) {
	all := slices.DeleteFunc(a.lab.Campaigns(), func(c *lab.Campaign) bool { return !gate.Sees(ctx, c.Name()) })
	key := func(c *lab.Campaign) string { return c.Name() + "\x00" + c.Place() }
	first, _ := slices.BinarySearchFunc(all, in.Cursor, func(c *lab.Campaign, cursor string) int {
		if key(c) <= cursor {
			return -1
		}
		return 1
	})
	out := new(campaignsOutput)
	out.Body.Campaigns, out.Body.Troubles = []Listed{}, []string{}
	// Only callers who see every campaign learn of broken stores:
	if gate.Sees(ctx, "") { // stores are named like campaigns
		out.Body.Troubles = append(out.Body.Troubles, a.lab.Troubles()...)
	}
	shown := all[first:min(first+in.Limit, len(all))]
	within, cancel := context.WithTimeout(ctx, listedWithin)
	defer cancel()
	a.lab.Find(within, shown)
	for _, c := range shown {
		out.Body.Campaigns = append(out.Body.Campaigns, listed(c))
	}
	if n := len(shown); first+n < len(all) && n > 0 {
		out.Body.Next = key(shown[n-1])
	}
	return out, nil
}

// beginInput is a campaign file and options. The seed is at most 2⁵³ − 1, the largest that a JSON
// number holds exactly: a client would round a larger one.
type beginInput struct {
	Run     bool   `query:"run" default:"true" doc:"Run it at once; otherwise it waits for run, or for suggest."`
	Seed    uint64 `query:"seed" minimum:"1" maximum:"9007199254740991" doc:"Its seed, instead of the file's."`
	As      string `query:"as" maxLength:"200" doc:"Who begins it, where the server lets one act for others."`
	RawBody []byte `contentType:"application/yaml"`
}

// begin begins a campaign. It checks, in this order, the file, the caller's right to reach what it
// names, the caller's name, a repeat, and then calls the lab, which opens what the file names. So a
// refused caller has opened nothing.
//
// The seed of the request replaces the file's before anything is decided or recorded. An existing
// campaign of that name is not a fault yet: this request may have begun it earlier, and then the
// lab returns the same answer; repeatedBy marks it as a repeat, or refuses another request under
// its key.
func (a *API) begin(ctx context.Context, in *beginInput) (*begunOutput, error) {
	file, err := a.lab.Parse(ctx, "the campaign file", in.RawBody)
	if err == nil {
		err = a.MayDefine(ctx, &file.Definition, nil)
	}
	if err != nil {
		return nil, problems.Of(err)
	}
	if in.Seed > 0 {
		file.Definition.Seed = in.Seed
	}
	by := asked(ctx, engine.Request{})
	by.Actor, by.Account = a.ActingAs(ctx, in.As)
	if err := engine.CheckActor(by.Actor); err != nil {
		return nil, problems.Of(problem.New(problem.Invalid, "as: %w", err))
	}
	if there, err := a.lab.Campaign(file.Definition.Name); err == nil {
		if _, err := repeatedBy(ctx, there, by); err != nil {
			return nil, err
		}
	}
	begin := a.lab.Define
	if !in.Run {
		begin = a.lab.Begin
	}
	c, err := begin(ctx, file, by)
	if err != nil {
		return nil, problems.Of(err)
	}
	return &begunOutput{
		Location: Base + "/campaigns/" + c.Name(),
		Body:     Begun{Campaign: c.Name(), Store: c.Store(), Seed: c.Defined().Seed},
	}, nil
}

// Validated describes the meaning of a campaign file. Remarks are not faults: the file would be
// accepted.
type Validated struct {
	Campaign string   `json:"campaign"`
	Meaning  string   `json:"meaning" doc:"What the file means, in words."`
	Remarks  []string `json:"remarks" doc:"What it may contain, but probably does not mean."`
}

// validate returns the faults of a file, as begin would, and its meaning. Nothing is opened for a
// caller who could not begin it: remarks are then empty, which says nothing about the file.
func (a *API) validate(ctx context.Context, in *fileInput) (*struct{ Body Validated }, error) {
	file, err := a.lab.Parse(ctx, "the campaign file", in.RawBody)
	if err != nil {
		return nil, problems.Of(err)
	}
	reg := a.lab.Registry()
	var remarks []string
	if a.MayDefine(ctx, &file.Definition, nil) == nil { // remarks look at the files it names
		remarks = campaignfile.Remarks(ctx, reg, file.Definition, a.lab.Folder())
	}
	return &struct{ Body Validated }{Validated{
		Campaign: file.Definition.Name,
		Meaning:  campaignfile.Explain(ctx, reg, file.Definition),
		Remarks:  append([]string{}, remarks...),
	}}, nil
}
