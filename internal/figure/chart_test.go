package figure_test

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	chart "github.com/campaignd/campaignd/internal/figure"
)

// Law: ticks are round numbers inside the axis, not too many.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{chart.Ticks{Want: 5}, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{chart.Ticks{Want: 5}, -3, 7, "−2 0 2 4 6"},
		{chart.Ticks{Want: 10, Whole: true}, 1, 4, "1 2 3 4"},
		{chart.LogTicks{}, 0.03, 4, "0.05 0.1 0.2 0.5 1 2"},
		{chart.LogTicks{}, 0.001, 1000, "0.001 0.01 0.1 1 10 100 1e+03"},
		{chart.LogTicks{}, 0, 1, ""},
		{chart.Ticks{Want: 5}, 1, 1, ""},
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

func draw(labels int) string {
	c := chart.New(400, 300, "x", "y")
	c.X.Min, c.X.Max, c.Y.Min, c.Y.Max = 0, 1, 0, 1
	c.Line(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 0.5}}, chart.Blue, 2)
	for i := range labels {
		c.End(0.5, "line "+strconv.Itoa(i), chart.Blue)
	}
	c.Spot(1, 0.5, "<here> & now", "row")
	return string(c.SVG("a <chart>"))
}

// Law: equal charts give equal bytes, well-formed, whatever their texts.
func TestSVG(t *testing.T) {
	svg := draw(2)
	if svg != draw(2) {
		t.Error("the same chart gives other bytes")
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Law: labels of lines that end at one place do not lie on each other, and stay in
// the chart.
func TestEndsApart(t *testing.T) {
	place := regexp.MustCompile(`<text x="[^"]*" y="-?([0-9.]+)"[^>]*>line \d`)
	var heights []float64
	for _, m := range place.FindAllStringSubmatch(draw(12), -1) {
		y, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		heights = append(heights, y)
	}
	if len(heights) != 12 {
		t.Fatalf("%d labels", len(heights))
	}
	for i, y := range heights {
		if y < 0 || y > 300*1.34 {
			t.Errorf("label %d at %g is outside", i, y)
		}
		if i > 0 && math.Abs(y-heights[i-1]) < chart.FontSize {
			t.Errorf("labels %d and %d are %g apart", i-1, i, math.Abs(y-heights[i-1]))
		}
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
	for _, c := range []color.NRGBA{chart.Ink, chart.Blue, chart.Sky, chart.Orange, chart.Green, chart.Red,
		chart.Purple} {
		dark := chart.OfText(c)
		if contrast := 1.05 / (0.2126*linear(dark.R) + 0.7152*linear(dark.G) + 0.0722*linear(dark.B) + 0.05); contrast < 4 {
			t.Errorf("%v becomes %v with contrast %.2f", c, dark, contrast)
		}
	}
}
