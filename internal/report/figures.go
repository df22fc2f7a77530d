package report

import (
	"context"
	"fmt"
	"html/template"
)

// Figure is a figure of the report, for other pages.
type Figure struct {
	ID, Title string
	// Wide is set where it takes the whole width of a page.
	Wide    bool
	SVG     template.HTML
	Legend  []Symbol
	Caption string
}

// Symbol is an entry of a legend.
type Symbol struct {
	Symbol template.HTML
	Text   string
}

// Figures draws the figures of a campaign's report, in its order, with the section that each
// is in. Errors are those of [Write].
func Figures(ctx context.Context, in Input) ([]FigureGroup, error) {
	h, err := read(ctx, in.Registry, in.Log, in.Campaign)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	h.advise = inWords
	d, err := h.page(ctx, in.Store)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var groups []FigureGroup
	add := func(title, caption string, figures ...figure) {
		g := FigureGroup{Title: title, Caption: caption}
		for _, f := range figures {
			out := Figure{ID: f.ID, Title: f.Title, Wide: f.Wide, SVG: f.SVG, Caption: f.Caption}
			for _, l := range f.Legend {
				out.Legend = append(out.Legend, Symbol(l))
			}
			g.Figures = append(g.Figures, out)
		}
		if g.Figures != nil {
			groups = append(groups, g)
		}
	}
	one := func(f *figure) []figure {
		if f == nil {
			return nil
		}
		return []figure{*f}
	}
	add("Course", "", one(d.Convergence)...)
	add("What was compared", "", append(d.Compared, one(d.Kept)...)...)
	add("What is preferred", "", d.Utility...)
	add("Experts", "", append(d.Experts, one(d.Reviews)...)...)
	add("The model over two parameters", d.HeatCaption, d.Heat...)
	add("The model along each parameter", d.SliceCaption, d.Slices...)
	add("How far the model can be trusted", d.NoModel, append(one(d.LeaveOneOut), one(d.Calibration)...)...)
	return groups, nil
}

// FigureGroup is a section of figures.
type FigureGroup struct {
	Title, Caption string
	Figures        []Figure
}
