package campaign

import (
	"slices"

	"github.com/campaignd/campaignd/internal/ground/computed"
)

// Valueless are the measured experiments that cannot say what a campaign asks of them.
type Valueless struct {
	// Measured counts the experiments that were measured and are not left out.
	Measured int `json:"measured"`
	// Missing are the quantities that decisions rest on and some of them do not have, in
	// the order of the definition. What is awaited is not missing.
	Missing []Missing `json:"missing,omitempty"`
	// NotFinite are those that have all quantities of the formula that is sought, and no
	// finite value of it.
	NotFinite []NotFinite `json:"not_finite,omitempty"`
}

// Missing is a quantity that experiments do not have.
type Missing struct {
	Quantity string `json:"quantity"`
	// Sought is whether the objective needs it; otherwise a constraint is on it.
	Sought      bool     `json:"sought"`
	Experiments []string `json:"experiments"`
	// Reason given for the last of them.
	Reason string `json:"reason,omitempty"`
}

// NotFinite is an experiment whose objective is not finite.
type NotFinite struct {
	Experiment string `json:"experiment"`
	// Why says which operation has none, and at what.
	Why string `json:"why"`
}

// Nowhere are the quantities that not one measured experiment has.
func (v *Valueless) Nowhere() (missing []Missing) {
	for _, m := range v.Missing {
		if len(m.Experiments) == v.Measured {
			missing = append(missing, m)
		}
	}
	return missing
}

// Valueless returns them; nil where the campaign declares no quantities, or each
// measured experiment has a value of all that decisions rest on.
func (s *State) Valueless() *Valueless {
	def := s.Definition
	if !def.Several() {
		return nil
	}
	sought := computed.Sought(def)
	var v Valueless
	for _, q := range computed.Decisive(def) {
		v.Missing = append(v.Missing, Missing{Quantity: q.Name, Sought: slices.Contains(sought, q.Name)})
	}
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Status == Measured && !x.Excluded {
			v.read(s, x)
		}
	}
	v.Missing = slices.DeleteFunc(v.Missing, func(m Missing) bool { return m.Experiments == nil })
	if len(v.Missing) == 0 && v.NotFinite == nil {
		return nil
	}
	return &v
}

// read adds the gaps of a measured experiment.
func (v *Valueless) read(s *State, x *Experiment) {
	v.Measured++
	awaited := s.Awaited(x)
	for k := range v.Missing {
		m := &v.Missing[k]
		waits := slices.ContainsFunc(awaited, func(a Awaited) bool { return a.Quantity == m.Quantity })
		if _, ok := s.Quantity(x, m.Quantity); ok || waits {
			continue
		}
		m.Experiments = append(m.Experiments, x.ID)
		m.Reason = ""
		for _, said := range x.Measurement.Missing {
			if said.Name == m.Quantity {
				m.Reason = said.Reason
			}
		}
	}
	if why := computed.Undefined(s.Definition, x.Measurement); why != "" {
		v.NotFinite = append(v.NotFinite, NotFinite{x.ID, why})
	}
}
