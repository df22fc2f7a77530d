package view

import (
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
)

// World names the simulated part of a campaign: the lab that measured, or before that the one that
// is to measure; and where nothing is measured, or something real, the experts. It is empty where
// nothing is simulated.
func World(reg registry.Registry, c *Campaign) string {
	def := c.Definition
	experts := slices.ContainsFunc(def.Experts, func(e definition.Expert) bool { return !e.Asked() })
	switch {
	case c.Simulated > 0 && c.Real > 0:
		return "simulated in part"
	case c.Simulated > 0, c.Real == 0 && def.Measures() && reg.Simulates(def):
		return "simulated"
	case experts && def.Measures():
		return "simulated experts"
	case experts && slices.ContainsFunc(def.Experts, func(e definition.Expert) bool { return e.Asked() }):
		return "simulated in part"
	case experts:
		return "simulated"
	}
	return ""
}
