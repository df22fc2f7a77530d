package simulate

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// truthOf makes the truth of a campaign with declared quantities from the noiseless results of its
// experiments: the value of the objective, whether the bounds on outcomes are kept, or the coverage
// of a trade-off. greatest is that of [frontOf]. The extremes of a single value are found by a
// search.
func truthOf(def definition.Campaign, noiseless quantities, greatest float64) (t Truth, err error) {
	if def.Objective.Preference != nil {
		return t, fmt.Errorf("%s seeks what an expert prefers, which has no true value to judge by: "+
			"give it an objective, or a tradeoff of the quantities that are compared", def.Name)
	}
	t = Truth{Sought: def.Sought(), quantities: noiseless, required: def.ConstraintsOnOutcomes}
	for _, q := range def.Declared() {
		t.measured = append(t.measured, q.Name)
	}
	sp, err := space.New(def)
	if err != nil {
		return t, err
	}
	kept, err := keeper(def, noiseless)
	if err != nil {
		return t, err
	}
	if len(def.ConstraintsOnOutcomes) > 0 {
		t.keeps = func(p definition.Point) (bool, error) {
			m, err := noiseless(p)
			return err == nil && kept(&m), err
		}
	}
	if def.Tradeoff() == nil {
		t.Value = func(p definition.Point) (float64, error) {
			m, err := noiseless(p)
			if err != nil {
				return math.NaN(), err
			}
			value, ok := computed.Value(&def, &m)
			if !ok {
				return math.NaN(), nil
			}
			return value.Value, nil
		}
		return t, t.searched(sp, nil)
	}
	t.Sought = definition.Objective{Name: "hypervolume", Unit: "%", Goal: definition.Maximize}
	t.Best, t.Worst = 100, 0
	if t.Front, err = frontOf(def, sp, noiseless, kept, greatest); err != nil {
		return t, err
	}
	t.Value = func(p definition.Point) (float64, error) {
		scores, err := t.Front.scores(p)
		if scores == nil {
			return 0, err
		}
		return t.Front.covered([][]float64{scores}), err
	}
	return t, nil
}

// keeper returns a function that reports whether noiseless quantities keep all bounds on outcomes.
func keeper(def definition.Campaign, noiseless quantities) (func(*events.Measurement) bool, error) {
	var reference *events.Measurement
	for _, c := range def.ConstraintsOnOutcomes {
		if !strings.Contains(c.Require, "reference.") || reference != nil {
			continue
		}
		if def.Reference.Composition == nil {
			return nil, fmt.Errorf("%s compares with an experiment of its own, which each campaign of a study has another of: "+
				"give the composition, reference: {lipf6: 1, …}", c.Require)
		}
		m, err := noiseless(def.Reference.Composition)
		if err != nil {
			return nil, fmt.Errorf("the reference composition: %w", err)
		}
		reference = &m
	}
	return func(m *events.Measurement) bool {
		for _, c := range def.ConstraintsOnOutcomes {
			if kept, known := computed.Kept(&def, c, m, reference); !kept || !known {
				return false
			}
		}
		return true
	}, nil
}

// ofFunction are the quantities of a test function: its objective, and those of
// the problem of that name with several objectives.
func ofFunction(def definition.Campaign, task tasks.Task) quantities {
	tradeoff, several := tasks.LookupTradeoff(task.Name)
	return func(p definition.Point) (events.Measurement, error) {
		value, err := task.Value(p)
		if err != nil {
			return events.Measurement{}, err
		}
		m := events.Measurement{Actual: p, Quantities: []definition.Quantity{task.Objective.Quantity(value, nil)}}
		if several {
			values, err := tradeoff.Values(p)
			if err != nil {
				return m, err
			}
			for k, o := range tradeoff.Objectives {
				if o.Name != m.Quantities[0].Name {
					m.Quantities = append(m.Quantities, definition.Quantity{Name: o.Name, Value: values[k], Unit: o.Unit})
				}
			}
		}
		return instruments.Arranged(&def, m), nil
	}
}

// ofTradeoff are the quantities of a test function with several objectives: these,
// and the slacks of its constraints.
func ofTradeoff(def definition.Campaign, problem tasks.Tradeoff) quantities {
	return func(p definition.Point) (events.Measurement, error) {
		values, err := problem.Values(p)
		if err != nil {
			return events.Measurement{}, err
		}
		m := events.Measurement{Actual: p}
		for k, o := range problem.Objectives {
			m.Quantities = append(m.Quantities, definition.Quantity{Name: o.Name, Value: values[k], Unit: o.Unit})
		}
		for k, name := range problem.Slacks {
			m.Quantities = append(m.Quantities,
				definition.Quantity{Name: name, Value: values[len(problem.Objectives)+k]})
		}
		return instruments.Arranged(&def, m), nil
	}
}

