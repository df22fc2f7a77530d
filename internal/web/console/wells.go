package console

import (
	"fmt"
	"html/template"
	"strings"
)

// tray is the shape of a picture of wells. Rows and columns without names have no headings.
type tray struct {
	rows, columns []string
	height, width int
}

// well is a well in a picture. Its class says that it is full, with an experiment or act under way, next, or
// absent ("none"); Said is its text for a screen reader.
type well struct{ Class, Text, Said, Link string }

// plateSizes are the widths, in wells, of the plates whose size the style sheet knows, and their number
// of wells.
var plateSizes = []struct{ width, wells int }{{4, 12}, {6, 24}, {8, 48}, {12, 96}}

// drawWells draws wells in their rows and columns, with links to their experiments.
func drawWells(title string, g tray, at func(row, column int) well) template.HTML {
	const size, margin = 40, 26
	of, width := 384, g.width
	for i := len(plateSizes) - 1; i >= 0 && g.width <= plateSizes[i].width; i-- {
		of, width = plateSizes[i].wells, plateSizes[i].width // so that wells are as large as those of a plate
	}
	left := 2
	if g.rows != nil {
		left = margin
	}
	var d strings.Builder
	fmt.Fprintf(&d, `<svg class="plate of%d" viewBox="0 0 %d %d" role="group" aria-label="%s">`,
		of, left+width*size+2, left+g.height*size+2, template.HTMLEscapeString(title))
	text := func(class string, x, y int, s string) {
		fmt.Fprintf(&d, `<text class="%s" x="%d" y="%d" text-anchor="middle">%s</text>`, class, x, y, template.HTMLEscapeString(s))
	}
	for i, name := range g.columns {
		text("tick", left+i*size+size/2, 16, name)
	}
	for row := range g.height {
		y := left + row*size + size/2
		if g.rows != nil {
			text("tick", 11, y+4, g.rows[row])
		}
		for column := range g.width {
			w := at(row, column)
			if w.Class == "none" {
				continue
			}
			x := left + column*size + size/2
			if w.Link != "" {
				fmt.Fprintf(&d, `<a href="%s" aria-label="%s">`, w.Link, template.HTMLEscapeString(w.Said))
			}
			fmt.Fprintf(&d, `<circle class="%s" cx="%d" cy="%d" r="16">`, strings.TrimSpace("well "+w.Class), x, y)
			if w.Said != "" && w.Link == "" {
				fmt.Fprintf(&d, `<title>%s</title>`, template.HTMLEscapeString(w.Said))
			}
			d.WriteString("</circle>")
			if w.Text != "" {
				class := "tick"
				if w.Class == "full" {
					class = "in"
				}
				text(class, x, y+4, w.Text)
			}
			if w.Link != "" {
				d.WriteString("</a>")
			}
		}
	}
	d.WriteString("</svg>")
	return template.HTML(d.String())
}
