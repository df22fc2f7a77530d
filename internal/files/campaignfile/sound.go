package campaignfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// Sound returns an error if a campaign cannot be run with a definition: it breaks the schema,
// leaves out a default, or does not pass [Validate]. It is for definitions that come from a
// program instead of a file. A default that was, the definition before, leaves out may be left
// out: it was introduced later, and the campaign goes on without it.
//
// The engine calls it for every amendment, whichever program it comes from.
func Sound(reg registry.Registry, was, def definition.Campaign) error {
	text, err := json.Marshal(def)
	if err != nil {
		return err // a number that JSON does not know
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	var faults []yamltree.Fault
	for _, f := range checkSchema(reg, plain.(map[string]any)) {
		if !f.implied {
			faults = append(faults, f.Fault)
		}
	}
	if len(faults) == 0 {
		for _, c := range Diff(def, CompleteBegun(reg, def, was)) {
			faults = append(faults, yamltree.Fault{
				Message: c.Path + ": there is no value",
				Remedy:  "write every default out",
			})
		}
	}
	if len(faults) == 0 {
		faults = further(reg, was, def)
	}
	// The first faults are enough for a program's author.
	const most = 5
	var errs []error
	for i, f := range faults {
		if i == most {
			errs = append(errs, fmt.Errorf("and %d more faults", len(faults)-most))
			break
		}
		errs = append(errs, errors.New(f.String()))
	}
	return errors.Join(errs...)
}

// further returns the faults of a definition that the one before did not have: a campaign goes
// on with what it began with, such as the candidates that its instrument listed, which no file
// may give.
func further(reg registry.Registry, was, def definition.Campaign) []yamltree.Fault {
	faults := Validate(reg, def)
	if len(faults) == 0 {
		return nil
	}
	before := Validate(reg, was)
	return slices.DeleteFunc(faults, func(f yamltree.Fault) bool {
		return slices.ContainsFunc(before, func(b yamltree.Fault) bool { return reflect.DeepEqual(b, f) })
	})
}
