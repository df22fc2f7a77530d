package campaignfile

import (
	"regexp"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/policies"
)

// expand writes the short forms of a campaign file out, in place, as the schema
// describes them:
//
//	policy: coexbo                          policy: {next: …, trust: {coexbo: {}}, handover: …}
//	policy: {next: lcb}                     policy: {next: {lcb: {}}}
//	objective: {maximize: conductivity}     objective: {goal: maximize, name: conductivity}
//	objective: {maximize: a/b}              objective: {goal: maximize, name: a/b, formula: a/b}
//	categories: [LiPF6]                     categories: [{name: LiPF6}]
//	instrument: manual                      instrument: {manual: {}}
//	instrument: {simulated: electrolyte}    instrument: {simulated: {task: electrolyte}}
//	instrument: {table: rows.csv}           instrument: {table: {file: rows.csv}}
//	instrument: {process: [./pump]}         instrument: {process: {command: [./pump]}}
//
// A choice without a value ("terminal:") has its default settings. What does
// not have the expected shape is left as it is: the schema reports it.
//
// It comes before the schema, which then describes one form of each thing, and
// changes the plain tree alone, so that places still lead to what was written.
func expand(reg registry.Registry, tree map[string]any) {
	if parameters, ok := tree["parameters"].([]any); ok {
		for _, p := range parameters {
			p, _ := p.(map[string]any)
			categories, _ := p["categories"].([]any)
			for i, c := range categories {
				if name, ok := c.(string); ok {
					categories[i] = map[string]any{"name": name}
				}
			}
		}
	}
	if objective, ok := tree["objective"].(map[string]any); ok {
		for _, goal := range []string{definition.Maximize, definition.Minimize} {
			_, named := objective["name"]
			_, aims := objective["goal"]
			of, short := objective[goal].(string)
			if !short || aims || named && isName(of) {
				continue
			}
			delete(objective, goal)
			objective["goal"] = goal
			if isName(of) {
				objective["name"] = of
				continue
			}
			objective["formula"] = of
			if !named { // what the schema wants; Complete writes it out
				objective["name"] = of
			}
		}
	}
	if name, ok := tree["policy"].(string); ok {
		if m, ok := reg.Methods.Method(name); ok {
			tree["policy"] = plain(m.Policy)
		}
	}
	if policy, ok := tree["policy"].(map[string]any); ok {
		for _, part := range []string{"next", "trust", "handover", "duel"} {
			if name, ok := policy[part].(string); ok {
				policy[part] = map[string]any{name: map[string]any{}}
			}
			choice, ok := policy[part].(map[string]any)
			if !ok {
				continue
			}
			for name := range choice {
				defaults(choice, name)
			}
			for _, name := range reg.Methods.RuleNames(policies.Part(part)) {
				if rule, _ := reg.Methods.Rule(policies.Part(part), name); choice[name] != nil {
					lengthen(choice, name, rule.Settings())
				}
			}
		}
	}
	if name, ok := tree["instrument"].(string); ok {
		tree["instrument"] = map[string]any{name: map[string]any{}}
	}
	if instrument, ok := tree["instrument"].(map[string]any); ok {
		for _, driver := range reg.Instruments {
			lengthen(instrument, driver.Name, driver.Settings())
		}
	}
	if experts, ok := tree["experts"].([]any); ok {
		for _, e := range experts {
			e, ok := e.(map[string]any)
			if !ok {
				continue
			}
			for _, channel := range reg.Experts {
				lengthen(e, channel.Name, channel.Settings())
			}
		}
	}
}

// isName reports whether what is sought is the name of a quantity; otherwise it
// is a formula.
func isName(of string) bool { return quantityName.MatchString(of) }

var quantityName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// lengthen writes out a choice whose settings are left out, or given as the
// bare value of its main setting. A bare value that the settings do not take is
// left for the schema to report. Decoding decides what is a bare value: an
// object of settings does not decode as the main setting's value.
func lengthen(holder map[string]any, name string, settings definition.Settings) {
	value, named := holder[name]
	if !named {
		return
	}
	short, shortens := settings.(definition.Shortened)
	if !shortens {
		defaults(holder, name)
		return
	}
	long := map[string]any{short.Short(): value}
	if value != nil && definition.NewChoice(name, long).Decode(settings) == nil {
		holder[name] = long
	}
}

// defaults turns a choice without a value into one with no settings, which has
// the defaults.
func defaults(choice map[string]any, name string) {
	if value, ok := choice[name]; ok && value == nil {
		choice[name] = map[string]any{}
	}
}
