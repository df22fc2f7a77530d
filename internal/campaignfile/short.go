package campaignfile

import (
	"github.com/campaignd/campaignd/events/definition"
)

// expand writes the short forms of a campaign file out, in place, as the schema
// describes them:
//
//	policy: coexbo                          policy: {next: …, trust: {coexbo: {}}, handover: …}
//	policy: {next: lcb}                     policy: {next: {lcb: {}}}
//	categories: [LiPF6]                     categories: [{name: LiPF6}]
//	instrument: manual                      instrument: {manual: {}}
//	instrument: {simulated: electrolyte}    instrument: {simulated: {task: electrolyte}}
//	instrument: {table: rows.csv}           instrument: {table: {file: rows.csv}}
//	instrument: {process: [./pump]}         instrument: {process: {command: [./pump]}}
//
// A choice without a value ("terminal:") has its default settings. Whatever is
// not of the expected shape is left alone: the schema reports it.
func expand(tree map[string]any) {
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
	if name, ok := tree["policy"].(string); ok {
		if policy, ok := method(name); ok {
			tree["policy"] = policy
		}
	}
	if policy, ok := tree["policy"].(map[string]any); ok {
		for _, part := range []string{"next", "trust", "handover", "duel"} {
			if name, ok := policy[part].(string); ok {
				policy[part] = map[string]any{name: map[string]any{}}
			}
			if choice, ok := policy[part].(map[string]any); ok {
				for name := range choice {
					defaults(choice, name)
				}
			}
		}
	}
	if name, ok := tree["instrument"].(string); ok {
		tree["instrument"] = map[string]any{name: map[string]any{}}
	}
	if instrument, ok := tree["instrument"].(map[string]any); ok {
		defaults(instrument, "manual")
		if task, ok := instrument["simulated"].(string); ok {
			instrument["simulated"] = map[string]any{"task": task}
		}
		if file, ok := instrument["table"].(string); ok {
			instrument["table"] = map[string]any{"file": file}
		}
		if command, ok := instrument["process"].([]any); ok {
			instrument["process"] = map[string]any{"command": command}
		}
	}
	if experts, ok := tree["experts"].([]any); ok {
		for _, e := range experts {
			if e, ok := e.(map[string]any); ok {
				defaults(e, "simulated")
				defaults(e, "terminal")
			}
		}
	}
}

// defaults turns a choice without a value into one with default settings.
func defaults(choice map[string]any, name string) {
	if value, ok := choice[name]; ok && value == nil {
		choice[name] = map[string]any{}
	}
}

// method returns the composition that the name of a method stands for, as a
// plain tree.
func method(name string) (tree map[string]any, ok bool) {
	for _, m := range definition.Methods() {
		if m.Name == name {
			return plain(m.Policy).(map[string]any), true
		}
	}
	return nil, false
}

// methodNames returns the names of the methods.
func methodNames() (names []string) {
	for _, m := range definition.Methods() {
		names = append(names, m.Name)
	}
	return names
}
