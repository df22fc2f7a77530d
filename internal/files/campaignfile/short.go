package campaignfile

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// expand writes the short forms of a campaign file out, in place, as the schema
// describes them:
//
//	policy: coexbo                          policy: {next: …, trust: {coexbo: {}}, handover: …}
//	policy: {next: lcb}                     policy: {next: {lcb: {}}}
//	objective: {maximize: conductivity}     objective: {goal: maximize, name: conductivity}
//	objective: {maximize: a/b}              objective: {goal: maximize, name: a/b, formula: a/b}
//	objective: {tradeoff: […]}              objective: {name: …, goal: …, tradeoff: […]}, those of the first aim
//	objective: {preference: {over: […]}}    objective: {name: …, goal: …, preference: {over: […]}}, by the first measured one
//	objective: {desirability: […]}          objective: {name: desirability, goal: maximize, desirability: […]}
//	constraints_on_outcomes: [a <= b]       constraints_on_outcomes: [{require: a <= b}]
//	cost: 2 + t/100                         cost: {of: 2 + t/100}
//	stop: {target: [a >= b]}                stop: {reach: [a >= b]}
//	noise: 2%                               relative_noise: 0.02, of the objective and of quantities
//	stop: {gain: 0.1%}                      stop: {gain: 0.001}, and so each share of stop
//	categories: [LiPF6]                     categories: [{name: LiPF6}]
//	instrument: manual                      instrument: {manual: {}}
//	instrument: {simulated: electrolyte}    instrument: {simulated: {task: electrolyte}}
//	instrument: {table: rows.csv}           instrument: {table: {file: rows.csv}}
//	instrument: {process: [./pump]}         instrument: {process: {command: [./pump]}}; and so each of instruments
//	places: [oven]                          places: [{name: oven}]
//
// A choice without a value ("terminal:") has its default settings. A value without the expected
// shape is left as it is: the schema reports it.
//
// It comes before the schema, which then describes one form of each thing, and changes the
// plain tree alone, so that places still lead to the text of the file.
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
		expandObjective(objective)
		expandNoise(objective)
	}
	if quantities, ok := tree["quantities"].([]any); ok {
		for _, q := range quantities {
			if q, ok := q.(map[string]any); ok {
				expandNoise(q)
			}
		}
	}
	if constraints, ok := tree["constraints_on_outcomes"].([]any); ok {
		for i, c := range constraints {
			if text, ok := c.(string); ok {
				constraints[i] = map[string]any{"require": text}
			}
		}
	}
	if cost, ok := tree["cost"].(string); ok {
		tree["cost"] = map[string]any{"of": cost}
	}
	if stop, ok := tree["stop"].(map[string]any); ok {
		expandStop(stop)
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
	expandInstrument(reg, tree, "instrument")
	if several, ok := tree["instruments"].(map[string]any); ok {
		for name := range several {
			expandInstrument(reg, several, name)
		}
	}
	if places, ok := tree["places"].([]any); ok {
		for i, p := range places {
			if name, ok := p.(string); ok {
				places[i] = map[string]any{"name": name}
			}
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

// expandInstrument writes out an instrument, which is the value of a key.
func expandInstrument(reg registry.Registry, in map[string]any, key string) {
	if name, ok := in[key].(string); ok {
		in[key] = map[string]any{name: map[string]any{}}
	}
	if instrument, ok := in[key].(map[string]any); ok {
		for _, driver := range reg.Instruments {
			lengthen(instrument, driver.Name, driver.Settings())
		}
	}
}

// withProgram writes a program that is the whole of a policy out, in a tree whose
// places stay those that were written:
//
//	policy: {process: [./choose]}           policy: {next: {process: [./choose]}}
func withProgram(root *yamltree.Node) *yamltree.Node {
	policy := root.Field("policy")
	program := policy.Field(next.ProcessName)
	if program == nil || policy.Field("next") != nil {
		return root
	}
	rule := policy.Without(next.ProcessName)
	for _, key := range rule.Keys() {
		rule = rule.Without(key)
	}
	return root.With("policy", policy.Without(next.ProcessName).With("next", rule.With(next.ProcessName, program)))
}

// expandStop writes out shares, and a target of bounds, one or a list: a number is a target of
// the objective.
func expandStop(stop map[string]any) {
	expandShare(stop, "improvement")
	expandShare(stop, "gain")
	if growth, ok := stop["hypervolume"].(map[string]any); ok {
		expandShare(growth, "improvement")
	}
	bounds, _ := stop["target"].([]any)
	if bound, one := stop["target"].(string); one {
		bounds = []any{bound}
	}
	other := func(bound any) bool { _, text := bound.(string); return !text }
	if _, there := stop["reach"]; there || bounds == nil || slices.ContainsFunc(bounds, other) {
		return
	}
	delete(stop, "target")
	stop["reach"] = bounds
}

// expandShare writes out a share that is given in per cent.
func expandShare(in map[string]any, key string) {
	if share, ok := perCent(in[key]); ok {
		in[key] = share
	}
}

// expandNoise writes out a noise in per cent: it is relative.
func expandNoise(of map[string]any) {
	share, ok := perCent(of["noise"])
	_, there := of["relative_noise"]
	switch {
	case there && ok: // two of it, which Validate reports
		of["noise"] = share
	case ok:
		delete(of, "noise")
		of["relative_noise"] = share
	}
}

// perCent reads a text such as "2%" as a share. It divides by moving the point, so that
// 2% is the same number as 0.02.
func perCent(value any) (share float64, ok bool) {
	text, _ := value.(string)
	parts := perCents.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	share, err := strconv.ParseFloat(parts[1]+"e-2", 64)
	return share, err == nil
}

var perCents = regexp.MustCompile(`^([0-9]+(?:\.[0-9]*)?)\s*%$`)

// expandObjective writes out the short form of an objective.
func expandObjective(objective map[string]any) {
	if aims, ok := objective["tradeoff"].([]any); ok {
		for _, aim := range aims {
			if aim, ok := aim.(map[string]any); ok {
				expandAim(aim)
			}
		}
		if first, ok := first(aims).(map[string]any); ok {
			setDefault(objective, "name", first["name"])
			setDefault(objective, "goal", first["goal"])
		}
		return
	}
	if preference, ok := objective["preference"].(map[string]any); ok {
		if over, ok := preference["over"].([]any); ok {
			setDefault(objective, "name", first(over))
		}
		setDefault(objective, "goal", definition.Maximize)
		return
	}
	if _, desirable := objective["desirability"]; desirable {
		setDefault(objective, "name", desirabilityName)
		setDefault(objective, "goal", definition.Maximize)
		return
	}
	if of := expandAim(objective); of != "" && !isName(of) {
		objective["formula"] = of
	}
}

// expandAim writes out the short form of an objective, and returns it; "" if it is written out
// already. The name of a formula stays as it is: the schema has all that it requires, and
// Complete writes the rest.
func expandAim(aim map[string]any) (of string) {
	for _, goal := range []string{definition.Maximize, definition.Minimize} {
		_, named := aim["name"]
		_, aims := aim["goal"]
		of, short := aim[goal].(string)
		if !short || aims || named && isName(of) {
			continue
		}
		delete(aim, goal)
		aim["goal"] = goal
		setDefault(aim, "name", of)
		return of
	}
	return ""
}

// desirabilityName is the default name of a desirability.
const desirabilityName = "desirability"

// first returns the first of a list, or nil.
func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// setDefault sets a key that is not there.
func setDefault(in map[string]any, key string, value any) {
	if _, there := in[key]; !there && value != nil {
		in[key] = value
	}
}

// isName reports whether an objective is the name of a quantity; otherwise it is a formula.
func isName(of string) bool { return quantityName.MatchString(of) }

var quantityName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// lengthen writes out a choice whose settings are left out, or given as the bare value of its
// main setting. A bare value that the settings do not take is left for the schema to report.
// Decoding tells bare values apart: an object of settings does not decode as the main setting's
// value.
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
