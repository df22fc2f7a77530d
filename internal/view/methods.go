package view

import (
	"reflect"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/registry"
)

// Method is a policy that has a name, and what it needs.
type Method struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Source is where it comes from; empty for what everybody does.
	Source string `json:"source,omitempty"`
	// Instrument and Expert say what it needs.
	Instrument bool `json:"instrument"`
	Expert     bool `json:"expert"`
	// Asks is what an expert is asked for, empty where nobody is.
	Asks string `json:"asks,omitempty"`
	// Policy is the composition that the name stands for, every default written out.
	Policy definition.Policy `json:"policy"`
}

// Methods returns the methods that have a name, with what each needs.
func Methods(reg registry.Registry) []Method {
	var all []Method
	for _, m := range reg.Methods.Methods() {
		all = append(all, Method{
			Name:       m.Name,
			Summary:    m.Summary,
			Source:     m.Source,
			Instrument: m.Policy.Measures(),
			Expert:     m.Asks != "",
			Asks:       m.Asks,
			Policy:     completed(reg, m.Policy),
		})
	}
	return all
}

// completed writes out the defaults of a policy, in a campaign of people.
func completed(reg registry.Registry, p definition.Policy) definition.Policy {
	people := []definition.Expert{{Name: "ada", Person: true}}
	p = campaignfile.Complete(reg, definition.Campaign{Policy: p, Experts: people}).Policy
	// The lengthscale of a kernel of comparisons follows from the parameters of a campaign.
	if p.Duel.MRLPF != nil {
		p.Duel.MRLPF.Lengthscale = nil
	}
	if p.Duel.MaxMinLCB != nil {
		p.Duel.MaxMinLCB.Lengthscale = nil
	}
	return p
}

// Needs says what the method needs.
func (m Method) Needs() string {
	switch {
	case !m.Instrument:
		return "an expert"
	case m.Expert:
		return "an instrument, an expert"
	}
	return "an instrument"
}

// OpenSettings lists the keys of the method's rules that have no default, and so are
// not written out with it.
func (m Method) OpenSettings() []string { return openSettings(reflect.ValueOf(m.Policy), "policy") }

func openSettings(v reflect.Value, at string) (keys []string) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		rule := value.Kind() == reflect.Pointer && value.Type().Elem().Kind() == reflect.Struct
		switch {
		case field.Anonymous:
			keys = append(keys, openSettings(value, at)...)
		case rule && !value.IsNil():
			keys = append(keys, openSettings(value.Elem(), at+"."+name)...)
		case value.Kind() == reflect.Struct:
			keys = append(keys, openSettings(value, at+"."+name)...)
		case !rule && value.IsZero():
			keys = append(keys, at+"."+name)
		}
	}
	return keys
}
