package engine

import (
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// Exclusive reports whether a campaign must be the only one to drive its
// instrument. A simulation can be shared; and a person at the bench sees whom they
// work for.
func Exclusive(def definition.Campaign, d instruments.Description) bool {
	return !d.Simulated && !def.Instrument.ByHand
}

func (r *Runner) lock() error {
	if r.Lock == nil || !Exclusive(*r.core.State().Definition, r.description) {
		return nil
	}
	return r.Lock(r.description)
}
