package report

import (
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
)

// act is something that a person did to the campaign, with their reason.
type act struct {
	Time, Actor string
	// Text says what they did: "paused the campaign".
	Text   string
	Reason string
	// About is the experiment or question it is about, empty where there is none.
	About string
}

// act notes what a person did. What the engine does of itself is in the decisions, and
// corrections of measurements stand beside them.
func (h *history) act(e events.Event, payload events.Payload) {
	add := func(actor, text, reason, about string) {
		h.acts = append(h.acts, act{Time: format.Time(e.Time), Actor: events.ActorName(actor), Text: text, Reason: reason, About: about})
	}
	told := func(expert string) string { // who told it, where that is another person
		if name := events.ActorName(e.Actor); name != expert && strings.HasPrefix(e.Actor, "person:") {
			return " (told by " + name + ")"
		}
		return ""
	}
	switch p := payload.(type) {
	case *events.CampaignPaused:
		add(by(e), "paused the campaign", p.Reason, "")
	case *events.CampaignResumed:
		add(by(e), "resumed the campaign", p.Reason, "")
	case *events.CampaignStopped:
		add(by(e), "stopped the campaign", p.Reason, "")
	case *events.RegionRefused:
		add(by(e), "refused "+h.region(p.Region)+" ("+p.Refusal+")", p.Reason, p.About)
	case *events.RegionAllowed:
		add(by(e), "took the refusal "+p.Refusal+" back", p.Reason, "")
	case *events.LabelGiven:
		if p.Comment != "" {
			add(p.Expert, said(p.Answer)+told(p.Expert), p.Comment, p.Question)
		}
	case *events.ComparisonGiven:
		if p.Comment != "" {
			add(p.Expert, "answered"+told(p.Expert), p.Comment, p.Question)
		}
	case *events.PinpointGiven:
		if p.Comment != "" {
			add(p.Expert, "answered"+told(p.Expert), p.Comment, p.Question)
		}
	case *events.LabelSuperseded:
		add(p.Expert, "changed the answer: "+said(p.Answer)+told(p.Expert), p.Reason, p.Question)
	case *events.ComparisonSuperseded:
		add(p.Expert, "changed the answer"+told(p.Expert), p.Reason, p.Question)
	case *events.ExperimentResolved:
		add(by(e), "settled it as "+p.Resolution, p.Reason, p.Experiment)
	case *events.ExperimentCancelled:
		if strings.HasPrefix(e.Actor, "person:") {
			add(by(e), "called it off", p.Reason, p.Experiment)
		}
	}
}

// said is an answer as what the expert did.
func said(answer string) string {
	switch answer {
	case events.AnswerAccept:
		return "accepted"
	case events.AnswerReject:
		return "rejected"
	case events.AnswerRefuse:
		return "ruled out"
	case events.AnswerUnsure:
		return "could not tell"
	}
	return answer
}

// region writes a box: "ec 0.45 to 0.52, salt LiPF6".
func (h *history) region(r events.Region) string {
	var sides []string
	for _, p := range h.state.Definition.Parameters {
		side, ok := r.Where[p.Name]
		if !ok {
			continue
		}
		text := p.Name
		switch {
		case side.Is != "":
			text += " " + side.Is
		case side.Min != nil && side.Max != nil:
			text += " " + format.Rounded(*side.Min, 4) + " to " + format.Rounded(*side.Max, 4)
		case side.Min != nil:
			text += " from " + format.Rounded(*side.Min, 4)
		case side.Max != nil:
			text += " up to " + format.Rounded(*side.Max, 4)
		}
		sides = append(sides, text)
	}
	return strings.Join(sides, ", ")
}

// refusalRow is a region that a person refused and that still is.
type refusalRow struct{ ID, Region, Reason, Actor, Time string }

func (h *history) refusals() (rows []refusalRow) {
	for _, r := range h.state.Refusals {
		if !r.Lifted {
			rows = append(rows, refusalRow{r.ID, h.region(r.Region), r.Reason, events.ActorName(r.Actor), format.Time(r.Time)})
		}
	}
	return rows
}

// barred reports whether regions are excluded or refused.
func (h *history) barred() bool { return len(h.state.Bounded().Excluded) > 0 }
