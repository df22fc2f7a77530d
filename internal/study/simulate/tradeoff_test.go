package simulate

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// Law: a campaign that trades objectives off is no task of a study, which judges by the regret of one value; what is
// said names what to look at instead.
func TestTradeoffIsRefused(t *testing.T) {
	def := definition.Campaign{Name: "both", Objective: definition.Objective{Name: "a", Goal: definition.Maximize}}
	if _, err := campaignSections(def); err != nil {
		t.Fatal(err)
	}
	def.Objective.Tradeoff = []definition.Aim{{Name: "a", Goal: definition.Maximize}, {Name: "b", Goal: definition.Minimize}}
	_, err := campaignSections(def)
	if err == nil || !strings.Contains(err.Error(), "both trades several objectives off") ||
		!strings.Contains(err.Error(), "hypervolume") {
		t.Errorf("%v", err)
	}
}
