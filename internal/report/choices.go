package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	chart "github.com/campaignd/campaignd/internal/figure"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/view"
)

// choice is one decision in which an expert chose between candidates.
type choice struct {
	ID, Expert, Question string
	Answer               string
	Experiment, Measured string
	Review               string
	Options              []choiceOption
	Rows                 []view.CandidateRow
	Bars                 *figure
	Plane                []figure
	PlaneCaption         string
}

// choiceOption heads a column of the comparison.
type choiceOption struct {
	Name   string // "A unaided"
	Chosen bool
}

// drawnChoices is the number of choices, the newest, that are drawn: each is some
// twenty kilobytes.
const drawnChoices = 30

// choices returns the choices between candidates that are measured, newest last;
// left is how many of them have no figures.
func (h *history) choices() (all []choice, left int, err error) {
	if !h.def.Measures() {
		return nil, 0, nil // the table of comparisons says it
	}
	var asked []int
	for i := range h.decisions {
		if h.decisions[i].Form == events.FormComparison {
			asked = append(asked, i)
		}
	}
	left = max(len(asked)-drawnChoices, 0)
	for k, i := range asked {
		c, err := h.choice(i, k >= left)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, c)
	}
	return all, left, nil
}

// choice gathers what is known of the i-th decision.
func (h *history) choice(i int, figures bool) (choice, error) {
	d := &h.decisions[i]
	c := choice{ID: d.Decision, Expert: d.Expert, Question: d.question}
	var letters map[string]string
	winner := ""
	candidates := slices.Clone(d.Candidates)
	if q := h.state.Question(d.question); q != nil {
		letters = view.Letters(q)
		c.Answer = h.answerText(q)
		if w := q.Winner(); w != nil {
			winner = w.Candidate
		}
		if r := h.review(q.ID); r != nil {
			c.Review = "right with probability " + format.Fixed(r.Probability, 2)
		}
		slices.SortStableFunc(candidates, func(a, b events.Candidate) int {
			return strings.Compare(letters[a.Name], letters[b.Name])
		})
	}
	c.Experiment, c.Measured = h.ledTo(i)
	for _, o := range candidates {
		name := strings.TrimSpace(letters[o.Name] + " " + o.Name)
		c.Options = append(c.Options, choiceOption{name, o.Name == winner})
	}
	ordered := *d.DecisionMade
	ordered.Candidates = candidates // as the expert saw them
	for _, row := range view.CandidateTable(h.def, &ordered) {
		for k := range row.Cells {
			row.Cells[k] = chart.Typeset(row.Cells[k])
		}
		c.Rows = append(c.Rows, row)
	}
	if !figures || d.Attributions == nil {
		return c, nil
	}
	if shares := view.Shares(h.def, d.DecisionMade); shares != nil {
		c.Bars = &figure{
			ID: d.Decision + "-shapley", Title: "What each parameter does", Wide: true,
			SVG: h.sharesSVG(shares, candidates, letters), Caption: sharesCaption(shares),
		}
	}
	if p := d.Attributions.Plane; p != nil {
		var err error
		if c.Plane, c.PlaneCaption, err = h.figurePlane(d, p, candidates, letters); err != nil {
			return c, err
		}
	}
	return c, nil
}

// ledTo is the experiment that the answer to the i-th decision led to, and what it
// measured; both are empty as long as there is none.
func (h *history) ledTo(i int) (experiment, measured string) {
	for j := i + 1; j < len(h.decisions); j++ {
		id := h.decisions[j].experiment
		if id == "" {
			continue
		}
		x := h.state.Experiment(id)
		value, ok := h.state.Value(x)
		if !ok {
			return id, ""
		}
		return id, format.WithUnit(h.value(value.Value), value.Unit)
	}
	return "", ""
}

