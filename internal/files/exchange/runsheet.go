package exchange

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// RunSheet is the sheet that a person takes to the bench: the experiments of a campaign that
// wait to be measured by hand. Its table goes back in by an import once its columns for results
// are filled.
type RunSheet struct {
	Definition *definition.Campaign
	Rows       []RunSheetRow
	// Plate is the plate that the rows are laid out on, nil for none; Plates is the number of
	// plates needed.
	Plate  *Plate
	Plates int
	// Shares is set where amounts follow from the size of a batch, and Batch is
	// that size in grams, 0 where none was given.
	Shares bool
	Batch  float64
}

// RunSheetRow is an experiment of a run sheet, written as the settings to make or the amounts
// to weigh in.
type RunSheetRow struct {
	ID        string
	Replicate int
	// Plate counts the plates from 1; Well is its well there.
	Plate int
	Well  string
	// Values and Amounts are in the order of the parameters; an amount is in grams, and empty
	// for a parameter that does not depend on the size of the batch.
	Values, Amounts []string
	// Uses names its parts of the campaign's stocks: the vial, the well; empty for none.
	Uses string `json:",omitempty"`
}

// SheetOptions say how a run sheet is made.
type SheetOptions struct {
	// Wells are those of a plate; 0 for none.
	Wells int
	// Down fills a plate column after column, else row after row; First is the
	// well of the first experiment, A1 by default.
	Down  bool
	First string
	// Batch is the size of a batch in grams, 0 for none.
	Batch float64
	// Sort names a parameter by which the rows are ordered, so that similar experiments are
	// done one after the other; "" is by experiment. Falling turns the order around.
	Sort    string
	Falling bool
	// Of names the experiments that are laid out, "e1-e24"; "" lays out those that wait.
	// Experiments that have ended keep their wells and have no row: so a plate stays as it was
	// filled while its results come in and further experiments are requested.
	Of string
}

// RunSheetOf returns the run sheet of a campaign as it stands. Faults in the options are errors
// of the caller.
func RunSheetOf(s *campaign.State, o SheetOptions) (*RunSheet, error) {
	def := s.Definition
	sheet := &RunSheet{Definition: def, Shares: SharesOfWhole(def) != nil, Batch: o.Batch}
	var waiting []*campaign.Experiment // or laid out with those that wait
	for i := range s.Experiments {
		if x := &s.Experiments[i]; o.Of == "" && engine.ByHand(s, x) {
			waiting = append(waiting, x)
		}
	}
	if o.Of != "" {
		ids, err := events.ParseExperimentList(o.Of, len(s.Experiments))
		if err != nil {
			return nil, problem.New(problem.Invalid, "%w", err)
		}
		for _, id := range ids {
			waiting = append(waiting, s.Experiment(id))
		}
	}
	if err := arrange(def, waiting, o); err != nil {
		return nil, err
	}
	first := 0
	if o.Wells > 0 {
		var err error
		if sheet.Plate, err = PlateOf(o.Wells); err != nil {
			return nil, err
		}
		if first, err = sheet.Plate.place(cmp.Or(o.First, "A1"), o.Down); err != nil {
			return nil, err
		}
		sheet.Plates = (first + len(waiting) + o.Wells - 1) / o.Wells
	}
	for i, x := range waiting {
		if !engine.ByHand(s, x) {
			continue
		}
		row := RowToMake(def, x, o.Batch)
		if p := sheet.Plate; p != nil {
			at := first + i
			row.Plate, row.Well = 1+at/p.Wells(), p.Well(at%p.Wells(), o.Down)
		}
		sheet.Rows = append(sheet.Rows, row)
	}
	return sheet, nil
}

