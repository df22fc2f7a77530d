package console

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/projections/campaign"
)

// nothingKeeps is shown where the best so far has no line.
const nothingKeeps = "none of which keeps the constraints on outcomes"

// sparkline draws how the best so far has gone, and a point for each value. It
// is empty for fewer than two, which have no course.
func sparkline(judged []campaign.Judged, sought definition.Objective) template.HTML {
	if len(judged) < 2 {
		return ""
	}
	const w, h = 120, 28 // as the stylesheet has it
	from := campaign.BestSoFar(judged, sought)
	best := campaign.ValuesAt(from, judged)
	values := make([]float64, len(judged))
	for i, j := range judged {
		values[i] = j.Value
	}
	s := figure.SpanOf(0.08, values...)
	title := fmt.Sprintf("%d measurements, ", len(values))
	if begins := slices.IndexFunc(from, func(at int) bool { return at >= 0 }); begins >= 0 {
		title += fmt.Sprintf("from %s to %s at best", format.Short(best[begins]), format.Short(best[len(best)-1]))
	} else {
		title += nothingKeeps
	}
	d := newDrawing(w, h, "spark", title)
	line := make(plot.XYs, len(values))
	var each plot.XYs // one path for all, since a list has fifty of these: a line without a length is a dot
	for i, v := range values {
		line[i].X = 3 + float64(i)/float64(len(values)-1)*(w-6)
		line[i].Y = s.To(best[i], h-3, 3)
		if len(values) <= 60 { // more would be a gray bar
			at := plot.XY{X: line[i].X, Y: s.To(v, h-3, 3)}
			each = append(each, at, at, plot.XY{X: at.X, Y: nan})
		}
	}
	d.Path(figure.Role("each"), each)
	d.Path(figure.Role("best"), withoutLevels(line))
	return d.SVG()
}

// withoutLevels is the same line without the points between two as high: of a thousand
// experiments the best so far has a few steps, and a page has fifty such lines.
func withoutLevels(line plot.XYs) plot.XYs {
	var bends plot.XYs
	for i, p := range line {
		if i > 0 && i < len(line)-1 && line[i-1].Y == p.Y && line[i+1].Y == p.Y {
			continue
		}
		bends = append(bends, p)
	}
	return bends
}

// Roles of lines and texts in the stylesheet that all drawings with axes have.
const (
	grid = figure.Role("grid")
	tick = figure.Role("tick")
	axis = figure.Role("axis")
)

// courseOf draws the axes of a course over n experiments with the given values.
// height is that of the drawing, room is left free at the right of the data,
// and above it. The horizontal axis has room for three experiments from the
// start, so that the first ones do not stand at its ends; at most twelve or so
// of its numbers are written.
func courseOf(
	title string, sought definition.Objective, n int, values []float64, height, room, above float64,
) *frame {
	const width = 720.0
	f := &frame{
		Canvas: newDrawing(width, height, "chart", title),
		x:      figure.Span{Low: 0.5, High: max(float64(n)+0.5, 3.5)},
		y:      figure.SpanOf(0.06, values...),
		left:   52, right: width - room, top: above, bottom: height - 38,
	}
	for _, t := range (figure.Ticks{Want: 5}).Ticks(f.y.Low, f.y.High) {
		f.horizontal(t.Value, t.Label)
	}
	for k := 1; k <= n; k += max(1, int(math.Ceil(float64(n)/12))) {
		f.Text(tick, "middle", f.X(float64(k)), f.bottom+18, fmt.Sprint(k))
	}
	f.headings("experiment", format.HeadingOf(sought), height-2)
	return f
}

// steps draws how the best so far went, and returns the vertical place where it
// ends: NaN where nothing counts.
func (f *frame) steps(role figure.Role, best []float64) (end float64) {
	end = nan
	stairs := figure.Steps(best)
	for i, at := range stairs {
		end = f.Y(at.Y)
		stairs[i] = plot.XY{X: f.X(at.X), Y: end}
	}
	f.Path(role, stairs)
	return end
}

// convergence draws every measurement and the best so far. It is the small figure of the campaign's
// page; internal/view/report draws the large one with the model. It is empty without measurements.
// Values that are left out of the models, and those that break a constraint on outcomes, are shown
// and do not count for the best; failures stand at the lower edge, since they have no value.
func convergence(s *campaign.State) template.HTML {
	sought := s.Definition.Sought()
	n := len(s.Experiments)
	values := make([]float64, n)
	any := false
	for i := range s.Experiments {
		values[i] = nan
		if !s.Experiments[i].Reference() { // they have control charts
			values[i] = valueOf(s, &s.Experiments[i])
		}
		any = any || !math.IsNaN(values[i])
	}
	if !any {
		return ""
	}
	title := "Every measurement of " + format.HeadingOf(sought) + ", and the best so far"
	f := courseOf(title, sought, n, values, 268, 14, 26)
	judged := s.Judged()
	best := campaign.BestSoFar(judged, sought)
	f.steps("best", campaign.ValuesAt(best, judged))
	plain := make(map[figure.Role]plot.XYs) // a line without a length is a dot
	for i := range s.Experiments {
		e := &s.Experiments[i]
		at := f.X(float64(i + 1))
		switch {
		case !math.IsNaN(values[i]):
			standing, title := figure.Role("done"), e.ID+": "+format.ValueOf(sought, values[i])
			switch {
			case e.Excluded:
				standing = "left-out"
			case s.Breaks(e):
				standing, title = "breaks", title+", breaks a constraint on outcomes"
			}
			if n > mostMarks && i < n-newestMarks && best[i] != i {
				p := plot.XY{X: at, Y: f.Y(values[i])}
				plain[standing] = append(plain[standing], p, p, plot.XY{X: at, Y: nan})
				continue
			}
			dot(f.Canvas, standing, e.ID, title, at, f.Y(values[i]))
		case e.Status == campaign.Failed || e.Status == campaign.Infeasible:
			dot(f.Canvas, "failed", e.ID, e.ID+": "+string(e.Status), at, f.bottom-2)
		}
	}
	for _, standing := range slices.Sorted(maps.Keys(plain)) {
		f.Path("each "+standing, plain[standing])
	}
	return f.SVG()
}

// With more experiments than mostMarks the course has a mark for each of the newest, and for those
// that were the best so far; the others, whose marks would lie over each other, are dots without
// text.
const mostMarks, newestMarks = 300, 100

// boundedCurve says which measurements the best so far leaves out; "" without constraints on
// outcomes.
func boundedCurve(s *campaign.State) string {
	if len(s.Definition.ConstraintsOnOutcomes) == 0 {
		return ""
	}
	judged := s.Judged()
	from := campaign.BestSoFar(judged, s.Definition.Sought())
	counts := func(j campaign.Judged) bool { return !math.IsNaN(j.Value) }
	first, begins := slices.IndexFunc(judged, counts), slices.IndexFunc(from, func(at int) bool { return at >= 0 })
	text := "Barred points break a constraint on outcomes and are not part of the line"
	switch {
	case first < 0:
		return ""
	case begins < 0:
		return text + ", which there is not yet: nothing that was measured keeps them."
	case begins > first:
		return text + fmt.Sprintf(", which begins with %s, the first that is not known to break one.", s.Experiments[begins].ID)
	case !slices.ContainsFunc(judged, func(j campaign.Judged) bool { return counts(j) && j.Keeps == campaign.KeepsNot }):
		return ""
	}
	return text + "."
}
