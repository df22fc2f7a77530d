package guess

import (
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/space"
)

// nearly is the tolerated deviation of the sum of rounded parts, as a share of it.
const nearly = 0.005

// sums finds the parameters that have the same sum in each row: the parts of a mixture.
// They stand next to each other, or have one unit.
func (g *Guess) sums() {
	var runs [][]int
	units := make(map[string][]int)
	var order []string
	for i := range g.Columns {
		c := &g.Columns[i]
		if c.Role != Number || c.empty > 0 || len(c.numbers) != g.Rows || slices.Min(c.numbers) < 0 {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1][len(runs[n-1])-1] == i-1 {
			runs[n-1] = append(runs[n-1], i)
		} else {
			runs = append(runs, []int{i})
		}
		if units[c.Unit] == nil {
			order = append(order, c.Unit)
		}
		units[c.Unit] = append(units[c.Unit], i)
	}
	for _, unit := range order {
		runs = append(runs, units[unit])
	}
	for _, rounded := range []bool{false, true} { // an exact sum comes before an approximate one
		for _, run := range runs {
			for length := len(run); length >= 2; length-- {
				for from := 0; from+length <= len(run); from++ {
					if sum := g.sumOf(run[from : from+length]); sum != nil && (rounded || sum.Off == 0) {
						g.Sum = sum
						g.withinSum()
						return
					}
				}
			}
		}
	}
}

// enoughRows is the number of rows in which two columns cannot have one sum by chance.
const enoughRows = 5

// sumOf returns the sum of columns where each row has it; nil otherwise. Three rows are
// the fewest that show it; two columns are parts of 1 or 100, and of another sum only in
// several rows, exactly: two numbers of one experiment may well add up by chance.
func (g *Guess) sumOf(columns []int) *Sum {
	if g.Rows < 3 {
		return nil
	}
	totals := make([]float64, g.Rows)
	for _, i := range columns {
		for k, x := range g.Columns[i].numbers {
			totals[k] += x
		}
	}
	middle := slices.Sorted(slices.Values(totals))[g.Rows/2]
	sum := &Sum{Columns: slices.Clone(columns), Total: round(middle), Keep: true}
	for _, whole := range []float64{1, 100} {
		if math.Abs(middle-whole) <= nearly*whole {
			sum.Total = whole
		}
	}
	few := g.Rows < enoughRows || len(distinct(g.Columns[columns[0]].numbers)) < enoughRows-1
	if sum.Total <= 0 || len(columns) == 2 && sum.Total != 1 && sum.Total != 100 && few {
		return nil
	}
	for _, total := range totals {
		off := math.Abs(total - sum.Total)
		if off > nearly*sum.Total {
			return nil
		}
		if off > space.Tolerance*sum.Total {
			sum.Off++
		}
	}
	if sum.Off > 0 && (sum.Total != 1 && sum.Total != 100 || !g.oneUnit(columns)) {
		return nil // the rounded numbers are parts of a whole
	}
	least, most := 0.0, 0.0
	for _, i := range columns {
		low, _ := format.ReadNumber(g.Columns[i].Low)
		high, _ := format.ReadNumber(g.Columns[i].High)
		least, most = least+low, most+high
	}
	if least > sum.Total || most < sum.Total {
		return nil // no composition within the ranges has it
	}
	return sum
}

// oneUnit reports whether columns have the same unit.
func (g *Guess) oneUnit(columns []int) bool {
	return !slices.ContainsFunc(columns, func(i int) bool { return g.Columns[i].Unit != g.Columns[columns[0]].Unit })
}

// finest returns the number of decimals that a column is dosed with: its own, or as a part of a sum
// the greatest of the parts', so that the others can make up for it.
func (g *Guess) finest(i int) int {
	most := g.Columns[i].decimals
	if g.SumHolds() && g.Sum.Keep && slices.Contains(g.Sum.Columns, i) {
		for _, k := range g.Sum.Columns {
			most = max(most, g.Columns[k].decimals)
		}
	}
	return most
}

// withinSum narrows the ranges of parts to the values that the sum allows.
func (g *Guess) withinSum() {
	for _, i := range g.Sum.Columns {
		c := &g.Columns[i]
		c.Why = "It has a number in each row, and is a part of a sum that stays the same."
		if exceeds(c.High, g.Sum.Total) {
			c.High = setting(g.Sum.Total)
		}
	}
}

// round removes the noise of binary fractions from a sum of decimals.
func round(x float64) float64 {
	if x == 0 {
		return 0
	}
	digits := math.Pow(10, 9-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*digits) / digits
}