// words describe the reference of the regret: the best value, or the hypervolume of the front.
func (t Truth) words(what string) string {
	if t.Front != nil {
		return t.Front.words() + t.bounded()
	}
	return fmt.Sprintf("Regret is against %s, %s.", what, inUnit(t.Best, t.Sought)) + t.bounded()
}

// bounded describes the effect of breaking a bound.
func (t Truth) bounded() string {
	if t.keeps == nil {
		return ""
	}
	return " A composition that truly breaks a bound on outcomes counts for nothing."
}

// models are regressions of all quantities of a campaign, in the place of an
// instrument.
type models struct {
	quantities quantities
	noises     map[string]noise
	// explained describes the share of each quantity's left-out variance that they predict, doubt
	// the quantities with less than half; "" for none.
	explained, doubt string
	// digest identifies the data they were fitted to.
	digest string
}

// modelsOf fits a regression to each measured quantity: a Gaussian process, or the
// mean of so many neighbors. That of a quantity with a logarithmic scale is of the
// logarithm.
func modelsOf(
	ctx context.Context, def definition.Campaign, measured []events.Measurement, neighbors int,
) (out models, err error) {
	out.noises = make(map[string]noise)
	type model struct {
		definition.QuantityDef
		regression
	}
	var all []model
	var explained, doubtful []string
	sp, err := space.New(def)
	if err != nil {
		return out, err
	}
	for _, q := range def.Declared() {
		if q.Record {
			continue // no decision rests on it
		}
		var rows []table.Row
		for i := range measured {
			value, ok := computed.Quantity(&def, &measured[i], q.Name)
			if q.Scale == definition.ScaleLog {
				value.Value = math.Log(value.Value)
			}
			if ok && !math.IsNaN(value.Value) && !math.IsInf(value.Value, 0) {
				rows = append(rows, table.Row{Point: measured[i].Actual, Value: value.Value})
			}
		}
		r, err := regress(ctx, alone(def, q.Name), rows, neighbors)
		if err != nil {
			return out, fmt.Errorf("%s: %w", q.Name, err)
		}
		if r.model != nil {
			r.value = meanOf(sp, r.model)
		}
		all = append(all, model{q, r})
		out.noises[q.Name] = noise{sd: r.sd, logarithm: q.Scale == definition.ScaleLog}
		explained = append(explained, fmt.Sprintf("%s %.0f %%", q.Name, 100*max(0, r.explained)))
		if r.explained < 0.5 {
			doubtful = append(doubtful, q.Name)
		}
	}
	out.explained = "Of the variance of measurements left out it predicts " + format.List(explained...) + "."
	if len(doubtful) > 0 {
		out.doubt = "The surrogate predicts less than half of what varies in " + format.List(doubtful...) + "."
	}
	if out.digest, err = keyOf(measured); err != nil {
		return out, err
	}
	out.quantities = func(p definition.Point) (events.Measurement, error) {
		m := events.Measurement{Actual: p}
		for _, q := range all {
			value, err := q.value(p)
			if err != nil {
				return m, err
			}
			if q.Scale == definition.ScaleLog {
				value = math.Exp(value)
			}
			value = plausible(&q.QuantityDef, value)
			m.Quantities = append(m.Quantities, definition.Quantity{Name: q.Name, Value: value, Unit: q.Unit})
		}
		return instruments.Arranged(&def, m), nil
	}
	return out, nil
}

// meanOf returns the posterior mean of a model. A front is searched among tens of thousands of
// compositions, where the standard deviation, which is not needed, would take most of the time.
func meanOf(sp *space.Space, m *quantity.Model) func(definition.Point) (float64, error) {
	predictors := sync.Pool{New: func() any { return m.GP().NewPredictor() }}
	return func(p definition.Point) (float64, error) {
		x, err := sp.Encode(p)
		if err != nil {
			return math.NaN(), err
		}
		predictor := predictors.Get().(*gp.Predictor)
		defer predictors.Put(predictor)
		return m.Untransform(predictor.Mean(x)), nil
	}
}

// plausible moves a value outside the range of a quantity to its end: a model knows no range, and a
// value outside would count as missing.
func plausible(q *definition.QuantityDef, value float64) float64 {
	if q == nil {
		return value // an objective apart from the quantities has no range here
	}
	if q.Min != nil {
		value = max(value, *q.Min)
	}
	if q.Max != nil {
		value = min(value, *q.Max)
	}
	return value
}

// alone returns the campaign with one of its quantities as its only measured objective: for a model
// of that quantity.
func alone(def definition.Campaign, quantity string) definition.Campaign {
	def.Objective = def.ObjectiveOf(definition.Aim{Name: quantity, Goal: definition.Minimize})
	def.Quantities = nil
	def.ConstraintsOnOutcomes = nil
	def.Cost = definition.Cost{}
	return def
}

