package decisions_test

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest/decisions"
)

// Law: of every kind an audit knows who writes it.
func TestEveryKindHasAWriter(t *testing.T) {
	for _, info := range events.Kinds() {
		if !decisions.Writes(info.Kind) {
			t.Errorf("%s has no row in the table of writers", info.Kind)
		}
	}
}
