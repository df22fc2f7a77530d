package console_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// tableOf is a table of n compositions of so many parameters and a salt that is the same in
// all, in which the first number said is 10.25 and the second 9.
func tableOf(n, parameters int) console.Table {
	low, high := 0.0, 100.0
	var list []definition.Parameter
	for k := range parameters {
		list = append(list, definition.Parameter{Name: fmt.Sprintf("part_%c", 'a'+k), Unit: "%", Min: &low, Max: &high})
	}
	list = append(list, definition.Parameter{Name: "salt"})
	t := console.Table{
		Compositions: format.NewCompositions(list, nil),
		Said: []console.Said{{Head: "expected", Unit: "mS/cm", Of: func(i int) string {
			return []string{"10.25", "9", "–", ""}[min(i, 3)]
		}}},
	}
	for i := range n {
		p := definition.Point{"salt": definition.Category("LiPF6")}
		for k, par := range list[:parameters] {
			p[par.Name] = definition.Number(math.Mod(float64(7*(i+1)*(k+1)), 101))
		}
		t.Points = append(t.Points, p)
	}
	return t
}

// Columns are aligned: numbers at their decimal points, words on the left.
func TestTable(t *testing.T) {
	got := strings.Join(tableOf(4, 2).Text(1).Lines(76), "\n")
	want := strings.TrimPrefix(`
    part_a  part_b  salt   expected
         %       %            mS/cm
 1       7      14  LiPF6     10.25
›2      14      28  LiPF6      9
 3      21      42  LiPF6         –
 4      28      56  LiPF6`, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = strings.Join(tableOf(2, 3).Text(-1).Lines(34), "\n")
	want = strings.TrimPrefix(`
    part_a  part_b  part_c  expected
         %       %       %     mS/cm
 1       7      14      21     10.25
 2      14      28      42      9
the same in all: salt LiPF6`, "\n")
	if wide := strings.Join(tableOf(2, 3).Text(-1).Lines(36), "\n"); wide != want {
		t.Errorf("got\n%s\nwant\n%s", wide, want)
	}
	want = strings.TrimPrefix(`
a part_a (%), b part_b (%),
c part_c (%)
     a   b   c  expected
                   mS/cm
 1   7  14  21     10.25
 2  14  28  42      9
the same in all: salt LiPF6`, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Law: no two columns stand under the same letter, however many there are.
func TestLettersDiffer(t *testing.T) {
	text := strings.Join(tableOf(2, 60).Text(-1).Lines(330), "\n")
	legend, _, found := strings.Cut(text, "\n   ") // the line of letters begins with the room for numbers
	if !found {
		t.Fatal(text)
	}
	of := make(map[string]string)
	for _, entry := range strings.FieldsFunc(legend, func(r rune) bool { return r == ',' || r == '\n' }) {
		letter, name, _ := strings.Cut(strings.TrimSpace(entry), " ")
		if other := of[letter]; other != "" {
			t.Errorf("%s stands for %s and %s", letter, other, name)
		}
		of[letter] = name
	}
	if len(of) != 60 {
		t.Errorf("%d letters in\n%s", len(of), text)
	}
}

// Law: whatever the screen, no line is longer than it is wide, every value is there,
// and where not all rows fit into its height the marked one is there, whole.
func TestTableFits(t *testing.T) {
	for _, parameters := range []int{1, 3, 7, 15} {
		table := tableOf(40, parameters)
		for _, width := range []int{40, 76, 120} {
			whole := table.Text(-1).Lines(width)
			text := strings.Join(whole, "\n")
			for at, p := range table.Points {
				row := strings.Join(table.Rows(at).Lines(width), "\n")
				words := strings.FieldsFunc(row, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
				for k, par := range table.Compositions.Parameters() {
					value, _ := table.Compositions.Value(k, p)
					if !strings.Contains(text, par.Name) || !slices.Contains(words, value) && !strings.Contains(text, "the same in all: "+par.Name) {
						t.Errorf("%d parameters, %d wide: %s is not there:\n%s", parameters, width, par.Name, row)
					}
				}
				if !strings.Contains(text, strings.TrimPrefix(row, "›")) {
					t.Errorf("%d parameters, %d wide: row %d is not in:\n%s", parameters, width, at+1, text)
				}
				lines := table.Text(at).Within(width, 17)
				if shown := strings.Join(lines, "\n"); len(lines) > 17 || !strings.Contains(shown, row) || !strings.HasPrefix(row, "›") {
					t.Errorf("%d parameters, %d wide, row %d in %d lines:\n%s", parameters, width, at+1, len(lines), shown)
				}
				for _, line := range append(lines, whole...) {
					if utf8.RuneCountInString(line) > width {
						t.Fatalf("%d parameters, %d wide: %q", parameters, width, line)
					}
				}
			}
		}
	}
}

// Law: a single composition is a table, too, in which nothing differs.
func TestTableOfOne(t *testing.T) {
	for width := 20; width <= 76; width++ {
		text := strings.Join(tableOf(1, 2).Text(-1).Lines(width), "\n")
		if !strings.Contains(text, "LiPF6") || !strings.Contains(text, "10.25") {
			t.Errorf("%d wide:\n%s", width, text)
		}
	}
}