// sharesCaption says what the bars of Shapley values are.
func sharesCaption(shares []view.Share) string {
	if view.AddUp(shares) {
		return "Shapley values: what each parameter adds to what the model says of either candidate," +
			" from what it says on average of the measured compositions, the base" +
			" (after Adachi et al. 2024, §3.3)."
	}
	return "Shapley values: what each parameter adds to what the measured compositions tell of either" +
		" candidate (Adachi et al. 2024, Prop. 4). Base + sum = total; below it what the model itself" +
		" says, which where nothing was measured nearby falls back to what it expects of any" +
		" composition, and is less sure."
}

// optionColors are those of the candidates A, B, …
func optionColor(k int) string {
	c := expertColors[k%len(expertColors)]
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// sharesSVG draws the shares of the candidates as bars from a common axis: a
// panel for each quantity, a row for each parameter.
func (h *history) sharesSVG(
	shares []view.Share, candidates []events.Candidate, letters map[string]string,
) template.HTML {
	const (
		width, names, gap = 1040.0, 110.0, 26.0
		top, bar, pad     = 44.0, 9.0, 9.0
		size              = 11.5
	)
	panels := view.SharedQuantities(h.def)
	parameters := shares[0].Parameters
	greatest := 0.0
	for _, s := range shares {
		for _, v := range s.Values {
			greatest = max(greatest, math.Abs(v))
		}
	}
	if greatest == 0 {
		greatest = 1
	}
	panel := (width - names - 2*gap) / 3
	row := float64(len(candidates))*(bar+2) + pad
	sums := top + float64(len(parameters))*row + 8
	line := 34. // the sum of a candidate, and what the model says
	exact := view.AddUp(shares)
	if exact {
		line = 20
	}
	height := sums + float64(len(candidates))*line + 4
	var b strings.Builder
	text := func(x, y float64, anchor, fill, content string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%g" fill="%s">%s</text>`, x, y,
			anchor, size, fill, template.HTMLEscapeString(content))
	}
	for i, p := range parameters {
		text(names-10, top+float64(i)*row+row/2, "end", "#1f2933", format.Shorten(p, 18))
	}
	for k, p := range panels {
		left := names + float64(k)*(panel+gap)
		axis := left + panel/2
		reach := panel/2 - 46 // room for numbers
		text(left+panel/2, 14, "middle", "#1f2933", format.Heading(p.Name, h.sought.Unit))
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#9aa5b1"/>`, axis, top-12, axis, sums-8)
		text(axis, top-18, "middle", "#616e7c", "0")
		for o, c := range candidates {
			s := view.ShareOf(shares, c.Name, p.Quantity)
			if s == nil {
				continue
			}
			for i, v := range s.Values {
				y := top + float64(i)*row + float64(o)*(bar+2)
				length := reach * math.Abs(v) / greatest
				x := axis
				anchor := "start"
				at := axis + length + 4
				if v < 0 {
					x = axis - length
					anchor = "end"
					at = axis - length - 4
				}
				fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%g" fill="%s"/>`, x, y,
					max(length, 0.5), bar, optionColor(o))
				fmt.Fprintf(&b,
					`<text x="%.1f" y="%.1f" text-anchor="%s" font-size="9.5" fill="#616e7c">%s</text>`, at,
					y+bar-0.8, anchor, plus(v))
			}
			sum := s.Total - s.Base
			total := fmt.Sprintf("%s: %s %s = %s", letterOf(letters, c.Name),
				chart.Typeset(format.Significant(s.Base, 4)), summand(sum),
				chart.Typeset(format.Significant(s.Total, 4)))
			y := sums + float64(o)*line + 12
			text(axis, y, "middle", optionColor(o), total)
			if s.Model != nil && !exact {
				text(axis, y+14, "middle", "#616e7c",
					"the model itself: "+chart.Typeset(format.Significant(*s.Model, 4)))
			}
		}
	}
	for o, c := range candidates {
		y := sums + float64(o)*line + 12
		text(names-10, y, "end", optionColor(o), strings.TrimSpace(letters[c.Name]+" "+c.Name))
	}
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %g %.1f" role="img" aria-label="Shapley values of the candidates">%s</svg>`,
		width, height, b.String()))
}

func letterOf(letters map[string]string, candidate string) string {
	if l := letters[candidate]; l != "" {
		return l
	}
	return candidate
}

