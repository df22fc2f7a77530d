package labfile

import (
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
)

// Law: a program that is a campaign's method reaches beyond the campaign, and a lab file that offers the very instrument
// and expert of the campaign does not offer it with them: who may not name programs may not name this one.
func TestMethodIsNotOffered(t *testing.T) {
	f, err := Parse(builtin.Registry(), "lab.yaml", []byte("instruments:\n  pump: {process: [./pump]}\nexperts:\n  llm: {process: [./llm]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	choice := func(command string) definition.Choice {
		return definition.NewChoice("process", map[string]any{"command": []string{command}, "reply_within": "10s"})
	}
	def := definition.Campaign{
		Policy:     definition.Policy{Next: definition.NewChoice("process", map[string]any{"command": []string{"./pump"}})},
		Instrument: definition.Instrument{Driver: choice("./pump")},
	}
	found := builtin.Registry().Reaches(&def)
	if len(found) != 2 || !found[1].Method || found[1].Where != "policy.process" {
		t.Fatalf("%+v", found)
	}
	if !f.Offers(builtin.Registry(), &def, found[0]) {
		t.Error("the instrument of the lab file is not offered")
	}
	if f.Offers(builtin.Registry(), &def, found[1]) {
		t.Error("a method is offered because an instrument is")
	}
}