// noisesOf returns the noises of a campaign's quantities: the task's, or else the definition's, or
// else the models'. Zero is a value. words describe them; "" for none.
func noisesOf(
	def definition.Campaign, source *studyfile.Task, models map[string]noise,
) (noises map[string]noise, words string, err error) {
	noises = make(map[string]noise)
	var list, names []string
	for _, q := range def.Declared() {
		n := models[q.Name]
		if q.Noise != nil {
			n = noise{sd: *q.Noise}
		}
		if q.RelativeNoise != nil {
			n = noise{sd: *q.RelativeNoise, logarithm: true}
		}
		if sd, ok := source.Noises[q.Name]; ok {
			n = noise{sd: sd}
		}
		names = append(names, q.Name)
		if n.sd == 0 {
			continue
		}
		noises[q.Name] = n
		text := inUnit(n.sd, def.ObjectiveOf(definition.Aim{Name: q.Name}))
		if n.logarithm {
			text = fmt.Sprintf("%.3g %%", 100*n.sd)
		}
		list = append(list, q.Name+" "+text)
	}
	for _, name := range slices.Sorted(maps.Keys(source.Noises)) {
		if !slices.Contains(names, name) {
			return nil, "", fmt.Errorf("noises: nothing that is measured is called %s; there is %s", name, format.List(names...))
		}
	}
	if source.Noise != nil {
		return nil, "", fmt.Errorf("noise is one number, and %s are measured: write noises: {%s: %g}",
			format.List(names...), names[0], *source.Noise)
	}
	if len(list) > 0 {
		words = "measured with noise of standard deviation " + format.List(list...)
	}
	return noises, words, nil
}

// everywhereOfSeveral is [Task.everywhere] for a table of several quantities.
func (t *Task) everywhereOfSeveral(
	ctx context.Context, def definition.Campaign, rows *table.Instrument, file string, source *studyfile.Task,
) error {
	k, measured := source.Surrogate.Neighbors, rows.Measurements()
	by, err := modelsOf(ctx, def, measured, k)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	what := "the mean of a Gaussian process for each quantity"
	if k > 0 {
		what = fmt.Sprintf("of each quantity the mean of the %d nearest rows in the unit cube", k)
	}
	about := fmt.Sprintf("A surrogate of the %d rows of %s: %s", len(measured), file, what)
	t.digest += fmt.Sprintf(" neighbors %d", k)
	return t.judgedByModels(def, source, nil, by, about)
}

// learned returns the data of a campaign's models: the quantities of each experiment that are not
// left out, also of a failed one with partial results.
func learned(s *campaign.State) (measured []events.Measurement) {
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Measurement == nil {
			continue
		}
		m := events.Measurement{Actual: x.Measurement.Actual}
		for _, q := range s.Definition.Declared() {
			if value, ok := s.Quantity(x, q.Name); ok && x.Counts(q.Name) {
				m.Quantities = append(m.Quantities, value)
			}
		}
		if len(m.Quantities) > 0 {
			measured = append(measured, m)
		}
	}
	return measured
}

// storeOfSeveral is the task of a campaign that declares its quantities.
func (t *Task) storeOfSeveral(
	ctx context.Context, file *studyfile.File, source *studyfile.Task, core *engine.Core, name string,
) error {
	def, err := t.composed(file, source)
	if err != nil {
		return err
	}
	measured := learned(core.State())
	by, err := modelsOf(ctx, def, measured, 0)
	if err != nil {
		return fmt.Errorf("%w; %s", err, needsMeasurements)
	}
	past, count := answers(core.State(), core.Space())
	about := fmt.Sprintf("The campaign %s in %s. Its log answers where it holds the composition (%d results); elsewhere "+
		"a surrogate does: the mean of a Gaussian process for each quantity, fitted to all %d measurements",
		name, filepath.Base(source.Store), count, len(measured))
	t.digest = "store"
	return t.judgedByModels(def, source, past, by, about)
}

// judgedByModels makes regressions the task's truth, and with the past its
// instrument.
func (t *Task) judgedByModels(
	def definition.Campaign, source *studyfile.Task, past map[string][]answer, by models, about string,
) (err error) {
	noises, words, err := noisesOf(def, source, by.noises)
	if err != nil {
		return err
	}
	if words != "" {
		about += ", " + words
	}
	if t.Truth, err = truthOf(def, by.quantities, 0); err != nil {
		return err
	}
	t.digest += fmt.Sprintf(" %s %v", by.digest, noises) // maps are printed by their keys
	t.About = fmt.Sprintf("%s. %s %s", about, t.Truth.words("its optimum"), by.explained)
	t.Doubt = by.doubt
	t.standIn(past, noises)
	return nil
}
