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
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// bodyOf is a body that is a request of the engine itself. An unreadable composition in it is kept
// as err, a [problem.Invalid] that names its place.
//
// The library decodes a body before it calls the operation, and would refuse an unreadable
// composition in its own words, without its place. Kept, the error waits until the operation has
// looked for a repeat and checked the right to answer: see [API.fulfill].
type bodyOf[B any] struct {
	body B
	err  error
}

// UnmarshalJSON implements json.Unmarshaler. It returns nil if the fault is in a composition; the
// library reports any other error.
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

// Schema implements huma.SchemaProvider. It uses a registry of its own, in which sent types have
// their own names, and copies missing ones into the document: the document shows B, without the
// wrapper.
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

// bodyNames are the names of sent types in the document. Optional fields may be sent as null, so a
// sent type has another schema than the same type in an answer.
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

// readable is a parameter's value in a form that can be read. The document admits anything, so that
// a bad value is refused with its place. This type exists for [unreadable] alone, whose schema
// finds the bad value.
type readable struct{}

// Schema implements huma.SchemaProvider.
func (readable) Schema(huma.Registry) *huma.Schema {
	one := 1
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeNumber}, {Type: huma.TypeString, MinLength: &one},
	}}
}

// unreadable returns the place of an unreadable composition in a body, or nil.
//
// It checks the body against a schema that narrows composition values to the readable ones. It
// names the first place in the order of their texts: the values of a composition are checked in map
// order, and the message must be the same each time. Rows of an import are counted from 1, as
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
