package report

import (
	"context"
	"fmt"
	"html/template"

	"github.com/campaignd/campaignd/internal/view/figure"
)

// Figure is a figure of the report, finished, for other pages too. It holds no
// reference to the campaign, so it may be kept and shown after the log has
// grown.
type Figure struct {
	// ID is unique in the report, and an anchor in the page.
	ID    string
	Title string // empty where the section's heading says it
	// Wide is set where the figure takes the whole width of a page.
	Wide bool
	// SVG is the drawing, in the colors of the page that it was drawn for.
	SVG    template.HTML
	Legend []Symbol
	// Caption describes the drawing, in sentences; it may be empty.
	Caption string
}

// Symbol is an entry of a legend.
type Symbol = figure.Symbol

// Figures draws the figures of a campaign's report for a page, in the report's order, in groups by
// section; empty sections are left out. It does all computations of the report, which take seconds
// for a campaign of hundreds of experiments: callers keep the figures until the log has grown.
// Errors are those of [Write].
//
// It reads Registry, Log, Campaign, Store and Triangle of the input alone.
func Figures(ctx context.Context, in Input, target figure.Page) ([]FigureGroup, error) {
	h, err := read(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	h.advise = inWords
	h.target, h.triangle = target, in.Triangle
	d, err := h.page(ctx, in.Store)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var groups []FigureGroup
	add := func(title, caption string, figures ...Figure) {
		if len(figures) > 0 {
			groups = append(groups, FigureGroup{Title: title, Caption: caption, Figures: figures})
		}
	}
	// Tables and texts of the report are on other pages of the console.
	add("The front", d.FrontCaption, append(d.FrontFigures, d.Hypervolume...)...)
	add("Course", "", d.Convergence...)
	add("Reference experiments", "", d.Controls...)
	add("What was compared", "", append(d.Compared, d.Kept...)...)
	add("What is preferred", "", d.Utility...)
	add("Experts", "", append(d.Experts, d.Reviews...)...)
	add("The models over a mixture of three", d.TernaryCaption, d.Ternary...)
	if d.Mixture != nil && len(d.Ternary) > 0 {
		groups[len(groups)-1].Mixture = d.Mixture
	}
	add("The model over two parameters", d.HeatCaption, append(d.Heat, d.Maps...)...)
	add("The model along each parameter", d.SliceCaption, d.Slices...)
	for _, q := range d.Others {
		add(sentenceOf(q.Name)+" along each parameter", "", q.Figures...)
	}
	add("How far the model can be trusted", d.NoModel, append(d.LeaveOneOut, d.Calibration...)...)
	return groups, nil
}

// FigureGroup is a section of figures. Its caption is for all of them, and may
// be empty.
type FigureGroup struct {
	Title, Caption string
	Figures        []Figure
	// Mixture is set of maps over a mixture.
	Mixture *Mixture
}
