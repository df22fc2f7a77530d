package campaignfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/schemas"
)

// Schema returns the JSON Schema of campaign files that name entries of a registry. campaignd's
// own rows are in the embedded schema, with their doc comments; rows of other modules are
// described by the tags of their settings.
//
// A registry without rows of others gives the embedded text byte for byte, so
// that `campaignd schema` and the published file agree.
func Schema(reg registry.Registry) ([]byte, error) {
	var schema map[string]any
	if err := json.Unmarshal(schemas.Campaign(), &schema); err != nil {
		return nil, fmt.Errorf("the embedded schema: %w", err)
	}
	defs := schema["$defs"].(map[string]any)
	for _, driver := range reg.Instruments {
		addRow(defs, "Instrument", driver.Name, driver.Settings())
	}
	for _, channel := range reg.Experts {
		addRow(defs, "Expert", channel.Name, channel.Settings())
	}
	for _, part := range []policies.Part{policies.Next, policies.Trust, policies.Handover, policies.Duel} {
		addRules(defs, reg.Methods, part)
	}
	addMethods(schema, reg.Methods.Methods())
	var embedded any
	if err := json.Unmarshal(schemas.Campaign(), &embedded); err != nil {
		return nil, fmt.Errorf("the embedded schema: %w", err)
	}
	if reflect.DeepEqual(embedded, any(schema)) {
		return schemas.Campaign(), nil // in the order in which people read it
	}
	return json.MarshalIndent(schema, "", "  ")
}

// Keys returns the keys of a campaign file's first level, in the order in which they
// usually stand.
var Keys = sync.OnceValue(func() []string {
	schema, err := yamltree.FromJSON(schemas.Campaign())
	if err != nil {
		panic("campaignfile: the embedded schema: " + err.Error())
	}
	return schema.Field("properties").Keys()
})

// methodNames returns the names of the methods that a schema of campaign files
// knows.
func methodNames(schema any) []string {
	var names []string
	for _, name := range methodEnum(schema.(map[string]any))["enum"].([]any) {
		names = append(names, name.(string))
	}
	return names
}

// methodEnum is the part of the schema that lists the methods. The generated
// schema has that shape; another one shows as a panic at the first use.
func methodEnum(schema map[string]any) map[string]any {
	policy := schema["$defs"].(map[string]any)["Policy"].(map[string]any)
	return policy["anyOf"].([]any)[1].(map[string]any)
}

// addMethods adds the methods of a table to the schema. Names that are there
// keep their order.
func addMethods(schema map[string]any, methods []policies.Method) {
	list := methodEnum(schema)
	known := methodNames(schema)
	for _, m := range methods {
		if !slices.Contains(known, m.Name) {
			list["enum"] = append(list["enum"].([]any), m.Name)
		}
	}
}

// addRules adds the rules of a part of the policy. A rule can be chosen with
// settings or by its bare name, so it stands in two places of the schema.
func addRules(defs map[string]any, methods policies.Registry, part policies.Part) {
	holder := strings.ToUpper(string(part[:1])) + string(part[1:])
	bare := defs[holder].(map[string]any)["anyOf"].([]any)[1].(map[string]any)
	for _, name := range methods.RuleNames(part) {
		if slices.Contains(bare["enum"].([]any), any(name)) {
			continue
		}
		bare["enum"] = append(bare["enum"].([]any), name)
		rule, _ := methods.Rule(part, name)
		addRow(defs, holder, name, rule.Settings())
	}
}

// addRow adds a choice to the definition that holds it, unless it is there.
//
// null is allowed as well: a choice without a value has its default settings.
func addRow(defs map[string]any, holder, name string, settings definition.Settings) {
	long := defs[holder].(map[string]any)
	if branches, ok := long["anyOf"].([]any); ok {
		long = branches[0].(map[string]any)
	}
	properties := long["properties"].(map[string]any)
	if properties[name] != nil {
		return
	}
	properties[name] = map[string]any{"anyOf": []any{settingsSchema(reflect.TypeOf(settings)), map[string]any{"type": "null"}}}
}
