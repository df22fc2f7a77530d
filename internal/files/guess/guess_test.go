package guess_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/files/guess"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// says writes what each column is guessed to be, and the sum of parts: "salt number 0.2..2".
func says(g *guess.Guess) string {
	var parts []string
	for _, c := range g.Columns {
		text := c.Name + " " + string(c.Role)
		if c.Role == guess.Number {
			text += " " + c.Low + ".." + c.High
		}
		if c.Unit != "" && (c.Role.Varied() || c.Role.Measured()) {
			text += " " + c.Unit
		}
		parts = append(parts, text)
	}
	if g.Sum != nil {
		parts = append(parts, fmt.Sprintf("sum %g of %d, %d off", g.Sum.Total, len(g.Sum.Columns), g.Sum.Off))
	}
	return strings.Join(parts, "; ")
}

// Law: what a table of a lab is guessed to be is what its author would say, as far as headings
// and cells tell.
func TestTables(t *testing.T) {
	for _, c := range []struct{ what, table, want string }{
		{
			"semicolons, decimal commas, units, a byte order mark",
			"\ufeffsalt (mol/kg);T [°C];conductivity (mS/cm)\n0,23;25;7,1\n1,1;40;12,6\n1,97;31;9,9\n",
			"salt number 0.2..2 mol/kg; T number 25..40 °C; conductivity maximize mS/cm",
		},
		{
			"identifiers, dates, names, notes",
			"run,date,ligand,time / min,yield (%),remark\n7,2024-05-01,XPhos,30,71,\n3,2024-05-02,SPhos,45,83,turned black\n9,2024-05-03,XPhos,60,64,\n11,2024-05-04,SPhos,50,77,spilled\n",
			"run note; date note; ligand category; time number 30..60 min; yield maximize %; remark note",
		},
		{
			"a count, a constant, blank columns and lines",
			"no,,a,b,pump,result\n1,,1,3,P1,5\n2,,2,1,P1,6\n,,,,,\n3,,3,2,P1,7\n",
			"no leave; a number 1..3; b number 1..3; pump leave; result maximize",
		},
		{
			"a mixture in parts",
			"ec,dmc,emc,viscosity\n0.3,0.5,0.2,3.1\n0.5,0.25,0.25,4.2\n0.4,0.1,0.5,3.9\n",
			"ec number 0.3..0.5; dmc number 0.1..0.5; emc number 0.2..0.5; viscosity minimize; sum 1 of 3, 0 off",
		},
		{
			"a mixture in per cent, rounded",
			"resin (%),filler (%),oil (%),hardness\n33.3,33.3,33.3,10\n50,30,20,12\n60,20,20,13\n",
			"resin number 33..60 %; filler number 20..34 %; oil number 20..34 %; hardness maximize; sum 100 of 3, 1 off",
		},
		{
			"several results, some missing, and a price",
			"x,y,price (EUR),yield,purity\n1,2,3,50,\n2,1,4,60,90\n3,3,5,70,95\n",
			"x number 1..3; y number 1..3; price quantity EUR; yield maximize; purity quantity",
		},
		{
			"nothing says what was measured: the last column of numbers",
			"speed,flow,zeta,comment\n10,1,5,first try\n20,2,6,second try\n30,4,9,third time\n",
			"speed number 10..30; flow number 1..4; zeta maximize; comment note",
		},
		{
			"yes or no, a standard deviation, headings twice and none",
			"additive,x,x,,score,sd\n0,1,2,5,6,0.1\n1,2,3,9,7,0.1\n1,4,1,7,9,0.2\n",
			"additive values; x number 1..4; x_2 number 1..3; column_4 number 5..9; score maximize; sd note",
		},
		{
			"rows that are not measured yet, one of them in two lines",
			"x,y,yield,remark\n1,2,3,\n2,1,,\"to be\ndone\"\n3,3,4,\n2,2,5,\n4,4,,\n",
			"x number 1..4; y number 1..4; yield maximize; remark note",
		},
		{
			"parts of a mixture after another sum that nearly stays",
			"a (%),b (%),c (%),x,y,result\n33.3,33.3,33.3,30,70,1\n50,30,20,40,60,2\n60,20,20,55,45,3\n",
			"a number 33..60 %; b number 20..34 %; c number 20..34 %; x number 30..55; y number 45..70; result maximize; sum 100 of 2, 0 off",
		},
		{
			"cells that repeat the unit of their column, of a parameter, too",
			"T (°C),yield\n20 °C,31 %\n35 °C,44 %\n50,61 %\n",
			"T number 20..50 °C; yield maximize %",
		},
		{
			"a result by its heading after another one with gaps",
			"a,b,yield\n1,,3\n2,,4\n3,5,6\n4,7,8\n",
			"a number 1..4; b quantity; yield maximize",
		},
		{
			"a row without a value of a parameter, and a range that is narrower than its steps would be",
			"x,y,yield\n0,1,1\n1e-9,2,2\n5e-10,,3\n",
			"x number 0..1e-09; y number 1..2; yield maximize",
		},
		{"tabs, as a spreadsheet copies them", "a\tb\tyield\n1,5\t2\t3\n2,5\t1\t4\n", "a number 1.5..2.5; b number 1..2; yield maximize"},
	} {
		g, _, err := guess.Of("the table", c.table)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if got := says(g); got != c.want {
			t.Errorf("%s:\n%s, and not\n%s", c.what, got, c.want)
		}
		for _, column := range g.Columns {
			if column.Why == "" {
				t.Errorf("%s: no reason for %s", c.what, column.Heading)
			}
		}
		if took := take(t, g, c.table); took != nil {
			t.Errorf("%s: %v", c.what, took)
		}
	}
}

