package campaign

import (
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Safety is the order to bring a device to its safe state, and whether it is there.
type Safety struct {
	// Resource is the campaign's name of the instrument, Instrument its own.
	Resource   string `json:"resource,omitempty"`
	Instrument string `json:"instrument"`
	// Order is the ID of the event that ordered it.
	Order  string    `json:"order"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	// SafeAt is when the instrument said that it is there; zero before.
	SafeAt time.Time `json:"safe_at,omitzero"`
}

// Securing are the devices that were ordered to their safe state and have not said that they are there.
func (s *State) Securing() (ordered []Safety) {
	for _, d := range s.Safety {
		if d.SafeAt.IsZero() {
			ordered = append(ordered, d)
		}
	}
	return ordered
}

// SecuringAt is the order that a device has not answered, nil for none.
func (s *State) SecuringAt(resource string) *Safety {
	if i := s.safety(resource); i >= 0 && s.Safety[i].SafeAt.IsZero() {
		return &s.Safety[i]
	}
	return nil
}

// secure folds the order to bring a device to its safe state. A new order takes the place of the one before.
func secure(s *State, e events.Event, p *events.SafetyOrdered) (problem string) {
	if s.Definition == nil || !slices.Contains(s.Definition.Resources(), p.Resource) {
		return fmt.Sprintf("the campaign has no instrument %q", p.Resource)
	}
	ordered := Safety{Resource: p.Resource, Instrument: p.Instrument, Order: e.ID, At: e.Time, Reason: p.Reason}
	if i := s.safety(p.Resource); i >= 0 {
		s.Safety = slices.Clone(s.Safety)
		s.Safety[i] = ordered
		return ""
	}
	s.Safety = append(slices.Clip(s.Safety), ordered)
	return ""
}

// secured folds the instrument's word that its device is in its safe state.
func secured(s *State, e events.Event, p *events.SafetyAnswered) (problem string) {
	if s.SecuringAt(p.Resource) == nil {
		return fmt.Sprintf("%s was not ordered to its safe state", p.Instrument)
	}
	s.Safety = slices.Clone(s.Safety)
	s.SecuringAt(p.Resource).SafeAt = e.Time
	return ""
}

// safety is the place of a device's order in the list, -1 without one.
func (s *State) safety(resource string) int {
	return slices.IndexFunc(s.Safety, func(d Safety) bool { return d.Resource == resource })
}
