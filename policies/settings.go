package policies

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
)

// PartSettings is implemented by the settings of a rule that describes other parts better than
// their own rules do: the meaning, together with this rule, of trust "none" or handover
// "never".
type PartSettings interface {
	// PartWords describes that part in a line, for people.
	PartWords(part Part) string
}

// Dependent is implemented by the settings of rules of trust and handover whose sense depends on
// what the rule of next can do. They are checked after [definition.Settings.Check].
type Dependent interface {
	CheckNext(def *definition.Campaign, here definition.Path, next Rule) []definition.Fault
}

// checkTrust returns the faults that any rule of trust, given by its name, has in a campaign
// without experts, or without a model whose choice it could bend. searches is set if the rule
// of next searches a model.
func checkTrust(def *definition.Campaign, name string, searches bool) []definition.Fault {
	var faults []definition.Fault
	at := definition.At("policy", "trust")
	if len(def.Experts) == 0 {
		faults = append(faults, definition.Fault{At: at,
			Problem: name + " trusts experts, and there are none",
			Remedy:  "add experts, or choose a policy without experts, such as lognei or lcb"})
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

// Has returns an error if a complete definition lacks a setting of a rule; there is set if it
// has it. campaignd writes every default into the definition it records, so a definition that
// lacks one is not its own.
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

// Alone is the composition of a rule of next by itself, without experts.
func Alone(rule definition.Choice) definition.Policy {
	return definition.Policy{
		Next:     rule,
		Trust:    definition.NewChoice(None, nil),
		Handover: definition.NewChoice(Never, nil),
	}
}
