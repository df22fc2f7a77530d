package computed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/formula"
)

// Draw is the part of a stock that one experiment uses up: so many labels, or an amount in a unit.
type Draw struct {
	Stock  string
	Labels int
	Amount float64
	Unit   string
}

// Draws are the parts of stocks that an experiment uses up by what a command uses of each, in the order of the stocks' names. An amount
// that is 0 or negative is left out; one that is not a number is an error, since it cannot be told what
// would be used up.
func Draws(
	def *definition.Campaign, uses map[string]definition.Draw, at definition.Point,
) (draws []Draw, err error) {
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		count, text, unit, err := def.Stocks[name].Uses(uses[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if count > 0 {
			draws = append(draws, Draw{Stock: name, Labels: count})
			continue
		}
		f, err := formula.Of(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		amount, ok := evaluate(f, func(name string) (float64, bool) { return at[name].Float() })
		if !ok {
			return nil, fmt.Errorf("how much %s it uses up, %s, is not a number at this composition", name, text)
		}
		if amount > 0 {
			draws = append(draws, Draw{Stock: name, Amount: amount, Unit: unit})
		}
	}
	return draws, nil
}

// Sum adds what another experiment uses up; both are in the order of the stocks' names.
func Sum(all, more []Draw) []Draw {
	for _, d := range more {
		i, known := slices.BinarySearchFunc(all, d.Stock, func(d Draw, name string) int {
			return strings.Compare(d.Stock, name)
		})
		if !known {
			all = slices.Insert(all, i, d)
			continue
		}
		all[i].Labels += d.Labels
		all[i].Amount += d.Amount
	}
	return all
}
