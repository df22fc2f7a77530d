package campaignfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/internal/yamltree"
)

// Sound says what keeps a definition from being one that a campaign can be run
// with: what breaks the schema, a default that is not written out, what makes no
// sense. It is for definitions that came from a program instead of a file.
func Sound(reg registry.Registry, def definition.Campaign) error {
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
		for _, c := range Diff(def, Complete(reg, def)) {
			faults = append(faults, yamltree.Fault{
				Message: c.Path + ": there is no value",
				Remedy:  "write every default out",
			})
		}
	}
	if len(faults) == 0 {
		faults = Validate(reg, def)
	}
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