// Law: a step is never wider than its range, also where a person has narrowed that.
func TestStepsFitTheRange(t *testing.T) {
	g, _ := must.Get2(guess.Of("mine.csv", "x,y,yield\n1,2,1\n2,4,2\n3,3,3\n"))(t)
	g.Columns[0].Low, g.Columns[0].High = "1", "1.5"
	if source := g.Source(); !strings.Contains(source, `steps: {"y": 1}`) {
		t.Errorf("the steps are others than that of y:\n%s", source)
	}
}

// Law: what is not a table is refused with what to do.
func TestNoTables(t *testing.T) {
	for table, want := range map[string]string{
		"PK\x03\x04 and so on": "workbook", "": "no table", "\n\n": "no table", "a,b\n": "no rows",
		"a,b\n1,2\n1,2,3\n": ":3: there are 3 cells", "a,b\n1,\"2\n": ":2:",
	} {
		_, _, err := guess.Of("mine.csv", table)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", table, err)
		}
	}
}

// Law: a row that stays behind has the line of the person's table, whatever was left out before it.
func TestLines(t *testing.T) {
	table := "\n\nx,,yield,remark\n1,,3,\"in\ntwo\"\n,,,\n2,,4,\n3,,1_2,\n4,,1,\n5,,PENDING,\n"
	g, _ := must.Get2(guess.Of("mine.csv", table))(t)
	if got := g.LeftText(); got != "2 rows (lines 8, 10)" {
		t.Errorf("what stays behind are %s", got)
	}
	if err := take(t, g, table); err != nil {
		t.Errorf("the others are refused: %v", err)
	}
}

// take begins a campaign, in memory, with the file that is guessed of a table, and takes its
// rows along, as the pages and commands do.
func take(t interface{ Fatalf(string, ...any) }, g *guess.Guess, table string) error {
	if faults := g.Faults(); faults != nil {
		return fmt.Errorf("%v", faults)
	}
	again, mended, err := guess.Of(g.Origin, table)
	if err != nil || len(again.Columns) != len(g.Columns) {
		t.Fatalf("read again: %v", err)
	}
	reg := builtin.Registry()
	source := g.Source()
	file, err := campaignfile.Parse(reg, "guessed", []byte(source))
	if err != nil {
		t.Fatalf("the guessed file has faults: %v\n%s", err, source)
	}
	defined := events.CampaignDefined{Definition: file.Definition, Source: file.Source}
	core, err := engine.Rehearse(reg, defined, "person:ada", time.Unix(1e9, 0))
	if err != nil {
		t.Fatalf("the guessed file begins no campaign: %v\n%s", err, source)
	}
	im := &exchange.Import{
		Registry: reg, Core: core, Actor: "person:ada", Anyway: g.Sum != nil && g.Sum.Off > 0,
		Words: exchange.Words{Clause: func(err error) string { return err.Error() }},
	}
	if err := im.Read(g.Origin, strings.NewReader(g.Import(im, mended))); err != nil {
		return err
	}
	if len(im.Rows) != len(g.Taken()) {
		t.Fatalf("%d rows of %d are taken", len(im.Rows), len(g.Taken()))
	}
	if _, err := core.Handle(engine.Request{Actor: "person:ada", Import: im.Rows}); err != nil {
		return err
	}
	return nil
}

