package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Prediction is the statement of the models about a composition, as `campaignd predict --json` and
// the API print it: fields are only added.
type Prediction struct {
	Parameters definition.Point `json:"parameters"`
	// Outside says why the composition could not be suggested: the numbers are
	// then an extrapolation, or about an excluded composition.
	Outside string `json:"outside,omitempty"`
	// Mean and SD are the posterior of the objective without noise, in its
	// unit; absent where nothing is measured. Where several quantities are declared,
	// Objective and Unit say of which that is, of a trade-off its first.
	Mean      *float64 `json:"mean,omitempty"`
	SD        *float64 `json:"sd,omitempty"`
	Objective string   `json:"objective,omitempty"`
	Unit      string   `json:"unit,omitempty"`
	// WithAnswers is the posterior with the experts' answers as measurements;
	// absent where they are none.
	WithAnswers *events.Prediction `json:"with_answers,omitempty"`
	// Quantities are the posteriors of all quantities with a model, where several are
	// declared, in the order of the definition: those that follow from the parameters have
	// an SD of 0. Value is that of an objective that is computed from them, and Feasible
	// how probably the constraints on outcomes are kept.
	Quantities []events.QuantityPrediction `json:"quantities,omitempty"`
	Value      *events.Prediction          `json:"value,omitempty"`
	Feasible   *events.Feasible            `json:"feasible,omitempty"`
	// Belief bounds the rejection score of the first expert, in logits; Beliefs
	// those of all, where there are several.
	Belief  *events.Interval            `json:"belief"`
	Beliefs map[string]*events.Interval `json:"beliefs,omitempty"`
	// Preferences say what the model of each expert's comparisons holds of it:
	// the utility, of which only differences count, or where the objective is
	// measured the chance to be preferred to a random composition.
	Preferences map[string]events.Score `json:"preferences,omitempty"`
}

// ErrNoModel is wrapped by the error of [NewPredictor] where the campaign has
// no model that could predict, yet or ever.
var ErrNoModel = errors.New("no model")

// noModel says why no model exists. Its text has no prefix, since it is shown to people as it is;
// errors.Is finds [ErrNoModel] nevertheless.
type noModel struct{ why string }

func (e noModel) Error() string        { return e.why }
func (e noModel) Is(target error) bool { return target == ErrNoModel }

// Predictor predicts compositions by the models of a campaign, those of one
// moment.
type Predictor struct {
	core     *engine.Core
	view     policies.View
	informed *quantity.Model // nil where answers are no measurements
	several  *seek.Predictor // nil where one quantity is sought, and nothing is required
}

// NewPredictor returns a predictor, or why it cannot: an error of the models, or one that wraps
// [ErrNoModel]. It may fit models, which takes seconds; predictions after that are quick.
//
// The cases go from an error of a model that should exist to the reason why none exists: a policy
// without a model is another case than one that has not had an answer yet, since waiting helps only
// with the second.
func NewPredictor(ctx context.Context, core *engine.Core) (*Predictor, error) {
	read, err := core.Read(ctx)
	if err != nil {
		return nil, err
	}
	view, err := read.View(ctx)
	if err != nil {
		return nil, err
	}
	def := core.State().Definition
	switch {
	case view.ObjectiveError() != nil:
		return nil, view.ObjectiveError()
	case view.Objective() == nil && def.Measures():
		return nil, noModel{"the campaign has no model: " + core.Counts().NoModel}
	}
	if err := errors.Join(view.PreferenceErrors...); err != nil {
		return nil, err
	}
	hasUtility := func(m *preference.Model) bool { return m != nil && m.Utility != nil }
	switch {
	case def.Measures() || slices.ContainsFunc(view.Preferences, hasUtility):
		informed, err := engine.Informed(ctx, core.At(engine.World{}), view)
		if err != nil {
			return nil, err
		}
		p := &Predictor{core: core, view: view, informed: informed}
		p.several, err = severalOf(view)
		return p, err
	case core.Registry().Methods.Needs(*def).Preference.Form == "":
		return nil, noModel{"this policy finds the best of its candidates and has no model of any other" +
			" composition; eubo, raeubo and the other rules on a utility have one"}
	}
	return nil, noModel{"the campaign has no model: there is none before an expert has answered a comparison"}
}

// severalOf returns the predictor of several quantities together; nil for a single one.
func severalOf(v policies.View) (*seek.Predictor, error) {
	if v.Objective() == nil {
		return nil, nil
	}
	p, err := seek.NewProblem(v.Campaign, v.Space, v.Models)
	if err != nil || p == nil {
		return nil, err
	}
	return p.NewPredictor()
}

