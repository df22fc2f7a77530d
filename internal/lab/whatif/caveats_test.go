package whatif

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// Law: how much of what is imagined was really measured is said where anything
// is imagined.
func TestShareOfWhatIsReal(t *testing.T) {
	a := &Answer{StandIn: FromModel, Fitted: 5, Changed: new(definition.Campaign)}
	if text := strings.Join(a.Caveats(), " "); strings.Contains(text, " of 0)") {
		t.Errorf("of nothing it says %q", text)
	}
	a.Imagined = []Experiment{{From: FromLog}, {From: FromModel}}
	if text := strings.Join(a.Caveats(), " "); !strings.Contains(text, "that result counts (1 of 2)") {
		t.Errorf("of two it says %q", text)
	}
}
