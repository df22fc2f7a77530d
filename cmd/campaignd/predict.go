package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
)

// prediction is an element of what `predict --json` prints.
type prediction struct {
	Parameters events.Point `json:"parameters"`
	// Mean and SD are the posterior of the objective without noise, in its unit.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	// Belief bounds the rejection score of the first expert, in logits;
	// Beliefs those of all, where there are several.
	Belief  *events.Interval            `json:"belief"`
	Beliefs map[string]*events.Interval `json:"beliefs,omitempty"`
}

func (a *app) predictCommand() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "predict [TARGET] --at points.csv",
		Short: "Predict the objective, and what the experts believe, at compositions",
		Long: `Predict the objective at the compositions of a CSV file whose header names the
parameters: the posterior mean and standard deviation without noise, and the
interval of the expert's rejection score in logits (positive: likely rejected).`,
		Example: `  campaignd predict electrolyte.campaign --at points.csv
  printf 'lipf6,ec,dmc\n1.0,0.3,1\n' | campaignd predict --at - --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at == "" {
				return badInput("predict needs --at points.csv, a CSV file with a column for each parameter (- reads standard input)")
			}
			_, s, err := a.openToRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.close()
			core, err := s.core(cmd.Context())
			if err != nil {
				return err
			}
			def := core.State().Definition
			points, err := a.readSheet(def, at)
			if err != nil {
				return err
			}
			view := core.View()
			if view.ObjectiveError != nil {
				return view.ObjectiveError
			}
			if view.Objective == nil {
				return fmt.Errorf("%wthe campaign has no model yet: it is fitted after the initial experiments", errNo)
			}
			predictions := make([]prediction, len(points.rows))
			var faults []error
			for i, row := range points.rows {
				x, err := core.Space().Encode(row.point)
				if err != nil {
					faults = append(faults, fmt.Errorf("%s:%d: %w", points.name, row.line, err))
					continue
				}
				p := view.Objective.PredictAt(x)
				predictions[i] = prediction{Parameters: row.point, Mean: p.Mean, SD: p.SD}
				for k, belief := range view.Beliefs {
					if belief == nil {
						continue
					}
					lower, upper, err := belief.Bounds(x)
					if err != nil {
						return fmt.Errorf("the belief of %s: %w", belief.Expert, err)
					}
					interval := &events.Interval{Lower: lower, Upper: upper}
					if k == 0 {
						predictions[i].Belief = interval
					}
					if len(view.Beliefs) > 1 {
						if predictions[i].Beliefs == nil {
							predictions[i].Beliefs = make(map[string]*events.Interval)
						}
						predictions[i].Beliefs[belief.Expert] = interval
					}
				}
			}
			if faults != nil {
				return rowFaults(faults)
			}
			if a.json {
				return a.printJSON(predictions)
			}
			return a.printPredictions(def, predictions)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "a CSV `file` of compositions; - for standard input")
	return cmd
}

func (a *app) printPredictions(def *events.Definition, predictions []prediction) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, par := range def.Parameters {
		fmt.Fprintf(w, "%s\t", par.Name)
	}
	fmt.Fprintf(w, "%s\tsd\t", def.Objective.Name)
	if len(def.Experts) > 0 {
		fmt.Fprintf(w, "belief of %s", def.Experts[0].Name)
	}
	fmt.Fprintln(w)
	for _, p := range predictions {
		for _, par := range def.Parameters {
			fmt.Fprintf(w, "%s\t", p.Parameters[par.Name])
		}
		fmt.Fprintf(w, "%s\t%s\t", quantity(p.Mean, def.Objective.Unit), short(p.SD))
		if p.Belief != nil {
			fmt.Fprintf(w, "%s … %s", short(p.Belief.Lower), short(p.Belief.Upper))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
