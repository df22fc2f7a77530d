package server

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events/definition"
)

// newSchemas returns the registry of the API's schemas. Types of other packages carry the
// package's name: several have an Experiment.
func newSchemas() huma.Registry {
	namer := func(t reflect.Type, hint string) string {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		name := huma.DefaultSchemaNamer(t, hint)
		path := t.PkgPath()
		if path == "" || strings.HasSuffix(path, "/internal/server") {
			return name
		}
		pkg := path[strings.LastIndex(path, "/")+1:]
		return strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	schemas := huma.NewMapRegistry("#/components/schemas/", namer)
	anything := reflect.TypeFor[any]()
	for _, t := range []reflect.Type{
		reflect.TypeFor[definition.Value](), // a number, or a category's name
		reflect.TypeFor[definition.Choice](),
		reflect.TypeFor[json.RawMessage](),
	} {
		schemas.RegisterTypeAlias(t, anything)
	}
	return schemas
}

// admitNull lets what is sent be null where Go sends null: a pointer or a map that is nil and
// is not left out. The library does so for lists alone.
func admitNull(schemas huma.Registry) {
	for name, schema := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		if t == nil {
			continue
		}
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			tag := f.Tag.Get("json")
			property, options, _ := strings.Cut(tag, ",")
			if !f.IsExported() || property == "" || property == "-" || strings.Contains(options, "omit") {
				continue
			}
			s := schema.Properties[property]
			if s == nil {
				continue
			}
			switch {
			case f.Type.Kind() == reflect.Pointer && s.Ref != "":
				schema.Properties[property] = &huma.Schema{
					AnyOf:       []*huma.Schema{{Ref: s.Ref}, {Type: "null"}},
					Description: s.Description,
				}
			case f.Type.Kind() == reflect.Map, f.Type.Kind() == reflect.Pointer:
				s.Nullable = true
			}
		}
	}
}
