package campaignfile

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
)

// settingsSchema describes a type of settings by its fields and their tags: the json tag gives
// the name, the jsonschema tag the allowed values, in the words of JSON Schema. A field without
// omitempty is required. It matches the generator of the published schemas, apart from the
// comments, which no program holds.
func settingsSchema(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[definition.Value]():
		return map[string]any{"anyOf": []any{map[string]any{"type": "number"}, map[string]any{"type": "string"}}}
	case reflect.TypeFor[definition.Duration]():
		return map[string]any{"type": "string", "pattern": definition.DurationPattern}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return settingsSchema(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": settingsSchema(t.Elem())}
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return map[string]any{"type": "object"}
		}
		return map[string]any{"type": "object", "additionalProperties": settingsSchema(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	}
	return map[string]any{} // anything
}

func structSchema(t reflect.Type) map[string]any {
	properties := make(map[string]any)
	var required []any
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		property := settingsSchema(field.Type)
		constraints := strings.Split(field.Tag.Get("jsonschema"), ",")
		for _, c := range constraints {
			constrain(property, c)
		}
		if slices.Contains(constraints, "required") || !slices.Contains(strings.Split(options, ","), "omitempty") {
			required = append(required, name)
		}
		properties[name] = property
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		schema["required"] = required
	}
	return schema
}

// constrain adds the entry of a tag, such as "minimum=0" or "uniqueItems=true", to a schema.
// Entries of the same name are the values of a list.
func constrain(schema map[string]any, entry string) {
	key, text, _ := strings.Cut(entry, "=")
	if key == "" || key == "required" {
		return
	}
	var value any = text
	if n, err := strconv.ParseFloat(text, 64); err == nil && key != "pattern" && (key != "enum" || schema["type"] != "string") {
		value = n
	} else if b, err := strconv.ParseBool(text); err == nil && key == "uniqueItems" {
		value = b
	}
	if key != "enum" {
		schema[key] = value
		return
	}
	of := schema
	if items, ok := schema["items"].(map[string]any); ok {
		of = items
	}
	values, _ := of[key].([]any)
	of[key] = append(values, value)
}
