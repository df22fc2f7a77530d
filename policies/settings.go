package policies

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
)

// PartSettings is implemented by the settings of a rule that knows better what
// it means that trust is "none", or handover "never", in its company.
type PartSettings interface {
	// PartWords says in a line, for people, what happens in that part.
	PartWords(part Part) string
}

// CheckTrust returns what any rule of trust, given by its name, lacks in a
// campaign: an expert, and a model whose choice it bends; searches says that
// next searches one.
func CheckTrust(def *definition.Campaign, name string, searches bool) []definition.Fault {
	var faults []definition.Fault
	at := definition.At("policy", "trust")
	if len(def.Experts) == 0 {
		faults = append(faults, definition.Fault{At: at,
			Problem: name + " trusts experts, and there are none",
			Remedy:  "add experts, or choose a policy that asks nobody, such as lognei or lcb"})
	}
	if !searches {
		faults = append(
			faults,
			definition.Fault{At: at, Problem: name + " bends the choice of a model, and next has none",
				Remedy: "choose next: lognei, lcb or thompson, or trust: none"},
		)
	}
	return faults
}

// Has is an error where a complete definition does not have a setting of a
// rule.
func Has(rule, setting string, there bool) error {
	if there {
		return nil
	}
	return fmt.Errorf(
		"the definition lacks %s of %s; campaignd writes every setting out, so that it was changed or is another program's",
		setting,
		rule,
	)
}

// Alone is the composition in which a rule of next is left to itself.
func Alone(rule definition.Choice) definition.Policy {
	return definition.Policy{
		Next:     rule,
		Trust:    definition.NewChoice(None, nil),
		Handover: definition.NewChoice(Never, nil),
	}
}
