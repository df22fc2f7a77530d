package engine

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
)

// Basis names all that a fit reads: equal bases of one campaign give equal
// fits.
//
// The event of the definition is part of each: an amendment can change the
// space, the noise or what the policy needs. A basis is compared within one
// process or one audit, and never recorded.
func (c *Core) Basis(model, expert string) string {
	defined, observations := c.State().DefinedBy, c.objective.Version()
	switch model {
	case events.ModelObjective:
		return fmt.Sprint(defined, " ", observations)
	case events.ModelBelief: // it shares the objective's kernel
		return fmt.Sprint(defined, " ", observations, " ", c.belief.Revision(expert))
	}
	return fmt.Sprint(defined, " ", c.preference.Revision(expert))
}

// Bases remembers for each model since which event its basis has been as it is:
// a fit may have been made from any event since.
//
// The audit notes them while it folds a log: a fit that names an event from
// before its basis changed cannot have been made from it.
type Bases map[[2]string]struct {
	basis string
	since events.Sequence
}

// Note looks at the core after an event. Models that the policy does not have
// are noted too; nothing asks for theirs.
func (b *Bases) Note(c *Core) {
	if *b == nil {
		*b = make(Bases)
	}
	note := func(model, expert string) {
		key, basis := [2]string{model, expert}, c.Basis(model, expert)
		if last, known := (*b)[key]; !known || last.basis != basis {
			last.basis, last.since = basis, c.State().Sequence
			(*b)[key] = last
		}
	}
	note(events.ModelObjective, "")
	for _, expert := range c.State().Definition.Experts {
		note(events.ModelBelief, expert.Name)
		note(events.ModelPreference, expert.Name)
	}
}

// Since returns since which event the basis of a model has been as it is.
func (b Bases) Since(model, expert string) events.Sequence {
	return b[[2]string{model, expert}].since
}
