package view

import (
	"fmt"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
)

// Backtest says which answer of an instrument whose answers are known beforehand is the best, and whether and when the
// campaign found it; "" for any other instrument, and where it cannot be said any more: the file is gone, or another one.
// Relative paths of the definition start from folder.
func Backtest(core *engine.Core, folder string) string {
	s := core.State()
	driver, _ := core.Registry().Driver(s.Definition.Instrument.Driver.Name)
	if driver.Foregone == nil {
		return ""
	}
	best, err := driver.Foregone(*s.Definition, folder)
	if err != nil {
		return ""
	}
	at, err := core.Space().Key(best.Point)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("the best row of %d compositions has %s (%s): ", len(s.Definition.Candidates),
		format.Quantity(best.Value, s.Definition.Objective.Unit), format.CompositionsOf(s.Definition).LineWithUnits(best.Point))
	measured := 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Measurement == nil {
			continue
		}
		if x.Identity != "" && x.Identity != best.Identity {
			return "" // what it has measured stands in another table
		}
		measured++
		if key, err := core.Space().Key(x.Parameters); err == nil && key == at {
			return text + fmt.Sprintf("found in %s, the measurement %d", x.ID, measured)
		}
	}
	return text + fmt.Sprintf("not found in %s", format.Count(measured, "measurement"))
}
