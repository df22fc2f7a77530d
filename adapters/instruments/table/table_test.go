package table_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func ptr(x float64) *float64 { return &x }

func defined() definition.Campaign {
	return definition.Campaign{
		Name: "backtest",
		Parameters: []definition.Parameter{
			{Name: "lipf6", Unit: "mol/kg", Min: ptr(0), Max: ptr(3)},
			{Name: "solvent", Categories: []definition.CategoryDef{{Name: "EC"}, {Name: "PC"}}},
		},
		Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
	}
}

func open(t testing.TB, text string, columns map[string]string) (*table.Instrument, error) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(text), 0o600))
	return table.New(table.Settings{File: "rows.csv", Columns: columns}, defined(), dir)
}

func point(lipf6 float64, solvent string) definition.Point {
	return definition.Point{"lipf6": definition.Number(lipf6), "solvent": definition.Category(solvent)}
}

const rows = `run,lipf6,conductivity,solvent
1,1.0,9.1,EC
2,0.10,2.5,PC
3,1,9.3,EC
4,1.00,9.2,EC
`

// Every row can be asked for, replicates in the file's order, and nothing
// else.
func TestAnswersFromRows(t *testing.T) {
	i := must.Get(open(t, rows, nil))(t)
	candidates, err := i.Candidates(t.Context())
	if want := []definition.Point{point(1, "EC"), point(0.1, "PC")}; err != nil ||
		!reflect.DeepEqual(candidates, want) {
		t.Fatalf("candidates %v (%v), want %v", candidates, err, want)
	}
	for k, c := range []struct {
		point     definition.Point
		replicate int
		want      float64 // 0: refused
		line      string
	}{
		{point(1, "EC"), 1, 9.1, "line 2"},
		{point(1, "EC"), 2, 9.3, "line 4"},
		{point(1, "EC"), 3, 9.2, "line 5"},
		{point(0.1, "PC"), 1, 2.5, "line 3"},
		{point(1, "EC"), 4, 0, ""},
		{point(1, "EC"), 0, 0, ""},
		{point(1, "PC"), 1, 0, ""},
		{point(1.0000001, "EC"), 1, 0, ""},
		{definition.Point{"lipf6": definition.Number(1)}, 1, 0, ""},
	} {
		cmd := instruments.Command{ID: fmt.Sprintf("backtest/e%d", k+1), Parameters: c.point, Replicate: c.replicate}
		// A composition keeps its bits on the way through the log.
		data := must.Get(json.Marshal(cmd.Parameters))(t)
		cmd.Parameters = nil
		must.Do(t, json.Unmarshal(data, &cmd.Parameters))
		start := i.Start(t.Context(), cmd)
		fate := must.Get(i.Recover(t.Context(), cmd))(t)
		if c.want == 0 {
			if !errors.Is(start, instruments.ErrRefused) || fate != instruments.FateNotStarted {
				t.Errorf("%v #%d: %v, %v; want it refused", c.point, c.replicate, start, fate)
			}
			continue
		}
		o, err := i.Await(t.Context(), cmd)
		if start != nil || err != nil || fate != instruments.FateFinished {
			t.Errorf("%v #%d: %v, %v, %v", c.point, c.replicate, start, err, fate)
			continue
		}
		if err := instruments.CheckOutcome(defined(), o); err != nil {
			t.Error(err)
		}
		if m := o.Measurement; m.Objective.Value != c.want || !strings.Contains(m.Identity, c.line) {
			t.Errorf("%v #%d: %v from %s, want %v from %s",
				c.point, c.replicate, m.Objective.Value, m.Identity, c.want, c.line)
		}
	}
	if n := i.Replicates(point(1, "EC")); n != 3 {
		t.Errorf("%d replicates, want 3", n)
	}
	if mean, err := i.Mean(point(1, "EC")); err != nil || math.Abs(mean-(9.1+9.3+9.2)/3) > 1e-15*mean {
		t.Errorf("the mean of 9.1, 9.3 and 9.2 is %g, %v", mean, err)
	}
	if _, err := i.Mean(point(1, "PC")); err == nil {
		t.Error("a composition that no row holds has a mean")
	}
	all := []table.Row{
		{point(1, "EC"), 9.1, true}, {point(1, "EC"), 9.3, true}, {point(1, "EC"), 9.2, true},
		{point(0.1, "PC"), 2.5, true},
	}
	if rows := i.Rows(); !reflect.DeepEqual(rows, all) {
		t.Errorf("rows %v, want %v", rows, all)
	}
	d, err := i.Describe(t.Context())
	if err != nil || !d.Simulated || d.Name != "table/rows.csv" {
		t.Errorf("%+v, %v", d, err)
	}
	if err := instruments.Compatible(d, defined()); err != nil {
		t.Error(err)
	}
}

