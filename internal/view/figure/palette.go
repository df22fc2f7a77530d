package figure

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"github.com/campaignd/campaignd/internal/view/plot"
)

// Color is a named color with an opacity. The palette gives the name its color. The zero Color
// paints nothing.
type Color struct {
	name    int
	opacity float64
	text    bool // it must be readable on the background
}

// The names. After the grays, which a theme turns over, come Okabe and Ito's
// colors, which readers with any color vision can tell apart.
var (
	Ink    = Color{name: 1, opacity: 1}
	Muted  = Color{name: 2, opacity: 1}
	Hair   = Color{name: 3, opacity: 1}
	Paper  = Color{name: 4, opacity: 1}
	Gray   = Color{name: 5, opacity: 1}
	Blue   = Color{name: 6, opacity: 1}
	Sky    = Color{name: 7, opacity: 1}
	Orange = Color{name: 8, opacity: 1}
	Green  = Color{name: 9, opacity: 1}
	Red    = Color{name: 10, opacity: 1}
	Purple = Color{name: 11, opacity: 1}
)

// names gives a color's name in the console's stylesheet, its value on white paper, and its name
// for readers.
var names = [...]struct {
	class string
	rgb   [3]uint8
	word  string
}{
	1:  {"ink", [3]uint8{0x1f, 0x29, 0x33}, "black"},
	2:  {"muted", [3]uint8{0x61, 0x6e, 0x7c}, "gray"},
	3:  {"hair", [3]uint8{0xe8, 0xec, 0xf0}, "light gray"},
	4:  {"paper", [3]uint8{0xff, 0xff, 0xff}, "white"},
	5:  {"gray", [3]uint8{0x8a, 0x94, 0xa0}, "gray"},
	6:  {"blue", [3]uint8{0x00, 0x72, 0xb2}, "blue"},
	7:  {"sky", [3]uint8{0x56, 0xb4, 0xe9}, "light blue"},
	8:  {"orange", [3]uint8{0xe6, 0x9f, 0x00}, "orange"},
	9:  {"green", [3]uint8{0x00, 0x9e, 0x73}, "green"},
	10: {"red", [3]uint8{0xd5, 0x5e, 0x00}, "orange-red"},
	11: {"purple", [3]uint8{0xaa, 0x5b, 0x93}, "purple"},
}

// Faded returns a color with another opacity.
func Faded(c Color, opacity float64) Color {
	c.opacity = opacity
	return c
}

// OfText returns a color dark enough to be read as text on white. A theme sees
// to that itself.
func OfText(c Color) Color {
	c.text = true
	return c
}

// rgb returns the color on white paper. A color of text is darkened by tenths until it can be read,
// which keeps its hue.
func (c Color) rgb() (r, g, b uint8) {
	if c.name == 0 {
		return 0, 0, 0
	}
	of := names[c.name].rgb
	for c.text && luminance(of) > 0.2 { // contrast of at least 4.2 : 1
		for i := range of {
			of[i] = uint8(float64(of[i]) * 0.9)
		}
	}
	return of[0], of[1], of[2]
}

// luminance is the relative luminance of WCAG 2, 0 black to 1 white. The
// exponent 2.2 is close to sRGB's curve, and close enough for a bound on
// contrast.
func luminance(rgb [3]uint8) float64 {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	return 0.2126*linear(rgb[0]) + 0.7152*linear(rgb[1]) + 0.0722*linear(rgb[2])
}

// RGBA implements color.Color, so that package plot carries a Color to the
// canvas.
func (c Color) RGBA() (r, g, b, a uint32) {
	of := color.NRGBA{A: uint8(math.Round(255 * c.opacity))}
	of.R, of.G, of.B = c.rgb()
	return of.RGBA()
}

// named returns the Color that package plot was given. Without one it draws in black, which is ink.
// Any other color has no name: its place would be white in one theme and black in another, which
// only its author can decide.
func named(c color.Color) Color {
	switch c := c.(type) {
	case nil:
		return Ink
	case Color:
		return c
	}
	if c == color.Black {
		return Ink
	}
	panic(fmt.Sprintf("figure: the color %v has no name", c))
}

// Palette is the form in which a drawing writes its colors.
type Palette int

const (
	// Embedded writes them into the elements, for a page that stands alone.
	Embedded Palette = iota
	// Classes writes classes of the console's stylesheet and nothing else:
	// colors follow the theme, and its Content-Security-Policy forbids inline
	// style.
	Classes
)

// Word returns a reader's name for a color; ok is false if that depends on the theme: black by day
// is white at night.
func (p Palette) Word(c Color) (word string, ok bool) {
	return names[c.name].word, p == Embedded || c.name >= Blue.name
}

// Paint is the look of an element: a [Look], or a [Role] if a stylesheet decides.
type Paint interface{ attributes(Palette) string }

// Role is the role of an element, as classes of the console's stylesheet.
type Role string

// attributes leaves the look of a role to the style sheet; a page without one is
// a mistake of the program.
func (r Role) attributes(p Palette) string {
	switch {
	case r == "":
		return ""
	case p != Classes:
		panic("figure: a page that stands alone does not know how a " + string(r) + " looks")
	}
	return fmt.Sprintf(` class="%s"`, escape(string(r)))
}

// Look is a look given by colors.
type Look struct {
	Fill, Stroke Color
	// Width and Dashes are those of the stroke.
	Width  float64
	Dashes []plot.Length
	// Size is that of the letters of a text.
	Size float64
}

// attributes writes colors as the palette has them. Widths, dashes and opacities are attributes in
// both palettes: they are the same in every theme, and not inline style.
func (l Look) attributes(p Palette) string {
	var out strings.Builder
	var classes []string
	paint := func(what string, c Color) {
		switch {
		case c.name == 0 && what == "fill": // else it would be black
			out.WriteString(` fill="none"`)
		case c.name == 0:
			return
		case p == Classes:
			classes = append(classes, what[:1]+"-"+names[c.name].class)
		default:
			r, g, b := c.rgb()
			fmt.Fprintf(&out, ` %s="#%02x%02x%02x"`, what, r, g, b)
		}
		if c.name != 0 && c.opacity != 1 {
			fmt.Fprintf(&out, ` %s-opacity="%s"`, what, number(c.opacity))
		}
	}
	paint("fill", l.Fill)
	paint("stroke", l.Stroke)
	if l.Stroke.name != 0 {
		fmt.Fprintf(&out, ` stroke-width="%s"`, number(l.Width))
	}
	if len(l.Dashes) > 0 {
		var dashes []string
		for _, d := range l.Dashes {
			dashes = append(dashes, number(d.Points()))
		}
		fmt.Fprintf(&out, ` stroke-dasharray="%s"`, strings.Join(dashes, " "))
	}
	if l.Size > 0 {
		fmt.Fprintf(&out, ` font-size="%s"`, number(l.Size))
	}
	if classes != nil {
		fmt.Fprintf(&out, ` class="%s"`, strings.Join(classes, " "))
	}
	return out.String()
}
