package engine

import (
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// steerable refuses to pause, resume or stop a campaign that has ended.
func (c *Core) steerable() error {
	switch c.State().Status {
	case campaign.Completed:
		over := problem.New(problem.Gone,
			"the campaign is completed: there is nothing to pause, resume or stop")
		return over.With(problem.Remedy{Text: "to go on, raise its budget", Action: problem.Amend})
	case campaign.Stopped:
		return problem.New(problem.Gone, "the campaign was stopped for good").With(takeOver)
	}
	return nil
}

// pause holds back what only the engine says: that a device is lost, and how
// failures were counted.
func (c *Core) pause(r *events.CampaignPaused) ([]events.Payload, error) {
	if err := c.steerable(); err != nil {
		return nil, err
	}
	if s := c.State(); s.Status == campaign.Paused {
		return nil, conflict(s.Name, "the campaign is paused already")
	}
	if r.Device != "" || r.Occurrences != 0 {
		return nil, notPossible("who runs the campaign says that its instrument is lost, a person gives a reason")
	}
	return []events.Payload{r}, nil
}

// resume also ends the rest of an instrument, of a campaign that is not paused.
func (c *Core) resume(r *events.CampaignResumed) ([]events.Payload, error) {
	if err := c.steerable(); err != nil {
		return nil, err
	}
	if !c.Resumable() {
		return nil, conflict(c.State().Name, "the campaign is not paused")
	}
	return []events.Payload{r}, nil
}

// Resumable reports whether the campaign is paused, or its instrument rests: to resume
// is then to try it again at once.
func (c *Core) Resumable() bool {
	s := c.State()
	return s.Status == campaign.Paused || !restsUntil(s, World{}).IsZero()
}

// stop takes a paused campaign too. It is for good: what is under way is
// awaited, and nothing new begins.
func (c *Core) stop(r *events.CampaignStopped) ([]events.Payload, error) {
	if err := c.steerable(); err != nil {
		return nil, err
	}
	return []events.Payload{r}, nil
}

// amend checks an amendment and says itself what it changes: who asks for it
// may be another program than ours.
//
// A completed campaign can be amended, and goes on if its budget was raised. A
// copy is recorded, since the request belongs to the caller.
func (c *Core) amend(a *events.CampaignAmended) ([]events.Payload, error) {
	if c.State().Status == campaign.Stopped {
		return nil, problem.New(
			problem.Gone, "the campaign was stopped for good: there is nothing to amend",
		).With(takeOver)
	}
	amended := *a
	amended.Definition = campaignfile.Respelled(*c.State().Definition, a.Definition)
	if identity := c.Unamendable(amended.Definition); identity != "" {
		return nil, notPossible("%s", identity)
	}
	if err := c.amendable(amended.Definition); err != nil {
		return nil, err
	}
	changes, err := campaignfile.Amend(c.registry, *c.State().Definition, amended.Definition)
	if err != nil {
		return nil, notPossible("%w", err)
	}
	if len(changes) == 0 {
		return nil, notPossible("the campaign is defined like that already: there is nothing to amend")
	}
	amended.Changes = changes
	return []events.Payload{&amended}, nil
}

// Unamendable says what of the campaign's identity an amended definition would
// change, or "". What is recorded refers to parameters and experts by name. The
// audit asks it too.
func (c *Core) Unamendable(def definition.Campaign) string {
	old := c.State().Definition
	same := func(a, b definition.Parameter) bool { return a.Name == b.Name && a.Unit == b.Unit }
	// Experts are reached through channels that were opened when the run began.
	named := func(a, b definition.Expert) bool { return a.Name == b.Name }
	if def.Name != old.Name || def.Seed != old.Seed ||
		!slices.EqualFunc(def.Parameters, old.Parameters, same) ||
		!slices.EqualFunc(def.Experts, old.Experts, named) {
		return "an amendment changes neither the name, nor the seed, nor which parameters and experts there are"
	}
	return ""
}

// Note is a remark.
type Note struct {
	Text  string `json:"text" minLength:"1" maxLength:"10000"`
	About string `json:"about,omitempty" doc:"An experiment, question or decision."`
}

// note holds a remark to what it is about. It changes nothing that a decision
// reads, and is taken in every state.
func (c *Core) note(n *Note) ([]events.Payload, error) {
	s := c.State()
	if strings.TrimSpace(n.Text) == "" {
		return nil, notPossible("the note is empty")
	}
	if n.About != "" && s.Experiment(n.About) == nil && s.Question(n.About) == nil &&
		!s.HasDecision(n.About) {
		return nil, notFound(n.About, "there is no experiment, question or decision %q", n.About)
	}
	return []events.Payload{(*events.NoteAdded)(n)}, nil
}