// plus writes a number with its sign.
func plus(v float64) string {
	text := chart.Typeset(format.Significant(v, 3))
	if v > 0 {
		return "+" + text
	}
	return text
}

// summand writes a number as it is added.
func summand(v float64) string {
	if v < 0 {
		return chart.Minus + " " + format.Significant(-v, 4)
	}
	return "+ " + format.Significant(v, 4)
}

// figurePlane draws the plane of the two strongest parameters with the
// candidates and the best measured composition.
func (h *history) figurePlane(
	d *decision, p *events.Plane, candidates []events.Candidate, letters map[string]string,
) ([]figure, string, error) {
	n := len(p.Xs)
	if n < 2 || len(p.Ys) != n || p.Xs[0] == p.Xs[n-1] || p.Ys[0] == p.Ys[n-1] {
		return nil, "", nil
	}
	grid := heat{
		n:        n,
		inside:   func(u, v float64) bool { return true },
		excluded: func(u, v float64) bool { return false },
	}
	units := make(map[string]string)
	for _, par := range h.def.Parameters {
		units[par.Name] = par.Unit
	}
	paint := func(id, title, palette string, darkIsHigh bool, values [][]float64) (figure, error) {
		c := chart.New(380, 280, format.Heading(p.X, units[p.X]), format.Heading(p.Y, units[p.Y]))
		c.X.Min = p.Xs[0]
		c.X.Max = p.Xs[n-1]
		c.Y.Min = p.Ys[0]
		c.Y.Max = p.Ys[n-1]
		c.X.Tick.Marker, c.Y.Tick.Marker = chart.Ticks{Want: 5}, chart.Ticks{Want: 5}
		bands, err := newBands(grid, values, palette, darkIsHigh)
		if err != nil {
			return figure{}, err
		}
		c.Add(plotter.NewImage(bands.image(grid, values), c.X.Min, c.Y.Min, c.X.Max, c.Y.Max))
		mark := func(point definition.Point, style draw.GlyphStyle, text, href string) {
			x, okX := point[p.X].Float()
			y, okY := point[p.Y].Float()
			if !okX || !okY {
				return
			}
			x, y = min(max(x, c.X.Min), c.X.Max), min(max(y, c.Y.Min), c.Y.Max)
			c.Points(plotter.XYs{{X: x, Y: y}}, style)
			c.Spot(x, y, text, href)
		}
		if x := h.state.Experiment(d.best); x != nil {
			mark(x.Parameters, draw.GlyphStyle{Color: chart.Orange, Radius: 6.5, Shape: star{}}, h.spotText(x), x.ID)
		}
		for k, o := range candidates {
			style := draw.GlyphStyle{
				Color:  expertColors[k%len(expertColors)],
				Radius: 4.6,
				Shape:  solid{edge: chart.White},
			}
			mark(o.Parameters, style,
				strings.TrimSpace(letters[o.Name]+" "+o.Name)+"\n"+h.format.line(o.Parameters), d.Decision)
		}
		c.Right = 64
		c.After = bands.key(h.sought.Unit)
		return figure{ID: id, Title: title, SVG: c.SVG(title)}, nil
	}
	mean, err := paint(d.Decision+"-mean",
		"Expected "+format.HeadingOf(h.sought), "YlGnBu", h.sought.Better(1, 0), p.Mean)
	if err != nil {
		return nil, "", err
	}
	sd, err := paint(d.Decision+"-sd", format.Heading("Standard deviation of that", h.sought.Unit),
		"Purples", true, p.SD)
	if err != nil {
		return nil, "", err
	}
	var names []string
	for k, o := range candidates {
		color := []string{"blue", "orange-red", "green", "purple"}[k%4]
		names = append(names, fmt.Sprintf("%s %s", letterOf(letters, o.Name), color))
	}
	caption := fmt.Sprintf("The two parameters that count most, the others as in %s (%s); "+
		"star: best by the model until then. The marks show only these two parameters of each.",
		letterOf(letters, p.Candidate), strings.Join(names, ", "))
	return []figure{mean, sd}, caption, nil
}