func (p *Predictor) quantities(to *Prediction, x []float64) {
	def := p.core.State().Definition
	if !def.Several() {
		return
	}
	sought := def.Sought()
	to.Objective, to.Unit = sought.Name, sought.Unit
	if p.several != nil {
		out := p.several.At(x)
		to.Value, to.Feasible = out.Value, out.Feasible
	}
	predicted := make(map[string]events.Prediction)
	for _, o := range p.view.Models.Measured() {
		if o.Model != nil {
			predicted[o.Quantity] = o.Model.PredictAt(x)
		}
	}
	for i := range def.Quantities {
		if q := &def.Quantities[i]; q.From != "" {
			if value, ok := computed.Follows(q, to.Parameters); ok {
				predicted[q.Name] = events.Prediction{Mean: value, Unit: q.Unit}
			}
		}
	}
	for _, name := range quantityNames(def) {
		if value, ok := predicted[name]; ok {
			to.Quantities = append(to.Quantities, events.QuantityPrediction{Quantity: name, Prediction: value})
		}
	}
}

// quantityNames are the names of all quantities of a campaign, those that follow from the
// parameters among them, the objective first unless it stands among the others.
func quantityNames(def *definition.Campaign) (names []string) {
	if sought := def.Sought(); !sought.Computed() && def.Quantity(sought.Name) == nil {
		names = append(names, sought.Name)
	}
	for _, q := range def.Quantities {
		names = append(names, q.Name)
	}
	return names
}

// Predict returns the models' predictions for a composition. The error wraps [space.ErrOutside]
// where the composition does not have the campaign's parameters. A composition outside bounds or
// constraints is predicted too, and the result says so.
func (p *Predictor) Predict(ctx context.Context, point definition.Point) (Prediction, error) {
	sp := p.core.Space()
	x, err := sp.Encode(point)
	if err != nil {
		return Prediction{}, err
	}
	prediction, err := p.at(ctx, point, x)
	if err != nil {
		return Prediction{}, err
	}
	prediction.Outside = outsideBecause(sp, point)
	return prediction, nil
}

// at is the prediction of a composition at the point of the unit cube that stands for
// it. It does not say whether that could be suggested.
func (p *Predictor) at(ctx context.Context, point definition.Point, x []float64) (Prediction, error) {
	prediction := Prediction{Parameters: point}
	if p.view.Objective() != nil {
		posterior := p.view.Objective().PredictAt(x)
		prediction.Mean = &posterior.Mean
		prediction.SD = &posterior.SD
		p.quantities(&prediction, x)
	}
	if p.informed != nil {
		posterior := p.informed.PredictAt(x)
		prediction.WithAnswers = &posterior
	}
	if err := prediction.believe(p.view.Beliefs, x); err != nil {
		return Prediction{}, err
	}
	seed := p.core.State().Definition.Seed
	if err := prediction.prefer(ctx, p.view.Preferences, x, seed); err != nil {
		return Prediction{}, err
	}
	return prediction, nil
}

// outsideBecause says why a composition could not be suggested, "" for one that could. Bounds,
// values and constraints that it breaks are named all at once; an exclusion only where it breaks
// none.
func outsideBecause(sp *space.Space, point definition.Point) string {
	if strays := sp.Strays(point, false); strays != nil {
		return strings.Join(strays, "; ")
	}
	if err := sp.Contains(point); err != nil {
		return strings.TrimPrefix(err.Error(), space.ErrOutside.Error()+": ")
	}
	return ""
}

