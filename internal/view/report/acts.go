package report

import (
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
)

// act is something that a person did to the campaign, with their reason. The
// page lists them in the order of the log.
type act struct {
	Time, Actor string
	// Text describes the act: "paused the campaign".
	Text   string
	Reason string
	// About is the experiment or question that the act is about, empty where it is about neither.
	About string
}

// act notes a person's act, in the words of the story. The engine's own acts are listed among the
// decisions; corrections of measurements stand with the measurements.
func (h *history) act(e events.Event, entry view.Line, payload events.Payload) {
	if !isAct(e, payload) {
		return
	}
	about := entry.Subject
	switch p := payload.(type) {
	// The row of the exclusion is gone with it: a link would lead nowhere.
	case *events.RegionAllowed:
		about = ""
	case *events.RegionExcluded:
		about = p.About
	case *events.ExperimentCancelled:
		entry.Who = events.ActorName(e.Actor)
	}
	text := entry.Text
	if entry.ToldBy != "" {
		text += ", reported by " + entry.ToldBy
	}
	who := entry.Who
	if entry.Account != "" {
		who += ", reported by " + entry.Account
	}
	h.acts = append(h.acts, act{
		Time: format.Time(e.Time), Actor: who, Text: text, Reason: entry.Reason, About: about,
	})
}

// isAct reports whether an event is something that a person did, or an answer
// with a comment. Answers without one are in the tables of questions.
//
// A new kind of event that a person causes has to be added here: until it is, the report leaves it
// out. TestEveryReasonIsTold asks for those with a reason.
func isAct(e events.Event, payload events.Payload) bool {
	switch p := payload.(type) {
	case *events.QuestionAnswered:
		return p.Comment != ""
	case *events.AnchorsDeclared:
		return p.Instead // the first ones are of the definition
	case *events.ExperimentCancelled, *events.CancellationAnswered, *events.BatchEnded:
		// the engine cancels experiments too: at the end, and outside the space
		return strings.HasPrefix(e.Actor, "person:")
	case *events.CancellationOrdered, *events.FileWithdrawn, *events.CampaignPaused, *events.CampaignResumed, *events.CampaignStopped,
		*events.RegionExcluded, *events.RegionAllowed, *events.ExperimentResolved, *events.ActResolved,
		*events.QuestionSuperseded, *events.QuestionContested, *events.StockCounted, *events.SafetyOrdered:
		return true
	}
	return false
}

// exclusionRow is a region that a person excluded, and that is still excluded. ID is the identifier
// for a request to allow the region again.
type exclusionRow struct{ ID, Region, Reason, Actor, Time string }

// exclusionsOf lists the regions that are excluded now.
func exclusionsOf(h *history) (rows []exclusionRow) {
	for _, r := range view.Exclusions(h.state) {
		region := h.format.Region(r.Region)
		rows = append(rows, exclusionRow{r.ID, region, r.Reason, events.ActorName(r.Actor),
			format.Time(r.Time)})
	}
	return rows
}

// barred reports whether regions are excluded or refused, so that figures mark
// them. Those of the definition count as well as those that people added.
func (h *history) barred() bool { return len(h.state.Bounded().Excluded) > 0 }
