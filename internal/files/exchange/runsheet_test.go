package exchange

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// ask has experiments of a campaign wait to be measured, at compositions with more digits
// than a person sets.
func ask(t *testing.T, log events.Log, core *engine.Core, n int) {
	t.Helper()
	var asked []events.Payload
	for i := range n {
		a := 0.123456789 + float64(i)/30
		asked = append(asked, &events.ExperimentRequested{
			Experiment: events.ExperimentID(i + 1), Origin: events.OriginInitial, Replicate: 1,
			Parameters: definition.Point{"a": definition.Number(a), "b": definition.Number(1 - a),
				"t": definition.Number([]float64{60, 25, 35}[i%3]), "salt": definition.Category([]string{"-5", "LiPF6"}[i%2])},
		})
	}
	batch, err := engine.NewBatch(core.State(), time.Unix(1, 0), engine.Envelope{Actor: "engine"}, asked...)
	if err == nil {
		batch, err = log.Append(t.Context(), core.State().Name, core.State().Sequence, batch...)
	}
	for _, e := range batch {
		if err == nil {
			err = core.Apply(e)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cells are those of a run sheet's table.
func cells(t *testing.T, core *engine.Core, o SheetOptions) [][]string {
	t.Helper()
	sheet := must.Get(RunSheetOf(core.State(), o))(t)
	var b bytes.Buffer
	must.Do(t, sheet.Table().WriteCSV(&b))
	return must.Get(csv.NewReader(&b).ReadAll())(t)
}

// written are cells as a table, as a spreadsheet of a country with decimal commas has it.
func written(rows [][]string, comma bool) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	if comma {
		w.Comma = ';'
	}
	for _, row := range rows {
		row = slices.Clone(row)
		for i, cell := range row {
			if comma {
				row[i] = strings.ReplaceAll(cell, ".", ",")
			}
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.String()
}

// Law: a run sheet that is filled in, in part, goes back in: its values are the results of
// its experiments, which cost budget, and no new ones; what is empty stays to be measured; brought
// twice it counts once; what was told otherwise meanwhile is refused.
func TestAFilledRunSheetComesBack(t *testing.T) {
	for _, comma := range []bool{false, true} {
		log, core := opened(t, t)
		ask(t, log, core, 5)
		rows := cells(t, core, SheetOptions{Wells: 24, Batch: 10})
		header := rows[0]
		at := func(name string) int {
			i := slices.Index(header, name)
			if i < 0 {
				t.Fatalf("no column %q in %q", name, header)
			}
			return i
		}
		if rows[2][at("well")] != "A2" || rows[2][at("take_a (g)")] != "1.57" || rows[2][at("t (°C)")] != "25" {
			t.Errorf("the row of e2 is %q", rows[2])
		}
		value := at("'=y (@V)")
		rows[1][value], rows[3][value], rows[4][value] = "9.5", "8.25", "7"
		rows[3][at("remark")] = "cloudy"
		rows[5][at("failed")] = "it leaked"
		read := func(table string) (*Preview, *Import) {
			t.Helper()
			im := importInto(core)
			im.Once = true
			p := must.Get(im.Preview("sheet.csv", strings.NewReader(table)))(t)
			return p, im
		}
		table := written(rows, comma)
		p, im := read(table)
		if p.Count(FateNew) != 4 || p.Count(FateLeft) != 1 || len(p.Unknown) > 0 || len(p.Missing) > 0 {
			t.Fatalf("%d are new, %d are left, unknown %q, missing %q: %+v",
				p.Count(FateNew), p.Count(FateLeft), p.Unknown, p.Missing, p.Rows)
		}
		must.Do(t, im.Read("sheet.csv", strings.NewReader(table)))
		request := engine.Request{Actor: "person:ada", Import: im.Rows, ImportOnce: true}
		must.Get(engine.Submit(t.Context(), log, core, request, time.Unix(2, 0)))(t)
		s := core.State()
		if len(s.Experiments) != 5 || s.Spent() != 5 || s.Experiment("e2").Status != campaign.Requested {
			t.Errorf("there are %d experiments, %d are spent", len(s.Experiments), s.Spent())
		}
		if v, _ := s.Value(s.Experiment("e3")); v.Value != 8.25 || s.Experiment("e3").Origin != events.OriginInitial {
			t.Errorf("e3 gave %v", v)
		}
		if x := s.Experiment("e5"); x.Status != campaign.Failed || x.Cause != "it leaked" || len(s.Notes) != 1 {
			t.Errorf("e5 is %s, for %q; notes %v", x.Status, x.Cause, s.Notes)
		}
		if p, _ = read(table); p.Count(FateKnown) != 4 || p.Count(FateLeft) != 1 {
			t.Errorf("brought twice, %d are known", p.Count(FateKnown))
		}
		rows[1][value] = "9.6"
		if p, _ = read(written(rows, comma)); p.Count(FateWrong) != 1 || p.Rows[0].Faults == nil {
			t.Errorf("another value is %+v", p.Rows[0])
		}
	}
}

// Law: a row of a run sheet is about its experiment and nothing else: with another composition,
// of another campaign or of no experiment it is refused, and never a measurement of its own.
func TestARunSheetIsOfItsCampaign(t *testing.T) {
	log, core := opened(t, t)
	ask(t, log, core, 3)
	for what, change := range map[string]func(row []string, at func(string) int){
		"of the campaign": func(row []string, at func(string) int) { row[at("campaign")] = "other" },
		"no experiment":   func(row []string, at func(string) int) { row[at("experiment")] = "e9" },
		"another composition": func(row []string, at func(string) int) {
			row[at("t (°C)")] = "35"
		},
	} {
		rows := cells(t, core, SheetOptions{})
		at := func(name string) int { return slices.Index(rows[0], name) }
		rows[1][at("'=y (@V)")] = "9.5"
		change(rows[1], at)
		p := must.Get(importInto(core).Preview("sheet.csv", strings.NewReader(written(rows, false))))(t)
		if row := p.Rows[0]; row.Fate != FateWrong || !strings.Contains(row.Faults.Error(), what) {
			t.Errorf("%s: it is %s, %v", what, row.Fate, row.Faults)
		}
	}
}

// Law: a table of one's own that names experiments which wait brings their results; the export of
// another campaign of the same file, whose experiments have the same names and compositions, does not.
func TestATableThatNamesWhatWaits(t *testing.T) {
	log, core := opened(t, t)
	ask(t, log, core, 2)
	im := importInto(core)
	if err := im.Read("mine.csv", strings.NewReader("experiment,=y\ne2,4\n")); err != nil || im.Rows[0].Experiment != "e2" {
		t.Fatal(err, im.Rows)
	}
	other, elsewhere := opened(t, t)
	ask(t, other, elsewhere, 2)
	value := 4.0
	tell := engine.Request{Actor: "person:ada", Tell: &engine.Tell{Experiment: "e2", Value: &value}}
	must.Get(engine.Submit(t.Context(), other, elsewhere, tell, time.Unix(2, 0)))(t)
	var export bytes.Buffer
	must.Do(t, TableOf(elsewhere.State()).WriteCSV(&export))
	im = importInto(core)
	if err := im.Read("export.csv", &export); err != nil || im.Rows[0].Experiment != "" {
		t.Error(err, im.Rows)
	}
}

// Law: wells are those that are written on plates: rows have letters, columns numbers; a plate is
// filled from the well that is named, and the next plate after it.
func TestWells(t *testing.T) {
	log, core := opened(t, t)
	ask(t, log, core, 25)
	places := func(o SheetOptions) string {
		t.Helper()
		sheet := must.Get(RunSheetOf(core.State(), o))(t)
		var all []string
		for _, i := range []int{0, 1, 6, 23, 24} {
			all = append(all, sheet.Rows[i].ID+"="+sheet.Place(sheet.Rows[i]))
		}
		return strings.Join(all, " ")
	}
	for want, o := range map[string]SheetOptions{
		"e1=A1 e2=A2 e7=A7 e24=B12 e25=C1":          {Wells: 96},
		"e1=A1 e2=B1 e7=G1 e24=H3 e25=A4":           {Wells: 96, Down: true},
		"e1=1:A1 e2=1:A2 e7=1:B1 e24=1:D6 e25=2:A1": {Wells: 24},
		"e1=1:B2 e2=1:C2 e7=1:D3 e24=2:A2 e25=2:B2": {Wells: 24, Down: true, First: "b2"},
	} {
		if got := places(o); got != want {
			t.Errorf("%+v: %s, not %s", o, got, want)
		}
	}
	value := 4.0
	tell := engine.Request{Actor: "person:ada", Tell: &engine.Tell{Experiment: "e1", Value: &value}}
	must.Get(engine.Submit(t.Context(), log, core, tell, time.Unix(2, 0)))(t)
	kept, err := RunSheetOf(core.State(), SheetOptions{Wells: 24, Of: "e1-e20"})
	if err != nil || len(kept.Rows) != 19 || kept.Rows[0].ID != "e2" || kept.Rows[0].Well != "A2" {
		t.Errorf("once e1 has ended: %v, %+v", err, kept.Rows[0])
	}
	for _, o := range []SheetOptions{{Of: "e99"}, {Wells: 7}, {Wells: 24, First: "E1"}, {Wells: 24, First: "A7"}, {Wells: 24, First: "1"}, {Sort: "x"}} {
		if _, err := RunSheetOf(core.State(), o); err == nil {
			t.Errorf("%+v is a sheet", o)
		}
	}
	sheet, err := RunSheetOf(core.State(), SheetOptions{Sort: "t"})
	if err != nil || sheet.Rows[0].Values[2] != "25" || sheet.Rows[0].ID != "e2" || sheet.Rows[23].Values[2] != "60" {
		t.Errorf("by t: %v, %+v", err, sheet.Rows[0])
	}
}

// Law: the size of a batch is a mass.
func TestBatchSize(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "10": 10, "10 g": 10, "2,5g": 2.5, "250 mg": 0.25, "1 kg": 1000} {
		if got, err := BatchSize(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"g", "10 mL", "-1 g", "0", "ten"} {
		if got, err := BatchSize(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
