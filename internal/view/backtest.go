package view

import (
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// BacktestMeaning explains a backtest.
const BacktestMeaning = "results are looked up in a table of past ones, and nothing is measured"

// IsBacktest reports whether the campaign's results are all known beforehand:
// its driver looks them up in a table.
func IsBacktest(core *engine.Core) bool {
	driver, _ := core.Registry().DriverOf(core.State().Definition)
	return driver.Foregone != nil
}

// Backtest describes a backtest, its best row, and whether and when the campaign found it; empty
// for any other campaign. best is nil where the table cannot be read any more; the best row is left
// out, too, where it belongs to another table than the measurements.
func Backtest(core *engine.Core, best *instruments.Foregone) string {
	if !IsBacktest(core) {
		return ""
	}
	if best != nil {
		if found := whetherFound(core, best); found != "" {
			return BacktestMeaning + "; " + found
		}
	}
	return BacktestMeaning
}

// whetherFound says which row is the best, and whether it was found; empty
// where the measurements come from another table. Compositions are compared by
// the space's key, as the engine compares them. Measurements without an identity
// are taken for those of this table.
func whetherFound(core *engine.Core, best *instruments.Foregone) string {
	s := core.State()
	at, err := core.Space().Key(best.Point)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("the best row of %d compositions has %s (%s): ", len(s.Definition.Candidates),
		format.ValueOf(s.Definition.Sought(), best.Value),
		format.CompositionsOf(s.Definition).LineWithUnits(best.Point))
	measured := 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Measurement == nil || x.Reference() {
			continue
		}
		if x.Command.Identity != "" && x.Command.Identity != best.Identity {
			return "" // its measurements stand in another table
		}
		measured++
		if key, err := core.Space().Key(x.Parameters); err == nil && key == at {
			return text + fmt.Sprintf("found in %s, the measurement %d", x.ID, measured)
		}
	}
	return text + fmt.Sprintf("not found in %s", format.Count(measured, "measurement"))
}
