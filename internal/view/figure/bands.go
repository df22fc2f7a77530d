package figure

import (
	"image"
	"image/color"
	"math"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// Bands are the levels and colors of a filled contour map; levels are in the unit of the values and
// lie a step apart. There are few colors on purpose: a reader finds a band's color in the key,
// which a continuous scale would not allow.
type Bands struct {
	levels []float64 // ascending; band k lies between levels k and k+1
	colors []color.NRGBA
	step   float64
}

// Scheme is a sequential scale of nine colors, from light to dark. Their lightness
// falls evenly, so that readers with any color vision see the same order.
type Scheme [9]uint32 // 0xRRGGBB

// The schemes: for expected values, their uncertainty, and probabilities. They are YlGnBu, Purples
// and Greens of ColorBrewer (Cynthia Brewer, colorbrewer.org, Apache-2.0).
var (
	Values        = Scheme{0xffffd9, 0xedf8b1, 0xc7e9b4, 0x7fcdbb, 0x41b6c4, 0x1d91c0, 0x225ea8, 0x253494, 0x081d58}
	Deviations    = Scheme{0xfcfbfd, 0xefedf5, 0xdadaeb, 0xbcbddc, 0x9e9ac8, 0x807dba, 0x6a51a3, 0x54278f, 0x3f007d}
	Probabilities = Scheme{0xf7fcf5, 0xe5f5e0, 0xc7e9c0, 0xa1d99b, 0x74c476, 0x41ab5d, 0x238b45, 0x006d2c, 0x00441b}
)

// NewBands chooses about ten bands for the values, which should be those that the map shows; others
// would widen the levels. darkIsHigh says which end is dark. Infinities and NaN are left out.
func NewBands(values []float64, scheme Scheme, darkIsHigh bool) Bands {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high { // nothing is shown: the image stays blank
		low, high = 0, 1
	}
	// A constant model, before anything was learned: bands need a range,
	// whatever it is, and the constant lies in its middle.
	if high-low < 1e-9*max(math.Abs(low), math.Abs(high), 1e-300) {
		low, high = low-0.5*max(math.Abs(low), 1e-6), high+0.5*max(math.Abs(high), 1e-6)
	}
	var b Bands
	// Bands end at round numbers, so that the key can be read without decimals.
	// One level before the first tick and one behind the last cover all values.
	inner := Ticks{Want: 10}.Ticks(low, high)
	if len(inner) < 2 {
		inner = []plot.Tick{{Value: low}, {Value: high}}
	}
	b.step = inner[1].Value - inner[0].Value
	for v := inner[0].Value - b.step; v < high; v += b.step {
		b.levels = append(b.levels, v)
	}
	b.levels = append(b.levels, b.levels[len(b.levels)-1]+b.step)
	b.paint(scheme, darkIsHigh)
	return b
}

// Tenths are the ten bands of a probability, from 0 to 1.
func Tenths(scheme Scheme, darkIsHigh bool) Bands {
	b := Bands{step: 0.1}
	for k := range 11 {
		b.levels = append(b.levels, float64(k)/10)
	}
	b.paint(scheme, darkIsHigh)
	return b
}

// paint gives each band its color.
func (b *Bands) paint(scheme Scheme, darkIsHigh bool) {
	n := len(b.levels) - 1
	for k := range n {
		t := (float64(k) + 0.5) / float64(n)
		if !darkIsHigh {
			t = 1 - t
		}
		b.colors = append(b.colors, scheme.at(t))
	}
}

// at returns the color at t ∈ [0, 1]. The colors are evenly spaced; between two of
// them it mixes linearly.
func (s Scheme) at(t float64) color.NRGBA {
	place := t * float64(len(s)-1)
	k := min(int(place), len(s)-2)
	w := place - float64(k)
	blend := func(shift int) uint8 {
		a, b := float64(s[k]>>shift&0xff), float64(s[k+1]>>shift&0xff)
		return uint8(math.Round((1-w)*a + w*b))
	}
	return color.NRGBA{blend(16), blend(8), blend(0), 0xff}
}

// band returns the index of the band a value lies in. Values beyond the levels
// get the band at that end.
func (b Bands) band(v float64) int {
	k := int(math.Floor((v - b.levels[0]) / b.step))
	return min(max(k, 0), len(b.colors)-1)
}

// Image paints a map of so many pixels: at gives the value at the middle of a pixel, counted from
// the upper left, and whether it is painted. It is a paletted image, which compresses to a few
// kilobytes.
func (b Bands) Image(width, height int, at func(x, y int) (value float64, painted bool)) image.Image {
	// Index 0 is transparent: the pixels that are never set.
	palette := color.Palette{color.NRGBA{}}
	for _, c := range b.colors {
		palette = append(palette, c)
	}
	img := image.NewPaletted(image.Rect(0, 0, width, height), palette)
	for y := range height {
		for x := range width {
			if v, painted := at(x, y); painted {
				img.SetColorIndex(x, y, uint8(1+b.band(v)))
			}
		}
	}
	return img
}

// keyPixels is the height of a key's image.
const keyPixels = 246

// Key draws the colors with their levels at the right of a chart, as
// [Chart.After]: as an image, like the map itself, since it has colors that no
// palette names. The chart needs [KeyWidth] of room there. With more than twelve
// bands every second level has a number.
func (b Bands) Key(unit string) func(whole, data plot.Canvas) {
	return func(whole, data plot.Canvas) {
		b.key(whole, data.Rectangle, unit)
	}
}

// KeyWidth is the room at the right of a chart that its key takes, in points.
const KeyWidth plot.Length = 64

func (b Bands) key(whole plot.Canvas, next plot.Rectangle, unit string) {
	const width = 12
	img := image.NewNRGBA(image.Rect(0, 0, width, keyPixels))
	for y := range keyPixels {
		for x := range width {
			img.SetNRGBA(x, y, b.colors[(keyPixels-1-y)*len(b.colors)/keyPixels])
		}
	}
	x0, x1 := next.Max.X+12, next.Max.X+12+width
	whole.Image(plot.Rectangle{
		Min: plot.Point{X: x0, Y: next.Min.Y},
		Max: plot.Point{X: x1, Y: next.Max.Y},
	}, img)
	height := (next.Max.Y - next.Min.Y) / plot.Length(len(b.colors))
	decimals := max(0, -int(math.Floor(math.Log10(b.step)+1e-9)))
	for k := 1; k < len(b.colors); k++ {
		if len(b.colors) <= 12 || k%2 == 0 {
			at := plot.Point{X: x1 + 4, Y: next.Min.Y + height*plot.Length(k)}
			label := Typeset(format.Fixed(b.levels[k], decimals))
			whole.FillText(Style(8, Muted), at, label)
		}
	}
	if unit != "" {
		whole.FillText(Style(8, Muted), plot.Point{X: x0, Y: next.Max.Y + 8}, unit)
	}
}
