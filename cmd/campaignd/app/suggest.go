package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
)

// suggested is the document of `suggest --json`. Fields are only added.
type suggested struct {
	*view.Suggestion
	Store string `json:"store"`
}

// suggestCommand is `campaignd suggest`.
//
// It is for people who perform the experiments themselves: nothing is sent to
// an instrument, and `campaignd tell` brings the result.
var suggestCommand = command{
	name: "suggest",
	args: cobra.MaximumNArgs(1),
	run:  suggest,
}

// suggest prints the next experiment, or how the campaign ended.
//
// It may take as long as a decision does, and record one: asked twice, it answers the same. A
// missing store is made, since the first suggestion is how a campaign by hand begins.
func suggest(a *call, args []string) error {
	t, err := a.optionalTarget(args)
	if err != nil {
		return err
	}
	s, err := a.openOrDefine(a.ctx, t, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	t.store, t.campaign = s.folder, s.name
	core, answer, err := suggestion(a, s, t)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(suggested{answer, a.where(t)})
	case core.State().Status.Ended():
		return a.summarize(a.ctx, core, t, "", nil)
	}
	return answer.Of(core.State().Definition).Write(a.stdout, showing(a.about, t))
}

// suggestion has the next experiment worked out, here or by the server that has
// the campaign. The core it returns has folded that decision. A campaign that
// another process of this machine runs has an instrument of its own, and
// refuses.
func suggestion(a *call, s *session, t target) (core *engine.Core, answer *view.Suggestion, err error) {
	switch at := s.Store.(type) {
	case *lab.Local:
		core, suggestion, err := at.Suggest(a.ctx, s.name, t.base)
		if err != nil {
			return nil, nil, err
		}
		answer, err = view.Suggest(a.ctx, core, s.Log(), suggestion)
		return core, answer, err
	case *lab.Remote:
		answer = new(view.Suggestion)
		if err := a.api().Post(a.ctx, onServer(t, "/suggest"), nil, answer); err != nil {
			return nil, nil, err
		}
		core, err = s.core(a.ctx)
		return core, answer, err
	}
	return nil, nil, badStore("the campaign is being run by process %d, whose instrument "+
		"performs the experiments; end that run (Ctrl-C) to run them by hand", s.Status().PID)
}

// showing is the style for a suggestion about a target. An open question is shown as its expert
// would see it in a terminal, and the next step as command lines about the target.
func showing(about commands, t target) view.Showing {
	return view.Showing{
		Question: terminal.Show,
		Clause:   about.clause,
		How:      commandsOn(t),
		Now:      clock.Now(),
	}
}

// rehearse returns, in memory, the campaign that a definition would begin. The engine's refusals of
// the definition show here, before a store exists. The actor and the time do not matter, as nothing
// is kept.
func (a *app) rehearse(def definition.Campaign) (*engine.Core, error) {
	defined := events.CampaignDefined{Definition: def}
	return engine.Rehearse(a.registry, defined, "person:"+a.as, clock.Now())
}
