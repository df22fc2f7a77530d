package figure

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/view/plot"
)

// Page is the page that shows a figure. The zero Page stands alone.
type Page struct {
	Palette Palette
	// Link returns the address for an id of an experiment or a decision, or "". Default: an element
	// of the same page.
	Link func(id string) string
}

// address returns the address for an id.
func (p Page) address(id string) string {
	switch {
	case id == "":
		return ""
	case p.Link == nil:
		return "#" + id
	}
	return p.Link(id)
}

// Canvas is an SVG image under construction. Its own methods count from the
// upper left; those of plot.Surface from the lower left.
type Canvas struct {
	page   Page
	w, h   float64
	role   Role
	title  string
	body   strings.Builder
	linked bool
}

var _ plot.Surface = (*Canvas)(nil)

// Canvas returns an empty image. title is the text for screen readers, empty for an image that only
// repeats the text next to it; role may be empty.
func (p Page) Canvas(w, h float64, role Role, title string) *Canvas {
	return &Canvas{page: p, w: w, h: h, role: role, title: title}
}

// SVG returns the drawing as an element of an HTML page.
func (c *Canvas) SVG() template.HTML {
	kind := "img"
	if c.linked {
		kind = "group" // an image holds no links
	}
	limit := ""
	if c.page.Palette == Embedded { // else letters grow with the window
		limit = fmt.Sprintf(` style="max-width:%gpx"`, math.Round(c.w*4/3))
	}
	role := c.role.attributes(c.page.Palette)
	said := fmt.Sprintf(`role="%s" aria-label="%s"`, kind, escape(c.title))
	if c.title == "" {
		said = `aria-hidden="true"`
	}
	head := fmt.Sprintf(`<svg viewBox="0 0 %s %s"%s%s %s>`, number(c.w), number(c.h), role, limit, said)
	return template.HTML(head + "\n" + c.body.String() + "</svg>")
}

// escape makes a text safe in an element and in a quoted attribute.
func escape(s string) string { return template.HTMLEscapeString(s) }

// number writes a length to a hundredth, which no screen shows. It keeps drawings small and equal
// on machines whose last digits differ. Adding 0 turns −0 into 0.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100+0, 'f', -1, 64)
}

// element writes an element; attributes are names and values in turn. Content
// is written as it is, and must have been escaped by the caller; attributes are
// escaped here.
func (c *Canvas) element(name string, paint Paint, content string, attributes ...any) {
	fmt.Fprintf(&c.body, "<%s%s", name, paint.attributes(c.page.Palette))
	for i := 0; i < len(attributes); i += 2 {
		value := fmt.Sprint(attributes[i+1])
		if x, ok := attributes[i+1].(float64); ok {
			value = number(x)
		}
		fmt.Fprintf(&c.body, ` %s="%s"`, attributes[i], escape(value))
	}
	if content == "" {
		c.body.WriteString("/>\n")
		return
	}
	fmt.Fprintf(&c.body, ">%s</%s>\n", content, name)
}

// Title sets the text shown when the pointer rests on the whole image or, within a group, on the
// group.
func (c *Canvas) Title(text string) { fmt.Fprintf(&c.body, "<title>%s</title>", escape(text)) }

// Line draws a line.
func (c *Canvas) Line(p Paint, x1, y1, x2, y2 float64) {
	c.element("line", p, "", "x1", x1, "y1", y1, "x2", x2, "y2", y2)
}

// Rect draws a rectangle from its upper left corner.
func (c *Canvas) Rect(p Paint, x, y, w, h float64) {
	c.element("rect", p, "", "x", x, "y", y, "width", max(w, 0), "height", max(h, 0))
}

// Disc draws a disc.
func (c *Canvas) Disc(p Paint, x, y, r float64) {
	c.element("circle", p, "", "cx", x, "cy", y, "r", r)
}

// Text writes a text whose anchor (start, middle or end) is at a point of its
// baseline.
func (c *Canvas) Text(p Paint, anchor string, x, y float64, s string) {
	c.element("text", p, escape(s), "text-anchor", anchor, "x", x, "y", y)
}

// Path draws a line through points; NaN breaks it. A gap means unknown values; a line across it
// would suggest values.
func (c *Canvas) Path(p Paint, points plot.XYs) {
	var b strings.Builder
	pen := "M"
	for _, at := range points {
		if math.IsNaN(at.Y) {
			pen = "M"
			continue
		}
		b.WriteString(pen + number(at.X) + " " + number(at.Y))
		pen = "L"
	}
	if b.Len() > 0 {
		c.element("path", p, "", "d", b.String())
	}
}

