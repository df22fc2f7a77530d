package guess_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/files/guess"
)

// labTable is a table as a laboratory keeps it, and what its author would say of it.
type labTable struct {
	text     string
	varied   []string // names of the parameters
	sought   string   // name of the objective
	goal     guess.Role
	rows     int // that are measurements
	mixture  float64
	features []string
}

// quirk is what people and programs do to a table that is not part of the experiments.
type quirk struct {
	name string
	odds int // one table in so many has it
}

var quirks = []quirk{
	{"word", 3}, {"index", 4}, {"gaps in the index", 6}, {"units row", 6}, {"type row", 8}, {"title", 8},
	{"summary", 6}, {"date", 6}, {"percent", 8}, {"semicolons", 5}, {"remark", 5}, {"operator", 6}, {"number of the run", 5},
}

var missingWords = []string{"NaN", "n.d.", "N/A", "-", "?", "<1", "failed", "trace", "TBD", "#N/A", "#DIV/0!", "PENDING", "nan", "n.a.", "~50", "missing", ""}

// labFactor is something that people vary.
type labFactor struct {
	heading, unit string
	low, high     float64
	decimals      int
}

var labFactors = []labFactor{
	{"Temperature", "°C", 20, 120, 0}, {"Temp", "", 20, 80, 0}, {"time", "min", 5, 60, 0}, {"pressure", "bar", 1, 10, 1}, {"salt", "mol/L", 0.1, 2, 2},
	{"flow", "mL/min", 0.5, 5, 1}, {"stirring", "rpm", 200, 900, 0}, {"loading", "mol%", 0.5, 5, 1}, {"pH", "", 3, 11, 1}, {"x1", "", 0, 1, 3}, {"A", "", 10, 90, 0},
	{"concentration", "g/L", 1, 50, 1}, {"residence", "s", 10, 300, 0}, {"dose", "mg", 5, 50, 0},
}

var labResults = []struct {
	heading, unit string
	goal          guess.Role
}{
	{"Yield", "%", guess.Maximize}, {"conversion", "%", guess.Maximize}, {"conductivity", "mS/cm", guess.Maximize}, {"viscosity", "mPa·s", guess.Minimize},
	{"Ausbeute", "%", guess.Maximize}, {"ee", "%", guess.Maximize}, {"strength", "MPa", guess.Maximize}, {"impurity", "%", guess.Minimize},
	{"score", "", guess.Maximize}, {"selectivity", "%", guess.Maximize}, {"capacity", "mAh/g", guess.Maximize},
}

var labNames = map[string][]string{
	"ligand": {"XPhos", "SPhos", "dppf", "tBuXPhos"}, "solvent": {"EC", "DMC", "toluene", "1,4-dioxane"}, "base": {"K2CO3", "DBU", "TEA"},
	"catalyst": {"Pd(OAc)2", "Pd2dba3", "NiCl2"},
}

