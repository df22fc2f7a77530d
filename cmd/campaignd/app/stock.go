package app

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// stockCommand is `campaignd stock`. Whether its contents are labels or an amount follows from
// the stock.
var stockCommand = command{
	name: "stock",
	args: cobra.RangeArgs(2, 3),
	new: func(flags *pflag.FlagSet) runner {
		var r engine.Count
		flags.StringVar(&r.Lot, "lot", "", "what stands on the package: `LOT`")
		flags.StringVar(&r.Reason, "reason", "", forTheRecord)
		return askingOf(2, func(s *campaign.State, args []string) (engine.Request, error) {
			r.Stock = args[0]
			if known := s.Stock(r.Stock); known != nil && known.Unit != "" {
				r.Amount = args[1]
			} else {
				r.Labels = args[1]
			}
			return engine.Request{Count: &r}, nil
		})
	},
}
