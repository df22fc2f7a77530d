package api

import (
	"context"
	"net/http"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// WhatIfWanted is an alternative to be computed. whatif.Check finds its faults, as far as the
// present campaign reveals them.
type WhatIfWanted struct {
	Method      string `json:"method,omitempty" maxLength:"100" doc:"The name of a policy (see the methods) from there on; absent: as it was."`
	Without     string `json:"without,omitempty" maxLength:"300" doc:"An expert who is left out, with all they have said; absent: nobody."`
	Experiments int    `json:"experiments,omitempty" minimum:"0" maximum:"100" doc:"For how many experiments to go on; 0 or absent: for as many as were really run since, at least 5."`

	Require            []string           `json:"require,omitempty" maxItems:"100" doc:"Constraints on outcomes, 'viscosity <= 4'. One takes the place of those on the same side of the same quantity; where there are none it is one more."`
	WithoutConstraints []string           `json:"without_constraints,omitempty" maxItems:"100" doc:"Constraints on outcomes that are left out, as the campaign has them."`
	Worst              map[string]float64 `json:"worst,omitempty" doc:"The worst values of interest of objectives of a trade-off, by their names and in their units."`
	Weight             map[string]float64 `json:"weight,omitempty" doc:"The weights of quantities in a desirability, by their names."`
	Maximize           string             `json:"maximize,omitempty" maxLength:"2000" doc:"A quantity or a formula that is sought in place of the objective."`
	Minimize           string             `json:"minimize,omitempty" maxLength:"2000" doc:"The same, for a quantity or a formula to be minimized."`
	Definition         string             `json:"definition,omitempty" doc:"The text of an alternative campaign file, with any change that an amendment could make. The other fields change that."`
}

// question returns the question, from a decision on. It fails if the campaign file has faults;
// nothing that it names is opened.
func (w *WhatIfWanted) question(ctx context.Context, l *lab.Lab, decision string) (whatif.Question, error) {
	q := whatif.Question{Decision: decision, Method: w.Method, Without: w.Without, Experiments: w.Experiments,
		Sought: whatif.Sought{
			Require: w.Require, WithoutConstraints: w.WithoutConstraints, Worst: w.Worst, Weight: w.Weight,
			Maximize: w.Maximize, Minimize: w.Minimize,
		}}
	if w.Definition == "" {
		return q, nil
	}
	file, err := l.Parse(ctx, "the campaign file", []byte(w.Definition))
	q.File = file
	return q, err
}

// WhatIf is a what-if question with its answer. Done and Of show its progress. Every answer
// includes the caveats: a number without them would be taken for a result.
type WhatIf struct {
	ID       string `json:"id"`
	Campaign string `json:"campaign"`
	Decision string `json:"decision" doc:"The decision from which on something is otherwise."`
	Method   string `json:"method,omitempty"`
	Without  string `json:"without,omitempty"`
	whatif.Sought
	Experiments int               `json:"experiments,omitempty"`
	By          string            `json:"by" doc:"Who asked."`
	State       string            `json:"state" enum:"waiting,running,done,failed,cancelled"`
	Asked       time.Time         `json:"asked"`
	Ended       *time.Time        `json:"ended,omitempty"`
	Done        int               `json:"done" doc:"How many experiments have been imagined."`
	Of          int               `json:"of" doc:"Of how many, at most; 0 before it runs, and where only the suggestion is worked out."`
	Answer      *whatif.Answer    `json:"answer,omitempty" doc:"What campaignd whatif --json prints."`
	Caveats     []string          `json:"caveats,omitempty" doc:"What the answer is and what it is not, in words."`
	Problem     *problems.Problem `json:"problem,omitempty" doc:"Why it failed."`
}

// whatIfOf returns a run as the API shows it. The run is a copy, so that all fields are of one
// moment.
func whatIfOf(r whatif.Run) WhatIf {
	w := WhatIf{
		ID: r.ID, Campaign: r.Campaign, Decision: r.Decision, Method: r.Method, Without: r.Without,
		Sought: r.Sought, Experiments: r.Question.Experiments,
		By: r.By, State: r.State, Asked: r.Asked, Done: r.Done, Of: r.Of, Answer: r.Answer,
	}
	if !r.Ended.IsZero() {
		w.Ended = &r.Ended
	}
	if r.Answer != nil {
		w.Caveats = r.Answer.Caveats()
	}
	if r.Err != nil {
		w.Problem = problems.Of(r.Err)
	}
	return w
}

// whatIfInput and the following types are the operations' inputs and outputs.
type whatIfInput struct {
	InCampaign
	Decision string `path:"decision" maxLength:"40" doc:"A decision, d7."`
	Body     WhatIfWanted
}

type whatIfBegun struct {
	Location string `header:"Location"`
	Body     WhatIf
}

type whatIfOutput struct{ Body WhatIf }

type whatIfStateInput struct {
	InCampaign
	WhatIf string `path:"whatif" maxLength:"40" doc:"Its id."`
	Wait   int    `query:"wait" minimum:"0" maximum:"60" doc:"How many seconds to wait for its end."`
}

type whatIfCancelInput struct {
	InCampaign
	WhatIf string `path:"whatif" maxLength:"40" doc:"Its id."`
}

type whatIfListInput struct{ InCampaign }

type whatIfListOutput struct {
	Body struct {
		WhatIfs []WhatIf `json:"what_ifs" doc:"The newest first, without their answers."`
	}
}

// imagining registers the what-if operations.
//
// They work like audits: beginning one is answered at once, with its address; reading one can wait.
// The question is checked while its caller waits, and the input is made from the log when its turn
// comes. Runs belong to the whole server, including those of the pages, and are found by campaign
// and store: a run of another campaign is not found, whatever its id.
//
// The wait of get-what-if ends with its time, with the request, or with the server; none of these
// is an error, and the run is shown in its present state.
func (a *API) imagining() {
	begin := operation("begin-what-if", http.MethodPost, "/campaigns/{campaign}/decisions/{decision}/what-if",
		"Ask what would have been otherwise from a decision on",
		"With another policy, with something else sought or required of outcomes, or without an expert: what would have been suggested from the same log, and, where the campaign's simulation or "+
			"its model can stand in for the lab, how it might have gone on. It is worked out in memory, beside all else and one at a time; nothing is "+
			"written to the campaign's log. The answer says where to look for what comes of it.")
	begin.DefaultStatus = http.StatusAccepted
	begin = a.beginning(begin)
	inCampaign(a, begin, func(ctx context.Context, c *lab.Campaign, in *whatIfInput) (*whatIfBegun, error) {
		q, err := in.Body.question(ctx, a.lab, in.Decision)
		if err != nil {
			return nil, problems.Of(err)
		}
		c.Read(func(core *engine.Core) { err = whatif.Check(a.lab.Registry(), core.State(), q) })
		if err != nil {
			return nil, problems.Of(err)
		}
		actor, _ := gate.ActorOf(ctx)
		by := events.ActorName(actor)
		run, err := a.whatIf.Begin(c.Name(), c.Place(), by, askedAs(ctx), q, c.WhatIf)
		if err != nil {
			return nil, problems.Of(err)
		}
		return &whatIfBegun{Location: Base + "/campaigns/" + in.Campaign + "/what-ifs/" + run.ID,
			Body: whatIfOf(run)}, nil
	})
	inCampaign(a, operation("list-what-ifs", http.MethodGet,
		"/campaigns/{campaign}/what-ifs", "What was asked of a campaign that way",
		"The newest 32 of the lab since the start of the server are remembered."),
		func(ctx context.Context, c *lab.Campaign, in *whatIfListInput) (*whatIfListOutput, error) {
			out := &whatIfListOutput{}
			out.Body.WhatIfs = []WhatIf{}
			for _, r := range a.whatIf.Of(c.Name(), c.Place()) {
				r.Answer = nil
				out.Body.WhatIfs = append(out.Body.WhatIfs, whatIfOf(r))
			}
			return out, nil
		})
	inCampaign(a, operation("get-what-if", http.MethodGet,
		"/campaigns/{campaign}/what-ifs/{whatif}", "What came of it", ""),
		func(ctx context.Context, c *lab.Campaign, in *whatIfStateInput) (*whatIfOutput, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(in.Wait)*time.Second)
			defer cancel()
			go func() {
				select {
				case <-a.closing:
					cancel()
				case <-ctx.Done():
				}
			}()
			run, err := a.whatIf.Get(ctx, c.Name(), c.Place(), in.WhatIf)
			if err != nil {
				return nil, problems.Of(err)
			}
			return &whatIfOutput{whatIfOf(run)}, nil
		})
	inCampaign(a, operation("cancel-what-if", http.MethodPost,
		"/campaigns/{campaign}/what-ifs/{whatif}/cancel", "Cancel it",
		"One that is over stays as it is."),
		func(ctx context.Context, c *lab.Campaign, in *whatIfCancelInput) (*whatIfOutput, error) {
			run, err := a.whatIf.Cancel(ctx, c.Name(), c.Place(), in.WhatIf)
			if err != nil {
				return nil, problems.Of(err)
			}
			return &whatIfOutput{whatIfOf(run)}, nil
		})
}
