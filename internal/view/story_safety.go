package view

import "github.com/campaignd/campaignd/events"

func safetyOrdered(e events.Event, p *events.SafetyOrdered) Entry {
	return Entry{Who: doer(e), Text: "ordered " + p.Instrument + " to its safe state", Reason: p.Reason}
}

func safetyAnswered(_ events.Event, p *events.SafetyAnswered) Entry {
	return Entry{Text: p.Instrument + " is in its safe state"}
}
