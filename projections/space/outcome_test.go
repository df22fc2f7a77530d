package space

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a constraint on what follows linearly from the parameters is one on the compositions: designs and searches keep
// it, a composition beyond it lies outside, and one that cannot be kept is named.
func TestConstraintOnWhatFollows(t *testing.T) {
	def := mixture()
	def.Quantities = []definition.QuantityDef{{Name: "price", From: "2*ec + 10*fec"}}
	def.ConstraintsOnOutcomes = []definition.OutcomeConstraint{{Require: "price <= 0.9"}}
	s := must.Get(New(def))(t)
	points := must.Get(s.Design(definition.DesignSobol, 40, 1))(t)
	price := func(p definition.Point) float64 {
		ec, _ := p["ec"].Float()
		fec, _ := p["fec"].Float()
		return 2*ec + 10*fec
	}
	for _, p := range points {
		if price(p) > 0.9+1e-9 {
			t.Errorf("%v costs %v", p, price(p))
		}
	}
	free := must.Get(New(mixture()))(t)
	all := must.Get(free.Design(definition.DesignSobol, 40, 1))(t)
	i := slices.IndexFunc(all, func(p definition.Point) bool { return price(p) > 1 })
	if i < 0 {
		t.Fatal("without the constraint none costs more than 1")
	}
	if err := s.Contains(all[i]); !errors.Is(err, ErrOutside) || !strings.Contains(err.Error(), "price <= 0.9") {
		t.Errorf("what costs %v is refused with %v", price(all[i]), err)
	}
	def.ConstraintsOnOutcomes[0].Require = "price <= 0.1"
	if _, err := New(def); err == nil || !strings.Contains(err.Error(), "price <= 0.1") {
		t.Errorf("a price that cannot be kept: %v", err)
	}
}
