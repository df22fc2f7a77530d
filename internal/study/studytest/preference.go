package studytest

import (
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events/definition"
)

// WithPreference makes a simulated expert's preference over conductivity, viscosity and price the
// objective of a campaign on the electrolyte, with the settings given; their utility is ours if
// they have none.
func WithPreference(expert humansim.Settings) func(*definition.Campaign) {
	return func(def *definition.Campaign) {
		def.Quantities = []definition.QuantityDef{
			{Name: "conductivity", Unit: "mS/cm", Better: definition.BetterHigher},
			{Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog, Better: definition.BetterLower},
			{
				Name: "price", Unit: "EUR/kg", Better: definition.BetterLower,
				From: "(4.557*lipf6 + 1.5*ec + (1 - ec)*(2 - dmc))/(1 + 0.15191*lipf6)",
			},
		}
		def.Objective = definition.Objective{
			Preference: &definition.Preference{Over: []string{"conductivity", "viscosity", "price"}},
		}
		Simulated(def, func(s *simulated.Settings) {
			s.Noise, s.Noises = 0.14, map[string]float64{"viscosity": 0.05}
		})
		if expert.Utility == nil {
			expert.Utility = Valued()
		}
		def.Experts = []definition.Expert{Expert("ada", expert)}
	}
}

// Valued is the worth of the electrolyte's quantities to the expert of [WithPreference].
func Valued() []humansim.Worth {
	twice, half := 2.0, 1.5
	return []humansim.Worth{
		{Quantity: "conductivity", From: 6, To: 13, Weight: &twice}, {Quantity: "viscosity", From: 8, To: 2},
		{Quantity: "price", From: 8, To: 2.5, Weight: &half},
	}
}
