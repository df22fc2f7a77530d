package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Names of the form's fields for a measurement. Those of further quantities
// stand in the form once for each row.
const (
	fieldValue        = "value"
	fieldSD           = "sd"
	fieldRemark       = "remark"
	fieldFurtherName  = "further.name"
	fieldFurtherValue = "further.value"
	fieldFurtherUnit  = "further.unit"
	prefixActual      = "actual."
	prefixMissing     = "missing." // why a declared quantity has no value
	fieldLeaveOut     = "leave-out"
)

// measuredFields are the fields for measured data, apart from the value itself. Every form that
// takes a result has them: the entry of a result, the settling of a fate, a correction and an
// experiment of one's own. Most stay empty, and are shown when a person asks for them.
type measuredFields struct {
	// Prefix is that of the elements' ids: a page may have several such forms.
	Prefix string
	// Unit is that of the objective.
	Unit string
	// Computed is set where the objective is a formula, whose value is not asked
	// for.
	Computed bool
	SD, Of   string // standard deviation as typed, and as recorded
	// Known are the quantities that the campaign declares, apart from its objective, and those that
	// it has measured before; Other are the rows for others, the last one empty.
	Known, Other []quantityField
	// Declared are the quantities of the campaign, each of which can have no value or, where
	// Corrects is set, be left out of the models.
	Declared []declaredField
	Corrects bool
	// Lacks is set where a result was refused for a quantity without a value.
	Lacks bool
	// Remarks is set where a remark can be recorded with the result.
	Remarks bool
	Remark  string
	// Fields are those of the composition that was really made.
	Fields []pointField
	Anyway bool
	// Own is set for an experiment that the person chose, whose form has its
	// own field to confirm doubtful values.
	Own bool
}

// quantityField is a row for a further quantity.
type quantityField struct {
	Index                 int
	Name, Value, Unit, Of string // Of is the value that is recorded
	// Declared is set where the unit is the declared one, and not asked for.
	Declared bool
}

// declaredField is the part of a form that says why a declared quantity has no value, or that its
// value is to be left out.
type declaredField struct {
	Name, Why string
	Out       bool
}

// quantityRow is the data of the template of a row.
type quantityRow struct {
	Prefix string
	Row    quantityField
	Known  bool
}

func row(prefix string, f quantityField, known bool) quantityRow {
	return quantityRow{prefix, f, known}
}

// Typed reports whether a field that is hidden at first holds something, so
// that it must be shown.
func (m measuredFields) Typed() bool {
	return m.SD != "" || m.Remark != "" || len(m.Other) > 1
}

// DeclaredTyped reports whether the form has, or is to have, input about single quantities.
func (m measuredFields) DeclaredTyped() bool {
	return m.Lacks || slices.ContainsFunc(m.Declared, func(f declaredField) bool { return f.Why != "" || f.Out })
}

// MadeTyped reports whether the fields of the composition hold something.
func (m measuredFields) MadeTyped() bool {
	return m.Anyway && !m.Own || slices.ContainsFunc(m.Fields,
		func(f pointField) bool { return f.Typed != "" })
}

