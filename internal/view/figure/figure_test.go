package figure_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// Law: ticks are round numbers inside the axis, not too many.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{figure.Ticks{Want: 5}, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{figure.Ticks{Want: 5}, -3, 7, "−2 0 2 4 6"},
		{figure.Ticks{Want: 10, Whole: true}, 1, 4, "1 2 3 4"},
		{figure.LogTicks{}, 0.03, 4, "0.05 0.1 0.2 0.5 1 2"},
		{figure.LogTicks{}, 0.001, 1000, "0.001 0.01 0.1 1 10 100 1e+03"},
		{figure.LogTicks{}, 0, 1, ""},
		{figure.Ticks{Want: 5}, 1, 1, ""},
	} {
		var labels []string
		for _, tick := range c.ticker.Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%T from %g to %g: %s, want %s", c.ticker, c.low, c.high, got, c.want)
		}
	}
}

// draw draws what there is: every glyph and primitive.
func draw(on figure.Page, labels int) string {
	c := on.Chart(400, 300, "x", "y")
	c.X.Min, c.X.Max, c.Y.Min, c.Y.Max = 0, 1, 0, 1
	at := plot.XYs{{X: 0, Y: 0}, {X: 1, Y: 0.5}}
	c.Line(at, figure.Blue, 2, 3, 1)
	c.Shade(0, 0.5)
	c.Band([]float64{0, 1}, []float64{0, 0}, []float64{1, 1}, figure.Faded(figure.Sky, 0.2))
	c.Discs(at, figure.Green, 3)
	c.Points(at, figure.Star)
	c.Points(at, plot.GlyphStyle{Color: figure.Red, Radius: 3, Shape: figure.Cross{}})
	c.Points(at, plot.GlyphStyle{Color: figure.Gray, Radius: 3, Shape: figure.StruckOut{}})
	c.Add(plot.Picture{Image: image.NewGray(image.Rect(0, 0, 2, 2)), To: plot.XY{X: 1, Y: 1}})
	for i := range labels {
		c.End(0.5, "line "+strconv.Itoa(i), figure.OfText(figure.Orange))
	}
	c.Spot(1, 0.5, "<here> & now", "row")

	d := on.Canvas(100, 50, "", "primitives")
	look := figure.Look{Fill: figure.Ink, Stroke: figure.Faded(figure.Paper, 0.5), Width: 1, Size: 9}
	d.Line(look, 0, 0, 100, 50)
	d.Rect(look, 0, 0, 10, -1)
	d.Disc(look, 5, 5, 2)
	d.Text(look, "end", 3, 3, "<a> & b")
	d.Path(look, plot.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}, {X: 2, Y: math.NaN()}, {X: 3, Y: 1}})
	return "<div>" + string(c.SVG("a <chart>")+d.SVG()+on.Glyph(figure.Star, "star")+
		on.Swatch(figure.Orange, 2, 2)+pair().draw(on)+on.Ternary(ternary(), "a <map>")) + "</div>"
}

// drawnPair is a pair with all that one can have.
type drawnPair figure.Pair

func pair() drawnPair {
	worst := 1.0
	p := drawnPair{
		X:        figure.Aim{Name: "<x>", Unit: "m", Log: true, Less: true, Bounds: []figure.Bound{{At: 3, Above: true, Text: "x <= 3"}}},
		Y:        figure.Aim{Name: "y", Worst: &worst, Bounds: []figure.Bound{{At: 0.7, Text: "y >= 0.7"}}},
		Expected: plot.XYs{{X: 1, Y: 2.5}, {X: 2, Y: 4.5}},
	}
	places := plot.XYs{{X: 1, Y: 2}, {X: 2, Y: 4}, {X: 2, Y: 3}, {X: 4, Y: 1}, {X: 3, Y: 0.5}, {X: math.NaN(), Y: 1}}
	kinds := []figure.Kind{figure.OnFront, figure.OnFront, figure.Perhaps, figure.Infeasible, figure.Beaten, figure.OnFront}
	for i, at := range places {
		p.Tried = append(p.Tried, figure.Tried{
			X: at.X, Y: at.Y, SDX: 0.1, SDY: 9, Kind: kinds[i], Suggested: i == 1, ID: "e<" + strconv.Itoa(i), Text: "<&>",
		})
	}
	return p
}

