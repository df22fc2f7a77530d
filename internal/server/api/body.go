package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/problem"
)

// bodyOf is a body that is a request of the engine, as it is. A composition in
// it that cannot be read is kept as err, a [problem.Invalid] that names its
// place.
//
// The library decodes a body before the operation is called, and would refuse a
// composition that cannot be read in words of its own, without its place. Kept,
// the error waits until the operation has looked for a repeat and for the
// rights to answer: see [API.fulfill].
type bodyOf[B any] struct {
	body B
	err  error
}

// UnmarshalJSON implements json.Unmarshaler. It returns no error where it has
// found the composition at fault; any other error is the library's to report.
func (s *bodyOf[B]) UnmarshalJSON(text []byte) error {
	err := json.Unmarshal(text, &s.body)
	if err == nil {
		return nil
	}
	if s.err = unreadable[B](text); s.err != nil {
		return nil
	}
	return err
}

// Schema implements huma.SchemaProvider. It uses a registry of its own, in
// which types that are sent have names of their own, and copies into the
// document what that does not have yet: the document shows B, and nothing of
// the wrapper.
func (s bodyOf[B]) Schema(all huma.Registry) *huma.Schema {
	bodies := newSchemas(bodyNames)
	schema := bodies.Schema(reflect.TypeFor[B](), true, "")
	for name, of := range bodies.Map() {
		if all.Map()[name] == nil {
			all.Map()[name] = of
		}
	}
	return schema
}

// bodyNames are the names in the document of what is sent. What is sent may be
// null where it may be left out, so that it has another schema than the same
// type in an answer.
var bodyNames = map[reflect.Type]string{
	reflect.TypeFor[engine.Tell]():           "Tell",
	reflect.TypeFor[engine.Correct]():        "Correction",
	reflect.TypeFor[engine.Resolve]():        "Resolution",
	reflect.TypeFor[engine.Exclude]():        "Exclusion",
	reflect.TypeFor[engine.Allow]():          "Permission",
	reflect.TypeFor[engine.Anchors]():        "Anchors",
	reflect.TypeFor[engine.Note]():           "Note",
	reflect.TypeFor[definition.Quantity]():   "FurtherQuantity",
	reflect.TypeFor[definition.RegionSide](): "Side",
}

// readable is what a parameter's value may be. The document admits anything, so
// that what is anything else is refused with its place. It exists for
// [unreadable] alone: it is the schema of a value by which a faulty one is
// found.
type readable struct{}

// Schema implements huma.SchemaProvider.
func (readable) Schema(huma.Registry) *huma.Schema {
	one := 1
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeNumber}, {Type: huma.TypeString, MinLength: &one},
	}}
}

// unreadable says where a body holds a composition that cannot be read, nil
// where it holds none.
//
// It checks the body against a schema in which the values of compositions are
// narrowed to what can be read. It names the first place in the order of their
// texts: the values of a composition are checked in the order of a map, and the
// message must be the same each time. Rows of an import are counted from 1, as
// people count them.
func unreadable[B any](text []byte) error {
	var body any
	if err := json.Unmarshal(text, &body); err != nil {
		return nil
	}
	schemas := newSchemas(bodyNames)
	schemas.RegisterTypeAlias(reflect.TypeFor[definition.Value](), reflect.TypeFor[readable]())
	var found huma.ValidateResult
	schema := schemas.Schema(reflect.TypeFor[B](), true, "")
	huma.Validate(schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, body, &found)
	var places []string
	for _, err := range found.Errors {
		places = append(places, err.(*huma.ErrorDetail).Location)
	}
	if places == nil {
		return nil
	}
	place := slices.Min(places)
	var row int
	if n, _ := fmt.Sscanf(place, "[%d].", &row); n == 1 {
		_, place, _ = strings.Cut(place, ".")
		place = fmt.Sprintf("row %d: %s", row+1, place)
	}
	return problem.New(problem.Invalid, "%s is neither a number nor the name of a category", place)
}
