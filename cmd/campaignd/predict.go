package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/space"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/preference"
)

// prediction is an element of what `predict --json` prints.
type prediction struct {
	Parameters definition.Point `json:"parameters"`
	// Outside says why the composition could not be suggested: the numbers are then
	// an extrapolation, or of something nobody wants.
	Outside string `json:"outside,omitempty"`
	// Mean and SD are the posterior of the objective without noise, in its unit;
	// absent where nothing is measured.
	Mean *float64 `json:"mean,omitempty"`
	SD   *float64 `json:"sd,omitempty"`
	// Belief bounds the rejection score of the first expert, in logits;
	// Beliefs those of all, where there are several.
	Belief  *events.Interval            `json:"belief"`
	Beliefs map[string]*events.Interval `json:"beliefs,omitempty"`
	// Preferences say what the model of each expert's comparisons holds of it: the
	// utility, of which only differences count, or where the objective is
	// measured the chance to be preferred to a random composition.
	Preferences map[string]events.Score `json:"preferences,omitempty"`
}

func (a *app) predictCommand() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "predict [TARGET] --at points.csv",
		Short: "Predict the objective, and what the experts believe, at compositions",
		Long: `Predict the objective at the compositions of a CSV file whose header names the
parameters: the posterior mean and standard deviation without noise, and of each
expert, as far as the policy models it: the interval of the rejection score in
logits (positive: likely rejected), the score, which is about the chance to be preferred to
a random one, or, where nothing is measured, its utility.`,
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
			points, err := a.readSheet(def, at, sheetForm{})
			if err != nil {
				return err
			}
			predictions, err := predict(cmd.Context(), core, points)
			if err != nil {
				return err
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

// predict asks the models at each row.
func predict(ctx context.Context, core *engine.Core, points *sheet) ([]prediction, error) {
	view, def := core.View(), core.State().Definition
	duels := !def.Measures()
	switch {
	case view.ObjectiveError != nil:
		return nil, view.ObjectiveError
	case view.Objective == nil && !duels:
		return nil, fmt.Errorf("%wthe campaign has no model yet: it is fitted after the initial experiments", errNo)
	}
	if err := errors.Join(view.PreferenceErrors...); err != nil {
		return nil, err
	}
	if duels && !slices.ContainsFunc(view.Preferences, func(m *preference.Model) bool { return m != nil && m.Utility != nil }) {
		if core.Registry().Methods.Needs(*def).Preference.Form == "" {
			return nil, fmt.Errorf("%wthis policy finds the best of its candidates and has no model of any other composition; eubo, raeubo and the other rules on a utility have one", errNo)
		}
		return nil, fmt.Errorf("%wthe campaign has no model yet: it is fitted after the initial comparisons", errNo)
	}
	compositions, err := points.points(def)
	if err != nil {
		return nil, err
	}
	predictions := make([]prediction, len(points.rows))
	var faults []error
	for i, row := range points.rows {
		x, err := core.Space().Encode(compositions[i])
		if err != nil {
			faults = append(faults, points.fault(row, row.cells[0], err))
			continue
		}
		predictions[i].Parameters = compositions[i]
		predictions[i].Outside = outsideBecause(core.Space(), compositions[i])
		if view.Objective != nil {
			p := view.Objective.PredictAt(x)
			predictions[i].Mean, predictions[i].SD = &p.Mean, &p.SD
		}
		if err := predictions[i].ofBeliefs(view.Beliefs, x); err != nil {
			return nil, err
		}
		if err := predictions[i].ofPreferences(ctx, view.Preferences, x, def.Seed); err != nil {
			return nil, err
		}
	}
	if faults != nil {
		return nil, rowFaults(faults)
	}
	return predictions, nil
}

// outsideBecause says why a composition could not be suggested, "" for one that could.
func outsideBecause(sp *space.Space, point definition.Point) string {
	if strays := sp.Strays(point, false); strays != nil {
		return strings.Join(strays, "; ")
	}
	if err := sp.Contains(point); err != nil {
		return strings.TrimPrefix(err.Error(), space.ErrOutside.Error()+": ")
	}
	return ""
}

// ofBeliefs adds what the beliefs say.
func (p *prediction) ofBeliefs(beliefs []*belief.Model, x []float64) error {
	for k, b := range beliefs {
		if b == nil {
			continue
		}
		lower, upper, err := b.Bounds(x)
		if err != nil {
			return fmt.Errorf("the belief of %s: %w", b.Expert, err)
		}
		interval := &events.Interval{Lower: lower, Upper: upper}
		if k == 0 {
			p.Belief = interval
		}
		if len(beliefs) > 1 {
			if p.Beliefs == nil {
				p.Beliefs = make(map[string]*events.Interval)
			}
			p.Beliefs[b.Expert] = interval
		}
	}
	return nil
}

// ofPreferences adds what the models of comparisons say.
func (p *prediction) ofPreferences(ctx context.Context, models []*preference.Model, x []float64, seed uint64) error {
	for _, m := range models {
		var score events.Score
		switch {
		case m == nil:
			continue
		case m.Utility != nil:
			posterior, err := m.Utility.Posterior(ctx, seed)
			if err != nil {
				return fmt.Errorf("the utility of %s: %w", m.Expert, err)
			}
			score.Mean, score.SD = posterior.Posterior(x)
		case m.Score != nil:
			mean, variance := m.Score.NewPredictor().At(x, nil, nil)
			score = events.Score{Mean: mean, SD: math.Sqrt(variance)}
		default:
			continue
		}
		if p.Preferences == nil {
			p.Preferences = make(map[string]events.Score)
		}
		p.Preferences[m.Expert] = score
	}
	return nil
}

func (a *app) printPredictions(def *definition.Campaign, predictions []prediction) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, par := range def.Parameters {
		tabulate(w, "%s\t", par.Name)
	}
	measured, prefers := false, "score by"
	var believing, comparing []string
	if !def.Measures() {
		prefers = "utility by"
	}
	for _, e := range def.Experts {
		for _, p := range predictions {
			measured = measured || p.Mean != nil
			_, several := p.Beliefs[e.Name]
			if several || p.Belief != nil && len(def.Experts) == 1 {
				believing = append(believing, e.Name)
			}
			if _, ok := p.Preferences[e.Name]; ok {
				comparing = append(comparing, e.Name)
			}
		}
	}
	believing, comparing = slices.Compact(believing), slices.Compact(comparing)
	if measured = measured || len(def.Experts) == 0; measured {
		tabulate(w, "%s\tsd\t", def.Objective.Name)
	}
	for _, name := range believing {
		tabulate(w, "belief of %s\t", name)
	}
	for _, name := range comparing {
		tabulate(w, "%s %s\tsd\t", prefers, name)
	}
	fmt.Fprintln(w)
	for _, p := range predictions {
		for _, par := range def.Parameters {
			tabulate(w, "%s\t", p.Parameters[par.Name])
		}
		if measured {
			tabulate(w, "%s\t%s\t", format.Quantity(*p.Mean, def.Objective.Unit), format.Short(*p.SD))
		}
		for _, name := range believing {
			interval := p.Beliefs[name]
			if interval == nil {
				interval = p.Belief
			}
			tabulate(w, "%s … %s\t", format.Short(interval.Lower), format.Short(interval.Upper))
		}
		for _, name := range comparing {
			score := p.Preferences[name]
			tabulate(w, "%s\t%s\t", format.Short(score.Mean), format.Short(score.SD))
		}
		if p.Outside != "" {
			fmt.Fprintf(w, "outside the space: %s", p.Outside)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
