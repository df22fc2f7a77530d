package campaignfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// corner is a rule of somebody else's: it measures in a corner of the space.
type corner struct {
	// Which corner, counted from 1. Default 1.
	Which int `json:"which,omitempty" jsonschema:"minimum=1"`
}

func (c *corner) Complete(*definition.Campaign) { definition.Default(&c.Which, 1) }

func (c *corner) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	if c.Which <= 2*len(def.Parameters) {
		return nil
	}
	return []definition.Fault{{At: here.To("which"), Problem: "there are fewer corners", Remedy: "name another"}}
}

func (*corner) Words(*definition.Campaign) string { return "a corner of the space" }

// cornered is the program's table with a family beside those of campaignd.
func cornered() registry.Registry {
	reg := builtin.Registry()
	reg.Methods = append(reg.Methods, policies.Family{
		Name:    "corners",
		Rules:   []policies.Rule{{Part: policies.Next, Name: "corner", Settings: func() definition.Settings { return new(corner) }}},
		Methods: []policies.Method{{Name: "corners", Summary: "corners", Policy: policies.Alone(definition.NewChoice("corner", nil))}},
		New: func(definition.Campaign, next.Rule) (policies.Policy, error) {
			return nil, errors.New("it decides nothing in this test")
		},
	})
	return reg
}

// Law: a rule that campaignd does not know of is named in a campaign file as its own are:
// its owner completes, checks and explains it, a misspelled setting is found in its line,
// and a method has its name. A program without the row says what it has.
func TestForeignRule(t *testing.T) {
	file := func(policy string) []byte { return []byte(minimal + "\ninstrument: manual\npolicy: " + policy + "\n") }
	for _, policy := range []string{"corners", "{next: corner}", "{next: {corner: {which: 1}}}"} {
		f, err := Parse(cornered(), "c.yaml", file(policy))
		if err != nil {
			t.Errorf("policy: %s: %v", policy, err)
			continue
		}
		if next := f.Definition.Policy.Next; next.Name != "corner" || string(next.Settings()) != `{"which":1}` {
			t.Errorf("policy: %s means %s %s", policy, next.Name, next.Settings())
		}
		if text := Explain(t.Context(), cornered(), f.Definition); !strings.Contains(text, "a corner of the space") {
			t.Errorf("it is explained as\n%s", text)
		}
	}
	for policy, want := range map[string]string{
		"{next: {corner: {wich: 1}}}":   `did you mean "which"?`,
		"{next: {corner: {which: 0}}}":  "which",
		"{next: {corner: {which: 99}}}": "there are fewer corners",
		"{next: {cornre: {}}}":          `did you mean "corner"?`,
	} {
		if _, err := Parse(cornered(), "c.yaml", file(policy)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("policy: %s: %v, want %q", policy, err, want)
		}
	}
	if _, err := Parse(builtin.Registry(), "c.yaml", file("corners")); err == nil ||
		!strings.Contains(err.Error(), `there is no method "corners"`) {
		t.Errorf("without the row: %v", err)
	}
}