// drawTable writes a table with some quirks.
func drawTable(seed uint64) labTable {
	rng := rand.New(rand.NewPCG(seed, 34))
	one := func(n int) bool { return rng.IntN(n) == 0 }
	var l labTable
	on := make(map[string]bool)
	if !one(4) { // plain
		for _, q := range quirks {
			if one(q.odds) {
				on[q.name] = true
				l.features = append(l.features, q.name)
			}
		}
	}
	rows := 6 + rng.IntN(12)
	comma := on["semicolons"]
	number := func(x float64, decimals int) string {
		text := fmt.Sprintf("%.*f", decimals, x)
		if comma {
			text = strings.Replace(text, ".", ",", 1)
		}
		return text
	}
	type column struct {
		heading, unit string
		cells         []string
	}
	var columns []column
	unitsBelow := on["units row"]
	add := func(heading, unit string, cell func(row int) string) {
		c := column{heading: heading, unit: unit}
		if unit != "" && !unitsBelow {
			switch rng.IntN(3) {
			case 0:
				c.heading += " (" + unit + ")"
			case 1:
				c.heading += " [" + unit + "]"
			}
		}
		for r := range rows {
			c.cells = append(c.cells, cell(r))
		}
		columns = append(columns, c)
	}
	if on["index"] || on["gaps in the index"] {
		step, at := 1, -1
		add("", "", func(int) string {
			if on["gaps in the index"] {
				step = 1 + rng.IntN(9)
			}
			at += step
			return fmt.Sprint(at)
		})
	}
	if on["number of the run"] {
		add("Run", "", func(r int) string { return fmt.Sprint(r + 1) })
	}
	if on["date"] {
		day := 45000 + rng.IntN(900)
		add([]string{"Date", "Datum", "date"}[rng.IntN(3)], "", func(int) string { day += rng.IntN(3); return fmt.Sprint(day) })
	}
	if one(3) {
		names := []string{"ligand", "solvent", "base", "catalyst"}
		name := names[rng.IntN(4)]
		add(name, "", func(r int) string { return labNames[name][(r+rng.IntN(2))%len(labNames[name])] })
		l.varied = append(l.varied, name)
	}
	if one(5) {
		l.mixture = []float64{1, 100, 200}[rng.IntN(3)]
		first := make([]float64, rows)
		decimals := 0
		if l.mixture == 1 {
			decimals = 2
		}
		add("Acid", "", func(r int) string {
			for {
				first[r] = l.mixture * float64(10+rng.IntN(80)) / 100
				if !slices.Contains(first[:r], first[r]) {
					return number(first[r], decimals)
				}
			}
		})
		add("Water", "", func(r int) string { return number(l.mixture-first[r], decimals) })
		l.varied = append(l.varied, "Acid", "Water")
	}
	for _, k := range rng.Perm(len(labFactors))[:1+rng.IntN(3)] {
		f := labFactors[k]
		add(f.heading, f.unit, func(r int) string {
			x := f.low + (f.high-f.low)*rng.Float64()
			switch r { // so that it varies
			case 0:
				x = f.low
			case 1:
				x = f.high
			}
			return number(x, f.decimals)
		})
		l.varied = append(l.varied, f.heading)
	}
	if on["operator"] {
		who := []string{"Ada", "Bob"}
		add("operator", "", func(int) string { return who[0] })
	}
	result := labResults[rng.IntN(len(labResults))]
	l.sought, l.goal = result.heading, result.goal
	words := on["word"]
	word := missingWords[rng.IntN(len(missingWords))]
	share := 0.1 + 0.4*rng.Float64()
	open := 0
	add(result.heading, result.unit, func(r int) string {
		if words && r > 1 && rng.Float64() < share {
			open++
			return word
		}
		text := number(1+98*rng.Float64(), 1)
		if on["percent"] && result.unit == "%" {
			text += []string{" %", "%"}[int(seed)%2]
		}
		return text
	})
	l.rows = rows - open
	if on["remark"] {
		add("remark", "", func(r int) string {
			if r%3 == 0 {
				return fmt.Sprintf("cell %d, looked %d", r, rng.IntN(1000))
			}
			return ""
		})
	}
	separator := ","
	if comma {
		separator = ";"
	}
	var lines [][]string
	line := func(of func(c column) string) {
		var cells []string
		for _, c := range columns {
			cells = append(cells, of(c))
		}
		lines = append(lines, cells)
	}
	line(func(c column) string { return c.heading })
	if unitsBelow {
		line(func(c column) string { return c.unit })
	}
	if on["type row"] {
		line(func(c column) string {
			if c.heading == "" {
				return "TYPE"
			}
			return "DATA"
		})
	}
	for r := range rows {
		line(func(c column) string { return c.cells[r] })
	}
	if on["summary"] {
		first := true
		line(func(c column) string {
			if first {
				first = false
				return []string{"Mean", "Average", "Mittelwert", "SD"}[rng.IntN(4)]
			}
			if strings.HasPrefix(c.heading, result.heading) {
				return number(50, 1)
			}
			return ""
		})
	}
	var b strings.Builder
	if on["title"] {
		b.WriteString("Screen of May 2024" + strings.Repeat(separator, len(columns)-1) + "\n")
	}
	for _, cells := range lines {
		for i, cell := range cells {
			if strings.Contains(cell, separator) {
				cells[i] = `"` + cell + `"`
			}
		}
		b.WriteString(strings.Join(cells, separator) + "\n")
	}
	l.text = b.String()
	return l
}

// wrong says what a guess has otherwise than the author of a table; "" for nothing.
func (l *labTable) wrong(g *guess.Guess) string {
	var varied []string
	sought, goal := "", guess.Role("")
	for _, c := range g.Columns {
		if c.Role.Varied() {
			varied = append(varied, c.Name)
		}
		if c.Role.Sought() {
			sought, goal = c.Name, c.Role
		}
	}
	switch {
	case sought != l.sought || goal != l.goal:
		return fmt.Sprintf("objective: %s %s, and not %s %s", goal, sought, l.goal, l.sought)
	case !slices.Equal(varied, l.varied):
		return fmt.Sprintf("%v are varied, and not %v", varied, l.varied)
	case len(g.Taken()) != l.rows:
		return fmt.Sprintf("%d rows are measurements, and not %d", len(g.Taken()), l.rows)
	case l.mixture > 0 && (g.Sum == nil || g.Sum.Total != l.mixture):
		return fmt.Sprintf("no sum of %g", l.mixture)
	case g.Faults() != nil:
		return fmt.Sprint(g.Faults())
	}
	return ""
}

// Law: of tables as laboratories keep them nearly all are recognised whole, and none has
// another objective than its author's: a wrong objective spends experiments.
func TestLabTables(t *testing.T) {
	const tables, right = 260, 250
	good := 0
	for seed := range uint64(tables) {
		l := drawTable(seed)
		g, _, err := guess.Of("mine.csv", l.text)
		wrong := ""
		if err != nil {
			wrong = err.Error()
		} else if wrong = l.wrong(g); wrong == "" {
			if err := take(t, g, l.text); err != nil {
				wrong = err.Error()
			}
		}
		switch {
		case wrong == "":
			good++
		case strings.HasPrefix(wrong, "objective"):
			t.Errorf("seed %d %v: %s\n%s", seed, l.features, wrong, l.text)
		default:
			t.Logf("seed %d %v: %s\n%s", seed, l.features, wrong, l.text)
		}
	}
	if good < right {
		t.Errorf("%d of %d tables are right, want %d", good, tables, right)
	}
	t.Logf("%d of %d", good, tables)
}
