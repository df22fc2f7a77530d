package exchange

import (
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// Gives reports whether a row that is taken over has a value of a declared quantity, or gives
// the reason for its absence.
func (r PreviewRow) Gives(def *definition.Campaign, quantity string) bool {
	if r.tell.Value != nil && quantity == def.Sought().Name {
		return true
	}
	for _, q := range slices.Concat(r.tell.Quantities, r.tell.Further) {
		if q.Name == quantity {
			return true
		}
	}
	for _, m := range r.tell.Missing {
		if m.Name == quantity {
			return true
		}
	}
	return false
}
