package campaignfile

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/policies"
)

// Law: settings of other modules are described as those of campaignd are, which a library reads for
// the published schemas.
func TestSettingsSchema(t *testing.T) {
	type nested struct {
		Kind string   `json:"kind" jsonschema:"enum=a,enum=b"`
		List []string `json:"list,omitempty" jsonschema:"minItems=1,uniqueItems=true,enum=x,enum=y"`
	}
	type foreign struct {
		URL    string              `json:"url" jsonschema:"required,format=uri,maxLength=20"`
		Step   *float64            `json:"step,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1"`
		Count  int                 `json:"count" jsonschema:"minimum=1,multipleOf=2"`
		On     bool                `json:"on,omitempty"`
		Inner  *nested             `json:"inner,omitempty"`
		Many   []nested            `json:"many,omitempty" jsonschema:"maxItems=3"`
		By     map[string]nested   `json:"by,omitempty"`
		Value  definition.Value    `json:"value,omitempty"`
		Wait   definition.Duration `json:"wait,omitempty"`
		Secret string              `json:"-"`
	}
	all := []any{foreign{}, &foreign{}}
	reg := builtin.Registry()
	for _, driver := range reg.Instruments {
		all = append(all, driver.Settings())
	}
	for _, channel := range reg.Experts {
		all = append(all, channel.Settings())
	}
	for _, part := range []policies.Part{policies.Next, policies.Trust, policies.Handover, policies.Duel} {
		for _, name := range reg.Methods.RuleNames(part) {
			rule, _ := reg.Methods.Rule(part, name)
			all = append(all, rule.Settings())
		}
	}
	mapped := func(t reflect.Type) *jsonschema.Schema {
		switch t {
		case reflect.TypeFor[definition.Value]():
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, {Type: "string"}}}
		case reflect.TypeFor[definition.Duration]():
			return &jsonschema.Schema{Type: "string", Pattern: definition.DurationPattern}
		}
		return nil
	}
	for _, settings := range all {
		library := jsonschema.Reflector{DoNotReference: true, Anonymous: true, Mapper: mapped}
		want := asJSON(t, library.Reflect(settings))
		delete(want, "$schema")
		if diff := cmp.Diff(want, asJSON(t, settingsSchema(reflect.TypeOf(settings)))); diff != "" {
			t.Errorf("%T: %s", settings, diff)
		}
	}
}

// asJSON is a value as JSON holds it.
func asJSON(t *testing.T, v any) (all map[string]any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