// Whatever is not understood is refused, with file and line.
func TestReadsStrictly(t *testing.T) {
	for _, c := range []struct {
		name, csv string
		columns   map[string]string
		want      []string
	}{
		{"empty", "", nil, []string{"rows.csv: it is empty"}},
		{"no rows", "lipf6,solvent,conductivity\n", nil, []string{"no rows"}},
		{"missing column", "lipf6,solvent,kappa\n1,EC,9\n", nil,
			[]string{`rows.csv:1: no column "conductivity"`, `"kappa"`}},
		{"column twice", "lipf6,lipf6,solvent,conductivity\n1,1,EC,9\n", nil,
			[]string{`rows.csv:1:`, `two columns "lipf6"`}},
		{"unknown name mapped", rows, map[string]string{"salt": "lipf6"}, []string{`"salt"`}},
		{"one column for two", rows, map[string]string{"conductivity": "lipf6"},
			[]string{"both lipf6 and conductivity"}},
		{"all faulty rows", "lipf6,solvent,conductivity\n1,EC,9\nx,EC,9\n1,EC,\n1,DMC,9\n1,EC,NaN\n", nil, []string{
			`rows.csv:3: lipf6 is not a finite number: "x"`, "rows.csv:4: conductivity is empty", `rows.csv:5: solvent is "DMC"`,
			`rows.csv:6: conductivity is not a finite number: "NaN"`,
		}},
		{"decimal comma", "lipf6;solvent;conductivity\n1,200;EC;9\n", nil, []string{"rows.csv:2", "may be 1.200 or 1200"}},
		{"ragged", "lipf6,solvent,conductivity\n1,EC,9\n1,EC\n", nil, []string{"rows.csv:3", "wrong number of fields"}},
		{"quote", "lipf6,solvent,conductivity\n1,\"EC,9\n", nil, []string{"rows.csv:"}},
		{"many", "lipf6,solvent,conductivity\n" + strings.Repeat("x,EC,1\n", 20), nil,
			[]string{"rows.csv:11", "stopped after 10"}},
	} {
		_, err := open(t, c.csv, c.columns)
		var fault *table.FileError
		if !errors.As(err, &fault) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.name, err, want)
			}
		}
	}
	if _, err := table.New(table.Settings{File: "absent.csv"}, defined(),
		t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// Names may differ from the columns', and a spreadsheet's byte order mark and
// line ends do no harm.
func TestColumns(t *testing.T) {
	i := must.Get(open(t, "\uFEFFm(LiPF6), kappa ,solvent\r\n1.5,12.25,EC\r\n",
		map[string]string{"lipf6": "m(LiPF6)", "conductivity": "kappa"}))(t)
	cmd := instruments.Command{ID: "b/e1", Parameters: point(1.5, "EC"), Replicate: 1}
	must.Do(t, i.Start(t.Context(), cmd))
	o, err := i.Await(t.Context(), cmd)
	if err != nil || o.Measurement.Objective.Value != 12.25 {
		t.Errorf("%+v, %v", o, err)
	}
}

// The table that the electrolyte was fitted to can be backtested as it is.
func TestElectrolyteTable(t *testing.T) {
	path := must.Get(filepath.Abs("../../../../shared/data/aem_ec_dmc_emc_lipf6.csv"))(t)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the table is not on this machine:", err)
	}
	def := definition.Campaign{
		Name: "aem",
		Parameters: []definition.Parameter{
			{Name: "lipf6", Unit: "mol/kg", Min: ptr(0.2), Max: ptr(2.1)},
			{Name: "ec", Min: ptr(0.3), Max: ptr(0.52)},
			{Name: "dmc", Min: ptr(0), Max: ptr(1)},
		},
		Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
	}
	i := must.Get(table.New(table.Settings{File: path, Columns: map[string]string{
		"lipf6": "LiPF6_molality", "ec": "EC_mass_fraction", "dmc": "DMC_cosolvent_ratio",
	}}, def, ""))(t)
	candidates := must.Get(i.Candidates(t.Context()))(t)
	rows := 0
	for _, p := range candidates {
		rows += i.Replicates(p)
	}
	if rows != 197 {
		t.Errorf("%d rows in %d compositions, want 197 rows", rows, len(candidates))
	}
}

// It passes the suite of all instruments.
func TestSuite(t *testing.T) {
	instrumenttest.Run(t, instrumenttest.Env{
		Open:       func(context.Context) (instruments.Instrument, error) { return open(t, rows, nil) },
		Definition: defined(),
		Points:     []definition.Point{point(1, "EC"), point(0.1, "PC")},
		Patience:   10 * time.Second,
	})
}

