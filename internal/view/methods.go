package view

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/duel"
)

// Method is a policy that has a name, and its needs.
type Method struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Source is where it comes from; empty for common practice.
	Source string `json:"source,omitempty"`
	// Instrument and Expert say what it needs.
	Instrument bool `json:"instrument"`
	Expert     bool `json:"expert"`
	// Asks is the form of an expert's answers; empty for methods that ask no one.
	Asks string `json:"asks,omitempty"`
	// Policy is the composition that the name stands for, every default written
	// out.
	Policy definition.Policy `json:"policy"`

	open []string // settings without a default
}

// Methods returns the methods that have a name, with the needs of each.
func Methods(reg registry.Registry) []Method {
	var all []Method
	for _, m := range reg.Methods.Methods() {
		policy := completed(reg, m.Policy)
		all = append(all, Method{
			Name:       m.Name,
			Summary:    m.Summary,
			Source:     m.Source,
			Instrument: m.Policy.Measures(),
			Expert:     m.Asks != "",
			Asks:       m.Asks,
			Policy:     policy,
			open:       openSettings(reg, policy),
		})
	}
	return all
}

// completed writes out the defaults of a policy, in a campaign of people. Some
// defaults depend on who the experts are, so that the example has a person.
func completed(reg registry.Registry, p definition.Policy) definition.Policy {
	people := []definition.Expert{{Name: "ada", Person: true}}
	p = campaignfile.Complete(reg, definition.Campaign{Policy: p, Experts: people}).Policy
	// The lengthscale of a kernel of comparisons follows from the parameters of
	// a campaign.
	switch p.Duel.Name {
	case duel.MRLPFName:
		var settings duel.MRLPF
		if p.Duel.Decode(&settings) == nil {
			settings.Lengthscale = nil
			p.Duel = settings.Choice()
		}
	case duel.MaxMinLCBName:
		var settings duel.MaxMinLCB
		if p.Duel.Decode(&settings) == nil {
			settings.Lengthscale = nil
			p.Duel = settings.Choice()
		}
	}
	return p
}

// Needs lists the needs of the method.
func (m Method) Needs() string {
	switch {
	case !m.Instrument:
		return "an expert"
	case m.Expert:
		return "an instrument, an expert"
	}
	return "an instrument"
}

// OpenSettings lists the keys of the method's rules that have no default, and
// so are not written out with it.
func (m Method) OpenSettings() []string { return m.open }

// openSettings lists the keys of a policy's settings that have no default. What
// counts as unset is the zero value.
func openSettings(reg registry.Registry, p definition.Policy) (keys []string) {
	for _, part := range policies.Parts(p) {
		settings, err := reg.Methods.Settings(p, part)
		if err == nil {
			at := fmt.Sprintf("policy.%s.%s", part, policies.Choice(&p, part).Name)
			keys = append(keys, unset(reflect.ValueOf(settings).Elem(), at)...)
		}
	}
	return keys
}

// unset lists the fields of settings that are not set.
func unset(settings reflect.Value, at string) (keys []string) {
	for i := range settings.NumField() {
		field, value := settings.Type().Field(i), settings.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			keys = append(keys, unset(value, at)...)
		case value.IsZero():
			keys = append(keys, at+"."+name)
		}
	}
	return keys
}
