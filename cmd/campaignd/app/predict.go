package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/space"
)

// predictCommand is `campaignd predict`.
//
// The models are those that the next decision would have; nothing is recorded.
// The table may have the parameters in any order and nothing else. A column
// more would be a misspelled parameter as often as not.
//
// The campaign is opened before the table is read, since its parameters are the
// table's columns.
var predictCommand = command{
	name: "predict",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var at string
		flags.StringVar(&at, "at", "", "a CSV `file` of compositions; - for standard input")
		return func(c *call, args []string) error {
			if at == "" {
				return badInput(
					"predict needs --at points.csv, a CSV file with a column for each parameter (- reads standard input)",
				)
			}
			return c.reading(args, func(_ target, _ *session, core *engine.Core) error {
				def := core.State().Definition
				name, in, err := c.openTable(at)
				if err != nil {
					return err
				}
				defer in.Close()
				points, err := exchange.ReadSheet(def, name, in, exchange.Form{})
				if err != nil {
					return err
				}
				predictions, err := predict(c.ctx, core, points)
				if err != nil {
					return err
				}
				if c.json {
					return c.printJSON(predictions)
				}
				return view.WritePredictions(c.stdout, def, predictions)
			})
		}
	},
}

// predict asks the models at each row of a table. Rows outside the space are reported all together.
// Without a model the answer is "no" (exit code 1): that is a state of the campaign, and not a
// mistake in the table. All rows are looked at before any fault is reported, so that a table is
// mended once.
func predict(ctx context.Context, core *engine.Core, points *exchange.Sheet) ([]view.Prediction, error) {
	predictor, err := view.NewPredictor(ctx, core)
	switch {
	case errors.Is(err, view.ErrNoModel):
		return nil, fmt.Errorf("%w%w", errNo, err)
	case err != nil:
		return nil, err
	}
	compositions, err := points.Points(core.State().Definition)
	if err != nil {
		return nil, err
	}
	predictions := make([]view.Prediction, len(points.Rows))
	var faults exchange.Faults
	for i, row := range points.Rows {
		predictions[i], err = predictor.Predict(ctx, compositions[i])
		switch {
		case errors.Is(err, space.ErrOutside):
			faults = append(faults, points.Fault(row, err))
		case err != nil:
			return nil, err
		}
	}
	if faults != nil {
		return nil, faults
	}
	return predictions, nil
}