// measuredFieldsOf returns the fields, with the recorded values of an experiment (nil: none), and
// with the typed ones if typed is set. A recorded value stands next to a field and not in it: a
// field that is sent empty changes nothing, so that a correction of one value does not repeat the
// others, rounded.
//
// Quantities that the campaign declares or has measured before are offered by name, so that they
// are called the same; a typed one of such a name goes into its row.
func (s *shell) measuredFieldsOf(
	prefix string, state *campaign.State, x *campaign.Experiment, typed bool,
) measuredFields {
	def := state.Definition
	objective := def.Sought()
	m := measuredFields{Prefix: prefix, Unit: objective.Unit, Computed: objective.Computed()}
	was := func(name string) string {
		if !typed {
			return ""
		}
		return strings.TrimSpace(s.form.Get(name))
	}
	m.SD = was(fieldSD)
	m.Remark = was(fieldRemark)
	m.Anyway = was("anyway") != ""
	m.Corrects = x != nil && !x.Status.Open()
	if def.Several() {
		for _, q := range def.Declared() {
			out := typed && slices.Contains(s.form[fieldLeaveOut], q.Name)
			m.Declared = append(m.Declared, declaredField{q.Name, was(prefixMissing + q.Name), out})
		}
	}
	recorded := make(map[string]definition.Quantity)
	var made definition.Point
	if x != nil {
		made = madeIn(x)
		if r := resultIn(x); r != nil {
			if sought, ok := r.Of(objective.Name); ok && sought.SD != nil {
				m.Of = format.Short(*sought.SD)
			}
			for _, q := range r.All() {
				recorded[q.Name] = q
			}
		}
	}
	for i, q := range knownQuantities(state) {
		f := quantityField{Index: i, Name: q.Name, Unit: q.Unit}
		if q, is := recorded[q.Name]; is {
			f.Of, f.Unit = format.Short(q.Value), q.Unit
		}
		f.Declared = declaredIn(def, f.Name, f.Unit)
		m.Known = append(m.Known, f)
	}
	if typed {
		for _, row := range quantityRows(s.form) {
			i := slices.IndexFunc(m.Known, func(f quantityField) bool { return f.Name == row.Name })
			switch {
			case i >= 0 && row.Value != "":
				m.Known[i].Value, m.Known[i].Unit = row.Value, row.Unit
				m.Known[i].Declared = m.Known[i].Declared && declaredIn(def, row.Name, row.Unit)
			case i < 0 && row.Name+row.Value+row.Unit != "":
				m.Other = append(m.Other, row)
			}
		}
	}
	m.Lacks = typed && !m.Corrects && lacksOf(def, s.form) != nil
	m.Other = append(m.Other, quantityField{})
	for i := range m.Other {
		m.Other[i].Index = len(m.Known) + i
	}
	write := format.CompositionsToMake(def)
	for k, par := range def.Parameters {
		f := pointField{Name: par.Name, Unit: par.Unit, Typed: was(prefixActual + par.Name)}
		if made != nil {
			f.Suggested, _ = write.Value(k, made)
		}
		for _, c := range par.Categories {
			f.Choices = append(f.Choices, c.Name)
		}
		m.Fields = append(m.Fields, f)
	}
	return m
}

// declaredIn reports whether a campaign declares a quantity in that unit.
func declaredIn(def *definition.Campaign, name, unit string) bool {
	return def.Several() && slices.ContainsFunc(def.Declared(),
		func(q definition.QuantityDef) bool { return q.Name == name && q.Unit == unit })
}

// resultIn is the result of an experiment that counts, or one that was
// retracted; nil for none.
func resultIn(x *campaign.Experiment) *events.Measurement {
	if x.Measurement != nil {
		return x.Measurement
	}
	return x.Retracted
}

// madeIn is the composition that was made in an experiment, as recorded: the requested one unless
// the result says otherwise. A retracted result still tells the composition.
func madeIn(x *campaign.Experiment) definition.Point {
	if r := resultIn(x); r != nil && r.Actual != nil {
		return r.Actual
	}
	return x.Parameters
}

// knownQuantities are those that a campaign declares apart from its objective, and behind them the
// further ones that it has measured.
func knownQuantities(s *campaign.State) (list []definition.Quantity) {
	sought := s.Definition.Sought().Name
	for _, q := range s.Definition.Declared() {
		if q.Name != sought {
			list = append(list, definition.Quantity{Name: q.Name, Unit: q.Unit})
		}
	}
	return append(list, view.Further(s, func(name string) bool {
		return slices.ContainsFunc(list, func(q definition.Quantity) bool { return q.Name == name })
	})...)
}

// quantityRows are the rows of further quantities as they were typed. The
// fields of a row are matched by their places in the form, so that a browser
// must send empty ones too, as browsers do.
func quantityRows(form map[string][]string) (rows []quantityField) {
	cell := func(name string, i int) string {
		if all := form[name]; i < len(all) {
			return strings.TrimSpace(all[i])
		}
		return ""
	}
	for i := range form[fieldFurtherName] {
		rows = append(rows, quantityField{
			Name: cell(fieldFurtherName, i), Value: cell(fieldFurtherValue, i),
			Unit: cell(fieldFurtherUnit, i),
		})
	}
	return rows
}

// typedResult is the part of a form about a measurement; nil for what the form leaves out.
type typedResult struct {
	Value, SD  *float64
	Quantities []definition.Quantity // those that the campaign declares
	Missing    []events.Missing
	LeaveOut   []string
	Further    []definition.Quantity
	Actual     definition.Point
}

func (t typedResult) any() bool {
	return t.hasValue() || t.SD != nil || t.Further != nil || t.Actual != nil ||
		t.Missing != nil || t.LeaveOut != nil
}

// hasValue reports whether a value from which something is learned was typed.
func (t typedResult) hasValue() bool { return t.Value != nil || t.Quantities != nil }

// named returns the input for an experiment that failed in a campaign that declares its quantities:
// a value then belongs to a quantity with a name.
func (t typedResult) named(def *definition.Campaign) typedResult {
	if def.Several() && t.Value != nil {
		t.Quantities = append(t.Quantities, def.Sought().Quantity(*t.Value, t.SD))
		t.Value, t.SD = nil, nil
	}
	return t
}

