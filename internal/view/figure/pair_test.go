package figure

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// inside reports whether a place is within a ring, by counting the edges to its right.
func inside(ring plot.XYs, at plot.XY) (in bool) {
	for i, a := range ring {
		b := ring[(i+1)%len(ring)]
		if (a.Y > at.Y) != (b.Y > at.Y) && at.X < a.X+(at.Y-a.Y)/(b.Y-a.Y)*(b.X-a.X) {
			in = !in
		}
	}
	return in
}

// Law: the shaded area of a front is what the front covers, and nothing else: the places than
// which some composition of the front is better in both objectives, whichever way is better.
func TestCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Pair{X: Aim{Less: rapid.Bool().Draw(t, "x less")}, Y: Aim{Less: rapid.Bool().Draw(t, "y less")}}
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			p.Tried = append(p.Tried, Tried{
				X: float64(rapid.IntRange(0, 9).Draw(t, "x")), Y: float64(rapid.IntRange(0, 9).Draw(t, "y")),
				Kind: Kind(rapid.IntRange(int(Infeasible), int(OnFront)).Draw(t, "kind")),
			})
		}
		c := Page{}.Chart(100, 100, "", "")
		c.X.Min, c.X.Max, c.Y.Min, c.Y.Max = -1, 10, -1, 10
		ring := plot.XYs(nil)
		if edge := p.stairs(p.front(), c); edge != nil {
			ring = p.covered(edge, c)
		}
		for x := -0.5; x < 10; x++ {
			for y := -0.5; y < 10; y++ {
				at, covers := plot.XY{X: x, Y: y}, false
				for _, tried := range p.Tried {
					covers = covers || tried.Kind == OnFront && p.better(plot.XY{X: tried.X, Y: tried.Y}, at)
				}
				if in := inside(ring, at); in != covers {
					t.Fatalf("%v: shaded %v, covered %v", at, in, covers)
				}
			}
		}
	})
}

// The arrows of a pair point where it is better, and the legend names what is there.
func TestPairSays(t *testing.T) {
	p := Pair{
		X: Aim{Name: "price", Unit: "EUR", Less: true}, Y: Aim{Name: "yield", Unit: "%"},
		Tried: []Tried{{X: 1, Y: 2, Kind: OnFront}, {X: 2, Y: 1, Kind: Beaten}, {X: 0, Y: 3, Kind: Infeasible}},
	}
	svg := string(Page{}.Pair(p, "title"))
	for _, want := range []string{"← better" + gap + "price (EUR)", "yield (%)" + gap + "↑ better"} {
		if !strings.Contains(svg, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	var texts []string
	for _, s := range p.Legend(Page{}) {
		texts = append(texts, s.Text)
	}
	if got := fmt.Sprint(texts); got != "[on the front (1) another one is better in everything (1) infeasible (1)]" {
		t.Error(got)
	}
}

// Law: a mixture is where its shares say: each third of the triangle's height is a third of the
// component, the corners are pure, and the map and the marks agree.
func TestTernaryPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(0, 1).Draw(t, "a")
		b := rapid.Float64Range(0, 1).Draw(t, "b") * (1 - a)
		want := [3]float64{a, b, 1 - a - b}
		at := place(want)
		got, in := sharesAt(float64((at.X-ternaryLeft)/side), float64(at.Y-ternaryBottom)/side/rise)
		for k := range got {
			if math.Abs(got[k]-want[k]) > 1e-9 {
				t.Fatalf("%v is drawn where %v is", want, got)
			}
		}
		if !in && min(want[1], want[2]) > 1e-9 {
			t.Fatalf("%v is outside", want)
		}
	})
}

// Law: a value lies between the levels of its band, and a better one is never lighter.
func TestBands(t *testing.T) {
	light := func(c color.NRGBA) int { return 2126*int(c.R) + 7152*int(c.G) + 722*int(c.B) }
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 20).Draw(t, "values")
		darkIsHigh := rapid.Bool().Draw(t, "dark is high")
		b := NewBands(append(values, math.NaN()), Values, darkIsHigh)
		for _, v := range values {
			k := b.band(v)
			if slack := 1e-9 * b.step; v < b.levels[k]-slack || v > b.levels[k+1]+slack {
				t.Fatalf("%g is in the band from %g to %g", v, b.levels[k], b.levels[k+1])
			}
			for _, w := range values {
				better := v > w == darkIsHigh
				if better && v != w && light(b.colors[b.band(v)]) > light(b.colors[b.band(w)]) {
					t.Fatalf("%g is lighter than %g", v, w)
				}
			}
		}
	})
}
