package engine

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
)

// Basis names all that a fit reads: equal bases of one campaign give equal
// fits.
//
// The event of the definition is part of each: an amendment can change the space, the noise or
// the policy's needs. A basis is compared within one process or one audit, and never recorded.
func (c *Core) Basis(of events.ModelName) string {
	defined := c.State().DefinedBy
	switch of.Model {
	case events.ModelBelief: // it shares the objective's kernel
		return fmt.Sprint(defined, " ", c.objective.Version(), " ", c.belief.Revision(of.Expert))
	case events.ModelPreference:
		return fmt.Sprint(defined, " ", c.preference.Revision(of.Expert))
	}
	if q := c.quantities.Of(of); q != nil {
		return fmt.Sprint(defined, " ", q.Version())
	}
	return defined
}

// Bases remembers for each model since which event its basis has been as it is:
// a fit may have been made from any event since.
//
// The audit notes them while it folds a log: a fit that names an event from
// before its basis changed cannot have been made from it.
type Bases map[events.ModelName]struct {
	basis string
	since events.Sequence
}

// Note looks at the core after an event. Models that the policy does not have
// are noted too; nothing asks for theirs.
func (b *Bases) Note(c *Core) {
	if *b == nil {
		*b = make(Bases)
	}
	note := func(of events.ModelName) {
		basis := c.Basis(of)
		if last, known := (*b)[of]; !known || last.basis != basis {
			last.basis, last.since = basis, c.State().Sequence
			(*b)[of] = last
		}
	}
	for _, q := range c.quantities.All() {
		note(q.Fits())
	}
	for _, expert := range c.State().Definition.Experts {
		note(events.ModelName{Model: events.ModelBelief, Expert: expert.Name})
		note(events.ModelName{Model: events.ModelPreference, Expert: expert.Name})
	}
}

// Since returns since which event the basis of a model has been as it is.
func (b Bases) Since(of events.ModelName) events.Sequence {
	return b[of].since
}
