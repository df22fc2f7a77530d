package decisions

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// joinsSafety: a person aborts a campaign, and its devices are ordered to their safe states with that.
func joinsSafety(b *batch, in *identified, p *events.SafetyOrdered) bool {
	if in.author != byPerson || in.event.Actor != b.first.Actor {
		return false
	}
	switch first := b.opening.(type) {
	case *events.CampaignPaused:
		return first.Reason == p.Reason
	case *events.CampaignStopped:
		return first.Reason == p.Reason
	case *events.CancellationOrdered:
		return first.Reason == p.Reason
	case *events.SafetyOrdered:
		return first.Reason == p.Reason
	}
	return false
}

// orderedSafe is the event that ordered a device to its safe state, "" for none.
func orderedSafe(s *campaign.State, p *events.SafetyAnswered) string {
	if d := s.SecuringAt(p.Resource); d != nil {
		return d.Order
	}
	return ""
}

// checkSecured checks that the instrument that says that its device is safe is the one that was ordered.
func checkSecured(a *auditor, in *identified, p *events.SafetyAnswered) {
	if in.name != p.Instrument {
		a.mismatch(in.subject(), "its actor is %q, and it names %q", a.event.Actor, p.Instrument)
	}
	if d := a.core.State().SecuringAt(p.Resource); d != nil && d.Instrument != p.Instrument {
		a.mismatch(in.subject(), "%s says that it is safe, and %s was ordered", p.Instrument, d.Instrument)
	}
}