// Law: no file makes the table panic. What is read holds a measurement for every row,
// of compositions of the campaign; what is refused is refused with its place.
func FuzzTable(f *testing.F) {
	f.Add("lipf6,solvent,conductivity\n1.1,EC,9.5\n")
	f.Add("lipf6;solvent;conductivity\n1,1;EC;9,5\n")
	f.Add("\ufefflipf6, solvent ,conductivity\r\n\"1\n.1\",EC,NaN\n")
	f.Add("lipf6,lipf6\n1\n\"")
	f.Add("conductivity,x,solvent,lipf6\n-1,,PC,-0\n\n1e-9,\"\n\",PC,0\n2,,EC,3\n")
	f.Add("lipf6,solvent,conductivity\n0x1p-3,EC,1_0\n1e999,EC,1\n,,\n")
	for _, n := range []int{300_000, 3_000_000} {
		long := strings.Repeat("k", n)
		f.Add("lipf6,solvent,conductivity," + long + "\n1.1,EC,9.5,1\n")
		f.Add("lipf6,solvent,conductivity\n1.1," + long + ",9.5\n" + long + "\n")
	}
	place := regexp.MustCompile(`(?m)rows\.csv(:\d+)?: .`)
	f.Fuzz(func(t *testing.T, text string) {
		var i *table.Instrument
		var err error
		draws.Answers(t, func() { i, err = open(t, text, nil) })
		if err != nil {
			if !place.MatchString(err.Error()) {
				t.Errorf("%q is refused without its place: %v", text, err)
			}
			return
		}
		candidates := must.Get(i.Candidates(t.Context()))(t)
		measured := 0
		for _, p := range candidates {
			x, isNumber := p["lipf6"].Float()
			if len(p) != 2 || !isNumber || math.IsNaN(x) || math.IsInf(x, 0) ||
				p["solvent"].Name() != "EC" && p["solvent"].Name() != "PC" {
				t.Errorf("%q holds %v", text, p)
			}
			if i.Replicates(p) < 1 {
				t.Errorf("%q: %v is there and was never measured", text, p)
			}
			measured += i.Replicates(p)
		}
		rows := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
		if first, _, _ := strings.Cut(text, "\n"); strings.Count(first, ";") > strings.Count(first, ",") {
			rows.Comma = ';'
		}
		records, err := rows.ReadAll()
		if err != nil || measured != len(records)-1 {
			t.Errorf("%q: %d measurements of %d rows, %v", text, measured, len(records)-1, err)
		}
	})
}

// A table that is not a regular file, or too large, is refused and not read.
func TestNoTable(t *testing.T) {
	for _, file := range []string{"/dev/zero", t.TempDir(), "none.csv"} {
		if _, err := table.New(table.Settings{File: file}, defined(), t.TempDir()); err == nil {
			t.Errorf("%s was read", file)
		}
	}
}

// Law: the best row that a backtest is compared with is one that keeps the constraints on outcomes, and none where no
// row does, or where what is sought is a trade-off.
func TestBestRowKeepsTheConstraints(t *testing.T) {
	folder := t.TempDir()
	const rows = "x,yield,turnover\n1,50,60\n2,90,20\n3,70,45\n"
	must.Do(t, os.WriteFile(filepath.Join(folder, "rows.csv"), []byte(rows), 0o600))
	def := definition.Campaign{
		Parameters: []definition.Parameter{{Name: "x", Values: []float64{1, 2, 3}}},
		Quantities: []definition.QuantityDef{{Name: "yield"}, {Name: "turnover"}},
		Objective:  definition.Objective{Name: "yield", Goal: definition.Maximize},
		Instrument: definition.Instrument{Driver: table.Choose(table.Settings{File: "rows.csv"})},
	}
	for require, want := range map[string]float64{"turnover >= 0": 90, "turnover >= 40": 70, "turnover >= 50": 50, "turnover >= 70": 0} {
		def.ConstraintsOnOutcomes = []definition.OutcomeConstraint{{Require: require}}
		best, err := table.Driver.Foregone(def, folder)
		if best.Value != want || (err == nil) != (want > 0) {
			t.Errorf("%s: the best row has %v, %v", require, best.Value, err)
		}
	}
	def.Objective.Tradeoff = []definition.Aim{
		{Name: "yield", Goal: definition.Maximize}, {Name: "turnover", Goal: definition.Maximize},
	}
	if best, err := table.Driver.Foregone(def, folder); err == nil {
		t.Errorf("a trade-off's best row is %+v", best)
	}
}