// arrange orders experiments as the options say; those that are alike stay in
// the order of their numbers.
func arrange(def *definition.Campaign, list []*campaign.Experiment, o SheetOptions) error {
	if o.Sort != "" {
		k := slices.IndexFunc(def.Parameters, func(p definition.Parameter) bool { return p.Name == o.Sort })
		if k < 0 {
			return problem.New(problem.Invalid, "there is no parameter %q to sort by; the parameters are %s",
				o.Sort, ParameterNames(def))
		}
		place := func(x *campaign.Experiment) float64 {
			v := x.Parameters[o.Sort]
			if number, ok := v.Float(); ok {
				return number
			}
			return float64(slices.IndexFunc(def.Parameters[k].Categories,
				func(c definition.CategoryDef) bool { return c.Name == v.Name() }))
		}
		slices.SortStableFunc(list, func(a, b *campaign.Experiment) int {
			if o.Falling {
				a, b = b, a
			}
			return cmp.Compare(place(a), place(b))
		})
	} else if o.Falling {
		slices.Reverse(list)
	}
	return nil
}

// RowToMake writes an experiment as the settings to make and, given the size of a batch in
// grams (0: none), the amounts to weigh in. Amounts have one digit more than the batch's size
// calls for.
func RowToMake(def *definition.Campaign, x *campaign.Experiment, batch float64) RunSheetRow {
	row := RunSheetRow{ID: x.ID, Replicate: x.Replicate, Uses: format.Drawn(x.Command.Drawn)}
	shares := SharesOfWhole(def)
	write := format.CompositionsToMake(def)
	for k, par := range def.Parameters {
		value, _ := write.Value(k, x.Parameters)
		amount := ""
		if of, ok := shares[par.Name]; ok && batch > 0 {
			if v, ok := x.Parameters[par.Name].Float(); ok {
				amount = format.Fixed(v*of*batch, format.DecimalsOver(batch)+1)
			}
		}
		row.Values, row.Amounts = append(row.Values, value), append(row.Amounts, amount)
	}
	return row
}

// Table is the run sheet as a table that an import takes once it is filled in.
// Headings hold the units.
func (r *RunSheet) Table() *Table {
	def := r.Definition
	t := &Table{Columns: []string{columnCampaign, view.ColumnExperiment}}
	if r.Plate != nil {
		t.Columns = append(t.Columns, columnWell)
	}
	for _, par := range def.Parameters {
		t.Columns = append(t.Columns, format.Heading(par.Name, par.Unit))
	}
	weighed := func(k int) bool { return len(r.Rows) > 0 && r.Rows[0].Amounts[k] != "" }
	for k, par := range def.Parameters {
		if weighed(k) {
			t.Columns = append(t.Columns, takePrefix+par.Name+" (g)")
		}
	}
	if r.Uses() {
		t.Columns = append(t.Columns, columnUses)
	}
	asked := def.Declared()
	for _, q := range asked {
		t.Columns = append(t.Columns, format.Heading(q.Name, q.Unit))
	}
	t.Columns = append(t.Columns, columnFailed, columnRemark)
	for _, row := range r.Rows {
		cells := []Cell{def.Name, row.ID}
		if r.Plate != nil {
			cells = append(cells, r.Place(row))
		}
		for _, value := range row.Values {
			cells = append(cells, value)
		}
		for k := range def.Parameters {
			if weighed(k) {
				cells = append(cells, row.Amounts[k])
			}
		}
		if r.Uses() {
			cells = append(cells, row.Uses)
		}
		t.Rows = append(t.Rows, append(cells, make([]Cell, len(asked)+2)...))
	}
	return t
}

// Uses reports whether a row uses something up.
func (r *RunSheet) Uses() bool {
	return slices.ContainsFunc(r.Rows, func(row RunSheetRow) bool { return row.Uses != "" })
}

// Place is the well of a row, with its plate where there are several: "2:A1".
func (r *RunSheet) Place(row RunSheetRow) string {
	if r.Plates > 1 {
		return fmt.Sprintf("%d:%s", row.Plate, row.Well)
	}
	return row.Well
}

// Plate is a plate of wells, as they are made: rows have letters, columns
// numbers.
type Plate struct{ Rows, Columns int }

// plates are those of the ANSI SLAS standards and the smaller ones in use, by
// their number of wells.
var plates = map[int]Plate{6: {2, 3}, 12: {3, 4}, 24: {4, 6}, 48: {6, 8}, 96: {8, 12}, 384: {16, 24}}

