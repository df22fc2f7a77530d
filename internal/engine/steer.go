package engine

import (
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// steerable refuses to pause, resume or stop a campaign that has ended.
func steerable(s *campaign.State) error {
	switch s.Status {
	case campaign.Completed:
		over := problem.New(problem.Gone,
			"the campaign is completed: there is nothing to pause, resume or stop")
		return over.With(problem.Remedy{Text: "to go on, raise its budget", Action: problem.Amend})
	case campaign.Stopped:
		return problem.New(problem.Gone, "the campaign was stopped for good").With(takeOver)
	}
	return nil
}

// Requests about the whole campaign are the events that record them.
type (
	pause  events.CampaignPaused
	resume events.CampaignResumed
	stop   events.CampaignStopped
	amend  events.CampaignAmended
)

// record refuses the parts that only the engine may set: that a device is lost, and how
// failures were counted.
func (r *pause) record(c Now, _ *Request) ([]events.Payload, error) {
	switch err := steerable(c.State); {
	case err != nil:
		return nil, err
	case c.Status == campaign.Paused:
		return nil, conflict(c.Name, "the campaign is paused already")
	case r.Device != "" || r.Occurrences != 0:
		return nil, notPossible("who runs the campaign says that its instrument is lost, a person gives a reason")
	}
	return []events.Payload{(*events.CampaignPaused)(r)}, nil
}

// record also ends the rest of an instrument, of a campaign that is not paused.
func (r *resume) record(c Now, _ *Request) ([]events.Payload, error) {
	switch err := steerable(c.State); {
	case err != nil:
		return nil, err
	case !Resumable(c):
		return nil, conflict(c.Name, "the campaign is not paused")
	}
	return []events.Payload{(*events.CampaignResumed)(r)}, nil
}

// Resumable reports whether the campaign is paused, or its instrument rests: to resume
// is then to try it again at once.
func Resumable(c Now) bool {
	return c.Status == campaign.Paused || !restsUntil(c).IsZero()
}

// record takes a paused campaign too. It is for good: experiments under way are awaited, and
// nothing new begins.
func (r *stop) record(c Now, _ *Request) ([]events.Payload, error) {
	return []events.Payload{(*events.CampaignStopped)(r)}, steerable(c.State)
}

// record checks an amendment and lists its changes itself: the caller may be another program
// than ours.
//
// A completed campaign can be amended, and goes on if its budget was raised. A
// copy is recorded, since the request belongs to the caller.
func (r *amend) record(c Now, _ *Request) ([]events.Payload, error) {
	if c.Status == campaign.Stopped {
		return nil, problem.New(
			problem.Gone, "the campaign was stopped for good: there is nothing to amend",
		).With(takeOver)
	}
	amended := events.CampaignAmended(*r)
	amended.Definition = campaignfile.Respelled(*c.Definition, r.Definition)
	if identity := Unamendable(c.State, amended.Definition); identity != "" {
		return nil, notPossible("%s", identity)
	}
	if err := amendable(c.State, amended.Definition); err != nil {
		return nil, err
	}
	changes, err := campaignfile.Amend(c.registry, *c.Definition, amended.Definition)
	if err != nil {
		return nil, notPossible("%w", err)
	}
	if len(changes) == 0 {
		return nil, notPossible("the campaign is defined like that already: there is nothing to amend")
	}
	amended.Changes = changes
	return []events.Payload{&amended}, nil
}

// Unamendable names the part of the campaign's identity that an amended definition would
// change, or "". Recorded events refer to parameters and experts by name. The audit calls it
// too.
func Unamendable(s *campaign.State, def definition.Campaign) string {
	old := s.Definition
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

// record attaches a remark to its subject. It changes nothing that a decision reads, and is
// taken in every state.
func (n *Note) record(c Now, _ *Request) ([]events.Payload, error) {
	if strings.TrimSpace(n.Text) == "" {
		return nil, notPossible("the note is empty")
	}
	if n.About != "" && c.Experiment(n.About) == nil && c.Question(n.About) == nil &&
		!c.HasDecision(n.About) {
		return nil, notFound(n.About, "there is no experiment, question or decision %q", n.About)
	}
	return []events.Payload{(*events.NoteAdded)(n)}, nil
}
