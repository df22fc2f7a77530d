package view

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
)

// Law: every bar is as wide as any other, lies on the side of its sign, and is no
// shorter than that of a smaller number.
func TestBar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		greatest := rapid.Float64Range(1e-9, 1e9).Draw(t, "greatest")
		x := rapid.Float64Range(-1, 1).Draw(t, "share") * greatest
		drawn := bar(x, greatest)
		if w := ansi.StringWidth(drawn); w != 2*arm+1 {
			t.Fatalf("%q is %d cells wide", drawn, w)
		}
		left, right, _ := strings.Cut(drawn, "│")
		if x < 0 && strings.TrimSpace(right) != "" || x > 0 && strings.TrimSpace(left) != "" {
			t.Fatalf("%v is drawn %q", x, drawn)
		}
		size := func(x float64) (n int) {
			for _, r := range bar(x, greatest) {
				switch r {
				case '█':
					n += 2
				case '▌', '▐':
					n++
				}
			}
			return n
		}
		if size(x) < size(x/2) || size(greatest) != 2*arm {
			t.Fatalf("%q is shorter than %q, or %q does not fill its side",
				drawn, bar(x/2, greatest), bar(greatest, greatest))
		}
	})
	if strings.TrimSpace(bar(0, 0)) != "│" {
		t.Errorf("nothing is drawn %q", bar(0, 0))
	}
}

// Law: the map has the least value lightest and the greatest darkest, the first
// row of the grid at the bottom, and each candidate in the cell where it lies.
func TestPlane(t *testing.T) {
	point := func(x, y float64) definition.Point {
		return definition.Point{"x": definition.Number(x), "y": definition.Number(y)}
	}
	low, high := 0.0, 10.0
	plane := &events.Plane{Candidate: "aided", X: "x", Y: "y"}
	for k := range 11 {
		plane.Xs, plane.Ys = append(plane.Xs, float64(k)), append(plane.Ys, float64(k))
	}
	for row := range 11 {
		mean, sd := make([]float64, 11), make([]float64, 11)
		for column := range 11 {
			mean[column], sd[column] = float64(row), 1
		}
		plane.Mean, plane.SD = append(plane.Mean, mean), append(plane.SD, sd)
	}
	d := &Decision{
		Definition: &definition.Campaign{Parameters: []definition.Parameter{
			{Name: "x", Min: &low, Max: &high}, {Name: "y", Min: &low, Max: &high},
		}},
		Decision: &events.DecisionMade{Candidates: []events.Candidate{
			{Name: "unaided", Parameters: point(0, 10)}, {Name: "aided", Parameters: point(10, 0)},
			{Name: "far", Parameters: point(30, 0)},
		}},
	}
	var rows []string
	for _, line := range d.planeLines(plane) {
		if strings.ContainsAny(line, "░▒▓█·") && !strings.Contains(line, " to ") {
			rows = append(rows, line)
		}
	}
	if len(rows) != 11 {
		t.Fatalf("%d rows", len(rows))
	}
	if !strings.HasPrefix(rows[0], "10.0 U ██") || !strings.HasPrefix(rows[10], " 0.0 ····") {
		t.Errorf("top and bottom are %q and %q", rows[0], rows[10])
	}
	if first, _, _ := strings.Cut(rows[10], "   "); !strings.HasSuffix(first, "··A") {
		t.Errorf("the aided candidate is not at the right of %q", rows[10])
	}
	if strings.Contains(strings.Join(rows, ""), "F") {
		t.Error("a candidate outside the plane is drawn in it")
	}
	for _, row := range rows {
		if w := ansi.StringWidth(row); w != ansi.StringWidth(rows[0]) {
			t.Errorf("%q is %d cells wide", row, w)
		}
	}
}
