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
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Page is what page a figure is for. The zero Page stands alone.
type Page struct {
	Palette Palette
	// Link is the address of what has an id: an experiment, a decision; empty
	// where it has none. Default: an element of the same page.
	Link func(id string) string
}

// address is what leads to an id.
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
// upper left; those of vg.Canvas, for gonum/plot, from the lower left.
type Canvas struct {
	page   Page
	w, h   float64
	role   Role
	title  string
	body   strings.Builder
	linked bool
	pens   []pen // the last one draws
}

// pen is the state that Push and Pop of vg.Canvas save and restore.
type pen struct {
	color  Color
	width  vg.Length
	dashes []vg.Length
	groups int // opened since it was pushed
}

var _ vg.CanvasSizer = (*Canvas)(nil)

// Canvas returns an empty image. title is what a screen reader says, empty for an
// image that only repeats what a text next to it says; role may be empty.
func (p Page) Canvas(w, h float64, role Role, title string) *Canvas {
	c := &Canvas{page: p, w: w, h: h, role: role, title: title, pens: make([]pen, 1)}
	vg.Initialize(c)
	return c
}

// SVG returns what was drawn as an element of an HTML page.
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

// number writes a length to a hundredth, which no screen shows. It keeps
// drawings small and equal on machines whose last digits differ. The 0 that is
// added turns −0 into 0.
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

// Title says what the whole image shows where the pointer rests on it, or,
// within a group, what the group does.
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

// Path draws a line through points; NaN breaks it. A gap says that nothing is
// known there; a line across it would say otherwise.
func (c *Canvas) Path(p Paint, points plotter.XYs) {
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

// Group draws what belongs to an experiment: what has one id on a page is
// highlighted together.
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
		}
	})
}

// Spot shows a text where the pointer is near, and leads to what has the id,
// where that has an address.
func (c *Canvas) Spot(x, y float64, text, id string) {
	href := c.page.address(id)
	if href != "" {
		c.linked = true
		fmt.Fprintf(&c.body, `<a href="%s">`, escape(href))
	}
	// It is seen by the pointer alone.
	c.element("circle", Look{}, "<title>"+escape(text)+"</title>",
		"cx", x, "cy", y, "r", 6, "pointer-events", "all")
	if href != "" {
		c.body.WriteString("</a>\n")
	}
}

// From here on vg.Canvas.

func (c *Canvas) pen() *pen { return &c.pens[len(c.pens)-1] }

// Size implements vg.CanvasSizer.
func (c *Canvas) Size() (w, h vg.Length) { return vg.Length(c.w), vg.Length(c.h) }

// SetLineWidth implements vg.Canvas.
func (c *Canvas) SetLineWidth(w vg.Length) { c.pen().width = w }

// SetLineDash implements vg.Canvas; dashes begin where the line does.
func (c *Canvas) SetLineDash(dashes []vg.Length, _ vg.Length) { c.pen().dashes = dashes }

// SetColor implements vg.Canvas.
func (c *Canvas) SetColor(of color.Color) { c.pen().color = named(of) }

// Push implements vg.Canvas.
func (c *Canvas) Push() {
	c.pens = append(c.pens, *c.pen())
	c.pen().groups = 0
}

// Pop implements vg.Canvas.
func (c *Canvas) Pop() {
	c.body.WriteString(strings.Repeat("</g>\n", c.pen().groups))
	c.pens = c.pens[:len(c.pens)-1]
}

// transform opens a group whose coordinates are moved. Its end is that of the
// pen. SVG has no way to move back, so each change is a group that Pop closes.
func (c *Canvas) transform(how string) {
	c.pen().groups++
	fmt.Fprintf(&c.body, `<g transform="%s">`, how)
}

// Rotate implements vg.Canvas: about its origin, the lower left corner.
func (c *Canvas) Rotate(angle float64) {
	c.transform(fmt.Sprintf("rotate(%s 0 %s)", number(-angle*180/math.Pi), number(c.h)))
}

// Translate implements vg.Canvas. Upwards is negative here, since y grows
// downwards.
func (c *Canvas) Translate(by vg.Point) {
	c.transform(fmt.Sprintf("translate(%s %s)", number(by.X.Points()), number(-by.Y.Points())))
}

// Scale implements vg.Canvas. It is about the lower left corner, hence the
// moving to and fro.
func (c *Canvas) Scale(x, y float64) {
	h := number(c.h)
	c.transform(fmt.Sprintf("translate(0 %s) scale(%g %g) translate(0 -%s)", h, x, y, h))
}

// Stroke implements vg.Canvas.
func (c *Canvas) Stroke(path vg.Path) {
	if pen := c.pen(); pen.width > 0 {
		look := Look{Stroke: pen.color, Width: pen.width.Points(), Dashes: pen.dashes}
		c.element("path", look, "", "d", c.data(path))
	}
}

// Fill implements vg.Canvas.
func (c *Canvas) Fill(path vg.Path) {
	c.element("path", Look{Fill: c.pen().color}, "", "d", c.data(path))
}

// data is a path in SVG's words. Each y is turned over on the way, which also
// turns the sense of arcs.
func (c *Canvas) data(path vg.Path) string {
	var b strings.Builder
	to := func(command string, points ...vg.Point) {
		b.WriteString(command)
		for i, p := range points {
			if i > 0 {
				b.WriteString(" ")
			}
			b.WriteString(number(p.X.Points()) + " " + number(c.h-p.Y.Points()))
		}
	}
	for _, part := range path {
		switch part.Type {
		case vg.MoveComp:
			to("M", part.Pos)
		case vg.LineComp:
			to("L", part.Pos)
		case vg.CurveComp:
			command := [...]string{1: "Q", 2: "C"}[len(part.Control)]
			to(command, append(slices.Clone(part.Control), part.Pos)...)
		case vg.ArcComp:
			at := func(angle float64) vg.Point {
				sin, cos := math.Sincos(angle)
				r := part.Radius
				return part.Pos.Add(vg.Point{X: r * vg.Length(cos), Y: r * vg.Length(sin)})
			}
			sweep := "0" // against the clock, where y grows upwards
			if part.Angle < 0 {
				sweep = "1"
			}
			r := number(part.Radius.Points())
			to("L", at(part.Start))
			// In two halves: an arc cannot end where it began.
			to("A"+r+" "+r+" 0 0 "+sweep+" ", at(part.Start+part.Angle/2))
			to("A"+r+" "+r+" 0 0 "+sweep+" ", at(part.Start+part.Angle))
		case vg.CloseComp:
			b.WriteString("Z")
		}
	}
	return b.String()
}

// FillString implements vg.Canvas. The page says which font it is.
func (c *Canvas) FillString(f font.Face, at vg.Point, s string) {
	if size := f.Font.Size.Points(); size > 0 {
		c.element("text", Look{Fill: c.pen().color, Size: size}, escape(s),
			"x", at.X.Points(), "y", c.h-at.Y.Points())
	}
}

// DrawImage implements vg.Canvas: the image fills its place, whatever its
// proportions.
func (c *Canvas) DrawImage(place vg.Rectangle, img image.Image) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a bytes.Buffer does not fail
	}
	size := place.Size()
	c.element("image", Role(""), "", "x", place.Min.X.Points(), "y", c.h-place.Max.Y.Points(),
		"width", size.X.Points(), "height", size.Y.Points(), "preserveAspectRatio", "none",
		"href", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(b.Bytes()))
}