// Group draws the elements of an experiment: those with the same id on a page are highlighted
// together.
func (c *Canvas) Group(r Role, id, title string, draw func()) {
	fmt.Fprintf(&c.body, `<g%s data-x="%s">`, r.attributes(c.page.Palette), escape(id))
	c.Title(title)
	draw()
	c.body.WriteString("</g>\n")
}

// Shape is that of a dot.
type Shape int

// The shapes, which differ without color.
const (
	RoundDot Shape = iota
	CrossDot
	DiamondDot
	SquareDot
	BarredDot
)

// Dot is the mark of an experiment.
func (c *Canvas) Dot(r Role, s Shape, id, title string, x, y float64) {
	c.Group("dot "+r, id, title, func() {
		at := number(x) + " " + number(y)
		switch s {
		case RoundDot:
			c.Disc(Role(""), x, y, 4)
		case CrossDot:
			c.element("path", Role(""), "", "d", "M"+at+"m-4 -4l8 8m0 -8l-8 8")
		case DiamondDot:
			c.element("path", Role(""), "", "d", "M"+at+"m0 -5l5 5l-5 5l-5 -5z")
		case SquareDot:
			c.Rect(Role(""), x-4, y-4, 8, 8)
		case BarredDot:
			c.Disc(Role(""), x, y, 4)
			c.element("path", Role(""), "", "d", "M"+at+"m-4 4l8 -8")
		}
	})
}

// Spot shows a text near the pointer, and links to the id, if that has an address.
func (c *Canvas) Spot(x, y float64, text, id string) {
	href := c.page.address(id)
	if href != "" {
		c.linked = true
		fmt.Fprintf(&c.body, `<a href="%s">`, escape(href))
	}
	// It is invisible, and only reacts to the pointer.
	c.element("circle", Look{}, "<title>"+escape(text)+"</title>",
		"cx", x, "cy", y, "r", 6, "pointer-events", "all")
	if href != "" {
		c.body.WriteString("</a>\n")
	}
}

// From here on plot.Surface. Its y grows upwards.

// Size implements plot.Surface.
func (c *Canvas) Size() (w, h plot.Length) { return plot.Length(c.w), plot.Length(c.h) }

// Stroke implements plot.Surface.
func (c *Canvas) Stroke(path plot.Path, style plot.LineStyle) {
	if style.Width > 0 {
		look := Look{Stroke: named(style.Color), Width: style.Width.Points(), Dashes: style.Dashes}
		c.element("path", look, "", "d", c.data(path))
	}
}

// Fill implements plot.Surface.
func (c *Canvas) Fill(path plot.Path, fill color.Color) {
	c.element("path", Look{Fill: named(fill)}, "", "d", c.data(path))
}

// data is a path in SVG's words. Each y is turned over on the way, which also
// turns the sense of arcs.
func (c *Canvas) data(path plot.Path) string {
	var b strings.Builder
	to := func(command string, p plot.Point) {
		b.WriteString(command + number(p.X.Points()) + " " + number(c.h-p.Y.Points()))
	}
	for _, step := range path {
		switch step.Kind {
		case plot.Move:
			to("M", step.Pos)
		case plot.Line:
			to("L", step.Pos)
		case plot.Arc:
			at := func(angle float64) plot.Point {
				sin, cos := math.Sincos(angle)
				r := step.Radius
				return step.Pos.Add(plot.Point{X: r * plot.Length(cos), Y: r * plot.Length(sin)})
			}
			sweep := "0" // against the clock, where y grows upwards
			if step.Angle < 0 {
				sweep = "1"
			}
			r := number(step.Radius.Points())
			to("L", at(step.Start))
			// In two halves: an arc cannot end where it began.
			to("A"+r+" "+r+" 0 0 "+sweep+" ", at(step.Start+step.Angle/2))
			to("A"+r+" "+r+" 0 0 "+sweep+" ", at(step.Start+step.Angle))
		case plot.Close:
			b.WriteString("Z")
		}
	}
	return b.String()
}

// Write implements plot.Surface. The page says which font it is.
func (c *Canvas) Write(text string, from plot.Point, size plot.Length, of color.Color) {
	if size > 0 {
		c.element("text", Look{Fill: named(of), Size: size.Points()}, escape(text),
			"x", from.X.Points(), "y", c.h-from.Y.Points())
	}
}

// Image implements plot.Surface.
func (c *Canvas) Image(place plot.Rectangle, img image.Image) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a bytes.Buffer does not fail
	}
	size := place.Size()
	c.element("image", Role(""), "", "x", place.Min.X.Points(), "y", c.h-place.Max.Y.Points(),
		"width", size.X.Points(), "height", size.Y.Points(), "preserveAspectRatio", "none",
		"href", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(b.Bytes()))
}
