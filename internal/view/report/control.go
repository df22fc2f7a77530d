package report

import (
	"fmt"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/shewhart"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/projections/campaign"
)

// ControlFigures draws the control charts of the reference experiments, for any page: those that have
// a value. They compute nothing that takes long.
func ControlFigures(s *campaign.State, target figure.Page) (all []Figure) {
	for i, c := range s.Controls() {
		if len(c.Points) > 0 {
			all = append(all, controlFigure(fmt.Sprintf("control-%d", i+1), c, target))
		}
	}
	return all
}

// controlFigure draws a control chart: the values in order of request, with the center and the limits
// by which each was judged.
func controlFigure(id string, of campaign.Control, target figure.Page) Figure {
	c := target.Chart(780, 240, "reference experiment, in order of request", format.Heading(of.Quantity, of.Unit))
	var values, inside, outside, lower, center, upper plot.XYs
	var heights []float64
	for i, p := range of.Points {
		at := plot.XY{X: float64(i + 1), Y: p.Value}
		values, heights = append(values, at), append(heights, p.Value)
		text := fmt.Sprintf("%s: %s, %s", p.Experiment, format.Quantity(p.Value, of.Unit), format.Time(p.At))
		if l := p.Limits; l != nil {
			lower = append(lower, plot.XY{X: at.X, Y: l.Lower})
			center = append(center, plot.XY{X: at.X, Y: l.Center})
			upper = append(upper, plot.XY{X: at.X, Y: l.Upper})
			heights = append(heights, l.Lower, l.Upper)
		}
		if p.Out() {
			outside = append(outside, at)
			text += ", outside the limits"
		} else {
			inside = append(inside, at)
		}
		c.Spot(at.X, at.Y, text, p.Experiment)
	}
	figure.Limits(&c.Y, 0.08, heights...)
	c.X.Min, c.X.Max = 0.5, max(float64(len(values))+0.5, 3.5)
	c.X.Tick.Marker = figure.Ticks{Want: 12, Whole: true}
	c.Line(center, figure.Gray, 1)
	c.Line(lower, figure.Red, 1, 4, 3)
	c.Line(upper, figure.Red, 1, 4, 3)
	c.Line(values, figure.Muted, 0.75)
	c.Discs(inside, figure.Blue, crowded(3.6, len(values)))
	c.Points(outside, figure.Filled(figure.Red, crowded(5, len(values)), 4))
	caption := fmt.Sprintf("Dashed: the limits. They follow from the values before, once there are %d: "+
		"three standard deviations on both sides of the mean, by the mean moving range.", shewhart.Few)
	if of.Given {
		caption = "Dashed: the limits, as the campaign defines them."
	}
	if len(outside) > 0 {
		caption += " A diamond is outside of them."
	}
	return Figure{
		ID: id, Wide: true, Title: of.Quantity + " of the reference experiment " + of.Reference,
		SVG:     c.SVG(fmt.Sprintf("Control chart of %s of the reference experiment %s", of.Quantity, of.Reference)),
		Caption: caption,
	}
}