func (p drawnPair) draw(on figure.Page) (all template.HTML) {
	all = on.Pair(figure.Pair(p), "a <pair>")
	for _, s := range figure.Pair(p).Legend(on) {
		all += s.Symbol + template.HTML(template.HTMLEscapeString(s.Text))
	}
	return all
}

func ternary() figure.Ternary {
	return figure.Ternary{
		Corners: [3]figure.Corner{{Name: "<a>", Unit: "%", Low: 10, High: 70}, {Name: "b", High: 1}, {Name: "c", High: 1}},
		Value:   func(shares [3]float64) (float64, bool) { return shares[0], shares[1] < 0.9 },
		Bands:   figure.Tenths(figure.Probabilities, true), Unit: "m",
		Points: []figure.Mixture{{Shares: [3]float64{0.2, 0.3, 0.5}, ID: "e<1", Text: "<&>"}},
		Best:   &[3]float64{1, 0, 0},
	}
}

// elements reads a drawing, which must be well-formed.
func elements(t *testing.T, svg string) (all []xml.StartElement) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		switch token, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		default:
			if e, ok := token.(xml.StartElement); ok {
				all = append(all, e)
			}
		}
	}
}

// Law: equal charts give equal bytes, well-formed, whatever their texts.
func TestSVG(t *testing.T) {
	svg := draw(figure.Page{}, 2)
	if svg != draw(figure.Page{}, 2) {
		t.Error("the same chart gives other bytes")
	}
	elements(t, svg)
}