// resultOf reads the fields of a measurement. made is the composition that was
// made unless the form says otherwise. A row of a known quantity without a
// value is empty; any other row that is begun must be whole, since half a
// quantity was meant to be one. The error names the quantity.
func resultOf(r *http.Request, of *lab.Campaign, made definition.Point) (t typedResult, err error) {
	var def *definition.Campaign
	var known []definition.Quantity
	of.Read(func(core *engine.Core) { def, known = core.State().Definition, knownQuantities(core.State()) })
	sought := def.Sought().Name
	if t.Value, err = exchange.OptionalNumber(sought, text(r, fieldValue)); err != nil {
		return t, err
	}
	if t.SD, err = exchange.OptionalNumber("the standard deviation", text(r, fieldSD)); err != nil {
		return t, err
	}
	if def.Names() && t.Value != nil { // the name stands at the field
		t = t.named(def)
	}
	for _, q := range def.Declared() {
		if why := text(r, prefixMissing+q.Name); why != "" {
			t.Missing = append(t.Missing, events.Missing{Name: q.Name, Reason: why})
		}
	}
	t.LeaveOut = r.PostForm[fieldLeaveOut]
	for _, row := range quantityRows(r.PostForm) {
		asked := slices.ContainsFunc(known, func(q definition.Quantity) bool { return q.Name == row.Name }) ||
			row.Name == sought
		switch {
		case row.Value == "" && (asked || row.Name == "" && row.Unit == ""):
			continue
		case row.Name == "":
			return t, problem.New(problem.Invalid, "a further quantity: say what it is called")
		case row.Value == "":
			return t, problem.New(problem.Invalid, "%s: type its value, or empty its row", row.Name)
		case slices.ContainsFunc(slices.Concat(t.Quantities, t.Further), func(q definition.Quantity) bool { return q.Name == row.Name }):
			return t, problem.New(problem.Invalid, "%s is there twice", row.Name)
		}
		x, err := exchange.Number(row.Name, row.Value)
		if err != nil {
			return t, err
		}
		q := definition.Quantity{Name: row.Name, Value: x, Unit: row.Unit}
		if def.Several() && def.Quantity(row.Name) != nil {
			t.Quantities = append(t.Quantities, q)
			continue
		}
		t.Further = append(t.Further, q)
	}
	t.Actual, err = madeOf(r, def, made)
	return t, err
}

// lacksOf are the quantities that decisions rest on and for which a form gives neither a value nor
// a reason why it is missing. Those that arrive later are awaited.
func lacksOf(def *definition.Campaign, form url.Values) (names []string) {
	if !def.Several() {
		return nil
	}
	said := func(name string) bool {
		typed := func(field string) bool { return strings.TrimSpace(form.Get(field)) != "" }
		if typed(prefixMissing+name) || name == def.Sought().Name && typed(fieldValue) {
			return true
		}
		return slices.ContainsFunc(quantityRows(form), func(row quantityField) bool { return row.Name == name && row.Value != "" })
	}
	for _, q := range computed.Decisive(def) {
		if !q.Later() && !said(q.Name) {
			names = append(names, q.Name)
		}
	}
	return names
}

// whole refuses the form of a result that was measured and leaves a quantity blank on which
// decisions rest: a value that was forgotten would be recorded as missing.
func whole(r *http.Request, def *definition.Campaign, experiment string) error {
	lacks := lacksOf(def, r.PostForm)
	if lacks == nil {
		return nil
	}
	return problem.New(problem.Invalid, "there is no value of %s, on which decisions rest", format.List(lacks...)).
		About(experiment).With(problem.Remedy{Text: "type the value, or the reason for its absence below"})
}

// madeOf reads the composition that was really made; nil where the form does
// not differ from the record.
func madeOf(r *http.Request, def *definition.Campaign, recorded definition.Point) (definition.Point, error) {
	any := false
	for _, par := range def.Parameters {
		any = any || text(r, prefixActual+par.Name) != ""
	}
	if !any {
		return nil, nil
	}
	form := maps.Clone(r.PostForm)
	for _, par := range def.Parameters {
		if text(r, prefixActual+par.Name) == "" {
			form[prefixActual+par.Name] = []string{recorded[par.Name].String()}
		}
	}
	point, err := pointOf(def, form, prefixActual)
	if err != nil {
		return nil, problem.New(problem.Invalid, "what was made: %w", err)
	}
	// Written and read again, a recorded value might lose digits: a value that was left alone stays
	// exactly the recorded one.
	for _, par := range def.Parameters {
		if text(r, prefixActual+par.Name) == "" {
			point[par.Name] = recorded[par.Name]
		}
	}
	return point, nil
}