// believe adds the predictions of the beliefs. An expert without a model, who has not answered yet,
// is left out. The definition's order decides which expert is the first, not the order of answers.
func (p *Prediction) believe(beliefs []*belief.Model, x []float64) error {
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

// prefer adds the predictions of the models of comparisons. The seed matters for one kind of
// utility, whose posterior is a draw. It is the campaign's own, so that the same prediction comes
// out each time.
func (p *Prediction) prefer(
	ctx context.Context, models []*preference.Model, x []float64, seed uint64,
) error {
	for _, m := range models {
		if m == nil {
			continue
		}
		var score events.Score
		switch {
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

// beliefOf returns the prediction of an expert's belief; nil for an expert without one. With a
// single expert (only) it stands in a field of its own. The JSON has had the one field since there
// was one expert, and keeps it.
func (p *Prediction) beliefOf(expert string, only bool) *events.Interval {
	if interval := p.Beliefs[expert]; interval != nil {
		return interval
	}
	if only {
		return p.Belief
	}
	return nil
}

// WritePredictions writes predictions as a table, one composition per line.
func WritePredictions(w io.Writer, def *definition.Campaign, predictions []Prediction) error {
	t := newPredictionTable(def, predictions)
	rows := [][]string{t.header()}
	for i := range predictions {
		rows = append(rows, t.row(&predictions[i]))
	}
	p := &page{w: w}
	p.table(rows)
	return p.err
}

// predictionTable says which columns predictions have. A column is there if any
// row fills it: an empty one would be taken for a fault.
type predictionTable struct {
	def       *definition.Campaign
	sought    definition.Objective
	measured  bool
	informed  bool     // answers are measurements
	others    []string // headings of the other quantities
	computed  bool     // the objective is computed from them
	feasible  bool     // the campaign has constraints on outcomes
	believing []string // the experts whose beliefs are predicted
	comparing []string // those whose preferences are
	only      bool     // the campaign has one expert
}

// newPredictionTable finds out which columns some of the predictions fill. All
// predictions of a table are by one [Predictor], so that either all have a mean
// or none.
func newPredictionTable(def *definition.Campaign, predictions []Prediction) predictionTable {
	t := predictionTable{
		def: def, sought: def.Sought(), only: len(def.Experts) == 1, measured: len(def.Experts) == 0,
	}
	some := func(holds func(*Prediction) bool) bool {
		return slices.ContainsFunc(predictions, func(p Prediction) bool { return holds(&p) })
	}
	t.measured = t.measured || some(func(p *Prediction) bool { return p.Mean != nil })
	t.informed = some(func(p *Prediction) bool { return p.WithAnswers != nil })
	t.computed = some(func(p *Prediction) bool { return p.Value != nil })
	t.feasible = some(func(p *Prediction) bool { return p.Feasible != nil })
	for _, name := range quantityNames(def) {
		predicted := func(q events.QuantityPrediction) bool { return q.Quantity == name }
		if name != t.sought.Name && some(func(p *Prediction) bool { return slices.ContainsFunc(p.Quantities, predicted) }) {
			t.others = append(t.others, name)
		}
	}
	for _, e := range def.Experts {
		if some(func(p *Prediction) bool { return p.beliefOf(e.Name, t.only) != nil }) {
			t.believing = append(t.believing, e.Name)
		}
		compares := func(p *Prediction) bool {
			_, ok := p.Preferences[e.Name]
			return ok
		}
		if some(compares) {
			t.comparing = append(t.comparing, e.Name)
		}
	}
	return t
}

// header names the columns; the last one, for remarks, has no name. The order
// of its columns is that of row.
func (t predictionTable) header() (cells []string) {
	for _, par := range t.def.Parameters {
		cells = append(cells, par.Name)
	}
	if t.measured {
		cells = append(cells, t.sought.Name, "sd")
	}
	for _, name := range t.others {
		cells = append(cells, name, "sd")
	}
	if t.computed {
		cells = append(cells, "by these", "sd")
	}
	if t.feasible {
		cells = append(cells, "feasible")
	}
	if t.informed {
		cells = append(cells, "with the answers", "sd")
	}
	for _, name := range t.believing {
		cells = append(cells, "belief of "+name)
	}
	prefers := "score by "
	if !t.def.Measures() {
		prefers = "utility by "
	}
	for _, name := range t.comparing {
		cells = append(cells, prefers+name, "sd")
	}
	return append(cells, "")
}

// computedCells are those of an objective that is computed, empty where it has no
// finite value.
func computedCells(sought definition.Objective, value *events.Prediction) []string {
	if value == nil {
		return []string{"", ""}
	}
	return []string{format.ValueOf(sought, value.Mean), format.Short(value.SD)}
}

// row writes a prediction in these columns. Compositions are written as they
// were given, not rounded: they are the caller's. A belief that is missing in a
// row is an empty cell, while a preference is always there where one row has
// it, since all rows are by the same models.
func (t predictionTable) row(p *Prediction) (cells []string) {
	for _, par := range t.def.Parameters {
		cells = append(cells, p.Parameters[par.Name].String())
	}
	if t.measured {
		cells = append(cells, format.ValueOf(t.sought, *p.Mean), format.Short(*p.SD))
	}
	for _, name := range t.others {
		at := slices.IndexFunc(p.Quantities, func(q events.QuantityPrediction) bool { return q.Quantity == name })
		if at < 0 { // it follows from the parameters, and is not finite here
			cells = append(cells, "", "")
			continue
		}
		cells = append(cells, format.Quantity(p.Quantities[at].Mean, p.Quantities[at].Unit), format.Short(p.Quantities[at].SD))
	}
	if t.computed {
		cells = append(cells, computedCells(t.sought, p.Value)...)
	}
	if t.feasible {
		cells = append(cells, fmt.Sprintf("%.2f", p.Feasible.Probability))
	}
	if t.informed {
		cells = append(cells, format.ValueOf(t.sought, p.WithAnswers.Mean), format.Short(p.WithAnswers.SD))
	}
	for _, name := range t.believing {
		cell := ""
		if interval := p.beliefOf(name, t.only); interval != nil {
			cell = format.Short(interval.Lower) + " … " + format.Short(interval.Upper)
		}
		cells = append(cells, cell)
	}
	for _, name := range t.comparing {
		score := p.Preferences[name]
		cells = append(cells, format.Short(score.Mean), format.Short(score.SD))
	}
	if p.Outside == "" {
		return append(cells, "")
	}
	return append(cells, "outside the space: "+p.Outside)
}
