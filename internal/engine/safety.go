package engine

import (
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// safetyHolds is how long an order to a safe state holds that is not answered, also for a process that
// goes on with the campaign. A device that comes back a week later may be at work for somebody else.
const safetyHolds = time.Hour

// ordered returns the orders of an abort to the safe states of devices, in the order of their names. by
// are the instruments that have one, by the campaign's names for them.
func ordered(s *campaign.State, by map[string]string, reason string) (payloads []events.Payload) {
	for _, name := range s.Definition.Resources() {
		if instrument := by[name]; instrument != "" && s.SecuringAt(name) == nil {
			payloads = append(payloads, &events.SafetyOrdered{Resource: name, Instrument: instrument, Reason: reason})
		}
	}
	return payloads
}

// securing are the devices that are to say that they are in their safe state.
func securing(c Now) (devices []campaign.Safety) {
	for _, d := range c.Securing() {
		if c.Now.Before(d.At.Add(safetyHolds)) {
			devices = append(devices, d)
		}
	}
	return devices
}

// nextSafe tells the instruments of orders to bring their devices to a safe state. It is the first rule of all.
func nextSafe(c Now) (Step, error) {
	for _, d := range securing(c) {
		if c.SecuringBy[d.Resource].Order != d.Order {
			return Secure{Resource: d.Resource}, nil
		}
	}
	return nil, nil
}

// Secured returns the record that a device is in its safe state, nil where that was not ordered, or the
// campaign has been resumed since.
func Secured(s *campaign.State, resource, order string) *events.SafetyAnswered {
	d := s.SecuringAt(resource)
	if d == nil || d.Order != order {
		return nil
	}
	return &events.SafetyAnswered{Resource: resource, Instrument: d.Instrument}
}

// firstSafe puts the devices that are not in their safe state yet before anything else that the campaign
// waits for: who stands before a leak must read of nothing else.
func firstSafe(c Now, wait Wait) Wait {
	text := ""
	for _, d := range securing(c) {
		if text != "" {
			text += ", and for "
		}
		text += fmt.Sprintf("%s to be in its safe state", d.Instrument)
		if why := c.SecuringBy[d.Resource].Why; why != "" {
			text += fmt.Sprintf(" (%s: see to it by hand)", why)
		}
	}
	if text != "" {
		wait.For = text + ", and for " + wait.For
	}
	return wait
}
