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

// bodyOf is a body that is a request of the engine, as it is. A composition in it
// that cannot be read is kept as err, a [problem.Invalid] that names its place.
type bodyOf[B any] struct {
	body B
	err  error
}

// UnmarshalJSON implements json.Unmarshaler.
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

// Schema implements huma.SchemaProvider.
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
// that what is anything else is refused with its place.
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