// Law: whatever the table, it is refused with a reason; or the file that is guessed has no
// fault, and takes the rows along, or says in which line one cannot be.
func TestAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.OneOf(
			rapid.Map(rapid.Float64Range(-1e3, 1e3), func(x float64) string { return fmt.Sprintf("%.2f", x) }),
			rapid.Map(rapid.IntRange(-3, 12), func(n int) string { return fmt.Sprint(n) }),
			rapid.SampledFrom([]string{"", "A", "B", "true", "2024-01-02", "1e-9", "1e300", "-0", "0,5", "n.d.", "'=x", "<1", "NaN", "ß µ", "a: b", "# c", "\"q\""}),
			rapid.String(),
		)
		heading := rapid.OneOf(
			rapid.SampledFrom([]string{"x", "y", "salt (mol/kg)", "T [°C]", "yield (%)", "cost / EUR", "no", "", "x", "η", "a b", "1st", "true", "sd", "status", "experiment", "unit", "_", "name: x"}),
			rapid.String(),
		)
		columns := rapid.IntRange(1, 6).Draw(t, "columns")
		separator := rapid.SampledFrom([]string{",", ";", "\t"}).Draw(t, "separator")
		var lines []string
		for n := range rapid.IntRange(1, 9).Draw(t, "lines") {
			cells := make([]string, columns)
			for i := range cells {
				text := heading
				if n > 0 {
					text = cell
				}
				cells[i] = text.Draw(t, "cell")
				if !strings.ContainsAny(cells[i], "\"") && rapid.Bool().Draw(t, "quoted") {
					cells[i] = `"` + cells[i] + `"`
				}
			}
			lines = append(lines, strings.Join(cells, separator))
		}
		check(t, strings.Join(lines, "\n"))
	})
}

// Law: a table of numbers and names without gaps is taken whole.
func TestSoundTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(3, 12).Draw(t, "rows")
		lines := make([]string, rows+1)
		lines[0] = "name of the solvent;a [g/L];b;c;result"
		comma := rapid.SampledFrom([]string{",", "."}).Draw(t, "mark")
		for i := range rows {
			a := rapid.Float64Range(0, 50).Draw(t, "a")
			b := rapid.IntRange(0, 100).Draw(t, "b")
			solvent := rapid.SampledFrom([]string{"EC", "no", "1,2-DCE", "ß: x"}).Draw(t, "solvent")
			line := fmt.Sprintf("%s;%.2f;%d;%d;%.1f", solvent, a, b, 100-b, rapid.Float64Range(-9, 9).Draw(t, "result"))
			if comma == "," {
				line = strings.ReplaceAll(line, ".", ",")
			}
			lines[i+1] = line
		}
		table := strings.Join(lines, "\r\n")
		g, _ := must.Get2(guess.Of("mine.csv", table))(t)
		if g.Faults() != nil {
			return // as where a column is the same in all rows
		}
		if err := take(t, g, table); err != nil {
			t.Fatalf("%v\n%s\n%s", err, table, g.Source())
		}
	})
}

// check holds the law of any table.
func check(t *rapid.T, table string) {
	g, _, err := guess.Of("mine.csv", table)
	if err != nil {
		if len(err.Error()) < 10 {
			t.Fatalf("refused with %q", err)
		}
		return
	}
	if g.Faults() != nil {
		return
	}
	err = take(t, g, table)
	var faults exchange.Faults
	var fault exchange.Fault
	if err != nil && !errors.As(err, &faults) && !errors.As(err, &fault) {
		t.Fatalf("no fault of the table: %v\n%q\n%s", err, table, g.Source())
	}
}
