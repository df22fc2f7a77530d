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
	args: cobra.RangeArgs(0, 3),
	new: func(flags *pflag.FlagSet) runner {
		var r engine.Count
		flags.StringVar(&r.Lot, "lot", "", "what stands on the package: `LOT`")
		flags.StringVar(&r.Reason, "reason", "", forTheRecord)
		lab := flags.Bool("lab", false, "the stocks of the lab, which campaigns share; without a stock they are listed")
		free := flags.String("free", "", "with --lab: the batch that is in a place of the lab no more, `CAMPAIGN/BATCH`")
		folder := flags.String("folder", ".", "with --lab and a database: the `folder` of lab.yaml")
		ask := askingOf(2, func(s *campaign.State, args []string) (engine.Request, error) {
			r.Stock = args[0]
			if known := s.Stock(r.Stock); known != nil && known.Unit != "" {
				r.Amount = args[1]
			} else {
				r.Labels = args[1]
			}
			return engine.Request{Count: &r}, nil
		})
		return func(c *call, args []string) error {
			switch {
			case *lab:
				return (&labStock{call: c, folder: *folder, count: r, free: *free}).run(args)
			case len(args) < 2:
				return badInput("give the stock and what there is of it, as in `campaignd stock tips A1-H12`; `campaignd status` lists them")
			}
			return ask(c, args)
		}
	},
}