// Law: what is drawn in classes has no inline style, which the console's
// Content-Security-Policy forbids, and no color of its own, which would not follow
// the theme. What is drawn for a page that stands alone has no class, which needs
// a stylesheet, and every shape of it has its color.
func TestPalettes(t *testing.T) {
	shapes := []string{"path", "line", "rect", "text"}
	for palette, class := range map[figure.Palette]bool{figure.Classes: true, figure.Embedded: false} {
		for _, e := range elements(t, draw(figure.Page{Palette: palette}, 2)) {
			has := map[string]string{}
			for _, a := range e.Attr {
				has[a.Name.Local] = a.Value
			}
			for _, paint := range []string{"fill", "stroke"} {
				if color := has[paint]; class && color != "" && color != "none" {
					t.Errorf("<%s> of the classes has the %s %s", e.Name.Local, paint, color)
				}
			}
			_, named := has["class"]
			_, styled := has["style"]
			painted := has["fill"] != "" && has["fill"] != "none" || has["stroke"] != ""
			switch shape := slices.Contains(shapes, e.Name.Local); {
			case class && styled:
				t.Errorf("<%s> of the classes has the style %s", e.Name.Local, has["style"])
			case class && shape && !named:
				t.Errorf("<%s> of the classes has no color: %v", e.Name.Local, e.Attr)
			case !class && named:
				t.Errorf("<%s> of the embedded palette needs the class %s", e.Name.Local, has["class"])
			case !class && shape && !painted:
				t.Errorf("<%s> of the embedded palette has no color: %v", e.Name.Local, e.Attr)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a role, which needs a stylesheet, is drawn on a page that stands alone")
		}
	}()
	figure.Page{}.Canvas(1, 1, "", "").Line(figure.Role("grid"), 0, 0, 1, 1)
}

// A spot leads to where its page says that things are; with links in it a drawing
// is not an image.
func TestSpotLeads(t *testing.T) {
	leads := func(id string) string { return "/of/" + id + "?a&b" }
	nowhere := func(string) string { return "" }
	for _, test := range []struct {
		link func(string) string
		want string
	}{{nil, `<a href="#row">`}, {leads, `<a href="/of/row?a&amp;b">`}, {nowhere, ""}} {
		svg := draw(figure.Page{Link: test.link}, 0)
		linked := strings.Contains(svg, "<a ")
		if !strings.Contains(svg, test.want) || linked != (test.want != "") ||
			linked != strings.Contains(svg, `role="group"`) {
			t.Errorf("want %q in %s", test.want, svg)
		}
	}
}

// The stairs of values hold one until the next; what is none is left out, at the beginning
// and between.
func TestSteps(t *testing.T) {
	nan := math.NaN()
	if got, want := fmt.Sprint(figure.Steps([]float64{nan, 5, 5, nan, 7})), "[{2 5} {3 5} {3 5} {5 5} {5 7}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The range of values is theirs with its margin, and never without width.
func TestSpan(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		values []float64
		want   figure.Span
	}{
		{[]float64{1, math.NaN(), 3, inf}, figure.Span{Low: 0.8, High: 3.2}},
		{[]float64{0, 0}, figure.Span{Low: -1.2, High: 1.2}},
		{nil, figure.Span{Low: -0.1, High: 1.1}},
	} {
		got := figure.SpanOf(0.1, test.values...)
		if math.Abs(got.Low-test.want.Low) > 1e-12 || math.Abs(got.High-test.want.High) > 1e-12 {
			t.Errorf("%v: %v, want %v", test.values, got, test.want)
		}
	}
}

// Law: labels of lines that end at one place do not lie on each other, and stay in
// the figure.
func TestEndsApart(t *testing.T) {
	place := regexp.MustCompile(`<text [^>]*y="([-0-9.]+)"[^>]*>line \d`)
	var heights []float64
	for _, m := range place.FindAllStringSubmatch(draw(figure.Page{}, 12), -1) {
		y := must.Get(strconv.ParseFloat(m[1], 64))(t)
		heights = append(heights, y)
	}
	if len(heights) != 12 {
		t.Fatalf("%d labels", len(heights))
	}
	for i, y := range heights {
		if y < 0 || y > 300 {
			t.Errorf("label %d at %g is outside", i, y)
		}
		if i > 0 && math.Abs(y-heights[i-1]) < figure.FontSize {
			t.Errorf("labels %d and %d are %g apart", i-1, i, math.Abs(y-heights[i-1]))
		}
	}
}

// Law: the label of a line stays in the figure also in DejaVu Sans, which a browser takes where
// it has none of the fonts that are asked for: a text of 98.9 points there.
func TestEndsAreWhole(t *testing.T) {
	c := figure.Page{}.Chart(500, 300, "x", "y")
	c.X.Max, c.Y.Max = 1, 1
	c.End(0.5, "mean 13.788 ± 0.093", figure.Green)
	m := regexp.MustCompile(`<text [^>]*x="([-0-9.]+)"[^>]*>mean`).FindStringSubmatch(string(c.SVG("a course")))
	if m == nil {
		t.Fatal("there is no label")
	}
	if x, err := strconv.ParseFloat(m[1], 64); err != nil || x+98.9 > 500 {
		t.Errorf("it begins at %g of 500 points: %v", x, err)
	}
}

// Law: a color of text has a contrast of at least 4 to white.
func TestOfText(t *testing.T) {
	linear := func(v uint8) float64 {
		if x := float64(v) / 255; x > 0.04045 {
			return math.Pow((x+0.055)/1.055, 2.4)
		} else {
			return x / 12.92
		}
	}
	for _, c := range []figure.Color{figure.Ink, figure.Blue, figure.Sky, figure.Orange, figure.Green,
		figure.Red, figure.Purple} {
		dark := color.NRGBAModel.Convert(figure.OfText(c)).(color.NRGBA)
		luminance := 0.2126*linear(dark.R) + 0.7152*linear(dark.G) + 0.0722*linear(dark.B)
		if contrast := 1.05 / (luminance + 0.05); contrast < 4 {
			t.Errorf("%v becomes %v with contrast %.2f", c, dark, contrast)
		}
	}
}