// PlateSizes are the possible numbers of wells of a plate.
func PlateSizes() []int { return []int{6, 12, 24, 48, 96, 384} }

// PlateOf returns the plate of so many wells.
func PlateOf(wells int) (*Plate, error) {
	p, ok := plates[wells]
	if !ok {
		return nil, problem.New(problem.Invalid, "there is no plate of %d wells; there are those of 6, 12, 24, 48, 96 and 384", wells)
	}
	return &p, nil
}

// Wells is the number of wells.
func (p *Plate) Wells() int { return p.Rows * p.Columns }

// Row is the letter of a row, Column the number of a column, both counted from
// 0.
func (p *Plate) Row(i int) string { return string(rune('A' + i)) }

// Well names the n-th well that is filled, counted from 0.
func (p *Plate) Well(n int, down bool) string {
	row, column := n/p.Columns, n%p.Columns
	if down {
		row, column = n%p.Rows, n/p.Rows
	}
	return p.Row(row) + strconv.Itoa(column+1)
}

// place is the number of wells filled before the named one.
func (p *Plate) place(well string, down bool) (int, error) {
	name := strings.ToUpper(strings.TrimSpace(well))
	row, column := -1, 0
	if name != "" {
		row = int(name[0]) - 'A'
		column, _ = strconv.Atoi(name[1:])
	}
	if row < 0 || row >= p.Rows || column < 1 || column > p.Columns {
		return 0, problem.New(problem.Invalid, "a plate of %d wells has no well %q: they go from A1 to %s",
			p.Wells(), well, p.Well(p.Wells()-1, down))
	}
	if down {
		return (column-1)*p.Rows + row, nil
	}
	return row*p.Columns + column - 1, nil
}

// shareUnits are the units of mass fractions, with the part of the whole that
// one unit is.
var shareUnits = map[string]float64{
	"kg/kg": 1, "g/g": 1, "%": 0.01, "wt%": 0.01, "wt.%": 0.01, "w%": 0.01, "mass %": 0.01,
	"% (m/m)": 0.01, "g/kg": 0.001,
}

// SharesOfWhole returns the parameters that are shares of one whole, with the
// part of the whole that one unit of each is: all parameters of a constraint by
// which amounts, each counted once, sum up to 1 or 100 %. Other parameters are
// no shares: a mass fraction of the solvent is not one of the batch.
func SharesOfWhole(def *definition.Campaign) map[string]float64 {
	for _, k := range def.Constraints {
		if k.Equals == nil || len(k.Terms) < 2 {
			continue
		}
		unit := 0.0
		switch *k.Equals {
		case 1:
			unit = 1
		case 100:
			unit = 0.01
		default:
			continue
		}
		shares := make(map[string]float64)
		for _, par := range def.Parameters {
			if coefficient, in := k.Terms[par.Name]; in && coefficient == 1 {
				if of, known := shareUnits[par.Unit]; par.Unit != "" &&
					(!known || math.Abs(of-unit) > 1e-12) {
					break
				}
				shares[par.Name] = unit
			}
		}
		if len(shares) == len(k.Terms) {
			return shares
		}
	}
	return nil
}

// massUnits are units in which the size of a batch may be given, in grams.
var massUnits = map[string]float64{"": 1, "g": 1, "mg": 1e-3, "kg": 1e3}

// BatchSize reads the size of a batch, "10 g", in grams; 0 for an empty text. A
// number alone is in grams.
func BatchSize(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	number := strings.TrimRight(text, "kmg \u00a0")
	gram, known := massUnits[strings.TrimSpace(text[len(number):])]
	x, err := Number("the size of the batch", number)
	switch {
	case !known || err != nil && number == "":
		return 0, problem.New(problem.Invalid, "the size of the batch: %q is not a mass in g, mg or kg", text)
	case err != nil:
		return 0, err
	case x <= 0:
		return 0, problem.New(problem.Invalid, "the size of the batch: %s is not more than nothing", text)
	}
	return x * gram, nil
}
