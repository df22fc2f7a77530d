package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// CampaignExperiment is an experiment in answers.
type CampaignExperiment campaign.Written

// newSchemas returns the registry of the API's schemas. Types of other packages carry the package's
// name, unless they have a name of their own: several packages have an Experiment, and the library
// refuses two types under one name. Types of the server itself carry none, so that their names in
// the document survive a move between its packages.
//
// A value of a composition is described as anything: its form depends on the campaign, and is
// checked where that is known.
func newSchemas(names map[reflect.Type]string) huma.Registry {
	namer := func(t reflect.Type, hint string) string {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if name, ok := names[t]; ok {
			return name
		}
		name := huma.DefaultSchemaNamer(t, hint)
		path := t.PkgPath()
		if path == "" || strings.Contains(path, "/internal/web/server/") {
			return name
		}
		pkg := path[strings.LastIndex(path, "/")+1:]
		if pkg == "seek" {
			pkg = "outcome" // as clients know these types since they were in a package of that name
		}
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
	schemas.RegisterTypeAlias(reflect.TypeFor[campaign.Experiment](), reflect.TypeFor[CampaignExperiment]())
	return schemas
}

// admitNull allows null in answers where Go writes null: for a nil pointer or map that is not
// omitted. The library does so only for lists. Otherwise the document would forbid actual answers
// of the server, and clients generated from it would fail on them.
//
// Numbers sent as strings are strings in the document: a program in JavaScript would round large
// ones.
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
			s := schema.Properties[property]
			if !f.IsExported() || s == nil {
				continue
			}
			if slices.Contains(strings.Split(options, ","), "string") { // a number that JavaScript would round
				schema.Properties[property] = &huma.Schema{Type: huma.TypeString,
					Pattern: "^[0-9]+$", Description: s.Description}
				continue
			}
			if strings.Contains(options, "omit") {
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

// admitNullFrom documents that optional fields of requests may be null: encoding/json reads them
// so. checked restores the references, which requests are checked against, and to which the library
// adds null by itself; given "a reference or null" as alternatives, it would accept anything.
//
// So the order is: register all operations, call this, write the document, call checked, and only
// then serve. It walks the types of the bodies of POST and PUT; seen keeps it from running in
// circles.
func admitNullFrom(api *huma.OpenAPI) (checked func()) {
	var undo []func()
	seen := make(map[*huma.Schema]bool)
	var visit func(s *huma.Schema)
	visit = func(s *huma.Schema) {
		if s == nil {
			return
		}
		if s.Ref != "" {
			s = api.Components.Schemas.SchemaFromRef(s.Ref)
		}
		if seen[s] {
			return
		}
		seen[s] = true
		for name, property := range s.Properties {
			visit(property)
			switch {
			case slices.Contains(s.Required, name), property.Nullable, property.Type == "" &&
				property.Ref == "":
			case property.Ref != "":
				whole := &huma.Schema{
					AnyOf:       []*huma.Schema{{Ref: property.Ref}, {Type: "null"}},
					Description: property.Description,
				}
				s.Properties[name] = whole
				undo = append(undo, func() { s.Properties[name] = property })
			default:
				property.Nullable = true
				if property.Enum != nil {
					property.Enum = append(property.Enum, nil)
				}
			}
		}
		visit(s.Items)
		if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
			visit(more)
		}
	}
	for _, path := range api.Paths {
		for _, op := range []*huma.Operation{path.Post, path.Put} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			if content := op.RequestBody.Content["application/json"]; content != nil {
				visit(content.Schema)
			}
		}
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// onceEach refuses a repeated parameter if only one would be read, and an empty one if empty means
// nothing: it would be taken for absent. Both are mistakes of a program that would otherwise get an
// answer to another question. A list may be repeated any number of times, and a free text may be
// empty.
func onceEach(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		u := ctx.URL()
		query := u.Query()
		for _, p := range ctx.Operation().Parameters {
			given, fault := query[p.Name], ""
			if p.In != "query" || len(given) == 0 || p.Schema.Type == huma.TypeArray {
				continue
			}
			switch free := p.Schema.Type == huma.TypeString && p.Schema.Enum == nil; {
			case len(given) > 1:
				fault = "it is there twice"
			case given[0] == "" && !free:
				fault = "it has no value"
			}
			if fault != "" {
				_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, "validation failed",
					&huma.ErrorDetail{Location: "query." + p.Name, Message: fault})
				return
			}
		}
		next(ctx)
	}
}
