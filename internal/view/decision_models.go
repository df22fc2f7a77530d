package view

import (
	"context"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/shapley"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// QuantityModel is the model of a quantity that a decision had, by the last fit before
// it.
type QuantityModel struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit,omitempty"`
	// Log says that the model is of the logarithm.
	Log bool                `json:"log,omitempty"`
	Fit events.ObjectiveFit `json:"fit"`
	// Attributed says what each parameter does to what is expected of the chosen
	// candidate; nil where nothing was chosen by a model, and where it would take long
	// (see [mostAttributed]).
	Attributed *Attributed `json:"attributed,omitempty"`
}

// Attributed are the Shapley values of the mean of a quantity at a candidate: in the quantity's
// unit Total is Base, the model's average over the measured compositions, and the Values added; of
// a logarithm they are factors, and multiplied.
type Attributed struct {
	Candidate  string    `json:"candidate"`
	Base       float64   `json:"base"`
	Parameters []string  `json:"parameters"`
	Values     []float64 `json:"values"`
	Total      float64   `json:"total"`
}

// mostAttributed bounds the work of the Shapley values of one quantity: the coalitions
// of parameters times the cube of the number of compositions. It takes some tenths of a
// second.
const mostAttributed = 2e8

// quantityModels are the models of the quantities at a decision, the objective's first unless it is
// computed; nil where one quantity is measured.
func quantityModels(ctx context.Context, before *engine.Core, made *events.DecisionMade) (models []QuantityModel, err error) {
	def := before.State().Definition
	if !def.Several() || made.Objective == nil {
		return nil, nil
	}
	all, err := before.Quantities().Models(ctx)
	if err != nil || all.Failure() != nil { // a model that cannot be used any more is not shown
		return nil, err
	}
	for _, q := range def.Declared() {
		m := all.Of(q.Name)
		if m == nil {
			continue
		}
		one := QuantityModel{Quantity: q.Name, Unit: q.Unit, Log: m.Scale().Log, Fit: m.Fit}
		if one.Attributed, err = attributed(ctx, before.Space(), m, made); err != nil {
			return nil, err
		}
		models = append(models, one)
	}
	return models, nil
}

// attributed are the Shapley values of a model's mean at the composition that a decision chose by
// its models; nil without such a choice.
func attributed(ctx context.Context, sp *space.Space, m *quantity.Model, made *events.DecisionMade) (*Attributed, error) {
	at := slices.IndexFunc(made.Candidates, func(c events.Candidate) bool { return c.Name == made.Chosen })
	if at < 0 || made.Candidates[at].Outcomes == nil {
		return nil, nil
	}
	x, err := sp.Encode(made.Candidates[at].Parameters)
	if err != nil {
		return nil, nil // it has other parameters by now
	}
	background, groups := shapley.Distinct(m.X), sp.Coordinates()
	n := float64(len(background))
	if len(groups) > shapley.MaxPlayers || math.Ldexp(n*n*n, len(groups)) > mostAttributed {
		return nil, nil
	}
	explainer, err := shapley.New(m.GP(), background, shapley.Config{Groups: groups, Replaced: true})
	if err != nil {
		return nil, err
	}
	explained, err := explainer.Explain(ctx, [][]float64{x}, 0)
	if err != nil {
		return nil, err
	}
	scale, mean := m.Scale(), explained[0].Mean
	a := &Attributed{Candidate: made.Chosen, Base: scale.Value(mean.Base), Parameters: sp.Parameters(), Total: scale.Value(mean.Full)}
	for _, phi := range mean.Phi {
		value := scale.Spread * phi
		if scale.Log {
			value = math.Exp(value)
		}
		a.Values = append(a.Values, value)
	}
	return a, nil
}

// AttributedTable shows how each parameter contributes to the prediction of each quantity at the
// chosen candidate: a line of names first, then a row for each parameter. It is nil where nothing
// is attributed.
func (d *Decision) AttributedTable() (table [][]string) {
	var of []QuantityModel
	head := []string{""}
	for _, m := range d.Quantities {
		if m.Attributed != nil {
			of = append(of, m)
			head = append(head, format.Heading(m.Quantity, m.Unit))
		}
	}
	if of == nil {
		return nil
	}
	row := func(name string, cell func(m *QuantityModel) string) {
		cells := []string{name}
		for i := range of {
			cells = append(cells, cell(&of[i]))
		}
		table = append(table, cells)
	}
	table = append(table, head)
	row("on average", func(m *QuantityModel) string { return format.Short(m.Attributed.Base) })
	for i, parameter := range of[0].Attributed.Parameters {
		row(parameter, func(m *QuantityModel) string {
			value := m.Attributed.Values[i]
			if m.Log {
				return "×" + format.Short(value)
			}
			return signed(value)
		})
	}
	row("expected", func(m *QuantityModel) string { return format.Short(m.Attributed.Total) })
	return table
}

// writeAttributed writes the table of Shapley values of each quantity.
func (d *Decision) writeAttributed(p *page) {
	table := d.AttributedTable()
	if table == nil {
		return
	}
	p.heading("What each parameter does to each quantity at " + d.Decision.Chosen + " (Shapley values)")
	p.raw("  They lead from what the model says on average of the compositions that were measured to what it")
	p.raw("  expects of this one; of a logarithm they are factors.")
	p.raw("")
	for i := range table {
		table[i][0] = "  " + table[i][0]
	}
	p.table(table)
}

// Models are the fits that the decision used, by name if there are several quantities: see
// [Models].
func (d *Decision) Models() []Row {
	rows := Models(d.Definition, d.Decision)
	for _, m := range d.Quantities {
		if m.Quantity == d.Definition.Sought().Name {
			continue // it is among them
		}
		rows = append(rows, fitRows("quantity", modelled{m.Quantity, m.Unit, m.Log}, quantityOf(d.Definition, m.Quantity), &m.Fit)...)
	}
	return rows
}

// modelled is the subject of a fit, named if there are several.
type modelled struct {
	name, unit string
	log        bool
}

// width writes a standard deviation in the unit of the quantity: of a logarithm, in
// units of that.
func (m modelled) width(x float64) string {
	if m.log {
		return format.Short(x) + " of the logarithm"
	}
	return format.Quantity(x, m.unit)
}

// quantityOf is a declared quantity as an objective, for its noise.
func quantityOf(def *definition.Campaign, name string) definition.Objective {
	for _, q := range def.Declared() {
		if q.Name == name {
			return definition.Objective{Name: q.Name, Unit: q.Unit, Noise: q.Noise, RelativeNoise: q.RelativeNoise}
		}
	}
	return definition.Objective{Name: name}
}

func fitRows(row string, m modelled, of definition.Objective, f *events.ObjectiveFit) []Row {
	name := ""
	if m.name != "" {
		name = m.name + ": "
	}
	return []Row{
		rowf(row, "%s%s kernel on %s, log posterior %s", name,
			f.Kernel, format.Count(f.Observations, "measurement"), format.Short(f.LogPosterior)),
		rowf("", "lengthscales %s (parts of each parameter's range), prior sd %s, noise sd %s",
			format.Numbers(ofComposition(f)), m.width(sqrt(f.OutputScale)*f.Scale), noiseText(of, m, f)),
	}
}
